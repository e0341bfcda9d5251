//! The files of a graph that were opened, each once.

use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;
use mangrove_graph::ReadContext;

use crate::error::{LakeError, Result};
use crate::files::Files;
use crate::pages::{Cache, Table};

/// Files, what each says about its contents, and the pages that were read of them.
pub struct Tables {
    pub files: Files,
    pub pages: Cache,
    opened: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    by_path: HashMap<Arc<str>, Arc<Table>>,
    next: u32,
}

impl Tables {
    pub fn new(files: Files, bytes_max: usize) -> Self {
        Self { files, pages: Cache::new(bytes_max), opened: Mutex::default() }
    }

    /// The tables at these paths. Those that are not open yet are opened together.
    pub fn at(&self, paths: &[Arc<str>], limits: Option<&ReadContext>) -> Result<Vec<Arc<Table>>> {
        let mut missing: Vec<Arc<str>> = {
            let opened = self.lock();
            paths.iter().filter(|path| !opened.by_path.contains_key(*path)).cloned().collect()
        };
        missing.sort_unstable();
        missing.dedup();
        let mut number = || {
            let mut opened = self.lock();
            opened.next += 1;
            opened.next
        };
        let found = Table::open_all(&self.files, &missing, limits, &mut number)?;
        let mut opened = self.lock();
        for (path, table) in missing.into_iter().zip(found) {
            let table = table.ok_or_else(|| LakeError::Missing { file: self.files.name(&path) })?;
            opened.by_path.entry(path).or_insert_with(|| Arc::new(table));
        }
        Ok(paths.iter().filter_map(|path| opened.by_path.get(path).cloned()).collect())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Opened> {
        // A panic leaves a list of open files, of which some may be missing.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
