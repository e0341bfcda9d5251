//! How Arrow's types are read. docs/load.md has the table.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RunArray};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef};

/// The purpose of a column.
#[derive(Clone, Copy, PartialEq)]
pub enum Purpose {
    Id,
    Value,
}

/// The Arrow type as which the values of a field are read: the nearest type that can hold each of them.
///
/// # Errors
/// The reason if there is no such type.
pub fn read_as(field: &Field, purpose: Purpose) -> Result<DataType, String> {
    let plain = plain(field, purpose)?;
    if can_cast_types(field.data_type(), &plain) {
        return Ok(plain);
    }
    Err(refusal(field.data_type(), "cannot be stored"))
}

fn plain(field: &Field, purpose: Purpose) -> Result<DataType, String> {
    let t = field.data_type();
    let below = |item: &FieldRef| -> Result<FieldRef, String> {
        let plain = plain(item, Purpose::Value)?;
        Ok(Arc::new(Field::new(item.name(), plain, item.is_nullable())))
    };
    Ok(match (field.extension_type_name(), t) {
        (Some("pandas.period"), _) => {
            let what = "holds periods of pandas, which Mangrove has no type for";
            return Err(format!("{what}: convert it with .dt.to_timestamp() or .astype(str)"));
        }
        (Some("arrow.bool8"), DataType::Int8) => DataType::Boolean,
        (Some("arrow.uuid"), DataType::FixedSizeBinary(16)) => t.clone(),
        (_, DataType::FixedSizeBinary(16)) if purpose == Purpose::Id => t.clone(),
        (_, DataType::FixedSizeBinary(_)) => DataType::Binary,
        (_, DataType::Dictionary(_, values)) => large(plain(&Field::new("", (**values).clone(), true), purpose)?),
        (_, DataType::RunEndEncoded(_, values)) => large(plain(values, purpose)?),
        (_, DataType::Utf8View | DataType::BinaryView) => large(t.clone()),
        (_, DataType::List(item) | DataType::ListView(item)) => DataType::List(below(item)?),
        (_, DataType::LargeList(item) | DataType::LargeListView(item)) => DataType::LargeList(below(item)?),
        (_, DataType::FixedSizeList(item, n)) => DataType::FixedSizeList(below(item)?, *n),
        (_, DataType::Struct(fields)) => DataType::Struct(fields.iter().map(below).collect::<Result<_, _>>()?),
        (_, DataType::Map(entries, sorted)) => DataType::Map(below(entries)?, *sorted),
        (_, DataType::Time32(_) | DataType::Time64(_)) => {
            return Err(refusal(t, "are times of day, which Mangrove has no type for: give durations or text"));
        }
        (_, DataType::Interval(_)) => {
            return Err(refusal(t, "have months or days, whose length varies: give durations or text"));
        }
        (_, DataType::Union(..)) => return Err(refusal(t, "have several types: give a column for each")),
        _ => t.clone(),
    })
}

/// The variant with 64-bit offsets: expanded texts and bytes may be too long for 32-bit offsets.
fn large(t: DataType) -> DataType {
    match t {
        DataType::Utf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary | DataType::BinaryView => DataType::LargeBinary,
        t => t,
    }
}

fn refusal(t: &DataType, why: &str) -> String {
    format!("values of Arrow type {t} {why}")
}

/// Converts a column to another type. `None` if a value does not fit.
pub fn cast(column: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    if column.data_type() == to {
        return Some(column.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &options).ok()
}

/// An upper bound of a column's bytes once expanded, so that each row has its own copy of a value that the column holds once.
pub fn written_out_bytes(column: &dyn Array) -> usize {
    let longest = |values: &dyn Array| {
        let lengths = cast(&values.slice(0, values.len()), &DataType::LargeBinary);
        let lengths = lengths.as_ref().map(|values| values.as_binary::<i64>().offsets().lengths().max());
        lengths.flatten().unwrap_or(0)
    };
    match column.data_type() {
        DataType::Dictionary(_, _) => column.len() * longest(column.as_any_dictionary().values()),
        DataType::RunEndEncoded(_, _) => {
            let values = column.as_any().downcast_ref::<RunArray<Int16Type>>().map(RunArray::values);
            let values = values.or_else(|| column.as_any().downcast_ref::<RunArray<Int32Type>>().map(RunArray::values));
            let values = values.or_else(|| column.as_any().downcast_ref::<RunArray<Int64Type>>().map(RunArray::values));
            column.len() * values.map_or(0, |values| longest(values))
        }
        DataType::Utf8View => column.as_string_view().lengths().map(|n| n as usize).sum(),
        DataType::BinaryView => column.as_binary_view().lengths().map(|n| n as usize).sum(),
        _ => 0,
    }
}
