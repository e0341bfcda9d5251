//! Tests predicates on whole columns, without making a value for each row.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::DataType;
use mangrove_graph::{Comparison, Predicate, Value, column};

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
        _ => None,
    }
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
            let options = options.iter().map(Value::as_i64).collect::<Option<Vec<i64>>>()?;
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
            let options = options.iter().map(Value::as_str).collect::<Option<Vec<&str>>>()?;
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

    use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray};
    use mangrove_graph::TextTest;

    use super::*;

    /// A test on a column agrees with the test on its values.
    #[test]
    fn a_column_passes_what_its_values_pass() {
        let columns: [ArrayRef; 4] = [
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(7), Some(i64::MAX)])),
            Arc::new(Int32Array::from(vec![Some(-2), Some(0), None, Some(7)])),
            Arc::new(StringArray::from(vec![Some("a"), None, Some(""), Some("ab")])),
            Arc::new(Float64Array::from(vec![Some(7.0), Some(f64::NAN), None])),
        ];
        let operands: [Value; 6] = [7.into(), i64::MIN.into(), 6.5.into(), "a".into(), Value::Null, true.into()];
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
