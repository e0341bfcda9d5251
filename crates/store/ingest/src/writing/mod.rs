//! Writes batches to a graph.

pub mod constraints;
pub mod drift;
pub mod resolve;
pub mod retype;
pub mod runs;
pub mod upsert;
pub mod write;
