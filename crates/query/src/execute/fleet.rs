//! Runs of steps that the nodes of a graph run, each for the elements that it has.
//!
//! ```text
//!   input ──▶ portion ──┬─ elements of node a ──▶ node a runs the steps ──┐
//!                       └─ elements of node b ──▶ node b runs the steps ──┴─▶ results, in the order of the portion
//! ```
//! A step that reads the graph costs a round of messages, because the graph is elsewhere. A run of steps costs one round
//! (ZipG, SIGMOD'17, §5.3; Grasper, SoCC'19, §4). [`locate`](crate::plan::locate) says which steps are runs. If a query begins with ids,
//! its first portion is these ids: the nodes look them up, and then run the steps behind. If it begins with values that an index finds, its first
//! portion is the shards that may have them: the nodes search these.
//!
//! Invariants
//! 1. Only elements, or ids, or numbers of shards, and row numbers travel there. Bulks, scopes, paths, labels and sacks stay here, and
//!    results take those of the row that they came from.
//! 2. What a node does not run, to the end and without an error, is run here. So results and errors are the same as without nodes.
//! 3. The results of a portion take at most an eighth of the query's memory.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mangrove_graph::{ElementKind, Value};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::message::{Answer, MessageHead, message, shard_number};
use crate::execute::run::chain::{Chain, Input, Once, Op, PART};
use crate::execute::run::context::Context;
use crate::execute::run::memory::HasBudget;
use crate::execute::run::pace::bytes_target;
use crate::execute::run::portion::Portions;
use crate::fleet::{Fleet, Ran};
use crate::plan::locate::lookup_at_start;
use crate::plan::paths::PathMode;
use crate::plan::{Plan, SourceConfig, Step, Traversal};
use crate::profile::Messages;

/// After so many portions that nodes did not run, they are not asked any more.
const REFUSALS_MAX: u32 = 3;

/// A run of steps.
pub struct FleetOp {
    plan: Plan,
    /// The ids of the query, if the run begins with them.
    ids: Option<Vec<Value>>,
    /// The plan as bytes, once it was needed.
    bytes: Option<Vec<u8>>,
    /// The same steps here, and the portion that they work on.
    here: Chain,
    start: Option<Once>,
    portions: Portions,
    scopes: usize,
    refusals: u32,
}

/// What traversers of a message are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Travelling {
    Elements,
    Ids,
    /// Numbers of shards.
    Shards,
}

/// The rows of a portion that a node has.
type Part = (u16, Vec<u32>);

impl FleetOp {
    /// `here` are the same steps for this process.
    pub fn new(mut steps: Traversal, source: &SourceConfig, here: Chain) -> Self {
        let ids = match steps.steps.first_mut().map(|node| &mut node.step) {
            Some(Step::Scan { ids: Some(ids), .. }) => Some(std::mem::take(ids)), // they travel as traversers
            _ => None,
        };
        // Nothing of a run reads these.
        let source = SourceConfig { side_effects: Vec::new(), sack: None, warnings: Vec::new(), ..source.clone() };
        let plan = Plan { source, traversal: steps };
        let (bytes, start, portions) = (None, None, Portions::of_at_most(PART));
        Self { plan, ids, bytes, here, start, portions, scopes: 1, refusals: 0 }
    }

