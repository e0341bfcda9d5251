//! Loads files: finds the tables, runs the threads, and fixes the order of the work.
//!
//! ```text
//! files --peek--> jobs        reading thread                  calling thread
//!                  |   open, decompress, parse  --batches--> ids resolved, vertices first, then runs of edges
//!                  +---------------------------- (4 waiting)       |
//!                                                                 retype columns that widened, report
//! ```
//!
//! Invariants
//! 1. Every vertex of the load is written before its first edge, whatever the order of the files.
//! 2. Memory is bounded: a few batches, one run of edges, and a table of ids up to its limit.
//! 3. On an error the graph may hold part of the load. The caller rolls back.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

use mangrove_graph::{ElementKind, GraphWrite, Schema};

use crate::batches::column::{A_TIME, ColumnType};
use crate::batches::elements::Pass;
use crate::batches::rows::{Event, Sink};
use crate::detect::detect;
use crate::error::{LoadError, Location};
use crate::graphs::edgelist;
use crate::graphs::edgelist::EdgeList;
use crate::graphs::graphml;
use crate::graphs::graphson;
use crate::progress::{Meter, Phase, Progress, Status};
use crate::tables::csv_table::{CsvTable, DialectHints, plan_csv, read_csv};
use crate::tables::jsonl;
use crate::tables::parquet;
use crate::tables::plan::{TableHints, TablePlan};
use crate::tables::table::TableInput;
use crate::terms::declaration::GraphDeclaration;
use crate::terms::mapping::{self, Mapping};
use crate::terms::options::{KeyColumn, LoadOptions};
use crate::terms::report::LoadReport;
use crate::text::format::Format;
use crate::text::infer::Inferred;
use crate::text::source::{Source, expand, left_out};
use crate::writing::write::Writer;

mod described;

pub use described::write_mapping;

/// A file or table, and how to read it.
struct Job {
    source: Source,
    reader: TableReader,
    edge_time: Option<String>,
}

enum TableReader {
    Csv(Box<CsvTable>),
    Parquet(Box<TablePlan>),
    Jsonl(Box<TablePlan>),
    /// With the schema of the graph, whose types its strings may take.
    GraphMl(Box<Schema>),
    GraphSon,
    EdgeList(EdgeList),
    Table(Box<(TableInput, TablePlan)>),
}

impl Job {
    /// The plan of its table; `None` for files that are no tables.
    fn plan(&self) -> Option<&TablePlan> {
        match &self.reader {
            TableReader::Csv(table) => Some(&table.plan),
            TableReader::Parquet(plan) | TableReader::Jsonl(plan) => Some(plan),
            TableReader::Table(table) => Some(&table.1),
            TableReader::GraphMl(_) | TableReader::GraphSon | TableReader::EdgeList(_) => None,
        }
    }

    /// Guesses about its table.
    fn warnings(&self) -> &[String] {
        self.plan().map_or(&[], |plan| &plan.warnings)
    }

    /// Whether the file may hold elements of this pass.
    fn is_in(&self, pass: Pass) -> bool {
        self.plan().is_none_or(|plan| (plan.kind == ElementKind::Vertex) == (pass == Pass::Vertices))
    }

    /// Whether its table may have vertices of a label.
    fn may_have(&self, label: &str) -> bool {
        self.plan().is_some_and(|plan| plan.kind == ElementKind::Vertex && plan.label.may_be(label))
    }

    fn read(&self, pass: Pass, meter: &Arc<Meter>, sink: &mut Sink<'_>) -> Result<(), LoadError> {
        let _span = tracing::debug_span!("read", file = %self.source.name, ?pass).entered();
        let content = || self.source.open(meter.clone());
        match &self.reader {
            TableReader::Csv(table) => read_csv(content()?, &self.source, table, sink),
            TableReader::Parquet(plan) => parquet::read(&self.source, plan, meter, sink),
            TableReader::Jsonl(plan) => jsonl::read(content()?, &self.source, plan, sink),
            TableReader::GraphMl(schema) => graphml::read(content()?, &self.source, pass, schema, sink),
            TableReader::GraphSon => graphson::read(content()?, &self.source, pass, sink),
            TableReader::EdgeList(list) => edgelist::read(content()?, &self.source, list, pass, sink),
            TableReader::Table(table) => table.0.send(&table.1, sink),
        }
    }
}

