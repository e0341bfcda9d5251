//! Tables in memory or in Arrow record batches. A column passes through unchanged if a property type has the same Arrow form.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{DurationMicrosecondType, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema as ArrowSchema, TimeUnit};
use mangrove_graph::column::{arrow_type, value_at};
use mangrove_graph::{Cardinality, ElementKind, ExternalId, Value, ValueType, number};

use crate::batches::column::{ColumnType, cell_of_values, parse_value};
use crate::batches::rows::{
    Body, Column, Event, IdBuilder, IdType, Ids, LabelSet, Labels, LabelsBuilder, PlaceKind, Places, RawCell, Rows, Sink,
    Values,
};
use crate::batches::typed_json::parse_cell;
use crate::error::{BadRow, Fault, LoadError, Location, Spot};
use crate::tables::arrow_type::{Purpose, cast, read_as, written_out_bytes};
use crate::tables::plan::{LabelRule, PropertyPlan, TableHints, TablePlan};
use crate::tables::planner::plan_table;
use crate::text::infer::Inferred;

/// Plans a table from its Arrow schema.
pub fn plan_arrow(schema: &ArrowSchema, hints: &TableHints, name: &Arc<str>) -> Result<TablePlan, LoadError> {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    if names.is_empty() {
        return Err(LoadError::format(Location::file(name), "the table has no columns"));
    }
    let plan = plan_typed(&names, hints, name)?;
    for (at, field) in schema.fields().iter().enumerate() {
        if let Some(purpose) = plan.purpose(at)
            && let Err(why) = read_as(field, purpose)
        {
            return Err(LoadError::format(Location::file(name), format!("column `{}`: {why}", field.name())));
        }
    }
    Ok(plan)
}

impl TablePlan {
    /// The purpose of a column; `None` if the plan skips it.
    fn purpose(&self, at: usize) -> Option<Purpose> {
        if [self.parts.id, self.parts.source, self.parts.target].contains(&Some(at)) {
            return Some(Purpose::Id);
        }
        let is_label = matches!(&self.label, LabelRule::Column { index, .. } if *index == at);
        match &self.columns[at] {
            Some(property) if property.column_type == ColumnType::Declared(ValueType::Uuid) => Some(Purpose::Id),
            Some(_) => Some(Purpose::Value),
            None => is_label.then_some(Purpose::Value),
        }
    }
}

/// Plans a table whose columns have types of their own. Keeps only types that a header or mapping states, not inferred ones.
pub fn plan_typed(names: &[String], hints: &TableHints, name: &Arc<str>) -> Result<TablePlan, LoadError> {
    let mut plan = plan_table(names, hints, name)?;
    if hints.mapping.is_some() {
        return Ok(plan);
    }
    for (name, property) in names.iter().zip(&mut plan.columns) {
        if let Some(property) = property.as_mut().filter(|_| !name.contains(':')) {
            property.column_type = ColumnType::Inferred(Inferred::Nothing);
        }
    }
    Ok(plan)
}

/// One column of a batch.
pub enum Input {
    Array(ArrayRef),
    /// Values that share no array type. A null is an absent value.
    Values(Vec<Value>),
}

impl Input {
    fn len(&self) -> usize {
        match self {
            Input::Array(array) => array.len(),
            Input::Values(values) => values.len(),
        }
    }

    fn value(&self, row: usize) -> Value {
        match self {
            Input::Array(array) => value_at(array, row),
            Input::Values(values) => values[row].clone(),
        }
    }

    /// The array, if it has no nulls.
    fn full_array(&self) -> Option<&ArrayRef> {
        match self {
            Input::Array(array) if array.null_count() == 0 => Some(array),
            _ => None,
        }
    }
}

/// Most bytes of a batch's columns once expanded. A larger batch is split.
const PIECE_BYTES_MAX: usize = 64 << 20;

