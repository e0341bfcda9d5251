//! Vertex programs on the nodes of a graph, in [`rounds`](super::rounds).
//!
//! ```text
//!   part      reads a part of the graph, and runs the program over it
//!   run       the client's side: numbers the vertices, and brings their values
//! ```

mod part;
mod run;

pub use part::compute;
pub use run::run;
