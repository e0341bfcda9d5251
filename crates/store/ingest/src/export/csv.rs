//! CSV with Neo4j-admin headers: one file for each label.
//!
//! Columns have Neo4j's types or these: `bigint`, `decimal`, `uuid`, `bytes`, `vector`; `list`, `set`, `map` as GraphSON text; and
//! `graphson`. A `graphson` column is an array of `{"value": …, "properties": {…}}`, for cells that no typed column can hold
//! (several types, nulls, meta-properties). `:EDGE_ID` is written only if users gave edges ids. `{time}` marks the time of edges.

use std::path::Path;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::number;
use mangrove_graph::{
    Cardinality, Cell, EdgeRef, ElementKind, Elements, ExternalId, KeyId, LabelId, PropertyColumn, PropertySchema, TypeSet,
    Value, ValueType, VertexId,
};

use super::graphson::{write_cell, write_value};
use super::walk::{ExportError, ExportWalk, Output, PAGE, ends_of};
use crate::text::csv::put_field;
use crate::text::infer::parse_int;
use crate::text::mapping_text::TableText;

pub fn write(walk: &mut ExportWalk<'_>, directory: &Path) -> Result<(), ExportError> {
    let id_type = id_type(walk)?;
    let mut names = FileNames::new("csv");
    for label in walk.labels(ElementKind::Vertex) {
        vertices(walk, label, id_type, directory, &mut names)?;
    }
    for label in walk.labels(ElementKind::Edge) {
        edges(walk, label, id_type, directory, &mut names)?;
    }
    if walk.report.files.is_empty() {
        // Write this file so that the export can be loaded again.
        let file = names.make(&["vertices"]);
        let mut empty = walk.create(directory.join(&file))?;
        walk.tables.push(TableText::new(ElementKind::Vertex, &file));
        empty.write(":ID,:LABEL\n")?;
        empty.finish()?;
    }
    Ok(())
}

/// File names made from labels. Each is different.
pub struct FileNames {
    given: HashSet<String>,
    extension: &'static str,
}

impl FileNames {
    pub fn new(extension: &'static str) -> Self {
        Self { given: HashSet::new(), extension }
    }

    pub fn make(&mut self, parts: &[&str]) -> String {
        let safe = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
        let base: String = parts.join("_").chars().map(safe).collect();
        let mut name = base.clone();
        let mut n = 1;
        while !self.given.insert(name.to_lowercase()) {
            n += 1;
            name = format!("{base}_{n}");
        }
        format!("{name}.{}", self.extension)
    }
}

