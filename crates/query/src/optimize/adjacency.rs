//! Turns `outE().inV()` into `out()` if no step sees the edge. Neighbours are read without the ids of their edges.

use mangrove_graph::Direction;

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::{EndOf, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "adjacency",
    description: "outE().inV() becomes out() where nothing reads the edge",
    way: Way::Rewrite { needs: &[Kinds::EDGES], rewrite },
};

fn rewrite(traversal: &mut Traversal, _: ChainPosition, cx: &RuleContext<'_>) {
    let mut at = 0;
    while at + 1 < traversal.steps.len() {
        if let Some(step) = adjacent(traversal, at).filter(|_| !cx.shows_paths) {
            let gone = traversal.steps.remove(at + 1);
            traversal.steps[at].step = step;
            traversal.steps[at].labels = gone.labels;
        }
        at += 1;
    }
}

fn adjacent(traversal: &Traversal, at: usize) -> Option<Step> {
    let (edge, end) = (&traversal.steps[at], &traversal.steps[at + 1]);
    let Step::Hop { direction, to_edges: true, limit: None, .. } = edge.step else { return None };
    if !edge.labels.is_empty() {
        return None;
    }
    let is_other_end = matches!(
        (direction, &end.step),
        (Direction::Out, Step::End(EndOf::In)) | (Direction::In, Step::End(EndOf::Out)) | (_, Step::End(EndOf::Other))
    );
    let mut hop = edge.step.clone();
    if let Step::Hop { to_edges, .. } = &mut hop {
        *to_edges = false;
    }
    is_other_end.then_some(hop)
}
