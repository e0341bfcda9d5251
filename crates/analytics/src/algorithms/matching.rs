//! A matching: edges of which no two share a vertex, chosen by weight (Avis: A survey of heuristics for the weighted matching problem,
//! Networks 13, 1983: greedy).
//!
//! The heaviest edge comes first, and each further one whose ends are free; of equal ones that between the first vertices. Its weight is
//! at least half of the greatest possible, and no edge can be added. O(E·log E).

use mangrove_graph::Value;
use rayon::prelude::*;

use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::{AnalyticsError, Result};
use crate::project::{NONE, Needs, Projection};
use crate::run::Run;

/// The value of a vertex is the vertex that it is matched with.
pub struct Matching;

impl Algorithm for Matching {
    fn needs(&self) -> Needs {
        Needs { incoming: true, ..Needs::default() }
    }

    fn bytes(&self, vertices: u64, entries: u64) -> u64 {
        24 * vertices + 32 * entries
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let incoming = graph.incoming();
        run.begin("edges", incoming.edges());
        let of_vertex = |vertex: usize| {
            let ends = move |(other, weight): (u32, f64)| (weight, (vertex as u32).min(other), (vertex as u32).max(other));
            incoming.weighted(vertex).map(ends).filter(|(_, a, b)| a != b).collect::<Vec<_>>()
        };
        let mut edges: Vec<(f64, u32, u32)> = (0..graph.vertices()).into_par_iter().flat_map_iter(of_vertex).collect();
        if edges.iter().any(|(weight, _, _)| weight.is_infinite()) {
            return Err(AnalyticsError::invalid("a matching needs weights that are finite"));
        }
        edges.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        run.advance(incoming.edges())?;
        let (mut partners, mut count, mut sum) = (vec![NONE; graph.vertices()], 0, 0.0);
        // An edge that weighs less than nothing is better left out.
        for (weight, a, b) in edges.into_iter().take_while(|(weight, _, _)| *weight >= 0.0) {
            if partners[a as usize] == NONE && partners[b as usize] == NONE {
                (partners[a as usize], partners[b as usize]) = (b, a);
                (count, sum) = (count + 1, sum + weight);
            }
        }
        let summary = vec![("edges", Value::from(count)), ("weight", Value::from(sum))];
        Ok(Outcome { values: Values::Vertices(partners), summary })
    }
}
