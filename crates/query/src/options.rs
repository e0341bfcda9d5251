//! What a query runs with: its parameters, its limits, the graph.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_graph::{Budget, CancelToken, GraphView, GraphWrite, ReadContext, TraceId, Value};

use crate::crew::Crew;
use crate::machine;
use crate::procedure::Procedures;

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
    /// The threads that may help.
    pub crew: Option<Arc<Crew>>,
    /// The number of the query in traces. A database sets its own.
    pub trace: TraceId,
    /// The procedures that `call()` may run. A database sets its own.
    pub procedures: Arc<Procedures>,
}

impl QueryOptions {
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
            crew: None,
            trace: TraceId::default(),
            procedures: Procedures::built_in().clone(),
        }
    }
}
