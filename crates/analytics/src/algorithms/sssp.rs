//! Lengths of shortest paths by Δ-stepping (Meyer, Sanders: Δ-stepping, J. Algorithms 49, 2003).
//!
//! Vertices wait in buckets by length, each Δ wide. The vertices of the least bucket are relaxed together, until it stays empty. A
//! thread whose share of that bucket is small goes on alone, without waiting for the others (Zhang et al., CGO 2020). O(V + E) for
//! random weights.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use mangrove_graph::{Numbering, Value, VertexId};
use rayon::prelude::*;

use super::bfs::numbers;
use crate::algorithm::{Algorithm, Divided, Outcome, Values};
use crate::engine::{Around, Reads, Step, Vertex, VertexProgram};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Needs, Projection};
use crate::run::Run;

/// Vertices that a thread takes at a time.
const PART: usize = 64;
/// A thread goes on alone while it has fewer vertices than this in the bucket.
const ALONE_MAX: usize = 1024;
/// Buckets beyond these wait together, and are sorted into buckets later.
const BUCKETS: usize = 1024;

pub struct Sssp {
    pub source: VertexId,
    /// The width of a bucket; `None` for one that suits the weights.
    pub delta: Option<f64>,
}

impl Algorithm for Sssp {
    fn needs(&self) -> Needs {
        Needs { outgoing: true, ..Needs::default() }
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let source = numbers(graph.numbering(), &[self.source])?[0];
        let delta = self.delta()?.unwrap_or_else(|| suitable_delta(graph.outgoing()));
        let lengths = lengths(graph, source, delta, run)?;
        let summary = summary(&lengths);
        Ok(Outcome { values: Values::Reals(lengths), summary })
    }

    fn needs_divided(&self) -> Option<Needs> {
        Some(Needs { incoming: true, ..Needs::default() })
    }

    fn divided(&self, numbering: &Numbering) -> Result<Option<Divided>> {
        self.delta()?; // it changes the speed of the kernel only
        Ok(Some(Divided::Sssp { source: numbers(numbering, &[self.source])?[0] }))
    }
}

impl Sssp {
    /// The width of a bucket, if it is given.
    fn delta(&self) -> Result<Option<f64>> {
        match self.delta {
            Some(delta) if !(delta > 0.0 && delta.is_finite()) => {
                Err(AnalyticsError::invalid(format!("delta is {delta}; it must be greater than 0")))
            }
            delta => Ok(delta),
        }
    }
}

pub fn summary(lengths: &[f64]) -> Vec<(&'static str, Value)> {
    let reached = lengths.iter().filter(|length| length.is_finite()).count();
    vec![("reached", Value::from(reached as i64))]
}

/// A path does not get shorter by going on.
pub fn check(edges: &Adjacent) -> Result<()> {
    match edges.weights().par_iter().find_any(|weight| **weight < 0.0) {
        Some(weight) => {
            Err(AnalyticsError::invalid(format!("an edge has the weight {weight}; shortest paths need 0 or more")))
        }
        None => Ok(()),
    }
}

/// The same as a vertex program: a path is as short as the shortest over an in-neighbour.
pub struct SsspProgram {
    pub source: u32,
}

impl VertexProgram for SsspProgram {
    type Value = f64;

    fn init(&self, vertex: Vertex, _vertices: usize) -> f64 {
        if vertex.number == self.source { 0.0 } else { f64::INFINITY }
    }

    fn compute(&self, _step: Step, _vertex: Vertex, own: &f64, around: Around<'_, f64>) -> f64 {
        around.weighted().map(|(length, weight)| length + weight).fold(*own, f64::min)
    }

    fn reads(&self) -> Reads {
        Reads::Updated
    }

    fn is_done(&self, step: Step) -> bool {
        step.changed == 0
    }
}

/// A quarter of the average weight divided by the average degree. In narrow buckets few vertices are relaxed twice, and empty ones cost
/// little.
fn suitable_delta(outgoing: &Adjacent) -> f64 {
    let weights = outgoing.weights();
    let sum = if weights.is_empty() { outgoing.edges() as f64 } else { weights.iter().sum() };
    let average = sum / outgoing.edges().max(1) as f64;
    let degree = outgoing.edges() as f64 / outgoing.vertices().max(1) as f64;
    let delta = average / (4.0 * degree.max(1.0));
    if delta > 0.0 && delta.is_finite() { delta } else { 1.0 }
}

struct Search<'g> {
    outgoing: &'g Adjacent,
    /// The bits of numbers that are not negative sort as the numbers do.
    lengths: Vec<AtomicU64>,
    delta: f64,
}

