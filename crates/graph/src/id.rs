//! Identifiers.
//!
//! An element id is 64 bits, stable for ever and never reused:
//!
//! ```text
//!  63        48 47       36 35                                0
//! +------------+-----------+----------------------------------+
//! |   label    |   shard   |              local               |
//! +------------+-----------+----------------------------------+
//!     16 bits     12 bits                36 bits
//! ```
//!
//! `local` counts up from zero within a (label, shard). So ids are dense, and columns and bitmaps can use it as an index.
//!
//! Users see external ids: those they supplied, otherwise *generated* ones. A generated id is the text `#label:place`. The label is
//! its number; the place is shard and local as one number. Example: `#0:17`. No other element ever gets this id.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::value::{Value, ValueType};

const LOCAL_BITS: u32 = 36;
const SHARD_BITS: u32 = 12;
/// Locals are below this bound.
pub const LOCAL_MAX: u64 = (1 << LOCAL_BITS) - 1;
/// Shard and local.
const PLACE_MAX: u64 = (1 << (LOCAL_BITS + SHARD_BITS)) - 1;

/// A vertex label, interned in the schema.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct LabelId(pub u16);

/// A property key, interned in the schema.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct KeyId(pub u16);

macro_rules! element_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
        pub struct $name(pub u64);

        impl $name {
            /// The id of the `local`-th element of `label` in `shard`.
            #[inline]
            pub fn new(label: LabelId, shard: u16, local: u64) -> Self {
                debug_assert!(local <= LOCAL_MAX && u32::from(shard) < 1 << SHARD_BITS);
                Self(u64::from(label.0) << (LOCAL_BITS + SHARD_BITS) | u64::from(shard) << LOCAL_BITS | local)
            }

            #[inline]
            pub fn label(self) -> LabelId {
                LabelId((self.0 >> (LOCAL_BITS + SHARD_BITS)) as u16)
            }

            #[inline]
            pub fn shard(self) -> u16 {
                (self.0 >> LOCAL_BITS) as u16 & ((1 << SHARD_BITS) - 1)
            }

            #[inline]
            pub fn local(self) -> u64 {
                self.0 & LOCAL_MAX
            }

            /// Shard and local as one number.
            pub fn place(self) -> u64 {
                self.0 & PLACE_MAX
            }

            /// The external id of an element for which the user supplied none.
            pub fn generated(self) -> ExternalId {
                ExternalId::String(format!("#{}:{}", self.label().0, self.place()).into())
            }

            /// The element that a generated external id names.
            pub fn from_generated(id: &ExternalId) -> Option<Self> {
                let ExternalId::String(text) = id else { return None };
                let (label, place) = text.strip_prefix('#')?.split_once(':')?;
                let (label, place): (u16, u64) = (label.parse().ok()?, place.parse().ok()?);
                let found = Self(u64::from(label) << (LOCAL_BITS + SHARD_BITS) | place);
                // A number has several spellings (`7`, `07`). Only one of them is the id.
                (place <= PLACE_MAX && found.generated() == *id).then_some(found)
            }
        }
    };
}

element_id!(
    /// A vertex; its label is part of the id, so `hasLabel` never reads the store.
    VertexId
);
element_id!(
    /// An edge.
    EdgeId
);

/// An edge with its two ends, as traversals carry it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct EdgeRef {
    pub id: EdgeId,
    pub source: VertexId,
    pub target: VertexId,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ElementKind {
    Vertex,
    Edge,
}

impl ElementKind {
    pub const ALL: [Self; 2] = [ElementKind::Vertex, ElementKind::Edge];

    pub fn name(self) -> &'static str {
        match self {
            ElementKind::Vertex => "vertex",
            ElementKind::Edge => "edge",
        }
    }

    pub fn plural(self) -> &'static str {
        match self {
            ElementKind::Vertex => "vertices",
            ElementKind::Edge => "edges",
        }
    }
}

/// An element that can have properties.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ElementId {
    Vertex(VertexId),
    Edge(EdgeId),
}

