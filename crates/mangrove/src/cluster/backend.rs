//! A graph on many nodes as a database.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use mangrove_analytics::{AnalyticsError, Stage};
use mangrove_cluster::Placement;
use mangrove_cluster::gateway::{CutGraph, Gateway, HeldCut, Limits};
use mangrove_cluster::transaction::{ClusterTransaction, TurnPatience, run};
use mangrove_cluster::wire::{Call, Reply};
use mangrove_directory::{CheckReport, Patience, StoreStats, Violation, Writer};
use mangrove_graph::{Catalog, ElementKind, GraphError, GraphView, GraphWrite, ReadContext, Result, Schema, Through};
use mangrove_link::{GraphAddress, Ways};
use mangrove_query::{Fleet, Parameters, Query, QueryOptions, StartPart};

use super::fragments::{CutFleet, Remembered};
use super::nodes::{NodeHeard, heard};
use super::runner::{self, Given, NamedSchema};
use super::{analysis, unexpected};
use crate::backend::{
    Backend, BackendTransaction, BackendView, BulkLoad, GraphParts, InParts, RanInParts, ViewInShards, ViewLater,
};
use crate::bookmark::Bookmark;
use crate::results::Results;
use crate::stream::Rows;

/// Violations that a check names.
const NAMED: usize = 100;
/// How long the end of a process may wait until all shards have its commits.
const SETTLING: Duration = Duration::from_secs(2);

/// A graph on many nodes.
pub struct ClusterBackend {
    gateway: Arc<Gateway>,
    is_read_only: bool,
    /// Who has a transaction open through this handle.
    writing: Arc<Mutex<Vec<Writer>>>,
    /// The schema that came last with the results of a query that a node has run.
    told: Mutex<Option<NamedSchema>>,
    /// What queries have learned of the nodes.
    remembered: Arc<Remembered>,
}

/// The graphs to which this process is connected, each by the addresses that led to it. All handles of one share their connections, and read what
/// any of them has committed.
static CONNECTED: Mutex<Vec<(String, Weak<Gateway>)>> = Mutex::new(Vec::new());

impl ClusterBackend {
    /// Connects to the nodes of an address.
    ///
    /// # Errors
    /// If no node answers, or if they have no shards.
    pub fn connect(address: &GraphAddress, is_read_only: bool) -> Result<Self> {
        if let Some(connected) = Self::again(address, is_read_only) {
            return Ok(connected);
        }
        let name = format!("process {}", std::process::id());
        Ok(Self::over(address, Ways::find(address, &name)?, is_read_only)) // without the lock: nodes may not answer
    }

    /// The graph of an address to which this process is connected already.
    pub fn again(address: &GraphAddress, is_read_only: bool) -> Option<Self> {
        let wanted = address.to_string();
        connected(|known, _| known == wanted).map(|gateway| Self::new(gateway, is_read_only))
    }

    /// The graph of the nodes that were found at an address.
    pub fn over(address: &GraphAddress, ways: Ways, is_read_only: bool) -> Self {
        let made = ways.gateway();
        let graph = made.peers().graph();
        let gateway = connected(|_, gateway| gateway.peers().graph() == graph).unwrap_or(made);
        gateway.peers().learn(&address.nodes);
        CONNECTED.lock().unwrap_or_else(PoisonError::into_inner).push((address.to_string(), Arc::downgrade(&gateway)));
        Self::new(gateway, is_read_only)
    }

    fn new(gateway: Arc<Gateway>, is_read_only: bool) -> Self {
        let (writing, told, remembered) = Default::default();
        Self { gateway, is_read_only, writing, told, remembered }
    }

    fn must_be_of_this_graph(&self, bookmark: Bookmark) -> Result<()> {
        match bookmark.graph == self.gateway.peers().graph() {
            true => Ok(()),
            false => Err(GraphError::Invalid(format!("{bookmark} is a bookmark of another graph"))),
        }
    }

