//! Reads the elements of results whole: ids and labels as users know them, and properties.
//!
//! A traversal carries elements as internal ids. Only their graph knows the ids that users see. `describe` looks them up once, and
//! every form of output (JSON, tables, Arrow, Python objects) is made from a [`Described`].

use std::sync::Arc;

use mangrove_graph::record;
use mangrove_graph::{
    Cardinality, EdgeRef, ElementId, ElementKind, GraphError, GraphView, PropertyValue, Result, Subgraph, Tree, Value,
    VertexId, VertexProperty,
};

use crate::QueryOptions;
use crate::error::QueryError;
use crate::memory::Memory;

/// A value of a result with nothing left to look up.
#[derive(Clone, Debug, PartialEq)]
pub enum Described {
    /// A value that holds no element.
    Plain(Value),
    Vertex(Box<VertexRecord>),
    Edge(Box<EdgeRecord>),
    VertexProperty(Box<VertexPropertyRecord>),
    Property(Box<LonePropertyRecord>),
    List(Vec<Described>),
    Set(Vec<Described>),
    /// Entries in their original order.
    Map(Vec<(Described, Described)>),
    Entry(Box<(Described, Described)>),
    Path {
        objects: Vec<Described>,
        /// The labels that `as()` gave to each object.
        labels: Vec<Vec<Arc<str>>>,
    },
    Tree(Vec<Branch>),
    Subgraph {
        vertices: Vec<VertexRecord>,
        edges: Vec<EdgeRecord>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub value: Described,
    pub below: Vec<Branch>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VertexRecord {
    pub internal: VertexId,
    /// Null if the vertex was removed after the query saw it.
    pub id: Value,
    pub label: Arc<str>,
    /// Labels beside the primary one.
    pub further_labels: Vec<Arc<str>>,
    pub properties: Vec<PropertyRecord>,
}

/// The values of a vertex under one key.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyRecord {
    pub key: Arc<str>,
    /// The key takes several values (list or set cardinality), even if this vertex has only one.
    pub many: bool,
    pub values: Vec<ValueRecord>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ValueRecord {
    pub ordinal: u32,
    pub value: Value,
    pub meta: Vec<(Arc<str>, Value)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EdgeRecord {
    pub internal: EdgeRef,
    /// Null if the edge was removed after the query saw it.
    pub id: Value,
    pub label: Arc<str>,
    pub source: EndRecord,
    pub target: EndRecord,
    pub properties: Vec<(Arc<str>, Value)>,
}

/// An end of an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EndRecord {
    pub id: Value,
    pub label: Arc<str>,
}

/// A property of an edge or of a property.
#[derive(Clone, Debug, PartialEq)]
pub struct LonePropertyRecord {
    /// The property as queries know it.
    pub element: Value,
    pub key: Arc<str>,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VertexPropertyRecord {
    /// Distinguishes the values under one key of one vertex.
    pub ordinal: u32,
    pub internal: VertexId,
    /// The property as queries know it.
    pub element: Value,
    pub vertex: EndRecord,
    pub key: Arc<str>,
    pub value: Value,
    pub meta: Vec<(Arc<str>, Value)>,
}

/// Reads every element in `value` whole. Accounts for the memory.
pub(crate) fn describe(view: &dyn GraphView, value: &Value, memory: &mut Memory) -> Result<Described, QueryError> {
    memory.hold_value(value)?;
    Describing { view, memory }.value(value)
}

/// Reads every element in `value` whole, within the default memory of a query.
pub fn describe_alone(view: &dyn GraphView, value: &Value) -> Result<Described, QueryError> {
    describe(view, value, &mut Memory::new(&QueryOptions::default()))
}

/// Bytes of a record beside its properties, and of a property beside its value.
const RECORD_BYTES: usize = 128;
const PROPERTY_BYTES: usize = 64;

struct Describing<'a> {
    view: &'a dyn GraphView,
    memory: &'a mut Memory,
}

impl Describing<'_> {
    fn value(&mut self, value: &Value) -> Result<Described, QueryError> {
        self.memory.hold(size_of::<Described>())?;
        Ok(match value {
            Value::Vertex(id) => Described::Vertex(Box::new(self.vertex(*id)?)),
            Value::Edge(edge) => Described::Edge(Box::new(self.edge(*edge)?)),
            Value::VertexProperty(property) => {
                self.memory.hold(RECORD_BYTES)?;
                Described::VertexProperty(Box::new(vertex_property(self.view, property)?))
            }
            Value::Property(property) => Described::Property(Box::new(LonePropertyRecord {
                element: value.clone(),
                key: property.name.clone(),
                value: property.value.clone(),
            })),
            Value::Path(path) => Described::Path { objects: self.values(&path.objects)?, labels: path.labels.clone() },
            Value::Tree(tree) => Described::Tree(self.branches(tree)?),
            Value::Subgraph(subgraph) => self.subgraph(subgraph)?,
            Value::Entry(entry) => Described::Entry(Box::new((self.value(&entry.0)?, self.value(&entry.1)?))),
            plain if holds_no_element(plain) => Described::Plain(plain.clone()),
            Value::List(items) => Described::List(self.values(items)?),
            Value::Set(items) => Described::Set(self.values(items)?),
            Value::BulkSet(items) => {
                let mut list = Vec::new();
                for (value, count) in items.iter() {
                    (0..*count).try_for_each(|_| self.value(value).map(|value| list.push(value)))?;
                }
                Described::List(list)
            }
            Value::Map(map) => {
                let entries = map.iter().map(|(k, v)| Ok((self.value(k)?, self.value(v)?)));
                Described::Map(entries.collect::<Result<_, QueryError>>()?)
            }
            plain => Described::Plain(plain.clone()),
        })
    }

    fn values(&mut self, values: &[Value]) -> Result<Vec<Described>, QueryError> {
        values.iter().map(|value| self.value(value)).collect()
    }

    fn branches(&mut self, tree: &Tree) -> Result<Vec<Branch>, QueryError> {
        let branch = |(value, below): &(Value, Tree)| Ok(Branch { value: self.value(value)?, below: self.branches(below)? });
        tree.0.iter().map(branch).collect()
    }

    fn subgraph(&mut self, subgraph: &Subgraph) -> Result<Described, QueryError> {
        Ok(Described::Subgraph {
            vertices: subgraph.vertices.iter().map(|id| self.vertex(*id)).collect::<Result<_, QueryError>>()?,
            edges: subgraph.edges.iter().map(|edge| self.edge(*edge)).collect::<Result<_, QueryError>>()?,
        })
    }

    fn vertex(&mut self, id: VertexId) -> Result<VertexRecord, QueryError> {
        let record = vertex(self.view, id)?;
        self.memory.hold(RECORD_BYTES)?;
        for value in record.properties.iter().flat_map(|property| &property.values) {
            self.memory.hold(PROPERTY_BYTES)?;
            self.memory.hold_value(&value.value)?;
        }
        Ok(record)
    }

    fn edge(&mut self, edge: EdgeRef) -> Result<EdgeRecord, QueryError> {
        let record = self::edge(self.view, edge)?;
        self.memory.hold(RECORD_BYTES)?;
        record.properties.iter().try_for_each(|(_, value)| self.memory.hold_value(value))?;
        Ok(record)
    }
}

/// Whether the value is plain through and through. Maps count as not plain, so that there is only one way to reach their entries.
fn holds_no_element(value: &Value) -> bool {
    match value {
        Value::List(items) | Value::Set(items) => items.iter().all(holds_no_element),
        Value::Map(_) | Value::BulkSet(_) => false,
        Value::Token(_) => true,
        other => other.value_type().is_storable(),
    }
}

/// A vertex with all its properties.
pub fn vertex(view: &dyn GraphView, id: VertexId) -> Result<VertexRecord> {
    let schema = view.schema();
    let known = end(view, id)?;
    let mut record =
        VertexRecord { internal: id, id: known.id, label: known.label, further_labels: Vec::new(), properties: Vec::new() };
    if record.id.is_null() {
        return Ok(record);
    }
    let label = schema.label_schema(ElementKind::Vertex, id.label());
    if label.is_some_and(|l| !l.further.is_empty()) {
        let further = view.further_labels(id)?;
        record.further_labels = further.into_iter().map(|l| schema.label_name(ElementKind::Vertex, l)).collect();
    }
    for property in record::properties(view, ElementId::Vertex(id))? {
        let cardinality = label.and_then(|label| label.property(property.key)).map(|known| known.cardinality);
        let many = cardinality.is_some_and(|known| known != Cardinality::Single) || property.values.len() > 1;
        let values = property.values.into_iter().map(|entry| value_record(view, entry)).collect();
        record.properties.push(PropertyRecord { key: property.name, many, values });
    }
    Ok(record)
}

fn value_record(view: &dyn GraphView, entry: PropertyValue) -> ValueRecord {
    ValueRecord { ordinal: entry.ordinal, value: entry.value, meta: named(view, entry.meta) }
}

fn named(view: &dyn GraphView, meta: Vec<(mangrove_graph::KeyId, Value)>) -> Vec<(Arc<str>, Value)> {
    meta.into_iter().map(|(key, value)| (view.schema().key_name(key), value)).collect()
}

/// An edge with all its properties.
pub fn edge(view: &dyn GraphView, edge: EdgeRef) -> Result<EdgeRecord> {
    let element = ElementId::Edge(edge.id);
    let mut record = EdgeRecord {
        internal: edge,
        id: gone_is_null(record::edge_id(view, edge.id))?,
        label: record::label(view, element),
        source: end(view, edge.source)?,
        target: end(view, edge.target)?,
        properties: Vec::new(),
    };
    for property in gone_has_nothing(record::properties(view, element))? {
        record.properties.extend(property.values.into_iter().next().map(|entry| (property.name, entry.value)));
    }
    Ok(record)
}

fn end(view: &dyn GraphView, id: VertexId) -> Result<EndRecord> {
    let label = record::label(view, ElementId::Vertex(id));
    Ok(EndRecord { id: gone_is_null(record::vertex_id(view, id))?, label })
}

fn vertex_property(view: &dyn GraphView, property: &Arc<VertexProperty>) -> Result<VertexPropertyRecord> {
    let has_meta = |p: &mangrove_graph::PropertySchema| p.has_meta;
    let label = view.schema().label_schema(ElementKind::Vertex, property.vertex.label());
    let mut meta = Vec::new();
    if label.and_then(|l| l.property(property.key)).is_some_and(has_meta) {
        let cell = gone_has_nothing(view.cell(ElementId::Vertex(property.vertex), property.key))?;
        let entry = cell.into_entries().into_iter().find(|entry| entry.ordinal == property.ordinal);
        meta = entry.map(|entry| named(view, entry.meta)).unwrap_or_default();
    }
    Ok(VertexPropertyRecord {
        ordinal: property.ordinal,
        internal: property.vertex,
        element: Value::VertexProperty(property.clone()),
        vertex: end(view, property.vertex)?,
        key: property.name.clone(),
        value: property.value.clone(),
        meta,
    })
}

/// A query may return an element that it has removed. Its id is null.
fn gone_is_null(id: Result<Value>) -> Result<Value> {
    match id {
        Err(GraphError::NoSuchElement { .. }) => Ok(Value::Null),
        other => other,
    }
}

/// A removed element has no properties.
fn gone_has_nothing<T: Default>(found: Result<T>) -> Result<T> {
    match found {
        Err(GraphError::NoSuchElement { .. }) => Ok(T::default()),
        other => other,
    }
}
