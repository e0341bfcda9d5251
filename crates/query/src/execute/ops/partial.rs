//! Partial aggregation: makes fewer traversers of a batch, of which the barrier behind makes the same.

use arrow_array::ArrayRef;
use hashbrown::HashMap;
use mangrove_graph::{Value, column};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::keys::Groups;
use crate::execute::data::number;
use crate::execute::data::slots::{Slot, Slots};
use crate::execute::modulators::by::{ByOp, GROUP_KEY};
use crate::execute::modulators::sort_keys::sortable;
use crate::execute::ops::group::{self, numbered};
use crate::execute::ops::reduce::{extreme_rows, integer_type};
use crate::execute::run::chain::{Child, MapBatch, Once, Op};
use crate::execute::run::context::Context;
use crate::plan::Reduction;

/// Runs an operator on each batch alone. Batches of up to `rows` rows pass as they are.
pub struct PartialOp {
    pub op: Box<dyn Op>,
    pub rows: usize,
}

impl MapBatch for PartialOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if batch.len() <= self.rows {
            return Ok(batch);
        }
        self.op.reset(1);
        let (mut start, mut parts) = (Once::whole(batch), Vec::new());
        while let Some(part) = self.op.next(cx, &mut start)? {
            parts.push(part);
        }
        Ok(Batch::joined(parts))
    }
}

/// `count()`: one traverser for each scope. `sum()`, `mean()`, `min()` and `max()`: one or two, if the values are a column of one type
/// whose order does not matter.
pub struct PartialReduce(pub Reduction);

impl MapBatch for PartialReduce {
    fn map(&mut self, _: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if batch.len() < 2 {
            return Ok(batch);
        }
        let scopes = Scopes::of(&batch);
        let reduced = match (self.0, &batch.items) {
            (Reduction::Count, _) => {
                let bulks = scopes.sums(&batch, |row| u128::from(batch.bulk(row)));
                let bulk = bulks.into_iter().map(|sum| u64::try_from(sum).unwrap_or(u64::MAX)).collect();
                Some(Batch { bulk: Some(bulk), ..batch.gather(&scopes.first) })
            }
            (Reduction::Min | Reduction::Max, Items::Column(array)) => {
                let best = extreme_rows(array, self.0, |row| scopes.number(row), scopes.first.len());
                best.map(|rows| Batch { bulk: None, ..batch.gather(&rows) })
            }
            (Reduction::Sum | Reduction::Mean, Items::Column(array)) => integer_sums(&batch, array, &scopes, self.0)?,
            _ => None,
        };
        Ok(reduced.unwrap_or(batch))
    }
}

/// For each scope a traverser on the sum of its integers. For a mean, others on 0 keep the count. `None` if a sum has another type.
fn integer_sums(batch: &Batch, array: &ArrayRef, scopes: &Scopes, reduction: Reduction) -> Result<Option<Batch>> {
    let (Some(t), Some(values)) = (integer_type(array), sortable(array)) else { return Ok(None) };
    let mut sums = vec![0i128; scopes.first.len()];
    for (row, value) in values.into_iter().enumerate() {
        let sum = &mut sums[scopes.number(row)];
        *sum = sum.checked_add(number::product(value, batch.bulk(row))?).ok_or_else(number::overflow)?;
    }
    let sums = sums.into_iter().map(|sum| number::narrowest(sum, t).filter(|sum| sum.value_type() == t));
    let Some(sums) = sums.collect::<Option<Vec<Value>>>() else { return Ok(None) };
    let counts = scopes.sums(batch, |row| u128::from(batch.bulk(row)));
    if counts.contains(&0) {
        return Ok(None);
    }
    let one = Batch { bulk: None, ..batch.gather(&scopes.first) };
    let mut reduced = one.clone().standing_on(Items::from_values(sums));
    if reduction == Reduction::Mean {
        let others = counts.into_iter().map(|count| u64::try_from(count - 1).unwrap_or(u64::MAX));
        let zero = number::narrowest(0, t).unwrap_or_default();
        let zeros = one.clone().standing_on(Items::from_values(vec![zero; one.len()]));
        let zeros = Batch { bulk: Some(others.collect()), ..zeros };
        reduced.append(zeros);
    }
    Ok(Some(reduced))
}

/// A table of scopes has at least this many entries, if there are as many.
const DENSE_MIN: usize = 1 << 16;

/// The scopes of a batch, numbered in the order they come.
struct Scopes {
    /// The number of each row's scope; empty if there is only one.
    numbers: Vec<u32>,
    /// The first row of each.
    first: Vec<u32>,
}

impl Scopes {
    fn of(batch: &Batch) -> Self {
        let Some(scopes) = &batch.scope else { return Self { numbers: Vec::new(), first: vec![0] } };
        const UNSEEN: u32 = u32::MAX;
        let end = scopes.iter().max().map_or(0, |max| *max as usize + 1);
        // Scopes are numbers of rows, so they are dense. A message from elsewhere may hold any.
        let mut dense = vec![UNSEEN; end.min(4 * scopes.len() + DENSE_MIN)];
        let mut others: HashMap<u32, u32> = HashMap::new();
        let mut first = Vec::new();
        let number = |(row, scope): (usize, &u32)| {
            let number = match dense.get_mut(*scope as usize) {
                Some(number) => number,
                None => others.entry(*scope).or_insert(UNSEEN),
            };
            if *number == UNSEEN {
                *number = first.len() as u32;
                first.push(row as u32);
            }
            *number
        };
        let numbers = scopes.iter().enumerate().map(number).collect();
        Self { numbers, first }
    }

