//! Graphs in open files: Apache GraphAr directories, queried in place and written.
//!
//! ```text
//!   info    what the YAML files say          files   files by path, as they were when opened
//!   pages   Parquet, page by page            graph   a directory as a graph: GraphView over files
//!   write   a graph as a directory               load    a directory into a graph that can be written
//! ```
//! The format is that of GraphAr (Li et al., VLDB'24, §3 and §4) as its libraries 0.12 and 0.13 write it (`gar/v1`).

mod casts;
mod error;
mod files;
mod graph;
mod info;
mod load;
mod pages;
mod write;

pub use error::LakeError;
pub use graph::{Lake, LakeView};
pub use load::load;
pub use write::{GraphArOptions, GraphArReport, export};