/// The header option with which ids load back as they are. Empty if the loader tells integers from other text without it.
fn id_type(walk: &mut ExportWalk<'_>) -> Result<&'static str, ExportError> {
    let (mut strings, mut ints, mut uuids, mut like_ints) = (false, false, false, false);
    let labels = walk.labels(ElementKind::Vertex);
    for label in labels {
        walk.all_pages(ElementKind::Vertex, label, |walk, page| {
            for id in walk.ids(page)?.into_iter().flatten() {
                match id {
                    ExternalId::Int(_) => ints = true,
                    ExternalId::Uuid(_) => uuids = true,
                    ExternalId::String(id) => {
                        strings = true;
                        like_ints |= parse_int(id.trim().as_bytes()).is_some();
                    }
                }
            }
            Ok(true)
        })?;
    }
    match (like_ints || uuids, ints, strings, uuids) {
        (false, ..) => Ok(""),
        (true, false, true, false) => Ok("{id-type:string}"),
        (true, false, false, true) => Ok("{id-type:uuid}"),
        _ => Err(ExportError::Unwritable {
            what: "ids of several types, with strings that look like integers or UUIDs,".into(),
            format: "CSV",
            hint: "a load could not tell them apart. Export GraphSON",
        }),
    }
}

/// A property, and the form of its column.
struct ColumnPlan {
    key: KeyId,
    header: String,
    form: Form,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plain,
    /// A list, set or map, as GraphSON.
    Nested,
    /// Values separated by semicolons.
    Array,
    /// All values with their properties, as GraphSON.
    Cells,
}

fn column_plans(walk: &mut ExportWalk<'_>, kind: ElementKind, label: LabelId) -> Result<Vec<ColumnPlan>, ExportError> {
    let schema = walk.view.schema();
    let Some(of_label) = schema.label_schema(kind, label) else { return Ok(Vec::new()) };
    let (properties, time, own) = (of_label.properties.clone(), of_label.time, of_label.key);
    let mut plans = Vec::new();
    for property in properties.iter().filter(|property| is_column(property, own)) {
        let name = walk.view.schema().key_name(property.key);
        let (type_name, form) = column_form(walk, kind, label, property)?;
        let option = if time == Some(property.key) { "{time}" } else { "" };
        plans.push(ColumnPlan { key: property.key, header: format!("{name}:{type_name}{option}"), form });
    }
    Ok(plans)
}

/// Whether a property has a column of its own. The key is the id column. A property that is only declared has no values.
pub fn is_column(property: &PropertySchema, key: Option<KeyId>) -> bool {
    Some(property.key) != key && property.types != TypeSet::default()
}

fn column_form(
    walk: &mut ExportWalk<'_>,
    kind: ElementKind,
    label: LabelId,
    property: &PropertySchema,
) -> Result<(String, Form), ExportError> {
    let cells = Ok(("graphson".to_owned(), Form::Cells));
    let Some(t) = property.types.single().filter(|_| !property.types.contains(ValueType::Null)) else { return cells };
    if property.has_meta {
        return cells;
    }
    let nested = matches!(t, ValueType::List | ValueType::Set | ValueType::Map | ValueType::Vector | ValueType::Bytes);
    match property.cardinality {
        Cardinality::Single if matches!(t, ValueType::List | ValueType::Set | ValueType::Map) => {
            Ok((t.name().into(), Form::Nested))
        }
        Cardinality::Single => Ok((neo4j_name(t).into(), Form::Plain)),
        _ if kind == ElementKind::Edge || nested => cells,
        _ if t == ValueType::String && !strings_fit_arrays(walk, label, property.key)? => cells,
        _ => Ok((format!("{}[]", neo4j_name(t)), Form::Array)),
    }
}

/// Neo4j's name of a type, or ours if Neo4j has none.
fn neo4j_name(t: ValueType) -> &'static str {
    match t {
        ValueType::Bool => "boolean",
        ValueType::Int8 => "byte",
        ValueType::Int16 => "short",
        ValueType::Int32 => "int",
        ValueType::Int64 => "long",
        other => other.name(),
    }
}

/// Whether arrays of these strings load back as they are. They do if no string is empty or has a semicolon or backslash.
fn strings_fit_arrays(walk: &mut ExportWalk<'_>, label: LabelId, key: KeyId) -> Result<bool, ExportError> {
    let fits = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty() && !text.contains([';', '\\']));
    walk.all_pages(ElementKind::Vertex, label, |walk, page| {
        let column = walk.view.properties(page, key)?;
        Ok((0..column.len()).all(|row| column.cell(row).values().all(fits)))
    })
}

fn write_field(cell: Cell, form: Form, walk: &ExportWalk<'_>, line: &mut String) -> Result<(), ExportError> {
    line.push(',');
    let text = match (form, &cell) {
        (_, Cell::Absent) => return Ok(()),
        (Form::Cells, _) => {
            let mut text = String::new();
            write_cell(walk.view, &cell, None, &mut text);
            text
        }
        (Form::Nested, Cell::One(value)) => {
            let mut text = String::new();
            write_value(value, &mut text);
            text
        }
        (Form::Array, cell) => cell.values().map(text_of).collect::<Vec<_>>().join(";"),
        (_, cell) => cell.values().next().map(text_of).unwrap_or_default(),
    };
    if text.is_empty() {
        line.push_str("\"\"")
    } else {
        put_field(&text, line)
    }
    Ok(())
}

