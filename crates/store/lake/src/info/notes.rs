//! What GraphAr has no words for, noted in the file of the graph: ids, exact types, times. Other readers pass these notes over.

use std::collections::BTreeMap;

use mangrove_graph::{ElementKind, IdSpace, ValueType};

use super::place::safe;

/// Pairs of key and value. A key names an element kind, a label and perhaps a property.
#[derive(Clone, Debug, Default)]
pub struct Notes(BTreeMap<String, String>);

/// What keys of notes begin with.
const OWN: &str = "mangrove.";

impl Notes {
    /// The notes among all pairs of a file.
    pub fn of(extra: &[(String, String)]) -> Self {
        let own = |(key, value): &(String, String)| Some((key.strip_prefix(OWN)?.to_owned(), value.clone()));
        Self(extra.iter().filter_map(own).collect())
    }

    pub fn into_extra(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(key, value)| (format!("{OWN}{key}"), value)).collect()
    }

    /// Where ids are unique. In files of others, vertices of two types may have the same id.
    pub fn id_space(&self) -> IdSpace {
        match self.0.get("ids").map(String::as_str) {
            Some("graph") => IdSpace::Graph,
            _ => IdSpace::Label,
        }
    }

    pub fn set_id_space(&mut self, space: IdSpace) {
        let name = if space == IdSpace::Graph { "graph" } else { "label" };
        self.0.insert("ids".into(), name.into());
    }

    /// The column with the ids of a label, if it is no property.
    pub fn id_column(&self, kind: ElementKind, label: &str) -> Option<&str> {
        self.0.get(&place("id", kind, &[label])).map(String::as_str)
    }

    pub fn set_id_column(&mut self, kind: ElementKind, label: &str, column: &str) {
        self.0.insert(place("id", kind, &[label]), column.into());
    }

    /// The type of the values of a property, if the files have another one.
    pub fn value_type(&self, kind: ElementKind, label: &str, property: &str) -> Option<ValueType> {
        ValueType::from_name(self.0.get(&place("type", kind, &[label, property]))?)
    }

    pub fn set_value_type(&mut self, kind: ElementKind, label: &str, property: &str, t: ValueType) {
        self.0.insert(place("type", kind, &[label, property]), t.name().into());
    }

    /// The property that orders the edges of a label.
    pub fn time(&self, label: &str) -> Option<&str> {
        self.0.get(&place("time", ElementKind::Edge, &[label])).map(String::as_str)
    }

    pub fn set_time(&mut self, label: &str, property: &str) {
        self.0.insert(place("time", ElementKind::Edge, &[label]), property.into());
    }
}

fn place(what: &str, kind: ElementKind, names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| safe(name)).collect();
    format!("{what}/{}/{}", kind.name(), names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_back_and_those_of_others_are_passed_over() {
        let mut notes = Notes::default();
        notes.set_id_space(IdSpace::Graph);
        notes.set_id_column(ElementKind::Vertex, "a/b", "_id");
        notes.set_value_type(ElementKind::Edge, "knows", "a.b", ValueType::Int8);
        notes.set_time("knows", "since");
        let mut extra = notes.into_extra();
        extra.push(("ids".into(), "label".into()));
        let read = Notes::of(&extra);
        assert_eq!(read.id_space(), IdSpace::Graph);
        assert_eq!(read.id_column(ElementKind::Vertex, "a/b"), Some("_id"));
        assert_eq!(read.id_column(ElementKind::Edge, "a/b"), None);
        assert_eq!(read.value_type(ElementKind::Edge, "knows", "a.b"), Some(ValueType::Int8));
        assert_eq!(read.value_type(ElementKind::Edge, "knows", "a"), None);
        assert_eq!((read.time("knows"), read.time("likes")), (Some("since"), None));
        assert_eq!(Notes::default().id_space(), IdSpace::Label);
    }
}
