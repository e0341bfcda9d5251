//! The elements of some results, read whole: all of them at once, and each only once.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::record;
use mangrove_graph::{
    Cardinality, Cell, EdgeId, EdgeRef, ElementId, ElementKind, Elements, GraphView, KeyId, PropertyValue, Result, Tree,
    Value, VertexId, VertexProperty,
};

use crate::describe::{EdgeRecord, EndRecord, PropertyRecord, ValueRecord, VertexPropertyRecord, VertexRecord};
use crate::error::QueryError;
use crate::memory::Memory;

/// Bytes of a record beside its properties, and of a property beside its value.
const RECORD_BYTES: usize = 128;
const PROPERTY_BYTES: usize = 64;
/// Elements to read between two checks of the memory.
const ELEMENTS_AT_ONCE: usize = 1024;

/// Values with the names of their keys.
type Named = Vec<(Arc<str>, Value)>;

#[derive(Default)]
pub struct Records {
    vertices: HashMap<VertexId, Counted<VertexRecord>>,
    edges: HashMap<EdgeId, Counted<EdgeRecord>>,
    /// The vertices of which only id and label are wanted: ends of edges, owners of properties.
    ends: HashMap<VertexId, EndRecord>,
    /// The properties of vertex properties, by vertex, key and ordinal.
    meta: HashMap<(VertexId, KeyId, u32), Named>,
}

/// A record, and how many results are still to be made of it.
struct Counted<R> {
    left: u64,
    record: Option<R>,
}

impl<R: Clone> Counted<R> {
    /// The record. The last result gets the record itself, the others a copy.
    fn take(&mut self) -> Option<R> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { self.record.take() } else { self.record.clone() }
    }
}

/// The elements that occur in some values, with the number of times they do.
#[derive(Default)]
struct Occurrences {
    vertices: HashMap<VertexId, u64>,
    edges: HashMap<EdgeId, (EdgeRef, u64)>,
    /// Vertices by key: those with vertex properties that may have properties of their own.
    owners: BTreeMap<KeyId, Vec<VertexId>>,
    /// The vertices of all vertex properties.
    holders: Vec<VertexId>,
}

impl Records {
    /// Reads the elements in some values. Accounts for the memory of each record once.
    pub fn of(view: &dyn GraphView, values: &[Value], memory: &mut Memory) -> Result<Self, QueryError> {
        let mut found = Occurrences::default();
        values.iter().for_each(|value| found.add(view, value, 1));
        let mut records = Self::default();
        let mut vertices: Vec<VertexId> = found.vertices.keys().copied().collect();
        vertices.sort_unstable();
        for ids in vertices.chunks(ELEMENTS_AT_ONCE) {
            for record in read_vertices(view, ids)? {
                hold_vertex(memory, &record)?;
                let left = found.vertices[&record.internal];
                records.vertices.insert(record.internal, Counted { left, record: Some(record) });
            }
        }
        let mut edges: Vec<EdgeRef> = found.edges.values().map(|(edge, _)| *edge).collect();
        edges.sort_unstable();
        let ends = edges.iter().flat_map(|edge| [edge.source, edge.target]);
        records.read_ends(view, ends.chain(found.holders).collect())?;
        for edges in edges.chunks(ELEMENTS_AT_ONCE) {
            for record in records.read_edges(view, edges)? {
                hold_edge(memory, &record)?;
                let left = found.edges[&record.internal.id].1;
                records.edges.insert(record.internal.id, Counted { left, record: Some(record) });
            }
        }
        for (key, vertices) in found.owners {
            records.read_meta(view, key, vertices)?;
        }
        Ok(records)
    }

    /// A vertex with all its properties.
    pub fn vertex(&mut self, id: VertexId, memory: &mut Memory) -> Result<VertexRecord, QueryError> {
        let counted = self.vertices.get_mut(&id).ok_or_else(unread)?;
        if let (2.., Some(record)) = (counted.left, &counted.record) {
            hold_vertex(memory, record)?;
        }
        counted.take().ok_or_else(unread)
    }

