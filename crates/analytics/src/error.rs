//! Errors.

use mangrove_graph::GraphError;
use thiserror::Error;

pub type Result<T, E = AnalyticsError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum AnalyticsError {
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// What was asked for has no answer.
    #[error("{0}")]
    Invalid(String),
    #[error("there are {vertices} vertices; at most {most} can be analysed at once: choose labels of vertices")]
    TooManyVertices { vertices: u64, most: u64 },
    #[error("it needs about {needed_mb} MB of memory, and {allowed_mb} MB are allowed: choose fewer labels, or allow more")]
    TooLittleMemory { needed_mb: u64, allowed_mb: u64 },
    #[error("a thread panicked: {0}; this is a bug")]
    Panicked(String),
}

impl AnalyticsError {
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid(reason.into())
    }
}
