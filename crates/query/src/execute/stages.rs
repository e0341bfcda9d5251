//! What a node does for the query of somebody else whose traversers go from node to node.
//!
//! ```text
//!   frontier ──▶ run of steps ──▶ merged ──▶ exchange ──▶ merged with those of others ──▶ the next frontier
//! ```
//!
//! Invariants
//! 1. All nodes go through the same stages, so they exchange equally often. They leave out exchanges only when no node has traversers.
//! 2. The traversers of a frontier stand on distinct elements, in the order of their ids; or they stand on values.
//! 3. Frontiers, frames, partial results, what waits for the end of a repeat, and what was seen count as memory. Beyond the budget, the
//!    query runs elsewhere.

use std::time::Instant;

use hashbrown::HashSet;
use mangrove_graph::{Budget, EdgeId, GraphView, ReadContext, Value};

use crate::error::{QueryError, Result};
use crate::execute::compile;
use crate::execute::data::batch::Batch;
use crate::execute::data::frame::{from_frame, merged, parts_of, split, to_frame};
use crate::execute::data::items::Items;
use crate::execute::data::message::{ANSWER_BYTES_MAX, Answer, read_head, read_message};
use crate::execute::ops::set::VertexSet;
use crate::execute::partials::Partials;
use crate::execute::run::chain::{Chain, Input, Once};
use crate::execute::run::context::{Context, QueryState};
use crate::execute::run::memory::Held;
use crate::fleet::MeshPart;
use crate::options::{Graph, QueryOptions};
use crate::plan::mesh::{Stage, stages};
use crate::plan::paths::PathMode;
use crate::plan::{Plan, StepNode, Traversal};

/// The most bytes that a query may hold at a node.
const HELD_BYTES_MAX: usize = 512 << 20;
/// Traversers are merged when so many have come, or as many as there are.
const MERGE_ROWS: usize = 1 << 18;

/// The memory of a part that answers a message. It is for what waits for the part, too.
pub fn stages_budget(message: &[u8]) -> Budget {
    let asked = read_head(message).and_then(|head| usize::try_from(head.bytes_max).ok());
    Budget::new(asked.unwrap_or(HELD_BYTES_MAX).min(HELD_BYTES_MAX))
}

/// Runs a part of a query whose traversers go from node to node: answers a message of a [`MeshFleet`](crate::MeshFleet). `None` if whoever
/// asks must run the steps: because they fail in some part, because they hold or give too much, or because the message has another version.
/// The budget of the limits is that of the part: [`stages_budget`].
pub fn run_stages(message: &[u8], part: &dyn MeshPart, limits: &ReadContext) -> Option<Vec<u8>> {
    let (head, plan, start) = read_message(message)?;
    if head.mode != PathMode::Off || start.items.are_values() {
        return None;
    }
    let plan = Plan::from_bytes(plan).ok()?;
    let stages = stages(&plan.traversal.steps)?;
    let options = QueryOptions {
        timeout: limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
        cancel: limits.cancel.clone(),
        memory_bytes_max: limits.budget.bytes_max(),
        trace: limits.trace,
        ..QueryOptions::default()
    };
    let mut shared = QueryState::new(&plan.source, options, PathMode::Off);
    shared.may_go_deep = head.may_go_deep;
    shared.budget = limits.budget.clone();
    let (frontier, results) = (Frontier::default(), None);
    let mut going = Going { part, frontier, waiting: Vec::new(), seen: Vec::new(), is_over: false, results };
    let mut cx = Context { graph: &mut Graph::Read(part.view()), shared: &mut shared };
    going.frontier.add(&cx, start).ok()?;
    stages.iter().try_for_each(|stage| going.stage(&mut cx, stage)).ok()?;
    let results = match going.results {
        Some(results) => results,
        None => going.frontier.take(&cx).ok()?,
    };
    let fits = results.bytes() as u64 <= head.bytes_max.min(ANSWER_BYTES_MAX as u64);
    let answer = Answer { warnings: shared.warnings, unknown: Vec::new(), results };
    if fits { answer.to_bytes() } else { None }
}

