//! A graph in memory, too simple to be wrong. Tests compare every store with it.
//!
//! It answers each call of [`mangrove_graph::GraphView`] and [`mangrove_graph::GraphWrite`] as documented, from ordered maps and
//! without any shortcut. A transaction is a clone that is kept or thrown away. Where the contract leaves a choice, the oracle
//! decides:
//!
//! 1. For each input row, a hop lists outgoing edges before incoming ones. Each list is ordered by (edge label id, time, age),
//!    whatever the order of the requested labels. `Direction::Both` gives a loop once each way.
//! 2. A missing vertex or edge has no properties, labels or edges when read, and refuses writes.
//! 3. An inferred schema only widens: removing a value removes no type, cardinality or end.
//! 4. Null fits every declared type. Other values must match a declared type exactly, and its cardinality too.
//! 5. A failed call changes nothing.
//! 6. In shards, a vertex without an id goes to the first of the shards that had the fewest vertices of its label, and an edge goes to the
//!    shard of its source.
//! 7. If a label's edges have a time, an edge without one counts as the earliest. An edge gets its place among the edges of its
//!    vertex when it is added. Setting the property of its time later does not move it.

mod constraints;
mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::RefUnwindSafe;
use std::sync::Arc;

use mangrove_graph::{Cell, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, IdSpace, KeyId, LabelId, Schema, VertexId};

/// The graph of this module.
///
/// Invariants: (1) `vertex_names` and `edge_names` hold exactly the external ids of the existing elements; (2) every edge stands in
/// `out` of its source and in `incoming` of its target, and nowhere else; (3) no cell is [`Cell::Absent`].
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    schema: Arc<Schema>,
    vertices: BTreeMap<VertexId, Vertex>,
    edges: BTreeMap<EdgeId, Edge>,
    /// The key has the label only if ids are unique within labels.
    vertex_names: BTreeMap<(Option<LabelId>, ExternalId), VertexId>,
    edge_names: BTreeMap<ExternalId, EdgeId>,
    /// The number of elements of a label that were ever added, in each shard.
    made: BTreeMap<(ElementKind, LabelId, u16), u64>,
    /// The number of edges that were ever added.
    edges_made: u64,
    homes: Homes,
    /// How far sources were read.
    sources: BTreeMap<String, Vec<u8>>,
}

/// The shard of an id of a label.
pub type Home = dyn Fn(LabelId, &ExternalId) -> u16 + Send + Sync + RefUnwindSafe;

/// In which shard a vertex with an id lives.
#[derive(Clone)]
pub struct Homes {
    pub shards: u16,
    pub home: Arc<Home>,
}

impl Default for Homes {
    fn default() -> Self {
        Self { shards: 1, home: Arc::new(|_, _| 0) }
    }
}

impl fmt::Debug for Homes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shards", self.shards)
    }
}

#[derive(Clone, Debug)]
struct Vertex {
    external: ExternalId,
    further: BTreeSet<LabelId>,
    cells: BTreeMap<KeyId, Cell>,
    out: BTreeSet<EdgePlace>,
    incoming: BTreeSet<EdgePlace>,
}

/// The position of an edge among those of a vertex.
type EdgePlace = (LabelId, Option<i64>, Age, EdgeId);

/// How many edges were added before.
type Age = u64;

#[derive(Clone, Debug)]
struct Edge {
    source: VertexId,
    target: VertexId,
    external: Option<ExternalId>,
    time: Option<i64>,
    age: Age,
    cells: BTreeMap<KeyId, Cell>,
}

impl Oracle {
    /// A graph in shards. Its ids say in which shard an element is.
    pub fn in_shards(id_space: IdSpace, homes: Homes) -> Self {
        Self { homes, ..Self::new(id_space) }
    }

    pub fn new(id_space: IdSpace) -> Self {
        Self { schema: Arc::new(Schema { id_space, ..Schema::default() }), ..Self::default() }
    }

    /// TinkerPop's "modern" graph.
    pub fn modern() -> Self {
        let mut graph = Self::default();
        crate::samples::write_modern(&mut graph).expect("an empty graph takes it");
        graph
    }

    /// TinkerPop's "crew" graph: multi-valued properties with properties of their own.
    pub fn crew() -> Self {
        let mut graph = Self::default();
        crate::samples::write_crew(&mut graph).expect("an empty graph takes it");
        graph
    }

    /// The effect of sealing in a store: the next element of every label begins a new block of ids.
    pub fn end_blocks(&mut self) {
        self.made.values_mut().for_each(|made| *made = made.next_multiple_of(128));
    }

    fn name_of(&self, label: LabelId, external: &ExternalId) -> (Option<LabelId>, ExternalId) {
        (self.name_space(label), external.clone())
    }

    fn name_space(&self, label: LabelId) -> Option<LabelId> {
        (self.schema.id_space == IdSpace::Label).then_some(label)
    }

    fn edge_ref(&self, id: EdgeId) -> Option<EdgeRef> {
        self.edges.get(&id).map(|edge| EdgeRef { id, source: edge.source, target: edge.target })
    }

    fn stored(&self, element: ElementId, key: KeyId) -> Cell {
        if let ElementId::Vertex(id) = element
            && self.schema.is_key(ElementKind::Vertex, id.label(), key)
        {
            return self.vertices.get(&id).map(|vertex| Cell::One(vertex.external.to_value())).unwrap_or_default();
        }
        let cells = match element {
            ElementId::Vertex(id) => self.vertices.get(&id).map(|v| &v.cells),
            ElementId::Edge(id) => self.edges.get(&id).map(|e| &e.cells),
        };
        cells.and_then(|cells| cells.get(&key)).cloned().unwrap_or_default()
    }
}
