//! Whose turn it is to write. One thread writes at a time.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

use crate::store::{StoreState, locked};

/// How long a newcomer lets those go first who wait already.
const COURTESY: Duration = Duration::from_micros(300);
/// How often a waiting thread asks whether to go on.
const ASKING_INTERVAL: Duration = Duration::from_millis(20);
/// How long a thread waits for a transaction that it began and that another thread may end, if its timeout is not longer.
const OWN_PATIENCE: Duration = Duration::from_secs(5);

/// Who writes. It is named to those who wait, and keeps a thread from waiting for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    pub thread: ThreadId,
    pub name: String,
    /// Whether another thread may end what this one began. If none can, the thread that began it must not wait for it.
    pub may_move: bool,
}

thread_local! {
    /// The writer that this thread works for, if not for itself.
    static ACTS_FOR: RefCell<Option<Writer>> = const { RefCell::new(None) };
}

impl Writer {
    /// Works on this thread on behalf of this writer, who waits for the work on another thread.
    pub fn act<T>(self, work: impl FnOnce() -> T) -> T {
        let before = ACTS_FOR.replace(Some(self));
        let done = work();
        ACTS_FOR.set(before);
        done
    }

    pub fn this_thread() -> Self {
        if let Some(writer) = ACTS_FOR.with_borrow(Option::clone) {
            return writer;
        }
        let thread = thread::current();
        let name = match thread.name() {
            Some(name) => format!("thread {name:?} of this process"),
            None => "another thread of this process".into(),
        };
        Self { thread: thread.id(), name, may_move: false }
    }
}

/// What may end the wait for a turn.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    pub timeout: Option<Duration>,
    pub cancelled: &'a dyn Fn() -> bool,
}

impl Patience<'_> {
    /// Waits for ever.
    pub const ENDLESS: Patience<'static> = Patience { timeout: None, cancelled: &|| false };
}

impl fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(crate) struct Turn {
    writing: Mutex<Option<(Writer, Instant)>>,
    free: Condvar,
    /// How many threads wait.
    waiting: AtomicUsize,
}

impl Turn {
    /// Whether this writer has the turn.
    pub fn is_of(&self, writer: &Writer) -> bool {
        locked(&self.writing).as_ref().is_some_and(|(other, _)| other.thread == writer.thread)
    }
}

/// Counts one waiting thread.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The turn of one writer. Dropping it ends the turn.
pub(crate) struct MyTurn {
    shared: Arc<StoreState>,
    at: fn(&StoreState) -> &Turn,
}

impl MyTurn {
    /// Waits for a turn at something that only one thread may do at a time.
    pub fn wait(shared: &Arc<StoreState>, at: fn(&StoreState) -> &Turn, me: Writer, patience: Patience<'_>) -> Result<Self> {
        let started = Instant::now();
        let own_patience = patience.timeout.unwrap_or_default().max(OWN_PATIENCE);
        let turn = at(shared);
        if turn.waiting.load(Ordering::Relaxed) > 0 && !turn.is_of(&me) {
            // A thread that has waited goes first. It has been woken, and needs a moment.
            thread::sleep(COURTESY);
        }
        let mut writing = locked(&turn.writing);
        let mut waiting = None;
        while let Some((other, since)) = &*writing {
            if other.thread == me.thread && !(other.may_move && started.elapsed() < own_patience) {
                return Err(GraphError::OpenAlready);
            }
            let timed_out = patience.timeout.is_some_and(|timeout| started.elapsed() >= timeout);
            let busy = (other.name.clone(), since.elapsed());
            waiting.get_or_insert_with(|| Waiting::new(&turn.waiting));
            // Ask without the lock: `cancelled` may take time, or a lock of its own.
            drop(writing);
            if timed_out || (patience.cancelled)() {
                let (holder, held) = busy;
                return Err(GraphError::Busy { holder, held, waited: started.elapsed(), timed_out });
            }
            writing = locked(&turn.writing);
            if writing.is_some() {
                let left = patience.timeout.map_or(ASKING_INTERVAL, |timeout| timeout.saturating_sub(started.elapsed()));
                let waited = turn.free.wait_timeout(writing, left.min(ASKING_INTERVAL));
                writing = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        *writing = Some((me, Instant::now()));
        drop(writing);
        drop(waiting);
        Ok(Self { shared: shared.clone(), at })
    }
}

impl Drop for MyTurn {
    fn drop(&mut self) {
        let turn = (self.at)(&self.shared);
        *locked(&turn.writing) = None;
        turn.free.notify_one();
    }
}
