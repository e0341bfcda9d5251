//! Proposes a mapping for a folder of Parquet files, from their footers.
//!
//! A table with columns for both ends, by the names that the loader knows, holds edges; so does one that has no ids of its own and two
//! columns that name vertices. Any other table with ids holds vertices. A column `X_id` names the vertices of the table `X`, if its
//! values have their type and lie between the least and the greatest of their ids.

use std::fmt::Write as _;
use std::sync::Arc;

use mangrove_graph::column::value_at;
use mangrove_graph::{Comparison, ElementKind, Value};
use mangrove_ingest::{TableHints, plan_arrow};

use crate::error::{LakeError, Result};
use crate::files::Files;
use crate::graph::{Tables, is_delta, is_iceberg};
use crate::info::quoted;
use crate::pages::Table;

/// The text of a mapping for the tables in a folder, here or in an object store: its Parquet files, and its folders that hold some.
pub fn propose_mapping(folder: &str) -> Result<String> {
    let tables = Tables::of_others(Files::new(folder)?);
    let found = tables_in(&tables)?;
    if found.0.is_empty() {
        let reason = "there are no Parquet files (.parquet, .pq), and no folders with some";
        return Err(LakeError::Unsupported(format!("{folder}: {reason}")));
    }
    let (found, others) = found;
    let vertices: Vec<&Found> = found.iter().filter(|table| matches!(table.role, Role::Vertices { .. })).collect();
    let mut out = String::new();
    let root = match folder.contains("://") {
        true => folder.to_owned(),
        false => std::path::absolute(folder).unwrap_or_else(|_| folder.into()).to_string_lossy().into_owned(),
    };
    let _ = writeln!(
        out,
        "# Proposed from the footers of the files. Read it before you use it; `mangrove docs lake` explains the keys."
    );
    let _ = writeln!(out, "root: {}", quoted(&root));
    for (word, kind) in [("nodes", ElementKind::Vertex), ("edges", ElementKind::Edge)] {
        let mut is_first = true;
        for table in found.iter().filter(|table| table.role.kind() == Some(kind)) {
            if std::mem::take(&mut is_first) {
                let _ = writeln!(out, "{word}:");
            }
            table.put(&vertices, &mut out);
        }
    }
    for table in found.iter().filter(|table| table.role.kind().is_none()) {
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let what = "has neither a column of ids nor columns for both ends of edges";
        let _ = writeln!(out, "# {} {what}: {}", quoted(&table.file), columns.join(", "));
    }
    for (name, why) in others {
        let _ = writeln!(out, "# {} {why}", quoted(&name));
    }
    Ok(out)
}

/// A table that was found.
struct Found {
    /// The name of its file or folder.
    file: String,
    /// That without its extension.
    label: String,
    rows: u64,
    columns: Vec<Known>,
    role: Role,
}

/// What a footer says of a column.
struct Known {
    name: String,
    arrow_type: arrow_schema::DataType,
    /// The least and the greatest value.
    bounds: Option<(Value, Value)>,
}

enum Role {
    Vertices { id: usize },
    Edges { source: usize, target: usize },
    Unknown,
}

impl Role {
    fn kind(&self) -> Option<ElementKind> {
        match self {
            Role::Vertices { .. } => Some(ElementKind::Vertex),
            Role::Edges { .. } => Some(ElementKind::Edge),
            Role::Unknown => None,
        }
    }
}

/// Files and folders that are no table, each with the reason.
type Others = Vec<(String, String)>;

