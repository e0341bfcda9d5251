//! Results for people: tables of text.

use std::io::{self, IsTerminal};

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::describe::{Branch, Described, EdgeRecord};
use crate::results::Results;
use crate::table;

/// The width of a table in columns if the terminal's width is unknown.
const WIDTH: u16 = 120;
/// Longer texts are cut when they stand beside others.
const CHARACTERS_MAX: usize = 200;

/// All results as a table; `None` if it has no columns.
pub fn table(results: &Results) -> Option<Table> {
    let mut drawn = drawing();
    lay_out(results, &mut drawn, value).then_some(drawn)
}

/// The first results as a table, with the number of all.
pub fn beginning(results: &Results, rows_max: usize) -> String {
    let rows = results.len();
    let mut drawn = drawing();
    let width = drawn.width().unwrap_or(WIDTH);
    // The text may go anywhere, so it has no colours.
    drawn.force_no_tty().set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    let count = match rows {
        0 => return "no results".into(),
        1 => "1 result".into(),
        n if n > rows_max => format!("{n} results, of which {rows_max} are shown"),
        n => format!("{n} results"),
    };
    lay_out(&results.beginning(rows_max), &mut drawn, short);
    format!("{drawn}\n{count}")
}

fn lay_out(results: &Results, drawn: &mut Table, text: fn(&Described) -> String) -> bool {
    let mut table = table::of(results);
    // Empty columns serve programs. People do not miss them.
    table.columns.retain(|column| table.rows == 0 || column.iter().any(|cell| cell.is_some()));
    drawn.set_header(table.columns.iter().map(|column| Cell::new(&column.name).add_attribute(Attribute::Bold)));
    let mut columns: Vec<_> = table.columns.iter().map(table::Column::iter).collect();
    for _ in 0..table.rows {
        drawn.add_row(columns.iter_mut().map(|column| cell(column.next().flatten().as_deref(), text)));
    }
    !table.columns.is_empty()
}

fn short(described: &Described) -> String {
    let text = value(described);
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// An empty table in the style of all tables. It is as wide as the terminal; elsewhere as wide as its content.
pub fn drawing() -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let terminal = io::stdout().is_terminal();
    table.set_content_arrangement(if terminal { ContentArrangement::Dynamic } else { ContentArrangement::Disabled });
    if !terminal {
        table.force_no_tty();
    }
    table
}

fn cell(cell: Option<&Described>, text: fn(&Described) -> String) -> Cell {
    let Some(cell) = cell else { return Cell::new("") };
    let text = Cell::new(text(cell));
    match cell {
        Described::Plain(value) if value.is_number() => text.set_alignment(CellAlignment::Right),
        _ => text,
    }
}

/// A value for people. Elements are short, as in Gremlin's console.
pub fn value(described: &Described) -> String {
    match described {
        Described::Plain(plain) => plain.to_string(),
        Described::Vertex(record) => format!("v[{}]", record.id),
        Described::Edge(record) => show_edge(record),
        Described::VertexProperty(record) => format!("vp[{}->{}]", record.key, record.value),
        Described::Property(property) => format!("p[{}->{}]", property.key, property.value),
        Described::List(items) => format!("[{}]", joined(items, ", ", self::value)),
        Described::Set(items) => format!("{{{}}}", joined(items, ", ", self::value)),
        Described::Map(entries) => {
            format!("{{{}}}", joined(entries, ", ", |(k, v)| format!("{}: {}", self::value(k), self::value(v))))
        }
        Described::Entry(entry) => format!("{}: {}", self::value(&entry.0), self::value(&entry.1)),
        Described::Path { objects, .. } => format!("path[{}]", joined(objects, ", ", self::value)),
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
        [] => value(&branch.value),
        below => format!("{}: {{{}}}", value(&branch.value), joined(below, ", ", show_branch)),
    }
}

fn joined<T>(items: &[T], separator: &str, show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(separator)
}
