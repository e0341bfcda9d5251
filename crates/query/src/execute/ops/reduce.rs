//! Many to one: `count`, `sum`, `min`, `max`, `mean`, `fold`. Globally they reduce each scope, locally a collection.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use mangrove_graph::{Value, ValueType, column};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::bytes::value_bytes;
use crate::execute::data::items::Items;
use crate::execute::data::number::{self, Arithmetic};
use crate::execute::modulators::sort_keys::sortable;
use crate::execute::run::chain::{Input, MapBatch, Op, reduced};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::plan::{Operator, Reduction};

/// The state of one reduction.
#[derive(Clone, Default)]
struct Accumulator {
    count: u64,
    /// The sum of the integers of up to 64 bits, and the widest of their types. It is exact, so their order does not matter.
    integers: Option<(i128, ValueType)>,
    /// The sum of the other numbers in the order they came, or the extreme so far.
    value: Option<Value>,
}

impl Accumulator {
    /// Adds a value `bulk` times. A traverser that stands for none only keeps the place of its group.
    fn add(&mut self, reduction: Reduction, value: Value, bulk: u64) -> Result<()> {
        if reduction == Reduction::Count {
            self.count = self.count.saturating_add(bulk);
            return Ok(());
        }
        if bulk == 0 {
            return Ok(());
        }
        if value.is_null() {
            self.value.get_or_insert_default();
            return Ok(());
        }
        self.count = self.count.saturating_add(bulk);
        let sums = matches!(reduction, Reduction::Sum | Reduction::Mean);
        if let (true, Some(integer)) = (sums, number::small_integer(&value)) {
            return self.add_integers(number::product(integer, bulk)?, value.value_type());
        }
        let before = self.value.take().unwrap_or_default();
        self.value = Some(match reduction {
            Reduction::Min => number::extreme(Ordering::Less, before, value)?,
            Reduction::Max => number::extreme(Ordering::Greater, before, value)?,
            _ => number::arithmetic(Arithmetic::Add, &before, &number::times(&value, bulk)?)?,
        });
        Ok(())
    }

    fn add_integers(&mut self, sum: i128, t: ValueType) -> Result<()> {
        let (before, widest) = self.integers.unwrap_or((0, t));
        self.integers = Some((before.checked_add(sum).ok_or_else(number::overflow)?, widest.max(t)));
        Ok(())
    }

    /// Adds a column of values, none of them null; `bulk` is that of each row. Gives what adding one value after the other would.
    /// Returns false, and adds nothing, if only that can give it.
    fn add_column(&mut self, reduction: Reduction, array: &ArrayRef, bulk: Option<&[u64]>) -> Result<bool> {
        let rows = bulk.map_or(array.len() as u64, |bulk| bulk.iter().fold(0, |sum, n| u64::saturating_add(sum, *n)));
        match reduction {
            Reduction::Sum | Reduction::Mean => {
                if let Some(t) = integer_type(array) {
                    self.add_integers(integer_sum(array, bulk)?, t)?;
                } else if !self.add_doubles(array, bulk) {
                    return Ok(false);
                }
                self.count = self.count.saturating_add(rows);
            }
            Reduction::Min | Reduction::Max => {
                let Some(best) = extreme_rows(array, reduction, |_| 0, 1) else { return Ok(false) };
                best.iter().try_for_each(|row| self.add(reduction, column::value_at(array, *row as usize), 1))?;
            }
            Reduction::Count => self.count = self.count.saturating_add(rows),
        }
        Ok(true)
    }

    /// Adds a column of doubles, one after the other; false for columns of other types, and after other numbers.
    fn add_doubles(&mut self, array: &ArrayRef, bulk: Option<&[u64]>) -> bool {
        let before = match &self.value {
            None | Some(Value::Null) => None,
            Some(Value::Float64(sum)) => Some(*sum),
            Some(_) => return false,
        };
        let Some(values) = array.as_primitive_opt::<Float64Type>() else { return false };
        let times = |row: usize| bulk.map_or(1, |bulk| bulk[row]);
        let product = |(row, value): (usize, &f64)| if times(row) == 1 { *value } else { *value * times(row) as f64 };
        let sum = values
            .values()
            .iter()
            .enumerate()
            .map(product)
            .fold(before, |sum, value| Some(sum.map_or(value, |sum| sum + value)));
        self.value = sum.map(Value::Float64).or(self.value.take());
        true
    }

