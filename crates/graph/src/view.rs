//! The trait through which the query engine reads a graph.
//!
//! The query side owns this contract. Every store and the oracle of the test kit implement it.
//!
//! Calls take and return batches: plain id vectors for topology, Arrow arrays for properties. A batch of one must stay cheap.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::cell::{Cell, PropertyColumn};
use crate::error::{GraphError, Result};
use crate::id::{Direction, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, KeyId, LabelId, VertexId};
use crate::predicate::Predicate;
use crate::schema::{PropertyId, Schema};

/// Which elements a scan visits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scan {
    /// The labels to visit: primary labels or, for vertices, further ones. `None` visits all.
    pub labels: Option<Vec<LabelId>>,
    /// Further tests of the labels, which must all hold.
    pub also: Vec<LabelTest>,
    /// All filters must hold. An element passes a filter if *some* value it has under the key matches.
    pub filters: Vec<Filter>,
    /// The keys whose columns [`GraphView::scan`] returns.
    pub columns: Vec<KeyId>,
}

impl Scan {
    /// All elements of a label.
    pub fn of(label: LabelId) -> Self {
        Self { labels: Some(vec![label]), ..Self::default() }
    }

    /// What the further labels of elements with a label must pass; `None` if no element with that label passes the scan.
    pub fn tests_of(&self, schema: &Schema, kind: ElementKind, label: LabelId) -> Option<Vec<LabelTest>> {
        let first = self.labels.clone().map(|labels| LabelTest { labels, is_negated: false });
        let mut tests = Vec::new();
        for test in first.into_iter().chain(self.also.iter().cloned()) {
            if test.labels.contains(&label) {
                if test.is_negated {
                    return None;
                }
                continue;
            }
            let further = schema.label_schema(kind, label).map(|of| &of.further);
            match further.is_some_and(|further| test.labels.iter().any(|label| further.contains(label))) {
                true => tests.push(test),
                false if test.is_negated => {}
                false => return None,
            }
        }
        Some(tests)
    }
}

/// A test of an element's labels.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LabelTest {
    /// The element must have one of these.
    pub labels: Vec<LabelId>,
    /// It must have none of them instead.
    pub is_negated: bool,
}

impl LabelTest {
    /// Whether an element with these labels passes.
    pub fn passes(&self, labels: &[LabelId]) -> bool {
        labels.iter().any(|label| self.labels.contains(label)) != self.is_negated
    }
}

/// What a scan found.
#[derive(Clone, Debug)]
pub struct Scanned {
    pub elements: ElementIds,
    /// What the elements have under each key that the scan names.
    pub columns: Vec<PropertyColumn>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Filter {
    pub key: KeyId,
    pub predicate: Predicate,
}

/// Where a scan continues. Start with the default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScanCursor {
    /// Position in the list of labels.
    pub label: usize,
    /// The next local id.
    pub local: u64,
    pub done: bool,
}

/// Where a search of an index continues. Start with the default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchCursor {
    /// The place of the last element that was looked at, as the view counts places.
    pub after: Option<u64>,
    /// Places that are found and not returned yet, the last one first. A view that cannot search on from `after` keeps them.
    pub found: Option<Vec<u64>>,
    pub done: bool,
}

impl SearchCursor {
    /// Takes the next of the places that are found, at most `limit`.
    pub fn take(&mut self, limit: usize) -> Vec<u64> {
        let found = self.found.get_or_insert_default();
        let mut next = found.split_off(found.len().saturating_sub(limit));
        next.reverse();
        self.done = found.is_empty();
        next
    }
}

/// Which edges to follow from a vertex.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Latest {
    pub key: KeyId,
    pub count: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
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
    /// The bytes that the vectors hold.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.rows[..]) + size_of_val(&self.neighbors[..]) + size_of_val(&self.edges[..])
    }

    pub fn clear(&mut self) {
        self.rows.clear();
        self.neighbors.clear();
        self.edges.clear();
    }
}