/// Sends the rows of a record batch. `first_row` counts from 1.
pub fn send_batch(
    batch: &RecordBatch,
    plan: &TablePlan,
    name: &Arc<str>,
    first_row: u64,
    sink: &mut Sink<'_>,
) -> Result<(), LoadError> {
    let (schema, rows) = (batch.schema_ref(), batch.num_rows());
    let bytes: usize = batch.columns().iter().map(|column| written_out_bytes(column)).sum();
    if bytes > PIECE_BYTES_MAX && rows > 1 {
        send_batch(&batch.slice(0, rows / 2), plan, name, first_row, sink)?;
        let rest = batch.slice(rows / 2, rows - rows / 2);
        return send_batch(&rest, plan, name, first_row + rows as u64 / 2, sink);
    }
    let plain = |(at, column): (usize, &ArrayRef)| {
        let Some(purpose) = plan.purpose(at) else { return Ok(Input::Array(column.clone())) };
        let plain = read_as(schema.field(at), purpose).and_then(|t| {
            cast(column, &t).ok_or_else(|| format!("from row {first_row} on, some values do not fit into {t}"))
        });
        let failed = |why| LoadError::format(Location::file(name), format!("column `{}`: {why}", schema.field(at).name()));
        plain.map(Input::Array).map_err(failed)
    };
    let columns = batch.columns().iter().enumerate().map(plain).collect::<Result<Vec<_>, _>>()?;
    send_columns(&columns, batch.num_rows(), plan, name, first_row, sink)
}

/// Sends rows given as columns. `first_row` counts from 1.
pub fn send_columns(
    inputs: &[Input],
    count: usize,
    plan: &TablePlan,
    name: &Arc<str>,
    first_row: u64,
    sink: &mut Sink<'_>,
) -> Result<(), LoadError> {
    let mut bad = BadRows { name, first_row, found: Vec::new() };
    let labels = labels_of(inputs, count, plan);
    let ids = |index: Option<usize>, bad: &mut BadRows<'_>| {
        index.map(|index| ids_of(&inputs[index], &plan.names[index], plan.id_type, bad))
    };
    let body = match plan.kind {
        ElementKind::Vertex => Body::Vertices {
            ids: ids(plan.parts.id, &mut bad).expect("tables of vertices have an id column"),
            space: plan.space.clone(),
            key: plan.key.clone(),
        },
        ElementKind::Edge => Body::Edges {
            ids: plan.parts.id.map(|index| edge_ids_of(&inputs[index], &plan.names[index], plan.id_type, &mut bad)),
            source: ids(plan.parts.source, &mut bad).expect("tables of edges have a source column"),
            target: ids(plan.parts.target, &mut bad).expect("tables of edges have a target column"),
            source_scope: plan.source_scope.clone(),
            target_scope: plan.target_scope.clone(),
        },
    };
    for (row, column) in too_large(inputs, count, plan) {
        bad.add(row, None, Fault::TooLarge { column, limit: ELEMENT_BYTES_MAX });
    }
    let mut columns = Vec::new();
    for (index, property) in plan.columns.iter().enumerate() {
        if let Some(property) = property {
            let values = property_values(&inputs[index], property, plan.kind == ElementKind::Edge, &mut bad);
            columns.push(Column { name: property.name.clone(), values, inferred: false });
        }
    }
    let places = Places::new(name, PlaceKind::Rows(first_row));
    let rows = Rows { count, labels, body, columns, places };
    let dropped = bad.send(sink)?;
    sink(Event::Rows(Box::new(rows.without(&dropped))))
}

/// Most memory that the values of one element may take.
const ELEMENT_BYTES_MAX: usize = 128 << 20;

/// The rows whose values exceed the limit, each with its largest column.
fn too_large(inputs: &[Input], count: usize, plan: &TablePlan) -> Vec<(usize, Arc<str>)> {
    let properties = || plan.columns.iter().zip(inputs).filter_map(|(property, input)| Some((property.as_ref()?, input)));
    let array_bytes = |(_, input): (_, &Input)| match input {
        Input::Array(array) => array.get_array_memory_size(),
        Input::Values(_) => 0,
    };
    if properties().map(array_bytes).sum::<usize>() <= ELEMENT_BYTES_MAX {
        return Vec::new();
    }
    // For each row: the bytes of its values, the bytes of its largest value, and the column of that one.
    let mut rows = vec![(0, 0, None); count];
    for (property, input) in properties() {
        let Input::Array(array) = input else { continue };
        for (row, (total, most, of)) in rows.iter_mut().enumerate() {
            let bytes = value_bytes(array, row);
            *total += bytes;
            if bytes > *most {
                (*most, *of) = (bytes, Some(&property.name));
            }
        }
    }
    let rows = rows.into_iter().enumerate().filter(|(_, (total, ..))| *total > ELEMENT_BYTES_MAX);
    rows.filter_map(|(row, (_, _, column))| Some((row, column?.clone()))).collect()
}

