//! Regular path queries: which vertices are joined by paths whose edge labels match a regular expression.
//!
//! ```text
//!   ?x knows+/likes ?y, ?y ^wrote ?z       a rule: a conjunction of atoms; several rules are a union
//!        │
//!        ├─ syntax     rules, atoms, expressions, with their places in the text
//!        ├─ chains     paths that meet in a variable nobody asks for become one path
//!        ├─ automaton  an expression as a small automaton without empty moves
//!        ├─ lists      the neighbours of vertices along a symbol, read from the graph once
//!        ├─ reach      pairs of vertices: the product of graph and automaton, searched from 64 sources at a time
//!        ├─ group      the targets of many sources together
//!        └─ rules      joins the atoms of a rule, each from the vertices that those before have left
//! ```
//!
//! ```text
//! query      = rule { ";" rule }
//! rule       = [ "(" [ var { "," var } ] ")" "<-" ] atom { "," atom }
//! atom       = end path end
//! end        = var [ ":" label ] | 'id' | 17 | $parameter             var = ?name
//! path       = sequence { "|" sequence }        sequence = step { "/" step }
//! step       = "^" step | part { "*" | "+" | "?" | "{" n [ "," [ m ] ] "}" }
//! part       = label | `any label` | "_" | "(" path ")"               ^ goes against the edges, _ along any label
//! ```
//!
//! An answer is a set: each row comes once, however many paths there are. A path of length 0 joins each vertex with itself.

mod automaton;
mod chains;
mod group;
mod lists;
mod reach;
mod rules;
mod syntax;

use std::sync::Arc;

use mangrove_graph::{GraphView, ReadContext, VertexId};

use crate::error::Result;
use crate::options::Parameters;

pub use lists::KeptLists;
use syntax::PathRule;

/// A union of conjunctive regular path queries, read and checked.
#[derive(Clone, Debug)]
pub struct PathQuery {
    text: Arc<str>,
    rules: Vec<PathRule>,
    names: Vec<Arc<str>>,
}

/// How a path query runs.
#[derive(Clone, Debug, Default)]
pub struct PathOptions {
    pub limits: ReadContext,
    /// 0 means one for each core.
    pub threads: usize,
    /// Only counts the rows.
    pub counts: bool,
    /// Reads all edges that paths may take before it searches, even from a few vertices.
    pub reads_all: bool,
}

/// The vertices that match.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PathAnswer {
    /// The rows, each once.
    pub rows: u64,
    /// For each variable of the head, its vertex in each row, in the order of ids. Empty if rows are only counted.
    pub columns: Vec<Vec<VertexId>>,
    /// Of names that the graph does not have.
    pub warnings: Vec<String>,
}

impl PathQuery {
    /// Reads a query.
    ///
    /// # Errors
    /// If the text is not one. The error shows where.
    pub fn parse(text: &str) -> Result<Self> {
        let text: Arc<str> = text.into();
        let rules = syntax::parse(&text).map_err(|error| error.in_text(&text))?;
        let names = rules.first().map(PathRule::head_names).unwrap_or_default();
        Ok(Self { text, rules, names })
    }

    /// The variables of the head: the columns of the answer.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The names of the parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().flat_map(PathRule::parameters)
    }

    /// Finds the rows. O(states · (V + E)) for each 64 vertices that an atom starts from.
    ///
    /// # Errors
    /// If a parameter is missing, or the limits are exceeded.
    pub fn run(&self, view: &dyn GraphView, parameters: &Parameters, options: &PathOptions) -> Result<PathAnswer> {
        self.run_keeping(view, parameters, options, &mut KeptLists::default())
    }

    /// The same, with what earlier queries have read of the same state of the graph. Adds what this one reads of all vertices; an error
    /// drops it.
    pub fn run_keeping(
        &self,
        view: &dyn GraphView,
        parameters: &Parameters,
        options: &PathOptions,
        kept: &mut KeptLists,
    ) -> Result<PathAnswer> {
        let done = rules::run(&self.rules, self.names.len(), view, parameters, options, kept);
        done.map_err(|error| error.in_text(&self.text))
    }
}
