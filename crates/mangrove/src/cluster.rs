//! A graph on many nodes as a backend, and a node of one.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use mangrove_cluster::gateway::{CutGraph, Gateway, HeldCut, Limits, Peers, Way};
use mangrove_cluster::log::{Record, WriterPace};
use mangrove_cluster::node::{Node, NodeOptions, ShardStore};
use mangrove_cluster::transaction::{ClusterTransaction, TurnPatience};
use mangrove_cluster::wire::{Call, Reply};
use mangrove_directory::{CheckReport, Durability, OpenOptions, Patience, ShardOf, Store, StoreStats, Violation, Writer};
use mangrove_graph::{
    Catalog, ElementKind, GraphError, GraphView, GraphWrite, IdSpace, ReadContext, Result, Schema, Through,
};
use mangrove_link::{Identity, Serving, Ways};
use socket2::{Domain, Socket, Type};

pub use mangrove_cluster::log::{GraphRecord, Log, Member};
pub use mangrove_cluster::wire::{NodeStatus, ShardStatus};
pub use mangrove_cluster::{Placement, SHARDS_MAX};
pub use mangrove_link::{CA_FILE, CERTIFICATE_FILE, GraphAddress, KEY_FILE};

use crate::backend::{Backend, BackendTransaction, BackendView, BulkLoad, ViewLater};
use crate::bookmark::Bookmark;
use crate::error::OpenError;

/// Violations that a check names.
const NAMED: usize = 100;
/// How long a log may take to show its first record.
const MADE: Duration = Duration::from_secs(20);
/// How long the end of a process may wait until all shards have its commits.
const SETTLING: Duration = Duration::from_secs(2);
/// Connections that wait until the node takes them.
const BACKLOG: i32 = 1_024;
/// How long nodes may take to end.
const ENDING: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);

/// A graph on many nodes.
pub struct ClusterBackend {
    gateway: Arc<Gateway>,
    is_read_only: bool,
    /// Who has a transaction open through this handle.
    writing: Arc<Mutex<Vec<Writer>>>,
}

/// The graphs to which this process is connected, each by the addresses that led to it. All handles of one share their connections, and read what
/// any of them has committed.
static CONNECTED: Mutex<Vec<(String, Weak<Gateway>)>> = Mutex::new(Vec::new());

impl ClusterBackend {
    /// Connects to the nodes of an address.
    pub fn connect(address: &GraphAddress, is_read_only: bool) -> Result<Self> {
        let (wanted, writing) = (address.to_string(), Arc::default());
        if let Some(gateway) = connected(|known, _| known == wanted) {
            return Ok(Self { gateway, is_read_only, writing });
        }
        let name = format!("process {}", std::process::id());
        let made = Ways::find(address, &name)?.gateway(); // without the lock: nodes may not answer
        let graph = made.peers().graph();
        let gateway = connected(|_, gateway| gateway.peers().graph() == graph).unwrap_or(made);
        gateway.peers().learn(&address.nodes);
        CONNECTED.lock().unwrap_or_else(PoisonError::into_inner).push((wanted, Arc::downgrade(&gateway)));
        Ok(Self { gateway, is_read_only, writing })
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
        let view = ClusterRead::new(&self.gateway, self.gateway.cut(limits.as_ref())?);
        view.limits.set(limits);
        Ok(Box::new(view))
    }

