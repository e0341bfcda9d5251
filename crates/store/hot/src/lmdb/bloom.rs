//! Which keys the tables may have, in a Bloom filter. Most reads of sealed elements ask the tables in vain whether they changed
//! since. The filter answers that with one look into memory instead of a search in LMDB's tree.
//!
//! A reader makes the filter once that pays: when so many searches were in vain that reading all keys costs no more. From then on, each
//! commit of this process adds its keys. A filter covers the commits from the one it was made from up to the last one whose keys were
//! added. So after a commit of another process readers search again, until a new filter pays.
//!
//! Bloom: Space/Time Trade-offs in Hash Coding with Allowable Errors, CACM 13(7), 1970. The bits of a key lie in one word (Putze,
//! Sanders and Singler: Cache-, Hash- and Space-Efficient Bloom Filters, WEA 2007, section 3).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use heed::{AnyTls, RoTxn};
use mangrove_graph::Result;

use crate::lmdb::table::Tables;
use crate::system::fault::lmdb;
use crate::system::lock::locked;

/// With so many bits for a key, and three of them set, one search in a hundred is in vain.
const BITS_A_KEY: usize = 16;
/// A filter takes at most 8 MB.
const KEYS_MAX: usize = 1 << 22;
/// So many keys are read in order in the time of one search.
const KEYS_A_SEARCH: usize = 4;
const KEYS_BETWEEN_CHECKS: usize = 4096;
/// Fewer searches in vain are no reason to count the keys.
const SEARCHES_MIN: usize = 32;

/// A filter of keys, by their hashes.
pub struct Bloom {
    words: Box<[AtomicU64]>,
    /// The first and the last commit it is right for.
    from: usize,
    upto: AtomicUsize,
}

/// The last filter made, and what was searched for in vain since.
#[derive(Default)]
pub struct Blooms {
    last: Mutex<Option<Arc<Bloom>>>,
    in_vain: AtomicUsize,
}

impl Bloom {
    /// The filter of all keys. Calls `check` now and then.
    fn of(tables: &Tables, txn: &RoTxn<'_, AnyTls>, keys: usize, check: &dyn Fn() -> Result<()>) -> Result<Self> {
        let words = (keys * BITS_A_KEY).next_power_of_two().max(1 << 12) / 64;
        let words = (0..words).map(|_| AtomicU64::new(0)).collect();
        let bloom = Self { words, from: txn.id(), upto: AtomicUsize::new(txn.id()) };
        for table in tables.watched() {
            let mut last = None;
            for (row, entry) in table.iter(txn).map_err(lmdb)?.enumerate() {
                if row % KEYS_BETWEEN_CHECKS == 0 {
                    check()?;
                }
                let hash = table.hash_of(entry.map_err(lmdb)?.0);
                if last.replace(hash) != Some(hash) {
                    bloom.add(hash);
                }
            }
        }
        Ok(bloom)
    }

    /// The word of a key, and its bits there.
    fn bits(&self, hash: u64) -> (&AtomicU64, u64) {
        let bits = 1 << (hash >> 58) | 1 << (hash >> 52 & 63) | 1 << (hash >> 46 & 63);
        (&self.words[hash as usize & (self.words.len() - 1)], bits)
    }

    fn add(&self, hash: u64) {
        let (word, bits) = self.bits(hash);
        word.fetch_or(bits, Ordering::Relaxed);
    }

    /// Whether the tables may have a key.
    #[inline]
    pub fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.bits(hash);
        word.load(Ordering::Relaxed) & bits == bits
    }

    fn is_right_for(&self, commit: usize) -> bool {
        (self.from..=self.upto.load(Ordering::Acquire)).contains(&commit)
    }
}

impl Blooms {
    /// The filter for a commit, if there is one.
    pub fn of(&self, commit: usize) -> Option<Arc<Bloom>> {
        locked(&self.last).clone().filter(|bloom| bloom.is_right_for(commit))
    }

