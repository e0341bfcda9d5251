//! A call that another thread can stop. With it, the asynchronous API runs the engine on threads of its own.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{self, QueryError};

/// A function, called once on some thread. Another thread may cancel it. Its warnings gather here, and are raised where the caller
/// waits for it.
#[pyclass(frozen, module = "mangrovedb", name = "_Call")]
#[derive(Default)]
pub struct Call {
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    warnings: Mutex<Vec<String>>,
}

thread_local! {
    /// The call this thread runs.
    static RUNNING: RefCell<Option<Arc<State>>> = const { RefCell::new(None) };
}

/// Whether the call this thread runs was cancelled.
pub fn is_cancelled() -> bool {
    RUNNING.with_borrow(|call| call.as_ref().is_some_and(|call| call.cancelled.load(Ordering::Relaxed)))
}

/// Keeps a warning for the caller who waits for this thread's call. Returns whether there is such a call.
pub fn keep_warning(message: &str) -> bool {
    RUNNING.with_borrow(|call| {
        let Some(call) = call else { return false };
        call.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_owned());
        true
    })
}

#[pymethods]
impl Call {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[pyo3(signature = (function, *arguments, **named))]
    fn run<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.state.cancelled.load(Ordering::Relaxed) {
            return Err(QueryError::new_err("cancelled before it began"));
        }
        let before = RUNNING.replace(Some(self.state.clone()));
        let outcome = function.call(arguments, named);
        RUNNING.set(before);
        outcome
    }

    fn cancel(&self) {
        self.state.cancelled.store(true, Ordering::Relaxed);
    }

    /// Raises the gathered warnings.
    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let warnings = std::mem::take(&mut *self.state.warnings.lock().unwrap_or_else(PoisonError::into_inner));
        warnings.iter().try_for_each(|warning| errors::warn(py, warning))
    }
}
