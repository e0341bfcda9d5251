//! The store of a shard, far away or not, as a transaction changes it. The changes are in memory, and the store knows nothing of them.
//!
//! ```text
//!   delta     what was changed
//!   scan      scans and searches
//!   hops      edges of vertices
//!   write     elements and their properties
//!   declare   labels, declarations and indexes
//! ```
//! It refuses what its store would refuse of values and declarations. What other shards may have, too, is checked by who calls: that ends are
//! there, that ids and unique values are new. Edges must come with their true ends, and a vertex goes after its edges.
//!
//! Invariants
//! 1. New elements have the local ids behind those that the store has given.
//! 2. Every element of the store that is not as there is in `touched`.

mod declare;
mod delta;
mod hops;
mod scan;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mangrove_graph::{
    Adjacency, Catalog, Cell, EdgeId, EdgeRef, ElementId, ElementIds, ElementKind, Elements, ExternalId, GraphView, Hop,
    IdSpace, KeyId, LabelId, Predicate, PropertyColumn, PropertyId, Result, Scan, ScanCursor, Scanned, Schema, SearchCursor,
    ShardRead, Statistics, VertexId,
};

use self::delta::{Delta, Lists, Place};
use crate::directory::Entry;
use crate::split::rows_of;

/// A store with changes above it.
pub struct Overlay<V> {
    below: V,
    schema: Arc<Schema>,
    delta: Delta,
    /// How far sources were read, where the store says something else.
    sources: BTreeMap<String, Vec<u8>>,
    /// What the directory lists beside what the store says.
    listed: BTreeMap<PropertyId, BTreeSet<Entry>>,
    lists: Mutex<Lists>,
}

impl<V: Deref<Target: ShardRead>> Overlay<V> {
    pub fn new(below: V) -> Self {
        let (schema, delta, lists) = (below.schema().clone(), Delta::default(), Mutex::default());
        Self { below, schema, delta, sources: BTreeMap::new(), listed: BTreeMap::new(), lists }
    }

    /// The places of a batch. Labels that the store does not know have nothing there.
    fn places(&self, elements: Elements<'_>) -> Vec<Place> {
        let known = self.below.schema().labels(elements.kind()).len();
        let place = |at| {
            let element = elements.get(at);
            match self.delta.place(element) {
                Place::Below if usize::from(element.label().0) >= known => Place::Nowhere,
                place => place,
            }
        };
        (0..elements.len()).map(place).collect()
    }

    /// The rows of a batch that the store answers for.
    fn rows_below(places: &[Place]) -> Vec<u32> {
        (0..).zip(places).filter(|(_, place)| **place == Place::Below).map(|(row, _)| row).collect()
    }

    /// What the store answers, and what `new` does for the rows that are above it.
    fn answered<T: Clone + Default>(
        &self,
        elements: Elements<'_>,
        ask: impl FnOnce(&V::Target, Elements<'_>) -> Result<Vec<T>>,
        new: impl Fn(ElementId, usize) -> T,
    ) -> Result<Vec<T>> {
        if self.delta.is_empty() {
            return ask(&self.below, elements);
        }
        let places = self.places(elements);
        let rows = Self::rows_below(&places);
        let answers = match rows.len() {
            0 => Vec::new(),
            all if all == elements.len() => return ask(&self.below, elements),
            _ => ask(&self.below, rows_of(elements, &rows).batch())?,
        };
        let mut answers = answers.into_iter();
        let answer = |(at, place): (usize, &Place)| match place {
            Place::Below => answers.next().unwrap_or_default(),
            Place::New(row) => new(elements.get(at), *row),
            Place::Nowhere => T::default(),
        };
        Ok(places.iter().enumerate().map(answer).collect())
    }

    /// Whether the store has the same key and the same index of a property.
    fn is_declared_below(&self, of: PropertyId) -> bool {
        let below = self.below.schema();
        below.is_key(of.kind, of.label, of.key) == self.schema.is_key(of.kind, of.label, of.key)
            && below.index(of).is_some() == self.schema.index(of).is_some()
    }

    /// Whether the store, with the declarations that it has, answers a search.
    fn is_searchable_below(&self, of: PropertyId, predicate: &Predicate) -> bool {
        let ask = || self.below.is_searchable(of, predicate);
        self.is_declared_below(of) && self.below.schema().is_searchable(of, predicate).unwrap_or_else(ask)
    }

    /// Whether a property became the id of its vertices in this transaction.
    fn is_new_key(&self, of: PropertyId) -> bool {
        self.schema.is_key(of.kind, of.label, of.key) && !self.below.schema().is_key(of.kind, of.label, of.key)
    }

    /// The label within which an id is looked for.
    fn id_space(&self, label: Option<LabelId>) -> Option<LabelId> {
        label.filter(|_| self.schema.id_space == IdSpace::Label)
    }

    fn lists(&self) -> MutexGuard<'_, Lists> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.catch_up(&self.delta.edges);
        lists
    }

