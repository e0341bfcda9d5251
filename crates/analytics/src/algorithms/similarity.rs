//! Similar vertices: those with many neighbours in common (Jaccard 1901: |A ∩ B| / |A ∪ B| of the sets of neighbours).
//!
//! The neighbours are the targets of a vertex's edges. For each vertex, the most similar others come, at most `top`. O(Σ degree²).

use mangrove_graph::Value;
use rayon::prelude::*;

use super::CHUNK;
use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Needs, Projection};
use crate::run::Run;

pub struct Similarity {
    /// The most others for each vertex.
    pub top: u64,
    /// Pairs that are less similar are left out.
    pub at_least: f64,
}

impl Algorithm for Similarity {
    fn needs(&self) -> Needs {
        Needs { incoming: true, outgoing: true, ..Needs::default() }
    }

    fn bytes(&self, vertices: u64, _entries: u64) -> u64 {
        vertices.saturating_mul(self.top.min(vertices)).saturating_mul(48).saturating_add(24 * vertices)
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let (incoming, outgoing) = (graph.incoming(), graph.outgoing());
        run.begin("vertices", graph.vertices() as u64);
        if !self.at_least.is_finite() {
            return Err(AnalyticsError::invalid(format!("at_least is {}; it must be a number", self.at_least)));
        }
        let sizes: Vec<u32> =
            (0..graph.vertices()).into_par_iter().map(|vertex| outgoing.distinct(vertex).count() as u32).collect();
        let of_chunk = |common: &mut Common, chunk: &std::ops::Range<usize>| {
            run.advance(chunk.len() as u64)?;
            Ok(chunk.clone().flat_map(|vertex| self.similar((incoming, outgoing), &sizes, vertex, common)).collect())
        };
        let chunks = outgoing.chunks(CHUNK / 16);
        let parts: Vec<Result<Vec<(u32, u32, f64)>>> =
            chunks.par_iter().map_init(|| Common::new(graph.vertices()), of_chunk).collect();
        let (mut vertices, mut others, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            for (vertex, other, value) in part? {
                vertices.push(vertex);
                others.push(other);
                values.push(value);
            }
        }
        let summary = vec![("pairs", Value::from(values.len() as i64))];
        Ok(Outcome { values: Values::Pairs { vertices, others, values }, summary })
    }
}

/// How many neighbours a vertex has in common with others.
struct Common {
    counts: Vec<u32>,
    found: Vec<u32>,
}

impl Common {
    fn new(vertices: usize) -> Self {
        Self { counts: vec![0; vertices], found: Vec::new() }
    }
}

impl Similarity {
    fn similar(
        &self,
        (incoming, outgoing): (&Adjacent, &Adjacent),
        sizes: &[u32],
        vertex: usize,
        common: &mut Common,
    ) -> Vec<(u32, u32, f64)> {
        for neighbor in outgoing.distinct(vertex) {
            for other in incoming.distinct(neighbor as usize).filter(|other| *other as usize != vertex) {
                if common.counts[other as usize] == 0 {
                    common.found.push(other);
                }
                common.counts[other as usize] += 1;
            }
        }
        let own = sizes[vertex] as usize;
        let mut found: Vec<(u32, f64)> = Vec::with_capacity(common.found.len());
        for other in common.found.drain(..) {
            let shared = std::mem::take(&mut common.counts[other as usize]) as usize;
            let all = own + sizes[other as usize] as usize - shared;
            found.push((other, shared as f64 / all as f64));
        }
        found.retain(|(_, similarity)| *similarity >= self.at_least);
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(self.top as usize);
        found.into_iter().map(|(other, similarity)| (vertex as u32, other, similarity)).collect()
    }
}