/// A plain value as text that loads back as the same value.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Decimal(v) => number::text_with_scale(v),
        Value::Bytes(_) => format!("0x{value}"),
        other => other.to_string(),
    }
}

fn header(first: &[String], plans: &[ColumnPlan]) -> String {
    let mut line = String::new();
    for (at, field) in first.iter().chain(plans.iter().map(|plan| &plan.header)).enumerate() {
        if at > 0 {
            line.push(',');
        }
        put_field(field, &mut line);
    }
    line + "\n"
}

fn vertices(
    walk: &mut ExportWalk<'_>,
    label: LabelId,
    id_type: &str,
    directory: &Path,
    names: &mut FileNames,
) -> Result<(), ExportError> {
    let plans = column_plans(walk, ElementKind::Vertex, label)?;
    let name = walk.view.schema().label_name(ElementKind::Vertex, label);
    let mut output: Option<Output> = None;
    walk.vertices(label, PAGE, |walk, page| {
        if output.is_none() {
            let file = names.make(&["vertices", &name]);
            let mut made = walk.create(directory.join(&file))?;
            walk.tables.push(TableText::new(ElementKind::Vertex, &file));
            let space = if walk.is_label_space() { format!("({name})") } else { String::new() };
            let schema = walk.view.schema();
            let own = schema.label_schema(ElementKind::Vertex, label).and_then(|label| label.key);
            let own = own.map(|key| schema.key_name(key).to_string()).unwrap_or_default();
            made.write(&header(&[format!("{own}:ID{space}{id_type}"), ":LABEL".to_owned()], &plans))?;
            output = Some(made);
        }
        let output = output.as_mut().expect("made above");
        vertex_page(walk, page, &plans, output)
    })?;
    output.map_or(Ok(()), Output::finish)
}

fn vertex_page(
    walk: &ExportWalk<'_>,
    page: &[VertexId],
    plans: &[ColumnPlan],
    output: &mut Output,
) -> Result<(), ExportError> {
    let elements = Elements::Vertices(page);
    let (ids, labels) = (walk.ids(elements)?, walk.label_names(page)?);
    let columns = walk.columns(elements, plans.iter().map(|plan| plan.key))?;
    let mut line = String::new();
    for (row, (id, labels)) in ids.iter().zip(&labels).enumerate() {
        line.clear();
        id_field(id, &mut line);
        line.push(',');
        put_field(&labels_text(labels, "CSV")?, &mut line);
        fields(walk, &columns, plans, row, &mut line)?;
        output.write(&line)?;
    }
    Ok(())
}

fn id_field(id: &Option<ExternalId>, line: &mut String) {
    match id {
        None => {}
        Some(ExternalId::String(id)) if id.is_empty() => line.push_str("\"\""),
        Some(ExternalId::String(id)) => put_field(id, line),
        Some(other) => line.push_str(&other.to_string()),
    }
}

pub fn labels_text(names: &[Arc<str>], format: &'static str) -> Result<String, ExportError> {
    match names.iter().find(|name| name.contains(';')) {
        Some(name) => Err(ExportError::Unwritable {
            what: format!("the label `{name}`"),
            format,
            hint: "semicolons separate labels there. Export GraphSON",
        }),
        None => Ok(names.join(";")),
    }
}

fn fields(
    walk: &ExportWalk<'_>,
    columns: &[PropertyColumn],
    plans: &[ColumnPlan],
    row: usize,
    line: &mut String,
) -> Result<(), ExportError> {
    for (column, plan) in columns.iter().zip(plans) {
        write_field(column.cell(row), plan.form, walk, line)?;
    }
    line.push('\n');
    Ok(())
}

