//! What takes the room of compressed data, by the names users know.

use mangrove_graph::{Direction, ElementKind, Schema};

use crate::{Part, PartStats};

/// A column, list of edges, index or table of names, of all segments together.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedPart {
    /// `vertex` or `edge`.
    pub of: &'static str,
    /// The elements' label; names are of all.
    pub label: Option<String>,
    /// A property, or in parentheses what is none.
    pub part: String,
    pub bytes: u64,
    /// How it is kept, if it is a column.
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

/// What the label of a part is one of: lists of edges are those of vertices.
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
