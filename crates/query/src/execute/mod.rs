//! Execution: a plan compiled to a chain of operators that pull batches of traversers from one another.
//!
//! ```text
//!   result ◀─ next() ─ op n ◀─ … ◀─ op 1 ◀─ the one traverser a query starts with
//! ```
//!
//! Each family of steps is one file. An operator serves every place in a query. At the top there is one *scope*. A child traversal
//! runs once for a whole batch of its parent's traversers, and each row of that batch is a scope of its own. Steps that reduce,
//! count or limit do so per scope. So `where(out().count().is(gt(2)))` costs one call per step and batch, not one per vertex.
//!
//! Invariants
//! 1. An operator never returns an empty batch. `None` means the end; nobody pulls again until a reset.
//! 2. The rows of one scope have the order of TinkerPop's own traversal, where that order is defined.
//! 3. An operator pulls no more than its next batch needs. Barriers are the exception.
//! 4. Long work checks the clock and the cancel token between batches.

mod compile;
mod data;
mod fleet;
mod fragment;
mod mesh;
mod modulators;
mod ops;
mod parallel;
mod partials;
mod reads;
mod run;
mod stages;

use std::sync::Arc;
use std::time::Instant;

use mangrove_graph::{Catalog, Value};

use crate::computed::Computed;
use crate::error::{QueryError, Result};
use crate::fleet::{Fleet, MeshFleet};
use crate::options::{Graph, OnProfile, QueryOptions};
use crate::plan::apart::whole_because;
use crate::plan::facts::{Reads, Writes};
use crate::plan::locate::{FOUND_MAX, ids_at_start, in_runs, lookup_at_start, takes_first};
use crate::plan::mesh::{Meshed, at_start, in_mesh};
use crate::plan::outline::number;
use crate::plan::shape::Outlook;
use crate::plan::{Plan, Step, StepNode};
use crate::profile::Profile;

use compile::NodesRole;
use data::batch::Batch;
use data::sent;
use ops::call;
use run::chain::{Chain, Once};
use run::context::{Context, QueryState};
use run::help::Help;
use run::nesting;
use run::profile::{self, Counters};

use crate::plan::paths::{self, PathMode};
pub use data::items::Items;
pub use data::maps::{MapColumn, Maps};
pub use fragment::run_fragment;
pub use reads::columns::{own_maps, whole_maps};
pub use run::pace::{Pace, bytes_target};
pub use stages::{run_stages, stages_budget};

/// A running query. It does not hold the graph: pass the same one to each call.
pub struct Execution {
    /// In a box, because it has hundreds of bytes and the whole is moved several times before it runs.
    run: Box<Run>,
}

struct Run {
    chain: Chain,
    shared: QueryState,
    start: Once,
    /// The expectations from before the run, if it is to be profiled.
    profile: Option<Profile>,
    on_profile: Option<OnProfile>,
    began: Instant,
    /// The results so far.
    given: u64,
    text: Arc<str>,
    outlook: Outlook,
    /// The batch pulled last, whose rows are still to be returned.
    pending: Batch,
    done: bool,
}

/// The most values returned at a time.
const VALUES_MAX: u64 = 1 << 16;

