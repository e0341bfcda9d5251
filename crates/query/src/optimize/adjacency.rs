//! `outE().inV()` is `out()` where nobody sees the edge: neighbours are read without their edges' ids.

use mangrove_graph::Direction;

use super::{Place, Rule, RuleContext};
use crate::execute::PathMode;
use crate::plan::{EndOf, Step, Traversal};

pub(super) const RULE: Rule =
    Rule { name: "adjacency", description: "outE().inV() becomes out() where the edge is not looked at", rewrite };

fn rewrite(traversal: &mut Traversal, _: Place, cx: &RuleContext<'_>) {
    let mut at = 0;
    while at + 1 < traversal.steps.len() {
        if let Some(step) = adjacent(traversal, at, cx.mode) {
            let gone = traversal.steps.remove(at + 1);
            traversal.steps[at].step = step;
            traversal.steps[at].labels = gone.labels;
        }
        at += 1;
    }
}

fn adjacent(traversal: &Traversal, at: usize, mode: PathMode) -> Option<Step> {
    let (edge, end) = (&traversal.steps[at], &traversal.steps[at + 1]);
    let Step::Hop { direction, labels, to_edges: true, any_order } = &edge.step else { return None };
    let hop = Step::Hop { direction: *direction, labels: labels.clone(), to_edges: false, any_order: *any_order };
    if !edge.labels.is_empty() {
        return None;
    }
    match (direction, &end.step) {
        (Direction::Out, Step::End(EndOf::In)) | (Direction::In, Step::End(EndOf::Out)) if mode != PathMode::Full => {
            Some(hop)
        }
        // `otherV` is what made the plan track paths, maybe it alone; the path it needs is the edge's own.
        (_, Step::End(EndOf::Other)) if mode != PathMode::Full => Some(hop),
        _ => None,
    }
}
