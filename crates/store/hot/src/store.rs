//! The handle of a store, what its handles share, and the write transaction they lend.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{fs, io};

use heed::{AnyTls, CompactionOption, Env, RoTxn, WithoutTls};
use mangrove_graph::{GraphError, IdSpace, Result};
use mangrove_segment::file::Identity;
use uuid::Uuid;

use crate::catalog::{self, Declared};
use crate::check::{self, CheckReport};
use crate::env;
use crate::fault::{self, corrupt, lmdb};
use crate::identity::{FileId, Process};
use crate::keeper::Keeper;
use crate::read::HotSnapshot;
use crate::readers::Readers;
use crate::segment::{self, Named, PartStats, Segment, Segments};
use crate::space::{self, Space};
use crate::table::Tables;
use crate::turn::{MyTurn, Patience, Turn, Writer};
use crate::write::HotTransaction;

/// What a commit promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// A commit is on the disk when it returns. It survives a crash of the process or of the system, and a power failure.
    #[default]
    Full,
    /// A commit is handed to the operating system, and does not wait for the disk. It survives a crash of the process.
    /// **After a crash of the system or a power failure the last commits may be lost. Pages reach the disk in any order, so
    /// the whole database may be damaged beyond use.** Use it for data that can be loaded again. [`Hot::sync`] makes all of
    /// it durable.
    Relaxed,
}

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct HotOptions {
    /// Only read. Works beside a writing process, and where nothing may be written.
    pub read_only: bool,
    pub durability: Durability,
    /// Make no store: a missing one is damage.
    pub must_exist: bool,
    /// The id space of a new store. An existing store keeps its own.
    pub id_space: IdSpace,
    /// Once the tables take this many bytes, they are sealed in the background; never if it is 0.
    pub seal_bytes: u64,
    /// Opening a store verifies the file of its tables if that has at most this many bytes.
    pub verify_bytes: u64,
    /// The file whose lock says which process writes, as seen from the store's directory. Writing fails once this file was
    /// deleted or replaced.
    pub lock: Option<&'static str>,
}

impl Default for HotOptions {
    fn default() -> Self {
        let (durability, id_space) = (Durability::default(), IdSpace::default());
        let (seal_bytes, verify_bytes) = (SEAL_BYTES, VERIFY_BYTES);
        Self { read_only: false, durability, must_exist: false, id_space, seal_bytes, verify_bytes, lock: None }
    }
}

/// What the tables may take before they are sealed, by default.
pub const SEAL_BYTES: u64 = 64 << 20;

/// How large a file may be and still be verified whenever it is opened, by default.
pub const VERIFY_BYTES: u64 = 256 << 20;

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

/// The number and the ids of a segment that is being written. Dropping it removes the file, unless a commit was to name it.
/// If such a commit failed, only the next opening of the store knows whether it names the segment.
pub(crate) struct NewSegment {
    pub number: u64,
    pub identity: Identity,
    shared: Arc<StoreState>,
    offered: bool,
}

impl NewSegment {
    pub fn path(&self) -> PathBuf {
        segment::path(self.shared.env.path(), self.number)
    }

    /// Opens it, once it is whole.
    pub fn opened(&self) -> Result<Segment> {
        let segment = Segment::found(self.shared.env.path(), self.number)?;
        if segment.file().identity() != self.identity {
            return Err(corrupt("another segment has replaced the one just written"));
        }
        Ok(segment)
    }

    /// A commit is about to name it.
    pub fn offer(&mut self) {
        self.offered = true;
    }

    /// The commit failed. Unless it is certain that it does not name the segment, the file stays.
    pub fn withdraw(&mut self) {
        let is_named = || -> Result<bool> {
            let StoreState { env, tables, .. } = &*self.shared;
            let txn = env.write_txn().map_err(lmdb)?;
            let named = catalog::segments(tables, &txn)?;
            Ok(env.info().last_txn_id + 1 != txn.id() || named.iter().any(|named| named.number == self.number))
        };
        self.offered = is_named().unwrap_or(true);
    }
}

impl Drop for NewSegment {
    fn drop(&mut self) {
        if !self.offered {
            segment::remove(self.shared.env.path(), self.number);
        }
    }
}

