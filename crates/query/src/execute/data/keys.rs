//! Groups and their keys. A column of one type is numbered without making a value for each row.

use std::hash::Hash;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use hashbrown::{HashMap, HashSet};
use mangrove_graph::{Map, Value, column};

use crate::execute::data::bytes::value_bytes;

/// Keys in order of arrival, each with a number.
#[derive(Default)]
pub struct Groups {
    numbers: HashMap<(u32, Value), u32>,
    pub keys: Vec<(u32, Value)>,
}

impl Groups {
    pub fn number(&mut self, scope: usize, key: Value) -> u32 {
        let key = (scope as u32, key);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.keys.len() as u32;
        self.keys.push(key.clone());
        self.numbers.insert(key, number);
        number
    }

    /// Calls `found` with row and number of every value of a column, nulls aside. All rows belong to one scope.
    pub fn number_column(&mut self, array: &dyn Array, mut found: impl FnMut(usize, u32)) {
        match array.data_type() {
            DataType::Int8 => self.number_integers::<Int8Type>(array, found),
            DataType::Int16 => self.number_integers::<Int16Type>(array, found),
            DataType::Int32 => self.number_integers::<Int32Type>(array, found),
            DataType::Int64 => self.number_integers::<Int64Type>(array, found),
            DataType::Date32 => self.number_integers::<Date32Type>(array, found),
            DataType::Utf8 => {
                let strings = array.as_string::<i32>();
                self.number_by(array, |row| strings.value(row), found);
            }
            _ => {
                for row in present(array) {
                    found(row, self.number(0, column::value_at(array, row)));
                }
            }
        }
    }

    fn number_integers<T>(&mut self, array: &dyn Array, mut found: impl FnMut(usize, u32))
    where
        T: ArrowPrimitiveType<Native: Into<i64> + Hash + Ord>,
    {
        let values = array.as_primitive::<T>().values();
        let Some((min, span)) = narrow::<T>(array) else { return self.number_by(array, |row| values[row], found) };
        // Numbers plus one, indexed by distance from the least value; 0 marks a value not met yet.
        let mut dense = vec![0u32; span];
        for row in present(array) {
            let number = &mut dense[(values[row].into() - min) as usize];
            if *number == 0 {
                *number = 1 + self.number(0, column::value_at(array, row));
            }
            found(row, *number - 1);
        }
    }

    /// Adds to `counts` how many rows of a column have each value. Returns false and does nothing if there is no quick way to count
    /// them. All rows belong to one scope.
    pub fn count_column(&mut self, array: &dyn Array, counts: &mut Vec<u64>) -> bool {
        match array.data_type() {
            _ if array.null_count() > 0 => false,
            DataType::Int8 => self.count_integers::<Int8Type>(array, counts),
            DataType::Int16 => self.count_integers::<Int16Type>(array, counts),
            DataType::Int32 => self.count_integers::<Int32Type>(array, counts),
            DataType::Int64 => self.count_integers::<Int64Type>(array, counts),
            DataType::Date32 => self.count_integers::<Date32Type>(array, counts),
            _ => false,
        }
    }

    fn count_integers<T>(&mut self, array: &dyn Array, counts: &mut Vec<u64>) -> bool
    where
        T: ArrowPrimitiveType<Native: Into<i64> + Ord>,
    {
        let values = array.as_primitive::<T>().values();
        // Filling and reading the table must not cost more than the rows.
        let Some((min, span)) = narrow::<T>(array).filter(|(_, span)| *span <= 4 * values.len()) else { return false };
        let at = |value: T::Native| (value.into() - min) as usize;
        let mut dense = vec![0u64; span];
        values.iter().for_each(|value| dense[at(*value)] += 1);
        let mut left = dense.iter().filter(|count| **count > 0).count();
        // Groups are numbered in the order in which they come.
        for (row, value) in values.iter().enumerate() {
            if left == 0 {
                break;
            }
            let count = std::mem::take(&mut dense[at(*value)]);
            if count > 0 {
                let number = self.number(0, column::value_at(array, row)) as usize;
                counts.resize(self.keys.len(), 0);
                counts[number] = counts[number].saturating_add(count);
                left -= 1;
            }
        }
        true
    }

    fn number_by<K: Hash + Eq>(&mut self, array: &dyn Array, key: impl Fn(usize) -> K, mut found: impl FnMut(usize, u32)) {
        let mut known: HashMap<K, u32> = HashMap::new();
        for row in present(array) {
            let number = *known.entry(key(row)).or_insert_with(|| self.number(0, column::value_at(array, row)));
            found(row, number);
        }
    }

    /// The approximate bytes of the groups from number `first` on.
    pub fn bytes_from(&self, first: usize) -> usize {
        self.keys[first..].iter().map(|(_, key)| GROUP_BYTES + value_bytes(key)).sum()
    }

    pub fn clear(&mut self) {
        self.numbers.clear();
        self.keys.clear();
    }

    /// One map for each scope, from the value of each key.
    pub fn maps(&self, values: Vec<Option<Value>>, scopes: usize) -> Vec<Value> {
        let mut maps: Vec<Vec<(Value, Value)>> = vec![Vec::new(); scopes];
        for ((scope, key), value) in self.keys.iter().zip(values) {
            maps[*scope as usize].extend(value.map(|value| (key.clone(), value)));
        }
        maps.into_iter().map(|entries| Value::map(Map::from_distinct(entries))).collect()
    }
}

