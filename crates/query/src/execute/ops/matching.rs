//! `match()`: runs the patterns in the order of the plan. Each starts from a label that is already bound.
//!
//! Bindings live in the path as labels, so a pattern is a child traversal that runs for a whole batch. It starts from the object of
//! its start label. Its results bind the end label, or are compared with it if it is already bound.

use hashbrown::HashSet;
use mangrove_graph::{Map, Value};

use crate::error::Result;
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::items::Items;
use crate::execute::data::path;
use crate::execute::run::chain::{Child, Input, Op};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;
use crate::execute::run::portion::Portions;
use crate::plan::paths::PathMode;
use crate::plan::{Name, Pop};

pub enum PatternOp {
    Path(BoundPath),
    Any(AnyOp),
}

impl PatternOp {
    fn apply(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        match self {
            PatternOp::Path(path) => path.apply(cx, batch),
            PatternOp::Any(any) => any.apply(cx, batch),
        }
    }

    /// Appends the labels that it starts from and those that it binds.
    fn labels(&self, labels: &mut Vec<Name>) {
        let mut add = |name: &Name| {
            if !labels.contains(name) {
                labels.push(name.clone());
            }
        };
        match self {
            PatternOp::Path(path) => path.start.iter().chain(&path.end).for_each(&mut add),
            PatternOp::Any(any) => any.labels.iter().for_each(add),
        }
    }
}

/// Goes through the patterns depth first. It follows the results of one portion to the last pattern before it takes the next
/// portion. So it holds no more than one portion per pattern.
pub struct MatchOp {
    patterns: Vec<PatternOp>,
    labels: Vec<Name>,
    /// The input that still waits, for each pattern.
    waiting: Vec<Waiting>,
}

#[derive(Default)]
struct Waiting {
    portions: Portions,
    held: Held,
}

impl MatchOp {
    pub fn new(patterns: Vec<PatternOp>) -> Self {
        let mut labels = Vec::new();
        patterns.iter().for_each(|pattern| pattern.labels(&mut labels));
        let waiting = patterns.iter().map(|_| Waiting::default()).collect();
        Self { patterns, labels, waiting }
    }

    fn maps(&self, cx: &Context<'_, '_>, batch: Batch) -> Batch {
        let maps = (0..batch.len()).map(|row| self.bindings(&batch, row)).collect();
        batch.moved_in_place(Items::Values(maps), cx.mode())
    }

    fn bindings(&self, batch: &Batch, row: usize) -> Value {
        let bound = |name: &Name| binding(batch, row, name).map(|value| (Value::String(name.clone()), value));
        Value::map(Map::from_distinct(self.labels.iter().filter_map(bound).collect()))
    }
}

impl Op for MatchOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            let Some(at) = self.waiting.iter().rposition(|waiting| !waiting.portions.is_empty()) else {
                let Some(batch) = input.pull(cx)? else { return Ok(None) };
                match self.waiting.first_mut() {
                    Some(first) => first.feed(cx, batch)?,
                    None => return Ok(Some(self.maps(cx, batch))),
                }
                continue;
            };
            let portion = self.waiting[at].portions.take(cx)?;
            let rows = portion.len();
            let given = self.patterns[at].apply(cx, portion)?;
            self.waiting[at].portions.became(rows, given.len());
            match self.waiting.get_mut(at + 1) {
                _ if given.is_empty() => {}
                Some(next) => next.feed(cx, given)?,
                None => return Ok(Some(self.maps(cx, given))),
            }
        }
    }

    fn reset(&mut self, _: usize) {
        for waiting in &mut self.waiting {
            waiting.portions.clear();
            waiting.held.clear();
        }
    }
}

impl Waiting {
    fn feed(&mut self, cx: &Context<'_, '_>, batch: Batch) -> Result<()> {
        self.held.clear();
        self.held.add_batch(cx, &batch)?;
        self.portions.feed(batch);
        Ok(())
    }
}

fn apply_all(patterns: &mut [PatternOp], cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
    for pattern in patterns {
        if batch.is_empty() {
            break;
        }
        batch = pattern.apply(cx, batch)?;
    }
    Ok(batch)
}

