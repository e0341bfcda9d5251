//! Machine-readable output: one JSON document for each result. And JSON as values, for parameters.
//!
//! | value | JSON |
//! |---|---|
//! | null, booleans, strings | as they are |
//! | numbers of every type | a number with all its digits; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | date, datetime, duration, uuid | a string in ISO 8601 (`"2024-02-29"`, `"2024-02-29T10:00:00Z"`, `"PT1H30M"`) or hexadecimal groups |
//! | bytes | a string in base64 |
//! | list, set, vector | an array |
//! | map | an object (names as docs/output.md says), else an array of `{"key": …, "value": …}` |
//! | map entry | an object of one |
//! | vertex | `{"id", "label", "type": "vertex", "properties": {…}}`, `"furtherLabels"` and `"meta"` if it has any |
//! | edge | `{"id", "label", "type": "edge", "outV", "outVLabel", "inV", "inVLabel", "properties": {…}}` |
//! | vertex property | `{"type": "vertexProperty", "key", "value", "vertex"}`, `"meta"` if it has any |
//! | property | `{"type": "property", "key", "value"}` |
//! | path | `{"type": "path", "objects": […], "labels": [[…], …]}` |
//! | tree | `{"type": "tree", "branches": [{"value", "branches"}, …]}` |
//! | subgraph | `{"type": "graph", "vertices": […], "edges": […]}` |
//!
//! The properties of a vertex map keys to values. A key of list or set cardinality always has an array, even for one value.
//! Properties of properties stand under `"meta"`: for each key that has some, an array with one object per value.

use std::fmt::Write;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mangrove_graph::{Map, Token, Value, number};
use serde_json::Value as Json;

use crate::describe::{
    Branch, Described, EdgeRecord, LonePropertyRecord, PropertyRecord, VertexPropertyRecord, VertexRecord,
};
use crate::keys;

/// The JSON document of a value, on one line.
pub fn to_string(value: &Described) -> String {
    let mut out = String::new();
    write_described(&mut out, value);
    out
}

/// The text of a table cell: what JSON writes as a string stands without its quotes, everything else is JSON.
pub fn text(value: &Described) -> String {
    match value {
        Described::Plain(Value::String(text)) => text.to_string(),
        other => {
            let json = to_string(other);
            match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                Some(plain) if !plain.contains('\\') => plain.to_owned(),
                _ => json,
            }
        }
    }
}

