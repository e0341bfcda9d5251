//! The suite's notation for values: `v[marko].id`, `d[1].i`, `m[{…}]`, `l[…]` and so on (TinkerPop's developer documentation,
//! "Gherkin"). This module reads it into expected values, compares these with the engine's results, and writes them as Gremlin
//! literals.
//!
//! Comparison is strict about number types: `d[1].i` is an int32 and no other type.

use mangrove_graph::{BigDecimal, BigInt, DateTime, Direction, Map, Token, Tree, Uuid, Value};
use serde_json::Value as Json;

/// A value as the suite writes it.
#[derive(Clone, Debug)]
pub enum Expected {
    /// A plain value, or an element of the graph.
    Value(Value),
    /// A vertex that does not exist in the graph.
    Unknown,
    List(Vec<Expected>),
    Set(Vec<Expected>),
    Path(Vec<Expected>),
    Map(Vec<(Expected, Expected)>),
    Tree(Vec<(Expected, Expected)>),
}

/// The elements of the scenario's graph, by name.
pub trait Elements {
    fn vertex(&mut self, name: &str) -> Result<Option<Value>, String>;
    fn edge(&mut self, source: &str, label: &str, target: &str) -> Result<Option<Value>, String>;
    fn vertex_property(&mut self, vertex: &str, key: &str, value: &Expected) -> Result<Option<Value>, String>;
    /// The id of an element that users see.
    fn id(&mut self, element: &Value) -> Result<Value, String>;
}

/// Reads one value.
pub fn parse(text: &str, elements: &mut dyn Elements) -> Result<Expected, String> {
    let plain = |value: Value| Ok(Expected::Value(value));
    let Some((kind, body, suffix)) = bracketed(text) else { return plain(word(text)) };
    match kind {
        "m" => json(&serde_json::from_str(body).map_err(|e| format!("bad map {text}: {e}"))?, elements),
        "l" => Ok(Expected::List(items(body, elements)?)),
        "s" => Ok(Expected::Set(items(body, elements)?)),
        "p" => Ok(Expected::Path(items(body, elements)?)),
        "str" => plain(body.into()),
        "d" => plain(number(body, suffix).ok_or_else(|| format!("bad number {text}"))?),
        "dt" => plain(DateTime::parse(body).ok_or_else(|| format!("bad date-time {text}"))?.into()),
        "uuid" => plain(body.parse::<Uuid>().map_err(|e| format!("bad UUID {text}: {e}"))?.into()),
        "v" | "e" => element(kind, body, suffix, elements),
        "vp" => {
            let (vertex, key, value) = triplet(body)?;
            let value = parse(value, elements)?;
            plain(elements.vertex_property(vertex, key, &value)?.unwrap_or(Value::Null))
        }
        "t" => plain(token(body)?.into()),
        "D" => plain(Token::Direction(direction(body)?).into()),
        "M" => plain(merge_end(body)?.into()),
        _ => plain(word(text)),
    }
}

/// The tree that a doc string draws with `|--` and three columns of indentation per level.
pub fn parse_tree(doc: &str, elements: &mut dyn Elements) -> Result<Expected, String> {
    let mut lines = Vec::new();
    for line in doc.lines().filter(|line| !line.trim().is_empty()) {
        let level = (line.len() - line.trim_start_matches(' ').len()) / 3;
        lines.push((level, parse(line.trim().trim_start_matches("|--"), elements)?));
    }
    Ok(branches(&mut lines.into_iter().peekable(), 0))
}

fn branches(lines: &mut std::iter::Peekable<std::vec::IntoIter<(usize, Expected)>>, level: usize) -> Expected {
    let mut entries = Vec::new();
    while let Some((_, key)) = lines.next_if(|line| line.0 == level) {
        entries.push((key, branches(lines, level + 1)));
    }
    Expected::Tree(entries)
}

/// `kind[body].suffix`
fn bracketed(text: &str) -> Option<(&str, &str, Option<&str>)> {
    let (kind, rest) = text.split_once('[')?;
    if kind.is_empty() || !kind.bytes().all(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    if let Some(body) = rest.strip_suffix(']') {
        return Some((kind, body, None));
    }
    let (body, suffix) = rest.rsplit_once("].")?;
    let is_word = !suffix.is_empty() && suffix.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_word.then_some((kind, body, Some(suffix)))
}

fn word(text: &str) -> Value {
    match text {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        other => other.into(),
    }
}

fn items(body: &str, elements: &mut dyn Elements) -> Result<Vec<Expected>, String> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let mut depth = 0;
    let outer_comma = |c: char| {
        depth += i32::from("[{(".contains(c)) - i32::from("]})".contains(c));
        c == ',' && depth == 0
    };
    body.split(outer_comma).map(|item| parse(item.trim(), elements)).collect()
}

