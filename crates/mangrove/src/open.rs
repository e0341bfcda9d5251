//! The databases this process has open.
//!
//! LMDB must be opened once in a process, while programs, notebooks above all, open the same path again and again. So handles
//! on one directory share one open store, which closes with the last of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use mangrove_graph::GraphError;
use mangrove_snapshot::Store;

use crate::OpenOptions;
use crate::error::OpenError;
use crate::prepared::Prepared;
use crate::procedures::Registry;

/// An open store and what belongs to it.
pub struct Shared {
    pub store: Store,
    pub prepared: Prepared,
    pub procedures: Arc<Registry>,
    pub path: PathBuf,
    /// Where reports of bugs go: beside the database.
    pub reports: Arc<Path>,
}

static OPEN: Mutex<Option<HashMap<PathBuf, Weak<Shared>>>> = Mutex::new(None);

/// The store in the directory `path`, opened as `options` say unless this process has it open.
pub fn open(path: &Path, options: &OpenOptions) -> Result<Arc<Shared>, OpenError> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    open.retain(|_, shared| shared.strong_count() > 0);
    if let Some(shared) = path.canonicalize().ok().and_then(|path| open.get(&path)?.upgrade()) {
        return join(shared, path, options);
    }
    let store = Store::open(path, options)?;
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let reports = canonical.parent().unwrap_or(&canonical).into();
    let (prepared, procedures) = (Prepared::default(), Arc::default());
    let shared = Arc::new(Shared { store, prepared, procedures, path: path.to_owned(), reports });
    open.insert(canonical, Arc::downgrade(&shared));
    Ok(shared)
}

/// Whether a store that is open will do.
fn join(shared: Arc<Shared>, path: &Path, options: &OpenOptions) -> Result<Arc<Shared>, OpenError> {
    use mangrove_graph::GraphView;
    if shared.store.is_read_only() && !options.read_only {
        let why = "this process has it open read-only; close that handle first".into();
        return Err(mangrove_snapshot::OpenError::Store { path: path.into(), source: GraphError::Invalid(why) }.into());
    }
    if let Some(wanted) = options.id_space {
        let unreadable = |source| mangrove_snapshot::OpenError::Store { path: path.into(), source };
        let found = shared.store.snapshot().map_err(unreadable)?.schema().id_space;
        if found != wanted {
            return Err(mangrove_snapshot::OpenError::IdSpace { path: path.into(), found, wanted }.into());
        }
    }
    Ok(shared)
}
