//! The hot tier: a transactional property graph on LMDB, after System G's tables.
//!
//! ```text
//!   meta      format, id space, versions, sums of the tables, segments, times of commits, counters of each label
//!   schema    labels, keys, properties, indexes
//!   ids       external id            -> vertex                (System G's ex2i)
//!   edge_ids  id users gave an edge  -> edge
//!   out, in   vertex, label, [time,] edge -> block of up to 128 (neighbour, edge[, time])
//!   columns   kind, label, column, block  -> block of 128 cells   (properties, and i2ex, edge ends, further labels)
//!   index     label, key, value, element  -> nothing
//! ```
//!
//! Small blocks hold topology and properties, instead of an entry each. Elements of a label have consecutive local ids, so
//! 128 of them share one block a column (as PAX does in pages). Edges of a vertex share blocks of up to 128.
//! `docs/format/hot.md` describes the bytes.
//!
//! [`Hot`] opens the environment. A [`HotSnapshot`] or [`HotTransaction`] lends its LMDB transaction and schema to one
//! shared reader, which implements every read. The transaction adds the writes.
//!
//! Invariants
//! 1. An edge is in `out` of its source, in `in` of its target, and in the built-in column of ends, or in none of them. With
//!    [`Sides::Apart`] it is in only one of the two lists.
//! 2. A vertex is alive exactly if its external-id cell is present, an edge exactly if its ends are. A sealed element is alive
//!    unless it is marked as removed. The tables store nothing else for elements that are not alive.
//! 3. `ids` and the external-id column are each other's inverse.
//! 4. Ids are never reused: the counters only grow.
//! 5. The index has entries of distinct values of indexed cells, and no others. Every such value is in it or in a segment's index.
//! 6. Whatever bytes a block holds, decoding it gives a value or [`GraphError::Corrupt`](mangrove_graph::GraphError), never
//!    a panic.
//! 7. A cell in the tables replaces the sealed one, even if it is absent. A cell of a newer segment replaces that of an older one.
//!    All other cells are as they were sealed.
//!
//! This crate knows no query language and no file format of others.

mod bulk;
mod check;
mod format;
mod lmdb;
mod open;
mod options;
mod read;
mod segments;
mod shared;
mod store;
mod system;
mod turns;
mod upkeep;
mod write;

pub use bulk::Bulk;
pub use check::{CheckReport, Violation};
pub use options::{Durability, HotOptions, SEAL_BYTES, Sides, VERIFY_BYTES};
pub use read::HotSnapshot;
pub use segments::segment::{Part, PartStats};
pub use shared::space::{OldSnapshot, Space};
pub use store::{Hot, StoreStats, TableStats};
pub use system::identity::{FileId, Process};
pub use turns::turn::{Patience, Writer};
pub use write::HotTransaction;
