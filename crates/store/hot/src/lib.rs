//! The hot tier: a transactional property graph on LMDB, after System G's tables.
//!
//! ```text
//!   meta      format, id space, schema version, next integer id, counters of each label
//!   schema    labels, keys, properties, indexes
//!   ids       external id            -> vertex                (System G's ex2i)
//!   edge_ids  id users gave an edge  -> edge
//!   out, in   vertex, label, [time,] edge -> block of up to 128 (neighbour, edge[, time])
//!   columns   kind, label, column, block  -> block of 128 cells   (properties, and i2ex, edge ends, further labels)
//!   index     label, key, value, vertex   -> nothing
//! ```
//!
//! Topology and properties are kept in small blocks, not an entry each: elements of a label have consecutive local ids, so
//! 128 of them share one block a column (as PAX does in pages), and edges of a vertex share blocks of up to 128. The bytes
//! are described in `docs/format/hot.md`.
//!
//! Data flows: [`Hot`] opens the environment; a [`HotSnapshot`] or [`HotTransaction`] lends its LMDB transaction and schema
//! to one shared reader, which implements every read; the transaction adds the writes.
//!
//! Invariants
//! 1. An edge stands in `out` of its source, in `in` of its target, and in the built-in column of ends, or in none of them.
//! 2. A vertex is alive exactly if its external-id cell is present, an edge exactly if its ends are; nothing else is stored
//!    for elements that are not alive.
//! 3. `ids` and the external-id column are each other's inverse.
//! 4. Ids are never reused: the counters only grow.
//! 5. The index has entries of distinct values of indexed cells, and no others; every such value is in it or in a segment's index.
//! 6. Whatever bytes a block holds, decoding it gives a value or [`GraphError::Corrupt`](mangrove_graph::GraphError), never
//!    a panic.
//! 7. What the tables say of a sealed cell takes the place of what segments say, and a newer segment's word that of older ones'; where
//!    neither says anything, it is as it was sealed.
//!
//! This crate knows no query language and no file format of others.

mod adjacency;
mod block;
mod bulk;
mod catalog;
mod check;
mod clock;
mod compact;
mod encode;
mod env;
mod fault;
mod filter;
mod identity;
mod index;
mod keeper;
mod key;
mod keys;
mod layers;
mod names;
mod packed;
mod pages;
mod read;
mod readers;
mod sealing;
mod segment;
mod space;
mod spare;
mod store;
mod table;
mod trim;
mod turn;
mod walk;
mod write;

pub use bulk::Bulk;
pub use check::{CheckReport, Violation};
pub use identity::{FileId, Process};
pub use read::HotSnapshot;
pub use segment::{Part, PartStats};
pub use space::{OldSnapshot, Space};
pub use store::{Durability, Hot, HotOptions, SEAL_BYTES, StoreStats, TableStats, VERIFY_BYTES};
pub use turn::{Patience, Writer};
pub use write::HotTransaction;