fn json(json_value: &Json, elements: &mut dyn Elements) -> Result<Expected, String> {
    Ok(match json_value {
        Json::Null => Expected::Value(Value::Null),
        Json::Bool(b) => Expected::Value((*b).into()),
        Json::Number(n) => Expected::Value(match n.as_i64() {
            Some(i) => i32::try_from(i).map(Value::from).unwrap_or(i.into()),
            None => n.as_f64().unwrap_or(f64::NAN).into(),
        }),
        Json::String(text) => parse(text, elements)?,
        Json::Array(items) => Expected::List(items.iter().map(|i| json(i, elements)).collect::<Result<_, _>>()?),
        Json::Object(entries) => {
            let entry = |(key, value): (&String, &Json)| Ok::<_, String>((parse(key, elements)?, json(value, elements)?));
            Expected::Map(entries.iter().map(entry).collect::<Result<_, _>>()?)
        }
    })
}

fn number(body: &str, suffix: Option<&str>) -> Option<Value> {
    Some(match suffix {
        Some("b") => body.parse::<i8>().ok()?.into(),
        Some("s") => body.parse::<i16>().ok()?.into(),
        Some("i") => body.parse::<i32>().ok()?.into(),
        Some("l") => body.parse::<i64>().ok()?.into(),
        Some("n") => body.parse::<BigInt>().ok()?.into(),
        Some("f") => body.parse::<f32>().ok()?.into(),
        Some("m") => body.parse::<BigDecimal>().ok()?.into(),
        Some("d") => body.parse::<f64>().ok()?.into(),
        None if matches!(body, "NaN" | "Infinity" | "-Infinity") => body.parse::<f64>().ok()?.into(),
        _ => return None,
    })
}

fn element(kind: &str, name: &str, suffix: Option<&str>, elements: &mut dyn Elements) -> Result<Expected, String> {
    let found = if kind == "v" {
        elements.vertex(name)?
    } else {
        let (source, label, target) = triplet(name)?;
        Some(elements.edge(source, label, target)?.ok_or_else(|| format!("the graph has no edge {name}"))?)
    };
    let id = match (&found, suffix) {
        (Some(element), None) => return Ok(Expected::Value(element.clone())),
        (None, None) => return Ok(Expected::Unknown),
        (Some(element), Some(_)) => elements.id(element)?,
        (None, Some(_)) => name.into(),
    };
    match suffix {
        Some("sid") => Ok(Expected::Value(id.to_string().into())),
        _ => Ok(Expected::Value(id)),
    }
}

/// `source-label->target`
fn triplet(text: &str) -> Result<(&str, &str, &str), String> {
    let parts = text.rsplit_once("->").and_then(|(front, target)| Some((front.rsplit_once('-')?, target)));
    parts.map(|((source, label), target)| (source, label, target)).ok_or_else(|| format!("bad edge notation {text}"))
}

fn token(name: &str) -> Result<Token, String> {
    let tokens = [Token::Id, Token::Label, Token::Key, Token::Value];
    tokens.into_iter().find(|t| t.name() == name).ok_or_else(|| format!("bad token t[{name}]"))
}

fn merge_end(name: &str) -> Result<Token, String> {
    let ends = [Direction::Out, Direction::In].map(Token::MergeEnd);
    ends.into_iter().find(|t| t.name() == name).ok_or_else(|| format!("bad constant M[{name}]"))
}

fn direction(name: &str) -> Result<Direction, String> {
    match name {
        "OUT" | "from" => Ok(Direction::Out),
        "IN" | "to" => Ok(Direction::In),
        "BOTH" => Ok(Direction::Both),
        _ => Err(format!("bad direction D[{name}]")),
    }
}

