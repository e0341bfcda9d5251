//! The other ends of the edges of each vertex.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use mangrove_graph::{
    Adjacency, Direction, EdgeRef, Elements, GraphError, GraphView, Hop, KeyId, Numbering, PropertyColumn, Value, VertexId,
    Wants,
};

use rayon::prelude::*;

use super::{Reading, Selection};
use crate::error::{AnalyticsError, Result};
use crate::run::{Run, Stage, Views};

/// The most vertices and edges that are read at a time. A vertex with more edges is read alone.
const BATCH_VERTICES: usize = 4096;
const BATCH_EDGES: u64 = 1 << 16;

/// For each vertex, the numbers of the others, sorted.
#[derive(Clone, Debug, Default)]
pub struct Adjacent {
    /// Where the edges of each vertex begin; at the end, the number of edges.
    starts: Vec<u64>,
    others: Vec<u32>,
    /// The weight of each edge, if there are weights.
    weights: Vec<f64>,
}

impl Adjacent {
    /// Reads the edges of all vertices, in one direction or in both. They go straight to their places, which their numbers tell.
    pub(super) fn read(
        views: &mut Views<'_>,
        numbering: &Numbering,
        selection: &Selection,
        direction: Direction,
        reading: &mut Reading<'_>,
    ) -> Result<Self> {
        let wants = Wants { rows: true, neighbors: true, edges: selection.weight.is_some() };
        let hop = Hop { filter: selection.edge_filter.clone(), ..Hop::along(direction, selection.edges.clone(), wants) };
        let starts = starts(views, numbering.count(), &|range| numbering.slice(range), &hop, reading)?;
        let edges = starts.last().copied().unwrap_or(0) as usize;
        let mut all = Self {
            others: vec![0; edges],
            weights: if selection.weight.is_some() { vec![0.0; edges] } else { Vec::new() },
            starts,
        };
        let found = all.fill(views, numbering, &hop, selection.weight, reading)?;
        if let Some(found) = found {
            all.close_gaps(&found);
        }
        Ok(all)
    }

