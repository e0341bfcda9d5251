//! The traits the query engine reads and writes a graph through.
//!
//! The query side owns this contract; every tier, the snapshot over the tiers, and the oracle of the test kit implement it.
//! Calls take and return batches: plain id vectors for topology, Arrow arrays for properties. A batch of one must be as cheap
//! as a call can be, so results go into buffers the caller keeps, and point reads have their own calls.

use crate::cell::{Cell, PropertyColumn};
use crate::error::Result;
use crate::id::{Direction, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, KeyId, LabelId, VertexId};
use crate::predicate::Predicate;
use crate::schema::{Cardinality, Encoding, PropertyId, Schema};
use crate::value::{Value, ValueType};

/// Counts the optimiser and `stats` read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Live vertices by label id.
    pub vertices: Vec<u64>,
    /// Live edges by label id.
    pub edges: Vec<u64>,
}

impl Statistics {
    pub fn count(&self, kind: ElementKind, label: LabelId) -> u64 {
        let counts = match kind {
            ElementKind::Vertex => &self.vertices,
            ElementKind::Edge => &self.edges,
        };
        counts.get(usize::from(label.0)).copied().unwrap_or(0)
    }
}

/// Which elements a scan visits.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The labels to visit, primary or (for vertices) further; `None` visits all.
    pub labels: Option<Vec<LabelId>>,
    /// All must hold. An element passes if *some* value it has under the key matches.
    pub filters: Vec<Filter>,
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub key: KeyId,
    pub predicate: Predicate,
}

/// Where a scan goes on; start with the default.
#[derive(Clone, Debug, Default)]
pub struct ScanCursor {
    /// Position in the list of labels.
    pub label: usize,
    /// The next local id.
    pub local: u64,
    pub done: bool,
}

/// Which edges to follow from a vertex.
#[derive(Clone, Debug)]
pub struct Hop {
    pub direction: Direction,
    /// Edge labels; `None` follows all. An empty list follows none.
    pub labels: Option<Vec<LabelId>>,
    /// Only edges that have a matching value under the key. Where it is the time of their label, comparisons are halved to.
    pub filter: Option<Filter>,
    /// At most so many edges of each vertex.
    pub limit: Option<usize>,
    /// Which edges may be left out.
    pub latest: Option<Latest>,
    /// Which of [`Adjacency`]'s vectors to fill.
    pub wants: Wants,
}

impl Hop {
    /// Along all edges of a direction that have one of these labels.
    pub fn along(direction: Direction, labels: Option<Vec<LabelId>>, wants: Wants) -> Self {
        Self { direction, labels, filter: None, limit: None, latest: None, wants }
    }
}

/// What makes an edge of no use: at least so many others of its vertex, among those that match the hop's filter, that have a greater value
/// under a key. A view that cannot tell gives all, as does one that is given a limit; where the key is the time of their label, the
/// store does not visit the others. `count` is 1 or more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latest {
    pub key: KeyId,
    pub count: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants {
    pub rows: bool,
    pub neighbors: bool,
    pub edges: bool,
}

/// What a hop reached, in the order of the input rows, and of each row in the order of the edges (outgoing before
/// incoming; of each label by time, then by age). Only the vectors asked for are filled.
#[derive(Clone, Debug, Default)]
pub struct Adjacency {
    /// The position in the input of the vertex each edge was followed from.
    pub rows: Vec<u32>,
    pub neighbors: Vec<VertexId>,
    pub edges: Vec<EdgeRef>,
}

impl Adjacency {
    pub fn clear(&mut self) {
        self.rows.clear();
        self.neighbors.clear();
        self.edges.clear();
    }
}

/// A consistent, readable graph.
pub trait GraphView {
    fn schema(&self) -> &Schema;

    fn statistics(&self) -> Result<Statistics>;

    /// Appends up to about `limit` further vertices to `out`, ordered by label, then local id. Sets `cursor.done` at the end;
    /// may append nothing before it.
    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()>;

    /// As [`scan_vertices`](Self::scan_vertices), for edges.
    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()>;

