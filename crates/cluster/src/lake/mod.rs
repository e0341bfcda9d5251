//! A graph in open files on many nodes, which keep nothing: each opens all files, and could answer any question.
//!
//! ```text
//!   client ── rendezvous hashing ──▶ the node of a chunk, which has its pages in memory ──▶ files
//!   owners  the node of a chunk
//!   asked   the nodes for one call, without those that do not answer
//!   parts   the nodes for one query, for steps that each runs
//!   view    all of it as one GraphView: every call goes to the nodes of the chunks that it reads
//! ```
//! Invariants
//! 1. Which node is asked changes what is in its memory, and never an answer.
//! 2. A node answers only for files with the fingerprint that the client names. So all answers of a view are of the same files,
//!    if their store lists them. Of a web server that does not, they are of the same descriptions.

mod asked;
mod owners;
mod parts;
mod view;

pub use asked::{LakeNodes, NodeThere};
pub use owners::owner;
pub use parts::LakeParts;
pub use view::{LakeRead, OpenedLake};
