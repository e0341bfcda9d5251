//! Opening and making databases.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_graph::{GraphError, GraphView, IdSpace, Result};
use mangrove_hot::{CheckReport, Durability, Hot, HotOptions, StoreStats};

use crate::directory::{self, Found, HOT};
use crate::error::OpenError;
use crate::lock::WriterLock;
use crate::view::{Snapshot, Transaction};

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Only read: takes no lock, works beside a writing process, and in a directory that cannot be written.
    pub read_only: bool,
    /// Make the database if there is none.
    pub create: bool,
    pub durability: Durability,
    /// The id space of a database that is made (by default `graph`); one that is there must have it.
    pub id_space: Option<IdSpace>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { read_only: false, create: true, durability: Durability::Full, id_space: None }
    }
}

/// An open database. Clones share it.
#[derive(Clone)]
pub struct Store {
    path: PathBuf,
    hot: Hot,
    _lock: Option<Arc<WriterLock>>,
}

impl Store {
    /// Opens the database in the directory `path`.
    ///
    /// # Errors
    /// [`OpenError`] says which of the many reasons it is, and what to do.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let missing = match directory::look(path)? {
            Found::Database => false,
            _ if options.read_only || !options.create => return Err(OpenError::NotFound { path: path.into() }),
            Found::Nothing => {
                fs::create_dir_all(path).map_err(OpenError::io("make", path))?;
                true
            }
            Found::Empty => true,
        };
        let lock = if options.read_only { None } else { Some(WriterLock::take(path)?) };
        // Whoever had the lock before may have made it meanwhile.
        if missing && !matches!(directory::look(path)?, Found::Database) {
            make(path, options.id_space.unwrap_or_default())?;
        }
        let id_space = directory::read_manifest(path)?;
        if let Some(wanted) = options.id_space.filter(|wanted| *wanted != id_space) {
            return Err(OpenError::IdSpace { path: path.into(), found: id_space, wanted });
        }
        let hot = open_hot(path, HotOptions { read_only: options.read_only, durability: options.durability, id_space })?;
        Ok(Self { path: path.into(), hot, _lock: lock })
    }

    /// The graph as it is now, and stays for this reader.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot::new(self.hot.snapshot()?))
    }

    /// Begins to write. Waits while another thread does; fails if this thread has a transaction open.
    pub fn begin(&self) -> Result<Transaction> {
        Ok(Transaction::new(self.hot.begin()?))
    }

    /// Writes a consistent copy of the database into the directory `destination`, which must be empty or not be there, while
    /// others read and write.
    pub fn backup(&self, destination: impl AsRef<Path>) -> Result<()> {
        let destination = destination.as_ref();
        let refused = |error: OpenError| GraphError::Invalid(error.to_string());
        if matches!(directory::look(destination).map_err(refused)?, Found::Database) || destination.join(HOT).exists() {
            return Err(GraphError::Invalid(format!("{} holds a database already", destination.display())));
        }
        let id_space = self.snapshot()?.schema().id_space;
        self.hot.copy_to(&destination.join(HOT))?;
        directory::write_manifest(destination, id_space).map_err(refused)
    }

    /// Verifies that all parts of the database agree with each other.
    pub fn check(&self) -> Result<CheckReport> {
        self.hot.check()
    }

    pub fn stats(&self) -> Result<StoreStats> {
        self.hot.stats()
    }

    /// Makes every commit so far durable, whatever the [`Durability`].
    pub fn sync(&self) -> Result<()> {
        self.hot.sync()
    }

    pub fn is_read_only(&self) -> bool {
        self.hot.is_read_only()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a database in a directory that holds none, under the writer's lock.
fn make(path: &Path, id_space: IdSpace) -> Result<(), OpenError> {
    let hot = path.join(HOT);
    if hot.exists() {
        // Left by a crash before the manifest was written, and so empty. If it is not, the manifest was lost.
        let left = open_hot(path, HotOptions::default())?;
        let wrong = |source| OpenError::Store { path: path.into(), source };
        let is_empty = left.snapshot().map_err(wrong)?.schema().vertex_labels.is_empty();
        if !is_empty {
            let why = "mangrove.json is missing, though there is data: put it back from a backup".into();
            return Err(OpenError::NotADatabase { path: path.into(), why });
        }
        drop(left);
        fs::remove_dir_all(&hot).map_err(OpenError::io("remove", &hot))?;
    }
    drop(open_hot(path, HotOptions { id_space, ..HotOptions::default() })?);
    directory::sync(path).map_err(OpenError::io("write", path))?;
    directory::write_manifest(path, id_space)
}

fn open_hot(path: &Path, options: HotOptions) -> Result<Hot, OpenError> {
    Hot::open(&path.join(HOT), &options).map_err(|source| OpenError::Store { path: path.into(), source })
}
