//! Branches: `union`, `coalesce`, `optional`, `choose`, `branch`.
//!
//! If a branch holds a barrier, the step gathers all traversers of the scope first, as TinkerPop does. Otherwise nobody can see the
//! difference, and the step branches batch by batch.

use mangrove_graph::{Predicate, Value};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::modulators::by::ByOp;
use crate::execute::ops::barrier::gather_all;
use crate::execute::ops::map::rescoped;
use crate::execute::run::chain::{Child, Input, MapBatch, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::execute::run::portion::Portions;

/// Runs a branch for traversers that keep their scopes. Scopes without traversers take no part in its barriers.
fn run_branch(cx: &mut Context<'_, '_>, child: &mut Child, mut batch: Batch) -> Result<Batch> {
    if batch.is_empty() {
        return Ok(Batch::default());
    }
    let Some(scopes) = batch.scope.take() else { return child.run(cx, batch, 1) };
    let mut present: Vec<u32> = scopes.clone();
    present.sort_unstable();
    present.dedup();
    let dense = |scope: &u32| present.partition_point(|s| s < scope) as u32;
    batch.scope = Some(scopes.iter().map(dense).collect());
    let mut out = child.run(cx, batch, present.len())?;
    out.scope = Some((0..out.len()).map(|row| present[out.scope(row)]).collect());
    Ok(out)
}

/// `union(…)`.
pub struct UnionOp {
    children: Vec<Child>,
    taking: Taking,
}

impl UnionOp {
    pub fn new(children: Vec<Child>, barrier: bool) -> Self {
        Self { children, taking: Taking::new(barrier) }
    }
}

/// How a branching step takes its traversers.
enum Taking {
    All(Held),
    Portions(Portions),
}

impl Taking {
    fn new(barrier: bool) -> Self {
        if barrier { Taking::All(Held::default()) } else { Taking::Portions(Portions::default()) }
    }

    /// The traversers to branch next; an empty batch at the end.
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Batch> {
        match self {
            Taking::All(held) => {
                held.clear();
                gather_all(cx, input, held)
            }
            Taking::Portions(portions) => portions.next(cx, input),
        }
    }

    fn became(&mut self, rows: usize, given: usize) {
        if let Taking::Portions(portions) = self {
            portions.became(rows, given);
        }
    }

    fn reset(&mut self) {
        match self {
            Taking::All(held) => held.clear(),
            Taking::Portions(portions) => portions.clear(),
        }
    }
}

impl Op for UnionOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            let batch = self.taking.next(cx, input)?;
            if batch.is_empty() {
                return Ok(None);
            }
            let mut out = Batch::default();
            for child in &mut self.children {
                out.append(run_branch(cx, child, batch.clone())?);
            }
            self.taking.became(batch.len(), out.len());
            if !out.is_empty() {
                return Ok(Some(out));
            }
        }
    }

    fn reset(&mut self, _: usize) {
        self.taking.reset();
    }
}

/// `coalesce(…)`: for each traverser, the results of the first traversal that gives any.
pub struct CoalesceOp(pub Vec<Child>);

impl MapBatch for CoalesceOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut open: Vec<u32> = (0..batch.len() as u32).collect();
        let mut found: Vec<(u32, Value, u64)> = Vec::new();
        for child in &mut self.0 {
            if open.is_empty() {
                break;
            }
            let results = child.run_rows(cx, &batch.gather(&open))?;
            let mut answered = vec![false; open.len()];
            for row in 0..results.len() {
                let scope = results.scope(row);
                answered[scope] = true;
                found.push((open[scope], results.value(row), results.bulk(row)));
            }
            open = open.into_iter().zip(answered).filter(|(_, answered)| !answered).map(|(row, _)| row).collect();
        }
        found.sort_by_key(|(row, _, _)| *row);
        let rows: Vec<u32> = found.iter().map(|(row, _, _)| *row).collect();
        let bulks: Vec<u64> = found.iter().map(|(row, _, n)| n.saturating_mul(batch.bulk(*row as usize))).collect();
        let items = Items::from_values(found.into_iter().map(|(_, value, _)| value).collect());
        let mut out = batch.moved(&rows, items, cx.mode());
        out.bulk = bulks.iter().any(|n| *n != 1).then_some(bulks);
        Ok(out)
    }
}

