//! Who is linked with whom, whatever the direction, each once and none with itself.

use rayon::prelude::*;

use super::CHUNK;
use crate::error::Result;
use crate::project::{Adjacent, Projection};
use crate::run::Run;

/// The links of each vertex to those that come after it in an order. In it, vertices with few links come first: so no list is long
/// (Chiba, Nishizeki: Arboricity and subgraph listing algorithms, SIAM J. Comput. 14, 1985).
pub struct Links {
    /// Where the links of each place begin.
    starts: Vec<usize>,
    /// The places of the others, sorted.
    others: Vec<u32>,
    /// Whether there are edges in both directions.
    is_mutual: Vec<bool>,
    /// The vertex at each place.
    vertices: Vec<u32>,
    /// With how many others each vertex is linked.
    degrees: Vec<u32>,
}

impl Links {
    /// O(E·log degree).
    pub fn new(graph: &Projection, run: &Run) -> Result<Self> {
        let degrees: Vec<u32> = of_all(graph, run, |_, around| around.len() as u32)?;
        let mut vertices: Vec<u32> = (0..degrees.len() as u32).collect();
        vertices.par_sort_unstable_by_key(|vertex| (degrees[*vertex as usize], *vertex));
        let mut places = vec![0u32; vertices.len()];
        vertices.iter().enumerate().for_each(|(place, vertex)| places[*vertex as usize] = place as u32);
        let later: Vec<Vec<(u32, bool)>> = of_all(graph, run, |vertex, around| {
            let place = |(other, is_mutual): &(u32, bool)| (places[*other as usize], *is_mutual);
            let mut later: Vec<(u32, bool)> =
                around.iter().map(place).filter(|(other, _)| *other > places[vertex]).collect();
            later.sort_unstable();
            later
        })?;
        let mut links = Self {
            starts: Vec::with_capacity(vertices.len() + 1),
            others: Vec::with_capacity(later.iter().map(Vec::len).sum()),
            is_mutual: Vec::new(),
            vertices,
            degrees,
        };
        links.is_mutual.reserve(links.others.capacity());
        links.starts.push(0);
        for vertex in &links.vertices {
            let later = &later[*vertex as usize];
            links.others.extend(later.iter().map(|(other, _)| *other));
            links.is_mutual.extend(later.iter().map(|(_, is_mutual)| *is_mutual));
            links.starts.push(links.others.len());
        }
        Ok(links)
    }

    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// The links of a place to later ones, and whether each is mutual.
    #[inline]
    pub fn of(&self, place: usize) -> (&[u32], &[bool]) {
        let range = self.starts[place]..self.starts[place + 1];
        (&self.others[range.clone()], &self.is_mutual[range])
    }

    pub fn vertex(&self, place: usize) -> usize {
        self.vertices[place] as usize
    }

    /// With how many others a vertex is linked.
    pub fn degrees(&self) -> &[u32] {
        &self.degrees
    }
}

/// What `work` makes of each vertex and its links, sorted.
fn of_all<T: Send>(graph: &Projection, run: &Run, work: impl Fn(usize, &[(u32, bool)]) -> T + Sync) -> Result<Vec<T>> {
    let chunks = graph.incoming().chunks(CHUNK);
    let of_chunk = |around: &mut Vec<(u32, bool)>, chunk: &std::ops::Range<usize>| -> Result<Vec<T>> {
        run.advance(0)?;
        let of_vertex = |vertex| {
            merge(graph, vertex, around);
            work(vertex, around)
        };
        Ok(chunk.clone().map(of_vertex).collect())
    };
    let parts: Result<Vec<Vec<T>>> = chunks.par_iter().map_init(Vec::new, of_chunk).collect();
    Ok(parts?.into_iter().flatten().collect())
}

/// Those that a vertex is linked with, and whether edges lead both ways. Lists are sorted.
fn merge(graph: &Projection, vertex: usize, around: &mut Vec<(u32, bool)>) {
    around.clear();
    let mut push = |other: u32, is_mutual: bool| {
        if other as usize == vertex {
            return;
        }
        match around.last_mut().filter(|last| last.0 == other) {
            Some(last) => last.1 |= is_mutual,
            None => around.push((other, is_mutual)),
        }
    };
    let mut incoming = graph.incoming().of(vertex);
    if !graph.is_directed() {
        incoming.iter().for_each(|other| push(*other, true));
        return;
    }
    let mut outgoing = Adjacent::of(graph.outgoing(), vertex);
    loop {
        match (incoming.first(), outgoing.first()) {
            (Some(a), Some(b)) if a == b => {
                push(*a, true);
                (incoming, outgoing) = (&incoming[1..], &outgoing[1..]);
            }
            (Some(a), b) if b.is_none_or(|b| a < b) => {
                push(*a, false);
                incoming = &incoming[1..];
            }
            (_, Some(b)) => {
                push(*b, false);
                outgoing = &outgoing[1..];
            }
            (_, None) => return,
        }
    }
}
