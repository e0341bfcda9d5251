//! The log as one process reads it: once, for all its shards.

use std::collections::{BTreeSet, HashMap, VecDeque};
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
    /// Where it began to read.
    first: u64,
    ring: Mutex<Ring>,
    grown: Condvar,
    stopped: AtomicBool,
    /// Whether the log was cut before this process had read it.
    missed: AtomicBool,
}

#[derive(Default)]
struct Ring {
    /// The last records, and their bytes.
    records: VecDeque<(Entry, usize)>,
    bytes: usize,
    /// The offset that is read next, and the checksum of the record before it.
    next: u64,
    last: Option<u64>,
    /// How often the end of the log was reached, and where that was at first.
    ends: u64,
    first_end: Option<u64>,
    failed: Option<String>,
}

impl Tail {
    /// Begins to read where `from` says. [`run`](Self::run) reads.
    pub fn new(log: Arc<dyn Log>, from: u64) -> Self {
        let ring = Mutex::new(Ring { next: from, ..Ring::default() });
        Self {
            log,
            first: from,
            ring,
            grown: Condvar::new(),
            stopped: AtomicBool::new(false),
            missed: AtomicBool::new(false),
        }
    }

    /// Where it began to read.
    pub fn first(&self) -> u64 {
        self.first
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

    /// Whether an offset is within what was read, and not before where the log ended at first.
    pub fn has_read_to(&self, offset: u64) -> bool {
        let ring = self.ring();
        ring.first_end.is_some_and(|end| (end..=ring.next).contains(&offset))
    }

    /// The offset that is read next, and whether the end of the log was reached once.
    pub fn read_to(&self) -> (u64, bool) {
        let ring = self.ring();
        (ring.next, ring.first_end.is_some())
    }

    /// The bytes of the records in memory, about.
    pub fn held(&self) -> usize {
        self.ring().bytes
    }

    /// Where the log ended when its end was reached first.
    pub fn first_end(&self) -> Option<u64> {
        self.ring().first_end
    }

    /// Whether the log can never be read any further.
    pub fn has_failed(&self) -> bool {
        self.ring().failed.is_some()
    }

    /// Whether the log has no record before an offset any more, and not the one there.
    pub fn begins_after(&self, offset: u64) -> bool {
        self.log.first().is_ok_and(|first| first > offset)
    }

    /// Whether the log was cut before this process had read it.
    pub fn has_missed(&self) -> bool {
        self.missed.load(Ordering::Relaxed)
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
                    let next = self.ring().next;
                    self.missed.store(self.begins_after(next), Ordering::Relaxed);
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
        let (next, is_first) = {
            let ring = self.ring();
            (ring.next, ring.last.is_none())
        };
        let reader = match reader {
            Some(reader) => reader,
            None if is_first => reader.insert(self.log.reader(next)?),
            // The last record is read again, to see that it is still the same.
            None => reader.insert(self.log.reader(next - 1)?),
        };
        let mut found = Vec::new();
        let ended = reader.read(PAUSE, &mut found)?;
        let mut ring = self.ring();
        for (_, again) in found.extract_if(.., |(offset, _)| *offset < next) {
            if ring.last.is_some_and(|last| last != Record::sum_of(&again)) {
                return Err(GraphError::corrupt("the log has another record than it had: it has lost its end"));
            }
        }
        drop(ring);
        let records = decoded(found)?;
        ring = self.ring();
        for (entry, bytes) in records {
            (ring.next, ring.last) = (entry.offset + 1, Some(entry.sum));
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

    /// The records from an offset on. Waits for some, at most so long. `behind` is the same at each call of who reads them in order.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if the log cannot be read any further.
    pub fn next(&self, from: u64, patience: Duration, behind: &mut Behind) -> Result<Batch> {
        let until = Instant::now() + patience;
        let mut ring = self.ring();
        let ends = ring.ends;
        loop {
            let first = ring.records.front().map_or(ring.next, |(entry, _)| entry.offset);
            if from < first {
                drop(ring);
                return self.far_behind(from, first, behind);
            }
            behind.0 = None;
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

    /// The changes that parts have, for a shard, one after the other. What is not in memory is read from the log, once.
    pub fn parts<'t>(&'t self, parts: &'t [PartAt], of: u16) -> impl Iterator<Item = Result<Arc<[u8]>>> + 't {
        let mut later = Later::of(parts);
        parts.iter().map(move |at| {
            let is_it = |entry: &&Entry| entry.offset == at.offset;
            let known = self.ring().records.iter().map(|(entry, _)| entry).find(is_it).cloned();
            let entry = if known.is_some() { known } else { later.find(self, at.offset)? };
            match entry.as_ref().map(|entry| (entry.sum, &*entry.record)) {
                Some((sum, Record::Part { shard, changes, .. })) if sum == at.sum && *shard == of => Ok(changes.clone()),
                Some(_) => Err(GraphError::corrupt("a commit names a part that is not in the log")),
                None => Err(GraphError::Unavailable("a part of a commit cannot be read".into())),
            }
        })
    }

    /// Some records that are not in memory any longer.
    fn far_behind(&self, from: u64, until: u64, behind: &mut Behind) -> Result<Batch> {
        let mut reader = match behind.0.take() {
            Some((next, reader)) if next == from => reader,
            _ => self.log.reader(from)?,
        };
        let mut found = Vec::new();
        while found.is_empty() && !self.is_stopped() {
            reader.read(PAUSE, &mut found)?;
        }
        behind.0 = found.last().map(|(last, _)| (last + 1, reader));
        found.retain(|(offset, _)| *offset < until);
        Ok(Batch { records: decoded(found)?.into_iter().map(|(entry, _)| entry).collect(), end: None })
    }
}

/// A reader of the log for who is far behind: it goes on from batch to batch.
#[derive(Default)]
pub struct Behind(Option<(u64, Box<dyn LogReader>)>);

/// A reader of parts that are not in memory. They are wanted almost in the order in which they stand: a few are sent at the same time.
struct Later {
    reader: Option<Box<dyn LogReader>>,
    /// The offsets of those that were not read yet.
    wanted: BTreeSet<u64>,
    /// What was read before it was asked for.
    kept: HashMap<u64, Vec<u8>>,
}

impl Later {
    fn of(parts: &[PartAt]) -> Self {
        Self { reader: None, wanted: parts.iter().map(|part| part.offset).collect(), kept: HashMap::new() }
    }

    /// The part at an offset, or `None` if the node is about to end or the log goes on without it.
    fn find(&mut self, tail: &Tail, offset: u64) -> Result<Option<Entry>> {
        while !tail.is_stopped() {
            if let Some(bytes) = self.kept.remove(&offset) {
                return Ok(decoded(vec![(offset, bytes)])?.pop().map(|(entry, _)| entry));
            }
            let Some(first) = self.wanted.first().copied().filter(|_| self.wanted.contains(&offset)) else { break };
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => none.insert(tail.log.reader(first)?),
            };
            let mut found = Vec::new();
            reader.read(PAUSE, &mut found)?;
            for (at, bytes) in found {
                if self.wanted.remove(&at) {
                    self.kept.insert(at, bytes);
                }
            }
        }
        Ok(None)
    }
}

/// Records, with the bytes that each takes in memory, about.
fn decoded(found: Vec<(u64, Vec<u8>)>) -> Result<Vec<(Entry, usize)>> {
    let decode = |(offset, bytes): (u64, Vec<u8>)| {
        let (sum, record) = (Record::sum_of(&bytes), Arc::new(Record::from_bytes(&bytes)?));
        let held = bytes.len().max(record.bytes());
        Ok((Entry { offset, sum, record }, held))
    };
    found.into_iter().map(decode).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::log::MemoryLog;

    /// A log that can become another one. Who reads it then must ask for a new reader.
    #[derive(Clone, Default)]
    struct Changing(Arc<Mutex<(MemoryLog, u32)>>);

    struct Reading {
        log: Changing,
        inner: Box<dyn LogReader>,
        version: u32,
    }

    impl Log for Changing {
        fn append(&self, record: Vec<u8>) -> Result<()> {
            self.0.lock().unwrap().0.append(record)
        }

        fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
            let (log, version) = self.0.lock().unwrap().clone();
            Ok(Box::new(Reading { log: self.clone(), inner: log.reader(from)?, version }))
        }
    }

    impl LogReader for Reading {
        fn read(&mut self, patience: Duration, out: &mut Vec<(u64, Vec<u8>)>) -> Result<bool> {
            match self.log.0.lock().unwrap().1 == self.version {
                true => self.inner.read(patience.min(PAUSE), out),
                false => Err(GraphError::Unavailable("a connection has ended".into())),
            }
        }
    }

    fn log_of(terms: &[u64]) -> MemoryLog {
        let log = MemoryLog::default();
        for term in terms {
            log.append(Record::Open { term: *term, writer: 7 }.to_bytes().unwrap()).unwrap();
        }
        log
    }

    /// After a connection was lost, reading goes on only if the last record is still the same.
    #[test]
    fn a_log_that_lost_its_end_meanwhile_is_noticed() {
        let log = Changing(Arc::new(Mutex::new((log_of(&[1, 2]), 0))));
        let tail = Tail::new(Arc::new(log.clone()), 0);
        // The end of the log gives a batch without records.
        let some = |batch: &Result<Batch>| batch.as_ref().map_or(true, |batch| !batch.records.is_empty());
        let read = |from| {
            (0..400).map(|_| tail.next(from, PAUSE, &mut Behind::default())).find(some).expect("records, or an error")
        };
        std::thread::scope(|scope| {
            scope.spawn(|| tail.run());
            let _ending = Ending(&tail); // whatever fails
            assert_eq!(read(0).unwrap().records.len(), 2);
            *log.0.lock().unwrap() = (log_of(&[1, 2, 3]), 1);
            assert_eq!(read(2).unwrap().records.len(), 1, "the same log, with one record more");
            *log.0.lock().unwrap() = (log_of(&[1, 2, 4, 5]), 2);
            let failed = read(3).map(|batch| batch.records.len()).expect_err("another log").to_string();
            assert!(failed.contains("the log has another record than it had"), "{failed}");
            assert!(tail.has_failed());
        });
    }

    /// A log that counts its readers.
    #[derive(Default)]
    struct Counting(MemoryLog, AtomicUsize);

    impl Log for Counting {
        fn append(&self, record: Vec<u8>) -> Result<()> {
            self.0.append(record)
        }

        fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.reader(from)
        }
    }

    /// Parts that are not in memory are read by one reader, also if they stand in another order. Each must be what the commit names.
    #[test]
    fn parts_are_read_from_the_log_once() {
        let (log, mut at) = (Counting::default(), Vec::new());
        for (offset, shard) in [9, 0, 1, 0, 0, 1].into_iter().enumerate() {
            let record = match shard {
                9 => Record::Open { term: 1, writer: 7 },
                shard => Record::Part { id: 5, shard, changes: vec![offset as u8; 10].into(), version: 1 },
            };
            let bytes = record.to_bytes().unwrap();
            at.push(PartAt { offset: offset as u64, sum: Record::sum_of(&bytes) });
            log.append(bytes).unwrap();
        }
        let log = Arc::new(log);
        let tail = Tail::new(log.clone(), 0);
        let of_shard_0 = [at[3], at[1], at[4]];
        let read: Result<Vec<_>> = tail.parts(&of_shard_0, 0).collect();
        assert_eq!(read.unwrap().iter().map(|changes| changes[0]).collect::<Vec<_>>(), [3, 1, 4]);
        assert_eq!(log.1.load(Ordering::Relaxed), 1);
        let changed = PartAt { sum: at[1].sum ^ 1, ..at[1] };
        for (wrong, shard) in [(changed, 0), (at[2], 0), (at[0], 0)] {
            let error = tail.parts(&[wrong], shard).next().expect("an outcome").unwrap_err();
            assert!(matches!(error, GraphError::Corrupt(_)), "{error}");
        }
        tail.stop();
        let stopped = tail.parts(&of_shard_0, 0).next().expect("an outcome");
        assert!(matches!(stopped, Err(GraphError::Unavailable(_))), "{stopped:?}");
    }

    struct Ending<'a>(&'a Tail);

    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            self.0.stop();
        }
    }
}
