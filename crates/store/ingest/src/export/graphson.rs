//! GraphSON 3 as TinkerPop writes it: one vertex a line, with its edges in both directions. TinkerPop's reader uses the incoming
//! ones.
//!
//! Keeps every value with its type, meta-properties, and several values of a key. A vector becomes a list of floats. If ids are
//! unique only within labels, ids become the strings `Label/id` that users see. Further labels go into `labels`, which TinkerPop
//! ignores.

use std::path::Path;

use base64::Engine;
use hashbrown::HashMap;
use mangrove_graph::{
    Adjacency, Cell, Direction, EdgeRef, ElementId, ElementKind, Elements, GraphView, Hop, LabelId, PropertyColumn, Value,
    VertexId, Wants, number, record,
};

use super::walk::{ExportError, ExportWalk};
use crate::text::json::quote;

/// Vertices whose edges are in memory at the same time.
const PAGE: usize = 256;

pub fn write(walk: &mut ExportWalk<'_>, directory: &Path) -> Result<(), ExportError> {
    let mut output = walk.create(directory.join("graph.graphson"))?;
    // Edge ids that users see are numbers too. So the ids of vertex properties count down from the maximum.
    let mut value_id = 0;
    for label in walk.labels(ElementKind::Vertex) {
        walk.vertices(label, PAGE, |walk, page| {
            let out = Edges::of(walk, page, Direction::Out)?;
            let into = Edges::of(walk, page, Direction::In)?;
            let mut line = String::new();
            for (row, vertex) in page.iter().enumerate() {
                line.clear();
                write_vertex(walk, *vertex, row, &out, &into, &mut value_id, &mut line)?;
                output.write(&line)?;
            }
            walk.report.edges += out.adjacency.edges.len() as u64;
            Ok(())
        })?;
    }
    output.finish()
}

/// The edges of a page of vertices in one direction, with their properties.
struct Edges {
    adjacency: Adjacency,
    /// For each edge label, the positions of its edges, and their properties.
    columns: HashMap<LabelId, LabelColumns>,
    /// Where the edges of each row begin.
    starts: Vec<usize>,
}

struct LabelColumns {
    at: HashMap<usize, usize>,
    columns: Vec<(String, PropertyColumn)>,
}

impl Edges {
    fn of(walk: &ExportWalk<'_>, page: &[VertexId], direction: Direction) -> Result<Self, ExportError> {
        let wants = Wants { rows: true, neighbors: false, edges: true };
        let mut adjacency = Adjacency::default();
        walk.view.neighbors(page, &Hop::along(direction, None, wants), &mut adjacency)?;
        let starts = (0..=page.len()).map(|row| adjacency.rows.partition_point(|r| (*r as usize) < row)).collect();
        let mut by_label: HashMap<LabelId, Vec<usize>> = HashMap::new();
        for (at, edge) in adjacency.edges.iter().enumerate() {
            by_label.entry(edge.id.label()).or_default().push(at);
        }
        let mut columns = HashMap::new();
        for (label, positions) in by_label {
            columns.insert(label, LabelColumns::of(walk, label, &positions, &adjacency.edges)?);
        }
        Ok(Self { adjacency, columns, starts })
    }
}

impl LabelColumns {
    fn of(walk: &ExportWalk<'_>, label: LabelId, positions: &[usize], edges: &[EdgeRef]) -> Result<Self, ExportError> {
        let edges: Vec<EdgeRef> = positions.iter().map(|at| edges[*at]).collect();
        let schema = walk.view.schema();
        let keys = schema.label_schema(ElementKind::Edge, label).into_iter().flat_map(|label| label.properties.keys());
        let mut columns = Vec::new();
        for key in keys {
            let column = walk.view.properties(Elements::Edges(&edges), key)?;
            columns.push((schema.key_name(key).to_string(), column));
        }
        Ok(Self { at: positions.iter().enumerate().map(|(at, position)| (*position, at)).collect(), columns })
    }
}

fn write_vertex(
    walk: &ExportWalk<'_>,
    vertex: VertexId,
    row: usize,
    out: &Edges,
    into: &Edges,
    value_id: &mut i64,
    line: &mut String,
) -> Result<(), ExportError> {
    line.push_str("{\"id\":");
    write_value(&walk.user_id(vertex)?, line);
    let names = walk.label_names(vertex)?;
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
    write_edges(walk, into, row, Direction::In, line)?;
    write_edges(walk, out, row, Direction::Out, line)?;
    let properties = record::properties(walk.view, ElementId::Vertex(vertex))?;
    if !properties.is_empty() {
        line.push_str(",\"properties\":{");
        for (at, property) in properties.into_iter().enumerate() {
            comma(at > 0, line);
            quote(&property.name, line);
            line.push(':');
            write_cell(walk.view, &Cell::Many(property.values), Some(value_id), line);
        }
        line.push('}');
    }
    line.push_str("}\n");
    Ok(())
}

fn write_edges(
    walk: &ExportWalk<'_>,
    edges: &Edges,
    row: usize,
    direction: Direction,
    line: &mut String,
) -> Result<(), ExportError> {
    let range = edges.starts[row]..edges.starts[row + 1];
    if range.is_empty() {
        return Ok(());
    }
    let (name, end) = match direction {
        Direction::In => ("inE", "outV"),
        _ => ("outE", "inV"),
    };
    line.push_str(&format!(",\"{name}\":{{"));
    let mut open: Option<LabelId> = None;
    // The edges of a vertex are grouped by label.
    for at in range {
        let edge = &edges.adjacency.edges[at];
        let label = edge.id.label();
        if open != Some(label) {
            line.push_str(if open.is_some() { "]," } else { "" });
            quote(&walk.view.schema().label_name(ElementKind::Edge, label), line);
            line.push_str(":[");
        }
        comma(open == Some(label), line);
        open = Some(label);
        line.push_str("{\"id\":");
        write_value(&record::edge_id(walk.view, edge.id)?, line);
        line.push_str(&format!(",\"{end}\":"));
        let other = if direction == Direction::In { edge.source } else { edge.target };
        write_value(&walk.user_id(other)?, line);
        write_edge_properties(&edges.columns[&label], at, line);
        line.push('}');
    }
    line.push_str("]}");
    Ok(())
}

fn write_edge_properties(columns: &LabelColumns, position: usize, line: &mut String) {
    let row = columns.at[&position];
    let mut any = false;
    for (name, column) in &columns.columns {
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
