//! The segment tier: an immutable part of a graph, compressed, and read in place.
//!
//! ```text
//!   file        parts by key, each with a checksum; mapped into memory
//!   column      the cells of 65,536 places under one key       ─┐
//!   adjacency   the edges of 65,536 vertices, of one label      ├─ chunks: parts that are read without unpacking
//!   names       elements by the ids users know                  │
//!   index       values, and the places that have them          ─┘
//!   ints, bits, heap, sorted, symbols   sequences of integers, sets of positions, byte strings, sorted and compressed ones:
//!                                       what chunks are made of
//!   text        strings as a compressed suffix array
//!   value       values and cells as bytes
//!   memory      asking for memory before it is read
//! ```
//! Invariants
//! 1. A file never changes once it has its name.
//! 2. A chunk is read in O(1), any value in it in O(1) or O(log n), and no block is unpacked to reach one.
//! 3. Whatever bytes a chunk holds, reading gives a value or an error, never a panic; bytes that are not those written are found by
//!    their checksum before any value is given.
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
mod sorted;
mod symbols;
pub mod text;
pub mod value;

use mangrove_graph::GraphError;

fn corrupt(what: &str) -> GraphError {
    GraphError::corrupt(what)
}
