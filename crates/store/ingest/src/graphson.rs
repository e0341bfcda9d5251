//! Reads GraphSON 3: TinkerPop's adjacency list, or a document of vertices and edges. An adjacency list has one vertex a line with
//! its out-edges. An object may wrap it.
//!
//! ```text
//! {"id": …, "label": "person", "outE": {"knows": [{"id": …, "inV": …, "properties": {…}}]},
//!  "properties": {"name": [{"id": …, "value": "marko", "properties": {…}}]}}
//! {"vertices": [the same, …]}        {"vertices": [{…}, …], "edges": [{"id", "label", "outV", "inV", "properties"}, …]}
//! ```
//!
//! Values may be typed (`{"@type": "g:Int32", "@value": 29}`) or plain JSON. In-edges (`inE`) repeat the out-edges, so the reader
//! skips them. A vertex's labels are its `label`, or all of `labels`, in which this crate writes several.

use std::io::Read;
use std::sync::Arc;

use base64::Engine;
use mangrove_graph::{Date, DateTime, Duration, ExternalId, Map, Uuid, Value, number};

use crate::elements::{EdgeElement, ElementBatches, Pass, VertexElement};
use crate::error::{BadRow, Fault, LoadError, Location};
use crate::feed::{Feed, Piece};
use crate::json::{self, Json};
use crate::rows::{Event, LabelSet, RawCell, RawValue, Scope, Sink};
use crate::source::Source;

/// Reads the vertices or the edges of a GraphSON stream.
pub fn read(input: impl Read, source: &Source, pass: Pass, sink: &mut Sink<'_>) -> Result<(), LoadError> {
    let mut feed = Feed::new(input);
    let mut reader = GraphsonReader { source, pass, batches: ElementBatches::new(&source.name, false, sink) };
    match shape(&mut feed).map_err(|e| source.failed(e))? {
        Shape::Lines => {
            while let Some(piece) = feed.line().map_err(|e| source.failed(e))? {
                reader.element(&piece, Kind::Vertex)?;
            }
        }
        Shape::Values => {
            while let Some(piece) = feed.value().map_err(|e| source.failed(e))? {
                if !reader.element(&piece, Kind::Vertex)? {
                    break;
                }
            }
        }
        Shape::Document => reader.document(&mut feed)?,
    }
    reader.batches.flush()
}

enum Shape {
    /// A vertex a line.
    Lines,
    /// Vertices that span lines.
    Values,
    /// One object with vertices and perhaps edges.
    Document,
}

fn shape<R: Read>(feed: &mut Feed<R>) -> std::io::Result<Shape> {
    feed.skip_space(b"")?;
    let start = feed.peek(1 << 16)?;
    let compact: Vec<u8> = start.iter().filter(|b| !b.is_ascii_whitespace()).take(32).copied().collect();
    let document = [&b"{\"vertices\":["[..], b"{\"edges\":[", b"{\"@type\":\"tinker:graph\""];
    if document.iter().any(|head| compact.starts_with(head)) {
        return Ok(Shape::Document);
    }
    let line = start.split(|b| *b == b'\n').next().unwrap_or_default();
    let broken_off = line.len() == start.len();
    let whole = std::str::from_utf8(line).is_ok_and(|line| json::parse(line).is_ok());
    Ok(if whole || broken_off { Shape::Lines } else { Shape::Values })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Vertex,
    Edge,
}

struct GraphsonReader<'a, 's> {
    source: &'a Source,
    pass: Pass,
    batches: ElementBatches<'a, 's>,
}

/// An error in an element, and the part of the element that shows it.
struct Wrong {
    value: Option<String>,
    reason: String,
}

fn wrong(reason: impl Into<String>) -> Wrong {
    Wrong { value: None, reason: reason.into() }
}