impl Expected {
    /// Whether the engine's `actual` matches this value.
    pub fn accepts(&self, actual: &Value) -> bool {
        let all = |expected: &[Expected], actual: &[Value]| {
            expected.len() == actual.len() && expected.iter().zip(actual).all(|(e, a)| e.accepts(a))
        };
        let any_order = |expected: &[Expected], actual: &[Value]| bag(expected, actual, Expected::accepts);
        match (self, actual) {
            (Expected::Value(expected), actual) => same(expected, actual),
            (Expected::List(e) | Expected::Set(e), Value::BulkSet(_)) => any_order(e, &actual.items().unwrap_or_default()),
            (Expected::List(e), Value::List(a)) => all(e, a),
            (Expected::Set(e), Value::Set(a)) => any_order(e, a),
            (Expected::Path(e), Value::Path(a)) => all(e, &a.objects),
            (Expected::Map(e), Value::Map(a)) => bag(e, &a.iter().cloned().collect::<Vec<_>>(), accepts_entry),
            (Expected::Map(e), Value::Entry(a)) => bag(e, std::slice::from_ref(&**a), accepts_entry),
            (Expected::Tree(_), Value::Tree(a)) => self.accepts_tree(a),
            _ => false,
        }
    }

    fn accepts_tree(&self, actual: &Tree) -> bool {
        let Expected::Tree(expected) = self else { return false };
        bag(expected, &actual.0, |e, a| e.0.accepts(&a.0) && e.1.accepts_tree(&a.1))
    }

    /// The value in gremlin-lang; `None` if it has no literal there, such as an edge.
    pub fn literal(&self) -> Option<String> {
        let list = |items: &[Expected]| Some(items.iter().map(Expected::literal).collect::<Option<Vec<_>>>()?.join(","));
        Some(match self {
            Expected::Value(value) => return literal(value),
            Expected::List(items) => format!("[{}]", list(items)?),
            Expected::Set(items) => format!("{{{}}}", list(items)?),
            Expected::Map(entries) if entries.is_empty() => "[:]".into(),
            Expected::Map(entries) => {
                let entries = entries.iter().map(|(k, v)| Some(format!("{}:{}", key_literal(k)?, v.literal()?)));
                format!("[{}]", entries.collect::<Option<Vec<_>>>()?.join(","))
            }
            Expected::Unknown | Expected::Path(_) | Expected::Tree(_) => return None,
        })
    }

    /// The value as a parameter of a query.
    pub fn to_value(&self) -> Option<Value> {
        let list = |items: &[Expected]| items.iter().map(Expected::to_value).collect::<Option<Vec<_>>>();
        Some(match self {
            Expected::Value(value) => value.clone(),
            Expected::List(items) => Value::list(list(items)?),
            Expected::Set(items) => Value::set(list(items)?),
            Expected::Map(entries) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    map.insert(key.to_value()?, value.to_value()?);
                }
                Value::map(map)
            }
            _ => return None,
        })
    }
}

fn key_literal(key: &Expected) -> Option<String> {
    let text = key.literal()?;
    Some(if matches!(key, Expected::Value(Value::String(_))) { text } else { format!("({text})") })
}

fn literal(value: &Value) -> Option<String> {
    let float = |f: f64, text: String, suffix: char| match f {
        f if f.is_nan() => "NaN".into(),
        f if f.is_infinite() => if f > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        _ => text + &suffix.to_string(),
    };
    Some(match value {
        Value::Null | Value::Bool(_) | Value::Int32(_) => value.to_string(),
        Value::Int8(i) => format!("{i}b"),
        Value::Int16(i) => format!("{i}s"),
        Value::Int64(i) => format!("{i}l"),
        Value::BigInt(i) => format!("{i}n"),
        Value::Decimal(d) => format!("{}m", d.to_plain_string()),
        Value::Float32(f) => float(f64::from(*f), format!("{f:?}"), 'f'),
        Value::Float64(f) => float(*f, format!("{f:?}"), 'd'),
        Value::String(text) => Json::from(&**text).to_string(),
        Value::Uuid(uuid) => format!("UUID(\"{uuid}\")"),
        Value::DateTime(time) => format!("datetime(\"{time}\")"),
        Value::Token(Token::Direction(direction)) => format!("Direction.{}", direction.name()),
        Value::Token(token @ Token::MergeEnd(_)) => format!("Merge.{}", token.name()),
        Value::Token(token) => format!("T.{}", token.name()),
        _ => return None,
    })
}

fn accepts_entry(expected: &(Expected, Expected), actual: &(Value, Value)) -> bool {
    expected.0.accepts(&actual.0) && expected.1.accepts(&actual.1)
}

/// Whether both hold the same items in any order.
pub fn bag<E, A>(expected: &[E], actual: &[A], accepts: impl Fn(&E, &A) -> bool) -> bool {
    expected.len() == actual.len() && unmatched(expected, actual, accepts).is_none()
}

