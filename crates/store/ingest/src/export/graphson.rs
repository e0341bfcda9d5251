//! GraphSON 3 as TinkerPop writes it: one vertex a line, with its edges in both directions. TinkerPop's reader uses the incoming
//! ones.
//!
//! Keeps every value with its type, meta-properties, and several values of a key. A vector becomes a list of floats. If ids are
//! unique only within labels, ids become the strings `Label/id` that users see. Further labels go into `labels`, which TinkerPop
//! ignores.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use hashbrown::HashMap;
use mangrove_graph::record::{self, ElementProperty};
use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeRef, ElementKind, Elements, GraphView, Hop, LabelId, PropertyColumn, Value, VertexId,
    Wants, number,
};

use super::walk::{ExportError, ExportWalk, ends_of};
use crate::text::json::quote;

/// Vertices that are in memory at the same time, with all their edges. If the graph is far away, a page is as large as a call is
/// worth.
const PAGE: usize = 256;

pub fn write(walk: &mut ExportWalk<'_>, directory: &Path) -> Result<(), ExportError> {
    let mut output = walk.create(directory.join("graph.graphson"))?;
    // Edge ids that users see are numbers too. So the ids of vertex properties count down from the maximum.
    let mut value_id = 0;
    let page_size = PAGE.max(walk.view.distance().rows_min);
    for label in walk.labels(ElementKind::Vertex) {
        walk.vertices(label, page_size, |walk, vertices| {
            let page = Page::of(walk, vertices)?;
            let properties = record::all_properties(walk.view, Elements::Vertices(vertices))?;
            let mut line = String::new();
            for (row, properties) in properties.into_iter().enumerate() {
                line.clear();
                page.write_vertex(walk.view, row, properties, &mut value_id, &mut line);
                output.write(&line)?;
            }
            walk.report.edges += page.out.edges.len() as u64;
            Ok(())
        })?;
    }
    output.finish()
}

/// A page of vertices, with all that is written of them but their properties.
struct Page<'p> {
    vertices: &'p [VertexId],
    /// The names of the labels of each vertex.
    labels: Vec<Vec<Arc<str>>>,
    out: Edges,
    into: Edges,
    /// The ids of the vertices, and of those at the other ends of their edges.
    ids: HashMap<VertexId, Value>,
}

/// The edges of a page of vertices in one direction, with their properties.
struct Edges {
    edges: Vec<EdgeRef>,
    ids: Vec<Value>,
    /// Where the edges of each row begin.
    starts: Vec<usize>,
    /// The place of each edge among those of its label.
    places: Vec<usize>,
    /// The properties of the edges of each label.
    columns: HashMap<LabelId, Vec<(String, PropertyColumn)>>,
}

impl Edges {
    fn of(walk: &ExportWalk<'_>, page: &[VertexId], direction: Direction) -> Result<Self, ExportError> {
        let wants = Wants { rows: true, neighbors: false, edges: true };
        let mut found = Adjacency::default();
        walk.view.neighbors(page, &Hop::along(direction, None, wants), &mut found)?;
        let starts = (0..=page.len()).map(|row| found.rows.partition_point(|r| (*r as usize) < row)).collect();
        let (mut by_label, mut places): (HashMap<LabelId, Vec<EdgeRef>>, _) = (HashMap::new(), Vec::new());
        for edge in &found.edges {
            let of_label = by_label.entry(edge.id.label()).or_default();
            places.push(of_label.len());
            of_label.push(*edge);
        }
        let of_label = |(label, edges): (LabelId, Vec<EdgeRef>)| Ok((label, label_columns(walk, label, &edges)?));
        let columns = by_label.into_iter().map(of_label).collect::<Result<_, ExportError>>()?;
        let ids = walk.user_ids(Elements::Edges(&found.edges))?;
        Ok(Self { edges: found.edges, ids, starts, places, columns })
    }
}

/// The properties of edges of one label.
fn label_columns(
    walk: &ExportWalk<'_>,
    label: LabelId,
    edges: &[EdgeRef],
) -> Result<Vec<(String, PropertyColumn)>, ExportError> {
    let schema = walk.view.schema();
    let keys = || schema.label_schema(ElementKind::Edge, label).into_iter().flat_map(|label| label.properties.keys());
    let columns = walk.columns(Elements::Edges(edges), keys())?;
    Ok(keys().map(|key| schema.key_name(key).to_string()).zip(columns).collect())
}

impl<'p> Page<'p> {
    fn of(walk: &ExportWalk<'_>, vertices: &'p [VertexId]) -> Result<Self, ExportError> {
        let out = Edges::of(walk, vertices, Direction::Out)?;
        let into = Edges::of(walk, vertices, Direction::In)?;
        let all = vertices.iter().copied().chain(ends_of(&out.edges)).chain(ends_of(&into.edges));
        let ids = walk.by_vertex(all, ExportWalk::user_ids)?;
        Ok(Self { vertices, labels: walk.label_names(vertices)?, out, into, ids })
    }

    fn write_vertex(
        &self,
        view: &dyn GraphView,
        row: usize,
        properties: Vec<ElementProperty>,
        value_id: &mut i64,
        line: &mut String,
    ) {
        line.push_str("{\"id\":");
        write_value(&self.ids[&self.vertices[row]], line);
        let names = &self.labels[row];
        line.push_str(",\"label\":");
        quote(&names[0], line);
        if names.len() > 1 {
            line.push_str(",\"labels\":[");
            for (at, name) in names.iter().enumerate() {
                comma(at > 0, line);
                quote(name, line);
            }
            line.push(']');
        }
        self.write_edges(view, row, Direction::In, line);
        self.write_edges(view, row, Direction::Out, line);
        if !properties.is_empty() {
            line.push_str(",\"properties\":{");
            for (at, property) in properties.into_iter().enumerate() {
                comma(at > 0, line);
                quote(&property.name, line);
                line.push(':');
                write_cell(view, &Cell::Many(property.values), Some(value_id), line);
            }
            line.push('}');
        }
        line.push_str("}\n");
    }

