//! The published workloads of social graphs, as ZipG's paper runs them: TAO, LinkBench and graph search.
//!
//! ```text
//!   data ── a graph of a given size        mix ── operations in the papers' shares ── drive ── clients, times
//!             (social: users and their edges)       (skew: which users they touch)
//! ```
//!
//! [`QueryWriter`] draws regular path queries from the schema of a graph, as gMark does, and [`make_typed`] makes such a graph.
//!
//! Every number that is drawn follows from a seed. Operations are drawn before the clock starts. They run through
//! [`direct`](crate::direct), as a program would run them: each read on the graph as it is at that moment, each write durable when it
//! returns.

mod data;
mod drive;
mod mix;
mod operation;
mod paths;
mod skew;
mod typed;
mod values;
mod workload;

pub use data::{SocialGraph, is_social, make};
pub use drive::{Driven, OperationTimes, Running, run};
pub use paths::{DrawnPath, DrawnQuery, PathShape, PathTime, QueryWriter, run_paths};
pub use typed::{Degrees, EdgeType, SOCIAL, TypedSchema, VertexType, make_typed};
pub use workload::Workload;
