//! The edges of some of the vertices, for a process that has a part of the graph.
//!
//! It knows the vertices of others by their ids only. So lists keep ids until the parts have told each other which of these are chosen.

use std::collections::HashMap;
use std::ops::Range;

use mangrove_graph::{Adjacency, Direction, GraphView, Hop, LabelId, ScanCursor, VertexId, Wants};

use super::adjacent::{batches, starts, weights_of};
use super::{Reading, Selection};
use crate::error::{AnalyticsError, Result};
use crate::run::{Stage, Views};

/// Vertices that are read at a time.
const PAGE: usize = 8192;

/// What a vertex takes beside its edges: its id, its number, where its list begins, its degree, and its value twice.
const VERTEX_BYTES: u64 = 64;
/// What a vertex of another part takes at most: its id, its place there, and its value.
const OTHER_BYTES: u64 = 24;

/// The vertices of a part in the order of their ids. Their places are 0, 1, 2 …
pub struct Places {
    vertices: Vec<VertexId>,
    runs: Vec<PlaceRun>,
    /// The run of each label and shard.
    found: HashMap<(LabelId, u16), usize>,
}

/// The vertices of a label in a shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceRun {
    pub label: LabelId,
    pub shard: u16,
    pub places: Range<usize>,
    /// Whether their local ids are 0, 1, 2 …
    is_dense: bool,
}

impl Places {
    pub fn new(mut vertices: Vec<VertexId>) -> Self {
        vertices.sort_unstable();
        vertices.dedup();
        let (mut runs, mut first): (Vec<PlaceRun>, usize) = (Vec::new(), 0);
        for same in vertices.chunk_by(|a, b| (a.label(), a.shard()) == (b.label(), b.shard())) {
            let is_dense = same.iter().zip(0..).all(|(vertex, local)| vertex.local() == local);
            let places = first..first + same.len();
            first = places.end;
            runs.push(PlaceRun { label: same[0].label(), shard: same[0].shard(), places, is_dense });
        }
        let found = runs.iter().enumerate().map(|(at, run)| ((run.label, run.shard), at)).collect();
        Self { vertices, runs, found }
    }

    /// Reads the chosen vertices of views, each of other vertices.
    pub fn read<'v>(views: impl Iterator<Item = &'v dyn GraphView>, selection: &Selection) -> Result<Self> {
        let (scan, mut vertices) = (selection.scan(), Vec::new());
        for view in views {
            let mut cursor = ScanCursor::default();
            while !cursor.done {
                view.scan_vertices(&scan, &mut cursor, PAGE, &mut vertices)?;
            }
        }
        Ok(Self::new(vertices))
    }

    pub fn vertices(&self) -> &[VertexId] {
        &self.vertices
    }

    /// The vertices by label and shard, in their order.
    pub fn runs(&self) -> &[PlaceRun] {
        &self.runs
    }

    /// The place of a vertex; `None` if it has none. O(1), or O(log vertices) if local ids are missing.
    pub fn place(&self, vertex: VertexId) -> Option<u32> {
        let run = &self.runs[*self.found.get(&(vertex.label(), vertex.shard()))?];
        let within = match run.is_dense {
            true => Some(vertex.local() as usize).filter(|local| *local < run.places.len())?,
            false => self.vertices[run.places.clone()].binary_search(&vertex).ok()?,
        };
        Some((run.places.start + within) as u32)
    }
}

/// The edges of the vertices of a part, in the order of places.
pub struct PartLists {
    pub places: Places,
    pub batches: Vec<ListBatch>,
    pub has_weights: bool,
}

/// The edges of some vertices that follow each other. The edges of each are sorted.
pub struct ListBatch {
    pub degrees: Vec<u32>,
    /// The other ends: vertices of this part that are chosen, and vertices of other parts.
    pub others: Vec<VertexId>,
    /// The weight of each edge, if there are weights.
    pub weights: Vec<f64>,
}

/// Which edges of a vertex are listed.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    pub direction: Direction,
    /// Of the two entries of a loop of an undirected graph, one is left out.
    pub loops_once: bool,
    /// The bytes that each entry takes while a program runs, beside its list.
    pub bytes: u64,
}

impl PartLists {
    /// Reads the edges. `is_here` says whether a vertex belongs to this part, chosen or not; in all parts there are `vertices` chosen ones.
    /// O(vertices + edges·log degree).
    ///
    /// # Errors
    /// If memory does not suffice, which is estimated before the edges are read; if a weight is no number.
    pub fn read(
        view: &dyn GraphView,
        places: Places,
        selection: &Selection,
        listed: Listed,
        (is_here, vertices): (&(dyn Fn(VertexId) -> bool + Sync), u64),
        mut reading: Reading<'_>,
    ) -> Result<Self> {
        let wants = Wants { rows: true, neighbors: true, edges: selection.weight.is_some() };
        let all = Hop::along(listed.direction, selection.edges.clone(), wants);
        let (own, mut views) = (&places.vertices, Views::new(view, reading.threads)?);
        let slice = |range: Range<u64>| own[range.start as usize..range.end as usize].to_vec();
        let starts = starts(&mut views, own.len() as u64, &slice, &all, &mut reading)?;
        let entries = starts.last().copied().unwrap_or(0);
        fits(own.len() as u64, entries, vertices, selection.weight.is_some(), listed.bytes, reading.bytes_max)?;
        let hop = Hop { filter: selection.edge_filter.clone(), ..all };
        let ranges = batches(&starts);
        let of = ranges.len() as u64;
        let batch = Batch { places: &places, hop: &hop, selection, listed, is_here };
        let mut show = |done| (reading.show)(Stage { name: "reading edges", done, of });
        let batches = views.map(ranges.len(), (reading.limits, &mut show), |view, at| batch.read(view, &ranges[at]))?;
        Ok(Self { places, batches, has_weights: selection.weight.is_some() })
    }
}

