//! What a traverser carries or remembers: `select`, `project`, `path`, `loops`, `sack`.

use std::sync::Arc;

use arrow_array::Array;
use mangrove_graph::{Map, Value};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::entries::column_of;
use crate::execute::data::items::Items;
use crate::execute::data::maps::{MapColumn, Maps};
use crate::execute::data::number;
use crate::execute::data::path;
use crate::execute::data::slots::Slot;
use crate::execute::modulators::by::{
    ByColumn, ByOp, eval_present, eval_values, modulated, modulated_paths, projected, round_robin,
};
use crate::execute::run::chain::{Child, MapBatch};
use crate::execute::run::context::Context;
use crate::execute::run::scope::scope_value;
use crate::plan::paths::PathMode;
use crate::plan::{Column, Name, Operator, Pop};

/// `select('a')`, `select('a','b')`.
pub struct SelectOp {
    pub pop: Pop,
    pub labels: Vec<Name>,
    pub by: Vec<ByOp>,
    /// The least number of traversers whose maps go on by column.
    pub columns: Option<usize>,
}

impl MapBatch for SelectOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if let [label] = &self.labels[..] {
            let label = label.clone();
            if let Some(items) = entries(&batch, &label) {
                return self.select_slot(cx, batch, items);
            }
            return match slot_of(cx, &batch, &label).cloned() {
                Some(items) => self.select_slot(cx, batch, items),
                None => self.select_one(cx, batch, &label),
            };
        }
        if self.columns.is_some_and(|least| batch.len() >= least)
            && let Some(columns) = self.select_columns(cx, &batch)?
        {
            return Ok(of_columns(&self.labels, columns, batch, cx.mode()));
        }
        let mut moves = Moves::default();
        for (row, map) in self.select_maps(cx, &batch)?.into_iter().enumerate() {
            map.into_iter().for_each(|map| moves.push(row, Value::map(map)));
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// What every row has under a label, if nothing but the slot of the label can give it.
fn slot_of<'b>(cx: &Context<'_, '_>, batch: &'b Batch, label: &str) -> Option<&'b Items> {
    let Slot::All(items) = batch.slots.get(label)? else { return None };
    let may_be_maps = match &batch.items {
        Items::Values(values) => values.iter().any(|value| matches!(value, Value::Map(_))),
        Items::Maps(_) => true,
        _ => false,
    };
    (!may_be_maps && cx.shared.side_effects.get(label).is_none()).then_some(items)
}

/// The entries under a key, if all traversers are maps that have it.
fn entries(batch: &Batch, key: &str) -> Option<Items> {
    let Items::Maps(maps) = &batch.items else { return None };
    match maps.column_named(key)? {
        MapColumn::Typed(array) if array.null_count() == 0 => Some(Items::of_array(array.clone())),
        column => {
            let values: Option<Vec<Value>> = (0..maps.rows).map(|row| column.get(row)).collect();
            values.map(Items::from_values)
        }
    }
}

/// The traversers whose columns all have a value, with maps of these values.
fn of_columns(labels: &[Name], columns: Vec<MapColumn>, batch: Batch, mode: PathMode) -> Batch {
    let rows: Vec<u32> = (0..batch.len() as u32).filter(|row| columns.iter().all(|c| c.has(*row as usize))).collect();
    let keys = labels.iter().map(|label| Value::String(label.clone()));
    let maps = Maps { rows: batch.len(), columns: keys.zip(columns).collect() };
    if rows.len() == batch.len() {
        return batch.moved_in_place(Items::Maps(maps), mode);
    }
    batch.moved(&rows, Items::Maps(maps.gather(&rows)), mode)
}

impl SelectOp {
    fn select_slot(&mut self, cx: &mut Context<'_, '_>, batch: Batch, items: Items) -> Result<Batch> {
        let mode = cx.mode();
        let Some(by) = self.by.first_mut() else { return Ok(batch.moved_in_place(items, mode)) };
        Ok(match by.column(cx, &Batch::new(items))? {
            ByColumn::Typed(array) if array.null_count() == 0 => batch.moved_in_place(Items::of_array(array), mode),
            column => {
                let mut moves = Moves::default();
                for (row, value) in column.into_values().into_iter().enumerate() {
                    value.into_iter().for_each(|value| moves.push(row, value));
                }
                moves.finish(&batch, mode)
            }
        })
    }

