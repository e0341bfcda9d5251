//! What the standard library does not offer for files and directories.

use std::path::Path;
use std::{fs, io};

use mangrove_graph::Result;

use crate::system::fault;

/// Makes entries of a directory durable.
pub fn sync_directory(dir: &Path) -> io::Result<()> {
    if cfg!(unix) { fs::File::open(dir)?.sync_all() } else { Ok(()) }
}

/// What a file takes on the disk, holes left out.
#[cfg(unix)]
pub fn allocated_bytes(path: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).map_err(fault::io(path))?;
    Ok(512 * found.blocks())
}

#[cfg(not(unix))]
pub fn allocated_bytes(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(fault::io(path))?.len())
}
