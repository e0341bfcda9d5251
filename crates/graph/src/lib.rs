//! The property-graph model: ids, values, schema, predicates, and the traits between stores and queries.
//!
//! ```text
//!            ids, values, schema, cells, predicates, errors
//!                              |
//!      query ---- reads ---- GraphView ---- implemented by ---- hot store, snapshot, oracle
//!      ingest --- writes --- GraphWrite --- implemented by ---- hot store, oracle
//! ```
//!
//! This crate does no I/O and knows no store, no query language and no Python.

pub mod catalog;
pub mod cell;
mod choices;
pub mod column;
pub mod column_test;
pub mod compare;
pub mod conform;
pub mod error;
mod footprint;
pub mod id;
pub mod names;
pub mod number;
pub mod numbering;
pub mod predicate;
mod read_context;
pub mod record;
pub mod schema;
mod through;
pub mod time;
pub mod value;
pub mod view;
pub mod window;
pub mod wire;
pub mod write;

pub use catalog::{Catalog, Reach, Statistics};
pub use cell::{Cell, PropertyColumn, PropertyValue};
pub use choices::{Choices, Members};
pub use error::{GraphError, Result};
pub use id::{Direction, EdgeId, EdgeRef, ElementId, ElementKind, ExternalId, IdSpace, KeyId, LabelId, VertexId};
pub use names::Names;
pub use numbering::{LabelNumbering, Numbering};
pub use predicate::{Comparison, Predicate, TextTest};
pub use read_context::{Budget, CancelToken, ReadContext, SpanPlace, TraceId};
pub use schema::{
    Cardinality, Declaration, Encoding, IndexSchema, LabelSchema, Properties, PropertyId, PropertySchema, Schema, TypeSet,
};
pub use through::{Here, Through};
pub use time::{Date, DateTime, Duration};
pub use value::{Map, Path, Property, PropertyOwner, Subgraph, Token, Tree, Value, ValueType, VertexProperty};
pub use view::{
    Adjacency, Distance, ElementIds, Elements, Filter, GraphView, Hop, LabelTest, Latest, Scan, ScanCursor, Scanned,
    SearchCursor, Wants, scan_and_read,
};
pub use write::{FollowerWrite, GraphWrite, NewEdge, ShardRead, ShardWrite};

pub use bigdecimal::BigDecimal;
pub use num_bigint::BigInt;
pub use uuid::Uuid;
