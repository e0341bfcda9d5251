//! A database: opened once and shared by every thread.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_directory::{CheckReport, Patience, StoreStats, Writer};
use mangrove_graph::{Declaration, ElementKind, GraphError, GraphWrite, IndexSchema, PropertyId, ReadContext, Schema};
use mangrove_ingest::{ExportFormat, ExportReport, IngestOptions, LoadOptions, LoadReport, Phase, Progress, Status};
use mangrove_lake::{GraphArOptions, GraphArReport, Lake, LakeChanges, LakeOptions};
use mangrove_layout::Layout;
use mangrove_query::{CancelToken, Crew, CrewOptions, Explanation, Graph, Parameters, Procedure, Profile, Query};

use crate::analyze::Projections;
use crate::backend::{AGAIN_MAX, Backend, BackendTransaction, BackendView, BulkLoad, options_over, read_view};
use crate::bookmark::Bookmark;
use crate::cluster::{self, Connected, GraphAddress, NodeHeard};
use crate::declare;
use crate::direct::{DirectReads, DirectWrites};
use crate::error::{ExportError, LoadError, OpenError, QueryError, StoreError};
use crate::guard::{self, Bug};
use crate::ingestion::Ingestion;
use crate::lake::{LakeBackend, is_description, lake_file, not_a_lake};
use crate::layout::{LayoutOptions, LayoutReport, order_of_export, reorder, tried};
use crate::memory::Memory;
use crate::open::{self, DatabaseState};
use crate::paths::KeptPaths;
use crate::shards::{OnShard, ShardAt, Shards, must_only_read, shards_of};
use crate::slow::{SlowLog, SlowQuery, Watch};
use crate::stream::{Again, ResultStream, Rows};
use crate::streams::Stream;
use crate::transaction::Transaction;
use crate::written::Written;
use crate::{Encoding, LakeError, OpenOptions, QueryErrorKind, QueryOptions};

/// A property graph in a directory.
///
/// A clone is another handle on the same open database. Handles can be sent to any thread and used there. One transaction writes at
/// a time; others wait for it. Any number of threads and processes read meanwhile. Each query sees the last commit before it began.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("people.mg");
/// use mangrove::{Database, Parameters, QueryOptions, Value};
///
/// let db = Database::open(&path)?;
/// db.query("g.addV('person').property('name', 'Ada')", &Parameters::new(), &QueryOptions::default())?;
/// let names = db.query("g.V().hasLabel('person').values('name')", &Parameters::new(), &QueryOptions::default())?.values()?;
/// assert_eq!(names, [Value::from("Ada")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Database {
    shared: Arc<DatabaseState>,
    /// Ends the wait for other writers.
    cancel: CancelToken,
    crew: Arc<Crew>,
    slow: Option<Arc<SlowLog>>,
}

/// How long a query may work while others wait to commit together with it.
const BRIEF_MAX: Duration = Duration::from_millis(20);

