//! Several changes that are kept together or not at all.

use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread::{self, ThreadId};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{TransactionError, raised};
use crate::query::{Bytecode, Request, Written};
use crate::result::{self, QueryResult};

/// What must stay on the thread it was made on, in the hands of an interpreter that moves objects between threads.
///
/// Invariant: the value is touched, moved out and dropped on its own thread only; dropped elsewhere, it is leaked.
pub struct OnThread<T> {
    thread: ThreadId,
    value: ManuallyDrop<T>,
}

// SAFETY: of the value nothing is reached on another thread, by the invariant, which `get`, `take` and `drop` hold.
unsafe impl<T> Send for OnThread<T> {}

impl<T> OnThread<T> {
    pub fn new(value: T) -> Self {
        Self { thread: thread::current().id(), value: ManuallyDrop::new(value) }
    }

    fn is_here(&self) -> bool {
        thread::current().id() == self.thread
    }

    /// The value, on its thread.
    pub fn get(&mut self) -> PyResult<&mut T> {
        if self.is_here() { Ok(&mut self.value) } else { Err(elsewhere()) }
    }

    /// The value itself, on its thread; elsewhere it stays.
    pub fn take(slot: &mut Option<Self>) -> PyResult<Option<T>> {
        match slot {
            Some(kept) if !kept.is_here() => Err(elsewhere()),
            _ => Ok(slot.take().map(|kept| {
                let mut kept = ManuallyDrop::new(kept);
                // SAFETY: `kept` is not dropped, so the value is moved out once.
                unsafe { ManuallyDrop::take(&mut kept.value) }
            })),
        }
    }
}

impl<T> Drop for OnThread<T> {
    fn drop(&mut self) {
        if self.is_here() {
            // SAFETY: dropped once, here, and never used again.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}

fn elsewhere() -> PyErr {
    TransactionError::new_err(
        "a transaction or ingest belongs to the thread that began it; use it there, one for each thread",
    )
}

/// Lets work that is bound to this thread run without the interpreter's lock.
pub fn detached<T, R>(py: Python<'_>, value: T, work: impl FnOnce(T) -> R) -> R {
    struct Here<V>(V);
    // SAFETY: `detach` runs the closure on this same thread, so nothing is sent; what it asks `Send` for is that nothing
    // bound to the interpreter goes in, and `T` and `R` hold engine objects only.
    unsafe impl<V> Send for Here<V> {}

    let input = Here((value, work));
    let output = py.detach(move || {
        let Here((value, work)) = { input };
        Here(work(value))
    });
    output.0
}

/// Changes that are kept together or not at all: begun with `db.transaction()`, committed when its `with` block ends, rolled
/// back if the block raises. It sees its own changes; others see them once it is committed. Other writers wait for its end.
///
/// >>> with db.transaction() as tx:
/// ...     _ = tx.query("g.addV('airport').property(id, 'ZRH').property('code', 'ZRH')")
/// ...     tx.query("g.V().hasLabel('airport').count()").one()
/// 5
///
/// If a query of it fails midway the whole transaction is rolled back there and then, and what comes after raises
/// `TransactionError`.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Transaction {
    inner: Mutex<Option<OnThread<mangrove::Transaction>>>,
}

impl Transaction {
    pub fn new(inner: mangrove::Transaction) -> Self {
        Self { inner: Mutex::new(Some(OnThread::new(inner))) }
    }

    /// Never waits: whoever holds the slot may be waiting for the interpreter's lock, which the caller has.
    fn slot(&self) -> PyResult<MutexGuard<'_, Option<OnThread<mangrove::Transaction>>>> {
        match self.inner.try_lock() {
            Ok(slot) => Ok(slot),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(TransactionError::new_err("the transaction is running a query just now")),
        }
    }

    fn run(&self, py: Python<'_>, request: &Request<'_>) -> PyResult<QueryResult> {
        let mut slot = self.slot()?;
        let inner = slot.as_mut().ok_or_else(ended)?.get()?;
        let outcome = detached(py, inner, |inner| {
            let Request { written, parameters, options } = request;
            let rows = match *written {
                Written::Text(text) => inner.query(text, parameters, options)?,
                Written::GraphSon(json) => inner.query_bytecode(json, parameters, options)?,
                Written::GraphBinary(bytes) => inner.query_graphbinary(bytes, parameters, options)?,
            };
            let described = rows.values.iter().map(|value| inner.describe(value)).collect::<Result<Vec<_>, _>>();
            Ok::<_, mangrove::QueryError>((described, rows.warnings))
        });
        let (described, warnings) = raised(outcome)?;
        let described = raised(described)?;
        drop(slot);
        result::warn(py, &warnings)?;
        Ok(QueryResult::new(described, warnings))
    }
}

fn ended() -> PyErr {
    TransactionError::new_err("the transaction has ended")
}

#[pymethods]
impl Transaction {
    /// Runs a query as part of the transaction. Arguments as of `Database.query`.
    ///
    /// >>> with db.transaction() as tx:
    /// ...     _ = tx.query("g.V().has('airport', 'code', x).property('elev', 551)", x="AUS")
    /// >>> db.query("g.V().has('airport', 'code', 'AUS').values('elev')").one()
    /// 551
    #[pyo3(signature = (text, params=None, *, timeout=None, **named))]
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        params: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<QueryResult> {
        self.run(py, &Request::new(text, params, named, timeout)?)
    }

    /// Runs bytecode as part of the transaction. Arguments as of `Database.query_bytecode`.
    ///
    /// >>> with db.transaction() as tx:
    /// ...     tx.query_bytecode('{"@type": "g:Bytecode", "@value": {"step": [["V"], ["count"]]}}').one()
    /// 5
    #[pyo3(signature = (bytecode, *, timeout=None))]
    fn query_bytecode(&self, py: Python<'_>, bytecode: Bytecode, timeout: Option<f64>) -> PyResult<QueryResult> {
        self.run(py, &Request::bytecode(&bytecode, timeout)?)
    }

    /// Makes all changes durable and visible to others.
    ///
    /// >>> tx = db.transaction()
    /// >>> _ = tx.query("g.addV('airport').property(id, 'OSL')")
    /// >>> tx.commit()
    /// >>> db.query("g.V('OSL').count()").one()
    /// 1
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let inner = OnThread::take(&mut *self.slot()?)?.ok_or_else(ended)?;
        raised(detached(py, inner, |inner| inner.commit()))
    }

    /// Leaves no trace.
    ///
    /// >>> tx = db.transaction()
    /// >>> _ = tx.query("g.V().drop()")
    /// >>> tx.rollback()
    /// >>> db.query("g.V().count()").one()
    /// 5
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(inner) = OnThread::take(&mut *self.slot()?)? {
            detached(py, inner, |inner| inner.rollback());
        }
        Ok(())
    }

    /// Whether the transaction has ended.
    ///
    /// >>> with db.transaction() as tx:
    /// ...     tx.closed
    /// False
    #[getter]
    fn closed(&self) -> bool {
        self.slot().is_ok_and(|slot| slot.is_none())
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
        match kind {
            Some(_) => self.rollback(py)?,
            // Ended inside the block, by commit() or rollback(), is ended as wished.
            None if self.closed() => {}
            None => self.commit(py)?,
        }
        Ok(false)
    }
}