    fn told(&self) -> MutexGuard<'_, Option<NamedSchema>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gateway that this process still uses.
fn connected(is_wanted: impl Fn(&str, &Gateway) -> bool) -> Option<Arc<Gateway>> {
    let mut all = CONNECTED.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|(_, gateway)| gateway.strong_count() > 0);
    let there: Vec<_> = all.iter().filter_map(|(address, gateway)| Some((address.clone(), gateway.upgrade()?))).collect();
    drop(all); // the end of a gateway may take a while
    there.into_iter().find(|(address, gateway)| is_wanted(address, gateway)).map(|(_, gateway)| gateway)
}

/// Whoever connects after this process has ended sees what it has committed.
impl Drop for ClusterBackend {
    fn drop(&mut self) {
        if self.gateway.own() == 0 {
            return;
        }
        let gateway = self.gateway.clone();
        let deadline = Some(Instant::now() + SETTLING);
        let limits = ReadContext { deadline, timeout: Some(SETTLING), ..ReadContext::default() };
        // This thread may be one that carries messages, which must not wait for them.
        let settling = std::thread::Builder::new().spawn(move || settle(&gateway, Some(&limits)));
        let _ = settling.map(|thread| thread.join()); // what was committed stays so, whatever comes of this
    }
}

/// Waits until all nodes that answer have what this process has committed.
fn settle(gateway: &Gateway, limits: Option<&ReadContext>) {
    if let Err(error) = gateway.settle(limits) {
        tracing::warn!(%error, "others may not see the last commits of this process at once");
    }
}

impl Backend for ClusterBackend {
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>> {
        let view = ClusterRead::new(&self.gateway, self.gateway.cut(limits.as_ref())?, &self.remembered);
        view.limits.set(limits);
        Ok(Box::new(view))
    }

    fn view_later(&self) -> Option<ViewLater> {
        let (gateway, remembered) = (self.gateway.clone(), self.remembered.clone());
        Some(Box::new(move || Ok(Box::new(ClusterRead::new(&gateway, gateway.cut(None)?, &remembered)))))
    }

    fn view_at(&self, at: Bookmark, limits: &ReadContext) -> Result<Box<dyn BackendView>> {
        self.must_be_of_this_graph(at)?;
        let cut = self.remembered.kept.at(at.number, &self.gateway, limits)?;
        let view = ClusterRead::new(&self.gateway, cut, &self.remembered);
        view.limits.set(Some(limits.clone()));
        Ok(Box::new(view))
    }

    fn begin(&self, writer: Writer, patience: Patience<'_>) -> Result<Box<dyn BackendTransaction>> {
        if self.is_read_only {
            return Err(GraphError::ReadOnly);
        }
        let place = Place::take(&self.writing, writer)?;
        let (limits, patience) =
            (Limits::default(), TurnPatience { timeout: patience.timeout, cancelled: patience.cancelled });
        let inner = ClusterTransaction::begin(&self.gateway, &patience, &limits)?;
        Ok(Box::new(ClusterWrite { inner, limits, _place: place }))
    }

