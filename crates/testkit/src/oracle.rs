//! A graph in memory, too simple to be wrong: what every store is compared with.
//!
//! It answers each call of [`mangrove_graph::GraphView`] and [`mangrove_graph::GraphWrite`] as their documentation says, from ordered maps and without any
//! shortcut. A transaction is a clone that is kept or thrown away. Where the contract leaves a choice, the oracle settles it:
//!
//! 1. a hop lists, of each input row, outgoing edges before incoming, each by (edge label id, time, edge id), whatever the
//!    order of the labels asked for; a loop is met once each way by `Direction::Both`;
//! 2. a vertex or edge that is not there has no properties, labels or edges when read, and cannot be written to;
//! 3. an inferred schema only ever widens: removing a value takes no type, cardinality or end away;
//! 4. null fits every declared type; a declared type, and with it the cardinality, is kept to exactly;
//! 5. a failed call changes nothing;
//! 6. an edge without a time, of a label whose edges have one, counts as the earliest; its place among its vertex's edges is
//!    settled when it is made, and setting its time's property later moves nothing.

mod constraints;
mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use mangrove_graph::{Cell, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, IdSpace, KeyId, LabelId, Schema, VertexId};

/// The graph of this module.
///
/// Invariants: (1) `vertex_names` and `edge_names` hold exactly the external ids of the elements there are; (2) every edge
/// stands in `out` of its source and `incoming` of its target, and nowhere else; (3) no cell is [`Cell::Absent`].
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    schema: Schema,
    vertices: BTreeMap<VertexId, Vertex>,
    edges: BTreeMap<EdgeId, Edge>,
    /// The label is there only where ids are unique within labels.
    vertex_names: BTreeMap<(Option<LabelId>, ExternalId), VertexId>,
    edge_names: BTreeMap<ExternalId, EdgeId>,
    /// How many elements of a label were ever made.
    made: BTreeMap<(ElementKind, LabelId), u64>,
}

#[derive(Clone, Debug)]
struct Vertex {
    external: ExternalId,
    further: BTreeSet<LabelId>,
    cells: BTreeMap<KeyId, Cell>,
    out: BTreeSet<Place>,
    incoming: BTreeSet<Place>,
}

/// Where an edge stands among those of a vertex.
type Place = (LabelId, Option<i64>, EdgeId);

#[derive(Clone, Debug)]
struct Edge {
    source: VertexId,
    target: VertexId,
    external: Option<ExternalId>,
    time: Option<i64>,
    cells: BTreeMap<KeyId, Cell>,
}

impl Oracle {
    pub fn new(id_space: IdSpace) -> Self {
        Self { schema: Schema { id_space, ..Schema::default() }, ..Self::default() }
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

    /// As stores do when they seal what they hold: the next element of every label begins a new block of ids.
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
