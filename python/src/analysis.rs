//! Algorithms on the whole graph.

use std::time::Duration;

use arrow_array::{Array, RecordBatch};
use mangrove::Value;
use mangrove::analytics::{AnalyticsError, Stage, registry};
use mangrove::{AnalyzeError, AnalyzeOptions, CancelToken, Parameters};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::database::Database;
use crate::errors::{MemoryLimitError, QueryError, Raise, TimeoutError, raised};
use crate::projection::ProjectedGraph;
use crate::{arrow, convert, interrupt, parameters, progress, query};

/// The most rows that the printed form shows.
const ROWS_SHOWN: usize = 10;

/// What an algorithm found: a value for each vertex, and a summary. It no longer depends on the database. `to_arrow()`,
/// `to_pandas()`, `to_polars()` and `to_dict()` give the values. A value is missing where there is none, such as a way to
/// the vertex.
///
/// >>> found = db.analyze.wcc()
/// >>> found.summary
/// {'components': 1}
#[pyclass(frozen, module = "mangrovedb")]
pub struct Analysis {
    name: String,
    /// Whether there is one value for each vertex.
    is_by_vertex: bool,
    values: RecordBatch,
    /// The ids, and the values that are ids, if ids have several types.
    typed: [Option<Vec<Value>>; 2],
    summary: Py<PyDict>,
    warnings: Vec<String>,
    reading: Duration,
    running: Duration,
}

#[pymethods]
impl Analysis {
    /// What the algorithm says about the whole graph, by name.
    ///
    /// >>> db.analyze.triangles(directed=False).summary
    /// {'triangles': 0}
    #[getter]
    fn summary(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        Ok(self.summary.bind(py).copy()?.unbind())
    }

    /// What went wrong on the way, and was made good: nodes of a graph that ended meanwhile, and checkpoints that were not made.
    ///
    /// >>> db.analyze.wcc().warnings
    /// []
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// How long the algorithm took, in seconds, once the graph was read.
    ///
    /// >>> db.analyze.wcc().seconds < 60
    /// True
    #[getter]
    fn seconds(&self) -> f64 {
        self.running.as_secs_f64()
    }

    /// How long it took to read the graph, in seconds.
    ///
    /// >>> db.analyze.wcc().read_seconds < 60
    /// True
    #[getter]
    fn read_seconds(&self) -> f64 {
        self.reading.as_secs_f64()
    }

    /// Returns the values as a `pyarrow.Table` with the columns `id` and `value`. Needs pyarrow.
    ///
    /// >>> db.analyze.bfs(source="AUS").to_arrow().column_names
    /// ['id', 'value']
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        convert_with(slf, "to_arrow")
    }

    /// Returns the values as a `pandas.DataFrame`. Needs pandas and pyarrow.
    ///
    /// >>> db.analyze.pagerank().to_pandas().nlargest(1, "value")["id"].tolist()
    /// ['AUS']
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// Returns the values as a `polars.DataFrame`. Needs polars.
    ///
    /// >>> db.analyze.lcc().to_polars().shape
    /// (5, 2)
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        convert_with(slf, "to_polars")
    }

    /// Returns the values as a dict by id.
    ///
    /// >>> db.analyze.bfs(source="AUS").to_dict()["WLG"]
    /// 2
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if !self.is_by_vertex {
            let reason = format!("{} gives no single value for each vertex: use to_arrow()", self.name);
            return Err(PyValueError::new_err(reason));
        }
        let out = PyDict::new(py);
        for row in 0..self.values.num_rows() {
            out.set_item(self.cell(py, 0, row)?, self.cell(py, 1, row)?)?;
        }
        Ok(out)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // The interface lets a producer leave the wish aside.
        arrow::capsule(py, self.values.clone())
    }

    fn __len__(&self) -> usize {
        self.values.num_rows()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let rows = self.values.num_rows();
        let what = match (self.is_by_vertex, rows) {
            (true, 1) => "vertex",
            (true, _) => "vertices",
            (false, 1) => "row",
            (false, _) => "rows",
        };
        let mut text = format!("{}: {rows} {what}", self.name);
        for (name, value) in self.summary.bind(py) {
            text += &format!(", {} {}", name.str()?, value.str()?);
        }
        for row in 0..rows.min(ROWS_SHOWN) {
            let cells = (0..self.values.num_columns()).map(|column| self.cell(py, column, row)?.repr()?.extract::<String>());
            text += &format!("\n{}", cells.collect::<PyResult<Vec<_>>>()?.join("  "));
        }
        Ok(if rows > ROWS_SHOWN { text + "\n…" } else { text })
    }
}

fn convert_with<'py>(found: &Bound<'py, Analysis>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    found.py().import("mangrovedb._convert")?.call_method1(function, (found,))
}

impl Analysis {
    pub fn new(py: Python<'_>, name: &str, found: mangrove::Analysis) -> PyResult<Self> {
        let summary = PyDict::new(py);
        for (name, value) in &found.summary {
            summary.set_item(name, convert::plain(py, value)?)?;
        }
        let is_by_vertex = registry::about(name).is_some_and(|about| about.gives_values());
        // Pairs and walks have other rows than vertices.
        let typed = if is_by_vertex { [found.mixed_ids, found.named] } else { [None, None] };
        let (reading, running) = (found.reading, found.running);
        Ok(Self {
            name: name.to_owned(),
            is_by_vertex,
            values: found.values,
            typed,
            summary: summary.unbind(),
            warnings: found.warnings,
            reading,
            running,
        })
    }

