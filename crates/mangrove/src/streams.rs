//! Results that are read as they come, by whoever may forget to read on.
//!
//! An unfinished stream holds a snapshot, and with it room in the file of the tables and places in LMDB's table of readers. So a database
//! has a bounded number of them in a process, and one whose time is over is ended though nobody asks it for anything: a thread
//! waits for the next that is due, and ends when there is none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::describe::Described;
use crate::error::QueryError;
use crate::results::Results;
use crate::stream::ResultStream;

/// How many unfinished streams a database may have in a process.
pub const STREAMS_MAX: usize = 1000;
/// How many of them may have threads help, each of which takes a snapshot of its own.
pub const STREAMS_HELPED: usize = 16;

/// The unfinished streams of a database.
#[derive(Default)]
pub struct Open(AtomicUsize);

impl Open {
    /// A place for one more.
    pub fn enter(self: &Arc<Self>) -> Result<Place, QueryError> {
        let place = Place { at: self.0.fetch_add(1, Ordering::Relaxed), open: self.clone() };
        if place.at < STREAMS_MAX {
            return Ok(place);
        }
        let what =
            format!("{STREAMS_MAX} streams of the database are open in this process: read them to their ends or close them");
        Err(mangrove_graph::GraphError::Invalid(what).into())
    }
}

pub struct Place {
    at: usize,
    open: Arc<Open>,
}

impl Place {
    /// Whether threads may help this stream.
    pub fn is_helped(&self) -> bool {
        self.at < STREAMS_HELPED
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The results of a query that only reads, given as they are asked for. It ends with its results, when it is closed or dropped, and
/// when its time is over.
#[derive(Clone)]
pub struct Stream {
    state: Arc<Mutex<State>>,
}

enum State {
    Open {
        results: Box<ResultStream>,
        _place: Place,
    },
    Ended {
        warnings: Vec<String>,
    },
    /// After so long.
    Expired(Duration),
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream {
    pub(crate) fn new(results: ResultStream, place: Place, timeout: Option<Duration>) -> Self {
        let state = Arc::new(Mutex::new(State::Open { results: Box::new(results), _place: place }));
        if let Some(timeout) = timeout {
            Reaper::watch(&state, timeout);
        }
        Self { state }
    }

    /// The next results with their elements read whole, some hundreds to thousands at a time; `None` at the end.
    ///
    /// # Errors
    /// Those of the query, and [`QueryErrorKind::Timeout`](crate::QueryErrorKind::Timeout) once its time is over.
    pub fn next_batch(&self) -> Result<Option<Vec<Described>>, QueryError> {
        self.read(|results| {
            let Some(values) = results.next_batch()? else { return Ok(None) };
            values.iter().map(|value| results.describe(value)).collect::<Result<_, _>>().map(Some)
        })
    }

    /// The next results in columns, with their elements read whole: as many as are left or a few more than `rows`; `None` at the end.
    ///
    /// # Errors
    /// As [`next_batch`](Self::next_batch), and if they take more memory than the query may have.
    pub fn next_results(&self, rows: usize) -> Result<Option<Results>, QueryError> {
        self.read(|results| Ok(Some(results.some_results(rows)?).filter(|results| !results.is_empty())))
    }

    /// Reads on; the stream has ended once there is nothing more.
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

    /// What there would be if there were no results: their columns.
    pub(crate) fn no_results(&self) -> Results {
        match &mut *locked(&self.state) {
            State::Open { results, .. } => results.some_results(0).unwrap_or_default(),
            _ => Results::default(),
        }
    }

    /// What the query wants its author to know, once: complete at the end.
    pub fn take_warnings(&self) -> Vec<String> {
        match &mut *locked(&self.state) {
            State::Ended { warnings } => std::mem::take(warnings),
            _ => Vec::new(),
        }
    }

    /// Stops the query and lets go of its snapshot.
    pub fn close(&self) {
        *locked(&self.state) = State::Ended { warnings: Vec::new() };
    }

    pub fn is_open(&self) -> bool {
        matches!(*locked(&self.state), State::Open { .. })
    }
}

fn expired(timeout: Duration) -> QueryError {
    let message = format!("the stream was open longer than its timeout of {timeout:?}, and was ended");
    mangrove_query::QueryError::new(mangrove_query::QueryErrorKind::Timeout, message).into()
}

/// The streams that end some time.
#[derive(Default)]
struct Reaper {
    watched: Vec<(Instant, Duration, Weak<Mutex<State>>)>,
    /// The process its thread runs in: a forked child has none.
    runs_in: Option<u32>,
}

static REAPER: Mutex<Reaper> = Mutex::new(Reaper { watched: Vec::new(), runs_in: None });
static WATCHED_MORE: Condvar = Condvar::new();
/// One that is being read when its time is over ends by itself, or is looked at again after this long.
const BUSY: Duration = Duration::from_millis(100);

impl Reaper {
    fn watch(state: &Arc<Mutex<State>>, timeout: Duration) {
        // A time too long to be told on the clock never comes.
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
                // To let go of snapshots may take a while.
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

    /// Ends the streams whose time is over, and gives what they held.
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
