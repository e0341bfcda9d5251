//! Gives free pages of the tables' file back to the file system.

use std::path::Path;
use std::sync::Arc;

use mangrove_graph::Result;

use crate::lmdb::pages::{FreeList, Pages};
use crate::options::DATA;
use crate::shared::owned::OwnedTxn;
use crate::shared::state::StoreState;
use crate::system::fault::{self, lmdb};
use crate::turns::turn::{Patience, Writer};

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

/// Other systems have no such call, or one of their own.
#[cfg(not(target_os = "linux"))]
pub fn give_back(_: &Arc<StoreState>, _: Writer, _: Patience<'_>) -> Result<u64> {
    Ok(0)
}

#[cfg(target_os = "linux")]
fn of(list: &FreeList) -> impl Iterator<Item = u64> + use<'_> {
    list.pages.iter().copied()
}
