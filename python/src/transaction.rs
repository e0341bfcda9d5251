//! Transactions: several changes that are kept together or not at all.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mangrove::graph::GraphError;
use mangrove::{CancelToken, QueryError, StoreError, Writer};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{InternalError, Raise, StorageError, TransactionError, raised};
use crate::interrupt;
use crate::query::{Asked, Bytecode, Limits, Request};
use crate::result::{self, QueryResult};

/// As large as the stack of a main thread.
const STACK_BYTES: usize = 8 << 20;

type Work = Box<dyn FnOnce(&mut Option<mangrove::Transaction>) + Send>;

/// A transaction on a thread of its own. The store binds a transaction to the thread that began it. Python passes objects between
/// threads, and its collector drops them on any thread. So one thread that does nothing else begins, uses and ends the transaction
/// for all callers.
struct Worker {
    /// Both are `Some` until the drop.
    work: Option<Sender<Work>>,
    thread: Option<JoinHandle<()>>,
    process: u32,
}

impl Worker {
    /// Begins a transaction for the calling thread.
    fn begin(py: Python<'_>, database: mangrove::Database, timeout: Option<Duration>) -> PyResult<Self> {
        let (work, tasks) = mpsc::channel::<Work>();
        let (begun, beginning) = mpsc::channel();
        let cancel = CancelToken::default();
        let database = database.interruptible(cancel.clone());
        let writer = writer(py)?;
        let run = move || {
            let (mut transaction, outcome) = match database.transaction_for(writer.clone(), timeout) {
                Ok(transaction) => (Some(transaction), Ok(())),
                Err(error) => (None, Err(error)),
            };
            // The caller may have been interrupted. Then it sends no work, and the new transaction is rolled back.
            let _ = begun.send(outcome);
            tasks.iter().for_each(|task| writer.clone().act(|| task(&mut transaction)));
        };
        let thread = thread::Builder::new().name("mangrove transaction".into()).stack_size(STACK_BYTES).spawn(run);
        let thread =
            thread.map_err(|error| StorageError::new_err(format!("cannot start a thread for the transaction: {error}")))?;
        let worker = Self { work: Some(work), thread: Some(thread), process: std::process::id() };
        let outcome: Result<(), StoreError> = wait(py, beginning, &cancel)?;
        raised(outcome)?;
        Ok(worker)
    }

    /// Runs `work` with the transaction on its thread, and waits for the result.
    fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        cancel: &CancelToken,
        work: impl FnOnce(&mut Option<mangrove::Transaction>) -> T + Send + 'static,
    ) -> PyResult<T> {
        // Threads do not survive a fork, so nothing would answer.
        if self.process != std::process::id() {
            let message = "a transaction cannot be used in a process forked from the one that began it";
            return Err(TransactionError::new_err(message));
        }
        let (done, answer) = mpsc::channel();
        let task: Work = Box::new(move |transaction| drop(done.send(work(transaction))));
        self.work.as_ref().and_then(|queue| queue.send(task).ok()).ok_or_else(died)?;
        wait(py, answer, cancel)
    }
}

impl Drop for Worker {
    /// Rolls back what is not committed, and waits until others may write. The thread never needs the interpreter's lock.
    fn drop(&mut self) {
        drop(self.work.take());
        let Some(thread) = self.thread.take() else { return };
        match self.process == std::process::id() {
            true => drop(thread.join()), // a panic on it was told when its work was asked for
            false => std::mem::forget(thread),
        }
    }
}

/// Waits for an answer, without the interpreter's lock. Ctrl-C cancels the work, which then answers.
fn wait<T: Send>(py: Python<'_>, answer: Receiver<T>, cancel: &CancelToken) -> PyResult<T> {
    let answered = py.detach(move || {
        loop {
            match answer.recv_timeout(interrupt::INTERVAL) {
                Err(RecvTimeoutError::Timeout) if interrupt::interrupted() => cancel.cancel(),
                Err(RecvTimeoutError::Timeout) => {}
                answered => return answered.ok(),
            }
        }
    });
    match interrupt::take() {
        Some(raised) => Err(raised),
        None => answered.ok_or_else(died),
    }
}

fn died() -> PyErr {
    InternalError::new_err("the thread of the transaction has died; nothing of the transaction was stored")
}

/// The calling thread, in the form in which other writers see whom they wait for.
fn writer(py: Python<'_>) -> PyResult<Writer> {
    let name: String = py.import("threading")?.call_method0("current_thread")?.getattr("name")?.extract()?;
    // Code in an event loop continues on the loop's thread. Waiting there would wait for ever.
    let may_move = !runs_event_loop(py)?;
    Ok(Writer { name: format!("thread {name:?} of this process"), may_move, ..Writer::this_thread() })
}

fn runs_event_loop(py: Python<'_>) -> PyResult<bool> {
    let modules = py.import("sys")?.getattr("modules")?;
    match modules.call_method1("get", ("asyncio",))? {
        asyncio if asyncio.is_none() => Ok(false),
        asyncio => Ok(!asyncio.call_method0("_get_running_loop")?.is_none()),
    }
}

