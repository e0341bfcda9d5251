//! Rows on their way in. They go to a file first, so that they take no memory.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use axum::body::Bytes;
use axum::http::StatusCode;
use tempfile::TempDir;
use tokio::task::spawn_blocking;

use super::problem::Problem;

/// A file in a directory of its own, which goes with it.
pub struct Spool {
    directory: TempDir,
    file: Option<File>,
    bytes: u64,
    bytes_max: u64,
}

impl Spool {
    /// The name of the file, in its directory.
    pub const FILE: &str = "rows";

    pub fn new(bytes_max: u64) -> Result<Self, Problem> {
        let directory = tempfile::tempdir().map_err(failed)?;
        let file = File::create_new(directory.path().join(Self::FILE)).map_err(failed)?;
        Ok(Self { directory, file: Some(file), bytes: 0, bytes_max })
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join(Self::FILE)
    }

    /// Appends some bytes. Fails once there are more than the server takes.
    pub async fn write(&mut self, data: Bytes) -> Result<(), Problem> {
        self.bytes += data.len() as u64;
        if self.bytes > self.bytes_max {
            let message = format!("the rows take more than {} MB: send them in parts", self.bytes_max >> 20);
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let Some(mut file) = self.file.take() else { return Err(failed("an earlier write failed")) };
        let written = spawn_blocking(move || file.write_all(&data).map(|()| file)).await;
        self.file = Some(written.map_err(failed)?.map_err(failed)?);
        Ok(())
    }
}

fn failed(why: impl Display) -> Problem {
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, format!("cannot keep the rows: {why}"))
}