impl Database {
    /// Opens the database in the directory `path` for reading and writing. Creates it if there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a database with `options`. All handles of a process on one database share its open files. A handle that asks for more
    /// than the first one did (to write, or full durability) is refused.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        if path.to_string_lossy().contains("://") || is_description(path) {
            let hint = "a database is a directory on this machine; connect() reaches a graph on many nodes, and open_lake() and \
                 `mangrove query` read graphs in open files";
            return Err(LakeError::Unsupported(format!("{}: {hint}", path.display())).into());
        }
        let doing = || format!("opening {}", path.display());
        let shared = guard::run(path.parent().unwrap_or(path), &doing, || open::open(path, options))?;
        let crew = shared.crew.clone();
        Ok(Self { shared, cancel: CancelToken::default(), crew, slow: None })
    }

    /// A database whose graph `backend` keeps. `name` is its path in messages. Reports of bugs go to the system's temporary directory.
    pub fn over(backend: impl Backend + 'static, name: impl AsRef<Path>) -> Self {
        let reports = std::env::temp_dir().into();
        let shared = open::over(Box::new(backend), name.as_ref(), reports, None);
        let crew = shared.crew.clone();
        Self { shared, cancel: CancelToken::default(), crew, slow: None }
    }

    /// Connects to a graph on many nodes, at an address like `mangrove://host:7701,other:7701/NAME`. The nodes find each other. Queries run
    /// in this process, and ask the nodes for what they read. If the nodes read a lake, the graph cannot be written.
    ///
    /// # Errors
    /// If the address cannot be read, or if no node answers.
    pub fn connect(address: &str) -> Result<Self, OpenError> {
        Self::connect_with(address, false)
    }

    /// The same. A handle that is read-only refuses to write.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect).
    pub fn connect_with(address: &str, is_read_only: bool) -> Result<Self, OpenError> {
        let invalid = |error: &dyn std::fmt::Display| OpenError::Cluster(GraphError::Invalid(error.to_string()));
        let parsed: GraphAddress = address.parse().map_err(|error| invalid(&error))?;
        let doing = || format!("connecting to {address}");
        let connected = guard::run(&std::env::temp_dir(), &doing, || {
            cluster::connect(&parsed, is_read_only).map_err(OpenError::Cluster)
        })?;
        Ok(match connected {
            Connected::Shards(backend) => Self::over(backend, address),
            Connected::Lake(backend) => Self::over(backend, address),
        })
    }

    /// Opens a graph in open files: a GraphAr directory, named by its file `NAME.graph.yml`, or plain Parquet tables, named by a
    /// mapping. Queries read it in place, page by page. It cannot be written.
    ///
    /// # Errors
    /// If a file is missing or says what cannot be. The error names the file.
    pub fn open_lake(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_lake_with(path, &LakeOptions::default())
    }

    /// The same with options: where indexes of edges are kept.
    pub fn open_lake_with(path: impl AsRef<Path>, options: &LakeOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let file = lake_file(path)?;
        let backend = guard::run(&std::env::temp_dir(), &|| format!("opening {}", path.display()), || {
            Ok::<_, OpenError>(LakeBackend::open(file, options)?)
        })?;
        Ok(Self::over(backend, path))
    }

    /// Looks for files of an open lake that others have added, changed or removed, and says which. Queries that run go on with the
    /// files that they began with. A database always shows what was committed last, and answers that nothing has changed.
    pub fn refresh(&self) -> Result<LakeChanges, StoreError> {
        self.guarded(&|| "looking for changed files".into(), || Ok(self.shared.backend.refresh()?))
    }

    /// Makes the indexes of edges of an open lake now. Without this, the first query that follows edges of a type makes them. Returns
    /// how many types of edges have an index.
    pub fn index_edges(&self, progress: &mut dyn Progress) -> Result<u64, StoreError> {
        let limits = ReadContext { cancel: self.cancel.clone(), ..ReadContext::default() };
        self.guarded(&|| "making indexes of edges".into(), || Ok(self.shared.backend.index_edges(Some(limits), progress)?))
    }

    /// This handle with its own threads to help heavy queries. By default all clones of a handle share their threads.
    pub fn with_crew(self, options: CrewOptions) -> Self {
        Self { crew: Arc::new(Crew::new(options)), ..self }
    }

    /// This handle, which tells of each query that takes at least this long, those of its transactions included. It calls `tell` on the
    /// thread of the query, once the query has ended.
    pub fn with_slow_log(self, after: Duration, tell: impl Fn(&SlowQuery) + Send + Sync + 'static) -> Self {
        Self { slow: Some(Arc::new(SlowLog { after, tell: Box::new(tell) })), ..self }
    }

    /// This handle, which stops waiting for other writers when `cancel` is cancelled. The token in the options of a query stops the
    /// query, and the progress of a load stops the load.
    pub fn interruptible(self, cancel: CancelToken) -> Self {
        Self { cancel, ..self }
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    pub fn is_read_only(&self) -> bool {
        self.shared.backend.is_read_only()
    }

    /// Whether its graph is in other processes, which calls wait for.
    pub fn is_far(&self) -> bool {
        self.shared.backend.is_far()
    }

    /// Waits until all processes can read what was committed here.
    pub(crate) fn settle(&self) {
        self.shared.backend.settle();
    }

    /// The last commit that this process has made or read, of a graph on many nodes. Another process that gives it to
    /// [`wait_for`](Self::wait_for) reads that commit, too. `None` for other graphs: all their readers read the last commit.
    pub fn bookmark(&self) -> Option<Bookmark> {
        self.shared.backend.bookmark()
    }

    /// Waits until queries of this process read what a bookmark names. From then on they never read anything older.
    ///
    /// # Errors
    /// If the bookmark is of another graph, if this graph has no bookmarks, or if it takes longer than `timeout`.
    pub fn wait_for(&self, bookmark: Bookmark, timeout: Duration) -> Result<(), StoreError> {
        let deadline = Instant::now().checked_add(timeout);
        let limits = ReadContext { deadline, timeout: Some(timeout), cancel: self.cancel.clone(), ..ReadContext::default() };
        self.guarded(&|| "waiting for a commit".into(), || Ok(self.shared.backend.wait_for(bookmark, &limits)?))
    }

    /// Reads a query, to run it later with [`query`](Self::query). A text that was read before is not parsed again.
    pub fn prepare<'q>(&self, query: impl Into<Written<'q>>) -> Result<Query, QueryError> {
        let written = query.into();
        self.guarded(&|| format!("reading {written}"), || Ok(self.shared.prepared.read(&written)?))
    }

    /// Whether a Gremlin query may change the graph.
    pub fn writes<'q>(&self, query: impl Into<Written<'q>>) -> Result<bool, QueryError> {
        Ok(self.prepare(query)?.writes())
    }

    /// Runs a Gremlin query, as text or bytecode.
    ///
    /// A query that only reads runs while you take its results, over a snapshot of the graph as it is now. A query that writes has
    /// run to its end when this returns. It is a transaction of its own: all its changes are durable, or none was made. Its timeout
    /// also bounds the wait for other writers.
    pub fn query<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<ResultStream, QueryError> {
        self.query_in(query.into(), parameters, options, None)
    }

    /// The same, of the whole graph or of one shard.
    pub(crate) fn query_in(
        &self,
        written: Written<'_>,
        parameters: &Parameters,
        options: &QueryOptions,
        shard: Option<ShardAt>,
    ) -> Result<ResultStream, QueryError> {
        self.guarded(&|| format!("running {written}"), || {
            self.run_helped(&self.shared.prepared.read(&written)?, parameters, options, true, shard)
        })
    }

    /// How the results of a query can be read. Those of many queries over a graph on nodes can be read shard by shard, for example by many
    /// processes at the same time: queries that begin with `V()` or `E()` and treat each traverser by itself, without `order()`, `limit()`,
    /// `dedup()`, `count()`, side effects and the like. Together, the results from all shards are those of the query, in some order.
    ///
    /// ```no_run
    /// # let (nobody, options) = (mangrove::Parameters::new(), mangrove::QueryOptions::default());
    /// use mangrove::{Database, ShardAt, Shards};
    ///
    /// let db = Database::connect("mangrove://127.0.0.1:7701/air")?;
    /// let query = "g.V().hasLabel('airport').out('route').values('city')";
    /// match db.shards(query, &nobody, &options)? {
    ///     Shards::Apart { count, at } => {
    ///         for shard in 0..count {
    ///             let cities = db.on_shard(ShardAt { shard, at }).query(query, &nobody, &options)?;
    ///             println!("{} in shard {shard}", cities.count());
    ///         }
    ///     }
    ///     Shards::Whole { why } => println!("all together, because {why}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the query cannot be planned, or if no node answers.
    pub fn shards<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Shards, QueryError> {
        let written = query.into();
        self.guarded(&|| format!("splitting {written}"), || {
            let query = self.shared.prepared.read(&written)?;
            shards_of(&self.shared, &query, parameters, &self.shared.procedures.options(options))
        })
    }

    /// One shard of a graph on nodes, to be read at a commit that [`shards`](Self::shards) gave to this process or to another one.
    pub fn on_shard(&self, shard: ShardAt) -> OnShard<'_> {
        OnShard { database: self, shard }
    }

    /// Runs a query that only reads, on demand. It holds a snapshot until it ends. It ends with its last result, when you close or
    /// drop it, or when the timeout of `options` has passed, even if nobody reads it. A query that writes has run when this
    /// returns.
    ///
    /// # Errors
    /// As for [`query`](Self::query). Also if this process has a thousand unfinished streams of this database.
    pub fn stream<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Stream, QueryError> {
        self.stream_in(query.into(), parameters, options, None)
    }

    /// The same, of the whole graph or of one shard.
    pub(crate) fn stream_in(
        &self,
        written: Written<'_>,
        parameters: &Parameters,
        options: &QueryOptions,
        shard: Option<ShardAt>,
    ) -> Result<Stream, QueryError> {
        self.guarded(&|| format!("running {written}"), || {
            let query = self.shared.prepared.read(&written)?;
            let place = self.shared.streams.enter()?;
            let results = self.run_helped(&query, parameters, options, place.is_helped(), shard)?;
            // A write is not undone, so its results do not expire either.
            Ok(Stream::new(results, place, options.timeout.filter(|_| !query.writes())))
        })
    }

    /// Measures a query, if slow ones are reported.
    pub(crate) fn watch(&self, text: &str) -> Option<Watch> {
        Watch::new(&self.slow, &text.into())
    }

    fn run_helped(
        &self,
        query: &Query,
        parameters: &Parameters,
        options: &QueryOptions,
        is_helped: bool,
        shard: Option<ShardAt>,
    ) -> Result<ResultStream, QueryError> {
        shard.map_or(Ok(()), |_| must_only_read(query))?;
        let mut watch = Watch::new(&self.slow, query.text());
        let reports = self.shared.reports.clone();
        let memory = Memory::new(options);
        let options = &self.shared.procedures.options(options);
        if query.writes() {
            let (writer, started) = (Writer { is_brief: true, ..Writer::this_thread() }, Instant::now());
            let run = |graph: &mut Graph<'_>, options: &QueryOptions| {
                Rows::collect(query.execute(graph, parameters, options)?, graph, Memory::new(options))
            };
            let rows = match self.shared.backend.run_elsewhere(query, parameters, options, writer)? {
                Some(rows) => rows,
                None if self.is_far() => self.write(query, &options.since(started), run)?,
                None => self.write(query, options, run)?,
            };
            watch.iter_mut().for_each(|watch| watch.all_given(rows.values.len() as u64));
            return Ok(ResultStream::finished(rows, &*self.shared.backend, memory, reports));
        }
        let options = QueryOptions { crew: is_helped.then(|| self.crew.clone()), ..options.clone() };
        let started = Instant::now();
        let begun = match shard {
            None => self.shared.begin_reading(query, parameters, &options)?,
            Some(shard) => self.shared.begin_on_shard(query, parameters, &options, shard)?,
        };
        // The other shards are read at the same commit, so there is no newer one for this.
        let again = (self.is_far() && shard.is_none()).then(|| {
            let (shared, query, parameters) = (self.shared.clone(), query.clone(), parameters.clone());
            Again::new(move || shared.begin_reading(&query, &parameters, &options.since(started)))
        });
        watch.iter_mut().for_each(Watch::pause);
        Ok(ResultStream::running(begun, again, memory, reports, watch))
    }

    /// The plan of a query: as written, after each rule that changed it, and as it would run.
    pub fn explain<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Explanation, QueryError> {
        let written = query.into();
        self.guarded(&|| format!("explaining {written}"), || {
            let query = self.shared.prepared.read(&written)?;
            let (backend, limits) = (&*self.shared.backend, options.read_context());
            let (explained, _) = read_view(backend, Some(&limits), |view| {
                Ok::<_, QueryError>(query.explain(view, parameters, &options_over(view, options))?)
            })?;
            Ok(explained)
        })
    }

    /// Runs a query to its end and reports what each step did. The results are only counted. Changes are kept, as by
    /// [`query`](Self::query).
    pub fn profile<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Profile, QueryError> {
        let written = query.into();
        self.guarded(&|| format!("profiling {written}"), || {
            let query = self.shared.prepared.read(&written)?;
            let options = QueryOptions { profile: true, ..self.shared.procedures.options(options).clone() };
            if query.writes() {
                return self.write(&query, &options, |graph, options| {
                    Ok(query.execute(graph, parameters, options)?.profile(graph)?)
                });
            }
            let (backend, limits) = (&*self.shared.backend, options.read_context());
            let options = QueryOptions { crew: Some(self.crew.clone()), ..options };
            let profiled = read_view(backend, Some(&limits), |view| {
                let graph = &mut Graph::Read(view);
                Ok::<_, QueryError>(query.execute(graph, parameters, &options_over(view, &options))?.profile(graph)?)
            });
            Ok(profiled?.0)
        })
    }

    /// Runs a query that writes in a transaction of its own. If the query is brief, its commit may share a sync with others. If it then
    /// turns out not to be brief, it gives up, so that the others need not wait, and runs again alone.
    fn write<T>(
        &self,
        query: &Query,
        options: &QueryOptions,
        run: impl Fn(&mut Graph<'_>, &QueryOptions) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let mut transaction = self.begin_write(options, query.is_brief())?;
        if transaction.is_waited_for() {
            let is_limited = options.timeout.is_some_and(|timeout| timeout <= BRIEF_MAX);
            let hurried =
                QueryOptions { timeout: if is_limited { options.timeout } else { Some(BRIEF_MAX) }, ..options.clone() };
            transaction.limit(Some(hurried.read_context()));
            match run(&mut Graph::Write(transaction.graph()), &hurried) {
                Err(QueryError::Query(failure)) if failure.kind == QueryErrorKind::Timeout && !is_limited => {
                    drop(transaction);
                    transaction = self.begin_write(options, false)?;
                }
                outcome => {
                    let done = outcome?;
                    transaction.commit()?;
                    return Ok(done);
                }
            }
        }
        let (started, mut left, mut options) = (Instant::now(), AGAIN_MAX, Cow::Borrowed(options));
        loop {
            transaction.limit(Some(options.read_context()));
            match run(&mut Graph::Write(transaction.graph()), &options) {
                Ok(done) => match transaction.commit() {
                    Err(GraphError::TakenOver) if left > 0 => {}
                    outcome => return Ok(outcome.map(|()| done)?),
                },
                Err(_) if left > 0 && transaction.is_lost() => drop(transaction),
                Err(error) => return Err(error),
            }
            // Nothing of it was stored.
            left -= 1;
            options = Cow::Owned(options.since(started));
            transaction = self.begin_write(&options, query.is_brief())?;
        }
    }

    fn begin_write(&self, options: &QueryOptions, is_brief: bool) -> Result<Box<dyn BackendTransaction>, GraphError> {
        let cancelled = || self.cancel.is_cancelled() || options.cancel.is_cancelled();
        let patience = Patience { timeout: options.timeout, cancelled: &cancelled };
        self.begin_for(Writer { is_brief, ..Writer::this_thread() }, patience)
    }

    /// Begins a transaction: several queries and loads that are kept together or not at all. Waits while another one writes. The
    /// transaction belongs to the thread that began it.
    pub fn transaction(&self) -> Result<Transaction, StoreError> {
        self.transaction_for(Writer::this_thread(), None)
    }

    /// Begins a transaction on behalf of `writer`. Waits at most `timeout` for another one to end.
    pub fn transaction_for(&self, writer: Writer, timeout: Option<Duration>) -> Result<Transaction, StoreError> {
        self.guarded(&|| "beginning a transaction".into(), || {
            let patience = Patience { timeout, cancelled: &|| self.cancel.is_cancelled() };
            Ok(Transaction::new(self.begin_for(writer, patience)?, self.shared.clone(), self.slow.clone()))
        })
    }

    /// Loads files and tables in one transaction. If anything fails, the graph stays as it was. A large load into an empty database
    /// goes straight into a compressed segment, unless [`LoadOptions::compact`] says otherwise.
    pub fn load(&self, options: &LoadOptions, progress: &mut dyn Progress) -> Result<LoadReport, LoadError> {
        self.load_in_order(options, &LayoutOptions::default(), progress).map(|(report, _)| report)
    }

    /// The same, with vertices in the order of a layout. The database must be empty, and the load goes into a segment. With
    /// [`Layout::None`], vertices stay in the order of the files, and there is no report of a layout.
    pub fn load_in_order(
        &self,
        options: &LoadOptions,
        layout: &LayoutOptions,
        progress: &mut dyn Progress,
    ) -> Result<(LoadReport, Option<LayoutReport>), LoadError> {
        self.guarded(&|| "loading files".into(), || {
            let started = Instant::now();
            options.files.iter().try_for_each(|file| not_a_lake(file))?;
            declare::before_load(options)?;
            let cancelled = || self.cancel.is_cancelled() || progress.cancelled();
            let patience = Patience { timeout: None, cancelled: &cancelled };
            let transaction = self.begin_for(Writer::this_thread(), patience)?;
            let is_unused = transaction.is_unused()?;
            if layout.layout != Layout::None {
                may_be_ordered(options, is_unused)?;
            }
            let (mut report, ordered) = match is_unused && (layout.layout != Layout::None || options.wants_compaction()?) {
                true => self.load_bulk(transaction.into_bulk()?, options, layout, progress)?,
                false => (self.load_into(transaction, options, progress)?, None),
            };
            self.settle();
            report.duration = started.elapsed();
            let (vertices, edges, rejects) = (report.vertex_count(), report.edge_count(), report.rejects);
            tracing::info!(vertices, edges, rejects, seconds = report.duration.as_secs_f64(), "loaded");
            Ok((report, ordered))
        })
    }

    /// Copies a graph in open files (see [`open_lake`](Self::open_lake)) into this one, in one transaction. If anything fails, the
    /// graph stays as it was. Into an empty database it goes straight into a compressed segment.
    pub fn load_lake(&self, path: impl AsRef<Path>, progress: &mut dyn Progress) -> Result<LoadReport, LoadError> {
        let path = path.as_ref();
        self.guarded(&|| format!("loading {}", path.display()), || {
            let started = Instant::now();
            let lake = Arc::new(Lake::open(&lake_file(path)?, &LakeOptions::default())?);
            let cancelled = || self.cancel.is_cancelled() || progress.cancelled();
            let mut transaction =
                self.begin_for(Writer::this_thread(), Patience { timeout: None, cancelled: &cancelled })?;
            let mut report = if transaction.is_unused()? {
                let mut bulk = transaction.into_bulk()?;
                let report = mangrove_lake::load(&lake, bulk.graph(), progress)?;
                progress.update(&compacting(&report));
                bulk.commit(&|| self.cancel.is_cancelled() || progress.cancelled())?;
                report
            } else {
                let report = mangrove_lake::load(&lake, transaction.graph(), progress)?;
                transaction.commit()?;
                report
            };
            self.settle();
            report.duration = started.elapsed();
            Ok(report)
        })
    }

    /// Reads the graph as it is now without a query language.
    pub fn read_directly<T>(&self, read: impl FnOnce(DirectReads<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.guarded(&|| "reading directly".into(), || {
            let view = self.shared.backend.view(None)?;
            read(DirectReads::new(&*view))
        })
    }

    /// Changes the graph without a query language, in one transaction: all changes are durable when this returns, or none was made.
    /// Returns warnings, too: of new names that are almost those of the graph.
    pub fn write_directly<T>(
        &self,
        write: impl FnOnce(&mut DirectWrites<'_>) -> Result<T, StoreError>,
    ) -> Result<(T, Vec<String>), StoreError> {
        self.guarded(&|| "writing directly".into(), || {
            let patience = Patience { timeout: None, cancelled: &|| self.cancel.is_cancelled() };
            let mut transaction = self.begin_for(Writer { is_brief: true, ..Writer::this_thread() }, patience)?;
            let mut writes = DirectWrites::new(transaction.graph());
            let done = write(&mut writes)?;
            let warnings = std::mem::take(&mut writes.warnings);
            transaction.commit()?;
            Ok((done, warnings))
        })
    }

    /// Writes how the files of a load would be read to a mapping, and loads nothing. Returns the number of files.
    pub fn write_mapping(&self, options: &LoadOptions, path: &Path) -> Result<usize, LoadError> {
        self.guarded(&|| "writing a mapping".into(), || {
            let snapshot = self.shared.backend.view(None)?;
            Ok(mangrove_ingest::write_mapping(options, snapshot.schema(), path)?)
        })
    }

    fn load_bulk(
        &self,
        mut bulk: Box<dyn BulkLoad>,
        options: &LoadOptions,
        layout: &LayoutOptions,
        progress: &mut dyn Progress,
    ) -> Result<(LoadReport, Option<LayoutReport>), LoadError> {
        let report = mangrove_ingest::load(bulk.graph(), options, progress)?;
        declare::after_load(bulk.graph(), options, &|| self.cancel.is_cancelled() || progress.cancelled())?;
        let ordered = match layout.layout {
            Layout::None => tried(bulk.graph(), layout, progress)?,
            _ => Some(reorder(&mut *bulk, layout, progress)?),
        };
        progress.update(&compacting(&report));
        bulk.commit(&|| self.cancel.is_cancelled() || progress.cancelled())?;
        Ok((report, ordered))
    }

    fn load_into(
        &self,
        mut transaction: Box<dyn BackendTransaction>,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<LoadReport, LoadError> {
        let report = mangrove_ingest::load(transaction.graph(), options, progress)?;
        declare::after_load(transaction.graph(), options, &|| self.cancel.is_cancelled() || progress.cancelled())?;
        transaction.commit()?;
        if options.compact == Some(true) {
            progress.update(&compacting(&report));
            let cancelled = || self.cancel.is_cancelled() || progress.cancelled();
            self.shared.backend.compact(Writer::this_thread(), Patience { timeout: None, cancelled: &cancelled })?;
        }
        Ok(report)
    }

    /// Starts to take vertices and edges in batches. Each batch is committed by itself.
    pub fn ingest(&self, options: IngestOptions) -> Result<Ingestion, LoadError> {
        if self.is_read_only() { Err(GraphError::ReadOnly.into()) } else { Ok(Ingestion::new(self.clone(), options)) }
    }

    /// Builds an index of a property and keeps it up to date. So `has(label, key, …)` need not look at every element. Without a
    /// `kind`, only vertices or only edges may have the label. Returns false if there was an index already. O(elements of the
    /// label).
    pub fn create_index(&self, kind: Option<ElementKind>, label: &str, key: &str) -> Result<bool, StoreError> {
        self.writing("creating an index", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            declare::index(graph, of)
        })
    }

    /// Makes a property unique: no two elements of `label` may share a value under `key`, now or later. Nulls do not count. Makes
    /// an index if there is none. Returns false if the property was already unique. If two elements share a value, fails and names
    /// them.
    pub fn create_unique_index(&self, kind: Option<ElementKind>, label: &str, key: &str) -> Result<bool, StoreError> {
        self.writing("creating a unique index", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            Ok(graph.declare_unique(of)?)
        })
    }

    /// Makes an index routed: in a graph on nodes, a search for a value asks a directory, and then only the shards that may have it.
    /// Makes the index if there is none, and makes it unique if that is wanted. Returns false if it was all this already. O(elements
    /// of the label). A database on this machine has no shards: there, it only stays with copies and exports.
    pub fn create_routed_index(
        &self,
        kind: Option<ElementKind>,
        label: &str,
        key: &str,
        unique: bool,
    ) -> Result<bool, StoreError> {
        self.writing("creating a routed index", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            let made = if unique { graph.declare_unique(of)? } else { declare::index(graph, of)? };
            let routed = graph.declare_routed(of)?;
            Ok(made || routed)
        })
    }

    /// Drops an index. Returns false if there was none.
    pub fn drop_index(&self, kind: Option<ElementKind>, label: &str, key: &str) -> Result<bool, StoreError> {
        self.writing("dropping an index", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            Ok(graph.drop_index(of)?)
        })
    }

    /// Renames a label. Without a `kind`, only vertices or only edges may have the label. Fails if the new name is taken. O(1):
    /// touches no element.
    pub fn rename_label(&self, kind: Option<ElementKind>, label: &str, name: &str) -> Result<(), StoreError> {
        self.writing("renaming a label", |graph| {
            let (kind, label) = declare::known_label(graph.schema(), kind, label)?;
            Ok(graph.rename_label(kind, label, name)?)
        })
    }

    /// Drops a label, with its declarations and indexes. If an element has the label, fails and names one.
    pub fn drop_label(&self, kind: Option<ElementKind>, label: &str) -> Result<(), StoreError> {
        self.writing("dropping a label", |graph| {
            let (kind, label) = declare::known_label(graph.schema(), kind, label)?;
            Ok(graph.drop_label(kind, label)?)
        })
    }

    /// Drops a property of a label from the schema, with its declarations and index. If an element has the property, fails and
    /// names one. O(elements of the label).
    pub fn drop_property(&self, kind: Option<ElementKind>, label: &str, key: &str) -> Result<(), StoreError> {
        self.writing("dropping a property", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            Ok(graph.drop_property(of)?)
        })
    }

    /// Drops all labels and properties that no element has and that have no declaration. Returns their names, as `user` and
    /// `user.email`. O(elements).
    pub fn drop_unused(&self) -> Result<Vec<String>, StoreError> {
        self.writing("dropping what is unused", |graph| declare::drop_unused(graph))
    }

    /// Declares what elements of `label` may have under `key`, and what they must have. Label and key may be new. Fails if stored
    /// values do not fit. Returns warnings: of a new name that is almost one of the graph.
    pub fn declare_property(
        &self,
        kind: ElementKind,
        label: &str,
        key: &str,
        declaration: Declaration,
    ) -> Result<Vec<String>, StoreError> {
        let Declaration { value_type, cardinality, unique, required } = declaration;
        self.writing("declaring a property", |graph| {
            let warnings = declare::near_misses(graph.schema(), kind, label, key);
            let label = graph.ensure_label(kind, label)?;
            let key = graph.ensure_key(key)?;
            graph.declare_property(kind, label, key, value_type, cardinality)?;
            if let Some(required) = required {
                graph.declare_required(kind, label, key, required)?;
            }
            let of = PropertyId { kind, label, key };
            match unique {
                Some(true) => graph.declare_unique(of).map(|_| ())?,
                // A plain index stays, for queries that use it.
                Some(false) => {
                    if let Some(IndexSchema { routed, .. }) = graph.schema().index(of).filter(|index| index.unique).copied()
                    {
                        graph.drop_index(of)?;
                        graph.create_index(of)?;
                        if routed {
                            graph.declare_routed(of)?;
                        }
                    }
                }
                None => {}
            }
            Ok(warnings)
        })
    }

    /// Sets how the values of `key` of vertices or edges of `label` are stored when they are compressed. It takes effect at their
    /// next compression; [`compact`](Self::compact) does that at once. [`Encoding::Searchable`] finds any part of a text without an
    /// index.
    pub fn set_encoding(&self, label: &str, key: &str, encoding: Encoding) -> Result<(), StoreError> {
        self.writing("setting an encoding", |graph| declare::set(graph, label, key, encoding))
    }

    /// Makes `key` the key of the vertices of `label`: the property that is their id (`T.id`). Label and key may be new. A key is
    /// found without an index, is unique, and never changes. Fails if a vertex has another value there. O(vertices of the label).
    /// Returns warnings, as [`declare_property`](Self::declare_property) does.
    pub fn declare_key(&self, label: &str, key: &str) -> Result<Vec<String>, StoreError> {
        self.writing("declaring a key", |graph| {
            let warnings = declare::near_misses(graph.schema(), ElementKind::Vertex, label, key);
            let label = graph.ensure_label(ElementKind::Vertex, label)?;
            let key = graph.ensure_key(key)?;
            graph.declare_key(label, key)?;
            Ok(warnings)
        })
    }

    /// Makes `key` the time of the edges of `label`: the edges of a vertex are then ordered by it. Fails once there are such edges.
    pub fn declare_time(&self, label: &str, key: &str) -> Result<(), StoreError> {
        self.writing("declaring the time of edges", |graph| {
            let label = graph.ensure_label(ElementKind::Edge, label)?;
            let key = graph.ensure_key(key)?;
            Ok(graph.declare_time(label, key)?)
        })
    }

    /// Registers `procedure`, so that queries on this database can run it with `call(name)` while this process has the database
    /// open. It replaces an earlier one of that name. Names that begin with `mangrove.` are reserved.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("people.mg");
    /// use mangrove::{Database, Parameters, Procedure, QueryOptions, Value};
    ///
    /// let db = Database::open(&path)?;
    /// db.register_procedure("squares", Procedure::new(|call| {
    ///     let below = call.parameter("below").and_then(Value::as_i64).ok_or("`below` is an integer")?;
    ///     Ok(Box::new((0..).map(|n| n * n).take_while(move |n| *n < below).map(|n| Ok(Value::Int64(n)))))
    /// }))?;
    /// let mut squares = db.query("g.call('squares').with('below', 10)", &Parameters::new(), &QueryOptions::default())?;
    /// assert_eq!(squares.values()?, [0, 1, 4, 9].map(Value::Int64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_procedure(&self, name: &str, procedure: Procedure) -> Result<(), StoreError> {
        Ok(self.shared.procedures.register(name, procedure)?)
    }

    /// Removes a procedure. Returns false if there was none of that name.
    pub fn unregister_procedure(&self, name: &str) -> bool {
        self.shared.procedures.unregister(name)
    }

    /// A consistent view of the graph as it is now.
    pub fn snapshot(&self) -> Result<Box<dyn BackendView>, StoreError> {
        self.guarded(&|| "taking a snapshot".into(), || Ok(self.shared.backend.view(None)?))
    }

    /// Labels, properties and indexes as they are now.
    pub fn schema(&self) -> Result<Arc<Schema>, StoreError> {
        Ok(self.snapshot()?.schema().clone())
    }

    pub(crate) fn read_schema(&self) -> Result<Arc<Schema>, GraphError> {
        Ok(self.shared.backend.view(None)?.schema().clone())
    }

    /// Counts of elements, and sizes.
    pub fn stats(&self) -> Result<StoreStats, StoreError> {
        self.guarded(&|| "collecting statistics".into(), || Ok(self.shared.backend.stats()?))
    }

    /// The nodes of a graph on many nodes, and how they are; `None` for other graphs.
    pub fn nodes(&self) -> Result<Option<Vec<NodeHeard>>, StoreError> {
        self.guarded(&|| "asking the nodes how they are".into(), || Ok(self.shared.backend.nodes()?))
    }

    /// Reads the whole database and reports every contradiction in it.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        self.guarded(&|| "checking the database".into(), || Ok(self.shared.backend.check()?))
    }

    /// Writes a consistent copy of the database to the directory `destination`, which must be empty or not exist yet. Others read
    /// and write meanwhile.
    pub fn backup(&self, destination: impl AsRef<Path>) -> Result<(), StoreError> {
        self.guarded(&|| "making a backup".into(), || Ok(self.shared.backend.backup(destination.as_ref())?))
    }

    /// Moves everything into one compressed segment, which queries read in place. Returns its size in bytes. Others read and write
    /// meanwhile. A crash leaves the database as it was, or compacted.
    pub fn compact(&self) -> Result<u64, StoreError> {
        let patience = Patience { timeout: None, cancelled: &|| self.cancel.is_cancelled() };
        self.guarded(&|| "compacting the database".into(), || {
            Ok(self.shared.backend.compact(Writer::this_thread(), patience)?)
        })
    }

    /// Writes the graph as it is now to files in `directory`, which must be empty or not exist yet.
    pub fn export(
        &self,
        directory: impl AsRef<Path>,
        format: ExportFormat,
        progress: &mut dyn Progress,
    ) -> Result<ExportReport, ExportError> {
        self.export_in_order(directory, format, &LayoutOptions::default(), progress)
    }

    /// The same, with vertices in the order of a layout, and edges in that of their sources.
    pub fn export_in_order(
        &self,
        directory: impl AsRef<Path>,
        format: ExportFormat,
        layout: &LayoutOptions,
        progress: &mut dyn Progress,
    ) -> Result<ExportReport, ExportError> {
        self.guarded(&|| "exporting".into(), || {
            let snapshot = self.shared.backend.view(None)?;
            let order = order_of_export(&*snapshot, layout, progress)?;
            Ok(mangrove_ingest::export_in_order(&*snapshot, order.as_ref(), directory.as_ref(), format, progress)?)
        })
    }

    /// Writes the graph as it is now as a GraphAr directory, which must be empty or not exist yet. It has its name once it is complete.
    ///
    /// # Errors
    /// If GraphAr cannot hold all of the graph and `options` do not allow a loss. Then nothing is written.
    pub fn export_lake(
        &self,
        directory: impl AsRef<Path>,
        options: &GraphArOptions,
        progress: &mut dyn Progress,
    ) -> Result<GraphArReport, ExportError> {
        self.export_lake_in_order(directory, options, &LayoutOptions::default(), progress)
    }

    /// The same, with vertices in the order of a layout.
    pub fn export_lake_in_order(
        &self,
        directory: impl AsRef<Path>,
        options: &GraphArOptions,
        layout: &LayoutOptions,
        progress: &mut dyn Progress,
    ) -> Result<GraphArReport, ExportError> {
        self.guarded(&|| "exporting".into(), || {
            let snapshot = self.shared.backend.view(None)?;
            let order = order_of_export(&*snapshot, layout, progress)?;
            Ok(mangrove_lake::export_in_order(&*snapshot, order.as_ref(), directory.as_ref(), options, progress)?)
        })
    }

    /// Runs `work` in a transaction of its own. Commits if it succeeds.
    pub(crate) fn writing<T, E>(&self, doing: &str, work: impl FnOnce(&mut dyn GraphWrite) -> Result<T, E>) -> Result<T, E>
    where
        E: From<GraphError> + From<Bug>,
    {
        self.guarded(&|| doing.into(), || {
            let mut transaction = self.begin()?;
            let outcome = work(transaction.graph())?;
            transaction.commit()?;
            Ok(outcome)
        })
    }

    pub(crate) fn begin(&self) -> Result<Box<dyn BackendTransaction>, GraphError> {
        self.begin_for(Writer::this_thread(), Patience { timeout: None, cancelled: &|| self.cancel.is_cancelled() })
    }

    fn begin_for(&self, writer: Writer, patience: Patience<'_>) -> Result<Box<dyn BackendTransaction>, GraphError> {
        self.shared.backend.begin(writer, patience)
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.shared.backend
    }

    pub(crate) fn projections(&self) -> &Projections {
        &self.shared.projections
    }

    pub(crate) fn kept_paths(&self) -> &KeptPaths {
        &self.shared.kept_paths
    }

    pub(crate) fn guarded<T, E: From<Bug>>(
        &self,
        doing: &dyn Fn() -> String,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        guard::run(&self.shared.reports, doing, work)
    }
}

