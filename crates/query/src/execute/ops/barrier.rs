//! Barriers that change no value: `order`, `barrier`, and the merging of traversers on the same vertex.

use std::cmp::Ordering;

use hashbrown::HashMap;
use mangrove_graph::{Map, Value, VertexId};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::entries::column_of;
use crate::execute::data::items::Items;
use crate::execute::data::number;
use crate::execute::modulators::by::ByOp;
use crate::execute::modulators::sort_keys::{SortKeys, compare_keys, sort_keys};
use crate::execute::run::chain::{Input, MapBatch, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::execute::run::sort;
use crate::plan::{Column, SortOrder};

/// `order().by(…)` within each scope. It drops traversers for which a modulator gives nothing.
pub struct OrderOp {
    by: Vec<(ByOp, SortOrder)>,
    /// Only the first `limit` results are used.
    limit: Option<usize>,
    done: bool,
}

impl OrderOp {
    pub fn new(by: Vec<(ByOp, SortOrder)>, limit: Option<u64>) -> Self {
        Self { by, limit: limit.and_then(|limit| usize::try_from(limit).ok()), done: false }
    }

    /// The traversers that the first modulator alone puts among the first `limit`, with all ties of the last one.
    fn candidates(&mut self, cx: &mut Context<'_, '_>, all: &Batch, limit: usize) -> Result<Option<Batch>> {
        let (by, order) = match self.by.first_mut() {
            Some((by, order)) if *order != SortOrder::Shuffle => (by, *order),
            _ => return Ok(None),
        };
        let keys = SortKeys::of(cx, by, all)?;
        let mut rows = match keys.numbers(order) {
            Some(keys) => sort::least(cx, &keys, limit)?,
            None => {
                let rows: Vec<u32> = (0..all.len() as u32).filter(|row| keys.has(*row)).collect();
                sort::first(cx, &rows, limit, |a, b| keys.compare(a, b, order))?
            }
        };
        if limit == 0 || rows.len() < limit {
            return Ok(None);
        }
        rows.sort_unstable();
        Ok(Some(all.gather(&rows)))
    }

    /// The traversers in order, without those for which a modulator gives nothing.
    fn sorted(&mut self, cx: &mut Context<'_, '_>, all: &Batch) -> Result<Batch> {
        let mut keys: Vec<SortKeys> = Vec::with_capacity(self.by.len());
        for (by, order) in &mut self.by {
            keys.push(match order {
                SortOrder::Shuffle => SortKeys::shuffled(cx, all.len()),
                _ => SortKeys::of(cx, by, all)?,
            });
        }
        let rows = (0..all.len() as u32).filter(|row| keys.iter().all(|keys| keys.has(*row))).collect();
        let rows = sort::sorted(cx, rows, |a, b| {
            let mut by_key = keys.iter().zip(&self.by).map(|(keys, (_, order))| keys.compare(a, b, *order));
            let by_scope = all.scope(a as usize).cmp(&all.scope(b as usize));
            by_scope.then_with(|| by_key.find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
        })?;
        Ok(all.gather(&rows))
    }
}

impl Op for OrderOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let mut held = Held::default();
        let all = gather_all(cx, input, &mut held)?;
        if all.is_empty() {
            return Ok(None);
        }
        held.add_items(cx, (all.len() * self.by.len()) as u64)?;
        if let Some(limit) = self.limit.filter(|limit| all.scope.is_none() && all.len() / 2 > *limit)
            && let Some(best) = self.candidates(cx, &all, limit)?
        {
            let sorted = self.sorted(cx, &best)?;
            // A later modulator may have given nothing for some of the candidates. So there may be fewer than `limit`.
            if sorted.len() >= limit {
                return Ok(Some(sorted));
            }
        }
        Ok(Some(self.sorted(cx, &all)?).filter(|b| !b.is_empty()))
    }

    fn reset(&mut self, _: usize) {
        self.done = false;
    }
}

