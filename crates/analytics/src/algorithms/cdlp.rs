//! Communities by label propagation (Raghavan, Albert, Kumara, Phys. Rev. E 76, 2007), as LDBC Graphalytics defines it.
//!
//! Each vertex begins with its id as label. In each iteration, all vertices at once take the label that most of their neighbours
//! have; of several, the least. In a directed graph, a neighbour in both directions counts twice. O(E·log degree) for each iteration.

use mangrove_graph::{Numbering, Value};
use rayon::prelude::*;

use super::CHUNK;
use crate::algorithm::{Algorithm, Divided, Outcome, Values};
use crate::engine::{Around, ByNumber, Reads, Step, Vertex, VertexProgram};
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
        let mut labels = graph.id_order().to_vec();
        let mut next = labels.clone();
        let chunks = graph.incoming().chunks(CHUNK);
        run.begin("iterations", self.iterations);
        let mut iterations = 0;
        while iterations < self.iterations {
            let parts: Vec<Vec<u32>> = chunks
                .par_iter()
                .map_init(Vec::new, |around, chunk| {
                    chunk.clone().map(|vertex| next_label(graph, &labels, vertex, around)).collect()
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
        let summary = summary(&labels, iterations);
        Ok(Outcome { values: named(graph.id_order(), &labels), summary })
    }

    fn needs_divided(&self) -> Option<Needs> {
        Some(Needs { incoming: true, id_order: true, ..Needs::default() })
    }

    fn divided(&self, _numbering: &Numbering) -> Result<Option<Divided>> {
        Ok(Some(Divided::Cdlp { iterations: self.iterations }))
    }
}

/// The vertices whose ids are the labels.
pub fn named(id_order: &[u32], labels: &[u32]) -> Values {
    let mut with_id = vec![0u32; id_order.len()];
    id_order.iter().enumerate().for_each(|(vertex, place)| with_id[*place as usize] = vertex as u32);
    Values::Vertices(labels.iter().map(|label| with_id[*label as usize]).collect())
}

pub fn summary(labels: &[u32], iterations: u64) -> Vec<(&'static str, Value)> {
    let mut communities = labels.to_vec();
    communities.sort_unstable();
    communities.dedup();
    let count = |count: usize| Value::from(count as i64);
    vec![("communities", count(communities.len())), ("iterations", count(iterations as usize))]
}

/// The same as a vertex program.
pub struct CdlpProgram<'g> {
    /// The place of the id of each vertex among all ids in order.
    pub ids: ByNumber<'g, u32>,
    pub iterations: u64,
}

impl VertexProgram for CdlpProgram<'_> {
    type Value = u32;

    fn init(&self, vertex: Vertex, _vertices: usize) -> u32 {
        self.ids.of(vertex.number).unwrap_or(vertex.number)
    }

    fn compute(&self, _step: Step, _vertex: Vertex, own: &u32, around: Around<'_, u32>) -> u32 {
        most_frequent(*own, &mut around.values().copied().collect::<Vec<u32>>())
    }

    fn reads(&self) -> Reads {
        Reads::All
    }

    fn is_done(&self, step: Step) -> bool {
        step.number >= self.iterations || step.changed == 0
    }
}

/// The label that a vertex takes next.
fn next_label(graph: &Projection, labels: &[u32], vertex: usize, around: &mut Vec<u32>) -> u32 {
    around.clear();
    around.extend(graph.incoming().of(vertex).iter().map(|other| labels[*other as usize]));
    if graph.is_directed() {
        around.extend(graph.outgoing().of(vertex).iter().map(|other| labels[*other as usize]));
    }
    most_frequent(labels[vertex], around)
}

/// The least of the labels that most neighbours have; the own label if there are none.
fn most_frequent(own: u32, around: &mut [u32]) -> u32 {
    around.sort_unstable();
    let (mut best, mut most) = (own, 0);
    for same in around.chunk_by(|a, b| a == b) {
        if same.len() > most {
            (best, most) = (same[0], same.len());
        }
    }
    best
}