/// The tables in a folder, and what else is there, with the reason why it is none.
fn tables_in(tables: &Tables) -> Result<(Vec<Found>, Others)> {
    let missing = || LakeError::Missing { file: tables.files.name("") };
    let listing = tables.files.list("")?.ok_or_else(missing)?;
    let mut named: Vec<(String, Vec<Arc<str>>)> = Vec::new();
    let mut others = Vec::new();
    for file in listing.files.iter().filter(|name| is_parquet(name)) {
        named.push((file.clone(), vec![file.as_str().into()]));
    }
    for folder in listing.folders.iter().filter(|name| !name.starts_with(['_', '.'])) {
        let inside = tables.files.list(folder)?.unwrap_or_default();
        if is_delta(&inside) || is_iceberg(&inside) {
            others.push((folder.clone(), "is a table of Delta or Iceberg: its library names the files that count".into()));
            continue;
        }
        if inside.folders.iter().any(|name| name.contains('=')) || folder.contains('=') {
            others.push((folder.clone(), "is partitioned by the names of folders: `mangrove load` reads it".into()));
            continue;
        }
        let files: Vec<Arc<str>> =
            inside.files.iter().filter(|name| is_parquet(name)).map(|name| format!("{folder}/{name}").into()).collect();
        if !files.is_empty() {
            named.push((folder.clone(), files));
        }
    }
    let all: Vec<Arc<str>> = named.iter().flat_map(|(_, files)| files.iter().cloned()).collect();
    // All together, unless one of them cannot be read. Then each says so for itself.
    let are_readable = tables.at(&all, None).is_ok();
    let mut found = Vec::with_capacity(named.len());
    for (file, paths) in named {
        match tables.at(&paths, None) {
            Ok(opened) => match differing(&opened) {
                Some(why) => others.push((file, why)),
                None => found.push(Found::read(file, &opened)),
            },
            Err(error) if !are_readable && is_of_file(&error) => others.push((file, format!("cannot be read: {error}"))),
            Err(error) => return Err(error),
        }
    }
    let labels: Vec<String> = found.iter().map(|table| table.label.clone()).collect();
    for table in &mut found {
        table.role = table.find_role(&labels);
    }
    Ok((found, others))
}

/// Whether an error tells of one file, and not of the place of all.
fn is_of_file(error: &LakeError) -> bool {
    matches!(error, LakeError::Damaged { .. } | LakeError::Missing { .. } | LakeError::Changed { .. })
}

