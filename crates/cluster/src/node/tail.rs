//! The log as one process reads it: once, for all its shards.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

use crate::log::{Log, LogReader, PartAt, Record};

/// The last records stay in memory for those who are a little behind: so many bytes of them.
const KEPT_BYTES: usize = 64 << 20;
/// How long reading waits before it looks whether it should stop.
const PAUSE: Duration = Duration::from_millis(25);

/// How often a node says that it cannot read the log.
const SAYING: Duration = Duration::from_secs(10);

/// A record and where it stands.
#[derive(Clone)]
pub struct Entry {
    pub offset: u64,
    pub sum: u64,
    pub record: Arc<Record>,
}

/// What was read.
#[derive(Default)]
pub struct Batch {
    pub records: Vec<Entry>,
    /// If the log had no more then: the offset that comes next.
    pub end: Option<u64>,
}

pub struct Tail {
    log: Arc<dyn Log>,
    ring: Mutex<Ring>,
    grown: Condvar,
    stopped: AtomicBool,
}

#[derive(Default)]
struct Ring {
    /// The last records, and their bytes.
    records: VecDeque<(Entry, usize)>,
    bytes: usize,
    /// The offset that is read next.
    next: u64,
    /// How often the end of the log was reached, and where that was at first.
    ends: u64,
    first_end: Option<u64>,
    failed: Option<String>,
}

impl Tail {
    /// Begins to read where `from` says. [`run`](Self::run) reads.
    pub fn new(log: Arc<dyn Log>, from: u64) -> Self {
        let ring = Mutex::new(Ring { next: from, ..Ring::default() });
        Self { log, ring, grown: Condvar::new(), stopped: AtomicBool::new(false) }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.grown.notify_all();
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Where the log ended when it was read to its end for the first time.
    pub fn first_end(&self) -> Option<u64> {
        self.ring().first_end
    }

    /// Reads until it is stopped.
    pub fn run(&self) {
        let (mut reader, mut said): (Option<Box<dyn LogReader>>, Option<Instant>) = (None, None);
        while !self.is_stopped() {
            let outcome = self.read_some(&mut reader);
            if let Err(error) = outcome {
                let is_final = matches!(error, GraphError::Corrupt(_) | GraphError::Invalid(_));
                if is_final || said.is_none_or(|said| said.elapsed() >= SAYING) {
                    tracing::error!(%error, "the log cannot be read");
                    said = Some(Instant::now());
                }
                if is_final {
                    self.ring().failed = Some(error.to_string());
                    self.grown.notify_all();
                    return;
                }
                reader = None;
                std::thread::sleep(PAUSE);
            }
        }
    }

    fn read_some(&self, reader: &mut Option<Box<dyn LogReader>>) -> Result<()> {
        let next = self.ring().next;
        let reader = match reader {
            Some(reader) => reader,
            None => reader.insert(self.log.reader(next)?),
        };
        let mut found = Vec::new();
        let ended = reader.read(PAUSE, &mut found)?;
        let records = decoded(found)?;
        let mut ring = self.ring();
        for (entry, bytes) in records {
            ring.next = entry.offset + 1;
            ring.bytes += bytes;
            ring.records.push_back((entry, bytes));
        }
        while ring.bytes > KEPT_BYTES && ring.records.len() > 1 {
            let gone = ring.records.pop_front().map_or(0, |(_, bytes)| bytes);
            ring.bytes -= gone;
        }
        if ended {
            ring.ends += 1;
            ring.first_end = ring.first_end.or(Some(ring.next));
        }
        drop(ring);
        self.grown.notify_all();
        Ok(())
    }

    /// The records from an offset on. Waits for some, at most so long.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if the log cannot be read any further.
    pub fn next(&self, from: u64, patience: Duration) -> Result<Batch> {
        let until = Instant::now() + patience;
        let mut ring = self.ring();
        let ends = ring.ends;
        loop {
            let first = ring.records.front().map_or(ring.next, |(entry, _)| entry.offset);
            if from < first {
                drop(ring);
                return self.far_behind(from, first);
            }
            if from < ring.next {
                let skipped = (from - first) as usize;
                let records = ring.records.iter().skip(skipped).map(|(entry, _)| entry.clone()).collect();
                return Ok(Batch { records, end: None });
            }
            if let Some(why) = &ring.failed {
                return Err(GraphError::Unavailable(format!("the log cannot be read: {why}")));
            }
            let left = until.saturating_duration_since(Instant::now());
            if ring.ends > ends || left.is_zero() || self.is_stopped() {
                let end = (ring.ends > ends).then_some(ring.next);
                return Ok(Batch { records: Vec::new(), end });
            }
            ring = self.grown.wait_timeout(ring, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The changes that a part has, for a shard.
    ///
    /// # Errors
    /// [`GraphError::Corrupt`] if something else stands there, [`GraphError::Unavailable`] if the log cannot be read.
    pub fn part(&self, at: PartAt, of: u16) -> Result<Arc<[u8]>> {
        let is_it = |entry: &&Entry| entry.offset == at.offset;
        let known = self.ring().records.iter().map(|(entry, _)| entry).find(is_it).cloned();
        let entry = match known {
            Some(entry) => Some(entry),
            None => self.far_behind(at.offset, at.offset + 1)?.records.into_iter().next(),
        };
        match entry.as_ref().map(|entry| (entry.sum, &*entry.record)) {
            Some((sum, Record::Part { shard, changes, .. })) if sum == at.sum && *shard == of => Ok(changes.clone()),
            Some(_) => Err(GraphError::corrupt("a commit names a part that is not in the log")),
            None => Err(GraphError::Unavailable("a part of a commit cannot be read".into())),
        }
    }

    /// Some records that are not in memory any longer.
    fn far_behind(&self, from: u64, until: u64) -> Result<Batch> {
        let (mut reader, mut found) = (self.log.reader(from)?, Vec::new());
        while found.is_empty() && !self.is_stopped() {
            reader.read(PAUSE, &mut found)?;
        }
        found.retain(|(offset, _)| *offset < until);
        Ok(Batch { records: decoded(found)?.into_iter().map(|(entry, _)| entry).collect(), end: None })
    }
}

/// Records, with the bytes that each takes.
fn decoded(found: Vec<(u64, Vec<u8>)>) -> Result<Vec<(Entry, usize)>> {
    let decode = |(offset, bytes): (u64, Vec<u8>)| {
        let (sum, record) = (Record::sum_of(&bytes), Arc::new(Record::from_bytes(&bytes)?));
        Ok((Entry { offset, sum, record }, bytes.len()))
    };
    found.into_iter().map(decode).collect()
}
