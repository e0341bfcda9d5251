//! Colours such that no two linked vertices have the same (Welsh, Powell: An upper bound for the chromatic number of a graph, 1967).
//!
//! Vertices with most links choose first, each the least colour that none of its neighbours has. It takes at most one colour more than
//! the most links of a vertex. O(V·log V + E).

use mangrove_graph::Value;

use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::Result;
use crate::project::{NONE, Needs, Projection};
use crate::run::Run;

const BETWEEN_LOOKS: usize = 1 << 16;

pub struct Coloring;

impl Algorithm for Coloring {
    fn needs(&self) -> Needs {
        Needs { incoming: true, outgoing: true, ..Needs::default() }
    }

    fn bytes(&self, vertices: u64, entries: u64) -> u64 {
        24 * vertices + 8 * entries
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let links = graph.simple(run)?;
        let mut order: Vec<u32> = (0..links.vertices() as u32).collect();
        order.sort_by_key(|vertex| std::cmp::Reverse(links.degree(*vertex as usize)));
        let mut colors = vec![NONE; links.vertices()];
        // Who has seen which colour around it last.
        let mut seen: Vec<u32> = Vec::new();
        run.begin("vertices", order.len() as u64);
        for (at, vertex) in order.iter().enumerate() {
            for other in links.of(*vertex as usize) {
                if let Some(seen) = seen.get_mut(colors[*other as usize] as usize) {
                    *seen = *vertex;
                }
            }
            let free = seen.iter().position(|seen| seen != vertex).unwrap_or(seen.len());
            if free == seen.len() {
                seen.push(NONE);
            }
            colors[*vertex as usize] = free as u32;
            if at % BETWEEN_LOOKS == 0 {
                run.advance(BETWEEN_LOOKS.min(order.len() - at) as u64)?;
            }
        }
        Ok(Outcome { values: Values::Counts(colors), summary: vec![("colors", Value::from(seen.len() as i64))] })
    }
}
