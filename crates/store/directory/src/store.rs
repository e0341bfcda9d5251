//! Opens and makes databases.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mangrove_graph::{Catalog, GraphError, IdSpace, ReadContext, Result};
use mangrove_hot::{
    CheckReport, Durability, Hot, HotOptions, Patience, SEAL_BYTES, Sides, StoreStats, VERIFY_BYTES, Writer,
};

use crate::directory::{self, Found, HOT, LOCK_SEEN_FROM_HOT, Manifest, ShardOf, UNFINISHED};
use crate::error::OpenError;
use crate::lock::WriterLock;
use crate::{Snapshot, Transaction};

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Only read. Takes no lock, works beside a writing process, and works in a directory that cannot be written.
    pub read_only: bool,
    /// Make the database if there is none.
    pub create: bool,
    pub durability: Durability,
    /// The id space of a new database (by default `graph`). An existing database must have it.
    pub id_space: Option<IdSpace>,
    /// Once the tables take more bytes than this, a background thread seals them. 0 turns this off.
    pub seal_bytes: u64,
    /// Opening verifies the file of the tables if it has at most this many bytes.
    pub verify_bytes: u64,
    /// Open this shard of a graph, not a whole one.
    pub shard: Option<ShardOf>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let (seal_bytes, verify_bytes) = (SEAL_BYTES, VERIFY_BYTES);
        Self {
            read_only: false,
            create: true,
            durability: Durability::Full,
            id_space: None,
            seal_bytes,
            verify_bytes,
            shard: None,
        }
    }
}

/// An open database. Clones share it.
#[derive(Clone)]
pub struct Store {
    path: PathBuf,
    hot: Hot,
    pub(crate) shard: Option<ShardOf>,
    _lock: Option<Arc<WriterLock>>,
}

/// A process opens and makes databases one at a time, because the writer's lock keeps out only other processes.
static OPENING: Mutex<()> = Mutex::new(());

impl Store {
    /// Opens the database in the directory `path`.
    ///
    /// # Errors
    /// [`OpenError`] gives the reason, and what to do.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = match directory::look(path)? {
            Found::Database => false,
            Found::Empty if path.join(UNFINISHED).exists() => {
                let why = "a backup into it did not finish: make the backup again, or delete the directory".into();
                return Err(OpenError::NotADatabase { path: path.into(), why });
            }
            _ if options.read_only || !options.create => return Err(OpenError::NotFound { path: path.into() }),
            Found::Nothing => {
                directory::make(path).map_err(OpenError::io("make", path))?;
                true
            }
            Found::Empty => true,
        };
        let lock = if options.read_only { None } else { Some(WriterLock::take(path)?) };
        // The previous holder of the lock may have made the database meanwhile.
        if missing && !matches!(directory::look(path)?, Found::Database) {
            make(path, Manifest { id_space: options.id_space.unwrap_or_default(), shard: options.shard })?;
        }
        let Manifest { id_space, shard } = directory::read_manifest(path)?;
        is_wanted(path, shard, options.shard)?;
        if let Some(wanted) = options.id_space.filter(|wanted| *wanted != id_space) {
            return Err(OpenError::IdSpace { path: path.into(), found: id_space, wanted });
        }
        let OpenOptions { read_only, durability, seal_bytes, verify_bytes, .. } = *options;
        let options = HotOptions {
            read_only,
            durability,
            must_exist: true,
            id_space,
            seal_bytes,
            verify_bytes,
            lock: Some(LOCK_SEEN_FROM_HOT),
            sides: sides_of(shard),
        };
        let hot = open_hot(path, options)?;
        Ok(Self { path: path.into(), hot, shard, _lock: lock })
    }

    /// As [`snapshot`](Self::snapshot), for a reader with limits.
    pub fn snapshot_within(&self, context: ReadContext) -> Result<Snapshot> {
        let mut snapshot = self.hot.snapshot()?;
        snapshot.limit(Some(context));
        Ok(snapshot)
    }

    /// The graph as it is now. It does not change for this reader.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.hot.snapshot()
    }

    /// Begins to write. Waits while another thread writes. Fails if this thread has a transaction open.
    pub fn begin(&self) -> Result<Transaction> {
        self.hot.begin()
    }

    /// Begins to write on behalf of `writer`. Waits for another writer's transaction as long as `patience` lasts. The transaction
    /// still belongs to the calling thread.
    pub fn begin_for(&self, writer: Writer, patience: Patience<'_>) -> Result<Transaction> {
        self.hot.begin_for(writer, patience)
    }

    /// Writes a consistent copy of the database into the directory `destination`, which must be empty or missing. Others read and
    /// write meanwhile.
    pub fn backup(&self, destination: impl AsRef<Path>) -> Result<()> {
        let destination = destination.as_ref();
        let refused = |error: OpenError| GraphError::Invalid(error.to_string());
        let id_space = self.snapshot()?.schema().id_space;
        let (hot, _being_made) = make_room_for_backup(destination).map_err(refused)?;
        let write = || -> Result<()> {
            self.hot.copy_to(&hot)?;
            directory::sync(destination).map_err(OpenError::io("write", destination)).map_err(refused)?;
            directory::write_manifest(destination, Manifest { id_space, shard: self.shard }).map_err(refused)
        };
        let written = write().inspect_err(|_| {
            // Clean up, so that the user can try again. Only the first error matters.
            let _ = Hot::remove(&hot);
        });
        let _ = fs::remove_file(destination.join(UNFINISHED)); // meaningless beside a manifest
        written
    }

    /// Moves all data into one segment, which is read in place. Returns its size in bytes. Others read and write meanwhile.
    pub fn compact(&self, writer: Writer, patience: Patience<'_>) -> Result<u64> {
        self.hot.compact(writer, patience)
    }

    /// Moves recent changes into a segment of their own. Others read and write meanwhile.
    pub fn seal(&self, writer: Writer, patience: Patience<'_>) -> Result<()> {
        self.hot.seal(writer, patience)
    }

    /// Merges segments as far as their sizes require. Returns by how many their number fell. Others read and write meanwhile.
    pub fn merge(&self, writer: Writer, patience: Patience<'_>) -> Result<usize> {
        self.hot.merge(writer, patience)
    }

    /// Verifies that all parts of the database agree.
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

