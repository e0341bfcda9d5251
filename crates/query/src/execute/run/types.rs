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

/// A warning that a test tells nothing: that no value under a key can pass it, or that all pass, because the operand cannot be compared
/// with any of their types. `labels` are those of the elements, if known.
pub fn mismatch(
    schema: &Schema,
    kind: ElementKind,
    labels: Option<&[LabelId]>,
    key: KeyId,
    predicate: &Predicate,
) -> Option<String> {
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
    if types.is_empty() {
        return None;
    }
    let Foregone { passes, operand } = foregone(predicate, &types)?;
    let key = schema.key_name(key);
    let names: Vec<&str> = types.iter().map(|t| t.name()).collect();
    let has = match operand.as_str() {
        Some(text) => format!("'{text}' is a string"),
        None => format!("{operand} is of type {}", operand.value_type().name()),
    };
    let dates = types.iter().all(|t| family(*t) == Family::Time) && operand.as_str().is_some();
    let how = if dates { "; write a date as datetime('2024-05-31')" } else { "" };
    let outcome = if passes { format!("every `{key}` passes") } else { format!("no `{key}` matches") };
    Some(format!("{outcome}: {has}, but all values under that key are of type {}{how}", names.join(" or ")))
}

/// The outcome of a test that is the same for all values of some types, and the operand that cannot be compared with them.
struct Foregone {
    passes: bool,
    operand: Value,
}

fn foregone(predicate: &Predicate, types: &[ValueType]) -> Option<Foregone> {
    let unlike = |value: &Value| !types.iter().any(|t| family(*t) == family(value.value_type()));
    let all_unlike = |values: &[Value]| (1..=16).contains(&values.len()) && values.iter().all(unlike);
    let outcome = |passes, operand: &Value| Some(Foregone { passes, operand: operand.clone() });
    match predicate {
        Predicate::Compare(comparison, value) if !value.is_null() && unlike(value) => {
            outcome(*comparison == Comparison::Neq, value)
        }
        Predicate::Within(values) if all_unlike(values) => outcome(false, values.first()?),
        Predicate::Without(values) if all_unlike(values) => outcome(true, values.first()?),
        Predicate::Text(_, text) if unlike(&Value::String(text.clone())) => outcome(false, &Value::String(text.clone())),
        Predicate::Not(part) => foregone(part, types).map(|known| Foregone { passes: !known.passes, ..known }),
        Predicate::And(parts) => joined(parts, types, false),
        Predicate::Or(parts) => joined(parts, types, true),
        _ => None,
    }
}

/// The outcome of a conjunction or disjunction. One part decides it if its outcome is `decisive`; otherwise all must be known.
fn joined(parts: &[Predicate], types: &[ValueType], decisive: bool) -> Option<Foregone> {
    let mut outcomes: Vec<Option<Foregone>> = parts.iter().map(|part| foregone(part, types)).collect();
    let deciding = outcomes.iter().position(|known| known.as_ref().is_some_and(|known| known.passes == decisive));
    match deciding {
        Some(at) => outcomes.swap_remove(at),
        None if outcomes.iter().all(Option::is_some) => outcomes.into_iter().next().flatten(),
        None => None,
    }
}
