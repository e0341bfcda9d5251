//! Duplicates go early: where nobody can tell how often a vertex was reached, a frontier is a set.

use super::{Place, Rule, RuleContext};
use crate::execute::PathMode;
use crate::plan::{Emit, Repeat, Scope, Step, StepNode, Traversal, Until};

pub(super) const RULE: Rule =
    Rule { name: "early-dedup", description: "hops that end in dedup() go on from each vertex once", rewrite };

fn rewrite(traversal: &mut Traversal, place: Place, cx: &RuleContext<'_>) {
    if place != Place::Top || cx.mode == PathMode::Full || cx.has_sack {
        return;
    }
    let is_dedup = |node: &StepNode| match &node.step {
        Step::Dedup { labels, by, scope: Scope::Global } => labels.is_empty() && by.is_empty(),
        _ => false,
    };
    let Some(end) = traversal.steps.iter().rposition(is_dedup) else { return };
    let mut at = end;
    while at > 0 && keeps_sets(&traversal.steps[at - 1].step) && traversal.steps[at - 1].labels.is_empty() {
        at -= 1;
        // Between two hops; the frontier is gathered, since a whole one can be gone through in order.
        if is_hop(&traversal.steps[at].step) && at > 0 && is_hop(&traversal.steps[at - 1].step) {
            traversal.steps.splice(at..at, [dedup(), Step::Barrier { max: None }.into()]);
        }
    }
    if at > 0
        && let Step::Repeat(repeat) = &mut traversal.steps[at - 1].step
        && is_reach(repeat)
    {
        repeat.body.steps.push(dedup());
    }
}

/// Whether the repeat gives everything within so many hops: then what was reached once need not be gone on from again, since it
/// had more hops left the first time.
fn is_reach(repeat: &Repeat) -> bool {
    let everything = matches!(repeat.emit, Some(Emit::Always)) && matches!(repeat.until, Some(Until::Times(_)));
    everything && repeat.body.steps.iter().all(|node| keeps_sets(&node.step) && node.labels.is_empty())
}

fn dedup() -> StepNode {
    Step::Dedup { labels: Vec::new(), by: Vec::new(), scope: Scope::Global }.into()
}

fn is_hop(step: &Step) -> bool {
    matches!(step, Step::Hop { to_edges: false, .. })
}

/// Whether the same set of traversers gives the same set of results, however often each stands in it.
fn keeps_sets(step: &Step) -> bool {
    is_hop(step) || matches!(step, Step::Has(_) | Step::HasProperty { .. })
}