/// A part between two stages.
struct Going<'p> {
    part: &'p dyn MeshPart,
    frontier: Frontier,
    /// Frontiers that go on after the repeat.
    waiting: Vec<(Batch, Held)>,
    /// What each `dedup()` of a repeat has seen.
    seen: Vec<(usize, Seen)>,
    /// No part has traversers.
    is_over: bool,
    /// What the partial step has given, if there is one.
    results: Option<Batch>,
}

impl Going<'_> {
    fn stage(&mut self, cx: &mut Context<'_, '_>, stage: &Stage) -> Result<()> {
        cx.check()?;
        match stage {
            Stage::Run { scan, steps, partial } => {
                let mut partials = partial.as_deref().map(Partials::new).transpose()?;
                self.run(cx, scan.as_deref(), steps, partials.as_mut())?;
                self.results = partials.map(|partials| partials.finish(cx)).transpose()?;
                Ok(())
            }
            Stage::Exchange => self.exchange(cx),
            Stage::Once { seen } => self.once(cx, *seen),
            Stage::Keep => {
                let frontier = self.frontier.take(cx)?;
                let mut held = Held::default();
                held.add_batch(cx, &frontier)?;
                self.waiting.push((frontier.clone(), held));
                self.frontier.add(cx, frontier)
            }
            Stage::Join => {
                self.is_over = false;
                std::mem::take(&mut self.waiting).into_iter().try_for_each(|(batch, _)| self.frontier.add(cx, batch))
            }
        }
    }

    /// Gives what the steps make of the frontier to the next one, or to the partial step.
    fn run(
        &mut self,
        cx: &mut Context<'_, '_>,
        scan: Option<&StepNode>,
        steps: &[StepNode],
        mut partials: Option<&mut Partials>,
    ) -> Result<()> {
        let chain_of = |steps: &[StepNode]| -> Result<Chain> {
            let mut chain = compile::serial(&Traversal { steps: steps.to_vec() }, None)?;
            chain.reset(1);
            Ok(chain)
        };
        let mut chain = chain_of(steps)?;
        let before = self.frontier.take(cx)?;
        let mut held = Held::default();
        held.add_batch(cx, &before)?;
        let mut scanning;
        let mut known;
        let start: &mut dyn Input = match scan {
            Some(node) => {
                let chain = chain_of(std::slice::from_ref(node))?;
                scanning = Scanning { part: self.part, views: self.part.scanned(), chain, start: beginning() };
                &mut scanning
            }
            None => {
                known = Once::new(before);
                &mut known
            }
        };
        while let Some(batch) = chain.pull(cx, start)? {
            match &mut partials {
                Some(partials) => partials.add(cx, batch)?,
                None => self.frontier.add(cx, batch)?,
            }
        }
        Ok(())
    }

    fn exchange(&mut self, cx: &mut Context<'_, '_>) -> Result<()> {
        if self.is_over {
            return Ok(());
        }
        let frontier = self.frontier.take(cx)?;
        let moved = frontier.len() as u64;
        let mut parts = match frontier.is_empty() {
            true => vec![Batch::default(); self.part.parts()],
            false => split(&frontier, self.part).ok_or_else(stuck)?,
        };
        drop(frontier);
        let own = parts.get_mut(self.part.at()).map(std::mem::take).ok_or_else(stuck)?;
        let others = parts.iter().enumerate().filter(|(_, batch)| !batch.is_empty());
        let frames = others.map(|(part, batch)| Some((part, to_frame(batch)?))).collect::<Option<Vec<_>>>();
        drop(parts);
        let frames = frames.ok_or_else(stuck)?;
        let mut held = Held::default();
        held.add(cx, frames.iter().map(|(_, frame)| frame.len()).sum())?;
        self.frontier.add(cx, own)?;
        let (came, all) = self.part.exchange(frames, moved).ok_or_else(stuck)?;
        self.is_over = all == 0;
        held.clear();
        held.add(cx, came.iter().map(Vec::len).sum())?;
        came.iter().try_for_each(|frame| self.frontier.add(cx, from_frame(frame).ok_or_else(stuck)?))
    }

    fn once(&mut self, cx: &Context<'_, '_>, number: Option<usize>) -> Result<()> {
        let frontier = Batch { bulk: None, ..self.frontier.take(cx)? };
        // Vertices and edges together are not merged.
        if !frontier.is_empty() && !matches!(frontier.items, Items::Vertices(_) | Items::Edges(_)) {
            return Err(stuck());
        }
        let fresh = match number {
            None => frontier,
            Some(number) => {
                let at = self.seen.iter().position(|(known, _)| *known == number).unwrap_or_else(|| {
                    self.seen.push((number, Seen::default()));
                    self.seen.len() - 1
                });
                self.seen[at].1.fresh(cx, frontier)?
            }
        };
        self.frontier.add(cx, fresh)
    }
}

