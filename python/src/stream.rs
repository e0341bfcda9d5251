//! Results that are read one by one, while the query runs.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use mangrove::describe::Described;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::errors::raised;
use crate::{arrow, convert, result};

/// The results of a query, read one by one. The query runs only as far as you read, so there may be more results than
/// fit in memory. `Database.stream` makes it. It holds a snapshot of the graph, so read it to its end or close it.
///
/// >>> with db.stream("g.V().hasLabel('airport').values('code').order()") as codes:
/// ...     next(codes)
/// 'AUS'
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Stream {
    stream: mangrove::Stream,
    ready: Mutex<VecDeque<Described>>,
}

impl Stream {
    pub fn new(stream: mangrove::Stream) -> Self {
        Self { stream, ready: Mutex::default() }
    }

    /// The results at hand; if there are none, the next ones.
    fn batch(&self) -> Result<Option<Vec<Described>>, mangrove::QueryError> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.is_empty() {
            return self.stream.next_batch();
        }
        Ok(Some(std::mem::take(&mut *ready).into()))
    }

    fn next(&self) -> Result<Option<Described>, mangrove::QueryError> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        while ready.is_empty() {
            match self.stream.next_batch()? {
                Some(batch) => *ready = batch.into(),
                None => return Ok(None),
            }
        }
        Ok(ready.pop_front())
    }
}

/// The default number of rows in a batch.
const BATCH_ROWS: usize = 65_536;

impl Stream {
    fn capsule<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyCapsule>> {
        let stream = self.stream.clone();
        let (batches, warnings) = py.detach(|| (mangrove::Batches::new(stream, rows), self.stream.take_warnings()));
        result::warn(py, &warnings)?;
        arrow::capsule_of(py, Box::new(raised(batches)?))
    }
}

/// A stream that is read in batches of `rows` rows.
#[pyclass(frozen, module = "mangrovedb")]
pub struct Batches {
    stream: Py<Stream>,
    rows: usize,
}

#[pymethods]
impl Batches {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // as of a stream
        self.stream.get().capsule(py, self.rows)
    }
}

#[pymethods]
impl Stream {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (next, warnings) = py.detach(|| (self.next(), self.stream.take_warnings()));
        result::warn(py, &warnings)?;
        raised(next)?.map(|row| convert::described(py, &row)).transpose()
    }

    /// Returns some hundreds to thousands of results, or `None` at the end.
    fn _next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let (batch, warnings) = py.detach(|| (self.batch(), self.stream.take_warnings()));
        result::warn(py, &warnings)?;
        let Some(rows) = raised(batch)? else { return Ok(None) };
        let list = PyList::empty(py);
        rows.iter().try_for_each(|row| list.append(convert::described(py, row)?))?;
        Ok(Some(list))
    }

    /// Returns the results as a pyarrow `RecordBatchReader`: Arrow record batches of at most `rows` rows (default
    /// 65,536), with the columns of `Result.to_arrow()`. All batches have the same schema. It follows from the first
    /// rows and the schema of the graph. Memory holds one batch, so you can write any number of results to a file or
    /// pass them to another library.
    ///
    /// >>> import pyarrow.parquet as parquet
    /// >>> with db.stream("g.V().hasLabel('airport')").batches() as reader:
    /// ...     with parquet.ParquetWriter("airports.parquet", reader.schema) as file:
    /// ...         for batch in reader:
    /// ...             file.write_batch(batch)
    /// >>> parquet.read_table("airports.parquet").num_rows
    /// 4
    #[pyo3(signature = (rows=65_536))]
    fn batches<'py>(slf: &Bound<'py, Self>, rows: usize) -> PyResult<Bound<'py, PyAny>> {
        let batches = Bound::new(slf.py(), Batches { stream: slf.clone().unbind(), rows: rows.max(1) })?;
        slf.py().import("mangrovedb._convert")?.call_method1("batches", (batches,))
    }

    /// The Arrow PyCapsule interface. Through it polars, DuckDB and others read the results batch by batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore a request for another schema.
        let _ = requested_schema;
        self.capsule(py, BATCH_ROWS)
    }

    /// Stops the query and releases its snapshot. After that the stream gives no results.
    ///
    /// >>> codes = db.stream("g.V().values('code')")
    /// >>> codes.close()
    /// >>> list(codes)
    /// []
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            self.stream.close();
            self.ready.lock().unwrap_or_else(PoisonError::into_inner).clear();
        });
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self, py: Python<'_>) -> &'static str {
        // A thread that reads the stream right now may wait for the interpreter's lock.
        if py.detach(|| self.stream.is_open()) { "<stream of results>" } else { "<stream of results, at its end>" }
    }
}
