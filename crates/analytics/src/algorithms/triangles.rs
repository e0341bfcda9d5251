//! Triangles, and the local clustering coefficient, by merging sorted lists (Schank, Wagner: Finding, counting and listing all
//! triangles in large graphs, WEA 2005: forward). O(E^1.5).
//!
//! Directions do not matter for triangles. For the coefficient of a vertex with k neighbours, LDBC Graphalytics counts the edges among
//! them, of k·(k − 1) that might be there. So two neighbours that are linked both ways count twice.

use std::sync::atomic::{AtomicU64, Ordering};

use mangrove_graph::{Numbering, Value};
use rayon::prelude::*;

use super::links::Links;
use crate::algorithm::{Algorithm, Divided, Outcome, Values};
use crate::engine::{Around, Reads, Step, Vertex, VertexProgram};
use crate::error::Result;
use crate::project::{Needs, Projection};
use crate::run::Run;

/// Places that a thread takes at a time.
const PART: usize = 256;

const NEEDS: Needs = Needs { incoming: true, outgoing: true, id_order: false };

/// The value of a vertex is the number of triangles that it is part of.
pub struct Triangles;

impl Algorithm for Triangles {
    fn needs(&self) -> Needs {
        NEEDS
    }

    fn bytes(&self, vertices: u64, entries: u64) -> u64 {
        48 * vertices + 16 * entries
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let found = count(&Links::new(graph, run)?, run, |_| 1)?;
        let summary = summary(&found);
        Ok(Outcome { values: Values::Totals(found), summary })
    }

    fn needs_divided(&self) -> Option<Needs> {
        Some(Needs { incoming: true, ..Needs::default() })
    }

    fn divided(&self, _numbering: &Numbering) -> Result<Option<Divided>> {
        Ok(Some(Divided::Triangles))
    }
}

pub fn summary(found: &[u64]) -> Vec<(&'static str, Value)> {
    let total = found.iter().sum::<u64>() / 3;
    vec![("triangles", Value::from(total as i64))]
}

/// The same as a vertex program, whose values have any length: first a vertex's own number, then those of its neighbours, and at last
/// the number of triangles in two parts.
pub struct TriangleProgram;

const STEPS: u64 = 2;

/// The number that two parts make.
pub fn total(parts: &[u32]) -> u64 {
    parts.iter().rev().fold(0, |total, part| total << 32 | u64::from(*part))
}

impl VertexProgram for TriangleProgram {
    type Value = Vec<u32>;

    fn init(&self, vertex: Vertex, _vertices: usize) -> Vec<u32> {
        vec![vertex.number]
    }

    fn compute(&self, step: Step, vertex: Vertex, own: &Vec<u32>, around: Around<'_, Vec<u32>>) -> Vec<u32> {
        if step.number == 0 {
            let mut others: Vec<u32> = around.values().flatten().copied().filter(|other| *other != vertex.number).collect();
            others.sort_unstable();
            others.dedup();
            return others;
        }
        let mut triangles = 0u64;
        for list in around.distinct().filter(|list| !std::ptr::eq(*list, own)) {
            in_both(own, list, |_, _| triangles += 1);
        }
        // Each triangle is found from both of the other corners.
        vec![(triangles / 2) as u32, (triangles / 2).unbounded_shr(32) as u32]
    }

    fn reads(&self) -> Reads {
        Reads::All
    }

    fn is_done(&self, step: Step) -> bool {
        step.number == STEPS
    }
}

/// The value of a vertex is its local clustering coefficient.
pub struct Lcc;

impl Algorithm for Lcc {
    fn needs(&self) -> Needs {
        NEEDS
    }

    fn bytes(&self, vertices: u64, entries: u64) -> u64 {
        48 * vertices + 16 * entries
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let links = Links::new(graph, run)?;
        let found = count(&links, run, |is_mutual| 1 + u64::from(is_mutual))?;
        let coefficient = |(edges, degree): (&u64, &u32)| match u64::from(*degree) {
            0 | 1 => 0.0,
            degree => *edges as f64 / (degree * (degree - 1)) as f64,
        };
        let values: Vec<f64> = found.iter().zip(links.degrees()).map(coefficient).collect();
        let average = values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64;
        Ok(Outcome { values: Values::Reals(values), summary: vec![("average", Value::from(average))] })
    }
}

/// Adds up, for each vertex, what its triangles count. `weigh` says it of the side on the other end.
fn count(links: &Links, run: &Run, weigh: impl Fn(bool) -> u64 + Sync) -> Result<Vec<u64>> {
    let found: Vec<AtomicU64> = (0..links.len()).map(|_| AtomicU64::new(0)).collect();
    let add = |place: usize, count: u64| {
        found[links.vertex(place)].fetch_add(count, Ordering::Relaxed);
    };
    run.begin("vertices", links.len() as u64);
    let of_place = |first: usize| {
        let (others, mutual) = links.of(first);
        let mut of_first = 0;
        for (at, second) in others.iter().enumerate() {
            let (far, far_mutual) = links.of(*second as usize);
            let mut of_second = 0;
            in_both(&others[at + 1..], far, |near, beyond| {
                let (third, near) = (others[at + 1 + near], at + 1 + near);
                of_first += weigh(far_mutual[beyond]);
                of_second += weigh(mutual[near]);
                add(third as usize, weigh(mutual[at]));
            });
            if of_second > 0 {
                add(*second as usize, of_second);
            }
        }
        if of_first > 0 {
            add(first, of_first);
        }
    };
    let parts: Vec<std::ops::Range<usize>> =
        (0..links.len()).step_by(PART).map(|start| start..links.len().min(start + PART)).collect();
    parts.par_iter().try_for_each(|part| {
        part.clone().for_each(of_place);
        run.advance(part.len() as u64)
    })?;
    Ok(found.into_iter().map(AtomicU64::into_inner).collect())
}

/// Calls `meet` with the positions of each number that two sorted lists share.
#[inline]
fn in_both(a: &[u32], b: &[u32], mut meet: impl FnMut(usize, usize)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            meet(i, j);
        }
        let (left, right) = (a[i], b[j]);
        i += usize::from(left <= right);
        j += usize::from(right <= left);
    }
}