/// The lengths of the shortest paths from a vertex; infinite if there is no way.
pub fn lengths(graph: &Projection, source: u32, delta: f64, run: &Run) -> Result<Vec<f64>> {
    let outgoing = graph.outgoing();
    check(outgoing)?;
    let infinite = f64::INFINITY.to_bits();
    let lengths: Vec<AtomicU64> = (0..graph.vertices()).map(|_| AtomicU64::new(infinite)).collect();
    lengths[source as usize].store(0, Ordering::Relaxed);
    let search = Search { outgoing, lengths, delta };
    let bins: Vec<Mutex<Bins>> = (0..rayon::current_num_threads()).map(|_| Mutex::default()).collect();
    let (mut front, mut bucket) = (vec![source], 0u64);
    run.begin("vertices relaxed", 0);
    loop {
        front.par_chunks(PART).for_each(|part| {
            let bins = &bins[rayon::current_thread_index().unwrap_or(0)];
            search.relax_all(part, bucket, &mut bins.lock().unwrap_or_else(PoisonError::into_inner));
        });
        run.advance(front.len() as u64)?;
        front.clear();
        let mut bins: Vec<_> = bins.iter().map(|bins| bins.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let Some(next) = bins.iter_mut().filter_map(|bins| bins.least(bucket, &search)).min() else { break };
        bucket = next;
        bins.iter_mut().for_each(|bins| bins.take(bucket, &mut front));
    }
    Ok(search.lengths.into_iter().map(|length| f64::from_bits(length.into_inner())).collect())
}

impl Search<'_> {
    fn length(&self, vertex: u32) -> f64 {
        f64::from_bits(self.lengths[vertex as usize].load(Ordering::Relaxed))
    }

    fn bucket(&self, length: f64) -> u64 {
        (length / self.delta) as u64
    }

    fn relax_all(&self, part: &[u32], bucket: u64, bins: &mut Bins) {
        part.iter().for_each(|vertex| self.relax(*vertex, bucket, bins));
        let mut own = Vec::new();
        while let Some(found) = bins.found(bucket).filter(|found| !found.is_empty() && found.len() < ALONE_MAX) {
            std::mem::swap(found, &mut own);
            own.drain(..).for_each(|vertex| self.relax(vertex, bucket, bins));
        }
    }

    /// Shortens the paths that lead on from a vertex.
    fn relax(&self, vertex: u32, bucket: u64, bins: &mut Bins) {
        let length = self.length(vertex);
        if self.bucket(length) < bucket {
            return; // It was in an earlier bucket, too.
        }
        for (other, weight) in self.outgoing.weighted(vertex as usize) {
            let new = length + weight;
            if new < self.length(other)
                && self.lengths[other as usize].fetch_min(new.to_bits(), Ordering::Relaxed) > new.to_bits()
            {
                bins.put(self.bucket(new), other);
            }
        }
    }
}

/// The vertices that one thread found, by bucket. The first of them is `first`.
#[derive(Default)]
struct Bins {
    first: u64,
    near: Vec<Vec<u32>>,
    far: Vec<(u64, u32)>,
}

impl Bins {
    /// Buckets from the present one on: it is the same for all threads, and `first` is not after it.
    fn put(&mut self, bucket: u64, vertex: u32) {
        match usize::try_from(bucket - self.first).ok().filter(|at| *at < BUCKETS) {
            Some(at) => {
                if self.near.len() <= at {
                    self.near.resize_with(at + 1, Vec::new);
                }
                self.near[at].push(vertex);
            }
            None => self.far.push((bucket, vertex)),
        }
    }

    fn found(&mut self, bucket: u64) -> Option<&mut Vec<u32>> {
        self.near.get_mut(usize::try_from(bucket.checked_sub(self.first)?).ok()?)
    }

    /// The first bucket that is not empty, from `bucket` on. Those far away are after all that are near.
    fn least(&mut self, bucket: u64, search: &Search<'_>) -> Option<u64> {
        let from = usize::try_from(bucket - self.first).unwrap_or(usize::MAX);
        if let Some(at) = self.near.iter().skip(from).position(|found| !found.is_empty()) {
            return Some(self.first + (from + at) as u64);
        }
        // Those whose path has become shorter meanwhile were put into another bucket then.
        self.far.retain(|(bucket, vertex)| search.bucket(search.length(*vertex)) >= *bucket);
        self.far.iter().map(|(bucket, _)| *bucket).min()
    }

    /// Goes on to a bucket, which all threads agree on, and takes what is in it. If it is far away, what is near is empty.
    fn take(&mut self, bucket: u64, front: &mut Vec<u32>) {
        if bucket - self.first >= BUCKETS as u64 {
            self.first = bucket;
            self.near.iter_mut().for_each(Vec::clear);
            std::mem::take(&mut self.far).into_iter().for_each(|(bucket, vertex)| self.put(bucket, vertex));
        }
        if let Some(found) = self.found(bucket) {
            front.append(found);
        }
    }
}
