//! Results on stdout, as a table, JSON lines, CSV or an Arrow stream.

use std::io::{self, BufWriter, IsTerminal, Write};

use arrow_ipc::writer::StreamWriter;
use clap::ValueEnum;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, presets};
use mangrove_graph::Value;

use super::Failure;
use crate::ResultStream;
use crate::describe::{Branch, Described, EdgeRecord};
use crate::{json, table};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For reading
    Table,
    /// One JSON document a line
    Json,
    /// RFC 4180, with a header; nothing for null, JSON for what is not plain
    Csv,
    /// An Arrow IPC stream
    Arrow,
}

/// Writes all that is left of `results` to stdout and returns how many there were.
pub fn print(results: &mut ResultStream, format: Format) -> Result<u64, Failure> {
    if format == Format::Arrow && io::stdout().is_terminal() {
        return Err(Failure::Request(
            "Arrow is binary: send it to a file, as in `mangrove query … --format arrow > result.arrow`".into(),
        ));
    }
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let rows = match format {
        Format::Json => print_json(results, &mut out)?,
        Format::Table => print_table(results.described()?, &mut out)?,
        Format::Csv => print_csv(results.described()?, &mut out)?,
        Format::Arrow => print_arrow(results, &mut out)?,
    };
    out.flush()?;
    Ok(rows)
}

fn print_json(results: &mut ResultStream, out: &mut impl Write) -> Result<u64, Failure> {
    let mut rows = 0;
    let mut line = String::new();
    while let Some(batch) = results.next_batch()? {
        for value in &batch {
            line.clear();
            json::write_described(&mut line, &results.describe(value)?);
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        rows += batch.len() as u64;
    }
    Ok(rows)
}

fn print_arrow(results: &mut ResultStream, out: &mut impl Write) -> Result<u64, Failure> {
    let batch = results.to_arrow()?;
    let failed = |error: arrow_schema::ArrowError| match error {
        arrow_schema::ArrowError::IoError(_, source) => Failure::from(source),
        other => Failure::Request(other.to_string()),
    };
    let mut writer = StreamWriter::try_new(out, &batch.schema()).map_err(failed)?;
    writer.write(&batch).and_then(|()| writer.finish()).map_err(failed)?;
    Ok(batch.num_rows() as u64)
}

fn print_csv(rows: Vec<Described>, out: &mut impl Write) -> Result<u64, Failure> {
    let table = table::of(rows);
    let header: Vec<String> = table.columns.iter().map(|column| csv_field(&column.name)).collect();
    if !header.is_empty() {
        writeln!(out, "{}", header.join(","))?;
    }
    for row in 0..table.rows {
        let fields = table.columns.iter().map(|column| match &column.cells[row] {
            None | Some(Described::Plain(Value::Null)) => String::new(),
            Some(cell) => csv_field(&json::text(cell)),
        });
        writeln!(out, "{}", fields.collect::<Vec<_>>().join(","))?;
    }
    Ok(table.rows as u64)
}

/// An empty string is quoted, so that it is not taken for null.
fn csv_field(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn print_table(rows: Vec<Described>, out: &mut impl Write) -> Result<u64, Failure> {
    let table = table::of(rows);
    if table.columns.is_empty() {
        return Ok(table.rows as u64);
    }
    let mut drawn = drawing();
    drawn.set_header(table.columns.iter().map(|column| Cell::new(&column.name).add_attribute(Attribute::Bold)));
    for row in 0..table.rows {
        drawn.add_row(table.columns.iter().map(|column| cell(column.cells[row].as_ref())));
    }
    writeln!(out, "{drawn}")?;
    Ok(table.rows as u64)
}

/// An empty table in the style of all tables; as wide as the terminal, or as its content elsewhere.
pub fn drawing() -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let terminal = io::stdout().is_terminal();
    table.set_content_arrangement(if terminal { ContentArrangement::Dynamic } else { ContentArrangement::Disabled });
    if !terminal {
        table.force_no_tty();
    }
    table
}

fn cell(cell: Option<&Described>) -> Cell {
    let Some(cell) = cell else { return Cell::new("") };
    let text = Cell::new(show(cell));
    match cell {
        Described::Plain(value) if value.is_number() => text.set_alignment(CellAlignment::Right),
        _ => text,
    }
}

/// A value as people read it: elements in short, as Gremlin's console shows them.
pub fn show(value: &Described) -> String {
    match value {
        Described::Plain(value) => value.to_string(),
        Described::Vertex(record) => format!("v[{}]", record.id),
        Described::Edge(record) => show_edge(record),
        Described::VertexProperty(record) => format!("vp[{}->{}]", record.key, record.value),
        Described::Property { key, value } => format!("p[{key}->{value}]"),
        Described::List(items) => format!("[{}]", joined(items, ", ", show)),
        Described::Set(items) => format!("{{{}}}", joined(items, ", ", show)),
        Described::Map(entries) => format!("{{{}}}", joined(entries, ", ", |(k, v)| format!("{}: {}", show(k), show(v)))),
        Described::Entry(entry) => format!("{}: {}", show(&entry.0), show(&entry.1)),
        Described::Path { objects, .. } => joined(objects, " → ", show),
        Described::Tree(branches) => format!("{{{}}}", joined(branches, ", ", show_branch)),
        Described::Subgraph { vertices, edges } => {
            format!("graph of {} vertices and {} edges", vertices.len(), edges.len())
        }
    }
}

fn show_edge(edge: &EdgeRecord) -> String {
    format!("e[{}][{}-{}->{}]", edge.id, edge.source.id, edge.label, edge.target.id)
}

fn show_branch(branch: &Branch) -> String {
    match &branch.below[..] {
        [] => show(&branch.value),
        below => format!("{}: {{{}}}", show(&branch.value), joined(below, ", ", show_branch)),
    }
}

fn joined<T>(items: &[T], separator: &str, show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(separator)
}

/// Writes text to stdout, ending its last line.
pub fn print_text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}
