//! Values as Arrow arrays and back.
//!
//! | value type | Arrow type |
//! |---|---|
//! | bool, int8…int64, float, double, string, bytes | Boolean, Int8…Int64, Float32, Float64, Utf8, Binary |
//! | date | Date32 |
//! | datetime | Timestamp(µs, UTC) |
//! | duration | Duration(µs) |
//! | uuid | FixedSizeBinary(16) |
//!
//! Other types have no array form here; they travel as [`Value`]s. An array would also lose part of some times and durations:
//!
//! - the offset of a date-time that is not in UTC
//! - anything finer than a microsecond
//! - anything beyond 64 bits of microseconds
//!
//! A batch that holds such a value stays in value form.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, DurationMicrosecondArray, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};

use crate::time::{Date, DateTime, Duration};
use crate::value::{Value, ValueType};

/// The Arrow type of a value type; `None` if it has no array form.
pub fn arrow_type(t: ValueType) -> Option<DataType> {
    Some(match t {
        ValueType::Bool => DataType::Boolean,
        ValueType::Int8 => DataType::Int8,
        ValueType::Int16 => DataType::Int16,
        ValueType::Int32 => DataType::Int32,
        ValueType::Int64 => DataType::Int64,
        ValueType::Float32 => DataType::Float32,
        ValueType::Float64 => DataType::Float64,
        ValueType::String => DataType::Utf8,
        ValueType::Bytes => DataType::Binary,
        ValueType::Date => DataType::Date32,
        ValueType::DateTime => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        ValueType::Duration => DataType::Duration(TimeUnit::Microsecond),
        ValueType::Uuid => DataType::FixedSizeBinary(16),
        _ => return None,
    })
}

/// The type of the values that [`value_at`] gives; `None` if it gives none. Integers beyond 64 bits have another type than others of
/// their column.
pub fn value_type_of(data_type: &DataType) -> Option<ValueType> {
    Some(match data_type {
        DataType::Boolean => ValueType::Bool,
        DataType::Int8 => ValueType::Int8,
        DataType::Int16 | DataType::UInt8 => ValueType::Int16,
        DataType::Int32 | DataType::UInt16 => ValueType::Int32,
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => ValueType::Int64,
        DataType::Float16 | DataType::Float32 => ValueType::Float32,
        DataType::Float64 => ValueType::Float64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ValueType::String,
        DataType::FixedSizeBinary(16) => ValueType::Uuid,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => ValueType::Bytes,
        DataType::Date32 => ValueType::Date,
        DataType::Date64 | DataType::Timestamp(..) => ValueType::DateTime,
        DataType::Duration(_) => ValueType::Duration,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            ValueType::Decimal
        }
        DataType::FixedSizeList(item, _) if *item.data_type() == DataType::Float32 => ValueType::Vector,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => ValueType::List,
        DataType::Map(..) | DataType::Struct(_) => ValueType::Map,
        DataType::Dictionary(_, values) => value_type_of(values)?,
        _ => return None,
    })
}

/// The bytes that the values of an array take, without those of a larger array it is a part of.
pub fn bytes(array: &dyn Array) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

