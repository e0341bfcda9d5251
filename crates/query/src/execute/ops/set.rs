//! Choose some of many traversers: `dedup`, `range`, `tail`, `sample`.

use arrow_array::ArrayRef;
use hashbrown::HashSet;
use mangrove_graph::{Map, Value, VertexId, column};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::bytes::value_bytes;
use crate::execute::data::items::Items;
use crate::execute::data::keys::first_rows;
use crate::execute::modulators::by::{ByColumn, ByOp};
use crate::execute::ops::barrier::gather_all;
use crate::execute::run::chain::{Input, MapBatch, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::execute::run::scope::scope_value;
use crate::plan::{Name, Pop};

/// A set of vertices: bitmaps over the dense local ids, in pages allocated on first touch.
#[derive(Default)]
pub struct VertexSet {
    labels: Vec<(u64, Vec<Option<Box<Page>>>)>,
    last: usize,
    /// Vertices far beyond the dense ranges. So one large id does not need a large table.
    sparse: HashSet<VertexId>,
    pages_made: usize,
}

type Page = [u64; PAGE_WORDS];
const PAGE_WORDS: usize = 512;
const PAGE_BITS: u64 = PAGE_WORDS as u64 * 64;
const PAGES_MAX: u64 = 1 << 20;

impl VertexSet {
    /// Inserts a vertex; true if it is new.
    #[inline]
    pub fn insert(&mut self, vertex: VertexId) -> bool {
        let local = vertex.local();
        let page = local / PAGE_BITS;
        if page >= PAGES_MAX {
            return self.sparse.insert(vertex);
        }
        let at = self.place(vertex.0 - local);
        let words = match self.labels[at].1.get_mut(page as usize) {
            Some(Some(words)) => words,
            _ => page_made(&mut self.labels[at].1, page as usize, &mut self.pages_made),
        };
        let bit = local % PAGE_BITS;
        let word = &mut words[(bit / 64) as usize];
        let mask = 1 << (bit % 64);
        let new = *word & mask == 0;
        *word |= mask;
        new
    }

    /// Inserts vertices and appends the rows of the new ones.
    pub fn insert_all(&mut self, vertices: &[VertexId], fresh: &mut Vec<u32>) {
        let mut kept = fresh.len();
        fresh.resize(kept + vertices.len(), 0);
        for (row, vertex) in (0u32..).zip(vertices) {
            // Branch-free, because the outcome is hard to predict: write the row first, count it afterwards.
            fresh[kept] = row;
            kept += usize::from(self.insert(*vertex));
        }
        fresh.truncate(kept);
    }

    pub fn contains(&self, vertex: VertexId) -> bool {
        let local = vertex.local();
        let page = local / PAGE_BITS;
        if page >= PAGES_MAX {
            return self.sparse.contains(&vertex);
        }
        let of_label = self.labels.iter().find(|(prefix, _)| *prefix == vertex.0 - local);
        let words = of_label.and_then(|(_, pages)| pages.get(page as usize)?.as_ref());
        let bit = local % PAGE_BITS;
        words.is_some_and(|words| words[(bit / 64) as usize] & 1 << (bit % 64) != 0)
    }

    /// The approximate bytes.
    pub fn bytes(&self) -> usize {
        self.pages_made * size_of::<Page>() + self.sparse.capacity() * size_of::<VertexId>()
    }

    /// The index of the pages of a label.
    #[inline]
    fn place(&mut self, prefix: u64) -> usize {
        if self.labels.get(self.last).is_none_or(|(p, _)| *p != prefix) {
            self.last = self.search(prefix);
        }
        self.last
    }

    #[cold]
    fn search(&mut self, prefix: u64) -> usize {
        self.labels.iter().position(|(p, _)| *p == prefix).unwrap_or_else(|| {
            self.labels.push((prefix, Vec::new()));
            self.labels.len() - 1
        })
    }
}

#[cold]
fn page_made<'a>(pages: &'a mut Vec<Option<Box<Page>>>, page: usize, made: &mut usize) -> &'a mut Page {
    if page >= pages.len() {
        pages.resize_with(page + 1, || None);
    }
    *made += 1;
    pages[page].get_or_insert_with(|| Box::new([0; PAGE_WORDS]))
}

/// `dedup()` over the traversers of a scope, or over all rounds of a repeat.
pub struct DedupOp {
    labels: Vec<Name>,
    by: Vec<ByOp>,
    scopes: usize,
    /// What was seen, if there is only one scope.
    vertices: VertexSet,
    /// What was seen with many scopes, each of which sees few.
    scoped: HashSet<(u32, VertexId)>,
    values: HashSet<(u32, Value)>,
    values_bytes: usize,
    held: Held,
}

