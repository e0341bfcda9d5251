//! The errors of a store. Each message says what happened and what to do.

use std::time::Duration;

use thiserror::Error;

use crate::id::{ElementId, ElementKind, ExternalId};
use crate::value::Value;

pub type Result<T, E = GraphError> = std::result::Result<T, E>;

/// An error of reading or writing a graph.
#[derive(Debug, Error)]
pub enum GraphError {
    #[error("vertex id {id} exists already{}", label.as_ref().map(|l| format!(" (label {l})")).unwrap_or_default())]
    DuplicateVertex { id: ExternalId, label: Option<String> },
    #[error("edge id {id} exists already")]
    DuplicateEdge { id: ExternalId },
    #[error(
        "cannot change or remove `{key}` of the vertex {id}: it is the key of {label}, so its value is the id. Add a new vertex \
         instead"
    )]
    Key { label: String, key: String, id: ExternalId },
    #[error(
        "cannot use `{id}` as the id of an edge: the database generates ids of this form. Choose another id, or leave it out to \
         get a generated one"
    )]
    GeneratedId { id: ExternalId },
    #[error("{property} must be unique, but the {} {id} already has the value {value}", kind.name())]
    NotUnique { property: String, value: String, kind: ElementKind, id: ExternalId },
    #[error("{label}.{key} is required, but {element} has no value for it")]
    Required { label: String, key: String, element: String },
    #[error("cannot drop {what} while it is in use: {first} has it")]
    InUse { what: String, first: String },
    #[error("{kind} {id} is not in the graph")]
    NoSuchElement { kind: &'static str, id: String },
    #[error("{label}.{key} is declared {declared} and cannot hold {found}: {value}")]
    TypeMismatch { label: String, key: String, declared: String, found: String, value: String },
    #[error("cannot store a value of type {found} as a property: store its id or its contents instead")]
    NotStorable { found: &'static str },
    #[error("{what}: the limit is {limit}")]
    Limit { what: String, limit: u64 },
    #[error("{}", busy(.holder, *.held, *.waited, *.timed_out))]
    Busy { holder: String, held: Duration, waited: Duration, timed_out: bool },
    #[error("this thread already has a write transaction open: write through it, or commit it or roll it back first")]
    OpenAlready,
    #[error("cancelled; nothing was changed")]
    Cancelled,
    #[error("the reader was asked to stop")]
    Stopped,
    #[error("the time of the reader is over")]
    Late(Option<Duration>),
    #[error("a read takes more than the memory budget of {} MB", bytes_max >> 20)]
    OverBudget { bytes_max: usize },
    #[error("{}", again(.0))]
    Unavailable(String),
    /// Nothing of the transaction was stored, and another one may be.
    #[error("another node has become the writer, and nothing of this transaction was stored. Try again")]
    TakenOver,
    /// Nobody says whether the changes were stored. They may be.
    #[error("{0}")]
    OutcomeUnknown(String),
    #[error("the database is open read-only")]
    ReadOnly,
    #[error(
        "the disk is full, so the transaction was rolled back and nothing of it was stored. Free some space and run it again"
    )]
    DiskFull,
    #[error("the database is damaged: {0}. Run `mangrove check`, then restore a backup")]
    Corrupt(String),
    #[error("{0}")]
    Invalid(String),
    #[error("storage: {message}")]
    Storage { message: String, source: Option<Box<dyn std::error::Error + Send + Sync>> },
}

impl GraphError {
    pub fn storage(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        GraphError::Storage { message: error.to_string(), source: Some(Box::new(error)) }
    }

    pub fn no_such(element: ElementId) -> Self {
        let id = match element {
            ElementId::Vertex(id) => Value::Vertex(id).to_string(),
            ElementId::Edge(id) => id.0.to_string(),
        };
        GraphError::NoSuchElement { kind: element.kind().name(), id }
    }

    pub fn corrupt(what: impl Into<String>) -> Self {
        GraphError::Corrupt(what.into())
    }
}

/// A message with advice, once.
fn again(what: &str) -> String {
    const ADVICE: &str = "Try again";
    match what {
        what if what.ends_with(ADVICE) => what.to_owned(),
        what if what.ends_with(['.', '?']) => format!("{what} {ADVICE}"),
        what => format!("{what}. {ADVICE}"),
    }
}

fn busy(holder: &str, held: Duration, waited: Duration, timed_out: bool) -> String {
    let (held, waited) = (held.as_secs_f64(), waited.as_secs_f64());
    let why = if timed_out { "timed out" } else { "was cancelled" };
    format!(
        "waiting to write {why} after {waited:.1} s: {holder} has had a write transaction open for {held:.1} s; commit it or \
         roll it back"
    )
}
