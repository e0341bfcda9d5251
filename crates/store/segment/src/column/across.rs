//! Reads the cells of one element under many keys.
//!
//! Each cell is in its own chunk, far from the others in memory. Reading it takes a few steps, and each step waits for the memory
//! of the one before. So we take each step for all cells before the next step, and prefetch the memory that the next step reads.
//! The waits overlap (group prefetching: Chen, Ailamaki, Gibbons and Mowry, ICDE 2004, §4).

use mangrove_graph::{Cell, Result};

use super::{Body, Chunk};
use crate::memory::ask_for;

/// A cell that is being read.
struct Sought<'c> {
    /// The number of its chunk in the caller's list.
    number: usize,
    chunk: &'c Chunk<'c>,
    /// First its rank, later its index in the body.
    at: usize,
    /// The bytes that the heap holds for it.
    bytes: &'c [u8],
}

/// Calls `f` with each cell at a position, and the number of its chunk.
pub fn cells_across<'c>(chunks: &[Option<&'c Chunk<'c>>], position: usize, mut f: impl FnMut(usize, Cell)) -> Result<()> {
    let there = || chunks.iter().enumerate().filter_map(|(number, chunk)| chunk.map(|chunk| (number, chunk)));
    for (_, chunk) in there() {
        chunk.present.iter().for_each(|present| present.ask_for(position));
    }
    let mut cells = Vec::with_capacity(chunks.len());
    for (number, chunk) in there() {
        let Some(rank) = chunk.rank(position) else { continue };
        match &chunk.codes {
            Some(codes) => codes.ask_for(rank),
            None => chunk.body.ask_for(rank),
        }
        cells.push(Sought { number, chunk, at: rank, bytes: &[] });
    }
    for cell in cells.iter_mut().filter(|cell| cell.chunk.codes.is_some()) {
        cell.at = cell.chunk.at(cell.at)?;
        cell.chunk.body.ask_for(cell.at);
    }
    for cell in &mut cells {
        cell.bytes = cell.chunk.body.bytes(cell.at)?;
        ask_for(cell.bytes, 0);
    }
    let mut buffer = Vec::new();
    cells.iter().try_for_each(|cell| {
        f(cell.number, cell.chunk.cell_in_body(cell.at, cell.bytes, &mut buffer)?);
        Ok(())
    })
}

impl Body<'_> {
    /// Prefetches the integer at an index, or the start of its bytes.
    fn ask_for(&self, at: usize) {
        match self {
            Body::Ints(ints) | Body::Scaled(ints, _) => ints.ask_for(at),
            Body::Bytes(heap) | Body::Symbols(_, heap) | Body::Cells(heap) => heap.ask_for_start(at),
            Body::Float32(values) => ask_for(values, at),
            Body::Float64(values) => ask_for(values, at),
            Body::Uuids(values) => ask_for(values, at),
            Body::Bools(_) | Body::Searchable(..) | Body::Ends(..) => {}
        }
    }
}
