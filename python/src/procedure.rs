//! Procedures written in Python: what `call('name')` runs.

use std::sync::{Arc, Mutex, PoisonError};

use mangrove::describe::{Described, describe_alone};
use mangrove::graph::Value;
use mangrove::procedure::{Failure, Invocation, Procedure, Values};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyString};

use crate::interrupt::with_python;
use crate::{convert, parameters};

/// A function. Python's collector may take it away, with everything that refers to it.
pub type Slot = Arc<Mutex<Option<Py<PyAny>>>>;

/// A procedure that calls `function(params, value)` and emits what it yields.
pub fn of_function(
    function: Slot,
    description: Option<String>,
    named: Option<&Bound<'_, PyDict>>,
    columns: Option<Vec<String>>,
) -> PyResult<Procedure> {
    let mut procedure = Procedure::new(move |call| call_function(&function, call));
    procedure = procedure.describe(description.unwrap_or_default());
    for (name, description) in named.into_iter().flatten() {
        procedure = procedure.parameter(name.extract::<String>()?, description.extract::<String>()?);
    }
    Ok(match columns {
        Some(columns) => procedure.columns(columns),
        None => procedure,
    })
}

/// The first line of a function's documentation.
pub fn first_line(function: &Bound<'_, PyAny>) -> Option<String> {
    let doc = function.getattr("__doc__").ok()?;
    let doc = doc.cast::<PyString>().ok()?.to_str().ok()?;
    doc.trim().lines().next().map(str::to_owned)
}

fn call_function(function: &Slot, call: &Invocation<'_>) -> Result<Values, Failure> {
    let parameters = describe_alone(call.graph, &Value::map(call.parameters.clone()))?;
    let input = describe_alone(call.graph, call.input.unwrap_or(&Value::Null))?;
    let results = with_python(|py| {
        let held = function.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|function| function.clone_ref(py));
        let function = held.ok_or_else(|| PyRuntimeError::new_err("the database of this procedure is closed"))?;
        results(function.bind(py), &parameters, &input)
    })?;
    Ok(match results {
        Some(iterator) => Box::new(Results { iterator }),
        None => Box::new(std::iter::empty()),
    })
}

fn results(function: &Bound<'_, PyAny>, parameters: &Described, input: &Described) -> PyResult<Option<Py<PyIterator>>> {
    let py = function.py();
    let given = function.call1((convert::described(py, parameters)?, convert::described(py, input)?))?;
    if given.is_none() {
        return Ok(None);
    }
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyDict>() {
        let class = given.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!("a procedure must yield values or return a list of them, not a {class}")));
    }
    given.try_iter().map(|iterator| Some(iterator.unbind()))
}

/// The remaining values of a generator or another iterator.
struct Results {
    iterator: Py<PyIterator>,
}

impl Iterator for Results {
    type Item = Result<Value, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        with_python(|py| {
            let next = self.iterator.bind(py).clone().next()?;
            Some(next.and_then(|object| parameters::value(&object)).map_err(Failure::from))
        })
    }
}
