//! The values that `within` and `without` choose from.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use hashbrown::HashSet;

use crate::compare;
use crate::id::{EdgeId, VertexId};
use crate::value::Value;

/// Values to choose from. With many of them, a membership test takes O(1). Clones share them.
#[derive(Clone)]
pub struct Choices(Arc<Inner>);

impl fmt::Debug for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.values.fmt(f)
    }
}

struct Inner {
    values: Vec<Value>,
    /// Built on first use.
    members: OnceLock<Members>,
}

/// Up to this many values are compared one by one.
const FEW: usize = 16;

/// A hash key: equal for equal values, different for others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Key {
    Int(i64),
    /// The bits of a double that is no integer.
    Float(u64),
    Vertex(VertexId),
    Edge(EdgeId),
    Other(Value),
}

impl Key {
    /// `None` for values with comparison rules of their own.
    fn of(value: &Value) -> Option<Self> {
        const TWO_63: f64 = 9_223_372_036_854_775_808.0;
        if let Some(i) = value.as_i64() {
            return Some(Key::Int(i));
        }
        match value {
            Value::Vertex(vertex) => Some(Key::Vertex(*vertex)),
            Value::Edge(edge) => Some(Key::Edge(edge.id)),
            Value::Date(date) => Some(Key::Other(date.midnight().into())),
            Value::Float32(_) | Value::Float64(_) => match value.as_f64()? {
                f if f.is_nan() => None,
                f if f.fract() == 0.0 && (-TWO_63..TWO_63).contains(&f) => Some(Key::Int(f as i64)),
                f => Some(Key::Float(f.to_bits())),
            },
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Uuid(_)
            | Value::DateTime(_)
            | Value::Duration(_) => Some(Key::Other(value.clone())),
            _ => None,
        }
    }
}

/// A set of values that may grow. A membership test takes O(1).
#[derive(Clone, Debug, Default)]
pub struct Members {
    keys: HashSet<Key>,
    /// Values with comparison rules of their own.
    others: Vec<Value>,
}

impl Members {
    pub fn insert(&mut self, value: &Value) {
        match Key::of(value) {
            Some(key) => _ = self.keys.insert(key),
            None => self.others.push(value.clone()),
        }
    }

    /// Whether one of them equals `value` under `P.eq`. `None` if `value` has to be compared with each.
    pub fn hold(&self, value: &Value) -> Option<bool> {
        let key = Key::of(value)?;
        Some(self.keys.contains(&key) || self.others.iter().any(|other| compare::equals(value, other)))
    }
}

impl<'v> FromIterator<&'v Value> for Members {
    fn from_iter<I: IntoIterator<Item = &'v Value>>(values: I) -> Self {
        let mut members = Self::default();
        values.into_iter().for_each(|value| members.insert(value));
        members
    }
}

impl Choices {
    /// Whether one of them equals `value` under `P.eq`.
    pub fn hold(&self, value: &Value) -> bool {
        if self.len() > FEW
            && let Some(held) = self.0.members.get_or_init(|| self.iter().collect()).hold(value)
        {
            return held;
        }
        self.iter().any(|option| compare::equals(value, option))
    }
}

impl Deref for Choices {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0.values
    }
}

impl From<Vec<Value>> for Choices {
    fn from(values: Vec<Value>) -> Self {
        Self(Arc::new(Inner { values, members: OnceLock::new() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::EdgeRef;

    fn values() -> Vec<Value> {
        let near = [-1, 0, 1, 2, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN];
        let mut values: Vec<Value> = near.iter().flat_map(|i| [Value::Int64(*i), Value::Float64(*i as f64)]).collect();
        values.extend([-0.0, 0.25, 0.1, f64::INFINITY, f64::NAN].map(Value::Float64));
        values.extend([0.25, 0.1, 2.0].map(Value::Float32));
        let edge = |id, source| EdgeRef { id: EdgeId(id), source: VertexId(source), target: VertexId(9) };
        values.extend([1, 2].map(|id| Value::Vertex(VertexId(id))));
        values.extend([(1, 1), (1, 2), (2, 1)].map(|(id, source)| Value::Edge(edge(id, source))));
        values.extend([Value::Int8(1), Value::Null, true.into(), "a".into(), "1".into(), crate::BigInt::from(2).into()]);
        values
    }

    #[test]
    fn many_are_told_as_few_are() {
        let other = [crate::BigInt::from(1u128 << 100).into(), Value::list(vec![1.into()])];
        for all in [values(), [&values()[..], &other].concat()] {
            for at in 0..all.len() {
                // Leave out one value; another may still equal it.
                let mut rest = all.clone();
                let asked = rest.remove(at);
                let expected = rest.iter().any(|option| compare::equals(&asked, option));
                assert_eq!(Choices::from(rest).hold(&asked), expected, "{asked:?}");
            }
        }
    }
}
