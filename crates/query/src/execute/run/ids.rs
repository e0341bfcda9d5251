//! The message for an id that no element has.

use mangrove_graph::{ElementKind, ExternalId, GraphView, IdSpace, Value, record};

use crate::diagnostics::suggest;
use crate::error::Result;

/// Reports that no element has `id`, nor `others` other ids. It suggests the id that may be meant.
pub fn unknown(view: &dyn GraphView, kind: ElementKind, id: &Value, others: usize) -> Result<String> {
    let what = if kind == ElementKind::Vertex { "vertex" } else { "edge" };
    let others = match others {
        0 => String::new(),
        1 => " (nor with 1 other id)".into(),
        n => format!(" (nor with {n} other ids)"),
    };
    let hint = hint(view, kind, id)?.map(|hint| format!("; {hint}")).unwrap_or_default();
    Ok(format!("the graph has no {what} with the id {}{others}{hint}", quoted(id)))
}

/// What the id may mean instead.
pub fn hint(view: &dyn GraphView, kind: ElementKind, id: &Value) -> Result<Option<String>> {
    if ExternalId::from_value(id).is_none() {
        return Ok(Some("an id is a string, an integer or a UUID".into()));
    }
    if kind == ElementKind::Vertex && view.schema().id_space == IdSpace::Label {
        return Ok(qualification(view, id));
    }
    let Some(other) = record::other_spelling(id) else { return Ok(None) };
    let is_there = match kind {
        ElementKind::Vertex => record::find_vertex(view, &other)?.is_some(),
        ElementKind::Edge => record::find_edge(view, &other)?.is_some(),
    };
    let type_of = |id: &Value| if id.as_str().is_some() { "text" } else { "number" };
    Ok(is_there
        .then(|| format!("there is one with {}, the {}, but that is a different id", quoted(&other), type_of(&other))))
}

/// The qualified form of an id, if ids are unique only within labels.
fn qualification(view: &dyn GraphView, id: &Value) -> Option<String> {
    let schema = view.schema();
    let given = ExternalId::from_value(id)?;
    if record::qualified(schema, &given).is_some() {
        return None;
    }
    let is_qualified = id.as_str().is_some_and(|text| text.contains('/'));
    let names = || schema.known_labels(ElementKind::Vertex).map(|(_, label)| &*label.name);
    let near =
        id.as_str().and_then(|text| text.split_once('/')).and_then(|(label, rest)| Some((suggest(label, names())?, rest)));
    match near {
        Some((label, rest)) => Some(format!("did you mean '{label}/{rest}'?")),
        None if is_qualified => Some("there is no such vertex label".into()),
        None => {
            let label = names().next().unwrap_or("Label");
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            Some(format!("in this database, write ids with their label, as in '{label}/{id}'"))
        }
    }
}

fn quoted(id: &Value) -> String {
    match id.as_str() {
        Some(text) => format!("'{text}'"),
        None => id.to_string(),
    }
}
