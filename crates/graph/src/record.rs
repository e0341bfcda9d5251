//! Whole elements, in the form users see.

use std::sync::Arc;

use arrow_array::{Array, StringArray};

use crate::cell::{Cell, PropertyColumn, PropertyValue};
use crate::error::{GraphError, Result};
use crate::id::{EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, IdSpace, KeyId, LabelId, VertexId};
use crate::schema::Schema;
use crate::value::Value;
use crate::view::{Elements, GraphView};

/// The ids of a batch as users see them (`T.id`). A vertex has its external id, or `Label/externalId` if ids are unique only within
/// labels. An edge has the id its user supplied, otherwise the generated one. Absent for a vertex that is not there.
pub fn ids(view: &dyn GraphView, elements: Elements<'_>) -> Result<PropertyColumn> {
    let known = view.external_ids(elements)?;
    let schema = view.schema();
    match elements {
        Elements::Vertices(_) if schema.id_space == IdSpace::Graph => Ok(known),
        Elements::Vertices(vertices) => {
            let qualified = |(row, vertex): (usize, &VertexId)| match known.cell(row) {
                Cell::One(id) => {
                    let label = schema.label_name(ElementKind::Vertex, vertex.label());
                    let id = ExternalId::from_value(&id).ok_or_else(|| GraphError::corrupt("an invalid id"))?;
                    Ok(Cell::One(Value::string(format!("{label}/{id}"))))
                }
                other => Ok(other),
            };
            vertices.iter().enumerate().map(qualified).collect::<Result<_>>().map(PropertyColumn::Cells)
        }
        Elements::Edges(edges) if matches!(known, PropertyColumn::Absent(_)) && edges.len() > 1 => {
            let generated = edges.iter().map(|edge| Some(edge.id.generated().to_string()));
            Ok(PropertyColumn::Typed(Arc::new(generated.collect::<StringArray>())))
        }
        Elements::Edges(_) if matches!(&known, PropertyColumn::Typed(array) if array.null_count() == 0) => Ok(known),
        Elements::Edges(edges) => {
            let id = |(row, edge): (usize, &EdgeRef)| match known.cell(row) {
                Cell::Absent => Cell::One(edge.id.generated().to_value()),
                known => known,
            };
            Ok(PropertyColumn::Cells(edges.iter().enumerate().map(id).collect()))
        }
    }
}

/// The id of a vertex as users see it. Fails if it is not there.
pub fn vertex_id(view: &dyn GraphView, vertex: VertexId) -> Result<Value> {
    match ids(view, Elements::Vertices(&[vertex]))?.into_cell() {
        Cell::One(id) => Ok(id),
        _ => Err(GraphError::no_such(ElementId::Vertex(vertex))),
    }
}

/// The id of an edge as users see it.
pub fn edge_id(view: &dyn GraphView, edge: EdgeId) -> Result<Value> {
    match ElementId::Edge(edge).alone(|elements| ids(view, elements))?.into_cell() {
        Cell::One(id) => Ok(id),
        _ => Err(GraphError::no_such(ElementId::Edge(edge))),
    }
}

/// The vertex with an id in the form users see: `Label/externalId` if ids are unique only within labels.
pub fn find_vertex(view: &dyn GraphView, id: &Value) -> Result<Option<VertexId>> {
    find_vertex_of(view, None, id)
}

/// The vertices with ids in the form users see, found in one call where ids are unique in the graph.
pub fn find_vertices(view: &dyn GraphView, ids: &[&Value]) -> Result<Vec<Option<VertexId>>> {
    match view.schema().id_space {
        IdSpace::Graph => found(ids, |external, out| view.find_vertices(None, external, out)),
        IdSpace::Label => ids.iter().map(|id| find_vertex(view, id)).collect(),
    }
}

/// The edges with ids in the form users see.
pub fn find_edges(view: &dyn GraphView, ids: &[&Value]) -> Result<Vec<Option<EdgeRef>>> {
    found(ids, |external, out| view.find_edges(external, out))
}

