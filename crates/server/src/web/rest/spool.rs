//! Rows on their way in. They go to a file first, so that they take no memory.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
    begun: Instant,
}

/// How long rows may take to come, and how long they may come as slowly as they like.
const LONGEST: Duration = Duration::from_secs(3600);
const UNHURRIED: Duration = Duration::from_secs(60);
/// The fewest bytes in a second, after that.
const PACE_MIN: u64 = 16 << 10;

impl Spool {
    /// The name of the file, in its directory.
    pub const FILE: &str = "rows";

    pub fn new(bytes_max: u64) -> Result<Self, Problem> {
        let directory = tempfile::tempdir().map_err(failed)?;
        let file = File::create_new(directory.path().join(Self::FILE)).map_err(failed)?;
        Ok(Self { directory, file: Some(file), bytes: 0, bytes_max, begun: Instant::now() })
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join(Self::FILE)
    }

    /// Appends some bytes. Fails once there are more than the server takes, or if they come too slowly.
    pub async fn write(&mut self, data: Bytes) -> Result<(), Problem> {
        self.bytes += data.len() as u64;
        if self.bytes > self.bytes_max {
            let message = format!("the rows take more than {} MB: send them in parts", self.bytes_max >> 20);
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let time = self.begun.elapsed();
        if time > LONGEST || (time > UNHURRIED && self.bytes / time.as_secs() < PACE_MIN) {
            let message =
                format!("the rows come too slowly: send at least {} kB a second, and all within an hour", PACE_MIN >> 10);
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, message));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_trickle_are_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut spool = Spool::new(1 << 20).unwrap();
            spool.write(Bytes::from_static(&[0; 1000])).await.unwrap();
            spool.begun -= UNHURRIED + Duration::from_secs(1);
            let refused = spool.write(Bytes::from_static(b"x")).await.unwrap_err();
            assert_eq!(refused.status, StatusCode::REQUEST_TIMEOUT);
            // As many as are wanted in that time.
            let mut spool = Spool::new(2 << 20).unwrap();
            spool.write(vec![0; 1 << 20].into()).await.unwrap();
            spool.begun -= UNHURRIED + Duration::from_secs(1);
            spool.write(Bytes::from_static(b"x")).await.unwrap();
            spool.begun -= LONGEST;
            assert_eq!(spool.write(Bytes::new()).await.unwrap_err().status, StatusCode::REQUEST_TIMEOUT);
        });
    }
}