    /// What the nodes make of a portion; `None` if it is to be run here.
    fn run_there(&mut self, cx: &mut Context<'_, '_>, portion: &Batch) -> Result<Option<Batch>> {
        if self.refusals >= REFUSALS_MAX {
            return Ok(None);
        }
        let Some(fleet) = cx.shared.fleet.clone() else { return Ok(None) };
        let Some(parts) = parts(&*fleet, &portion.items, self.travelling()) else { return Ok(None) };
        let Some(messages) = self.messages(cx, portion, &parts) else {
            self.refusals = REFUSALS_MAX;
            return Ok(None);
        };
        let (began, sent) = (Instant::now(), messages.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
        let ran = fleet.run(messages, &cx.shared.limits());
        cx.check()?; // a query that stops does not go on here
        let got: usize = ran.iter().map(|ran| if let Ran::Gave(bytes) = ran { bytes.len() } else { 0 }).sum();
        let messages = Messages { sent: parts.len() as u64, bytes: (sent + got) as u64, ..Messages::default() };
        let given = self.given(cx, portion, parts, ran);
        self.count(cx, messages, began.elapsed(), given.as_ref());
        Ok(given)
    }

    /// The message to each node; `None` if the steps cannot travel.
    fn messages(&mut self, cx: &Context<'_, '_>, portion: &Batch, parts: &[Part]) -> Option<Vec<(u16, Vec<u8>)>> {
        if self.bytes.is_none() {
            self.bytes = Some(self.plan.to_bytes().ok()?);
        }
        let plan = self.bytes.as_ref()?;
        // Who has forgotten its paths makes no new ones.
        let mode = if portion.paths.is_none() && cx.mode().has_paths() { PathMode::Off } else { cx.mode() };
        let bytes_max = (bytes_target(cx.budget().bytes_max()) / parts.len().max(1)) as u64;
        let head = MessageHead { mode, may_go_deep: cx.shared.may_go_deep, bytes_max };
        let to_node = |(node, rows): &Part| {
            let elements = if parts.len() == 1 { portion.items.clone() } else { portion.items.gather(rows) };
            Some((*node, message(head, plan, &Batch::new(elements))?))
        };
        parts.iter().map(to_node).collect()
    }

    /// The results of all nodes, in the order of the portion; `None` if some of them did not give theirs.
    fn given(&mut self, cx: &mut Context<'_, '_>, portion: &Batch, parts: Vec<Part>, ran: Vec<Ran>) -> Option<Batch> {
        if ran.len() != parts.len() || ran.contains(&Ran::Unable) {
            self.refusals = REFUSALS_MAX;
            return None;
        }
        let answer = |((_, rows), ran): (Part, Ran)| match ran {
            Ran::Gave(bytes) => Answer::from_bytes(&bytes, rows.len()).map(|answer| (answer, rows)),
            Ran::Refused | Ran::Unable => None,
        };
        let Some(answers) = parts.into_iter().zip(ran).map(answer).collect::<Option<Vec<_>>>() else {
            self.refusals += 1;
            return None;
        };
        self.warn_of_unknown(cx, &answers)?;
        let (mut results, mut from) = (Vec::with_capacity(answers.len()), Vec::new());
        for (Answer { warnings, results: mut batch, .. }, rows) in answers {
            warnings.into_iter().for_each(|warning| cx.warn(warning));
            from.extend((0..batch.len()).map(|at| rows[batch.scope(at)]));
            batch.scope = None;
            results.push(batch);
        }
        results.retain(|batch| !batch.is_empty());
        let mut results = Batch::joined(results);
        if !from.is_sorted() {
            let mut order: Vec<u32> = (0..from.len() as u32).collect();
            order.sort_by_key(|at| from[*at as usize]); // it keeps the order of the results of a row
            results = results.gather(&order);
            from.sort_unstable();
        }
        Some(portion.continued(&from, results, cx.mode())).filter(|given| cx.fits(given.bytes()).is_ok())
    }

    /// Warns of ids that no vertex has, as the query does that looks them up; `None` if that fails.
    fn warn_of_unknown(&self, cx: &mut Context<'_, '_>, answers: &[(Answer, Vec<u32>)]) -> Option<()> {
        let of_node = |(answer, rows): &(Answer, Vec<u32>)| answer.unknown.iter().map(|row| rows[*row as usize]).collect();
        let unknown: Vec<u32> = answers.iter().flat_map::<Vec<u32>, _>(of_node).collect();
        let (Some(first), Some(ids)) = (unknown.iter().min(), &self.ids) else { return Some(()) };
        cx.warn_unknown_id(ElementKind::Vertex, ids.get(*first as usize)?, unknown.len() - 1).ok()
    }

    fn travelling(&self) -> Travelling {
        match (&self.ids, self.plan.traversal.steps.first().map(|node| &node.step)) {
            (Some(_), _) => Travelling::Ids,
            (None, Some(Step::Scan { .. })) => Travelling::Shards,
            (None, _) => Travelling::Elements,
        }
    }

    /// What travels for the first portion of a query: the ids that it begins with, or the shards that may have the values.
    fn beginning(&self, cx: &Context<'_, '_>, portion: &Batch) -> Option<Batch> {
        let values = match (&self.ids, self.travelling()) {
            (Some(ids), _) => ids.clone(),
            (None, Travelling::Shards) => self.searched(cx)?.into_iter().map(|shard| Value::Int64(shard.into())).collect(),
            (None, _) => return None,
        };
        Some(portion.moved(&vec![0; values.len()], Items::Values(values), PathMode::Off))
    }

    /// The shards to search; `None` if that is as well done here.
    fn searched(&self, cx: &Context<'_, '_>) -> Option<Vec<u16>> {
        let steps = &self.plan.traversal.steps;
        let (of, predicate) = lookup_at_start(steps)?.sought(cx.view())?;
        let shards = cx.view().searched_shards(of, predicate).ok()??;
        // Here, the search of one shard is one message, too.
        Some(shards).filter(|shards| shards.len() + steps.len() > 2 && !shards.is_empty())
    }

    /// Adds to the profile of the last step, if there is one.
    fn count(&self, cx: &Context<'_, '_>, messages: Messages, time: Duration, given: Option<&Batch>) {
        let (Some(counters), Some(last)) = (&cx.shared.counters, self.plan.traversal.steps.last()) else { return };
        counters[last.row].cut_up(messages);
        if let Some(given) = given {
            counters[last.row].ran(time.as_nanos() as u64);
            counters[last.row].gave(given);
        }
    }
}

/// The rows of each node; `None` if they are not all elements of one kind, or ids or shards of which it is known where they are.
fn parts(fleet: &dyn Fleet, items: &Items, travelling: Travelling) -> Option<Vec<Part>> {
    let mut parts: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    let mut add = |(row, node): (u32, u16)| parts.entry(node).or_default().push(row);
    match items {
        Items::Vertices(ids) => (0..).zip(ids.iter().map(|id| fleet.node_of_vertex(*id))).for_each(&mut add),
        Items::Edges(edges) => (0..).zip(edges.iter().map(|edge| fleet.node_of_edge(edge))).for_each(&mut add),
        Items::Values(ids) if travelling == Travelling::Ids => {
            for (row, id) in (0..).zip(ids) {
                add((row, fleet.node_of_id(id)?));
            }
        }
        Items::Values(shards) if travelling == Travelling::Shards => {
            for (row, shard) in (0..).zip(shards) {
                add((row, fleet.node_of_shard(shard_number(shard)?)?));
            }
        }
        _ => return None,
    }
    Some(parts.into_iter().collect())
}

impl Op for FleetOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            if let Some(start) = &mut self.start {
                if let Some(batch) = self.here.pull(cx, start)? {
                    return Ok(Some(batch));
                }
                self.start = None;
            }
            let portion = self.portions.next(cx, input)?;
            if portion.is_empty() {
                return Ok(None);
            }
            let beginning = self.beginning(cx, &portion);
            match self.run_there(cx, beginning.as_ref().unwrap_or(&portion))? {
                Some(given) => {
                    self.portions.became(portion.len(), given.len());
                    if !given.is_empty() {
                        return Ok(Some(given));
                    }
                }
                None => {
                    self.here.reset(self.scopes);
                    self.start = Some(Once::new(portion));
                }
            }
        }
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes;
        self.start = None;
        self.portions.clear();
        self.here.reset(scopes);
    }
}
