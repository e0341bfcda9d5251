//! Vertex programs on the nodes of a graph. Each node has a part of the vertices, and the client is the barrier between steps.
//!
//! ```text
//!   client                                  node a                              node b
//!     │ Begin: your shards, their numbers ─▶ reads the edges of its vertices ── reads those of its own
//!     │◀──────────────────────────── Come ──┤                                   ├── Come ─▶
//!     │ Go ────────────────────────────────▶ computes, and sends Frame ───────▶ keeps it for the next round
//!     │◀───────────────── Come, or Done ────┤                                   │
//!     │ Go, with a checkpoint ─────────────▶ stores its values, and computes ── stores those of its own
//!     │◀─── Come, with what it has stored ──┤                                   │
//!     │ Values, End ───────────────────────▶
//! ```
//! ```text
//!   words         what they say to each other
//!   job           a part of an analysis at a node, and who waits for it
//!   between       frames from node to node, and the barrier
//!   checkpoints   the values of a part in the store of its node
//!   part          reads a part of the graph, and runs the program over it
//!   analyses      the jobs of a node
//!   points        the client's side: which checkpoints there are
//!   crew          shares the shards among nodes, and keeps them in step
//!   attempts      begins again if a node ends
//! ```
//!
//! Invariants
//! 1. A round begins when all parts have come to the end of the one before. So a node has frames of two rounds at most.
//! 2. A job ends with the connection of its client, with its deadline, and with the first part that fails. Its memory ends with it.
//! 3. Jobs that begin again after a checkpoint read the graph at the same number. So each shard has the same vertices, on whichever node it is.

mod analyses;
mod attempts;
mod between;
mod checkpoints;
mod crew;
mod job;
mod part;
mod points;
mod words;

pub use analyses::Analyses;
pub use attempts::run;
pub use checkpoints::Shelf;
