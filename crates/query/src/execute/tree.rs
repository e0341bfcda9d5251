//! `tree`: merges paths by their common prefixes.

use std::collections::hash_map::RandomState;

use hashbrown::HashMap;
use mangrove_graph::{Tree, Value};

use super::barrier::gather_all;
use super::batch::Batch;
use super::by::{ByOp, eval_lists};
use super::chain::{Input, Op};
use super::context::Context;
use super::memory::{Held, value_bytes};
use super::path;
use super::reduce::per_scope;
use crate::error::Result;
use crate::nesting;
use crate::plan::Name;

/// A tree under construction.
#[derive(Default)]
pub struct Branches {
    /// The children of each node by node number, the root first: value and number.
    children: Vec<Vec<(Value, u32)>>,
    /// The number of each node, by its parent and value. Users choose the values, so the hash must be unpredictable.
    places: HashMap<(u32, Value), u32, RandomState>,
}

/// Bytes of a node beside its value: its entries in lists and table, here and in the resulting tree.
const NODE_BYTES: usize = 256;

impl Branches {
    /// Adds a path from the root, in O(length). Returns approximately the bytes it added.
    fn grow(&mut self, objects: Vec<Value>) -> usize {
        let (mut at, mut bytes) = (0, 0);
        if self.children.is_empty() {
            self.children.push(Vec::new());
        }
        for object in objects {
            let next = self.children.len() as u32;
            let size = value_bytes(&object);
            let place = (at, object);
            at = *self.places.entry(place.clone()).or_insert(next);
            if at == next {
                self.children[place.0 as usize].push((place.1, next));
                self.children.push(Vec::new());
                bytes += NODE_BYTES + size;
            }
        }
        bytes
    }

    pub fn tree(&self) -> Tree {
        if self.children.is_empty() { Tree::default() } else { self.below(0) }
    }

    /// The recursion is bounded: [`nesting::check_tree_depth`] bounds the paths.
    fn below(&self, node: u32) -> Tree {
        let children = self.children[node as usize].iter();
        Tree(children.map(|(value, child)| (value.clone(), self.below(*child))).collect())
    }
}

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
