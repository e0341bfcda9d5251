//! Which of many: `dedup`, `range`, `tail`, `sample`.

use hashbrown::HashSet;
use mangrove_graph::{Map, Value, VertexId};

use super::batch::{Batch, Items};
use super::by::ByOp;
use super::chain::{Input, MapBatch, Op};
use super::context::{Context, value_bytes};
use super::select::scope_value;
use crate::error::Result;
use crate::plan::{Name, Pop};

/// A set of vertices: bitmaps over the dense local ids, in pages made as they are touched.
#[derive(Default)]
pub struct VertexSet {
    labels: Vec<(u64, Vec<Option<Box<Page>>>)>,
    last: usize,
    /// Vertices far beyond dense ranges, so that one large id does not cost a large table.
    sparse: HashSet<VertexId>,
}

type Page = [u64; PAGE_WORDS];
const PAGE_WORDS: usize = 512;
const PAGE_BITS: u64 = PAGE_WORDS as u64 * 64;
const PAGES_MAX: u64 = 1 << 20;

impl VertexSet {
    /// True if the vertex was not there yet.
    #[inline]
    pub fn insert(&mut self, vertex: VertexId) -> bool {
        let local = vertex.local();
        let page = local / PAGE_BITS;
        if page >= PAGES_MAX {
            return self.sparse.insert(vertex);
        }
        let pages = self.pages(vertex.0 - local);
        let words = match pages.get_mut(page as usize) {
            Some(Some(words)) => words,
            _ => page_made(pages, page as usize),
        };
        let bit = local % PAGE_BITS;
        let word = &mut words[(bit / 64) as usize];
        let mask = 1 << (bit % 64);
        let new = *word & mask == 0;
        *word |= mask;
        new
    }

    /// Appends the rows of the vertices that were not there yet.
    pub fn insert_all(&mut self, vertices: &[VertexId], fresh: &mut Vec<u32>) {
        let mut kept = fresh.len();
        fresh.resize(kept + vertices.len(), 0);
        for (row, vertex) in (0u32..).zip(vertices) {
            // Whether it is kept is hard to foretell, so it is written first and counted after.
            fresh[kept] = row;
            kept += usize::from(self.insert(*vertex));
        }
        fresh.truncate(kept);
    }

    #[cold]
    fn place(&mut self, prefix: u64) -> usize {
        self.labels.iter().position(|(p, _)| *p == prefix).unwrap_or_else(|| {
            self.labels.push((prefix, Vec::new()));
            self.labels.len() - 1
        })
    }

    #[inline]
    fn pages(&mut self, prefix: u64) -> &mut Vec<Option<Box<Page>>> {
        if self.labels.get(self.last).is_none_or(|(p, _)| *p != prefix) {
            self.last = self.place(prefix);
        }
        &mut self.labels[self.last].1
    }
}

#[cold]
fn page_made(pages: &mut Vec<Option<Box<Page>>>, page: usize) -> &mut Page {
    if page >= pages.len() {
        pages.resize_with(page + 1, || None);
    }
    pages[page].get_or_insert_with(|| Box::new([0; PAGE_WORDS]))
}

/// `dedup()` over the traversers of a scope, or over all rounds of a repeat.
pub struct DedupOp {
    labels: Vec<Name>,
    by: Vec<ByOp>,
    vertices: Vec<VertexSet>,
    values: HashSet<(u32, Value)>,
}

impl DedupOp {
    pub fn new(labels: Vec<Name>, by: Vec<ByOp>) -> Self {
        Self { labels, by, vertices: vec![VertexSet::default()], values: HashSet::new() }
    }

    fn plain_vertices(&mut self, batch: Batch) -> Batch {
        let Some(ids) = batch.vertices() else { return batch };
        let mut rows = Vec::with_capacity(ids.len());
        match &batch.scope {
            None => self.vertices[0].insert_all(ids, &mut rows),
            Some(scopes) => {
                for (row, (id, scope)) in (0u32..).zip(ids.iter().zip(scopes)) {
                    if self.vertices[*scope as usize].insert(*id) {
                        rows.push(row);
                    }
                }
            }
        }
        if rows.len() == ids.len() { batch } else { batch.gather(&rows) }
    }

