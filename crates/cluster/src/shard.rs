//! The store of a shard, in the graph's own ids.

use std::ops::Deref;
use std::sync::Arc;

use mangrove_graph::{
    Adjacency, Catalog, Direction, Distance, EdgeId, EdgeRef, ElementIds, ElementKind, Elements, ExternalId, GraphError,
    GraphView, Hop, KeyId, LabelId, LabelTest, Predicate, PropertyColumn, PropertyId, Result, Scan, ScanCursor, Scanned,
    Schema, SearchCursor, Statistics, Value, VertexId,
};

use crate::names::{self, Own, comes_in, coming_in, leaving};

/// The store of a shard as a part of the graph. It has the vertices that live in the shard, the edges that leave them, and lists of the edges
/// that come into them.
pub struct ShardView<V> {
    store: V,
    own: Own,
    /// That of the graph.
    schema: Arc<Schema>,
}

impl<V> ShardView<V> {
    /// The store of the shard `number` of so many.
    pub fn new(store: V, number: u16, shards: u16, schema: Arc<Schema>) -> Self {
        let own = Own { number, shards };
        Self { store, own, schema }
    }
}

impl<V: Deref<Target: GraphView>> ShardView<V> {
    /// Calls `f` with a batch in the ids of the store.
    fn within<T>(&self, elements: Elements<'_>, f: impl FnOnce(Elements<'_>) -> T) -> T {
        match elements {
            Elements::Vertices(ids) => f(Elements::Vertices(&self.vertices(ids))),
            Elements::Edges(edges) => {
                f(Elements::Edges(&edges.iter().map(|edge| self.own.edge_ref(*edge)).collect::<Vec<_>>()))
            }
        }
    }

    fn vertices(&self, ids: &[VertexId]) -> Vec<VertexId> {
        ids.iter().map(|id| self.own.vertex(*id)).collect()
    }

    fn scan_within(&self, kind: ElementKind, scan: &Scan) -> Scan {
        if kind == ElementKind::Vertex {
            return scan.clone();
        }
        let to = |labels: &[LabelId]| labels.iter().filter(is_possible).map(|label| leaving(*label)).collect::<Vec<_>>();
        let all = || (0..self.schema.edge_labels.len() as u16).map(|label| leaving(LabelId(label))).collect();
        let also = scan.also.iter().map(|test| LabelTest { labels: to(&test.labels), ..test.clone() });
        Scan { labels: Some(scan.labels.as_deref().map_or_else(all, to)), also: also.collect(), ..scan.clone() }
    }

    /// Goes on with a scan of the store. The cursor counts the labels of the graph.
    fn scanned<T>(
        &self,
        kind: ElementKind,
        cursor: &mut ScanCursor,
        scan: impl FnOnce(&mut ScanCursor) -> Result<T>,
    ) -> Result<T> {
        if kind == ElementKind::Vertex {
            return scan(cursor);
        }
        let mut within = ScanCursor { label: cursor.label * 2, ..cursor.clone() };
        let scanned = scan(&mut within)?;
        *cursor = ScanCursor { label: within.label.div_ceil(2), ..within };
        Ok(scanned)
    }

    /// A hop over both sides of edges. Outgoing edges have labels of their own, and so have incoming ones.
    fn hop_within(&self, hop: &Hop) -> Hop {
        let labels = hop.labels.as_ref().map(|labels| {
            labels.iter().filter(is_possible).flat_map(|label| match hop.direction {
                Direction::Out => vec![leaving(*label)],
                Direction::In => vec![coming_in(*label)],
                Direction::Both => vec![leaving(*label), coming_in(*label)],
            })
        });
        Hop { labels: labels.map(Iterator::collect), ..hop.clone() }
    }

    /// Edges of the store as edges of the graph. Those that come in carry their ids.
    fn edges_of_graph(&self, edges: &mut [EdgeRef]) -> Result<()> {
        let entering: Vec<usize> = (0..edges.len()).filter(|at| comes_in(edges[*at].id.label())).collect();
        let carried = match &entering[..] {
            [] => PropertyColumn::Absent(0),
            some => self.store.external_ids(Elements::Edges(&some.iter().map(|at| edges[*at]).collect::<Vec<_>>()))?,
        };
        edges.iter_mut().for_each(|edge| *edge = self.own.graph_edge_ref(*edge));
        for (row, at) in entering.into_iter().enumerate() {
            edges[at].id = self.carried_by(edges[at].id.label(), &carried, row)?;
        }
        Ok(())
    }

    /// The edge of a label that comes in with one of these ids.
    fn carried_by(&self, label: LabelId, ids: &PropertyColumn, row: usize) -> Result<EdgeId> {
        let cell = ids.cell(row);
        let id = cell.values().next().and_then(Value::as_i64);
        let edge = id.map(|id| self.own.carrying(label, id));
        edge.ok_or_else(|| GraphError::corrupt("an edge that comes into a shard without its id"))
    }
}

/// Whether a graph in shards can have an edge label.
fn is_possible(label: &&LabelId) -> bool {
    usize::from(label.0) < names::EDGE_LABELS_MAX
}