/// Refuses a load that asks for an order and cannot have one.
fn may_be_ordered(options: &LoadOptions, is_unused: bool) -> Result<(), LoadError> {
    let hint = match (is_unused, options.compact) {
        (false, _) => "the database is not empty. Load first, and then write it anew with relayout()",
        (true, Some(false)) => "the load is not to be compacted. Leave that out, as an ordered load goes into a segment",
        (true, _) => return Ok(()),
    };
    Err(GraphError::Invalid(format!("vertices cannot be loaded in the order of a layout: {hint}")).into())
}

/// The progress of a load while its data is compacted.
fn compacting(report: &LoadReport) -> Status {
    let rows = report.vertex_count() + report.edge_count();
    Status { phase: Phase::Compacting, rows, ..Status::default() }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::Value;

    use super::*;

    fn count(db: &Database) -> Value {
        db.query("g.V().count()", &Parameters::new(), &QueryOptions::default()).unwrap().values().unwrap().remove(0)
    }

    #[test]
    fn a_panic_while_writing_leaves_no_trace_and_a_usable_database() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("db.mg")).unwrap();
        let outcome: Result<(), StoreError> = db.writing("testing", |graph| {
            let label = graph.ensure_label(ElementKind::Vertex, "thing")?;
            graph.add_vertices(label, &[None, None], &mut Vec::new())?;
            panic!("halfway");
        });
        let Err(StoreError::Bug(bug)) = outcome else { panic!("{outcome:?}") };
        let report = bug.report.expect("the directory can be written to");
        assert_eq!(report.parent(), Some(directory.path()));
        assert!(std::fs::read_to_string(report).unwrap().contains("halfway"));
        assert_eq!(count(&db), Value::Int64(0));
        db.query("g.addV('thing')", &Parameters::new(), &QueryOptions::default()).unwrap();
        assert_eq!(count(&db), Value::Int64(1));
        assert!(db.check().unwrap().violations.is_empty());
    }
}
