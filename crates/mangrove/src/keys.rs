//! The names of map entries, and of the parts of an element, in JSON objects and in columns.
//!
//! * A string key is its own name. Other plain keys (numbers, booleans, dates, UUIDs …) are named by their text.
//! * `T.id`, `T.label` and the like are named `id`, `label` …. If a property has the same name, the property keeps it, and the
//!   tokens are named `T.id`, `T.label` (and `Direction.OUT`).
//! * A map has no names if its keys are elements or collections, or if two keys would get the same name (`1` and `"1"`).

use std::borrow::Cow;
use std::collections::HashSet;

use mangrove_graph::{Token, Value};

use crate::describe::Described;

/// A distinct name for every entry; `None` if the map has no such names.
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

/// The name of a token if a property has its short name.
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
