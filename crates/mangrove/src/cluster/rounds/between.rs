//! Frames from node to node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use mangrove_analytics::AnalyticsError;
use mangrove_analytics::engine::{Frame, Report, Transport};
use mangrove_cluster::gateway::Peer;
use mangrove_cluster::wire::{Call, Opaque, Reply, from_bytes, to_bytes};
use mangrove_graph::{GraphError, ReadContext};

use super::job::Job;
use super::words::{Asked, Told};

/// The most bytes of a message. A longer frame goes in pieces.
const PIECE_BYTES: usize = 16 << 20;

/// Says something to a node, and waits for what it tells. Also returns the bytes of what was said.
///
/// # Errors
/// What the node says has failed. [`GraphError::Unavailable`] if it is not there, or does no such work.
pub fn say(peer: &dyn Peer, asked: &Asked, limits: &ReadContext) -> Result<(Told, usize), AnalyticsError> {
    say_with(peer, asked, limits, false).map(|(told, sent, _)| (told, sent))
}

/// The same. Also returns the bytes of the reply. Who gives up does not wait for a node that seems to be frozen.
///
/// # Errors
/// As [`say`].
pub fn say_with(
    peer: &dyn Peer,
    asked: &Asked,
    limits: &ReadContext,
    gives_up: bool,
) -> Result<(Told, usize, usize), AnalyticsError> {
    let left = limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let asked = to_bytes(asked)?;
    let bytes = asked.len();
    let call = Call::Rounds { left, asked: Opaque(asked) };
    let reply = match gives_up {
        true => peer.call_or_give_up(&call, Some(limits))?,
        false => peer.call(&call, Some(limits))?,
    };
    match reply {
        Reply::Rounds(told) => match from_bytes(&told.0)? {
            Told::Failed(failure) => Err(failure.into()),
            said => Ok((said, bytes, told.0.len())),
        },
        _ => Err(GraphError::Unavailable("it does no work in rounds".into()).into()),
    }
}

/// The name of the node that has a part, and the way to it; `None` for the own part.
pub type PartWay = Option<(String, Arc<dyn Peer>)>;

/// The ways to the other parts of a job.
pub struct Between<'j> {
    pub job: &'j Job,
    /// By part; none to the part itself.
    pub ways: Vec<PartWay>,
    pub limits: ReadContext,
    round: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl<'j> Between<'j> {
    pub fn new(job: &'j Job, ways: Vec<PartWay>, limits: ReadContext) -> Self {
        Self { job, ways, limits, round: AtomicU64::new(0), messages: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// All messages so far.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// From now on, the bytes of messages count.
    pub fn count(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// The bytes of all messages since then.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sends a frame, and waits until it has arrived.
    fn send(&self, round: u64, frame: &Frame) -> Result<(), AnalyticsError> {
        let way = self.ways.get(frame.to as usize).and_then(Option::as_ref);
        let (name, peer) = way.ok_or_else(|| AnalyticsError::invalid("a frame to a part that is not there"))?;
        for piece in frame.bytes.chunks(PIECE_BYTES) {
            let bytes = Opaque(piece.to_vec());
            let asked = Asked::Frame { job: self.job.id, round, from: frame.from, bytes };
            let said = say(&**peer, &asked, &self.limits).map_err(|error| named(name, error))?;
            self.messages.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(said.1 as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// An error of a node, with its name.
pub fn named(name: &str, error: AnalyticsError) -> AnalyticsError {
    match error {
        AnalyticsError::Graph(GraphError::Unavailable(what)) if !what.starts_with(name) => {
            GraphError::Unavailable(format!("{name}: {what}")).into()
        }
        error => error,
    }
}

impl Transport for Between<'_> {
    fn exchange(&self, frames: Vec<Frame>, report: Report) -> Result<(Vec<Frame>, Report), AnalyticsError> {
        let round = self.round.fetch_add(1, Ordering::Relaxed);
        match &frames[..] {
            [] => {}
            [only] => self.send(round, only)?,
            // Each waits for another node.
            several => std::thread::scope(|scope| {
                let sending: Vec<_> = several.iter().map(|frame| scope.spawn(move || self.send(round, frame))).collect();
                let panicked = |_| Err(AnalyticsError::Panicked("a thread that sends frames".into()));
                sending.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(panicked))
            })?,
        }
        drop(frames);
        let sum = self.job.pass(round, report, &self.limits)?;
        Ok((self.job.frames(round), sum))
    }
}
