//! A database: opened once, shared by every thread.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_graph::{Declaration, ElementKind, GraphError, GraphView, GraphWrite, PropertyId, Schema};
use mangrove_ingest::{ExportFormat, ExportReport, IngestOptions, LoadOptions, LoadReport, Phase, Progress, Status};
use mangrove_query::{CancelToken, Crew, CrewOptions, Explanation, Graph, Parameters, Procedure, Profile, Query};
use mangrove_snapshot::{Bulk, CheckReport, Patience, Snapshot, StoreStats, Writer};

use crate::declare;
use crate::error::{ExportError, LoadError, OpenError, QueryError, StoreError};
use crate::guard::{self, Bug};
use crate::ingestion::Ingestion;
use crate::memory::Memory;
use crate::open::{self, Shared};
use crate::stream::{ResultStream, Rows};
use crate::streams::Stream;
use crate::transaction::Transaction;
use crate::written::Written;
use crate::{Encoding, OpenOptions, QueryOptions};

/// A property graph in a directory.
///
/// Cloning gives another handle on the same open database; handles can be sent to and used from any thread. One transaction
/// writes at a time, others wait for it; any number of threads and processes read meanwhile, each query on the state of the
/// last commit before it began.
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
    shared: Arc<Shared>,
    /// Ends waits for other writers.
    cancel: CancelToken,
    crew: Arc<Crew>,
}

