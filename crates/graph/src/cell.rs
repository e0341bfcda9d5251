//! What an element holds under one key.

use arrow_array::{Array, ArrayRef};
use serde::{Deserialize, Serialize};

use crate::column;
use crate::column_test;
use crate::id::KeyId;
use crate::predicate::Predicate;
use crate::value::Value;

/// The values of one key of one element.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub enum Cell {
    /// The element has no such property.
    #[default]
    Absent,
    /// One value (possibly null) without properties of its own.
    One(Value),
    /// Several values, or values with properties of their own; vertices only.
    Many(Vec<PropertyValue>),
}

/// One value of a multi-valued property.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropertyValue {
    /// Unique within the cell, and not reused while the cell lives. The value of a [`Cell::One`] has ordinal 0.
    pub ordinal: u32,
    pub value: Value,
    pub meta: Vec<(KeyId, Value)>,
}

impl PropertyValue {
    pub fn plain(value: Value) -> Self {
        Self { ordinal: 0, value, meta: Vec::new() }
    }
}

impl Cell {
    pub fn is_absent(&self) -> bool {
        matches!(self, Cell::Absent)
    }

    /// Whether some value is not null.
    pub fn has_value(&self) -> bool {
        self.values().any(|value| !value.is_null())
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let (one, many) = match self {
            Cell::Absent => (None, &[][..]),
            Cell::One(value) => (Some(value), &[][..]),
            Cell::Many(values) => (None, &values[..]),
        };
        one.into_iter().chain(many.iter().map(|v| &v.value))
    }

    /// The values with their ordinals and meta-properties.
    pub fn into_entries(self) -> Vec<PropertyValue> {
        match self {
            Cell::Absent => Vec::new(),
            Cell::One(value) => vec![PropertyValue::plain(value)],
            Cell::Many(values) => values,
        }
    }

    /// The simplest cell that holds these entries.
    pub fn from_entries(mut entries: Vec<PropertyValue>) -> Self {
        match &entries[..] {
            [] => Cell::Absent,
            [one] if one.ordinal == 0 && one.meta.is_empty() => Cell::One(entries.remove(0).value),
            _ => Cell::Many(entries),
        }
    }
}

/// The values of one key for a batch of elements.
#[derive(Clone, Debug)]
pub enum PropertyColumn {
    /// No element of the batch has the property.
    Absent(usize),
    /// All values are plain, non-null and of one type. An Arrow null means that the element has no such property.
    Typed(ArrayRef),
    Cells(Vec<Cell>),
}

impl PropertyColumn {
    pub fn len(&self) -> usize {
        match self {
            PropertyColumn::Absent(n) => *n,
            PropertyColumn::Typed(array) => array.len(),
            PropertyColumn::Cells(cells) => cells.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an element has anything.
    ///
    /// # Panics
    /// If `at` is not below `len()`.
    pub fn has(&self, at: usize) -> bool {
        match self {
            PropertyColumn::Absent(_) => false,
            PropertyColumn::Typed(array) => array.is_valid(at),
            PropertyColumn::Cells(cells) => !cells[at].is_absent(),
        }
    }

    /// Which elements have a value that matches. O(elements).
    pub fn passes(&self, predicate: &Predicate) -> Vec<bool> {
        match self {
            PropertyColumn::Absent(rows) => vec![false; *rows],
            PropertyColumn::Typed(array) => column_test::matches(array, predicate),
            PropertyColumn::Cells(cells) => {
                cells.iter().map(|cell| cell.values().any(|value| predicate.matches(value))).collect()
            }
        }
    }

    /// The cell of a batch of one.
    pub fn into_cell(self) -> Cell {
        match self {
            PropertyColumn::Cells(mut cells) => cells.pop().unwrap_or_default(),
            PropertyColumn::Typed(array) if !array.is_empty() => PropertyColumn::Typed(array).cell(0),
            _ => Cell::Absent,
        }
    }

    /// # Panics
    /// If `at` is not below `len()`.
    pub fn cell(&self, at: usize) -> Cell {
        match self {
            PropertyColumn::Absent(_) => Cell::Absent,
            PropertyColumn::Typed(array) if array.is_null(at) => Cell::Absent,
            PropertyColumn::Typed(array) => Cell::One(column::value_at(array, at)),
            PropertyColumn::Cells(cells) => cells[at].clone(),
        }
    }
}
