//! What the results of a query may take in memory.
//!
//! The engine accounts for what its barriers hold. What it gives out piles up here, where results are taken all together, and
//! a query may have far more results than its graph has elements.

use mangrove_graph::Value;
use mangrove_query::QueryErrorKind;

use crate::QueryOptions;
use crate::error::{QueryError, QueryFailure};

/// An account of memory, in bytes, approximately.
#[derive(Clone, Debug)]
pub struct Memory {
    held: usize,
    max: usize,
}

impl Memory {
    /// As much as the options of the query allow.
    pub fn new(options: &QueryOptions) -> Self {
        Self { held: 0, max: options.memory_bytes_max }
    }

    /// Accounts for so many bytes more.
    ///
    /// # Errors
    /// If the query may not hold them.
    pub fn hold(&mut self, bytes: usize) -> Result<(), QueryError> {
        self.held = self.held.saturating_add(bytes);
        if self.held <= self.max {
            return Ok(());
        }
        let message = format!("the results take more than the memory budget of the query, {} MB", self.max >> 20);
        let help = "limit() or count() them, take them one by one, or give the query more memory";
        Err(QueryFailure::new(QueryErrorKind::Memory, message).help(help).into())
    }

    /// Accounts for values, and for what each holds.
    pub fn hold_values(&mut self, values: &[Value]) -> Result<(), QueryError> {
        values.iter().try_for_each(|value| self.hold_value(value))
    }

    /// Accounts for a value and what it holds. Parts that several values share count for each, since they are written out so.
    pub fn hold_value(&mut self, value: &Value) -> Result<(), QueryError> {
        self.hold(value.memory_bytes(self.max.saturating_add(1)))
    }
}
