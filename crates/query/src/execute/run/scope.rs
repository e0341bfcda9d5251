//! What a name means for a traverser.

use mangrove_graph::Value;

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::path;
use crate::execute::data::slots::Slot;
use crate::execute::run::context::Context;
use crate::plan::Pop;
use crate::plan::paths::PathMode;

/// The value of `name` for a traverser: an entry of its map, a side effect, or a labelled object of its path.
pub fn scope_value(cx: &Context<'_, '_>, batch: &Batch, row: usize, name: &str, pop: Pop) -> Result<Option<Value>> {
    if let Some(value) = entry(&batch.items, row, name) {
        return Ok(Some(value));
    }
    if let Some(value) = cx.shared.side_effects.get(name) {
        return Ok(Some(value));
    }
    match cx.mode() {
        PathMode::Slots => Ok(batch.slots.value(name, row)),
        _ => Ok(path::select(batch.path(row), name, pop)),
    }
}

/// What the map of a row has under a name, if the row is a map.
fn entry(items: &Items, row: usize, name: &str) -> Option<Value> {
    match items {
        Items::Values(values) => match &values[row] {
            Value::Map(map) => map.get_str(name).cloned(),
            _ => None,
        },
        Items::Maps(maps) => maps.column_named(name)?.get(row),
        _ => None,
    }
}

/// The values of `name` for all traversers, if they are one column.
pub fn scope_items<'b>(cx: &Context<'_, '_>, batch: &'b Batch, name: &str) -> Option<&'b Items> {
    let may_be_maps = matches!(batch.items, Items::Values(_) | Items::Maps(_));
    if may_be_maps || cx.shared.side_effects.contains(name) || cx.mode() != PathMode::Slots {
        return None;
    }
    match batch.slots.get(name)? {
        Slot::All(items) => Some(items),
        Slot::Some(_) => None,
    }
}
