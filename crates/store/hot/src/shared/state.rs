//! What the handles, snapshots and transactions of one store share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, io};

use heed::{AnyTls, Env, RoTxn, WithoutTls};
use mangrove_graph::{GraphError, Result};
use mangrove_segment::file::Identity;
use uuid::Uuid;

use crate::format::catalog::{self, Declared};
use crate::format::named::Named;
use crate::lmdb::bloom::Blooms;
use crate::lmdb::readers::Readers;
use crate::lmdb::table::Tables;
use crate::options::Sides;
use crate::options::{DATA, Durability, HotOptions};
use crate::segments::segment::{self, Segment, Segments};
use crate::shared::notes::Notes;
use crate::system::fault::{corrupt, lmdb};
use crate::system::identity::{FileId, Process};
use crate::system::lock::locked;
use crate::turns::group::Group;
use crate::turns::keeper::Keeper;
use crate::turns::turn::{MyTurn, Patience, Turn, Writer};

/// How often a writer looks for readers that have died silently.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

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
    pub read_only: bool,
    pub durability: Durability,
    /// The store is removed with its last handle.
    pub scratch: bool,
    pub file: FileId,
    /// Files that must be in their places whenever the store is written to.
    pub files: Vec<(PathBuf, FileId)>,
    /// The database's id.
    pub id: Uuid,
    pub sides: Sides,
    pub process: Process,
    /// The last catalog read.
    pub catalog: Mutex<Declared>,
    /// The last segments opened.
    pub segments: Mutex<Arc<Segments>>,
    /// What readers have learnt of the last commit that was read.
    pub notes: Notes,
    /// Which keys the tables may have.
    pub blooms: Blooms,
    /// The greatest number that a segment has, or that this process gave to one.
    pub newest_segment: Mutex<u64>,
    /// Handles that are open.
    pub handles: AtomicUsize,
    pub turn: Arc<Turn<Group>>,
    /// Whose turn it is to seal and merge.
    pub sealing: Arc<Turn>,
    pub keeper: Keeper,
    /// What the keeper does.
    pub upkeep: fn(&Arc<Self>, &dyn Fn() -> bool) -> Result<u64>,
    /// When a writer last looked for readers that have died.
    pub looked: Mutex<Option<Instant>>,
}

impl StoreState {
    /// Begins work in the background if it is due, now that the tables take so many bytes.
    pub fn keep_up(self: &Arc<Self>, table_bytes: u64) {
        if self.scratch || !self.is_open() {
            return;
        }
        let shared = self.clone();
        self.keeper.keep_up(table_bytes, &self.env.path().join(DATA), move |stopped| (shared.upkeep)(&shared, stopped));
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
        MyTurn::wait(&self.sealing, writer, patience)
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
    pub fn allowing(self: Arc<Self>, options: &HotOptions) -> Result<Arc<Self>> {
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
