//! How strongly linked vertices are tied: how likely one is read after the other (Bondhu's three models).

use std::ops::Range;

use mangrove_analytics::{Adjacent, Result, Run};
use rayon::prelude::*;

/// Edges and vertices that a thread takes at a time.
const CHUNK: u64 = 1 << 14;

/// The weight of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ties {
    /// All friends are read equally often: each link weighs 1.
    #[default]
    Uniform,
    /// Friends with many links are read more often: a link weighs the share of the degrees of one end's friends that is the other's, from
    /// both ends.
    Preferential,
    /// Friends with many common friends are read more often: the same with common friends, themselves included, instead of degrees.
    Overlap,
}

impl Ties {
    pub const ALL: [Self; 3] = [Ties::Uniform, Ties::Preferential, Ties::Overlap];

    pub fn name(self) -> &'static str {
        match self {
            Ties::Uniform => "uniform",
            Ties::Preferential => "preferential",
            Ties::Overlap => "overlap",
        }
    }

    /// The model of that name; `None` if there is none.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ties| ties.name() == name)
    }
}

/// The same links with weights. O(E); with common friends O(Σ degree²) at most.
pub fn weighted(links: Adjacent, ties: Ties, run: &Run) -> Result<Adjacent> {
    let shared = match ties {
        Ties::Uniform => return Ok(links),
        Ties::Preferential => mapped(&links, &|_, other| links.degree(other as usize) as f64, run)?,
        Ties::Overlap => {
            let common = |vertex: usize, other: u32| 1.0 + in_both(links.of(vertex), links.of(other as usize)) as f64;
            mapped(&links, &common, run)?
        }
    };
    // The share of each friend, from both ends.
    let sums: Vec<f64> = (0..links.vertices()).map(|vertex| shared.weights_of(vertex).iter().sum()).collect();
    let of_other = |vertex: usize, other: u32| {
        let at = shared.of(other as usize).binary_search(&(vertex as u32)).unwrap_or_default();
        shared.weights_of(other as usize)[at] / sums[other as usize]
    };
    let of_own = |vertex: usize, other: u32| {
        let at = shared.of(vertex).binary_search(&other).unwrap_or_default();
        shared.weights_of(vertex)[at] / sums[vertex]
    };
    mapped(&links, &|vertex, other| of_own(vertex, other) + of_other(vertex, other), run)
}

/// The same links with other weights.
fn mapped(links: &Adjacent, weight: &(dyn Fn(usize, u32) -> f64 + Sync), run: &Run) -> Result<Adjacent> {
    let of_chunk = |chunk: &Range<usize>| {
        run.advance(0)?;
        let mut part = Adjacent::empty();
        for vertex in chunk.clone() {
            part.push(links.of(vertex).iter().map(|other| (*other, weight(vertex, *other))), true);
        }
        Ok(part)
    };
    let parts: Result<Vec<Adjacent>> = links.chunks(CHUNK).par_iter().map(of_chunk).collect();
    Ok(Adjacent::concat(parts?))
}

/// How many numbers two sorted lists have in common.
fn in_both(a: &[u32], b: &[u32]) -> usize {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if few.len() * 16 < many.len() {
        return few.iter().filter(|one| many.binary_search(one).is_ok()).count();
    }
    let (mut at, mut count) = (0, 0);
    for one in few {
        while at < many.len() && many[at] < *one {
            at += 1;
        }
        count += usize::from(many.get(at) == Some(one));
    }
    count
}
