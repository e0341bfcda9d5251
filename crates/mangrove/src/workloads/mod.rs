//! The published workloads of social graphs, as ZipG's paper runs them: TAO, LinkBench and graph search.
//!
//! ```text
//!   data ── a graph of a given size        mix ── operations in the papers' shares ── drive ── clients, times
//!             (social: users and their edges)       (skew: which users they touch)
//! ```
//!
//! Every number that is drawn follows from a seed. Operations are drawn before the clock starts. They run through
//! [`direct`](crate::direct), as a program would run them: each read on the graph as it is at that moment, each write durable when it
//! returns.

mod data;
mod drive;
mod mix;
mod operation;
mod skew;
mod values;
mod workload;

pub use data::{SocialGraph, is_social, make};
pub use drive::{Driven, OperationTimes, Running, run};
pub use workload::Workload;
