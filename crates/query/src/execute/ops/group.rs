//! `group`, `groupCount`: barriers, whether their result is the output or a side effect.

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

/// What becomes a map of keys and values.
pub trait Grouping: Send {
    /// Takes the traversers of a batch. In one scope, their scopes do not matter.
    fn take(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, one_scope: bool) -> Result<()>;

    /// Adds what was taken to the side effect.
    fn publish(&mut self, cx: &mut Context<'_, '_>, name: &Name) -> Result<()>;

    /// One map for each scope.
    fn maps(&mut self, cx: &mut Context<'_, '_>, scopes: usize) -> Result<Vec<Value>>;

    fn clear(&mut self);
}

/// Groups all input. With a side effect it stores the map there, then passes its traversers on.
pub struct GroupingOp<G> {
    side_effect: Option<Name>,
    grouping: G,
    scopes: usize,
    done: bool,
}

impl<G: Grouping> GroupingOp<G> {
    pub fn new(side_effect: Option<Name>, grouping: G) -> Self {
        Self { side_effect, grouping, scopes: 1, done: false }
    }

    fn aside(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input, name: &Name) -> Result<Option<Batch>> {
        let mut held = Held::default();
        let all = gather_all(cx, input, &mut held)?;
        // A side effect is one map across all scopes.
        self.grouping.take(cx, &all, true)?;
        self.grouping.publish(cx, name)?;
        Ok(Some(all).filter(|b| !b.is_empty()))
    }
}

impl<G: Grouping> Op for GroupingOp<G> {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        if let Some(name) = self.side_effect.clone() {
            return self.aside(cx, input, &name);
        }
        while let Some(batch) = input.pull(cx)? {
            let one_scope = batch.scope.is_none();
            self.grouping.take(cx, &batch, one_scope)?;
        }
        let maps = self.grouping.maps(cx, self.scopes)?;
        Ok(per_scope(maps.into_iter().map(Some).collect(), cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
        if self.side_effect.is_none() {
            self.grouping.clear();
        }
    }
}

/// Calls `found` with every row that has a key, and the number of its group.
fn number_keys(groups: &mut Groups, keys: ByColumn, batch: &Batch, one_scope: bool, mut found: impl FnMut(usize, u32)) {
    match keys {
        ByColumn::Typed(keys) if one_scope => groups.number_column(&keys, found),
        keys => {
            for (row, key) in keys.into_values().into_iter().enumerate() {
                if let Some(key) = key {
                    found(row, groups.number(if one_scope { 0 } else { batch.scope(row) }, key));
                }
            }
        }
    }
}

/// The rows that have a key, and the numbers of their groups.
pub fn numbered(
    cx: &mut Context<'_, '_>,
    groups: &mut Groups,
    key: &mut ByOp,
    batch: &Batch,
    one_scope: bool,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let (mut rows, mut numbers) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
    number_keys(groups, key.column(cx, batch)?, batch, one_scope, |row, number| {
        rows.push(row as u32);
        numbers.push(number);
    });
    Ok((rows, numbers))
}

/// Adds the traversers of each group to `counts`, which has an entry for each group.
pub fn count(
    cx: &mut Context<'_, '_>,
    groups: &mut Groups,
    counts: &mut Vec<u64>,
    key: &mut ByOp,
    batch: &Batch,
    one_scope: bool,
) -> Result<()> {
    let keys = key.column(cx, batch)?;
    if let ByColumn::Typed(array) = &keys
        && one_scope
        && batch.bulk.is_none()
        && groups.count_column(array, counts)
    {
        return Ok(());
    }
    number_keys(groups, keys, batch, one_scope, |row, number| {
        let number = number as usize;
        if number >= counts.len() {
            counts.push(0);
        }
        counts[number] = counts[number].saturating_add(batch.bulk(row));
    });
    Ok(())
}

/// How to compute the value of a group.
pub enum GroupValueOp {
    List(ByOp),
    /// A traversal over the traversers of the group. Each group is a scope of its own.
    Reduce(Child),
}

/// `group().by(key).by(value)`.
pub struct GroupOp {
    /// Its number among the steps that share its side effect. `combine` merges the values of a key that two of them share.
    part: Option<usize>,
    combine: Operator,
    key: ByOp,
    value: GroupValueOp,
    groups: Groups,
    /// The traversers, with the group as scope.
    members: Vec<Batch>,
    held: Held,
}

impl GroupOp {
    pub fn new(key: ByOp, value: GroupValueOp, combine: Operator) -> Self {
        let (groups, members, held) = Default::default();
        Self { part: None, combine, key, value, groups, members, held }
    }

    /// The value of each group of these traversers.
    fn values(&mut self, cx: &mut Context<'_, '_>, members: Batch) -> Result<Vec<Option<Value>>> {
        let n = self.groups.keys.len();
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

impl Grouping for GroupOp {
    fn take(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, one_scope: bool) -> Result<()> {
        let before = self.groups.keys.len();
        let (rows, numbers) = numbered(cx, &mut self.groups, &mut self.key, batch, one_scope)?;
        self.held.add(cx, self.groups.bytes_from(before))?;
        let mut part = batch.gather(&rows);
        part.scope = Some(numbers);
        self.held.add_batch(cx, &part)?;
        self.members.push(part);
        Ok(())
    }

    fn publish(&mut self, cx: &mut Context<'_, '_>, name: &Name) -> Result<()> {
        let members = Batch::joined(std::mem::take(&mut self.members));
        // The next round of a repeat adds to them.
        self.members.push(members.clone());
        let values = self.values(cx, members)?;
        let map = self.groups.maps(values, 1).pop().unwrap_or_default();
        nesting::check(&map)?;
        cx.shared.side_effects.set_part(name, &mut self.part, map, self.combine)
    }

    fn maps(&mut self, cx: &mut Context<'_, '_>, scopes: usize) -> Result<Vec<Value>> {
        let members = Batch::joined(std::mem::take(&mut self.members));
        let values = self.values(cx, members)?;
        Ok(self.groups.maps(values, scopes))
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.members.clear();
        self.held.clear();
    }
}

/// `groupCount().by(key)`.
pub struct GroupCountOp {
    key: ByOp,
    groups: Groups,
    counts: Vec<u64>,
    held: Held,
}

impl GroupCountOp {
    pub fn new(key: ByOp) -> Self {
        let (groups, counts, held) = Default::default();
        Self { key, groups, counts, held }
    }
}

impl Grouping for GroupCountOp {
    fn take(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, one_scope: bool) -> Result<()> {
        let before = self.groups.keys.len();
        count(cx, &mut self.groups, &mut self.counts, &mut self.key, batch, one_scope)?;
        self.held.add(cx, self.groups.bytes_from(before))
    }

    /// Adds the counts to those of other steps with the same name.
    fn publish(&mut self, cx: &mut Context<'_, '_>, name: &Name) -> Result<()> {
        let counts = self.counts.iter().map(|n| Some(Value::Int64((*n).min(i64::MAX as u64) as i64)));
        let map = self.groups.maps(counts.collect(), 1).pop().unwrap_or_default();
        self.groups.clear();
        self.counts.clear();
        cx.shared.side_effects.add_counts(name, map)
    }

    fn maps(&mut self, _: &mut Context<'_, '_>, scopes: usize) -> Result<Vec<Value>> {
        let counts = self.counts.iter().map(|n| counted(*n).map(Some)).collect::<Result<_>>()?;
        Ok(self.groups.maps(counts, scopes))
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.counts.clear();
        self.held.clear();
    }
}