impl Execution {
    pub(crate) fn new(mut plan: Plan, graph: &Graph<'_>, options: QueryOptions, text: Arc<str>) -> Result<Self> {
        if let Some(why) = options.start.as_ref().and_then(|_| whole_because(&plan)) {
            return Err(QueryError::step(format!("the query can only be read as a whole, because {why}")));
        }
        let (reads, writes) = plan.traversal.touches();
        let mode = paths::path_mode(&plan, reads);
        let one_by_one = writes != Writes::NOTHING && compile::one_by_one(&plan);
        let computed = Computed::of(&plan.traversal, graph.view().schema())?;
        let fleet = options.fleet.clone().filter(|_| matches!(graph, Graph::Read(_)) && may_leave(&plan, one_by_one));
        let help = if one_by_one { None } else { Self::help(&plan, graph, &options) };
        let (profiling, on_profile) = (options.is_profiled(), options.on_profile.clone());
        let is_of_part = options.start.is_some();
        let mut shared = QueryState::new(&plan.source, options, mode);
        if writes.any_of(Writes::EFFECTS) {
            let mut gathered = Vec::new();
            compile::gathered(&plan.traversal, &mut gathered);
            gathered.into_iter().for_each(|(name, empty)| shared.side_effects.ensure(name, empty));
        }
        shared.one_by_one = one_by_one;
        shared.computed = computed;
        shared.makes_what_is_missing =
            writes.any_of(Writes::ADDS) && plan.traversal.any(&|node| matches!(node.step, Step::AddVertex { .. }));
        shared.may_go_deep = nesting::may_go_deep(&plan.traversal);
        if reads.any_of(Reads::PROCEDURE) {
            call::check(&plan.traversal, shared.procedures())?;
        }
        let mut profile = None;
        if profiling {
            number(&mut plan.traversal);
            shared.counters = Some(Counters::of(&plan.traversal));
            profile = Some(Profile::of(&plan.traversal));
        }
        let nodes = fleet.as_ref().map_or(NodesRole::default(), |fleet| nodes_role(&plan, mode, &**fleet, graph.view()));
        // A part of the graph is searched where the query is.
        let nodes = NodesRole { homes: nodes.homes && !is_of_part, ..nodes };
        let mut chain = compile::root(&plan, mode, help.as_ref().map(Help::reach), nodes)?;
        (shared.help, shared.fleet) = (help, fleet);
        chain.reset(1);
        let mut start = Batch::new(Items::Values(vec![Value::Null]));
        if mode.has_paths() {
            start.paths = Some(vec![None]);
        }
        start.sacks = plan.source.sack.as_ref().map(|sack| vec![sack.initial.clone()]);
        let (start, outlook) = (Once::new(start), Outlook::new(plan, shared.all_procedures()));
        let (began, pending) = (Instant::now(), Batch::default());
        let run = Run { chain, shared, start, profile, on_profile, began, given: 0, text, outlook, pending, done: false };
        Ok(Self { run: Box::new(run) })
    }

    /// The crew and what it needs, if it may help: one view for each worker. It takes the views now, because the graph may change.
    fn help(plan: &Plan, graph: &Graph<'_>, options: &QueryOptions) -> Option<Help> {
        let (Graph::Read(view), Some(crew)) = (graph, &options.crew) else { return None };
        if crew.is_empty() || !compile::may_be_heavy(plan) || !compile::can_be_helped(plan) {
            return None;
        }
        // If the store cannot open more views, perhaps for want of reader slots, fewer workers help.
        let views: Vec<_> = (0..crew.len()).map_while(|_| view.fork().ok().flatten()).collect();
        let source = Arc::new(plan.source.clone());
        (!views.is_empty()).then(|| Help {
            crew: crew.clone(),
            views: Arc::new(views.into()),
            source,
            helped_nanos: Arc::default(),
        })
    }

    /// The next results, `None` at the end. After an error the query has ended.
    pub fn next(&mut self, graph: &mut Graph<'_>) -> Result<Option<Vec<Value>>> {
        Ok(self.next_items(graph)?.map(Items::into_values))
    }

    /// Like [`next`](Self::next), in the engine's own form: columns of elements, of maps, or of values.
    pub fn next_items(&mut self, graph: &mut Graph<'_>) -> Result<Option<Items>> {
        self.run.next_items(graph)
    }

