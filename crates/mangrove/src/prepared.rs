//! A cache of parsed queries by text. A small query spends most of its time on being parsed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use mangrove_query::{Query, QueryError};

use crate::written::Written;

/// The most queries in the cache.
const CAPACITY: usize = 1024;
/// Longer texts are not cached: they are scripts that run once.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// A cache of the most recently used queries.
#[derive(Default)]
pub struct Prepared {
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    queries: HashMap<Arc<str>, Entry>,
    uses: u64,
}

struct Entry {
    query: Query,
    last_use: u64,
}

impl Prepared {
    /// The query from any of its written forms.
    pub fn read(&self, written: &Written<'_>) -> Result<Query, QueryError> {
        match written {
            Written::Text(text) => self.query(text),
            Written::GraphSon(json) => Query::from_bytecode(json),
            Written::GraphBinary(bytes) => Query::from_graphbinary(bytes),
            Written::Query(query) => Ok(query.clone()),
        }
    }

    /// The query of this text, from the cache or parsed now.
    fn query(&self, text: &str) -> Result<Query, QueryError> {
        if let Some(query) = self.lock().get(text) {
            return Ok(query);
        }
        let query = Query::parse(text)?;
        if text.len() <= TEXT_BYTES_MAX {
            self.lock().insert(text, query.clone());
        }
        Ok(query)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Cache> {
        // A panic cannot leave the cache in a broken state.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    fn get(&mut self, text: &str) -> Option<Query> {
        self.uses += 1;
        let entry = self.queries.get_mut(text)?;
        entry.last_use = self.uses;
        Some(entry.query.clone())
    }

    fn insert(&mut self, text: &str, query: Query) {
        if self.queries.len() >= CAPACITY {
            self.forget_older_half();
        }
        self.queries.insert(text.into(), Entry { query, last_use: self.uses });
    }

    /// Drops half of the entries at once, so that an insertion costs O(1) on average.
    fn forget_older_half(&mut self) {
        let mut uses: Vec<u64> = self.queries.values().map(|entry| entry.last_use).collect();
        let (_, median, _) = uses.select_nth_unstable(CAPACITY / 2);
        let median = *median;
        self.queries.retain(|_, entry| entry.last_use >= median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_kept() {
        let prepared = Prepared::default();
        for i in 0..CAPACITY * 2 {
            prepared.query(&format!("g.V({i})")).unwrap();
            prepared.query("g.V('hot')").unwrap();
        }
        let cache = prepared.lock();
        assert!(cache.queries.contains_key("g.V('hot')"));
        assert!(cache.queries.len() <= CAPACITY);
    }
}
