//! `tree`: merges paths by their common prefixes.

use mangrove_graph::Value;

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::branches::Branches;
use crate::execute::data::path;
use crate::execute::modulators::by::{ByOp, eval_lists};
use crate::execute::ops::barrier::gather_all;
use crate::execute::ops::reduce::per_scope;
use crate::execute::run::chain::{Input, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::nesting;
use crate::plan::Name;

/// Paths that are modulated together.
const ROWS_AT_ONCE: usize = 1024;

/// `tree().by(…)`: merges the paths of all traversers. Omits objects for which a modulator gives nothing.
pub struct TreeOp {
    side_effect: Option<Name>,
    by: Vec<ByOp>,
    /// One for each scope.
    trees: Vec<Branches>,
    held: Held,
    done: bool,
}

impl TreeOp {
    pub fn new(side_effect: Option<Name>, by: Vec<ByOp>) -> Self {
        Self { side_effect, by, trees: vec![Branches::default()], held: Held::default(), done: false }
    }

    fn take(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<()> {
        let rows: Vec<usize> = (0..batch.len()).collect();
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let objects = rows.iter().map(|row| path::to_path(batch.path(*row)).objects).collect();
            for (row, objects) in rows.iter().zip(eval_lists(&mut self.by, cx, objects)?) {
                let objects: Vec<Value> = objects.into_iter().flatten().collect();
                nesting::check_tree_depth(objects.len())?;
                let bytes = match &self.side_effect {
                    Some(name) => cx.shared.side_effects.branches(name).grow(objects),
                    None => self.trees[batch.scope(*row)].grow(objects),
                };
                self.held.add(cx, bytes)?;
            }
        }
        Ok(())
    }
}

impl Op for TreeOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        if self.side_effect.is_some() {
            let mut held = Held::default();
            let all = gather_all(cx, input, &mut held)?;
            self.take(cx, &all)?;
            return Ok(Some(all).filter(|b| !b.is_empty()));
        }
        while let Some(batch) = input.pull(cx)? {
            self.take(cx, &batch)?;
        }
        let trees = std::mem::take(&mut self.trees);
        Ok(per_scope(trees.iter().map(|tree| Some(Value::Tree(tree.tree().into()))).collect(), cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.done = false;
        if self.side_effect.is_none() {
            self.held.clear();
            self.trees.clear();
            self.trees.resize_with(scopes.max(1), Branches::default);
        }
    }
}
