//! The handle of a store.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};
use std::{fs, io};

use heed::CompactionOption;
use mangrove_graph::{GraphError, IdSpace, Result};

use crate::check::{self, CheckReport};
use crate::format::catalog;
use crate::format::catalog::Declared;
use crate::lmdb::env;
use crate::lmdb::readers::Readers;
use crate::open;
use crate::options::{DATA, Durability, HotOptions, Sides};
use crate::read::HotSnapshot;
use crate::segments::sealing;
use crate::segments::segment::{self, PartStats};
use crate::shared::space::{self, Space};
use crate::shared::state::StoreState;
use crate::system::disk;
use crate::system::fault::{self, lmdb};
use crate::system::identity::FileId;
use crate::system::lock::locked;
use crate::turns::turn::{Patience, Writer};
use crate::upkeep::compact::Work;
use crate::write::HotTransaction;

/// An open store. Within a process, handles of one directory share it. It closes with the last of its handles, snapshots and
/// transactions.
#[derive(Clone)]
pub struct Hot {
    shared: Arc<StoreState>,
    read_only: bool,
    _closing: Arc<Closing>,
}

/// An opening of a store. The clones of its handle share it. Dropping the last one ends work in the background.
struct Closing(Arc<StoreState>);

impl Closing {
    fn new(shared: &Arc<StoreState>) -> Self {
        shared.handles.fetch_add(1, Ordering::SeqCst);
        Self(shared.clone())
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if self.0.handles.fetch_sub(1, Ordering::SeqCst) == 1 && self.0.process.is_this() {
            self.0.keeper.stop();
        }
    }
}

/// The files of a store: LMDB's two, and the one that shows whether the disk is full.
const FILES: [&str; 3] = [DATA, "lock.mdb", fault::PROBE];

/// How often a copy is begun anew because another process replaced segments.
const COPY_TRIES: u32 = 20;

/// The stores this process has open.
static OPEN: Mutex<Vec<(PathBuf, Weak<StoreState>)>> = Mutex::new(Vec::new());

impl Hot {
    /// Opens the store in the directory `dir`. If there is none, it makes the directory and a store, unless `read_only` or
    /// `must_exist` is set.
    ///
    /// # Errors
    /// [`GraphError::Storage`] if the directory cannot be read or written; [`GraphError::Corrupt`] if it holds no store, or
    /// one that was cut short; [`GraphError::Invalid`] if the store has another format, or if this process has it open in a
    /// way that does not allow this one, or still has open what was deleted from there.
    pub fn open(dir: &Path, options: &HotOptions) -> Result<Self> {
        Self::open_as(dir, options, false)
    }

    /// A new store that is removed when it is closed.
    pub(crate) fn scratch(dir: &Path, id_space: IdSpace, sides: Sides) -> Result<Self> {
        let options =
            HotOptions { durability: Durability::Relaxed, id_space, sides, seal_bytes: 0, ..HotOptions::default() };
        Self::open_as(dir, &options, true)
    }

    fn open_as(dir: &Path, options: &HotOptions, scratch: bool) -> Result<Self> {
        // LMDB allows a process one environment for each directory.
        let mut open = locked(&OPEN);
        open.retain(|(_, shared)| shared.strong_count() > 0);
        if options.must_exist || options.read_only {
            env::expect_data(dir)?;
        } else {
            fs::create_dir_all(dir).map_err(fault::io(dir))?;
        }
        let dir = dir.canonicalize().map_err(fault::io(dir))?;
        let file = FileId::at(&dir.join(DATA)).ok();
        let is_it = |path: &Path, shared: &StoreState| path == dir || Some(shared.file) == file;
        let already = open.iter().filter_map(|(path, shared)| shared.upgrade().filter(|shared| is_it(path, shared))).next();
        let shared = match already {
            Some(shared) => shared.allowing(options)?,
            None => {
                let shared = open::open(&dir, options, scratch)?;
                open.push((dir, Arc::downgrade(&shared)));
                shared
            }
        };
        let _closing = Arc::new(Closing::new(&shared));
        Ok(Self { shared, read_only: options.read_only, _closing })
    }

