//! The logical plan: a chain of steps with their children. Names are resolved and parameters are bound.
//!
//! [`resolve`](crate::resolve) builds it from a syntax tree. The rules of [`optimize`](crate::optimize) rewrite it. [`execute`](crate::execute)
//! compiles it to operators.

pub mod apart;
mod bytes;
mod children;
mod estimate;
pub mod facts;
pub mod fragment;
pub mod keys;
pub mod locate;
pub mod mesh;
pub mod order;
pub mod outline;
pub mod parts;
pub mod paths;
pub mod shape;
mod show;
mod step;
mod strategies;
mod values;

use std::cell::Cell;
use std::sync::Arc;

use mangrove_graph::Value;
use serde::{Deserialize, Serialize};

use self::facts::{Reads, Writes};
use crate::diagnostics::Span;

pub use bytes::PlanBytesError;
pub use estimate::{estimate, selectivity};
pub use step::*;
pub use strategies::{PartitionStrategy, Reaction, Strategies, SubgraphStrategy};
pub use values::{RangeTest, cardinality, cardinality_value, membership, split_cardinality};

pub type Name = Arc<str>;

/// A whole query, ready for the optimiser.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub source: SourceConfig,
    pub traversal: Traversal,
}

/// The configuration of `g`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SourceConfig {
    pub side_effects: Vec<(Name, SideEffectSeed)>,
    pub sack: Option<SackConfig>,
    /// `withBulk(false)`: each traverser counts once, whatever its bulk.
    pub bulk_off: bool,
    /// `withPath()`: tracks whole paths even if no step reads them.
    pub paths: bool,
    /// Uses no index. A switch to measure what indexes are worth.
    pub index_off: bool,
    /// The nodes of a graph run no steps. A switch to measure what that is worth.
    pub fragments_off: bool,
    /// The nodes look no ids up together with steps. A switch to measure what that is worth.
    pub homes_off: bool,
    /// Traversers do not go from node to node. A switch to measure what that is worth.
    pub mesh_off: bool,
    pub strategies: Strategies,
    /// Warnings for the author of the query.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SideEffectSeed {
    pub value: Value,
    pub merge: Option<Operator>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SackConfig {
    pub initial: Value,
    pub merge: Option<Operator>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Traversal {
    #[serde(with = "nested")]
    pub steps: Vec<StepNode>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepNode {
    pub step: Step,
    /// Given by `as()`.
    pub labels: Vec<Name>,
    pub span: Span,
    /// The estimate of the traversers it gives, if [`estimate`] ran.
    pub estimate: Option<f64>,
    /// Its row in the plan's [`outline`], if its work is counted.
    pub row: usize,
}

impl Traversal {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().map(StepNode::from).collect() }
    }

    /// Visits every traversal directly below this one, step by step.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Traversal)) {
        for node in &self.steps {
            node.step.for_each_child(visit);
        }
    }

    /// Whether a step here or below satisfies `test`.
    pub fn any(&self, test: &dyn Fn(&StepNode) -> bool) -> bool {
        if self.steps.iter().any(test) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found |= child.any(test));
        found
    }

    /// All that the steps read and write, children included. O(steps).
    pub fn touches(&self) -> (Reads, Writes) {
        let all = Cell::new((Reads::NOTHING, Writes::NOTHING));
        self.any(&|node| {
            let facts = node.step.facts();
            let (reads, writes) = all.get();
            all.set((reads.and(facts.reads), writes.and(facts.writes)));
            false
        });
        all.get()
    }
}

/// Steps within steps, read and written with room on the stack.
mod nested {
    use mangrove_graph::wire::one_deeper;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::StepNode;
    use crate::stack::deep;

    pub fn serialize<S: Serializer>(steps: &Vec<StepNode>, to: S) -> Result<S::Ok, S::Error> {
        deep(|| steps.serialize(to))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<StepNode>, D::Error> {
        one_deeper(|| deep(|| Vec::deserialize(from)))
    }
}

impl From<Step> for StepNode {
    fn from(step: Step) -> Self {
        Self { step, labels: Vec::new(), span: Span::default(), estimate: None, row: 0 }
    }
}
