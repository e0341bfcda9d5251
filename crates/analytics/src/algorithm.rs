//! What an algorithm is.

use mangrove_graph::Value;

use crate::engine::{Placement, Sent};
use crate::error::Result;
use crate::project::{Needs, Projection};
use crate::run::Run;

/// An algorithm with its options.
pub trait Algorithm: Send + Sync {
    /// What it reads of a graph.
    fn needs(&self) -> Needs;

    /// About how many bytes it takes beside the graph, with so many vertices and entries of lists.
    fn bytes(&self, vertices: u64, _entries: u64) -> u64 {
        24 * vertices
    }

    /// Runs on the threads of the current pool.
    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome>;

    /// What it reads as a vertex program: edges from those that a vertex reads.
    fn needs_divided(&self) -> Needs {
        Needs { incoming: true, outgoing: false, ..self.needs() }
    }

    /// Runs as a vertex program over partitions, with the same outcome; `None` if it is none.
    fn run_divided(&self, _graph: &Projection, _placement: Placement, _run: &Run) -> Result<Option<Outcome>> {
        Ok(None)
    }
}

/// What an algorithm found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub values: Values,
    /// What it says about the whole graph, in order.
    pub summary: Vec<(&'static str, Value)>,
}

impl Outcome {
    /// What a vertex program came to, and what crossed between its partitions.
    pub fn of_program(values: Values, mut summary: Vec<(&'static str, Value)>, steps: u64, sent: Sent) -> Self {
        let count = |count: u64| Value::Int64(count as i64);
        summary.extend([("steps", count(steps)), ("values_sent", count(sent.values)), ("bytes_sent", count(sent.bytes))]);
        Self { values, summary }
    }
}

/// Values, as a rule one for each vertex.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers; [`NONE`](crate::NONE) for a vertex that has none.
    Counts(Vec<u32>),
    /// Greater ones.
    Totals(Vec<u64>),
    /// Infinite for a vertex that has none.
    Reals(Vec<f64>),
    /// The number of a vertex; [`NONE`](crate::NONE) for none.
    Vertices(Vec<u32>),
    /// Not one for each vertex, but values of pairs.
    Pairs { vertices: Vec<u32>, others: Vec<u32>, values: Vec<f64> },
    /// Not one for each vertex, but sequences of vertices, one after the other.
    Walks { starts: Vec<usize>, vertices: Vec<u32> },
}
