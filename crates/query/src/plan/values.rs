//! Values that mean more than themselves in a plan.

use std::sync::Arc;

use mangrove_graph::{Cardinality, Comparison, Predicate, Value};
use serde::{Deserialize, Serialize};

/// A value with a cardinality, as `mergeV` maps hold it: an entry whose key is the cardinality's name.
pub fn cardinality_value(cardinality: Cardinality, value: Value) -> Value {
    Value::Entry(Arc::new((Value::string(format!("Cardinality.{}", cardinality.name())), value)))
}

/// The parts of a value made by [`cardinality_value`].
pub fn split_cardinality(value: &Value) -> (Option<Cardinality>, &Value) {
    if let Value::Entry(entry) = value
        && let Some(cardinality) = entry.0.as_str().and_then(|s| s.strip_prefix("Cardinality.")).and_then(cardinality)
    {
        return (Some(cardinality), &entry.1);
    }
    (None, value)
}

/// A test of a value against one operand, or against the two ends of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RangeTest {
    Compare(Comparison),
    Inside,
    Outside,
    Between,
}

impl RangeTest {
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "eq" => RangeTest::Compare(Comparison::Eq),
            "neq" => RangeTest::Compare(Comparison::Neq),
            "lt" => RangeTest::Compare(Comparison::Lt),
            "lte" => RangeTest::Compare(Comparison::Lte),
            "gt" => RangeTest::Compare(Comparison::Gt),
            "gte" => RangeTest::Compare(Comparison::Gte),
            "inside" => RangeTest::Inside,
            "outside" => RangeTest::Outside,
            "between" => RangeTest::Between,
            _ => return None,
        })
    }

    /// How many operands it has.
    pub fn operands(self) -> usize {
        if matches!(self, RangeTest::Compare(_)) { 1 } else { 2 }
    }

    /// The predicate with these operands. A missing one is null.
    pub fn with(self, mut operands: impl Iterator<Item = Value>) -> Predicate {
        use Comparison::*;
        let low = operands.next().unwrap_or_default();
        let mut both =
            |a, b| vec![Predicate::Compare(a, low.clone()), Predicate::Compare(b, operands.next().unwrap_or_default())];
        match self {
            RangeTest::Compare(comparison) => Predicate::Compare(comparison, low),
            RangeTest::Inside => Predicate::And(both(Gt, Lt)),
            RangeTest::Outside => Predicate::Or(both(Lt, Gt)),
            RangeTest::Between => Predicate::And(both(Gte, Lt)),
        }
    }
}

/// The predicate of `within` or `without`. A single list stands for its items.
pub fn membership(within: bool, mut values: Vec<Value>) -> Predicate {
    if let [only] = &values[..]
        && let Some(items) = only.items()
    {
        values = items;
    }
    if within { Predicate::Within(values.into()) } else { Predicate::Without(values.into()) }
}

pub fn cardinality(name: &str) -> Option<Cardinality> {
    Some(match name {
        "single" => Cardinality::Single,
        "list" => Cardinality::List,
        "set" => Cardinality::Set,
        _ => return None,
    })
}
