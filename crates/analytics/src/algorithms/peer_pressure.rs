//! Clusters by peer pressure, as TinkerPop's `PeerPressureVertexProgram` defines them.
//!
//! Each vertex begins in a cluster of its own. In each iteration, all vertices at once vote along their outgoing edges for the
//! clusters they are in, and each joins the one with the most votes, its own among them; of several, the one that comes first in a given
//! order. A vertex that gets no votes is its own cluster. O(E·log degree) for each iteration.

use mangrove_graph::{Value, VertexId};
use rayon::prelude::*;

use super::CHUNK;
use super::weights::by_number;
use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::Result;
use crate::project::{Needs, Projection};
use crate::run::Run;

/// The value of a vertex is the vertex that its cluster began with.
pub struct PeerPressure {
    pub iterations: u64,
    /// How strong the vote of each vertex is; those not named have none. An empty list gives each the same.
    pub votes: Vec<(VertexId, f64)>,
    /// The place of each vertex, by its number, in the order that decides between clusters with as many votes.
    pub order: Vec<u32>,
}

impl Algorithm for PeerPressure {
    fn needs(&self) -> Needs {
        Needs { incoming: true, ..Needs::default() }
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let strengths = self.strengths(graph)?;
        let mut clusters: Vec<u32> = (0..graph.vertices() as u32).collect();
        let chunks = graph.incoming().chunks(CHUNK);
        run.begin("iterations", self.iterations);
        let mut iterations = 0;
        while iterations < self.iterations {
            let parts: Vec<Vec<u32>> = chunks
                .par_iter()
                .map_init(Vec::new, |votes, chunk| {
                    chunk.clone().map(|vertex| self.elected(graph, &clusters, &strengths, vertex, votes)).collect()
                })
                .collect();
            let next = parts.concat();
            run.advance(1)?;
            iterations += 1;
            if next == clusters {
                break;
            }
            clusters = next;
        }
        let mut all = clusters.clone();
        all.sort_unstable();
        all.dedup();
        let count = |count: usize| Value::from(count as i64);
        let summary = vec![("clusters", count(all.len())), ("iterations", count(iterations as usize))];
        Ok(Outcome { values: Values::Vertices(clusters), summary })
    }
}

impl PeerPressure {
    fn strengths(&self, graph: &Projection) -> Result<Vec<f64>> {
        match self.votes.is_empty() {
            true => Ok(vec![1.0; graph.vertices()]),
            false => by_number(graph.numbering(), &self.votes, "vote"),
        }
    }

    /// The cluster with the most votes at a vertex. `votes` is room to count them.
    fn elected(
        &self,
        graph: &Projection,
        clusters: &[u32],
        strengths: &[f64],
        vertex: usize,
        votes: &mut Vec<(u32, f64)>,
    ) -> u32 {
        votes.clear();
        votes.push((clusters[vertex], strengths[vertex]));
        let others = graph.incoming().of(vertex).iter();
        votes.extend(others.map(|other| (clusters[*other as usize], strengths[*other as usize])));
        votes.sort_by_key(|(cluster, _)| self.order[*cluster as usize]);
        let (mut best, mut most) = (vertex as u32, 0.0);
        for same in votes.chunk_by(|a, b| a.0 == b.0) {
            let sum: f64 = same.iter().map(|(_, strength)| strength).sum();
            if sum > most {
                (best, most) = (same[0].0, sum);
            }
        }
        best
    }
}
