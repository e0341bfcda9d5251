//! Barriers that nodes do their parts of, and how the query makes one result of these parts.
//!
//! ```text
//!   count()  min()  max()              any traversers        sum()  mean()                       of integers only
//!   groupCount()  group().by().by(…)   a map of partials     order().by(…).by(id).limit(n)       the first of the first
//! ```
//! Traversers come to the query in another order than step by step. So a barrier has parts only if its result does not depend on the
//! order. The keys of a map have no order of their own, so what follows must not depend on theirs. A sorted list that is cut has parts
//! only if no two traversers that differ are equal to the sort.

use mangrove_graph::Token;

use super::fragment::has_partial;
use super::order::{forgets_order, ignores_order};
use super::{By, GroupValue, Reduction, Scope, SortOrder, Step, StepNode, Traversal};

/// How the parts of a barrier become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parts {
    /// By what the barrier does anyway. It takes any traversers in any order.
    Any,
    /// By adding up, which is the same in every order for integers.
    Sums,
    /// Key by key. The values of keys may be sums, too.
    Map { has_sums: bool },
    /// By sorting again. Of each part, the first `limit` are needed.
    First { limit: usize },
}

impl Parts {
    /// The parts of a step; `None` if it is none that nodes do parts of.
    pub fn of(step: &Step) -> Option<Self> {
        match step {
            step if forgets_order(step) => Some(Parts::Any),
            Step::Reduce { reduction: Reduction::Sum | Reduction::Mean, scope: Scope::Global } => Some(Parts::Sums),
            step if !has_partial(step) => None,
            Step::GroupCount { .. } => Some(Parts::Map { has_sums: false }),
            Step::Group { value: Some(GroupValue::Reduce(value)), .. } => Some(Parts::Map { has_sums: adds_up(value) }),
            Step::Order { by, limit, .. } if decides(by) => {
                let limit = limit.and_then(|limit| usize::try_from(limit).ok())?;
                Some(Parts::First { limit })
            }
            _ => None,
        }
    }

    /// The parts of a partial step.
    pub fn of_partial(step: &Step) -> Option<Self> {
        match step {
            Step::Partial(of) => of.steps.first().and_then(|node| Self::of(&node.step)),
            _ => None,
        }
    }

    /// Whether numbers are added up that must be integers.
    pub fn has_sums(self) -> bool {
        matches!(self, Parts::Sums | Parts::Map { has_sums: true })
    }

    /// Whether the partial results are no traversers that the barrier takes as they are.
    pub fn is_map(self) -> bool {
        matches!(self, Parts::Map { .. })
    }
}

fn adds_up(value: &Traversal) -> bool {
    matches!(
        value.steps.last().map(|node| &node.step),
        Some(Step::Reduce { reduction: Reduction::Sum | Reduction::Mean, .. })
    )
}

/// Whether traversers that are equal to the sort are equal. Ids tell elements apart. Values that sort themselves are equal if they have
/// one type, which shows when they are there.
fn decides(by: &[(By, SortOrder)]) -> bool {
    let by_id = matches!(by.last(), Some((By::Token(Token::Id), _)));
    by_id || by.iter().all(|(by, _)| matches!(by, By::Identity))
}

/// Whether steps behind a map make the same of it for every order of its keys, except that results come in another order, and that a
/// limit behind a sort takes others of those that are equal to the sort.
pub fn hide_keys(steps: &[StepNode]) -> bool {
    let (mut is_whole, mut is_sorted) = (true, false);
    for StepNode { step, .. } in steps {
        let scope = if is_whole { Scope::Local } else { Scope::Global };
        match step {
            Step::Unfold if is_whole => is_whole = false,
            Step::SelectColumn(_) => {}
            Step::Order { by, scope: of, .. } if *of == scope => {
                is_sorted = by.iter().all(|(_, order)| *order != SortOrder::Shuffle);
            }
            Step::Range { scope: of, .. } | Step::Tail { scope: of, .. } if *of == scope && is_sorted => {}
            Step::Reduce { reduction: Reduction::Count | Reduction::Min | Reduction::Max, scope: of } if *of == scope => {
                return true;
            }
            step if !is_whole && ignores_order(step) => {}
            _ => return false,
        }
    }
    true
}