/// A consistent, readable graph.
///
/// The data may be on this machine or far away. So whatever can be asked for many elements is one call. The calls for one element
/// are calls for a batch of one.
pub trait GraphView: Catalog {
    /// How far away the data is. Callers choose the size of their batches by it.
    fn distance(&self) -> Distance {
        Distance::HERE
    }

    /// Appends up to about `limit` further vertices to `out`, ordered by label, then local id. Sets `cursor.done` at the end. A
    /// call before the end may append nothing.
    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()>;

    /// As [`scan_vertices`](Self::scan_vertices), for edges.
    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()>;

    /// The next elements of a scan, and what they have under its keys: one call, however far away the graph is.
    fn scan(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, limit: usize) -> Result<Scanned> {
        scan_and_read(self, kind, scan, cursor, limit)
    }

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

    /// The external ids of a batch: of vertices without their label, even if ids are unique only within labels; of edges only those
    /// that the user supplied. Absent for an element that is not there.
    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn>;

    /// The external id of a vertex. Fails if it is not there.
    fn external_id(&self, vertex: VertexId) -> Result<ExternalId> {
        let id = id_in(self.external_ids(Elements::Vertices(&[vertex]))?.into_cell())?;
        id.ok_or_else(|| GraphError::no_such(ElementId::Vertex(vertex)))
    }

    /// The id that the user supplied for an edge; `None` if there is none.
    fn edge_external_id(&self, edge: EdgeId) -> Result<Option<ExternalId>> {
        id_in(ElementId::Edge(edge).alone(|elements| self.external_ids(elements))?.into_cell())
    }

    /// Which elements of a batch are there.
    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>>;

    fn contains(&self, element: ElementId) -> Result<bool> {
        Ok(element.alone(|elements| self.contain(elements))? == [true])
    }

    /// Appends the further labels of each vertex.
    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()>;

    /// The further labels of a vertex.
    fn further_labels(&self, vertex: VertexId) -> Result<Vec<LabelId>> {
        let mut out = Vec::with_capacity(1);
        self.all_further_labels(&[vertex], &mut out)?;
        Ok(out.pop().unwrap_or_default())
    }

    /// Follows `hop` from every vertex of `from` and appends the edges to `out`. A vertex may occur more than once in `from`.
    /// O(edges followed + log n per vertex). A filter on anything but their time costs O(all edges of the vertex).
    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()>;

    /// Appends the number of edges that `hop` follows from each vertex, ignoring its limit and without visiting the edges.
    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()>;

    /// What a batch of elements has under each of these keys: one column for each key.
    ///
    /// A batch of one comes as [`PropertyColumn::Cells`] or `Absent`, without an array around it.
    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()>;

    /// What a batch of elements has under one key.
    fn properties(&self, elements: Elements<'_>, key: KeyId) -> Result<PropertyColumn> {
        let mut out = Vec::with_capacity(1);
        self.columns(elements, &[key], &mut out)?;
        Ok(out.pop().unwrap_or(PropertyColumn::Absent(elements.len())))
    }

    /// The cell of one element under one key.
    fn cell(&self, element: ElementId, key: KeyId) -> Result<Cell> {
        element.alone(|elements| self.properties(elements, key)).map(PropertyColumn::into_cell)
    }

    /// Appends the cell of one element under each of these keys.
    fn cells(&self, element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()> {
        let mut columns = Vec::with_capacity(keys.len());
        element.alone(|elements| self.columns(elements, keys, &mut columns))?;
        out.extend(columns.into_iter().map(PropertyColumn::into_cell));
        Ok(())
    }

    /// Appends, in order, the keys under which some element of a batch may have a cell: all they have, and possibly others of their
    /// labels.
    fn keys(&self, elements: Elements<'_>, out: &mut Vec<KeyId>) -> Result<()> {
        let schema = self.schema();
        let of_label =
            |label: LabelId| schema.label_schema(elements.kind(), label).into_iter().flat_map(|l| l.properties.keys());
        let keys: BTreeSet<KeyId> = elements.labels().into_iter().flat_map(of_label).collect();
        out.extend(keys);
        Ok(())
    }

    /// Which elements of a batch have anything under a key.
    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        let column = self.properties(elements, key)?;
        Ok((0..column.len()).map(|row| column.has(row)).collect())
    }

