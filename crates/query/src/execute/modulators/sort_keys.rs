//! The keys that rows are sorted by, in a form that compares fast.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use arrow_select::concat::concat;
use mangrove_graph::{Value, compare};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::modulators::by::{ByColumn, ByOp};
use crate::execute::reads::read;
use crate::execute::run::chain::PART;
use crate::execute::run::context::Context;
use crate::plan::SortOrder;

/// One key for each row; a row may have none.
pub enum SortKeys {
    /// Integers that sort as the values do: integers, dates, floats …
    Numbers(Vec<i64>, Option<NullBuffer>),
    Texts(StringArray),
    Values(Vec<Option<Value>>),
}

impl SortKeys {
    /// What a modulator gives for each row.
    pub fn of(cx: &mut Context<'_, '_>, by: &mut ByOp, all: &Batch) -> Result<Self> {
        let mut parts = Vec::new();
        for start in (0..all.len()).step_by(PART) {
            cx.check()?;
            let whole = all.len() <= PART;
            let part =
                if whole { by.column(cx, all)? } else { by.column(cx, &all.slice(start..all.len().min(start + PART)))? };
            parts.push(part);
        }
        let arrays: Option<Vec<ArrayRef>> = parts.iter().map(|part| part.array().cloned()).collect();
        match arrays.and_then(|arrays| Self::typed(&arrays)) {
            Some(keys) => Ok(keys),
            None => sort_keys(cx, parts.into_iter().flat_map(ByColumn::into_values).collect()).map(SortKeys::Values),
        }
    }

    pub fn shuffled(cx: &mut Context<'_, '_>, rows: usize) -> Self {
        SortKeys::Numbers((0..rows).map(|_| cx.shared.random.next() as i64 >> 1).collect(), None)
    }

    fn typed(arrays: &[ArrayRef]) -> Option<Self> {
        let [first, ..] = arrays else { return None };
        if !arrays.iter().all(|array| array.data_type() == first.data_type()) {
            return None;
        }
        let whole = concat(&arrays.iter().map(|array| &**array).collect::<Vec<_>>()).ok()?;
        if let DataType::Utf8 = whole.data_type() {
            return Some(SortKeys::Texts(whole.as_string::<i32>().clone()));
        }
        Some(SortKeys::Numbers(sortable(&whole)?, whole.nulls().cloned()))
    }

    /// Numbers of which a smaller one comes first, if every row has one.
    pub fn numbers(&self, order: SortOrder) -> Option<Cow<'_, [i64]>> {
        let SortKeys::Numbers(keys, None) = self else { return None };
        Some(match order {
            SortOrder::Descending => keys.iter().map(|key| !key).collect(),
            _ => Cow::Borrowed(keys),
        })
    }

    pub fn has(&self, row: u32) -> bool {
        match self {
            SortKeys::Numbers(_, nulls) => nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row as usize)),
            SortKeys::Texts(texts) => texts.is_valid(row as usize),
            SortKeys::Values(values) => values[row as usize].is_some(),
        }
    }

    /// Compares the keys of two rows that have one.
    #[inline]
    pub fn compare(&self, a: u32, b: u32, order: SortOrder) -> Ordering {
        let (a, b) = (a as usize, b as usize);
        let ordering = match self {
            SortKeys::Numbers(keys, _) => keys[a].cmp(&keys[b]),
            SortKeys::Texts(texts) => texts.value(a).cmp(texts.value(b)),
            SortKeys::Values(values) => return compare_keys(&values[a], &values[b], order),
        };
        if order == SortOrder::Descending { ordering.reverse() } else { ordering }
    }
}

/// Integers that sort as [`compare::order`] sorts the values of an array; `None` for types without such integers.
pub fn sortable(array: &dyn Array) -> Option<Vec<i64>> {
    fn integers<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Vec<i64> {
        array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect()
    }
    Some(match array.data_type() {
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::Date32 => integers::<Date32Type>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => integers::<TimestampMicrosecondType>(array),
        DataType::Duration(TimeUnit::Microsecond) => integers::<DurationMicrosecondType>(array),
        DataType::Float32 => array.as_primitive::<Float32Type>().values().iter().map(|f| ordered(f64::from(*f))).collect(),
        DataType::Float64 => array.as_primitive::<Float64Type>().values().iter().map(|f| ordered(*f)).collect(),
        DataType::Boolean => array.as_boolean().values().iter().map(i64::from).collect(),
        _ => return None,
    })
}