impl Database {
    /// Opens the database in the directory `path` for reading and writing; makes it if there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a database as `options` say. Handles on one database in one process share what is open; one that asks for more
    /// than the first of them did (to write, or full durability) is refused.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let doing = || format!("opening {}", path.display());
        let shared = guard::run(path.parent().unwrap_or(path), &doing, || open::open(path, options))?;
        let crew = shared.crew.clone();
        Ok(Self { shared, cancel: CancelToken::default(), crew })
    }

    /// This handle with threads of its own to help its heavy queries, in place of those all clones of a handle share.
    pub fn with_crew(self, options: CrewOptions) -> Self {
        Self { crew: Arc::new(Crew::new(options)), ..self }
    }

    /// This handle, which stops waiting for other writers when `cancel` is cancelled. A query is stopped by the token of its
    /// own options too, and a load by its progress.
    pub fn interruptible(self, cancel: CancelToken) -> Self {
        Self { cancel, ..self }
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    pub fn is_read_only(&self) -> bool {
        self.shared.store.is_read_only()
    }

    /// Whether a Gremlin query changes the graph.
    pub fn writes<'q>(&self, query: impl Into<Written<'q>>) -> Result<bool, QueryError> {
        let written = query.into();
        self.guarded(&|| format!("reading {written}"), || Ok(self.shared.prepared.read(&written)?.writes()))
    }

    /// Runs a Gremlin query, as text or bytecode.
    ///
    /// A query that only reads runs as its results are taken, over a snapshot of the graph as it is now. One that writes has
    /// run to its end when this returns, in a transaction of its own: either all it did is durable, or nothing. Its timeout
    /// bounds the wait for other writers too.
    pub fn query<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<ResultStream, QueryError> {
        let written = query.into();
        self.guarded(&|| format!("running {written}"), || {
            self.run_helped(&self.shared.prepared.read(&written)?, parameters, options, true)
        })
    }

    /// Runs a query that only reads, as its results are asked for. It holds a snapshot until it ends: with its results, when it is closed or
    /// dropped, or once the timeout of `options` is over, though nobody reads it. A query that writes has run when this returns.
    ///
    /// # Errors
    /// As [`query`](Self::query), and if a thousand streams of this database are unfinished in this process.
    pub fn stream<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Stream, QueryError> {
        let written = query.into();
        self.guarded(&|| format!("running {written}"), || {
            let query = self.shared.prepared.read(&written)?;
            let place = self.shared.streams.enter()?;
            let results = self.run_helped(&query, parameters, options, place.is_helped())?;
            // What was written is not taken back, so its results do not expire either.
            Ok(Stream::new(results, place, options.timeout.filter(|_| !query.writes())))
        })
    }

    fn run_helped(
        &self,
        query: &Query,
        parameters: &Parameters,
        options: &QueryOptions,
        is_helped: bool,
    ) -> Result<ResultStream, QueryError> {
        let reports = self.shared.reports.clone();
        let memory = Memory::new(options);
        let options = &self.shared.procedures.options(options);
        if query.writes() {
            let mut transaction = self.begin_write(options)?;
            let graph = &mut Graph::Write(&mut transaction);
            let rows = Rows::collect(query.execute(graph, parameters, options)?, graph, Memory::new(options))?;
            transaction.commit()?;
            return Ok(ResultStream::finished(rows, self.shared.store.snapshot(), memory, reports));
        }
        let snapshot = self.shared.store.snapshot()?;
        let options = QueryOptions { crew: is_helped.then(|| self.crew.clone()), ..options.clone() };
        let execution = query.execute(&mut Graph::Read(&snapshot), parameters, &options)?;
        Ok(ResultStream::running(execution, snapshot, memory, reports))
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
            let snapshot = self.shared.store.snapshot()?;
            Ok(query.explain(&snapshot, parameters, options)?)
        })
    }

    /// Runs a query to its end, and tells what each of its steps did; its results are only counted. What the query changes is
    /// kept, as by [`query`](Self::query).
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
                let mut transaction = self.begin_write(&options)?;
                let graph = &mut Graph::Write(&mut transaction);
                let profile = query.execute(graph, parameters, &options)?.profile(graph)?;
                transaction.commit()?;
                return Ok(profile);
            }
            let snapshot = self.shared.store.snapshot()?;
            let options = QueryOptions { crew: Some(self.crew.clone()), ..options };
            let graph = &mut Graph::Read(&snapshot);
            Ok(query.execute(graph, parameters, &options)?.profile(graph)?)
        })
    }

    /// A transaction for one query.
    fn begin_write(&self, options: &QueryOptions) -> Result<mangrove_snapshot::Transaction, GraphError> {
        let cancelled = || self.cancel.is_cancelled() || options.cancel.is_cancelled();
        let patience = Patience { timeout: options.timeout, cancelled: &cancelled };
        self.begin_for(Writer::this_thread(), patience)
    }

    /// Begins a transaction: several queries and loads that are kept together or not at all. Waits while another one writes.
    /// It belongs to the thread that began it.
    pub fn transaction(&self) -> Result<Transaction, StoreError> {
        self.transaction_for(Writer::this_thread(), None)
    }

    /// Begins a transaction on behalf of `writer`, who waits at most `timeout` for another one to end.
    pub fn transaction_for(&self, writer: Writer, timeout: Option<Duration>) -> Result<Transaction, StoreError> {
        self.guarded(&|| "beginning a transaction".into(), || {
            let patience = Patience { timeout, cancelled: &|| self.cancel.is_cancelled() };
            Ok(Transaction::new(self.begin_for(writer, patience)?, self.shared.clone()))
        })
    }

    /// Loads files and tables, in one transaction: if anything fails the graph is as it was. What a large load brings into a
    /// database with nothing in it goes straight into a compressed segment ([`LoadOptions::compact`] decides otherwise).
    pub fn load(&self, options: &LoadOptions, progress: &mut dyn Progress) -> Result<LoadReport, LoadError> {
        self.guarded(&|| "loading files".into(), || {
            let started = Instant::now();
            declare::before_load(options)?;
            let cancelled = || self.cancel.is_cancelled() || progress.cancelled();
            let patience = Patience { timeout: None, cancelled: &cancelled };
            let transaction = self.begin_for(Writer::this_thread(), patience)?;
            let mut report = match options.wants_compaction()? && transaction.is_unused()? {
                true => self.load_bulk(transaction.into_bulk()?, options, progress)?,
                false => self.load_into(transaction, options, progress)?,
            };
            report.duration = started.elapsed();
            Ok(report)
        })
    }

    /// Writes how the files of a load would be read to a mapping, and loads nothing. Returns how many files there are.
    pub fn write_mapping(&self, options: &LoadOptions, path: &Path) -> Result<usize, LoadError> {
        self.guarded(&|| "writing a mapping".into(), || {
            let snapshot = self.shared.store.snapshot()?;
            Ok(mangrove_ingest::write_mapping(options, snapshot.schema(), path)?)
        })
    }

    fn load_bulk(
        &self,
        mut bulk: Bulk,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<LoadReport, LoadError> {
        let report = mangrove_ingest::load(bulk.graph(), options, progress)?;
        progress.update(&compacting(&report));
        let cancelled = || self.cancel.is_cancelled() || progress.cancelled();
        declare::after_load(bulk.graph(), options, &cancelled)?;
        bulk.commit(&cancelled)?;
        Ok(report)
    }

    fn load_into(
        &self,
        mut transaction: mangrove_snapshot::Transaction,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<LoadReport, LoadError> {
        let report = mangrove_ingest::load(&mut transaction, options, progress)?;
        declare::after_load(&mut transaction, options, &|| self.cancel.is_cancelled() || progress.cancelled())?;
        transaction.commit()?;
        if options.compact == Some(true) {
            progress.update(&compacting(&report));
            let cancelled = || self.cancel.is_cancelled() || progress.cancelled();
            self.shared.store.compact(Writer::this_thread(), Patience { timeout: None, cancelled: &cancelled })?;
        }
        Ok(report)
    }

    /// Begins to take vertices and edges in batches that are committed as they come.
    pub fn ingest(&self, options: IngestOptions) -> Result<Ingestion, LoadError> {
        if self.is_read_only() { Err(GraphError::ReadOnly.into()) } else { Ok(Ingestion::new(self.clone(), options)) }
    }

    /// Builds an index of a property, so that `has(label, key, …)` need not look at every element, and keeps it from now on. Without a
    /// kind only vertices or only edges may have the label. Returns false if there was an index already. O(elements of the label).
    pub fn create_index(&self, kind: Option<ElementKind>, label: &str, key: &str) -> Result<bool, StoreError> {
        self.writing("creating an index", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            Ok(graph.create_index(of)?)
        })
    }

    /// Makes sure that no two elements of `label` share a value under `key`, now and from now on; nulls aside. It makes an index, if there
    /// is none. Returns false if it was so already. Fails, and names two elements, if they share one.
    pub fn create_unique_index(&self, kind: Option<ElementKind>, label: &str, key: &str) -> Result<bool, StoreError> {
        self.writing("creating a unique index", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            Ok(graph.declare_unique(of)?)
        })
    }

    /// Drops an index. Returns false if there was none.
    pub fn drop_index(&self, kind: Option<ElementKind>, label: &str, key: &str) -> Result<bool, StoreError> {
        self.writing("dropping an index", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            Ok(graph.drop_index(of)?)
        })
    }

    /// Gives a label another name. Without a kind only vertices or only edges may have the label. Fails if there is a label of that name.
    /// O(1): no element is touched.
    pub fn rename_label(&self, kind: Option<ElementKind>, label: &str, name: &str) -> Result<(), StoreError> {
        self.writing("renaming a label", |graph| {
            let (kind, label) = declare::known_label(graph.schema(), kind, label)?;
            Ok(graph.rename_label(kind, label, name)?)
        })
    }

    /// Drops a label that no element has, with its declarations and indexes. Fails, and names an element, if one has it.
    pub fn drop_label(&self, kind: Option<ElementKind>, label: &str) -> Result<(), StoreError> {
        self.writing("dropping a label", |graph| {
            let (kind, label) = declare::known_label(graph.schema(), kind, label)?;
            Ok(graph.drop_label(kind, label)?)
        })
    }

    /// Drops a property of a label from the schema, with its declarations and index. Fails, and names an element, if one has it.
    /// O(elements of the label).
    pub fn drop_property(&self, kind: Option<ElementKind>, label: &str, key: &str) -> Result<(), StoreError> {
        self.writing("dropping a property", |graph| {
            let of = declare::known(graph.schema(), kind, label, key)?;
            Ok(graph.drop_property(of)?)
        })
    }

    /// Drops all labels and properties that no element has and of which nothing is declared. Returns their names, as `user` and
    /// `user.email`. O(elements).
    pub fn drop_unused(&self) -> Result<Vec<String>, StoreError> {
        self.writing("dropping what is unused", |graph| declare::drop_unused(graph))
    }

    /// Says what elements of `label` may have under `key`, and what they must; either may be new. Fails if what is stored already does
    /// not keep to it.
    pub fn declare_property(
        &self,
        kind: ElementKind,
        label: &str,
        key: &str,
        declaration: Declaration,
    ) -> Result<(), StoreError> {
        let Declaration { value_type, cardinality, unique, required } = declaration;
        self.writing("declaring a property", |graph| {
            let label = graph.ensure_label(kind, label)?;
            let key = graph.ensure_key(key)?;
            graph.declare_property(kind, label, key, value_type, cardinality)?;
            if let Some(required) = required {
                graph.declare_required(kind, label, key, required)?;
            }
            let of = PropertyId { kind, label, key };
            match unique {
                Some(true) => graph.declare_unique(of).map(|_| ())?,
                // An index stays, for those who search by it.
                Some(false) if graph.schema().index(of).is_some_and(|index| index.unique) => {
                    graph.drop_index(of)?;
                    graph.create_index(of)?;
                }
                _ => {}
            }
            Ok(())
        })
    }

    /// Says how what vertices or edges of `label` have under `key` is kept where it is compressed, from the next time it is: at the
    /// latest by [`compact`](Self::compact). With [`Encoding::Searchable`], any part of a text is found without an index.
    pub fn set_encoding(&self, label: &str, key: &str, encoding: Encoding) -> Result<(), StoreError> {
        self.writing("setting an encoding", |graph| declare::set(graph, label, key, encoding))
    }

    /// Makes `key` the key of vertices of `label`, either of which may be new: the property that is their id (`T.id`), and so is found
    /// without an index, is unique, and never changes. Fails if a vertex has another value there. Takes time in proportion to the number of
    /// vertices of the label.
    pub fn declare_key(&self, label: &str, key: &str) -> Result<(), StoreError> {
        self.writing("declaring a key", |graph| {
            let label = graph.ensure_label(ElementKind::Vertex, label)?;
            let key = graph.ensure_key(key)?;
            Ok(graph.declare_key(label, key)?)
        })
    }

    /// Makes `key` the time of edges of `label`: a vertex's edges of that label come in its order. Only while there are none.
    pub fn declare_time(&self, label: &str, key: &str) -> Result<(), StoreError> {
        self.writing("declaring the time of edges", |graph| {
            let label = graph.ensure_label(ElementKind::Edge, label)?;
            let key = graph.ensure_key(key)?;
            Ok(graph.declare_time(label, key)?)
        })
    }

    /// Lets queries on this database run `procedure` with `call(name)`, as long as this process has the database open; one of that
    /// name is replaced. Names that begin with `mangrove.` are taken.
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

    /// Takes back a procedure. Returns false if there was none of that name.
    pub fn unregister_procedure(&self, name: &str) -> bool {
        self.shared.procedures.unregister(name)
    }

    /// A consistent view of the graph as it is now.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.guarded(&|| "taking a snapshot".into(), || Ok(self.shared.store.snapshot()?))
    }

    /// Labels, properties and indexes as they are now.
    pub fn schema(&self) -> Result<Schema, StoreError> {
        Ok(self.snapshot()?.schema().clone())
    }

    pub(crate) fn read_schema(&self) -> Result<Schema, GraphError> {
        Ok(self.shared.store.snapshot()?.schema().clone())
    }

    /// Counts and sizes.
    pub fn stats(&self) -> Result<StoreStats, StoreError> {
        self.guarded(&|| "collecting statistics".into(), || Ok(self.shared.store.stats()?))
    }

    /// Reads the whole database and reports everything that contradicts itself.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        self.guarded(&|| "checking the database".into(), || Ok(self.shared.store.check()?))
    }

    /// Writes a consistent copy of the database to the directory `destination`, which must be empty or not there yet, while
    /// others read and write on.
    pub fn backup(&self, destination: impl AsRef<Path>) -> Result<(), StoreError> {
        self.guarded(&|| "making a backup".into(), || Ok(self.shared.store.backup(destination.as_ref())?))
    }

    /// Moves all that is stored into one compressed segment, which is queried in place, and gives its size in bytes. Others read
    /// and write meanwhile. A crash leaves the database as it was, or compacted.
    pub fn compact(&self) -> Result<u64, StoreError> {
        let patience = Patience { timeout: None, cancelled: &|| self.cancel.is_cancelled() };
        self.guarded(&|| "compacting the database".into(), || {
            Ok(self.shared.store.compact(Writer::this_thread(), patience)?)
        })
    }

    /// Writes the graph as it is now to files in `directory`, which must be empty or not there yet.
    pub fn export(
        &self,
        directory: impl AsRef<Path>,
        format: ExportFormat,
        progress: &mut dyn Progress,
    ) -> Result<ExportReport, ExportError> {
        self.guarded(&|| "exporting".into(), || {
            let snapshot = self.shared.store.snapshot()?;
            Ok(mangrove_ingest::export(&snapshot, directory.as_ref(), format, progress)?)
        })
    }

    /// Does `work` in a transaction of its own, which is kept if it succeeds.
    pub(crate) fn writing<T, E>(&self, doing: &str, work: impl FnOnce(&mut dyn GraphWrite) -> Result<T, E>) -> Result<T, E>
    where
        E: From<GraphError> + From<Bug>,
    {
        self.guarded(&|| doing.into(), || {
            let mut transaction = self.begin()?;
            let outcome = work(&mut transaction)?;
            transaction.commit()?;
            Ok(outcome)
        })
    }

    pub(crate) fn begin(&self) -> Result<mangrove_snapshot::Transaction, GraphError> {
        self.begin_for(Writer::this_thread(), Patience { timeout: None, cancelled: &|| self.cancel.is_cancelled() })
    }

    fn begin_for(&self, writer: Writer, patience: Patience<'_>) -> Result<mangrove_snapshot::Transaction, GraphError> {
        self.shared.store.begin_for(writer, patience)
    }

    pub(crate) fn guarded<T, E: From<Bug>>(
        &self,
        doing: &dyn Fn() -> String,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        guard::run(&self.shared.reports, doing, work)
    }
}

/// For the report of a bug: what it takes to repeat it.
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
