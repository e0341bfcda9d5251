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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'r> {
    /// Nothing: it was read before, or is void, or is no commit.
    Nothing,
    /// Apply what the commit of this number does to the shard; `None` if it does nothing to it. Keep the position with the changes.
    Apply { number: u64, section: Option<&'r [u8]> },
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
            return Ok(Step::Nothing);
        }
        if offset > self.position.next {
            return Err(LogError::Cut { expected: self.position.next, found: offset });
        }
        self.position.next = offset + 1;
        Ok(match record {
            record @ Record::Commit(commit) if self.position.standing.take(record) => {
                Step::Apply { number: commit.number, section: commit.section(self.shard) }
            }
            Record::Commit(_) => Step::Nothing,
            other => {
                self.position.standing.take(other);
                Step::Nothing
            }
        })
    }
}
