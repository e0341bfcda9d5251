//! What a caller asks of a query: its text, parameters and limits.

use std::time::Duration;

use mangrove::{CancelToken, Parameters, QueryOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::{interrupt, parameters};

pub struct Request<'a> {
    pub text: &'a str,
    pub is_bytecode: bool,
    pub parameters: Parameters,
    pub options: QueryOptions,
}

/// What a query may take.
#[derive(Clone, Copy, Default)]
pub struct Limits {
    /// In seconds.
    pub timeout: Option<f64>,
    /// In megabytes.
    pub memory_mb: Option<usize>,
}

impl Limits {
    fn options(self, cancel: CancelToken) -> PyResult<QueryOptions> {
        let defaults = QueryOptions::default();
        let memory_bytes_max = self.memory_mb.map_or(defaults.memory_bytes_max, |mb| mb.saturating_mul(1 << 20));
        Ok(QueryOptions { timeout: seconds(self.timeout)?, cancel, memory_bytes_max, ..defaults })
    }
}

/// A time given in seconds; one beyond all clocks is no limit.
pub fn seconds(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    match timeout {
        Some(seconds) if seconds.is_nan() || seconds < 0.0 => {
            Err(PyValueError::new_err(format!("timeout is a number of seconds, not {seconds}")))
        }
        Some(seconds) => Ok(Duration::try_from_secs_f64(seconds).ok()),
        None => Ok(None),
    }
}

impl<'a> Request<'a> {
    /// Parameters may come as a dict and by name.
    pub fn new(
        text: &'a str,
        params: Option<&Bound<'_, PyDict>>,
        named: Option<&Bound<'_, PyDict>>,
        limits: Limits,
    ) -> PyResult<Self> {
        let mut parameters = Parameters::new();
        for (name, value) in [params, named].into_iter().flatten().flatten() {
            let name = name.cast::<PyString>()?.to_str()?;
            if parameters.insert(name.to_owned(), parameters::value(&value)?).is_some() {
                return Err(PyValueError::new_err(format!("parameter {name} is given twice")));
            }
        }
        Ok(Self { text, is_bytecode: false, parameters, options: limits.options(interrupt::token())? })
    }

    pub fn bytecode(json: &'a str) -> Self {
        let options = QueryOptions { cancel: interrupt::token(), ..QueryOptions::default() };
        Self { text: json, is_bytecode: true, parameters: Parameters::new(), options }
    }
}
