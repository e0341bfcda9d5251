//! Maps every error of the façade to one Python exception.
//!
//! ```text
//! MangroveError ── OpenError ── LockedError      another process has the database open for writing
//!               ├─ QueryError ─┬ TimeoutError    the message shows the query and points at the place
//!               │              ├ MemoryLimitError
//!               │              └ ConstraintError  a value that is to be unique repeats, or a required one is missing
//!               ├─ LoadError                     … file:line:column, the value and the reason
//!               ├─ TransactionError              used after its end or inside another, or rolled back by a failure
//!               ├─ StorageError                  disk full, damaged, read-only, no node can write
//!               │              └ OutcomeUnknownError  no node says whether the changes were stored
//!               └─ InternalError                 a bug of Mangrove's: a panic that was caught
//! ```

use mangrove::error::OpenFailure;
use mangrove::ingest::Spelling;
use mangrove::{
    Bug, ExportError, GraphError, LakeError, LoadError as Load, OpenError as Open, QueryError as Query, QueryErrorKind,
    StoreError,
};
use pyo3::exceptions::{PyException, PyUserWarning};
use pyo3::prelude::*;

use crate::{call, interrupt};

pyo3::create_exception!(
    mangrovedb,
    MangroveError,
    PyException,
    "The base of all errors of Mangrove; arguments of a wrong type or value raise `TypeError` or `ValueError`."
);
pyo3::create_exception!(mangrovedb, OpenError, MangroveError, "A database could not be opened or created.");
pyo3::create_exception!(
    mangrovedb,
    LockedError,
    OpenError,
    "Another process has the database open for writing; `open(…, read_only=True)` reads beside it."
);
pyo3::create_exception!(
    mangrovedb,
    QueryError,
    MangroveError,
    "A query could not be read or run; the message shows where and what to do."
);
pyo3::create_exception!(
    mangrovedb,
    TimeoutError,
    QueryError,
    "A query ran, or waited for another writer, longer than its timeout."
);
pyo3::create_exception!(mangrovedb, MemoryLimitError, QueryError, "A query needed more memory than its budget.");
pyo3::create_exception!(
    mangrovedb,
    ConstraintError,
    QueryError,
    "Two elements would share an id or a unique value, or one would lack a required property."
);
pyo3::create_exception!(
    mangrovedb,
    LoadError,
    MangroveError,
    "Files or rows could not be loaded; the message says where, and the graph is as it was."
);
pyo3::create_exception!(
    mangrovedb,
    TransactionError,
    MangroveError,
    "A transaction was used after its end, begun inside another of the same thread, or rolled back when one of its operations \
     failed."
);
pyo3::create_exception!(
    mangrovedb,
    StorageError,
    MangroveError,
    "The store refused: the disk is full, the database is damaged or open read-only, a name is unknown, no node can write."
);
pyo3::create_exception!(
    mangrovedb,
    OutcomeUnknownError,
    StorageError,
    "The nodes of a graph do not say whether changes were stored. They may be: look before you repeat them."
);
pyo3::create_exception!(
    mangrovedb,
    InternalError,
    MangroveError,
    "A bug in Mangrove. Nothing of the operation was stored, and you can go on using the database. Please report it."
);
pyo3::create_exception!(
    mangrovedb,
    QueryWarning,
    PyUserWarning,
    "A likely mistake in a query, such as a label that nothing in the graph has."
);

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("MangroveError", py.get_type::<MangroveError>())?;
    module.add("OpenError", py.get_type::<OpenError>())?;
    module.add("LockedError", py.get_type::<LockedError>())?;
    module.add("QueryError", py.get_type::<QueryError>())?;
    module.add("TimeoutError", py.get_type::<TimeoutError>())?;
    module.add("MemoryLimitError", py.get_type::<MemoryLimitError>())?;
    module.add("ConstraintError", py.get_type::<ConstraintError>())?;
    module.add("LoadError", py.get_type::<LoadError>())?;
    module.add("TransactionError", py.get_type::<TransactionError>())?;
    module.add("StorageError", py.get_type::<StorageError>())?;
    module.add("OutcomeUnknownError", py.get_type::<OutcomeUnknownError>())?;
    module.add("InternalError", py.get_type::<InternalError>())?;
    module.add("QueryWarning", py.get_type::<QueryWarning>())
}

/// An error on its way to Python.
pub trait Raise {
    fn raise(self) -> PyErr;
}

/// Raises the error of some work. An exception from Ctrl-C during the work comes first.
pub fn raised<T, E: Raise>(outcome: Result<T, E>) -> PyResult<T> {
    outcome.map_err(|error| interrupt::take().unwrap_or_else(|| error.raise()))
}

/// Runs work of the engine that no longer belongs to a database, without the interpreter's lock. A panic is raised like any other
/// bug.
pub fn guarded<T: Send>(py: Python<'_>, doing: &str, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let reports = std::env::temp_dir();
    raised(py.detach(|| mangrove::guard::run(&reports, &|| doing.to_owned(), || Ok::<_, Bug>(work()))))
}

impl Raise for Bug {
    fn raise(self) -> PyErr {
        InternalError::new_err(self.to_string())
    }
}

/// Whether a write was refused because of a unique or required property.
fn is_of_constraint(error: &GraphError) -> bool {
    use GraphError::*;
    matches!(error, NotUnique { .. } | Required { .. } | DuplicateVertex { .. } | DuplicateEdge { .. })
}

