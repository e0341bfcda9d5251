//! Reads the elements of results whole: ids and labels as users know them, and properties.
//!
//! A traversal carries elements as internal ids. Only their graph knows the ids that users see. `describe_all` looks them up once, and
//! every form of output (JSON, tables, Arrow, Python objects) is made from a [`Described`].

use std::sync::Arc;

use mangrove_graph::wire::deeper;
use mangrove_graph::{EdgeRef, GraphView, Subgraph, Tree, Value, VertexId};
use serde::{Deserialize, Serialize};

use crate::QueryOptions;
use crate::error::QueryError;
use crate::memory::Memory;
use crate::records::Records;

/// A value of a result with nothing left to look up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Described {
    /// A value that holds no element.
    Plain(Value),
    Vertex(Box<VertexRecord>),
    Edge(Box<EdgeRecord>),
    VertexProperty(Box<VertexPropertyRecord>),
    Property(Box<LonePropertyRecord>),
    List(#[serde(with = "deeper")] Vec<Described>),
    Set(#[serde(with = "deeper")] Vec<Described>),
    /// Entries in their original order.
    Map(#[serde(with = "deeper")] Vec<(Described, Described)>),
    Entry(#[serde(with = "deeper")] Box<(Described, Described)>),
    Path {
        #[serde(with = "deeper")]
        objects: Vec<Described>,
        /// The labels that `as()` gave to each object.
        labels: Vec<Vec<Arc<str>>>,
    },
    Tree(#[serde(with = "deeper")] Vec<Branch>),
    Subgraph {
        vertices: Vec<VertexRecord>,
        edges: Vec<EdgeRecord>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    pub value: Described,
    #[serde(with = "deeper")]
    pub below: Vec<Branch>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropertyRecord {
    pub key: Arc<str>,
    /// The key takes several values (list or set cardinality), even if this vertex has only one.
    pub many: bool,
    pub values: Vec<ValueRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueRecord {
    pub ordinal: u32,
    pub value: Value,
    pub meta: Vec<(Arc<str>, Value)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EndRecord {
    pub id: Value,
    pub label: Arc<str>,
}

/// A property of an edge or of a property.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LonePropertyRecord {
    /// The property as queries know it.
    pub element: Value,
    pub key: Arc<str>,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// Reads every element in some values whole, each once. Accounts for the memory.
pub(crate) fn describe_all(
    view: &dyn GraphView,
    values: &[Value],
    memory: &mut Memory,
) -> Result<Vec<Described>, QueryError> {
    values.iter().try_for_each(|value| memory.hold_value(value))?;
    if values.iter().all(holds_no_element) {
        memory.hold(size_of_val(values))?;
        return Ok(values.iter().cloned().map(Described::Plain).collect());
    }
    let records = Records::of(view, values, memory)?;
    Describing { records, memory }.values(values)
}

/// Reads every element in `value` whole, within the default memory of a query.
pub fn describe_alone(view: &dyn GraphView, value: &Value) -> Result<Described, QueryError> {
    let mut described = describe_all(view, std::slice::from_ref(value), &mut Memory::new(&QueryOptions::default()))?;
    Ok(described.pop().unwrap_or(Described::Plain(Value::Null)))
}

struct Describing<'m> {
    records: Records,
    memory: &'m mut Memory,
}

impl Describing<'_> {
    fn value(&mut self, value: &Value) -> Result<Described, QueryError> {
        self.memory.hold(size_of::<Described>())?;
        Ok(match value {
            Value::Vertex(id) => Described::Vertex(Box::new(self.records.vertex(*id, self.memory)?)),
            Value::Edge(edge) => Described::Edge(Box::new(self.records.edge(*edge, self.memory)?)),
            Value::VertexProperty(property) => {
                Described::VertexProperty(Box::new(self.records.property(property, self.memory)?))
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
        let (records, memory) = (&mut self.records, &mut *self.memory);
        let vertices = subgraph.vertices.iter().map(|id| records.vertex(*id, memory)).collect::<Result<_, QueryError>>()?;
        let edges = subgraph.edges.iter().map(|edge| records.edge(*edge, memory)).collect::<Result<_, QueryError>>()?;
        Ok(Described::Subgraph { vertices, edges })
    }
}

/// Whether the value is plain through and through. Maps count as not plain, so that there is only one way to reach their entries.
pub(crate) fn holds_no_element(value: &Value) -> bool {
    match value {
        Value::List(items) | Value::Set(items) => items.iter().all(holds_no_element),
        Value::Map(_) | Value::BulkSet(_) => false,
        Value::Token(_) => true,
        other => other.value_type().is_storable(),
    }
}
