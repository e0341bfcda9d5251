//! The logical plan: a chain of steps with their children, names resolved, parameters bound.
//!
//! [`resolve`] makes it from a syntax tree; the rules of [`optimize`](crate::optimize) rewrite it;
//! [`execute`](crate::execute) compiles it to operators.

mod argument;
mod children;
pub mod elements;
mod estimate;
mod modulate;
mod names;
pub mod outline;
mod pattern;
mod resolve;
pub mod shape;
mod show;
mod source;
mod step;
mod strategy;
mod unbound;

use std::sync::Arc;

use mangrove_graph::Value;

use crate::gremlin::syntax::Span;

pub(crate) use argument::{membership, split_cardinality};
pub use estimate::{estimate, selectivity};
pub use names::check_names;
pub use resolve::resolve;
pub use step::*;
pub use strategy::{Effect, PartitionStrategy, Reaction, STRATEGIES, Strategies, Strategy, SubgraphStrategy};

pub type Name = Arc<str>;

/// A whole query, ready for the optimiser.
#[derive(Clone, Debug)]
pub struct Plan {
    pub source: SourceConfig,
    pub traversal: Traversal,
}

/// What `g` was configured with.
#[derive(Clone, Debug, Default)]
pub struct SourceConfig {
    pub side_effects: Vec<(Name, SideEffectSeed)>,
    pub sack: Option<SackConfig>,
    /// `withBulk(false)`: each traverser counts once whatever its bulk.
    pub bulk_off: bool,
    /// `withPath()`: track whole paths though no step asks for them.
    pub paths: bool,
    /// No index is used; set by whoever wants to see what they are worth.
    pub index_off: bool,
    pub strategies: Strategies,
    /// What its author is to be told of, though it is no error.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct SideEffectSeed {
    pub value: Value,
    pub merge: Option<Operator>,
}

#[derive(Clone, Debug)]
pub struct SackConfig {
    pub initial: Value,
    pub merge: Option<Operator>,
}

#[derive(Clone, Debug, Default)]
pub struct Traversal {
    pub steps: Vec<StepNode>,
}

#[derive(Clone, Debug)]
pub struct StepNode {
    pub step: Step,
    /// Given by `as()`.
    pub labels: Vec<Name>,
    pub span: Span,
    /// Traversers it is likely to give, where [`estimate`] was asked.
    pub estimate: Option<f64>,
    /// Its row in the plan's [`outline`], where somebody counts what it does.
    pub row: usize,
}

impl Traversal {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().map(StepNode::from).collect() }
    }

    /// Every traversal below this one, of each step in turn.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Traversal)) {
        for node in &self.steps {
            node.step.for_each_child(visit);
        }
    }

    /// Whether some step here or below satisfies `test`.
    pub fn any(&self, test: &dyn Fn(&StepNode) -> bool) -> bool {
        if self.steps.iter().any(test) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found |= child.any(test));
        found
    }
}

impl From<Step> for StepNode {
    fn from(step: Step) -> Self {
        Self { step, labels: Vec::new(), span: Span::default(), estimate: None, row: 0 }
    }
}
