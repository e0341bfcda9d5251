//! Values in messages.

use mangrove_graph::Value;

use crate::error::QueryError;

pub fn type_error(step: &str, wanted: &str, value: &Value) -> QueryError {
    QueryError::value(format!("{step} works on {wanted}, but got the {}", described(value)))
}

/// A value for an error message, with its type. It hides the store's numbers for elements, which mean nothing to users.
pub fn described(value: &Value) -> String {
    match may_name_elements(value) {
        true => value.value_type().to_string(),
        false => format!("{} {value}", value.value_type()),
    }
}

/// The same, without the type.
pub fn shown(value: &Value) -> String {
    if may_name_elements(value) { format!("a {}", value.value_type()) } else { value.to_string() }
}

fn may_name_elements(value: &Value) -> bool {
    !value.is_storable() && !matches!(value, Value::Token(_))
}

pub fn not_a_list(step: &str, value: &Value) -> QueryError {
    QueryError::value(match value {
        Value::Null => format!("Incoming traverser for {step} step can't be null"),
        other => {
            let met = other.value_type();
            format!("{step} step can only take an array or an Iterable type for incoming traversers, encountered {met}")
        }
    })
}