/// Gathers all input into one batch, and accounts for it in `held`.
pub fn gather_all(cx: &mut Context<'_, '_>, input: &mut dyn Input, held: &mut Held) -> Result<Batch> {
    let mut parts = Vec::new();
    while let Some(batch) = input.pull(cx)? {
        held.add_batch(cx, &batch)?;
        parts.push(batch);
    }
    Ok(Batch::joined(parts))
}

/// Gathers all input. So the steps before it finish reading before the steps after it change anything.
#[derive(Default)]
pub struct GatherOp {
    done: bool,
    held: Held,
}

impl Op for GatherOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let all = gather_all(cx, input, &mut self.held)?;
        Ok(Some(all).filter(|all| !all.is_empty()))
    }

    fn reset(&mut self, _: usize) {
        self.done = false;
        self.held.clear();
    }
}

/// `order(local)`.
pub struct OrderLocal(pub Vec<(ByOp, SortOrder)>);

impl MapBatch for OrderLocal {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut values = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            values.push(self.sorted(cx, batch.value(row))?);
        }
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::from_values(values), mode))
    }
}

impl OrderLocal {
    fn sorted(&mut self, cx: &mut Context<'_, '_>, value: Value) -> Result<Value> {
        if let Value::Map(map) = &value {
            let entries: Vec<Value> = map.iter().map(|entry| Value::Entry(entry.clone().into())).collect();
            let sorted = self.sort(cx, entries)?;
            let entries = sorted.into_iter().filter_map(|entry| match entry {
                Value::Entry(entry) => Some((*entry).clone()),
                _ => None,
            });
            return Ok(Value::map(Map::from_distinct(entries.collect())));
        }
        match value.items() {
            Some(items) => self.sort(cx, items).map(Value::list),
            None => Ok(value),
        }
    }

    fn sort(&mut self, cx: &mut Context<'_, '_>, items: Vec<Value>) -> Result<Vec<Value>> {
        let batch =
            Batch { paths: cx.mode().has_paths().then(|| vec![None; items.len()]), ..Batch::new(Items::Values(items)) };
        let mut keys = Vec::with_capacity(self.0.len());
        for (by, order) in &mut self.0 {
            keys.push(match (by, order) {
                (_, SortOrder::Shuffle) => {
                    (0..batch.len()).map(|_| Some(Value::Int64(cx.shared.random.next() as i64 >> 1))).collect()
                }
                (ByOp::Column(column), _) => sort_keys(cx, entry_column(&batch, *column))?,
                (by, _) => {
                    let keys = by.eval(cx, &batch)?;
                    sort_keys(cx, keys)?
                }
            });
        }
        let mut rows: Vec<usize> = (0..batch.len()).filter(|row| keys.iter().all(|k: &Vec<_>| k[*row].is_some())).collect();
        rows.sort_by(|a, b| {
            let by_key = keys.iter().zip(&self.0).map(|(keys, (_, order))| compare_keys(&keys[*a], &keys[*b], *order));
            by_key.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        });
        Ok(rows.into_iter().map(|row| batch.value(row)).collect())
    }
}

fn entry_column(batch: &Batch, column: Column) -> Vec<Option<Value>> {
    let of = |row| match (batch.value(row), column) {
        (Value::Entry(entry), Column::Keys) => Some(entry.0.clone()),
        (Value::Entry(entry), Column::Values) => Some(entry.1.clone()),
        (other, _) => column_of(&other, column).ok(),
    };
    (0..batch.len()).map(of).collect()
}

/// The row of each vertex in a batch under construction: a table over the dense local ids, in pages allocated on first touch.
#[derive(Default)]
struct VertexTable {
    /// The pages of each label, under the bits of the id above the local part.
    labels: Vec<(u64, Vec<Page>)>,
    sparse: HashMap<VertexId, u32>,
    pages: usize,
}