/// The bytes of a row's value. 0 for types whose values all take the same.
fn value_bytes(array: &ArrayRef, row: usize) -> usize {
    match array.data_type() {
        t if t.is_primitive() => 0,
        DataType::Utf8 => array.as_string::<i32>().value_length(row) as usize,
        DataType::LargeUtf8 => array.as_string::<i64>().value_length(row) as usize,
        DataType::Binary => array.as_binary::<i32>().value_length(row) as usize,
        DataType::LargeBinary => array.as_binary::<i64>().value_length(row) as usize,
        _ => value_at(array, row).memory_bytes(ELEMENT_BYTES_MAX + 1),
    }
}

/// The rows of a batch that cannot be loaded.
struct BadRows<'a> {
    name: &'a Arc<str>,
    first_row: u64,
    found: Vec<(usize, Option<String>, Fault)>,
}

impl BadRows<'_> {
    fn add(&mut self, row: usize, value: Option<String>, fault: Fault) {
        self.found.push((row, value, fault));
    }

    /// Sends one reject for each bad row. Returns these rows.
    fn send(mut self, sink: &mut Sink<'_>) -> Result<Vec<u32>, LoadError> {
        self.found.sort_by_key(|(row, ..)| *row);
        self.found.dedup_by_key(|(row, ..)| *row);
        let mut rows = Vec::with_capacity(self.found.len());
        for (row, value, fault) in self.found {
            rows.push(row as u32);
            let place = Location { file: self.name.clone(), spot: Spot::Row(self.first_row + row as u64) };
            sink(Event::Reject(Box::new(BadRow { place, value, fault, raw: String::new() })))?;
        }
        Ok(rows)
    }
}

fn labels_of(inputs: &[Input], count: usize, plan: &TablePlan) -> Labels {
    let (index, delimiter, default) = match &plan.label {
        LabelRule::Fixed(label) => return Labels::all(LabelSet::one(label)),
        LabelRule::Column { index, delimiter, default } => (*index, *delimiter, default),
    };
    let column = &inputs[index];
    let mut labels = LabelsBuilder::default();
    for row in 0..count {
        let set = match column.value(row) {
            Value::Null => None,
            Value::String(text) => LabelSet::parse(&text, delimiter),
            other => LabelSet::parse(&other.to_string(), delimiter),
        };
        labels.add(&set.unwrap_or_else(|| LabelSet::one(default)));
    }
    labels.finish()
}

/// The ids of a column. Numbers and strings keep their type, whatever they look like, unless another type is asked for.
fn ids_of(column: &Input, name: &Arc<str>, id_type: IdType, bad: &mut BadRows<'_>) -> Ids {
    if let Some(array) = column.full_array() {
        let t = array.data_type();
        if matches!(id_type, IdType::Auto | IdType::Int) && t.is_integer() && *t != DataType::UInt64 {
            if let Some(ints) = cast(array, &DataType::Int64) {
                return Ids::Ints(ints.as_primitive::<Int64Type>().values().to_vec());
            }
        } else if matches!(id_type, IdType::Auto | IdType::String)
            && is_text(t)
            && let Some(texts) = cast(array, &DataType::Utf8)
        {
            return Ids::Strings(texts.as_string::<i32>().clone());
        }
    }
    let mut ids = IdBuilder::new(IdType::Auto);
    for row in 0..column.len() {
        match id_at(column, row, id_type) {
            Ok(Some(id)) => ids.push_id(id),
            Ok(None) => {
                bad.add(row, None, Fault::NoId { column: name.clone() });
                ids.push_placeholder();
            }
            Err(value) => {
                let expected = id_type.name().into();
                bad.add(row, Some(value), Fault::Misfit { column: name.clone(), expected });
                ids.push_placeholder();
            }
        }
    }
    ids.finish()
}