    /// An edge with all its properties.
    pub fn edge(&mut self, edge: EdgeRef, memory: &mut Memory) -> Result<EdgeRecord, QueryError> {
        let counted = self.edges.get_mut(&edge.id).ok_or_else(unread)?;
        if let (2.., Some(record)) = (counted.left, &counted.record) {
            hold_edge(memory, record)?;
        }
        counted.take().ok_or_else(unread)
    }

    pub fn property(
        &mut self,
        property: &Arc<VertexProperty>,
        memory: &mut Memory,
    ) -> Result<VertexPropertyRecord, QueryError> {
        memory.hold(RECORD_BYTES)?;
        let meta = self.meta.get(&(property.vertex, property.key, property.ordinal)).cloned().unwrap_or_default();
        Ok(VertexPropertyRecord {
            ordinal: property.ordinal,
            internal: property.vertex,
            element: Value::VertexProperty(property.clone()),
            vertex: self.ends.get(&property.vertex).cloned().ok_or_else(unread)?,
            key: property.name.clone(),
            value: property.value.clone(),
            meta,
        })
    }

    fn read_ends(&mut self, view: &dyn GraphView, mut vertices: Vec<VertexId>) -> Result<()> {
        vertices.sort_unstable();
        vertices.dedup();
        for ids in vertices.chunks(ELEMENTS_AT_ONCE) {
            self.ends.extend(ids.iter().copied().zip(ends(view, ids)?));
        }
        Ok(())
    }

    fn read_edges(&self, view: &dyn GraphView, edges: &[EdgeRef]) -> Result<Vec<EdgeRecord>> {
        let elements = Elements::Edges(edges);
        let ids = record::ids(view, elements)?;
        let properties = record::all_properties(view, elements)?;
        let end = |vertex: VertexId| self.ends.get(&vertex).cloned().unwrap_or_default();
        let edge = |(row, (edge, properties)): (usize, (&EdgeRef, Vec<record::ElementProperty>))| EdgeRecord {
            internal: *edge,
            id: id_in(ids.cell(row)),
            label: record::label(view, ElementId::Edge(edge.id)),
            source: end(edge.source),
            target: end(edge.target),
            properties: properties
                .into_iter()
                .filter_map(|property| Some((property.name, property.values.into_iter().next()?.value)))
                .collect(),
        };
        Ok(edges.iter().zip(properties).enumerate().map(edge).collect())
    }

    fn read_meta(&mut self, view: &dyn GraphView, key: KeyId, mut vertices: Vec<VertexId>) -> Result<()> {
        vertices.sort_unstable();
        vertices.dedup();
        for vertices in vertices.chunks(ELEMENTS_AT_ONCE) {
            let column = view.properties(Elements::Vertices(vertices), key)?;
            for (row, vertex) in vertices.iter().enumerate() {
                for entry in column.cell(row).into_entries() {
                    self.meta.insert((*vertex, key, entry.ordinal), named(view, entry.meta));
                }
            }
        }
        Ok(())
    }
}

impl Occurrences {
    /// Adds the elements in a value that occurs so many times.
    fn add(&mut self, view: &dyn GraphView, value: &Value, times: u64) {
        match value {
            Value::Vertex(id) => {
                let count = self.vertices.entry(*id).or_default();
                *count = count.saturating_add(times);
            }
            Value::Edge(edge) => {
                let (_, count) = self.edges.entry(edge.id).or_insert((*edge, 0));
                *count = count.saturating_add(times);
            }
            Value::VertexProperty(property) => self.add_property(view, property),
            Value::Path(path) => path.objects.iter().for_each(|object| self.add(view, object, times)),
            Value::Tree(tree) => self.add_tree(view, tree, times),
            Value::Subgraph(subgraph) => {
                subgraph.vertices.iter().for_each(|id| self.add(view, &Value::Vertex(*id), times));
                subgraph.edges.iter().for_each(|edge| self.add(view, &Value::Edge(*edge), times));
            }
            Value::Entry(entry) => [&entry.0, &entry.1].into_iter().for_each(|part| self.add(view, part, times)),
            Value::List(items) | Value::Set(items) => items.iter().for_each(|item| self.add(view, item, times)),
            Value::BulkSet(items) => {
                items.iter().for_each(|(item, count)| self.add(view, item, times.saturating_mul(*count)));
            }
            Value::Map(map) => {
                map.iter().for_each(|(key, value)| [key, value].into_iter().for_each(|part| self.add(view, part, times)));
            }
            _ => {}
        }
    }

