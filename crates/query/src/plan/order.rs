//! Which steps see the order of their traversers.

use super::facts::{Flow, Order, Reads, Rows, Writes};
use super::{Step, Traversal};

/// Whether the result is the same for every order of the same traversers.
pub fn forgets_order(step: &Step) -> bool {
    step.facts().order == Order::Forgets
}

/// Whether another input order gives the same traversers in another order.
pub fn ignores_order(step: &Step) -> bool {
    let facts = step.facts();
    let is_stable = facts.order == Order::Keeps
        && !facts.reads.any_of(Reads::CHANCE.and(Reads::PROCEDURE))
        && facts.writes == Writes::NOTHING;
    let passes = match facts.flow {
        Flow::Each | Flow::Stream => true,
        Flow::Barrier => facts.rows == Rows::Same,
        Flow::Branch => matches!(step, Step::Repeat(_)),
    };
    let mut ignores = is_stable && passes;
    step.for_each_child(&mut |child| ignores &= child_ignores_order(child));
    if let Step::Repeat(repeat) = step {
        ignores &= repeat.body.steps.iter().all(|node| ignores_order(&node.step));
    }
    ignores
}

/// A child runs for each traverser by itself. So only side effects could reveal the order.
fn child_ignores_order(child: &Traversal) -> bool {
    !child.any(&|node| node.step.has_side_effect())
}