/// Loads files into a graph, within the caller's transaction.
///
/// On an error the graph holds part of the load. The caller must roll back.
pub fn load(
    graph: &mut dyn GraphWrite,
    options: &LoadOptions,
    progress: &mut dyn Progress,
) -> Result<LoadReport, LoadError> {
    let started = Instant::now();
    progress.update(&Status::default());
    let mappings = options.mappings()?;
    mappings.iter().try_for_each(|mapping| mapping.graph.before(graph))?;
    let jobs = plan_jobs(options, &mappings, graph.schema())?;
    let mut writer = Writer::new(graph, options)?;
    jobs.iter().flat_map(Job::warnings).for_each(|warning| writer.warn(warning));
    left_out(&options.plain_files()).iter().for_each(|warning| writer.warn(warning));
    let passes = [Pass::Vertices, Pass::Edges];
    let bytes_total =
        passes.iter().flat_map(|pass| jobs.iter().filter(|job| job.is_in(*pass))).map(|j| j.source.bytes).sum();
    let mut watch = Watch { progress, status: Status { bytes_total, ..Status::default() }, meter: Arc::default() };
    for pass in passes {
        watch.status.phase = if pass == Pass::Vertices { Phase::Vertices } else { Phase::Edges };
        run_pass(&jobs, pass, &mut writer, &mut watch)?;
    }
    keys_are_used(options, |label| writer.schema().label(ElementKind::Vertex, label).is_some())?;
    watch.status.phase = Phase::Retyping;
    watch.update(&writer)?;
    if let Some(name) = &options.edge_time {
        writer.check_time(name)?;
    }
    let mut report = writer.finish()?;
    let progress: &dyn Progress = &*watch.progress;
    let cancelled = || progress.cancelled();
    mappings.iter().try_for_each(|mapping| mapping.graph.after(graph, &cancelled))?;
    report.duration = started.elapsed();
    Ok(report)
}

/// Fails if a key belongs to a label that this load does not have.
fn keys_are_used(options: &LoadOptions, is_loaded: impl Fn(&str) -> bool) -> Result<(), LoadError> {
    match options.keys.iter().find(|key| !is_loaded(&key.label)) {
        Some(KeyColumn { label, column }) => Err(LoadError::options(format!(
            "the key {label}:{column} has no effect: no table of this load has the label {label}"
        ))),
        None => Ok(()),
    }
}

struct Watch<'p> {
    progress: &'p mut dyn Progress,
    status: Status,
    meter: Arc<Meter>,
}

impl Watch<'_> {
    fn update(&mut self, writer: &Writer<'_>) -> Result<(), LoadError> {
        self.status.bytes_done = self.meter.bytes().min(self.status.bytes_total);
        self.status.rows = writer.rows();
        self.progress.update(&self.status);
        if self.progress.cancelled() { Err(LoadError::Cancelled) } else { Ok(()) }
    }
}

/// A message from the reading thread to the writing one.
enum Message<'j> {
    Begin(&'j Job),
    Event(Event),
    Failed(LoadError),
}

const READER: &str = "mangrove reader";
/// Most batches that wait between the two threads.
const WAITING: usize = 4;

fn run_pass(jobs: &[Job], pass: Pass, writer: &mut Writer<'_>, watch: &mut Watch<'_>) -> Result<(), LoadError> {
    let meter = watch.meter.clone();
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        let read = move || {
            for job in jobs.iter().filter(|job| job.is_in(pass)) {
                // If the writer has hung up, it has failed and reports the reason itself.
                let mut sink = |event| sender.send(Message::Event(event)).map_err(|_| LoadError::Cancelled);
                if sender.send(Message::Begin(job)).is_err() {
                    return;
                }
                if let Err(error) = job.read(pass, &meter, &mut sink) {
                    let _ = sender.send(Message::Failed(error));
                    return;
                }
            }
        };
        let reader = std::thread::Builder::new().name(READER.into()).spawn_scoped(scope, read);
        let reader =
            reader.map_err(|error| LoadError::options(format!("cannot start a thread to read the files: {error}")))?;
        let written = write_all(receiver, writer, watch);
        // Pass a panic of the reader on, with its own message.
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written
    })?;
    writer.finish_pass()
}

