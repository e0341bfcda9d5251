//! Graphs in open files: Apache GraphAr directories, queried in place and written.
//!
//! ```text
//!   info    what GraphAr's YAML files say    files   files by path, as they were when opened
//!   pages   Parquet, page by page            graph   files as a graph: GraphView over GraphAr, or over mapped tables
//!   index   edges by vertex, kept            load    files into a graph that can be written
//!   write   a graph as a directory           propose a mapping from footers
//!   convert CSV, JSON and ORC to Parquet
//! ```
//! The format is that of GraphAr (Li et al., VLDB'24, §3 and §4) as its libraries 0.12 and 0.13 write it (`gar/v1`).

mod casts;
mod convert;
mod error;
mod files;
mod graph;
mod index;
mod info;
mod load;
mod pages;
mod place;
mod propose;
mod write;

pub use error::LakeError;
pub use files::Bucket;
pub use graph::{Lake, LakeChanges, LakeOptions, LakeView};
pub use info::parse_descriptions;
pub use load::load;
pub use propose::propose_mapping;
pub use write::{GraphArOptions, GraphArReport, ListOrder, export, export_in_order};
