//! Under which keys steps read the elements that come to them.
//!
//! A step that reads a column may keep it for a later step, and a scan may return it with the elements.

use crate::plan::facts::{Gives, Rows};
use crate::plan::{By, HasKey, Name, Step, StepNode};
use crate::stack::deep;

impl Step {
    /// Visits the keys under which the step itself reads the elements that come to it.
    pub fn for_each_key(&self, visit: &mut dyn FnMut(&Name)) {
        match self {
            Step::Has(tests) => tests.iter().filter_map(|test| of_property(&test.key)).for_each(&mut *visit),
            Step::HasChild { key, .. } => of_property(key).into_iter().for_each(&mut *visit),
            Step::HasProperty { key, .. } => visit(key),
            Step::Values(keys) | Step::PropertyMap { keys, .. } | Step::ElementMap { keys, .. } => {
                keys.iter().for_each(&mut *visit);
            }
            _ => {}
        }
        self.for_each_by(&mut |by| {
            if let By::Key(key) = by {
                visit(key);
            }
        });
    }

    fn gives_what_came(&self) -> bool {
        self.facts().gives == Gives::Same
    }
}

fn of_property(key: &HasKey) -> Option<&Name> {
    match key {
        HasKey::Property(name) => Some(name),
        HasKey::Id | HasKey::Label => None,
    }
}

/// Whether steps, or their children, read a key of the elements that come to the first of them. O(steps).
pub fn are_read(key: &str, steps: &[StepNode]) -> bool {
    deep(|| {
        for node in steps {
            let mut is_read = false;
            node.step.for_each_key(&mut |name| is_read |= **name == *key);
            node.step.for_each_child(&mut |child| is_read |= are_read(key, &child.steps));
            if is_read || !node.step.gives_what_came() {
                return is_read;
            }
        }
        false
    })
}

/// The keys that steps read of every element that comes to the first of them. O(steps).
pub fn read_of_all(steps: &[StepNode]) -> Vec<Name> {
    let mut keys: Vec<Name> = Vec::new();
    for node in steps {
        node.step.for_each_key(&mut |name| {
            if !keys.contains(name) {
                keys.push(name.clone());
            }
        });
        if node.step.facts().rows != Rows::Same || !node.step.gives_what_came() {
            break;
        }
    }
    keys
}