impl GraphsonReader<'_, '_> {
    /// Reads the members of the object that holds the arrays, at whatever depth it is.
    fn document<R: Read>(&mut self, feed: &mut Feed<R>) -> Result<(), LoadError> {
        let failed = |e| self.source.failed(e);
        loop {
            match feed.skip_space(b",:").map_err(failed)? {
                None => return Ok(()),
                Some(b'{' | b'}' | b']') => feed.take_byte(),
                Some(b'"') => {
                    let name = feed.value().map_err(failed)?.map(|piece| piece.text.to_vec()).unwrap_or_default();
                    let next = feed.skip_space(b":").map_err(failed)?;
                    match (&name[..], next) {
                        (b"\"vertices\"", Some(b'[')) => self.array(feed, Kind::Vertex)?,
                        (b"\"edges\"", Some(b'[')) => self.array(feed, Kind::Edge)?,
                        (b"\"@value\"", Some(b'{')) => feed.take_byte(),
                        _ => {
                            feed.value().map_err(failed)?;
                        }
                    }
                }
                Some(_) => {
                    let (line, column) = feed.place();
                    let place = Location::at(&self.source.name, line, column);
                    return Err(LoadError::format(place, "expected a member of the document's object"));
                }
            }
        }
    }

    fn array<R: Read>(&mut self, feed: &mut Feed<R>, kind: Kind) -> Result<(), LoadError> {
        feed.take_byte();
        loop {
            match feed.skip_space(b",").map_err(|e| self.source.failed(e))? {
                None => {
                    let (line, column) = feed.place();
                    let piece = Piece { line, column, text: b"" };
                    return self.reject(&piece, 0, wrong("not JSON: the file ends within an array"));
                }
                Some(b']') => {
                    feed.take_byte();
                    return Ok(());
                }
                Some(_) => match feed.value().map_err(|e| self.source.failed(e))? {
                    Some(piece) => {
                        self.element(&piece, kind)?;
                    }
                    None => return Ok(()),
                },
            }
        }
    }

    /// Reads an element. Returns whether it was well-formed JSON.
    fn element(&mut self, piece: &Piece<'_>, kind: Kind) -> Result<bool, LoadError> {
        let text = match std::str::from_utf8(piece.text) {
            Ok(text) => text,
            Err(e) => {
                self.reject_fault(piece, e.valid_up_to(), None, Fault::NotUtf8)?;
                return Ok(true);
            }
        };
        let tree = match json::parse(text) {
            Ok(tree) => tree,
            Err(e) => {
                self.reject(piece, e.at, wrong(format!("not JSON: {}", e.reason)))?;
                return Ok(false);
            }
        };
        let outcome = match (kind, self.pass) {
            (Kind::Vertex, Pass::Vertices) => self.vertex(&tree, piece),
            (Kind::Vertex, Pass::Edges) => self.out_edges(&tree, piece),
            (Kind::Edge, Pass::Edges) => self.edge(&tree, piece),
            (Kind::Edge, Pass::Vertices) => Ok(Ok(())),
        };
        match outcome? {
            Ok(()) => Ok(true),
            // The first pass has already rejected a vertex that cannot be read.
            Err(_) if kind == Kind::Vertex && self.pass == Pass::Edges && vertex_of(&tree).is_err() => Ok(true),
            Err(wrong) => self.reject(piece, 0, wrong).map(|()| true),
        }
    }

    fn reject(&mut self, piece: &Piece<'_>, at: usize, wrong: Wrong) -> Result<(), LoadError> {
        // The first pass has already reported text that is not JSON.
        if self.pass == Pass::Edges && wrong.reason.starts_with("not JSON") {
            return Ok(());
        }
        self.reject_fault(piece, at, wrong.value, Fault::Syntax(wrong.reason))
    }

    fn reject_fault(&mut self, piece: &Piece<'_>, at: usize, value: Option<String>, fault: Fault) -> Result<(), LoadError> {
        if self.pass == Pass::Edges && fault == Fault::NotUtf8 {
            return Ok(());
        }
        let (line, column) = crate::csv::locate(piece.line, piece.text, at);
        let column = if line == piece.line { piece.column + column - 1 } else { column };
        let raw = String::from_utf8_lossy(piece.text).into_owned();
        let place = Location::at(&self.source.name, line, column);
        self.batches.send(Event::Reject(Box::new(BadRow { place, value, fault, raw })))
    }

    fn vertex(&mut self, tree: &Json<'_>, piece: &Piece<'_>) -> Result<Result<(), Wrong>, LoadError> {
        match vertex_of(tree) {
            Ok(vertex) => self.batches.vertex(vertex, (piece.line, piece.column)).map(Ok),
            Err(wrong) => Ok(Err(wrong)),
        }
    }

