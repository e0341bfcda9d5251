//! What a traverser carries or remembers: `select`, `project`, `path`, `loops`, `sack`.

use std::sync::Arc;

use mangrove_graph::{Map, Path, Value};

use super::batch::{Batch, Items, Moves};
use super::by::{ByOp, beginning, eval_one, round_robin};
use super::chain::{Child, MapBatch};
use super::context::Context;
use super::{columns, number, path, type_error};
use crate::error::{QueryError, Result};
use crate::plan::{Column, Name, Operator, Pop};

/// The value of `name` for a traverser: an entry of its map, a side effect, or a labelled object of its path.
pub fn scope_value(cx: &Context<'_, '_>, batch: &Batch, row: usize, name: &str, pop: Pop) -> Result<Option<Value>> {
    if let Items::Values(values) = &batch.items
        && let Value::Map(map) = &values[row]
        && let Some(value) = map.get_str(name)
    {
        return Ok(Some(value.clone()));
    }
    if let Some(value) = cx.shared.side_effects.get(name) {
        return Ok(Some(value));
    }
    Ok(path::select(batch.path(row), name, pop))
}

/// `select('a')`, `select('a','b')`.
pub struct SelectOp {
    pub pop: Pop,
    pub labels: Vec<Name>,
    pub by: Vec<ByOp>,
}

impl MapBatch for SelectOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if let [label] = &self.labels[..] {
            let label = label.clone();
            return self.select_one(cx, batch, &label);
        }
        let mut moves = Moves::default();
        for row in 0..batch.len() {
            if let Some(map) = self.select_map(cx, &batch, row)? {
                moves.push(row, map);
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

impl SelectOp {
    fn select_one(&mut self, cx: &mut Context<'_, '_>, batch: Batch, label: &str) -> Result<Batch> {
        let mut found = Moves::default();
        for row in 0..batch.len() {
            if let Some(value) = scope_value(cx, &batch, row, label, self.pop)? {
                found.push(row, value);
            }
        }
        let Some(by) = self.by.first_mut() else { return Ok(found.finish(&batch, cx.mode())) };
        let chosen = beginning(cx, found.values);
        let mut moves = Moves::default();
        for (row, value) in found.rows.into_iter().zip(by.eval(cx, &chosen)?) {
            if let Some(value) = value {
                moves.push(row as usize, value);
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }

    fn select_map(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, row: usize) -> Result<Option<Value>> {
        let mut map = Map::new();
        for (at, label) in self.labels.iter().enumerate() {
            let Some(value) = scope_value(cx, batch, row, label, self.pop)? else { return Ok(None) };
            let value = match round_robin(&mut self.by, at) {
                Some(by) => match eval_one(by, cx, value)? {
                    Some(value) => value,
                    None => return Ok(None),
                },
                None => value,
            };
            map.insert(Value::String(label.clone()), value);
        }
        Ok(Some(Value::map(map)))
    }
}

/// The keys or the values of a map, an entry, or a path.
pub fn column_of(value: &Value, column: Column) -> Result<Value> {
    Ok(match (value, column) {
        (Value::Map(map), Column::Keys) => Value::set(map.iter().map(|(k, _)| k.clone())),
        (Value::Map(map), Column::Values) => Value::list(map.iter().map(|(_, v)| v.clone()).collect()),
        (Value::Entry(entry), Column::Keys) => entry.0.clone(),
        (Value::Entry(entry), Column::Values) => entry.1.clone(),
        (Value::Path(path), Column::Keys) => {
            let labels = |l: &Vec<Name>| Value::set(l.iter().cloned().map(Value::String));
            Value::list(path.labels.iter().map(labels).collect())
        }
        (Value::Path(path), Column::Values) => Value::list(path.objects.clone()),
        (other, _) => return Err(type_error("a column", "maps, entries and paths", other)),
    })
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
        let mut moves = Moves::default();
        for (row, key) in keys.into_iter().enumerate() {
            let Some(key) = key else { continue };
            let found = match (&batch.value(row), &key) {
                (Value::Map(map), key) if map.get(key).is_some() => map.get(key).cloned(),
                (_, Value::String(name)) => scope_value(cx, &batch, row, name, self.pop)?,
                _ => None,
            };
            let Some(value) = found else { continue };
            let value = match self.by.first_mut() {
                Some(by) => eval_one(by, cx, value)?,
                None => Some(value),
            };
            if let Some(value) = value {
                moves.push(row, value);
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// `project('a','b').by(…)`: omits a key whose modulator gives nothing.
pub struct ProjectOp {
    pub keys: Vec<Name>,
    pub by: Vec<ByOp>,
    /// The maps are the results of the query.
    pub columns: bool,
}

impl MapBatch for ProjectOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mode = cx.mode();
        if self.columns {
            let maps = columns::projected(cx, &batch, &self.keys, &mut self.by)?;
            return Ok(batch.moved_in_place(Items::Maps(maps), mode));
        }
        let mut maps: Vec<Vec<(Value, Value)>> = vec![Vec::with_capacity(self.keys.len()); batch.len()];
        for (at, key) in self.keys.iter().enumerate() {
            let values = match round_robin(&mut self.by, at) {
                Some(by) => by.eval(cx, &batch)?,
                None => (0..batch.len()).map(|row| Some(batch.value(row))).collect(),
            };
            for (map, value) in maps.iter_mut().zip(values) {
                map.extend(value.map(|value| (Value::String(key.clone()), value)));
            }
        }
        let values = maps.into_iter().map(|entries| Value::map(Map::from_distinct(entries))).collect();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

/// A path whose objects went through the modulators in turn; `None` if one gives nothing.
pub fn modulated_path(cx: &mut Context<'_, '_>, mut path: Path, by: &mut [ByOp]) -> Result<Option<Path>> {
    for (at, object) in path.objects.iter_mut().enumerate() {
        if let Some(by) = round_robin(by, at) {
            match eval_one(by, cx, std::mem::take(object))? {
                Some(value) => *object = value,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(path))
}

/// `path()`.
pub struct PathOp {
    pub by: Vec<ByOp>,
    pub from: Option<Name>,
    pub to: Option<Name>,
}

impl MapBatch for PathOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut moves = Moves::default();
        for row in 0..batch.len() {
            let path = path::between(path::to_path(batch.path(row)), self.from.as_deref(), self.to.as_deref());
            if let Some(path) = modulated_path(cx, path, &mut self.by)? {
                moves.push(row, Value::Path(Arc::new(path)));
            }
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
