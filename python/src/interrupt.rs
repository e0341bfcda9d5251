//! Ctrl-C while the engine works.
//!
//! Python runs signal handlers on its main thread, and only when asked to. A query or load asks now and then, from the thread
//! it runs on; what the handler raises (`KeyboardInterrupt`, as a rule) stops the work and is raised once it has stopped.
//!
//! A long query may go on with a stack of its own. CPython compares addresses with the bounds of its thread's stack from 3.14 on, and
//! ends the process where they do not fit. So there a handler waits until the work has stopped, and other Python code runs on another
//! thread: [`with_python`].

use std::cell::{Cell, RefCell};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mangrove::{CancelToken, Progress, Writer, stack};
use mangrove_ingest::Status;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::call;

/// Asking takes the interpreter's lock, so it is not done at every opportunity.
pub const INTERVAL: Duration = Duration::from_millis(20);

thread_local! {
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// A signal came whose handler could not run yet.
    static IS_WAITING: Cell<bool> = const { Cell::new(false) };
}

/// A token that is cancelled when a signal handler raises.
pub fn token() -> CancelToken {
    type Probe = Arc<dyn Fn() -> bool + Send + Sync>;
    static PROBE: OnceLock<Probe> = OnceLock::new();
    CancelToken::with_probe(PROBE.get_or_init(|| Arc::new(interrupted)).clone())
}

/// Whether this thread's work is to stop: its call was cancelled, or a signal handler has raised something that is still to be raised.
pub fn interrupted() -> bool {
    if call::is_cancelled() {
        return true;
    }
    let now = Instant::now();
    if ASKED.get().is_some_and(|asked| now.duration_since(asked) < INTERVAL) {
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

/// Whether SIGINT came, whose handler is left to run later.
fn is_interrupt_waiting(_: Python<'_>) -> bool {
    // SAFETY: both only read and set flags, and the interpreter's lock is held.
    unsafe {
        let has_come = ffi::PyOS_InterruptOccurred() != 0;
        if has_come {
            ffi::PyErr_SetInterrupt();
        }
        has_come
    }
}

/// What a signal handler raised during the last work on this thread.
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
    // What it writes is still refused where this thread has a transaction open.
    let writer = Writer::this_thread();
    let outcome = std::thread::scope(|scope| scope.spawn(|| writer.act(|| Python::attach(work))).join());
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A progress report for a load that Ctrl-C stops, told to a Python callable if there is one.
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
        Python::attach(|py| {
            if let Err(raised) = callback.call1(py, (status.rows, status.bytes_done, status.bytes_total)) {
                RAISED.set(Some(raised));
            }
        });
    }

    fn cancelled(&self) -> bool {
        RAISED.with_borrow(Option::is_some) || interrupted()
    }
}
