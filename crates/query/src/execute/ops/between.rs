//! `repeat(out()).until(hasId(x)).limit(1)`: a shortest way between two vertices, searched from both ends.
//!
//! It gives what the rounds of the `repeat` would give first. If more than one traverser comes, or if the targets are many, the `repeat`
//! itself runs.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{Value, VertexId};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::path;
use crate::execute::ops::ends::{Follow, HopEdges, Ways, ways};
use crate::execute::ops::repeat::RepeatOp;
use crate::execute::run::chain::{Child, Input, Once, Op, reduced};
use crate::execute::run::context::Context;
use crate::plan::Goal;
use crate::plan::paths::PathMode;

/// More targets than this are looked for by the `repeat` itself.
const TARGETS_MAX: usize = 16;

pub struct BetweenOp {
    ordinary: RepeatOp,
    /// Gives all vertices that end the search.
    targets: Child,
    edges: HopEdges,
    wanted: Wanted,
    begun: bool,
    /// Input that the `repeat` is still to see.
    pending: VecDeque<Batch>,
}

/// What the `repeat` is to find.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// A way to the nearest target is enough; otherwise there must be one target only.
    nearest_only: bool,
    is_simple: bool,
    /// A traverser that stands on a target is there already.
    may_stay: bool,
}

impl Wanted {
    pub fn of(goal: &Goal, until_first: bool) -> Self {
        Self { nearest_only: goal.nearest_only, is_simple: goal.is_simple, may_stay: until_first }
    }
}

/// What was pulled before, and then further input.
struct Rest<'i> {
    pending: &'i mut VecDeque<Batch>,
    input: &'i mut dyn Input,
}

impl Input for Rest<'_> {
    fn pull(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Batch>> {
        match self.pending.pop_front() {
            Some(batch) => Ok(Some(batch)),
            None => self.input.pull(cx),
        }
    }
}

impl Op for BetweenOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if !std::mem::replace(&mut self.begun, true) {
            match self.source(cx, input)? {
                Some((batch, source)) => match self.between(cx, &batch, source)? {
                    Some(found) => return Ok(found),
                    None => self.pending.push_back(batch),
                },
                None if self.pending.is_empty() => return Ok(None),
                None => {}
            }
        }
        self.ordinary.next(cx, &mut Rest { pending: &mut self.pending, input })
    }

    fn reset(&mut self, scopes: usize) {
        self.ordinary.reset(scopes);
        self.begun = false;
        self.pending.clear();
    }
}

impl BetweenOp {
    pub fn new(ordinary: RepeatOp, targets: Child, edges: HopEdges, wanted: Wanted) -> Self {
        Self { ordinary, targets, edges, wanted, begun: false, pending: VecDeque::new() }
    }

    /// The only traverser, and the vertex that it stands on. Otherwise what came is pending.
    fn source(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<(Batch, VertexId)>> {
        let Some(first) = input.pull(cx)? else { return Ok(None) };
        let is_alone = first.len() == 1 && first.bulk(0) == 1;
        // A path that began earlier must not meet itself.
        let begins_here = path::iter(first.path(0)).nth(1).is_none();
        if let (Value::Vertex(source), true) = (first.value(0), is_alone && begins_here) {
            match input.pull(cx)? {
                None => return Ok(Some((first, source))),
                Some(second) => self.pending.extend([first, second]),
            }
        } else {
            self.pending.push_back(first);
        }
        Ok(None)
    }

    /// All targets; `None` if they are too many.
    fn targets(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<Vec<VertexId>>> {
        let most = if self.wanted.nearest_only { TARGETS_MAX } else { 1 };
        let mut start = Once::new(reduced(vec![Value::Null], cx.mode(), None));
        let mut targets = Vec::new();
        self.targets.begin(1);
        while let Some(found) = self.targets.pull(cx, &mut start)? {
            let Some(found) = found.vertices() else { return Ok(None) };
            targets.extend(found);
            if targets.len() > most {
                return Ok(None);
            }
        }
        Ok(Some(targets))
    }

    /// What the search gives; the outer `None` means that the `repeat` itself has to run.
    fn between(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, source: VertexId) -> Result<Option<Option<Batch>>> {
        let Some(mut targets) = self.targets(cx)? else { return Ok(None) };
        let stands_on_one = targets.contains(&source);
        if stands_on_one && self.wanted.may_stay {
            return Ok(Some(Some(batch.clone())));
        }
        if stands_on_one && self.wanted.is_simple {
            targets.retain(|target| *target != source);
        }
        let way = match targets.contains(&source) {
            true => self.way_round(cx, source, &targets)?,
            false => self.way(cx, &[source], &targets)?.map(|mut way| way.split_off(1)),
        };
        let mode = cx.mode();
        let moved = |batch: Batch, vertex| batch.moved_in_place(Items::Vertices(vec![vertex]), mode);
        Ok(Some(way.map(|way| way.into_iter().fold(batch.clone(), moved))))
    }

    /// The way that rounds would find first from a target to one, over an edge at least.
    fn way_round(
        &mut self,
        cx: &mut Context<'_, '_>,
        source: VertexId,
        targets: &[VertexId],
    ) -> Result<Option<Vec<VertexId>>> {
        let mut next: Vec<VertexId> = self.edges.follow(cx, &[source], false)?.into_iter().map(|lead| lead.other).collect();
        if let Some(target) = next.iter().find(|next| targets.contains(next)) {
            return Ok(Some(vec![*target]));
        }
        let mut seen = HashSet::new();
        next.retain(|vertex| seen.insert(*vertex));
        self.way(cx, &next, targets)
    }

    /// The way that rounds would find first from some vertices, in this order, to a target. It begins with one of them. If nobody sees
    /// paths, it may lack what is between.
    fn way(&mut self, cx: &mut Context<'_, '_>, from: &[VertexId], targets: &[VertexId]) -> Result<Option<Vec<VertexId>>> {
        let Some(ways) = ways(cx, from, targets, &mut self.edges, f64::INFINITY)? else { return Ok(None) };
        match &ways.ends[..] {
            [end] if cx.mode() != PathMode::Full => Ok(Some(vec![from[0], *end])),
            _ => self.first_way(cx, from, &ways).map(Some),
        }
    }

    /// The way that rounds would find first: at each vertex, the first edge that leads on a shortest way.
    fn first_way(&mut self, cx: &mut Context<'_, '_>, from: &[VertexId], ways: &Ways) -> Result<Vec<VertexId>> {
        let mut after: HashMap<VertexId, Vec<VertexId>> = HashMap::new();
        for (vertex, before) in &ways.before {
            before.iter().for_each(|(before, _)| after.entry(*before).or_default().push(*vertex));
        }
        let Some(first) = from.iter().find(|vertex| after.contains_key(*vertex)) else { return Ok(Vec::new()) };
        let (mut way, mut at) = (vec![*first], *first);
        while let Some(nexts) = after.get(&at) {
            let leads = self.edges.follow(cx, &[at], false)?;
            let Some(next) = leads.into_iter().map(|lead| lead.other).find(|other| nexts.contains(other)) else { break };
            way.push(next);
            at = next;
        }
        Ok(way)
    }
}
