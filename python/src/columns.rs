//! Turns rows and columns of Python objects into Arrow record batches.
//!
//! Each cell is read once, straight into its final array. The type of a column is found while it grows:
//!
//! ```text
//!   Empty ── bool ──▶ Bools ──┐
//!     ├───── int ───▶ Ints ───┼──▶ Values     (types mixed, or of no array form)
//!     │                │ float▲
//!     ├──── float ──▶ Floats ─┤
//!     └───── str ───▶ Texts ──┘
//! ```
//!
//! Integers among floats become floats if each equals a float exactly. Otherwise the column keeps both types.
//!
//! `None` and missing keys are Arrow nulls: the element does not have the property.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, LargeStringBuilder};
use arrow_array::{Array, ArrayRef, Date32Array, Int64Array, LargeStringArray, NullArray, StringArray, make_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, TimeUnit};
use mangrove_graph::value::exact_double;
use mangrove_graph::{PropertyColumn, Value, column};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::parameters;

/// Named columns of equal length.
#[derive(Default)]
pub struct Columns {
    pub rows: usize,
    pub columns: Vec<(Arc<str>, PropertyColumn)>,
}

/// Columns from data that is not Arrow: a list of dicts, a list of tuples or lists (`names` names their columns), a dict of
/// columns, a NumPy structured array, or a pandas data frame.
pub fn read(data: &Bound<'_, PyAny>, names: Option<Vec<String>>) -> PyResult<Columns> {
    if let Ok(columns) = data.cast::<PyDict>() {
        let columns = columns.iter().map(|(name, column)| Ok((text(&name)?, column)));
        return whole_columns(columns.collect::<PyResult<Vec<_>>>()?);
    }
    if let Ok(rows) = data.cast::<PyList>() {
        return list_of_rows(rows, names);
    }
    if let Some(columns) = named_parts(data)? {
        return whole_columns(columns);
    }
    if data.hasattr("__iter__")? && !is_text_or_map(data) {
        let rows = PyList::new(data.py(), data.try_iter()?.collect::<PyResult<Vec<_>>>()?)?;
        return list_of_rows(&rows, names);
    }
    let class = data.get_type().fully_qualified_name()?;
    Err(PyTypeError::new_err(format!(
        "a {class} is not a table: give a list of dicts, a list of tuples with columns=[…], a dict of columns, a NumPy structured \
         array, or an Arrow, pandas or polars table"
    )))
}

/// The columns of a structured NumPy array or a data frame, by name.
#[allow(clippy::type_complexity)]
fn named_parts<'py>(data: &Bound<'py, PyAny>) -> PyResult<Option<Vec<(Arc<str>, Bound<'py, PyAny>)>>> {
    let names = if let Ok(dtype) = data.getattr("dtype") {
        dtype.getattr("names")?
    } else if data.hasattr("columns")? {
        data.getattr("columns")?
    } else {
        return Ok(None);
    };
    if names.is_none() {
        return Err(PyTypeError::new_err(
            "a NumPy array without field names is not a table: give a dict of arrays, or a structured array",
        ));
    }
    let part = |name: PyResult<Bound<'py, PyAny>>| {
        let name = name?;
        Ok((text(&name)?, data.get_item(&name)?))
    };
    names.try_iter()?.map(part).collect::<PyResult<_>>().map(Some)
}

