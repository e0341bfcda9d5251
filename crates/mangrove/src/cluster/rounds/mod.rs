//! Work that several nodes do in rounds. Each has a part of the graph, and the client is the barrier between rounds.
//!
//! ```text
//!   client                                  node a                              node b
//!     │ Begin: your shards, the work ──────▶ begins ─────────────────────────── begins
//!     │◀──────────────────────────── Come ──┤                                   ├── Come ─▶
//!     │ Go ────────────────────────────────▶ goes on, and sends Frame ────────▶ keeps it for the next round
//!     │◀──────── Come, or Done, or Gave ────┤                                   │
//! ```
//! ```text
//!   words     what they say to each other
//!   job       a part of the work at a node, and who waits for it
//!   between   frames from node to node, and the barrier
//!   crew      the client's side: shares the shards among nodes, and keeps them in step
//! ```
//!
//! Invariants
//! 1. A round begins when all parts have come to the end of the one before. So a node has frames of two rounds at most.
//! 2. A job ends with the connection of its client, with its deadline, and with the first part that fails. Its memory ends with it.

pub mod between;
pub mod crew;
pub mod job;
pub mod words;