    fn number(&self, row: usize) -> usize {
        self.numbers.get(row).map_or(0, |number| *number as usize)
    }

    fn sums(&self, batch: &Batch, of: impl Fn(usize) -> u128) -> Vec<u128> {
        let mut sums = vec![0; self.first.len()];
        (0..batch.len()).for_each(|row| sums[self.number(row)] += of(row));
        sums
    }
}

/// `groupCount()`: a traverser on each distinct key.
pub struct PartialCounts(pub ByOp);

impl MapBatch for PartialCounts {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let (mut groups, mut counts) = (Groups::default(), Vec::new());
        group::count(cx, &mut groups, &mut counts, &mut self.0, &batch, true)?;
        Ok(Batch { bulk: Some(counts), ..beginning(cx, keys(groups)) })
    }
}

/// `group().by(key).by(reducing)`: the traversers of each group before the reduction, themselves reduced as far as they can be. The
/// key of each is beside it.
pub struct PartialGroup {
    pub key: ByOp,
    pub value: Child,
}

impl MapBatch for PartialGroup {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut groups = Groups::default();
        let (rows, numbers) = numbered(cx, &mut groups, &mut self.key, &batch, true)?;
        let n = groups.keys.len();
        if n == 0 {
            return Ok(Batch::default());
        }
        let mut members = batch.gather(&rows);
        members.scope = Some(numbers);
        let reduced = self.value.run(cx, members, n)?;
        Ok(grouped(cx, groups, reduced))
    }
}

/// What a partial `group()` gave for several batches as if they were one.
pub struct PartialGroups(pub Reduction);

impl MapBatch for PartialGroups {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut groups = Groups::default();
        let (rows, numbers) = numbered(cx, &mut groups, &mut ByOp::Beside, &batch, true)?;
        if groups.keys.is_empty() {
            return Ok(Batch::default());
        }
        let members = Batch { scope: Some(numbers), slots: Slots::default(), ..batch.gather(&rows) };
        let stand_for_some: Vec<bool> = (0..members.len()).map(|row| members.bulk(row) > 0).collect();
        let mut members = members.filter(&stand_for_some);
        members.items = as_column(std::mem::take(&mut members.items));
        let reduced = PartialReduce(self.0).map(cx, members)?;
        Ok(grouped(cx, groups, reduced))
    }
}

/// Values of one type as a column.
fn as_column(items: Items) -> Items {
    match items {
        Items::Values(values) => {
            let array = column::array_of(&values.iter().map(Some).collect::<Vec<_>>());
            array.map_or(Items::Values(values), Items::Column)
        }
        items => items,
    }
}

/// Traversers whose scopes are groups, with the key of each beside it.
fn grouped(cx: &Context<'_, '_>, groups: Groups, reduced: Batch) -> Batch {
    let n = groups.keys.len();
    let Batch { mut items, mut bulk, scope, .. } = reduced;
    let mut scope = scope.unwrap_or_else(|| vec![0; items.len()]);
    if !is_first_seen_in_order(&scope, n) {
        // Traversers that stand for none keep the groups in their order, also those that have no other.
        let mut all = Items::Values(vec![Value::Null; n]);
        let bulks = bulk.unwrap_or_else(|| vec![1; items.len()]);
        all.append(items);
        items = all;
        bulk = Some(std::iter::repeat_n(0, n).chain(bulks).collect());
        scope.splice(0..0, 0..n as u32);
    }
    let keys = keys(groups).gather(&scope);
    let slots = [(GROUP_KEY.into(), Slot::All(keys))].into_iter().collect::<Slots>();
    Batch { bulk, slots, ..beginning(cx, items) }
}

fn keys(groups: Groups) -> Items {
    Items::from_values(groups.keys.into_iter().map(|(_, key)| key).collect())
}

/// Whether the numbers up to `n` all occur, and first in ascending order.
fn is_first_seen_in_order(numbers: &[u32], n: usize) -> bool {
    let mut next = 0;
    numbers.iter().all(|number| {
        next += u32::from(*number == next);
        *number < next
    }) && next as usize == n
}

fn beginning(cx: &Context<'_, '_>, items: Items) -> Batch {
    Batch { paths: cx.mode().has_paths().then(|| vec![None; items.len()]), ..Batch::new(items) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_numbered_in_the_order_they_come_however_large() {
        let scope = Some(vec![u32::MAX, 3, u32::MAX, 70_000, 3]);
        let batch = Batch { scope, ..Batch::new(Items::Values(vec![Value::Null; 5])) };
        let scopes = Scopes::of(&batch);
        let numbers: Vec<usize> = (0..5).map(|row| scopes.number(row)).collect();
        assert_eq!((numbers, scopes.first), (vec![0, 1, 0, 2, 1], vec![0, 1, 3]));
    }
}