fn whole_columns(columns: Vec<(Arc<str>, Bound<'_, PyAny>)>) -> PyResult<Columns> {
    let mut out = Columns::default();
    for (at, (name, column)) in columns.into_iter().enumerate() {
        let column = one_column(&column)?;
        if at == 0 {
            out.rows = column.len();
        } else if column.len() != out.rows {
            let (found, expected) = (column.len(), out.rows);
            return Err(PyValueError::new_err(format!(
                "column {name} has {found} rows, but the first column has {expected}"
            )));
        }
        out.columns.push((name, column));
    }
    Ok(out)
}

fn one_column(column: &Bound<'_, PyAny>) -> PyResult<PropertyColumn> {
    if !column.hasattr("__iter__")? {
        return Err(PyTypeError::new_err(format!(
            "a table as a dict has columns, such as {{\"id\": [1, 2]}}, but here is the value {}. For one row, give a list of one \
             dict: [{{…}}]",
            column.repr()?
        )));
    }
    if let Some(array) = numpy_numbers(column)? {
        return Ok(PropertyColumn::Typed(array));
    }
    let listed;
    let items = match column.cast::<PyList>() {
        Ok(list) => list,
        Err(_) => {
            // Columns of NumPy, pandas and polars convert themselves to a list of Python objects, and do it fast.
            let list = ["tolist", "to_list"].iter().find(|name| column.hasattr(**name).unwrap_or(false));
            let list = list.map(|name| column.call_method0(*name)).transpose()?;
            listed = match list.map(|list| list.cast_into::<PyList>()) {
                Some(list) => list?,
                None => PyList::new(column.py(), column.try_iter()?.collect::<PyResult<Vec<_>>>()?)?,
            };
            &listed
        }
    };
    let mut builder = Column::default();
    items.iter().try_for_each(|item| builder.push(&item))?;
    builder.finish()
}

/// The numbers of a NumPy array, in one copy.
fn numpy_numbers(column: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    use arrow_array::types::*;
    use arrow_array::{ArrowPrimitiveType, PrimitiveArray};
    use arrow_buffer::Buffer;

    // The data of a masked array is meaningless where it is masked.
    let is_masked = || column.hasattr("mask");
    if !column.hasattr("__array_interface__")? || column.getattr("ndim")?.extract::<usize>()? != 1 || is_masked()? {
        return Ok(None);
    }
    let dtype = column.getattr("dtype")?.getattr("str")?.to_string();
    let length = column.len()?;
    let bytes = || -> PyResult<Buffer> {
        let bytes = column.call_method0("tobytes")?;
        Ok(Buffer::from(bytes.cast::<PyBytes>()?.as_bytes()))
    };
    fn array<T: ArrowPrimitiveType>(bytes: Buffer, length: usize) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(arrow_buffer::ScalarBuffer::new(bytes, 0, length), None))
    }
    Ok(Some(match dtype.as_str() {
        "|i1" => array::<Int8Type>(bytes()?, length),
        "<i2" => array::<Int16Type>(bytes()?, length),
        "<i4" => array::<Int32Type>(bytes()?, length),
        "<i8" => array::<Int64Type>(bytes()?, length),
        "|u1" => array::<UInt8Type>(bytes()?, length),
        "<u2" => array::<UInt16Type>(bytes()?, length),
        "<u4" => array::<UInt32Type>(bytes()?, length),
        "<u8" => array::<UInt64Type>(bytes()?, length),
        "<f4" => array::<Float32Type>(bytes()?, length),
        "<f8" => array::<Float64Type>(bytes()?, length),
        _ => return numpy_times(column),
    }))
}

