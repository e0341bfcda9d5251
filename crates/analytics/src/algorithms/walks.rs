//! Random walks, as input for embeddings (Grover, Leskovec: node2vec, KDD 2016; with p = q = 1 DeepWalk, KDD 2014).
//!
//! A walk follows outgoing edges, heavier ones more often. From the second step on, going back weighs 1/p, staying near the vertex before
//! weighs 1, and leaving its neighbourhood 1/q. Steps are drawn by rejection (Yang et al.: KnightKing, SOSP 2019), so nothing is stored
//! for each edge. A walk ends early where no edge leads on. O(steps·log degree) in practice.

use mangrove_graph::Value;
use rayon::prelude::*;

use super::random::Random;
use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Needs, Projection};
use crate::run::Run;

/// Vertices whose walks a thread takes at a time.
const PART: usize = 256;

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

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        for (name, value) in [("p", self.p), ("q", self.q)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(AnalyticsError::invalid(format!("{name} is {value}; it must be greater than 0")));
            }
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
                Ok(part
                    .iter()
                    .flat_map(|vertex| (0..self.per_vertex).map(|walk| self.walk(outgoing, *vertex, walk)))
                    .collect())
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
    fn walk(&self, outgoing: &Adjacent, first: u32, number: u64) -> Vec<u32> {
        // Each walk has numbers of its own, so it is the same on any number of threads.
        let mut random = Random::new(self.seed ^ (u64::from(first) << 32 | number).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut walk = vec![first];
        while (walk.len() as u64) < self.length {
            let (now, before) = (walk[walk.len() - 1], walk.len().checked_sub(2).map(|at| walk[at]));
            let Some(next) = self.step(outgoing, now, before, &mut random) else { break };
            walk.push(next);
        }
        walk
    }

    fn step(&self, outgoing: &Adjacent, now: u32, before: Option<u32>, random: &mut Random) -> Option<u32> {
        let others = outgoing.of(now as usize);
        let sum: f64 = match outgoing.weights_of(now as usize) {
            [] => others.len() as f64,
            weights => weights.iter().sum(),
        };
        if sum <= 0.0 {
            return None;
        }
        let most = (1.0 / self.p).max(1.0).max(1.0 / self.q);
        loop {
            let next = drawn(outgoing, now as usize, sum, random);
            let Some(before) = before else { return Some(next) };
            let weight = match next {
                next if next == before => 1.0 / self.p,
                next if outgoing.of(before as usize).binary_search(&next).is_ok() => 1.0,
                _ => 1.0 / self.q,
            };
            if random.share() * most < weight {
                return Some(next);
            }
        }
    }
}

/// One of the edges of a vertex, drawn by weight.
fn drawn(outgoing: &Adjacent, vertex: usize, sum: f64, random: &mut Random) -> u32 {
    let (others, weights) = (outgoing.of(vertex), outgoing.weights_of(vertex));
    if weights.is_empty() {
        return others[random.below(others.len() as u64) as usize];
    }
    let mut left = random.share() * sum;
    let heavy = others.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
    let mut last = others[0];
    for (other, weight) in heavy {
        last = *other;
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}
