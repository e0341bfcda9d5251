//! Writes a mapping file. Text appears as JSON strings, which are valid YAML.

use mangrove_graph::ElementKind;

use crate::text::json::quote;

/// How to read a table.
pub struct TableText {
    pub kind: ElementKind,
    pub file: String,
    /// The keys of its mapping and their values, as YAML.
    pub keys: Vec<(&'static str, String)>,
    /// How to read its columns, as YAML.
    pub properties: Vec<(String, String)>,
    /// Lines that count only once the user uncomments them.
    pub notes: Vec<String>,
}

impl TableText {
    pub fn new(kind: ElementKind, file: &str) -> Self {
        Self { kind, file: file.to_owned(), keys: Vec::new(), properties: Vec::new(), notes: Vec::new() }
    }

    pub fn text(&mut self, key: &'static str, value: &str) {
        self.keys.push((key, quoted(value)));
    }
}

pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text, &mut out);
    out
}

/// Writes how to read tables, those of vertices first.
pub fn put_tables(tables: &[TableText], out: &mut String) {
    for kind in ElementKind::ALL {
        let of_kind: Vec<&TableText> = tables.iter().filter(|table| table.kind == kind).collect();
        if !of_kind.is_empty() {
            out.push_str(if kind == ElementKind::Vertex { "nodes:\n" } else { "edges:\n" });
            of_kind.into_iter().for_each(|table| put_table(table, out));
        }
    }
}

fn put_table(table: &TableText, out: &mut String) {
    out.push_str(&format!("  - file: {}\n", quoted(&table.file)));
    for (key, value) in &table.keys {
        out.push_str(&format!("    {key}: {value}\n"));
    }
    for note in &table.notes {
        out.push_str(&format!("    # {note}\n"));
    }
    if !table.properties.is_empty() {
        out.push_str("    properties:\n");
        for (column, what) in &table.properties {
            out.push_str(&format!("      {}: {what}\n", quoted(column)));
        }
    }
}