    /// The result; `None` if there was nothing to reduce. A count is 0 then.
    fn finish(self, reduction: Reduction) -> Result<Option<Value>> {
        if reduction == Reduction::Count {
            return counted(self.count).map(Some);
        }
        let value = match self.integers {
            None => self.value,
            Some((sum, widest)) => Some(number::with_integers(self.value.unwrap_or_default(), sum, widest)?),
        };
        match (reduction, value) {
            (Reduction::Mean, Some(sum)) if self.count > 0 => number::mean(&sum, self.count).map(Some),
            (_, value) => Ok(value),
        }
    }
}

/// The type of a column of integers.
pub fn integer_type(array: &ArrayRef) -> Option<ValueType> {
    match array.data_type() {
        DataType::Int8 => Some(ValueType::Int8),
        DataType::Int16 => Some(ValueType::Int16),
        DataType::Int32 => Some(ValueType::Int32),
        DataType::Int64 => Some(ValueType::Int64),
        _ => None,
    }
}

/// The sum of a column of integers, each times its bulk.
fn integer_sum(array: &ArrayRef, bulk: Option<&[u64]>) -> Result<i128> {
    let values = sortable(array).unwrap_or_default();
    match bulk {
        None => Ok(values.iter().map(|value| i128::from(*value)).sum()),
        Some(bulk) => values.iter().zip(bulk).try_fold(0i128, |sum, (value, bulk)| {
            sum.checked_add(number::product(*value, *bulk)?).ok_or_else(number::overflow)
        }),
    }
}

/// The first row with the least or greatest value of a column in each of `n` groups, all of which occur. `None` if its type has no
/// order here, as floats, which have NaN.
pub fn extreme_rows(array: &ArrayRef, reduction: Reduction, group: impl Fn(usize) -> usize, n: usize) -> Option<Vec<u32>> {
    let wanted = if reduction == Reduction::Min { Ordering::Less } else { Ordering::Greater };
    if let DataType::Utf8 = array.data_type() {
        let texts = array.as_string::<i32>();
        return Some(best_rows(array.len(), group, n, |a, b| texts.value(a).cmp(texts.value(b)) == wanted));
    }
    if matches!(array.data_type(), DataType::Float32 | DataType::Float64) {
        return None;
    }
    let keys = sortable(array)?;
    Some(best_rows(keys.len(), group, n, |a, b| keys[a].cmp(&keys[b]) == wanted))
}

/// In each group the first row that no other is better than.
fn best_rows(rows: usize, group: impl Fn(usize) -> usize, n: usize, is_better: impl Fn(usize, usize) -> bool) -> Vec<u32> {
    let mut best: Vec<Option<usize>> = vec![None; n];
    for row in 0..rows {
        let best = &mut best[group(row)];
        if best.is_none_or(|best| is_better(row, best)) {
            *best = Some(row);
        }
    }
    best.into_iter().flatten().map(|row| row as u32).collect()
}

/// A count as a value. Fails if it exceeds a 64-bit integer.
pub fn counted(count: u64) -> Result<Value> {
    i64::try_from(count).map(Value::Int64).map_err(|_| {
        QueryError::value("there are more traversers than a 64-bit count can hold: use dedup() or limit() earlier")
    })
}

/// `count()`, `sum()`, … over the traversers of each scope.
pub struct ReduceOp {
    reduction: Reduction,
    scopes: usize,
    done: bool,
}

impl ReduceOp {
    pub fn new(reduction: Reduction) -> Self {
        Self { reduction, scopes: 1, done: false }
    }

    fn take(&self, batch: Batch, states: &mut [Accumulator]) -> Result<()> {
        if self.reduction == Reduction::Count {
            match &batch.scope {
                None => states[0].count = states[0].count.saturating_add(batch.total()),
                Some(scope) => {
                    for (row, scope) in scope.iter().enumerate() {
                        let count = &mut states[*scope as usize].count;
                        *count = count.saturating_add(batch.bulk(row));
                    }
                }
            }
            return Ok(());
        }
        if let (Items::Column(array), None) = (&batch.items, &batch.scope)
            && !array.is_empty()
            && states[0].add_column(self.reduction, array, batch.bulk.as_deref())?
        {
            return Ok(());
        }
        for row in 0..batch.len() {
            states[batch.scope(row)].add(self.reduction, batch.value(row), batch.bulk(row))?;
        }
        Ok(())
    }
}

impl Op for ReduceOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let mut states = vec![Accumulator::default(); self.scopes];
        while let Some(batch) = input.pull(cx)? {
            self.take(batch, &mut states)?;
        }
        let values: Vec<Option<Value>> = states.into_iter().map(|s| s.finish(self.reduction)).collect::<Result<_>>()?;
        Ok(per_scope(values, cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
    }
}