/// Makes an empty directory for a backup, or empties one that holds an unfinished backup. Returns the directory for its tables, and
/// a locked file that tells other processes of the backup.
fn make_room_for_backup(destination: &Path) -> Result<(PathBuf, File), OpenError> {
    let (hot, unfinished) = (destination.join(HOT), destination.join(UNFINISHED));
    let refused = |why: &str| OpenError::NotEmpty { path: destination.into(), why: why.into() };
    let found = directory::look(destination)?;
    let is_left_over = unfinished.exists();
    if matches!(found, Found::Database) || (hot.exists() && !is_left_over) {
        return Err(refused("it already holds a database, or part of one: give an empty directory"));
    }
    directory::make(destination).map_err(OpenError::io("make", destination))?;
    let being_made = File::create(&unfinished).map_err(OpenError::io("write", &unfinished))?;
    match being_made.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(refused("another backup is being written there")),
        Err(TryLockError::Error(error)) => return Err(OpenError::io("lock", &unfinished)(error)),
    }
    if hot.exists() {
        if let Some(foreign) = Hot::foreign(&hot).map_err(OpenError::io("read", &hot))? {
            return Err(directory::not_ours(destination, &Path::new(HOT).join(foreign)));
        }
        Hot::remove(&hot).map_err(OpenError::io("remove", &hot))?;
    }
    directory::sync(destination).map_err(OpenError::io("write", destination))?;
    Ok((hot, being_made))
}

/// Makes a database in a directory that holds none. The caller holds the writer's lock.
fn make(path: &Path, manifest: Manifest) -> Result<(), OpenError> {
    let hot = path.join(HOT);
    if fs::symlink_metadata(&hot).is_ok() {
        remove_unused(path, &hot)?;
    }
    let (id_space, sides) = (manifest.id_space, sides_of(manifest.shard));
    drop(open_hot(path, HotOptions { id_space, sides, ..HotOptions::default() })?);
    for made in [hot.as_path(), path] {
        directory::sync(made).map_err(OpenError::io("write", made))?;
    }
    directory::write_manifest(path, manifest)
}

/// A shard keeps the sides of its edges apart.
fn sides_of(shard: Option<ShardOf>) -> Sides {
    if shard.is_some() { Sides::Apart } else { Sides::Together }
}

/// Fails unless a directory has what is wanted: a whole graph, or this shard.
fn is_wanted(path: &Path, found: Option<ShardOf>, wanted: Option<ShardOf>) -> Result<(), OpenError> {
    match (found, wanted) {
        (Some(shard), None) => Err(OpenError::IsShard { path: path.into(), shard }),
        (found, Some(wanted)) if found != Some(wanted) => Err(OpenError::OtherShard { path: path.into(), found, wanted }),
        _ => Ok(()),
    }
}

/// Removes a store that a crash left behind before the manifest was written. Such a store is empty. Otherwise it fails: a store
/// with data has lost its manifest, and a directory with foreign files never was a database.
fn remove_unused(path: &Path, hot: &Path) -> Result<(), OpenError> {
    if !hot.is_dir() || hot.is_symlink() {
        return Err(directory::not_ours(path, Path::new(HOT)));
    }
    if let Some(foreign) = Hot::foreign(hot).map_err(OpenError::io("read", hot))? {
        return Err(directory::not_ours(path, &Path::new(HOT).join(foreign)));
    }
    if !Hot::is_unused(hot).map_err(|source| OpenError::Store { path: path.into(), source })? {
        let why = "mangrove.json is missing, but there is data: restore that file from a backup".into();
        return Err(OpenError::NotADatabase { path: path.into(), why });
    }
    Hot::remove(hot).map_err(OpenError::io("remove", hot))
}

fn open_hot(path: &Path, options: HotOptions) -> Result<Hot, OpenError> {
    Hot::open(&path.join(HOT), &options).map_err(|source| OpenError::Store { path: path.into(), source })
}
