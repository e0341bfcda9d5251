//! Operators, and chains of operators.

use std::time::Instant;

use mangrove_graph::Value;

use crate::diagnostics::Span;
use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::known::Known;
use crate::execute::data::slots::Slots;
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::execute::run::nesting;
use crate::plan::Name;
use crate::plan::paths::PathMode;
use crate::stack::deep;

/// The source that an operator pulls from.
pub trait Input {
    fn pull(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Batch>>;
}

pub trait Op: Send {
    /// The next batch, never empty; `None` at the end.
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>>;

    /// Clears all state and prepares for traversers of `scopes` scopes.
    fn reset(&mut self, scopes: usize) {
        let _ = scopes;
    }

    /// Begins the next round of the enclosing `repeat`. Most operators start afresh.
    fn next_round(&mut self, scopes: usize) {
        self.reset(scopes);
    }
}

/// A stateless operator: batch in, batch out.
pub trait MapBatch: Send {
    /// Maps one batch. An empty result is skipped.
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch>;

    /// The bytes that the last call made beside traversers.
    fn made_bytes(&self) -> usize {
        0
    }
}

/// Traversers of a large batch that are worked on together. A stop takes effect in between.
pub const PART: usize = 1 << 16;

/// Maps large batches part by part. So what a map makes for itself has bounded size.
pub struct Mapping<M> {
    map: M,
    /// The rest of a large batch.
    rest: Option<Box<Once>>,
}

impl<M> Mapping<M> {
    pub fn new(map: M) -> Self {
        Self { map, rest: None }
    }

    /// The next batch to map, or part of one.
    fn part(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if let Some(rest) = &mut self.rest {
            if let Some(part) = rest.pull(cx)? {
                return Ok(Some(part));
            }
            self.rest = None;
        }
        match input.pull(cx)? {
            Some(batch) if batch.len() > PART => self.rest.insert(Box::new(Once::new(batch))).pull(cx),
            batch => Ok(batch),
        }
    }
}

impl<M: MapBatch> Op for Mapping<M> {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        while let Some(part) = self.part(cx, input)? {
            let mapped = self.map.map(cx, part)?;
            if !mapped.is_empty() {
                return Ok(Some(mapped));
            }
        }
        Ok(None)
    }

    fn reset(&mut self, _: usize) {
        self.rest = None;
    }
}

/// An operator with its `as()` labels and its place in the query.
pub struct Link {
    pub op: Box<dyn Op>,
    pub labels: Vec<Name>,
    pub span: Span,
    /// The step's row in the plan's outline, whose counters it feeds while profiling. Operators that are no step of the plan have
    /// none.
    pub row: Option<usize>,
    /// No later step asks where traversers have been.
    pub forgets: bool,
    /// Labels that no later step reads.
    pub drops: Vec<Name>,
    /// No later step reads a column that is known of the items.
    pub drops_columns: bool,
    /// Output of the operator that is not passed on yet, if traversers go one by one.
    waiting: Option<Box<Batch>>,
}

impl Link {
    pub fn new(op: Box<dyn Op>, labels: Vec<Name>, span: Span) -> Self {
        Self { op, labels, span, row: None, forgets: false, drops: Vec::new(), drops_columns: false, waiting: None }
    }

    /// The operator's next batch. It counts its own time, without that of the operators it pulls from.
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if cx.shared.counters.is_none() {
            return self.op.next(cx, input);
        }
        let outer = std::mem::take(&mut cx.shared.pulled_nanos);
        let began = Instant::now();
        let pulled = self.op.next(cx, input);
        let nanos = began.elapsed().as_nanos() as u64;
        let own = nanos.saturating_sub(std::mem::replace(&mut cx.shared.pulled_nanos, outer + nanos));
        if let (Some(counters), Some(row)) = (&cx.shared.counters, self.row) {
            counters[row].ran(own);
            pulled.iter().flatten().for_each(|batch| counters[row].gave(batch));
        }
        pulled
    }
}

#[derive(Default)]
pub struct Chain {
    links: Vec<Link>,
}

impl Chain {
    pub fn new(links: Vec<Link>) -> Self {
        Self { links }
    }

    pub fn pull(&mut self, cx: &mut Context<'_, '_>, start: &mut dyn Input) -> Result<Option<Batch>> {
        pull_from(&mut self.links, cx, start)
    }

    pub fn reset(&mut self, scopes: usize) {
        for link in &mut self.links {
            link.op.reset(scopes);
            link.waiting = None;
        }
    }

    pub fn next_round(&mut self, scopes: usize) {
        self.links.iter_mut().for_each(|link| link.op.next_round(scopes));
    }
}

fn pull_from(links: &mut [Link], cx: &mut Context<'_, '_>, start: &mut dyn Input) -> Result<Option<Batch>> {
    let Some((last, before)) = links.split_last_mut() else { return start.pull(cx) };
    deep(|| pull_last(last, before, cx, start))
}