impl<V: Deref<Target: GraphView>> Catalog for ShardView<V> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        let of_store = self.store.statistics()?;
        let edges = of_store.edges.iter().step_by(2).copied().collect();
        Ok(Arc::new(Statistics { vertices: of_store.vertices.clone(), edges }))
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        let ask = || self.store.is_searchable(names::property(of), predicate);
        self.schema.is_searchable(of, predicate).unwrap_or_else(ask)
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        self.store.candidates(names::property(of), predicate)
    }
}

impl<V: Deref<Target: GraphView>> GraphView for ShardView<V> {
    fn distance(&self) -> Distance {
        self.store.distance()
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        let first = out.len();
        self.store.scan_vertices(scan, cursor, limit, out)?;
        out[first..].iter_mut().for_each(|vertex| *vertex = self.own.vertex(*vertex));
        Ok(())
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        let first = out.len();
        let scan = self.scan_within(ElementKind::Edge, scan);
        self.scanned(ElementKind::Edge, cursor, |cursor| self.store.scan_edges(&scan, cursor, limit, out))?;
        out[first..].iter_mut().for_each(|edge| *edge = self.own.graph_edge_ref(*edge));
        Ok(())
    }

    fn scan(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, limit: usize) -> Result<Scanned> {
        let scan = self.scan_within(kind, scan);
        let mut scanned = self.scanned(kind, cursor, |cursor| self.store.scan(kind, &scan, cursor, limit))?;
        match &mut scanned.elements {
            ElementIds::Vertices(ids) => ids.iter_mut().for_each(|vertex| *vertex = self.own.vertex(*vertex)),
            ElementIds::Edges(edges) => edges.iter_mut().for_each(|edge| *edge = self.own.graph_edge_ref(*edge)),
        }
        Ok(scanned)
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        let scan = self.scan_within(kind, scan);
        self.scanned(kind, cursor, |cursor| self.store.count(kind, &scan, cursor))
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        let first = out.len();
        self.store.find_vertices(label, ids, out)?;
        out[first..].iter_mut().for_each(|found| *found = found.map(|vertex| self.own.vertex(vertex)));
        Ok(())
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        // A generated id names a place.
        let within = |id: &ExternalId| match EdgeId::from_generated(id) {
            Some(edge) if edge.shard() == self.own.number && usize::from(edge.label().0) < names::EDGE_LABELS_MAX => {
                Some(self.own.edge(edge).generated())
            }
            Some(_) => None,
            None => Some(id.clone()),
        };
        let within: Vec<Option<ExternalId>> = ids.iter().map(within).collect();
        let mut found = Vec::with_capacity(ids.len());
        self.store.find_edges(&within.iter().flatten().cloned().collect::<Vec<_>>(), &mut found)?;
        let mut found = found.into_iter().map(|edge| edge.map(|edge| self.own.graph_edge_ref(edge)));
        out.extend(within.iter().map(|id| id.as_ref().and_then(|_| found.next().flatten())));
        Ok(())
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        self.within(elements, |elements| self.store.external_ids(elements))
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        self.within(elements, |elements| self.store.contain(elements))
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        self.store.all_further_labels(&self.vertices(vertices), out)
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        let (neighbors, edges) = (out.neighbors.len(), out.edges.len());
        self.store.neighbors(&self.vertices(from), &self.hop_within(hop), out)?;
        out.neighbors[neighbors..].iter_mut().for_each(|vertex| *vertex = self.own.vertex(*vertex));
        self.edges_of_graph(&mut out.edges[edges..])
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        self.store.degrees(&self.vertices(from), &self.hop_within(hop), out)
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        self.within(elements, |elements| self.store.columns(elements, keys, out))
    }

    fn keys(&self, elements: Elements<'_>, out: &mut Vec<KeyId>) -> Result<()> {
        self.within(elements, |elements| self.store.keys(elements, out))
    }

    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        self.within(elements, |elements| self.store.have(elements, key))
    }

    fn pass(&self, elements: Elements<'_>, key: KeyId, predicate: &Predicate) -> Result<Vec<bool>> {
        self.within(elements, |elements| self.store.pass(elements, key, predicate))
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        let Some(store) = self.store.fork()? else { return Ok(None) };
        Ok(Some(Box::new(ShardView { store, own: self.own, schema: self.schema.clone() })))
    }

    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.store.sources()
    }

    fn listed_shards(&self, of: PropertyId, hashes: &[u64]) -> Result<Option<Vec<Vec<u16>>>> {
        self.store.listed_shards(names::property(of), hashes)
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        let found = self.store.search(names::property(of), predicate, cursor, limit)?;
        Ok(found.map(|found| match found {
            ElementIds::Vertices(ids) => ElementIds::Vertices(self.vertices(&ids)),
            ElementIds::Edges(edges) => {
                ElementIds::Edges(edges.into_iter().map(|edge| self.own.graph_edge_ref(edge)).collect())
            }
        }))
    }
}
