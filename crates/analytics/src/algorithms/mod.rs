//! The algorithms, one file each.
//!
//! Each says which paper it follows and what it costs, where V and E are the numbers of vertices and edges.

mod bfs;
mod bits;
mod cdlp;
mod links;
mod pagerank;
mod sssp;
mod triangles;
mod wcc;

pub use bfs::Bfs;
pub use cdlp::Cdlp;
pub use pagerank::{PageRank, Until};
pub use sssp::Sssp;
pub use triangles::{Lcc, Triangles};
pub use wcc::Wcc;

/// Edges and vertices that a thread takes at a time.
const CHUNK: u64 = 1 << 14;
