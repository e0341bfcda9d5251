//! Maps by column: what `project`, `valueMap`, `elementMap` and `select` give if the steps behind them pass maps on or read them by
//! key. A row becomes a map only on request.

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::{concat::concat, take::take};
use mangrove_graph::{Map, Value, column};

use crate::execute::data::bytes::value_bytes;

/// Maps of one shape. A map lacks a key if it has nothing under it.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    pub rows: usize,
    /// The columns by key. A key is a string or a token.
    pub columns: Vec<(Value, MapColumn)>,
}

/// The values of the maps under one key.
#[derive(Clone, Debug)]
pub enum MapColumn {
    /// Values of one type. An Arrow null means that the map lacks the key.
    Typed(ArrayRef),
    Values(Vec<Option<Value>>),
}

/// Making an array for fewer rows is no faster than a value for each.
pub const ARRAY_MIN: usize = 8;

impl MapColumn {
    /// The narrowest column for the values.
    pub fn of(values: Vec<Option<Value>>) -> Self {
        if values.len() < ARRAY_MIN {
            return MapColumn::Values(values);
        }
        let array = column::array_of(&values.iter().map(Option::as_ref).collect::<Vec<_>>());
        array.map_or(MapColumn::Values(values), MapColumn::Typed)
    }

    /// Whether the map of a row has the key.
    pub fn has(&self, row: usize) -> bool {
        match self {
            MapColumn::Typed(array) => array.is_valid(row),
            MapColumn::Values(values) => values[row].is_some(),
        }
    }

    pub fn get(&self, row: usize) -> Option<Value> {
        match self {
            MapColumn::Typed(array) if array.is_null(row) => None,
            MapColumn::Typed(array) => Some(column::value_at(array, row)),
            MapColumn::Values(values) => values[row].clone(),
        }
    }

    fn gather(&self, rows: &[u32]) -> Self {
        let gathered = match self {
            MapColumn::Typed(array) => take(array, &UInt32Array::from(rows.to_vec()), None).ok(),
            MapColumn::Values(_) => None,
        };
        let one_by_one = || MapColumn::Values(rows.iter().map(|row| self.get(*row as usize)).collect());
        gathered.map_or_else(one_by_one, MapColumn::Typed)
    }

    /// Columns and their rows as one column.
    fn joined(parts: Vec<(&MapColumn, usize)>) -> Self {
        let typed: Option<Vec<&dyn Array>> = parts.iter().map(|(column, _)| column.array()).collect();
        if let Some(arrays) = typed.filter(|arrays| arrays.iter().all(|a| a.data_type() == arrays[0].data_type()))
            && let Ok(whole) = concat(&arrays)
        {
            return MapColumn::Typed(whole);
        }
        MapColumn::Values(parts.into_iter().flat_map(|(column, rows)| (0..rows).map(|row| column.get(row))).collect())
    }

    fn array(&self) -> Option<&dyn Array> {
        match self {
            MapColumn::Typed(array) => Some(array),
            MapColumn::Values(_) => None,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            MapColumn::Typed(array) => column::bytes(array),
            MapColumn::Values(values) => {
                values.iter().map(|value| value.as_ref().map_or(size_of::<Option<Value>>(), value_bytes)).sum()
            }
        }
    }
}

impl Maps {
    /// The column under a key; `None` if no map has it. O(keys).
    pub fn column(&self, key: &Value) -> Option<&MapColumn> {
        self.columns.iter().find(|(name, _)| name == key).map(|(_, column)| column)
    }

    /// The same for a string.
    pub fn column_named(&self, key: &str) -> Option<&MapColumn> {
        self.columns.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, column)| column)
    }

    pub fn value(&self, row: usize) -> Value {
        let entry = |(key, column): &(Value, MapColumn)| column.get(row).map(|value| (key.clone(), value));
        Value::map(Map::from_distinct(self.columns.iter().filter_map(entry).collect()))
    }

    /// The maps of all parts, in order. O(rows), however many parts there are.
    pub fn joined(parts: Vec<Maps>) -> Maps {
        let rows = parts.iter().map(|part| part.rows).sum();
        let Some(first) = parts.first() else { return Maps::default() };
        let of = |at: usize| MapColumn::joined(parts.iter().map(|part| (&part.columns[at].1, part.rows)).collect());
        let columns = first.columns.iter().enumerate().map(|(at, (key, _))| (key.clone(), of(at))).collect();
        Maps { rows, columns }
    }

    pub fn into_values(self) -> Vec<Value> {
        (0..self.rows).map(|row| self.value(row)).collect()
    }

    pub fn gather(&self, rows: &[u32]) -> Self {
        let gathered = self.columns.iter().map(|(key, column)| (key.clone(), column.gather(rows)));
        Maps { rows: rows.len(), columns: gathered.collect() }
    }

    /// Whether the maps of both have the same shape.
    pub fn is_like(&self, other: &Maps) -> bool {
        let keys = |maps: &Maps| maps.columns.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        keys(self) == keys(other)
    }

    /// Adds maps of the same shape.
    pub fn append(&mut self, other: Maps) {
        *self = Self::joined(vec![std::mem::take(self), other]);
    }

    /// The approximate bytes.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|(_, column)| column.bytes()).sum()
    }

    /// The values that no Arrow array holds.
    pub fn plain_values(&self) -> impl Iterator<Item = &Value> {
        self.columns
            .iter()
            .flat_map(|(_, column)| match column {
                MapColumn::Values(values) => &values[..],
                MapColumn::Typed(_) => &[],
            })
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(values: &[Option<i64>]) -> Maps {
        let column = MapColumn::of(values.iter().map(|value| value.map(Value::from)).collect());
        Maps { rows: values.len(), columns: vec![("n".into(), column)] }
    }

    #[test]
    fn rows_are_the_same_maps_however_they_are_put_together() {
        let mut all = maps(&[Some(1), None]);
        all.append(maps(&[Some(3)]));
        all.append(Maps { rows: 1, columns: vec![("n".into(), MapColumn::of(vec![Some("x".into())]))] });
        let of = |value: &str| all.gather(&[3, 1, 0]).into_values().iter().any(|map| map.to_string().contains(value));
        assert_eq!(all.rows, 4);
        assert!(of("x") && of("1") && !of("3"));
        assert_eq!(all.value(1), Value::map(Map::new()));
        assert_eq!(all.value(2), maps(&[Some(3)]).value(0));
    }
}
