//! What a node counts of its work.

use std::sync::Arc;

use crate::service::{Calls, Count};

/// What a node has done since it began.
#[derive(Default)]
pub struct Counts {
    /// The calls of others that it has answered.
    pub answered: Arc<Calls>,
    /// Its own calls of other nodes.
    pub asked: Arc<Calls>,
    pub log: LogCounts,
    pub writes: WriteCounts,
}

/// Records of the log, and their bytes. A record that was read twice counts twice.
#[derive(Default)]
pub struct LogCounts {
    pub records_read: Count,
    pub bytes_read: Count,
    pub records_written: Count,
    pub bytes_written: Count,
}

/// What a node has done as the writer.
#[derive(Default)]
pub struct WriteCounts {
    /// The commits that it has sent to the log.
    pub commits: Count,
    /// The transactions that were made. One commit may make several.
    pub made: Count,
    /// The transactions that another writer has to make.
    pub refused: Count,
}