    /// What each row is told apart by; `None` drops it.
    fn keys(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Option<Value>>> {
        if self.labels.is_empty() {
            return match self.by.first_mut() {
                Some(by) => by.eval(cx, batch),
                None => Ok((0..batch.len()).map(|row| Some(batch.value(row))).collect()),
            };
        }
        let mut keys = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let mut parts = Vec::with_capacity(self.labels.len());
            for label in &self.labels {
                let value = scope_value(cx, batch, row, label, Pop::Last)?;
                parts.extend(match (value, self.by.first_mut()) {
                    (Some(value), Some(by)) => super::by::eval_one(by, cx, value)?,
                    (value, _) => value,
                });
            }
            keys.push((parts.len() == self.labels.len()).then(|| Value::list(parts)));
        }
        Ok(keys)
    }

    fn deduplicate(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        if self.labels.is_empty() && self.by.is_empty() && batch.vertices().is_some() {
            return Ok(self.plain_vertices(batch));
        }
        let keys = self.keys(cx, &batch)?;
        let mut keep = Vec::with_capacity(keys.len());
        let mut bytes = 0;
        for (row, key) in keys.into_iter().enumerate() {
            let new = match key {
                // The same vertex may come in batches of both kinds.
                Some(Value::Vertex(id)) => self.vertices[batch.scope(row)].insert(id),
                Some(key) => {
                    let size = value_bytes(&key) + 16;
                    let new = self.values.insert((batch.scope(row) as u32, key));
                    bytes += if new { size } else { 0 };
                    new
                }
                None => false,
            };
            keep.push(new);
        }
        cx.hold(bytes)?;
        Ok(batch.filter(&keep))
    }
}

impl Op for DedupOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        while let Some(batch) = input.pull(cx)? {
            let mut batch = self.deduplicate(cx, batch)?;
            batch.bulk = None;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn reset(&mut self, scopes: usize) {
        self.vertices.clear();
        self.vertices.resize_with(scopes.max(1), VertexSet::default);
        self.values.clear();
    }

    /// What was seen in one round stays seen in the next.
    fn next_round(&mut self, scopes: usize) {
        if self.vertices.len() < scopes {
            self.vertices.resize_with(scopes, VertexSet::default);
        }
    }
}

/// `range(low, high)`, `limit`, `skip`, by scope.
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
        let mut all = Batch::default();
        while let Some(batch) = input.pull(cx)? {
            all.append(batch);
            if self.scopes == 1 && all.len() as u64 > (self.count + 1024) * 2 {
                let surplus = all.len() - self.count as usize;
                all.split_front(surplus);
            }
        }
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

/// `sample(n)`: n traversers of each scope drawn without replacement, by weight if there is a `by()`.
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
        let mut all = Batch::default();
        while let Some(batch) = input.pull(cx)? {
            all.append(batch);
        }
        if all.is_empty() {
            return Ok(None);
        }
        let weights = match &mut self.by {
            Some(by) => by.eval(cx, &all)?.iter().map(|w| w.as_ref().and_then(Value::as_f64).unwrap_or(0.0)).collect(),
            None => vec![1.0; all.len()],
        };
        let mut bulks = vec![0; all.len()];
        for scope in 0..self.scopes {
            let mut pool: Vec<(usize, u64)> =
                (0..all.len()).filter(|row| all.scope(*row) == scope).map(|row| (row, all.bulk(row))).collect();
            for row in draw(cx, &mut pool, &weights, self.count) {
                bulks[row] += 1;
            }
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

/// Draws up to `count` from a pool of (row, how many there are), by weight of the row.
fn draw(cx: &mut Context<'_, '_>, pool: &mut [(usize, u64)], weights: &[f64], count: usize) -> Vec<usize> {
    let mut drawn = Vec::new();
    let mut total: f64 = pool.iter().map(|(row, n)| weights[*row] * *n as f64).sum();
    while drawn.len() < count && total > 0.0 {
        let mut point = cx.shared.random.fraction() * total;
        let Some(at) = pool.iter().position(|(row, n)| {
            point -= weights[*row] * *n as f64;
            point < 0.0 && *n > 0
        }) else {
            break;
        };
        pool[at].1 -= 1;
        total -= weights[pool[at].0];
        drawn.push(pool[at].0);
    }
    drawn
}

/// The local forms: on the items of a collection.
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
            assert!(set.insert(id), "{id:?}");
            assert!(!set.insert(id), "{id:?}");
        }
    }
}
