//! What the clones of a database handle share.
//!
//! Programs, notebooks above all, open the same path again and again. The store sees to it that such handles share what is
//! open, and refuses those it cannot serve.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_query::Crew;
use mangrove_snapshot::Store;

use crate::OpenOptions;
use crate::error::OpenError;
use crate::prepared::Prepared;
use crate::procedures::Registry;
use crate::streams;

/// An open store and what belongs to it.
pub struct Shared {
    pub store: Store,
    pub prepared: Prepared,
    /// The threads that help all queries.
    pub crew: Arc<Crew>,
    pub procedures: Arc<Registry>,
    pub streams: Arc<streams::Open>,
    pub path: PathBuf,
    /// Where reports of bugs go: beside the database.
    pub reports: Arc<Path>,
}

pub fn open(path: &Path, options: &OpenOptions) -> Result<Arc<Shared>, OpenError> {
    let store = Store::open(path, options)?;
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let reports = canonical.parent().unwrap_or(&canonical).into();
    let (prepared, procedures, crew, streams) = (Prepared::default(), Arc::default(), Arc::default(), Arc::default());
    Ok(Arc::new(Shared { store, prepared, procedures, crew, streams, path: path.to_owned(), reports }))
}