/// Dates, instants or durations of a NumPy array of `datetime64` or `timedelta64`.
pub fn numpy_times(array: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let dtype = array.getattr("dtype")?;
    let (kind, name): (String, String) = (dtype.getattr("kind")?.extract()?, dtype.getattr("name")?.extract()?);
    if !["M", "m"].contains(&&*kind) {
        return Ok(None);
    }
    let is_instant = kind == "M";
    let in_unit = |unit: &str| numpy_times(&array.call_method1("astype", (format!("{kind}8[{unit}]"),))?);
    let of = |unit| if is_instant { DataType::Timestamp(unit, None) } else { DataType::Duration(unit) };
    let to = match name.split(['[', ']']).nth(1) {
        Some("D") if is_instant => DataType::Date32,
        Some("W" | "M" | "Y") if is_instant => return in_unit("D"),
        Some("W" | "D" | "h" | "m") => return in_unit("s"),
        Some("s") => of(TimeUnit::Second),
        Some("ms") => of(TimeUnit::Millisecond),
        Some("us") => of(TimeUnit::Microsecond),
        Some("ns") => of(TimeUnit::Nanosecond),
        _ => {
            let message = format!("times of NumPy type {name} cannot be stored: cast them, as with astype('{kind}8[ns]')");
            return Err(PyTypeError::new_err(message));
        }
    };
    let counts: Vec<i64> = array.call_method1("astype", ("i8",))?.call_method0("tolist")?.extract()?;
    // NumPy's least number stands for "not a time".
    let counts = counts.into_iter().map(|count| (count != i64::MIN).then_some(count));
    if to == DataType::Date32 {
        let days: Result<Vec<_>, _> = counts.map(|count| count.map(i32::try_from).transpose()).collect();
        let days = days.map_err(|_| PyValueError::new_err("a date is more than 2,147,483,647 days from 1970"))?;
        return Ok(Some(Arc::new(Date32Array::from(days))));
    }
    let data = counts.collect::<Int64Array>().into_data().into_builder().data_type(to);
    let data = data.build().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Some(make_array(data)))
}

fn list_of_rows(rows: &Bound<'_, PyList>, names: Option<Vec<String>>) -> PyResult<Columns> {
    let Ok(first) = rows.get_item(0) else { return Ok(Columns::default()) };
    if first.is_instance_of::<PyDict>() {
        return list_of_dicts(rows);
    }
    let Some(names) = names else {
        return Err(PyTypeError::new_err(
            "rows that are not dicts have no names: give dicts, a dict of columns, or, in an ingest, columns=[…] with the name of each field",
        ));
    };
    let mut builders: Vec<(Arc<str>, Column)> = names.iter().map(|n| (Arc::from(&**n), Column::default())).collect();
    for (at, row) in rows.iter().enumerate() {
        let fields = row_length(&row, at)?;
        if fields != builders.len() {
            let expected = builders.len();
            return Err(PyValueError::new_err(format!("row {at} has {fields} fields, but columns names {expected}")));
        }
        match row.cast::<PyTuple>() {
            Ok(tuple) => {
                tuple.iter_borrowed().zip(&mut builders).try_for_each(|(cell, (_, builder))| builder.push(&cell))?
            }
            Err(_) => {
                for (field, (_, builder)) in builders.iter_mut().enumerate() {
                    builder.push(&row.get_item(field)?)?;
                }
            }
        }
    }
    finish(rows.len(), builders)
}

fn row_length(row: &Bound<'_, PyAny>, at: usize) -> PyResult<usize> {
    let is_row = row.is_instance_of::<PyTuple>()
        || row.is_instance_of::<PyList>()
        || (row.hasattr("__len__")? && row.hasattr("__getitem__")? && !is_text_or_map(row));
    if is_row {
        return row.len();
    }
    let class = row.get_type().fully_qualified_name()?;
    Err(PyTypeError::new_err(format!("row {at} is a {class}: rows must be tuples, lists or dicts, all of one kind")))
}

fn is_text_or_map(row: &Bound<'_, PyAny>) -> bool {
    row.is_instance_of::<PyString>() || row.is_instance_of::<PyBytes>() || row.is_instance_of::<PyDict>()
}

fn list_of_dicts(rows: &Bound<'_, PyList>) -> PyResult<Columns> {
    let py = rows.py();
    let mut keys: Vec<Py<PyString>> = Vec::new();
    let mut builders: Vec<(Arc<str>, Column)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let Ok(row) = row.cast::<PyDict>() else {
            let class = row.get_type().fully_qualified_name()?;
            return Err(PyTypeError::new_err(format!("row {at} is a {class}, but the first row is a dict")));
        };
        let mut met = 0;
        for (key, (_, builder)) in keys.iter().zip(&mut builders) {
            match row.get_item(key.bind(py))? {
                Some(cell) => {
                    builder.push(&cell)?;
                    met += 1;
                }
                None => builder.push_null(),
            }
        }
        if met < row.len() {
            add_new_keys(row, at, &mut keys, &mut builders)?;
        }
    }
    finish(rows.len(), builders)
}