    fn write_edges(&self, view: &dyn GraphView, row: usize, direction: Direction, line: &mut String) {
        let (edges, name, end) = match direction {
            Direction::In => (&self.into, "inE", "outV"),
            _ => (&self.out, "outE", "inV"),
        };
        let range = edges.starts[row]..edges.starts[row + 1];
        if range.is_empty() {
            return;
        }
        line.push_str(&format!(",\"{name}\":{{"));
        let mut open: Option<LabelId> = None;
        // The edges of a vertex are grouped by label.
        for at in range {
            let edge = &edges.edges[at];
            let label = edge.id.label();
            if open != Some(label) {
                line.push_str(if open.is_some() { "]," } else { "" });
                quote(&view.schema().label_name(ElementKind::Edge, label), line);
                line.push_str(":[");
            }
            comma(open == Some(label), line);
            open = Some(label);
            line.push_str("{\"id\":");
            write_value(&edges.ids[at], line);
            line.push_str(&format!(",\"{end}\":"));
            let other = if direction == Direction::In { edge.source } else { edge.target };
            write_value(&self.ids[&other], line);
            write_edge_properties(&edges.columns[&label], edges.places[at], line);
            line.push('}');
        }
        line.push_str("]}");
    }
}

fn write_edge_properties(columns: &[(String, PropertyColumn)], row: usize, line: &mut String) {
    let mut any = false;
    for (name, column) in columns {
        let Cell::One(value) = column.cell(row) else { continue };
        line.push_str(if any { "," } else { ",\"properties\":{" });
        quote(name, line);
        line.push(':');
        write_value(&value, line);
        any = true;
    }
    if any {
        line.push('}');
    }
}

fn comma(wanted: bool, line: &mut String) {
    if wanted {
        line.push(',');
    }
}

/// Writes the values of a key as an array of objects. Each gets an id if `value_id` is given.
pub fn write_cell(view: &dyn GraphView, cell: &Cell, mut value_id: Option<&mut i64>, out: &mut String) {
    out.push('[');
    for (at, entry) in cell.clone().into_entries().iter().enumerate() {
        comma(at > 0, out);
        out.push('{');
        if let Some(id) = &mut value_id {
            out.push_str("\"id\":");
            write_value(&Value::Int64(**id), out);
            out.push(',');
            **id += 1;
        }
        out.push_str("\"value\":");
        write_value(&entry.value, out);
        if !entry.meta.is_empty() {
            out.push_str(",\"properties\":{");
            for (at, (key, value)) in entry.meta.iter().enumerate() {
                comma(at > 0, out);
                quote(&view.schema().key_name(*key), out);
                out.push(':');
                write_value(value, out);
            }
            out.push('}');
        }
        out.push('}');
    }
    out.push(']');
}

/// Appends a property value in GraphSON 3.
pub fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(v) => out.push_str(if *v { "true" } else { "false" }),
        Value::String(v) => quote(v, out),
        Value::Int8(v) => typed("gx:Byte", &v.to_string(), out),
        Value::Int16(v) => typed("gx:Int16", &v.to_string(), out),
        Value::Int32(v) => typed("g:Int32", &v.to_string(), out),
        Value::Int64(v) => typed("g:Int64", &v.to_string(), out),
        Value::Float32(v) => typed("g:Float", &float(f64::from(*v), v.to_string()), out),
        Value::Float64(v) => typed("g:Double", &float(*v, v.to_string()), out),
        Value::BigInt(v) => typed("gx:BigInteger", &v.to_string(), out),
        Value::Decimal(v) => typed("gx:BigDecimal", &number::text_with_scale(v), out),
        Value::Bytes(v) => text("gx:ByteBuffer", &base64::engine::general_purpose::STANDARD.encode(v), out),
        Value::Uuid(v) => text("g:UUID", &v.to_string(), out),
        Value::Date(v) => text("gx:LocalDate", &v.to_string(), out),
        Value::DateTime(v) => text("gx:OffsetDateTime", &v.to_string(), out),
        Value::Duration(v) => text("gx:Duration", &v.to_string(), out),
        Value::Vector(v) => items("g:List", v.iter().map(|f| Value::Float32(*f)), out),
        Value::List(v) => items("g:List", v.iter().cloned(), out),
        Value::Set(v) => items("g:Set", v.iter().cloned(), out),
        Value::Map(v) => items("g:Map", v.iter().flat_map(|(k, v)| [k.clone(), v.clone()]), out),
        // Other types only flow through queries; they are never stored.
        other => quote(&other.to_string(), out),
    }
}

/// JSON has no numbers for NaN and the infinities.
fn float(value: f64, plain: String) -> String {
    match value {
        v if v.is_nan() => "\"NaN\"".into(),
        f64::INFINITY => "\"Infinity\"".into(),
        f64::NEG_INFINITY => "\"-Infinity\"".into(),
        _ => plain,
    }
}

fn typed(name: &str, value: &str, out: &mut String) {
    out.push_str(&format!("{{\"@type\":\"{name}\",\"@value\":{value}}}"));
}

fn text(name: &str, value: &str, out: &mut String) {
    typed(name, &format!("\"{value}\""), out);
}

fn items(name: &str, values: impl Iterator<Item = Value>, out: &mut String) {
    out.push_str(&format!("{{\"@type\":\"{name}\",\"@value\":["));
    for (at, value) in values.enumerate() {
        comma(at > 0, out);
        write_value(&value, out);
    }
    out.push_str("]}");
}
