//! The parts of compressed data and their sizes, by names that users know.

use mangrove_graph::{Direction, ElementKind, Schema};

use crate::{Part, PartStats};

/// A column, list of edges, index or table of names, summed over all segments.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedPart {
    /// `vertex` or `edge`.
    pub of: &'static str,
    /// The label of the elements. A table of names has no label, because it covers all labels.
    pub label: Option<String>,
    /// The property, or a description in parentheses if the part is no property.
    pub part: String,
    pub bytes: u64,
    /// How it is stored, if it is a column.
    pub form: Option<&'static str>,
}

/// Names the parts of a database's [`StoreStats`](crate::StoreStats).
pub fn compressed(schema: &Schema, parts: &[PartStats]) -> Vec<CompressedPart> {
    let named = |part: &PartStats| CompressedPart {
        of: part.kind.name(),
        label: part.label.map(|label| schema.label_name(of_label(part), label).to_string()),
        part: name(schema, part),
        bytes: part.bytes,
        form: part.form,
    };
    parts.iter().map(named).collect()
}

/// The kind of the label of a part. Lists of edges belong to vertices.
fn of_label(part: &PartStats) -> ElementKind {
    if let Part::Lists(..) = part.part { ElementKind::Vertex } else { part.kind }
}

fn name(schema: &Schema, part: &PartStats) -> String {
    match part.part {
        Part::Property(key) => schema.key_name(key).to_string(),
        Part::BuiltIn(name) => format!("({name})"),
        Part::Lists(Direction::Out, edges) => format!("({} out)", schema.label_name(ElementKind::Edge, edges)),
        Part::Lists(_, edges) => format!("({} in)", schema.label_name(ElementKind::Edge, edges)),
        Part::Names => "(elements by id)".into(),
        Part::Index(key) => format!("(index on {})", schema.key_name(key)),
    }
}
