//! Tests predicates on whole columns, without making a value for each row.

use crate::column;
use crate::predicate::{Comparison, Predicate};
use crate::time::DateTime;
use crate::value::Value;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};

/// Whether each value of a column matches. A null stands for a missing value and never matches.
pub fn matches(array: &dyn Array, predicate: &Predicate) -> Vec<bool> {
    let mut keep = plain(array, predicate).unwrap_or_else(|| {
        (0..array.len()).map(|row| array.is_valid(row) && predicate.matches(&column::value_at(array, row))).collect()
    });
    if let Some(nulls) = array.nulls() {
        keep.iter_mut().zip(nulls).for_each(|(keep, valid)| *keep &= valid);
    }
    keep
}

/// The answer where Arrow's arrays suffice, without making values. The answer at nulls does not matter.
fn plain(array: &dyn Array, predicate: &Predicate) -> Option<Vec<bool>> {
    match array.data_type() {
        DataType::Int8 => integers::<Int8Type>(array, predicate),
        DataType::Int16 => integers::<Int16Type>(array, predicate),
        DataType::Int32 => integers::<Int32Type>(array, predicate),
        DataType::Int64 => integers::<Int64Type>(array, predicate),
        DataType::Utf8 => strings(array, predicate),
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values();
            floats(values.iter().map(|v| f64::from(*v)), predicate)
        }
        DataType::Float64 => floats(array.as_primitive::<Float64Type>().values().iter().copied(), predicate),
        DataType::Date32 => times(array.as_primitive::<Date32Type>().values(), predicate, days),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            times(array.as_primitive::<TimestampMicrosecondType>().values(), predicate, micros)
        }
        _ => None,
    }
}

/// Compares with a number that a double holds exactly.
fn floats(values: impl Iterator<Item = f64>, predicate: &Predicate) -> Option<Vec<bool>> {
    let Predicate::Compare(comparison, operand) = predicate else { return None };
    let operand = match operand {
        Value::Float32(f) => f64::from(*f),
        Value::Float64(f) => *f,
        other => other.as_i64().filter(|i| i.unsigned_abs() <= 1 << 53)? as f64,
    };
    Some(match comparison {
        Comparison::Eq => values.map(|v| v == operand).collect(),
        Comparison::Neq => values.map(|v| v != operand).collect(),
        Comparison::Lt => values.map(|v| v < operand).collect(),
        Comparison::Lte => values.map(|v| v <= operand).collect(),
        Comparison::Gt => values.map(|v| v > operand).collect(),
        Comparison::Gte => values.map(|v| v >= operand).collect(),
    })
}

/// Compares with a date or date-time that `count` turns into a value of the column, exactly.
fn times<T: Copy + Ord>(values: &[T], predicate: &Predicate, count: fn(&Value) -> Option<T>) -> Option<Vec<bool>> {
    let Predicate::Compare(comparison, operand) = predicate else { return None };
    let operand = count(operand)?;
    Some(values.iter().map(|v| comparison.accepts(v.cmp(&operand))).collect())
}

fn days(operand: &Value) -> Option<i32> {
    match operand {
        Value::Date(date) => Some(date.0),
        Value::DateTime(t) => DateTime { offset_seconds: 0, ..*t }.date().map(|date| date.0),
        _ => None,
    }
}

fn micros(operand: &Value) -> Option<i64> {
    let t = match operand {
        Value::Date(date) => date.midnight(),
        Value::DateTime(t) => *t,
        _ => return None,
    };
    (t.nanos.is_multiple_of(1000) && t.seconds.unsigned_abs() < 1 << 42).then(|| t.micros())
}

/// The options, unless a table finds them faster than a look at each.
fn few(options: &[Value]) -> Option<&[Value]> {
    (options.len() <= 16).then_some(options)
}

