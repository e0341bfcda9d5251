//! What an algorithm is.

use mangrove_graph::{Numbering, Value};
use serde::{Deserialize, Serialize};

use crate::engine::Sent;
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

    /// What it reads as a vertex program: edges from those that a vertex reads. `None` if it is no vertex program.
    fn needs_divided(&self) -> Option<Needs> {
        None
    }

    /// The same as a vertex program, over vertices with these numbers; `None` if it is none.
    ///
    /// # Errors
    /// If its options make no sense, or name a vertex that has no number.
    fn divided(&self, _numbering: &Numbering) -> Result<Option<Divided>> {
        Ok(None)
    }
}

/// An algorithm as a vertex program, with its options. Vertices go by their numbers. Its bytes go to those who have parts of a graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Divided {
    Bfs {
        sources: Vec<u32>,
    },
    Cdlp {
        iterations: u64,
    },
    PageRank {
        damping: f64,
        iterations_max: u64,
        /// It stops if ranks change by less. 0 never stops it.
        enough: f64,
        /// The share of each vertex in the walks that begin anew, in the order of numbers; nothing if all have the same.
        preference: Vec<(u32, f64)>,
        /// Of those that cannot go on; nothing if it is as `preference`.
        dangling: Vec<(u32, f64)>,
        /// The ranks to begin with; nothing if all are the same.
        start: Vec<(u32, f64)>,
    },
    Sssp {
        source: u32,
    },
    Triangles,
    Wcc,
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
