//! Results read as they come.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mangrove::ResultStream;
use mangrove::describe::Described;
use pyo3::prelude::*;

use crate::errors::raised;
use crate::{convert, result};

/// The results of a query, read as they are asked for: the query runs no further than its results are taken, so that any number of
/// them fits in memory. Made by `Database.stream`. It holds a snapshot of the graph, so read it to its end or close it.
///
/// >>> with db.stream("g.V().hasLabel('airport').values('code').order()") as codes:
/// ...     next(codes)
/// 'AUS'
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Stream {
    state: Mutex<State>,
}

struct State {
    /// `None` at the end.
    stream: Option<ResultStream>,
    ready: VecDeque<Described>,
    warnings: Vec<String>,
}

impl Stream {
    pub fn new(stream: ResultStream) -> Self {
        Self { state: Mutex::new(State { stream: Some(stream), ready: VecDeque::new(), warnings: Vec::new() }) }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next result, and the warnings if there is none.
    fn next(&mut self) -> Result<Option<Described>, mangrove::QueryError> {
        while self.ready.is_empty() {
            let Some(stream) = &mut self.stream else { return Ok(None) };
            match stream.next_batch() {
                Ok(Some(values)) => {
                    self.ready = values.iter().map(|value| stream.describe(value)).collect::<Result<_, _>>()?
                }
                ended => {
                    self.warnings = stream.warnings().to_vec();
                    self.stream = None;
                    return ended.map(|_| None);
                }
            }
        }
        Ok(self.ready.pop_front())
    }
}

#[pymethods]
impl Stream {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (next, warnings) = py.detach(|| {
            let mut state = self.locked();
            let next = state.next();
            (next, std::mem::take(&mut state.warnings))
        });
        result::warn(py, &warnings)?;
        raised(next)?.map(|row| convert::described(py, &row)).transpose()
    }

    /// Stops the query and lets go of its snapshot. There are no results from then on.
    ///
    /// >>> codes = db.stream("g.V().values('code')")
    /// >>> codes.close()
    /// >>> list(codes)
    /// []
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let mut state = self.locked();
            (state.stream, state.ready) = (None, VecDeque::new());
        });
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> &'static str {
        if self.locked().stream.is_some() { "<stream of results>" } else { "<stream of results, at its end>" }
    }
}
