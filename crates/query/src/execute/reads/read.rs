//! Asks the graph about the items of a batch: one call for all of them, however far away the graph is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mangrove_graph::{
    Cell, EdgeRef, ElementId, ElementKind, Elements, GraphError, KeyId, Property, PropertyColumn, PropertyOwner, Value,
    VertexId, VertexProperty, record,
};

use crate::error::Result;
use crate::execute::data::items::Items;
use crate::execute::data::words::type_error;
use crate::execute::run::context::{Context, Key};
use crate::plan::Name;

/// Calls `read` with the vertices and then with the edges among some items. It also gets the row of each.
fn each_kind(items: &Items, mut read: impl FnMut(Elements<'_>, &[u32]) -> Result<()>) -> Result<()> {
    let (mut vertices, mut edges) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    match items {
        Items::Vertices(ids) => return read(Elements::Vertices(ids), &rows(ids.len())),
        Items::Edges(all) => return read(Elements::Edges(all), &rows(all.len())),
        Items::Values(values) => {
            for (row, value) in (0..).zip(values) {
                match value {
                    Value::Vertex(id) => push(&mut vertices, *id, row),
                    Value::Edge(edge) => push(&mut edges, *edge, row),
                    _ => {}
                }
            }
        }
        Items::Column(_) | Items::Maps(_) => {}
    }
    if !vertices.0.is_empty() {
        read(Elements::Vertices(&vertices.0), &vertices.1)?;
    }
    if !edges.0.is_empty() {
        read(Elements::Edges(&edges.0), &edges.1)?;
    }
    Ok(())
}

fn rows(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

fn push<T>(to: &mut (Vec<T>, Vec<u32>), item: T, row: u32) {
    to.0.push(item);
    to.1.push(row);
}

/// The ids of elements as a column of values, each in its row; `None` for items that are no elements.
fn ids_of_elements(cx: &Context<'_, '_>, items: &Items) -> Result<Vec<Option<Value>>> {
    let mut out = vec![None; items.len()];
    each_kind(items, |elements, rows| {
        let ids = record::ids(cx.view(), elements)?;
        for (id, row) in ids_in(&ids, elements)?.into_iter().zip(rows) {
            out[*row as usize] = Some(id);
        }
        Ok(())
    })?;
    Ok(out)
}

/// The ids in the column of some elements. Fails if an element is not there.
fn ids_in(ids: &PropertyColumn, elements: Elements<'_>) -> Result<Vec<Value>> {
    let id = |row| match ids.cell(row) {
        Cell::One(id) => Ok(id),
        _ => Err(GraphError::no_such(elements.get(row)).into()),
    };
    (0..elements.len()).map(id).collect()
}

/// `T.id` of each item. Fails for an item that has none.
pub fn ids(cx: &Context<'_, '_>, items: &Items) -> Result<Vec<Value>> {
    let mut out = ids_of_elements(cx, items)?;
    let owners = owners(items);
    if owners.is_empty() {
        return present(items, out);
    }
    let of_owners = ids_of_elements(cx, &Items::Vertices(owners.iter().map(|(_, p)| p.vertex).collect()))?;
    for ((row, property), id) in owners.iter().zip(of_owners) {
        out[*row] = id.map(|id| Value::string(mangrove_graph::record::property_id(&id, &property.name, property.ordinal)));
    }
    present(items, out)
}

fn present(items: &Items, ids: Vec<Option<Value>>) -> Result<Vec<Value>> {
    let id = |(row, id): (usize, Option<Value>)| id.ok_or_else(|| type_error("id()", "elements", &items.get(row)));
    ids.into_iter().enumerate().map(id).collect()
}

/// The vertex properties among some items, with their rows.
fn owners(items: &Items) -> Vec<(usize, Arc<VertexProperty>)> {
    let Items::Values(values) = items else { return Vec::new() };
    let property = |(row, value): (usize, &Value)| match value {
        Value::VertexProperty(property) => Some((row, property.clone())),
        _ => None,
    };
    values.iter().enumerate().filter_map(property).collect()
}

/// The names of the labels of each item, the primary one first. No names for an item that has no label.
pub fn label_names(cx: &Context<'_, '_>, items: &Items) -> Result<Vec<Vec<Name>>> {
    let schema = cx.view().schema();
    let mut out = vec![Vec::new(); items.len()];
    each_kind(items, |elements, rows| {
        for (at, row) in rows.iter().enumerate() {
            let element = elements.get(at);
            out[*row as usize].push(schema.label_name(element.kind(), element.label()));
        }
        let Elements::Vertices(vertices) = elements else { return Ok(()) };
        let mut further = Vec::new();
        cx.view().all_further_labels(vertices, &mut further)?;
        for (labels, row) in further.into_iter().zip(rows) {
            out[*row as usize].extend(labels.into_iter().map(|label| schema.label_name(ElementKind::Vertex, label)));
        }
        Ok(())
    })?;
    for (row, property) in owners(items) {
        out[row].push(property.name.clone());
    }
    Ok(out)
}

/// What each element of a batch has under one key. Absent for other items.
pub fn cells(cx: &Context<'_, '_>, items: &Items, key: KeyId) -> Result<Vec<Cell>> {
    let mut out = vec![Cell::Absent; items.len()];
    each_kind(items, |elements, rows| {
        let column = cx.view().properties(elements, key)?;
        for (at, row) in rows.iter().enumerate() {
            out[*row as usize] = column.cell(at);
        }
        Ok(())
    })?;
    Ok(out)
}

/// The properties of each item under `keys`, as property values. No keys means all keys. Fails for items that have none, on behalf of
/// `step`.
pub fn properties(cx: &mut Context<'_, '_>, items: &Items, keys: &mut [Key], step: &str) -> Result<Vec<Vec<Value>>> {
    let wanted = (!keys.is_empty()).then(|| known(cx, keys, items));
    let mut out = vec![Vec::new(); items.len()];
    each_kind(items, |elements, rows| {
        Ok(record::each_cell(cx.view(), elements, wanted.as_deref(), |at, key, name, cell| {
            push_properties(&owner(elements, at), key, name, cell, &mut out[rows[at] as usize]);
        })?)
    })?;
    let owners = owners(items);
    for ((row, property), meta) in owners.iter().zip(meta(cx, owners.iter().map(|(_, p)| &**p))?) {
        let wanted = meta.into_iter().filter(|(_, name, _)| keys.is_empty() || keys.iter().any(|key| key.name == *name));
        out[*row].extend(wanted.map(|(key, name, value)| {
            let owner = PropertyOwner::VertexProperty(property.clone());
            Value::Property(Arc::new(Property { owner, key, name, value }))
        }));
    }
    if let Items::Column(_) | Items::Maps(_) = items
        && !items.is_empty()
    {
        return Err(type_error(step, "elements", &items.get(0)));
    }
    if let Items::Values(values) = items {
        let has_properties = |value: &&Value| matches!(value, Value::Vertex(_) | Value::Edge(_) | Value::VertexProperty(_));
        if let Some(other) = values.iter().find(|value| !has_properties(value)) {
            return Err(type_error(step, "elements", other));
        }
    }
    Ok(out)
}

/// The keys that the graph has. Warns of others if there are elements to look at.
fn known(cx: &mut Context<'_, '_>, keys: &mut [Key], items: &Items) -> Vec<KeyId> {
    let any = match items {
        Items::Values(values) => values.iter().any(|value| value.element_id().is_some()),
        Items::Column(_) | Items::Maps(_) => false,
        Items::Vertices(_) | Items::Edges(_) => true,
    };
    if !any {
        return Vec::new();
    }
    keys.iter_mut().filter_map(|key| key.id(cx)).collect()
}

fn owner(elements: Elements<'_>, at: usize) -> Value {
    match elements {
        Elements::Vertices(ids) => Value::Vertex(ids[at]),
        Elements::Edges(edges) => Value::Edge(edges[at]),
    }
}

fn push_properties(owner: &Value, key: KeyId, name: &Name, cell: Cell, out: &mut Vec<Value>) {
    for entry in cell.into_entries() {
        out.push(match owner {
            Value::Edge(edge) => {
                let owner = PropertyOwner::Edge(*edge);
                Value::Property(Arc::new(Property { owner, key, name: name.clone(), value: entry.value }))
            }
            Value::Vertex(vertex) => Value::VertexProperty(Arc::new(VertexProperty {
                vertex: *vertex,
                key,
                ordinal: entry.ordinal,
                name: name.clone(),
                value: entry.value,
            })),
            _ => continue,
        });
    }
}

/// Vertices whose values with properties of their own are in memory together.
const VERTICES_AT_ONCE: usize = 1024;

/// The properties of one vertex property: key, name and value.
pub type Meta = Vec<(KeyId, Name, Value)>;

/// The properties of vertex properties, read from the graph.
pub fn meta<'p>(cx: &Context<'_, '_>, of: impl Iterator<Item = &'p VertexProperty>) -> Result<Vec<Meta>> {
    let of: Vec<&VertexProperty> = of.collect();
    let mut by_key: BTreeMap<KeyId, Vec<(VertexId, usize)>> = BTreeMap::new();
    for (row, property) in of.iter().enumerate() {
        by_key.entry(property.key).or_default().push((property.vertex, row));
    }
    let mut out = vec![Meta::new(); of.len()];
    let schema = cx.view().schema();
    let named = |(key, value): (KeyId, Value)| (key, schema.key_name(key), value);
    for (key, mut rows) in by_key {
        rows.sort_unstable();
        // A vertex with many values under the key is read once.
        let of_vertices: Vec<_> = rows.chunk_by(|a, b| a.0 == b.0).collect();
        for part in of_vertices.chunks(VERTICES_AT_ONCE) {
            let vertices: Vec<VertexId> = part.iter().map(|rows| rows[0].0).collect();
            let column = cx.view().properties(Elements::Vertices(&vertices), key)?;
            for (at, rows) in part.iter().enumerate() {
                let Cell::Many(values) = column.cell(at) else { continue };
                let values: HashMap<u32, _> = values.into_iter().map(|value| (value.ordinal, value.meta)).collect();
                for (_, row) in *rows {
                    let meta = values.get(&of[*row].ordinal).into_iter().flatten();
                    out[*row] = meta.cloned().map(named).collect();
                }
            }
        }
    }
    Ok(out)
}

/// Which vertices and edges are there, each in its row. False for other items.
pub fn are_there(cx: &Context<'_, '_>, items: &Items) -> Result<Vec<bool>> {
    let mut out = vec![false; items.len()];
    each_kind(items, |elements, rows| {
        for (is_there, row) in cx.view().contain(elements)?.into_iter().zip(rows) {
            out[*row as usize] = is_there;
        }
        Ok(())
    })?;
    Ok(out)
}

/// The id of one element or vertex property.
pub fn id_of(cx: &Context<'_, '_>, value: &Value) -> Result<Value> {
    match value {
        Value::Vertex(vertex) => Ok(record::vertex_id(cx.view(), *vertex)?),
        Value::Edge(edge) => Ok(record::edge_id(cx.view(), edge.id)?),
        other => Ok(ids(cx, &Items::Values(vec![other.clone()]))?.remove(0)),
    }
}

/// The primary label of an element, or the name of a vertex property.
pub fn label_of(cx: &Context<'_, '_>, value: &Value) -> Result<Value> {
    let of = |element| Ok(Value::String(record::label(cx.view(), element)));
    match value {
        Value::Vertex(vertex) => of(ElementId::Vertex(*vertex)),
        Value::Edge(EdgeRef { id, .. }) => of(ElementId::Edge(*id)),
        Value::VertexProperty(property) => Ok(Value::String(property.name.clone())),
        other => Err(type_error("label()", "elements", other)),
    }
}