fn binding(batch: &Batch, row: usize, name: &str) -> Option<Value> {
    path::select(batch.path(row), name, Pop::Last)
}

/// `as('a').….as('b')`, or a filter.
pub struct BoundPath {
    pub start: Option<Name>,
    pub binds_start: bool,
    pub child: Child,
    pub end: Option<Name>,
}

impl BoundPath {
    fn apply(&mut self, cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        let Some(start) = self.start.clone() else {
            let keep = self.child.exists(cx, &batch)?;
            return Ok(batch.filter(&keep));
        };
        if self.binds_start {
            let unbound = (0..batch.len()).all(|row| binding(&batch, row, &start).is_none());
            if unbound {
                batch.label(std::slice::from_ref(&start), cx.mode());
            }
        }
        let (rows, values): (Vec<u32>, Vec<Value>) =
            (0..batch.len()).filter_map(|row| Some((row as u32, binding(&batch, row, &start)?))).unzip();
        let standing = batch.gather(&rows).standing_on(Items::from_values(values));
        let Some(end) = self.end.clone() else {
            let keep = self.child.exists(cx, &standing)?;
            return Ok(standing.filter(&keep));
        };
        let found = self.child.run_rows(cx, &standing)?;
        let mut moves = Moves::default();
        let mut bulks = Vec::new();
        let mut compared = Vec::new();
        let mut held = Held::default();
        held.add_batch(cx, &found)?;
        for at in 0..found.len() {
            if at.is_multiple_of(ROWS_UNASKED) {
                cx.check()?;
            }
            let row = found.scope(at);
            let value = found.value(at);
            match binding(&standing, row, &end) {
                Some(bound) if bound != value => continue,
                bound => compared.push(bound.is_some()),
            }
            moves.push(row, value);
            bulks.push(found.bulk(at).saturating_mul(standing.bulk(row)));
        }
        let mut out = standing.gather(&moves.rows).standing_on(Items::from_values(moves.values));
        out.bulk = bulks.iter().any(|n| *n != 1).then_some(bulks);
        bind(&mut out, &end, &compared);
        held.add_batch(cx, &out)?;
        Ok(out)
    }
}

/// Rows between two checks for a stop.
const ROWS_UNASKED: usize = 1 << 12;

/// Gives the end label to the items of the rows that had not bound it.
fn bind(batch: &mut Batch, end: &Name, bound: &[bool]) {
    let items = batch.items.clone();
    if let Some(paths) = &mut batch.paths {
        for (row, path) in paths.iter_mut().enumerate().filter(|(row, _)| !bound[*row]) {
            let extended = path::extend(path, items.get(row));
            *path = path::label(&extended, &items.get(row), std::slice::from_ref(end), PathMode::Full);
        }
    }
}

/// `or(…)`: alternatives of which at least one must hold. Alternatives with the same bindings give one result.
pub struct AnyOp {
    ways: Vec<Vec<PatternOp>>,
    labels: Vec<Name>,
}

impl AnyOp {
    pub fn new(ways: Vec<Vec<PatternOp>>) -> Self {
        let mut labels = Vec::new();
        ways.iter().flatten().for_each(|pattern| pattern.labels(&mut labels));
        Self { ways, labels }
    }

    fn apply(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        // While the alternatives run, the scope of a row is the row it came from.
        let numbered = Batch { scope: Some((0..batch.len() as u32).collect()), ..batch.clone() };
        let mut all = Batch::default();
        for way in &mut self.ways {
            all.append(apply_all(way, cx, numbered.clone())?);
        }
        let mut seen = HashSet::new();
        let mut rows: Vec<u32> = (0..all.len() as u32).collect();
        rows.retain(|row| {
            let row = *row as usize;
            let bindings: Vec<Option<Value>> = self.labels.iter().map(|name| binding(&all, row, name)).collect();
            seen.insert((all.scope(row), bindings))
        });
        rows.sort_by_key(|row| all.scope(*row as usize));
        let mut out = all.gather(&rows);
        out.scope =
            batch.scope.is_some().then(|| rows.iter().map(|row| batch.scope(all.scope(*row as usize)) as u32).collect());
        Ok(out)
    }
}
