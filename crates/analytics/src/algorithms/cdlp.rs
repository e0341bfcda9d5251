//! Communities by label propagation (Raghavan, Albert, Kumara, Phys. Rev. E 76, 2007), as LDBC Graphalytics defines it.
//!
//! Each vertex begins with its id as label. In each iteration, all vertices at once take the label that most of their neighbours
//! have; of several, the least. In a directed graph, a neighbour in both directions counts twice. O(E·log degree) for each iteration.

use mangrove_graph::Value;
use rayon::prelude::*;

use super::CHUNK;
use crate::algorithm::{Algorithm, Outcome, Values};
use crate::engine::{self, Around, InMemory, Placement, Reads, Step, Vertex, VertexProgram};
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
        let summary = vec![("communities", communities(&labels)), ("iterations", Value::from(iterations as i64))];
        Ok(Outcome { values: named(graph, &labels), summary })
    }

    fn run_divided(&self, graph: &Projection, placement: Placement, run: &Run) -> Result<Option<Outcome>> {
        let program = Program { ids: graph.id_order(), iterations: self.iterations };
        let ran = engine::run(&program, &*graph.around(run)?, &vec![0.0; graph.vertices()], placement, &InMemory, run)?;
        let summary = vec![("communities", communities(&ran.values))];
        Ok(Some(Outcome::of_program(named(graph, &ran.values), summary, ran.steps, ran.sent)))
    }
}

/// The vertices whose ids are the labels.
fn named(graph: &Projection, labels: &[u32]) -> Values {
    let mut with_id = vec![0u32; graph.vertices()];
    graph.id_order().iter().enumerate().for_each(|(vertex, place)| with_id[*place as usize] = vertex as u32);
    Values::Vertices(labels.iter().map(|label| with_id[*label as usize]).collect())
}

fn communities(labels: &[u32]) -> Value {
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    labels.dedup();
    Value::from(labels.len() as i64)
}

/// The same as a vertex program.
struct Program<'g> {
    ids: &'g [u32],
    iterations: u64,
}

impl VertexProgram for Program<'_> {
    type Value = u32;

    fn init(&self, vertex: Vertex, _vertices: usize) -> u32 {
        self.ids[vertex.number as usize]
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