fn pull_last(
    last: &mut Link,
    before: &mut [Link],
    cx: &mut Context<'_, '_>,
    start: &mut dyn Input,
) -> Result<Option<Batch>> {
    if let Some(waiting) = last.waiting.as_mut().filter(|waiting| !waiting.is_empty()) {
        return Ok(Some(waiting.split_front(1)));
    }
    let mut upstream = Upstream { links: before, start };
    let pulled = last.next(cx, &mut upstream).map_err(|e| if last.span.end > 0 { e.at(last.span) } else { e })?;
    if let Some(batch) = pulled.as_ref().filter(|_| cx.shared.may_go_deep) {
        nesting::check_batch(batch).map_err(|e| e.at(last.span))?;
    }
    Ok(pulled.map(|mut batch| {
        if last.drops_columns {
            batch.known = Known::default();
        }
        if last.forgets {
            batch.paths = None;
            batch.slots = Slots::default();
        } else {
            batch.label(&last.labels, cx.mode());
            last.drops.iter().for_each(|name| batch.slots.remove(name));
        }
        if cx.shared.one_by_one && batch.len() > 1 {
            return last.waiting.insert(Box::new(batch)).split_front(1);
        }
        batch
    }))
}

struct Upstream<'a> {
    links: &'a mut [Link],
    start: &'a mut dyn Input,
}

impl Input for Upstream<'_> {
    fn pull(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Batch>> {
        cx.check()?;
        pull_from(self.links, cx, self.start)
    }
}

/// One batch, as the input of a chain. A large one comes in parts, so that the query can be stopped in between.
pub struct Once {
    batch: Batch,
    at: usize,
    part: usize,
}

impl Once {
    pub fn new(batch: Batch) -> Self {
        Self { batch, at: 0, part: PART }
    }

    /// The batch in one part, for operators where the split would change the result.
    pub fn whole(batch: Batch) -> Self {
        Self { batch, at: 0, part: usize::MAX }
    }
}

impl Input for Once {
    fn pull(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Batch>> {
        if self.at == 0 && self.batch.len() <= self.part {
            return Ok(Some(std::mem::take(&mut self.batch)).filter(|batch| !batch.is_empty()));
        }
        cx.check()?;
        let start = self.at;
        self.at = self.batch.len().min(start + self.part);
        Ok(Some(self.batch.slice(start..self.at)).filter(|part| !part.is_empty()))
    }
}

/// A child traversal. It runs once for a whole batch of its parent's traversers.
pub struct Child {
    chain: Chain,
}

/// Runs the work of a child; its time counts as its parent's.
fn within_parent<T>(cx: &mut Context<'_, '_>, work: impl FnOnce(&mut Context<'_, '_>) -> T) -> T {
    let pulled = cx.shared.pulled_nanos;
    let done = work(cx);
    cx.shared.pulled_nanos = pulled;
    done
}

impl Child {
    pub fn new(chain: Chain) -> Self {
        Self { chain }
    }

    /// All results of the child for `batch`, whose rows lie in `scopes` scopes.
    pub fn run(&mut self, cx: &mut Context<'_, '_>, batch: Batch, scopes: usize) -> Result<Batch> {
        let (mut parts, mut held) = (Vec::new(), Held::default());
        self.chain.reset(scopes);
        let mut start = Once::new(batch);
        while let Some(part) = within_parent(cx, |cx| self.chain.pull(cx, &mut start))? {
            held.add_batch(cx, &part)?;
            parts.push(part);
        }
        Ok(Batch::joined(parts))
    }

    /// Starts a lazy run. [`pull`](Self::pull) then reads what the parent passes in, not what comes before the parent.
    pub fn begin(&mut self, scopes: usize) {
        self.chain.reset(scopes);
    }

    pub fn next_round(&mut self, scopes: usize) {
        self.chain.next_round(scopes);
    }

    pub fn pull(&mut self, cx: &mut Context<'_, '_>, start: &mut dyn Input) -> Result<Option<Batch>> {
        within_parent(cx, |cx| self.chain.pull(cx, start))
    }

    /// All results of the child for each row; the scope of a result is its row.
    pub fn run_rows(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Batch> {
        self.run(cx, batch.as_scopes(), batch.len())
    }

    /// Whether the child gives anything, for each row.
    pub fn exists(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<bool>> {
        let mut found = vec![false; batch.len()];
        let mut missing = batch.len();
        self.chain.reset(batch.len());
        let mut start = Once::new(batch.as_scopes());
        while missing > 0
            && let Some(part) = within_parent(cx, |cx| self.chain.pull(cx, &mut start))?
        {
            for row in 0..part.len() {
                missing -= usize::from(!std::mem::replace(&mut found[part.scope(row)], true));
            }
        }
        Ok(found)
    }

    /// The first result of the child for each row.
    pub fn first(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Option<Value>>> {
        let mut found = vec![None; batch.len()];
        let mut missing = batch.len();
        self.chain.reset(batch.len());
        let mut start = Once::new(batch.as_scopes());
        while missing > 0
            && let Some(part) = within_parent(cx, |cx| self.chain.pull(cx, &mut start))?
        {
            for row in 0..part.len() {
                let slot = &mut found[part.scope(row)];
                if slot.is_none() {
                    *slot = Some(part.value(row));
                    missing -= 1;
                }
            }
        }
        Ok(found)
    }
}

/// One row for each of `values`, in scopes 0, 1, …, with an empty path.
pub fn reduced(values: Vec<Value>, mode: PathMode, sack: Option<Value>) -> Batch {
    let n = values.len();
    let mut batch = Batch::new(Items::from_values(values));
    batch.scope = (n > 1).then(|| (0..n as u32).collect());
    batch.sacks = sack.map(|sack| vec![sack; n]);
    if mode.has_paths() {
        batch.paths = Some(vec![None; n]);
        let items = batch.items.clone();
        return batch.moved_in_place(items, mode);
    }
    batch
}
