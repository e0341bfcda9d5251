//! What carries the log.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

/// One sequence of records that every reader sees in the same order.
pub trait Log: Send + Sync {
    /// Begins to append a record. It may get lost, come late, or come twice: only reading tells.
    fn append(&self, record: Vec<u8>) -> Result<()>;

    /// Reads from an offset on.
    ///
    /// # Errors
    /// If the record there was deleted, now or when it is read.
    fn reader(&self, from: u64) -> Result<Box<dyn LogReader>>;

    /// The offset of the first record that was not deleted.
    fn first(&self) -> Result<u64> {
        Ok(0)
    }

    /// Deletes all records before an offset.
    fn cut(&self, _before: u64) -> Result<()> {
        Err(GraphError::Invalid("this log cannot be cut".into()))
    }

    /// How much larger its offsets are than those of what carries it.
    fn shift(&self) -> u64 {
        0
    }
}

/// Said by a log that is asked for what was deleted.
pub fn was_cut() -> GraphError {
    GraphError::Invalid(
        "the log does not have the record that comes next: its beginning was cut, or it has lost its end".into(),
    )
}

pub trait LogReader: Send {
    /// Waits for records, at most so long, and appends them with their offsets. Returns whether these are the last ones.
    fn read(&mut self, patience: Duration, out: &mut Vec<(u64, Vec<u8>)>) -> Result<bool>;
}

/// A log in the memory of this process.
#[derive(Clone, Default)]
pub struct MemoryLog(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Those that were deleted are empty.
    records: Mutex<Kept>,
    grown: Condvar,
}

#[derive(Default)]
struct Kept {
    all: Vec<Vec<u8>>,
    first: usize,
}

impl Shared {
    fn records(&self) -> MutexGuard<'_, Kept> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for MemoryLog {
    fn append(&self, record: Vec<u8>) -> Result<()> {
        self.0.records().all.push(record);
        self.0.grown.notify_all();
        Ok(())
    }

    fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
        Ok(Box::new(MemoryReader { log: self.clone(), next: from as usize }))
    }

    fn first(&self) -> Result<u64> {
        Ok(self.0.records().first as u64)
    }

    fn cut(&self, before: u64) -> Result<()> {
        let mut records = self.0.records();
        records.first = records.first.max(before as usize).min(records.all.len());
        let first = records.first;
        records.all[..first].fill(Vec::new());
        Ok(())
    }
}

struct MemoryReader {
    log: MemoryLog,
    next: usize,
}

impl LogReader for MemoryReader {
    fn read(&mut self, patience: Duration, out: &mut Vec<(u64, Vec<u8>)>) -> Result<bool> {
        let (shared, until) = (&*self.log.0, Instant::now() + patience);
        let mut records = shared.records();
        while records.all.len() <= self.next {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(true);
            }
            records = shared.grown.wait_timeout(records, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if self.next < records.first {
            return Err(was_cut());
        }
        out.extend((self.next..).zip(&records.all[self.next..]).map(|(offset, record)| (offset as u64, record.clone())));
        self.next = records.all.len();
        Ok(true)
    }
}
