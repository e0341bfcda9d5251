//! Ctrl-C while the engine works.
//!
//! Python runs signal handlers on its main thread, and only when asked to. A query or load asks now and then, from the thread
//! it runs on; what the handler raises (`KeyboardInterrupt`, as a rule) stops the work and is raised once it has stopped.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mangrove::{CancelToken, Progress};
use mangrove_ingest::Status;
use pyo3::prelude::*;

/// Asking takes the interpreter's lock, so it is not done at every opportunity.
pub const INTERVAL: Duration = Duration::from_millis(20);

thread_local! {
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// A token that is cancelled when a signal handler raises.
pub fn token() -> CancelToken {
    type Probe = Arc<dyn Fn() -> bool + Send + Sync>;
    static PROBE: OnceLock<Probe> = OnceLock::new();
    CancelToken::with_probe(PROBE.get_or_init(|| Arc::new(interrupted)).clone())
}

/// Whether a signal handler has raised something on this thread that is still to be raised.
pub fn interrupted() -> bool {
    let now = Instant::now();
    if ASKED.get().is_some_and(|asked| now.duration_since(asked) < INTERVAL) {
        return RAISED.with_borrow(Option::is_some);
    }
    ASKED.set(Some(now));
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(raised) => {
            RAISED.set(Some(raised));
            true
        }
    })
}

/// What a signal handler raised during the last work on this thread.
pub fn take() -> Option<PyErr> {
    RAISED.take()
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