/// `optional(t)`: the results of `t`, or the traverser itself if `t` gives nothing.
pub struct OptionalOp(pub Child);

impl MapBatch for OptionalOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let out = self.0.run_rows(cx, &batch)?;
        let mut answered = vec![false; batch.len()];
        (0..out.len()).for_each(|row| answered[out.scope(row)] = true);
        let left: Vec<u32> = (0..batch.len() as u32).filter(|row| !answered[*row as usize]).collect();
        let mut all = rescoped(out, &batch);
        if !left.is_empty() {
            all.append(batch.gather(&left));
        }
        Ok(all)
    }
}

/// Decides which options of `choose` apply.
pub enum PickOp {
    Any,
    None,
    Unproductive,
    Value(Value),
    Predicate(Predicate),
    Child(Child),
}

pub enum ConditionOp {
    By(ByOp),
    Predicate(Predicate),
}

/// `choose(…).option(…)`, `branch(…).option(…)`.
pub struct ChooseOp {
    condition: ConditionOp,
    options: Vec<(PickOp, Child)>,
    /// `branch`: a traverser takes every option that fits. If none fits, it is dropped.
    all: bool,
    taking: Taking,
}

impl ChooseOp {
    pub fn new(condition: ConditionOp, options: Vec<(PickOp, Child)>, all: bool, barrier: bool) -> Self {
        Self { condition, options, all, taking: Taking::new(barrier) }
    }

    /// The options that each row takes; empty if none fits.
    fn route(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Vec<Vec<usize>>> {
        let values = match &mut self.condition {
            ConditionOp::By(by) => by.eval(cx, batch)?,
            ConditionOp::Predicate(predicate) => {
                (0..batch.len()).map(|row| Some(Value::Bool(predicate.matches(&batch.value(row))))).collect()
            }
        };
        values.into_iter().map(|value| self.routes_of(cx, value)).collect()
    }

    fn routes_of(&mut self, cx: &mut Context<'_, '_>, value: Option<Value>) -> Result<Vec<usize>> {
        let mut fitting = Vec::new();
        let mut any = Vec::new();
        for (at, (pick, _)) in self.options.iter_mut().enumerate() {
            let fits = match (pick, &value) {
                (PickOp::Any, _) => {
                    any.push(at);
                    false
                }
                (PickOp::Value(wanted), Some(value)) => mangrove_graph::compare::equals(value, wanted),
                (PickOp::Predicate(predicate), Some(value)) => predicate.matches(value),
                (PickOp::Child(child), Some(value)) => {
                    let mut one = Batch::new(Items::from_values(vec![value.clone()]));
                    one.paths = cx.mode().has_paths().then(|| vec![None]);
                    child.exists(cx, &one)?.contains(&true)
                }
                (PickOp::Unproductive, None) => true,
                _ => false,
            };
            if fits && (self.all || fitting.is_empty()) {
                fitting.push(at);
            }
        }
        if fitting.is_empty() && (value.is_some() || self.all) {
            let none = self.options.iter().position(|(pick, _)| matches!(pick, PickOp::None));
            fitting.extend(none);
        }
        if self.all {
            fitting.extend(any);
        }
        Ok(fitting)
    }

    fn branch(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let routes = self.route(cx, &batch)?;
        let mut out = Batch::default();
        for at in 0..self.options.len() {
            let rows: Vec<u32> = (0..batch.len() as u32).filter(|row| routes[*row as usize].contains(&at)).collect();
            if !rows.is_empty() {
                out.append(run_branch(cx, &mut self.options[at].1, batch.gather(&rows))?);
            }
        }
        if !self.all {
            let through: Vec<u32> = (0..batch.len() as u32).filter(|row| routes[*row as usize].is_empty()).collect();
            if !through.is_empty() {
                out.append(batch.gather(&through));
            }
        }
        Ok(out)
    }
}

impl Op for ChooseOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            let batch = self.taking.next(cx, input)?;
            if batch.is_empty() {
                return Ok(None);
            }
            let rows = batch.len();
            let out = self.branch(cx, batch)?;
            self.taking.became(rows, out.len());
            if !out.is_empty() {
                return Ok(Some(out));
            }
        }
    }

    fn reset(&mut self, _: usize) {
        self.taking.reset();
    }
}
