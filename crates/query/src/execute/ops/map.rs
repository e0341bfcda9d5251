//! One to one, and one to many: `constant`, `map`, `flatMap`, `local`, `index`.

use mangrove_graph::{Map, Value};

use crate::error::Result;
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::items::Items;
use crate::execute::run::chain::{Child, Input, MapBatch, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;

/// `constant(v)`.
pub struct ConstantOp(pub Value);

impl MapBatch for ConstantOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let values = vec![self.0.clone(); batch.len()];
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::from_values(values), mode))
    }
}

/// `identity()`. It also carries a label at the start of a child.
pub struct IdentityOp;

impl MapBatch for IdentityOp {
    fn map(&mut self, _: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        Ok(batch)
    }
}

/// `map(traversal)`: the first result of the traversal.
pub struct MapOp(pub Child);

impl MapBatch for MapOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut moves = Moves::default();
        for (row, value) in self.0.first(cx, &batch)?.into_iter().enumerate() {
            if let Some(value) = value {
                moves.push(row, value);
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// Splits each row into one row per traverser.
pub struct SpreadOp;

impl MapBatch for SpreadOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if batch.bulk.is_none() {
            return Ok(batch);
        }
        Held::default().add_items(cx, batch.total())?;
        let rows: Vec<u32> =
            (0..batch.len() as u32).flat_map(|row| std::iter::repeat_n(row, batch.bulk(row as usize) as usize)).collect();
        Ok(Batch { bulk: None, ..batch.gather(&rows) })
    }
}

/// `flatMap(traversal)`: all results of the traversal.
pub struct FlatMapOp(pub Child);

impl MapBatch for FlatMapOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let out = self.0.run_rows(cx, &batch)?;
        let rows: Vec<u32> = (0..out.len()).map(|row| out.scope(row) as u32).collect();
        let bulks: Option<Vec<u64>> = out
            .bulk
            .as_ref()
            .map(|bulk| bulk.iter().zip(&rows).map(|(n, row)| n.saturating_mul(batch.bulk(*row as usize))).collect());
        let mut moved = batch.moved(&rows, out.items, cx.mode());
        if bulks.is_some() {
            moved.bulk = bulks;
        }
        Ok(moved)
    }
}

/// `local(traversal)`: the traversal runs for each traverser by itself. Its results go on with the paths they made.
pub struct LocalOp {
    pub child: Child,
    pending: Option<(Batch, crate::execute::run::chain::Once)>,
}

impl LocalOp {
    pub fn new(child: Child) -> Self {
        Self { child, pending: None }
    }
}

impl Op for LocalOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            if self.pending.is_none() {
                let Some(batch) = input.pull(cx)? else { return Ok(None) };
                self.child.begin(batch.len());
                let start = crate::execute::run::chain::Once::new(batch.as_scopes());
                self.pending = Some((batch, start));
            }
            let Some((parent, start)) = &mut self.pending else { continue };
            match self.child.pull(cx, start)? {
                Some(out) => return Ok(Some(rescoped(out, parent))),
                None => self.pending = None,
            }
        }
    }

    fn reset(&mut self, _: usize) {
        self.pending = None;
    }
}

/// Results of a child as traversers of its parent. They take the scope and the bulk of the row they came from.
pub fn rescoped(mut out: Batch, parent: &Batch) -> Batch {
    if let Some(bulk) = &parent.bulk {
        let bulks = (0..out.len()).map(|row| out.bulk(row).saturating_mul(bulk[out.scope(row)])).collect();
        out.bulk = Some(bulks);
    }
    out.scope = match (&parent.scope, out.scope.take()) {
        (None, _) => None,
        (Some(scope), None) => Some(vec![scope[0]; out.len()]),
        (Some(scope), Some(rows)) => Some(rows.into_iter().map(|row| scope[row as usize]).collect()),
    };
    out
}

/// `index()`: items with their positions, as pairs or as a map.
pub struct IndexOp {
    pub as_map: bool,
}

impl MapBatch for IndexOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let indexed = |value: Value| {
            let items = match &value {
                Value::Map(map) => map.iter().map(|e| Value::Entry(e.clone().into())).collect(),
                other => other.items().unwrap_or_else(|| vec![value.clone()]),
            };
            let numbered = items.into_iter().enumerate().map(|(at, item)| (item, Value::Int32(at as i32)));
            if self.as_map {
                Value::map(Map::from_distinct(numbered.map(|(item, at)| (at, item)).collect()))
            } else {
                Value::list(numbered.map(|(item, at)| Value::list(vec![item, at])).collect())
            }
        };
        let values = (0..batch.len()).map(|row| indexed(batch.value(row))).collect();
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}
