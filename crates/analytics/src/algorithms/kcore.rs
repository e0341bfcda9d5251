//! Core numbers (Batagelj, Zaversnik: An O(m) algorithm for cores decomposition of networks, 2003).
//!
//! The k-core is what remains when vertices that are linked with fewer than k others are taken away again and again. The core number
//! of a vertex is the greatest k whose core it is in. Directions, parallel edges and loops do not matter. O(V + E).

use mangrove_graph::Value;

use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::Result;
use crate::project::{Needs, Projection};
use crate::run::Run;

const BETWEEN_LOOKS: usize = 1 << 16;

pub struct KCore;

impl Algorithm for KCore {
    fn needs(&self) -> Needs {
        Needs { incoming: true, outgoing: true, ..Needs::default() }
    }

    fn bytes(&self, vertices: u64, entries: u64) -> u64 {
        24 * vertices + 8 * entries
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let links = graph.simple(run)?;
        let vertices = links.vertices();
        let mut degrees: Vec<u32> = (0..vertices).map(|vertex| links.degree(vertex) as u32).collect();
        let mut order = Order::new(&degrees);
        run.begin("vertices", vertices as u64);
        for at in 0..vertices {
            let vertex = order.vertices[at];
            for other in links.of(vertex as usize) {
                if degrees[*other as usize] > degrees[vertex as usize] {
                    order.earlier(*other, degrees[*other as usize]);
                    degrees[*other as usize] -= 1;
                }
            }
            if at % BETWEEN_LOOKS == 0 {
                run.advance(BETWEEN_LOOKS.min(vertices - at) as u64)?;
            }
        }
        let greatest = degrees.iter().copied().max().unwrap_or(0);
        Ok(Outcome { values: Values::Counts(degrees), summary: vec![("cores", Value::from(i64::from(greatest)))] })
    }
}

/// The vertices by the number of their links that remain.
struct Order {
    vertices: Vec<u32>,
    /// Where each vertex is.
    places: Vec<u32>,
    /// Where those with each number begin.
    firsts: Vec<u32>,
}

impl Order {
    fn new(degrees: &[u32]) -> Self {
        let mut firsts = vec![0u32; degrees.iter().max().map_or(0, |most| *most as usize) + 2];
        degrees.iter().for_each(|degree| firsts[*degree as usize + 1] += 1);
        for degree in 1..firsts.len() {
            firsts[degree] += firsts[degree - 1];
        }
        let (mut vertices, mut places, mut ends) = (vec![0; degrees.len()], vec![0; degrees.len()], firsts.clone());
        for (vertex, degree) in degrees.iter().enumerate() {
            let place = &mut ends[*degree as usize];
            (vertices[*place as usize], places[vertex]) = (vertex as u32, *place);
            *place += 1;
        }
        Self { vertices, places, firsts }
    }

    /// Moves a vertex to those with one link less: it changes places with the first of its own.
    fn earlier(&mut self, vertex: u32, degree: u32) {
        let first = &mut self.firsts[degree as usize];
        let (place, other) = (self.places[vertex as usize], self.vertices[*first as usize]);
        self.vertices.swap(place as usize, *first as usize);
        self.places[other as usize] = place;
        self.places[vertex as usize] = *first;
        *first += 1;
    }
}
