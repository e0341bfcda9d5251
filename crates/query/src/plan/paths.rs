//! How much of their paths the traversers of a plan must keep.

use super::Plan;
use super::facts::Reads;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PathMode {
    Off,
    /// Only labelled objects.
    Labels,
    Full,
}

/// What needs whole paths.
pub const PATHS: Reads = Reads::PATH.and(Reads::LAST);

/// How much of their paths traversers must keep for this plan.
pub fn path_mode(plan: &Plan) -> PathMode {
    let reads = |what: Reads| plan.traversal.any(&|node| node.step.facts().reads.any_of(what));
    if plan.source.paths || reads(PATHS) {
        PathMode::Full
    } else if reads(Reads::LABELS) {
        PathMode::Labels
    } else {
        PathMode::Off
    }
}

/// Whether some step gives paths or parts of them.
pub fn shows_paths(plan: &Plan) -> bool {
    plan.source.paths || plan.traversal.any(&|node| node.step.facts().reads.any_of(Reads::PATH))
}
