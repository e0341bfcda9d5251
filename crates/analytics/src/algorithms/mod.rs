//! The algorithms, one file each.
//!
//! Each says which paper it follows and what it costs, where V and E are the numbers of vertices and edges.

mod betweenness;
pub(crate) mod bfs;
mod bits;
pub(crate) mod cdlp;
mod coloring;
mod communities;
mod kcore;
mod links;
mod louvain;
mod matching;
pub(crate) mod pagerank;
mod peer_pressure;
mod random;
mod scc;
mod similarity;
pub(crate) mod sssp;
pub(crate) mod triangles;
mod walks;
pub(crate) mod wcc;
mod weights;

pub use betweenness::Betweenness;
pub use bfs::Bfs;
pub use cdlp::Cdlp;
pub use coloring::Coloring;
pub use kcore::KCore;
pub use louvain::{CommunityTree, Louvain};
pub use matching::Matching;
pub use pagerank::{PageRank, Until};
pub use peer_pressure::PeerPressure;
pub use random::Random;
pub use scc::Scc;
pub use similarity::Similarity;
pub use sssp::Sssp;
pub use triangles::{Lcc, Triangles};
pub use walks::Walks;
pub use wcc::Wcc;

/// Edges and vertices that a thread takes at a time.
const CHUNK: u64 = 1 << 14;
