//! Cuts batches into portions, for steps that make many traversers of one.

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::run::chain::{Input, MapBatch, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::HasBudget;
use crate::execute::run::pace::{self, Pace};

/// The target number of results of a portion. A single traverser may give more.
const GIVEN_TARGET: usize = 65_536;
const FIRST_ROWS: usize = 1024;
/// The first portion of a step that makes such data. It is small because the size of the data is not yet known.
const FIRST_ROWS_MADE: usize = 32;
const ROWS_MAX: usize = 1 << 20;

/// Cuts the input into portions. The results of earlier portions decide the number of rows.
pub struct Portions {
    batch: Batch,
    at: usize,
    pace: Pace,
}

impl Default for Portions {
    fn default() -> Self {
        Self { batch: Batch::default(), at: 0, pace: Pace::new(FIRST_ROWS, ROWS_MAX) }
    }
}

impl Portions {
    /// Portions of about so many rows at most.
    pub fn of_at_most(rows_max: usize) -> Self {
        Self { pace: Pace::new(FIRST_ROWS, rows_max), ..Self::default() }
    }

    /// The next portion; empty at the end.
    pub fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Batch> {
        if self.is_empty() {
            self.feed(input.pull(cx)?.unwrap_or_default());
        }
        self.take(cx)
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.batch.len()
    }

    /// Adds a batch to cut up. The previous one must be used up.
    pub fn feed(&mut self, batch: Batch) {
        debug_assert!(self.is_empty());
        (self.batch, self.at) = (batch, 0);
    }

    /// The next portion of that batch. A view far away asks for more rows at once.
    pub fn take(&mut self, cx: &Context<'_, '_>) -> Result<Batch> {
        let rows = self.pace.rows().max(cx.view().distance().rows_min);
        // A small rest comes along: two portions cost more than a larger one.
        let is_last = self.batch.len() - self.at <= rows.saturating_mul(2);
        if self.at == 0 && is_last {
            return Ok(std::mem::take(&mut self.batch));
        }
        cx.check()?;
        let start = self.at;
        self.at = if is_last { self.batch.len() } else { start + rows };
        Ok(self.batch.slice(start..self.at))
    }

    /// Reports how many rows a portion became.
    pub fn became(&mut self, portion: usize, given: usize) {
        self.pace.took(portion, [(given, GIVEN_TARGET)]);
    }

    /// Reports how many rows a portion became, and the bytes that it made, in traversers or beside them.
    fn made(&mut self, cx: &Context<'_, '_>, portion: usize, given: usize, bytes: usize) {
        self.pace.took(portion, [(given, GIVEN_TARGET), (bytes, pace::bytes_target(cx.budget().bytes_max()))]);
    }

    /// Drops the rest of the batch.
    pub fn clear(&mut self) {
        self.batch = Batch::default();
        self.at = 0;
    }
}

/// Like [`Mapping`](crate::execute::run::chain::Mapping), portion by portion.
pub struct Portioned<M> {
    map: M,
    portions: Portions,
}

impl<M> Portioned<M> {
    pub fn new(map: M) -> Self {
        Self { map, portions: Portions::default() }
    }

    /// For a step whose results, or what it makes beside them, may be large.
    pub fn of_maker(map: M) -> Self {
        Self { map, portions: Portions { pace: Pace::new(FIRST_ROWS_MADE, ROWS_MAX), ..Portions::default() } }
    }
}

impl<M: MapBatch> Op for Portioned<M> {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            let portion = self.portions.next(cx, input)?;
            if portion.is_empty() {
                return Ok(None);
            }
            let rows = portion.len();
            let batch = self.map.map(cx, portion)?;
            self.portions.made(cx, rows, batch.len(), self.map.made_bytes() + batch.items.bytes());
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
    }

    fn reset(&mut self, _: usize) {
        self.portions.clear();
    }
}