/// What handles, snapshots and transactions of one store share.
pub(crate) struct StoreState {
    pub env: Env<WithoutTls>,
    pub readers: Readers,
    pub tables: Tables,
    read_only: bool,
    pub durability: Durability,
    /// The store is removed with its last handle.
    scratch: bool,
    pub file: FileId,
    /// Files that must be in their places whenever the store is written to.
    files: Vec<(PathBuf, FileId)>,
    /// The database's id.
    id: Uuid,
    process: Process,
    /// The last catalog read.
    pub catalog: Mutex<Declared>,
    /// The last segments opened.
    segments: Mutex<Arc<Segments>>,
    /// The greatest number that a segment has, or that this process gave to one.
    newest_segment: Mutex<u64>,
    /// Handles that are open.
    handles: AtomicUsize,
    pub turn: Turn,
    /// Whose turn it is to seal and merge.
    sealing: Turn,
    pub keeper: Keeper,
    /// When a writer last looked for readers that have died.
    looked: Mutex<Option<Instant>>,
}

pub const DATA: &str = "data.mdb";
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
    pub(crate) fn scratch(dir: &Path, id_space: IdSpace) -> Result<Self> {
        let options = HotOptions { durability: Durability::Relaxed, id_space, seal_bytes: 0, ..HotOptions::default() };
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
                let shared = StoreState::open(&dir, options, scratch)?;
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
                    return sync_directory(dir).map_err(GraphError::storage);
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
        let file_bytes = space::allocated_bytes(&self.path().join(DATA))?;
        let sealing_error = self.shared.keeper.last_error();
        let space = space::look(&self.shared)?;
        Ok(StoreStats { tables, file_bytes, segments, parts: sealed.sizes()?, sealing_error, space })
    }

    pub fn path(&self) -> PathBuf {
        self.shared.env.path().to_path_buf()
    }
}

impl StoreState {
    fn open(dir: &Path, options: &HotOptions, scratch: bool) -> Result<Arc<Self>> {
        let shared = Self::open_tables(dir, options, scratch)?;
        // Opening the segments now shows whether they are the ones that the tables name.
        match options.read_only {
            true => drop(HotSnapshot::new(&shared)?),
            false => {
                let txn = shared.env.write_txn().map_err(lmdb)?;
                let named = catalog::segments(&shared.tables, &txn)?;
                shared.segments(&named)?;
                drop(txn);
                // A killed writer leaves what it had not committed.
                space::cut_tail(&shared);
            }
        }
        Ok(shared)
    }

    fn open_tables(dir: &Path, options: &HotOptions, scratch: bool) -> Result<Arc<Self>> {
        let readers = Readers::map(dir);
        let env = env::open(dir, &readers, options)?;
        // A process that may write opens in write transactions. So opening needs no place in the table of readers, which may
        // be full.
        let opening = || env::Opening::begin(&env, &readers, options.read_only);
        let tables = match env::open_tables(&env, opening()?)? {
            Some(tables) => tables,
            None if options.read_only || options.must_exist => return Err(corrupt("its tables are missing")),
            None => env::create_tables(&env, options.id_space)?,
        };
        catalog::check_format(&tables, opening()?.txn())?;
        if !options.read_only {
            env::upgrade(&env, &tables)?;
            env::sweep(&env, &tables)?;
        }
        let begun = opening()?;
        let catalog = Mutex::new(Declared::load(&tables, begun.txn())?);
        let id = catalog::database(&tables, begun.txn())?;
        let newest = catalog::segments(&tables, begun.txn())?.into_iter().map(|named| named.number).max();
        drop(begun);
        let bound = |name: &str| {
            let path = env.path().join(name);
            FileId::at(&path).map(|id| (path.clone(), id)).map_err(fault::io(&path))
        };
        let lock = options.lock.filter(|_| !options.read_only).map(bound).transpose()?;
        let (data, file) = bound(DATA)?;
        let HotOptions { read_only, durability, seal_bytes, .. } = *options;
        Ok(Arc::new(Self {
            env,
            readers,
            tables,
            read_only,
            durability,
            scratch,
            file,
            files: [(data, file)].into_iter().chain(lock).collect(),
            id,
            process: Process::this(),
            catalog,
            segments: Mutex::default(),
            newest_segment: Mutex::new(newest.unwrap_or(0)),
            handles: AtomicUsize::new(0),
            turn: Turn::default(),
            sealing: Turn::default(),
            keeper: Keeper::new(seal_bytes),
            looked: Mutex::default(),
        }))
    }

    /// Lets LMDB use pages again that only killed processes could still read.
    pub fn look_for_dead_readers(&self) {
        let mut looked = locked(&self.looked);
        if looked.is_none_or(|then| then.elapsed() > BETWEEN_LOOKS) {
            *looked = Some(Instant::now());
            let _ = self.env.clear_stale_readers(); // if this fails, the next look does it
        }
    }

