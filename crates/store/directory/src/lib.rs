//! A database directory, and one view over its tiers.
//!
//! ```text
//!   air.mg/
//!     mangrove.json   format version, id space; written last when a database is made
//!     writer.lock     locked by the process that may write; names that process
//!     hot/            the transactional tier
//! ```
//!
//! A [`Store`] is an open directory. Its [`Snapshot`]s are consistent graphs to read; its [`Transaction`]s change the graph. One
//! process writes, any number read.
//!
//! A directory may hold one shard of a graph on many nodes. Then its node changes it, by the log of the graph.
//!
//! Invariants: (1) a directory with `mangrove.json` is a whole database; (2) a process holds `writer.lock` while it may write.

mod directory;
mod error;
mod lock;
mod shard;
mod store;

pub use directory::ShardOf;
pub use error::OpenError;
pub use lock::Holder;
pub use mangrove_hot::{
    Bulk, CheckReport, Durability, OldSnapshot, Part, PartStats, Patience, Space, StoreStats, TableStats, Violation, Writer,
};
pub use mangrove_hot::{HotSnapshot as Snapshot, HotTransaction as Transaction};
pub use store::{OpenOptions, Store};
