//! Writes a graph as a GraphAr directory.
//!
//! ```text
//!   NAME.graph.yml  TYPE.vertex.yml  SOURCE_TYPE_TARGET.edge.yml
//!   vertex/TYPE/{vertex_count, properties/chunkI, GROUP/chunkI, labels/chunkI}
//!   edge/SOURCE_TYPE_TARGET/ordered_by_source/{vertex_count, edge_countP, adj_list/partP/chunkI, offset/chunkP, properties/partP/chunkI}
//!   edge/SOURCE_TYPE_TARGET/ordered_by_dest/…
//! ```
//! Vertices come in the order of their ids, which is the layout of the graph. The edges of a vertex are sorted by the other end. The
//! ends of edges, offsets and indexes are DELTA_BINARY_PACKED, labels are run lengths (VLDB'24, §4.2 and §5.1).
//!
//! Everything is written beside the destination, which then gets its name. So readers never see half an export.

mod chunk;
mod column;
mod edges;
mod loss;
mod names;
mod notes;
mod publish;
mod vertices;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use mangrove_graph::{ElementKind, GraphView, LabelId, Numbering, Scan, Schema};
use mangrove_ingest::{Phase, Progress, Status};

use crate::error::{LakeError, Result};
pub use crate::info::Order as ListOrder;
use crate::info::{GraphInfo, Prefix, Side};
use edges::EdgeTask;
use publish::Unpublished;
use vertices::VertexTask;

/// How a graph is written.
#[derive(Clone, Debug)]
pub struct GraphArOptions {
    /// Vertices to a chunk.
    pub vertex_chunk: u64,
    /// Edges to a chunk.
    pub edge_chunk: u64,
    /// Properties that have files of their own: those that are named together are in the same files. All others share files.
    pub groups: Vec<Vec<String>>,
    /// The lists of each type of edges, by the names of [`ListOrder`].
    pub lists: Vec<ListOrder>,
    /// Writes what the format cannot hold as near as it can, and leaves out the rest.
    pub is_lossy: bool,
}

impl Default for GraphArOptions {
    fn default() -> Self {
        let lists = [Side::Source, Side::Target].map(|by| ListOrder { by, is_sorted: true });
        Self { vertex_chunk: 1 << 18, edge_chunk: 1 << 22, groups: Vec::new(), lists: lists.into(), is_lossy: false }
    }
}

/// What was written.
#[derive(Clone, Debug, Default)]
pub struct GraphArReport {
    pub vertices: u64,
    pub edges: u64,
    /// The file that names all others.
    pub graph_file: String,
    /// What the format could not hold.
    pub losses: Vec<String>,
}

/// Writes the whole graph into a new or empty directory. Several threads write, if views for them can be had.
///
/// # Errors
/// If the format cannot hold all of the graph and the options do not allow a loss. Then nothing is written.
pub fn export(
    view: &dyn GraphView,
    destination: &Path,
    options: &GraphArOptions,
    progress: &mut dyn Progress,
) -> Result<GraphArReport> {
    export_in_order(view, None, destination, options, progress)
}

/// The same, with vertices in another order than that of their ids.
pub fn export_in_order(
    view: &dyn GraphView,
    order: Option<&Numbering>,
    destination: &Path,
    options: &GraphArOptions,
    progress: &mut dyn Progress,
) -> Result<GraphArReport> {
    check(view.schema(), options)?;
    let (plans, losses) = column::plan(view)?;
    if !losses.is_empty() && !options.is_lossy {
        return Err(LakeError::Lossy(losses));
    }
    let unpublished = Unpublished::new(destination)?;
    let orders = order.map_or_else(|| Numbering::new(view, &Scan::default()), |order| Ok(order.clone()))?;
    let tasks = tasks(view, &plans, &orders, options);
    let written = Written { root: unpublished.path(), orders: &orders, plans: &plans, counts: Counts::default() };
    run(view, &tasks, &written, progress)?;
    let graph_file = write_info(view, &tasks, &written, destination)?;
    let [vertices, edges] = written.counts.both();
    unpublished.publish()?;
    Ok(GraphArReport { vertices, edges, graph_file, losses })
}

/// Refuses groups and lists that cannot be meant.
fn check(schema: &Schema, options: &GraphArOptions) -> Result<()> {
    let names: Vec<&String> = options.groups.iter().flatten().collect();
    for (at, name) in names.iter().enumerate() {
        if schema.key(name).is_none() {
            return Err(LakeError::Unsupported(format!("a group names `{name}`, but the graph has no such property")));
        }
        if names[..at].contains(name) {
            return Err(LakeError::Unsupported(format!("two groups name `{name}`: a property is in one group")));
        }
    }
    if schema.key(vertices::INDEX).is_some() {
        let index = vertices::INDEX;
        let reason = format!("a property is called `{index}`, which is a column of GraphAr's own: rename it first");
        return Err(LakeError::Unsupported(reason));
    }
    let is_repeated = |at: usize| options.lists[..at].contains(&options.lists[at]);
    if options.lists.is_empty() || (0..options.lists.len()).any(is_repeated) {
        let known = ListOrder::NAMES.join(", ");
        return Err(LakeError::Unsupported(format!("name at least one list of edges, and each once: {known}")));
    }
    Ok(())
}

/// What all threads share.
struct Written<'a> {
    root: &'a Path,
    orders: &'a Numbering,
    plans: &'a column::Plans,
    counts: Counts,
}

