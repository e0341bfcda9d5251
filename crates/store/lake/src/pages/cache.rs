//! Pages in memory, up to a number of bytes.

use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};
use hashbrown::HashMap;

/// A page of a file, by numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PageKey {
    pub table: u32,
    pub column: u32,
    pub group: u32,
    pub at: u32,
}

/// The pages that were used last.
pub struct Cache {
    kept: Mutex<Kept>,
    bytes_max: usize,
}

#[derive(Default)]
struct Kept {
    pages: HashMap<PageKey, (ArrayRef, u64)>,
    bytes: usize,
    uses: u64,
}

impl Cache {
    pub fn new(bytes_max: usize) -> Self {
        Self { kept: Mutex::default(), bytes_max }
    }

    pub fn get(&self, key: &PageKey) -> Option<ArrayRef> {
        let mut kept = self.lock();
        kept.uses += 1;
        let now = kept.uses;
        let (array, used) = kept.pages.get_mut(key)?;
        *used = now;
        Some(array.clone())
    }

    /// Keeps a page. A page larger than a quarter of the cache is not kept.
    pub fn put(&self, key: PageKey, array: ArrayRef) {
        let bytes = array.get_array_memory_size();
        if bytes > self.bytes_max / 4 {
            return;
        }
        let mut kept = self.lock();
        kept.uses += 1;
        let now = kept.uses;
        if let Some((old, _)) = kept.pages.insert(key, (array, now)) {
            kept.bytes -= old.get_array_memory_size();
        }
        kept.bytes += bytes;
        if kept.bytes > self.bytes_max {
            kept.forget_older_half();
        }
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // A panic cannot leave the cache in a broken state: at worst a page is counted wrong.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Drops half of the pages at once, so that keeping a page costs O(1) on average.
    fn forget_older_half(&mut self) {
        let mut uses: Vec<u64> = self.pages.values().map(|(_, used)| *used).collect();
        let middle = uses.len() / 2;
        let (_, median, _) = uses.select_nth_unstable(middle);
        let median = *median;
        self.pages.retain(|_, (_, used)| *used > median);
        self.bytes = self.pages.values().map(|(array, _)| array.get_array_memory_size()).sum();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;

    fn key(at: u32) -> PageKey {
        PageKey { table: 1, column: 2, group: 0, at }
    }

    #[test]
    fn the_pages_used_last_stay_within_the_bound() {
        let page = || Arc::new(Int64Array::from(vec![7; 128])) as ArrayRef;
        let each = page().get_array_memory_size();
        let cache = Cache::new(10 * each);
        for at in 0..10 {
            cache.put(key(at), page());
            assert!(cache.get(&key(0)).is_some(), "it is used again and again");
        }
        cache.put(key(10), page());
        assert!(cache.bytes() <= 10 * each);
        assert!(cache.get(&key(0)).is_some() && cache.get(&key(10)).is_some() && cache.get(&key(1)).is_none());
        let large = Arc::new(Int64Array::from(vec![7; 4096])) as ArrayRef;
        cache.put(key(11), large);
        assert!(cache.get(&key(11)).is_none(), "it would push out too much else");
    }
}
