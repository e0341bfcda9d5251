//! Steps of queries whose traversers go from node to node, in [`rounds`](super::rounds): a round is an exchange.
//!
//! ```text
//!   part      runs the stages over a part of the graph
//!   run       the client's side
//! ```

mod part;
mod run;

pub use part::compute;
pub use run::CutMesh;