    fn edge(&mut self, tree: &Json<'_>, piece: &Piece<'_>) -> Result<Result<(), Wrong>, LoadError> {
        match edge_of(tree) {
            Ok(edge) => self.batches.edge(edge, (piece.line, piece.column)).map(Ok),
            Err(wrong) => Ok(Err(wrong)),
        }
    }

    fn out_edges(&mut self, tree: &Json<'_>, piece: &Piece<'_>) -> Result<Result<(), Wrong>, LoadError> {
        match out_edges_of(tree) {
            Ok(edges) => {
                for edge in edges {
                    self.batches.edge(edge, (piece.line, piece.column))?;
                }
                Ok(Ok(()))
            }
            Err(wrong) => Ok(Err(wrong)),
        }
    }
}

/// The `@value` of `{"@type": …, "@value": …}`, or a plain value as it is.
fn untyped<'j, 't>(json: &'j Json<'t>) -> &'j Json<'t> {
    match json.get("@type") {
        Some(_) => json.get("@value").unwrap_or(json),
        None => json,
    }
}

fn member<'j, 't>(json: &'j Json<'t>, key: &str) -> Result<&'j Json<'t>, Wrong> {
    json.get(key).ok_or_else(|| wrong(format!("no `{key}`")))
}

fn id_of(json: &Json<'_>) -> Result<ExternalId, Wrong> {
    let value = value_of(json)?;
    let shown = value.to_string();
    ExternalId::from_value(&value).ok_or_else(|| Wrong {
        value: Some(shown),
        reason: "cannot be an id: an id is a string, an integer or a UUID".into(),
    })
}

fn label_of(json: &Json<'_>, default: &str) -> Result<Arc<str>, Wrong> {
    match json.get("label") {
        None => Ok(default.into()),
        Some(Json::String(label)) if !label.is_empty() => Ok(Arc::from(&**label)),
        Some(other) => Err(wrong(format!("`label` must be a string that is not empty, not {}", other.name()))),
    }
}

fn labels_of(json: &Json<'_>) -> Result<LabelSet, Wrong> {
    let Some(labels) = json.get("labels") else { return Ok(LabelSet::one(&label_of(json, "vertex")?)) };
    let Json::Array(labels) = untyped(labels) else { return Err(wrong("`labels` must be an array")) };
    let mut names = labels.iter().map(|l| l.as_str().map(Arc::from).ok_or_else(|| wrong("a label must be a string")));
    let primary = names.next().ok_or_else(|| wrong("`labels` is empty"))??;
    Ok(LabelSet { primary, further: names.collect::<Result<_, _>>()? })
}

fn vertex_of(json: &Json<'_>) -> Result<VertexElement, Wrong> {
    let json = untyped(json);
    let properties = match json.get("properties") {
        None => Vec::new(),
        Some(Json::Object(members)) => {
            members.iter().map(|(key, values)| Ok((Arc::from(&**key), cell_of(values)?))).collect::<Result<_, Wrong>>()?
        }
        Some(other) => return Err(wrong(format!("`properties` must be an object, not {}", other.name()))),
    };
    Ok(VertexElement { id: id_of(member(json, "id")?)?, labels: labels_of(json)?, properties })
}

/// The values of a vertex under one key: an array of vertex properties, or a bare value.
fn cell_of(json: &Json<'_>) -> Result<RawCell, Wrong> {
    let Json::Array(values) = json else { return Ok(RawCell::One(value_of(json)?)) };
    let values = values.iter().map(|entry| match untyped(entry) {
        Json::Object(members) if members.iter().any(|(k, _)| k == "value") => vertex_property_of(untyped(entry)),
        _ => Ok(RawValue::plain(value_of(entry)?)),
    });
    Ok(RawCell::from_values(values.collect::<Result<_, _>>()?))
}

