//! Gremlin: reads, plans and executes queries.
//!
//! ```text
//!  text ── gremlin::parse ──┐                          ┌── optimize (one rule a file)
//!                           ├─ syntax ─── resolve ──────┤
//!  bytecode ── gremlin::… ──┘                          └── execute (experts: one family of steps a file) ── values
//! ```
//!
//! A [`Query`] is read once and executed any number of times, with different parameters. Execution pulls batches of traversers
//! through a chain of operators over a [`GraphView`]. So `limit` stops work early, and only barriers collect their input. This
//! crate knows no store: it reads and writes through the traits of `mangrove_graph`.

mod access;
mod computed;
pub mod crew;
pub mod diagnostics;
pub mod error;
pub mod execute;
mod fleet;
pub mod gremlin;
mod machine;
mod nesting;
pub mod optimize;
pub mod options;
pub mod paths;
pub mod plan;
pub mod procedure;
mod profile;
pub mod resolve;
pub mod stack;

use std::sync::Arc;

use mangrove_graph::GraphView;

use computed::Computed;
use plan::mesh::Meshed;

pub use crew::{Crew, CrewOptions};
pub use error::{QueryError, QueryErrorKind, Result};
pub use execute::{
    Execution, Items, MapColumn, Maps, Pace, bytes_target, own_maps, run_fragment, run_stages, stages_budget, whole_maps,
};
pub use fleet::{Fleet, MeshFleet, MeshPart, MeshRan, Owners, Ran};
pub use mangrove_graph::CancelToken;
pub use optimize::{ExplainedStep, Explanation};
pub use options::{Graph, OnProfile, Parameters, QueryOptions, StartPart};
pub use plan::shape::{Outlook, Shape};
pub use procedure::{Procedure, Procedures};
pub use profile::{Messages, Profile, StepProfile};

use gremlin::syntax::{Call, TraversalSyntax};

/// A query after reading: the names of its steps are checked, its parameters are open.
#[derive(Clone, Debug)]
pub struct Query {
    text: Arc<str>,
    syntax: Arc<TraversalSyntax>,
    writes: bool,
    is_brief: bool,
    /// It refers to elements by id. Planning looks them up.
    refers: bool,
    /// The names of its variables.
    variables: Arc<[String]>,
}

impl Query {
    /// Reads gremlin-lang text. Unknown steps are an error here; wrong arguments are an error at execution.
    pub fn parse(text: &str) -> Result<Self> {
        let _span = tracing::debug_span!("parse", bytes = text.len()).entered();
        let text: Arc<str> = text.into();
        let syntax = gremlin::parse(&text).map_err(|e| QueryError::from(e).in_text(&text))?;
        let query = Self::new(text.clone(), syntax);
        // Some statements of other languages look like a call.
        query.map_err(|error| gremlin::of_other_language(&text).map_or(error, QueryError::from).in_text(&text))
    }

    /// Reads GraphSON 3 bytecode, as Gremlin language variants send it.
    pub fn from_bytecode(json: &str) -> Result<Self> {
        Self::of_bytecode(gremlin::read_bytecode(json)?)
    }

    /// Reads GraphBinary 1 bytecode, the other form that language variants send.
    pub fn from_graphbinary(bytes: &[u8]) -> Result<Self> {
        Self::of_bytecode(gremlin::read_graphbinary(bytes)?)
    }

    /// A query that was read before. Prints it as text, so that errors have a text to point into.
    pub fn of_bytecode(syntax: TraversalSyntax) -> Result<Self> {
        let text: Arc<str> = gremlin::print(&syntax).into();
        match gremlin::parse(&text) {
            Ok(located) => Self::new(text.clone(), located).map_err(|e| e.in_text(&text)),
            // The bytecode holds values that have no literal.
            Err(_) => Self::new("".into(), syntax),
        }
    }

    fn new(text: Arc<str>, mut syntax: TraversalSyntax) -> Result<Self> {
        resolve::check_names(&syntax)?;
        let (writes, is_brief) = (writes(&syntax), is_brief(&syntax));
        let refers = resolve::elements::refers(&mut syntax);
        let mut names = Vec::new();
        syntax.variables(&mut names);
        let variables = names.into_iter().map(str::to_owned).collect();
        Ok(Self { text, syntax: Arc::new(syntax), writes, is_brief, refers, variables })
    }

    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether the query uses a parameter of this name.
    pub fn has_variable(&self, name: &str) -> bool {
        self.variables.iter().any(|variable| variable == name)
    }

    /// Whether the query may change the graph. It then needs [`Graph::Write`].
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Whether the query looks as if it takes a moment only: it finds its elements by id or by property, repeats nothing and calls
    /// no procedure.
    pub fn is_brief(&self) -> bool {
        self.is_brief
    }

    /// Plans the query and prepares its execution. It reads no elements yet.
    pub fn execute(&self, graph: &mut Graph<'_>, parameters: &Parameters, options: &QueryOptions) -> Result<Execution> {
        let plan = self.plan(graph.view(), parameters, options)?;
        Execution::new(plan, graph, options.clone(), self.text.clone()).map_err(|e| e.in_text(&self.text))
    }

