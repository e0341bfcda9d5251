//! How partitions talk to each other.

use crate::error::Result;

/// Bytes from one partition to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub from: u32,
    pub to: u32,
    pub bytes: Vec<u8>,
}

/// What the partitions of a process say after a step, added up.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Report {
    /// How many vertices have changed.
    pub changed: u64,
    /// What they contributed.
    pub totals: [f64; 2],
}

impl Report {
    pub fn and(self, other: Self) -> Self {
        let totals = [self.totals[0] + other.totals[0], self.totals[1] + other.totals[1]];
        Self { changed: self.changed + other.changed, totals }
    }
}

/// Carries frames and reports. Each process runs some of the partitions, and calls this with what all of them have to say.
pub trait Transport: Sync {
    /// Sends frames and a report. Returns the frames for the partitions of this process, and the reports of all processes added up. It
    /// returns once all processes have sent theirs: so it is also the barrier between steps.
    fn exchange(&self, frames: Vec<Frame>, report: Report) -> Result<(Vec<Frame>, Report)>;
}

/// All partitions in one process.
pub struct InMemory;

impl Transport for InMemory {
    fn exchange(&self, frames: Vec<Frame>, report: Report) -> Result<(Vec<Frame>, Report)> {
        Ok((frames, report))
    }
}
