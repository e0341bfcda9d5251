//! Batches in portions, for steps that make many traversers of one.

use super::batch::Batch;
use super::chain::{Input, MapBatch, Op};
use super::context::Context;
use crate::error::Result;

/// What is made of a portion is about so many traversers, those of a single one aside.
const GIVEN_TARGET: usize = 65_536;
const FIRST_ROWS: usize = 1024;
/// What a portion makes beside traversers takes about so many bytes.
const MADE_BYTES_TARGET: usize = 16 << 20;
/// Of steps that make such things: few, as it is not known how large they are.
const FIRST_ROWS_MADE: usize = 32;
const ROWS_MAX: usize = 1 << 20;

/// Input in portions of as many rows as earlier ones suggest.
pub struct Portions {
    batch: Batch,
    at: usize,
    rows: usize,
}

impl Default for Portions {
    fn default() -> Self {
        Self { batch: Batch::default(), at: 0, rows: FIRST_ROWS }
    }
}

impl Portions {
    /// The next rows; none at the end.
    pub fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Batch> {
        if self.is_empty() {
            self.feed(input.pull(cx)?.unwrap_or_default());
        }
        self.take(cx)
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.batch.len()
    }

    /// Gives it rows, which it must have none of.
    pub fn feed(&mut self, batch: Batch) {
        debug_assert!(self.is_empty());
        (self.batch, self.at) = (batch, 0);
    }

    /// A portion of the rows it was fed.
    pub fn take(&mut self, cx: &Context<'_, '_>) -> Result<Batch> {
        if self.at == 0 && self.batch.len() <= self.rows {
            return Ok(std::mem::take(&mut self.batch));
        }
        cx.check()?;
        let start = self.at;
        self.at = self.batch.len().min(start + self.rows);
        Ok(self.batch.slice(start..self.at))
    }

    /// Tells how many rows a portion became.
    pub fn became(&mut self, portion: usize, given: usize) {
        let fitting = portion.saturating_mul(GIVEN_TARGET) / given.max(1);
        self.rows = fitting.clamp(1, 4 * self.rows).min(ROWS_MAX);
    }

    /// Tells what a portion made beside traversers, after how many rows it became.
    fn made(&mut self, portion: usize, bytes: usize) {
        let fitting = portion.saturating_mul(MADE_BYTES_TARGET) / bytes.max(1);
        self.rows = self.rows.min(fitting.max(1));
    }

    /// Forgets the rest of a batch.
    pub fn clear(&mut self) {
        self.batch = Batch::default();
        self.at = 0;
    }
}

/// As [`Mapping`](super::chain::Mapping), portion by portion.
pub struct Portioned<M> {
    map: M,
    portions: Portions,
}

impl<M> Portioned<M> {
    pub fn new(map: M) -> Self {
        Self { map, portions: Portions::default() }
    }

    /// Of a step that makes more of a traverser than traversers.
    pub fn of_maker(map: M) -> Self {
        Self { map, portions: Portions { rows: FIRST_ROWS_MADE, ..Portions::default() } }
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
            self.portions.became(rows, batch.len());
            self.portions.made(rows, self.map.made_bytes());
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
    }

    fn reset(&mut self, _: usize) {
        self.portions.clear();
    }
}
