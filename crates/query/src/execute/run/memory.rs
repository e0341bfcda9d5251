//! Accounts for the memory of a query against its budget.
//!
//! Code that keeps traversers or values keeps a [`Held`] beside them. Clearing or dropping it returns the memory to the budget, on
//! any thread of the query.

use mangrove_graph::{Budget, Value};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::bytes::value_bytes;

/// Whatever knows the budget of its query.
pub trait HasBudget {
    fn budget(&self) -> &Budget;
}

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
    pub fn add(&mut self, cx: &impl HasBudget, bytes: usize) -> Result<()> {
        let budget = cx.budget();
        // Clamped so that the sum never wraps, however much is requested.
        let bytes = bytes.min(usize::MAX / 4 - self.bytes.min(usize::MAX / 4));
        self.bytes += bytes;
        if self.budget.get_or_insert_with(|| budget.clone()).take(bytes) {
            return Ok(());
        }
        Err(QueryError::over_budget(budget.bytes_max()))
    }

    pub fn add_batch(&mut self, cx: &impl HasBudget, batch: &Batch) -> Result<()> {
        self.add(cx, batch.bytes())
    }

    /// Accounts for a list of `n` items.
    pub fn add_items(&mut self, cx: &impl HasBudget, n: u64) -> Result<()> {
        self.add(cx, usize::try_from(n).unwrap_or(usize::MAX).saturating_mul(size_of::<Value>()))
    }

    /// Accounts for the values that are present.
    pub fn add_values(&mut self, cx: &impl HasBudget, values: &[Option<Value>]) -> Result<()> {
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
