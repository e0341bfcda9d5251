//! Where a graph is kept, as the façade sees it.
//!
//! The embedded store is one backend. Whatever else keeps a graph, such as files of others or shards on many machines, becomes a
//! database by implementing [`Backend`], through [`Database::over`](crate::Database::over). Dropping a backend closes it. A load and
//! an ingest write through a transaction; a bulk load is a transaction that went on as one.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mangrove_analytics::divided::{Collected, Ended};
use mangrove_analytics::{AnalyticsError, Divided, Selection, Stage};
use mangrove_directory::{Bulk, CheckReport, Patience, Store, StoreStats, Transaction, Writer};
use mangrove_graph::{GraphError, GraphView, GraphWrite, KeyId, LabelId, Numbering, ReadContext, Result};
use mangrove_ingest::Progress;
use mangrove_lake::LakeChanges;
use mangrove_query::{Fleet, Parameters, Query, QueryOptions, StartPart};

use crate::bookmark::Bookmark;
use crate::cluster::NodeHeard;
use crate::stream::Rows;

/// Takes a view of a graph.
pub type ViewLater = Box<dyn Fn() -> Result<Box<dyn BackendView>> + Send + Sync>;

pub trait Backend: Send + Sync {
    /// The graph as it is now, for a reader with these limits, if any.
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>>;

    /// For a graph that is far away, whose views take their time: a call that takes one when it is needed.
    fn view_later(&self) -> Option<ViewLater> {
        None
    }

    /// Whether calls wait for other processes.
    fn is_far(&self) -> bool {
        false
    }

    /// Waits until all processes can read what this one has committed. Elsewhere a commit does that.
    fn settle(&self) {}

    /// The last commit that this process has made or read, for readers elsewhere; `None` if all of them read the last commit anyway.
    fn bookmark(&self) -> Option<Bookmark> {
        None
    }

    /// Waits until this process reads what a bookmark names, and never reads anything older from then on.
    ///
    /// # Errors
    /// If the bookmark is of another graph, or if the limits end the wait.
    fn wait_for(&self, _bookmark: Bookmark, _limits: &ReadContext) -> Result<()> {
        Err(GraphError::Invalid("only a graph on many nodes has bookmarks: here each reader sees the last commit".into()))
    }

    /// The graph as it was at a commit that [`ViewInShards::keep`] has kept, in this process or in another one.
    ///
    /// # Errors
    /// If it is kept no longer, if the bookmark is of another graph, or if the limits end the wait.
    fn view_at(&self, _at: Bookmark, _limits: &ReadContext) -> Result<Box<dyn BackendView>> {
        Err(GraphError::Invalid(NOT_IN_SHARDS.into()))
    }

