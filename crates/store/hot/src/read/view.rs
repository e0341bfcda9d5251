//! The graph as queries read it.

use std::collections::BTreeMap;
use std::sync::Arc;

use mangrove_graph::{
    Adjacency, Catalog, Cell, EdgeId, EdgeRef, ElementId, ElementIds, ElementKind, Elements, ExternalId, GraphView, Here,
    Hop, KeyId, LabelId, Predicate, PropertyColumn, PropertyId, ReadContext, Result, Scan, ScanCursor, Schema, SearchCursor,
    ShardRead, Statistics, Through, VertexId,
};

use super::{HotSnapshot, Reader};
use crate::format::catalog;
use crate::format::key::place;

impl Catalog for Reader<'_> {
    fn schema(&self) -> &Arc<Schema> {
        self.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        if let Some(known) = self.clean.and_then(|clean| clean.statistics.get()) {
            return Ok(known.clone());
        }
        let live = |kind| {
            let labels = (0..self.schema.labels(kind).len()).map(|label| LabelId(label as u16));
            labels.map(|label| Ok(self.counter(kind, label)?.live)).collect::<Result<_>>()
        };
        let counted = Arc::new(Statistics { vertices: live(ElementKind::Vertex)?, edges: live(ElementKind::Edge)? });
        Ok(self.clean.map_or(counted.clone(), |clean| clean.statistics.get_or_init(|| counted).clone()))
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        Reader::is_searchable(self, of, predicate)
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        Reader::candidates(self, of, predicate)
    }
}

impl Reader<'_> {
    /// The counts of a label. A transaction that writes has newer ones than the tables.
    pub fn counter(&self, kind: ElementKind, label: LabelId) -> Result<catalog::Counter> {
        match self.counters.and_then(|counters| counters.get(&(kind, label))) {
            Some(counter) => Ok(*counter),
            None => catalog::counter(self.tables, self.txn, kind, label),
        }
    }
}

impl GraphView for Reader<'_> {
    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        Reader::scan_vertices(self, scan, cursor, limit, out)
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        Reader::scan_edges(self, scan, cursor, limit, out)
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        Reader::count(self, kind, scan, cursor)
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        Reader::find_vertices(self, label, ids, out)
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        Reader::find_edges(self, ids, out)
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        Reader::external_ids(self, elements)
    }

    fn external_id(&self, vertex: VertexId) -> Result<ExternalId> {
        Reader::external_id(self, vertex)
    }

    fn edge_external_id(&self, edge: EdgeId) -> Result<Option<ExternalId>> {
        Reader::edge_external_id(self, edge)
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        Reader::contain(self, elements)
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        Reader::all_further_labels(self, vertices, out)
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        Reader::neighbors(self, from, hop, out)
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        Reader::degrees(self, from, hop, out)
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        Reader::columns(self, elements, keys, out)
    }

    fn cell(&self, element: ElementId, key: KeyId) -> Result<Cell> {
        Reader::cell(self, element, key)
    }

    fn cells(&self, element: ElementId, keys: &[KeyId], out: &mut Vec<Cell>) -> Result<()> {
        Reader::cells(self, element, keys, out)
    }

    fn keys(&self, elements: Elements<'_>, out: &mut Vec<KeyId>) -> Result<()> {
        let mut places: BTreeMap<LabelId, Vec<u64>> = BTreeMap::new();
        for at in 0..elements.len() {
            let element = elements.get(at);
            places.entry(element.label()).or_default().push(place(element.raw()));
        }
        let first = out.len();
        for (label, places) in &mut places {
            places.sort_unstable();
            out.extend(self.keys_at(elements.kind(), *label, places)?);
        }
        if places.len() > 1 {
            out[first..].sort_unstable();
            out.dedup();
        }
        Ok(())
    }

    fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        Reader::have(self, elements, key)
    }

    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        Ok(catalog::sources(self.tables, self.txn)?.into_iter().collect())
    }

    fn listed_shards(&self, of: PropertyId, hashes: &[u64]) -> Result<Option<Vec<Vec<u16>>>> {
        hashes.iter().map(|hash| catalog::listed_shards(self.tables, self.txn, of, *hash)).collect::<Result<_>>().map(Some)
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        Reader::search(self, of, predicate, cursor, limit)
    }
}

impl Through for HotSnapshot {
    type View<'a> = Here<Reader<'a>>;

    fn through(&self) -> Result<Here<Reader<'_>>> {
        self.context.as_ref().map_or(Ok(()), ReadContext::begin)?;
        Ok(Here(self.reader()))
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(self.forked()?.map(|fork| Box::new(fork) as Box<dyn GraphView + Send>))
    }
}

impl ShardRead for HotSnapshot {
    fn next_local(&self, kind: ElementKind, label: LabelId) -> Result<u64> {
        Ok(self.reader().counter(kind, label)?.next)
    }
}