    fn view_later(&self) -> Option<ViewLater> {
        let gateway = self.gateway.clone();
        Some(Box::new(move || Ok(Box::new(ClusterRead::new(&gateway, gateway.cut(None)?)))))
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
        if bookmark.graph != self.gateway.peers().graph() {
            return Err(GraphError::Invalid(format!("{bookmark} is a bookmark of another graph")));
        }
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

    fn backup(&self, _: &Path) -> Result<()> {
        Err(GraphError::Invalid("a graph on many nodes is exported (`mangrove export`), or its log is copied".into()))
    }

    fn compact(&self, _: Writer, _: Patience<'_>) -> Result<u64> {
        Err(GraphError::Invalid("a graph on many nodes is compressed by its nodes, from time to time".into()))
    }
}

fn unexpected(node: &str) -> GraphError {
    GraphError::Unavailable(format!("{node} said something else than was asked"))
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
}

impl ClusterRead {
    fn new(gateway: &Gateway, cut: Arc<HeldCut>) -> Self {
        let limits = Limits::default();
        let placement = gateway.placement();
        Self { graph: cut.graph(placement, &limits), cut, limits, placement }
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

/// What a node of a graph is made of.
pub struct NodeConfig<'a> {
    /// What stays when it starts again.
    pub name: String,
    /// The directory of its shards.
    pub data: PathBuf,
    pub shards: Vec<u16>,
    /// Where it listens, once it has read the log.
    pub listen: SocketAddr,
    /// Where others reach it, if that is elsewhere.
    pub advertise: Option<String>,
    /// The directory of its certificates. Without, it listens on this machine only.
    pub tls: Option<PathBuf>,
    pub log: Arc<dyn Log>,
    /// Whether it should rather end than start.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// A node that runs. Dropping it ends it.
pub struct RunningNode {
    node: Arc<Node>,
    serving: Serving,
}

impl RunningNode {
    /// Opens the shards, follows the log to its end, and starts to answer.
    ///
    /// # Errors
    /// If the log has no graph, if a shard cannot be opened, or if the address is not free.
    pub fn start(config: NodeConfig<'_>) -> Result<Self, OpenError> {
        let NodeConfig { name, data, shards, listen, advertise, tls, log, is_cancelled } = config;
        let failed = |error: String| OpenError::Cluster(GraphError::Invalid(error));
        let identity = tls.as_deref().map(Identity::read).transpose().map_err(|error| failed(error.to_string()))?;
        let (socket, listening) = bound(listen).map_err(|error| failed(format!("cannot listen on {listen}: {error}")))?;
        let address = advertise.unwrap_or_else(|| listening.to_string());
        identity.as_ref().map_or(Ok(()), |own| own.must_be_of(&address)).map_err(|error| failed(error.to_string()))?;
        let graph = graph_of(&*log).map_err(OpenError::Cluster)?;
        let stores = shards.into_iter().map(|number| Ok((number, open_shard(&data, number, &graph)?)));
        let options = NodeOptions {
            name,
            address,
            process: drawn(),
            log,
            stores: stores.collect::<Result<_, OpenError>>()?,
            pace: WriterPace::default(),
        };
        let node = Node::start(options).map_err(OpenError::Cluster)?;
        while !node.is_ready() {
            if is_cancelled() {
                return Err(OpenError::Cluster(GraphError::Cancelled));
            }
            std::thread::sleep(PAUSE / 5);
        }
        let listened = socket.listen(BACKLOG).and_then(|()| mangrove_link::serve(&node, socket.into(), identity));
        let serving = listened.map_err(|error| failed(format!("cannot listen on {listening}: {error}")))?;
        node.announce(is_cancelled).map_err(OpenError::Cluster)?;
        Ok(Self { node, serving })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.serving.address
    }

    /// Whether somebody has asked for its end.
    pub fn is_asked_to_stop(&self) -> bool {
        self.node.is_asked_to_stop()
    }

    /// Whether another process has taken its name. Then nobody finds this one any more.
    pub fn is_replaced(&self) -> bool {
        self.node.is_replaced()
    }

    /// Ends it, once others know.
    pub fn stop(self) {
        self.node.stop();
    }
}

/// A socket with an address. Nobody can connect until it listens.
fn bound(address: SocketAddr) -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A node that starts again must not wait until the system has forgotten the connections of the one before.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    let own = socket.local_addr()?.as_socket().ok_or_else(|| io::Error::other("no address of the network"))?;
    Ok((socket, own))
}

fn open_shard(data: &Path, number: u16, graph: &GraphRecord) -> Result<Box<dyn ShardStore>, OpenError> {
    let shard = ShardOf { graph: graph.id, number, shards: graph.placement.shards };
    let options = OpenOptions {
        durability: Durability::Replayed,
        id_space: Some(graph.placement.id_space),
        shard: Some(shard),
        ..OpenOptions::default()
    };
    Ok(Box::new(Store::open(data.join(format!("shard-{number:04}")), &options)?))
}

/// A number for a process, which is not 0.
fn drawn() -> u64 {
    mangrove_graph::Uuid::new_v4().as_u64_pair().0.max(1)
}

/// The shards of node `number` of so many, each with `replicas` nodes: they go round, and replicas are on the nodes behind the first.
///
/// # Errors
/// If the numbers do not fit each other.
pub fn shards_of_node(number: u16, nodes: u16, replicas: u16, shards: u16) -> Result<Vec<u16>> {
    let wrong = |what: String| Err(GraphError::Invalid(what));
    match () {
        () if nodes == 0 || nodes > shards => wrong(format!("{shards} shards are for 1 to {shards} nodes, not {nodes}")),
        () if replicas == 0 || replicas > nodes => {
            wrong(format!("{nodes} nodes have 1 to {nodes} replicas of a shard, not {replicas}"))
        }
        () if number >= nodes => wrong(format!("{nodes} nodes have the numbers 0 to {}, not {number}", nodes - 1)),
        () => Ok((0..shards).filter(|shard| (0..replicas).any(|behind| (shard + behind) % nodes == number)).collect()),
    }
}

/// Makes the graph of an empty log: so many shards, which never change.
///
/// # Errors
/// If the log has a graph already.
pub fn make_graph(log: &dyn Log, name: &str, shards: u16, id_space: IdSpace) -> Result<GraphRecord> {
    if !(1..=SHARDS_MAX).contains(&shards) {
        return Err(GraphError::Invalid(format!("a graph has 1 to {SHARDS_MAX} shards, not {shards}")));
    }
    let (id, seed) = mangrove_graph::Uuid::new_v4().as_u64_pair();
    let graph = GraphRecord { id: id | 1, name: name.to_owned(), placement: Placement { shards, seed, id_space } };
    log.append(Record::Graph(graph.clone()).to_bytes()?)?;
    let until = Instant::now() + MADE;
    loop {
        match graph_of(log) {
            Ok(found) if found == graph => return Ok(graph),
            Ok(_) => return Err(GraphError::Invalid("the log has a graph already".into())),
            Err(error) if Instant::now() >= until => return Err(error),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// A node of a graph, and how it is.
pub struct NodeFound {
    pub member: Member,
    /// Why it does not say, if it does not.
    pub status: Result<NodeStatus>,
}

/// The nodes of a graph.
///
/// # Errors
/// If no node answers.
pub fn nodes(address: &GraphAddress) -> Result<(GraphRecord, Vec<NodeFound>)> {
    let ways = Ways::find(address, "status")?;
    let (graph, members) = ways.members()?;
    let mut ways: BTreeMap<String, Way> = ways.all()?.into_iter().collect();
    let found = members.into_iter().map(|member| {
        let node = ways.remove(&member.name).unwrap_or_else(|| Err(unexpected(&member.name)));
        let status = node.and_then(|node| match node.call(&Call::Status, None)? {
            Reply::Status(status) => Ok(status),
            _ => Err(unexpected(&member.name)),
        });
        NodeFound { member, status }
    });
    Ok((graph, found.collect()))
}

/// Takes a node that has ended off the list of nodes. If it starts again, it is a member again.
///
/// # Errors
/// If there is no such node, if it answers, if some shard would be on no node, or if no other node answers.
pub fn remove(address: &GraphAddress, name: &str) -> Result<()> {
    let ways = Ways::find(address, "remove")?;
    let (graph, members) = ways.members()?;
    let (gone, left): (Vec<Member>, Vec<Member>) = members.into_iter().partition(|member| member.name == name);
    let names = || left.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ");
    if gone.is_empty() {
        return Err(GraphError::Invalid(format!("the graph has no node {name}: it has {}", names())));
    }
    let is_left = |shard: &u16| left.iter().any(|member| member.shards.contains(shard));
    if let Some(shard) = (0..graph.placement.shards).find(|shard| !is_left(shard)) {
        return Err(GraphError::Invalid(format!("without {name}, no node has shard {shard}: start one that has it first")));
    }
    let (own, others): (Vec<_>, Vec<_>) = ways.all()?.into_iter().partition(|(member, _)| member == name);
    if own.into_iter().any(|(_, node)| node.is_ok_and(|node| node.call(&Call::Hello, None).is_ok())) {
        return Err(GraphError::Invalid(format!("{name} runs: end it first")));
    }
    let mut why = GraphError::Unavailable("no other node answers".into());
    for node in others.into_iter().filter_map(|(_, node)| node.ok()) {
        match node.call(&Call::Forget { name: name.to_owned() }, None) {
            Ok(_) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Ends all nodes of a graph that answer, and gives the names of those that do. The log and the shards stay.
///
/// # Errors
/// If no node answers, or if one does not end.
pub fn stop(address: &GraphAddress) -> Result<Vec<String>> {
    let ways = Ways::find(address, "down")?;
    let there: Vec<_> = ways.all()?.into_iter().filter_map(|(name, node)| Some((name, node.ok()?))).collect();
    for (name, node) in &there {
        let Reply::Stopping = node.call(&Call::Stop, None)? else { return Err(unexpected(name)) };
    }
    let until = Instant::now() + ENDING;
    for (name, node) in &there {
        while node.call(&Call::Hello, None).is_ok() {
            if Instant::now() >= until {
                return Err(GraphError::Unavailable(format!("{name} does not end")));
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(there.into_iter().map(|(name, _)| name).collect())
}

/// The graph that a log is of: its first record.
///
/// # Errors
/// If the log has none, or cannot be read.
pub fn graph_of(log: &dyn Log) -> Result<GraphRecord> {
    let (mut reader, mut found) = (log.reader(0)?, Vec::new());
    for _ in 0..100 {
        let ended = reader.read(PAUSE, &mut found)?;
        if let Some((_, first)) = found.first() {
            return match Record::from_bytes(first)? {
                Record::Graph(graph) => Ok(graph),
                _ => Err(GraphError::corrupt("a log that does not begin with its graph")),
            };
        }
        if ended {
            return Err(GraphError::Invalid("the log is empty: make the graph first".into()));
        }
    }
    Err(GraphError::Unavailable("the log cannot be read".into()))
}
