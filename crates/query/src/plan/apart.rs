//! Which queries can be read in parts, one for each part of the graph.
//!
//! ```text
//!   part 0:  V() in shard 0 ─▶ out() ─▶ has('age') ─▶ values('name') ─┐
//!   part 1:  V() in shard 1 ─▶ out() ─▶ has('age') ─▶ values('name') ─┴─▶ together, the results of the query
//! ```
//! Each element is in one part, and the first step finds it there only. Later steps may read the whole graph. They must treat each
//! traverser by itself: then it does not matter which others come with it.

use super::facts::{Flow, Reads, Writes};
use super::{Plan, Step, StepNode, Traversal};

/// What a part cannot do for the others.
const SHARED: Writes = Writes::GRAPH.and(Writes::EFFECTS).and(Writes::COMPUTED);

/// Why the parts of a plan would not make the whole; `None` if they do, in some order.
pub fn whole_because(plan: &Plan) -> Option<String> {
    let source = &plan.source;
    if source.bulk_off {
        return Some("withBulk(false) lets equal traversers count as one".into());
    }
    if source.sack.as_ref().is_some_and(|sack| sack.merge.is_some()) {
        return Some("its sacks are merged".into());
    }
    let Some((first, rest)) = plan.traversal.steps.split_first() else { return Some(NO_SCAN.into()) };
    match &first.step {
        Step::Scan { ids: None, .. } => {}
        Step::Scan { ids: Some(_), .. } => return Some("it begins with elements that it names by id".into()),
        // A scan whose elements are counted where they are.
        step @ Step::CountScan { .. } => return Some(sees_more(step)),
        _ => return Some(NO_SCAN.into()),
    }
    let (reads, writes) = plan.traversal.touches();
    if writes.any_of(SHARED) {
        return Some("its steps change the graph, or keep something for other steps".into());
    }
    if reads.any_of(Reads::CHANCE) {
        return Some("its steps depend on chance or on the clock".into());
    }
    gathering(rest).map(sees_more)
}

const NO_SCAN: &str = "it does not begin with V() or E()";

fn sees_more(step: &Step) -> String {
    format!("its step {} looks at all traversers together", step.title())
}

/// The first step that does not treat each traverser by itself.
fn gathering(steps: &[StepNode]) -> Option<&Step> {
    steps.iter().find_map(|node| match &node.step {
        // Traversers wait for each other, and go on as they were.
        Step::Barrier { .. } => None,
        Step::Union(children) => in_any(children.iter()),
        Step::Choose { options, .. } => in_any(options.iter().map(|option| &option.traversal)),
        Step::Repeat(repeat) => match &repeat.goal {
            Some(goal) if goal.nearest_only => Some(&node.step),
            _ => gathering(&repeat.body.steps),
        },
        step => (step.facts().flow != Flow::Each).then_some(step),
    })
}

fn in_any<'a>(mut chains: impl Iterator<Item = &'a Traversal>) -> Option<&'a Step> {
    chains.find_map(|chain| gathering(&chain.steps))
}
