//! The state that the clones of a database handle share.
//!
//! Programs, and notebooks above all, open the same path again and again. The store lets such handles share the open files, and
//! refuses those it cannot serve.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_directory::Store;
use mangrove_graph::GraphError;
use mangrove_query::{Crew, Graph, Parameters, Query};

use crate::analyze::Projections;
use crate::backend::{Backend, options_over, read_view};
use crate::error::{OpenError, OpenFailure, QueryError};
use crate::paths::KeptPaths;
use crate::prepared::Prepared;
use crate::procedures::Registry;
use crate::scratch::{MEMORY, Scratch};
use crate::shards::ShardAt;
use crate::stream::Begun;
use crate::streams;
use crate::{Durability, OpenOptions, QueryOptions};

/// An open backend and its companions.
pub struct DatabaseState {
    pub backend: Box<dyn Backend>,
    pub prepared: Prepared,
    pub projections: Projections,
    pub kept_paths: KeptPaths,
    /// The threads that help all queries.
    pub crew: Arc<Crew>,
    pub procedures: Arc<Registry>,
    pub streams: Arc<streams::Open>,
    pub path: PathBuf,
    /// The directory for bug reports: beside the database.
    pub reports: Arc<Path>,
    /// Removed after the backend has closed.
    _scratch: Option<Scratch>,
}

impl DatabaseState {
    /// Begins a query that only reads, at the graph as it is now.
    pub fn begin_reading(
        &self,
        query: &Query,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Begun, QueryError> {
        read_view(&*self.backend, Some(&options.read_context()), |view| {
            Ok(query.execute(&mut Graph::Read(view), parameters, &options_over(view, options))?)
        })
    }

    /// Begins a query whose first step finds the elements of one shard.
    pub fn begin_on_shard(
        &self,
        query: &Query,
        parameters: &Parameters,
        options: &QueryOptions,
        ShardAt { shard, at }: ShardAt,
    ) -> Result<Begun, QueryError> {
        let view = self.backend.view_at(at, &options.read_context())?;
        let start = view.shards().and_then(|shards| shards.shard(shard));
        let start = start.ok_or_else(|| GraphError::Invalid(format!("the graph has no shard {shard}")))?;
        let options = QueryOptions { start: Some(start), ..options_over(&*view, options).into_owned() };
        let execution = query.execute(&mut Graph::Read(&*view), parameters, &options)?;
        Ok((execution, view))
    }
}

pub fn open(path: &Path, options: &OpenOptions) -> Result<Arc<DatabaseState>, OpenError> {
    if path == Path::new(MEMORY) {
        return open_scratch(options);
    }
    open_at(path, options, None)
}

/// Creates a database for this process alone. Closing it deletes it.
fn open_scratch(options: &OpenOptions) -> Result<Arc<DatabaseState>, OpenError> {
    let cannot = |source| OpenFailure::Store { path: MEMORY.into(), source };
    if options.read_only {
        let why = "a new database has nothing to read: open it for writing";
        return Err(cannot(GraphError::Invalid(why.into())).into());
    }
    let scratch = Scratch::new().map_err(GraphError::storage).map_err(cannot)?;
    let path = scratch.path().to_owned();
    // The end of the process deletes the database anyway, so there is no point in waiting for the disk.
    let options = OpenOptions { durability: Durability::Relaxed, create: true, ..*options };
    open_at(&path, &options, Some(scratch))
}

fn open_at(path: &Path, options: &OpenOptions, scratch: Option<Scratch>) -> Result<Arc<DatabaseState>, OpenError> {
    let backend = Box::new(Store::open(path, options)?);
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let reports = canonical.parent().unwrap_or(&canonical).into();
    Ok(over(backend, path, reports, scratch))
}

/// What the handles of a database share, whatever keeps its graph.
pub fn over(backend: Box<dyn Backend>, path: &Path, reports: Arc<Path>, scratch: Option<Scratch>) -> Arc<DatabaseState> {
    let (prepared, projections, kept_paths) = (Prepared::default(), Projections::default(), KeptPaths::default());
    let (procedures, crew, streams) = (Arc::default(), Arc::default(), Arc::default());
    let path = path.to_owned();
    Arc::new(DatabaseState {
        backend,
        prepared,
        projections,
        kept_paths,
        procedures,
        crew,
        streams,
        path,
        reports,
        _scratch: scratch,
    })
}