impl ElementId {
    pub fn kind(self) -> ElementKind {
        match self {
            ElementId::Vertex(_) => ElementKind::Vertex,
            ElementId::Edge(_) => ElementKind::Edge,
        }
    }

    pub fn label(self) -> LabelId {
        match self {
            ElementId::Vertex(id) => id.label(),
            ElementId::Edge(id) => id.label(),
        }
    }

    /// The 64 bits of the id, for either kind.
    pub fn raw(self) -> u64 {
        match self {
            ElementId::Vertex(id) => id.0,
            ElementId::Edge(id) => id.0,
        }
    }
}

/// The direction in which a traversal follows an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Direction {
    Out,
    In,
    Both,
}

impl Direction {
    pub fn reverse(self) -> Self {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
            Direction::Both => Direction::Both,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Direction::Out => "OUT",
            Direction::In => "IN",
            Direction::Both => "BOTH",
        }
    }
}

/// The id a user knows an element by.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ExternalId {
    Int(i64),
    Uuid(Uuid),
    String(Arc<str>),
}

impl ExternalId {
    pub fn to_value(&self) -> Value {
        match self {
            ExternalId::Int(i) => Value::Int64(*i),
            ExternalId::Uuid(u) => Value::Uuid(*u),
            ExternalId::String(s) => Value::String(s.clone()),
        }
    }

    pub fn value_type(&self) -> ValueType {
        match self {
            ExternalId::Int(_) => ValueType::Int64,
            ExternalId::Uuid(_) => ValueType::Uuid,
            ExternalId::String(_) => ValueType::String,
        }
    }

    /// The external id that a value stands for. Integers of every width give the same id. `None` for values that cannot be ids.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(s) => Some(ExternalId::String(s.clone())),
            Value::Uuid(u) => Some(ExternalId::Uuid(*u)),
            other => other.as_i64().map(ExternalId::Int),
        }
    }
}

impl fmt::Display for ExternalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExternalId::Int(i) => write!(f, "{i}"),
            ExternalId::Uuid(u) => write!(f, "{u}"),
            ExternalId::String(s) => f.write_str(s),
        }
    }
}

impl From<i64> for ExternalId {
    fn from(value: i64) -> Self {
        ExternalId::Int(value)
    }
}

impl From<&str> for ExternalId {
    fn from(value: &str) -> Self {
        ExternalId::String(value.into())
    }
}

/// Whether an external id is unique in the whole graph or within its label.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum IdSpace {
    #[default]
    Graph,
    /// `T.id` is then the string `Label/externalId`.
    Label,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_holds_its_parts_at_their_bounds() {
        for (label, shard, local) in [(0, 0, 0), (u16::MAX, 4095, LOCAL_MAX), (7, 3, 1 << 35)] {
            let id = VertexId::new(LabelId(label), shard, local);
            assert_eq!((id.label(), id.shard(), id.local()), (LabelId(label), shard, local));
        }
    }

    #[test]
    fn generated_ids_name_their_element_and_are_written_in_one_way() {
        for id in [VertexId::new(LabelId(0), 0, 0), VertexId::new(LabelId(u16::MAX), 4095, LOCAL_MAX)] {
            assert_eq!(VertexId::from_generated(&id.generated()), Some(id));
        }
        assert_eq!(EdgeId::new(LabelId(3), 0, 17).generated().to_string(), "#3:17");
        for wrong in ["#0:017", "#+0:1", "#0", "0:1", "#65536:0", "#0:281474976710656", "#0:1.1"] {
            assert_eq!(VertexId::from_generated(&wrong.into()), None, "{wrong}");
        }
    }

    #[test]
    fn integers_of_every_width_name_the_same_id() {
        let ids = [Value::Int8(5), Value::Int16(5), Value::Int32(5), Value::Int64(5)];
        assert!(ids.iter().all(|v| ExternalId::from_value(v) == Some(ExternalId::Int(5))));
        assert_eq!(ExternalId::from_value(&Value::Bool(true)), None);
    }
}