    fn cell<'py>(&self, py: Python<'py>, column: usize, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if let Some(values) = self.typed.get(column).and_then(Option::as_ref) {
            return convert::plain(py, &values[row]);
        }
        let array = self.values.column(column);
        match array.is_null(row) {
            true => Ok(py.None().into_bound(py)),
            false => convert::plain(py, &mangrove::graph::column::value_at(array, row)),
        }
    }
}

/// Runs an algorithm for `mangrovedb.analyze`, which documents the arguments.
#[pyfunction]
#[pyo3(signature = (db, name, options, *, vertices, edges, vertices_where, edges_where, weight, directed, write, threads, partitions, memory_mb, timeout, checkpoint_every, progress))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
pub fn analyze(
    py: Python<'_>,
    db: &Database,
    name: &str,
    options: &Bound<'_, PyDict>,
    vertices: Option<&Bound<'_, PyAny>>,
    edges: Option<&Bound<'_, PyAny>>,
    vertices_where: Option<String>,
    edges_where: Option<String>,
    weight: Option<String>,
    directed: bool,
    write: Option<String>,
    threads: Option<usize>,
    partitions: Option<u32>,
    memory_mb: Option<f64>,
    timeout: Option<f64>,
    checkpoint_every: Option<f64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Analysis> {
    let inner = db.handle()?;
    let wanted = AnalyzeOptions {
        write,
        timeout: query::seconds("timeout", timeout)?,
        checkpoint_every: query::seconds("checkpoint_every", checkpoint_every)?,
        partitions,
        ..chosen((vertices, vertices_where), (edges, edges_where), weight, directed, threads, memory_mb)?
    };
    let mut arguments = Parameters::new();
    for (name, value) in options {
        arguments.insert(name.extract()?, parameters::value(&value)?);
    }
    let outcome = watched(py, progress, &wanted.cancel, |show| inner.analyze(name, &arguments, &wanted, show))?;
    Analysis::new(py, name, raised(outcome)?)
}

/// Projects a graph for `mangrovedb.analyze`, which documents the arguments.
#[pyfunction]
#[pyo3(signature = (db, *, vertices, edges, vertices_where, edges_where, weight, directed, threads, memory_mb, timeout, progress))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keyword arguments")]
pub fn project(
    py: Python<'_>,
    db: &Database,
    vertices: Option<&Bound<'_, PyAny>>,
    edges: Option<&Bound<'_, PyAny>>,
    vertices_where: Option<String>,
    edges_where: Option<String>,
    weight: Option<String>,
    directed: bool,
    threads: Option<usize>,
    memory_mb: Option<f64>,
    timeout: Option<f64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<ProjectedGraph> {
    let inner = db.handle()?;
    let chosen = chosen((vertices, vertices_where), (edges, edges_where), weight, directed, threads, memory_mb)?;
    let wanted = AnalyzeOptions { timeout: query::seconds("timeout", timeout)?, ..chosen };
    raised(watched(py, progress, &wanted.cancel, |show| inner.project(&wanted, show))?).map(ProjectedGraph)
}

/// Labels and tests.
type Part<'a, 'py> = (Option<&'a Bound<'py, PyAny>>, Option<String>);

/// The part of the graph that arguments choose.
fn chosen(
    vertices: Part<'_, '_>,
    edges: Part<'_, '_>,
    weight: Option<String>,
    directed: bool,
    threads: Option<usize>,
    memory_mb: Option<f64>,
) -> PyResult<AnalyzeOptions> {
    Ok(AnalyzeOptions {
        vertices: vertices.0.map(|names| labels("vertices", names)).transpose()?,
        edges: edges.0.map(|names| labels("edges", names)).transpose()?,
        vertices_where: vertices.1,
        edges_where: edges.1,
        weight,
        directed,
        threads: threads.unwrap_or(0),
        memory_bytes: memory_mb.map(|megabytes| (megabytes.max(0.0) * f64::from(1 << 20)) as u64),
        cancel: interrupt::token(),
        ..AnalyzeOptions::default()
    })
}

/// Runs work without the interpreter's lock, and shows its progress to whoever wishes.
fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    cancel: &CancelToken,
    work: impl FnOnce(&mut dyn FnMut(Stage)) -> T + Send,
) -> PyResult<T> {
    let line = progress::receiver(py, progress, "Stages")?;
    let callback = line.as_ref().map(|line| line.clone().unbind());
    let mut show = |stage: Stage| {
        let Some(callback) = &callback else { return };
        if !interrupt::called(|py| callback.call1(py, (stage.name, stage.done, stage.of))) {
            cancel.cancel();
        }
    };
    let outcome = py.detach(|| work(&mut show));
    progress::close(line)?;
    Ok(outcome)
}

/// The name of a label, or several.
fn labels(argument: &str, names: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match names.extract::<String>() {
        Ok(name) => Ok(vec![name]),
        Err(_) => names.extract().map_err(|_| PyTypeError::new_err(format!("{argument} is a label or a list of labels"))),
    }
}

impl Raise for AnalyzeError {
    fn raise(self) -> PyErr {
        let message = self.to_string();
        match self {
            error if error.is_late() => {
                TimeoutError::new_err(error.late().unwrap_or_else(|| format!("{message}; nothing was written")))
            }
            error if error.is_of_memory() => {
                MemoryLimitError::new_err(message.replace("or allow more", "or allow more with memory_mb"))
            }
            AnalyzeError::Graph(error) | AnalyzeError::Analytics(AnalyticsError::Graph(error)) => error.raise(),
            AnalyzeError::Bug(bug) => bug.raise(),
            AnalyzeError::Analytics(_) | AnalyzeError::Invalid(_) => QueryError::new_err(message),
        }
    }
}
