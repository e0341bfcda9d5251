//! Streams of results whose reader may stop reading.
//!
//! An unfinished stream holds a snapshot. That keeps space in the file of the tables from being reused, and takes slots in LMDB's
//! table of readers. So a database has a bounded number of streams per process. A stream also ends when its time is over, even if
//! nobody reads it. A thread waits for the next stream that is due, and ends when there is none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::describe::Described;
use crate::error::QueryError;
use crate::results::Results;
use crate::stream::ResultStream;

/// The most unfinished streams of a database in a process.
pub const STREAMS_MAX: usize = 1000;
/// The most streams that threads may help. Each helping thread takes a snapshot of its own.
pub const STREAMS_HELPED: usize = 16;

/// The unfinished streams of a database.
#[derive(Default)]
pub struct Open(AtomicUsize);

impl Open {
    /// Takes a place for one more stream.
    pub fn enter(self: &Arc<Self>) -> Result<StreamSlot, QueryError> {
        let place = StreamSlot { at: self.0.fetch_add(1, Ordering::Relaxed), open: self.clone() };
        if place.at < STREAMS_MAX {
            return Ok(place);
        }
        let what = format!(
            "this process has {STREAMS_MAX} streams of the database open, and can have no more: read some to their end, or \
                     close them"
        );
        Err(mangrove_graph::GraphError::Invalid(what).into())
    }
}

pub struct StreamSlot {
    at: usize,
    open: Arc<Open>,
}

impl StreamSlot {
    /// Whether threads may help this stream.
    pub fn is_helped(&self) -> bool {
        self.at < STREAMS_HELPED
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.open.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The results of a query that only reads, on demand. The stream ends with its last result, when it is closed or dropped, or when
/// its time is over.
#[derive(Clone)]
pub struct Stream {
    state: Arc<Mutex<State>>,
}

enum State {
    Open {
        results: Box<ResultStream>,
        _place: StreamSlot,
    },
    Ended {
        warnings: Vec<String>,
    },
    /// Ended by its timeout.
    Expired(Duration),
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream {
    pub(crate) fn new(results: ResultStream, place: StreamSlot, timeout: Option<Duration>) -> Self {
        let state = Arc::new(Mutex::new(State::Open { results: Box::new(results), _place: place }));
        if let Some(timeout) = timeout {
            Reaper::watch(&state, timeout);
        }
        Self { state }
    }

    /// The next results with their elements read whole, a few hundred to a few thousand; `None` at the end.
    ///
    /// # Errors
    /// Those of the query. [`QueryErrorKind::Timeout`](crate::QueryErrorKind::Timeout) once the time of the stream is over.
    pub fn next_batch(&self) -> Result<Option<Vec<Described>>, QueryError> {
        self.read(ResultStream::next_described)
    }

    /// The next results in columns, with their elements read whole: at least `rows`, or all that remain; `None` at the end.
    ///
    /// # Errors
    /// As for [`next_batch`](Self::next_batch). Also if the results take more memory than the query may use.
    pub fn next_results(&self, rows: usize) -> Result<Option<Results>, QueryError> {
        self.read(|results| Ok(Some(results.some_results(rows)?).filter(|results| !results.is_empty())))
    }

    /// Reads on. If there is nothing more, the stream ends.
    fn read<T>(
        &self,
        next: impl FnOnce(&mut ResultStream) -> Result<Option<T>, QueryError>,
    ) -> Result<Option<T>, QueryError> {
        let mut state = locked(&self.state);
        let results = match &mut *state {
            State::Open { results, .. } => results,
            State::Ended { .. } => return Ok(None),
            State::Expired(timeout) => return Err(expired(*timeout)),
        };
        let batch = next(results);
        if !matches!(batch, Ok(Some(_))) {
            *state = State::Ended { warnings: results.warnings().to_vec() };
        }
        batch
    }

    /// An empty result that has the columns of the results.
    pub(crate) fn no_results(&self) -> Results {
        match &mut *locked(&self.state) {
            State::Open { results, .. } => results.some_results(0).unwrap_or_default(),
            _ => Results::default(),
        }
    }

    /// Takes the warnings for the author of the query. They are complete at the end.
    pub fn take_warnings(&self) -> Vec<String> {
        match &mut *locked(&self.state) {
            State::Ended { warnings } => std::mem::take(warnings),
            _ => Vec::new(),
        }
    }

    /// Stops the query and releases its snapshot.
    pub fn close(&self) {
        *locked(&self.state) = State::Ended { warnings: Vec::new() };
    }

    pub fn is_open(&self) -> bool {
        matches!(*locked(&self.state), State::Open { .. })
    }
}

fn expired(timeout: Duration) -> QueryError {
    let message = format!("the stream was open longer than its timeout of {timeout:?}, so it was closed");
    mangrove_query::QueryError::new(mangrove_query::QueryErrorKind::Timeout, message).into()
}

/// The streams with a timeout.
#[derive(Default)]
struct Reaper {
    watched: Vec<(Instant, Duration, Weak<Mutex<State>>)>,
    /// The process of its thread. A forked child does not have the thread.
    runs_in: Option<u32>,
}

static REAPER: Mutex<Reaper> = Mutex::new(Reaper { watched: Vec::new(), runs_in: None });
static WATCHED_MORE: Condvar = Condvar::new();
/// A stream that is due while somebody reads it is checked again after this time, if the read does not end it.
const BUSY: Duration = Duration::from_millis(100);

impl Reaper {
    fn watch(state: &Arc<Mutex<State>>, timeout: Duration) {
        // A timeout beyond the range of the clock never comes.
        let Some(due) = Instant::now().checked_add(timeout) else { return };
        let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
        reaper.watched.push((due, timeout, Arc::downgrade(state)));
        let this = Some(std::process::id());
        if reaper.runs_in != this {
            let thread = std::thread::Builder::new().name("mangrove streams".into()).spawn(Self::run);
            reaper.runs_in = thread.is_ok().then_some(()).and(this);
        }
        WATCHED_MORE.notify_all();
    }

    fn run() {
        let mut reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let over = reaper.end_due();
            if !over.is_empty() {
                // Releasing snapshots may take a while.
                drop(reaper);
                drop(over);
                reaper = REAPER.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let Some(next) = reaper.watched.iter().map(|(due, ..)| *due).min() else {
                reaper.runs_in = None;
                return;
            };
            let wait = next.saturating_duration_since(Instant::now());
            reaper = WATCHED_MORE.wait_timeout(reaper, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the streams whose time is over. Returns what they held.
    fn end_due(&mut self) -> Vec<State> {
        let (now, mut over) = (Instant::now(), Vec::new());
        self.watched.retain_mut(|(due, timeout, state)| {
            let Some(state) = state.upgrade() else { return false };
            if *due > now {
                return true;
            }
            let Ok(mut state) = state.try_lock() else {
                *due = now + BUSY;
                return true;
            };
            if let State::Open { .. } = *state {
                over.push(std::mem::replace(&mut *state, State::Expired(*timeout)));
            }
            false
        });
        over
    }
}
