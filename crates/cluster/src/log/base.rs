//! Where a log begins: with its graph, or with what all records before said, if these were deleted or lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

use super::carrier::{Log, LogReader};
use super::record::{GraphRecord, Record};

const PAUSE: Duration = Duration::from_millis(100);

/// The graph of a log, and the log in the offsets of its graph.
pub struct Beginning {
    pub graph: GraphRecord,
    pub log: Arc<dyn Log>,
}

/// Reads the first record of a log. Waits for it, at most so long.
///
/// # Errors
/// If it has none, cannot be read, or is no log of a graph.
pub fn beginning(log: Arc<dyn Log>, patience: Duration) -> Result<Beginning> {
    let until = Instant::now() + patience;
    let (mut reader, mut found) = (log.reader(log.first()?)?, Vec::new());
    loop {
        let ended = reader.read(PAUSE, &mut found)?;
        if let Some((_, first)) = found.first() {
            return match Record::from_bytes(first)? {
                Record::Graph(graph) => Ok(Beginning { graph, log }),
                Record::Base(base) if base.shift == 0 => Ok(Beginning { graph: base.graph, log }),
                Record::Base(base) => {
                    Ok(Beginning { graph: base.graph, log: Arc::new(Shifted { inner: log, shift: base.shift }) })
                }
                _ => Err(GraphError::corrupt("a log that does not begin with its graph")),
            };
        }
        if ended {
            return Err(GraphError::Invalid("the log has no graph: `mangrove cluster create` makes one".into()));
        }
        if Instant::now() >= until {
            return Err(GraphError::Unavailable("the log cannot be read".into()));
        }
    }
}

/// A log whose first records were lost. It goes on where a backup ends.
struct Shifted {
    inner: Arc<dyn Log>,
    shift: u64,
}

fn too_far() -> GraphError {
    GraphError::corrupt("a log with offsets beyond all numbers")
}

struct ShiftedReader {
    inner: Box<dyn LogReader>,
    shift: u64,
}

impl Shifted {
    fn carried(&self, offset: u64) -> Result<u64> {
        offset.checked_sub(self.shift).ok_or_else(super::carrier::was_cut)
    }
}

impl Log for Shifted {
    fn append(&self, record: Vec<u8>) -> Result<()> {
        self.inner.append(record)
    }

    fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
        Ok(Box::new(ShiftedReader { inner: self.inner.reader(self.carried(from)?)?, shift: self.shift }))
    }

    fn first(&self) -> Result<u64> {
        self.inner.first()?.checked_add(self.shift).ok_or_else(too_far)
    }

    fn cut(&self, before: u64) -> Result<()> {
        self.inner.cut(self.carried(before)?)
    }

    fn shift(&self) -> u64 {
        self.shift
    }
}

impl LogReader for ShiftedReader {
    fn read(&mut self, patience: Duration, out: &mut Vec<(u64, Vec<u8>)>) -> Result<bool> {
        let before = out.len();
        let ended = self.inner.read(patience, out);
        for (offset, _) in &mut out[before..] {
            *offset = offset.checked_add(self.shift).ok_or_else(too_far)?;
        }
        ended
    }
}
