//! The native module of the Python package `mangrovedb`. It is thin, and only concerned with Python.
//!
//! ```text
//!   Python objects ── parameters, columns, arrow ──▶ mangrove::Database ──▶ describe ── convert, elements ──▶ Python objects
//!                                                          │
//!                             errors: one exception each ◀─┘─▶ interrupt: Ctrl-C
//! ```
//!
//! It does not know how a graph is stored or how a query runs. The engine works without the interpreter's lock.

mod allocator;
mod analysis;
mod arrays;
mod arrow;
mod call;
mod columns;
mod convert;
mod database;
mod direct;
mod elements;
mod errors;
mod ingest;
mod interrupt;
mod layout;
mod load;
mod moves;
mod open;
mod parameters;
mod plan;
mod procedure;
mod progress;
mod projection;
mod query;
mod result;
mod stream;
mod transaction;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: allocator::BySize = allocator::BySize;

#[pymodule]
mod _mangrove {
    #[pymodule_export]
    use super::analysis::{Analysis, analyze, project};
    #[pymodule_export]
    use super::arrays::ArrayGraph;
    #[pymodule_export]
    use super::call::Call;
    #[pymodule_export]
    use super::database::Database;
    #[pymodule_export]
    use super::direct::{Direct, EdgeData, EdgeRecord};
    #[pymodule_export]
    use super::ingest::Ingest;
    #[pymodule_export]
    use super::moves::{copy_shard, drop_shard, move_shard, plan_moves, remove_node};
    #[pymodule_export]
    use super::open::{connect, open, open_lake, propose_mapping};
    #[pymodule_export]
    use super::plan::{Explanation, Profile};
    #[pymodule_export]
    use super::projection::{ProjectedGraph, Values};
    #[pymodule_export]
    use super::result::{QueryResult, Rows};
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::transaction::Transaction;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Nothing else of this process can have set a subscriber in this module.
        let _ = mangrove::trace("error");
        elements::register(module)?;
        errors::register(module)
    }

    /// Returns a page of the documentation, as Markdown: `"recipes"`, `"load"`, `"gremlin"` … Without a name, returns
    /// the list of pages.
    ///
    /// >>> print(mg.docs("recipes").splitlines()[0])
    /// # Recipes
    #[pyfunction]
    #[pyo3(signature = (page=None))]
    fn docs(page: Option<&str>) -> PyResult<String> {
        use mangrove::docs::{PAGES, page as named, title};
        match page {
            None => Ok(PAGES.iter().map(|(name, text)| format!("{name:<14} {}\n", title(text))).collect()),
            Some(page) => named(page).map(str::to_owned).ok_or_else(|| {
                let names: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
                database::choice("page", page, &names)
            }),
        }
    }

    /// Shows on standard error what happens and how long it takes, from now on and for all databases: `"off"`, `"error"`
    /// (the default), `"warn"`, `"info"` or `"debug"`.
    ///
    /// >>> mg.trace("info")
    #[pyfunction]
    fn trace(level: &str) -> PyResult<()> {
        match mangrove::LEVELS.contains(&level) {
            true => mangrove::trace(level).map_err(pyo3::exceptions::PyRuntimeError::new_err),
            false => Err(database::choice("level", level, &mangrove::LEVELS)),
        }
    }

    /// Runs the `mangrove` command and returns its exit code. The first argument is the name of the command.
    #[pyfunction]
    fn run_command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| mangrove_cli::run_with(arguments, &load::PythonReaders))
    }
}
