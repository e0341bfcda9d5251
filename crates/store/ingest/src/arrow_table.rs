//! Tables in memory or in Arrow record batches: columns go straight through wherever a property type has the same Arrow form.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date64Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Schema as ArrowSchema, TimeUnit};
use mangrove_graph::column::{arrow_type, is_supported, value_at};
use mangrove_graph::{Cardinality, ElementKind, ExternalId, Value, ValueType};

use crate::column::{ColumnType, cell_of_values, parse_value};
use crate::error::{BadRow, Fault, LoadError, Place, Spot};
use crate::infer::Inferred;
use crate::plan::{LabelRule, PropertyPlan, TableHints, TablePlan, plan_table};
use crate::rows::{
    Body, Column, Event, IdBuilder, IdType, Ids, LabelSet, Labels, PlaceKind, Places, RawCell, Rows, Sink, Values,
};

/// Plans a table by its Arrow schema.
pub fn plan_arrow(schema: &ArrowSchema, hints: &TableHints, name: &Arc<str>) -> Result<TablePlan, LoadError> {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    if names.is_empty() {
        return Err(LoadError::format(Place::file(name), "the table has no columns"));
    }
    let plan = plan_typed(&names, hints, name)?;
    for (field, property) in schema.fields().iter().zip(&plan.columns) {
        if property.is_some() && !is_supported(field.data_type()) {
            let reason = format!("column `{}`: values of Arrow type {} cannot be stored", field.name(), field.data_type());
            return Err(LoadError::format(Place::file(name), reason));
        }
    }
    Ok(plan)
}

/// Plans a table whose columns have types of their own: a type counts that a header or mapping says, not one it implies.
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
    /// Values of types that share no array; null is an absent value.
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

/// Sends the rows of a record batch; `first_row` counts from 1.
pub fn send_batch(
    batch: &RecordBatch,
    plan: &TablePlan,
    name: &Arc<str>,
    first_row: u64,
    sink: &mut Sink<'_>,
) -> Result<(), LoadError> {
    let columns: Vec<Input> = batch.columns().iter().cloned().map(Input::Array).collect();
    send_columns(&columns, batch.num_rows(), plan, name, first_row, sink)
}

