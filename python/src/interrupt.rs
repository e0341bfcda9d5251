//! Handles Ctrl-C while the engine works.
//!
//! Python runs signal handlers only on its main thread, and only on request. A query or load requests it now and then, from its own
//! thread. If the handler raises an exception (usually `KeyboardInterrupt`), the work stops, and the exception is raised after it
//! has stopped.
//!
//! A long query may continue on a stack of its own. From 3.14 on, CPython compares addresses with the bounds of its thread's stack,
//! and ends the process if they do not fit. So on such a stack a handler waits until the work has stopped, and other Python code
//! runs on another thread: [`with_python`].

use std::cell::{Cell, RefCell};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mangrove::{CancelToken, Progress, Writer, stack};
use mangrove_ingest::Status;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::call;

/// The request takes the interpreter's lock, so it is not made at every opportunity.
pub const INTERVAL: Duration = Duration::from_millis(20);

thread_local! {
    static ASKED: Cell<Option<Duration>> = const { Cell::new(None) };
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// A signal came, and its handler could not run yet.
    static IS_WAITING: Cell<bool> = const { Cell::new(false) };
}

/// A token that is cancelled if a signal handler raises.
pub fn token() -> CancelToken {
    type Probe = Arc<dyn Fn() -> bool + Send + Sync>;
    static PROBE: OnceLock<Probe> = OnceLock::new();
    CancelToken::with_probe(PROBE.get_or_init(|| Arc::new(interrupted)).clone())
}

/// Whether this thread's work must stop: its call was cancelled, or a signal handler raised an exception that is still pending.
pub fn interrupted() -> bool {
    if call::is_cancelled() {
        return true;
    }
    let now = clock();
    if ASKED.get().is_some_and(|asked| now.saturating_sub(asked) < INTERVAL) {
        return IS_WAITING.get() || RAISED.with_borrow(Option::is_some);
    }
    ASKED.set(Some(now));
    if stack::is_moved() {
        IS_WAITING.set(IS_WAITING.get() || Python::attach(is_interrupt_waiting));
        return IS_WAITING.get();
    }
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(raised) => {
            RAISED.set(Some(raised));
            true
        }
    })
}

/// The time since some moment, to within a few milliseconds. A query asks for it at every batch.
#[cfg(target_os = "linux")]
fn clock() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::MonotonicCoarse)).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn clock() -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}

/// Whether SIGINT came. Its handler runs later.
fn is_interrupt_waiting(_: Python<'_>) -> bool {
    // SAFETY: both functions only read and set flags, and this thread holds the interpreter's lock.
    unsafe {
        let has_come = ffi::PyOS_InterruptOccurred() != 0;
        if has_come {
            ffi::PyErr_SetInterrupt();
        }
        has_come
    }
}

/// The exception that a signal handler raised during the last work on this thread.
pub fn take() -> Option<PyErr> {
    if IS_WAITING.take() {
        return Python::attach(|py| py.check_signals().err());
    }
    RAISED.take()
}

/// Runs Python code in the middle of a query.
pub fn with_python<T: Send>(work: impl FnOnce(Python<'_>) -> T + Send) -> T {
    if !stack::is_moved() {
        return Python::attach(work);
    }
    // Writes of this code are still refused if this thread has a transaction open.
    let writer = Writer::this_thread();
    let outcome = std::thread::scope(|scope| scope.spawn(|| writer.act(|| Python::attach(work))).join());
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Calls Python in the middle of work. Returns whether it raised nothing; what it raised is raised again when the work has stopped.
pub fn called<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> bool {
    match Python::attach(call) {
        Ok(_) => true,
        Err(raised) => {
            RAISED.set(Some(raised));
            false
        }
    }
}

/// The progress of a load. Ctrl-C stops the load, and a Python callable gets the progress if there is one.
pub struct Listening {
    pub callback: Option<Py<PyAny>>,
    told: Option<Instant>,
}

impl Listening {
    pub fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, told: None }
    }
}

impl Progress for Listening {
    fn update(&mut self, status: &Status) {
        let Some(callback) = &self.callback else { return };
        if self.told.is_some_and(|told| told.elapsed() < INTERVAL) {
            return;
        }
        self.told = Some(Instant::now());
        called(|py| callback.call1(py, (status.rows, status.bytes_done, status.bytes_total)));
    }

    fn cancelled(&self) -> bool {
        RAISED.with_borrow(Option::is_some) || interrupted()
    }
}
