//! Vertex programs over partitions (Hoque, Gupta: LFGraph: simple and fast distributed graph analytics, TRIOS 2013).
//!
//! ```text
//!   VertexProgram   init, and compute from the values of in-neighbours
//!   Partition       some of the vertices, and where the values that they read lie
//!   Transport       carries frames of values between partitions, and adds up what they report
//!   steps           compute, publish, exchange, again
//! ```
//!
//! A vertex reads its in-neighbours and writes only itself. Values have two versions: all read the old one while the new one is
//! written, so there are no locks. Before the first step, each partition tells the others once which of their vertices it reads. From
//! then on each value that has changed crosses once to each partition that reads it, in an order that both know: so frames carry no
//! ids.

mod partition;
mod placement;
mod program;
mod steps;
mod transport;
mod value;

pub use placement::Placement;
pub use program::{Around, Reads, Step, Vertex, VertexProgram};
pub use steps::{Ran, Sent, run};
pub use transport::{Frame, InMemory, Report, Transport};
pub use value::VertexValue;
