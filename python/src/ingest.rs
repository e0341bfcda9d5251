//! Writes vertices and edges in batches from Python.

use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};

use mangrove::ingest::TableInput;
use pyo3::prelude::*;

use crate::errors::{TransactionError, raised};
use crate::load::{self, EdgeLabel};

/// Writes vertices and edges in batches, and commits batch by batch. This is the fast way to write many. `db.ingest()`
/// starts it.
///
/// Each call takes a table: a list of dicts, a list of tuples or lists with `columns=[…]`, a dict of columns, NumPy,
/// Arrow, pandas or polars. The ids of vertices are in the column `id`, or in the one that `key` names. That column is
/// the key of the label. The ends of edges are in the columns `src`, `source` or `from`, and `dst`, `target` or `to`.
/// All other columns are properties. `None` and missing keys are no value.
///
/// >>> with db.ingest() as w:
/// ...     _ = w.add_vertices("airport", [{"id": "OSL", "elev": 681}, {"id": "ZRH", "elev": 1416}])
/// ...     _ = w.add_edges("route", [("OSL", "ZRH", 900)], columns=["from", "to", "dist"])
/// >>> db.query("g.V('OSL').out('route').values('elev')").one()
/// 1416
///
/// A batch is committed whole or not at all. After an error, the batches that were committed before it stay. Edges may
/// come before the vertices they join if both are in the same batch.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Ingest {
    inner: Mutex<Option<mangrove::Ingestion>>,
    /// The report of everything committed, once the ingest has ended.
    done: OnceLock<mangrove::LoadReport>,
}

impl Ingest {
    pub fn new(inner: mangrove::Ingestion) -> Self {
        Self { inner: Mutex::new(Some(inner)), done: OnceLock::new() }
    }

    /// Never waits. The holder of the slot may be waiting for the interpreter's lock, which the caller has.
    fn slot(&self) -> PyResult<MutexGuard<'_, Option<mangrove::Ingestion>>> {
        match self.inner.try_lock() {
            Ok(slot) => Ok(slot),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(TransactionError::new_err("another thread is using this ingest: begin one for each thread"))
            }
        }
    }

    fn add(&self, py: Python<'_>, input: TableInput) -> PyResult<usize> {
        let rows = load::row_count(&input.table);
        self.working(py, |inner| inner.add(input))?;
        Ok(rows)
    }

    fn working<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut mangrove::Ingestion) -> Result<T, mangrove::LoadError> + Send,
    ) -> PyResult<T> {
        let mut slot = self.slot()?;
        let inner = slot.as_mut().ok_or_else(|| TransactionError::new_err("the ingest has ended"))?;
        raised(py.detach(|| work(inner)))
    }
}

#[pymethods]
impl Ingest {
    /// Adds vertices of one label. Returns the number of rows given. `key` names the column of their ids, if it is not
    /// `id`.
    ///
    /// >>> with db.ingest() as w:
    /// ...     w.add_vertices("country", {"id": ["NO", "CH"], "name": ["Norway", "Switzerland"]})
    /// 2
    #[pyo3(signature = (label, data, *, columns=None, key=None))]
    fn add_vertices(
        &self,
        py: Python<'_>,
        label: &str,
        data: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
        key: Option<String>,
    ) -> PyResult<usize> {
        self.add(py, TableInput::vertices(label, load::table_of(data, columns, false)?).keyed(key))
    }

    /// Adds edges of one label. Returns how many. The label may also be (source label, label, target label). A database
    /// whose ids are unique only within labels needs this form.
    ///
    /// >>> with db.ingest() as w:
    /// ...     w.add_edges(("airport", "in", "country"), [("DFW", "US")], columns=["from", "to"])
    /// 1
    #[pyo3(signature = (label, data, *, columns=None))]
    fn add_edges(
        &self,
        py: Python<'_>,
        label: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
    ) -> PyResult<usize> {
        self.add(py, EdgeLabel::read(label)?.table(load::table_of(data, columns, true)?))
    }

    /// Commits the rows gathered so far. This also happens on its own now and then, and at the end of the `with` block.
    ///
    /// >>> with db.ingest() as w:
    /// ...     _ = w.add_vertices("country", [{"id": "NO"}])
    /// ...     w.commit()
    /// ...     db.query("g.V('NO').count()").one()
    /// 1
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.working(py, |inner| inner.flush())
    }

    /// Returns what was committed so far, or in all once the ingest has ended. The dict is that of `Database.load`.
    ///
    /// >>> with db.ingest(on_exists="update") as w:
    /// ...     _ = w.add_vertices("airport", [{"id": "AUS", "elev": 542}, {"id": "OSL", "elev": 681}])
    /// >>> w.report()["vertices"], w.report()["merged_vertices"]["unchanged"]
    /// ({'airport': 1}, 1)
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        if let Some(done) = self.done.get() {
            return load::report(py, done);
        }
        let slot = self.slot()?;
        let inner = slot.as_ref().ok_or_else(|| TransactionError::new_err("the ingest has ended"))?;
        load::report(py, inner.report())
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, error, traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let _ = (error, traceback);
        let Some(ingest) = self.slot()?.take() else { return Ok(false) };
        let report = match kind {
            None => raised(py.detach(|| ingest.finish()))?,
            Some(_) => ingest.report().clone(),
        };
        let _ = self.done.set(report); // it ends once
        Ok(false)
    }
}