fn write_all(messages: Receiver<Message<'_>>, writer: &mut Writer<'_>, watch: &mut Watch<'_>) -> Result<(), LoadError> {
    for message in messages {
        match message {
            Message::Begin(job) => writer.begin(job.edge_time.as_deref(), matches!(job.reader, TableReader::EdgeList(_))),
            Message::Event(event) => {
                writer.event(event)?;
                watch.update(writer)?;
            }
            Message::Failed(error) => return Err(error),
        }
    }
    Ok(())
}

/// How to read each file and table.
fn plan_jobs(options: &LoadOptions, mappings: &[Mapping], schema: &Schema) -> Result<Vec<Job>, LoadError> {
    let mut jobs = plan_files(options, mappings, schema)?.into_iter().map(|(_, job)| job).collect::<Result<Vec<_>, _>>()?;
    for table in &options.tables {
        let mut table = table.clone();
        table.key = table.key.or_else(|| {
            options.keys.iter().find(|key| Some(&key.label) == table.label.as_ref()).map(|key| key.column.clone())
        });
        let plan = table.plan(options.id_type, schema)?;
        let source = Source { path: Default::default(), name: table.name.clone(), bytes: 0, encoding: None };
        let reader = TableReader::Table(Box::new((table, plan)));
        jobs.push(Job { source, reader, edge_time: options.edge_time.clone() });
    }
    // Created ends of edges may have further labels.
    if !options.merge.create_missing {
        keys_are_used(options, |label| jobs.iter().any(|job| job.may_have(label)))?;
    }
    let declares = mappings.iter().any(|mapping| mapping.graph != GraphDeclaration::default());
    if jobs.is_empty() && !declares {
        return Err(LoadError::options("nothing to load: name files, or give --nodes, --edges or --mapping"));
    }
    Ok(jobs)
}

/// The path of each file, and how to read it, or why it cannot be read.
type PlannedFiles = Vec<(std::path::PathBuf, Result<Job, LoadError>)>;

fn plan_files(options: &LoadOptions, mappings: &[Mapping], schema: &Schema) -> Result<PlannedFiles, LoadError> {
    let mut planned = Vec::new();
    let mut add = |files: &[std::path::PathBuf], hints: TableHints, mapping: Option<&mapping::TableEntry>| {
        for source in expand(files)? {
            planned.push((source.path.clone(), plan_job(source, &hints, mapping, options, schema)));
        }
        Ok::<(), LoadError>(())
    };
    add(&options.plain_files(), TableHints::default(), None)?;
    for given in &options.nodes {
        let hints =
            TableHints { kind: Some(ElementKind::Vertex), label: Some(given.label.clone()), ..TableHints::default() };
        add(&given.files, hints, None)?;
    }
    for given in &options.edges {
        let hints = TableHints {
            kind: Some(ElementKind::Edge),
            label: Some(given.label.clone()),
            source: given.source.clone(),
            target: given.target.clone(),
            ..TableHints::default()
        };
        add(&given.files, hints, None)?;
    }
    for mapping in mappings {
        add(&mapping.files, TableHints::default(), None)?;
        for entry in &mapping.tables {
            add(&entry.files, entry.hints(), Some(entry))?;
        }
    }
    Ok(planned)
}