/// Appends the JSON document of a value.
pub fn write_described(out: &mut String, value: &Described) {
    match value {
        Described::Plain(value) => plain(out, value),
        Described::Vertex(record) => vertex(out, record),
        Described::Edge(record) => edge(out, record),
        Described::VertexProperty(record) => vertex_property(out, record),
        Described::Property(property) => {
            let LonePropertyRecord { key, value, .. } = &**property;
            out.push_str(r#"{"type":"property","key":"#);
            string(out, key);
            member(out, "value", value);
            out.push('}');
        }
        Described::List(items) | Described::Set(items) => array(out, items, write_described),
        Described::Map(entries) => map(out, entries),
        Described::Entry(entry) => map(out, std::slice::from_ref(entry)),
        Described::Path { objects, labels } => {
            out.push_str(r#"{"type":"path","objects":"#);
            array(out, objects, write_described);
            out.push_str(r#","labels":"#);
            array(out, labels, |out, labels| array(out, labels, |out, label| string(out, label)));
            out.push('}');
        }
        Described::Tree(branches) => {
            out.push_str(r#"{"type":"tree","branches":"#);
            array(out, branches, branch);
            out.push('}');
        }
        Described::Subgraph { vertices, edges } => {
            out.push_str(r#"{"type":"graph","vertices":"#);
            array(out, vertices, vertex);
            out.push_str(r#","edges":"#);
            array(out, edges, edge);
            out.push('}');
        }
    }
}

fn plain(out: &mut String, value: &Value) {
    match value {
        Value::Float32(f) if f.is_finite() => append(out, format_args!("{f:?}")),
        Value::Float64(f) if f.is_finite() => append(out, format_args!("{f:?}")),
        Value::Null
        | Value::Bool(_)
        | Value::Int8(_)
        | Value::Int16(_)
        | Value::Int32(_)
        | Value::Int64(_)
        | Value::BigInt(_)
        | Value::Decimal(_) => append(out, format_args!("{value}")),
        Value::String(text) => string(out, text),
        Value::Bytes(bytes) => append(out, format_args!("\"{}\"", STANDARD.encode(bytes))),
        Value::List(items) | Value::Set(items) => array(out, items, plain),
        Value::Vector(items) => array(out, items, |out, item| plain(out, &Value::Float32(*item))),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(k, v)| (Described::Plain(k.clone()), Described::Plain(v.clone())));
            map(out, &entries.collect::<Vec<_>>());
        }
        other => string(out, &other.to_string()),
    }
}

/// Whether a map has `T.id` and an equal property `id`. Then the property says it all.
fn says_id_twice(entries: &[(Described, Described)]) -> bool {
    let with_key = |wanted: &Value| {
        let is_wanted = |(key, _): &&(Described, Described)| matches!(key, Described::Plain(key) if key == wanted);
        entries.iter().find(is_wanted).map(|(_, value)| value)
    };
    match (with_key(&Token::Id.into()), with_key(&Token::Id.name().into())) {
        (Some(Described::Plain(own)), Some(Described::Plain(property))) => own == property,
        _ => false,
    }
}

fn map(out: &mut String, entries: &[(Described, Described)]) {
    let is_own = |(key, _): &(Described, Described)| matches!(key, Described::Plain(Value::Token(Token::Id)));
    let without: Vec<(Described, Described)>;
    let entries = if says_id_twice(entries) {
        without = entries.iter().filter(|entry| !is_own(entry)).cloned().collect();
        &without
    } else {
        entries
    };
    let Some(names) = keys::names(entries) else {
        return array(out, entries, |out, (key, value)| {
            out.push_str(r#"{"key":"#);
            write_described(out, key);
            out.push_str(r#","value":"#);
            write_described(out, value);
            out.push('}');
        });
    };
    object(out, names.iter().zip(entries), |out, (name, (_, value))| {
        string(out, name);
        out.push(':');
        write_described(out, value);
    });
}

fn vertex(out: &mut String, record: &VertexRecord) {
    head(out, &record.id, &record.label, "vertex");
    if !record.further_labels.is_empty() {
        out.push_str(r#","furtherLabels":"#);
        array(out, &record.further_labels, |out, label| string(out, label));
    }
    out.push_str(r#","properties":"#);
    object(out, record.properties.iter(), |out, property| {
        string(out, &property.key);
        out.push(':');
        match &property.values[..] {
            [one] if !property.many => plain(out, &one.value),
            values => array(out, values, |out, value| plain(out, &value.value)),
        }
    });
    let has_meta = |property: &&PropertyRecord| property.values.iter().any(|value| !value.meta.is_empty());
    if record.properties.iter().any(|property| has_meta(&property)) {
        out.push_str(r#","meta":"#);
        object(out, record.properties.iter().filter(has_meta), |out, property| {
            string(out, &property.key);
            out.push(':');
            array(out, &property.values, |out, value| members(out, &value.meta));
        });
    }
    out.push('}');
}

fn edge(out: &mut String, record: &EdgeRecord) {
    head(out, &record.id, &record.label, "edge");
    member(out, "outV", &record.source.id);
    out.push_str(r#","outVLabel":"#);
    string(out, &record.source.label);
    member(out, "inV", &record.target.id);
    out.push_str(r#","inVLabel":"#);
    string(out, &record.target.label);
    out.push_str(r#","properties":"#);
    members(out, &record.properties);
    out.push('}');
}

fn vertex_property(out: &mut String, record: &VertexPropertyRecord) {
    out.push_str(r#"{"type":"vertexProperty","key":"#);
    string(out, &record.key);
    member(out, "value", &record.value);
    member(out, "vertex", &record.vertex.id);
    if !record.meta.is_empty() {
        out.push_str(r#","meta":"#);
        members(out, &record.meta);
    }
    out.push('}');
}

fn branch(out: &mut String, branch: &Branch) {
    out.push_str(r#"{"value":"#);
    write_described(out, &branch.value);
    out.push_str(r#","branches":"#);
    array(out, &branch.below, self::branch);
    out.push('}');
}

fn head(out: &mut String, id: &Value, label: &str, kind: &str) {
    out.push_str(r#"{"id":"#);
    plain(out, id);
    out.push_str(r#","label":"#);
    string(out, label);
    append(out, format_args!(r#","type":"{kind}""#));
}

fn member(out: &mut String, name: &str, value: &Value) {
    append(out, format_args!(r#","{name}":"#));
    plain(out, value);
}

fn members(out: &mut String, members: &[(Arc<str>, Value)]) {
    object(out, members.iter(), |out, (key, value)| {
        string(out, key);
        out.push(':');
        plain(out, value);
    });
}

fn array<T>(out: &mut String, items: &[T], write: impl Fn(&mut String, &T)) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

fn object<T>(out: &mut String, items: impl Iterator<Item = T>, write: impl Fn(&mut String, T)) {
    out.push('{');
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push('}');
}

fn append(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all that is written");
}

fn string(out: &mut String, text: &str) {
    mangrove_ingest::quote_json(text, out);
}

/// Typed like a Gremlin literal: the first of int32, int64 and bigint that holds it.
pub fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || (digits.starts_with('0') && digits.len() > 1) {
        return None;
    }
    let small = text.parse().map(Value::Int32).or_else(|_| text.parse().map(Value::Int64)).ok();
    small.or_else(|| number::big_int(text).ok().map(Value::from))
}

/// A JSON document as a value. Numbers are typed as in Gremlin.
pub fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(b) => (*b).into(),
        Json::Number(number) => integer(&number.to_string()).unwrap_or_else(|| number.as_f64().unwrap_or(f64::NAN).into()),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::list(items.iter().map(value).collect()),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, of)| (key.as_str().into(), value(of)));
            Map::from_distinct(entries.collect()).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mangrove_graph::{Date, DateTime, Map, Token};

    fn json(value: impl Into<Value>) -> String {
        to_string(&Described::Plain(value.into()))
    }

    fn map_of(entries: impl IntoIterator<Item = (Value, Value)>) -> String {
        json(Map::from_distinct(entries.into_iter().collect()))
    }

    #[test]
    fn plain_values_are_json_and_keep_their_digits() {
        assert_eq!(json(i64::MAX), "9223372036854775807");
        assert_eq!(json(1.0), "1.0");
        assert_eq!(json(1e300), "1e300");
        assert_eq!(json(f64::NEG_INFINITY), "\"-Infinity\"");
        assert_eq!(json("tab\t \"q\" \\ é\u{1}"), r#""tab\t \"q\" \\ é\u0001""#);
        assert_eq!(json(Date::parse("2024-02-29").unwrap()), "\"2024-02-29\"");
        assert_eq!(json(DateTime::parse("2024-02-29T10:00:00+02:00").unwrap()), "\"2024-02-29T10:00:00+02:00\"");
        assert_eq!(json(vec![Value::Null, true.into()]), "[null,true]");
        assert_eq!(json(Value::Bytes([0xfb, 0xff].as_slice().into())), "\"+/8=\"");
    }

    #[test]
    fn a_property_keeps_its_name_beside_a_token() {
        assert_eq!(map_of([(Token::Id.into(), 1.into()), ("name".into(), "x".into())]), r#"{"id":1,"name":"x"}"#);
        assert_eq!(map_of([(Token::Id.into(), 1.into()), ("id".into(), "x".into())]), r#"{"T.id":1,"id":"x"}"#);
        assert_eq!(map_of([(Token::Id.into(), 1.into()), ("id".into(), 1.into())]), r#"{"id":1}"#);
    }

    #[test]
    fn keys_that_are_no_names_give_pairs() {
        assert_eq!(map_of([(1.into(), 2.into()), (3.5.into(), 4.into())]), r#"{"1":2,"3.5":4}"#);
        assert_eq!(map_of([(1.into(), 2.into()), ("1".into(), 4.into())]), r#"[{"key":1,"value":2},{"key":"1","value":4}]"#);
        assert_eq!(map_of([(vec![Value::Null].into(), 2.into())]), r#"[{"key":[null],"value":2}]"#);
    }
}