    /// Runs to the end and returns all results, within the query's memory budget.
    pub fn collect(&mut self, graph: &mut Graph<'_>) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        while let Some(mut values) = self.next(graph)? {
            let mut context = Context { graph, shared: &mut self.run.shared };
            context.keep_items(values.len() as u64).map_err(|e| e.in_text(&self.run.text))?;
            if all.is_empty() {
                all = values;
            } else {
                all.append(&mut values);
            }
        }
        Ok(all)
    }

    /// Runs to the end and reports what each step did. [`QueryOptions::profile`] must be set.
    pub fn profile(&mut self, graph: &mut Graph<'_>) -> Result<Profile> {
        while self.next_items(graph)?.is_some() {}
        self.run.profile().ok_or_else(|| QueryError::value("a profile needs QueryOptions::profile"))
    }

    /// What the plan knows about the results.
    pub fn outlook(&self) -> &Outlook {
        &self.run.outlook
    }

    /// Warnings for the user: labels and keys that the graph does not have, and the like.
    pub fn warnings(&self) -> &[String] {
        &self.run.shared.warnings
    }
}

impl Run {
    /// What each step has done so far, if that is counted.
    fn profile(&self) -> Option<Profile> {
        let mut profile = self.profile.clone()?;
        (profile.time, profile.results) = (self.began.elapsed(), self.given);
        self.shared.counters.iter().for_each(|counters| profile::read(&mut profile, counters));
        Some(profile)
    }

    fn next_items(&mut self, graph: &mut Graph<'_>) -> Result<Option<Items>> {
        let _span = tracing::debug_span!("run", query = %self.shared.trace()).entered();
        let items = match (self.done, &self.shared.computed) {
            (true, _) => Ok(None),
            (false, None) => self.pull_items(graph),
            (false, Some(computed)) => {
                let view = computed.clone().over(graph.view());
                self.pull_items(&mut Graph::Read(&view))
            }
        };
        if let Ok(Some(items)) = &items {
            self.given += items.len() as u64;
        }
        items
    }

    fn pull_items(&mut self, graph: &mut Graph<'_>) -> Result<Option<Items>> {
        if !self.pending.is_empty() {
            let stopped = Context { graph, shared: &mut self.shared }.check();
            self.done = stopped.is_err();
            return stopped.map(|()| Some(self.give())).map_err(|e| e.in_text(&self.text));
        }
        let mut context = Context { graph, shared: &mut self.shared };
        let pulled = context.check().and_then(|()| self.chain.pull(&mut context, &mut self.start));
        match pulled {
            Ok(Some(batch)) => {
                self.pending = batch;
                Ok(Some(self.give()))
            }
            Ok(None) => {
                self.done = true;
                Ok(None)
            }
            Err(error) => {
                self.done = true;
                Err(error.in_text(&self.text))
            }
        }
    }

    /// Takes a bounded number of items from the pending batch, one for each traverser.
    fn give(&mut self) -> Items {
        if self.pending.total() <= VALUES_MAX {
            return expand(std::mem::take(&mut self.pending));
        }
        let first = self.pending.bulk(0);
        if first <= VALUES_MAX {
            let fitting = (0..self.pending.len()).scan(0u64, |sum, row| {
                *sum = sum.saturating_add(self.pending.bulk(row));
                Some(*sum)
            });
            let rows = fitting.take_while(|sum| *sum <= VALUES_MAX).count();
            return expand(self.pending.split_front(rows));
        }
        if let Some(bulk) = &mut self.pending.bulk {
            bulk[0] -= VALUES_MAX;
        }
        Items::Values(vec![self.pending.value(0); VALUES_MAX as usize])
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(on_profile) = self.on_profile.take()
            && let Some(profile) = self.profile()
        {
            (on_profile.told)(&profile);
        }
    }
}

/// Whether nodes may run steps of a plan. They know no side effect of the query, and no property that it computes.
fn may_leave(plan: &Plan, one_by_one: bool) -> bool {
    !one_by_one && !plan.traversal.touches().1.any_of(Writes::GRAPH.and(Writes::COMPUTED))
}

