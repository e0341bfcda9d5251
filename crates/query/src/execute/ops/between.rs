//! `repeat(out()).until(hasId(x)).limit(1)`: a shortest way between two vertices, searched from both ends.
//!
//! It gives what the rounds of the `repeat` would give first. If more than one traverser comes, or if it stands on a target, the
//! `repeat` itself runs.

use std::collections::VecDeque;

use hashbrown::HashMap;
use mangrove_graph::{Value, VertexId};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::path;
use crate::execute::ops::ends::{Follow, HopEdges, Ways, ways};
use crate::execute::ops::repeat::RepeatOp;
use crate::execute::run::chain::{Child, Input, Op, reduced};
use crate::execute::run::context::Context;
use crate::plan::paths::PathMode;

/// More targets than this are looked for by the `repeat` itself.
const TARGETS_MAX: usize = 16;

pub struct BetweenOp {
    ordinary: RepeatOp,
    /// Gives all vertices that end the search.
    targets: Child,
    edges: HopEdges,
    /// A way to the nearest target is enough; otherwise there must be one target only.
    nearest_only: bool,
    begun: bool,
    /// Input that the `repeat` is still to see.
    pending: VecDeque<Batch>,
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
    pub fn new(ordinary: RepeatOp, targets: Child, edges: HopEdges, nearest_only: bool) -> Self {
        Self { ordinary, targets, edges, nearest_only, begun: false, pending: VecDeque::new() }
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

    /// What the search gives; the outer `None` means that the `repeat` itself has to run.
    fn between(&mut self, cx: &mut Context<'_, '_>, batch: &Batch, source: VertexId) -> Result<Option<Option<Batch>>> {
        let found = self.targets.run(cx, reduced(vec![Value::Null], cx.mode(), None), 1)?;
        let Some(targets) = found.vertices().or(found.is_empty().then_some(&[])) else { return Ok(None) };
        let most = if self.nearest_only { TARGETS_MAX } else { 1 };
        if targets.len() > most || targets.contains(&source) {
            return Ok(None);
        }
        let Some(ways) = ways(cx, source, targets, &mut self.edges, f64::INFINITY)? else { return Ok(Some(None)) };
        let way = match &ways.ends[..] {
            [end] if cx.mode() != PathMode::Full => vec![*end],
            _ => self.first_way(cx, source, &ways)?,
        };
        let mode = cx.mode();
        let moved = |batch: Batch, vertex| batch.moved_in_place(Items::Vertices(vec![vertex]), mode);
        Ok(Some(Some(way.into_iter().fold(batch.clone(), moved))))
    }

    /// The way that rounds would find first: at each vertex, the first edge that leads on a shortest way.
    fn first_way(&mut self, cx: &mut Context<'_, '_>, source: VertexId, ways: &Ways) -> Result<Vec<VertexId>> {
        let mut after: HashMap<VertexId, Vec<VertexId>> = HashMap::new();
        for (vertex, before) in &ways.before {
            before.iter().for_each(|(before, _)| after.entry(*before).or_default().push(*vertex));
        }
        let (mut way, mut at) = (Vec::new(), source);
        while let Some(nexts) = after.get(&at) {
            let leads = self.edges.follow(cx, &[at], false)?;
            let Some(next) = leads.into_iter().map(|lead| lead.other).find(|other| nexts.contains(other)) else { break };
            way.push(next);
            at = next;
        }
        Ok(way)
    }
}