/// Fails if a part takes more memory than is allowed.
fn fits(own: u64, entries: u64, vertices: u64, has_weights: bool, of_entry: u64, bytes_max: u64) -> Result<()> {
    // Ids and slots are there at the same time.
    let bytes = 8 + 4 + of_entry + if has_weights { 16 } else { 0 };
    let others = vertices.saturating_sub(own).min(entries);
    let needed = (VERTEX_BYTES * own).saturating_add(OTHER_BYTES * others).saturating_add(bytes.saturating_mul(entries));
    match needed > bytes_max {
        true => Err(AnalyticsError::TooLittleMemory { needed_mb: needed.div_ceil(1 << 20), allowed_mb: bytes_max >> 20 }),
        false => Ok(()),
    }
}

/// How the edges of some vertices are read.
struct Batch<'a> {
    places: &'a Places,
    hop: &'a Hop,
    selection: &'a Selection,
    listed: Listed,
    is_here: &'a (dyn Fn(VertexId) -> bool + Sync),
}

impl Batch<'_> {
    fn read(&self, view: &dyn GraphView, range: &Range<usize>) -> Result<ListBatch> {
        let vertices = &self.places.vertices[range.clone()];
        let mut found = Adjacency::default();
        view.neighbors(vertices, self.hop, &mut found)?;
        let weights = match self.selection.weight {
            Some(key) => weights_of(view, &found.edges, key)?,
            None => Vec::new(),
        };
        let mut lists: Vec<Vec<(VertexId, f64)>> = vec![Vec::new(); vertices.len()];
        for (at, (row, other)) in found.rows.iter().zip(&found.neighbors).enumerate() {
            if self.places.place(*other).is_some() || !(self.is_here)(*other) {
                lists[*row as usize].push((*other, weights.get(at).copied().unwrap_or(1.0)));
            }
        }
        let mut batch = ListBatch { degrees: Vec::with_capacity(lists.len()), others: Vec::new(), weights: Vec::new() };
        for (vertex, mut list) in vertices.iter().zip(lists) {
            list.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            if self.listed.loops_once {
                halve_loops(*vertex, &mut list);
            }
            batch.degrees.push(list.len() as u32);
            batch.others.extend(list.iter().map(|(other, _)| *other));
            if self.selection.weight.is_some() {
                batch.weights.extend(list.iter().map(|(_, weight)| *weight));
            }
        }
        Ok(batch)
    }
}

/// Leaves out every second loop of a vertex.
fn halve_loops(vertex: VertexId, list: &mut Vec<(VertexId, f64)>) {
    let mut is_second = true;
    list.retain(|(other, _)| {
        let is_loop = *other == vertex;
        is_second ^= is_loop;
        !is_loop || !is_second
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_ids_whatever_is_missing() {
        let vertex = |label, shard, local| VertexId::new(LabelId(label), shard, local);
        let all = [(0, 1, 0), (0, 1, 1), (0, 5, 2), (0, 5, 9), (3, 1, 0)].map(|(a, b, c)| vertex(a, b, c));
        let places = Places::new(all.iter().rev().copied().collect());
        assert_eq!(places.vertices(), all);
        assert!(all.iter().zip(0..).all(|(vertex, place)| places.place(*vertex) == Some(place)));
        let others = [vertex(0, 1, 2), vertex(0, 5, 0), vertex(1, 1, 0), vertex(3, 5, 0)];
        assert!(others.iter().all(|other| places.place(*other).is_none()));
        let runs: Vec<_> = places.runs().iter().map(|run| (run.label.0, run.shard, run.places.clone())).collect();
        assert_eq!(runs, [(0, 1, 0..2), (0, 5, 2..4), (3, 1, 4..5)]);
    }

    #[test]
    fn loops_of_undirected_graphs_count_once() {
        let (own, other) = (VertexId::new(LabelId(0), 2, 7), VertexId::new(LabelId(0), 0, 7));
        let mut list = vec![(other, 1.0), (own, 2.0), (own, 2.0), (own, 3.0), (own, 3.0)];
        halve_loops(own, &mut list);
        assert_eq!(list, [(other, 1.0), (own, 2.0), (own, 3.0)]);
    }

    #[test]
    fn memory_is_counted_before_it_is_taken() {
        assert!(fits(1_000, 10_000, 1_000, false, 0, 64_000 + 120_000).is_ok());
        let refused = fits(1_000, 10_000, 3_000, true, 8, 64_000 + 120_000);
        assert!(matches!(refused, Err(AnalyticsError::TooLittleMemory { .. })));
    }
}