type Page = Option<Box<[u32; SLOTS]>>;
const SLOTS: usize = 4096;
const PAGES_MAX: u64 = 1 << 20;

impl VertexTable {
    /// The position of a vertex, counted from 1; 0 if it has none yet.
    fn slot(&mut self, vertex: VertexId) -> &mut u32 {
        let local = vertex.local();
        let page = local / SLOTS as u64;
        if page >= PAGES_MAX {
            return self.sparse.entry(vertex).or_insert(0);
        }
        let prefix = vertex.0 - local;
        let at = self.labels.iter().position(|(p, _)| *p == prefix).unwrap_or_else(|| {
            self.labels.push((prefix, Vec::new()));
            self.labels.len() - 1
        });
        let pages = &mut self.labels[at].1;
        let page = page as usize;
        if page >= pages.len() {
            pages.resize_with(page + 1, || None);
        }
        let made = &mut self.pages;
        let page = pages[page].get_or_insert_with(|| {
            *made += 1;
            Box::new([0; SLOTS])
        });
        &mut page[local as usize % SLOTS]
    }

    /// The bytes of the pages, and of `vertices` vertices with their bulk.
    fn bytes(&self, vertices: usize) -> usize {
        self.pages * SLOTS * 4 + vertices * 16
    }
}

/// Merges traversers that stand on the same item and carry nothing else. So a frontier holds each vertex once, however many ways
/// lead to it.
pub struct BulkOp {
    max: usize,
    ended: bool,
}

impl BulkOp {
    pub fn new(max: Option<usize>) -> Self {
        Self { max: max.unwrap_or(1 << 18), ended: false }
    }

    /// Merges the vertices of one scope, with a table.
    fn merge_vertices(cx: &mut Context<'_, '_>, input: &mut dyn Input, max: usize, first: Batch) -> Result<(Batch, bool)> {
        let mut table = VertexTable::default();
        let mut ids: Vec<VertexId> = Vec::new();
        let mut bulks: Vec<u64> = Vec::new();
        let (mut next, mut held) = (Some(first), Held::default());
        let mut seen = 0;
        while let Some(batch) = next {
            let Some(vertices) = batch.vertices().filter(|_| batch.scope.is_none() && plain(&batch)) else {
                let mut all = bulked(ids, bulks, cx);
                all.append(batch);
                if max < usize::MAX {
                    return Ok((all, false));
                }
                all.append(gather_all(cx, input, &mut held)?);
                return Ok((all, true));
            };
            for (row, id) in vertices.iter().enumerate() {
                let slot = table.slot(*id);
                if *slot == 0 {
                    ids.push(*id);
                    bulks.push(0);
                    *slot = ids.len() as u32;
                }
                let bulk = &mut bulks[*slot as usize - 1];
                *bulk = bulk.saturating_add(batch.bulk(row));
            }
            seen += vertices.len();
            held.clear();
            held.add(cx, table.bytes(ids.len()))?;
            if ids.len() >= max || seen >= max.saturating_mul(16) {
                return Ok((bulked(ids, bulks, cx), false));
            }
            next = input.pull(cx)?;
        }
        Ok((bulked(ids, bulks, cx), true))
    }

    /// Traversers with sacks merge only if the query says how to merge two sacks.
    fn merge_any(cx: &Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        let merge = cx.shared.sack.as_ref().and_then(|sack| sack.merge);
        if !pathless(&batch) || (batch.sacks.is_some() && merge.is_none()) {
            return Ok(batch);
        }
        let sacks = batch.sacks.take();
        let mut merged: Vec<Value> = Vec::new();
        let mut position: HashMap<(u32, Value), usize> = HashMap::with_capacity(batch.len());
        let mut rows = Vec::new();
        let mut bulks: Vec<u64> = Vec::new();
        for row in 0..batch.len() {
            let at = *position.entry((batch.scope(row) as u32, batch.value(row))).or_insert_with(|| {
                rows.push(row as u32);
                bulks.push(0);
                bulks.len() - 1
            });
            if let (Some(sacks), Some(merge)) = (&sacks, merge) {
                match merged.get_mut(at) {
                    Some(sack) => *sack = number::apply(merge, std::mem::take(sack), sacks[row].clone())?,
                    None => merged.push(sacks[row].clone()),
                }
            }
            bulks[at] = bulks[at].saturating_add(batch.bulk(row));
        }
        if cx.shared.bulk_off {
            bulks.fill(1);
        }
        let sacks = sacks.map(|_| merged);
        Ok(Batch { bulk: Some(bulks), sacks, ..batch.gather(&rows) })
    }
}