    fn add_tree(&mut self, view: &dyn GraphView, tree: &Tree, times: u64) {
        for (value, below) in &tree.0 {
            self.add(view, value, times);
            self.add_tree(view, below, times);
        }
    }

    fn add_property(&mut self, view: &dyn GraphView, property: &VertexProperty) {
        self.holders.push(property.vertex);
        let label = view.schema().label_schema(ElementKind::Vertex, property.vertex.label());
        if label.and_then(|label| label.property(property.key)).is_some_and(|known| known.has_meta) {
            self.owners.entry(property.key).or_default().push(property.vertex);
        }
    }
}

/// Every element of the values was read before.
fn unread() -> QueryError {
    mangrove_graph::GraphError::Invalid("a result has an element that was not read".into()).into()
}

/// The ids and labels of vertices.
fn ends(view: &dyn GraphView, vertices: &[VertexId]) -> Result<Vec<EndRecord>> {
    let ids = record::ids(view, Elements::Vertices(vertices))?;
    let end = |(row, vertex): (usize, &VertexId)| {
        let label = record::label(view, ElementId::Vertex(*vertex));
        EndRecord { id: id_in(ids.cell(row)), label }
    };
    Ok(vertices.iter().enumerate().map(end).collect())
}

/// A query may return an element that it has removed. Its id is null.
fn id_in(cell: Cell) -> Value {
    match cell {
        Cell::One(id) => id,
        _ => Value::Null,
    }
}

fn read_vertices(view: &dyn GraphView, vertices: &[VertexId]) -> Result<Vec<VertexRecord>> {
    let schema = view.schema();
    let mut further = Vec::with_capacity(vertices.len());
    view.all_further_labels(vertices, &mut further)?;
    let properties = record::all_properties(view, Elements::Vertices(vertices))?;
    let rows = vertices.iter().zip(ends(view, vertices)?).zip(further).zip(properties);
    let vertex =
        |(((vertex, end), further), properties): (((&VertexId, EndRecord), Vec<_>), Vec<record::ElementProperty>)| {
            let label = schema.label_schema(ElementKind::Vertex, vertex.label());
            let property = |property: record::ElementProperty| {
                let cardinality = label.and_then(|label| label.property(property.key)).map(|known| known.cardinality);
                let many = cardinality.is_some_and(|known| known != Cardinality::Single) || property.values.len() > 1;
                let values = property.values.into_iter().map(|entry| value_record(view, entry)).collect();
                PropertyRecord { key: property.name, many, values }
            };
            VertexRecord {
                internal: *vertex,
                id: end.id,
                label: end.label,
                further_labels: further.into_iter().map(|l| schema.label_name(ElementKind::Vertex, l)).collect(),
                properties: properties.into_iter().map(property).collect(),
            }
        };
    Ok(rows.map(vertex).collect())
}

fn value_record(view: &dyn GraphView, entry: PropertyValue) -> ValueRecord {
    ValueRecord { ordinal: entry.ordinal, value: entry.value, meta: named(view, entry.meta) }
}

fn named(view: &dyn GraphView, meta: Vec<(KeyId, Value)>) -> Named {
    meta.into_iter().map(|(key, value)| (view.schema().key_name(key), value)).collect()
}

fn hold_vertex(memory: &mut Memory, record: &VertexRecord) -> Result<(), QueryError> {
    memory.hold(RECORD_BYTES)?;
    for value in record.properties.iter().flat_map(|property| &property.values) {
        memory.hold(PROPERTY_BYTES)?;
        memory.hold_value(&value.value)?;
    }
    Ok(())
}

fn hold_edge(memory: &mut Memory, record: &EdgeRecord) -> Result<(), QueryError> {
    memory.hold(RECORD_BYTES)?;
    record.properties.iter().try_for_each(|(_, value)| memory.hold_value(value))
}