/// Writes edges. If ids are unique only within labels, each pair of end labels has its own file.
fn edges(
    walk: &mut ExportWalk<'_>,
    label: LabelId,
    id_type: &str,
    directory: &Path,
    names: &mut FileNames,
) -> Result<(), ExportError> {
    let plans = column_plans(walk, ElementKind::Edge, label)?;
    let by_ends = walk.is_label_space();
    let with_ids = have_ids(walk, label)?;
    let mut outputs: Vec<((LabelId, LabelId), Output)> = Vec::new();
    walk.edges(label, |walk, page| {
        let elements = Elements::Edges(page);
        let columns = walk.columns(elements, plans.iter().map(|plan| plan.key))?;
        let end_ids = walk.by_vertex(ends_of(page), ExportWalk::ids)?;
        let own_ids = if with_ids { walk.ids(elements)? } else { Vec::new() };
        for (row, edge) in page.iter().enumerate() {
            let ends = if by_ends { (edge.source.label(), edge.target.label()) } else { (LabelId(0), LabelId(0)) };
            let at = match outputs.iter().position(|(of, _)| *of == ends) {
                Some(at) => at,
                None => {
                    let output =
                        edge_file(walk, label, by_ends.then_some(ends), id_type, with_ids, &plans, directory, names)?;
                    outputs.push((ends, output));
                    outputs.len() - 1
                }
            };
            let mut line = String::new();
            edge_fields(walk, edge, &end_ids, own_ids.get(row), &mut line);
            fields(walk, &columns, &plans, row, &mut line)?;
            outputs[at].1.write(&line)?;
        }
        Ok(())
    })?;
    outputs.into_iter().try_for_each(|(_, output)| output.finish())
}

/// Whether users gave ids to edges of a label.
fn have_ids(walk: &mut ExportWalk<'_>, label: LabelId) -> Result<bool, ExportError> {
    let have_none = walk.all_pages(ElementKind::Edge, label, |walk, page| {
        let ids = walk.view.external_ids(page)?;
        Ok(!(0..ids.len()).any(|row| ids.has(row)))
    })?;
    Ok(!have_none)
}

#[allow(clippy::too_many_arguments)]
fn edge_file(
    walk: &mut ExportWalk<'_>,
    label: LabelId,
    ends: Option<(LabelId, LabelId)>,
    id_type: &str,
    with_ids: bool,
    plans: &[ColumnPlan],
    directory: &Path,
    names: &mut FileNames,
) -> Result<Output, ExportError> {
    let schema = walk.view.schema();
    let name = schema.label_name(ElementKind::Edge, label);
    let end_name = |end: LabelId| schema.label_name(ElementKind::Vertex, end);
    let mut first = match ends {
        None => vec![format!(":START_ID{id_type}"), format!(":END_ID{id_type}")],
        Some((from, to)) => {
            vec![format!(":START_ID({}){id_type}", end_name(from)), format!(":END_ID({}){id_type}", end_name(to))]
        }
    };
    first.push(":TYPE".to_owned());
    if with_ids {
        first.push(":EDGE_ID".to_owned());
    }
    let file = match ends {
        None => names.make(&["edges", &name]),
        Some((from, to)) => names.make(&["edges", &end_name(from), &name, &end_name(to)]),
    };
    let mut output = walk.create(directory.join(&file))?;
    walk.tables.push(TableText::new(ElementKind::Edge, &file));
    output.write(&header(&first, plans))?;
    Ok(output)
}

/// Appends the fields of an edge before its properties. `own_id` is `None` if the file has no column for it.
fn edge_fields(
    walk: &ExportWalk<'_>,
    edge: &EdgeRef,
    end_ids: &HashMap<VertexId, Option<ExternalId>>,
    own_id: Option<&Option<ExternalId>>,
    line: &mut String,
) {
    id_field(&end_ids[&edge.source], line);
    line.push(',');
    id_field(&end_ids[&edge.target], line);
    line.push(',');
    put_field(&walk.view.schema().label_name(ElementKind::Edge, edge.id.label()), line);
    if let Some(id) = own_id {
        line.push(',');
        id_field(id, line);
    }
}