/// Sends rows given as columns; `first_row` counts from 1.
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
        },
        ElementKind::Edge => Body::Edges {
            ids: plan.parts.id.map(|index| edge_ids_of(&inputs[index], &plan.names[index], plan.id_type, &mut bad)),
            source: ids(plan.parts.source, &mut bad).expect("tables of edges have a source column"),
            target: ids(plan.parts.target, &mut bad).expect("tables of edges have a target column"),
            source_scope: plan.source_scope.clone(),
            target_scope: plan.target_scope.clone(),
        },
    };
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

    /// Sends one reject a row, and gives the rows.
    fn send(mut self, sink: &mut Sink<'_>) -> Result<Vec<u32>, LoadError> {
        self.found.sort_by_key(|(row, ..)| *row);
        self.found.dedup_by_key(|(row, ..)| *row);
        let mut rows = Vec::with_capacity(self.found.len());
        for (row, value, fault) in self.found {
            rows.push(row as u32);
            let place = Place { file: self.name.clone(), spot: Spot::Row(self.first_row + row as u64) };
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
    let mut sets: Vec<LabelSet> = Vec::new();
    let mut codes = Vec::with_capacity(count);
    for row in 0..count {
        let set = match column.value(row) {
            Value::Null => None,
            Value::String(text) => LabelSet::parse(&text, delimiter),
            other => LabelSet::parse(&other.to_string(), delimiter),
        };
        let set = set.unwrap_or_else(|| LabelSet::one(default));
        let code = sets.iter().position(|known| *known == set).unwrap_or_else(|| {
            sets.push(set);
            sets.len() - 1
        });
        codes.push(code as u32);
    }
    if sets.is_empty() {
        sets.push(LabelSet::one(default));
    }
    Labels { sets, codes: Some(codes) }
}

/// The ids of a column. Numbers and strings are what they are, whatever they look like, unless another type is asked for.
fn ids_of(column: &Input, name: &Arc<str>, id_type: IdType, bad: &mut BadRows<'_>) -> Ids {
    if let Some(array) = column.full_array() {
        let t = array.data_type();
        if matches!(id_type, IdType::Auto | IdType::Int) && t.is_integer() && *t != DataType::UInt64 {
            return Ids::Ints(cast(array, &DataType::Int64).as_primitive::<Int64Type>().values().to_vec());
        }
        if matches!(id_type, IdType::Auto | IdType::String) && is_text(t) {
            return Ids::Strings(cast(array, &DataType::Utf8).as_string::<i32>().clone());
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
        // Whole numbers come as floats where a column has holes in pandas.
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
    match t {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn cast(column: &ArrayRef, to: &DataType) -> ArrayRef {
    if column.data_type() == to {
        return column.clone();
    }
    let options = CastOptions { safe: true, ..CastOptions::default() };
    cast_with_options(column, to, &options).expect("only casts Arrow knows are asked for")
}

fn property_values(column: &Input, plan: &PropertyPlan, on_edges: bool, bad: &mut BadRows<'_>) -> Values {
    match (&plan.column_type, column) {
        (ColumnType::Inferred(_) | ColumnType::Time(_) | ColumnType::Cells, Input::Array(array)) => values_of(array),
        (ColumnType::Inferred(_) | ColumnType::Time(_) | ColumnType::Cells, Input::Values(_)) => cells_of(column),
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

/// What a value stands for in a column of arrays; `None` if its items are not of the type.
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

/// A value as another type: numbers where they fit, text as it reads.
pub fn as_type(value: &Value, t: ValueType) -> Option<Value> {
    if value.value_type() == t {
        return Some(value.clone());
    }
    match (value, t) {
        (Value::String(text), _) => parse_value(t, text.trim().as_bytes()).ok(),
        (value, ValueType::String) => Some(Value::string(value.to_string())),
        (value, ValueType::Float64) => value.as_f64().map(Value::Float64),
        (value, ValueType::Float32) => value.as_f64().map(|v| Value::Float32(v as f32)),
        (Value::Float64(v), t) if t.is_integer() && v.fract() == 0.0 => as_type(&Value::string(format!("{v:.0}")), t),
        (value, t) if value.is_number() && t.is_number() => parse_value(t, value.to_string().as_bytes()).ok(),
        (Value::Date(v), ValueType::DateTime) => {
            Some(Value::DateTime(mangrove_graph::DateTime::from_millis(i64::from(v.0) * 86_400_000)))
        }
        _ => None,
    }
}

/// A column as property values: the same array where its type has one, else the nearest type that loses nothing.
pub fn values_of(column: &ArrayRef) -> Values {
    let to = match column.data_type() {
        DataType::Null => return Values::Absent(column.len()),
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 if fits_int64(column) => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        t if is_text(t) => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Date64 | DataType::Timestamp(_, _) => {
            return instants(column).unwrap_or_else(|| cells_of(&Input::Array(column.clone())));
        }
        DataType::Duration(unit) if *unit != TimeUnit::Nanosecond => DataType::Duration(TimeUnit::Microsecond),
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
        _ => return cells_of(&Input::Array(column.clone())),
    };
    Values::of_array(cast(column, &to))
}

/// Instants in microseconds, if that loses nothing. What zone they were to be shown in does not travel.
fn instants(column: &ArrayRef) -> Option<Values> {
    fn micros<T: ArrowPrimitiveType<Native = i64>>(column: &ArrayRef, factor: i64) -> Option<Values> {
        let column = column.as_primitive::<T>();
        let fits = column.iter().flatten().all(|v| v.checked_mul(factor).is_some());
        let made = || column.unary::<_, TimestampMicrosecondType>(|v| v.wrapping_mul(factor)).with_timezone("UTC");
        fits.then(|| Values::of_array(Arc::new(made())))
    }
    match column.data_type() {
        DataType::Date64 => micros::<Date64Type>(column, 1000),
        DataType::Timestamp(TimeUnit::Second, _) => micros::<TimestampSecondType>(column, 1_000_000),
        DataType::Timestamp(TimeUnit::Millisecond, _) => micros::<TimestampMillisecondType>(column, 1000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => micros::<TimestampMicrosecondType>(column, 1),
        _ => {
            let nanos = column.as_primitive_opt::<TimestampNanosecondType>()?;
            let whole = nanos.iter().flatten().all(|v| v % 1000 == 0);
            let made = || nanos.unary::<_, TimestampMicrosecondType>(|v| v.div_euclid(1000)).with_timezone("UTC");
            whole.then(|| Values::of_array(Arc::new(made())))
        }
    }
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
