//! How good an order is: three measures, as one alone misleads.

use std::ops::Range;

use mangrove_analytics::{Adjacent, Result, Run};
use rayon::prelude::*;

/// The bytes of a block of the disk.
const BLOCK: u64 = 4096;
/// Edges and vertices that a thread takes at a time.
const CHUNK: u64 = 1 << 14;

/// What an order costs. Each is a sum over all links, or over all vertices with links.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Measures {
    /// Σ |place of one end − place of the other|: Bondhu's cost of a layout.
    pub cost: f64,
    /// The bits that the neighbours of all vertices take as differences, each in log₂(difference + 1) bits and one more for the sign of
    /// the first, which is taken from the vertex itself.
    pub bits: f64,
    /// The blocks that hold the records of a vertex's neighbours, for all vertices.
    pub blocks: u64,
    /// Entries of all lists: two for each link.
    pub entries: u64,
    /// Vertices with links.
    pub lists: u64,
}

impl Measures {
    /// Bits for each entry of a list.
    pub fn bits_per_entry(&self) -> f64 {
        self.bits / self.entries.max(1) as f64
    }

    /// Blocks for each list that is not empty.
    pub fn blocks_per_list(&self) -> f64 {
        self.blocks as f64 / self.lists.max(1) as f64
    }

    /// The mean distance between the ends of a link.
    pub fn distance(&self) -> f64 {
        2.0 * self.cost / self.entries.max(1) as f64
    }

    fn and(self, other: Self) -> Self {
        Self {
            cost: self.cost + other.cost,
            bits: self.bits + other.bits,
            blocks: self.blocks + other.blocks,
            entries: self.entries + other.entries,
            lists: self.lists + other.lists,
        }
    }
}

/// The place of each vertex in an order.
pub fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(vertex, place)| places[*vertex as usize] = place);
    places
}

/// Measures an order of vertices whose records take so many bytes. `places` says the place of each vertex. O(V + E·log degree).
pub fn measure(links: &Adjacent, places: &[u32], record_bytes: u64, run: &Run) -> Result<Measures> {
    let chunks = links.chunks(CHUNK);
    let per_block = (BLOCK / record_bytes.max(1)).max(1);
    let of_chunk = |chunk: &Range<usize>| {
        run.advance(0)?;
        let (mut sum, mut around) = (Measures::default(), Vec::new());
        for vertex in chunk.clone() {
            around.clear();
            around.extend(links.of(vertex).iter().map(|other| places[*other as usize]));
            around.sort_unstable();
            sum = sum.and(of_list(places[vertex], &around, per_block));
        }
        Ok(sum)
    };
    let parts: Result<Vec<Measures>> = chunks.par_iter().map(of_chunk).collect();
    // In order, so that sums of fractions do not depend on threads. Each link is in two lists.
    let sum = parts?.into_iter().fold(Measures::default(), Measures::and);
    Ok(Measures { cost: sum.cost / 2.0, ..sum })
}

/// The measures of one list of places in order.
fn of_list(own: u32, around: &[u32], per_block: u64) -> Measures {
    let Some(first) = around.first() else { return Measures::default() };
    let bits = |difference: u32| f64::from(difference + 1).log2();
    let block = |place: &u32| u64::from(*place) / per_block;
    let differs = |pair: &&[u32]| block(&pair[0]) != block(&pair[1]);
    Measures {
        cost: around.iter().map(|place| f64::from(place.abs_diff(own))).sum(),
        bits: 1.0 + bits(first.abs_diff(own)) + around.windows(2).map(|pair| bits(pair[1] - pair[0])).sum::<f64>(),
        blocks: 1 + around.windows(2).filter(differs).count() as u64,
        entries: around.len() as u64,
        lists: 1,
    }
}
