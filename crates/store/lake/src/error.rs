//! Errors. Each names the file.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mangrove_graph::GraphError;
use mangrove_ingest::Malformed;
use thiserror::Error;

pub type Result<T, E = LakeError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum LakeError {
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("{file}: there is no such file")]
    Missing { file: Arc<str> },
    #[error("{file}: {source}")]
    Read { file: Arc<str>, source: io::Error },
    #[error("{file}: {reason}")]
    Damaged { file: Arc<str>, reason: String },
    #[error("{file} has changed since the graph was opened: call refresh(), or open it again")]
    Changed { file: Arc<str> },
    #[error("{file}: the store of files does not answer as it should: {reason}")]
    Store { file: Arc<str>, reason: String },
    #[error(
        "{file}: the store does not list its files, by which nodes see that all have the same: {reason}. Allow the nodes to list them (s3:ListBucket, storage.objects.list, or the right to list blobs)"
    )]
    Unlisted { file: Arc<str>, reason: String },
    #[error("cannot {doing} {object}: {why}")]
    Object { doing: &'static str, object: String, why: String },
    #[error("{0}")]
    Unsupported(String),
    #[error("{}: the directory is not empty. Name a new or empty one", .0.display())]
    NotEmpty(PathBuf),
    #[error("{}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("GraphAr cannot hold all of the graph, so nothing was written:{}", listed(.0))]
    Lossy(Vec<String>),
    #[error("cancelled")]
    Cancelled,
    #[error(transparent)]
    Graph(#[from] GraphError),
}

fn listed(losses: &[String]) -> String {
    losses.iter().map(|loss| format!("\n- {loss}")).collect()
}

impl LakeError {
    pub fn damaged(file: &Arc<str>, reason: impl Into<String>) -> Self {
        LakeError::Damaged { file: file.clone(), reason: reason.into() }
    }
}

impl From<LakeError> for GraphError {
    fn from(error: LakeError) -> Self {
        match error {
            LakeError::Graph(error) => error,
            other => GraphError::Invalid(other.to_string()),
        }
    }
}
