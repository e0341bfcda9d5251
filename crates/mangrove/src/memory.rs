//! Bounds the memory of a query's results.
//!
//! The engine accounts for what its barriers hold. Collected results are accounted for here, because a query may have far more
//! results than its graph has elements.

use mangrove_graph::Value;
use mangrove_query::QueryErrorKind;

use crate::QueryOptions;
use crate::error::{QueryError, QueryFailure};

/// An account of approximate bytes.
#[derive(Clone, Debug)]
pub struct Memory {
    held: usize,
    max: usize,
}

impl Memory {
    /// An account with the limit in the options of the query.
    pub fn new(options: &QueryOptions) -> Self {
        Self { held: 0, max: options.memory_bytes_max }
    }

    /// The most bytes that it may account for.
    pub fn max(&self) -> usize {
        self.max
    }

    /// The bytes accounted for.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Accounts for more bytes.
    ///
    /// # Errors
    /// If the query exceeds its memory.
    pub fn hold(&mut self, bytes: usize) -> Result<(), QueryError> {
        self.held = self.held.saturating_add(bytes);
        if self.held <= self.max {
            return Ok(());
        }
        let message = format!("the results take more than the query's memory budget of {} MB", self.max >> 20);
        let help = "limit() or count() them, take them one by one, or give the query more memory";
        Err(QueryFailure::new(QueryErrorKind::Memory, message).help(help).into())
    }

    /// Accounts for values and their contents.
    pub fn hold_values(&mut self, values: &[Value]) -> Result<(), QueryError> {
        values.iter().try_for_each(|value| self.hold_value(value))
    }

    /// Accounts for a value and its contents. A part shared by several values counts for each of them, because the output repeats
    /// it.
    pub fn hold_value(&mut self, value: &Value) -> Result<(), QueryError> {
        self.hold(value.memory_bytes(self.max.saturating_add(1)))
    }
}