    /// Reads all edges. Returns how many each vertex has, if some have fewer than there was room for.
    fn fill(
        &mut self,
        views: &mut Views<'_>,
        numbering: &Numbering,
        hop: &Hop,
        weight: Option<KeyId>,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Vec<u32>>> {
        let batches = batches(&self.starts);
        let mut rooms = Vec::with_capacity(batches.len());
        let (mut others, mut weights) = (&mut self.others[..], &mut self.weights[..]);
        for batch in &batches {
            let edges = (self.starts[batch.end] - self.starts[batch.start]) as usize;
            let (room, rest) = others.split_at_mut(edges);
            let (room_of_weights, rest_of_weights) = weights.split_at_mut(if weight.is_some() { edges } else { 0 });
            rooms.push(Mutex::new((room, room_of_weights)));
            (others, weights) = (rest, rest_of_weights);
        }
        let (starts, has_gaps) = (&self.starts, AtomicBool::new(false));
        let of = batches.len() as u64;
        let mut show = |done| (reading.show)(Stage { name: "reading edges", done, of });
        let counts = views.map(batches.len(), (reading.limits, &mut show), |view, number| {
            let batch = batches[number].clone();
            let mut room = rooms[number].lock().unwrap_or_else(PoisonError::into_inner);
            let (others, weights) = &mut *room;
            let starts = &starts[batch.start..=batch.end];
            let found = Batch { view, numbering, hop, weight, starts }.read(batch.clone(), others, weights)?;
            let is_full = found.iter().zip(starts.windows(2)).all(|(found, ends)| u64::from(*found) == ends[1] - ends[0]);
            has_gaps.fetch_or(!is_full, Ordering::Relaxed);
            Ok(found)
        })?;
        Ok(has_gaps.into_inner().then(|| counts.concat()))
    }

    /// Moves the edges of each vertex to where those of the vertex before end.
    fn close_gaps(&mut self, found: &[u32]) {
        let mut end = 0;
        for (vertex, found) in found.iter().enumerate() {
            let from = self.starts[vertex] as usize;
            let edges = from..from + *found as usize;
            self.others.copy_within(edges.clone(), end);
            if !self.weights.is_empty() {
                self.weights.copy_within(edges, end);
            }
            self.starts[vertex] = end as u64;
            end += *found as usize;
        }
        if let Some(last) = self.starts.last_mut() {
            *last = end as u64;
        }
        self.others.truncate(end);
        self.others.shrink_to_fit();
        if !self.weights.is_empty() {
            self.weights.truncate(end);
            self.weights.shrink_to_fit();
        }
    }

    /// Lists of pairs: for each vertex, those that stand before it in a pair. `weights` has one for each pair, or none. O(E·log degree).
    pub(super) fn of_pairs(vertices: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone, weights: &[f64]) -> Self {
        let mut starts = vec![0u64; vertices + 1];
        pairs.clone().for_each(|(_, to)| starts[to as usize + 1] += 1);
        (0..vertices).for_each(|vertex| starts[vertex + 1] += starts[vertex]);
        let edges = starts[vertices] as usize;
        let mut lists = vec![(0u32, 1.0); edges];
        let mut next = starts.clone();
        for (at, (from, to)) in pairs.enumerate() {
            let place = &mut next[to as usize];
            lists[*place as usize] = (from, weights.get(at).copied().unwrap_or(1.0));
            *place += 1;
        }
        for ends in starts.windows(2) {
            lists[ends[0] as usize..ends[1] as usize].sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        }
        let others = lists.iter().map(|(other, _)| *other).collect();
        let weights = if weights.is_empty() { Vec::new() } else { lists.iter().map(|(_, weight)| *weight).collect() };
        Self { starts, others, weights }
    }

    /// No vertices.
    pub fn empty() -> Self {
        Self { starts: vec![0], ..Self::default() }
    }

    /// Adds a vertex with its edges.
    pub fn push(&mut self, edges: impl Iterator<Item = (u32, f64)>, with_weights: bool) {
        for (other, weight) in edges {
            self.others.push(other);
            if with_weights {
                self.weights.push(weight);
            }
        }
        self.starts.push(self.others.len() as u64);
    }

    /// The vertices of all parts, one part after the other.
    pub fn concat(parts: Vec<Self>) -> Self {
        let mut all = Self::empty();
        for part in parts {
            let before = all.edges();
            all.starts.extend(part.starts[1..].iter().map(|start| before + start));
            all.others.extend(part.others);
            all.weights.extend(part.weights);
        }
        all
    }

    /// The lists of some vertices, in which others have other numbers.
    pub fn part(&self, vertices: &[u32], renumbered: impl Fn(u32) -> u32, run: &Run) -> Result<Self> {
        let mut part = Self { starts: Vec::with_capacity(vertices.len() + 1), ..Self::default() };
        part.others.reserve(vertices.iter().map(|vertex| self.degree(*vertex as usize) as usize).sum());
        part.starts.push(0);
        for some in vertices.chunks(BATCH_VERTICES) {
            run.advance(0)?;
            for vertex in some {
                part.others.extend(self.of(*vertex as usize).iter().map(|other| renumbered(*other)));
                part.weights.extend(self.weights_of(*vertex as usize));
                part.starts.push(part.others.len() as u64);
            }
        }
        Ok(part)
    }

    /// The lists of another order: for each vertex those that have it in their list. O(vertices + edges).
    pub fn turned(&self) -> Self {
        let vertices = self.vertices();
        let mut starts = vec![0u64; vertices + 1];
        self.others.iter().for_each(|other| starts[*other as usize + 1] += 1);
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut turned =
            Self { others: vec![0; self.others.len()], weights: vec![0.0; self.weights.len()], starts: starts.clone() };
        for vertex in 0..vertices {
            for (at, other) in self.range(vertex).zip(self.of(vertex)) {
                let place = &mut starts[*other as usize];
                turned.others[*place as usize] = vertex as u32;
                if !self.weights.is_empty() {
                    turned.weights[*place as usize] = self.weights[at];
                }
                *place += 1;
            }
        }
        turned
    }

    /// The lists of both orders together, sorted, without weights.
    pub fn with_turned(&self, run: &Run) -> Result<Self> {
        let turned = self.turned();
        let mut all = Self { starts: vec![0], others: Vec::with_capacity(2 * self.others.len()), weights: Vec::new() };
        for vertex in 0..self.vertices() {
            if vertex.is_multiple_of(BATCH_VERTICES) {
                run.advance(0)?;
            }
            let first = all.others.len();
            all.others.extend(self.of(vertex));
            all.others.extend(turned.of(vertex));
            all.others[first..].sort_unstable();
            all.starts.push(all.others.len() as u64);
        }
        Ok(all)
    }

    /// The lists with every second loop of a vertex left out: those of an undirected graph hold each of them twice. O(V·log degree), if there
    /// are none.
    pub fn with_loops_once(&self) -> Cow<'_, Self> {
        let has_loop = |vertex: usize| self.of(vertex).binary_search(&(vertex as u32)).is_ok();
        if !(0..self.vertices()).into_par_iter().any(has_loop) {
            return Cow::Borrowed(self);
        }
        let mut all = Self::empty();
        for vertex in 0..self.vertices() {
            let mut is_second = true;
            let kept = self.weighted(vertex).filter(|(other, _)| {
                let is_loop = *other as usize == vertex;
                is_second ^= is_loop;
                !is_loop || !is_second
            });
            all.push(kept, !self.weights.is_empty());
        }
        Cow::Owned(all)
    }