/// What the nodes may do for a plan that they may run steps of.
fn nodes_role(plan: &Plan, mode: PathMode, fleet: &dyn Fleet, catalog: &dyn Catalog) -> NodesRole {
    let source = &plan.source;
    let is_bare = mode == PathMode::Off && source.sack.is_none() && !source.bulk_off && !source.mesh_off;
    let mesh = fleet.mesh().filter(|_| is_bare).map(MeshFleet::moved_min);
    let goes = mesh.is_some_and(|moved_min| at_start(&plan.traversal.steps, moved_min).is_some());
    // A path would begin with what only the nodes know.
    let may_begin = !source.fragments_off && !source.homes_off && mode != PathMode::Full && !goes;
    let homes = may_begin
        && match ids_at_start(&plan.traversal.steps) {
            Some(ids) => are_located(fleet, ids),
            None => !source.index_off && fleet.node_of_shard(0).is_some() && finds_few(&plan.traversal.steps, catalog),
        };
    NodesRole { fragments: !source.fragments_off, homes, mesh }
}

/// Whether it is known which nodes have the vertices with these ids.
fn are_located(fleet: &dyn Fleet, ids: &[Value]) -> bool {
    !ids.is_empty() && ids.iter().all(|id| fleet.node_of_id(id).is_some())
}

/// Whether steps begin with values that an index finds, and most likely with few elements that have them.
fn finds_few(steps: &[StepNode], catalog: &dyn Catalog) -> bool {
    let Some((of, predicate)) = lookup_at_start(steps).and_then(|lookup| lookup.sought(catalog)) else { return false };
    match catalog.schema().matches_max(of, predicate) {
        Some(most) => most <= FOUND_MAX as u64,
        None => steps[0].estimate.is_none_or(|expected| expected <= FOUND_MAX as f64) && !takes_first(&steps[1..]),
    }
}

/// How the nodes of a graph run a step, together with steps beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OnNodes {
    pub in_run: bool,
    pub meshed: Meshed,
}

/// For each step of a plan with estimates, in the order of its outline, how nodes run it.
pub(crate) fn on_nodes(plan: &Plan, fleet: &dyn Fleet, catalog: &dyn Catalog) -> Vec<OnNodes> {
    if !may_leave(plan, compile::one_by_one(plan)) {
        return Vec::new();
    }
    let role = nodes_role(plan, paths::path_mode(plan, plan.traversal.touches().0), fleet, catalog);
    let meshed = role.mesh.map_or(Vec::new(), |moved_min| in_mesh(&plan.traversal, moved_min));
    let runs = in_runs(&plan.traversal, role.homes);
    let how = |(at, in_run): (usize, bool)| {
        let meshed = meshed.get(at).copied().unwrap_or_default();
        OnNodes { in_run: in_run && role.fragments && meshed == Meshed::No, meshed }
    };
    runs.into_iter().enumerate().map(how).collect()
}

/// Whether the steps of a plan decide by their estimates what nodes do.
pub(crate) fn needs_estimates(plan: &Plan, fleet: &dyn Fleet) -> bool {
    !plan.source.mesh_off && fleet.mesh().is_some() && at_start(&plan.traversal.steps, 0.0).is_some()
}

/// Reads a batch of traversers from its bytes and writes it again; `None` if the bytes are no batch. For tests of the format.
pub fn batch_again(bytes: &[u8]) -> Option<Vec<u8>> {
    let (loops, batch) = sent::from_bytes(bytes)?;
    sent::to_bytes(&loops, &batch).ok()
}

/// One item for each traverser.
fn expand(batch: Batch) -> Items {
    let Some(bulk) = batch.bulk else { return batch.items };
    // Traversers with a common value share it. Rows of a column would each have a copy.
    let values = batch.items.into_values().into_iter().zip(bulk);
    Items::Values(values.flat_map(|(value, n)| std::iter::repeat_n(value, n as usize)).collect())
}
