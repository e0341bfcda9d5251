//! `Database.load`, and how tables and files reach the loader.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use mangrove::graph::{Cell, ElementKind, PropertyColumn, Value};
use mangrove::ingest::{
    EdgeFiles, Format, KeyColumn, Merged, Merging, NodeFiles, OnDuplicate, OnError, OnExists, Spelling, Table, TableInput,
};
use mangrove::readers::{Readers, read_files};
use mangrove::{LoadOptions, LoadReport};
use pyo3::exceptions::{PyModuleNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::columns::{self, Columns};
use crate::{arrow, errors};

/// The label of edges. If given, also the labels of the vertices they join.
pub struct EdgeLabel {
    pub source: Option<Arc<str>>,
    pub label: Arc<str>,
    pub target: Option<Arc<str>>,
}

impl EdgeLabel {
    /// Reads `"knows"`, or `("Person", "knows", "Person")`.
    pub fn read(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(label) = given.cast::<PyString>() {
            return Ok(Self { source: None, label: label.to_str()?.into(), target: None });
        }
        if let Ok((source, label, target)) = given.extract::<(String, String, String)>() {
            return Ok(Self { source: Some(source.into()), label: label.into(), target: Some(target.into()) });
        }
        let found = given.repr()?;
        Err(PyTypeError::new_err(format!("give edges as label or as (source label, label, target label), not {found}")))
    }

    pub fn table(self, table: Table) -> TableInput {
        let Self { source, label, target } = self;
        TableInput {
            name: label.clone(),
            kind: ElementKind::Edge,
            label: Some(label),
            source,
            target,
            key: None,
            ends: None,
            table,
        }
    }
}

/// The labels of the nodes and the edges of a graph that has no labels.
const NODE: &str = "node";
const EDGE: &str = "edge";

fn sources<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyModule>> {
    py.import("mangrovedb._sources")
}

/// A table from what the caller passes: as it is, or converted from another library's data.
pub fn table_of(data: &Bound<'_, PyAny>, columns: Option<Vec<String>>, of_edges: bool) -> PyResult<Table> {
    let is_plain = data.is_instance_of::<PyList>() || data.is_instance_of::<PyDict>();
    if !is_plain && columns.is_none() {
        let made = sources(data.py())?.call_method1("table", (data, of_edges))?;
        if !made.is_none() {
            return table(&made, None);
        }
    }
    table(data, columns)
}

/// Reads files with other Python libraries.
pub struct PythonReaders;

impl Readers<PyErr> for PythonReaders {
    fn graph(&self, path: &Path) -> PyResult<Option<Vec<TableInput>>> {
        Python::attach(|py| {
            let graph = sources(py)?.call_method1("read", (path,)).map_err(|error| unread(py, path, error))?;
            if graph.is_none() { Ok(None) } else { graph_tables(&graph).map(Some) }
        })
    }

    fn table(&self, path: &Path, of_edges: bool) -> PyResult<Option<Table>> {
        Python::attach(|py| {
            let given =
                sources(py)?.call_method1("read_table", (path, of_edges)).map_err(|error| unread(py, path, error))?;
            if given.is_none() { Ok(None) } else { table(&given, None).map(Some) }
        })
    }
}

/// For the command line, which shows errors as messages.
impl Readers<String> for PythonReaders {
    fn graph(&self, path: &Path) -> Result<Option<Vec<TableInput>>, String> {
        Readers::<PyErr>::graph(self, path).map_err(|error| Python::attach(|py| error.value(py).to_string()))
    }

    fn table(&self, path: &Path, of_edges: bool) -> Result<Option<Table>, String> {
        Readers::<PyErr>::table(self, path, of_edges).map_err(|error| Python::attach(|py| error.value(py).to_string()))
    }
}

/// The error of a file that another library cannot read. A missing library has an error of its own.
fn unread(py: Python<'_>, path: &Path, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyModuleNotFoundError>(py) {
        return error;
    }
    let kind = error.get_type(py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
    let wrong = errors::LoadError::new_err(format!("{}: cannot be read: {kind}: {}", path.display(), error.value(py)));
    wrong.set_cause(py, Some(error));
    wrong
}

/// The delimiter of CSV files: one character, or `"tab"`.
pub fn delimiter(given: &str) -> PyResult<u8> {
    match given.as_bytes() {
        [byte] => Ok(*byte),
        b"tab" => Ok(b'\t'),
        _ => Err(PyValueError::new_err(format!("a delimiter must be one character or \"tab\", not {given:?}"))),
    }
}

/// The tables of a networkx graph.
fn graph_tables(graph: &Bound<'_, PyAny>) -> PyResult<Vec<TableInput>> {
    let (nodes, edges) = (table_of(graph, None, false)?, table_of(graph, None, true)?);
    let tables = [TableInput::vertices(NODE, nodes), TableInput::edges(Some(NODE), EDGE, Some(NODE), edges)];
    // A graph may have no edges, or be empty.
    Ok(tables.into_iter().filter(|input| row_count(&input.table) > 0).collect())
}

/// A table of rows, columns or Arrow data.
fn table(data: &Bound<'_, PyAny>, columns: Option<Vec<String>>) -> PyResult<Table> {
    if columns.is_none()
        && let Some(reader) = arrow::reader(data).map_err(|error| not_arrow(data, &error))?
    {
        let schema = reader.schema();
        let batches = data.py().detach(|| reader.collect::<Result<Vec<_>, _>>()).map_err(arrow::error)?;
        return Ok(Table::Arrow { schema, batches });
    }
    of_columns(columns::read(data, columns)?)
}

/// The error of a table that its library cannot export, such as a pandas one with a column of several types.
fn not_arrow(data: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    let kind = data.get_type().name().map_or_else(|_| "table".to_owned(), |name| name.to_string());
    errors::LoadError::new_err(format!(
        "cannot read the {kind}: {}. Give each column one type, or pass its rows as dicts",
        error.value(data.py())
    ))
}

pub fn row_count(table: &Table) -> usize {
    match table {
        Table::Arrow { batches, .. } => batches.iter().map(RecordBatch::num_rows).sum(),
        Table::Rows { names, values } => values.len() / names.len().max(1),
    }
}

fn of_columns(Columns { rows, columns }: Columns) -> PyResult<Table> {
    let columns: Vec<_> = columns.into_iter().map(|(name, column)| (name, without_nan(column))).collect();
    if columns.iter().any(|(_, column)| matches!(column, PropertyColumn::Cells(_))) {
        return Ok(of_values(rows, &columns));
    }
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for (name, column) in columns {
        let array = match column {
            PropertyColumn::Typed(array) => array,
            other => Arc::new(arrow_array::NullArray::new(other.len())),
        };
        fields.push(Field::new(&*name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    if rows == 0 {
        return Ok(Table::Arrow { schema, batches: Vec::new() });
    }
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(arrow::error)?;
    Ok(Table::Arrow { schema, batches: vec![batch] })
}

/// The column without the NaNs with which pandas marks missing values: those in columns without any number.
fn without_nan(column: PropertyColumn) -> PropertyColumn {
    let PropertyColumn::Cells(mut cells) = column else { return column };
    let is_nan = |cell: &Cell| matches!(cell, Cell::One(value) if value.as_f64().is_some_and(f64::is_nan));
    let is_number = |cell: &Cell| matches!(cell, Cell::One(value) if value.is_number());
    if cells.iter().all(|cell| is_nan(cell) || cell.is_absent() || !is_number(cell)) {
        cells.iter_mut().filter(|cell| is_nan(cell)).for_each(|cell| *cell = Cell::Absent);
    }
    PropertyColumn::Cells(cells)
}

/// A table of plain values, for columns of mixed types or without an array form.
fn of_values(rows: usize, columns: &[(Arc<str>, PropertyColumn)]) -> Table {
    let value = |cell: Cell| match cell {
        Cell::One(value) => value,
        _ => Value::Null,
    };
    let values = (0..rows).flat_map(|row| columns.iter().map(move |(_, column)| value(column.cell(row))));
    Table::Rows { names: columns.iter().map(|(name, _)| name.clone()).collect(), values: values.collect() }
}

/// The options of a load, from the arguments of `Database.load`.
pub fn options(
    files: &Bound<'_, PyTuple>,
    nodes: Option<&Bound<'_, PyAny>>,
    edges: Option<&Bound<'_, PyAny>>,
    format: &str,
) -> PyResult<LoadOptions> {
    let nodes = nodes.map(|given| by_label("nodes", given, "{\"user\": table}")).transpose()?;
    let edges = edges.map(|given| by_label("edges", given, "{(\"user\", \"follows\", \"user\"): table}")).transpose()?;
    let names = "auto, csv, parquet, jsonl, graphml, graphson, edgelist";
    let unknown = || PyValueError::new_err(format!("format must be one of {names}, not {format:?}"));
    let mut options = LoadOptions { format: Format::from_name(format).ok_or_else(unknown)?, ..LoadOptions::default() };
    for file in files {
        match paths(&file)? {
            Some(paths) => options.files.extend(paths),
            None if sources(file.py())?.call_method1("is_graph", (&file,))?.is_truthy()? => {
                options.tables.extend(graph_tables(&file)?);
            }
            None => {
                return Err(PyTypeError::new_err(
                    "a table needs a label: give it as nodes={label: table} or edges={(source, label, target): table}. Only files \
                     and networkx graphs need none",
                ));
            }
        }
    }
    for (label, given) in nodes.into_iter().flatten() {
        let label: Arc<str> = label.cast::<PyString>()?.to_str()?.into();
        match paths(&given)? {
            Some(files) => options.nodes.push(NodeFiles { label, files }),
            None => options.tables.push(TableInput::vertices(&label, rows_of(&given, false)?)),
        }
    }
    for (label, given) in edges.into_iter().flatten() {
        let label = EdgeLabel::read(&label)?;
        match paths(&given)? {
            Some(files) => {
                let EdgeLabel { source, label, target } = label;
                options.edges.push(EdgeFiles { source, label, target, files });
            }
            None => options.tables.push(label.table(rows_of(&given, true)?)),
        }
    }
    read_files::<PyErr>(&mut options, &PythonReaders)?;
    Ok(options)
}

/// A table. An empty list has no rows, and names no columns.
fn rows_of(given: &Bound<'_, PyAny>, of_edges: bool) -> PyResult<Table> {
    if given.cast::<PyList>().is_ok_and(|list| list.is_empty()) {
        let names: &[&str] = if of_edges { &["src", "dst"] } else { &["id"] };
        return Ok(Table::Rows { names: names.iter().map(|name| (*name).into()).collect(), values: Vec::new() });
    }
    table_of(given, None, of_edges)
}

/// Tables or files by their labels.
fn by_label<'a, 'py>(name: &str, given: &'a Bound<'py, PyAny>, example: &str) -> PyResult<&'a Bound<'py, PyDict>> {
    given.cast::<PyDict>().map_err(|_| {
        let kind = given.get_type().name().map_or_else(|_| "value".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "{name} is a dict from labels to tables or files, as in {name}={example}, not a {kind}"
        ))
    })
}

/// The files of a path or a list of paths; `None` for anything else.
fn paths(given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<PathBuf>>> {
    if is_path(given)? {
        return Ok(Some(vec![given.extract()?]));
    }
    let items: Vec<_> = match (given.cast::<PyList>(), given.cast::<PyTuple>()) {
        (Ok(list), _) => list.iter().collect(),
        (_, Ok(tuple)) => tuple.iter().collect(),
        _ => return Ok(None),
    };
    if items.is_empty() || !is_path(&items[0])? {
        return Ok(None);
    }
    items.iter().map(|item| item.extract()).collect::<PyResult<_>>().map(Some)
}

fn is_path(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.is_instance_of::<PyString>() || given.hasattr("__fspath__")?)
}

/// What to do about rows that cannot be loaded.
pub fn on_error(on_error: &str, rejects: Option<PathBuf>) -> PyResult<OnError> {
    match on_error {
        "fail" if rejects.is_some() => Err(PyValueError::new_err("rejects needs on_error=\"skip\"")),
        "fail" => Ok(OnError::Fail),
        "skip" => Ok(OnError::Skip { rejects: rejects.unwrap_or_else(|| "rejects.csv".into()) }),
        other => Err(crate::database::choice("on_error", other, &["fail", "skip"])),
    }
}

/// The columns with the ids of vertices, by label.
pub fn keys(key: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<KeyColumn>> {
    let wrong = |given: &Bound<'_, PyAny>| {
        let shown = given.repr().map(|text| text.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!(
            "key must be a dict from labels to columns, as in key={{\"user\": \"email\"}}, not {shown}"
        ))
    };
    let key = key.map(|key| key.cast::<PyDict>().map_err(|_| wrong(key))).transpose()?;
    let read = |(label, column): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let label: String = label.extract()?;
        Ok(KeyColumn { label: label.into(), column: column.extract()? })
    };
    key.into_iter().flat_map(|key| key.iter()).map(read).collect()
}

/// What to do with elements that exist already, and with missing ends of edges.
pub fn merging(on_exists: &str, on_duplicate: &str, edge_key: Option<String>, missing: &str) -> PyResult<Merging> {
    let choice = crate::database::choice;
    Ok(Merging {
        on_exists: OnExists::from_name(on_exists).ok_or_else(|| choice("on_exists", on_exists, &OnExists::NAMES))?,
        on_duplicate: OnDuplicate::from_name(on_duplicate)
            .ok_or_else(|| choice("on_duplicate", on_duplicate, &OnDuplicate::NAMES))?,
        edge_key: edge_key.map(Into::into),
        create_missing: match missing {
            "error" => false,
            "create" => true,
            other => return Err(choice("missing", other, &["error", "create"])),
        },
    })
}

fn merged<'py>(py: Python<'py>, merged: Merged) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, count) in [("updated", merged.updated), ("unchanged", merged.unchanged), ("skipped", merged.skipped)] {
        out.set_item(name, count)?;
    }
    Ok(out)
}

/// A report as a dict. Its warnings are also raised as Python warnings.
pub fn report<'py>(py: Python<'py>, report: &LoadReport) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, counts) in [("vertices", &report.vertices), ("edges", &report.edges)] {
        let by_label = PyDict::new(py);
        counts.iter().try_for_each(|(label, count)| by_label.set_item(&**label, count))?;
        out.set_item(name, by_label)?;
    }
    out.set_item("merged_vertices", merged(py, report.merged_vertices)?)?;
    out.set_item("merged_edges", merged(py, report.merged_edges)?)?;
    out.set_item("properties", report.properties)?;
    out.set_item("rejects", report.rejects)?;
    out.set_item("rejects_file", report.rejects_file.as_ref().map(|path| path.display().to_string()))?;
    let warnings: Vec<String> = report.warnings.iter().map(|warning| Spelling::Python.of(warning)).collect();
    out.set_item("warnings", &warnings)?;
    out.set_item("seconds", report.duration.as_secs_f64())?;
    warnings.iter().try_for_each(|warning| errors::warn(py, warning))?;
    Ok(out)
}
