//! The cells of one element under many keys. Each is in a chunk of its own, far from the others in memory, and takes a few steps there,
//! each of which waits for the one before. So all cells take the same step one after the other, and each step ends with asking for
//! the memory the next one reads: the waits are side by side (group prefetching: Chen, Ailamaki, Gibbons and Mowry, ICDE 2004, §4).

use mangrove_graph::{Cell, Result};

use super::{Body, Chunk};
use crate::memory::ask_for;

/// A cell on the way.
struct Sought<'c> {
    /// Of its chunk among all.
    number: usize,
    chunk: &'c Chunk<'c>,
    /// Its rank, and then its place in the body.
    at: usize,
    /// What the heap has of it.
    bytes: &'c [u8],
}

/// Calls `f` with the number of every chunk that has a cell at a position, and the cell.
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
    /// Asks for the integer, or for where the bytes begin, that is at a place.
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
