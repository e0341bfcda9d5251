//! Strategies that users name on `g.withStrategies(…)`. Those that change the meaning rewrite or refuse the plan here. Those that
//! only tune TinkerPop's own engine are accepted without effect. [`STRATEGIES`] says which is which.

mod configure;
mod element_id;
mod known;
mod partition;
mod subgraph;
mod verify;

use crate::error::{QueryError, QueryErrorKind, Result};
use crate::plan::*;

pub(super) use configure::{option, with, without};
pub use known::{Effect, STRATEGIES, Strategy};

/// Rewrites the traversal by the strategies. Returns warnings for the author of the query.
pub(super) fn apply(traversal: &mut Traversal, strategies: &Strategies) -> Result<Vec<String>> {
    if strategies.computer && strategies.no_computer {
        let message = "The TraversalSource does not allow the use of a GraphComputer";
        return Err(QueryError::new(QueryErrorKind::Verification, message));
    }
    let mut warnings = Vec::new();
    verify::verify(traversal, strategies, &mut warnings)?;
    if let Some(key) = &strategies.element_id {
        element_id::apply(traversal, key);
    }
    if strategies.partition.is_some() || strategies.subgraph.is_some() {
        rewrite(traversal, &spell_out_edges);
        if traversal.any(&|node| matches!(node.step, Step::Call(_))) {
            warnings.push("call() sees the whole graph, whatever SubgraphStrategy or PartitionStrategy let through".into());
        }
    }
    if let Some(partition) = &strategies.partition {
        partition::apply(traversal, partition);
    }
    if let Some(subgraph) = &strategies.subgraph {
        subgraph::apply(traversal, subgraph);
    }
    Ok(warnings)
}

/// Replaces every step, here and below, by what `each` pushes for it.
fn rewrite(traversal: &mut Traversal, each: &dyn Fn(StepNode, &mut Vec<StepNode>)) {
    let steps = std::mem::take(&mut traversal.steps);
    for mut node in steps {
        node.step.for_each_child_mut(&mut |child| rewrite(child, each));
        each(node, &mut traversal.steps);
    }
}

/// Makes the edges that `shortestPath()` follows a traversal, which the strategies can narrow.
fn spell_out_edges(mut node: StepNode, out: &mut Vec<StepNode>) {
    if let Step::ShortestPath(asked) = &mut node.step {
        asked.edges.get_or_insert_with(|| Traversal::new([Step::hop(asked.direction, Vec::new(), true)]));
    }
    out.push(node);
}

/// Pushes `node` and then the filters. The labels of the node move to the last filter, so that `as()` names what passed.
fn push_filtered(mut node: StepNode, filters: impl IntoIterator<Item = Step>, out: &mut Vec<StepNode>) {
    let labels = std::mem::take(&mut node.labels);
    out.push(node);
    out.extend(filters.into_iter().map(StepNode::from));
    if let Some(last) = out.last_mut() {
        last.labels = labels;
    }
}

fn end_of(direction: mangrove_graph::Direction) -> Step {
    Step::End(match direction {
        mangrove_graph::Direction::Out => EndOf::In,
        mangrove_graph::Direction::In => EndOf::Out,
        mangrove_graph::Direction::Both => EndOf::Other,
    })
}
