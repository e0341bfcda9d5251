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

use mangrove_graph::ExternalId;

use crate::batches::elements::{EdgeElement, ElementBatches, Pass, VertexElement};
use crate::batches::rows::{Event, LabelSet, RawCell, Scope, Sink};
use crate::batches::typed_json::{Wrong, cell_of, member, property_value, untyped, value_of, wrong};
use crate::error::{BadRow, Fault, LoadError, Location};
use crate::text::feed::{Feed, Piece};
use crate::text::json::{self, Json};
use crate::text::source::Source;

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
        let (line, column) = crate::text::csv::locate(piece.line, piece.text, at);
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
