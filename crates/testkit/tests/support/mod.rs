//! The store in a directory, for the suite and the drivers.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod nodes;
pub mod shards;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use mangrove_directory::{Bulk, OpenError, OpenOptions, Patience, Store, Writer};
use mangrove_graph::{GraphError, GraphView, GraphWrite, IdSpace, Result};
use mangrove_testkit::suite::{Condensing, StoreUnderTest, Transaction};
use tempfile::TempDir;

pub struct StoreInDir {
    /// `None` only between closing and opening again.
    store: Option<Store>,
    dir: PathBuf,
    options: OpenOptions,
    _temporary: Option<TempDir>,
    /// Everything committed is compacted before it is read.
    compacting: bool,
    /// Something may have been committed since the last compaction.
    changed: Cell<bool>,
}

impl StoreInDir {
    /// # Panics
    /// If the store cannot be opened.
    pub fn open(dir: &Path) -> Self {
        Self::try_open(dir, OpenOptions::default()).unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
    }

    pub fn try_open(dir: &Path, options: OpenOptions) -> Result<Self, OpenError> {
        let store = Store::open(dir, &options)?;
        Ok(Self {
            store: Some(store),
            dir: dir.to_owned(),
            options,
            _temporary: None,
            compacting: false,
            changed: Cell::new(false),
        })
    }

    /// An empty store in a temporary directory. Dropping it removes the directory.
    pub fn temporary(id_space: IdSpace) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let options = OpenOptions { id_space: Some(id_space), ..OpenOptions::default() };
        let store = Self::try_open(home.path(), options).expect("a new store");
        Self { _temporary: Some(home), ..store }
    }

    /// Like [`temporary`](Self::temporary), but compacted before it is read.
    pub fn compacting(id_space: IdSpace) -> Self {
        Self { compacting: true, ..Self::temporary(id_space) }
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().expect("it is open")
    }
}

impl StoreUnderTest for StoreInDir {
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
        if self.compacting && self.changed.get() {
            match self.condense(Condensing::Compact, &|| false) {
                // A transaction is open. Its changes must stay invisible.
                Err(GraphError::OpenAlready) => {}
                outcome => {
                    outcome?;
                    self.changed.set(false);
                }
            }
        }
        Ok(Box::new(self.store().snapshot()?))
    }

    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        self.changed.set(true);
        if self.compacting
            && let Some(bulk) = self.begin_bulk()?
        {
            return Ok(bulk);
        }
        Ok(Box::new(Writing(self.store().begin()?)))
    }

    fn begin_bulk(&self) -> Result<Option<Box<dyn Transaction + '_>>> {
        let transaction = self.store().begin()?;
        Ok(if transaction.is_unused()? { Some(Box::new(Loading(transaction.into_bulk()?))) } else { None })
    }

    fn reopen(&mut self) -> Result<()> {
        self.store = None;
        self.store = Some(Store::open(&self.dir, &self.options).map_err(GraphError::storage)?);
        Ok(())
    }

    fn condense(&self, how: Condensing, meanwhile: &dyn Fn() -> bool) -> Result<()> {
        let (writer, patience) = (Writer::this_thread(), Patience { timeout: None, cancelled: meanwhile });
        match how {
            Condensing::Seal => self.store().seal(writer, patience),
            Condensing::Merge => self.store().merge(writer, patience).map(|_| ()),
            Condensing::Compact => self.store().compact(writer, patience).map(|_| ()),
        }
    }

    fn check(&self) -> Result<Vec<String>> {
        let report = self.store().check()?;
        Ok(report.violations.iter().map(|violation| violation.to_string()).collect())
    }
}

struct Writing(mangrove_directory::Transaction);

impl Transaction for Writing {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        &mut self.0
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.0.commit()
    }
}

struct Loading(Bulk);

impl Transaction for Loading {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        self.0.graph()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.0.commit(&|| false).map(|_| ())
    }
}

/// The number in an environment variable of a test.
///
/// # Panics
/// If the value is no number.
pub fn number_from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}