fn vertex_property_of(json: &Json<'_>) -> Result<RawValue, Wrong> {
    let meta = match json.get("properties") {
        Some(Json::Object(members)) => {
            members.iter().map(|(key, value)| Ok((Arc::from(&**key), property_value(value)?))).collect::<Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    Ok(RawValue { value: value_of(member(json, "value")?)?, meta })
}

/// A value, possibly wrapped in a `g:Property`.
fn property_value(json: &Json<'_>) -> Result<Value, Wrong> {
    match (json.get("@type").and_then(Json::as_str), json.get("@value")) {
        (Some("g:Property"), Some(property)) => value_of(member(property, "value")?),
        _ => value_of(json),
    }
}

fn edge_properties(json: &Json<'_>) -> Result<Vec<(Arc<str>, RawCell)>, Wrong> {
    match json.get("properties") {
        None => Ok(Vec::new()),
        Some(Json::Object(members)) => {
            let property = |(key, value): &(std::borrow::Cow<'_, str>, Json<'_>)| {
                Ok((Arc::from(&**key), RawCell::One(property_value(value)?)))
            };
            members.iter().map(property).collect()
        }
        Some(other) => Err(wrong(format!("`properties` must be an object, not {}", other.name()))),
    }
}

fn out_edges_of(json: &Json<'_>) -> Result<Vec<EdgeElement>, Wrong> {
    let json = untyped(json);
    let Some(out) = json.get("outE") else { return Ok(Vec::new()) };
    let Json::Object(by_label) = out else { return Err(wrong(format!("`outE` must be an object, not {}", out.name()))) };
    let source = id_of(member(json, "id")?)?;
    let source_scope = Scope::Label(labels_of(json)?.primary);
    let mut edges = Vec::new();
    for (label, list) in by_label {
        let Json::Array(list) = list else { return Err(wrong(format!("`outE.{label}` must be an array"))) };
        for edge in list {
            let edge = untyped(edge);
            edges.push(EdgeElement {
                id: edge.get("id").map(id_of).transpose()?,
                label: Arc::from(&**label),
                source: source.clone(),
                target: id_of(member(edge, "inV")?)?,
                source_scope: source_scope.clone(),
                target_scope: scope_of(edge, "inVLabel"),
                properties: edge_properties(edge)?,
            });
        }
    }
    Ok(edges)
}

fn edge_of(json: &Json<'_>) -> Result<EdgeElement, Wrong> {
    let json = untyped(json);
    Ok(EdgeElement {
        id: json.get("id").map(id_of).transpose()?,
        label: label_of(json, "edge")?,
        source: id_of(member(json, "outV")?)?,
        target: id_of(member(json, "inV")?)?,
        source_scope: scope_of(json, "outVLabel"),
        target_scope: scope_of(json, "inVLabel"),
        properties: edge_properties(json)?,
    })
}

fn scope_of(edge: &Json<'_>, key: &str) -> Scope {
    edge.get(key).and_then(Json::as_str).map_or(Scope::Any, |label| Scope::Label(label.into()))
}

/// A value written in GraphSON; `None` if the text is not one.
pub fn parse_text(text: &str) -> Option<Value> {
    value_of(&json::parse(text).ok()?).ok()
}

/// The values of a key, written as an array of `{"value": …, "properties": {…}}`.
pub fn parse_cell(text: &str) -> Option<RawCell> {
    cell_of(&json::parse(text).ok()?).ok()
}

fn value_of(json: &Json<'_>) -> Result<Value, Wrong> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(text) => plain_number(text),
        Json::String(text) => Value::string(text),
        Json::Array(items) => Value::list(items.iter().map(value_of).collect::<Result<_, _>>()?),
        Json::Object(members) => match (json.get("@type"), json.get("@value")) {
            (Some(Json::String(name)), value) => typed_value(name, value.unwrap_or(&Json::Null))?,
            _ => {
                let entries = members.iter().map(|(key, value)| Ok((Value::string(key), value_of(value)?)));
                Value::map(entries.collect::<Result<Map, Wrong>>()?)
            }
        },
    })
}

/// A number without a type, as TinkerPop's readers take it: the narrowest of int32, int64 and bigint, or a double.
fn plain_number(text: &str) -> Value {
    if let Ok(int) = text.parse::<i32>() {
        return Value::Int32(int);
    }
    if let Ok(int) = text.parse::<i64>() {
        return Value::Int64(int);
    }
    if let Ok(int) = number::big_int(text) {
        return int.into();
    }
    Value::Float64(text.parse().unwrap_or(f64::NAN))
}

