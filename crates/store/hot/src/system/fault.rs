//! Turns LMDB's errors into those of the graph.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use heed::MdbError;
use mangrove_graph::GraphError;

/// A file that is written beside a store, for a moment, to see whether the disk is full.
pub const PROBE: &str = "probe.tmp";

/// What an LMDB error means to a user.
pub fn lmdb(error: heed::Error) -> GraphError {
    match error {
        heed::Error::Mdb(MdbError::MapFull | MdbError::MapResized) => {
            let message = "the tables have outgrown the address space reserved when the database was opened: close it, open it \
                           again and compact() it";
            GraphError::Storage { message: message.into(), source: Some(Box::new(error)) }
        }
        heed::Error::Mdb(MdbError::Panic) => {
            let message = "the disk failed during a commit. This handle can no longer write, and can only read a few results at \
                           once. Earlier commits are kept: close the database and open it again";
            GraphError::Storage { message: message.into(), source: Some(Box::new(error)) }
        }
        heed::Error::Mdb(damage) if is_damage(damage) => GraphError::corrupt(damage.to_string()),
        heed::Error::Io(error) if is_disk_full(&error) => GraphError::DiskFull,
        other => GraphError::storage(other),
    }
}

/// Turns an error of work with a file into one that names the file.
pub fn io(path: &Path) -> impl FnOnce(io::Error) -> GraphError {
    let message = move |error: &io::Error| format!("{}: {error}", path.display());
    move |error| match is_disk_full(&error) {
        true => GraphError::DiskFull,
        false => GraphError::Storage { message: message(&error), source: Some(Box::new(error)) },
    }
}

/// Whether LMDB has given up after the disk failed.
pub fn is_given_up(error: &GraphError) -> bool {
    let GraphError::Storage { source: Some(source), .. } = error else { return false };
    matches!(source.downcast_ref(), Some(heed::Error::Mdb(MdbError::Panic)))
}

fn is_damage(error: MdbError) -> bool {
    use MdbError::*;
    matches!(error, Corrupted | PageNotFound | Invalid | CursorFull | PageFull | BadValSize | VersionMismatch)
}

fn is_disk_full(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// The error of a failed write into `dir`. When a disk becomes full, the last write is cut short, and LMDB reports that as
/// an error of the device. So this tries to write where the store's file would grow, to see whether the disk is full.
pub fn of_write(error: GraphError, dir: &Path) -> GraphError {
    const EIO: i32 = 5;
    let cause = match &error {
        GraphError::Storage { source: Some(source), .. } => source.downcast_ref::<heed::Error>(),
        _ => None,
    };
    match cause {
        Some(heed::Error::Io(io)) if io.raw_os_error() == Some(EIO) && cannot_grow(dir) => GraphError::DiskFull,
        _ => error,
    }
}

fn cannot_grow(dir: &Path) -> bool {
    let probe = dir.join(PROBE);
    let write = || -> io::Result<()> {
        let end = std::fs::metadata(dir.join("data.mdb"))?.len();
        let mut file = File::create(&probe)?;
        file.seek(SeekFrom::Start(end))?;
        file.write_all(&[1; 4096])
    };
    let outcome = write();
    let _ = std::fs::remove_file(&probe); // it may not have been made
    outcome.is_err_and(|error| is_disk_full(&error))
}

/// The error once more, for another writer that it concerns.
pub fn again(error: &GraphError) -> GraphError {
    match error {
        GraphError::DiskFull => GraphError::DiskFull,
        GraphError::Corrupt(what) => GraphError::Corrupt(what.clone()),
        GraphError::Storage { message, .. } => GraphError::Storage { message: message.clone(), source: None },
        other => GraphError::Invalid(other.to_string()),
    }
}

pub fn corrupt(what: &str) -> GraphError {
    GraphError::corrupt(what)
}
