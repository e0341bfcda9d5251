//! Vertex programs over partitions (Hoque, Gupta: LFGraph: simple and fast distributed graph analytics, TRIOS 2013).
//!
//! ```text
//!   VertexProgram   init, and compute from the values of in-neighbours
//!   Partition       some of the vertices, and where the values that they read lie
//!   PartOf          makes the partition of a process that has a part of the graph
//!   Transport       carries frames of values between partitions, and adds up what they report
//!   Checkpoints     keeps what partitions have after steps, for another run that goes on from there
//!   steps           compute, publish, exchange, again
//! ```
//!
//! A vertex reads its in-neighbours and writes only itself. Values have two versions: all read the old one while the new one is
//! written, so there are no locks. Before the first step, each partition tells the others once which of their vertices it reads. From
//! then on each value that has changed crosses once to each partition that reads it, in an order that both know: so frames carry no
//! ids.

mod by_number;
mod checkpoint;
mod part;
mod partition;
mod placement;
mod program;
mod steps;
mod transport;
mod value;

pub use by_number::ByNumber;
pub use checkpoint::{Checkpoints, Point, Resumed, Unkept};
pub use part::{OutDegrees, PartOf};
pub use partition::{Partition, divide};
pub use placement::Placement;
pub use program::{Around, Reads, Step, Vertex, VertexProgram};
pub use steps::{PartsRan, Ran, Sent, run, run_parts};
pub use transport::{Frame, InMemory, Report, Transport};
pub use value::VertexValue;
pub(crate) use value::{read_all, write_all};