    /// One column for each label, if slots have all of them.
    fn select_columns(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Option<Vec<MapColumn>>> {
        let mut columns = Vec::with_capacity(self.labels.len());
        for (at, label) in self.labels.iter().enumerate() {
            let Some(items) = slot_of(cx, batch, label).cloned() else { return Ok(None) };
            let of_label = Batch::new(items);
            let column = match round_robin(&mut self.by, at) {
                Some(by) => by.column(cx, &of_label)?,
                None => ByOp::Identity.column(cx, &of_label)?,
            };
            columns.push(column.into());
        }
        Ok(Some(columns))
    }

    fn select_one(&mut self, cx: &mut Context<'_, '_>, batch: Batch, label: &str) -> Result<Batch> {
        let mut found = Moves::default();
        for row in 0..batch.len() {
            if let Some(value) = scope_value(cx, &batch, row, label, self.pop)? {
                found.push(row, value);
            }
        }
        let Some(by) = self.by.first_mut() else { return Ok(found.finish(&batch, cx.mode())) };
        let mut moves = Moves::default();
        for (row, value) in found.rows.into_iter().zip(eval_values(by, cx, found.values)?) {
            if let Some(value) = value {
                moves.push(row as usize, value);
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }

    /// The map of each row; `None` if one of its values is missing.
    fn select_maps(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Option<Map>>> {
        let mut maps = vec![Some(Map::new()); batch.len()];
        for (at, label) in self.labels.iter().enumerate() {
            let mut values = vec![None; batch.len()];
            for (row, value) in values.iter_mut().enumerate().filter(|(row, _)| maps[*row].is_some()) {
                *value = scope_value(cx, batch, row, label, self.pop)?;
            }
            let values = match round_robin(&mut self.by, at) {
                Some(by) => eval_present(by, cx, values)?,
                None => values,
            };
            for (map, value) in maps.iter_mut().zip(values) {
                match (map.as_mut(), value) {
                    (Some(map), Some(value)) => map.insert(Value::String(label.clone()), value),
                    _ => *map = None,
                }
            }
        }
        Ok(maps)
    }
}

/// `select(keys)`, `select(values)`.
pub struct ColumnOp(pub Column);

impl MapBatch for ColumnOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let values = (0..batch.len()).map(|row| column_of(&batch.value(row), self.0)).collect::<Result<_>>()?;
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::from_values(values), mode))
    }
}

/// `select(traversal)`: the traversal gives the key; the step gives its entry.
pub struct SelectChildOp {
    pub pop: Pop,
    pub child: Child,
    pub by: Vec<ByOp>,
}

impl MapBatch for SelectChildOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let keys = self.child.first(cx, &batch)?;
        let mut values = vec![None; batch.len()];
        for (row, key) in keys.into_iter().enumerate() {
            let Some(key) = key else { continue };
            values[row] = match (&batch.value(row), &key) {
                (Value::Map(map), key) if map.get(key).is_some() => map.get(key).cloned(),
                (_, Value::String(name)) => scope_value(cx, &batch, row, name, self.pop)?,
                _ => None,
            };
        }
        if let Some(by) = self.by.first_mut() {
            values = eval_present(by, cx, values)?;
        }
        let mut moves = Moves::default();
        for (row, value) in values.into_iter().enumerate() {
            value.into_iter().for_each(|value| moves.push(row, value));
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// `project('a','b').by(…)`: omits a key whose modulator gives nothing.
pub struct ProjectOp {
    pub keys: Vec<Name>,
    pub by: Vec<ByOp>,
    /// The least number of traversers whose maps go on by column.
    pub columns: Option<usize>,
}

impl MapBatch for ProjectOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mode = cx.mode();
        if self.columns.is_some_and(|least| batch.len() >= least) {
            let maps = projected(cx, &batch, &self.keys, &mut self.by)?;
            return Ok(batch.moved_in_place(Items::Maps(maps), mode));
        }
        let columns = modulated(cx, &batch, self.keys.len(), &mut self.by)?;
        let mut maps: Vec<Vec<(Value, Value)>> = vec![Vec::with_capacity(self.keys.len()); batch.len()];
        for (key, column) in self.keys.iter().zip(columns) {
            for (map, value) in maps.iter_mut().zip(column.into_values()) {
                map.extend(value.map(|value| (Value::String(key.clone()), value)));
            }
        }
        let values = maps.into_iter().map(|entries| Value::map(Map::from_distinct(entries))).collect();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

/// `path()`.
pub struct PathOp {
    pub by: Vec<ByOp>,
    pub from: Option<Name>,
    pub to: Option<Name>,
}

impl MapBatch for PathOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let path = |row| path::between(path::to_path(batch.path(row)), self.from.as_deref(), self.to.as_deref());
        let paths = (0..batch.len()).map(path).collect();
        let mut moves = Moves::default();
        for (row, path) in modulated_paths(cx, paths, &mut self.by)?.into_iter().enumerate() {
            path.into_iter().for_each(|path| moves.push(row, Value::Path(Arc::new(path))));
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// `loops()`.
pub struct LoopsOp(pub Option<Name>);

impl MapBatch for LoopsOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let loops = &cx.shared.loops;
        let rounds = match &self.0 {
            None => loops.last().map(|(_, n)| *n).unwrap_or(0),
            Some(name) => {
                let found = loops.iter().rev().find(|(n, _)| n.as_ref() == Some(name));
                found.map(|(_, n)| *n).ok_or_else(|| QueryError::value(format!("Loop name not defined: {name}")))?
            }
        };
        let values = vec![Value::Int32(rounds as i32); batch.len()];
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

/// `sack()`.
pub struct SackOp;

impl MapBatch for SackOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut moves = Moves::default();
        if let Some(sacks) = &batch.sacks {
            sacks.iter().enumerate().for_each(|(row, sack)| moves.push(row, sack.clone()));
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// `sack(operator).by(…)`.
pub struct SackUpdateOp {
    pub operator: Operator,
    pub by: Option<ByOp>,
}

impl MapBatch for SackUpdateOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        let values = match &mut self.by {
            Some(by) => by.eval(cx, &batch)?,
            None => (0..batch.len()).map(|row| Some(batch.value(row))).collect(),
        };
        let mut sacks = batch.sacks.take().unwrap_or_else(|| vec![Value::Null; batch.len()]);
        let keep: Vec<bool> = values.iter().map(Option::is_some).collect();
        for (sack, value) in sacks.iter_mut().zip(values) {
            if let Some(value) = value {
                *sack = number::apply(self.operator, std::mem::take(sack), value)?;
            }
        }
        batch.sacks = Some(sacks);
        Ok(batch.filter(&keep))
    }
}
