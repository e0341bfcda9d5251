//! Lets hops visit vertices in storage order if the order cannot be seen. That holds if the traversal ends in a number that does
//! not depend on the order, or if it only tests whether there is a result.

use super::kinds::Kinds;
use super::{ChainPosition, Rule, RuleContext, Way};
use crate::plan::order::{forgets_order, ignores_order};
use crate::plan::paths::PathMode;
use crate::plan::{Repeat, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "any-order",
    description: "hops that end in a count, min or max visit vertices as they are stored",
    way: Way::Rewrite { needs: &[Kinds::HOP, Kinds::FORGETS_ORDER.or(Kinds::ASKS)], rewrite },
};

fn rewrite(traversal: &mut Traversal, place: ChainPosition, cx: &RuleContext<'_>) {
    for node in &mut traversal.steps {
        match &mut node.step {
            Step::Where { child, .. } => free_question(child),
            Step::And(children) | Step::Or(children) => children.iter_mut().for_each(free_question),
            _ => {}
        }
    }
    if place != ChainPosition::Top || cx.mode == PathMode::Full || cx.has_sack {
        return;
    }
    let Some(end) = traversal.steps.iter().position(|node| forgets_order(&node.step)) else { return };
    if traversal.steps[..end].iter().all(|node| ignores_order(&node.step)) {
        traversal.steps[..end].iter_mut().for_each(|node| free(&mut node.step));
    }
}

/// A child that only tests for a result: nobody sees the order of its results.
fn free_question(child: &mut Traversal) {
    if child.steps.iter().all(|node| ignores_order(&node.step)) {
        child.steps.iter_mut().for_each(|node| free(&mut node.step));
    }
}

fn free(step: &mut Step) {
    match step {
        Step::Hop { any_order, .. } => *any_order = true,
        Step::Repeat(repeat) => {
            let Repeat { body, .. } = &mut **repeat;
            body.steps.iter_mut().for_each(|node| free(&mut node.step));
        }
        _ => {}
    }
}