/// The value at `at`; null where the array has none.
///
/// Arrow types without a value type of their own give the nearest one: unsigned integers widen, large and view strings become
/// strings, lists become lists, structs become maps. Types without a nearest one, such as times of day, give null. No caller needs
/// them.
///
/// # Panics
/// If `at` is out of bounds.
pub fn value_at(array: &dyn Array, at: usize) -> Value {
    if array.is_null(at) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(at)),
        DataType::Int8 => Value::Int8(array.as_primitive::<Int8Type>().value(at)),
        DataType::Int16 => Value::Int16(array.as_primitive::<Int16Type>().value(at)),
        DataType::Int32 => Value::Int32(array.as_primitive::<Int32Type>().value(at)),
        DataType::Int64 => Value::Int64(array.as_primitive::<Int64Type>().value(at)),
        DataType::UInt8 => Value::Int16(i16::from(array.as_primitive::<UInt8Type>().value(at))),
        DataType::UInt16 => Value::Int32(i32::from(array.as_primitive::<UInt16Type>().value(at))),
        DataType::UInt32 => Value::Int64(i64::from(array.as_primitive::<UInt32Type>().value(at))),
        DataType::UInt64 => {
            let v = array.as_primitive::<UInt64Type>().value(at);
            i64::try_from(v).map(Value::Int64).unwrap_or_else(|_| num_bigint::BigInt::from(v).into())
        }
        DataType::Float16 => Value::Float32(array.as_primitive::<Float16Type>().value(at).to_f32()),
        DataType::Float32 => Value::Float32(array.as_primitive::<Float32Type>().value(at)),
        DataType::Float64 => Value::Float64(array.as_primitive::<Float64Type>().value(at)),
        DataType::Utf8 => Value::string(array.as_string::<i32>().value(at)),
        DataType::LargeUtf8 => Value::string(array.as_string::<i64>().value(at)),
        DataType::Utf8View => Value::string(array.as_string_view().value(at)),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(at).into()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(at).into()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(at).into()),
        DataType::FixedSizeBinary(16) => {
            let bytes: [u8; 16] = array.as_fixed_size_binary().value(at).try_into().unwrap_or_default();
            Value::Uuid(uuid::Uuid::from_bytes(bytes))
        }
        DataType::FixedSizeBinary(_) => Value::Bytes(array.as_fixed_size_binary().value(at).into()),
        DataType::Date32 => Value::Date(Date(array.as_primitive::<Date32Type>().value(at))),
        DataType::Date64 => Value::DateTime(DateTime::from_millis(array.as_primitive::<Date64Type>().value(at))),
        DataType::Timestamp(unit, _) => Value::DateTime(timestamp_at(array, *unit, at)),
        DataType::Duration(unit) => Value::Duration(duration_at(array, *unit, at)),
        DataType::Decimal32(_, scale) => decimal(array.as_primitive::<Decimal32Type>().value(at).into(), *scale),
        DataType::Decimal64(_, scale) => decimal(array.as_primitive::<Decimal64Type>().value(at).into(), *scale),
        DataType::Decimal128(_, scale) => decimal(array.as_primitive::<Decimal128Type>().value(at).into(), *scale),
        DataType::Decimal256(_, scale) => {
            let unscaled = array.as_primitive::<Decimal256Type>().value(at).to_le_bytes();
            decimal(num_bigint::BigInt::from_signed_bytes_le(&unscaled), *scale)
        }
        DataType::List(_) => nested(array.as_list::<i32>().value(at)),
        DataType::LargeList(_) => nested(array.as_list::<i64>().value(at)),
        DataType::FixedSizeList(_, _) => {
            let items = array.as_fixed_size_list().value(at);
            match items.as_primitive_opt::<Float32Type>() {
                Some(floats) if floats.null_count() == 0 => Value::Vector(floats.values().to_vec().into()),
                _ => nested(items),
            }
        }
        DataType::Map(_, _) => map(&array.as_map().value(at)),
        DataType::Struct(fields) => {
            let entries = fields
                .iter()
                .zip(array.as_struct().columns())
                .map(|(field, column)| (Value::string(field.name()), value_at(column, at)));
            Value::map(crate::value::Map::from_distinct(entries.collect()))
        }
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            value_at(dictionary.values(), dictionary.normalized_keys()[at])
        }
        _ => Value::Null,
    }
}

fn nested(items: ArrayRef) -> Value {
    Value::list((0..items.len()).map(|at| value_at(&items, at)).collect())
}

fn timestamp_at(array: &dyn Array, unit: TimeUnit, at: usize) -> DateTime {
    let of = |count: i64, per_second: i64| DateTime {
        seconds: count.div_euclid(per_second),
        nanos: (count.rem_euclid(per_second) * (1_000_000_000 / per_second)) as u32,
        offset_seconds: 0,
    };
    match unit {
        TimeUnit::Second => of(array.as_primitive::<TimestampSecondType>().value(at), 1),
        TimeUnit::Millisecond => of(array.as_primitive::<TimestampMillisecondType>().value(at), 1000),
        TimeUnit::Microsecond => of(array.as_primitive::<TimestampMicrosecondType>().value(at), 1_000_000),
        TimeUnit::Nanosecond => of(array.as_primitive::<TimestampNanosecondType>().value(at), 1_000_000_000),
    }
}

fn duration_at(array: &dyn Array, unit: TimeUnit, at: usize) -> Duration {
    let of = |count: i64, per_second: i64| Duration {
        seconds: count.div_euclid(per_second),
        nanos: (count.rem_euclid(per_second) * (1_000_000_000 / per_second)) as u32,
    };
    match unit {
        TimeUnit::Second => of(array.as_primitive::<DurationSecondType>().value(at), 1),
        TimeUnit::Millisecond => of(array.as_primitive::<DurationMillisecondType>().value(at), 1000),
        TimeUnit::Microsecond => of(array.as_primitive::<DurationMicrosecondType>().value(at), 1_000_000),
        TimeUnit::Nanosecond => of(array.as_primitive::<DurationNanosecondType>().value(at), 1_000_000_000),
    }
}

fn decimal(unscaled: num_bigint::BigInt, scale: i8) -> Value {
    bigdecimal::BigDecimal::new(unscaled, i64::from(scale)).into()
}

