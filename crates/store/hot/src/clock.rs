//! When commits were made. From this any process can tell the age of a snapshot.
//!
//! ```text
//!   "clock" -> (commit 8 | milliseconds since 1970 8)…, ascending, at most one a second
//! ```
//! There are at most 32 entries. When there would be more, every second one of the older half goes. So older times are
//! coarser.

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

/// Notes that a commit is made now, unless the last note is less than a second old.
pub fn tick(tables: &Tables, t: &mut Writing<'_>) -> Result<()> {
    let (mut all, now) = (entries(tables, t)?, now());
    // A backup counts commits anew. Drop the entries that its count has not reached.
    all.retain(|entry| entry.commit < t.id() as u64);
    // If the clock was set back, go on from its present time.
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

/// How long this commit has not been the last one any more, at least. It must not be the last one.
pub fn outdated_for(tables: &Tables, txn: &RoTxn<'_, AnyTls>, commit: u64) -> Result<Duration> {
    let (mut entries, last) = (entries(tables, txn)?, txn.id() as u64);
    entries.retain(|entry| entry.commit <= last);
    let since = match entries.iter().find(|entry| entry.commit > commit) {
        Some(later) => later.millis,
        // All later commits came so soon after the last noted one that none of them was noted.
        None => entries.last().map_or(u64::MAX, |noted| noted.millis + MILLIS_BETWEEN),
    };
    Ok(Duration::from_millis(now().saturating_sub(since)))
}