impl DedupOp {
    pub fn new(labels: Vec<Name>, by: Vec<ByOp>) -> Self {
        let (vertices, scoped, values, held) = Default::default();
        Self { labels, by, scopes: 1, vertices, scoped, values, values_bytes: 0, held }
    }

    fn plain_vertices(&mut self, batch: Batch) -> Batch {
        let Some(ids) = batch.vertices() else { return batch };
        let mut rows = Vec::with_capacity(ids.len());
        if self.scopes == 1 {
            self.vertices.insert_all(ids, &mut rows);
        } else {
            let is_new = |row: &u32| self.scoped.insert((batch.scope(*row as usize) as u32, ids[*row as usize]));
            rows.extend((0..ids.len() as u32).filter(is_new));
        }
        if rows.len() == ids.len() { batch } else { batch.gather(&rows) }
    }

    fn insert_vertex(&mut self, scope: usize, vertex: VertexId) -> bool {
        if self.scopes == 1 { self.vertices.insert(vertex) } else { self.scoped.insert((scope as u32, vertex)) }
    }

    /// Accounts for everything seen so far.
    fn account(&mut self, cx: &Context<'_, '_>) -> Result<()> {
        self.held.clear();
        let scoped = self.scoped.capacity() * size_of::<(u32, VertexId)>();
        self.held.add(cx, self.vertices.bytes() + scoped + self.values_bytes)
    }

    /// The value that identifies each row; `None` drops the row.
    fn keys(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<ByColumn> {
        if self.labels.is_empty() {
            return self.by.first_mut().unwrap_or(&mut ByOp::Identity).column(cx, batch);
        }
        let mut keys = vec![Some(Vec::with_capacity(self.labels.len())); batch.len()];
        for label in &self.labels {
            let mut values = vec![None; batch.len()];
            for (row, value) in values.iter_mut().enumerate() {
                *value = scope_value(cx, batch, row, label, Pop::Last)?;
            }
            if let Some(by) = self.by.first_mut() {
                values = crate::execute::modulators::by::eval_present(by, cx, values)?;
            }
            for (key, value) in keys.iter_mut().zip(values) {
                match (key.as_mut(), value) {
                    (Some(key), Some(value)) => key.push(value),
                    _ => *key = None,
                }
            }
        }
        Ok(ByColumn::Values(keys.into_iter().map(|key| key.map(Value::list)).collect()))
    }

    /// The rows of one scope with a new key; `None` for keys of a type that is not told apart by column.
    fn fresh_in_column(&mut self, column: &ArrayRef) -> Option<Vec<u32>> {
        let mut rows = first_rows(column)?;
        rows.retain(|row| {
            let key = column::value_at(column, *row as usize);
            let bytes = value_bytes(&key) + 16;
            let is_new = self.values.insert((0, key));
            self.values_bytes += if is_new { bytes } else { 0 };
            is_new
        });
        Some(rows)
    }

    fn deduplicate(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if self.labels.is_empty() && self.by.is_empty() && batch.vertices().is_some() {
            return Ok(self.plain_vertices(batch));
        }
        let keys = self.keys(cx, &batch)?;
        if let (ByColumn::Typed(column), None) = (&keys, &batch.scope)
            && let Some(rows) = self.fresh_in_column(column)
        {
            return Ok(if rows.len() == batch.len() { batch } else { batch.gather(&rows) });
        }
        let keys = keys.into_values();
        let mut keep = Vec::with_capacity(keys.len());
        for (row, key) in keys.into_iter().enumerate() {
            let new = match key {
                // The same vertex may also come in a batch of vertices.
                Some(Value::Vertex(id)) => self.insert_vertex(batch.scope(row), id),
                Some(key) => {
                    let size = value_bytes(&key) + 16;
                    let new = self.values.insert((batch.scope(row) as u32, key));
                    self.values_bytes += if new { size } else { 0 };
                    new
                }
                None => false,
            };
            keep.push(new);
        }
        Ok(batch.filter(&keep))
    }
}

impl Op for DedupOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        while let Some(batch) = input.pull(cx)? {
            let mut batch = self.deduplicate(cx, batch)?;
            self.account(cx)?;
            batch.bulk = None;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.vertices = VertexSet::default();
        self.scoped.clear();
        self.values.clear();
        self.values_bytes = 0;
        self.held.clear();
    }

    /// A round does not forget what earlier rounds saw.
    fn next_round(&mut self, _: usize) {}
}

