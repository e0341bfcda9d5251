//! The traits through which the query engine reads and writes a graph.
//!
//! The query side owns this contract. Every tier, the snapshot over the tiers and the oracle of the test kit implement it.
//!
//! Calls take and return batches: plain id vectors for topology, Arrow arrays for properties. A batch of one must stay cheap. So
//! results go into buffers that the caller keeps, and point reads have calls of their own.

use crate::cell::{Cell, PropertyColumn};
use crate::error::Result;
use crate::id::{Direction, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, KeyId, LabelId, VertexId};
use crate::predicate::Predicate;
use crate::schema::{Cardinality, Encoding, PropertyId, Schema};
use crate::value::{Value, ValueType};

/// Counts for the optimiser and for `stats`.
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
    /// The labels to visit: primary labels or, for vertices, further ones. `None` visits all.
    pub labels: Option<Vec<LabelId>>,
    /// All filters must hold. An element passes a filter if *some* value it has under the key matches.
    pub filters: Vec<Filter>,
}

#[derive(Clone, Debug)]
pub struct Filter {
    pub key: KeyId,
    pub predicate: Predicate,
}

/// Where a scan continues. Start with the default.
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
    /// Only edges that have a matching value under the key. If the key is the time of their label, a binary search finds the edges.
    pub filter: Option<Filter>,
    /// At most this many edges for each vertex.
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

/// Lets a view leave out edges that are not among the latest. It may leave out an edge if at least `count` other edges of the
/// vertex have a greater value under a key. Only edges that match the hop's filter count.
///
/// A view that cannot tell returns all edges; so does a view that gets a limit. If the key is the time of the label, the store does
/// not visit the other edges. `count` is 1 or more.
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

/// The edges a hop reached, in the order of the input rows. Within a row, outgoing edges come before incoming ones. Edges of one
/// label are ordered by time, then by age. Only the requested vectors are filled.
#[derive(Clone, Debug, Default)]
pub struct Adjacency {
    /// For each edge, the input position of the vertex it was followed from.
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

    /// Appends up to about `limit` further vertices to `out`, ordered by label, then local id. Sets `cursor.done` at the end. A
    /// call before the end may append nothing.
    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()>;

    /// As [`scan_vertices`](Self::scan_vertices), for edges.
    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()>;

    /// Counts the next elements that pass. Returns after a bounded number of elements, so that the caller can decide whether to go
    /// on.
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

    /// The vertices with these external ids. If ids are unique only within labels, a search without `label` finds none.
    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()>;

    /// The edges with these ids, supplied or generated.
    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()>;

    /// The external id of a vertex, without its label even if ids are unique only within labels.
    fn external_id(&self, vertex: VertexId) -> Result<ExternalId>;

    /// The id that the user supplied for an edge; `None` if there is none.
    fn edge_external_id(&self, edge: EdgeId) -> Result<Option<ExternalId>>;

    fn contains(&self, element: ElementId) -> Result<bool>;

    /// The further labels of a vertex.
    fn further_labels(&self, vertex: VertexId) -> Result<Vec<LabelId>>;

    /// Follows `hop` from every vertex of `from` and appends the edges to `out`. A vertex may occur more than once in `from`.
    /// O(edges followed + log n per vertex). A filter on anything but their time costs O(all edges of the vertex).
    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()>;

    /// Appends the number of edges that `hop` follows from each vertex, ignoring its limit and without visiting the edges.
    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()>;

    /// The cell of one element under one key.
    fn cell(&self, element: ElementId, key: KeyId) -> Result<Cell>;

    /// Appends, in order, the keys under which an element may have a cell: all it has, and possibly others of its label.
    fn keys(&self, element: ElementId, out: &mut Vec<KeyId>) -> Result<()> {
        let label = self.schema().label_schema(element.kind(), element.label());
        out.extend(label.into_iter().flat_map(|label| label.properties.keys()));
        Ok(())
    }

    /// Appends the cell of one element under each of these keys.
    fn cells(&self, element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()> {
        keys.iter().try_for_each(|key| self.cell(element, *key).map(|cell| out.push(cell)))
    }

    /// The cells of a batch of elements of one kind under one key.
    fn properties(&self, elements: Elements<'_>, key: KeyId) -> Result<PropertyColumn>;

    /// Which elements of a batch have anything under a key.
    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        let column = self.properties(elements, key)?;
        Ok((0..column.len()).map(|row| !column.cell(row).is_absent()).collect())
    }

    /// Another view of exactly the same graph, for another thread. `None` if there can be none: for a [`GraphWrite`], or if the
    /// graph has changed since the view was taken.
    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(None)
    }

    /// Searches an index for the vertices of `label` that have a matching value under `key`, sorted by id. `None` if no index
    /// answers this predicate.
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

    /// Whether a search for this property can answer the predicate. Does not run the search.
    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool;

