//! Random walks, as input for embeddings (Grover, Leskovec: node2vec, KDD 2016; with p = q = 1 DeepWalk, KDD 2014).
//!
//! A walk follows outgoing edges, heavier ones more often. From the second step on, going back weighs 1/p, staying near the vertex before
//! weighs 1, and leaving its neighbourhood 1/q. Steps are drawn by rejection (Yang et al.: KnightKing, SOSP 2019), so nothing is stored
//! for each edge. A walk ends early where no edge leads on. O(steps·log degree) in practice, with weights O(steps·degree).

use mangrove_graph::Value;
use rayon::prelude::*;

use super::random::Random;
use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Needs, Projection};
use crate::run::Run;

/// Vertices whose walks a thread takes at a time.
const PART: usize = 256;
/// Steps of a walk between looks at whether to stop.
const BETWEEN_LOOKS: usize = 1 << 12;
/// How often a step is drawn before all edges are weighed.
const TRIES: usize = 64;

pub struct Walks {
    /// The most vertices of a walk.
    pub length: u64,
    /// Walks that begin at each vertex.
    pub per_vertex: u64,
    pub p: f64,
    pub q: f64,
    pub seed: u64,
}

impl Algorithm for Walks {
    fn needs(&self) -> Needs {
        Needs { outgoing: true, ..Needs::default() }
    }

    fn bytes(&self, vertices: u64, _entries: u64) -> u64 {
        let walks = vertices.saturating_mul(self.per_vertex);
        walks.saturating_mul(self.length.saturating_mul(8).saturating_add(48))
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        for (name, value) in [("p", self.p), ("q", self.q)] {
            if !(value > 0.0 && value.is_finite() && (1.0 / value).is_finite()) {
                return Err(AnalyticsError::invalid(format!("{name} is {value}; it must be greater than 0")));
            }
        }
        if self.length == 0 {
            return Err(AnalyticsError::invalid("length is 0; a walk has at least the vertex where it begins"));
        }
        let outgoing = graph.outgoing();
        if outgoing.weights().par_iter().any(|weight| *weight < 0.0 || weight.is_infinite()) {
            return Err(AnalyticsError::invalid("walks need weights that are finite and not negative"));
        }
        run.begin("vertices", graph.vertices() as u64);
        let vertices: Vec<u32> = (0..graph.vertices() as u32).collect();
        let parts: Vec<Result<Vec<Vec<u32>>>> = vertices
            .par_chunks(PART)
            .map(|part| {
                run.advance(part.len() as u64)?;
                let walks = part.iter().flat_map(|vertex| (0..self.per_vertex).map(|walk| (*vertex, walk)));
                walks.map(|(vertex, walk)| self.walk(outgoing, vertex, walk, run)).collect()
            })
            .collect();
        let (mut starts, mut all) = (vec![0], Vec::new());
        for part in parts {
            for walk in part? {
                all.extend(walk);
                starts.push(all.len());
            }
        }
        let summary = vec![("walks", Value::from(starts.len() as i64 - 1)), ("steps", Value::from(all.len() as i64))];
        Ok(Outcome { values: Values::Walks { starts, vertices: all }, summary })
    }
}

impl Walks {
    fn walk(&self, outgoing: &Adjacent, first: u32, number: u64, run: &Run) -> Result<Vec<u32>> {
        // Each walk has numbers of its own, so it is the same on any number of threads.
        let mut random = Random::of(&[self.seed, first.into(), number]);
        let mut walk = vec![first];
        while (walk.len() as u64) < self.length {
            if walk.len().is_multiple_of(BETWEEN_LOOKS) {
                run.advance(0)?;
            }
            let (now, before) = (walk[walk.len() - 1], walk.len().checked_sub(2).map(|at| walk[at]));
            let Some(next) = self.step(outgoing, now, before, &mut random) else { break };
            walk.push(next);
        }
        Ok(walk)
    }

    fn step(&self, outgoing: &Adjacent, now: u32, before: Option<u32>, random: &mut Random) -> Option<u32> {
        let sum: f64 = match outgoing.weights_of(now as usize) {
            [] => outgoing.degree(now as usize) as f64,
            weights => weights.iter().sum(),
        };
        if sum <= 0.0 {
            return None;
        }
        let Some(before) = before else { return Some(next(outgoing, now as usize, sum, random)) };
        let most = (1.0 / self.p).max(1.0).max(1.0 / self.q);
        for _ in 0..TRIES {
            let next = next(outgoing, now as usize, sum, random);
            if random.share() * most < self.preference(outgoing, before, next) {
                return Some(next);
            }
        }
        // All but a few of the edges are unlikely.
        let preferred = |(next, weight): (u32, f64)| (next, weight * self.preference(outgoing, before, next));
        let preferred: Vec<(u32, f64)> = outgoing.weighted(now as usize).map(preferred).collect();
        let sum = preferred.iter().map(|(_, weight)| weight).sum();
        (sum > 0.0).then(|| drawn(preferred.into_iter(), sum, random))
    }

    /// How a step from `before` goes on to `next`.
    fn preference(&self, outgoing: &Adjacent, before: u32, next: u32) -> f64 {
        match next {
            next if next == before => 1.0 / self.p,
            next if outgoing.of(before as usize).binary_search(&next).is_ok() => 1.0,
            _ => 1.0 / self.q,
        }
    }
}

/// One of the edges of a vertex, drawn by weight.
fn next(outgoing: &Adjacent, vertex: usize, sum: f64, random: &mut Random) -> u32 {
    let others = outgoing.of(vertex);
    match outgoing.weights_of(vertex).is_empty() {
        true => others[random.below(others.len() as u64) as usize],
        false => drawn(outgoing.weighted(vertex), sum, random),
    }
}

/// One of some vertices, drawn by weight.
fn drawn(edges: impl Iterator<Item = (u32, f64)>, sum: f64, random: &mut Random) -> u32 {
    let (mut left, mut last) = (random.share() * sum, u32::MAX);
    for (other, weight) in edges.filter(|(_, weight)| *weight > 0.0) {
        (last, left) = (other, left - weight);
        if left < 0.0 {
            break;
        }
    }
    last
}
