//! Weakly connected components (Sutton, Ben-Nun, Barak: Optimizing parallel graph connectivity computation via subgraph sampling,
//! IPDPS 2018: Afforest).
//!
//! Each vertex points to one with a smaller number, and trees of pointers grow together along edges. First along two edges of each
//! vertex, which usually joins most of the graph. Then, in an undirected graph, the vertices of the greatest component may skip the
//! rest of their edges. O(V + E) in practice.

use std::sync::atomic::{AtomicU32, Ordering};

use mangrove_graph::{Numbering, Value};
use rayon::prelude::*;

use super::CHUNK;
use crate::algorithm::{Algorithm, Divided, Outcome, Values};
use crate::engine::{Around, Reads, Step, Vertex, VertexProgram};
use crate::error::Result;
use crate::project::{Adjacent, Needs, Projection};
use crate::run::Run;

/// The edges of each vertex that are linked first.
const FIRST_EDGES: usize = 2;
/// How many vertices tell which component is the greatest.
const SAMPLE: usize = 1024;

/// The value of a vertex is the first vertex of its component.
pub struct Wcc;

impl Algorithm for Wcc {
    fn needs(&self) -> Needs {
        Needs { incoming: true, ..Needs::default() }
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let components = components(graph, run)?;
        let summary = summary(&components);
        Ok(Outcome { values: Values::Vertices(components), summary })
    }

    fn needs_divided(&self) -> Option<Needs> {
        Some(self.needs())
    }

    fn divided(&self, _numbering: &Numbering) -> Result<Option<Divided>> {
        Ok(Some(Divided::Wcc))
    }
}

pub fn summary(components: &[u32]) -> Vec<(&'static str, Value)> {
    let count = components.par_iter().enumerate().filter(|(vertex, first)| *vertex == **first as usize).count();
    vec![("components", Value::from(count as i64))]
}

/// The same as a vertex program: a vertex takes the least number that it sees.
pub struct WccProgram;

impl VertexProgram for WccProgram {
    type Value = u32;

    fn init(&self, vertex: Vertex, _vertices: usize) -> u32 {
        vertex.number
    }

    fn compute(&self, _step: Step, _vertex: Vertex, own: &u32, around: Around<'_, u32>) -> u32 {
        around.values().copied().fold(*own, u32::min)
    }

    fn reads(&self) -> Reads {
        Reads::Updated
    }

    fn is_done(&self, step: Step) -> bool {
        step.changed == 0
    }
}

/// The first vertex of the component of each vertex.
pub fn components(graph: &Projection, run: &Run) -> Result<Vec<u32>> {
    let edges = graph.incoming();
    let chunks = edges.chunks(CHUNK);
    let forest = Forest((0..graph.vertices() as u32).map(AtomicU32::new).collect());
    run.begin("edges", edges.edges());
    let link = |range: std::ops::Range<usize>, of: &dyn Fn(&Adjacent, usize) -> std::ops::Range<usize>| {
        let mut linked = 0;
        for vertex in range {
            let wanted = of(edges, vertex);
            linked += wanted.len();
            edges.of(vertex)[wanted].iter().for_each(|other| forest.link(vertex as u32, *other));
        }
        run.advance(linked as u64)
    };
    let first = |edges: &Adjacent, vertex: usize| 0..FIRST_EDGES.min(edges.of(vertex).len());
    chunks.par_iter().try_for_each(|chunk| link(chunk.clone(), &first))?;
    forest.flatten();
    // If edges lead one way only, those of the greatest component may come from others that have none of their own.
    let greatest = if graph.is_directed() { None } else { forest.greatest() };
    let rest = |edges: &Adjacent, vertex: usize| {
        let all = edges.of(vertex).len();
        let is_done = Some(forest.0[vertex].load(Ordering::Relaxed)) == greatest;
        if is_done { all..all } else { FIRST_EDGES.min(all)..all }
    };
    chunks.par_iter().try_for_each(|chunk| link(chunk.clone(), &rest))?;
    forest.flatten();
    Ok(forest.0.into_iter().map(AtomicU32::into_inner).collect())
}

/// For each vertex one of its component whose number is not greater.
struct Forest(Vec<AtomicU32>);

impl Forest {
    fn of(&self, vertex: u32) -> u32 {
        self.0[vertex as usize].load(Ordering::Relaxed)
    }

    /// Joins the trees of two vertices.
    fn link(&self, a: u32, b: u32) {
        let (mut a, mut b) = (self.of(a), self.of(b));
        while a != b {
            let (low, high) = (a.min(b), a.max(b));
            let above = self.of(high);
            if above == low
                || above == high
                    && self.0[high as usize].compare_exchange(high, low, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                return;
            }
            (a, b) = (self.of(self.of(high)), self.of(low));
        }
    }

    /// Lets each vertex point to the root of its tree.
    fn flatten(&self) {
        (0..self.0.len() as u32).into_par_iter().with_min_len(4096).for_each(|vertex| {
            let mut root = self.of(vertex);
            while root != self.of(root) {
                root = self.of(root);
            }
            self.0[vertex as usize].store(root, Ordering::Relaxed);
        });
    }

    /// The root to which most of a sample of the vertices point.
    fn greatest(&self) -> Option<u32> {
        let step = self.0.len().div_ceil(SAMPLE).max(1);
        let mut roots: Vec<u32> = (0..self.0.len()).step_by(step).map(|vertex| self.of(vertex as u32)).collect();
        roots.sort_unstable();
        roots.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0])
    }
}
