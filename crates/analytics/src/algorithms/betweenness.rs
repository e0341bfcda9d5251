//! Betweenness centrality (Brandes: A faster algorithm for betweenness centrality, J. Math. Sociol. 25, 2001).
//!
//! For each pair of other vertices, it is the share of the shortest paths between them that lead through a vertex, added up. Edges
//! count one each. With fewer sources than vertices it is an estimate: sums are scaled up (Brandes, Pich 2007). O(E) for each source.

use mangrove_graph::Value;
use rayon::prelude::*;

use super::random::Random;
use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Needs, Projection};
use crate::run::Run;

/// Sources whose sums are added up by one thread. Parts are added in order, so sums do not depend on threads.
const PART: usize = 16;

pub struct Betweenness {
    /// How many sources are drawn; `None` for all vertices.
    pub samples: Option<u64>,
    pub seed: u64,
    /// Whether values are divided by the number of pairs.
    pub is_normalized: bool,
}

impl Algorithm for Betweenness {
    fn needs(&self) -> Needs {
        Needs { outgoing: true, ..Needs::default() }
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let vertices = graph.vertices();
        if self.samples == Some(0) {
            return Err(AnalyticsError::invalid("samples is 0; paths begin at one vertex at least"));
        }
        let sources = self.sources(vertices);
        run.begin("sources", sources.len() as u64);
        let mut sums = vec![0.0; vertices];
        for parts in sources.chunks(PART * rayon::current_num_threads()) {
            let of_parts: Vec<Result<Vec<f64>>> = parts
                .par_chunks(PART)
                .map(|part| {
                    let mut search = Search::new(graph.outgoing());
                    for source in part {
                        search.from(*source);
                        run.advance(1)?;
                    }
                    Ok(search.sums)
                })
                .collect();
            for of_part in of_parts {
                sums.iter_mut().zip(of_part?).for_each(|(sum, part)| *sum += part);
            }
        }
        let scale = self.scale(graph, sources.len());
        sums.iter_mut().for_each(|sum| *sum *= scale);
        Ok(Outcome { values: Values::Reals(sums), summary: vec![("sources", Value::from(sources.len() as i64))] })
    }
}

impl Betweenness {
    fn sources(&self, vertices: usize) -> Vec<u32> {
        let mut all: Vec<u32> = (0..vertices as u32).collect();
        let wanted = self.samples.map_or(vertices, |samples| vertices.min(samples as usize));
        if wanted == vertices {
            return all;
        }
        let mut random = Random::new(self.seed);
        for at in 0..wanted {
            let other = at + random.below((vertices - at) as u64) as usize;
            all.swap(at, other);
        }
        all.truncate(wanted);
        all
    }

    fn scale(&self, graph: &Projection, sources: usize) -> f64 {
        let vertices = graph.vertices() as f64;
        let of_sample = if sources == 0 { 1.0 } else { vertices / sources as f64 };
        match self.is_normalized {
            true if vertices > 2.0 => of_sample / ((vertices - 1.0) * (vertices - 2.0)),
            // A path of an undirected graph is found from both ends.
            _ if graph.is_directed() => of_sample,
            _ => of_sample / 2.0,
        }
    }
}

/// Searches from one source after another, and adds up.
struct Search<'g> {
    outgoing: &'g Adjacent,
    depths: Vec<u32>,
    /// The number of shortest paths to each vertex.
    paths: Vec<f64>,
    /// What the paths that lead on through each vertex count.
    dependencies: Vec<f64>,
    /// The vertices that were reached, nearest first.
    order: Vec<u32>,
    sums: Vec<f64>,
}

const UNREACHED: u32 = u32::MAX;

impl<'g> Search<'g> {
    fn new(outgoing: &'g Adjacent) -> Self {
        let vertices = outgoing.vertices();
        Self {
            outgoing,
            depths: vec![UNREACHED; vertices],
            paths: vec![0.0; vertices],
            dependencies: vec![0.0; vertices],
            order: Vec::new(),
            sums: vec![0.0; vertices],
        }
    }

    fn from(&mut self, source: u32) {
        self.reach(source);
        for vertex in self.order.iter().rev().map(|vertex| *vertex as usize) {
            let mut own = 0.0;
            for other in self.outgoing.distinct(vertex) {
                let other = other as usize;
                if self.depths[other] == self.depths[vertex] + 1 {
                    own += self.paths[vertex] / self.paths[other] * (1.0 + self.dependencies[other]);
                }
            }
            self.dependencies[vertex] = own;
            if vertex != source as usize {
                self.sums[vertex] += own;
            }
        }
        for vertex in self.order.drain(..) {
            self.depths[vertex as usize] = UNREACHED;
            self.paths[vertex as usize] = 0.0;
        }
    }

    fn reach(&mut self, source: u32) {
        self.depths[source as usize] = 0;
        self.paths[source as usize] = 1.0;
        self.order.push(source);
        let mut at = 0;
        while let Some(vertex) = self.order.get(at).map(|vertex| *vertex as usize) {
            at += 1;
            for other in self.outgoing.distinct(vertex) {
                if self.depths[other as usize] == UNREACHED {
                    self.depths[other as usize] = self.depths[vertex] + 1;
                    self.order.push(other);
                }
                if self.depths[other as usize] == self.depths[vertex] + 1 {
                    self.paths[other as usize] += self.paths[vertex];
                }
            }
        }
    }
}
