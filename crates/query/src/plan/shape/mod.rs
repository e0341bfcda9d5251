//! The shape of a query's results, which the query and the schema determine. So the columns of a result do not depend on the data in
//! the graph.
//!
//! `infer` finds the type of the results, in the sense of `types`. A shape is what a table needs to know of that type.

mod facts;
mod infer;
mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use mangrove_graph::{ElementKind, IdSpace, KeyId, LabelId, Schema, Token, Value};

pub use self::facts::{tests_of_labels, wanted_labels};
use self::types::{ElementTypes, Labels, Type};
use super::{Name, Plan, PlanBytesError};
use crate::procedure::Procedures;

/// What all results have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Values that no query gave. Only they tell what they have in common.
    #[default]
    Unknown,
    /// Maps with these keys. A map may lack some of them.
    Maps {
        keys: Vec<Value>,
        /// Where a map has both `T.id` and the property `id`, they are equal.
        id_is_key: bool,
    },
    /// Elements, which may have properties under these keys.
    Elements {
        /// Some of them may be edges.
        edges: bool,
        keys: Vec<Name>,
        /// Where an element has the property `id`, it equals `T.id`.
        id_is_key: bool,
    },
    /// One map, whose keys are values of the graph.
    Groups,
    /// Keys with values.
    Entries,
    /// Values of all other types, and of several types.
    Values,
}

/// What a plan knows about its results.
#[derive(Clone, Debug)]
pub struct Outlook {
    plan: Arc<Plan>,
    procedures: Arc<Procedures>,
}

impl Outlook {
    pub(crate) fn new(plan: Plan, procedures: Arc<Procedures>) -> Self {
        Self { plan: Arc::new(plan), procedures }
    }

    /// For another process that sees the same graph: its plan as bytes.
    ///
    /// # Errors
    /// Those of [`Plan::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, PlanBytesError> {
        self.plan.to_bytes()
    }

    /// What [`to_bytes`](Self::to_bytes) wrote, with the procedures of this process.
    ///
    /// # Errors
    /// Those of [`Plan::from_bytes`].
    pub fn from_bytes(bytes: &[u8], procedures: Arc<Procedures>) -> Result<Self, PlanBytesError> {
        Ok(Self::new(Plan::from_bytes(bytes)?, procedures))
    }

    /// The shape of the results in a graph with this schema.
    pub fn shape(&self, schema: &Schema) -> Shape {
        match infer::results(&self.plan, schema, &self.procedures) {
            Type::Map { keys, id_is_key } => {
                let keys: Vec<Value> = keys.into_iter().map(|(key, _)| key).collect();
                if have_names(&keys) { Shape::Maps { keys, id_is_key } } else { Shape::Values }
            }
            Type::Elements(types) => Shape::Elements {
                edges: types.edges.is_some(),
                keys: all_keys(schema, &types),
                id_is_key: id_is_key(schema, &types),
            },
            Type::Groups { alone: true, .. } => Shape::Groups,
            Type::Property(_) | Type::Entry(_) => Shape::Entries,
            Type::Nothing | Type::Scalar | Type::Any | Type::List(_) | Type::Groups { .. } => Shape::Values,
        }
    }
}

/// Whether each key has a name of its own as a column.
fn have_names(keys: &[Value]) -> bool {
    let is_plain = |key: &Value| {
        key.items().is_none() && !matches!(key, Value::Map(_) | Value::Vertex(_) | Value::Edge(_) | Value::Path(_))
    };
    // A token has another name if a property has its own.
    let name = |key: &Value| (matches!(key, Value::Token(_)), key.as_str().map_or_else(|| key.to_string(), str::to_owned));
    let names: BTreeSet<(bool, String)> = keys.iter().map(name).collect();
    keys.iter().all(is_plain) && names.len() == keys.len()
}

/// The keys that elements may have.
fn all_keys(schema: &Schema, types: &ElementTypes) -> Vec<Name> {
    let mut keys: BTreeSet<KeyId> = BTreeSet::new();
    for kind in ElementKind::ALL {
        let Some(meant) = types.of(kind) else { continue };
        let labels = (0..).map(LabelId).zip(schema.labels(kind).iter()).filter(|(at, _)| meant.contains(*at));
        keys.extend(labels.flat_map(|(_, label)| label.known_properties()).map(|property| property.key));
    }
    keys.into_iter().map(|key| schema.key_name(key)).collect()
}

/// Whether the elements are vertices, and their property `id` equals `T.id` wherever it exists.
fn id_is_key(schema: &Schema, types: &ElementTypes) -> bool {
    let Some(id) = schema.key(Token::Id.name()) else { return true };
    let meant = types.vertices.as_ref().unwrap_or(&Labels::All);
    let labels = (0..).map(LabelId).zip(schema.vertex_labels.iter()).filter(|(at, _)| meant.contains(*at));
    let mut labels = labels.filter(|(_, label)| label.property(id).is_some());
    types.edges.is_none() && schema.id_space == IdSpace::Graph && labels.all(|(_, label)| label.key == Some(id))
}
