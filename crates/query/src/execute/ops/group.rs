//! `group`, `groupCount`: barriers, whether their result is the output or a side effect.

use arrow_array::ArrayRef;
use mangrove_graph::Value;

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::keys::Groups;
use crate::execute::modulators::by::{ByColumn, ByOp};
use crate::execute::ops::barrier::gather_all;
use crate::execute::ops::reduce::{counted, per_scope};
use crate::execute::run::chain::{Child, Input, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::nesting;
use crate::plan::{Name, Operator};

/// How to compute the value of a group.
pub enum GroupValueOp {
    List(ByOp),
    /// A traversal over the traversers of the group. Each group is a scope of its own.
    Reduce(Child),
}

/// `group().by(key).by(value)`. `group('x')` stores the map as a side effect, then passes its traversers on.
pub struct GroupOp {
    side_effect: Option<Name>,
    /// Its number among the steps that share its side effect. `combine` merges the values of a key that two of them share.
    part: Option<usize>,
    combine: Operator,
    key: ByOp,
    value: GroupValueOp,
    groups: Groups,
    /// The traversers, with the group as scope.
    members: Vec<Batch>,
    held: Held,
    scopes: usize,
    done: bool,
}

impl GroupOp {
    pub fn new(side_effect: Option<Name>, key: ByOp, value: GroupValueOp, combine: Operator) -> Self {
        let (groups, members, held) = Default::default();
        Self { side_effect, part: None, combine, key, value, groups, members, held, scopes: 1, done: false }
    }

    fn take(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<()> {
        let mut rows = Vec::with_capacity(batch.len());
        let mut numbers = Vec::with_capacity(batch.len());
        let before = self.groups.keys.len();
        // A side effect is one map across all scopes.
        let is_one_scope = self.side_effect.is_some() || batch.scope.is_none();
        match self.key.column(cx, batch)? {
            ByColumn::Typed(keys) if is_one_scope => self.groups.number_column(&keys, |row, number| {
                rows.push(row as u32);
                numbers.push(number);
            }),
            keys => {
                for (row, key) in keys.into_values().into_iter().enumerate() {
                    let Some(key) = key else { continue };
                    let scope = if is_one_scope { 0 } else { batch.scope(row) };
                    rows.push(row as u32);
                    numbers.push(self.groups.number(scope, key));
                }
            }
        }
        self.held.add(cx, self.groups.bytes_from(before))?;
        let mut part = batch.gather(&rows);
        part.scope = Some(numbers);
        self.held.add_batch(cx, &part)?;
        self.members.push(part);
        Ok(())
    }

    fn publish(&mut self, cx: &mut Context<'_, '_>, name: &Name) -> Result<()> {
        let values = self.values(cx)?;
        let map = self.groups.maps(values, 1).pop().unwrap_or_default();
        nesting::check(&map)?;
        cx.shared.side_effects.set_part(name, &mut self.part, map, self.combine)
    }

    fn values(&mut self, cx: &mut Context<'_, '_>) -> Result<Vec<Option<Value>>> {
        let n = self.groups.keys.len();
        let members = Batch::joined(std::mem::take(&mut self.members));
        if self.side_effect.is_some() {
            // The next round of a repeat adds to them.
            self.members.push(members.clone());
        }
        match &mut self.value {
            GroupValueOp::List(by) => {
                let mut lists: Vec<Vec<Value>> = vec![Vec::new(); n];
                self.held.add_items(cx, members.total())?;
                let values = by.eval_parts(cx, &members)?;
                for (row, value) in values.into_iter().enumerate() {
                    if let Some(value) = value {
                        let bulk = members.bulk(row) as usize;
                        lists[members.scope(row)].extend(std::iter::repeat_n(value, bulk));
                    }
                }
                Ok(lists.into_iter().map(|list| Some(Value::list(list))).collect())
            }
            GroupValueOp::Reduce(child) => {
                let mut values = vec![None; n];
                if n > 0 {
                    let out = child.run(cx, members, n)?;
                    for row in 0..out.len() {
                        let slot: &mut Option<Value> = &mut values[out.scope(row)];
                        if slot.is_none() {
                            *slot = Some(out.value(row));
                        }
                    }
                }
                Ok(values)
            }
        }
    }
}

impl Op for GroupOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if let Some(name) = self.side_effect.clone() {
            if std::mem::replace(&mut self.done, true) {
                return Ok(None);
            }
            let mut held = Held::default();
            let all = gather_all(cx, input, &mut held)?;
            self.take(cx, &all)?;
            self.publish(cx, &name)?;
            return Ok(Some(all).filter(|b| !b.is_empty()));
        }
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        while let Some(batch) = input.pull(cx)? {
            self.take(cx, &batch)?;
        }
        let values = self.values(cx)?;
        let maps = self.groups.maps(values, self.scopes);
        Ok(per_scope(maps.into_iter().map(Some).collect(), cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
        if self.side_effect.is_none() {
            self.groups.clear();
            self.members.clear();
            self.held.clear();
        }
    }
}

/// `groupCount().by(key)`.
pub struct GroupCountOp {
    side_effect: Option<Name>,
    key: ByOp,
    groups: Groups,
    counts: Vec<u64>,
    held: Held,
    scopes: usize,
    done: bool,
}

impl GroupCountOp {
    pub fn new(side_effect: Option<Name>, key: ByOp) -> Self {
        let (groups, counts, held) = Default::default();
        Self { side_effect, key, groups, counts, held, scopes: 1, done: false }
    }

    fn take(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<()> {
        let before = self.groups.keys.len();
        let is_one_scope = self.side_effect.is_some() || batch.scope.is_none();
        let keys = match self.key.column(cx, batch)? {
            ByColumn::Typed(column) if is_one_scope => {
                self.take_column(&column, batch);
                return self.held.add(cx, self.groups.bytes_from(before));
            }
            keys => keys.into_values(),
        };
        for (row, key) in keys.into_iter().enumerate() {
            let Some(key) = key else { continue };
            let scope = if is_one_scope { 0 } else { batch.scope(row) };
            let number = self.groups.number(scope, key) as usize;
            if number == self.counts.len() {
                self.counts.push(0);
            }
            self.counts[number] = self.counts[number].saturating_add(batch.bulk(row));
        }
        self.held.add(cx, self.groups.bytes_from(before))
    }

    /// Counts a column of keys of one type.
    fn take_column(&mut self, column: &ArrayRef, batch: &Batch) {
        let counts = &mut self.counts;
        self.groups.number_column(column, |row, number| {
            let number = number as usize;
            if number >= counts.len() {
                counts.push(0);
            }
            counts[number] = counts[number].saturating_add(batch.bulk(row));
        });
    }

    /// Adds the counts to the side effect, beside those of other steps with the same name.
    fn publish(&mut self, cx: &mut Context<'_, '_>, name: &Name) -> Result<()> {
        let counts = self.counts.iter().map(|n| Some(Value::Int64((*n).min(i64::MAX as u64) as i64)));
        let map = self.groups.maps(counts.collect(), 1).pop().unwrap_or_default();
        self.groups.clear();
        self.counts.clear();
        cx.shared.side_effects.add_counts(name, map)
    }

    fn maps(&self, scopes: usize) -> Result<Vec<Value>> {
        let counts = self.counts.iter().map(|n| counted(*n).map(Some)).collect::<Result<_>>()?;
        Ok(self.groups.maps(counts, scopes))
    }
}

impl Op for GroupCountOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if let Some(name) = self.side_effect.clone() {
            if std::mem::replace(&mut self.done, true) {
                return Ok(None);
            }
            let mut held = Held::default();
            let all = gather_all(cx, input, &mut held)?;
            self.take(cx, &all)?;
            self.publish(cx, &name)?;
            return Ok(Some(all).filter(|b| !b.is_empty()));
        }
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        while let Some(batch) = input.pull(cx)? {
            self.take(cx, &batch)?;
        }
        Ok(per_scope(self.maps(self.scopes)?.into_iter().map(Some).collect(), cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
        if self.side_effect.is_none() {
            self.groups.clear();
            self.counts.clear();
            self.held.clear();
        }
    }
}
