//! A graph in shards.
//!
//! ```text
//!   placement   the shard in which a vertex lives
//!   names       numbers of labels and ids, in the graph and in the store of a shard
//!   shard       the store of a shard, in the graph's own ids
//!   directory   which shards may have a value of a routed index
//!   halves      whether both ends of all edges know them
//!   split       a batch by the shards that answer for it, and the answers in its order
//!   walk        scans label by label
//!   view        all shards as one GraphView: every call goes to the owners of what it asks for
//!   schema      the schemas of all shards as one
//!   change      all shards as one GraphWrite: every change goes to the shards that keep it
//!   overlay     the store of a shard as a transaction changes it, with the changes in memory
//!   wire        what processes say to each other
//!   remote      the store of a shard in another process
//!   section     what a transaction does to one shard, as bytes
//!   at_once     work that waits for other processes, side by side
//!   gateway     a graph on many nodes, as one to read
//!   transaction a graph on many nodes, as one to write
//!   lake        a graph in open files on many nodes, which keep nothing
//!   service     what answers those who connect
//!   backup      copies of shards and of the log, and how they come back
//!   node        a process that has shards, answers who reads them, and may be the writer
//!   log         the sequence of commits that shards apply, and the rule by which one writer at a time makes them
//! ```
//!
//! A shard is a store of its own. A vertex and its properties are in one shard. An edge, with its properties, is in the shard of its
//! source. The shard of its target knows it too: its other end, its id and its time. So both ends list it, and nothing else is stored twice.
//!
//! Invariants
//! 1. Every shard has all labels, keys and declarations, under the same numbers.
//! 2. An edge is in the shard of its source and in that of its target, or in none.
//! 3. Every value of a routed index is in the directory, with the shards of its elements.
//! 4. Reads give what they would give of one store, in the same order, except that vertices and edges of one label are scanned shard by
//!    shard.

mod at_once;
pub mod backup;
mod change;
mod directory;
pub mod gateway;
mod halves;
pub mod lake;
pub mod log;
mod names;
pub mod node;
mod overlay;
mod placement;
pub mod remote;
mod schema;
pub mod section;
pub mod service;
mod shard;
mod split;
pub mod transaction;
mod view;
mod walk;
pub mod wire;

pub use at_once::{at_once, each_at_once};
pub use change::ClusterChange;
pub use overlay::Overlay;
pub use placement::{Placement, SHARDS_MAX};
pub use shard::ShardView;
pub use view::ClusterView;
