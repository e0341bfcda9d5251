//! Names of files and folders for the names of labels.

use hashbrown::HashSet;
use mangrove_graph::{ElementKind, LabelId, Schema};

use crate::info::{Prefix, safe};

/// The folders given so far.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
}

impl Names {
    pub fn vertices(&mut self, schema: &Schema, label: LabelId) -> Prefix {
        let name = safe(&schema.label_name(ElementKind::Vertex, label));
        Prefix::default().folder("vertex").folder(self.fresh("vertex", name))
    }

    pub fn edges(&mut self, schema: &Schema, label: LabelId, source: LabelId, target: LabelId) -> Prefix {
        let end = |label| safe(&schema.label_name(ElementKind::Vertex, label));
        let name = format!("{}_{}_{}", end(source), safe(&schema.label_name(ElementKind::Edge, label)), end(target));
        Prefix::default().folder("edge").folder(self.fresh("edge", name))
    }

    /// The folder of a group of properties.
    pub fn group(&mut self, name: String) -> String {
        self.fresh("", name)
    }

    /// The name, or one with a number if a file system that ignores case would take it for another.
    fn fresh(&mut self, folder: &str, name: String) -> String {
        let mut fresh = name.clone();
        let mut number = 1;
        while !self.taken.insert(format!("{folder}/{}", fresh.to_lowercase())) {
            number += 1;
            fresh = format!("{name}.{number}");
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_given_once() {
        let mut names = Names::default();
        let given = ["a", "A", "b", "a"].map(|name| names.fresh("vertex", name.into()));
        assert_eq!(given, ["a", "A.2", "b", "a.3"]);
        assert_eq!(names.fresh("edge", "a".into()), "a");
    }
}
