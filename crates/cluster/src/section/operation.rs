//! One change of a store.

use mangrove_graph::{
    Cardinality, Cell, EdgeRef, ElementId, ElementKind, Encoding, ExternalId, GraphError, KeyId, LabelId, NewEdge,
    PropertyId, Result, Value, ValueType, VertexId,
};
use serde::{Deserialize, Serialize};

use crate::log::{VERSION_FIRST, VERSION_OF_ROUTES, VERSION_OF_SOURCES};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Operation {
    EnsureLabel(ElementKind, String),
    EnsureKey(String),
    AddVertices {
        label: LabelId,
        /// The local id of the first.
        first: u64,
        ids: Vec<Option<ExternalId>>,
    },
    AddEdges {
        label: LabelId,
        /// The local id of the first.
        first: u64,
        sources: Vec<VertexId>,
        targets: Vec<VertexId>,
        /// Empty if no edge has one.
        ids: Vec<Option<ExternalId>>,
        /// Empty if no edge has one.
        times: Vec<Option<Value>>,
    },
    SetCell(ElementId, KeyId, Cell),
    /// Raw ids of elements of a kind, and one value for each.
    SetProperties(ElementKind, KeyId, Vec<u64>, Vec<Value>),
    SetFurtherLabels(VertexId, Vec<LabelId>),
    RemoveEdges(Vec<EdgeRef>),
    RemoveVertices(Vec<VertexId>),
    DeclareProperty(PropertyId, Option<ValueType>, Cardinality),
    DeclareKey(LabelId, KeyId),
    DeclareTime(LabelId, KeyId),
    SetEncoding(PropertyId, Encoding),
    CreateIndex(PropertyId),
    DeclareUnique(PropertyId),
    DeclareRequired(PropertyId, bool),
    DropIndex(PropertyId),
    RenameLabel(ElementKind, LabelId, String),
    DropLabel(ElementKind, LabelId),
    DropProperty(PropertyId),
    DropKey(KeyId),
    /// From here on, the store may compress what it has.
    EndLabels,
    /// How far a source was read, by its name.
    PutSource(String, Vec<u8>),
    DeclareRouted(PropertyId),
    /// The hashes of values of a property, each with a shard that may have it.
    ListShards(PropertyId, Vec<(u64, u16)>),
}

/// A section in which a shard may compress what it has.
pub const END_LABELS: [u8; 1] = [21];

impl Operation {
    pub fn add_edges(label: LabelId, first: u64, edges: &[NewEdge]) -> Self {
        let ids = match edges.iter().any(|edge| edge.id.is_some()) {
            true => edges.iter().map(|edge| edge.id.clone()).collect(),
            false => Vec::new(),
        };
        let times = match edges.iter().any(|edge| edge.time.is_some()) {
            true => edges.iter().map(|edge| edge.time.clone()).collect(),
            false => Vec::new(),
        };
        let (sources, targets) = edges.iter().map(|edge| (edge.source, edge.target)).unzip();
        Operation::AddEdges { label, first, sources, targets, ids, times }
    }

    /// The first version of records that can have it.
    pub fn version(&self) -> u8 {
        match self {
            Operation::PutSource(..) => VERSION_OF_SOURCES,
            Operation::DeclareRouted(..) | Operation::ListShards(..) => VERSION_OF_ROUTES,
            _ => VERSION_FIRST,
        }
    }

    /// Appends the operation.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let bytes = postcard::to_allocvec(self).map_err(|error| GraphError::Invalid(format!("an operation: {error}")))?;
        out.extend_from_slice(&bytes);
        Ok(())
    }

    /// Takes an operation off the front.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8])> {
        postcard::take_from_bytes(bytes).map_err(|_| GraphError::corrupt("a damaged section in the log"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_older_ones_do_not_know_has_a_higher_version() {
        let of = PropertyId::of_vertices(LabelId(1), KeyId(2));
        assert_eq!(Operation::CreateIndex(of).version(), 1);
        assert_eq!(Operation::PutSource("events".into(), Vec::new()).version(), 3);
        assert_eq!(
            [Operation::DeclareRouted(of), Operation::ListShards(of, vec![(9, 1)])].map(|made| made.version()),
            [4; 2]
        );
    }

    #[test]
    fn the_end_of_labels_is_one_byte() {
        let mut bytes = Vec::new();
        Operation::EndLabels.write(&mut bytes).unwrap();
        assert_eq!(bytes, END_LABELS);
    }
}