/// Changes that are kept together or not at all. `db.transaction()` makes one. The end of its `with` block commits it.
/// An exception in the block rolls it back. A transaction that is dropped without a commit is rolled back too. It sees
/// its own changes; others see them after the commit.
///
/// It begins with its first query. Until it ends, it sees the graph as it was then, and other writers wait. Any thread
/// may use and end it, one at a time. If a thread writes elsewhere while its own transaction is open, it waits for 5
/// seconds and then gets a `TransactionError`.
///
/// >>> with db.transaction() as tx:
/// ...     _ = tx.query("g.addV('airport').property(id, 'ZRH').property('code', 'ZRH')")
/// ...     tx.query("g.V().hasLabel('airport').count()").one()
/// 5
///
/// If a query that writes fails midway, by a timeout for example, the whole transaction is rolled back at once. Using it
/// after that raises `TransactionError`. After a query that only reads, it goes on.
#[pyclass(frozen, module = "mangrovedb", weakref)]
pub struct Transaction {
    /// `None` once it has ended.
    inner: Mutex<Option<State>>,
}

struct State {
    database: mangrove::Database,
    /// How long to wait for other writers.
    timeout: Option<Duration>,
    /// `Some` from the first query on.
    worker: Option<Worker>,
}

impl State {
    /// The worker. To begin one, it waits for other writers to end.
    fn worker(&mut self, py: Python<'_>) -> PyResult<&Worker> {
        match &mut self.worker {
            Some(worker) => Ok(worker),
            none => Ok(none.insert(Worker::begin(py, self.database.clone(), self.timeout)?)),
        }
    }
}

impl Transaction {
    pub fn new(database: mangrove::Database, timeout: Option<Duration>) -> PyResult<Self> {
        if database.is_read_only() {
            return Err(GraphError::ReadOnly.raise());
        }
        Ok(Self { inner: Mutex::new(Some(State { database, timeout, worker: None })) })
    }

    /// Never waits. The holder of the slot may be waiting for the interpreter's lock, which the caller has.
    fn slot(&self) -> PyResult<MutexGuard<'_, Option<State>>> {
        match self.inner.try_lock() {
            Ok(slot) => Ok(slot),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(TransactionError::new_err("the transaction is already running a query")),
        }
    }

    fn run(&self, py: Python<'_>, request: Request<'_>) -> PyResult<QueryResult> {
        let mut slot = self.slot()?;
        let worker = slot.as_mut().ok_or_else(ended)?.worker(py)?;
        let Request { written, parameters, mut options } = request;
        let written = written.into_owned();
        let cancel = CancelToken::default();
        options.cancel = cancel.clone();
        let outcome = worker.run(py, &cancel, move |transaction| {
            let transaction = transaction.as_mut().ok_or(QueryError::Aborted)?;
            let rows = transaction.query(written, &parameters, &options)?;
            Ok::<_, QueryError>((transaction.results(&rows, &options)?, rows.warnings))
        })?;
        let (results, warnings) = raised(outcome)?;
        drop(slot);
        result::warn(py, &warnings)?;
        Ok(QueryResult::new(results, warnings))
    }
}

fn ended() -> PyErr {
    TransactionError::new_err("the transaction has ended")
}

#[pymethods]
impl Transaction {
    /// Runs a query as part of the transaction. The arguments are as for `Database.query`.
    ///
    /// >>> with db.transaction() as tx:
    /// ...     _ = tx.query("g.V().has('airport', 'code', x).property('elev', 551)", x="AUS")
    /// >>> db.query("g.V().has('airport', 'code', 'AUS').values('elev')").one()
    /// 551
    #[pyo3(signature = (text, params=None, *, timeout=None, memory_mb=None, **named))]
    fn query(
        &self,
        py: Python<'_>,
        text: Asked,
        params: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
        memory_mb: Option<i64>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<QueryResult> {
        self.run(py, Request::new(&text, params, named, Limits { timeout, memory_mb, ..Limits::default() })?)
    }

    /// Runs bytecode as part of the transaction. The arguments are as for `Database.query_bytecode`.
    ///
    /// >>> with db.transaction() as tx:
    /// ...     tx.query_bytecode('{"@type": "g:Bytecode", "@value": {"step": [["V"], ["count"]]}}').one()
    /// 5
    #[pyo3(signature = (bytecode, *, timeout=None, memory_mb=None))]
    fn query_bytecode(
        &self,
        py: Python<'_>,
        bytecode: Bytecode,
        timeout: Option<f64>,
        memory_mb: Option<i64>,
    ) -> PyResult<QueryResult> {
        self.run(py, Request::bytecode(&bytecode, Limits { timeout, memory_mb, ..Limits::default() })?)
    }

    /// Commits the transaction: all changes become durable and visible to others.
    ///
    /// >>> tx = db.transaction()
    /// >>> _ = tx.query("g.addV('airport').property(id, 'OSL')")
    /// >>> tx.commit()
    /// >>> db.query("g.V('OSL').count()").one()
    /// 1
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let Some(worker) = self.slot()?.take().ok_or_else(ended)?.worker else { return Ok(()) };
        let commit = |transaction: &mut Option<_>| -> Result<(), StoreError> {
            transaction.take().map_or(Err(StoreError::Aborted), mangrove::Transaction::commit)
        };
        // A commit that has begun cannot be stopped.
        raised(worker.run(py, &CancelToken::default(), commit)?)
    }

    /// Rolls the transaction back: none of its changes is kept.
    ///
    /// >>> tx = db.transaction()
    /// >>> _ = tx.query("g.V().drop()")
    /// >>> tx.rollback()
    /// >>> db.query("g.V().count()").one()
    /// 5
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.slot()?.take();
        py.detach(|| drop(state));
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
            // Ending it inside the block with commit() or rollback() is allowed.
            None if self.closed() => {}
            None => self.commit(py)?,
        }
        Ok(false)
    }
}