    /// The number of further elements that pass, of as many as are looked at before it is time to ask whether to go on.
    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        const LIMIT: usize = 8192;
        match kind {
            ElementKind::Vertex => {
                let mut found = Vec::new();
                self.scan_vertices(scan, cursor, LIMIT, &mut found).map(|()| found.len() as u64)
            }
            ElementKind::Edge => {
                let mut found = Vec::new();
                self.scan_edges(scan, cursor, LIMIT, &mut found).map(|()| found.len() as u64)
            }
        }
    }

    /// The vertices with these external ids. Where ids are unique only within labels, `label` is needed to find any.
    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()>;

    /// The edges with these ids, supplied or generated.
    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()>;

    /// The external id of a vertex (without its label, whatever the id space).
    fn external_id(&self, vertex: VertexId) -> Result<ExternalId>;

    /// The id the user supplied for an edge, if so.
    fn edge_external_id(&self, edge: EdgeId) -> Result<Option<ExternalId>>;

    fn contains(&self, element: ElementId) -> Result<bool>;

    /// The further labels of a vertex.
    fn further_labels(&self, vertex: VertexId) -> Result<Vec<LabelId>>;

    /// Follows `hop` from every vertex of `from` and appends to `out` what it reaches. A vertex may stand in `from` more
    /// than once. O(edges followed + log n per vertex); with a filter that is not on their time, of all edges.
    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()>;

    /// Appends the number of edges each vertex has of `hop` (its limit aside), without visiting them.
    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()>;

    /// What one element has under one key.
    fn cell(&self, element: ElementId, key: KeyId) -> Result<Cell>;

    /// Appends, in order, the keys under which one element may have something: all it has, and others of its label.
    fn keys(&self, element: ElementId, out: &mut Vec<KeyId>) -> Result<()> {
        let label = self.schema().label_schema(element.kind(), element.label());
        out.extend(label.into_iter().flat_map(|label| label.properties.keys()));
        Ok(())
    }

    /// Appends what one element has under each of these keys.
    fn cells(&self, element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()> {
        keys.iter().try_for_each(|key| self.cell(element, *key).map(|cell| out.push(cell)))
    }

    /// What a batch of elements of one kind has under one key.
    fn properties(&self, elements: Elements<'_>, key: KeyId) -> Result<PropertyColumn>;

    /// Which elements of a batch have anything under a key.
    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        let column = self.properties(elements, key)?;
        Ok((0..column.len()).map(|row| !column.cell(row).is_absent()).collect())
    }

    /// Another view of the very same graph, for another thread; `None` where there can be none: of a graph that is being
    /// changed, or one that has changed since the view was taken.
    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(None)
    }

    /// The vertices of `label` whose `key` has a value that matches, from an index, sorted by id; `None` if there is no index
    /// that answers this predicate.
    fn search_vertices(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<VertexId>>>;

    /// As [`search_vertices`](Self::search_vertices), for edges.
    fn search_edges(&self, label: LabelId, key: KeyId, predicate: &Predicate) -> Result<Option<Vec<EdgeRef>>>;

    /// As [`search_vertices`](Self::search_vertices), for elements of either kind.
    fn search(&self, of: PropertyId, predicate: &Predicate) -> Result<Option<Vec<ElementId>>> {
        Ok(match of.kind {
            ElementKind::Vertex => self
                .search_vertices(of.label, of.key, predicate)?
                .map(|found| found.into_iter().map(ElementId::Vertex).collect()),
            ElementKind::Edge => self
                .search_edges(of.label, of.key, predicate)?
                .map(|found| found.into_iter().map(|edge| ElementId::Edge(edge.id)).collect()),
        })
    }

    /// Whether a search for this property answers the predicate, without doing it.
    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool;

    /// About how many elements a search looks at; where that takes long to tell, that they are many.
    fn candidates(&self, _: PropertyId, _: &Predicate) -> Result<u64> {
        Ok(u64::from(u32::MAX))
    }
}

