//! Tables as Arrow record batches: columns go straight through wherever a property type has the same Arrow form.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Schema as ArrowSchema, TimeUnit};
use mangrove_graph::column::{arrow_type, is_supported, value_at};
use mangrove_graph::{ElementKind, ExternalId, Value, ValueType};

use crate::column::{ColumnType, cell_of_values, parse_value};
use crate::error::{BadRow, Fault, LoadError, Place, Spot};
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
    let plan = plan_table(&names, hints, name)?;
    for (field, property) in schema.fields().iter().zip(&plan.columns) {
        if property.is_some() && !is_supported(field.data_type()) {
            let reason = format!("column `{}`: values of Arrow type {} cannot be stored", field.name(), field.data_type());
            return Err(LoadError::format(Place::file(name), reason));
        }
    }
    Ok(plan)
}

/// Sends the rows of a batch; `first_row` counts from 1.
pub fn send_batch(
    batch: &RecordBatch,
    plan: &TablePlan,
    name: &Arc<str>,
    first_row: u64,
    sink: &mut Sink<'_>,
) -> Result<(), LoadError> {
    let mut bad = BadRows { name, first_row, found: Vec::new() };
    let labels = labels_of(batch, plan);
    let ids = |index: Option<usize>, bad: &mut BadRows<'_>| {
        index.map(|index| ids_of(batch.column(index), &plan.names[index], plan.id_type, bad))
    };
    let body = match plan.kind {
        ElementKind::Vertex => Body::Vertices {
            ids: ids(plan.parts.id, &mut bad).expect("tables of vertices have an id column"),
            space: plan.space.clone(),
        },
        ElementKind::Edge => Body::Edges {
            ids: plan.parts.id.map(|index| edge_ids_of(batch.column(index), &plan.names[index], plan.id_type, &mut bad)),
            source: ids(plan.parts.source, &mut bad).expect("tables of edges have a source column"),
            target: ids(plan.parts.target, &mut bad).expect("tables of edges have a target column"),
            source_scope: plan.source_scope.clone(),
            target_scope: plan.target_scope.clone(),
        },
    };
    let mut columns = Vec::new();
    for (index, property) in plan.columns.iter().enumerate() {
        if let Some(property) = property {
            let values = property_values(batch.column(index), property, plan.kind == ElementKind::Edge, &mut bad);
            columns.push(Column { name: property.name.clone(), values, inferred: false });
        }
    }
    let places = Places::new(name, PlaceKind::Rows(first_row));
    let rows = Rows { count: batch.num_rows(), labels, body, columns, places };
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

fn labels_of(batch: &RecordBatch, plan: &TablePlan) -> Labels {
    let (index, delimiter, default) = match &plan.label {
        LabelRule::Fixed(label) => return Labels::all(LabelSet::one(label)),
        LabelRule::Column { index, delimiter, default } => (*index, *delimiter, default),
    };
    let column = batch.column(index);
    let mut sets: Vec<LabelSet> = Vec::new();
    let mut codes = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        let set = match value_at(column, row) {
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
fn ids_of(column: &ArrayRef, name: &Arc<str>, id_type: IdType, bad: &mut BadRows<'_>) -> Ids {
    let quick = column.null_count() == 0 && matches!(id_type, IdType::Auto | IdType::Int);
    if quick && column.data_type().is_integer() && *column.data_type() != DataType::UInt64 {
        return Ids::Ints(cast(column, &DataType::Int64).as_primitive::<Int64Type>().values().to_vec());
    }
    if column.null_count() == 0 && matches!(id_type, IdType::Auto | IdType::String) && is_text(column.data_type()) {
        return Ids::Strings(cast(column, &DataType::Utf8).as_string::<i32>().clone());
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

fn edge_ids_of(
    column: &ArrayRef,
    name: &Arc<str>,
    id_type: IdType,
    bad: &mut BadRows<'_>,
) -> Vec<Option<ExternalId>> {
    let id = |row: usize| {
        id_at(column, row, id_type).unwrap_or_else(|value| {
            let expected = id_type.name().into();
            bad.add(row, Some(value), Fault::Misfit { column: name.clone(), expected });
            None
        })
    };
    (0..column.len()).map(id).collect()
}

fn id_at(column: &ArrayRef, row: usize, id_type: IdType) -> Result<Option<ExternalId>, String> {
    let value = match value_at(column, row) {
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

fn property_values(column: &ArrayRef, plan: &PropertyPlan, on_edges: bool, bad: &mut BadRows<'_>) -> Values {
    match &plan.column_type {
        ColumnType::Inferred(_) | ColumnType::Cells => values_of(column),
        ColumnType::Declared(t) if arrow_type(*t).as_ref() == Some(column.data_type()) => Values::of_array(column.clone()),
        ColumnType::Declared(t) => declared_values(column, *t, plan, bad),
        ColumnType::Array { item, cardinality } => {
            let cell = |row: usize| match value_at(column, row) {
                Value::Null => RawCell::Absent,
                Value::List(items) => {
                    let items = items.iter().map(|value| as_type(value, *item).ok_or(()));
                    match items.collect::<Result<Vec<_>, ()>>() {
                        Ok(items) => cell_of_values(items, *cardinality, on_edges),
                        Err(()) => misfit(row, value_at(column, row), plan, bad),
                    }
                }
                other => match as_type(&other, *item) {
                    Some(value) => RawCell::One(value),
                    None => misfit(row, other, plan, bad),
                },
            };
            Values::of_cells((0..column.len()).map(cell).collect())
        }
    }
}

fn misfit(row: usize, value: Value, plan: &PropertyPlan, bad: &mut BadRows<'_>) -> RawCell {
    let expected = plan.column_type.name().into();
    bad.add(row, Some(value.to_string()), Fault::Misfit { column: plan.name.clone(), expected });
    RawCell::Absent
}

fn declared_values(column: &ArrayRef, t: ValueType, plan: &PropertyPlan, bad: &mut BadRows<'_>) -> Values {
    let cell = |row: usize| match value_at(column, row) {
        Value::Null => RawCell::Absent,
        value => match as_type(&value, t) {
            Some(value) => RawCell::One(value),
            None => misfit(row, value, plan, bad),
        },
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
    let micros = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let to = match column.data_type() {
        DataType::Null => return Values::Absent(column.len()),
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 if fits_int64(column) => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        t if is_text(t) => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Date64 => micros(),
        DataType::Timestamp(TimeUnit::Nanosecond, _) if !is_whole_micros(column) => return cells_of(column),
        DataType::Timestamp(_, _) => micros(),
        DataType::Duration(TimeUnit::Nanosecond) => return cells_of(column),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Microsecond),
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
        _ => return cells_of(column),
    };
    Values::of_array(cast(column, &to))
}

fn fits_int64(column: &ArrayRef) -> bool {
    column.as_primitive::<UInt64Type>().iter().flatten().all(|v| i64::try_from(v).is_ok())
}

fn is_whole_micros(column: &ArrayRef) -> bool {
    column.as_primitive::<TimestampNanosecondType>().iter().flatten().all(|v| v % 1000 == 0)
}

fn cells_of(column: &ArrayRef) -> Values {
    let cell = |row: usize| match value_at(column, row) {
        Value::Null => RawCell::Absent,
        value => RawCell::One(value),
    };
    Values::of_cells((0..column.len()).map(cell).collect())
}