fn edge_ids_of(column: &Input, name: &Arc<str>, id_type: IdType, bad: &mut BadRows<'_>) -> Vec<Option<ExternalId>> {
    let id = |row: usize| {
        id_at(column, row, id_type).unwrap_or_else(|value| {
            let expected = id_type.name().into();
            bad.add(row, Some(value), Fault::Misfit { column: name.clone(), expected });
            None
        })
    };
    (0..column.len()).map(id).collect()
}

fn id_at(column: &Input, row: usize, id_type: IdType) -> Result<Option<ExternalId>, String> {
    let value = match column.value(row) {
        Value::Null => return Ok(None),
        // pandas turns integers into floats if a column has holes.
        Value::Float64(v) if v.fract() == 0.0 && v.abs() < 9e15 => Value::Int64(v as i64),
        value => value,
    };
    let id = match (id_type, &value) {
        (IdType::Auto, value) => ExternalId::from_value(value),
        (_, Value::String(text)) => id_type.parse(text.as_bytes()).ok(),
        (IdType::String, value) => Some(ExternalId::from(&*value.to_string())),
        (IdType::Int, value) => value.as_i64().map(ExternalId::Int),
        (IdType::Uuid, value) => ExternalId::from_value(value).filter(|id| matches!(id, ExternalId::Uuid(_))),
    };
    id.map(Some).ok_or_else(|| value.to_string())
}

