//! A reader that applies the sections of one shard.

use std::fmt;

use mangrove_graph::{GraphError, Result};
use serde::{Deserialize, Serialize};

use super::record::Record;
use super::standing::Standing;

/// How far a shard has applied the log. It is kept in the transaction of the changes, so replaying never doubles anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Position {
    pub standing: Standing,
    /// The offset of the next record.
    pub next: u64,
}

impl Position {
    pub fn to_bytes(self) -> Result<Vec<u8>> {
        postcard::to_allocvec(&self).map_err(|error| GraphError::Invalid(format!("a position in the log: {error}")))
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match postcard::take_from_bytes(bytes) {
            Ok((position, [])) => Ok(position),
            _ => Err(GraphError::corrupt("a damaged position in the log")),
        }
    }
}

/// What a shard has to do about a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step<'r> {
    /// Apply what a commit does to the shard.
    pub section: Option<&'r [u8]>,
    /// Here is a cut: keep the changes since the last one, and the position with them. From now on the shard can be read as it is here.
    pub is_cut: bool,
}

/// Why a shard cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogError {
    /// Records before this one were deleted: the shard must be restored from a backup.
    Cut { expected: u64, found: u64 },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Cut { expected, found } => {
                write!(
                    f,
                    "the log begins at record {found}, and this shard has applied only those before {expected}: restore it from a backup"
                )
            }
        }
    }
}

impl std::error::Error for LogError {}

/// A shard's reader of the log.
#[derive(Clone)]
pub struct Follower {
    shard: u16,
    position: Position,
}

impl Follower {
    /// Goes on where a shard has stopped.
    pub fn new(shard: u16, position: Position) -> Self {
        Self { shard, position }
    }

    /// What to keep with the changes of the last record.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Reads the record at an offset.
    pub fn read<'r>(&mut self, offset: u64, record: &'r Record) -> std::result::Result<Step<'r>, LogError> {
        if offset < self.position.next {
            return Ok(Step::default());
        }
        if offset > self.position.next {
            return Err(LogError::Cut { expected: self.position.next, found: offset });
        }
        self.position.next = offset + 1;
        let counts = self.position.standing.take(record);
        Ok(match record {
            Record::Commit(commit) if counts => Step { section: commit.section(self.shard), is_cut: commit.is_cut },
            Record::Open { .. } | Record::Close { .. } | Record::Alive { .. } if counts => {
                Step { section: None, is_cut: true }
            }
            _ => Step::default(),
        })
    }
}
