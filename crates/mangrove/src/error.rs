//! The errors of this crate: one enum for each operation.
//!
//! Every error says what happened, where, and what to do. None leaves anything half stored. Each enum has a `Bug` variant for a
//! caught panic (see [`guard`](crate::guard)).

use mangrove_analytics::AnalyticsError;
use mangrove_graph::GraphError;
use thiserror::Error;

pub use crate::guard::Bug;
pub use mangrove_directory::OpenError as OpenFailure;
use mangrove_lake::LakeError;
pub use mangrove_query::{QueryError as QueryFailure, QueryErrorKind};

/// An error from opening or creating a database.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error(transparent)]
    Store(#[from] OpenFailure),
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A graph on many nodes cannot be reached, or a node of one cannot start.
    #[error(transparent)]
    Cluster(GraphError),
    #[error(transparent)]
    Bug(#[from] Bug),
}

/// An error from reading, planning or running a query.
#[derive(Debug, Error)]
pub enum QueryError {
    #[error(transparent)]
    Query(#[from] QueryFailure),
    /// The store refused before the query ran, or at its commit.
    #[error(transparent)]
    Graph(GraphError),
    #[error("{}", ABORTED)]
    Aborted,
    #[error(transparent)]
    Bug(#[from] Bug),
}

/// A query that was stopped while it waited for another writer gives the same error as any stopped query.
impl From<GraphError> for QueryError {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Busy { timed_out: true, .. } => QueryFailure::new(QueryErrorKind::Timeout, error.to_string()).into(),
            GraphError::Busy { .. } => QueryFailure::new(QueryErrorKind::Cancelled, error.to_string()).into(),
            // As when the query itself meets them. Its results are read later.
            GraphError::Late(_) | GraphError::Stopped | GraphError::OverBudget { .. } => QueryFailure::from(error).into(),
            error => Self::Graph(error),
        }
    }
}

impl QueryError {
    /// The error for people: what happened and what to do, with the query and a caret if a place is known.
    pub fn render(&self) -> String {
        match self {
            QueryError::Query(error) => error.render(),
            other => other.to_string(),
        }
    }
}

/// An error from loading files or tables.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error(transparent)]
    Load(#[from] mangrove_ingest::LoadError),
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The database that a copy goes to cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No order of vertices could be found.
    #[error(transparent)]
    Layout(AnalyticsError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error("{}", ABORTED)]
    Aborted,
    #[error(transparent)]
    Bug(#[from] Bug),
}

impl From<AnalyticsError> for LoadError {
    fn from(error: AnalyticsError) -> Self {
        match error {
            AnalyticsError::Graph(GraphError::Stopped) => Self::Load(mangrove_ingest::LoadError::Cancelled),
            AnalyticsError::Graph(error) => Self::Graph(error),
            error => Self::Layout(error),
        }
    }
}

/// An error from writing the graph to files.
#[derive(Debug, Error)]
pub enum ExportError {
    #[error(transparent)]
    Export(#[from] mangrove_ingest::ExportError),
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// No order of vertices could be found.
    #[error(transparent)]
    Layout(AnalyticsError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Bug(#[from] Bug),
}

impl From<AnalyticsError> for ExportError {
    fn from(error: AnalyticsError) -> Self {
        match error {
            AnalyticsError::Graph(GraphError::Stopped) => Self::Export(mangrove_ingest::ExportError::Cancelled),
            AnalyticsError::Graph(error) => Self::Graph(error),
            error => Self::Layout(error),
        }
    }
}

/// An error from anything else a store does: transactions, schema, indexes, statistics, checks, backups.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error("there is no {what} named {name:?}{}", near.as_deref().map_or(WHERE_NAMES_COME_FROM.to_owned(), did_you_mean))]
    Unknown { what: &'static str, name: String, near: Option<String> },
    /// Layouts could not be measured.
    #[error(transparent)]
    Layout(AnalyticsError),
    #[error("{}", ABORTED)]
    Aborted,
    #[error(transparent)]
    Bug(#[from] Bug),
}

impl From<AnalyticsError> for StoreError {
    fn from(error: AnalyticsError) -> Self {
        match error {
            AnalyticsError::Graph(error) => Self::Graph(error),
            error => Self::Layout(error),
        }
    }
}

const ABORTED: &str = "an earlier operation of this transaction failed midway, so the transaction was rolled back. Nothing of it \
                       was stored: begin a new one";

const WHERE_NAMES_COME_FROM: &str =
    ": a name exists once data has it, or declare_property() declares it (there, unique makes an index at once)";

fn did_you_mean(name: &str) -> String {
    format!("; did you mean {name:?}?")
}