/// Adds columns for the keys of row `at` that no earlier row had.
fn add_new_keys(
    row: &Bound<'_, PyDict>,
    at: usize,
    keys: &mut Vec<Py<PyString>>,
    builders: &mut Vec<(Arc<str>, Column)>,
) -> PyResult<()> {
    for (key, cell) in row.iter() {
        let name = text(&key)?;
        if builders.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let mut builder = Column::default();
        (0..at).for_each(|_| builder.push_null());
        builder.push(&cell)?;
        keys.push(key.cast_into::<PyString>()?.unbind());
        builders.push((name, builder));
    }
    Ok(())
}

fn text(name: &Bound<'_, PyAny>) -> PyResult<Arc<str>> {
    match name.cast::<PyString>() {
        Ok(name) => Ok(name.to_str()?.into()),
        Err(_) => Err(PyTypeError::new_err(format!("the names of columns must be strings, not {}", name.repr()?))),
    }
}

fn finish(rows: usize, builders: Vec<(Arc<str>, Column)>) -> PyResult<Columns> {
    let columns = builders.into_iter().map(|(name, builder)| Ok((name, builder.finish()?)));
    Ok(Columns { rows, columns: columns.collect::<PyResult<_>>()? })
}

/// Texts as a plain array, if 32 bits can say where each begins.
fn texts(large: LargeStringArray) -> ArrayRef {
    let offsets: Option<Vec<i32>> = large.value_offsets().iter().map(|offset| i32::try_from(*offset).ok()).collect();
    let plain = offsets.map(|offsets| {
        let (_, bytes, nulls) = large.clone().into_parts();
        StringArray::new(OffsetBuffer::new(offsets.into()), bytes, nulls)
    });
    plain.map_or_else(|| Arc::new(large) as ArrayRef, |plain| Arc::new(plain))
}

/// A column that grows cell by cell.
enum Column {
    Empty(usize),
    Bools(BooleanBuilder),
    Ints(Int64Builder),
    Floats(Float64Builder),
    Texts(LargeStringBuilder),
    Values(Vec<Option<Value>>),
}

impl Default for Column {
    fn default() -> Self {
        Column::Empty(0)
    }
}

impl Column {
    fn push(&mut self, cell: &Bound<'_, PyAny>) -> PyResult<()> {
        if cell.is_none() {
            self.push_null();
            return Ok(());
        }
        if self.push_same(cell)? {
            return Ok(());
        }
        if let Column::Empty(nulls) = *self
            && let Some(started) = Column::started(cell, nulls)
        {
            *self = started;
            return self.push(cell);
        }
        if cell.is_instance_of::<PyFloat>() && self.floats_from_ints() {
            return self.push(cell);
        }
        let value = parameters::value(cell)?;
        match (&mut *self, &value) {
            (Column::Floats(builder), Value::Int64(int)) if let Some(double) = exact_double(*int) => {
                builder.append_value(double);
            }
            _ => self.values()?.push(Some(value).filter(|v| !v.is_null())),
        }
        Ok(())
    }

    /// Appends the cell if it has the column's type. Returns whether it did.
    fn push_same(&mut self, cell: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self {
            Column::Ints(builder) => match cell.cast_exact::<PyInt>().ok().and_then(|i| i.extract::<i64>().ok()) {
                Some(value) => builder.append_value(value),
                None => return Ok(false),
            },
            Column::Floats(builder) => match cell.cast::<PyFloat>() {
                Ok(value) => builder.append_value(value.value()),
                Err(_) => return Ok(false),
            },
            Column::Texts(builder) => match cell.cast::<PyString>() {
                Ok(value) => builder.append_value(value.to_str()?),
                Err(_) => return Ok(false),
            },
            Column::Bools(builder) => match cell.cast::<PyBool>() {
                Ok(value) => builder.append_value(value.is_true()),
                Err(_) => return Ok(false),
            },
            Column::Empty(_) | Column::Values(_) => return Ok(false),
        }
        Ok(true)
    }

