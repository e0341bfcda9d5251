//! `match()`: patterns in the order the plan put them, each starting from a label bound before it.
//!
//! Bindings live in the path as labels, so that a pattern is a child traversal run for a whole batch: it starts from what its
//! start label stands for, and what it gives is bound to its end label, or compared with it where that is bound already.

use mangrove_graph::{Map, Value};

use super::batch::{Batch, Items, Moves};
use super::chain::{Child, MapBatch};
use super::context::Context;
use super::path;
use crate::error::Result;
use crate::plan::{Name, Pop};

pub struct PatternOp {
    pub start: Option<Name>,
    pub binds_start: bool,
    pub child: Child,
    pub end: Option<Name>,
}

pub struct MatchOp {
    patterns: Vec<PatternOp>,
    labels: Vec<Name>,
}

impl MatchOp {
    pub fn new(patterns: Vec<PatternOp>) -> Self {
        let mut labels: Vec<Name> = Vec::new();
        for name in patterns.iter().flat_map(|p| p.start.iter().chain(&p.end)) {
            if !labels.contains(name) {
                labels.push(name.clone());
            }
        }
        Self { patterns, labels }
    }

    fn bindings(&self, batch: &Batch, row: usize) -> Value {
        let bound = |name: &Name| path::select(batch.path(row), name, Pop::Last).map(|v| (Value::String(name.clone()), v));
        Value::map(Map::from_distinct(self.labels.iter().filter_map(bound).collect()))
    }
}

impl MapBatch for MatchOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        for pattern in &mut self.patterns {
            if batch.is_empty() {
                break;
            }
            batch = pattern.apply(cx, batch)?;
        }
        let mode = cx.mode();
        let maps = (0..batch.len()).map(|row| self.bindings(&batch, row)).collect();
        Ok(batch.moved_in_place(Items::Values(maps), mode))
    }
}

impl PatternOp {
    fn apply(&mut self, cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        let Some(start) = self.start.clone() else {
            let keep = self.child.exists(cx, &batch)?;
            return Ok(batch.filter(&keep));
        };
        if self.binds_start {
            let unbound = (0..batch.len()).all(|row| path::select(batch.path(row), &start, Pop::Last).is_none());
            if unbound {
                batch.label(std::slice::from_ref(&start), cx.mode());
            }
        }
        let (rows, values): (Vec<u32>, Vec<Value>) =
            (0..batch.len()).filter_map(|row| Some((row as u32, path::select(batch.path(row), &start, Pop::Last)?))).unzip();
        let standing = Batch { items: Items::from_values(values), ..batch.gather(&rows) };
        let Some(end) = self.end.clone() else {
            let keep = self.child.exists(cx, &standing)?;
            return Ok(standing.filter(&keep));
        };
        let found = self.child.run_rows(cx, &standing)?;
        let mut moves = Moves::default();
        let mut bulks = Vec::new();
        let mut compared = Vec::new();
        for at in 0..found.len() {
            let row = found.scope(at);
            let value = found.value(at);
            match path::select(standing.path(row), &end, Pop::Last) {
                Some(bound) if bound != value => continue,
                bound => compared.push(bound.is_some()),
            }
            moves.push(row, value);
            bulks.push(found.bulk(at).saturating_mul(standing.bulk(row)));
        }
        let mut out = Batch { items: Items::from_values(moves.values), ..standing.gather(&moves.rows) };
        out.bulk = bulks.iter().any(|n| *n != 1).then_some(bulks);
        bind(&mut out, &end, &compared);
        Ok(out)
    }
}

/// Gives the end label to the items of rows that had it not bound.
fn bind(batch: &mut Batch, end: &Name, bound: &[bool]) {
    let items = batch.items.clone();
    if let Some(paths) = &mut batch.paths {
        for (row, path) in paths.iter_mut().enumerate().filter(|(row, _)| !bound[*row]) {
            let extended = path::extend(path, items.get(row));
            *path = path::label(&extended, &items.get(row), std::slice::from_ref(end), path::PathMode::Full);
        }
    }
}
