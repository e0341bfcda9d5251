//! What carries the log.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::Result;

/// One sequence of records that every reader sees in the same order.
pub trait Log: Send + Sync {
    /// Begins to append a record. It may get lost, come late, or come twice: only reading tells.
    fn append(&self, record: Vec<u8>) -> Result<()>;

    /// Reads from an offset on.
    fn reader(&self, from: u64) -> Result<Box<dyn LogReader>>;
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
    records: Mutex<Vec<Vec<u8>>>,
    grown: Condvar,
}

impl Shared {
    fn records(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for MemoryLog {
    fn append(&self, record: Vec<u8>) -> Result<()> {
        self.0.records().push(record);
        self.0.grown.notify_all();
        Ok(())
    }

    fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
        Ok(Box::new(MemoryReader { log: self.clone(), next: from as usize }))
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
        while records.len() <= self.next {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(true);
            }
            records = shared.grown.wait_timeout(records, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        out.extend((self.next..).zip(&records[self.next..]).map(|(offset, record)| (offset as u64, record.clone())));
        self.next = records.len();
        Ok(true)
    }
}