    /// Prepares the execution of a plan that [`plan`](Self::plan) made, here or in another process that sees the same graph.
    pub fn execute_plan(plan: plan::Plan, graph: &mut Graph<'_>, options: &QueryOptions) -> Result<Execution> {
        Execution::new(plan, graph, options.clone(), "".into())
    }

    /// The optimised plan.
    pub fn plan(&self, view: &dyn GraphView, parameters: &Parameters, options: &QueryOptions) -> Result<plan::Plan> {
        let _span = tracing::debug_span!("plan", query = %options.trace).entered();
        let mut plan = self.resolve(view, parameters).map_err(|e| e.in_text(&self.text))?;
        let computed = self.computed(&plan, view)?;
        let with_computed = computed.as_ref().map(|computed| computed.over(view));
        let view = with_computed.as_ref().map_or(view, |view| view as &dyn GraphView);
        optimize::optimize(&mut plan, view, &options.rules_off);
        let by_estimate = options.fleet.as_ref().is_some_and(|fleet| execute::needs_estimates(&plan, &**fleet));
        if options.profile || by_estimate {
            plan::estimate(&mut plan, view)?;
        }
        Ok(plan)
    }

    /// Why the query can only be read as a whole; `None` if it can be read in parts. Then the results from all parts of the graph are
    /// those of the query, in some order: see [`QueryOptions::start`].
    pub fn whole_because(
        &self,
        view: &dyn GraphView,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Option<String>> {
        Ok(plan::apart::whole_because(&self.plan(view, parameters, options)?))
    }

    /// The properties that the query computes.
    fn computed(&self, plan: &plan::Plan, view: &dyn GraphView) -> Result<Option<Arc<Computed>>> {
        Computed::of(&plan.traversal, view.schema()).map_err(|e| e.in_text(&self.text))
    }

    /// The plan as resolved, and after each rule that changed it.
    pub fn explain(
        &self,
        view: &dyn GraphView,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<optimize::Explanation> {
        let mut plan = self.resolve(view, parameters).map_err(|e| e.in_text(&self.text))?;
        let mut explanation = match self.computed(&plan, view)? {
            Some(computed) => optimize::explain(&mut plan, &computed.over(view), &options.rules_off)?,
            None => optimize::explain(&mut plan, view, &options.rules_off)?,
        };
        if let Some(fleet) = &options.fleet {
            for (step, how) in explanation.steps.iter_mut().zip(execute::on_nodes(&plan, &**fleet, view)) {
                step.on_nodes = how.in_run;
                step.between_nodes = how.meshed == Meshed::Taken;
                step.in_parts = how.meshed == Meshed::InParts;
            }
        }
        Ok(explanation)
    }

    fn resolve(&self, view: &dyn GraphView, parameters: &Parameters) -> Result<plan::Plan> {
        let mut unused = Vec::new();
        for name in parameters.keys().filter(|name| !self.variables.contains(name)) {
            must_be_a_variable(name)?;
            unused.push(format!("the query has no variable `{name}`, so its value is not used"));
        }
        let mut plan = if self.refers {
            let mut syntax = TraversalSyntax::clone(&self.syntax);
            resolve::elements::resolve(&mut syntax, view)?;
            resolve::resolve(&syntax, parameters)?
        } else {
            resolve::resolve(&self.syntax, parameters)?
        };
        unused.sort_unstable();
        plan.source.warnings.append(&mut unused);
        Ok(plan)
    }
}

/// Fails if `name` cannot be a variable of any query. A parameter that only this query does not use earns a mere warning, because
/// it may be meant for another query.
fn must_be_a_variable(name: &str) -> Result<()> {
    let read = gremlin::parse(&format!("g.inject({name})"));
    let mut variables = Vec::new();
    if let Ok(read) = &read {
        read.variables(&mut variables);
    }
    if variables == [name] {
        return Ok(());
    }
    let message = format!("a parameter cannot be called `{name}`: a query cannot have such a variable");
    Err(QueryError::new(QueryErrorKind::Parameter, message)
        .help("choose another name: Gremlin uses words such as id, label and desc itself"))
}

fn writes(traversal: &TraversalSyntax) -> bool {
    traversal.any_call(|call, _| gremlin::steps::WRITING.contains(&call.name.as_str()))
}

fn is_brief(traversal: &TraversalSyntax) -> bool {
    let is_long = |call: &Call, rest: &[Call]| match call.name.as_str() {
        "repeat" | "match" | "call" => true,
        "V" | "E" => call.args.is_empty() && !rest.first().is_some_and(names),
        _ => false,
    };
    !traversal.any_call(is_long)
}

/// Whether a step names the elements to find, or a property of theirs.
fn names(call: &Call) -> bool {
    matches!((call.name.as_str(), call.args.len()), ("has", 2 | 3) | ("hasId", 1..))
}
