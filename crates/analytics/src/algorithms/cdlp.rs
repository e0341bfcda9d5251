//! Communities by label propagation (Raghavan, Albert, Kumara, Phys. Rev. E 76, 2007), as LDBC Graphalytics defines it.
//!
//! Each vertex begins with its id as label. In each iteration, all vertices at once take the label that most of their neighbours
//! have; of several, the least. In a directed graph, a neighbour in both directions counts twice. O(E·log degree) for each iteration.

use mangrove_graph::Value;
use rayon::prelude::*;

use super::CHUNK;
use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::Result;
use crate::project::{Needs, Projection};
use crate::run::Run;

/// The value of a vertex is the vertex whose id is its label.
pub struct Cdlp {
    pub iterations: u64,
}

impl Algorithm for Cdlp {
    fn needs(&self) -> Needs {
        Needs { incoming: true, outgoing: true, id_order: true }
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let vertices = graph.vertices();
        let mut labels = graph.id_order().to_vec();
        let mut next = labels.clone();
        let chunks = graph.incoming().chunks(CHUNK);
        run.begin("iterations", self.iterations);
        let mut iterations = 0;
        while iterations < self.iterations {
            let parts: Vec<Vec<u32>> = chunks
                .par_iter()
                .map_init(Vec::new, |around, chunk| {
                    chunk.clone().map(|vertex| most_frequent(graph, &labels, vertex, around)).collect()
                })
                .collect();
            parts.iter().zip(&chunks).for_each(|(part, chunk)| next[chunk.clone()].copy_from_slice(part));
            run.advance(1)?;
            iterations += 1;
            // What does not change once never changes again.
            if next == labels {
                break;
            }
            std::mem::swap(&mut labels, &mut next);
        }
        let mut with_id = vec![0u32; vertices];
        graph.id_order().iter().enumerate().for_each(|(vertex, place)| with_id[*place as usize] = vertex as u32);
        let values: Vec<u32> = labels.iter().map(|label| with_id[*label as usize]).collect();
        labels.sort_unstable();
        labels.dedup();
        let summary =
            vec![("communities", Value::from(labels.len() as i64)), ("iterations", Value::from(iterations as i64))];
        Ok(Outcome { values: Values::Vertices(values), summary })
    }
}

/// The least of the labels that most neighbours of a vertex have; its own if it has none.
fn most_frequent(graph: &Projection, labels: &[u32], vertex: usize, around: &mut Vec<u32>) -> u32 {
    around.clear();
    around.extend(graph.incoming().of(vertex).iter().map(|other| labels[*other as usize]));
    if graph.is_directed() {
        around.extend(graph.outgoing().of(vertex).iter().map(|other| labels[*other as usize]));
    }
    around.sort_unstable();
    let (mut best, mut most) = (labels[vertex], 0);
    for same in around.chunk_by(|a, b| a == b) {
        if same.len() > most {
            (best, most) = (same[0], same.len());
        }
    }
    best
}
