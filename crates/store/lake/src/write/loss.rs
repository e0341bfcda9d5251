//! What GraphAr cannot hold of a graph.

use std::sync::Arc;

use mangrove_graph::{ElementKind, PropertySchema, Schema, TypeSet, ValueType};

/// How the values of a property are written, if not exactly.
pub fn of_types(schema: &Schema, kind: ElementKind, label: &Arc<str>, property: &PropertySchema, written: &str) -> String {
    let key = schema.key_name(property.key);
    let types = names(property.types);
    format!("property `{key}` of {} `{label}` has {types}: written as {written}", kind.plural())
}

/// The properties of properties are left out.
pub fn of_meta(schema: &Schema, label: &Arc<str>, property: &PropertySchema) -> String {
    let key = schema.key_name(property.key);
    format!("values of `{key}` of vertices `{label}` have properties of their own: left out")
}

fn names(types: TypeSet) -> String {
    let names: Vec<&str> = types.iter().map(ValueType::name).collect();
    match &names[..] {
        [one] => format!("the type {one}"),
        several => format!("the types {}", several.join(", ")),
    }
}