fn plan_job(
    source: Source,
    hints: &TableHints,
    mapping: Option<&mapping::TableEntry>,
    options: &LoadOptions,
    schema: &Schema,
) -> Result<Job, LoadError> {
    let source = Source { encoding: mapping.and_then(|entry| entry.encoding).or(options.encoding()?), ..source };
    let hints = TableHints { stem: source.stem(), ..hints.clone() };
    let hints = TableHints { key: key_of(options, &hints), ..hints }.of_schema(schema);
    let mut content = source.open(Arc::default())?;
    let format = match mapping.and_then(|entry| entry.format).unwrap_or(options.format) {
        Format::Auto => detect(&source, &mut content).map_err(|e| source.failed(e))?,
        format => format,
    };
    let mut content = source.open(Arc::default())?;
    let mut reader = match format {
        Format::Parquet => TableReader::Parquet(Box::new(parquet::plan(&source, &hints)?)),
        Format::Jsonl => TableReader::Jsonl(Box::new(jsonl::plan(&mut content, &hints, &source)?)),
        Format::GraphMl => TableReader::GraphMl(Box::new(schema.clone())),
        Format::GraphSon => TableReader::GraphSon,
        // A mapping may name more than two columns.
        Format::EdgeList if mapping.is_none_or(mapping::TableEntry::is_plain_list) => {
            let id_type = mapping.and_then(|entry| entry.table.id_type).unwrap_or(options.id_type);
            TableReader::EdgeList(EdgeList::new(&hints, id_type))
        }
        Format::Csv | Format::EdgeList | Format::Auto => {
            let given = DialectHints {
                delimiter: mapping.and_then(|entry| entry.delimiter).or(options.delimiter),
                quote: mapping.and_then(|entry| entry.quote).unwrap_or(options.quote),
                comment: mapping.and_then(|entry| entry.comment),
                nulls: mapping.and_then(|entry| entry.nulls.clone()).unwrap_or_else(|| options.nulls.as_slice().into()),
            };
            TableReader::Csv(Box::new(plan_csv(&mut content, given, &hints, &source)?))
        }
    };
    // JSON Lines may have further columns later.
    let all_columns_are_known = matches!(reader, TableReader::Csv(_) | TableReader::Parquet(_));
    let plan = match &mut reader {
        TableReader::Csv(table) => Some(&mut table.plan),
        TableReader::Jsonl(plan) | TableReader::Parquet(plan) => Some(&mut **plan),
        TableReader::GraphMl(_) | TableReader::GraphSon | TableReader::EdgeList(_) | TableReader::Table(_) => None,
    };
    let mut edge_time = mapping.and_then(|entry| entry.table.time.clone()).or_else(|| options.edge_time.clone());
    if let Some(plan) = plan {
        edge_time = plan.edge_time.take().or(edge_time);
        if plan.id_type == Default::default() {
            plan.id_type = options.id_type;
        }
        plan.keep_to(schema);
        if let Some(name) = mapping.and_then(|entry| entry.table.time.as_deref()).filter(|_| all_columns_are_known) {
            has_property(plan, name, &source)?;
        }
        let ordered_by = plan.fixed_label(schema).and_then(|label| Some(schema.key_name(label.time?)));
        if let Some(name) = edge_time.as_deref().or(ordered_by.as_deref()).filter(|_| plan.kind == ElementKind::Edge) {
            keep_to_times(plan, name, &source)?;
        }
    }
    Ok(Job { source, reader, edge_time })
}

/// The column that the options name as the ids of a table's vertices.
fn key_of(options: &LoadOptions, hints: &TableHints) -> Option<String> {
    let label = hints.label.as_deref().unwrap_or(&hints.stem);
    options.keys.iter().find(|key| *key.label == *label).map(|key| key.column.clone())
}

/// Fails if a table lacks the property that its mapping names as the time of its edges.
fn has_property(plan: &TablePlan, name: &str, source: &Source) -> Result<(), LoadError> {
    if plan.columns.iter().flatten().any(|property| *property.name == *name) {
        return Ok(());
    }
    let reason = format!("the mapping says that `{name}` is the time of the edges, but the table has no such property");
    Err(LoadError::format(Location::file(&source.name), reason))
}

/// Restricts the column of edge times to times. Fails if the column is declared with a type that cannot be a time.
fn keep_to_times(plan: &mut TablePlan, name: &str, source: &Source) -> Result<(), LoadError> {
    let Some(property) = plan.columns.iter_mut().flatten().find(|property| *property.name == *name) else { return Ok(()) };
    if !property.column_type.may_be_time() {
        let found = property.column_type.name();
        let reason = format!("the column `{name}` has the type {found}, but must be a {A_TIME}, as in `{name}:long`");
        return Err(LoadError::format(Location::file(&source.name), reason));
    }
    if let ColumnType::Inferred(sampled) = property.column_type {
        let is_time = matches!(sampled, Inferred::Int | Inferred::Date | Inferred::DateTime);
        property.column_type = ColumnType::Time(if is_time { sampled } else { Inferred::Nothing });
    }
    Ok(())
}
