//! Mangrove: a property-graph database that runs inside your program.
//!
//! A [`Database`] is a directory. It loads files and tables, answers [Gremlin](https://tinkerpop.apache.org/gremlin.html), and
//! keeps what is committed. This crate only wires the parts together:
//!
//! ```text
//!   files, tables ─ ingest ─┐                         ┌─ ResultStream ─ describe ─┬─ json
//!                           ├─ Transaction ─ store ─ Snapshot ─ query ─ values    ├─ table ─ arrow, csv
//!   Gremlin that writes ────┘                                                     └─ (Python objects)
//! ```
//!
//! ```
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("people.mg");
//! use mangrove::{Database, Parameters, QueryOptions, json};
//!
//! let db = Database::open(&path)?;
//! let (none, options) = (Parameters::new(), QueryOptions::default());
//! db.query("g.addV('person').property(T.id, 'ada').property('born', 1815)", &none, &options)?;
//!
//! let born_before = Parameters::from([("year".to_owned(), 1900.into())]);
//! let mut people = db.query("g.V().hasLabel('person').has('born', lt(year))", &born_before, &options)?;
//! let results = people.results()?;
//! assert_eq!(json::to_string(&results.get(0)), r#"{"id":"ada","label":"person","type":"vertex","properties":{"born":1815}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No panic leaves this crate: see [`guard`].

pub mod about;
mod analyze;
pub mod arrow;
pub mod backend;
mod batches;
mod bookmark;
pub mod cluster;
pub mod compressed;
mod database;
mod declare;
pub mod describe;
pub mod direct;
pub mod docs;
pub mod error;
mod follow;
pub mod guard;
mod ingestion;
pub mod json;
mod keys;
mod lake;
mod layout;
mod memory;
mod open;
mod paths;
mod prepared;
mod procedures;
pub mod readers;
mod records;
pub mod results;
mod scratch;
mod shards;
pub mod show;
mod slow;
mod stream;
mod streams;
pub mod table;
mod trace;
mod transaction;
pub mod workloads;
mod written;

pub use mangrove_analytics as analytics;
pub use mangrove_graph as graph;

pub use analyze::{Analysis, AnalyzeError, AnalyzeOptions, Arrays, Projected, ValuesWritten};
pub use backend::{Backend, BackendTransaction, BackendView, BulkLoad};
pub use batches::Batches;
pub use bookmark::{Bookmark, BookmarkError};
pub use database::Database;
pub use error::{Bug, ExportError, LoadError, OpenError, QueryError, QueryErrorKind, StoreError};
pub use follow::{FollowOptions, FollowReport, FollowedRows, SourcePosition};
pub use graph::{Cardinality, Declaration, ElementKind, Encoding, GraphError, IdSpace, Schema, Value, ValueType};
pub use ingestion::Ingestion;
pub use lake::{is_description, is_files_of_others};
pub use layout::{LayoutOptions, LayoutReport};
pub use mangrove_directory::{
    CheckReport, Durability, OldSnapshot, OpenOptions, Part, PartStats, Patience, Space, StoreStats, Writer,
};
pub use mangrove_ingest as ingest;
pub use mangrove_ingest::{ExportFormat, ExportReport, LoadOptions, LoadReport, Progress};
pub use mangrove_lake::{GraphArOptions, GraphArReport, LakeChanges, LakeError, LakeOptions, ListOrder, propose_mapping};
pub use mangrove_layout::{Layout, Measures, Ties};
pub use mangrove_query::optimize::RULES;
pub use mangrove_query::procedure::{self, Procedure};
pub use mangrove_query::stack;
pub use mangrove_query::{
    CancelToken, CrewOptions, ExplainedStep, Explanation, Fleet, Messages, OnProfile, Parameters, Profile, QueryOptions,
    Ran, StartPart, StepProfile,
};
pub use results::Results;
pub use shards::{OnShard, ShardAt, Shards};
pub use slow::SlowQuery;
pub use stream::{ResultStream, Rows};
pub use streams::{STREAMS_MAX, Stream};
pub use trace::{LEVELS, trace};
pub use transaction::Transaction;
pub use written::Written;
