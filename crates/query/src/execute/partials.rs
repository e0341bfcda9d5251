//! The part of a barrier that a node makes of its traversers.
//!
//! ```text
//!   batch ──▶ partial step ──▶ merged with those before ──▶ the part
//! ```
//! The partial step makes fewer traversers of each batch. They are merged from time to time: so a node holds each key of a map once, and
//! no more of a sorted list than is used.

use mangrove_graph::{Value, ValueType};

use crate::error::{QueryError, Result};
use crate::execute::compile::{self, partial_again};
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::ops::reduce::integer_type;
use crate::execute::run::chain::{Chain, MapBatch, Once};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::plan::parts::Parts;
use crate::plan::{StepNode, Traversal};

/// Partial results are merged when so many have come, or as many as there are.
const MERGE_ROWS: usize = 1 << 16;

/// Partial results of batches.
pub struct Partials {
    parts: Option<Parts>,
    partial: Chain,
    again: Option<Box<dyn MapBatch>>,
    /// The type of what is sorted.
    kind: Option<ValueType>,
    merged: Batch,
    later: Vec<Batch>,
    /// Of those that came later.
    rows: usize,
    held: Held,
}

impl Partials {
    /// # Errors
    /// If the step cannot be compiled.
    pub fn new(partial: &StepNode) -> Result<Self> {
        Ok(Self {
            parts: Parts::of_partial(&partial.step),
            partial: compile::serial(&Traversal { steps: vec![partial.clone()] }, None)?,
            again: partial_again(&partial.step)?,
            kind: None,
            merged: Batch::default(),
            later: Vec::new(),
            rows: 0,
            held: Held::default(),
        })
    }

    /// Takes a batch of traversers.
    ///
    /// # Errors
    /// If a step fails, or if the part of another node may not fit to this one.
    pub fn add(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<()> {
        if let Some(Parts::First { .. }) = self.parts {
            let kind = batch.items.kind_told_apart().filter(|kind| self.kind.is_none_or(|before| before == *kind));
            self.kind = Some(kind.ok_or_else(|| QueryError::value("a sort that does not tell its traversers apart"))?);
        }
        self.partial.reset(1);
        let mut start = Once::new(batch);
        while let Some(made) = self.partial.pull(cx, &mut start)? {
            if self.parts.is_some_and(Parts::has_sums) && !is_exact(&made) {
                return Err(QueryError::value("a sum that depends on the order"));
            }
            self.rows += made.len();
            self.held.add_batch(cx, &made)?;
            self.later.push(made);
        }
        if self.rows >= MERGE_ROWS.max(self.merged.len()) { self.merge(cx) } else { Ok(()) }
    }

    fn merge(&mut self, cx: &mut Context<'_, '_>) -> Result<()> {
        let all = [std::mem::take(&mut self.merged)].into_iter().chain(self.later.drain(..));
        let all = Batch::joined(all.filter(|batch| !batch.is_empty()).collect());
        self.rows = 0;
        self.merged = match &mut self.again {
            Some(again) if !all.is_empty() => {
                // For the time of the merge, there are both.
                self.held.add_batch(cx, &all)?;
                again.map(cx, all)?
            }
            _ => all,
        };
        if let Some(Parts::First { limit }) = self.parts
            && self.merged.len() > limit
        {
            self.merged = self.merged.slice(0..limit);
        }
        self.held.clear();
        self.held.add_batch(cx, &self.merged)
    }

    /// The part.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn finish(mut self, cx: &mut Context<'_, '_>) -> Result<Batch> {
        self.merge(cx)?;
        Ok(self.merged)
    }
}

/// Whether the sum of the values is the same for every order. Traversers that stand for none do not count.
fn is_exact(batch: &Batch) -> bool {
    let is_integer = |value: &Value| matches!(value, Value::Int8(_) | Value::Int16(_) | Value::Int32(_) | Value::Int64(_));
    match &batch.items {
        Items::Column(array) => integer_type(array).is_some(),
        Items::Values(values) => (0..).zip(values).all(|(row, value)| batch.bulk(row) == 0 || is_integer(value)),
        _ => false,
    }
}