    /// Begins to write on behalf of `writer`. Waits for another writer's transaction as long as `patience` lasts.
    ///
    /// # Errors
    /// [`GraphError::ReadOnly`](mangrove_graph::GraphError) if the graph cannot be written.
    fn begin(&self, writer: Writer, patience: Patience<'_>) -> Result<Box<dyn BackendTransaction>>;

    /// Runs a small query that writes where that takes the least time; `None` if it is to be run here, in a transaction that begins then.
    ///
    /// # Errors
    /// If `writer` has a transaction open, or if the limits end it; then nothing was stored. If it is not known whether its changes were.
    fn run_elsewhere(
        &self,
        _query: &Query,
        _parameters: &Parameters,
        _options: &QueryOptions,
        _writer: Writer,
    ) -> Result<Option<Rows>> {
        Ok(None)
    }

    fn is_read_only(&self) -> bool;

    /// Verifies that all parts of the graph agree.
    fn check(&self) -> Result<CheckReport>;

    fn stats(&self) -> Result<StoreStats>;

    /// The nodes of the graph, and how they are; `None` if it is not on nodes.
    fn nodes(&self) -> Result<Option<Vec<NodeHeard>>> {
        Ok(None)
    }

    /// Looks for files that others have added, changed or removed. Views taken from now on see them. A database has no such files.
    fn refresh(&self) -> Result<LakeChanges> {
        Ok(LakeChanges::default())
    }

    /// Makes the indexes of edges that queries would make when they first follow edges. Returns how many types of edges have one. A
    /// database keeps its edges so that it needs none.
    fn index_edges(&self, _limits: Option<ReadContext>, _progress: &mut dyn Progress) -> Result<u64> {
        Ok(0)
    }

    /// Writes a consistent copy into a directory, which must be empty or missing.
    fn backup(&self, destination: &Path) -> Result<()>;

    /// Moves everything to where it takes the least space. Returns the bytes it takes there.
    fn compact(&self, writer: Writer, patience: Patience<'_>) -> Result<u64>;
}

/// A consistent graph that never changes. It can move to other threads.
pub trait BackendView: GraphView + Send {
    /// Sets the limits of the reader, which all calls honour from now on; `None` for no limits.
    fn limit(&mut self, limits: Option<ReadContext>);

    /// A number that no view of another state of the graph has; `None` if there is none.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Whether the view can be read no longer, because who kept it has ended. A newer one may be there.
    fn is_lost(&self) -> bool {
        false
    }

    /// The nodes that may run steps of a query over it; `None` if it is not on nodes.
    fn fleet(&self) -> Option<Arc<dyn Fleet>> {
        None
    }

    /// The graph as parts that several processes have; `None` if all of it is here.
    fn parts(&self) -> Option<&dyn GraphParts> {
        None
    }

    /// The shards of the graph; `None` if it has none.
    fn shards(&self) -> Option<&dyn ViewInShards> {
        None
    }

    /// The key that orders the edges of a label in a copy, if the schema does not name it.
    fn noted_time(&self, _label: LabelId) -> Option<KeyId> {
        None
    }
}

/// Why shards of an embedded database cannot be read one by one.
pub(crate) const NOT_IN_SHARDS: &str = "the graph is no graph on nodes, so it has no shards";

/// A consistent graph in shards. Each element is in one of them.
pub trait ViewInShards {
    fn count(&self) -> u16;

    /// Lets others read the same state for some minutes. Gives its commit.
    fn keep(&self) -> Bookmark;

    /// The elements of one shard, within the limits of the view; `None` if there is no such shard.
    fn shard(&self, shard: u16) -> Option<StartPart>;
}

/// A graph of which several processes have parts.
pub trait GraphParts {
    /// Runs a vertex program where the parts are; `None` if it is to be run here. It begins again if a process ends meanwhile.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if processes end too often, or for too long. If the graph is lost with them, the view says so.
    fn run(
        &self,
        work: &InParts<'_>,
        limits: &ReadContext,
        show: &mut dyn FnMut(Stage),
    ) -> Result<Option<RanInParts>, AnalyticsError>;
}

/// A vertex program, and what it runs over.
pub struct InParts<'a> {
    pub divided: &'a Divided,
    pub selection: &'a Selection,
    /// The chosen vertices.
    pub numbering: &'a Numbering,
    /// The place of the id of each among all, if the program wants it.
    pub id_order: &'a [u32],
    /// How many threads of each process work; 0 for one for each core.
    pub threads: usize,
    /// The most memory that each process may take; `None` for what its machine has left.
    pub memory_bytes: Option<u64>,
    /// How often the processes keep their values, if they have a place for that.
    pub checkpoint_every: Duration,
}

/// What a vertex program came to.
pub struct RanInParts {
    pub all: Collected,
    pub ended: Ended,
    /// How long it took to read the graph.
    pub reading: Duration,
    pub restarts: Restarts,
}

/// How a vertex program began again because processes had ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restarts {
    pub count: u64,
    /// How many steps had run before, where it began the last time.
    pub resumed_at: u64,
    /// What happened each time, and what went wrong with checkpoints.
    pub warnings: Vec<String>,
}

/// A graph under change. Dropping it undoes everything.
pub trait BackendTransaction {
    fn graph(&mut self) -> &mut dyn GraphWrite;

    /// The graph as the transaction sees it.
    fn view(&self) -> &dyn GraphView;

    /// Sets the limits of who reads in it. Calls that read honour them from now on; `None` for no limits.
    fn limit(&mut self, limits: Option<ReadContext>);

    /// Whether the graph can be read no longer in it. Nothing of it was stored, and a new one may do better.
    fn is_lost(&self) -> bool {
        false
    }

    /// Makes the changes last.
    fn commit(self: Box<Self>) -> Result<()>;

    /// Whether other writers wait for it to end, to commit together with it. Then it should end soon, or give up.
    fn is_waited_for(&self) -> bool;

    /// Whether the graph is empty and the transaction has changed nothing. Then it may become a bulk load.
    fn is_unused(&self) -> Result<bool>;

    /// Continues as a bulk load.
    fn into_bulk(self: Box<Self>) -> Result<Box<dyn BulkLoad>>;
}

