//! How much of their paths the traversers of a plan must keep.

use serde::{Deserialize, Serialize};

use super::facts::Reads;
use super::{Name, Plan, Pop, Step, StepNode, Traversal};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
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

/// The last step of a chain that gives or reads each label, children included.
pub fn last_uses(traversal: &Traversal) -> Vec<(Name, usize)> {
    let mut uses = Uses::default();
    for (at, node) in traversal.steps.iter().enumerate() {
        uses.node(node, at);
    }
    let Uses { mut names, of_any } = uses;
    names.iter_mut().for_each(|(_, last)| *last = of_any.map_or(*last, |any| any.max(*last)));
    names
}

#[derive(Default)]
struct Uses {
    names: Vec<(Name, usize)>,
    /// The last step that may read any label.
    of_any: Option<usize>,
}

impl Uses {
    fn node(&mut self, node: &StepNode, at: usize) {
        let mut names = node.labels.clone();
        if !node.step.labels_read(&mut names) {
            self.of_any = Some(at);
        }
        for name in names {
            match self.names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, last)) => *last = at,
                None => self.names.push((name, at)),
            }
        }
        node.step.for_each_child(&mut |child| child.steps.iter().for_each(|below| self.node(below, at)));
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

/// How much of their paths traversers must keep for this plan, and whether some step gives paths or parts of them.
pub fn needs(plan: &Plan) -> (PathMode, bool) {
    let (reads, _) = plan.traversal.touches();
    (path_mode(plan, reads), plan.source.paths || reads.any_of(Reads::PATH))
}

/// How much of their paths traversers must keep for a plan whose steps read this.
pub fn path_mode(plan: &Plan, reads: Reads) -> PathMode {
    if plan.source.paths || reads.any_of(PATHS) {
        PathMode::Full
    } else if !reads.any_of(Reads::LABELS) {
        PathMode::Off
    } else if plan.traversal.any(&|node| asks_for_more_than_the_last(&node.step)) {
        PathMode::Labels
    } else {
        PathMode::Slots
    }
}
