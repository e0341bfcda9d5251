//! Runs Gremlin in the plainest way, from the plan as resolved. Tests compare the engine with it.
//!
//! ```text
//!   resolve ────────┬── optimize ── execute (batches, bulks, columns) ── results ──┐
//!                   └── this module (one traverser at a time) ──────── results ──┴── the same multiset
//! ```
//!
//! Read it beside TinkerPop's reference. It shares no code with the engine's experts. From `mangrove_query` it uses only the types
//! of the plan; from `mangrove_graph` only values, their order, and predicates.
//!
//! 1. A traverser stands only for itself; there are no bulks.
//! 2. A traverser keeps its whole path, even if no step reads it.
//! 3. A step takes a list of traversers, and finishes all of them before the next step begins. So this module cannot reproduce what
//!    depends on steps taking turns: a side effect read while it grows, an error behind a `limit`.
//! 4. A child traversal for one traverser runs on a list of one.

mod barriers;
mod branches;
mod by;
mod elements;
mod filters;
mod functions;
mod numbers;
mod past;
mod side_effects;
mod topology;
mod values;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use mangrove_graph::{GraphError, GraphView, Value};
use mangrove_query::QueryErrorKind;
use mangrove_query::plan::{Name, Plan, Scope, SourceConfig, Step, Traversal};

use side_effects::SideEffect;

/// Why there are no results.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// The query is wrong. The engine must report that too.
    Error(QueryErrorKind, String),
    /// The query takes more traversers than allowed.
    TooMuch,
    /// This interpreter does not know a step.
    Uncovered(String),
}

impl Failure {
    fn value(message: impl Into<String>) -> Self {
        Failure::Error(QueryErrorKind::Value, message.into())
    }

    fn met(step: &str, value: &Value) -> Self {
        Self::value(format!("{step} met the {} {value}", value.value_type()))
    }
}

impl From<GraphError> for Failure {
    fn from(error: GraphError) -> Self {
        Failure::Error(QueryErrorKind::Graph, error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(kind, message) => write!(f, "{kind:?}: {message}"),
            Failure::TooMuch => f.write_str("too many traversers"),
            Failure::Uncovered(step) => write!(f, "the interpreter has no {step}"),
        }
    }
}

type Result<T, E = Failure> = std::result::Result<T, E>;

/// The results of an unoptimised plan, in order. Gives up beyond `traversers_max` traversers in all.
pub fn interpret(plan: &Plan, view: &dyn GraphView, traversers_max: usize) -> Result<Vec<Value>> {
    let mut interpreter = Interpreter::new(plan, view, traversers_max);
    let start = Traverser { start: true, ..interpreter.fresh(Value::Null) };
    let start = Traverser { path: Vec::new(), ..start };
    let done = interpreter.chain(&plan.traversal, vec![start])?;
    Ok(done.into_iter().map(|traverser| traverser.value).collect())
}

#[derive(Clone, Debug)]
struct Traverser {
    value: Value,
    path: Vec<Stop>,
    sack: Option<Value>,
    /// The repeats around it, outermost first: the name, and the number of rounds done.
    loops: Vec<(Option<Name>, u64)>,
    /// It is the initial traverser of a query, which `inject` replaces.
    start: bool,
}

/// An object that a traverser has visited, and the labels that `as()` gave it there.
#[derive(Clone, Debug)]
struct Stop {
    object: Value,
    labels: Vec<Name>,
}

impl Traverser {
    /// The traverser after a move to `value`.
    fn moved(&self, value: Value) -> Self {
        let mut next = Self { value: value.clone(), start: false, ..self.clone() };
        next.path.push(Stop { object: value, labels: Vec::new() });
        next
    }

    fn label(&mut self, names: &[Name]) {
        if names.is_empty() {
            return;
        }
        if self.path.is_empty() {
            self.path.push(Stop { object: self.value.clone(), labels: Vec::new() });
        }
        if let Some(stop) = self.path.last_mut() {
            names.iter().for_each(|name| {
                if !stop.labels.contains(name) {
                    stop.labels.push(name.clone());
                }
            });
        }
    }
}

