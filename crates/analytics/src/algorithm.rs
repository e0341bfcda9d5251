//! What an algorithm is.

use mangrove_graph::Value;

use crate::error::Result;
use crate::project::{Needs, Projection};
use crate::run::Run;

/// An algorithm with its options.
pub trait Algorithm: Send + Sync {
    /// What it reads of a graph.
    fn needs(&self) -> Needs;

    /// Runs on the threads of the current pool.
    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome>;
}

/// What an algorithm found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One for each vertex.
    pub values: Values,
    /// What it says about the whole graph, in order.
    pub summary: Vec<(&'static str, Value)>,
}

/// One value for each vertex.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers; [`NONE`](crate::NONE) for a vertex that has none.
    Counts(Vec<u32>),
    /// Greater ones.
    Totals(Vec<u64>),
    /// Infinite for a vertex that has none.
    Reals(Vec<f64>),
    /// The number of a vertex.
    Vertices(Vec<u32>),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Values::Counts(values) | Values::Vertices(values) => values.len(),
            Values::Totals(values) => values.len(),
            Values::Reals(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
