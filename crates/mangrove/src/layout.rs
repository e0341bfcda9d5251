//! Orders of vertices: of a load, of a database that is written anew, and of an export.

use std::path::Path;
use std::time::{Duration, Instant};

use mangrove_analytics::{AnalyticsError, Needs, Projection, Reading, Run, Selection, Stage, watched};
use mangrove_directory::{Patience, Writer};
use mangrove_graph::{GraphError, GraphView, GraphWrite, KeyId, LabelId, Numbering, ReadContext};
use mangrove_ingest::{CopyTerms, LoadReport, Phase, Progress, Status};
use mangrove_layout::{Layout, Measures, Sample, Ties, measure_order, order};

use crate::analyze::{bytes_max, threads};
use crate::backend::{BackendTransaction, BackendView, BulkLoad};
use crate::error::LoadError;
use crate::{Database, ExportError, OpenOptions, StoreError};

/// The bytes of a record when blocks are counted.
const RECORD_BYTES: u64 = 40;

/// In which order vertices get their ids, and what finding it may take.
#[derive(Clone, Debug, Default)]
pub struct LayoutOptions {
    pub layout: Layout,
    /// How strongly friends are tied, for [`Layout::Community`].
    pub ties: Ties,
    /// 0 means one for each core.
    pub threads: usize,
    /// The most memory that it may take; `None` for what the machine has left.
    pub memory_bytes: Option<u64>,
}

impl From<Layout> for LayoutOptions {
    fn from(layout: Layout) -> Self {
        Self { layout, ..Self::default() }
    }
}

/// What an order is worth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LayoutReport {
    pub layout: Layout,
    /// The measures of the order that was there.
    pub before: Measures,
    pub after: Measures,
    /// How long it took to find.
    pub duration: Duration,
    /// The vertices of the sample, if the order was only tried on one.
    pub sample: Option<usize>,
}

type Found = Result<(Numbering, LayoutReport), AnalyticsError>;

/// The vertices of a graph as a network without directions.
struct Network {
    projection: Projection,
    limits: ReadContext,
    threads: usize,
    bytes_max: u64,
}

impl Network {
    fn read(view: &dyn GraphView, options: &LayoutOptions, show: &mut Shown<'_>) -> Result<Self, AnalyticsError> {
        let (threads, bytes_max) = (threads(options.threads), bytes_max(options.memory_bytes));
        let limits = show.limits.clone();
        let reading = Reading { threads, bytes_max, limits: &limits, show: &mut |stage| show.show(stage) };
        let needs = Needs { incoming: true, ..Needs::default() };
        let projection = Projection::new(view, &Selection::default(), needs, reading)?;
        Ok(Self { projection, limits, threads, bytes_max })
    }

    /// The order of a layout, and what it is worth.
    fn ordered(&self, layout: Layout, ties: Ties, show: &mut Shown<'_>) -> Found {
        let needed = self.projection.bytes() + 2 * self.projection.entries() * 4;
        let needed =
            needed + layout.bytes(ties, self.projection.vertices() as u64, self.projection.entries(), self.threads as u64);
        if needed > self.bytes_max {
            let (needed_mb, allowed_mb) = (needed.div_ceil(1 << 20), self.bytes_max >> 20);
            return Err(AnalyticsError::TooLittleMemory { needed_mb, allowed_mb });
        }
        let started = Instant::now();
        let work = |run: &Run| {
            let numbers = self.projection.numbering();
            let links = self.projection.simple(run)?;
            let before = measure_order(&links, numbers, numbers, RECORD_BYTES, run)?;
            if layout == Layout::None {
                let duration = started.elapsed();
                return Ok((numbers.clone(), LayoutReport { layout, before, after: before, duration, sample: None }));
            }
            let ordered = numbers.ordered(&order(links.clone(), layout, ties, run)?);
            let after = measure_order(&links, numbers, &ordered, RECORD_BYTES, run)?;
            Ok((ordered, LayoutReport { layout, before, after, duration: started.elapsed(), sample: None }))
        };
        watched(self.threads, &self.limits, &mut |stage| show.show(stage), work)
    }
}

/// Tells a progress how far the work is, and stops the work when the progress says so.
struct Shown<'a> {
    progress: &'a mut dyn Progress,
    limits: ReadContext,
}

