//! A reader that applies the sections of one shard.

use std::fmt;

use mangrove_graph::{GraphError, Result};
use serde::{Deserialize, Serialize};

use super::record::{Record, Section, Standing};

/// How far a shard has applied the log. It is kept in the transaction of the changes, so replaying never doubles anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Position {
    pub standing: Standing,
    /// The offset of the next record.
    pub next: u64,
    /// The checksum of the record before it.
    pub last: u64,
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
    pub section: Option<&'r Section>,
    /// Here is a cut: keep the changes since the last one, and the position with them. From now on the shard can be read as it is here.
    pub is_cut: bool,
    /// The log may begin here one day: keep the position even if nothing has changed.
    pub is_base: bool,
}

/// Why a shard cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogError {
    /// Records before this one were deleted: the shard must be restored from a backup.
    Cut { expected: u64, found: u64 },
    /// The log has another record where the last one stood that the shard has applied.
    Changed { at: u64 },
    /// The log has fewer records than the shard has applied. It may have them again when its brokers have all come back.
    Short { expected: u64, end: u64 },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Cut { expected, found } => {
                write!(
                    f,
                    "the log begins at record {found}, and this shard has applied only those before {expected}: restore it from a backup, with --store"
                )
            }
            LogError::Changed { at } => {
                write!(
                    f,
                    "this shard has applied another record {at} than the log has: the log has lost its end, or is that of another graph"
                )
            }
            LogError::Short { expected, end } => {
                write!(
                    f,
                    "the log ends before record {end}, and this shard has applied those before {expected}: are all brokers there?"
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

    /// The offset from which it must read: that of the last record before its position, to see that it is still the same.
    pub fn first(&self) -> u64 {
        self.position.next.saturating_sub(1)
    }

    /// Reads the record at an offset, with its checksum.
    pub fn read<'r>(&mut self, offset: u64, sum: u64, record: &'r Record) -> std::result::Result<Step<'r>, LogError> {
        if offset + 1 == self.position.next && sum != self.position.last {
            return Err(LogError::Changed { at: offset });
        }
        if offset < self.position.next {
            return Ok(Step::default());
        }
        if offset > self.position.next {
            return Err(LogError::Cut { expected: self.position.next, found: offset });
        }
        if matches!(record, Record::Base(_)) && self.position.standing.graph == 0 {
            // It says what was there, and the shard does not have it.
            return Err(LogError::Cut { expected: self.position.next, found: offset });
        }
        (self.position.next, self.position.last) = (offset + 1, sum);
        let counts = self.position.standing.take(record);
        Ok(match record {
            Record::Commit(commit) if counts => {
                Step { section: commit.section(self.shard), is_cut: commit.is_cut, is_base: false }
            }
            Record::Open { .. } | Record::Close { .. } | Record::Alive { .. } if counts => {
                Step { is_cut: true, ..Step::default() }
            }
            Record::Base(_) if counts => Step { section: None, is_cut: true, is_base: true },
            _ => Step::default(),
        })
    }

    /// The log ends here for now.
    pub fn ends(&self, end: u64) -> std::result::Result<(), LogError> {
        let expected = self.position.next;
        if end < expected { Err(LogError::Short { expected, end }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_lost_its_end_is_noticed() {
        let open = |term| Record::Open { term, writer: 7 };
        let mut follower = Follower::new(0, Position::default());
        for (offset, sum) in [(0, 10), (1, 11), (2, 12)] {
            follower.read(offset, sum, &open(offset + 1)).unwrap();
        }
        let kept = Position::from_bytes(&follower.position().to_bytes().unwrap()).unwrap();
        let mut again = Follower::new(0, kept);
        assert_eq!((again.first(), again.ends(3)), (2, Ok(())));
        assert_eq!(again.ends(2), Err(LogError::Short { expected: 3, end: 2 }));
        assert_eq!(again.read(2, 12, &open(3)), Ok(Step::default()));
        assert_eq!(again.read(2, 13, &open(3)), Err(LogError::Changed { at: 2 }));
        assert_eq!(again.read(4, 14, &open(4)), Err(LogError::Cut { expected: 3, found: 4 }));
        assert!(again.read(3, 14, &open(4)).unwrap().is_cut);
    }
}
