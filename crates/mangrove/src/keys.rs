//! The names under which the entries of a map, and the parts of an element, appear in JSON objects and in columns.
//!
//! * A string key is its own name. Other plain keys (numbers, booleans, dates, UUIDs …) go by their text.
//! * `T.id`, `T.label` and their like are named `id`, `label` …, unless a property has that name too: then they are `T.id`,
//!   `T.label` (and `Direction.OUT`), so that a property always keeps its name.
//! * A map whose keys are elements or collections, or whose keys would coincide (`1` and `"1"`), has no names.

use std::borrow::Cow;
use std::collections::HashSet;

use mangrove_graph::{Token, Value};

use crate::describe::Described;

/// A name for every entry, all distinct; `None` if the map has no such names.
pub fn names(entries: &[(Described, Described)]) -> Option<Vec<Cow<'_, str>>> {
    let is_property =
        |name: &str| entries.iter().any(|(key, _)| matches!(key, Described::Plain(Value::String(s)) if &**s == name));
    let mut names = Vec::with_capacity(entries.len());
    for (key, _) in entries {
        names.push(match key {
            Described::Plain(Value::String(text)) => Cow::Borrowed(&**text),
            Described::Plain(Value::Token(token)) if is_property(token.name()) => Cow::Borrowed(qualified(*token)),
            Described::Plain(Value::Token(token)) => Cow::Borrowed(token.name()),
            Described::Plain(value) if is_scalar(value) => Cow::Owned(value.to_string()),
            _ => return None,
        });
    }
    let distinct: HashSet<&str> = names.iter().map(|name| &**name).collect();
    (distinct.len() == names.len()).then_some(names)
}

/// The name of a token where a property has its short one.
pub fn qualified(token: Token) -> &'static str {
    use mangrove_graph::Direction::*;
    match token {
        Token::Id => "T.id",
        Token::Label => "T.label",
        Token::Key => "T.key",
        Token::Value => "T.value",
        Token::Direction(Out) => "Direction.OUT",
        Token::Direction(In) => "Direction.IN",
        Token::Direction(Both) => "Direction.BOTH",
        Token::MergeEnd(Out) => "Merge.outV",
        Token::MergeEnd(_) => "Merge.inV",
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Set(_) | Value::Map(_) | Value::Vector(_))
}