    /// Which elements of a batch have a value under a key that matches.
    fn pass(&self, elements: Elements<'_>, key: KeyId, predicate: &Predicate) -> Result<Vec<bool>> {
        Ok(self.properties(elements, key)?.passes(predicate))
    }

    /// How far the graph has read each source that it follows: the name of the source, and what
    /// [`put_source`](crate::GraphWrite::put_source) noted last. In the order of names.
    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        Ok(Vec::new())
    }

    /// Of a shard: which shards its part of the directory lists for the hash of a value of a property, for each of some hashes. `None`
    /// if it has no directory. See [`list_shards`](crate::ShardWrite::list_shards).
    fn listed_shards(&self, _of: PropertyId, _hashes: &[u64]) -> Result<Option<Vec<Vec<u16>>>> {
        Ok(None)
    }

    /// Of a graph in shards: those in which a search may find something, in order. It may ask the directory. `None` for one store.
    fn searched_shards(&self, _of: PropertyId, _predicate: &Predicate) -> Result<Option<Vec<u16>>> {
        Ok(None)
    }

    /// Of a graph in shards: one of them, with the ids of the graph.
    fn shard_view(&self, _number: u16) -> Option<&dyn GraphView> {
        None
    }

    /// Another view of exactly the same graph, for another thread. `None` if there can be none: for a
    /// [`GraphWrite`](crate::GraphWrite), or if the graph has changed since the view was taken.
    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(None)
    }

    /// Searches an index: the next elements of a label that have a matching value under a key, at most `limit`, sorted by id. A call
    /// before the end may return none. Sets `cursor.done` at the end. `None` if no index answers this predicate.
    ///
    /// For a predicate that allows one value, a call costs about what it returns. For another, the first call looks at all that
    /// matches.
    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>>;

    /// All elements that [`search`](Self::search) finds.
    fn search_all(&self, of: PropertyId, predicate: &Predicate) -> Result<Option<ElementIds>> {
        let mut cursor = SearchCursor::default();
        let Some(mut all) = self.search(of, predicate, &mut cursor, usize::MAX)? else { return Ok(None) };
        while !cursor.done {
            let Some(more) = self.search(of, predicate, &mut cursor, usize::MAX)? else { return Ok(None) };
            all.append(more);
        }
        Ok(Some(all))
    }
}

/// [`GraphView::scan`] as a scan of ids, and then a call for the columns.
pub fn scan_and_read<V: GraphView + ?Sized>(
    view: &V,
    kind: ElementKind,
    scan: &Scan,
    cursor: &mut ScanCursor,
    limit: usize,
) -> Result<Scanned> {
    let mut elements = ElementIds::none(kind);
    match &mut elements {
        ElementIds::Vertices(ids) => view.scan_vertices(scan, cursor, limit, ids)?,
        ElementIds::Edges(edges) => view.scan_edges(scan, cursor, limit, edges)?,
    }
    let mut columns = Vec::with_capacity(scan.columns.len());
    if !scan.columns.is_empty() && !elements.is_empty() {
        view.columns(elements.batch(), &scan.columns, &mut columns)?;
    }
    Ok(Scanned { elements, columns })
}

/// How far away the data of a view is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Distance {
    /// What a call costs before it reads anything.
    pub round_trip: Duration,
    /// A call for fewer elements than this saves little.
    pub rows_min: usize,
}

impl Distance {
    /// In the memory of this process, or mapped into it.
    pub const HERE: Self = Self { round_trip: Duration::ZERO, rows_min: 1 };
}

/// The external id in a cell.
fn id_in(cell: Cell) -> Result<Option<ExternalId>> {
    match cell {
        Cell::Absent => Ok(None),
        Cell::One(value) => ExternalId::from_value(&value).map(Some).ok_or_else(|| GraphError::corrupt("an invalid id")),
        Cell::Many(_) => Err(GraphError::corrupt("several ids of one element")),
    }
}