/// How the columns of files differ, which therefore are not one table.
fn differing(tables: &[Arc<Table>]) -> Option<String> {
    let columns = |table: &Arc<Table>| -> Vec<(String, arrow_schema::DataType)> {
        table.schema().fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    let first = tables.first()?;
    let wanted = columns(first);
    let other = tables.iter().find(|table| columns(table) != wanted)?;
    let list = |table: &Arc<Table>| {
        let named: Vec<String> = columns(table).iter().map(|(name, t)| format!("{} ({t})", quoted(name))).collect();
        named.join(", ")
    };
    let hint = "if each file is a table, run `mangrove lake map` for this folder";
    Some(format!(
        "has files with different columns; {hint}. {}: {}; {}: {}",
        first.path(),
        list(first),
        other.path(),
        list(other)
    ))
}

fn is_parquet(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    !name.starts_with(['_', '.']) && [".parquet", ".pq", ".parq"].iter().any(|end| lower.ends_with(end))
}

impl Found {
    fn read(file: String, tables: &[Arc<Table>]) -> Self {
        let stem = file.rsplit_once('.').filter(|_| is_parquet(&file)).map_or(&*file, |(stem, _)| stem);
        let (label, rows) = (stem.to_owned(), tables.iter().map(|table| table.rows()).sum());
        let schema = tables.first().map(|table| table.schema().clone());
        let fields = schema.iter().flat_map(|schema| schema.fields().iter().enumerate());
        let known = |(at, field): (usize, &arrow_schema::FieldRef)| Known {
            name: field.name().clone(),
            arrow_type: field.data_type().clone(),
            bounds: tables.iter().map(|table| extremes(table, at)).reduce(joined).flatten(),
        };
        let columns = fields.map(known).collect();
        Self { file, label, rows, columns, role: Role::Unknown }
    }

    fn find_role(&self, labels: &[String]) -> Role {
        let schema = arrow_schema::Schema::new(
            self.columns
                .iter()
                .map(|column| arrow_schema::Field::new(&column.name, column.arrow_type.clone(), true))
                .collect::<Vec<_>>(),
        );
        let hints = TableHints { stem: self.label.clone(), ..TableHints::default() };
        if let Ok(plan) = plan_arrow(&schema, &hints, &self.file.as_str().into())
            && plan.warnings.is_empty()
        {
            match (plan.kind, plan.parts.id, plan.parts.source, plan.parts.target) {
                (ElementKind::Vertex, Some(id), ..) => return Role::Vertices { id },
                (ElementKind::Edge, _, Some(source), Some(target)) => return Role::Edges { source, target },
                _ => {}
            }
        }
        // `person_id` in `persons` is the id of the table.
        if let Some(id) =
            self.columns.iter().position(|column| prefix_of(&column.name).is_some_and(|of| is_name_of(of, &self.label)))
        {
            return Role::Vertices { id };
        }
        let names_vertices = |column: &Known| {
            prefix_of(&column.name)
                .is_some_and(|of| labels.iter().any(|label| is_name_of(of.trim_end_matches(['1', '2']), label)))
        };
        let ends: Vec<usize> = (0..self.columns.len()).filter(|at| names_vertices(&self.columns[*at])).collect();
        match ends[..] {
            [source, target] => Role::Edges { source, target },
            _ => Role::Unknown,
        }
    }

    fn put(&self, vertices: &[&Found], out: &mut String) {
        let (one, many) = match self.role {
            Role::Edges { .. } => ("edge", "edges"),
            _ => ("vertex", "vertices"),
        };
        let what = if self.rows == 1 { one } else { many };
        let _ = writeln!(out, "  - file: {}    # {} {what}", quoted(&self.file), self.rows);
        let _ = writeln!(out, "    label: {}", quoted(&self.label));
        match self.role {
            Role::Vertices { id } => {
                let _ = writeln!(out, "    id: {}", quoted(&self.columns[id].name));
                self.put_foreign_keys(id, vertices, out);
            }
            Role::Edges { source, target } => {
                for (word, at) in [("source", source), ("target", target)] {
                    let column = &self.columns[at];
                    let _ = writeln!(out, "    {word}: {}", quoted(&column.name));
                    self.put_end(word, column, vertices, out);
                }
            }
            Role::Unknown => {}
        }
        let others: Vec<String> = (0..self.columns.len())
            .filter(|at| !self.is_part(*at))
            .map(|at| format!("{} ({})", quoted(&self.columns[at].name), self.columns[at].arrow_type))
            .collect();
        if !others.is_empty() {
            let _ = writeln!(out, "    # further columns: {}", others.join(", "));
        }
    }

    fn is_part(&self, at: usize) -> bool {
        match self.role {
            Role::Vertices { id } => at == id,
            Role::Edges { source, target } => at == source || at == target,
            Role::Unknown => false,
        }
    }

    fn put_foreign_keys(&self, id: usize, vertices: &[&Found], out: &mut String) {
        let others = self.columns.iter().enumerate().filter(|(at, _)| *at != id).map(|(_, column)| column);
        let named = others.filter_map(|column| {
            let of = prefix_of(&column.name)?;
            let (to, is_certain) = match vertices.iter().find(|table| is_name_of(of, &table.label)) {
                Some(table) => (*table, true),
                None => (*vertices.iter().find(|table| of.ends_with(singular(&table.label)))?, false),
            };
            to.may_hold(column).then_some((column, of, to, is_certain))
        });
        let mut is_first = true;
        for (column, of, to, is_certain) in named {
            if std::mem::take(&mut is_first) {
                let _ = writeln!(out, "    foreign_keys:");
            }
            let (name, label, to) = (quoted(&column.name), quoted(of), quoted(&to.label));
            let note = if is_certain { "" } else { "    # a guess" };
            let _ = writeln!(out, "      {name}: {{label: {label}, to: {to}}}{note}");
        }
    }

    /// The label of the vertices at an end: by the column's name, the table's name, or because no other fits.
    fn put_end(&self, word: &str, column: &Known, vertices: &[&Found], out: &mut String) {
        // `person_knows_person`, as LDBC and others name their files.
        let parts: Vec<&str> = self.label.split(['_', '-']).collect();
        let part = if word == "source" { parts.first() } else { parts.last() };
        let by_column = prefix_of(&column.name).map(|of| of.trim_end_matches(['1', '2']));
        let is_named = |table: &&&Found| {
            by_column.is_some_and(|of| is_name_of(of, &table.label))
                || parts.len() > 2 && part.is_some_and(|part| is_name_of(part, &table.label))
        };
        let fitting: Vec<&&Found> = vertices.iter().filter(|table| table.may_hold(column)).collect();
        let only = || if let [only] = fitting[..] { Some(only) } else { None };
        let found = fitting.iter().find(|table| is_named(table)).copied();
        // A name counts more than bounds: some edges may lead nowhere.
        let named = found.map(|table| (table, "")).or_else(|| {
            let alike = vertices.iter().filter(|table| table.is_alike(column)).find(is_named);
            alike.map(|table| (table, "    # some may name none: `missing: skip` leaves such edges out"))
        });
        let _ = match named.or_else(|| only().map(|table| (table, if vertices.len() > 1 { "    # a guess" } else { "" }))) {
            Some((table, note)) => writeln!(out, "    {word}_label: {}{note}", quoted(&table.label)),
            None => {
                let choice = if fitting.is_empty() { vertices.iter().collect() } else { fitting };
                let labels: Vec<String> = choice.iter().map(|table| quoted(&table.label)).collect();
                writeln!(out, "    {word}_label: \"?\"    # write which: {}", labels.join(", "))
            }
        };
    }

    /// Whether a column may name vertices of this table, as far as types and bounds tell.
    fn may_hold(&self, column: &Known) -> bool {
        let Role::Vertices { id } = self.role else { return false };
        let id = &self.columns[id];
        let lies_within = match (&id.bounds, &column.bounds) {
            (Some((least, most)), Some((low, high))) => {
                Comparison::Lte.test(least, low) != Some(false) && Comparison::Gte.test(most, high) != Some(false)
            }
            _ => true,
        };
        self.is_alike(column) && lies_within
    }

    /// Whether a column has the type of the ids of this table.
    fn is_alike(&self, column: &Known) -> bool {
        let Role::Vertices { id } = self.role else { return false };
        let id = &self.columns[id];
        let is_text =
            |t: &arrow_schema::DataType| matches!(t, arrow_schema::DataType::Utf8 | arrow_schema::DataType::LargeUtf8);
        id.arrow_type == column.arrow_type
            || id.arrow_type.is_integer() && (column.arrow_type.is_integer() || column.arrow_type.is_floating())
            || is_text(&id.arrow_type) && is_text(&column.arrow_type)
    }
}

/// The least and the greatest value of a column of a file.
fn extremes(table: &Arc<Table>, column: usize) -> Option<(Value, Value)> {
    table.extremes(column).map(|(least, most)| (value_at(&least, 0), value_at(&most, 0)))
}

fn joined(a: Option<(Value, Value)>, b: Option<(Value, Value)>) -> Option<(Value, Value)> {
    let ((least, most), (other_least, other_most)) = (a?, b?);
    let least = if Comparison::Lt.test(&other_least, &least) == Some(true) { other_least } else { least };
    let most = if Comparison::Gt.test(&other_most, &most) == Some(true) { other_most } else { most };
    Some((least, most))
}

/// What a column names, if it is called `X_id`, `XId` or `X.id`.
fn prefix_of(column: &str) -> Option<&str> {
    let ends = ["_id", "Id", "ID", ".id", "_key", "_fk"];
    ends.iter().find_map(|end| column.strip_suffix(end)).filter(|of| !of.is_empty())
}

/// Whether a word is the name of a table, in the singular or the plural.
fn is_name_of(word: &str, label: &str) -> bool {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    plain(singular(word)) == plain(singular(label))
}

fn singular(word: &str) -> &str {
    word.strip_suffix("s").filter(|rest| rest.len() > 1 && !rest.ends_with('s')).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_name_tables_in_the_singular_or_plural() {
        assert_eq!(
            ["customer_id", "customerId", "id", "_id", "paid"].map(prefix_of),
            [Some("customer"), Some("customer"), None, None, None]
        );
        assert!(
            is_name_of("customer", "customers")
                && is_name_of("orderItem", "order_items")
                && is_name_of("address", "address")
        );
        assert!(!is_name_of("customer", "custom"));
    }
}
