//! Errors as they travel.

use std::time::Duration;

use mangrove_graph::GraphError;
use serde::{Deserialize, Serialize};

/// An error of a store, for another process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SentError {
    Stopped,
    Late(Option<Duration>),
    OverBudget(u64),
    ReadOnly,
    DiskFull,
    Corrupt(String),
    Invalid(String),
    Unavailable(String),
    Other(String),
}

impl From<GraphError> for SentError {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Stopped => SentError::Stopped,
            GraphError::Late(timeout) => SentError::Late(timeout),
            GraphError::OverBudget { bytes_max } => SentError::OverBudget(bytes_max as u64),
            GraphError::ReadOnly => SentError::ReadOnly,
            GraphError::DiskFull => SentError::DiskFull,
            GraphError::Corrupt(what) => SentError::Corrupt(what),
            GraphError::Invalid(what) => SentError::Invalid(what),
            GraphError::Unavailable(what) => SentError::Unavailable(what),
            other => SentError::Other(other.to_string()),
        }
    }
}

impl From<SentError> for GraphError {
    fn from(error: SentError) -> Self {
        match error {
            SentError::Stopped => GraphError::Stopped,
            SentError::Late(timeout) => GraphError::Late(timeout),
            SentError::OverBudget(bytes) => GraphError::OverBudget { bytes_max: bytes as usize },
            SentError::ReadOnly => GraphError::ReadOnly,
            SentError::DiskFull => GraphError::DiskFull,
            SentError::Corrupt(what) => GraphError::Corrupt(what),
            SentError::Invalid(what) => GraphError::Invalid(what),
            SentError::Unavailable(what) => GraphError::Unavailable(what),
            SentError::Other(message) => GraphError::Storage { message, source: None },
        }
    }
}
