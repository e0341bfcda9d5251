//! The kinds of steps that rules look for. A rule whose kinds a plan lacks is passed over, which saves a walk over the plan.

use std::cell::Cell;

use crate::plan::facts::Order;
use crate::plan::{Reduction, Scope, Step, Traversal};

/// A set of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kinds(u16);

impl Kinds {
    pub const NONE: Self = Self(0);
    pub const SCAN: Self = Self(1);
    pub const HAS: Self = Self(1 << 1);
    /// Steps that only ask whether their children give anything.
    pub const ASKS: Self = Self(1 << 2);
    pub const HOP: Self = Self(1 << 3);
    pub const EDGES: Self = Self(1 << 4);
    pub const REPEAT: Self = Self(1 << 5);
    pub const DEDUP: Self = Self(1 << 6);
    pub const ORDER: Self = Self(1 << 7);
    pub const RANGE: Self = Self(1 << 8);
    pub const COUNT: Self = Self(1 << 9);
    /// Steps whose result is the same for every order of their input.
    pub const FORGETS_ORDER: Self = Self(1 << 10);
    pub const HAS_PROPERTY: Self = Self(1 << 11);
    pub const SHORTEST: Self = Self(1 << 12);

    pub const fn or(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    /// Whether the plan has one kind of each set.
    pub fn has_each(self, sets: &[Self]) -> bool {
        sets.iter().all(|set| self.0 & set.0 != 0)
    }

    /// All kinds of a traversal and its children. O(steps).
    pub fn of(traversal: &Traversal) -> Self {
        let all = Cell::new(Self::NONE);
        traversal.any(&|node| {
            all.set(all.get().or(Self::of_step(&node.step)));
            false
        });
        all.get()
    }

    fn of_step(step: &Step) -> Self {
        match step {
            Step::Scan { .. } => Self::SCAN,
            Step::Has(_) => Self::HAS,
            Step::HasProperty { .. } => Self::HAS_PROPERTY,
            Step::Where { .. } | Step::And(_) | Step::Or(_) => Self::ASKS,
            Step::Hop { to_edges, .. } => Self::HOP.or(if *to_edges { Self::EDGES } else { Self::NONE }),
            Step::Repeat(_) => Self::REPEAT,
            Step::ShortestPath(_) => Self::SHORTEST,
            Step::Dedup { scope: Scope::Global, .. } => Self::DEDUP,
            Step::Order { scope: Scope::Global, .. } => Self::ORDER,
            Step::Range { scope: Scope::Global, .. } => Self::RANGE,
            Step::Reduce { reduction: Reduction::Count, scope: Scope::Global } => Self::COUNT.or(Self::FORGETS_ORDER),
            step if step.facts().order == Order::Forgets => Self::FORGETS_ORDER,
            _ => Self::NONE,
        }
    }
}
