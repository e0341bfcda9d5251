//! Under which keys steps read columns of the elements that come to them.
//!
//! A step that reads a column may keep it for a later step, and a scan may return it with the elements.

use crate::plan::facts::{Flow, Gives, Reads, Rows};
use crate::plan::{By, GroupValue, HasKey, Name, Reduction, Scope, Step, StepNode};
use crate::stack::deep;

impl Step {
    /// Visits the keys whose columns the step itself reads, of the elements that come to it, the first one first.
    fn for_each_column(&self, visit: &mut dyn FnMut(&Name)) {
        match self {
            Step::Has(tests) => tests.iter().for_each(|test| {
                if let HasKey::Property(name) = &test.key {
                    visit(name);
                }
            }),
            Step::Values(keys) if keys.len() == 1 => visit(&keys[0]),
            step if step.facts().modulates => step.for_each_by(&mut |by| {
                if let By::Key(key) = by {
                    visit(key);
                }
            }),
            _ => {}
        }
    }

    /// Whether what comes goes on.
    fn gives_what_came(&self) -> bool {
        self.facts().gives == Gives::Same
    }

    /// Whether the step or its children read a column of the elements that come to it.
    pub fn reads_column(&self) -> bool {
        let mut reads = false;
        self.for_each_column(&mut |_| reads = true);
        self.for_each_child(&mut |child| reads |= any_column(&child.steps, &|_| true));
        reads
    }
}

/// Whether steps, or their children, read a column of the elements that come to the first of them, under a key that passes a test.
/// O(steps).
pub fn any_column(steps: &[StepNode], test: &dyn Fn(&Name) -> bool) -> bool {
    deep(|| {
        for node in steps {
            let mut is_read = false;
            node.step.for_each_column(&mut |name| is_read |= test(name));
            node.step.for_each_child(&mut |child| is_read |= any_column(&child.steps, test));
            if is_read || !node.step.gives_what_came() {
                return is_read;
            }
        }
        false
    })
}

/// The keys whose columns steps read of every element that comes to the first of them. O(steps).
pub fn read_of_all(steps: &[StepNode]) -> Vec<Name> {
    let mut keys: Vec<Name> = Vec::new();
    for node in steps {
        // Sorting reads further keys of a few candidates only.
        let most = if let Step::Order { .. } = node.step { keys.len() + 1 } else { usize::MAX };
        node.step.for_each_column(&mut |name| {
            if !keys.contains(name) && keys.len() < most {
                keys.push(name.clone());
            }
        });
        if node.step.facts().rows != Rows::Same || !node.step.gives_what_came() {
            break;
        }
    }
    keys
}

/// Whether maps that come to the first of the steps may come by column: the steps pass them on, until one counts them or reads them by key. `end`
/// says so for what takes the output of the last step. O(steps).
pub fn takes_maps(steps: &[StepNode], end: bool) -> bool {
    deep(|| {
        for node in steps {
            let reads_by_key = match &node.step {
                Step::Select { .. } | Step::GroupCount { .. } => true,
                Step::Reduce { reduction: Reduction::Count, scope: Scope::Global } => true,
                Step::Group { value, .. } => !matches!(value, Some(GroupValue::Reduce(_))),
                Step::Partial(barrier) => return takes_maps(&barrier.steps, end),
                _ => false,
            };
            let facts = node.step.facts();
            let passes_on = facts.gives == Gives::Same && facts.flow != Flow::Branch && !facts.reads.any_of(Reads::OWN);
            let mut passes = reads_by_key || passes_on;
            node.step.for_each_child(&mut |child| passes &= takes_maps(&child.steps, true));
            if !passes || reads_by_key {
                return passes;
            }
        }
        end
    })
}