    fn range(&self, vertex: usize) -> Range<usize> {
        self.starts[vertex] as usize..self.starts[vertex + 1] as usize
    }

    /// The other ends of the edges of a vertex, sorted.
    #[inline]
    pub fn of(&self, vertex: usize) -> &[u32] {
        &self.others[self.range(vertex)]
    }

    /// The other ends, each once however many edges lead there.
    #[inline]
    pub fn distinct(&self, vertex: usize) -> impl Iterator<Item = u32> + '_ {
        self.of(vertex).chunk_by(|a, b| a == b).map(|same| same[0])
    }

    /// The weights of the edges of a vertex; nothing if each weighs 1.
    #[inline]
    pub fn weights_of(&self, vertex: usize) -> &[f64] {
        if self.weights.is_empty() { &[] } else { &self.weights[self.range(vertex)] }
    }

    /// The other ends of the edges of a vertex, with their weights.
    #[inline]
    pub fn weighted(&self, vertex: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let weights = self.weights_of(vertex).iter().copied().chain(std::iter::repeat(1.0));
        self.of(vertex).iter().copied().zip(weights)
    }

    /// The number of edges of a vertex.
    #[inline]
    pub fn degree(&self, vertex: usize) -> u64 {
        self.starts[vertex + 1] - self.starts[vertex]
    }

    pub fn vertices(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The number of all entries: of edges, or of twice as many in an undirected graph.
    pub fn edges(&self) -> u64 {
        self.others.len() as u64
    }

    /// The weights of all entries; nothing if each weighs 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.starts[..]) + size_of_val(&self.others[..]) + size_of_val(&self.weights[..])) as u64
    }

    /// Vertices in ranges with about this many edges and vertices each.
    pub fn chunks(&self, size: u64) -> Vec<Range<usize>> {
        chunks(&self.starts, size)
    }
}

fn chunks(starts: &[u64], size: u64) -> Vec<Range<usize>> {
    let vertices = starts.len().saturating_sub(1);
    let (mut all, mut first) = (Vec::new(), 0);
    while first < vertices {
        // The sum of edges and vertices grows with each vertex.
        let enough = starts[first] + first as u64 + size;
        let mut end = starts[first..=vertices].iter().enumerate().skip(1);
        let end = end.find(|(at, start)| **start + (first + at) as u64 >= enough).map_or(vertices, |(at, _)| first + at);
        all.push(first..end);
        first = end;
    }
    all
}

/// Where the edges of each vertex begin, if all lead to chosen vertices. `slice` gives the vertices with some numbers, of so many.
pub(super) fn starts(
    views: &mut Views<'_>,
    count: u64,
    slice: &(dyn Fn(Range<u64>) -> Vec<VertexId> + Sync),
    hop: &Hop,
    reading: &mut Reading<'_>,
) -> Result<Vec<u64>> {
    let batches = count.div_ceil(BATCH_VERTICES as u64) as usize;
    let mut show = |done| (reading.show)(Stage { name: "counting edges", done, of: batches as u64 });
    let degrees = views.map(batches, (reading.limits, &mut show), |view, number| {
        let first = number as u64 * BATCH_VERTICES as u64;
        let vertices = slice(first..count.min(first + BATCH_VERTICES as u64));
        let mut degrees = Vec::with_capacity(vertices.len());
        view.degrees(&vertices, hop, &mut degrees)?;
        Ok(degrees)
    })?;
    let mut starts = Vec::with_capacity(count as usize + 1);
    let mut sum = 0;
    starts.push(0);
    starts.extend(degrees.iter().flatten().map(|degree| {
        sum += degree;
        sum
    }));
    Ok(starts)
}

/// Ranges of vertices that are read at once.
pub(super) fn batches(starts: &[u64]) -> Vec<Range<usize>> {
    let split = |chunk: Range<usize>| {
        let ends = chunk.clone().step_by(BATCH_VERTICES).skip(1).chain([chunk.end]);
        let firsts = chunk.step_by(BATCH_VERTICES);
        firsts.zip(ends).map(|(first, end)| first..end).collect::<Vec<_>>()
    };
    chunks(starts, BATCH_EDGES).into_iter().flat_map(split).collect()
}

/// How the edges of some vertices are read.
struct Batch<'a> {
    view: &'a dyn GraphView,
    numbering: &'a Numbering,
    hop: &'a Hop,
    weight: Option<KeyId>,
    /// Where there is room for the edges of each vertex; the first is where the room of the batch begins.
    starts: &'a [u64],
}