    /// Whether nothing was ever written to the store in `dir`, or there is none. A crash while a store is made leaves such a
    /// store.
    ///
    /// # Errors
    /// Those of [`open`](Self::open). The store must not be open.
    pub fn is_unused(dir: &Path) -> Result<bool> {
        let data = dir.join(DATA);
        match fs::metadata(&data) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(fault::io(&data)(error)),
            Ok(found) if found.len() == 0 => return Ok(true),
            Ok(_) => {}
        }
        let readers = Readers::map(dir);
        let env = env::open(dir, &readers, &HotOptions::default())?;
        match env::open_tables(&env, env::Opening::begin(&env, &readers, true)?)? {
            None => Ok(env.unnamed_database_stat().entries == 0),
            Some(tables) => {
                let txn = readers.begin(&env)?;
                Ok(Declared::load(&tables, &txn)?.schema.vertex_labels.is_empty())
            }
        }
    }

    /// The name of something in `dir` that is not a file of a store.
    pub fn foreign(dir: &Path) -> io::Result<Option<OsString>> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_ours = FILES.iter().any(|ours| name == *ours) || segment::is_file_name(Path::new(&name));
            let is_kept = entry.file_type()?.is_file() || segment::is_scratch(&entry.path());
            if !is_ours || !is_kept {
                return Ok(Some(entry.file_name()));
            }
        }
        Ok(None)
    }

    /// Removes the files of a store, and its directory if nothing else is in it.
    pub fn remove(dir: &Path) -> io::Result<()> {
        for name in FILES {
            match fs::remove_file(dir.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        remove_segments(dir)?;
        fs::remove_dir(dir)
    }

    /// The graph as it is now. It stays so for this reader. O(1).
    pub fn snapshot(&self) -> Result<HotSnapshot> {
        HotSnapshot::new(&self.shared)
    }

    /// Begins to write. Waits until the transaction of another thread ends.
    ///
    /// # Errors
    /// [`GraphError::OpenAlready`] if this very thread has one open, [`GraphError::ReadOnly`] if the store is open
    /// read-only.
    pub fn begin(&self) -> Result<HotTransaction> {
        self.begin_for(Writer::this_thread(), Patience::ENDLESS)
    }

    /// Begins to write on behalf of `writer`, and waits as long as `patience` lasts. The transaction is bound to this thread
    /// all the same.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`GraphError::Busy`] if the wait ended before the other transaction did.
    pub fn begin_for(&self, writer: Writer, patience: Patience<'_>) -> Result<HotTransaction> {
        if self.read_only {
            return Err(GraphError::ReadOnly);
        }
        HotTransaction::new(&self.shared, writer, patience)
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn shared(&self) -> &Arc<StoreState> {
        &self.shared
    }

    /// Makes every commit so far durable, whatever the [`Durability`].
    pub fn sync(&self) -> Result<()> {
        self.shared.process.must_be_this()?;
        if self.read_only {
            return Ok(());
        }
        self.shared.env.force_sync().map_err(lmdb)
    }

    /// Writes a compacted copy of the last committed state into the directory `dir`, which it makes. Others may read and
    /// write meanwhile. It does not take the turn to write, but it takes the turn to seal.
    ///
    /// # Errors
    /// [`GraphError::Storage`] if there is a store in `dir` already, or if `dir` cannot be written. Nothing half done is
    /// left.
    pub fn copy_to(&self, dir: &Path) -> Result<()> {
        self.shared.process.must_be_this()?;
        fs::create_dir_all(dir).map_err(fault::io(dir))?;
        let path = dir.join(DATA);
        fs::File::create_new(&path).map_err(fault::io(&path))?;
        // Meanwhile this process replaces no segment, unless this very thread is writing.
        let me = Writer::this_thread();
        let _alone = match self.read_only || self.shared.turn.is_of(&me) {
            true => None,
            false => Some(self.shared.turn_to_seal(me, Patience::ENDLESS)?),
        };
        let copy = || -> Result<()> {
            for _ in 0..COPY_TRIES {
                if self.copy_once(dir)? {
                    return disk::sync_directory(dir).map_err(GraphError::storage);
                }
            }
            Err(GraphError::Invalid("the database was compacted during every attempt to copy it: try again later".into()))
        };
        copy().inspect_err(|_| {
            // The directory holds no whole copy. Only the first error matters.
            let _ = remove_segments(dir).and_then(|()| fs::remove_file(&path)).and_then(|()| fs::remove_dir(dir));
        })
    }

    /// Copies the tables, and the segments under them. Returns false if the segments were replaced meanwhile.
    fn copy_once(&self, dir: &Path) -> Result<bool> {
        remove_segments(dir).map_err(GraphError::storage)?;
        let segments = self.snapshot()?.segments().clone();
        let mut file = fs::File::create(dir.join(DATA)).map_err(GraphError::storage)?;
        self.shared.env.copy_to_file(&mut file, CompactionOption::Enabled).map_err(lmdb)?;
        // The copy is as private as the original.
        let original = fs::metadata(self.shared.env.path().join(DATA)).map_err(GraphError::storage)?;
        file.set_permissions(original.permissions()).map_err(GraphError::storage)?;
        file.sync_all().map_err(|error| lmdb(error.into()))?;
        for segment in segments.list() {
            segment.copy_to(dir)?;
        }
        Ok(segments.named() == self.snapshot()?.segments().named())
    }

    /// Seals everything in one segment, and returns its size in bytes. Others read and write meanwhile. O(size of the
    /// graph).
    ///
    /// # Errors
    /// Those of a commit, and [`GraphError::OpenAlready`] if this writer has a transaction open. Then nothing is lost, and
    /// the segments are as they were.
    pub fn compact(&self, writer: Writer, patience: Patience<'_>) -> Result<u64> {
        let work = self.work(writer, patience)?;
        work.all()?;
        // The compaction is done. Room that could not be given back is given back another time.
        let _ = work.give_back();
        Ok(self.snapshot()?.segments().bytes())
    }

    /// Seals what the tables hold in a new segment. Others read and write meanwhile. O(size of the tables).
    ///
    /// # Errors
    /// Those of [`compact`](Self::compact).
    pub fn seal(&self, writer: Writer, patience: Patience<'_>) -> Result<()> {
        self.work(writer, patience)?.seal(0)
    }

    /// Merges segments whose sizes call for it. Returns by how many their number fell. Others read and write meanwhile.
    ///
    /// # Errors
    /// Those of [`compact`](Self::compact).
    pub fn merge(&self, writer: Writer, patience: Patience<'_>) -> Result<usize> {
        self.work(writer, patience)?.merge()
    }

    fn work<'a>(&'a self, writer: Writer, patience: Patience<'a>) -> Result<Work<'a>> {
        if self.is_read_only() {
            return Err(GraphError::ReadOnly);
        }
        Work::new(self.shared(), writer, patience, sealing::threads())
    }

    /// Verifies every page of the tables' file, and then every invariant across the tables. O(size of the store).
    ///
    /// # Errors
    /// [`GraphError::Corrupt`] if pages are damaged. Then it checks no invariant.
    pub fn check(&self) -> Result<CheckReport> {
        env::verify(&self.shared.env, &self.shared.readers, true, u64::MAX)?;
        check::check(&self.snapshot()?)
    }

    /// The sizes of the tables and segments, and the free room.
    pub fn stats(&self) -> Result<StoreStats> {
        self.shared.process.must_be_this()?;
        let txn = self.shared.readers.begin(&self.shared.env)?;
        let mut tables = Vec::new();
        for (name, table) in self.shared.tables.named() {
            let stat = table.stat(&txn).map_err(lmdb)?;
            let pages = (stat.branch_pages + stat.leaf_pages + stat.overflow_pages) as u64;
            tables.push(TableStats {
                name,
                entries: stat.entries as u64,
                pages,
                bytes: pages * u64::from(stat.page_size),
                depth: stat.depth,
            });
        }
        let snapshot = self.snapshot()?;
        let sealed = snapshot.segments();
        let segments = sealed.list().iter().map(|segment| segment.bytes()).collect();
        let file_bytes = disk::allocated_bytes(&self.path().join(DATA))?;
        let sealing_error = self.shared.keeper.last_error();
        let space = space::look(&self.shared)?;
        let layout = catalog::layout(&self.shared.tables, &txn)?;
        Ok(StoreStats { tables, file_bytes, segments, parts: sealed.sizes()?, layout, sealing_error, space })
    }

    pub fn path(&self) -> PathBuf {
        self.shared.env.path().to_path_buf()
    }
}

/// Sizes of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreStats {
    pub tables: Vec<TableStats>,
    /// What the file of the tables takes on the disk, including free pages.
    pub file_bytes: u64,
    /// The bytes of each segment under the tables, oldest first.
    pub segments: Vec<u64>,
    /// What takes these bytes.
    pub parts: Vec<PartStats>,
    /// The order in which the bulk load that filled the store gave vertices their ids, if it chose one.
    pub layout: Option<String>,
    /// Why sealing in the background last failed, if it did.
    pub sealing_error: Option<String>,
    pub space: Space,
}

impl StoreStats {
    /// The bytes of all files.
    pub fn disk_bytes(&self) -> u64 {
        self.file_bytes + self.segment_bytes()
    }

    /// The bytes of all segments.
    pub fn segment_bytes(&self) -> u64 {
        self.segments.iter().sum()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableStats {
    pub name: &'static str,
    pub entries: u64,
    pub pages: u64,
    pub bytes: u64,
    /// Levels of its tree.
    pub depth: u32,
}

/// Removes the files of all segments in a directory without a store: a failed copy, or a store to which nothing was written.
fn remove_segments(dir: &Path) -> io::Result<()> {
    segment::remove_all(&segment::others(dir, &[])?)
}