/// A batch of elements of one kind.
#[derive(Clone, Copy, Debug)]
pub enum Elements<'a> {
    Vertices(&'a [VertexId]),
    Edges(&'a [EdgeRef]),
}

impl Elements<'_> {
    pub fn len(&self) -> usize {
        match self {
            Elements::Vertices(ids) => ids.len(),
            Elements::Edges(edges) => edges.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, at: usize) -> ElementId {
        match self {
            Elements::Vertices(ids) => ElementId::Vertex(ids[at]),
            Elements::Edges(edges) => ElementId::Edge(edges[at].id),
        }
    }
}

/// An edge to be made.
#[derive(Clone, Debug)]
pub struct NewEdge {
    pub source: VertexId,
    pub target: VertexId,
    /// An id of the user's own, unique among all edges.
    pub id: Option<ExternalId>,
    /// Orders the edge among those of its vertex and label, and is its property under the label's time key from then on: an
    /// integer, a date or a date-time. Only for edge labels declared with a time key.
    pub time: Option<Value>,
}

/// A graph being changed: reads see the changes made so far. Nothing is kept unless the transaction it belongs to commits.
pub trait GraphWrite: GraphView {
    /// The label of that name, made if it is new. At most 65,536 of a kind.
    fn ensure_label(&mut self, kind: ElementKind, name: &str) -> Result<LabelId>;

    /// The key of that name, made if it is new. At most 65,536.
    fn ensure_key(&mut self, name: &str) -> Result<KeyId>;

    /// Adds vertices of one label and appends their ids, consecutive locals in the order given. `None` as an id stands for the
    /// [generated](VertexId::generated) one; if a user supplied that to another vertex, `.1`, `.2` … is appended. On a duplicate id
    /// nothing is added.
    fn add_vertices(&mut self, label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()>;

    /// Adds edges of one label and appends their ids, in the order given.
    fn add_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()>;

    /// Replaces what an element has under a key; edges take no [`Cell::Many`]. Keeps schema and indexes in step. Fails if it would
    /// change the time of an edge, which is its place among the others, or the value under a vertex's key, which is its id.
    fn set_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()>;

    /// Sets one plain value each under `key` for a batch of elements of one kind; Arrow nulls and absent cells leave the
    /// element as it is.
    fn set_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()>;

    fn set_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()>;

    /// Removes edges and their properties; those already gone are passed over.
    fn remove_edges(&mut self, edges: &[EdgeRef]) -> Result<()>;

    /// Removes vertices, their properties and all their edges; those already gone are passed over.
    fn remove_vertices(&mut self, vertices: &[VertexId]) -> Result<()>;

    /// Fixes the type and cardinality of a label's key; fails if values stored already do not keep to it.
    fn declare_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()>;

    /// Makes `key` the key of vertices of `label`: what they have under it is their external id. Vertices that had nothing under it have
    /// their id there from now on. O(vertices of the label).
    ///
    /// Fails if a vertex has something else there, or if the label has another key.
    fn declare_key(&mut self, label: LabelId, key: KeyId) -> Result<()>;

    /// Makes `key` the time of edges of `label`; only while there are none.
    fn declare_time(&mut self, label: LabelId, key: KeyId) -> Result<()>;

    /// Says how what elements of `label` have under `key` is kept where it is compressed, from the next time it is on.
    fn set_encoding(&mut self, kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()>;

    /// Builds an index of a property and keeps it from now on. Returns false if there was one already.
    fn create_index(&mut self, of: PropertyId) -> Result<bool>;

    /// Makes an index, if there is none, in which no two elements share a value; nulls aside. Returns false if it was so already.
    ///
    /// Fails if two elements share one. From then on a write fails that would have them share one.
    fn declare_unique(&mut self, of: PropertyId) -> Result<bool>;

    /// Says whether every element of `label` is to have something under `key`. Fails if one has nothing there.
    ///
    /// From then on who takes it away fails, and so does the commit of an element without it.
    fn declare_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()>;

    fn drop_index(&mut self, of: PropertyId) -> Result<bool>;

    /// Gives a label another name, which no label of its kind has. O(1).
    fn rename_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()>;

    /// Drops a label that no element has, with all that is declared of it. Its name may come again, for another label. O(vertices), if a label
    /// of vertices may be carried beside others.
    fn drop_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()>;

    /// Drops what is known and declared of a property that no element has, its index included. Its name goes too, if no label has it.
    /// O(elements of the label).
    fn drop_property(&mut self, of: PropertyId) -> Result<()>;

    /// What the changes made so far take in memory until they are committed, roughly, as far as it grows with them.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Frees that memory, in a graph whose changes are never undone one by one. Others go on holding it.
    fn write_out(&mut self) -> Result<()> {
        Ok(())
    }

    /// The writable graph as a readable one.
    fn as_view(&self) -> &dyn GraphView;
}