/// A batch of the values that are present, each in its scope.
pub fn per_scope(values: Vec<Option<Value>>, cx: &Context<'_, '_>) -> Option<Batch> {
    let keep: Vec<bool> = values.iter().map(Option::is_some).collect();
    let values = values.into_iter().map(Option::unwrap_or_default).collect();
    let sack = cx.shared.sack.as_ref().map(|sack| sack.initial.clone());
    Some(reduced(values, cx.mode(), sack).filter(&keep)).filter(|b| !b.is_empty())
}

/// `count(local)`, `sum(local)`, …
pub struct ReduceLocal(pub Reduction);

impl MapBatch for ReduceLocal {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut moves = Moves::default();
        for row in 0..batch.len() {
            if let Some(value) = self.reduce(batch.value(row))? {
                moves.push(row, value);
            }
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

impl ReduceLocal {
    fn reduce(&self, value: Value) -> Result<Option<Value>> {
        if self.0 == Reduction::Count {
            return counted(size(&value)).map(Some);
        }
        let items = value.items().unwrap_or_else(|| vec![value]);
        let mut state = Accumulator::default();
        for item in items {
            state.add(self.0, item, 1)?;
        }
        state.finish(self.0)
    }
}

/// The number of items in a value; 1 if it is no collection.
fn size(value: &Value) -> u64 {
    match value {
        Value::Map(map) => map.len() as u64,
        Value::Tree(tree) => tree.0.len() as u64,
        Value::BulkSet(items) => items.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n)),
        value => value.items().map_or(1, |items| items.len() as u64),
    }
}

/// `fold()`: the list of the items of each scope. With a seed and an operator, their combination.
pub struct FoldOp {
    seed: Option<(Value, Operator)>,
    scopes: usize,
    done: bool,
    held: Held,
}

impl FoldOp {
    pub fn new(seed: Option<(Value, Operator)>) -> Self {
        Self { seed, scopes: 1, done: false, held: Held::default() }
    }

    fn lists(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Vec<Value>> {
        let mut lists: Vec<Vec<Value>> = vec![Vec::new(); self.scopes];
        while let Some(batch) = input.pull(cx)? {
            self.held.add_items(cx, batch.total())?;
            let mut bytes = 0;
            for row in 0..batch.len() {
                let value = batch.value(row);
                bytes += value_bytes(&value);
                lists[batch.scope(row)].extend(std::iter::repeat_n(value, batch.bulk(row) as usize));
            }
            self.held.add(cx, bytes)?;
        }
        Ok(lists.into_iter().map(Value::list).collect())
    }

    fn combined(&self, cx: &mut Context<'_, '_>, input: &mut dyn Input, seed: &Value, op: Operator) -> Result<Vec<Value>> {
        let mut states = vec![seed.clone(); self.scopes];
        while let Some(batch) = input.pull(cx)? {
            for row in 0..batch.len() {
                let state = &mut states[batch.scope(row)];
                *state = number::apply_times(op, std::mem::take(state), batch.value(row), batch.bulk(row))?;
            }
        }
        Ok(states)
    }
}

impl Op for FoldOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let values = match self.seed.clone() {
            None => self.lists(cx, input)?,
            Some((seed, op)) => self.combined(cx, input, &seed, op)?,
        };
        Ok(per_scope(values.into_iter().map(Some).collect(), cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
        self.held.clear();
    }
}

/// `unfold()`: the items of a collection, the entries of a map, or the value itself.
pub struct UnfoldOp;

impl MapBatch for UnfoldOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let Items::Values(values) = &batch.items else {
            // Vertices, edges and plain values of one type are no collections.
            let items = batch.items.clone();
            return Ok(batch.moved_in_place(items, cx.mode()));
        };
        let mut moves = Moves::default();
        let mut bulks = Vec::new();
        for (row, value) in values.iter().enumerate() {
            let bulk = batch.bulk(row);
            match value {
                Value::BulkSet(items) => {
                    for (item, n) in items.iter() {
                        moves.push(row, item.clone());
                        bulks.push(bulk.saturating_mul(*n));
                    }
                }
                Value::Map(map) => map.iter().for_each(|entry| moves.push(row, Value::Entry(entry.clone().into()))),
                Value::Tree(tree) => {
                    let entry = |(k, below): &(Value, mangrove_graph::Tree)| {
                        Value::Entry((k.clone(), Value::Tree(below.clone().into())).into())
                    };
                    tree.0.iter().for_each(|e| moves.push(row, entry(e)));
                }
                value => match value.items() {
                    Some(items) => items.into_iter().for_each(|item| moves.push(row, item)),
                    None => moves.push(row, value.clone()),
                },
            }
            bulks.resize(moves.rows.len(), bulk);
        }
        let mut out = moves.finish(&batch, cx.mode());
        if bulks.iter().any(|n| *n != 1) {
            out.bulk = Some(bulks);
        }
        Ok(out)
    }
}
