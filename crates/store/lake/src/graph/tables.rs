//! The files of a graph that were opened, each once.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::HashMap;
use mangrove_graph::ReadContext;

use super::forms::Forms;
use crate::error::{LakeError, Result};
use crate::files::{Files, OpenFile};
use crate::pages::{ArrowTypes, Cache, Table};

/// The memory for pages that were read.
const PAGES_BYTES_MAX: usize = 256 << 20;

/// Files, what each says about its contents, and the pages that were read of them.
pub struct Tables {
    pub files: Files,
    pub pages: Cache,
    arrow_types: ArrowTypes,
    /// All files are known and open.
    are_listed: bool,
    forms: Forms,
    opened: Mutex<Opened>,
    /// The files as they must be when they are opened, by path.
    listed: OnceLock<HashMap<Arc<str>, OpenFile>>,
}

#[derive(Default)]
struct Opened {
    by_path: HashMap<Arc<str>, Arc<Table>>,
    next: u32,
}

impl Tables {
    /// Files that are opened when they are first needed.
    pub fn new(files: Files, forms: Forms) -> Self {
        let (pages, opened, listed) = (Cache::new(PAGES_BYTES_MAX), Mutex::default(), OnceLock::new());
        Self { files, pages, arrow_types: ArrowTypes::Ignored, are_listed: false, forms, opened, listed }
    }

    /// Files that any program may have written, and that are all opened at the beginning.
    pub fn of_others(files: Files) -> Self {
        Self { arrow_types: ArrowTypes::Followed, are_listed: true, ..Self::new(files, Forms::default()) }
    }

    /// Opens those of some files that exist. Returns the others.
    pub fn open(&self, paths: &[Arc<str>]) -> Result<Vec<Arc<str>>> {
        self.open_missing(paths, None)?;
        let opened = self.lock();
        Ok(paths.iter().filter(|path| !opened.by_path.contains_key(*path)).cloned().collect())
    }

    /// From now on, files that are opened must be these. The first list counts.
    pub fn must_be(&self, files: Vec<OpenFile>) {
        self.listed.get_or_init(|| files.into_iter().map(|file| (file.path.clone(), file)).collect());
    }

    /// Fails if a file is not the one that was listed.
    fn must_be_listed(&self, path: &Arc<str>, table: &Table) -> Result<()> {
        match self.listed.get().and_then(|listed| listed.get(path)) {
            Some(listed) if !table.file().is_as_listed(listed) => Err(LakeError::Changed { file: self.files.name(path) }),
            _ => Ok(()),
        }
    }

    pub fn are_listed(&self) -> bool {
        self.are_listed
    }

    /// The bytes of all open files.
    pub fn bytes(&self) -> u64 {
        self.lock().by_path.values().map(|table| table.file().size).sum()
    }

    /// All open files, in no order.
    pub fn opened(&self) -> Vec<Arc<Table>> {
        self.lock().by_path.values().cloned().collect()
    }

    /// The tables at these paths. Those that are not open yet are opened together.
    pub fn at(&self, paths: &[Arc<str>], limits: Option<&ReadContext>) -> Result<Vec<Arc<Table>>> {
        self.open_missing(paths, limits)?;
        let opened = self.lock();
        let missing = |path: &Arc<str>| LakeError::Missing { file: self.files.name(path) };
        paths.iter().map(|path| opened.by_path.get(path).cloned().ok_or_else(|| missing(path))).collect()
    }

    fn open_missing(&self, paths: &[Arc<str>], limits: Option<&ReadContext>) -> Result<()> {
        let mut missing: Vec<Arc<str>> = {
            let opened = self.lock();
            paths.iter().filter(|path| !opened.by_path.contains_key(*path)).cloned().collect()
        };
        if missing.is_empty() {
            return Ok(());
        }
        missing.sort_unstable();
        missing.dedup();
        let mut number = || {
            let mut opened = self.lock();
            opened.next += 1;
            opened.next
        };
        let (others, missing): (Vec<_>, Vec<_>) = missing.into_iter().partition(|path| self.forms.of(path).is_some());
        let found = Table::open_all(&self.files, &missing, self.arrow_types, limits, &mut number)?;
        let converted = self.forms.open_converted(&self.files, &others, limits, &mut number)?;
        let mut opened = self.lock();
        for (path, table) in missing.into_iter().zip(found).chain(others.into_iter().zip(converted)) {
            if let Some(table) = table {
                self.must_be_listed(&path, &table)?;
                opened.by_path.entry(path).or_insert_with(|| Arc::new(table));
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Opened> {
        // A panic leaves a list of open files, of which some may be missing.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
