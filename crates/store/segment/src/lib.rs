//! The segment tier: an immutable, compressed part of a graph, which readers use in place.
//!
//! ```text
//!   file        parts by key, each with a checksum; mapped into memory
//!   pieces      the values of a chunk, with a checksum for every 64 kB
//!   column      the cells of 65,536 places under one key       ─┐
//!   adjacency   the edges of 65,536 vertices, of one label      ├─ chunks: parts that are read without unpacking
//!   names       elements by their external ids                  │
//!   index       values, and the places that have them          ─┘
//!   ints, bits, heap, sorted, symbols   the parts of chunks: sequences of integers, sets of positions, byte strings, sorted byte
//!                                       strings, and byte strings compressed by a table of symbols
//!   text        strings as a compressed suffix array
//!   value       values and cells as bytes
//!   memory      prefetches memory
//! ```
//! Invariants
//! 1. A file never changes once it has its name.
//! 2. Parsing a chunk takes O(1). Reading any value in it takes O(1) or O(log n), without unpacking a block.
//! 3. Whatever bytes a chunk holds, reading gives a value or an error, never a panic. A checksum detects changed bytes before a
//!    reader gets any value.
//!
//! This crate knows no transaction, no query language and no file format of others.

pub mod adjacency;
mod bits;
pub mod column;
pub mod file;
mod heap;
pub mod index;
pub mod ints;
pub mod keys;
mod memory;
pub mod names;
mod pieces;
mod sorted;
mod symbols;
pub mod text;
pub mod value;

use mangrove_graph::GraphError;

fn corrupt(what: &str) -> GraphError {
    GraphError::corrupt(what)
}
