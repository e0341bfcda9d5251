//! Where text may be, by the schema.

use mangrove::graph::{ElementKind, ValueType};
use mangrove::{Database, StoreError};
use serde_json::{Value as Json, json};

/// A query for the vertices that have the parameter `text` in a property; `None` if none has a property with text.
pub fn query(database: &Database, label: Option<&str>, limit: usize) -> Result<Option<String>, String> {
    let schema = database.schema().map_err(|error| error.to_string())?;
    let mut known = Vec::new();
    let mut parts = Vec::new();
    for (_, of) in schema.known_labels(ElementKind::Vertex) {
        known.push(of.name.to_string());
        if label.is_some_and(|label| label != &*of.name) {
            continue;
        }
        for property in of.known_properties() {
            let has_text = property.types.iter().any(|kind| kind == ValueType::String);
            if has_text || property.declared == Some(ValueType::String) {
                let key = schema.key_name(property.key);
                parts.push(format!("__.V().has({}, {}, containing(text))", quoted(&of.name), quoted(&key)));
            }
        }
    }
    if let Some(label) = label.filter(|label| !known.iter().any(|name| name == label)) {
        return Err(format!("there is no label {label:?}: vertices have {}", known.join(", ")));
    }
    // Each part may use an index of its own.
    Ok((!parts.is_empty()).then(|| format!("g.union({}).dedup().limit({limit})", parts.join(", "))))
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// Which labels of vertices the edges of each label join.
pub fn ends(database: &Database) -> Result<Json, StoreError> {
    let schema = database.schema()?;
    let ends = schema.edge_labels.iter().flat_map(|label| {
        let name = |id| schema.label_name(ElementKind::Vertex, id).to_string();
        label
            .ends
            .iter()
            .map(move |(source, target)| json!({"from": name(*source), "label": &*label.name, "to": name(*target)}))
    });
    Ok(ends.collect())
}
