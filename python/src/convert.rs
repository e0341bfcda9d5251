//! Converts values and described results to Python objects.
//!
//! | value | Python |
//! |---|---|
//! | null, bool, integers of every width, floats, string, bytes | `None`, `bool`, `int`, `float`, `str`, `bytes` |
//! | bigint, decimal, uuid | `int`, `decimal.Decimal`, `uuid.UUID` |
//! | date, datetime, duration | `datetime.date`, `datetime.datetime` with its offset, `datetime.timedelta` |
//! | list, vector, bulk set | `list` |
//! | set | `set`; a `list` if Python cannot hash its members or takes two of them for one (`1` and `1.0`) |
//! | map, map entry | `dict`; `T.id` and its like are members of `mangrovedb.T` and `mangrovedb.Direction` |
//! | elements, paths, subgraphs | the classes of [`elements`](crate::elements) |
//! | tree | `mangrovedb.Tree`, a `dict` of dicts |
//!
//! Python's keys must be hashable. A list as a key becomes a `tuple`, a set a `frozenset`, a map a `FrozenDict`.

use mangrove::describe::{Branch, Described};
use mangrove_graph::{BigInt, Date, DateTime, Duration, Token, Uuid, Value};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyFrozenSet, PyList, PySet, PyString, PyTuple, PyTzInfo,
};

use crate::elements;

type Object<'py> = PyResult<Bound<'py, PyAny>>;

/// A described result as a Python object.
pub fn described<'py>(py: Python<'py>, value: &Described) -> Object<'py> {
    match value {
        Described::Plain(value) => plain(py, value),
        Described::Vertex(record) => elements::vertex(py, record),
        Described::Edge(record) => elements::edge(py, record),
        Described::VertexProperty(record) => elements::vertex_property(py, record),
        Described::Property(property) => elements::property(py, property),
        Described::List(items) => list(py, items, described),
        Described::Set(items) => set(py, items, described, described_key),
        Described::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| Ok((described_key(py, key)?, described(py, value)?)));
            dict(py, entries.collect::<PyResult<_>>()?)
        }
        Described::Entry(entry) => {
            let dict = PyDict::new(py);
            dict.set_item(described_key(py, &entry.0)?, described(py, &entry.1)?)?;
            Ok(dict.into_any())
        }
        Described::Path { objects, labels } => elements::path(py, objects, labels),
        Described::Tree(branches) => tree(py, branches),
        Described::Subgraph { vertices, edges } => elements::graph(py, vertices, edges),
    }
}

/// A value without elements in it as a Python object.
pub fn plain<'py>(py: Python<'py>, value: &Value) -> Object<'py> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(v) => PyBool::new(py, *v).to_owned().into_any(),
        Value::Int8(v) => v.into_pyobject(py)?.into_any(),
        Value::Int16(v) => v.into_pyobject(py)?.into_any(),
        Value::Int32(v) => v.into_pyobject(py)?.into_any(),
        Value::Int64(v) => v.into_pyobject(py)?.into_any(),
        Value::Float32(v) => PyFloat::new(py, shortest(*v)).into_any(),
        Value::Float64(v) => PyFloat::new(py, *v).into_any(),
        Value::BigInt(v) => big_int(py, v)?,
        Value::Decimal(v) => {
            static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            DECIMAL.import(py, "decimal", "Decimal")?.call1((v.to_string(),))?
        }
        Value::String(v) => PyString::new(py, v).into_any(),
        Value::Bytes(v) => PyBytes::new(py, v).into_any(),
        Value::Uuid(v) => uuid(py, v)?,
        Value::Date(v) => date(py, *v)?,
        Value::DateTime(v) => date_time(py, *v)?,
        Value::Duration(v) => duration(py, *v)?,
        Value::Vector(v) => PyList::new(py, v.iter().map(|f| shortest(*f)))?.into_any(),
        Value::List(items) => list(py, items, plain)?,
        Value::Set(items) => set(py, items, plain, plain_key)?,
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| Ok((plain_key(py, key)?, plain(py, value)?)));
            dict(py, entries.collect::<PyResult<_>>()?)?
        }
        Value::Token(v) => token(py, *v)?,
        // Elements are described before they get here. All other values have a readable text.
        other => PyString::new(py, &other.to_string()).into_any(),
    })
}

/// A dict. If Python takes two keys for one (such as 1, 1.0 and True), a list of pairs, so that no entry is lost.
fn dict<'py>(py: Python<'py>, entries: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>) -> Object<'py> {
    let dict = PyDict::new(py);
    entries.iter().try_for_each(|(key, value)| dict.set_item(key, value))?;
    if dict.len() == entries.len() { Ok(dict.into_any()) } else { Ok(PyList::new(py, entries)?.into_any()) }
}

/// Python has only doubles. This is the double with the same decimal text, so that `0.1` stays `0.1`.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn big_int<'py>(py: Python<'py>, value: &BigInt) -> Object<'py> {
    static INT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // In base 16, because Python limits the length of decimal texts.
    INT.import(py, "builtins", "int")?.call1((value.to_str_radix(16), 16))
}

fn uuid<'py>(py: Python<'py>, value: &Uuid) -> Object<'py> {
    static UUID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let arguments = PyDict::new(py);
    arguments.set_item("bytes", PyBytes::new(py, value.as_bytes()))?;
    UUID.import(py, "uuid", "UUID")?.call((), Some(&arguments))
}

