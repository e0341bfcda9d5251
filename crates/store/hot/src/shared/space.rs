//! The room in the tables' file: what is free, and what old snapshots hold.

use std::time::Duration;

use mangrove_graph::Result;

use crate::lmdb::clock;
use crate::lmdb::pages::{Meta, Pages};
use crate::lmdb::readers::{OpenSnapshot, command};
use crate::options::DATA;
use crate::shared::state::StoreState;
use crate::system::fault::{self, lmdb};
use crate::system::identity::FileId;

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
    let noted = tables.meta.get(&txn, clock::KEY).map_err(lmdb)?.unwrap_or_default();
    let describe = |reader: OpenSnapshot| OldSnapshot {
        process: reader.process,
        command: command(reader.process),
        age: clock::outdated_for(noted, txn.id() as u64, reader.commit),
        pinned_bytes: bytes_from(reader.commit),
    };
    Ok(Space { free_bytes: bytes_from(0), oldest: oldest.map(describe) })
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