fn is_text(t: &DataType) -> bool {
    matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn property_values(column: &Input, plan: &PropertyPlan, on_edges: bool, bad: &mut BadRows<'_>) -> Values {
    match (&plan.column_type, column) {
        (ColumnType::Inferred(_) | ColumnType::Time(_), Input::Array(array)) => values_of(array),
        (ColumnType::Inferred(_) | ColumnType::Time(_), Input::Values(_)) => cells_of(column),
        (ColumnType::Cells, _) => {
            let cell = |row: usize| written_cell(&column.value(row)).unwrap_or_else(|| misfit(row, column, plan, bad));
            Values::of_cells((0..column.len()).map(cell).collect())
        }
        (ColumnType::Declared(t), Input::Array(array)) if arrow_type(*t).as_ref() == Some(array.data_type()) => {
            Values::of_array(array.clone())
        }
        (ColumnType::Declared(t), _) => declared_values(column, *t, plan, bad),
        (ColumnType::Array { item, cardinality }, _) => {
            let cell = |row: usize| array_cell(column.value(row), *item, *cardinality, on_edges);
            let cells = (0..column.len()).map(|row| cell(row).unwrap_or_else(|| misfit(row, column, plan, bad)));
            Values::of_cells(cells.collect())
        }
    }
}

/// A cell of a column written as GraphSON; `None` if it is something else.
fn written_cell(value: &Value) -> Option<RawCell> {
    match value {
        Value::Null => Some(RawCell::Absent),
        Value::String(text) => parse_cell(text),
        _ => None,
    }
}

/// The cell for a value in a column of arrays; `None` if an item does not have the type.
fn array_cell(value: Value, item: ValueType, cardinality: Cardinality, on_edges: bool) -> Option<RawCell> {
    match value {
        Value::Null => Some(RawCell::Absent),
        Value::List(items) | Value::Set(items) => {
            let items = items.iter().map(|value| as_type(value, item)).collect::<Option<Vec<_>>>()?;
            Some(cell_of_values(items, cardinality, on_edges))
        }
        other => as_type(&other, item).map(RawCell::One),
    }
}

fn misfit(row: usize, column: &Input, plan: &PropertyPlan, bad: &mut BadRows<'_>) -> RawCell {
    let expected = plan.column_type.name().into();
    bad.add(row, Some(column.value(row).to_string()), Fault::Misfit { column: plan.name.clone(), expected });
    RawCell::Absent
}

fn declared_values(column: &Input, t: ValueType, plan: &PropertyPlan, bad: &mut BadRows<'_>) -> Values {
    let cell = |row: usize| match column.value(row) {
        Value::Null => RawCell::Absent,
        value => as_type(&value, t).map_or_else(|| misfit(row, column, plan, bad), RawCell::One),
    };
    Values::of_cells((0..column.len()).map(cell).collect())
}

/// Converts a value to another type: numbers if they fit, text by parsing it.
pub fn as_type(value: &Value, t: ValueType) -> Option<Value> {
    if value.value_type() == t {
        return Some(value.clone());
    }
    match (value, t) {
        (Value::Null, _) => None,
        (Value::String(text), _) => parse_value(t, text.trim().as_bytes()).ok(),
        (value, ValueType::String) => Some(Value::string(value.to_string())),
        (value, ValueType::Float64) => as_double(value).map(Value::Float64),
        (value, ValueType::Float32) => {
            let double = as_double(value)?;
            let float = double as f32;
            (float.is_finite() || !double.is_finite()).then_some(Value::Float32(float))
        }
        (Value::Float64(v), t) if t.is_integer() && v.fract() == 0.0 => as_type(&Value::string(format!("{v:.0}")), t),
        (value, t) if value.is_number() && t.is_number() => parse_value(t, value.to_string().as_bytes()).ok(),
        (list @ Value::List(_), ValueType::Vector) => list.to_vector(),
        (Value::Date(v), ValueType::DateTime) => {
            Some(Value::DateTime(mangrove_graph::DateTime::from_millis(i64::from(v.0) * 86_400_000)))
        }
        _ => None,
    }
}

/// A number as a double. Rounds fractions, as it does for text. `None` for integers that no double equals, and for numbers that are
/// too large.
fn as_double(value: &Value) -> Option<f64> {
    let double = value.as_f64()?;
    let is_kept = match value {
        Value::Float32(_) | Value::Float64(_) => true,
        _ if value.value_type().is_integer() => {
            number::big_int(&format!("{double:.0}")).ok()?.to_string() == value.to_string()
        }
        _ => double.is_finite(),
    };
    is_kept.then_some(double)
}

/// A column as property values. Keeps the array if a property type has the same form. Otherwise converts it to the nearest type
/// that loses nothing.
pub fn values_of(column: &ArrayRef) -> Values {
    match column.data_type() {
        DataType::Null => Values::Absent(column.len()),
        _ => plain_array(column).map_or_else(|| cells_of(&Input::Array(column.clone())), Values::of_array),
    }
}

/// The values of a column in the form that a property type has, if that loses nothing. `None`: they have no such form, and must be
/// read one by one.
pub fn plain_array(column: &ArrayRef) -> Option<ArrayRef> {
    let to = match column.data_type() {
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 if fits_int64(column) => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        t if is_text(t) => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Date64 | DataType::Timestamp(_, _) | DataType::Duration(_) => return in_micros(column),
        t @ (DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Binary
        | DataType::Date32
        | DataType::FixedSizeBinary(16)) => t.clone(),
        _ => return None,
    };
    cast(column, &to)
}

/// Instants or durations in microseconds, if that loses nothing. Drops the time zone in which instants were shown.
fn in_micros(column: &ArrayRef) -> Option<ArrayRef> {
    let (is_duration, unit) = match column.data_type() {
        DataType::Date64 => (false, TimeUnit::Millisecond),
        DataType::Timestamp(unit, _) => (false, *unit),
        DataType::Duration(unit) => (true, *unit),
        _ => return None,
    };
    let counts = cast(column, &DataType::Int64)?;
    let counts = counts.as_primitive::<Int64Type>();
    let micros = |count: i64| match unit {
        TimeUnit::Second => count.checked_mul(1_000_000),
        TimeUnit::Millisecond => count.checked_mul(1000),
        TimeUnit::Microsecond => Some(count),
        TimeUnit::Nanosecond => (count % 1000 == 0).then_some(count / 1000),
    };
    if counts.iter().flatten().any(|count| micros(count).is_none()) {
        return None;
    }
    // The value behind a null may be anything.
    let micros = |count| micros(count).unwrap_or(0);
    Some(match is_duration {
        true => Arc::new(counts.unary::<_, DurationMicrosecondType>(micros)),
        false => Arc::new(counts.unary::<_, TimestampMicrosecondType>(micros).with_timezone("UTC")),
    })
}

fn fits_int64(column: &ArrayRef) -> bool {
    column.as_primitive::<UInt64Type>().iter().flatten().all(|v| i64::try_from(v).is_ok())
}

fn cells_of(column: &Input) -> Values {
    let cell = |row: usize| match column.value(row) {
        Value::Null => RawCell::Absent,
        value => RawCell::One(value),
    };
    Values::of_cells((0..column.len()).map(cell).collect())
}