impl<'a> Shown<'a> {
    fn new(progress: &'a mut dyn Progress) -> Self {
        Self { progress, limits: ReadContext::default() }
    }

    fn show(&mut self, stage: Stage) {
        self.progress.update(&Status { phase: Phase::Ordering, rows: stage.done, ..Status::default() });
        if self.progress.cancelled() {
            self.limits.cancel.cancel();
        }
    }
}

/// The order of a layout for a graph, and what it is worth.
fn ordered(view: &dyn GraphView, options: &LayoutOptions, progress: &mut dyn Progress) -> Found {
    let mut show = Shown::new(progress);
    Network::read(view, options, &mut show)?.ordered(options.layout, options.ties, &mut show)
}

/// The smallest graph whose order is tried, in entries of lists: two for each edge.
const TRIED_FROM: u64 = 400_000;
/// A sample has a twentieth of all entries, within bounds.
const SAMPLE: u64 = 20;
const SAMPLE_MIN: u64 = 50_000;
const SAMPLE_MAX: u64 = 400_000;
/// An order pays if lists of the sample are in at most so many times as many blocks. On all graphs of docs/layout.md, those of the whole
/// graph are then in 0.83 times as many at most.
const PAYS: f64 = 0.6;

/// Tries on a sample what the order by communities would be worth. `None` if that is not much, or the graph is too small to tell. A load
/// does not fail because this does, unless it is to stop.
pub fn tried(
    view: &dyn GraphView,
    options: &LayoutOptions,
    progress: &mut dyn Progress,
) -> Result<Option<LayoutReport>, LoadError> {
    let found = try_on_sample(view, options, progress).map_err(LoadError::from);
    match found {
        Err(LoadError::Load(mangrove_ingest::LoadError::Cancelled)) => found,
        Err(error) => {
            tracing::warn!(%error, "no other order was tried");
            Ok(None)
        }
        found => found,
    }
}

fn try_on_sample(
    view: &dyn GraphView,
    options: &LayoutOptions,
    progress: &mut dyn Progress,
) -> Result<Option<LayoutReport>, AnalyticsError> {
    let entries = 2 * view.statistics()?.edges.iter().sum::<u64>();
    if entries < TRIED_FROM {
        return Ok(None);
    }
    let (started, layout) = (Instant::now(), Layout::Community);
    let mut show = Shown::new(progress);
    let limits = show.limits.clone();
    let of = (entries / SAMPLE).clamp(SAMPLE_MIN, SAMPLE_MAX);
    let sample = Sample::draw(view, of, 1, &mut |done| {
        show.show(Stage { name: "reading a sample", done, of });
        Ok(limits.check()?)
    })?;
    let find = |links, run: &Run| order(links, layout, Ties::Uniform, run);
    let compare = |run: &Run| sample.compare(|links| find(links, run), RECORD_BYTES, run);
    let (before, after) = watched(threads(options.threads), &limits, &mut |stage| show.show(stage), compare)?;
    let found = LayoutReport { layout, before, after, duration: started.elapsed(), sample: Some(sample.vertices()) };
    let pays = after.blocks_per_list() < PAYS * before.blocks_per_list() && after.bits < before.bits;
    tracing::info!(pays, before = before.blocks_per_list(), after = after.blocks_per_list(), "tried an order on a sample");
    Ok(pays.then_some(found))
}

/// Writes what a bulk load has loaded so far anew, in the order of a layout.
pub fn reorder(
    bulk: &mut dyn BulkLoad,
    options: &LayoutOptions,
    progress: &mut dyn Progress,
) -> Result<LayoutReport, LoadError> {
    let mut outcome = None;
    let rewritten = bulk.rewrite(options.layout.name(), &mut |view, graph| {
        let found = ordered(view, options, progress).map_err(LoadError::from);
        let copied = found.and_then(|(order, report)| copy(view, &order, &|_| None, graph, progress).map(|_| report));
        let is_copied = copied.is_ok();
        outcome = Some(copied);
        if is_copied { Ok(()) } else { Err(GraphError::Stopped) }
    });
    match (outcome, rewritten) {
        (Some(Err(error)), _) => Err(error),
        (_, Err(error)) => Err(error.into()),
        (Some(Ok(report)), Ok(())) => Ok(report),
        (None, Ok(())) => Err(GraphError::Stopped.into()),
    }
}