    fn run_elsewhere(
        &self,
        query: &Query,
        parameters: &Parameters,
        options: &QueryOptions,
        writer: Writer,
    ) -> Result<Option<Rows>> {
        let known = self.told().clone();
        let asked = runner::asked(query, parameters, options, known.as_ref().map(|known| known.name));
        let Some(asked) = asked.filter(|_| !self.is_read_only) else { return Ok(None) };
        let _place = Place::take(&self.writing, writer)?;
        let Some(given) = run(&self.gateway, &asked, &options.read_context())? else { return Ok(None) };
        let mut given = Given::from_bytes(&given)?;
        let (outlook, told) = (given.outlook(&options.procedures)?, given.schema(known)?);
        *self.told() = Some(told.clone());
        let mut whole = Results::expecting(Some((outlook.clone(), told.schema)));
        whole.add_rows(given.whole);
        Ok(Some(Rows { values: given.values, whole: Some(whole), warnings: given.warnings, outlook }))
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn is_far(&self) -> bool {
        true
    }

    fn settle(&self) {
        settle(&self.gateway, None);
    }

    fn bookmark(&self) -> Option<Bookmark> {
        Some(Bookmark { graph: self.gateway.peers().graph(), number: self.gateway.newest() })
    }

    fn wait_for(&self, bookmark: Bookmark, limits: &ReadContext) -> Result<()> {
        self.must_be_of_this_graph(bookmark)?;
        self.gateway.wait_for(bookmark.number, limits).map_err(|error| match error {
            GraphError::Late(timeout) => GraphError::Unavailable(format!(
                "{bookmark} could not be read within {} s: the shards have not come so far",
                timeout.unwrap_or_default().as_secs_f64()
            )),
            error => error,
        })
    }

    fn check(&self) -> Result<CheckReport> {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (name, node) in self.gateway.peers().all()? {
            match node.and_then(|node| node.call(&Call::Check, None)) {
                Ok(Reply::Checked(what)) => found.extend(what.into_iter().map(|what| format!("{name}: {what}"))),
                Ok(_) => return Err(unexpected(&name)),
                Err(error) => missing.push(format!("{name} could not be checked: {error}")),
            }
        }
        match self.gateway.peers().with_shards() {
            // Others with the same shards were checked.
            Ok(_) => missing.into_iter().for_each(|what| tracing::warn!("{what}")),
            Err(_) => found.extend(missing),
        }
        found.extend(self.gateway.cut(None)?.check(self.gateway.placement())?);
        let counted = self.view(None)?.statistics()?;
        Ok(CheckReport {
            violations_total: found.len() as u64,
            violations: found.into_iter().take(NAMED).map(|what| Violation { table: "shard", what }).collect(),
            vertices: counted.of(ElementKind::Vertex).iter().sum(),
            edges: counted.of(ElementKind::Edge).iter().sum(),
            ..CheckReport::default()
        })
    }

    fn stats(&self) -> Result<StoreStats> {
        // Nodes with the same shard have files of different sizes. The largest counts.
        let (mut bytes, mut why) = (vec![None; usize::from(self.gateway.placement().shards)], None);
        for (name, node) in self.gateway.peers().all()? {
            match node.and_then(|node| node.call(&Call::Status, None)) {
                Ok(Reply::Status(status)) => {
                    for shard in status.shards {
                        let known: &mut Option<u64> = &mut bytes[usize::from(shard.shard)];
                        *known = (*known).max(Some(shard.bytes));
                    }
                }
                Ok(_) => return Err(unexpected(&name)),
                Err(error) => why = Some(error),
            }
        }
        let missing = || why.unwrap_or_else(|| GraphError::Unavailable("no node has some of the shards".into()));
        let file_bytes = bytes.into_iter().sum::<Option<u64>>().ok_or_else(missing)?;
        Ok(StoreStats { file_bytes, ..StoreStats::default() })
    }

    fn nodes(&self) -> Result<Option<Vec<NodeHeard>>> {
        heard(&self.gateway).map(Some)
    }

    fn backup(&self, _: &Path) -> Result<()> {
        Err(GraphError::Invalid("`mangrove cluster backup` copies a graph on many nodes, into their store".into()))
    }

    fn compact(&self, _: Writer, _: Patience<'_>) -> Result<u64> {
        Err(GraphError::Invalid("a graph on many nodes is compressed by its nodes, from time to time".into()))
    }
}

/// A thread with a transaction open must not wait for itself.
struct Place {
    writing: Arc<Mutex<Vec<Writer>>>,
    writer: Writer,
}

impl Place {
    fn take(writing: &Arc<Mutex<Vec<Writer>>>, writer: Writer) -> Result<Self> {
        let mut others = locked(writing);
        if others.iter().any(|other| other.thread == writer.thread && !writer.may_move) {
            return Err(GraphError::OpenAlready);
        }
        others.push(writer.clone());
        drop(others);
        Ok(Self { writing: writing.clone(), writer })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut writing = locked(&self.writing);
        if let Some(at) = writing.iter().position(|writer| *writer == self.writer) {
            writing.swap_remove(at);
        }
    }
}

fn locked(writing: &Mutex<Vec<Writer>>) -> MutexGuard<'_, Vec<Writer>> {
    writing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The graph at a cut.
struct ClusterRead {
    graph: CutGraph,
    cut: Arc<HeldCut>,
    limits: Limits,
    placement: Placement,
    remembered: Arc<Remembered>,
    gateway: Arc<Gateway>,
}

impl ClusterRead {
    fn new(gateway: &Arc<Gateway>, cut: Arc<HeldCut>, remembered: &Arc<Remembered>) -> Self {
        let limits = Limits::default();
        let placement = gateway.placement();
        let (graph, remembered, gateway) = (cut.graph(placement, &limits), remembered.clone(), gateway.clone());
        Self { graph, cut, limits, placement, remembered, gateway }
    }
}

impl Through for ClusterRead {
    type View<'a> = &'a CutGraph;

