//! Elements read whole, as users see them.

use std::sync::Arc;

use crate::cell::PropertyValue;
use crate::error::Result;
use crate::id::{EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, IdSpace, KeyId, LabelId, VertexId};
use crate::value::Value;
use crate::view::GraphView;

/// The id of a vertex as users see it (`T.id`): its external id, or `Label/externalId` where ids are unique only within labels.
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

/// The id of an edge as users see it: the one supplied, or the 64-bit edge id.
pub fn edge_id(view: &dyn GraphView, edge: EdgeId) -> Result<Value> {
    Ok(match view.edge_external_id(edge)? {
        Some(external) => external.to_value(),
        None => Value::Int64(edge.0 as i64),
    })
}

/// The vertex users mean by `id`: text also names an integer or UUID it spells, if nothing has the text itself as id.
pub fn find_vertex(view: &dyn GraphView, id: &Value) -> Result<Option<VertexId>> {
    let mut out = Vec::with_capacity(1);
    match view.schema().id_space {
        IdSpace::Graph => {
            let Some(external) = ExternalId::from_value(id) else { return Ok(None) };
            view.find_vertices(None, &[external], &mut out)?;
            if let ([None], Some(text)) = (&out[..], id.as_str()) {
                let others: Vec<ExternalId> = spellings(text).filter(|e| !matches!(e, ExternalId::String(_))).collect();
                view.find_vertices(None, &others, &mut out)?;
            }
        }
        IdSpace::Label => {
            let Some((label, rest)) = id.as_str().and_then(|text| text.split_once('/')) else { return Ok(None) };
            let Some(label) = view.schema().label(ElementKind::Vertex, label) else { return Ok(None) };
            for external in spellings(rest) {
                view.find_vertices(Some(label), &[external], &mut out)?;
            }
        }
    }
    Ok(out.into_iter().flatten().next())
}

/// The external ids a text may stand for.
fn spellings(text: &str) -> impl Iterator<Item = ExternalId> + '_ {
    let int = text.parse().ok().map(ExternalId::Int);
    let uuid = text.parse().ok().map(ExternalId::Uuid);
    int.into_iter().chain(uuid).chain([ExternalId::from(text)])
}

/// The edge users mean by `id`.
pub fn find_edge(view: &dyn GraphView, id: &Value) -> Result<Option<EdgeRef>> {
    let Some(external) = ExternalId::from_value(id) else { return Ok(None) };
    let mut out = Vec::with_capacity(1);
    view.find_edges(&[external], &mut out)?;
    if let ([None], Some(text)) = (&out[..], id.as_str()) {
        let others: Vec<ExternalId> = spellings(text).filter(|e| !matches!(e, ExternalId::String(_))).collect();
        view.find_edges(&others, &mut out)?;
    }
    Ok(out.into_iter().flatten().next())
}

/// One property of an element: key, and the values under it.
#[derive(Clone, Debug)]
pub struct PropertyRecord {
    pub key: KeyId,
    pub name: Arc<str>,
    pub values: Vec<PropertyValue>,
}

/// Every property of an element, by key id.
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