/// A load into an empty graph, whose data goes where it takes the least space.
pub trait BulkLoad {
    fn graph(&mut self) -> &mut dyn GraphWrite;

    /// Writes what was loaded anew, in an order named `layout`: `write` reads it, and writes the same graph to the empty one that takes its
    /// place.
    fn rewrite(
        &mut self,
        layout: &str,
        write: &mut dyn FnMut(&dyn GraphView, &mut dyn GraphWrite) -> Result<()>,
    ) -> Result<()>;

    /// Notes that vertices are loaded in an order of that name.
    fn note_layout(&mut self, layout: &str);

    /// Makes the load last. Long work stops when `cancelled` says so.
    fn commit(self: Box<Self>, cancelled: &dyn Fn() -> bool) -> Result<()>;
}

/// The options of a query over a view, with the nodes that may run its steps.
pub(crate) fn options_over<'o>(view: &dyn BackendView, options: &'o QueryOptions) -> Cow<'o, QueryOptions> {
    match view.fleet() {
        None => Cow::Borrowed(options),
        fleet => Cow::Owned(QueryOptions { fleet, ..options.clone() }),
    }
}

/// What was lost is begun again so often.
pub(crate) const AGAIN_MAX: usize = 5;

/// Reads a view. If it is lost meanwhile, reads a newer one from the beginning.
pub(crate) fn read_view<T, E: From<GraphError>>(
    backend: &dyn Backend,
    limits: Option<&ReadContext>,
    mut read: impl FnMut(&dyn BackendView) -> Result<T, E>,
) -> Result<(T, Box<dyn BackendView>), E> {
    let mut left = AGAIN_MAX;
    loop {
        let view = backend.view(limits.cloned())?;
        match read(&*view) {
            Err(_) if left > 0 && view.is_lost() => left -= 1,
            outcome => return Ok((outcome?, view)),
        }
    }
}

impl Backend for Store {
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>> {
        Ok(match limits {
            Some(limits) => Box::new(self.snapshot_within(limits)?),
            None => Box::new(self.snapshot()?),
        })
    }

    fn begin(&self, writer: Writer, patience: Patience<'_>) -> Result<Box<dyn BackendTransaction>> {
        Ok(Box::new(self.begin_for(writer, patience)?))
    }

    fn is_read_only(&self) -> bool {
        Store::is_read_only(self)
    }

    fn check(&self) -> Result<CheckReport> {
        Store::check(self)
    }

    fn stats(&self) -> Result<StoreStats> {
        Store::stats(self)
    }

    fn backup(&self, destination: &Path) -> Result<()> {
        Store::backup(self, destination)
    }

    fn compact(&self, writer: Writer, patience: Patience<'_>) -> Result<u64> {
        Store::compact(self, writer, patience)
    }
}

impl BackendView for mangrove_directory::Snapshot {
    fn limit(&mut self, limits: Option<ReadContext>) {
        mangrove_directory::Snapshot::limit(self, limits);
    }

    fn version(&self) -> Option<u64> {
        Some(self.commit_number() as u64)
    }
}

impl BackendTransaction for Transaction {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        self
    }

    fn view(&self) -> &dyn GraphView {
        self
    }

    fn limit(&mut self, limits: Option<ReadContext>) {
        Transaction::limit(self, limits);
    }

    fn commit(self: Box<Self>) -> Result<()> {
        Transaction::commit(*self)
    }

    fn is_waited_for(&self) -> bool {
        Transaction::is_waited_for(self)
    }

    fn is_unused(&self) -> Result<bool> {
        Transaction::is_unused(self)
    }

    fn into_bulk(self: Box<Self>) -> Result<Box<dyn BulkLoad>> {
        Ok(Box::new(Transaction::into_bulk(*self)?))
    }
}

impl BulkLoad for Bulk {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        Bulk::graph(self)
    }

    fn rewrite(
        &mut self,
        layout: &str,
        write: &mut dyn FnMut(&dyn GraphView, &mut dyn GraphWrite) -> Result<()>,
    ) -> Result<()> {
        Bulk::rewrite(self, layout, write)
    }

    fn note_layout(&mut self, layout: &str) {
        Bulk::note_layout(self, layout);
    }

    fn commit(self: Box<Self>, cancelled: &dyn Fn() -> bool) -> Result<()> {
        Bulk::commit(*self, cancelled).map(|_| ())
    }
}