/// A part cannot go on, or another one has ended.
fn stuck() -> QueryError {
    QueryError::value("traversers cannot go from node to node")
}

/// The traverser that a query begins with.
fn beginning() -> Once {
    Once::new(Batch::new(Items::Values(vec![Value::Null])))
}

/// Traversers that are merged from time to time.
#[derive(Default)]
struct Frontier {
    merged: Batch,
    later: Vec<Batch>,
    /// Of those that came later.
    rows: usize,
    held: Held,
}

impl Frontier {
    fn add(&mut self, cx: &Context<'_, '_>, batch: Batch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.rows += batch.len();
        self.held.add_batch(cx, &batch)?;
        self.later.push(batch);
        if self.rows >= MERGE_ROWS.max(self.merged.len()) { self.merge(cx) } else { Ok(()) }
    }

    fn merge(&mut self, cx: &Context<'_, '_>) -> Result<()> {
        let parts = [std::mem::take(&mut self.merged)].into_iter().chain(self.later.drain(..));
        let all = Batch::joined(parts.filter(|batch| !batch.is_empty()).collect());
        self.merged = merged(all).ok_or_else(stuck)?;
        self.rows = 0;
        self.held.clear();
        self.held.add_batch(cx, &self.merged)
    }

    /// All of them, merged. None are left.
    fn take(&mut self, cx: &Context<'_, '_>) -> Result<Batch> {
        self.merge(cx)?;
        self.held.clear();
        Ok(std::mem::take(&mut self.merged))
    }
}

/// The elements that a `dedup()` of a repeat has seen.
#[derive(Default)]
struct Seen {
    vertices: VertexSet,
    edges: HashSet<EdgeId>,
    held: Held,
}

impl Seen {
    /// The traversers on elements that were not seen before.
    fn fresh(&mut self, cx: &Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut rows = Vec::new();
        match &batch.items {
            Items::Vertices(ids) => self.vertices.insert_all(ids, &mut rows),
            Items::Edges(edges) => {
                rows.extend((0..).zip(edges).filter(|(_, edge)| self.edges.insert(edge.id)).map(|(row, _)| row));
            }
            _ if batch.is_empty() => {}
            _ => return Err(stuck()),
        }
        self.held.clear();
        self.held.add(cx, self.vertices.bytes() + self.edges.capacity() * 2 * size_of::<EdgeId>())?;
        Ok(if rows.len() == batch.len() { batch } else { batch.gather(&rows) })
    }
}

/// Finds the elements of a part.
struct Scanning<'p> {
    part: &'p dyn MeshPart,
    /// Those that are still to be scanned, the last one first.
    views: Vec<&'p dyn GraphView>,
    chain: Chain,
    start: Once,
}

impl Input for Scanning<'_> {
    fn pull(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Batch>> {
        while let Some(view) = self.views.last() {
            let mut own = Context { graph: &mut Graph::Read(*view), shared: &mut *cx.shared };
            let Some(batch) = self.chain.pull(&mut own, &mut self.start)? else {
                self.views.pop();
                self.chain.reset(1);
                self.start = beginning();
                continue;
            };
            let parts = parts_of(&batch.items, self.part).ok_or_else(stuck)?;
            let is_here: Vec<bool> = parts.iter().map(|part| *part == self.part.at()).collect();
            let batch = batch.filter(&is_here);
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}