/// Python has days of the years 1 to 9999. Others become text.
fn date(py: Python<'_>, value: Date) -> Object<'_> {
    const EPOCH_ORDINAL: i32 = 719_163;
    static FROM_ORDINAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let from_ordinal =
        FROM_ORDINAL.get_or_try_init(py, || py.get_type::<PyDate>().getattr("fromordinal").map(Bound::unbind))?;
    match from_ordinal.bind(py).call1((value.0.saturating_add(EPOCH_ORDINAL),)) {
        Ok(date) => Ok(date),
        Err(_) => Ok(PyString::new(py, &value.to_string()).into_any()),
    }
}

/// Like [`date`]. It cuts off what is finer than a microsecond.
fn date_time(py: Python<'_>, value: DateTime) -> Object<'_> {
    static EPOCH: PyOnceLock<Py<PyDateTime>> = PyOnceLock::new();
    let epoch = EPOCH.get_or_try_init(py, || {
        let utc = PyTzInfo::utc(py)?;
        PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&utc)).map(Bound::unbind)
    })?;
    let since = duration(py, Duration { seconds: value.seconds, nanos: value.nanos })?;
    let shown = match epoch.bind(py).add(since) {
        Ok(utc) if value.offset_seconds == 0 => return Ok(utc),
        Ok(utc) => {
            let offset = PyDelta::new(py, 0, value.offset_seconds, 0, true)?;
            utc.call_method1("astimezone", (PyTzInfo::fixed_offset(py, offset)?,))
        }
        Err(error) => Err(error),
    };
    shown.or_else(|_| Ok(PyString::new(py, &value.to_string()).into_any()))
}

/// Cuts off what is finer than a microsecond. Beyond a billion days it becomes text.
fn duration(py: Python<'_>, value: Duration) -> Object<'_> {
    let (days, seconds) = (value.seconds.div_euclid(86_400), value.seconds.rem_euclid(86_400) as i32);
    let delta = i32::try_from(days).ok().map(|days| PyDelta::new(py, days, seconds, (value.nanos / 1000) as i32, true));
    match delta {
        Some(Ok(delta)) => Ok(delta.into_any()),
        _ => Ok(PyString::new(py, &value.to_string()).into_any()),
    }
}

fn token(py: Python<'_>, token: Token) -> Object<'_> {
    // The tokens of elementMap(), which are in nearly every result with tokens.
    static ID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static LABEL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let member = || {
        let class = match token {
            Token::Direction(_) => "Direction",
            Token::MergeEnd(_) => "Merge",
            _ => "T",
        };
        py.import("mangrovedb._types")?.getattr(class)?.get_item(token.name())
    };
    let known = match token {
        Token::Id => &ID,
        Token::Label => &LABEL,
        _ => return member(),
    };
    Ok(known.get_or_try_init(py, || member().map(Bound::unbind))?.bind(py).clone())
}

/// The token for a member of `mangrovedb.T`, `Direction` or `Merge`, by the names of class and member.
pub fn token_named(class: &str, member: &str) -> Option<Token> {
    let member = match member.trim_end_matches('_') {
        "out_v" => "outV",
        "in_v" => "inV",
        member => member,
    };
    Token::named(class, member)
}

fn list<'py, T>(py: Python<'py>, items: &[T], convert: fn(Python<'py>, &T) -> Object<'py>) -> Object<'py> {
    let list = PyList::empty(py);
    items.iter().try_for_each(|item| list.append(convert(py, item)?))?;
    Ok(list.into_any())
}

fn set<'py, T>(
    py: Python<'py>,
    items: &[T],
    convert: fn(Python<'py>, &T) -> Object<'py>,
    convert_key: fn(Python<'py>, &T) -> Object<'py>,
) -> Object<'py> {
    let set = PySet::empty(py)?;
    let added = items.iter().try_for_each(|item| set.add(convert_key(py, item)?));
    if added.is_ok() && set.len() == items.len() { Ok(set.into_any()) } else { list(py, items, convert) }
}

fn described_key<'py>(py: Python<'py>, key: &Described) -> Object<'py> {
    match key {
        Described::Plain(value) => plain_key(py, value),
        other => hashable(described(py, other)?),
    }
}

fn plain_key<'py>(py: Python<'py>, key: &Value) -> Object<'py> {
    match key {
        Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Vector(_) => hashable(plain(py, key)?),
        scalar => plain(py, scalar),
    }
}

/// The hashable form of an object.
pub fn hashable(object: Bound<'_, PyAny>) -> Object<'_> {
    static FROZEN_DICT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    if let Ok(list) = object.cast::<PyList>() {
        let items = list.iter().map(hashable).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, items)?.into_any())
    } else if let Ok(set) = object.cast::<PySet>() {
        Ok(PyFrozenSet::new(py, set.iter())?.into_any())
    } else if let Ok(dict) = object.cast::<PyDict>() {
        let frozen = PyDict::new(py);
        dict.iter().try_for_each(|(key, value)| frozen.set_item(key, hashable(value)?))?;
        FROZEN_DICT.import(py, "mangrovedb._types", "FrozenDict")?.call1((frozen,))
    } else {
        Ok(object)
    }
}

fn tree<'py>(py: Python<'py>, branches: &[Branch]) -> Object<'py> {
    static TREE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let tree = TREE.import(py, "mangrovedb._types", "Tree")?.call0()?;
    for branch in branches {
        tree.set_item(described_key(py, &branch.value)?, self::tree(py, &branch.below)?)?;
    }
    Ok(tree)
}
