//! Whole elements, in the form users see.

use std::sync::Arc;

use crate::cell::PropertyValue;
use crate::error::Result;
use crate::id::{EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, IdSpace, KeyId, LabelId, VertexId};
use crate::schema::Schema;
use crate::value::Value;
use crate::view::GraphView;

/// The id of a vertex as users see it (`T.id`): its external id, or `Label/externalId` if ids are unique only within labels.
pub fn vertex_id(view: &dyn GraphView, vertex: VertexId) -> Result<Value> {
    let external = view.external_id(vertex)?;
    Ok(match view.schema().id_space {
        IdSpace::Graph => external.to_value(),
        IdSpace::Label => {
            let label = view.schema().label_name(ElementKind::Vertex, vertex.label());
            Value::string(format!("{label}/{external}"))
        }
    })
}

/// The id of an edge as users see it: the supplied id, otherwise the generated one.
pub fn edge_id(view: &dyn GraphView, edge: EdgeId) -> Result<Value> {
    Ok(view.edge_external_id(edge)?.unwrap_or_else(|| edge.generated()).to_value())
}

/// The vertex with an id in the form users see: `Label/externalId` if ids are unique only within labels.
pub fn find_vertex(view: &dyn GraphView, id: &Value) -> Result<Option<VertexId>> {
    find_vertex_of(view, None, id)
}

/// Like [`find_vertex`]. With `label`, the external id alone suffices, even if ids are unique only within labels.
pub fn find_vertex_of(view: &dyn GraphView, label: Option<LabelId>, id: &Value) -> Result<Option<VertexId>> {
    let Some(external) = ExternalId::from_value(id) else { return Ok(None) };
    let mut out = Vec::with_capacity(1);
    match view.schema().id_space {
        IdSpace::Graph => view.find_vertices(None, &[external], &mut out)?,
        IdSpace::Label => match (qualified(view.schema(), &external), label) {
            (Some((of, rest)), label) if label.is_none_or(|label| label == of) => {
                // The text of an id does not show its type.
                view.find_vertices(Some(of), &spellings(rest), &mut out)?;
            }
            (_, Some(label)) => view.find_vertices(Some(label), &[external], &mut out)?,
            (_, None) => {}
        },
    }
    Ok(out.into_iter().flatten().next())
}

/// The external id of a vertex of `label`, taken from an id users see: `Label/7` gives 7 if ids are unique only within labels.
pub fn external_id_in(schema: &Schema, label: LabelId, id: ExternalId) -> ExternalId {
    match qualified(schema, &id) {
        Some((of, rest)) if schema.id_space == IdSpace::Label && of == label => {
            let [first, ..] = &spellings(rest)[..] else { return id };
            first.clone()
        }
        _ => id,
    }
}

/// Splits an id `Label/rest` into the label and the rest.
pub fn qualified<'i>(schema: &Schema, id: &'i ExternalId) -> Option<(LabelId, &'i str)> {
    let ExternalId::String(text) = id else { return None };
    // The name of a label may contain a slash.
    text.match_indices('/').find_map(|(at, _)| {
        let label = schema.label(ElementKind::Vertex, &text[..at])?;
        Some((label, &text[at + 1..]))
    })
}

/// The external ids that have this text: an integer or UUID first.
fn spellings(text: &str) -> Vec<ExternalId> {
    let int = text.parse().ok().map(ExternalId::Int).filter(|int| int.to_string() == text);
    let uuid = text.parse().ok().map(ExternalId::Uuid).filter(|uuid| uuid.to_string() == text);
    int.into_iter().chain(uuid).chain([ExternalId::from(text)]).collect()
}

/// Another id that the value could mean: an integer or UUID written as text, or the text of one.
pub fn other_spelling(id: &Value) -> Option<Value> {
    match ExternalId::from_value(id)? {
        ExternalId::String(text) => {
            let [other, _, ..] = &spellings(&text)[..] else { return None };
            Some(other.to_value())
        }
        other => Some(Value::string(other.to_string())),
    }
}

/// The edge with an id in the form users see.
pub fn find_edge(view: &dyn GraphView, id: &Value) -> Result<Option<EdgeRef>> {
    let Some(external) = ExternalId::from_value(id) else { return Ok(None) };
    let mut out = Vec::with_capacity(1);
    view.find_edges(&[external], &mut out)?;
    Ok(out.into_iter().flatten().next())
}

/// One property of an element: its key, and the values under the key.
#[derive(Clone, Debug)]
pub struct PropertyRecord {
    pub key: KeyId,
    pub name: Arc<str>,
    pub values: Vec<PropertyValue>,
}

/// All properties of an element, in the order of their keys' ids.
pub fn properties(view: &dyn GraphView, element: ElementId) -> Result<Vec<PropertyRecord>> {
    let schema = view.schema();
    let mut keys = Vec::new();
    view.keys(element, &mut keys)?;
    let mut cells = Vec::with_capacity(keys.len());
    view.cells(element, &keys, &mut cells)?;
    let there = keys.into_iter().zip(cells).filter(|(_, cell)| !cell.is_absent());
    Ok(there.map(|(key, cell)| PropertyRecord { key, name: schema.key_name(key), values: cell.into_entries() }).collect())
}

/// The name of an element's (primary) label.
pub fn label(view: &dyn GraphView, element: ElementId) -> Arc<str> {
    view.schema().label_name(element.kind(), element.label())
}

/// The labels of a vertex, the primary one first.
pub fn labels(view: &dyn GraphView, vertex: VertexId) -> Result<Vec<LabelId>> {
    let mut labels = vec![vertex.label()];
    labels.extend(view.further_labels(vertex)?);
    Ok(labels)
}