impl Raise for GraphError {
    fn raise(self) -> PyErr {
        match self {
            error if is_of_constraint(&error) => ConstraintError::new_err(error.to_string()),
            GraphError::Busy { timed_out: true, .. } => TimeoutError::new_err(self.to_string()),
            GraphError::OpenAlready => TransactionError::new_err(format!(
                "{self}. In asynchronous code, use open_async(): its transactions wait for each other"
            )),
            GraphError::OutcomeUnknown(_) => OutcomeUnknownError::new_err(self.to_string()),
            _ => StorageError::new_err(self.to_string()),
        }
    }
}

impl Raise for Query {
    fn raise(self) -> PyErr {
        let message = in_dict(self.render());
        match self {
            Query::Query(failure) if failure.kind == QueryErrorKind::Timeout => TimeoutError::new_err(message),
            Query::Query(failure) if failure.kind == QueryErrorKind::Memory => MemoryLimitError::new_err(message),
            Query::Query(failure) if failure.source.as_deref().is_some_and(is_of_constraint) => {
                ConstraintError::new_err(message)
            }
            Query::Query(failure) => match failure.cause.and_then(|cause| cause.downcast::<PyErr>().ok()) {
                Some(cause) => raised_by_procedure(*cause, message),
                None => QueryError::new_err(message),
            },
            Query::Graph(error) => error.raise(),
            Query::Aborted => TransactionError::new_err(message),
            Query::Bug(bug) => bug.raise(),
        }
    }
}

/// A message about a parameter that has the name of an argument of `query`: only a dict can pass it.
fn in_dict(message: String) -> String {
    const ARGUMENTS: [&str; 5] = ["timeout", "memory_mb", "rules_off", "params", "text"];
    let is_named = |name: &&&str| message.contains(&format!("as in {name}=…"));
    match ARGUMENTS.iter().find(is_named) {
        Some(name) => message.replace(&format!("as in {name}=…"), &format!("in a dict: query(text, {{\"{name}\": …}})")),
        None => message,
    }
}

/// The exception for an error that a procedure in Python raised. It is the cause of a `QueryError`, or itself if it should end the
/// program.
fn raised_by_procedure(cause: PyErr, message: String) -> PyErr {
    Python::attach(|py| {
        if !cause.is_instance_of::<PyException>(py) {
            return cause;
        }
        let error = QueryError::new_err(message);
        error.set_cause(py, Some(cause));
        error
    })
}

impl Raise for Load {
    fn raise(self) -> PyErr {
        match self {
            Load::Load(error) => LoadError::new_err(Spelling::Python.of(&error.to_string())),
            Load::Lake(error) => LoadError::new_err(error.to_string()),
            Load::Layout(error) => LoadError::new_err(error.to_string()),
            Load::Open(error) => error.raise(),
            Load::Graph(error) => error.raise(),
            Load::Bug(bug) => bug.raise(),
            Load::Aborted => TransactionError::new_err(self.to_string()),
        }
    }
}

impl Raise for StoreError {
    fn raise(self) -> PyErr {
        match self {
            StoreError::Graph(error) => error.raise(),
            StoreError::Bug(bug) => bug.raise(),
            StoreError::Aborted => TransactionError::new_err(self.to_string()),
            StoreError::Unknown { .. } | StoreError::Layout(_) => StorageError::new_err(self.to_string()),
        }
    }
}

impl Raise for ExportError {
    fn raise(self) -> PyErr {
        match self {
            ExportError::Bug(bug) => bug.raise(),
            ExportError::Lake(lossy @ LakeError::Lossy(_)) => {
                let hint = "export csv, parquet or graphson, or allow the loss with lossy=True";
                StorageError::new_err(format!("{lossy}\n{hint}"))
            }
            other => StorageError::new_err(other.to_string()),
        }
    }
}

impl Raise for Open {
    fn raise(self) -> PyErr {
        match self {
            Open::Store(error @ OpenFailure::Locked { .. }) => LockedError::new_err(error.to_string()),
            Open::Store(error) => OpenError::new_err(error.to_string()),
            Open::Lake(error) => OpenError::new_err(error.to_string()),
            Open::Cluster(error) => OpenError::new_err(error.to_string()),
            Open::Bug(bug) => bug.raise(),
        }
    }
}

/// Raises a `QueryWarning` at the line of the caller's own code.
pub fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    if call::keep_warning(message) {
        return Ok(());
    }
    let message = std::ffi::CString::new(message.replace('\0', " ")).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<QueryWarning>(), &message, frames_to_caller(py).unwrap_or(1))
}

/// The number of frames up to the first one outside of the libraries that a query passes through.
fn frames_to_caller(py: Python<'_>) -> PyResult<i32> {
    let mut frame = py.import("sys")?.call_method1("_getframe", (0,))?;
    let mut frames = 1;
    loop {
        let module: Option<String> = frame.getattr("f_globals")?.call_method1("get", ("__name__",))?.extract()?;
        let package = module.as_deref().and_then(|name| name.split('.').next());
        let outer = frame.getattr("f_back")?;
        if !matches!(package, Some("mangrovedb" | "gremlin_python")) || outer.is_none() {
            return Ok(frames);
        }
        (frame, frames) = (outer, frames + 1);
    }
}
