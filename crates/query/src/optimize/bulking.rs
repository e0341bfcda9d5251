//! Merges traversers on the same vertex between hops. So a frontier grows with the vertices reached, not with the ways that lead to
//! them.

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::facts::{Flow, Order, Reads, Writes};
use crate::plan::paths::PathMode;
use crate::plan::{Scope, Step, StepNode, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "bulking",
    description: "traversers on the same vertex are merged between hops",
    way: Way::Rewrite { needs: &[Kinds::HOP], rewrite },
};

fn rewrite(traversal: &mut Traversal, place: ChainPosition, cx: &RuleContext<'_>) {
    if place == ChainPosition::Child || cx.mode == PathMode::Full || cx.has_sack {
        return;
    }
    // A step that has gathered everything before it does not notice what comes after.
    let gathered = traversal.steps.iter().rposition(|n| matches!(n.step, Step::Aggregate { scope: Scope::Global, .. }));
    let begin = gathered.map_or(0, |at| at + 1);
    // A barrier would make a limit wait for input it does not need. It would also show side effects of traversers that the limit
    // cuts off.
    if traversal.steps[begin..].iter().any(|n| !is_steady(&n.step)) {
        return;
    }
    let mut at = begin + 1;
    while at < traversal.steps.len() {
        if moves(&traversal.steps[at].step) && traversal.steps[at - 1].step.is_hop() {
            traversal.steps.insert(at, StepNode::from(Step::Barrier { max: None }));
            at += 1;
        }
        at += 1;
    }
    if place == ChainPosition::Repeat && traversal.steps.last().is_some_and(|last| last.step.is_hop()) {
        traversal.steps.push(StepNode::from(Step::Barrier { max: None }));
    }
}

/// Whether merging before this step pays.
fn moves(step: &Step) -> bool {
    matches!(step, Step::Hop { .. } | Step::Degree { .. } | Step::Repeat(_))
}

/// Whether the results of the step are independent of the size and order of its batches.
fn is_steady(step: &Step) -> bool {
    let facts = step.facts();
    let gathers_in_passing = facts.flow == Flow::Each && facts.writes.any_of(Writes::EFFECTS);
    facts.order != Order::Counts && !facts.reads.any_of(Reads::CHANCE) && !step.mutates() && !gathers_in_passing
}
