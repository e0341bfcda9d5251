//! The directory of a temporary database.

use std::io;
use std::path::{Path, PathBuf};

/// The path that makes `open` create one.
pub const MEMORY: &str = ":memory:";

/// A directory among temporary files. Dropping this removes it.
pub struct Scratch {
    path: PathBuf,
    /// The process that made it. A forked child does not remove it.
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
            // Nobody can handle an error here. What remains is a temporary file.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
