//! Steps that watch the clock.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::run::chain::{Input, Op};
use crate::execute::run::context::Context;

/// `timeLimit(ms)`: ends quietly when the time is up.
pub struct TimeLimitOp {
    limit: Duration,
    began: Option<Instant>,
}

impl TimeLimitOp {
    pub fn new(millis: u64) -> Self {
        Self { limit: Duration::from_millis(millis), began: None }
    }
}

impl Op for TimeLimitOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        let began = *self.began.get_or_insert_with(Instant::now);
        if began.elapsed() >= self.limit {
            return Ok(None);
        }
        input.pull(cx)
    }

    fn reset(&mut self, _: usize) {
        self.began = None;
    }
}