    /// One column, from the cells of the store.
    fn column(
        &self,
        elements: Elements<'_>,
        places: &[Place],
        key: KeyId,
        below: &PropertyColumn,
    ) -> Result<PropertyColumn> {
        let (mut at, mut cells) = (0, Vec::with_capacity(elements.len()));
        for (row, place) in places.iter().enumerate() {
            let element = elements.get(row);
            let of = PropertyId { kind: elements.kind(), label: element.label(), key };
            let known = self.delta.cell(of, VertexId(element.raw()).local(), *place);
            cells.push(match place {
                Place::Below => {
                    at += 1;
                    let id = || element.alone(|element| self.below.external_ids(element)).map(PropertyColumn::into_cell);
                    match known {
                        _ if self.is_new_key(of) => id()?,
                        Some(cell) => cell.clone(),
                        None => below.cell(at - 1),
                    }
                }
                Place::New(row) if self.schema.is_key(of.kind, of.label, key) => {
                    self.delta.vertex_at(of.label, *row).map_or(Cell::Absent, |id| Cell::One(id.to_value()))
                }
                _ => known.cloned().unwrap_or_default(),
            });
        }
        Ok(match cells.iter().all(Cell::is_absent) {
            true => PropertyColumn::Absent(cells.len()),
            false => PropertyColumn::Cells(cells),
        })
    }
}

impl<V: Deref<Target: ShardRead>> Catalog for Overlay<V> {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<Statistics>> {
        let below = self.below.statistics()?;
        if self.delta.grown.is_empty() {
            return Ok(below);
        }
        let mut all = Statistics::clone(&below);
        for ((kind, label), by) in &self.delta.grown {
            let counts = match kind {
                ElementKind::Vertex => &mut all.vertices,
                ElementKind::Edge => &mut all.edges,
            };
            let at = usize::from(label.0);
            counts.resize(counts.len().max(at + 1), 0);
            counts[at] = counts[at].saturating_add_signed(*by);
        }
        Ok(Arc::new(all))
    }

    fn is_searchable(&self, of: PropertyId, predicate: &Predicate) -> bool {
        self.schema.is_searchable(of, predicate).unwrap_or_else(|| self.is_searchable_below(of, predicate))
    }

    fn candidates(&self, of: PropertyId, predicate: &Predicate) -> Result<u64> {
        self.below.candidates(of, predicate)
    }
}

impl<V: Deref<Target: ShardRead>> GraphView for Overlay<V> {
    fn distance(&self) -> mangrove_graph::Distance {
        self.below.distance()
    }

    fn scan_vertices(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<VertexId>) -> Result<()> {
        out.extend(self.scan_ids(ElementKind::Vertex, scan, cursor, limit)?.into_vertices());
        Ok(())
    }

    fn scan_edges(&self, scan: &Scan, cursor: &mut ScanCursor, limit: usize, out: &mut Vec<EdgeRef>) -> Result<()> {
        out.extend(self.scan_ids(ElementKind::Edge, scan, cursor, limit)?.into_edges());
        Ok(())
    }

    fn scan(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor, limit: usize) -> Result<Scanned> {
        self.scan_rows(kind, scan, cursor, limit)
    }

    fn count(&self, kind: ElementKind, scan: &Scan, cursor: &mut ScanCursor) -> Result<u64> {
        self.count_next(kind, scan, cursor)
    }

    fn find_vertices(&self, label: Option<LabelId>, ids: &[ExternalId], out: &mut Vec<Option<VertexId>>) -> Result<()> {
        let first = out.len();
        self.below.find_vertices(label, ids, out)?;
        if self.delta.is_empty() {
            return Ok(());
        }
        for (found, id) in out[first..].iter_mut().zip(ids) {
            *found = found.filter(|vertex| !self.delta.gone.contains(&ElementId::Vertex(*vertex)));
            if found.is_none() && !self.delta.names.is_empty() {
                let new = self.delta.names.get(&(self.id_space(label), id.clone())).copied();
                *found = new.filter(|vertex| label.is_none_or(|label| vertex.label() == label));
            }
        }
        Ok(())
    }

