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

mod batches;
mod by_source;
pub mod bytes;
mod copy;
mod detect;
mod error;
mod export;
mod graphs;
mod load;
mod progress;
mod stream;
mod tables;
mod terms;
mod text;
mod topic;
mod writing;

pub use batches::column::ColumnType;
pub use batches::rows::{IdType, Scope};
pub use copy::{CopyTerms, copy};
pub use error::{BadRow, Fault, LoadError, Location, Malformed, Spot};
pub use export::{ExportError, ExportFormat, ExportReport, export, export_in_order};
pub use load::{load, write_mapping};
pub use progress::{Phase, Progress, Quiet, Status};
pub use stream::{Commit, Ingest, IngestOptions, Work};
pub use tables::arrow_table::{as_type, plain_array, plan_arrow};
pub use tables::arrow_type::{Purpose, cast as cast_plain, read_as};
pub use tables::json_rows::JsonRows;
pub use tables::plan::{LabelRule, PropertyPlan, TableHints, TablePlan};
pub use tables::table::{Table, TableInput};
pub use terms::declaration::GraphDeclaration;
pub use terms::mapping::parse as parse_mapping;
pub use terms::mapping::{ForeignKey, Mapping, Missing, TableEntry, Test};
pub use terms::merge::{Merged, Merging, OnDuplicate, OnExists};
pub use terms::options::{EdgeFiles, KeyColumn, LoadOptions, MemoryLimits, NodeFiles};
pub use terms::report::{LoadReport, OnError};
pub use terms::spelling::Spelling;
pub use topic::{Offsets, OnLost, Topic, TopicRecord};
/// Reading CSV record by record.
pub mod csv {
    pub use crate::text::csv::{Broken, CsvReader, Dialect, Field, Quoting, Record, Step};
}
pub use text::format::Format;
pub use text::infer::Inferred;
pub use text::json::quote as quote_json;
pub use text::yaml::{Node, YamlReader};
