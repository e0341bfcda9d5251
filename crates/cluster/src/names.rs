//! Numbers of labels and ids, in the graph and in the store of a shard.
//!
//! In its own store, a shard has the number 0. So the ids of its own elements are dense there. Another shard, with number n, has the number
//! n xor own.
//!
//! Each edge label of the graph is two labels of a store that keeps sides apart: 2k has the edges that leave vertices of the shard, and 2k + 1
//! those that come into them. An edge that comes in carries its id in the graph as the id that a user might have given it.

use mangrove_graph::id::LOCAL_MAX;
use mangrove_graph::{EdgeId, EdgeRef, ElementKind, ExternalId, LabelId, PropertyId, VertexId};
use serde::{Deserialize, Serialize};

/// Before the name of an edge label, this marks the label of edges that come in.
const COMING_IN: char = '\u{1}';

/// The longest name that a store takes.
const NAME_BYTES_MAX: usize = u16::MAX as usize;

/// The edge labels that a graph in shards can have.
pub const EDGE_LABELS_MAX: usize = 1 << 15;

/// The number by which a shard goes, of so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Own {
    pub number: u16,
    pub shards: u16,
}

impl Own {
    /// The bits of the number of a shard.
    fn bits(self) -> u32 {
        u16::BITS - (self.shards - 1).leading_zeros()
    }

    /// The id that an edge carries where it comes in: its local id, and then its shard. The label has the rest. Edges of many shards that come
    /// one after the other then have near ids, which take few bits.
    pub fn carried(self, edge: EdgeId) -> ExternalId {
        ExternalId::Int((edge.local() << self.bits() | u64::from(edge.shard())) as i64)
    }

    /// The edge of a label of the graph that carries an id where it comes in.
    pub fn carrying(self, label: LabelId, id: i64) -> EdgeId {
        let id = id as u64;
        EdgeId::new(label, (id & ((1 << self.bits()) - 1)) as u16, (id >> self.bits()) & LOCAL_MAX)
    }

    /// A vertex of the graph in the store, and the other way round.
    #[inline]
    pub fn vertex(self, vertex: VertexId) -> VertexId {
        VertexId::new(vertex.label(), vertex.shard() ^ self.number, vertex.local())
    }

    /// An edge of the graph in the store of its source.
    #[inline]
    pub fn edge(self, edge: EdgeId) -> EdgeId {
        EdgeId::new(leaving(edge.label()), edge.shard() ^ self.number, edge.local())
    }

    /// The edge of the graph that an edge of its source's store is.
    #[inline]
    pub fn graph_edge(self, edge: EdgeId) -> EdgeId {
        EdgeId::new(LabelId(edge.label().0 / 2), edge.shard() ^ self.number, edge.local())
    }

    pub fn edge_ref(self, edge: EdgeRef) -> EdgeRef {
        EdgeRef { id: self.edge(edge.id), source: self.vertex(edge.source), target: self.vertex(edge.target) }
    }

    pub fn graph_edge_ref(self, edge: EdgeRef) -> EdgeRef {
        EdgeRef { id: self.graph_edge(edge.id), source: self.vertex(edge.source), target: self.vertex(edge.target) }
    }
}

/// The label of edges that leave vertices of a shard. Labels that a graph in shards cannot have give one without properties of its own.
pub fn leaving(label: LabelId) -> LabelId {
    LabelId(label.0.saturating_mul(2))
}

/// The label of edges that come into vertices of a shard.
pub fn coming_in(label: LabelId) -> LabelId {
    LabelId(leaving(label).0 | 1)
}

/// Whether edges of a store's label come into vertices of the shard.
pub fn comes_in(label: LabelId) -> bool {
    !label.0.is_multiple_of(2)
}

/// Whether an edge label of a graph in shards can have this name, beside the one for edges that come in.
pub fn may_be_name(name: &str) -> bool {
    !name.starts_with(COMING_IN) && name.len() + COMING_IN.len_utf8() <= NAME_BYTES_MAX
}

/// The name of the label of edges that come in.
pub fn coming_in_name(name: &str) -> String {
    format!("{COMING_IN}{name}")
}

/// A property of the graph in the store of a shard.
pub fn property(of: PropertyId) -> PropertyId {
    match of.kind {
        ElementKind::Vertex => of,
        ElementKind::Edge => PropertyId { label: leaving(of.label), ..of },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_and_own_ones_have_shard_0() {
        for own in [(0, 1), (1, 2), (5, 7), (4095, 4096)].map(|(number, shards)| Own { number, shards }) {
            for (label, shard, local) in [(0, own.number, 0), (7, 0, 9), (32_767, 4095, (1 << 36) - 2)] {
                let (vertex, edge) =
                    (VertexId::new(LabelId(label), shard, local), EdgeId::new(LabelId(label), shard, local));
                assert_eq!(own.vertex(own.vertex(vertex)), vertex);
                assert_eq!(own.graph_edge(own.edge(edge)), edge);
                assert_eq!(own.vertex(vertex).shard() == 0, shard == own.number);
                if shard < own.shards {
                    let ExternalId::Int(id) = own.carried(edge) else { panic!("an integer") };
                    assert_eq!(own.carrying(LabelId(label), id), edge);
                }
            }
        }
    }
}
