//! Views that answer through another view.

use std::ops::Deref;
use std::sync::Arc;

use crate::catalog::{Catalog, Reach, Statistics};
use crate::cell::{Cell, PropertyColumn};
use crate::error::Result;
use crate::id::{EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, KeyId, LabelId, VertexId};
use crate::predicate::Predicate;
use crate::schema::{PropertyId, Schema};
use crate::view::{Adjacency, Distance, ElementIds, Elements, GraphView, Hop, Scan, ScanCursor, Scanned, SearchCursor};

/// Makes a type a [`GraphView`] that passes every call on to another view.
///
/// Every call comes through [`through`](Self::through) once. That is the place to count calls, to stop or to fail.
pub trait Through {
    /// What leads to the other view.
    type View<'a>: Deref<Target: GraphView>
    where
        Self: 'a;

    fn through(&self) -> Result<Self::View<'_>>;

    /// See [`Catalog::schema`].
    fn schema(&self) -> &Arc<Schema>;

    /// See [`GraphView::distance`].
    fn distance(&self) -> Distance {
        Distance::HERE
    }

    /// See [`GraphView::fork`].
    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(None)
    }
}

/// A view made for one call.
pub struct Here<V>(pub V);

impl<V> Deref for Here<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.0
    }
}

impl<T: Through> Catalog for T {
    fn schema(&self) -> &Arc<Schema> {
        Through::schema(self)
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        self.through()?.statistics()
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        self.through().is_ok_and(|view| view.is_searchable(of, predicate))
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        self.through()?.candidates(of, predicate)
    }

    fn reach(&self, of: PropertyId, predicate: &Predicate) -> Reach {
        // A search of a view that cannot be read says why.
        self.through().map_or(Reach::Here, |view| view.reach(of, predicate))
    }
}

impl<T: Through> GraphView for T {
    fn distance(&self) -> Distance {
        Through::distance(self)
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        self.through()?.scan_vertices(scan, cursor, limit, out)
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        self.through()?.scan_edges(scan, cursor, limit, out)
    }

    fn scan(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, limit: usize) -> Result<Scanned> {
        self.through()?.scan(kind, scan, cursor, limit)
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        self.through()?.count(kind, scan, cursor)
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        self.through()?.find_vertices(label, ids, out)
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        self.through()?.find_edges(ids, out)
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        self.through()?.external_ids(elements)
    }

    fn external_id(&self, vertex: VertexId) -> Result<ExternalId> {
        self.through()?.external_id(vertex)
    }

    fn edge_external_id(&self, edge: EdgeId) -> Result<Option<ExternalId>> {
        self.through()?.edge_external_id(edge)
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        self.through()?.contain(elements)
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        self.through()?.all_further_labels(vertices, out)
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        self.through()?.neighbors(from, hop, out)
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        self.through()?.degrees(from, hop, out)
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        self.through()?.columns(elements, keys, out)
    }

    fn cell(&self, element: ElementId, key: KeyId) -> Result<Cell> {
        self.through()?.cell(element, key)
    }

    fn cells(&self, element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()> {
        self.through()?.cells(element, keys, out)
    }

    fn keys(&self, elements: Elements<'_>, out: &mut Vec<KeyId>) -> Result<()> {
        self.through()?.keys(elements, out)
    }

    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        self.through()?.have(elements, key)
    }

    fn pass(&self, elements: Elements<'_>, key: KeyId, predicate: &Predicate) -> Result<Vec<bool>> {
        self.through()?.pass(elements, key, predicate)
    }

    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.through()?.sources()
    }

    fn listed_shards(&self, of: PropertyId, hashes: &[u64]) -> Result<Option<Vec<Vec<u16>>>> {
        self.through()?.listed_shards(of, hashes)
    }

    fn searched_shards(&self, of: PropertyId, predicate: &Predicate) -> Result<Option<Vec<u16>>> {
        self.through()?.searched_shards(of, predicate)
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Through::fork(self)
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        self.through()?.search(of, predicate, cursor, limit)
    }
}
