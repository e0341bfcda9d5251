//! The results of a query.

use std::sync::atomic::{AtomicUsize, Ordering};

use mangrove::describe::Described;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString, PyTuple};

use crate::{arrow, convert, errors};

type Object<'py> = PyResult<Bound<'py, PyAny>>;

/// The results of a query: complete, and independent of the database from then on. Iterate over them, or take them as
/// `to_list()`, `one()`, `to_arrow()`, `to_pandas()`, `to_polars()` or `to_networkx()`; in a notebook they show themselves.
///
/// >>> result = db.query("g.V().hasLabel('airport').values('code').order()")
/// >>> len(result), result[0], [code.lower() for code in result]
/// (4, 'AUS', ['aus', 'dfw', 'lhr', 'wlg'])
#[pyclass(frozen, module = "mangrovedb", name = "Result", weakref)]
pub struct QueryResult {
    rows: Vec<Described>,
    warnings: Vec<String>,
}

impl QueryResult {
    pub fn new(rows: Vec<Described>, warnings: Vec<String>) -> Self {
        Self { rows, warnings }
    }
}

#[pymethods]
impl QueryResult {
    /// All results as a list of Python values and elements.
    ///
    /// >>> db.query("g.V().has('code', 'AUS').out('route').values('code').order()").to_list()
    /// ['DFW', 'LHR']
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        self.rows.iter().try_for_each(|row| list.append(convert::described(py, row)?))?;
        Ok(list)
    }

    /// The result, where there is exactly one.
    ///
    /// >>> db.query("g.V().count()").one()
    /// 5
    fn one<'py>(&self, py: Python<'py>) -> Object<'py> {
        match &self.rows[..] {
            [one] => convert::described(py, one),
            rows => Err(PyValueError::new_err(format!("the query has {} results, not one", rows.len()))),
        }
    }

    /// The results as a pyarrow table, in columns: one for each key of maps, or `id`, `label` and one for each property of
    /// elements, else one named `value`. Without pyarrow, anything that takes Arrow data takes a result as it is.
    ///
    /// >>> db.query("g.V().hasLabel('airport').project('code', 'n').by('code').by(out().count())").to_arrow().column_names
    /// ['code', 'n']
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        convert_with(slf, "to_arrow")
    }

    /// The results as a pandas data frame, in the columns of `to_arrow()`.
    ///
    /// >>> db.query("g.V().hasLabel('airport').order().by('code').valueMap('city').by(unfold())").to_pandas()["city"][0]
    /// 'Austin'
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        convert_with(slf, "to_pandas")
    }

    /// The results as a polars data frame, in the columns of `to_arrow()`.
    ///
    /// >>> db.query("g.V().hasLabel('airport').values('elev')").to_polars().shape
    /// (4, 1)
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        convert_with(slf, "to_polars")
    }

    /// The vertices and edges among the results (also those inside paths, subgraphs and collections) as a networkx
    /// MultiDiGraph, whose nodes are the ids of vertices.
    ///
    /// >>> graph = db.query("g.E().hasLabel('route')").to_networkx()
    /// >>> sorted(graph.successors("AUS"))
    /// ['DFW', 'LHR']
    fn to_networkx<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        convert_with(slf, "to_networkx")
    }

    /// What the query wants its author to know, such as labels and keys that nothing in the graph has. Each is raised as a
    /// `QueryWarning` too.
    ///
    /// >>> db.query("g.V().hasLabel('airport').count()").warnings
    /// []
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __bool__(&self) -> bool {
        !self.rows.is_empty()
    }

    fn __iter__(slf: &Bound<'_, Self>) -> Rows {
        Rows { result: slf.clone().unbind(), next: AtomicUsize::new(0) }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: isize) -> Object<'py> {
        let at = if at < 0 { at + self.rows.len() as isize } else { at };
        let row = usize::try_from(at).ok().and_then(|at| self.rows.get(at));
        convert::described(py, row.ok_or_else(|| PyIndexError::new_err("no such result"))?)
    }

    fn __repr__(&self) -> String {
        match self.rows.len() {
            1 => "<1 result>".into(),
            n => format!("<{n} results>"),
        }
    }

    /// The Arrow PyCapsule interface: how pyarrow, polars, DuckDB and others take a result.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer answer a wish for another schema with its own.
        let _ = requested_schema;
        let doing = "making a record batch of a result";
        let batch =
            errors::guarded(py, doing, || mangrove::arrow::record_batch(self.rows.clone()))?.map_err(arrow::error)?;
        arrow::capsule(py, batch)
    }

    /// The names of the columns, and the first `limit` rows (all if it is None) as tuples.
    #[pyo3(signature = (limit))]
    fn _table<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let shown = limit.unwrap_or(usize::MAX).min(self.rows.len());
        let table = errors::guarded(py, "laying out a result", || mangrove::table::of(self.rows[..shown].to_vec()))?;
        let names = PyList::new(py, table.columns.iter().map(|column| PyString::new(py, &column.name)))?;
        let rows = PyList::empty(py);
        for at in 0..table.rows {
            let cell = |column: &mangrove::table::Column| match &column.cells[at] {
                Some(cell) => convert::described(py, cell),
                None => Ok(py.None().into_bound(py)),
            };
            let row = table.columns.iter().map(cell).collect::<PyResult<Vec<_>>>()?;
            rows.append(PyTuple::new(py, row)?)?;
        }
        Ok((names, rows))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        slf.py().import("mangrovedb._display")?.call_method1("result_html", (slf,))
    }
}

fn convert_with<'py>(result: &Bound<'py, QueryResult>, function: &str) -> Object<'py> {
    result.py().import("mangrovedb._convert")?.call_method1(function, (result,))
}

/// Walks over results, making Python objects as they are asked for.
#[pyclass(frozen, module = "mangrovedb", name = "ResultIterator")]
pub struct Rows {
    result: Py<QueryResult>,
    next: AtomicUsize,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        self.result.get().rows.get(at).map(|row| convert::described(py, row)).transpose()
    }

    fn __length_hint__(&self) -> usize {
        self.result.get().rows.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

/// Raises the warnings of a query as Python warnings, where they were asked for.
pub fn warn(py: Python<'_>, warnings: &[String]) -> PyResult<()> {
    warnings.iter().try_for_each(|warning| errors::warn(py, warning))
}
