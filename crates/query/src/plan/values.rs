//! Values that mean more than themselves in a plan.

use std::sync::Arc;

use mangrove_graph::{Cardinality, Predicate, Value};

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