    /// Takes note of a search in vain. Makes a filter if that pays now and there is none. Calls `check` now and then.
    pub fn searched_in_vain(
        &self,
        tables: &Tables,
        txn: &RoTxn<'_, AnyTls>,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Option<Arc<Bloom>>> {
        let searches = self.in_vain.fetch_add(1, Ordering::Relaxed) + 1;
        if searches < SEARCHES_MIN || !searches.is_power_of_two() {
            return Ok(None);
        }
        if let Some(known) = self.of(txn.id()).filter(|_| searches == SEARCHES_MIN) {
            return Ok(Some(known)); // another reader has made it since this snapshot was taken
        }
        let mut keys = 0;
        for table in tables.watched() {
            keys += table.len(txn).map_err(lmdb)? as usize;
        }
        if keys > KEYS_MAX || keys > searches * KEYS_A_SEARCH {
            return Ok(None);
        }
        let made = Arc::new(Bloom::of(tables, txn, keys, check)?);
        let mut last = locked(&self.last);
        // A late reader must not replace the filter of newer commits.
        if last.as_ref().is_none_or(|last| last.upto.load(Ordering::Acquire) <= made.from) {
            *last = Some(made.clone());
        }
        self.in_vain.store(0, Ordering::Relaxed);
        Ok(Some(made))
    }

    /// Adds the keys that a commit of this process has put; `None` if they are too many. Commits come in their order.
    pub fn committed(&self, commit: usize, hashes: Option<&[u64]>) {
        let mut last = locked(&self.last);
        match (&*last, hashes) {
            (Some(bloom), Some(hashes)) => {
                hashes.iter().for_each(|hash| bloom.add(*hash));
                // The release shows the bits to whoever sees that the filter is right for this commit.
                let upto = bloom.upto.compare_exchange(commit - 1, commit, Ordering::Release, Ordering::Relaxed);
                if upto.is_err_and(|upto| upto < commit) {
                    *last = None; // nobody knows the keys of the commits between
                }
            }
            _ => *last = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bloom(from: usize, keys: usize) -> Bloom {
        let words = (0..(keys * BITS_A_KEY).next_power_of_two() / 64).map(|_| AtomicU64::new(0)).collect();
        Bloom { words, from, upto: AtomicUsize::new(from) }
    }

    fn hashes(seed: u64, n: u64) -> Vec<u64> {
        (0..n).map(|at| xxhash_rust::xxh3::xxh3_64_with_seed(&at.to_le_bytes(), seed)).collect()
    }

    #[test]
    fn it_has_what_was_added_and_little_else() {
        let bloom = bloom(1, 10_000);
        let (added, others) = (hashes(1, 10_000), hashes(2, 10_000));
        added.iter().for_each(|hash| bloom.add(*hash));
        assert!(added.iter().all(|hash| bloom.may_have(*hash)));
        let wrong = others.iter().filter(|hash| bloom.may_have(**hash)).count();
        assert!(wrong < 300, "{wrong} of 10,000");
    }

    #[test]
    fn it_is_right_only_for_commits_whose_keys_it_has() {
        let blooms = Blooms { last: Mutex::new(Some(Arc::new(bloom(5, 100)))), ..Blooms::default() };
        let key = hashes(1, 1)[0];
        let is_right = |commits: &[usize]| commits.iter().map(|commit| blooms.of(*commit).is_some()).collect::<Vec<_>>();
        assert_eq!(is_right(&[4, 5, 6]), [false, true, false]);
        blooms.committed(6, Some(&[key]));
        assert_eq!(is_right(&[4, 5, 6, 7]), [false, true, true, false]);
        assert!(blooms.of(6).is_some_and(|bloom| bloom.may_have(key)));
        // Another process made commit 7, so nobody knows its keys.
        blooms.committed(8, Some(&[]));
        assert_eq!(is_right(&[6, 7, 8]), [false; 3]);
        let blooms = Blooms { last: Mutex::new(Some(Arc::new(bloom(5, 100)))), ..Blooms::default() };
        blooms.committed(6, None);
        assert_eq!([5, 6].map(|commit| blooms.of(commit).is_some()), [false; 2]);
    }
}
