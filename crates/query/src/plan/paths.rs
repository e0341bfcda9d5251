//! How much of their paths the traversers of a plan must keep.

use super::facts::Reads;
use super::{Plan, Pop, Step};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PathMode {
    Off,
    /// The latest object of each label.
    Slots,
    /// Only labelled objects.
    Labels,
    Full,
}

impl PathMode {
    /// Whether traversers carry paths.
    pub fn has_paths(self) -> bool {
        matches!(self, PathMode::Labels | PathMode::Full)
    }
}

/// Whether the step asks a label for another object than the last, or binds labels itself.
fn asks_for_more_than_the_last(step: &Step) -> bool {
    match step {
        Step::Select { pop, .. } | Step::SelectChild { pop, .. } => !matches!(pop, None | Some(Pop::Last)),
        Step::Match(_) => true,
        _ => false,
    }
}

/// What needs whole paths.
pub const PATHS: Reads = Reads::PATH.and(Reads::LAST);

/// How much of their paths traversers must keep for this plan.
pub fn path_mode(plan: &Plan) -> PathMode {
    let reads = |what: Reads| plan.traversal.any(&|node| node.step.facts().reads.any_of(what));
    if plan.source.paths || reads(PATHS) {
        PathMode::Full
    } else if reads(Reads::LABELS) {
        let has_slots = !plan.traversal.any(&|node| asks_for_more_than_the_last(&node.step));
        if has_slots { PathMode::Slots } else { PathMode::Labels }
    } else {
        PathMode::Off
    }
}

/// Whether some step gives paths or parts of them.
pub fn shows_paths(plan: &Plan) -> bool {
    plan.source.paths || plan.traversal.any(&|node| node.step.facts().reads.any_of(Reads::PATH))
}
