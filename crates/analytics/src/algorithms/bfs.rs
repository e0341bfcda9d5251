//! Breadth-first search in both directions (Beamer, Asanović, Patterson: Direction-optimizing breadth-first search, SC 2012).
//!
//! While few vertices were reached last, their outgoing edges are followed. While many were, each vertex that is not reached yet looks
//! for one of them among its incoming edges, and stops at the first. O(V + E).

use std::sync::atomic::{AtomicU32, Ordering};

use mangrove_graph::{Numbering, Value, VertexId};
use rayon::prelude::*;

use super::CHUNK;
use super::bits::Bits;
use crate::algorithm::{Algorithm, Divided, Outcome, Values};
use crate::engine::{Around, Reads, Step, Vertex, VertexProgram};
use crate::error::{AnalyticsError, Result};
use crate::project::{NONE, Needs, Projection};
use crate::run::Run;

/// Incoming edges are looked at when the edges of the vertices reached last are more than the rest divided by this (α in the paper).
const EDGES_SHARE: u64 = 15;
/// Outgoing edges are followed again when fewer than all vertices divided by this were reached (β in the paper).
const VERTICES_SHARE: usize = 18;
/// Vertices that a thread takes at a time when outgoing edges are followed.
const PART: usize = 256;

pub struct Bfs {
    /// Where the search begins. Its vertices have depth 0.
    pub sources: Vec<VertexId>,
}

impl Algorithm for Bfs {
    fn needs(&self) -> Needs {
        Needs { incoming: true, outgoing: true, ..Needs::default() }
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let sources = numbers(graph.numbering(), &self.sources)?;
        let depths = depths(graph, &sources, run)?;
        let summary = summary(&depths);
        Ok(Outcome { values: Values::Counts(depths), summary })
    }

    fn needs_divided(&self) -> Option<Needs> {
        Some(Needs { incoming: true, ..Needs::default() })
    }

    fn divided(&self, numbering: &Numbering) -> Result<Option<Divided>> {
        Ok(Some(Divided::Bfs { sources: numbers(numbering, &self.sources)? }))
    }
}

pub fn summary(depths: &[u32]) -> Vec<(&'static str, Value)> {
    let reached = depths.iter().filter(|depth| **depth != NONE);
    let depth = reached.clone().max().copied().unwrap_or(0);
    vec![("reached", Value::from(reached.count() as i64)), ("depth", Value::from(i64::from(depth)))]
}

/// The same as a vertex program: a vertex is reached one step after the first of its in-neighbours.
pub struct BfsProgram<'a> {
    pub sources: &'a [u32],
}

impl VertexProgram for BfsProgram<'_> {
    type Value = u32;

    fn init(&self, vertex: Vertex, _vertices: usize) -> u32 {
        if self.sources.contains(&vertex.number) { 0 } else { NONE }
    }

    fn compute(&self, _step: Step, _vertex: Vertex, own: &u32, around: Around<'_, u32>) -> u32 {
        if *own != NONE {
            return *own;
        }
        around.values().min().map_or(NONE, |depth| depth.saturating_add(1))
    }

    fn reads(&self) -> Reads {
        Reads::Updated
    }

    fn is_done(&self, step: Step) -> bool {
        step.changed == 0
    }
}

/// The numbers of vertices, which must be among the chosen ones.
pub fn numbers(numbering: &Numbering, vertices: &[VertexId]) -> Result<Vec<u32>> {
    let number = |vertex: &VertexId| numbering.number(*vertex).map(|number| number as u32);
    let found: Option<Vec<u32>> = vertices.iter().map(number).collect();
    found.ok_or_else(|| AnalyticsError::invalid("the source is not among the chosen vertices: choose its label, too"))
}

struct Search<'g> {
    graph: &'g Projection,
    depths: Vec<AtomicU32>,
    depth: u32,
}

/// The least number of edges from some vertices to each; [`NONE`] if there is no way.
pub fn depths(graph: &Projection, sources: &[u32], run: &Run) -> Result<Vec<u32>> {
    let depths: Vec<AtomicU32> = (0..graph.vertices()).map(|_| AtomicU32::new(NONE)).collect();
    let mut front: Vec<u32> = Vec::new();
    for source in sources {
        if depths[*source as usize].swap(0, Ordering::Relaxed) == NONE {
            front.push(*source);
        }
    }
    let outgoing = graph.outgoing();
    let mut search = Search { graph, depths, depth: 0 };
    let mut edges_left = outgoing.edges();
    run.begin("vertices reached", graph.vertices() as u64);
    while !front.is_empty() {
        run.advance(front.len() as u64)?;
        let edges: u64 = front.par_iter().with_min_len(PART).map(|vertex| outgoing.degree(*vertex as usize)).sum();
        search.depth += 1;
        front = match edges > edges_left / EDGES_SHARE {
            true => search.look_back(front, run)?,
            false => search.follow(&front),
        };
        edges_left = edges_left.saturating_sub(edges);
    }
    Ok(search.depths.into_iter().map(AtomicU32::into_inner).collect())
}

impl Search<'_> {
    /// Follows the outgoing edges of the vertices that were reached last.
    fn follow(&self, front: &[u32]) -> Vec<u32> {
        let outgoing = self.graph.outgoing();
        let reach = |mut next: Vec<u32>, part: &[u32]| {
            for vertex in part {
                for other in outgoing.of(*vertex as usize) {
                    let depth = &self.depths[*other as usize];
                    // Most are reached already: a load is cheaper than an exchange.
                    if depth.load(Ordering::Relaxed) == NONE
                        && depth.compare_exchange(NONE, self.depth, Ordering::Relaxed, Ordering::Relaxed).is_ok()
                    {
                        next.push(*other);
                    }
                }
            }
            next
        };
        let parts: Vec<Vec<u32>> = front.par_chunks(PART).fold(Vec::new, reach).collect();
        parts.concat()
    }

    /// Looks at the incoming edges of all vertices that are not reached yet, until few are reached in one step.
    fn look_back(&mut self, front: Vec<u32>, run: &Run) -> Result<Vec<u32>> {
        let vertices = self.graph.vertices();
        let chunks = self.graph.incoming().chunks(CHUNK);
        let (mut last, mut next) = (Bits::new(vertices), Bits::new(vertices));
        front.par_iter().with_min_len(PART).for_each(|vertex| last.set(*vertex));
        let mut before = front.len();
        loop {
            let reached: usize = chunks.par_iter().map(|chunk| self.look(chunk.clone(), &last, &next)).sum();
            let is_growing = reached >= before;
            if reached == 0 || !is_growing && reached <= vertices / VERTICES_SHARE {
                return Ok(next.vertices());
            }
            run.advance(reached as u64)?;
            before = reached;
            std::mem::swap(&mut last, &mut next);
            next.clear();
            self.depth += 1;
        }
    }

    fn look(&self, chunk: std::ops::Range<usize>, last: &Bits, next: &Bits) -> usize {
        let incoming = self.graph.incoming();
        let mut reached = 0;
        for vertex in chunk {
            if self.depths[vertex].load(Ordering::Relaxed) == NONE
                && incoming.of(vertex).iter().any(|other| last.get(*other))
            {
                self.depths[vertex].store(self.depth, Ordering::Relaxed);
                next.set(vertex as u32);
                reached += 1;
            }
        }
        reached
    }
}
