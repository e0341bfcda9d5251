//! Lets hops visit vertices in storage order if the order cannot be seen. That holds if the traversal ends in a number that does
//! not depend on the order, or if it only tests whether there is a result.

use super::{ChainPosition, Rule, RuleContext, Way};
use crate::execute::PathMode;
use crate::plan::{Reduction, Repeat, Scope, Step, Traversal};

pub(super) const RULE: Rule = Rule {
    name: "any-order",
    description: "hops that end in a count, min or max visit vertices as they are stored",
    way: Way::Rewrite(rewrite),
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

/// Whether the result is the same for every order of the same traversers. A sum of floats is not.
fn forgets_order(step: &Step) -> bool {
    matches!(step, Step::Reduce { reduction: Reduction::Count | Reduction::Min | Reduction::Max, scope: Scope::Global })
}

/// Whether another input order gives the same traversers in another order.
fn ignores_order(step: &Step) -> bool {
    match step {
        Step::Scan { .. }
        | Step::Inject(_)
        | Step::Hop { .. }
        | Step::End(_)
        | Step::Degree { .. }
        | Step::Has(_)
        | Step::HasProperty { .. }
        | Step::Is(_)
        | Step::Id
        | Step::Label
        | Step::Labels
        | Step::Values(_)
        | Step::Constant(_)
        | Step::Identity
        | Step::Barrier { .. } => true,
        Step::Dedup { labels, by, .. } => labels.is_empty() && by.is_empty(),
        Step::Where { child, .. } => child_ignores_order(child),
        Step::And(children) | Step::Or(children) => children.iter().all(child_ignores_order),
        Step::Repeat(repeat) => {
            let mut ignores = repeat.body.steps.iter().all(|node| ignores_order(&node.step));
            step.for_each_child(&mut |child| ignores &= child_ignores_order(child));
            ignores
        }
        _ => false,
    }
}

/// A child runs for each traverser by itself. So only side effects could reveal the order.
fn child_ignores_order(child: &Traversal) -> bool {
    !child.any(&|node| node.step.has_side_effect())
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