/// The first of `expected` without a match in `actual`. Each item of `actual` matches once.
pub fn unmatched<'e, E, A>(expected: &'e [E], actual: &[A], accepts: impl Fn(&E, &A) -> bool) -> Option<&'e E> {
    let mut rest: Vec<&A> = actual.iter().collect();
    expected.iter().find(|e| match rest.iter().position(|a| accepts(e, a)) {
        Some(at) => {
            rest.remove(at);
            false
        }
        None => true,
    })
}

/// Whether plain values or elements are equal. Number types must match. Doubles may differ by rounding. Decimals must have the same
/// scale.
fn same(expected: &Value, actual: &Value) -> bool {
    const ROUNDING: f64 = 1e-15;
    match (expected, actual) {
        (Value::Float64(e), Value::Float64(a)) => (e - a).abs() <= ROUNDING || expected == actual,
        (Value::Decimal(e), Value::Decimal(a)) => e.as_bigint_and_scale() == a.as_bigint_and_scale(),
        _ => expected == actual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph with one vertex, "marko", whose id is 1.
    struct Marko;

    const MARKO: Value = Value::Vertex(mangrove_graph::VertexId(7));

    impl Elements for Marko {
        fn vertex(&mut self, name: &str) -> Result<Option<Value>, String> {
            Ok((name == "marko").then_some(MARKO))
        }

        fn edge(&mut self, _: &str, _: &str, _: &str) -> Result<Option<Value>, String> {
            Ok(None)
        }

        fn vertex_property(&mut self, _: &str, _: &str, _: &Expected) -> Result<Option<Value>, String> {
            Ok(None)
        }

        fn id(&mut self, _: &Value) -> Result<Value, String> {
            Ok(1i64.into())
        }
    }

    fn read(text: &str) -> Expected {
        parse(text, &mut Marko).unwrap()
    }

    #[test]
    fn number_types_are_part_of_what_is_expected() {
        assert!(read("d[1].i").accepts(&1i32.into()));
        assert!(!read("d[1].i").accepts(&1i64.into()));
        assert!(!read("d[1].d").accepts(&1i32.into()));
        assert!(read("d[0.3].d").accepts(&(0.1 + 0.2).into()));
        assert!(read("d[NaN]").accepts(&f64::NAN.into()));
        assert!(!read("d[1.0].m").accepts(&"1.00".parse::<BigDecimal>().unwrap().into()));
    }

    #[test]
    fn collections_compare_by_their_kind() {
        let items = |texts: &[&str]| texts.iter().map(|t| Value::from(*t)).collect::<Vec<_>>();
        assert!(read("l[a,b]").accepts(&Value::list(items(&["a", "b"]))));
        assert!(!read("l[a,b]").accepts(&Value::list(items(&["b", "a"]))));
        assert!(!read("l[a,b]").accepts(&Value::set(items(&["a", "b"]))));
        assert!(read("s[a,b]").accepts(&Value::set(items(&["b", "a"]))));
        let bulk = Value::BulkSet(vec![("b".into(), 2), ("a".into(), 1)].into());
        assert!(read("l[a,b,b]").accepts(&bulk) && read("s[b,a,b]").accepts(&bulk) && !read("l[a,b]").accepts(&bulk));
    }

    #[test]
    fn values_nest_and_find_the_graphs_elements() {
        assert!(read("v[marko]").accepts(&MARKO));
        assert!(!read("v[peter]").accepts(&MARKO));
        assert!(read("l[v[marko].sid,d[1].l,null]").accepts(&Value::list(vec!["1".into(), 1i64.into(), Value::Null])));
        let map = read(r#"m[{"t[id]":"v[marko].id","n":[1,"true"]}]"#);
        assert_eq!(map.literal().unwrap(), r#"[(T.id):1l,"n":[1,true]]"#);
        assert!(parse("e[marko-knows->peter]", &mut Marko).is_err());
        assert!(read("v[marko]").literal().is_none());
    }

    #[test]
    fn trees_are_drawn_by_indentation() {
        let tree = parse_tree("|--a\n   |--b\n   |--c\n|--d", &mut Marko).unwrap();
        let leaf = |name: &str| (Value::from(name), Tree::default());
        let actual = Tree(vec![leaf("d"), ("a".into(), Tree(vec![leaf("c"), leaf("b")]))]);
        assert!(tree.accepts(&Value::Tree(actual.into())));
        assert!(!tree.accepts(&Value::Tree(Tree(vec![leaf("a"), leaf("d")]).into())));
    }
}