/// The map of these entries. If a key occurs twice, the list of the pairs instead, so that nothing is lost.
fn map(entries: &StructArray) -> Value {
    let part = |column: usize, at: usize| value_at(entries.column(column), at);
    let pairs: Vec<_> = (0..entries.len()).map(|at| (part(0, at), part(1, at))).collect();
    let distinct: crate::value::Map = pairs.iter().cloned().collect();
    if distinct.len() == pairs.len() {
        return Value::map(distinct);
    }
    Value::list(pairs.into_iter().map(|(key, value)| Value::list(vec![key, value])).collect())
}

/// An array of `values`, where `None` gives an Arrow null. Returns `None` unless all values are of one type that has an array form, and
/// their bytes fit into one array: 2 GB.
pub fn array_of(values: &[Option<&Value>]) -> Option<ArrayRef> {
    let first = values.iter().flatten().next()?.value_type();
    if values.iter().flatten().any(|v| v.value_type() != first) {
        return None;
    }
    let bytes = |value: &Value| match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let bytes: usize = values.iter().flatten().map(|value| bytes(value)).sum();
    if bytes > i32::MAX as usize {
        return None;
    }
    macro_rules! primitive {
        ($array:ident, $variant:ident) => {
            Arc::new($array::from_iter(values.iter().map(|v| match v {
                Some(Value::$variant(v)) => Some(*v),
                _ => None,
            })))
        };
    }
    Some(match first {
        ValueType::Bool => primitive!(BooleanArray, Bool),
        ValueType::Int8 => primitive!(Int8Array, Int8),
        ValueType::Int16 => primitive!(Int16Array, Int16),
        ValueType::Int32 => primitive!(Int32Array, Int32),
        ValueType::Int64 => primitive!(Int64Array, Int64),
        ValueType::Float32 => primitive!(Float32Array, Float32),
        ValueType::Float64 => primitive!(Float64Array, Float64),
        ValueType::String => {
            let mut builder = StringBuilder::with_capacity(values.len(), bytes);
            values.iter().for_each(|v| builder.append_option(v.and_then(Value::as_str)));
            Arc::new(builder.finish())
        }
        ValueType::Bytes => Arc::new(BinaryArray::from_iter(values.iter().map(|v| match v {
            Some(Value::Bytes(bytes)) => Some(&bytes[..]),
            _ => None,
        }))),
        ValueType::Date => Arc::new(Date32Array::from_iter(values.iter().map(|v| match v {
            Some(Value::Date(date)) => Some(date.0),
            _ => None,
        }))),
        ValueType::DateTime => {
            let exact = |t: &DateTime| t.offset_seconds == 0 && DateTime::from_micros(t.micros()) == *t;
            let times = values.iter().map(|v| match v {
                Some(Value::DateTime(t)) if exact(t) => Some(Some(t.micros())),
                Some(_) => None,
                None => Some(None),
            });
            let micros: Vec<Option<i64>> = times.collect::<Option<_>>()?;
            Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"))
        }
        ValueType::Duration => {
            let spans = values.iter().map(|v| match v {
                Some(Value::Duration(d)) if Duration::from_micros(d.micros()) == *d => Some(Some(d.micros())),
                Some(_) => None,
                None => Some(None),
            });
            Arc::new(DurationMicrosecondArray::from(spans.collect::<Option<Vec<Option<i64>>>>()?))
        }
        ValueType::Uuid => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), 16);
            for value in values {
                match value {
                    Some(Value::Uuid(uuid)) => builder.append_value(uuid.as_bytes()).ok()?,
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_way_through_an_array() {
        let samples: [Value; 10] = [
            true.into(),
            (-3i8).into(),
            7i64.into(),
            0.5f32.into(),
            2.5f64.into(),
            "mangrove".into(),
            Value::Bytes([1, 2].as_slice().into()),
            Date(19_000).into(),
            DateTime::from_micros(1_700_000_000_000_001).into(),
            uuid::Uuid::from_u128(7).into(),
        ];
        for sample in samples {
            let array = array_of(&[Some(&sample), None]).unwrap();
            assert_eq!(Some(array.data_type().clone()), arrow_type(sample.value_type()));
            assert_eq!((value_at(&array, 0), value_at(&array, 1)), (sample, Value::Null));
        }
    }

    #[test]
    fn what_an_array_would_lose_stays_out_of_it() {
        let offset = Value::from(DateTime { seconds: 0, nanos: 0, offset_seconds: 3600 });
        assert!(array_of(&[Some(&offset)]).is_none());
        let fine = Value::from(Duration { seconds: 0, nanos: 1 });
        assert!(array_of(&[Some(&fine)]).is_none());
        assert!(array_of(&[Some(&Value::Int32(1)), Some(&Value::Int64(1))]).is_none());
    }
}
