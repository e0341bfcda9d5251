//! What a query's strategies ask of its plan.

use std::time::Duration;

use mangrove_graph::{Map, Value};
use serde::{Deserialize, Serialize};

use super::{Name, Traversal};

/// The strategies that change what a traversal means.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Strategies {
    pub read_only: bool,
    pub productive_by: bool,
    /// The keys to which `ProductiveByStrategy` does not apply, because they always give something.
    pub productive_keys: Vec<Name>,
    pub seed: Option<u64>,
    pub subgraph: Option<Box<SubgraphStrategy>>,
    pub partition: Option<PartitionStrategy>,
    /// `ElementIdStrategy`: the property that serves as the id.
    pub element_id: Option<Name>,
    /// `EdgeLabelVerificationStrategy`: hops must name edge labels.
    pub edge_label_verification: Reaction,
    /// `ReservedKeysVerificationStrategy`: the keys that must not be written.
    pub reserved_keys: Vec<Name>,
    pub reserved_keys_reaction: Reaction,
    /// `OptionsStrategy`, or `g.with('evaluationTimeout', …)`.
    pub timeout: Option<Duration>,
    /// `VertexProgramStrategy`.
    pub computer: bool,
    /// `VertexProgramRestrictionStrategy`.
    pub no_computer: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PartitionStrategy {
    pub key: Name,
    pub write: Option<Name>,
    pub read: Vec<Name>,
    pub include_meta: bool,
}

impl PartitionStrategy {
    /// Adds the partition that is written to. The map describes a new element.
    pub fn mark(&self, map: &mut Map) {
        if let Some(write) = &self.write {
            map.insert(Value::String(self.key.clone()), Value::String(write.clone()));
        }
    }

    /// Whether elements of this partition are visible.
    pub fn reads(&self, partition: &Value) -> bool {
        self.read.iter().any(|read| partition.as_str() == Some(read))
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SubgraphStrategy {
    pub vertices: Option<Traversal>,
    pub edges: Option<Traversal>,
    pub vertex_properties: Option<Traversal>,
    pub check_adjacent: bool,
}

/// What happens to a traversal that breaks the rule.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Reaction {
    pub throw: bool,
    pub warn: bool,
}
