//! The room in the tables' file: what is free, what old snapshots hold, and how to give it back to the file system.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mangrove_graph::Result;

use crate::clock;
use crate::fault::{self, lmdb};
use crate::identity::FileId;
use crate::owned::OwnedTxn;
use crate::pages::{FreeList, Meta, Pages};
use crate::readers::{OpenSnapshot, command};
use crate::store::{DATA, StoreState};
use crate::turn::{Patience, Writer};

/// What is free in the file of the tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// The bytes of pages that no table needs. Those that were given back take no room on the disk.
    pub free_bytes: u64,
    /// The oldest snapshot that is open in any process, unless it is of the last commit.
    pub oldest: Option<OldSnapshot>,
}

/// A snapshot that keeps pages from being used again.
#[derive(Clone, Debug, PartialEq)]
pub struct OldSnapshot {
    pub process: u32,
    /// The command that this process was started with, where the system tells.
    pub command: Option<String>,
    /// How long there has been a later commit, at least.
    pub age: Duration,
    /// The bytes of free pages that cannot be used again while it is open.
    pub pinned_bytes: u64,
}

/// Looks for free pages and the oldest snapshot. O(free pages + snapshots).
pub fn look(shared: &StoreState) -> Result<Space> {
    let StoreState { env, readers, tables, .. } = shared;
    let txn = readers.begin(env)?;
    let pages = Pages::open(&env.path().join(DATA))?;
    // A commit made meanwhile may have written over the meta page of this one.
    let Some(meta) = pages.meta_of(txn.id() as u64) else { return Ok(Space::default()) };
    let lists = pages.free(&meta)?;
    let bytes_from = |transaction: u64| {
        let lists = lists.iter().filter(|list| list.transaction >= transaction);
        lists.map(|list| list.pages.len() as u64).sum::<u64>() * meta.page_bytes()
    };
    // In a place that cannot be written, the readers may be unknown.
    let oldest = readers.all(env).unwrap_or_default().into_iter().min_by_key(|reader| reader.commit);
    let oldest = oldest.filter(|reader| reader.commit < txn.id() as u64);
    let describe = |reader: OpenSnapshot| -> Result<OldSnapshot> {
        Ok(OldSnapshot {
            process: reader.process,
            command: command(reader.process),
            age: clock::outdated_for(tables, &txn, reader.commit)?,
            pinned_bytes: bytes_from(reader.commit),
        })
    };
    Ok(Space { free_bytes: bytes_from(0), oldest: oldest.map(describe).transpose()? })
}

/// A file is cut if it is at least this many bytes longer than its last commit.
const TAIL_BYTES_MIN: u64 = 1 << 20;

/// Cuts off what an unfinished transaction left behind the pages of the last commit. LMDB writes there before a commit, if a
/// transaction changes more than memory is to hold. No commit has these pages, so nobody reads them. The caller has the turn
/// to write, and no transaction.
///
/// If the file cannot be cut, it stays as it is, and the next transactions use the room.
pub fn cut_tail(shared: &StoreState) {
    let env = &shared.env;
    let page_bytes = u64::from(env.unnamed_database_stat().page_size);
    let committed = (env.info().last_page_number as u64 + 1) * page_bytes;
    if env.real_disk_size().is_ok_and(|length| length >= committed + TAIL_BYTES_MIN) {
        let _ = cut(shared);
    }
}

fn cut(shared: &StoreState) -> Result<()> {
    // LMDB's own lock keeps all others from writing, whatever became of ours.
    let _txn = shared.env.write_txn().map_err(lmdb)?;
    shared.must_be_in_place()?;
    let path = shared.env.path().join(DATA);
    let pages = Pages::open(&path)?;
    let committed = pages.metas().iter().map(Meta::bytes).max().unwrap_or(u64::MAX);
    let file = std::fs::File::options().write(true).open(&path).map_err(fault::io(&path))?;
    let found = file.metadata().map_err(fault::io(&path))?;
    if FileId::of(&found) == shared.file && found.len() >= committed.saturating_add(TAIL_BYTES_MIN) {
        file.set_len(committed).map_err(fault::io(&path))?;
    }
    Ok(())
}

/// Neighbouring pages are given back if together they take at least this many bytes.
const RUN_BYTES_MIN: u64 = 1 << 16;

/// Gives free pages back to the file system. The file keeps its length, and takes less room. Snapshots are not disturbed.
/// Returns the bytes of what was given back, now or before. O(free pages).
///
/// Readers of a commit before `n` need the pages that transaction `n` freed. So this holds the writer's lock, and takes the
/// oldest reader from LMDB's own table. It counts the last commit as a reader too, because a crash may leave the commit
/// before it. First it makes a commit that changes nothing. Then what the last real commit freed is among the pages to give
/// back.
#[cfg(target_os = "linux")]
pub fn give_back(shared: &Arc<StoreState>, writer: Writer, patience: Patience<'_>) -> Result<u64> {
    let mut t = OwnedTxn::begin(shared, writer.clone(), patience)?;
    t.txn_mut().touch(&shared.tables)?;
    t.commit()?;
    let t = OwnedTxn::begin(shared, writer, patience)?;
    let (env, last) = (&shared.env, t.txn().id() as u64 - 1);
    let pages = Pages::open(&env.path().join(DATA))?;
    let Some(meta) = pages.meta_of(last) else { return Ok(0) };
    env.force_sync().map_err(lmdb)?;
    let needed_from = shared.readers.all(env)?.iter().map(|reader| reader.commit).fold(last, u64::min);
    let lists = pages.free(&meta)?;
    let mut given: Vec<u64> = lists.iter().filter(|list| list.transaction < needed_from).flat_map(of).collect();
    given.sort_unstable();
    punch(&env.path().join(DATA), &given, meta.page_bytes())
}

/// Makes holes where neighbouring pages are. Returns the bytes of the holes, which is 0 on a file system that has none.
#[cfg(target_os = "linux")]
fn punch(path: &Path, pages: &[u64], page_bytes: u64) -> Result<u64> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::{Errno, retry_on_intr};

    let file = std::fs::File::options().write(true).open(path).map_err(fault::io(path))?;
    let mut bytes = 0;
    for run in pages.chunk_by(|a, b| a + 1 == *b) {
        let (from, len) = (run[0] * page_bytes, run.len() as u64 * page_bytes);
        if len < RUN_BYTES_MIN {
            continue;
        }
        match retry_on_intr(|| fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, len)) {
            Ok(()) => bytes += len,
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::INVAL) => return Ok(bytes),
            Err(error) => return Err(fault::io(path)(error.into())),
        }
    }
    Ok(bytes)
}

/// What a file takes on the disk, holes left out.
#[cfg(unix)]
pub fn allocated_bytes(path: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).map_err(fault::io(path))?;
    Ok(512 * found.blocks())
}

#[cfg(not(unix))]
pub fn allocated_bytes(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).map_err(fault::io(path))?.len())
}

/// Other systems have no such call, or one of their own.
#[cfg(not(target_os = "linux"))]
pub fn give_back(_: &Arc<StoreState>, _: Writer, _: Patience<'_>) -> Result<u64> {
    Ok(0)
}

#[cfg(target_os = "linux")]
fn of(list: &FreeList) -> impl Iterator<Item = u64> + use<'_> {
    list.pages.iter().copied()
}
