//! Finds tests that nothing can pass, because values of different types are never equal.

use mangrove_graph::{Comparison, ElementKind, KeyId, LabelId, Predicate, Schema, Value, ValueType};

/// Types whose values can be compared with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Number,
    Text,
    Bool,
    Time,
    Other(ValueType),
}

fn family(t: ValueType) -> Family {
    match t {
        ValueType::Int8
        | ValueType::Int16
        | ValueType::Int32
        | ValueType::Int64
        | ValueType::Float32
        | ValueType::Float64
        | ValueType::BigInt
        | ValueType::Decimal => Family::Number,
        ValueType::String => Family::Text,
        ValueType::Bool => Family::Bool,
        ValueType::Date | ValueType::DateTime => Family::Time,
        other => Family::Other(other),
    }
}

/// A warning that no value under a key can pass a test, if the operands cannot be compared with any of their types. `labels` are
/// those of the elements, if known.
pub fn mismatch(
    schema: &Schema,
    kind: ElementKind,
    labels: Option<&[LabelId]>,
    key: KeyId,
    predicate: &Predicate,
) -> Option<String> {
    let asked = operands(predicate)?;
    let of_label = |label: &LabelId| schema.label_schema(kind, *label)?.property(key);
    let known: Vec<_> = match labels {
        Some(labels) => labels.iter().filter_map(of_label).collect(),
        // Looking at thousands of labels is not worth the time.
        None if schema.labels(kind).len() > 64 => return None,
        None => (0..schema.labels(kind).len() as u16).filter_map(|label| of_label(&LabelId(label))).collect(),
    };
    let mut types: Vec<ValueType> = Vec::new();
    known.iter().flat_map(|property| property.types.iter()).for_each(|t| {
        if t != ValueType::Null && !types.contains(&t) {
            types.push(t);
        }
    });
    if types.is_empty() || types.iter().any(|t| asked.iter().any(|(asked, _)| *asked == family(*t))) {
        return None;
    }
    let (_, example) = asked.first()?;
    let key = schema.key_name(key);
    let names: Vec<&str> = types.iter().map(|t| t.name()).collect();
    let has = match example.as_str() {
        Some(text) => format!("'{text}' is a string"),
        None => format!("{example} is of type {}", example.value_type().name()),
    };
    Some(format!("no `{key}` matches: {has}, but all values under that key are of type {}", names.join(" or ")))
}

/// The operands of a predicate, each with its family. `None` if it is no comparison, or if it can hold for values that cannot be
/// compared.
fn operands(predicate: &Predicate) -> Option<Vec<(Family, Value)>> {
    let of = |value: &Value| (family(value.value_type()), value.clone());
    match predicate {
        Predicate::Compare(Comparison::Neq, _) => None,
        Predicate::Compare(_, value) if !value.is_null() => Some(vec![of(value)]),
        Predicate::Within(values) if values.len() <= 16 => Some(values.iter().map(of).collect()),
        Predicate::Text(_, text) => Some(vec![(Family::Text, Value::String(text.clone()))]),
        _ => None,
    }
}