fn typed_value(name: &str, json: &Json<'_>) -> Result<Value, Wrong> {
    let misfit = || Wrong { value: Some(shown(json)), reason: format!("not a {name}") };
    let text = match json {
        Json::Number(text) => *text,
        Json::String(text) => text,
        _ => "",
    };
    let scalar = match name {
        "g:Int32" => text.parse().ok().map(Value::Int32),
        "g:Int64" => text.parse().ok().map(Value::Int64),
        "gx:Int16" => text.parse().ok().map(Value::Int16),
        "gx:Byte" => text.parse().ok().map(Value::Int8),
        "g:Float" => float(text).map(|f| Value::Float32(f as f32)),
        "g:Double" => float(text).map(Value::Float64),
        "gx:BigInteger" => number::big_int(text).ok().map(Value::from),
        "gx:BigDecimal" => number::decimal(text).ok().map(Value::from),
        "g:UUID" => text.parse::<Uuid>().ok().map(Value::from),
        "gx:Char" => Some(Value::string(text)),
        "gx:ByteBuffer" => base64::engine::general_purpose::STANDARD.decode(text).ok().map(|b| Value::Bytes(b.into())),
        "g:Date" | "g:Timestamp" => text.parse().ok().map(|ms| Value::DateTime(DateTime::from_millis(ms))),
        "gx:LocalDate" => Date::parse(text).map(Value::from),
        "gx:Instant" | "gx:OffsetDateTime" | "gx:ZonedDateTime" | "gx:LocalDateTime" => {
            DateTime::parse(text).map(Value::from)
        }
        "gx:Duration" => Duration::parse(text).map(Value::from),
        _ => return collection(name, json),
    };
    scalar.ok_or_else(misfit)
}

fn float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        text => text.parse().ok(),
    }
}

fn collection(name: &str, json: &Json<'_>) -> Result<Value, Wrong> {
    let items = || match json {
        Json::Array(items) => items.iter().map(value_of).collect::<Result<Vec<Value>, Wrong>>(),
        _ => Err(Wrong { value: Some(shown(json)), reason: format!("not a {name}") }),
    };
    match name {
        "g:List" => Ok(Value::list(items()?)),
        "g:Set" => Ok(Value::set(items()?)),
        "g:Map" => {
            let items = items()?;
            Ok(Value::map(items.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()))
        }
        _ => {
            Err(Wrong { value: Some(name.to_owned()), reason: "a GraphSON type that properties and ids cannot have".into() })
        }
    }
}

fn shown(json: &Json<'_>) -> String {
    match json {
        Json::Number(text) => (*text).to_owned(),
        Json::String(text) => text.to_string(),
        other => other.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_and_plain_values_are_read() {
        let value = |text: &str| parse_text(text).unwrap();
        assert_eq!(value(r#"{"@type":"g:Int64","@value":29}"#), Value::Int64(29));
        assert_eq!(value(r#"{"@type":"g:Double","@value":"NaN"}"#), Value::Float64(f64::NAN));
        assert_eq!(value("3000000000"), Value::Int64(3_000_000_000));
        let big = "123456789012345678901234567890";
        assert_eq!(value(&format!(r#"{{"@type":"gx:BigInteger","@value":{big}}}"#)).to_string(), big);
        assert_eq!(
            value(r#"{"@type":"g:Map","@value":["a",{"@type":"g:Set","@value":[1,1,2]}]}"#).to_string(),
            "{a={1, 2}}"
        );
        assert_eq!(value(r#"{"@type":"g:Date","@value":1481750076295}"#).to_string(), "2016-12-14T21:14:36.295Z");
        assert!(parse_text(r#"{"@type":"g:Int32","@value":"x"}"#).is_none());
        assert!(parse_text(r#"{"@type":"g:Vertex","@value":{}}"#).is_none());
    }

    #[test]
    fn a_cell_keeps_several_values_and_their_properties() {
        let text = r#"[{"id":1,"value":"a","properties":{"since":{"@type":"g:Int32","@value":1997}}},{"value":"b"}]"#;
        let meta = vec![("since".into(), Value::Int32(1997))];
        let expected = vec![RawValue { value: "a".into(), meta }, RawValue::plain("b".into())];
        assert_eq!(parse_cell(text), Some(RawCell::Many(expected)));
        assert_eq!(parse_cell(r#"[{"value":"b"}]"#), Some(RawCell::One("b".into())));
    }
}