/// `range(low, high)`, `limit`, `skip`, for each scope.
pub struct RangeOp {
    low: u64,
    high: Option<u64>,
    seen: Vec<u64>,
    full: usize,
}

impl RangeOp {
    pub fn new(low: u64, high: Option<u64>) -> Self {
        Self { low, high, seen: vec![0], full: 0 }
    }

    fn cut(&mut self, mut batch: Batch) -> Batch {
        let mut keep = Vec::with_capacity(batch.len());
        let mut bulks = batch.bulk.take();
        for row in 0..batch.len() {
            let bulk = bulks.as_ref().map_or(1, |b| b[row]);
            let seen = &mut self.seen[batch.scope(row)];
            let start = *seen;
            let high = self.high.unwrap_or(u64::MAX);
            *seen = start.saturating_add(bulk);
            if start < high && *seen >= high {
                self.full += 1;
            }
            let passed = (*seen).min(high).saturating_sub(start.max(self.low));
            keep.push(passed > 0);
            if let Some(bulks) = &mut bulks {
                bulks[row] = passed;
            }
        }
        batch.bulk = bulks;
        batch.filter(&keep)
    }
}

impl Op for RangeOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if self.high == Some(0) {
            return Ok(None);
        }
        while self.full < self.seen.len()
            && let Some(batch) = input.pull(cx)?
        {
            let batch = self.cut(batch);
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn reset(&mut self, scopes: usize) {
        self.seen.clear();
        self.seen.resize(scopes.max(1), 0);
        self.full = 0;
    }
}

/// `tail(n)`: the last traversers of each scope.
pub struct TailOp {
    count: u64,
    scopes: usize,
    done: bool,
}

impl TailOp {
    pub fn new(count: u64) -> Self {
        Self { count, scopes: 1, done: false }
    }
}

impl Op for TailOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let (mut parts, mut rows, mut held) = (Vec::new(), 0, Held::default());
        let room = usize::try_from(self.count).unwrap_or(usize::MAX);
        while let Some(batch) = input.pull(cx)? {
            held.add_batch(cx, &batch)?;
            rows += batch.len();
            parts.push(batch);
            if self.scopes == 1 && rows / 2 > room.saturating_add(1024) {
                let last = Batch::joined(std::mem::take(&mut parts)).slice(rows - room..rows);
                held.clear();
                held.add(cx, last.bytes())?;
                rows = room;
                parts.push(last);
            }
        }
        let mut all = Batch::joined(parts);
        let mut left = vec![self.count; self.scopes];
        let mut bulks: Vec<u64> = (0..all.len()).map(|row| all.bulk(row)).collect();
        for row in (0..all.len()).rev() {
            let left = &mut left[all.scope(row)];
            bulks[row] = bulks[row].min(*left);
            *left -= bulks[row];
        }
        let keep: Vec<bool> = bulks.iter().map(|b| *b > 0).collect();
        if all.bulk.is_some() {
            all.bulk = Some(bulks);
        }
        Ok(Some(all.filter(&keep)).filter(|b| !b.is_empty()))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
    }
}

/// `sample(n)`: draws n traversers of each scope without replacement. A `by()` gives the weight.
pub struct SampleOp {
    count: usize,
    by: Option<ByOp>,
    scopes: usize,
    done: bool,
}

impl SampleOp {
    pub fn new(count: usize, by: Option<ByOp>) -> Self {
        Self { count, by, scopes: 1, done: false }
    }
}

impl Op for SampleOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let mut held = Held::default();
        let mut all = gather_all(cx, input, &mut held)?;
        if all.is_empty() {
            return Ok(None);
        }
        let weights = match &mut self.by {
            Some(by) => by.eval_parts(cx, &all)?.iter().map(|w| weight(w.as_ref().and_then(Value::as_f64))).collect(),
            None => vec![1.0; all.len()],
        };
        let mut pools: Vec<Vec<usize>> = vec![Vec::new(); self.scopes];
        (0..all.len()).filter(|row| weights[*row] > 0.0).for_each(|row| pools[all.scope(row)].push(row));
        let mut bulks = vec![0; all.len()];
        for pool in pools {
            draw(cx, &pool, &all, &weights, self.count, &mut bulks)?;
        }
        let keep: Vec<bool> = bulks.iter().map(|b| *b > 0).collect();
        all.bulk = Some(bulks);
        Ok(Some(all.filter(&keep)).filter(|b| !b.is_empty()))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
    }
}

/// A usable weight; NaN, infinity and negative numbers weigh nothing.
fn weight(given: Option<f64>) -> f64 {
    given.filter(|w| w.is_finite()).unwrap_or(0.0).max(0.0)
}