fn bulked(ids: Vec<VertexId>, bulks: Vec<u64>, cx: &Context<'_, '_>) -> Batch {
    let bulk = bulks.iter().any(|n| *n != 1).then_some(bulks);
    let paths = cx.mode().has_paths().then(|| vec![None; ids.len()]);
    Batch { bulk, paths, ..Batch::new(Items::Vertices(ids)) }
}

/// Whether the batch has nothing but items, bulk and scope.
fn plain(batch: &Batch) -> bool {
    pathless(batch) && batch.sacks.is_none()
}

/// Whether no traverser has a path.
fn pathless(batch: &Batch) -> bool {
    batch.slots.is_empty() && batch.paths.as_ref().is_none_or(|paths| paths.iter().all(Option::is_none))
}

impl Op for BulkOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if self.ended {
            return Ok(None);
        }
        let Some(first) = input.pull(cx)? else { return Ok(None) };
        if cx.shared.bulk_off && first.sacks.is_none() {
            if self.max < usize::MAX {
                return Ok(Some(first));
            }
            self.ended = true;
            let mut held = Held::default();
            held.add_batch(cx, &first)?;
            let rest = gather_all(cx, input, &mut held)?;
            return Ok(Some(Batch::joined(vec![first, rest])));
        }
        if plain(&first) && first.scope.is_none() && first.vertices().is_some() {
            let (merged, ended) = Self::merge_vertices(cx, input, self.max, first)?;
            self.ended = ended;
            return Ok(Some(merged));
        }
        let (mut rows, mut parts, mut held) = (first.len(), vec![first], Held::default());
        while rows < self.max {
            match input.pull(cx)? {
                Some(batch) => {
                    held.add_batch(cx, &batch)?;
                    rows += batch.len();
                    parts.push(batch);
                }
                None => {
                    self.ended = true;
                    break;
                }
            }
        }
        Ok(Some(Self::merge_any(cx, Batch::joined(parts))?))
    }

    fn reset(&mut self, _: usize) {
        self.ended = false;
    }
}

/// `barrier(normSack)`: divides each sack by the sum of the sacks in its scope.
pub struct SackBarrierOp {
    done: bool,
}

impl SackBarrierOp {
    pub fn new() -> Self {
        Self { done: false }
    }
}

impl Op for SackBarrierOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let mut held = Held::default();
        let mut all = gather_all(cx, input, &mut held)?;
        let Some(sacks) = all.sacks.take() else { return Ok(Some(all).filter(|b| !b.is_empty())) };
        let mut sums: HashMap<usize, Value> = HashMap::new();
        for (row, sack) in sacks.iter().enumerate() {
            let sum = sums.entry(all.scope(row)).or_default();
            *sum = number::arithmetic(number::Arithmetic::Add, sum, &number::times(sack, all.bulk(row))?)?;
        }
        let divide = |(row, sack): (usize, &Value)| number::fraction(sack, &sums[&all.scope(row)]);
        all.sacks = Some(sacks.iter().enumerate().map(divide).collect::<Result<_>>()?);
        Ok(Some(all).filter(|b| !b.is_empty()))
    }

    fn reset(&mut self, _: usize) {
        self.done = false;
    }
}