    pub(crate) fn process(&self) -> Process {
        self.process
    }

    /// Opens the segments that the tables name.
    pub fn segments(&self, named: &[Named]) -> Result<Arc<Segments>> {
        let mut last = locked(&self.segments);
        if last.are(named) {
            return Ok(last.clone());
        }
        let open = |named: &Named| match last.list().iter().find(|segment| segment.is(named)) {
            Some(segment) => Ok(segment.clone()),
            None => Segment::open(self.env.path(), *named, self.id).map(Arc::new),
        };
        let opened = Arc::new(Segments::new(named.iter().map(open).collect::<Result<_>>()?));
        // A late reader needs older ones. The next reader will need the newer ones.
        if opened.newest_number() >= last.newest_number() {
            *last = opened.clone();
        }
        Ok(opened)
    }

    /// The bytes of the tables whose rows are sealed sooner or later.
    pub fn table_bytes(&self, txn: &RoTxn<'_, AnyTls>) -> Result<u64> {
        let Tables { ids, edge_ids, out, incoming, columns, index, .. } = self.tables;
        let mut bytes = 0;
        for table in [ids, edge_ids, out, incoming, columns, index] {
            let stat = table.stat(txn).map_err(lmdb)?;
            bytes += (stat.branch_pages + stat.leaf_pages + stat.overflow_pages) as u64 * u64::from(stat.page_size);
        }
        Ok(bytes)
    }

    /// Whether the store is removed when it is closed.
    pub fn is_scratch(&self) -> bool {
        self.scratch
    }

    /// Whether there is still a handle. Transactions may outlive all handles.
    pub fn is_open(&self) -> bool {
        self.handles.load(Ordering::SeqCst) > 0
    }

    /// A new segment to write, under a number that no other has.
    pub fn new_segment(self: &Arc<Self>) -> NewSegment {
        let mut newest = locked(&self.newest_segment);
        *newest = segment::next_number(*newest);
        let number = *newest;
        let identity = Identity { database: self.id, own: Uuid::new_v4() };
        NewSegment { number, identity, shared: self.clone(), offered: false }
    }

    pub fn turn_to_seal(self: &Arc<Self>, writer: Writer, patience: Patience<'_>) -> Result<MyTurn> {
        MyTurn::wait(self, |shared| &shared.sealing, writer, patience)
    }

    /// Fails if a file was deleted or replaced. What is written then goes with the last handle, or another process writes
    /// too.
    pub(crate) fn must_be_in_place(&self) -> Result<()> {
        let is_gone = |(path, id): &&(PathBuf, FileId)| FileId::at(path).ok() != Some(*id);
        let Some((path, _)) = self.files.iter().find(is_gone) else { return Ok(()) };
        Err(GraphError::Invalid(format!(
            "the file {} was deleted or replaced while this process had its database open. The process can neither write to it nor \
             open the new one: close every handle on it first",
            path.display()
        )))
    }

    /// This store for one more handle, if it promises what the handle promises.
    fn allowing(self: Arc<Self>, options: &HotOptions) -> Result<Arc<Self>> {
        self.process.must_be_this()?;
        self.must_be_in_place()?;
        if self.read_only && !options.read_only {
            return Err(GraphError::Invalid(
                "this process already has the database open read-only: close that handle first".into(),
            ));
        }
        if self.durability == Durability::Relaxed && options.durability == Durability::Full && !options.read_only {
            return Err(GraphError::Invalid(
                "this process already has the database open with relaxed durability: close that handle first".into(),
            ));
        }
        Ok(self)
    }
}

impl Drop for StoreState {
    fn drop(&mut self) {
        if self.read_only || !self.process.is_this() {
            return;
        }
        // Nobody is left to receive an error. With full durability there is nothing to do.
        let _ = match self.scratch {
            true => fs::remove_dir_all(self.env.path()),
            false => self.env.force_sync().map_err(io::Error::other),
        };
    }
}

/// Sizes of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreStats {
    pub tables: Vec<TableStats>,
    /// What the file of the tables takes on the disk, including free pages.
    pub file_bytes: u64,
    /// The bytes of each segment under the tables, oldest first.
    pub segments: Vec<u64>,
    /// What takes these bytes.
    pub parts: Vec<PartStats>,
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

/// Makes entries of a directory durable.
fn sync_directory(dir: &Path) -> io::Result<()> {
    if cfg!(unix) { fs::File::open(dir)?.sync_all() } else { Ok(()) }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often a writer looks for readers that have died silently.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