/// Draws up to `count` traversers from the rows of a pool without replacement, by weight, and counts them. O(log n) each.
fn draw(
    cx: &mut Context<'_, '_>,
    pool: &[usize],
    all: &Batch,
    weights: &[f64],
    count: usize,
    drawn: &mut [u64],
) -> Result<()> {
    let total = pool.iter().fold(0u64, |sum, row| sum.saturating_add(all.bulk(*row)));
    if total <= count as u64 {
        pool.iter().for_each(|row| drawn[*row] = all.bulk(*row));
        return Ok(());
    }
    let mut sums = Sums::new(pool.iter().map(|row| weights[*row] * all.bulk(*row) as f64));
    for draws in 0..count {
        if draws % 4096 == 0 {
            cx.check()?;
        }
        let at = sums.find(cx.shared.random.fraction());
        // Sums of floats are not exact. At a border the row found may be used up; then another row takes its place.
        let has_more = |at: &usize| drawn[pool[*at]] < all.bulk(pool[*at]);
        let Some(at) = (at..pool.len()).chain(0..at).find(has_more) else { break };
        drawn[pool[at]] += 1;
        sums.add(at, -weights[pool[at]]);
    }
    Ok(())
}

/// Weights in a tree of sums (Fenwick, 1994).
struct Sums {
    tree: Vec<f64>,
    total: f64,
}

impl Sums {
    fn new(weights: impl Iterator<Item = f64>) -> Self {
        let mut tree: Vec<f64> = std::iter::once(0.0).chain(weights).collect();
        let total = tree.iter().sum();
        for at in 1..tree.len() {
            let parent = at + (at & at.wrapping_neg());
            if parent < tree.len() {
                tree[parent] += tree[at];
            }
        }
        Self { tree, total }
    }

    fn add(&mut self, at: usize, weight: f64) {
        self.total += weight;
        let mut at = at + 1;
        while at < self.tree.len() {
            self.tree[at] += weight;
            at += at & at.wrapping_neg();
        }
    }

    /// The position at which the running sum passes `fraction` of the total.
    fn find(&self, fraction: f64) -> usize {
        let mut rest = fraction * self.total;
        let (mut at, mut step) = (0, self.tree.len().next_power_of_two() / 2);
        while step > 0 {
            if at + step < self.tree.len() && self.tree[at + step] <= rest {
                at += step;
                rest -= self.tree[at];
            }
            step /= 2;
        }
        at.min(self.tree.len() - 2)
    }
}

/// The local forms, on the items of a collection.
pub enum LocalSet {
    Dedup,
    Range(u64, Option<u64>),
    Tail(u64),
    Sample(usize),
}

impl MapBatch for LocalSet {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut values = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            values.push(self.apply(cx, batch.value(row)));
        }
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::from_values(values), mode))
    }
}

impl LocalSet {
    fn apply(&self, cx: &mut Context<'_, '_>, value: Value) -> Value {
        if let Value::Map(map) = &value {
            let entries = map.iter().cloned().collect::<Vec<_>>();
            return Value::map(Map::from_distinct(self.pick(cx, entries)));
        }
        let Some(items) = value.items() else { return value };
        if let LocalSet::Dedup = self {
            return Value::set(items);
        }
        let picked = self.pick(cx, items);
        match value {
            Value::Set(_) => Value::Set(picked.into()),
            _ => Value::list(picked),
        }
    }

    fn pick<T>(&self, cx: &mut Context<'_, '_>, mut items: Vec<T>) -> Vec<T> {
        match self {
            LocalSet::Dedup => items,
            LocalSet::Range(low, high) => {
                items.truncate(high.unwrap_or(u64::MAX).min(items.len() as u64) as usize);
                items.drain(..(*low).min(items.len() as u64) as usize);
                items
            }
            LocalSet::Tail(count) => items.split_off(items.len() - (*count).min(items.len() as u64) as usize),
            LocalSet::Sample(count) => {
                while items.len() > *count {
                    items.swap_remove(cx.shared.random.below(items.len()));
                }
                items
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::LabelId;

    use super::*;

    #[test]
    fn a_vertex_set_tells_labels_and_far_ids_apart() {
        let mut set = VertexSet::default();
        let ids = [(0, 0), (1, 0), (0, 1 << 20), (0, 1 << 35), (1, 63), (1, 64)];
        for (label, local) in ids {
            let id = VertexId::new(LabelId(label), 0, local);
            assert!(!set.contains(id), "{id:?}");
            assert!(set.insert(id), "{id:?}");
            assert!(!set.insert(id), "{id:?}");
            assert!(set.contains(id), "{id:?}");
        }
    }
}
