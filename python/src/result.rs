//! The results of a query.

use std::sync::atomic::{AtomicUsize, Ordering};

use mangrove::Results;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PySlice, PyString, PyTuple};

use crate::{arrow, convert, elements, errors};

/// The most rows that the printed form of a result shows.
const ROWS_SHOWN: usize = 20;

type Object<'py> = PyResult<Bound<'py, PyAny>>;

/// The results of a query. They are complete and no longer depend on the database. Iterate over them, or use
/// `to_list()`, `to_dicts()`, `to_json()`, `one()`, `first()`, `to_arrow()`, `to_pandas()`, `to_polars()` or
/// `to_networkx()`. When printed, and in a notebook, they are a table.
///
/// >>> result = db.query("g.V().hasLabel('airport').values('code').order()")
/// >>> len(result), result[0], [code.lower() for code in result]
/// (4, 'AUS', ['aus', 'dfw', 'lhr', 'wlg'])
#[pyclass(frozen, module = "mangrovedb", name = "Result", weakref)]
pub struct QueryResult {
    results: Results,
    warnings: Vec<String>,
}

impl QueryResult {
    pub fn new(results: Results, warnings: Vec<String>) -> Self {
        Self { results, warnings }
    }
}

#[pymethods]
impl QueryResult {
    /// Returns all results as a list of Python values and elements.
    ///
    /// >>> db.query("g.V().has('code', 'AUS').out('route').values('code').order()").to_list()
    /// ['DFW', 'LHR']
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        self.results.iter().try_for_each(|row| list.append(convert::described(py, &row)?))?;
        Ok(list)
    }

    /// Returns the only result. Raises `ValueError` if there are none or several.
    ///
    /// >>> db.query("g.V().count()").one()
    /// 5
    fn one<'py>(&self, py: Python<'py>) -> Object<'py> {
        match self.results.len() {
            1 => convert::described(py, &self.results.get(0)),
            n => Err(PyValueError::new_err(format!("the query has {n} results, not one"))),
        }
    }

    /// Returns the first result, or `None` if there is none.
    ///
    /// >>> db.query("g.V().hasLabel('airport').values('code').order()").first()
    /// 'AUS'
    fn first<'py>(&self, py: Python<'py>) -> Object<'py> {
        match self.results.is_empty() {
            true => Ok(py.None().into_bound(py)),
            false => convert::described(py, &self.results.get(0)),
        }
    }

    /// Returns a dict for each result. The keys are the names of the columns of `to_arrow()`. If a result has nothing
    /// in a column, the value is `None`.
    ///
    /// >>> db.query("g.V('AUS', 'US').elementMap('city')").to_dicts()
    /// [{'id': 'AUS', 'label': 'airport', 'city': 'Austin'}, {'id': 'US', 'label': 'country', 'city': None}]
    fn to_dicts<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        convert_with(slf, "to_dicts")
    }

    /// Returns the results as a JSON array. Each item is as `mangrove query --format json` writes it.
    ///
    /// >>> db.query("g.V('AUS').valueMap('city')").to_json()
    /// '[{"city":["Austin"]}]'
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        errors::guarded(py, "writing a result as JSON", || {
            let mut text = String::from("[");
            for (at, row) in self.results.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                mangrove::json::write_described(&mut text, &row);
            }
            text + "]"
        })
    }

    /// Returns the results as a pyarrow table. Maps give one column for each key. Elements give the columns `id`,
    /// `label` and one for each property. Anything else gives one column, `value`. Without pyarrow, pass the result
    /// itself to anything that takes Arrow data.
    ///
    /// >>> db.query("g.V().hasLabel('airport').project('code', 'n').by('code').by(out().count())").to_arrow().column_names
    /// ['code', 'n']
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        convert_with(slf, "to_arrow")
    }

    /// Returns the results as a pandas data frame, with the columns of `to_arrow()`.
    ///
    /// >>> db.query("g.V().hasLabel('airport').order().by('code').valueMap('city').by(unfold())").to_pandas()["city"][0]
    /// 'Austin'
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        convert_with(slf, "to_pandas")
    }

    /// Returns the results as a polars data frame, with the columns of `to_arrow()`.
    ///
    /// >>> db.query("g.V().hasLabel('airport').values('elev')").to_polars().shape
    /// (4, 1)
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        convert_with(slf, "to_polars")
    }

    /// Returns the vertices and edges among the results as a networkx MultiDiGraph. Those inside paths, subgraphs and
    /// collections count too. Its nodes are the ids of vertices. With `directed=False`, edges have no direction. With
    /// `multigraph=False`, two vertices have at most one edge between them.
    ///
    /// >>> graph = db.query("g.E().hasLabel('route')").to_networkx()
    /// >>> sorted(graph.successors("AUS"))
    /// ['DFW', 'LHR']
    /// >>> type(db.query("g.E()").to_networkx(directed=False, multigraph=False)).__name__
    /// 'Graph'
    #[pyo3(signature = (*, directed=true, multigraph=true))]
    fn to_networkx<'py>(slf: &Bound<'py, Self>, directed: bool, multigraph: bool) -> Object<'py> {
        slf.py().import("mangrovedb._convert")?.call_method1("to_networkx", (slf, directed, multigraph))
    }

    /// Returns what networkx takes: nodes with their attributes, and edges as (source, target, key, attributes).
    /// Returns `None` if a result is neither a vertex nor an edge.
    fn _nodes_and_edges<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyList>, Bound<'py, PyList>)>> {
        elements::nodes_and_edges(py, self.results.iter())
    }

    /// Warnings about the query, for example about labels and keys that nothing in the graph has. Each is also raised
    /// as a `QueryWarning`.
    ///
    /// >>> db.query("g.V().hasLabel('airport').count()").warnings
    /// []
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn __len__(&self) -> usize {
        self.results.len()
    }

    fn __bool__(&self) -> bool {
        !self.results.is_empty()
    }

    fn __iter__(slf: &Bound<'_, Self>) -> Rows {
        Rows { result: slf.clone().unbind(), next: AtomicUsize::new(0) }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: &Bound<'py, PyAny>) -> Object<'py> {
        if let Ok(slice) = at.cast::<PySlice>() {
            let bounds = slice.indices(self.results.len() as isize)?;
            let rows = (0..bounds.slicelength as isize).map(|n| (bounds.start + n * bounds.step) as usize);
            let rows = rows.map(|row| convert::described(py, &self.results.get(row)));
            return Ok(PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?.into_any());
        }
        let at: isize = at.extract()?;
        let at = if at < 0 { at + self.results.len() as isize } else { at };
        let at = usize::try_from(at).ok().filter(|at| *at < self.results.len());
        let at = at.ok_or_else(|| PyIndexError::new_err("there is no result at this position"))?;
        convert::described(py, &self.results.get(at))
    }

    /// Shows the first results as a table.
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        errors::guarded(py, "laying out a result", || mangrove::show::beginning(&self.results, ROWS_SHOWN))
    }

    /// The Arrow PyCapsule interface. Through it pyarrow, polars, DuckDB and others read a result.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore a request for another schema.
        let _ = requested_schema;
        let doing = "making a record batch of a result";
        let batch = errors::guarded(py, doing, || mangrove::arrow::record_batch(&self.results))?.map_err(arrow::error)?;
        arrow::capsule(py, batch)
    }

    /// Returns the names of the columns and the first `limit` rows as tuples. If `limit` is `None`, returns all rows.
    #[pyo3(signature = (limit))]
    fn _table<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let first = limit.map(|limit| self.results.beginning(limit));
        let shown = first.as_ref().unwrap_or(&self.results);
        let table = errors::guarded(py, "laying out a result", || mangrove::table::of(shown))?;
        let names = PyList::new(py, table.columns.iter().map(|column| PyString::new(py, &column.name)))?;
        let rows = PyList::empty(py);
        let mut columns: Vec<_> = table.columns.iter().map(mangrove::table::Column::iter).collect();
        for _ in 0..table.rows {
            let cells = columns.iter_mut().map(|column| match column.next().flatten() {
                Some(cell) => convert::described(py, &cell),
                None => Ok(py.None().into_bound(py)),
            });
            let row = cells.collect::<PyResult<Vec<_>>>()?;
            rows.append(PyTuple::new(py, row)?)?;
        }
        Ok((names, rows))
    }

    /// Returns the cells of the columns with these names, as Python objects.
    fn _cells<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
        let table = errors::guarded(py, "laying out a result", || mangrove::table::of(&self.results))?;
        let columns = PyDict::new(py);
        for column in table.columns.iter().filter(|column| names.contains(&column.name)) {
            let list = PyList::empty(py);
            for cell in column.iter() {
                match cell {
                    Some(cell) => list.append(convert::described(py, &cell)?)?,
                    None => list.append(py.None())?,
                }
            }
            columns.set_item(&column.name, list)?;
        }
        Ok(columns)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> Object<'py> {
        slf.py().import("mangrovedb._display")?.call_method1("result_html", (slf,))
    }
}

fn convert_with<'py>(result: &Bound<'py, QueryResult>, function: &str) -> Object<'py> {
    result.py().import("mangrovedb._convert")?.call_method1(function, (result,))
}

/// Iterates over results. It makes each Python object when you ask for it.
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
        let results = &self.result.get().results;
        (at < results.len()).then(|| convert::described(py, &results.get(at))).transpose()
    }

    fn __length_hint__(&self) -> usize {
        self.result.get().results.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

/// Raises the warnings of a query as Python warnings, at the line of the caller.
pub fn warn(py: Python<'_>, warnings: &[String]) -> PyResult<()> {
    warnings.iter().try_for_each(|warning| errors::warn(py, warning))
}
