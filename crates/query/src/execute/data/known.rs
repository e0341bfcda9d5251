//! Columns that were read of the elements of a batch, for later steps that read them again.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use mangrove_graph::{KeyId, PropertyColumn, column};

/// Columns by key. Each has a row for every item of its batch. Null means that the element has nothing under the key.
#[derive(Clone, Debug, Default)]
pub struct Known(Option<Arc<[(KeyId, ArrayRef)]>>);

impl Known {
    pub fn get(&self, key: KeyId) -> Option<&ArrayRef> {
        self.iter().find(|(known, _)| *known == key).map(|(_, column)| column)
    }

    pub fn put(&mut self, key: KeyId, column: ArrayRef) {
        if self.get(key).is_none() {
            self.0 = Some(self.iter().cloned().chain([(key, column)]).collect());
        }
    }

    /// Keeps the column of a property if its values are of one type.
    pub fn put_column(&mut self, key: KeyId, column: PropertyColumn) {
        if let PropertyColumn::Typed(array) = column {
            self.put(key, array);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn iter(&self) -> impl Iterator<Item = &(KeyId, ArrayRef)> {
        self.0.iter().flat_map(|columns| columns.iter())
    }

    fn map(&self, f: impl Fn(&ArrayRef) -> Option<ArrayRef>) -> Self {
        let Some(columns) = &self.0 else { return Self(None) };
        let mapped = columns.iter().filter_map(|(key, column)| Some((*key, f(column)?)));
        Self(Some(mapped.collect()))
    }

    pub fn gather(&self, rows: &[u32]) -> Self {
        if self.0.is_none() {
            return Self(None);
        }
        let rows = UInt32Array::from(rows.to_vec());
        self.map(|column| take(column, &rows, None).ok())
    }

    pub fn slice(&self, rows: &Range<usize>) -> Self {
        self.map(|column| Some(column.slice(rows.start, rows.len())))
    }

    /// The columns that all parts have, of one type.
    pub fn joined(parts: &[Self]) -> Self {
        let [first, others @ ..] = parts else { return Self(None) };
        let mut joined = Self(None);
        for (key, column) in first.iter() {
            let mut all: Vec<&dyn Array> = vec![column];
            all.extend(others.iter().filter_map(|part| part.get(*key)).map(|column| &**column));
            if all.len() == parts.len()
                && all.iter().all(|part| part.data_type() == column.data_type())
                && let Ok(whole) = concat(&all)
            {
                joined.put(*key, whole);
            }
        }
        joined
    }

    pub fn bytes(&self) -> usize {
        self.iter().map(|(_, column)| column::bytes(column)).sum()
    }
}