    /// About how many elements a search would look at. Returns a large number if counting takes long.
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

/// An edge to add.
#[derive(Clone, Debug)]
pub struct NewEdge {
    pub source: VertexId,
    pub target: VertexId,
    /// An id that the user supplies, unique among all edges.
    pub id: Option<ExternalId>,
    /// An integer, a date or a date-time. It orders the edge among those of its vertex and label, and becomes its property under
    /// the label's time key. Only edge labels declared with a time key take one.
    pub time: Option<Value>,
}

/// A graph under change. Reads see the changes made so far. The changes last only if their transaction commits.
pub trait GraphWrite: GraphView {
    /// The label of that name; adds it if it is new. At most 65,536 of a kind.
    fn ensure_label(&mut self, kind: ElementKind, name: &str) -> Result<LabelId>;

    /// The key of that name; adds it if it is new. At most 65,536.
    fn ensure_key(&mut self, name: &str) -> Result<KeyId>;

    /// Adds vertices of one label. Appends their ids, with consecutive locals in the order given.
    ///
    /// `None` as an id stands for the [generated](VertexId::generated) one. If a user gave that id to another vertex, `.1`, `.2` …
    /// is appended. On a duplicate id, adds nothing.
    fn add_vertices(&mut self, label: LabelId, ids: &[Option<ExternalId>], out: &mut Vec<VertexId>) -> Result<()>;

    /// Adds edges of one label. Appends their ids in the order given.
    fn add_edges(&mut self, label: LabelId, edges: &[NewEdge], out: &mut Vec<EdgeId>) -> Result<()>;

    /// Replaces the cell of an element under a key; edges take no [`Cell::Many`]. Updates schema and indexes too.
    ///
    /// Fails if it would change the time of an edge, because edges are sorted by time. Fails if it would change the value under a
    /// vertex's key, because that value is the vertex's id.
    fn set_cell(&mut self, element: ElementId, key: KeyId, cell: Cell) -> Result<()>;

    /// Sets one plain value under `key` for each element of a batch of one kind. Arrow nulls and absent cells leave their element
    /// unchanged.
    fn set_properties(&mut self, elements: Elements<'_>, key: KeyId, values: &PropertyColumn) -> Result<()>;

    fn set_further_labels(&mut self, vertex: VertexId, labels: &[LabelId]) -> Result<()>;

    /// Removes edges and their properties. Skips edges that are already removed.
    fn remove_edges(&mut self, edges: &[EdgeRef]) -> Result<()>;

    /// Removes vertices, their properties and all their edges. Skips vertices that are already removed.
    fn remove_vertices(&mut self, vertices: &[VertexId]) -> Result<()>;

    /// Fixes the type and cardinality of a label's key. Fails if stored values do not conform.
    fn declare_property(
        &mut self,
        kind: ElementKind,
        label: LabelId,
        key: KeyId,
        value_type: Option<ValueType>,
        cardinality: Cardinality,
    ) -> Result<()>;

    /// Makes `key` the key of vertices of `label`: the value under it is the vertex's external id. Vertices without a value under
    /// it now have their id there. O(vertices of the label).
    ///
    /// Fails if a vertex has another value there, or if the label has another key.
    fn declare_key(&mut self, label: LabelId, key: KeyId) -> Result<()>;

    /// Makes `key` the time of edges of `label`. Fails if the label has edges.
    fn declare_time(&mut self, label: LabelId, key: KeyId) -> Result<()>;

    /// Sets how the compressed form stores the values under `key`. Takes effect the next time elements of `label` are compressed.
    fn set_encoding(&mut self, kind: ElementKind, label: LabelId, key: KeyId, encoding: Encoding) -> Result<()>;

    /// Builds an index of a property and maintains it from now on. Returns false if the index exists.
    fn create_index(&mut self, of: PropertyId) -> Result<bool>;

    /// Makes the index of a property unique: no two elements share a value, except null. Builds the index if there is none. Returns
    /// false if the index was already unique.
    ///
    /// Fails if two elements share a value. From then on, a write that would make two elements share one fails.
    fn declare_unique(&mut self, of: PropertyId) -> Result<bool>;

    /// Declares whether every element of `label` must have a value under `key`. Fails if an element has none.
    ///
    /// From then on, removing the value fails, and so does the commit of an element without it.
    fn declare_required(&mut self, kind: ElementKind, label: LabelId, key: KeyId, required: bool) -> Result<()>;

    fn drop_index(&mut self, of: PropertyId) -> Result<bool>;

    /// Renames a label. No label of its kind may have the new name. O(1).
    fn rename_label(&mut self, kind: ElementKind, label: LabelId, name: &str) -> Result<()>;

    /// Drops a label that no element has, with all its declarations. Another label may take its name later. O(vertices) for a label
    /// that vertices may carry beside others.
    fn drop_label(&mut self, kind: ElementKind, label: LabelId) -> Result<()>;

    /// Drops the declarations, the known types and the index of a property that no element has. If no label has the key any more,
    /// drops its name too. O(elements of the label).
    fn drop_property(&mut self, of: PropertyId) -> Result<()>;

    /// Roughly how many bytes of memory the changes hold until the commit. Counts only memory that grows with the changes.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Frees that memory. Only for graphs that never undo single changes; others keep holding it.
    fn write_out(&mut self) -> Result<()> {
        Ok(())
    }

    /// The writable graph as a readable one.
    fn as_view(&self) -> &dyn GraphView;
}