/// The progress of all threads.
#[derive(Default)]
struct Counts {
    vertices: AtomicU64,
    /// Edges of the first list of each type. Others hold the same edges.
    edges: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Counts {
    fn both(&self) -> [u64; 2] {
        [&self.vertices, &self.edges].map(|count| count.load(Ordering::Relaxed))
    }

    /// Fails if the export is to stop.
    fn check(&self) -> Result<()> {
        if self.is_cancelled.load(Ordering::Relaxed) { Err(LakeError::Cancelled) } else { Ok(()) }
    }
}

/// A part of the work that one thread does.
enum Task {
    Vertices(VertexTask),
    Edges(EdgeTask),
}

fn tasks(view: &dyn GraphView, plans: &column::Plans, orders: &Numbering, options: &GraphArOptions) -> Vec<Task> {
    let schema = view.schema();
    let mut names = names::Names::default();
    let mut tasks = Vec::new();
    // Labels that vertices have beside another are columns of it.
    let is_further = |label| schema.known_labels(ElementKind::Vertex).any(|(_, of)| of.further.contains(&label));
    for (label, _) in schema.known_labels(ElementKind::Vertex) {
        if orders.count_of(label) == 0 && is_further(label) {
            continue;
        }
        tasks.push(Task::Vertices(VertexTask::new(schema, label, plans, orders, options, &mut names)));
    }
    for (label, of) in schema.known_labels(ElementKind::Edge) {
        let has_vertices = |ends: &&(LabelId, LabelId)| orders.count_of(ends.0) > 0 && orders.count_of(ends.1) > 0;
        for (source, target) in of.ends.iter().filter(has_vertices) {
            let prefix: Prefix = names.edges(schema, label, *source, *target);
            tasks.extend(EdgeTask::all(schema, (label, *source, *target), plans, options, prefix).map(Task::Edges));
        }
    }
    tasks
}

/// How often the progress is shown.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Runs all tasks, on as many threads as there are views for.
fn run(view: &dyn GraphView, tasks: &[Task], written: &Written<'_>, progress: &mut dyn Progress) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(tasks.len());
    let mut forks = Vec::with_capacity(threads);
    for _ in 0..threads {
        forks.extend(view.fork()?);
    }
    if forks.is_empty() {
        return tasks.iter().try_for_each(|task| {
            show(written, progress)?;
            task.run(view, written)
        });
    }
    let next = AtomicUsize::new(0);
    let (sender, done) = mpsc::channel();
    std::thread::scope(|scope| {
        for fork in forks {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                let work = std::panic::AssertUnwindSafe(|| {
                    while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        task.run(&*fork, written)?;
                    }
                    Ok(())
                });
                let ended = std::panic::catch_unwind(work);
                // The receiver waits for all threads.
                let _ = sender
                    .send(ended.unwrap_or_else(|_| Err(LakeError::Unsupported("a thread of the export panicked".into()))));
            });
        }
        drop(sender);
        let mut outcome = Ok(());
        loop {
            if show(written, progress).is_err() && outcome.is_ok() {
                outcome = Err(LakeError::Cancelled);
            }
            match done.recv_timeout(BETWEEN_LOOKS) {
                Ok(Ok(())) | Err(mpsc::RecvTimeoutError::Timeout) => {}
                Ok(Err(error)) => {
                    written.counts.is_cancelled.store(true, Ordering::Relaxed);
                    if outcome.is_ok() {
                        outcome = Err(error);
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return outcome,
            }
        }
    })
}

fn show(written: &Written<'_>, progress: &mut dyn Progress) -> Result<()> {
    let [vertices, edges] = written.counts.both();
    let phase = if edges > 0 { Phase::Edges } else { Phase::Vertices };
    progress.update(&Status { phase, rows: vertices + edges, ..Status::default() });
    if progress.cancelled() {
        written.counts.is_cancelled.store(true, Ordering::Relaxed);
    }
    written.counts.check()
}

impl Task {
    fn run(&self, view: &dyn GraphView, written: &Written<'_>) -> Result<()> {
        match self {
            Task::Vertices(task) => task.run(view, written),
            Task::Edges(task) => task.run(view, written),
        }
    }
}

/// Writes the YAML files. Returns the name of the one for the whole graph.
fn write_info(view: &dyn GraphView, tasks: &[Task], written: &Written<'_>, destination: &Path) -> Result<String> {
    let name = destination.file_name().map_or("graph".into(), |name| name.to_string_lossy().into_owned());
    let notes = notes::all(view.schema(), written.plans, |label| written.orders.count_of(label) > 0);
    let mut info = GraphInfo { name: name.clone(), extra: notes.into_extra(), ..GraphInfo::default() };
    for task in tasks {
        match task {
            Task::Vertices(task) => {
                let file = format!("{}.vertex.yml", task.file_name());
                publish::write_file(&written.root.join(&file), task.info.text().as_bytes())?;
                info.vertices.push(file);
            }
            // One file describes both lists.
            Task::Edges(task) if task.is_first() => {
                let file = format!("{}.edge.yml", task.file_name());
                publish::write_file(&written.root.join(&file), task.info.text().as_bytes())?;
                info.edges.push(file);
            }
            Task::Edges(_) => {}
        }
    }
    let file = format!("{}.graph.yml", crate::info::safe(&name));
    publish::write_file(&written.root.join(&file), info.text().as_bytes())?;
    Ok(file)
}
