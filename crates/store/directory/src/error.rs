//! Why a database cannot be opened.

use std::io;
use std::path::PathBuf;

use mangrove_graph::{GraphError, IdSpace};
use thiserror::Error;

use crate::directory::ShardOf;
use crate::lock::Holder;

#[derive(Debug, Error)]
pub enum OpenError {
    #[error("there is no database at {}", path.display())]
    NotFound { path: PathBuf },
    #[error("{} is a file; a database is a directory", path.display())]
    NotADirectory { path: PathBuf },
    #[error("cannot write into {}: {why}", path.display())]
    NotEmpty { path: PathBuf, why: String },
    #[error("{} is not a Mangrove database: {why}", path.display())]
    NotADatabase { path: PathBuf, why: String },
    #[error(
        "{} has database format {found}, but this Mangrove only reads formats up to {supported}: install a newer Mangrove{}",
        path.display(), written_by.as_ref().map(|by| format!(" (it was made by {by})")).unwrap_or_default()
    )]
    NewerFormat { path: PathBuf, found: u64, supported: u64, written_by: Option<String> },
    #[error(
        "{} is open for writing in {holder}, and only one process can write at a time. Open it read-only, or close it there \
         first. `mangrove docs recipes` shows how processes share a database", path.display()
    )]
    Locked { path: PathBuf, holder: Holder },
    #[error("{} has the id space {}, not {}: the id space is set when a database is created and cannot \
             change", path.display(), name(*found), name(*wanted))]
    IdSpace { path: PathBuf, found: IdSpace, wanted: IdSpace },
    #[error("{} is {}: reach it through the node that has it", path.display(), shard)]
    IsShard { path: PathBuf, shard: ShardOf },
    #[error("{} is {}, not {wanted}", path.display(), found.map_or("a whole database".into(), |found| found.to_string()))]
    OtherShard { path: PathBuf, found: Option<ShardOf>, wanted: ShardOf },
    #[error("no permission to {what} {}: {source}", path.display())]
    Permission { path: PathBuf, what: &'static str, source: io::Error },
    #[error("cannot {what} {}: {source}", path.display())]
    Io { path: PathBuf, what: &'static str, source: io::Error },
    #[error("cannot open {}: {source}", path.display())]
    Store { path: PathBuf, source: GraphError },
}

impl OpenError {
    pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                OpenError::Permission { path, what, source }
            }
            _ => OpenError::Io { path, what, source },
        }
    }
}

/// The name of an id space for users.
pub(crate) fn name(space: IdSpace) -> &'static str {
    match space {
        IdSpace::Graph => "graph",
        IdSpace::Label => "label",
    }
}