    fn through(&self) -> Result<&CutGraph> {
        Ok(&self.graph)
    }

    fn schema(&self) -> &Arc<Schema> {
        self.graph.schema()
    }

    fn distance(&self) -> mangrove_graph::Distance {
        GraphView::distance(&self.graph)
    }

    fn fork(&self) -> Result<Option<Box<dyn GraphView + Send>>> {
        Ok(Some(Box::new(self.cut.graph(self.placement, &self.limits.for_another_thread()))))
    }
}

impl BackendView for ClusterRead {
    fn limit(&mut self, limits: Option<ReadContext>) {
        self.limits.set(limits);
    }

    fn version(&self) -> Option<u64> {
        Some(self.cut.number)
    }

    fn is_lost(&self) -> bool {
        self.cut.is_lost()
    }

    fn parts(&self) -> Option<&dyn GraphParts> {
        Some(self)
    }

    fn fleet(&self) -> Option<Arc<dyn Fleet>> {
        Some(Arc::new(CutFleet::new(&self.cut, self.placement, &self.remembered)))
    }

    fn shards(&self) -> Option<&dyn ViewInShards> {
        Some(self)
    }
}

impl ViewInShards for ClusterRead {
    fn count(&self) -> u16 {
        self.placement.shards
    }

    fn keep(&self) -> Bookmark {
        self.remembered.kept.keep(&self.cut);
        Bookmark { graph: self.gateway.peers().graph(), number: self.cut.number }
    }

    fn shard(&self, shard: u16) -> Option<StartPart> {
        Some(StartPart(Arc::new(self.cut.shard(shard, self.placement, &self.limits)?)))
    }
}

impl GraphParts for ClusterRead {
    fn run(
        &self,
        work: &InParts<'_>,
        limits: &ReadContext,
        show: &mut dyn FnMut(Stage),
    ) -> Result<Option<RanInParts>, AnalyticsError> {
        analysis::run(&self.gateway, &self.cut, work, limits, show)
    }
}

struct ClusterWrite {
    inner: ClusterTransaction,
    limits: Limits,
    _place: Place,
}

impl BackendTransaction for ClusterWrite {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        self.inner.graph()
    }

    fn view(&self) -> &dyn GraphView {
        self.inner.view()
    }

    fn limit(&mut self, limits: Option<ReadContext>) {
        self.limits.set(limits);
    }

    fn is_lost(&self) -> bool {
        self.inner.is_lost()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.inner.commit().map(|_| ())
    }

    fn is_waited_for(&self) -> bool {
        false
    }

    fn is_unused(&self) -> Result<bool> {
        Ok(false) // no load becomes a bulk load
    }

    fn into_bulk(self: Box<Self>) -> Result<Box<dyn BulkLoad>> {
        Err(GraphError::Invalid("a graph on many nodes takes no bulk load".into()))
    }
}
