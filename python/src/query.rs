//! What a caller passes for a query: text, parameters and limits.

use std::borrow::Cow;
use std::time::Duration;

use mangrove::{CancelToken, Parameters, QueryOptions, RULES, Written};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyDict, PyString};

use crate::{interrupt, parameters};

/// Bytecode from Python.
#[derive(FromPyObject)]
pub enum Bytecode {
    #[pyo3(annotation = "str")]
    GraphSon(PyBackedStr),
    #[pyo3(annotation = "bytes")]
    GraphBinary(PyBackedBytes),
}

/// A query from Python.
pub enum Asked {
    Text(PyBackedStr),
    /// A gremlinpython traversal, as bytecode.
    Traversal(String),
}

impl<'py> FromPyObject<'_, 'py> for Asked {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.extract() {
            return Ok(Asked::Text(text));
        }
        if object.hasattr("bytecode")? {
            let module = object.py().import("mangrovedb.gremlin")?;
            return Ok(Asked::Traversal(module.call_method1("bytecode", (object.to_owned(),))?.extract()?));
        }
        let class = object.get_type().fully_qualified_name()?;
        Err(PyTypeError::new_err(format!("a query must be a str or a gremlinpython traversal, not a {class}")))
    }
}

impl Asked {
    pub fn written(&self) -> Written<'_> {
        match self {
            Asked::Text(text) => Written::Text(Cow::Borrowed(text)),
            Asked::Traversal(json) => Written::GraphSon(Cow::Borrowed(json)),
        }
    }
}

pub struct Request<'a> {
    pub written: Written<'a>,
    pub parameters: Parameters,
    pub options: QueryOptions,
}

/// One name or several.
#[derive(Clone, FromPyObject)]
pub enum Names {
    #[pyo3(annotation = "str")]
    One(String),
    #[pyo3(annotation = "list of str")]
    Many(Vec<String>),
}

impl From<Names> for Vec<String> {
    fn from(names: Names) -> Self {
        match names {
            Names::One(name) => vec![name],
            Names::Many(names) => names,
        }
    }
}

/// The limits of a query.
#[derive(Clone, Default)]
pub struct Limits {
    /// Seconds.
    pub timeout: Option<f64>,
    /// Megabytes.
    pub memory_mb: Option<i64>,
    /// Rules of the optimiser to turn off.
    pub rules_off: Option<Names>,
}

impl Limits {
    pub fn options(self, cancel: CancelToken) -> PyResult<QueryOptions> {
        let defaults = QueryOptions::default();
        let memory_bytes_max = match self.memory_mb.map(usize::try_from) {
            None => defaults.memory_bytes_max,
            Some(Ok(mb)) if mb > 0 => mb.saturating_mul(1 << 20),
            Some(_) => return Err(PyValueError::new_err("memory_mb must be a number of megabytes, at least 1")),
        };
        let rules_off = self.rules_off.map(Vec::from).unwrap_or_default();
        if let Some(unknown) = rules_off.iter().find(|name| !RULES.iter().any(|rule| rule.name == **name)) {
            let known = RULES.map(|rule| rule.name).join(", ");
            return Err(PyValueError::new_err(format!("rules_off: there is no rule {unknown:?}, only {known}")));
        }
        Ok(QueryOptions { timeout: seconds("timeout", self.timeout)?, cancel, memory_bytes_max, rules_off, ..defaults })
    }
}

/// A time in seconds. A time beyond the range of the clock means no limit.
pub fn seconds(argument: &str, timeout: Option<f64>) -> PyResult<Option<Duration>> {
    match timeout {
        Some(seconds) if seconds.is_nan() || seconds < 0.0 => {
            Err(PyValueError::new_err(format!("{argument} must be a number of seconds, not {seconds}")))
        }
        Some(seconds) => Ok(Duration::try_from_secs_f64(seconds).ok()),
        None => Ok(None),
    }
}

/// The values of parameters, from a dict and by name.
pub fn parameters_of(params: Option<&Bound<'_, PyDict>>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Parameters> {
    let mut parameters = Parameters::new();
    for (name, value) in [params, named].into_iter().flatten().flatten() {
        let name = name.cast::<PyString>()?.to_str()?;
        if parameters.insert(name.to_owned(), parameters::value(&value)?).is_some() {
            return Err(PyValueError::new_err(format!("parameter {name} is given twice")));
        }
    }
    Ok(parameters)
}

impl<'a> Request<'a> {
    /// Parameters may come in a dict and by name.
    pub fn new(
        query: &'a Asked,
        params: Option<&Bound<'_, PyDict>>,
        named: Option<&Bound<'_, PyDict>>,
        limits: Limits,
    ) -> PyResult<Self> {
        let parameters = parameters_of(params, named)?;
        Ok(Self { written: query.written(), parameters, options: limits.options(interrupt::token())? })
    }

    pub fn bytecode(bytecode: &'a Bytecode, limits: Limits) -> PyResult<Self> {
        let written = match bytecode {
            Bytecode::GraphSon(json) => Written::GraphSon(Cow::Borrowed(json)),
            Bytecode::GraphBinary(bytes) => Written::GraphBinary(Cow::Borrowed(bytes)),
        };
        Ok(Self { written, parameters: Parameters::new(), options: limits.options(interrupt::token())? })
    }
}