impl Batch<'_> {
    /// Writes the edges of each vertex to its room. Returns how many there are.
    fn read(&self, batch: Range<usize>, others: &mut [u32], weights: &mut [f64]) -> Result<Vec<u32>> {
        let vertices = self.numbering.slice(batch.start as u64..batch.end as u64);
        let mut found = Adjacency::default();
        self.view.neighbors(&vertices, self.hop, &mut found)?;
        let of_edges = match self.weight {
            Some(key) => weights_of(self.view, &found.edges, key)?,
            None => Vec::new(),
        };
        let mut counts = vec![0u32; vertices.len()];
        for (at, (row, neighbor)) in found.rows.iter().zip(&found.neighbors).enumerate() {
            let Some(number) = self.numbering.number(*neighbor) else { continue };
            let row = *row as usize;
            let (first, room) = (self.starts[row] - self.starts[0], self.starts[row + 1] - self.starts[row]);
            let count = counts[row];
            if u64::from(count) >= room {
                return Err(GraphError::corrupt("a vertex has more edges than its degree").into());
            }
            let place = first as usize + count as usize;
            others[place] = number as u32;
            if let Some(weight) = of_edges.get(at) {
                weights[place] = *weight;
            }
            counts[row] = count + 1;
        }
        for (row, count) in counts.iter().enumerate() {
            let first = (self.starts[row] - self.starts[0]) as usize;
            let edges = first..first + *count as usize;
            match weights.is_empty() {
                true => others[edges].sort_unstable(),
                false => sort_both(&mut others[edges.clone()], &mut weights[edges]),
            }
        }
        Ok(counts)
    }
}

/// Sorts edges by the other end, then by weight.
fn sort_both(others: &mut [u32], weights: &mut [f64]) {
    let is_sorted = others.windows(2).all(|pair| pair[0] < pair[1]);
    if is_sorted {
        return;
    }
    let mut pairs: Vec<(u32, f64)> = others.iter().copied().zip(weights.iter().copied()).collect();
    pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    for (at, (other, weight)) in pairs.into_iter().enumerate() {
        (others[at], weights[at]) = (other, weight);
    }
}

/// The weights of edges. An edge without one weighs 1.
pub(super) fn weights_of(view: &dyn GraphView, edges: &[EdgeRef], key: KeyId) -> Result<Vec<f64>> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};
    let column = view.properties(Elements::Edges(edges), key)?;
    if let PropertyColumn::Typed(array) = &column {
        if let Some(array) = array.as_primitive_opt::<Float64Type>() {
            return array.iter().map(|weight| valid(weight.unwrap_or(1.0))).collect();
        }
        if let Some(array) = array.as_primitive_opt::<Int64Type>() {
            return Ok(array.iter().map(|weight| weight.map_or(1.0, |weight| weight as f64)).collect());
        }
    }
    let weight =
        |at: usize| match column.cell(at).values().next() {
            None | Some(Value::Null) => Ok(1.0),
            Some(value) => valid(value.as_f64().ok_or_else(|| {
                AnalyticsError::Invalid(format!("the weight of an edge is `{value}`, which is no number"))
            })?),
        };
    (0..edges.len()).map(weight).collect()
}

fn valid(weight: f64) -> Result<f64> {
    match weight.is_nan() {
        true => Err(AnalyticsError::invalid("the weight of an edge is NaN")),
        false => Ok(weight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_close() {
        let mut all =
            Adjacent { starts: vec![0, 3, 3, 5], others: vec![1, 2, 9, 0, 9], weights: vec![0.1, 0.2, 9.0, 0.5, 9.0] };
        all.close_gaps(&[2, 0, 1]);
        assert_eq!(
            (&all.starts[..], &all.others[..], &all.weights[..]),
            (&[0, 2, 2, 3][..], &[1, 2, 0][..], &[0.1, 0.2, 0.5][..])
        );
        let turned = all.turned();
        assert_eq!((turned.of(0), turned.of(1), turned.of(2)), (&[2][..], &[0][..], &[0][..]));
        assert_eq!(turned.weights_of(2), [0.2]);
        assert_eq!(all.weighted(0).collect::<Vec<_>>(), [(1, 0.1), (2, 0.2)]);
    }

    #[test]
    fn chunks_cover_all_vertices() {
        let starts = [0, 100, 100, 101, 105, 300];
        assert_eq!(chunks(&starts, 50), [0..1, 1..5]);
        assert_eq!(chunks(&starts, 1_000).len(), 1);
        assert!(chunks(&[0], 10).is_empty());
        let many: Vec<u64> = (0..20_001).collect();
        let all = batches(&many);
        assert!(all.iter().all(|batch| batch.len() <= BATCH_VERTICES));
        assert_eq!(all.iter().map(|batch| batch.len()).sum::<usize>(), 20_000);
    }
}