    fn push_null(&mut self) {
        match self {
            Column::Empty(n) => *n += 1,
            Column::Bools(builder) => builder.append_null(),
            Column::Ints(builder) => builder.append_null(),
            Column::Floats(builder) => builder.append_null(),
            Column::Texts(builder) => builder.append_null(),
            Column::Values(values) => values.push(None),
        }
    }

    /// A new column of the cell's type that begins with `nulls` nulls. `None` if the type has no builder here.
    fn started(cell: &Bound<'_, PyAny>, nulls: usize) -> Option<Self> {
        let mut column = if cell.is_exact_instance_of::<PyBool>() {
            Column::Bools(BooleanBuilder::new())
        } else if cell.is_exact_instance_of::<PyInt>() && cell.extract::<i64>().is_ok() {
            Column::Ints(Int64Builder::new())
        } else if cell.is_instance_of::<PyFloat>() {
            Column::Floats(Float64Builder::new())
        } else if cell.is_instance_of::<PyString>() {
            Column::Texts(LargeStringBuilder::new())
        } else {
            return None;
        };
        (0..nulls).for_each(|_| column.push_null());
        Some(column)
    }

    /// Turns integers into doubles, if all of them are exact. Returns whether it did.
    fn floats_from_ints(&mut self) -> bool {
        let Column::Ints(ints) = self else { return false };
        let ints = ints.finish_cloned();
        if !ints.iter().flatten().all(|int| exact_double(int).is_some()) {
            return false;
        }
        let mut floats = Float64Builder::new();
        ints.iter().for_each(|int| floats.append_option(int.map(|int| int as f64)));
        *self = Column::Floats(floats);
        true
    }

    /// Turns the column into plain values, for cells of more than one type.
    fn values(&mut self) -> PyResult<&mut Vec<Option<Value>>> {
        if !matches!(self, Column::Values(_)) {
            let array = std::mem::take(self).into_array();
            let value = |at| (!array.is_null(at)).then(|| column::value_at(&array, at));
            *self = Column::Values(match array.data_type() {
                arrow_schema::DataType::Null => vec![None; array.len()],
                _ => (0..array.len()).map(value).collect(),
            });
        }
        match self {
            Column::Values(values) => Ok(values),
            _ => unreachable!("made so above"),
        }
    }

    fn into_array(self) -> ArrayRef {
        match self {
            Column::Empty(n) => Arc::new(NullArray::new(n)),
            Column::Bools(mut builder) => Arc::new(builder.finish()),
            Column::Ints(mut builder) => Arc::new(builder.finish()),
            Column::Floats(mut builder) => Arc::new(builder.finish()),
            Column::Texts(mut builder) => texts(builder.finish()),
            Column::Values(_) => unreachable!("values are not taken as an array"),
        }
    }

    fn finish(self) -> PyResult<PropertyColumn> {
        use mangrove_graph::Cell;
        Ok(match self {
            Column::Empty(n) => PropertyColumn::Absent(n),
            Column::Values(values) => {
                let borrowed: Vec<Option<&Value>> = values.iter().map(Option::as_ref).collect();
                match column::array_of(&borrowed) {
                    Some(array) => PropertyColumn::Typed(array),
                    None => {
                        let cells = values.into_iter().map(|v| v.map_or(Cell::Absent, Cell::One));
                        PropertyColumn::Cells(cells.collect())
                    }
                }
            }
            typed => PropertyColumn::Typed(typed.into_array()),
        })
    }
}
