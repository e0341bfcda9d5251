//! Accounts for the memory of a query against its budget.
//!
//! Code that keeps traversers or values keeps a [`Held`] beside them. Clearing or dropping it returns the memory to the budget, on
//! any thread of the query.

use mangrove_graph::{Budget, Value, column};

use super::batch::{Batch, Items};
use super::context::Context;
use super::path::PathNode;
use crate::error::{QueryError, Result};

/// A part of the budget that is in use.
#[derive(Default)]
pub struct Held {
    budget: Option<Budget>,
    bytes: usize,
}

impl Held {
    /// Accounts for more bytes.
    ///
    /// # Errors
    /// If the query then exceeds its budget.
    pub fn add(&mut self, cx: &Context<'_, '_>, bytes: usize) -> Result<()> {
        let budget = &cx.shared.budget;
        // Clamped so that the sum never wraps, however much is requested.
        let bytes = bytes.min(usize::MAX / 4 - self.bytes.min(usize::MAX / 4));
        self.bytes += bytes;
        if self.budget.get_or_insert_with(|| budget.clone()).take(bytes) {
            return Ok(());
        }
        Err(QueryError::over_budget(budget.bytes_max()))
    }

    pub fn add_batch(&mut self, cx: &Context<'_, '_>, batch: &Batch) -> Result<()> {
        self.add(cx, batch_bytes(batch))
    }

    /// Accounts for a list of `n` items.
    pub fn add_items(&mut self, cx: &Context<'_, '_>, n: u64) -> Result<()> {
        self.add(cx, usize::try_from(n).unwrap_or(usize::MAX).saturating_mul(size_of::<Value>()))
    }

    /// Accounts for the values that are present.
    pub fn add_values(&mut self, cx: &Context<'_, '_>, values: &[Option<Value>]) -> Result<()> {
        self.add(cx, values.iter().flatten().map(value_bytes).sum())
    }

    /// The bytes accounted for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns everything to the budget.
    pub fn clear(&mut self) {
        if let Some(budget) = &self.budget {
            budget.give_back(std::mem::take(&mut self.bytes));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The approximate bytes of a batch.
pub fn batch_bytes(batch: &Batch) -> usize {
    fn column<T>(column: &Option<Vec<T>>, item_bytes: usize) -> usize {
        column.as_ref().map_or(0, |items| items.len() * item_bytes)
    }
    items_bytes(&batch.items)
        + batch.slots.bytes()
        + column(&batch.bulk, 8)
        + column(&batch.scope, 4)
        + column(&batch.paths, size_of::<PathNode>() + 32)
        + column(&batch.sacks, size_of::<Value>())
}

pub fn items_bytes(items: &Items) -> usize {
    match items {
        Items::Vertices(ids) => size_of_val(&ids[..]),
        Items::Edges(edges) => size_of_val(&edges[..]),
        Items::Values(values) => values.iter().map(value_bytes).sum(),
        Items::Column(array) => column::bytes(array),
        Items::Maps(maps) => maps.bytes(),
    }
}

/// The approximate bytes of a value.
pub fn value_bytes(value: &Value) -> usize {
    value.memory_bytes(usize::MAX / 4)
}
