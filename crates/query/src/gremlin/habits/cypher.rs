//! How a query of Cypher would begin in Gremlin.

use super::sql::assigned;
use super::words::{Search, Words, value};

/// The first `(name:Label {key: value})` of a text.
pub struct Node<'t> {
    label: Option<&'t str>,
    /// The first property, as written.
    property: Option<(&'t str, String)>,
}

impl<'t> Node<'t> {
    pub fn of(text: &'t str) -> Option<Self> {
        let inside = text.split_once('(')?.1.split([')', '(']).next()?;
        let (head, properties) = inside.split_once('{').map_or((inside, None), |(head, rest)| (head, Some(rest)));
        let label = head.split_once(':').map(|(_, label)| label.split([':', '|', '&']).next().unwrap_or(label).trim());
        let property = properties.and_then(|all| all.split(['}', ',']).next()?.split_once(':'));
        let property = property.and_then(|(key, written)| Some((key.trim(), value(Words::of(written).at(0)?)?)));
        Some(Self { label: label.filter(|label| !label.is_empty()), property })
    }

    pub fn created(&self) -> String {
        let property = self.property.as_ref().map(|(key, value)| format!(".property('{key}', {value})")).unwrap_or_default();
        format!("g.addV('{}'){property}", self.label.unwrap_or("label"))
    }

    pub fn merged(&self) -> String {
        let property = self.property.as_ref().map(|(key, value)| format!(", '{key}': {value}")).unwrap_or_default();
        format!("g.mergeV([(T.label): '{}'{property}])", self.label.unwrap_or("label"))
    }
}

pub fn matched(text: &str, words: &Words<'_>) -> String {
    let node = Node::of(text).unwrap_or(Node { label: None, property: None });
    let edge = followed(text);
    // With an edge, a condition may be about either end.
    let conditions = words.comparisons("WHERE", "AND").filter(|all| all.is_empty() || edge.is_none());
    let steps = match edge {
        Some(edge) => edge,
        None if words.has("SET") => assigned(words),
        None if words.has("DELETE") => ".drop()".into(),
        None => String::new(),
    };
    Search::new(node.label, node.property, conditions).then(&(steps + &returned(words)))
}

/// The step along the first edge of a pattern.
fn followed(text: &str) -> Option<String> {
    let pattern = text.split_once(')')?.1;
    let pattern = pattern.split('(').next()?.trim();
    let step = match (pattern.starts_with("<-"), pattern.ends_with("->")) {
        (true, false) => "in",
        (false, true) => "out",
        _ if pattern.starts_with('-') => "both",
        _ => return None,
    };
    let label = pattern.split_once('[').and_then(|(_, rest)| rest.split([']', '*', '{']).next()?.split_once(':'));
    let label = label.map(|(_, label)| format!("'{}'", label.trim())).unwrap_or_default();
    Some(format!(".{step}({label})"))
}

fn returned(words: &Words<'_>) -> String {
    let count = words.after("RETURN").first().filter(|word| word.eq_ignore_ascii_case("count"));
    let limit = words.after("LIMIT").first().and_then(|word| value(word));
    let limit = limit.map(|limit| format!(".limit({limit})")).unwrap_or_default();
    limit + if count.is_some() { ".count()" } else { "" }
}
