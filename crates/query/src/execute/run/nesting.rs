//! Where the engine bounds the nesting of collections.
//!
//! A `repeat` can wrap one collection in another, round after round. Without a bound, a short query would overflow the stack. So the
//! engine checks values in three places: between rounds, where side effects take values in, and after each step of a query with many
//! steps. The few steps of a shorter query add little.

use std::cell::Cell;

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::nesting::check;
use crate::plan::Traversal;

/// In a query with more steps, the bound is checked after each step.
const STEPS_UNCHECKED: usize = 16;

/// Whether a query has so many steps that they could nest collections too deep.
pub fn may_go_deep(traversal: &Traversal) -> bool {
    let steps = Cell::new(0);
    traversal.any(&|_| {
        steps.set(steps.get() + 1);
        steps.get() > STEPS_UNCHECKED
    })
}

/// Fails if a value of the batch nests too deep.
pub fn check_batch(batch: &Batch) -> Result<()> {
    match &batch.items {
        Items::Values(values) => values.iter().try_for_each(check)?,
        Items::Maps(maps) => maps.plain_values().try_for_each(check)?,
        Items::Vertices(_) | Items::Edges(_) | Items::Column(_) => {}
    }
    batch.sacks.iter().flatten().try_for_each(check)
}
