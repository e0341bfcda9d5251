//! What partitions have after a step, from which a program may go on.

use std::ops::Range;

use super::transport::Report;
use crate::error::Result;

/// What a partition has after a step. With what all others have, the program can go on from there.
pub struct Point<'a> {
    /// The number of the partition.
    pub partition: u32,
    /// How many steps have run.
    pub steps: u64,
    /// What all partitions reported after the last of them.
    pub report: Report,
    /// The values of its vertices at these places, as bytes.
    pub bytes: &'a dyn Fn(&[Range<usize>]) -> Vec<u8>,
}

/// What a partition goes on from.
pub struct Resumed {
    pub steps: u64,
    pub report: Report,
    /// The values of all its vertices: those at some places, as bytes.
    pub values: Vec<(Vec<Range<usize>>, Vec<u8>)>,
}

/// Keeps what partitions have after steps.
pub trait Checkpoints: Sync {
    /// Called for each partition before the first values are sent. Gives what it goes on from, after the same step in all partitions;
    /// `None` if the program begins.
    ///
    /// # Errors
    /// If it should go on from something that cannot be read.
    fn begin(&self, partition: u32) -> Result<Option<Resumed>>;

    /// All partitions have ended a step, and another follows.
    ///
    /// # Errors
    /// If the work is to stop.
    fn has_come(&self, point: &Point<'_>) -> Result<()>;
}

/// Keeps nothing.
pub struct Unkept;

impl Checkpoints for Unkept {
    fn begin(&self, _: u32) -> Result<Option<Resumed>> {
        Ok(None)
    }

    fn has_come(&self, _: &Point<'_>) -> Result<()> {
        Ok(())
    }
}