/// A batch of elements of one kind. Calls that take one look only at the ids of the edges, never at their ends.
#[derive(Clone, Copy, Debug)]
pub enum Elements<'a> {
    Vertices(&'a [VertexId]),
    Edges(&'a [EdgeRef]),
}

/// The elements of a batch, of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElementIds {
    Vertices(Vec<VertexId>),
    Edges(Vec<EdgeRef>),
}

impl ElementIds {
    pub fn none(kind: ElementKind) -> Self {
        match kind {
            ElementKind::Vertex => ElementIds::Vertices(Vec::new()),
            ElementKind::Edge => ElementIds::Edges(Vec::new()),
        }
    }

    pub fn batch(&self) -> Elements<'_> {
        match self {
            ElementIds::Vertices(ids) => Elements::Vertices(ids),
            ElementIds::Edges(edges) => Elements::Edges(edges),
        }
    }

    pub fn len(&self) -> usize {
        self.batch().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = ElementId> + '_ {
        (0..self.len()).map(|at| self.batch().get(at))
    }

    /// The vertices; none if these are edges.
    pub fn into_vertices(self) -> Vec<VertexId> {
        match self {
            ElementIds::Vertices(ids) => ids,
            ElementIds::Edges(_) => Vec::new(),
        }
    }

    /// The edges; none if these are vertices.
    pub fn into_edges(self) -> Vec<EdgeRef> {
        match self {
            ElementIds::Vertices(_) => Vec::new(),
            ElementIds::Edges(edges) => edges,
        }
    }

    /// Appends elements of the same kind.
    ///
    /// # Panics
    /// If they are of the other kind.
    pub fn append(&mut self, more: Self) {
        match (self, more) {
            (ElementIds::Vertices(all), ElementIds::Vertices(mut more)) => all.append(&mut more),
            (ElementIds::Edges(all), ElementIds::Edges(mut more)) => all.append(&mut more),
            (all, more) => panic!("{:?} among {:?}", more.batch().kind(), all.batch().kind()),
        }
    }

    /// Keeps the elements for which `keep` is true. It has one flag for each.
    pub fn retain(&mut self, keep: &[bool]) {
        let mut keep = keep.iter().copied();
        match self {
            ElementIds::Vertices(ids) => ids.retain(|_| keep.next().unwrap_or(false)),
            ElementIds::Edges(edges) => edges.retain(|_| keep.next().unwrap_or(false)),
        }
    }
}

impl ElementId {
    /// Calls `f` with a batch of this element alone.
    pub fn alone<T>(self, f: impl FnOnce(Elements<'_>) -> T) -> T {
        match self {
            ElementId::Vertex(id) => f(Elements::Vertices(&[id])),
            ElementId::Edge(id) => f(Elements::Edges(&[EdgeRef { id, source: VertexId(0), target: VertexId(0) }])),
        }
    }
}

impl Elements<'_> {
    pub fn kind(&self) -> ElementKind {
        match self {
            Elements::Vertices(_) => ElementKind::Vertex,
            Elements::Edges(_) => ElementKind::Edge,
        }
    }

    /// The labels that occur, each once.
    pub fn labels(&self) -> BTreeSet<LabelId> {
        fn distinct(labels: impl Iterator<Item = LabelId>) -> BTreeSet<LabelId> {
            let (mut all, mut last) = (BTreeSet::new(), None);
            for label in labels {
                if last.replace(label) != Some(label) {
                    all.insert(label);
                }
            }
            all
        }
        match self {
            Elements::Vertices(ids) => distinct(ids.iter().map(|id| id.label())),
            Elements::Edges(edges) => distinct(edges.iter().map(|edge| edge.id.label())),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Elements::Vertices(ids) => ids.len(),
            Elements::Edges(edges) => edges.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A part of the batch.
    pub fn slice(&self, rows: Range<usize>) -> Self {
        match self {
            Elements::Vertices(ids) => Elements::Vertices(&ids[rows]),
            Elements::Edges(edges) => Elements::Edges(&edges[rows]),
        }
    }

    pub fn get(&self, at: usize) -> ElementId {
        match self {
            Elements::Vertices(ids) => ElementId::Vertex(ids[at]),
            Elements::Edges(edges) => ElementId::Edge(edges[at].id),
        }
    }
}