/// The first row of each distinct value of a column, nulls aside; `None` for types whose values are not told apart here.
pub fn first_rows(array: &dyn Array) -> Option<Vec<u32>> {
    fn distinct<K: Hash + Eq>(array: &dyn Array, key: impl Fn(usize) -> K) -> Vec<u32> {
        let mut seen = HashSet::new();
        present(array).filter(|row| seen.insert(key(*row))).map(|row| row as u32).collect()
    }
    fn numbers<T: ArrowPrimitiveType<Native: Hash + Eq>>(array: &dyn Array) -> Vec<u32> {
        let values = array.as_primitive::<T>().values();
        distinct(array, |row| values[row])
    }
    Some(match array.data_type() {
        DataType::Int8 => numbers::<Int8Type>(array),
        DataType::Int16 => numbers::<Int16Type>(array),
        DataType::Int32 => numbers::<Int32Type>(array),
        DataType::Int64 => numbers::<Int64Type>(array),
        DataType::Date32 => numbers::<Date32Type>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => numbers::<TimestampMicrosecondType>(array),
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            distinct(array, |row| texts.value(row))
        }
        _ => return None,
    })
}

/// The least value of a column, and how many values there are from it to the greatest; `None` if they spread too far for a table
/// of them.
fn narrow<T: ArrowPrimitiveType<Native: Into<i64> + Ord>>(array: &dyn Array) -> Option<(i64, usize)> {
    let values = array.as_primitive::<T>().values();
    let bounds: Option<(i64, i64)> = match array.null_count() {
        0 => values.iter().min().zip(values.iter().max()).map(|(min, max)| ((*min).into(), (*max).into())),
        _ => {
            let wider =
                |bounds: Option<(i64, i64)>, v: i64| Some(bounds.map_or((v, v), |(min, max)| (min.min(v), max.max(v))));
            present(array).map(|row| values[row].into()).fold(None, wider)
        }
    };
    let (min, max) = bounds.unwrap_or((0, 0));
    max.checked_sub(min).filter(|span| *span < DENSE_SPAN_MAX).map(|span| (min, span as usize + 1))
}

/// The rows whose value is not null.
fn present(array: &dyn Array) -> impl Iterator<Item = usize> {
    let nulls = array.nulls();
    (0..array.len()).filter(move |row| nulls.is_none_or(|nulls| nulls.is_valid(*row)))
}

/// Bytes of a group beside its key: its entries in list and table, and in the resulting map.
pub const GROUP_BYTES: usize = 192;

/// A table numbers the integers of a batch if they span less than this.
const DENSE_SPAN_MAX: i64 = 1 << 14;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Date32Array, Int8Array, Int16Array, Int32Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn groups_are_numbered_in_the_order_they_come() {
        let mut groups = Groups::default();
        let numbers: Vec<u32> = ["b", "a", "b"].iter().map(|k| groups.number(0, (*k).into())).collect();
        assert_eq!(numbers, [0, 1, 0]);
        assert_eq!(groups.number(1, "b".into()), 2, "another scope, another group");
        let maps = groups.maps(vec![Some(1.into()), None, Some(3.into())], 2);
        assert_eq!(maps[0].to_string(), "{b=1}");
        assert_eq!(maps[1].to_string(), "{b=3}");
    }

    #[test]
    fn a_column_is_numbered_as_its_values_are() {
        let far = vec![Some(i64::MIN), None, Some(7), Some(i64::MAX), Some(7), Some(i64::MIN)];
        let columns: [ArrayRef; 3] = [
            Arc::new(Int64Array::from(far)),
            Arc::new(Int32Array::from(vec![Some(3), Some(-2), None, Some(3), Some(900)])),
            Arc::new(StringArray::from(vec![Some("x"), None, Some(""), Some("x")])),
        ];
        for array in columns {
            let (mut whole, mut single) = (Groups::default(), Groups::default());
            let mut numbers = Vec::new();
            whole.number_column(&array, |row, number| numbers.push((row, number)));
            let valid = (0..array.len()).filter(|row| array.is_valid(*row));
            let expected: Vec<_> = valid.map(|row| (row, single.number(0, column::value_at(&array, row)))).collect();
            assert_eq!(numbers, expected);
            assert_eq!(whole.keys, single.keys);
        }
    }

    #[test]
    fn a_column_is_counted_as_its_rows_are_numbered() {
        let some = [7i8, -7, 7, 0, 7, 12, 0];
        let columns: [ArrayRef; 5] = [
            Arc::new(Int8Array::from(some.to_vec())),
            Arc::new(Int16Array::from_iter_values(some.iter().map(|v| i16::from(*v) - 300))),
            Arc::new(Int32Array::from_iter_values(some.iter().map(|v| i32::from(*v) + (1 << 30)))),
            Arc::new(Int64Array::from_iter_values(some.iter().map(|v| i64::from(*v) + i64::MIN + 7))),
            Arc::new(Date32Array::from_iter_values(some.iter().map(|v| i32::from(*v)))),
        ];
        let (mut groups, mut counts) = (Groups::default(), Vec::new());
        let (mut numbered, mut expected) = (Groups::default(), Vec::new());
        // Twice, because most batches add to groups that are there.
        for array in columns.iter().chain(&columns) {
            assert!(groups.count_column(array, &mut counts), "{:?}", array.data_type());
            numbered.number_column(array, |_, number| {
                expected.resize(expected.len().max(number as usize + 1), 0);
                expected[number as usize] += 1;
            });
        }
        assert_eq!((&groups.keys, &counts), (&numbered.keys, &expected));
        let others: [ArrayRef; 4] = [
            Arc::new(Int64Array::from(vec![Some(7), None])),
            Arc::new(Int64Array::from(vec![0, 100])),
            Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])),
            Arc::new(StringArray::from(vec!["x"])),
        ];
        for array in &others {
            assert!(!groups.count_column(array, &mut counts), "{array:?}");
        }
        assert_eq!((groups.keys, counts), (numbered.keys, expected), "these are left alone");
    }
}
