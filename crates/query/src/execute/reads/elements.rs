//! What a batch of elements has: tokens, and properties by column.

use mangrove_graph::{Direction, Elements, KeyId, PropertyColumn, Token, Value};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::words::type_error;
use crate::execute::reads::read;
use crate::execute::run::context::Context;

/// `T.key` of a property or a map entry.
pub fn key_of(value: &Value) -> Result<Value> {
    match value {
        Value::VertexProperty(p) => Ok(Value::String(p.name.clone())),
        Value::Property(p) => Ok(Value::String(p.name.clone())),
        Value::Entry(entry) => Ok(entry.0.clone()),
        other => Err(type_error("key()", "properties", other)),
    }
}

/// `T.value` of a property or a map entry.
pub fn value_of(value: &Value) -> Result<Value> {
    match value {
        Value::VertexProperty(p) => Ok(p.value.clone()),
        Value::Property(p) => Ok(p.value.clone()),
        Value::Entry(entry) => Ok(entry.1.clone()),
        other => Err(type_error("value()", "properties", other)),
    }
}

pub fn token_of(cx: &Context<'_, '_>, value: &Value, token: Token) -> Result<Value> {
    match token {
        Token::Id => read::id_of(cx, value),
        Token::Label => read::label_of(cx, value),
        Token::Key => key_of(value),
        Token::Value => value_of(value),
        Token::Direction(direction) | Token::MergeEnd(direction) => match (value, direction) {
            (Value::Edge(e), Direction::Out) => Ok(Value::Vertex(e.source)),
            (Value::Edge(e), _) => Ok(Value::Vertex(e.target)),
            (other, _) => Err(type_error("a direction", "edges", other)),
        },
    }
}

/// A token of each item.
pub fn tokens_of(cx: &Context<'_, '_>, items: &Items, token: Token) -> Result<Vec<Value>> {
    match token {
        Token::Id => read::ids(cx, items),
        token => (0..items.len()).map(|row| token_of(cx, &items.get(row), token)).collect(),
    }
}

/// The elements of a batch, if all items are vertices or all are edges.
pub fn elements(batch: &Batch) -> Option<Elements<'_>> {
    match &batch.items {
        Items::Vertices(ids) => Some(Elements::Vertices(ids)),
        Items::Edges(edges) => Some(Elements::Edges(edges)),
        Items::Values(_) | Items::Column(_) | Items::Maps(_) => None,
    }
}

/// The values of a batch of elements under a key, as a column. Reads only what the batch does not have.
pub fn column(cx: &Context<'_, '_>, batch: &Batch, key: KeyId) -> Result<Option<PropertyColumn>> {
    let Some(elements) = elements(batch) else { return Ok(None) };
    if let Some(column) = batch.known.get(key) {
        return Ok(Some(PropertyColumn::Typed(column.clone())));
    }
    // A single element is read without an array around it.
    if elements.len() == 1 {
        return Ok(Some(PropertyColumn::Cells(vec![cx.view().cell(elements.get(0), key)?])));
    }
    Ok(Some(cx.view().properties(elements, key)?))
}

/// The columns of a batch of elements under several keys, in one call for those that the batch does not have.
pub fn columns(cx: &Context<'_, '_>, batch: &Batch, elements: Elements<'_>, keys: &[KeyId]) -> Result<Vec<PropertyColumn>> {
    let mut read = Vec::with_capacity(keys.len());
    if batch.known.is_empty() {
        cx.view().columns(elements, keys, &mut read)?;
        return Ok(read);
    }
    let missing: Vec<KeyId> = keys.iter().copied().filter(|key| batch.known.get(*key).is_none()).collect();
    if !missing.is_empty() {
        cx.view().columns(elements, &missing, &mut read)?;
    }
    let mut read = read.into_iter();
    let column = |key: &KeyId| match batch.known.get(*key) {
        Some(column) => PropertyColumn::Typed(column.clone()),
        None => read.next().unwrap_or(PropertyColumn::Absent(elements.len())),
    };
    Ok(keys.iter().map(column).collect())
}