fn copy(
    view: &dyn GraphView,
    order: &Numbering,
    time: &dyn Fn(LabelId) -> Option<KeyId>,
    graph: &mut dyn GraphWrite,
    progress: &mut dyn Progress,
) -> Result<LoadReport, LoadError> {
    let terms = CopyTerms { order, sorts_edges: true, has_ids: &|_| true, time };
    Ok(mangrove_ingest::copy(view, &terms, graph, progress)?)
}

/// The order of an export; `None` for that of ids.
pub fn order_of_export(
    view: &dyn GraphView,
    options: &LayoutOptions,
    progress: &mut dyn Progress,
) -> Result<Option<Numbering>, ExportError> {
    match options.layout {
        Layout::None => Ok(None),
        _ => Ok(Some(ordered(view, options, progress)?.0)),
    }
}

/// Writes a graph to an empty database, in the order of a layout.
fn write_in_order(
    view: &dyn BackendView,
    transaction: Box<dyn BackendTransaction>,
    options: &LayoutOptions,
    progress: &mut dyn Progress,
) -> Result<(LoadReport, LayoutReport), LoadError> {
    let (order, found) = ordered(view, options, progress)?;
    let mut bulk = transaction.into_bulk()?;
    let report = copy(view, &order, &|label| view.noted_time(label), bulk.graph(), progress)?;
    bulk.note_layout(options.layout.name());
    let rows = report.vertex_count() + report.edge_count();
    progress.update(&Status { phase: Phase::Compacting, rows, ..Status::default() });
    bulk.commit(&|| progress.cancelled())?;
    Ok((report, found))
}

impl Database {
    /// Writes the graph as it is now to a new database in `destination`, which must be empty or not exist yet, with its vertices in the
    /// order of a layout. Others read and write this database meanwhile; the copy has what was there when it began.
    ///
    /// Vertices keep their ids. Edges without an id of their own get new generated ones, because these name places.
    ///
    /// # Errors
    /// If the destination is not empty, or memory does not suffice. Then nothing is left there.
    pub fn relayout(
        &self,
        destination: impl AsRef<Path>,
        options: &LayoutOptions,
        progress: &mut dyn Progress,
    ) -> Result<(LoadReport, LayoutReport), LoadError> {
        let destination = destination.as_ref();
        self.guarded(&|| format!("writing a new layout to {}", destination.display()), || {
            let started = Instant::now();
            if destination.as_os_str() == ":memory:" {
                return Err(GraphError::Invalid("a new layout is written to a directory".into()).into());
            }
            let was_there = destination.exists();
            let view = self.backend().view(None)?;
            let id_space = Some(view.schema().id_space);
            let to = Database::open_with(destination, &OpenOptions { id_space, ..OpenOptions::default() })?;
            let transaction = to.backend().begin(Writer::this_thread(), Patience::ENDLESS)?;
            if !transaction.is_unused()? {
                let reason = format!("{}: the database is not empty. Name a new or empty directory", destination.display());
                return Err(GraphError::Invalid(reason).into());
            }
            let done = write_in_order(&*view, transaction, options, progress);
            if done.is_err() {
                // Nobody else can use it while this holds its lock. Why it failed matters more than what is left.
                let _ = std::fs::remove_dir_all(destination);
                let _ = if was_there { std::fs::create_dir(destination) } else { Ok(()) };
            }
            let (mut report, found) = done?;
            report.duration = started.elapsed();
            Ok((report, found))
        })
    }

    /// What the order of vertices is worth, and what some layouts would give. `Layout::None` stands for the order as it is, which takes
    /// O(E). [`Layout`] says what the others cost.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub fn layouts(
        &self,
        layouts: &[Layout],
        options: &LayoutOptions,
        progress: &mut dyn Progress,
    ) -> Result<Vec<LayoutReport>, StoreError> {
        self.guarded(&|| "measuring layouts".into(), || {
            let view = self.backend().view(None)?;
            let mut show = Shown::new(progress);
            let network = Network::read(&*view, options, &mut show)?;
            let reports = layouts.iter().map(|layout| network.ordered(*layout, options.ties, &mut show));
            Ok(reports.map(|found| found.map(|(_, report)| report)).collect::<Result<Vec<_>, AnalyticsError>>()?)
        })
    }
}
