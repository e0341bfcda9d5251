//! When commits were made. From this any process can tell the age of a snapshot.
//!
//! ```text
//!   "clock" -> (commit 8 | milliseconds since 1970 8)…, ascending, at most one a second
//! ```
//! There are at most 32 entries. When there would be more, every second one of the older half goes. So older times are
//! coarser.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Under this key the table `meta` has them.
pub const KEY: &[u8] = b"clock";
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

fn entries(noted: &[u8]) -> Vec<Entry> {
    let (entries, _) = noted.as_chunks::<ENTRY>();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    entries.iter().map(|entry| Entry { commit: word(&entry[..8]), millis: word(&entry[8..]) }).collect()
}

/// The notes with one more, that this commit is made now. `None` if the last note is less than a second old.
pub fn ticked(noted: &[u8], commit: u64) -> Option<Vec<u8>> {
    let (mut all, now) = (entries(noted), now());
    // A backup counts commits anew. Drop the entries that its count has not reached.
    all.retain(|entry| entry.commit < commit);
    // If the clock was set back, go on from its present time.
    if all.last().is_some_and(|last| now >= last.millis && now - last.millis < MILLIS_BETWEEN) {
        return None;
    }
    all.push(Entry { commit, millis: now });
    if all.len() > ENTRIES_MAX {
        let mut at = 0..;
        all.retain(|_| at.next().is_some_and(|at: usize| at >= ENTRIES_MAX / 2 || at.is_multiple_of(2)));
    }
    Some(all.iter().flat_map(|entry| [entry.commit, entry.millis]).flat_map(u64::to_le_bytes).collect())
}

/// How long a commit has not been the last one any more, at least. It must not be the last one.
pub fn outdated_for(noted: &[u8], last: u64, commit: u64) -> Duration {
    let mut entries = entries(noted);
    entries.retain(|entry| entry.commit <= last);
    let since = match entries.iter().find(|entry| entry.commit > commit) {
        Some(later) => later.millis,
        // All later commits came so soon after the last noted one that none of them was noted.
        None => entries.last().map_or(u64::MAX, |noted| noted.millis + MILLIS_BETWEEN),
    };
    Duration::from_millis(now().saturating_sub(since))
}