    fn find_edges(&self, ids: &[ExternalId], out: &mut Vec<Option<EdgeRef>>) -> Result<()> {
        let first = out.len();
        self.below.find_edges(ids, out)?;
        if self.delta.is_empty() {
            return Ok(());
        }
        for (found, id) in out[first..].iter_mut().zip(ids) {
            *found = found.filter(|edge| !self.delta.gone.contains(&ElementId::Edge(edge.id)));
            let named = || self.delta.edge_names.get(id).and_then(|edge| self.delta.new_edge(*edge));
            let unnamed = || {
                let edge = EdgeId::from_generated(id)?;
                let Place::New(row) = self.delta.place(ElementId::Edge(edge)) else { return None };
                self.delta.edge_at(edge.label(), row).filter(|edge| edge.id.is_none())?;
                self.delta.new_edge(edge)
            };
            *found = found.or_else(named).or_else(unnamed);
        }
        Ok(())
    }

    fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        if self.delta.is_empty() {
            return self.below.external_ids(elements);
        }
        let new = |element: ElementId, row| match element {
            ElementId::Vertex(id) => self.delta.vertex_at(id.label(), row),
            ElementId::Edge(id) => self.delta.edge_at(id.label(), row).and_then(|edge| edge.id.as_ref()),
        };
        let cells = self.answered(
            elements,
            |below, some| {
                let ids = below.external_ids(some)?;
                Ok((0..some.len()).map(|at| ids.cell(at)).collect())
            },
            |element, row| new(element, row).map_or(Cell::Absent, |id| Cell::One(id.to_value())),
        );
        cells.map(PropertyColumn::Cells)
    }

    fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        self.answered(elements, |below, some| below.contain(some), |_, _| true)
    }

    fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        let mut all = self.answered(
            Elements::Vertices(vertices),
            |below, some| {
                let (mut labels, some) =
                    (Vec::with_capacity(some.len()), rows_of(some, &(0..some.len() as u32).collect::<Vec<_>>()));
                below.all_further_labels(&some.into_vertices(), &mut labels)?;
                Ok(labels)
            },
            |_, _| Vec::new(),
        )?;
        if !self.delta.further.is_empty() {
            for (labels, vertex) in all.iter_mut().zip(vertices) {
                let is_there = self.delta.place(ElementId::Vertex(*vertex)) != Place::Nowhere;
                self.delta
                    .further
                    .get(vertex)
                    .filter(|_| is_there)
                    .into_iter()
                    .for_each(|changed| labels.clone_from(changed));
            }
        }
        out.append(&mut all);
        Ok(())
    }

    fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        self.follow(from, hop, out)
    }

    fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        self.count_edges(from, hop, out)
    }

    fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        let (kind, labels) = (elements.kind(), elements.labels());
        let as_below = |key: KeyId| {
            let of = |label: &LabelId| PropertyId { kind, label: *label, key };
            labels.iter().all(|label| !self.delta.cells.contains_key(&of(label)) && !self.is_new_key(of(label)))
        };
        let places = self.places(elements);
        let rows = Self::rows_below(&places);
        let mut below = Vec::with_capacity(keys.len());
        match rows.len() {
            0 => below.resize(keys.len(), PropertyColumn::Absent(0)),
            _ => self.below.columns(rows_of(elements, &rows).batch(), keys, &mut below)?,
        }
        for (key, column) in keys.iter().zip(below) {
            let is_whole = rows.len() == elements.len() && as_below(*key);
            out.push(if is_whole { column } else { self.column(elements, &places, *key, &column)? });
        }
        Ok(())
    }

    fn sources(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let mut all: BTreeMap<String, Vec<u8>> = self.below.sources()?.into_iter().collect();
        all.extend(self.sources.clone());
        Ok(all.into_iter().collect())
    }

    fn listed_shards(&self, of: PropertyId, hashes: &[u64]) -> Result<Option<Vec<Vec<u16>>>> {
        let mut all = self.below.listed_shards(of, hashes)?;
        if let (Some(all), Some(listed)) = (&mut all, self.listed.get(&of)) {
            for (shards, hash) in all.iter_mut().zip(hashes) {
                shards.extend(listed.range((*hash, 0)..=(*hash, u16::MAX)).map(|(_, shard)| *shard));
                shards.sort_unstable();
                shards.dedup();
            }
        }
        Ok(all)
    }

    fn search(
        &self,
        of: PropertyId,
        predicate: &Predicate,
        cursor: &mut SearchCursor,
        limit: usize,
    ) -> Result<Option<ElementIds>> {
        if !self.is_searchable(of, predicate) {
            return Ok(None);
        }
        self.search_next(of, predicate, cursor, limit).map(Some)
    }
}