fn integers<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array, predicate: &Predicate) -> Option<Vec<bool>> {
    let values = array.as_primitive::<T>().values();
    let each = |test: &dyn Fn(i64) -> bool| Some(values.iter().map(|v| test((*v).into())).collect());
    match predicate {
        Predicate::Compare(comparison, operand) => {
            let operand = operand.as_i64()?;
            // One loop for each comparison.
            match comparison {
                Comparison::Eq => Some(values.iter().map(|v| (*v).into() == operand).collect()),
                Comparison::Neq => Some(values.iter().map(|v| (*v).into() != operand).collect()),
                Comparison::Lt => Some(values.iter().map(|v| (*v).into() < operand).collect()),
                Comparison::Lte => Some(values.iter().map(|v| (*v).into() <= operand).collect()),
                Comparison::Gt => Some(values.iter().map(|v| (*v).into() > operand).collect()),
                Comparison::Gte => Some(values.iter().map(|v| (*v).into() >= operand).collect()),
            }
        }
        Predicate::Within(options) => {
            let options = few(options)?.iter().map(Value::as_i64).collect::<Option<Vec<i64>>>()?;
            each(&|v| options.contains(&v))
        }
        _ => None,
    }
}

fn strings(array: &dyn Array, predicate: &Predicate) -> Option<Vec<bool>> {
    let values = array.as_string::<i32>();
    let each = |test: &dyn Fn(&str) -> bool| Some((0..values.len()).map(|row| test(values.value(row))).collect());
    match predicate {
        Predicate::Compare(comparison, operand) => {
            let operand = operand.as_str()?;
            each(&|v| comparison.accepts(v.cmp(operand)))
        }
        Predicate::Within(options) => {
            let options = few(options)?.iter().map(Value::as_str).collect::<Option<Vec<&str>>>()?;
            each(&|v| options.contains(&v))
        }
        Predicate::Text(test, text) => each(&|v| test.test(v, text)),
        Predicate::Regex(regex) => each(&|v| regex.is_match(v)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::predicate::TextTest;
    use crate::time::Date;
    use arrow_array::{
        ArrayRef, Date32Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
    };

    use super::*;

    /// A test on a column agrees with the test on its values.
    #[test]
    fn a_column_passes_what_its_values_pass() {
        let day = 86_400_000_000;
        let micros = vec![Some(0), Some(day - 1), None, Some(day), Some(-day)];
        let columns: [ArrayRef; 7] = [
            Arc::new(Date32Array::from(vec![Some(0), Some(1), None, Some(-1)])),
            Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC")),
            Arc::new(Float32Array::from(vec![Some(6.5), None, Some(f32::NAN), Some(7.0)])),
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(7), Some(i64::MAX)])),
            Arc::new(Int32Array::from(vec![Some(-2), Some(0), None, Some(7)])),
            Arc::new(StringArray::from(vec![Some("a"), None, Some(""), Some("ab")])),
            Arc::new(Float64Array::from(vec![Some(7.0), Some(f64::NAN), None])),
        ];
        let moment = DateTime { seconds: 0, nanos: 1, offset_seconds: 0 };
        let operands: [Value; 10] = [
            7.into(),
            i64::MIN.into(),
            6.5.into(),
            f64::NAN.into(),
            "a".into(),
            Value::Null,
            true.into(),
            Date(1).into(),
            Date(1).midnight().into(),
            moment.into(),
        ];
        let mut predicates = vec![Predicate::Text(TextTest::StartsWith, "a".into())];
        for operand in &operands {
            for comparison in
                [Comparison::Eq, Comparison::Neq, Comparison::Lt, Comparison::Lte, Comparison::Gt, Comparison::Gte]
            {
                let plain = Predicate::Compare(comparison, operand.clone());
                predicates.push(Predicate::Not(Box::new(plain.clone())));
                predicates.push(plain);
            }
            predicates.push(Predicate::Within(vec![operand.clone(), 0.into()].into()));
            predicates.push(Predicate::Within(vec![operand.clone(), "ab".into()].into()));
            predicates.push(Predicate::Without(vec![operand.clone()].into()));
        }
        for array in &columns {
            for predicate in &predicates {
                let expected: Vec<bool> = (0..array.len())
                    .map(|row| array.is_valid(row) && predicate.matches(&column::value_at(array, row)))
                    .collect();
                assert_eq!(matches(array, predicate), expected, "{array:?} {predicate}");
            }
        }
    }
}
