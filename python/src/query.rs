//! What a caller asks of a query: its text, parameters and limits.

use std::time::Duration;

use mangrove::{Parameters, QueryOptions};
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
        let timeout = timeout.map(Duration::try_from_secs_f64).transpose();
        let timeout = timeout.map_err(|e| PyValueError::new_err(format!("timeout: {e}")))?;
        let options = QueryOptions { timeout, cancel: interrupt::token(), ..QueryOptions::default() };
        Ok(Self { text, is_bytecode: false, parameters, options })
    }

    pub fn bytecode(json: &'a str) -> Self {
        let options = QueryOptions { cancel: interrupt::token(), ..QueryOptions::default() };
        Self { text: json, is_bytecode: true, parameters: Parameters::new(), options }
    }
}
