//! What a query runs with: its parameters, its limits, the graph.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_graph::{Budget, CancelToken, GraphView, GraphWrite, ReadContext, SpanPlace, TraceId, Value};

use crate::crew::Crew;
use crate::fleet::Fleet;
use crate::machine;
use crate::procedure::Procedures;
use crate::profile::Profile;

/// Values for the variables of a query, by name.
pub type Parameters = HashMap<String, Value>;

/// The graph a query runs on.
pub enum Graph<'a> {
    Read(&'a dyn GraphView),
    Write(&'a mut dyn GraphWrite),
}

impl Graph<'_> {
    pub fn view(&self) -> &dyn GraphView {
        match self {
            Graph::Read(view) => *view,
            Graph::Write(graph) => graph.as_view(),
        }
    }
}

/// How a query runs.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// Stops the query with an error after this time.
    pub timeout: Option<Duration>,
    pub cancel: CancelToken,
    /// The most bytes that barriers and side effects may hold, approximately. Results that are collected count too. Default: half
    /// of the machine's memory, at most 4 GB.
    pub memory_bytes_max: usize,
    /// Turns rules of the optimiser off, by name.
    pub rules_off: Vec<String>,
    /// Counts what each step does, for [`Execution::profile`](crate::Execution::profile).
    pub profile: bool,
    /// Told what each step did, once the query has ended.
    pub on_profile: Option<OnProfile>,
    /// The threads that may help.
    pub crew: Option<Arc<Crew>>,
    /// The nodes that may run steps, if the graph is on nodes. A database sets its own.
    pub fleet: Option<Arc<dyn Fleet>>,
    /// The part of the graph in which the first step finds its elements; `None` for all of it. A database sets its own.
    pub start: Option<StartPart>,
    /// The number of the query in traces. A database sets its own.
    pub trace: TraceId,
    /// The procedures that `call()` may run. A database sets its own.
    pub procedures: Arc<Procedures>,
}

/// What to do with the profile of a query that has ended: at its last result, by an error, or because nobody wanted more.
#[derive(Clone)]
pub struct OnProfile {
    pub told: Arc<dyn Fn(&Profile) + Send + Sync>,
    /// The span that asks for the query: what nodes do for it is a part of that.
    pub within: Option<SpanPlace>,
}

impl fmt::Debug for OnProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnProfile")
    }
}

/// A part of the graph that a query runs on. Together, the results from all parts are those of the query. Queries for which they are not
/// are refused: see [`whole_because`](crate::plan::apart::whole_because).
#[derive(Clone)]
pub struct StartPart(pub Arc<dyn GraphView + Send + Sync>);

impl fmt::Debug for StartPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StartPart")
    }
}

impl QueryOptions {
    /// Whether somebody wants to know what each step does.
    pub fn is_profiled(&self) -> bool {
        self.profile || self.on_profile.is_some()
    }

    /// The options for what is left of a query that began then.
    pub fn since(&self, began: Instant) -> Self {
        Self { timeout: self.timeout.map(|timeout| timeout.saturating_sub(began.elapsed())), ..self.clone() }
    }

    /// The limits of a view for a query that begins now.
    pub fn read_context(&self) -> ReadContext {
        // A timeout beyond the range of the clock never comes.
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let budget = Budget::new(self.memory_bytes_max);
        ReadContext { deadline, timeout: self.timeout, cancel: self.cancel.clone(), budget, trace: self.trace }
    }
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            timeout: None,
            cancel: CancelToken::default(),
            memory_bytes_max: machine::query_bytes_max(),
            rules_off: Vec::new(),
            profile: false,
            on_profile: None,
            crew: None,
            fleet: None,
            start: None,
            trace: TraceId::default(),
            procedures: Procedures::built_in().clone(),
        }
    }
}
