//! Removes duplicates early. If no step can tell how often a vertex was reached, the frontier can be a set.

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::facts::{Flow, Reads, Writes};
use crate::plan::paths::PathMode;
use crate::plan::{Scope, Step, StepNode, Traversal};

/// What may tell two traversers with the same value apart, or give another result each time.
const BEYOND: Reads = Reads::PATH
    .and(Reads::LAST)
    .and(Reads::LABELS)
    .and(Reads::LOOPS)
    .and(Reads::SACK)
    .and(Reads::EFFECTS)
    .and(Reads::CHANCE)
    .and(Reads::PROCEDURE);

pub(super) const RULE: Rule = Rule {
    name: "early-dedup",
    description: "hops that end in dedup() go on from each vertex once",
    way: Way::Rewrite { needs: &[Kinds::HOP, Kinds::DEDUP], rewrite },
};

fn rewrite(traversal: &mut Traversal, place: ChainPosition, cx: &RuleContext<'_>) {
    if place != ChainPosition::Top || cx.mode == PathMode::Full || cx.has_sack {
        return;
    }
    let Some(mut at) = last_dedup(traversal) else { return };
    while at > 0 && keeps_sets(&traversal.steps[at - 1]) {
        at -= 1;
        // Between two hops. The barrier gathers the whole frontier, which can then be read in storage order.
        if traversal.steps[at].step.is_hop() && at > 0 && traversal.steps[at - 1].step.is_hop() {
            traversal.steps.splice(at..at, [dedup(), Step::Barrier { max: None }.into()]);
        }
    }
}

/// The position of the last `dedup()` without labels and modulators.
pub(super) fn last_dedup(traversal: &Traversal) -> Option<usize> {
    traversal.steps.iter().rposition(|node| match &node.step {
        Step::Dedup { labels, by, scope: Scope::Global } => labels.is_empty() && by.is_empty(),
        _ => false,
    })
}

pub(super) fn dedup() -> StepNode {
    Step::Dedup { labels: Vec::new(), by: Vec::new(), scope: Scope::Global }.into()
}

/// Whether the same set of traversers gives the same set of results, however often each occurs.
pub(super) fn keeps_sets(node: &StepNode) -> bool {
    let facts = node.step.facts();
    let is_alone = facts.flow == Flow::Each && facts.writes == Writes::NOTHING && !facts.reads.any_of(BEYOND);
    is_alone && node.labels.is_empty() && !node.step.has_children()
}
