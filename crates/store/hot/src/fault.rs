//! LMDB's errors as the graph's.

use std::io;

use heed::MdbError;
use mangrove_graph::GraphError;

/// What an LMDB error means to a user.
pub fn lmdb(error: heed::Error) -> GraphError {
    match error {
        heed::Error::Mdb(MdbError::MapFull) => GraphError::DiskFull,
        heed::Error::Mdb(damage) if is_damage(damage) => GraphError::corrupt(damage.to_string()),
        heed::Error::Io(error) if is_disk_full(&error) => GraphError::DiskFull,
        other => GraphError::storage(other),
    }
}

fn is_damage(error: MdbError) -> bool {
    use MdbError::*;
    matches!(error, Corrupted | PageNotFound | Invalid | CursorFull | PageFull | BadValSize | VersionMismatch)
}

fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

pub fn corrupt(what: &str) -> GraphError {
    GraphError::corrupt(what)
}
