//! The directory of a database that is gone when it is closed.

use std::io;
use std::path::{Path, PathBuf};

/// What `open` takes for the path of such a database.
pub const MEMORY: &str = ":memory:";

/// A directory among temporary files, removed when this is dropped.
pub struct Scratch {
    path: PathBuf,
    /// A forked child leaves it to its parent.
    process: u32,
}

impl Scratch {
    pub fn new() -> io::Result<Self> {
        let path = tempfile::Builder::new().prefix("mangrove-").tempdir()?.keep();
        Ok(Self { path, process: std::process::id() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // Nobody is left to be told, and what stays is a temporary file.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