/// The values that the `dedup` steps of a body have seen, by position of the step. A `repeat` keeps them across rounds.
type Seen = HashMap<usize, HashSet<Value>>;

struct Interpreter<'a> {
    view: &'a dyn GraphView,
    source: &'a SourceConfig,
    side_effects: BTreeMap<Name, SideEffect>,
    /// The traversers that `group('x')` holds for each key, in order of the keys' first appearance.
    groups: BTreeMap<Name, Vec<(Value, Vec<Traverser>)>>,
    traversers_left: usize,
}

impl<'a> Interpreter<'a> {
    fn new(plan: &'a Plan, view: &'a dyn GraphView, traversers_max: usize) -> Self {
        Self {
            view,
            source: &plan.source,
            side_effects: side_effects::registered(plan),
            groups: BTreeMap::new(),
            traversers_left: traversers_max,
        }
    }

    /// A traverser on `value` without a past.
    fn fresh(&self, value: Value) -> Traverser {
        let path = vec![Stop { object: value.clone(), labels: Vec::new() }];
        let sack = self.source.sack.as_ref().map(|sack| sack.initial.clone());
        Traverser { value, path, sack, loops: Vec::new(), start: false }
    }

    fn chain(&mut self, traversal: &Traversal, traversers: Vec<Traverser>) -> Result<Vec<Traverser>> {
        self.round(traversal, traversers, &mut Seen::new())
    }

    /// Runs a chain that may have run before; `seen` is its memory.
    fn round(&mut self, traversal: &Traversal, mut traversers: Vec<Traverser>, seen: &mut Seen) -> Result<Vec<Traverser>> {
        for (at, node) in traversal.steps.iter().enumerate() {
            traversers = match &node.step {
                Step::Dedup { labels, by, scope: Scope::Global } => {
                    self.dedup(labels, by, traversers, seen.entry(at).or_default())?
                }
                step => self.step(step, traversers)?,
            };
            self.traversers_left = self.traversers_left.checked_sub(traversers.len()).ok_or(Failure::TooMuch)?;
            traversers.iter_mut().for_each(|traverser| traverser.label(&node.labels));
        }
        Ok(traversers)
    }

    /// The results of a child for one traverser.
    fn child(&mut self, child: &Traversal, traverser: &Traverser) -> Result<Vec<Traverser>> {
        self.chain(child, vec![traverser.clone()])
    }

    fn first(&mut self, child: &Traversal, traverser: &Traverser) -> Result<Option<Value>> {
        Ok(self.child(child, traverser)?.into_iter().next().map(|found| found.value))
    }

    fn exists(&mut self, child: &Traversal, traverser: &Traverser) -> Result<bool> {
        Ok(!self.child(child, traverser)?.is_empty())
    }

    fn step(&mut self, step: &Step, input: Vec<Traverser>) -> Result<Vec<Traverser>> {
        if let Some(kept) = self.filter(step, &input)? {
            return Ok(input.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(traverser, _)| traverser).collect());
        }
        if let Some(moved) = self.topology(step, &input)? {
            return Ok(moved);
        }
        if let Some(moved) = self.values(step, &input)? {
            return Ok(moved);
        }
        if let Some(branched) = self.branch(step, &input)? {
            return Ok(branched);
        }
        if let Some(through) = self.side_effect(step, &input)? {
            return Ok(through);
        }
        self.barrier(step, input)
    }

    /// Moves each traverser to every value that `step` gives for it.
    fn each(
        &mut self,
        input: &[Traverser],
        mut step: impl FnMut(&mut Self, &Traverser) -> Result<Vec<Value>>,
    ) -> Result<Vec<Traverser>> {
        let mut out = Vec::new();
        for traverser in input {
            for value in step(self, traverser)? {
                out.push(traverser.moved(value));
            }
        }
        Ok(out)
    }
}
