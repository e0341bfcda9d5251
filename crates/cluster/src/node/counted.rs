//! The log of a node, which counts what is read and written.

use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::Result;

use super::counts::{Counts, LogCounts};
use crate::log::{Log, LogReader};

/// A log that counts.
pub struct Counted {
    log: Arc<dyn Log>,
    counts: Arc<Counts>,
}

impl Counted {
    pub fn new(log: Arc<dyn Log>, counts: Arc<Counts>) -> Self {
        Self { log, counts }
    }
}

impl Log for Counted {
    fn append(&self, record: Vec<u8>) -> Result<()> {
        let bytes = record.len() as u64;
        self.log.append(record)?;
        let LogCounts { records_written, bytes_written, .. } = &self.counts.log;
        records_written.add(1);
        bytes_written.add(bytes);
        Ok(())
    }

    fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
        Ok(Box::new(CountedReader { reader: self.log.reader(from)?, counts: self.counts.clone() }))
    }

    fn first(&self) -> Result<u64> {
        self.log.first()
    }

    fn cut(&self, before: u64) -> Result<()> {
        self.log.cut(before)
    }

    fn shift(&self) -> u64 {
        self.log.shift()
    }
}

struct CountedReader {
    reader: Box<dyn LogReader>,
    counts: Arc<Counts>,
}

impl LogReader for CountedReader {
    fn read(&mut self, patience: Duration, out: &mut Vec<(u64, Vec<u8>)>) -> Result<bool> {
        let before = out.len();
        let is_end = self.reader.read(patience, out)?;
        let new = out.get(before..).unwrap_or_default();
        if !new.is_empty() {
            let LogCounts { records_read, bytes_read, .. } = &self.counts.log;
            records_read.add(new.len() as u64);
            bytes_read.add(new.iter().map(|(_, record)| record.len() as u64).sum());
        }
        Ok(is_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::MemoryLog;

    #[test]
    fn records_are_counted_where_they_pass() {
        let counts = Arc::new(Counts::default());
        let log = Counted::new(Arc::new(MemoryLog::default()), counts.clone());
        log.append(vec![1; 10]).unwrap();
        log.append(vec![2; 5]).unwrap();
        let mut found = vec![(7, vec![0; 100])]; // what was there before does not count
        assert!(log.reader(1).unwrap().read(Duration::ZERO, &mut found).unwrap());
        assert_eq!(found.len(), 2);
        let LogCounts { records_read, bytes_read, records_written, bytes_written } = &counts.log;
        assert_eq!((records_written.get(), bytes_written.get()), (2, 15));
        assert_eq!((records_read.get(), bytes_read.get()), (1, 5));
        log.cut(1).unwrap();
        assert_eq!(log.first().unwrap(), 1);
    }
}
