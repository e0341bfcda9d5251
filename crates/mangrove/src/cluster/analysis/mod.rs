//! Vertex programs on the nodes of a graph, in [`rounds`](super::rounds).
//!
//! ```text
//!   checkpoints   the values of a part in the store of its node
//!   part          reads a part of the graph, and runs the program over it
//!   points        the client's side: which checkpoints there are
//!   run           numbers the vertices, lets the nodes take steps and keep checkpoints, and brings the values
//!   attempts      begins again if a node ends
//! ```
//! With a word that lets all parts go on, the client names a checkpoint. Each part stores its values, goes on, and tells with its next report what
//! it has stored.
//!
//! Invariant: jobs that begin again after a checkpoint read the graph at the same number. So each shard has the same vertices, on whichever node it
//! is.

mod attempts;
mod checkpoints;
mod part;
mod points;
mod run;

pub use attempts::run;
pub use checkpoints::Shelf;
pub use part::compute;
