//! What a caller asks of a query: its text, parameters and limits.

use std::time::Duration;

use mangrove::{Parameters, QueryOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyDict, PyString};

use crate::{interrupt, parameters};

/// A query in one of its written forms.
pub enum Written<'a> {
    Text(&'a str),
    GraphSon(&'a str),
    GraphBinary(&'a [u8]),
}

/// Bytecode as Python has it.
#[derive(FromPyObject)]
pub enum Bytecode {
    #[pyo3(annotation = "str")]
    GraphSon(PyBackedStr),
    #[pyo3(annotation = "bytes")]
    GraphBinary(PyBackedBytes),
}

pub struct Request<'a> {
    pub written: Written<'a>,
    pub parameters: Parameters,
    pub options: QueryOptions,
}

impl<'a> Request<'a> {
    /// Parameters may come as a dict and by name; `timeout` is in seconds.
    pub fn new(
        text: &'a str,
        params: Option<&Bound<'_, PyDict>>,
        named: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        let mut parameters = Parameters::new();
        for (name, value) in [params, named].into_iter().flatten().flatten() {
            let name = name.cast::<PyString>()?.to_str()?;
            if parameters.insert(name.to_owned(), parameters::value(&value)?).is_some() {
                return Err(PyValueError::new_err(format!("parameter {name} is given twice")));
            }
        }
        Ok(Self { written: Written::Text(text), parameters, options: options(timeout)? })
    }

    pub fn bytecode(bytecode: &'a Bytecode, timeout: Option<f64>) -> PyResult<Self> {
        let written = match bytecode {
            Bytecode::GraphSon(json) => Written::GraphSon(json),
            Bytecode::GraphBinary(bytes) => Written::GraphBinary(bytes),
        };
        Ok(Self { written, parameters: Parameters::new(), options: options(timeout)? })
    }
}

fn options(timeout: Option<f64>) -> PyResult<QueryOptions> {
    let timeout = timeout.map(Duration::try_from_secs_f64).transpose();
    let timeout = timeout.map_err(|e| PyValueError::new_err(format!("timeout: {e}")))?;
    Ok(QueryOptions { timeout, cancel: interrupt::token(), ..QueryOptions::default() })
}