/// Looks up those values that can be ids.
fn found<T>(ids: &[&Value], find: impl FnOnce(&[ExternalId], &mut Vec<Option<T>>) -> Result<()>) -> Result<Vec<Option<T>>> {
    let external: Vec<ExternalId> = ids.iter().filter_map(|id| ExternalId::from_value(id)).collect();
    let mut out = Vec::with_capacity(external.len());
    find(&external, &mut out)?;
    if external.len() == ids.len() {
        return Ok(out);
    }
    let mut out = out.into_iter();
    Ok(ids.iter().map(|id| ExternalId::from_value(id).and_then(|_| out.next().flatten())).collect())
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
        ExternalId::String(text) => match &spellings(&text)[..] {
            [other, _, ..] => Some(other.to_value()),
            _ => number_in(&text).map(Value::Int64),
        },
        other => Some(Value::string(other.to_string())),
    }
}

/// The integer that other programs write as this text: `1.0`, `007`.
fn number_in(text: &str) -> Option<i64> {
    let (digits, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && rest.bytes().all(|b| b == b'0');
    is_whole.then(|| digits.parse().ok())?
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
pub struct ElementProperty {
    pub key: KeyId,
    pub name: Arc<str>,
    pub values: Vec<PropertyValue>,
}

/// All properties of an element, in the order of their keys' ids.
pub fn properties(view: &dyn GraphView, element: ElementId) -> Result<Vec<ElementProperty>> {
    Ok(element.alone(|elements| all_properties(view, elements))?.pop().unwrap_or_default())
}

/// All properties of each element of a batch, in the order of their keys' ids.
pub fn all_properties(view: &dyn GraphView, elements: Elements<'_>) -> Result<Vec<Vec<ElementProperty>>> {
    let mut out = vec![Vec::new(); elements.len()];
    each_cell(view, elements, None, |row, key, name, cell| {
        out[row].push(ElementProperty { key, name: name.clone(), values: cell.into_entries() });
    })?;
    Ok(out)
}

/// Fewer elements than this are not worth a column.
const FEW: usize = 8;

/// The most cells to read at a time. Elements of labels with very many keys are read in small parts.
const CELLS_MAX: usize = 1 << 16;

/// Calls `found` with what the elements of a batch have under each of these keys, or under any key: the row, the key, its name and
/// the cell, which is not absent. For each row, keys come in the order given, or in the order of their ids.
pub fn each_cell(
    view: &dyn GraphView,
    elements: Elements<'_>,
    keys: Option<&[KeyId]>,
    mut found: impl FnMut(usize, KeyId, &Arc<str>, Cell),
) -> Result<()> {
    // Elements of several labels have few keys in common. A few of them are read one by one, unless each call is a journey.
    let few = elements.len() < FEW && view.distance().round_trip.is_zero();
    let (mut start, mut at_once) = (0, if few { 1 } else { elements.len() });
    let (mut all, mut columns) = (Vec::new(), Vec::new());
    while start < elements.len() {
        let part = elements.slice(start..elements.len().min(start + at_once));
        let keys = match keys {
            Some(keys) => keys,
            None => {
                all.clear();
                view.keys(part, &mut all)?;
                &all
            }
        };
        if keys.len() * part.len() > CELLS_MAX && part.len() > 1 {
            at_once = (CELLS_MAX / keys.len()).max(1);
            continue;
        }
        columns.clear();
        view.columns(part, keys, &mut columns)?;
        for (key, column) in keys.iter().zip(columns.drain(..)) {
            let name = view.schema().key_name(*key);
            let cells = (0..column.len()).map(|row| (row, column.cell(row))).filter(|(_, cell)| !cell.is_absent());
            cells.for_each(|(row, cell)| found(start + row, *key, &name, cell));
        }
        start += part.len();
    }
    Ok(())
}

/// The name of an element's (primary) label.
pub fn label(view: &dyn GraphView, element: ElementId) -> Arc<str> {
    view.schema().label_name(element.kind(), element.label())
}

/// The id, as users see it, of one of the values that a vertex with such an id has under a key.
pub fn property_id(vertex: &Value, key: &str, ordinal: u32) -> String {
    format!("{vertex}/{key}/{ordinal}")
}

/// The labels of a vertex, the primary one first.
pub fn labels(view: &dyn GraphView, vertex: VertexId) -> Result<Vec<LabelId>> {
    let mut labels = vec![vertex.label()];
    labels.extend(view.further_labels(vertex)?);
    Ok(labels)
}
