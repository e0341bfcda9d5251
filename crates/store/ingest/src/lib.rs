//! Ingest turns files and tables into a graph, and exports a graph as files.
//!
//! ```text
//! files --source--> bytes --csv, parquet, jsonl, graphml, graphson--> batches of rows (columns, ids, places)
//!                                                                          |
//! tables, rows ----------------- stream ---------------------------------->+--> write: ids resolved, runs of edges --> GraphWrite
//! ```
//!
//! This crate sees the graph only as a [`GraphWrite`](mangrove_graph::GraphWrite), or as a [`GraphView`](mangrove_graph::GraphView)
//! to export. It knows no store, no query language and no terminal.

mod arrow_table;
mod arrow_type;
pub mod bytes;
mod column;
mod constraints;
mod csv;
mod csv_table;
mod declaration;
mod decode;
mod drift;
mod edgelist;
mod elements;
mod error;
mod export;
mod feed;
mod format;
mod graphml;
mod graphson;
mod header;
mod infer;
mod json;
mod jsonl;
mod load;
mod mapping;
mod mapping_text;
mod merge;
mod options;
mod parquet;
mod plan;
mod progress;
mod report;
mod resolve;
mod retype;
mod rows;
mod runs;
mod source;
mod stream;
mod table;
mod upsert;
mod write;

pub use error::{BadRow, Fault, LoadError, Location, Spot};
pub use export::{ExportError, ExportFormat, ExportReport, export};
pub use format::Format;
pub use load::{load, write_mapping};
pub use merge::{Merged, Merging, OnDuplicate, OnExists};
pub use options::{EdgeFiles, KeyColumn, LoadOptions, NodeFiles};
pub use progress::{Phase, Progress, Quiet, Status};
pub use report::{LoadReport, OnError};
pub use rows::IdType;
pub use runs::MemoryLimits;
pub use stream::{Commit, Ingest, IngestOptions, Work};
pub use table::{Table, TableInput};