/// An integer that sorts as the double does. Both zeros are the same; NaN is the greatest.
fn ordered(f: f64) -> i64 {
    if f.is_nan() {
        return i64::MAX;
    }
    let bits = (f + 0.0).to_bits() as i64; // -0.0 is 0.0
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The keys to sort by. Elements are compared by the ids that users see, also those in paths and lists.
pub fn sort_keys(cx: &Context<'_, '_>, mut keys: Vec<Option<Value>>) -> Result<Vec<Option<Value>>> {
    let mut elements = Vec::new();
    keys.iter().flatten().for_each(|key| find_elements(key, &mut elements));
    let mut ids = read::ids(cx, &Items::from_values(elements))?.into_iter();
    keys.iter_mut().flatten().for_each(|key| put_ids(key, &mut ids));
    Ok(keys)
}

/// Adds the elements whose ids a key needs.
fn find_elements(key: &Value, elements: &mut Vec<Value>) {
    match key {
        Value::Vertex(_) | Value::Edge(_) => elements.push(key.clone()),
        Value::VertexProperty(property) => elements.push(Value::Vertex(property.vertex)),
        Value::Path(path) => path.objects.iter().for_each(|object| find_elements(object, elements)),
        Value::List(items) => items.iter().for_each(|item| find_elements(item, elements)),
        _ => {}
    }
}

/// Replaces the elements of a key by their ids, which come in the order of [`find_elements`].
fn put_ids(key: &mut Value, ids: &mut impl Iterator<Item = Value>) {
    let of_property = match key {
        Value::Vertex(_) | Value::Edge(_) => Vec::new(),
        Value::VertexProperty(p) => vec![Value::Int32(p.key.0.into()), Value::Int64(p.ordinal.into())],
        Value::Path(path) => return Arc::make_mut(path).objects.iter_mut().for_each(|object| put_ids(object, ids)),
        Value::List(items) if items.iter().any(may_hold_elements) => {
            return Arc::make_mut(items).iter_mut().for_each(|item| put_ids(item, ids));
        }
        _ => return,
    };
    *key = Value::list(ids.next().into_iter().chain(of_property).collect());
}

fn may_hold_elements(value: &Value) -> bool {
    matches!(value, Value::Vertex(_) | Value::Edge(_) | Value::VertexProperty(_) | Value::Path(_) | Value::List(_))
}

pub fn compare_keys(a: &Option<Value>, b: &Option<Value>, order: SortOrder) -> Ordering {
    let ordering = match (a, b) {
        (Some(a), Some(b)) => compare::order(a, b),
        _ => Ordering::Equal,
    };
    if order == SortOrder::Descending { ordering.reverse() } else { ordering }
}

#[cfg(test)]
mod tests {
    use arrow_array::{BooleanArray, Date32Array, Float32Array, Float64Array, Int16Array, Int64Array};

    use mangrove_graph::column;

    use super::*;

    /// Keys of a column sort as its values do.
    #[test]
    fn a_column_sorts_as_its_values() {
        let columns: [ArrayRef; 7] = [
            Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(3), None, Some(-1), Some(i64::MAX)])),
            Arc::new(Int16Array::from(vec![3, -3, 0])),
            Arc::new(Float64Array::from(vec![f64::NAN, f64::INFINITY, -0.0, 0.0, -1.5, f64::MIN, f64::NEG_INFINITY])),
            Arc::new(Float32Array::from(vec![Some(0.5), None, Some(-0.25)])),
            Arc::new(Date32Array::from(vec![5, -5])),
            Arc::new(BooleanArray::from(vec![true, false, true])),
            Arc::new(StringArray::from(vec![Some("b"), Some(""), None, Some("ä"), Some("a")])),
        ];
        for array in columns {
            let keys = SortKeys::typed(&[array.slice(0, 1), array.slice(1, array.len() - 1)]).unwrap();
            for a in 0..array.len() {
                assert_eq!(keys.has(a as u32), array.is_valid(a));
                for b in (0..array.len()).filter(|b| array.is_valid(a) && array.is_valid(*b)) {
                    let expected = compare::order(&column::value_at(&array, a), &column::value_at(&array, b));
                    assert_eq!(keys.compare(a as u32, b as u32, SortOrder::Ascending), expected, "{array:?} {a} {b}");
                    assert_eq!(keys.compare(a as u32, b as u32, SortOrder::Descending), expected.reverse());
                }
            }
        }
    }
}
