//! Converts Python objects to values: parameters of queries, cells of rows.
//!
//! This is the exact inverse of [`convert`](crate::convert) where Python distinguishes types. Integers become int64 (bigint
//! beyond), floats doubles. NumPy's scalars count as their Python equivalents, and its one-dimensional arrays of floats become
//! vectors. A datetime without a time zone is taken as UTC.

use arrow_array::Array;
use mangrove_graph::column::value_at;
use mangrove_graph::value::NESTING_MAX;
use mangrove_graph::{BigInt, Date, DateTime, Duration, Map, Uuid, Value, number};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet,
    PyString, PyTuple,
};

use crate::{columns, convert, elements};

/// The value of a Python object.
///
/// # Errors
/// `TypeError` if the object has no value. `ValueError` if the value is out of bounds: a number too large, or collections nested
/// too deep. A collection that contains itself is nested too deep.
pub fn value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(object, NESTING_MAX)
}

/// The value, if its collections nest at most `levels` deep.
fn nested(object: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.into()));
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(b) = object.cast_exact::<PyBool>() {
        return Ok(Value::Bool(b.is_true()));
    }
    if let Ok(int) = object.cast::<PyInt>() {
        return integer(int);
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(Value::Float64(float.value()));
    }
    container(object, levels)
}

fn integer(int: &Bound<'_, PyInt>) -> PyResult<Value> {
    match int.extract::<i64>() {
        Ok(value) => Ok(Value::Int64(value)),
        Err(error) if error.is_instance_of::<PyOverflowError>(int.py()) => {
            let hex = int.call_method1("__format__", ("x",))?;
            let big = BigInt::parse_bytes(hex.cast::<PyString>()?.to_str()?.as_bytes(), 16).ok_or(error)?;
            number::bounded_int(big).map(Value::from).map_err(|error| PyValueError::new_err(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

fn container(object: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
    let below = || {
        let message =
            || format!("a value has collections nested more than {NESTING_MAX} levels deep, or one that contains itself");
        levels.checked_sub(1).ok_or_else(|| PyValueError::new_err(message()))
    };
    if let Ok(list) = object.cast::<PyList>() {
        let below = below()?;
        return Ok(Value::list(list.iter().map(|item| nested(&item, below)).collect::<PyResult<_>>()?));
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        let below = below()?;
        return Ok(Value::list(tuple.iter().map(|item| nested(&item, below)).collect::<PyResult<_>>()?));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let below = below()?;
        let entries = dict.iter().map(|(key, item)| Ok((nested(&key, below)?, nested(&item, below)?)));
        return Ok(Value::map(Map::from_distinct(entries.collect::<PyResult<_>>()?)));
    }
    if object.cast::<PySet>().is_ok() || object.cast::<PyFrozenSet>().is_ok() {
        let below = below()?;
        let items = object.try_iter()?.map(|item| nested(&item?, below)).collect::<PyResult<Vec<_>>>()?;
        return Ok(Value::set(items));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::Bytes(bytes.as_bytes().into()));
    }
    rarer(object, levels)
}

fn rarer(object: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
    // A datetime is also a date, so this test comes first.
    if let Ok(time) = object.cast::<PyDateTime>() {
        let is_none = object.get_type().name()? == "NaTType";
        return if is_none { Ok(Value::Null) } else { date_time(time) };
    }
    if let Ok(date) = object.cast::<PyDate>() {
        return self::date(date).map(Value::Date);
    }
    if let Ok(delta) = object.cast::<PyDelta>() {
        return Ok(Value::Duration(Duration {
            nanos: duration(delta).nanos + finer(object, "nanoseconds")?,
            ..duration(delta)
        }));
    }
    if let Some(element) = elements::element_value(object) {
        return Ok(element);
    }
    let below = levels.saturating_sub(1);
    if let Some(composed) = elements::composed(object, |item| nested(item, below))? {
        return Ok(composed);
    }
    by_class(object, levels)
}

/// Classes recognised by name, so that their modules need not be installed.
fn by_class(object: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
    let class = object.get_type();
    let (module, name) = (class.module()?.to_string(), class.name()?.to_string());
    match (module.as_str(), name.as_str()) {
        ("uuid", "UUID") => {
            let bytes: [u8; 16] = object.getattr("bytes")?.extract()?;
            Ok(Value::Uuid(Uuid::from_bytes(bytes)))
        }
        ("decimal", "Decimal") => {
            let text = object.str()?.to_string();
            number::decimal(&text).map(Value::from).map_err(|error| PyValueError::new_err(error.to_string()))
        }
        ("mangrovedb._types" | "gremlin_python.process.traversal", "T" | "Direction" | "Merge") => {
            let member = object.getattr("name")?.to_string();
            convert::token_named(&name, &member).map(Value::Token).ok_or_else(|| unsupported(object))
        }
        ("numpy", "ndarray") => array(object, levels),
        ("numpy", "datetime64" | "timedelta64") => {
            let one = columns::numpy_times(&object.call_method1("reshape", (1,))?)?;
            one.map(|array| value_at(&array, 0)).ok_or_else(|| unsupported(object))
        }
        ("numpy", _) if object.hasattr("item")? => {
            // A NumPy object may convert to another NumPy object.
            let below = levels.checked_sub(1).ok_or_else(|| unsupported(object))?;
            nested(&object.call_method0("item")?, below)
        }
        ("pandas" | "pandas._libs.missing", "NAType") => Ok(Value::Null),
        _ => Err(unsupported(object)),
    }
}

fn unsupported(object: &Bound<'_, PyAny>) -> PyErr {
    let class = object.get_type().fully_qualified_name().map(|n| n.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!(
        "a {class} cannot be a value: give a str, int, float, bool, None, bytes, datetime, date, timedelta, Decimal, UUID, \
         list, set, dict, or an element, path or subgraph of this database"
    ))
}

/// A one-dimensional float32 array is a vector; all others are lists.
fn array(object: &Bound<'_, PyAny>, levels: usize) -> PyResult<Value> {
    let dtype = object.getattr("dtype")?.getattr("str")?.to_string();
    let dimensions: usize = object.getattr("ndim")?.extract()?;
    if ["<M", "<m", ">M", ">m"].iter().any(|kind| dtype.starts_with(kind)) {
        return times(object, dimensions, levels);
    }
    let list = object.call_method0("tolist")?;
    if dimensions == 1 && dtype.ends_with("f4") {
        let items: Vec<f32> = list.extract()?;
        return Ok(Value::Vector(items.into()));
    }
    nested(&list, levels)
}

fn times(object: &Bound<'_, PyAny>, dimensions: usize, levels: usize) -> PyResult<Value> {
    if dimensions != 1 {
        let below = levels.checked_sub(1).ok_or_else(|| unsupported(object))?;
        return Ok(Value::list(object.try_iter()?.map(|row| nested(&row?, below)).collect::<PyResult<_>>()?));
    }
    let times = columns::numpy_times(object)?.ok_or_else(|| unsupported(object))?;
    Ok(Value::list((0..times.len()).map(|at| value_at(&times, at)).collect()))
}

fn date(date: &Bound<'_, PyDate>) -> PyResult<Date> {
    const EPOCH_ORDINAL: i32 = 719_163;
    let ordinal: i32 = date.call_method0("toordinal")?.extract()?;
    Ok(Date(ordinal - EPOCH_ORDINAL))
}

fn date_time(time: &Bound<'_, PyDateTime>) -> PyResult<Value> {
    let offset = time.call_method0("utcoffset")?;
    let offset_seconds = match offset.cast::<PyDelta>() {
        Ok(delta) => duration(delta).seconds as i32,
        Err(_) => 0,
    };
    // Combines the days and the clock as written, then subtracts the offset. That is exact and independent of local time zones.
    let days = i64::from(date(time.cast::<PyDate>()?)?.0);
    let clock = |name: &str| -> PyResult<i64> { time.getattr(name)?.extract() };
    let seconds = days * 86_400 + clock("hour")? * 3600 + clock("minute")? * 60 + clock("second")?;
    let nanos = time.getattr("microsecond")?.extract::<u32>()? * 1000 + finer(time, "nanosecond")?;
    Ok(Value::DateTime(DateTime { seconds: seconds - i64::from(offset_seconds), nanos, offset_seconds }))
}

/// The nanoseconds beyond microseconds, which times of pandas have.
fn finer(time: &Bound<'_, PyAny>, name: &str) -> PyResult<u32> {
    time.getattr_opt(name)?.map_or(Ok(0), |nanos| nanos.extract())
}

fn duration(delta: &Bound<'_, PyDelta>) -> Duration {
    let seconds = i64::from(delta.get_days()) * 86_400 + i64::from(delta.get_seconds());
    Duration { seconds, nanos: delta.get_microseconds() as u32 * 1000 }
}
