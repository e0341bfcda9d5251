//! Steps that traversers take from node to node.
//!
//! ```text
//!   input ──┬─ elements of part a ──▶ node a: run ─┐     ┌─ run ─┐
//!           │                                      ├ ─ ─ ┤       ├─▶ results, in any order
//!           └─ elements of part b ──▶ node b: run ─┘     └─ run ─┘
//! ```
//! The query sends each node the steps and its elements, and hears of them again when all stages are done. [`mesh`](crate::plan::mesh)
//! says which steps these are, and [`stages`](super::stages) is the part of a node.
//!
//! If the nodes do not all come to their ends without an error, the steps run here. So results and errors are the same as without nodes.

use std::time::Instant;

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::frame::{merged, split};
use crate::execute::data::items::Items;
use crate::execute::data::message::{Answer, MessageHead, message};
use crate::execute::ops::barrier::gather_all;
use crate::execute::run::chain::{Chain, Input, Once, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::{HasBudget, Held};
use crate::fleet::{MeshFleet, MeshRan};
use crate::plan::mesh::Mesh;
use crate::plan::parts::Parts;
use crate::plan::paths::PathMode;
use crate::plan::{Plan, SourceConfig, Step};
use crate::profile::Messages;

/// What a map takes, at most, beside its parts.
const MAP_TIMES: usize = 4;

pub struct MeshOp {
    plan: Plan,
    /// How the parts of the barrier become one.
    parts: Option<Parts>,
    /// The row of the last step in the plan's outline.
    row: usize,
    /// The same steps here, and what they begin with.
    here: Chain,
    start: Option<Once>,
    /// The memory of what they begin with.
    held: Held,
    done: bool,
}

impl MeshOp {
    /// `here` are the steps of the mesh for this process. If the parts are those of a map, the partial step is one of them.
    pub fn new(mesh: &Mesh<'_>, source: &SourceConfig, here: Chain) -> Self {
        let source = SourceConfig { side_effects: Vec::new(), sack: None, warnings: Vec::new(), ..source.clone() };
        let row = mesh.steps.last().map_or(0, |node| node.row);
        let plan = Plan { source, traversal: mesh.traversal() };
        Self { plan, parts: mesh.parts(), row, here, start: None, held: Held::default(), done: false }
    }

    /// What the nodes make of it; `None` if it is to be run here.
    fn run_there(&self, cx: &mut Context<'_, '_>, start: &Batch) -> Result<Option<Batch>> {
        let Some(fleet) = cx.shared.fleet.clone() else { return Ok(None) };
        let Some(nodes) = fleet.mesh() else { return Ok(None) };
        let Some(messages) = self.messages(cx, nodes, start) else { return Ok(None) };
        let began = Instant::now();
        let (sent, ran) = (messages.len(), nodes.run_all(messages, &cx.shared.limits()));
        cx.check()?; // a query that stops does not go on here
        let Some(MeshRan { answers, messages, bytes }) = ran.filter(|ran| ran.answers.len() == sent) else {
            return Ok(None);
        };
        // A sort takes the first of each part, so all parts must have been told apart in the same way.
        let is_sorted = matches!(self.parts, Some(Parts::First { .. }));
        let are_told_apart = |given: &Batch| !is_sorted || given.is_empty() || given.items.kind_told_apart().is_some();
        // Each key of a map takes more in the barrier than beside its partial value.
        let times = if self.parts.is_some_and(Parts::is_map) { MAP_TIMES } else { 1 };
        let given = given(cx, answers, times).filter(are_told_apart);
        if let Some(counters) = &cx.shared.counters {
            counters[self.row].cut_up(Messages { sent: messages, bytes, ..Messages::default() });
            if let Some(given) = &given {
                counters[self.row].ran(began.elapsed().as_nanos() as u64);
                counters[self.row].gave(given);
            }
        }
        Ok(given)
    }

    /// The message to each part; `None` if it cannot travel.
    fn messages(&self, cx: &Context<'_, '_>, nodes: &dyn MeshFleet, start: &Batch) -> Option<Vec<Vec<u8>>> {
        let plan = self.plan.to_bytes().ok()?;
        let bytes_max = cx.budget().bytes_max() as u64;
        let head = MessageHead { mode: PathMode::Off, may_go_deep: cx.shared.may_go_deep, bytes_max };
        let parts = match self.plan.traversal.steps.first().map(|node| &node.step) {
            Some(Step::Scan { .. }) => vec![Batch::new(Items::Vertices(Vec::new())); nodes.parts()],
            _ => split(&merged(start.clone())?, nodes)?,
        };
        parts.iter().map(|part| message(head, &plan, part)).collect()
    }
}

/// The results of all parts; `None` if some cannot be read, or if they are too large so many times.
fn given(cx: &mut Context<'_, '_>, answers: Vec<Vec<u8>>, times: usize) -> Option<Batch> {
    let answers: Vec<_> = answers.iter().map(|answer| Answer::from_bytes(answer, 1)).collect::<Option<_>>()?;
    let mut results = Vec::with_capacity(answers.len());
    for Answer { warnings, results: batch, .. } in answers {
        warnings.into_iter().for_each(|warning| cx.warn(warning));
        results.push(Batch { scope: None, ..batch });
    }
    results.retain(|batch| !batch.is_empty());
    Some(Batch::joined(results)).filter(|given| cx.fits(given.bytes().saturating_mul(times)).is_ok())
}

impl Op for MeshOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if let Some(start) = &mut self.start {
            return self.here.pull(cx, start);
        }
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let start = gather_all(cx, input, &mut self.held)?;
        if start.is_empty() {
            return Ok(None);
        }
        if let Some(given) = self.run_there(cx, &start)? {
            self.held.clear();
            return Ok(Some(given).filter(|given| !given.is_empty()));
        }
        self.here.reset(1);
        self.here.pull(cx, self.start.insert(Once::new(start)))
    }

    fn reset(&mut self, scopes: usize) {
        self.start = None;
        self.held.clear();
        self.done = false;
        self.here.reset(scopes);
    }
}
