//! When commits were made, so that the age of a snapshot can be told in any process.
//!
//! ```text
//!   "clock" -> (commit 8 | milliseconds since 1970 8)…, ascending, at most one a second
//! ```
//! There are at most 32. When there would be more, every second one of the older half goes: the longer ago, the coarser.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use heed::{AnyTls, RoTxn};
use mangrove_graph::Result;

use crate::fault::lmdb;
use crate::table::{Tables, Writing};

const KEY: &[u8] = b"clock";
const ENTRY: usize = 16;
const ENTRIES_MAX: usize = 32;
const MILLIS_BETWEEN: u64 = 1000;

struct Entry {
    commit: u64,
    millis: u64,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn entries(tables: &Tables, txn: &RoTxn<'_, AnyTls>) -> Result<Vec<Entry>> {
    let bytes = tables.meta.get(txn, KEY).map_err(lmdb)?.unwrap_or_default();
    let (entries, _) = bytes.as_chunks::<ENTRY>();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    Ok(entries.iter().map(|entry| Entry { commit: word(&entry[..8]), millis: word(&entry[8..]) }).collect())
}

/// Notes that a commit is made now, unless the last was noted a moment ago.
pub fn tick(tables: &Tables, t: &mut Writing<'_>) -> Result<()> {
    let (mut all, now) = (entries(tables, t)?, now());
    // In a backup commits are counted anew.
    all.retain(|entry| entry.commit < t.id() as u64);
    // A clock that was set back counts on from where it is.
    if all.last().is_some_and(|last| now >= last.millis && now - last.millis < MILLIS_BETWEEN) {
        return Ok(());
    }
    all.push(Entry { commit: t.id() as u64, millis: now });
    if all.len() > ENTRIES_MAX {
        let mut at = 0..;
        all.retain(|_| at.next().is_some_and(|at: usize| at >= ENTRIES_MAX / 2 || at.is_multiple_of(2)));
    }
    let bytes: Vec<u8> = all.iter().flat_map(|entry| [entry.commit, entry.millis]).flat_map(u64::to_le_bytes).collect();
    tables.meta.put(t, KEY, &bytes)
}

/// For how long at least this commit has not been the last one any more. It must not be.
pub fn outdated_for(tables: &Tables, txn: &RoTxn<'_, AnyTls>, commit: u64) -> Result<Duration> {
    let (mut entries, last) = (entries(tables, txn)?, txn.id() as u64);
    entries.retain(|entry| entry.commit <= last);
    let since = match entries.iter().find(|entry| entry.commit > commit) {
        Some(later) => later.millis,
        // All later commits came so soon after the last that was noted that they were not.
        None => entries.last().map_or(u64::MAX, |noted| noted.millis + MILLIS_BETWEEN),
    };
    Ok(Duration::from_millis(now().saturating_sub(since)))
}
