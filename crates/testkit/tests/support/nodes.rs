//! A graph on several nodes in this process, which follow a log in memory. All that they say to each other goes through bytes, or through
//! connections.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use mangrove_cluster::Placement;
use mangrove_cluster::backup::{Backup, Directory, restore_shard};
use mangrove_cluster::gateway::{Gateway, Limits, Peer, Peers, ShardNode, Sought, Way};
use mangrove_cluster::log::{GraphRecord, Log, LogReader, MemoryLog, Record, WriterPace, beginning};
use mangrove_cluster::node::{CutView, Keeping, LocalPeer, Node, NodeOptions, Session, ShardStore, ShardStores};
use mangrove_cluster::transaction::{ClusterTransaction, TurnPatience, base};
use mangrove_cluster::wire::{Call, Reply, SentError, from_bytes, to_bytes};
use mangrove_directory::{Durability, OpenOptions, Patience, ShardOf, Store, Writer};
use mangrove_graph::{FollowerWrite, GraphError, GraphView, GraphWrite, IdSpace, ReadContext, Result};
use mangrove_link::{GraphAddress, Serving, Ways, serve};
use mangrove_testkit::oracle::Oracle;
use mangrove_testkit::suite::{Condensing, StoreUnderTest, Transaction};
use tempfile::TempDir;

const PACE: WriterPace =
    WriterPace { silence: 5_000, lapse: 1_000, again: 500, alive: 20, cut: 2, group: 1_000, remembered: 100_000 };

/// How long a log may take to show its first record.
const LOGGING: Duration = Duration::from_secs(10);

/// Nodes, each with every so manieth shard, and some of them with the shards of others, too.
pub struct Nodes {
    pub nodes: Vec<Arc<Node>>,
    stores: Opened,
    pub gateway: Arc<Gateway>,
    pub log: MemoryLog,
    /// Whether the log loses the commits that nodes write to it. They write them again.
    pub loses_commits: Arc<AtomicBool>,
    placement: Placement,
    replicas: usize,
    home: TempDir,
    /// Where backups are kept.
    vault: TempDir,
    /// Where each node is served, if they are.
    served: Option<Vec<Serving>>,
    /// How many milliseconds shard 0 takes for each change, on top of what it needs. A change that waits heeds a smaller number at once.
    pub slow: Arc<AtomicU64>,
}

/// The stores that are open, by node and shard.
#[derive(Clone, Default)]
struct Opened(Arc<Mutex<BTreeMap<(usize, u16), Store>>>);

impl Opened {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(usize, u16), Store>> {
        self.0.lock().expect("stores")
    }
}

/// Where a node has its stores.
struct AtHome {
    home: PathBuf,
    node: usize,
    graph: GraphRecord,
    log: Arc<dyn Log>,
    vault: Directory,
    opened: Opened,
    slow: Arc<AtomicU64>,
}

impl AtHome {
    fn directory(&self, shard: u16) -> PathBuf {
        self.home.join(format!("node-{}/shard-{shard}", self.node))
    }

    /// A store that is open already, or is opened now.
    fn store(&self, shard: u16) -> Result<Box<dyn ShardStore>> {
        if !self.opened.all().contains_key(&(self.node, shard)) {
            let path = self.directory(shard);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            if !path.exists() {
                restore_shard(&self.vault, &self.graph, &*self.log, shard, &path)?;
            }
            let Placement { shards, id_space, .. } = self.graph.placement;
            let options = OpenOptions {
                durability: Durability::Relaxed,
                id_space: Some(id_space),
                seal_bytes: 0,
                shard: Some(ShardOf { graph: self.graph.id, number: shard, shards }),
                ..OpenOptions::default()
            };
            self.opened.all().insert((self.node, shard), Store::open(path, &options).expect("a store"));
        }
        let store = self.opened.all()[&(self.node, shard)].clone();
        Ok(if shard == 0 { Box::new(Slow(store, self.slow.clone())) } else { Box::new(store) })
    }
}

impl ShardStores for AtHome {
    fn open(&self, shard: u16) -> Result<Box<dyn ShardStore>> {
        self.store(shard)
    }

    fn delete(&self, shard: u16) -> Result<()> {
        self.opened.all().remove(&(self.node, shard));
        std::fs::remove_dir_all(self.directory(shard)).map_err(GraphError::storage)
    }
}

/// A number that no process has had.
fn process() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Nodes {
    /// # Panics
    /// If they do not start.
    pub fn new(nodes: usize, shards: u16, id_space: IdSpace) -> Self {
        Self::made(nodes, shards, 1, id_space, None, Duration::ZERO)
    }

    /// The same, with a shard 0 that takes so long for each change.
    pub fn with_a_slow_shard(nodes: usize, shards: u16, id_space: IdSpace, slow: Duration) -> Self {
        Self::made(nodes, shards, 1, id_space, None, slow)
    }

    /// The same, with clients that connect to them.
    pub fn served(nodes: usize, shards: u16, id_space: IdSpace) -> Self {
        Self::replicated(nodes, shards, 1, id_space)
    }

    /// The same, with so many nodes that have each shard.
    pub fn replicated(nodes: usize, shards: u16, replicas: usize, id_space: IdSpace) -> Self {
        Self::made(nodes, shards, replicas, id_space, Some(Vec::new()), Duration::ZERO)
    }

    fn made(
        count: usize,
        shards: u16,
        replicas: usize,
        id_space: IdSpace,
        served: Option<Vec<Serving>>,
        slow: Duration,
    ) -> Self {
        let [home, vault] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
        let log = MemoryLog::default();
        let placement = Placement { shards, seed: 7, id_space };
        let graph = GraphRecord { id: 99, name: "test".into(), placement };
        log.append(Record::Graph(graph).to_bytes().expect("bytes")).expect("a log");
        let (gateway, nodes, stores, loses_commits) =
            (gateway(&[], placement), Vec::new(), Opened::default(), Arc::default());
        let slow = Arc::new(AtomicU64::new(slow.as_millis() as u64));
        let mut new = Self { nodes, stores, gateway, log, loses_commits, placement, replicas, home, vault, served, slow };
        new.start_all(count);
        new
    }

    fn start_all(&mut self, count: usize) {
        let is_at =
            |shard: u16, node: usize| (0..self.replicas).any(|replica| (usize::from(shard) + replica) % count == node);
        let shards = |node: usize| (0..self.placement.shards).filter(|shard| is_at(*shard, node)).collect();
        let asked: Vec<Vec<u16>> = (0..count).map(shards).collect();
        asked.iter().enumerate().for_each(|(at, shards)| self.start_with(at, shards));
        self.gateway = self.client();
    }

    fn stop_all(&mut self) {
        self.gateway = gateway(&[], self.placement);
        self.served.iter_mut().for_each(Vec::clear);
        self.nodes.drain(..).for_each(|node| node.stop());
        self.stores.all().clear();
    }

    /// Starts all nodes again, with another log.
    pub fn restart_with(&mut self, log: MemoryLog) {
        let count = self.nodes.len();
        self.stop_all();
        self.log = log;
        self.start_all(count);
    }

    /// Starts all nodes again, without what their shards had.
    pub fn restart_from_nothing(&mut self) {
        let count = self.nodes.len();
        self.stop_all();
        self.home = tempfile::tempdir().expect("a temporary directory");
        self.start_all(count);
    }

    pub fn vault(&self) -> Directory {
        Directory::new(self.vault.path())
    }

    /// Makes a backup, and cuts the log before the one before it. Gives the backup, and where the log begins if it was cut.
    pub fn back_up(&self) -> (Backup, Option<u64>) {
        let base = base(&self.gateway, &TurnPatience { timeout: None, cancelled: &|| false }).expect("a base");
        let nodes = self.gateway.peers().with_shards().expect("nodes");
        let ask = |shard: u16, call: Call| {
            let (node, _) = nodes.iter().find(|(_, shards)| shards.contains(&shard)).expect("a node");
            node.call(&call, None).expect("a reply")
        };
        let copy = |shard| match ask(shard, Call::CopyShard { shard, base }) {
            Reply::ShardCopied(copy) => copy,
            other => panic!("{other:?}"),
        };
        let shards = (0..self.placement.shards).map(copy).collect();
        match (ask(0, Call::CopyLog { base, shards }), ask(0, Call::CutLog)) {
            (Reply::LogCopied(backup), Reply::LogCut(first)) => (backup, first),
            other => panic!("{other:?}"),
        }
    }

    /// Starts a node with what it had.
    pub fn start(&mut self, at: usize) {
        self.start_with(at, &[]);
    }

    /// Starts a node with what it had, and with these shards.
    pub fn start_with(&mut self, at: usize, shards: &[u16]) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let keeping = Keeping { objects: Arc::new(self.vault()), scratch: self.home.path().join(format!("node-{at}")) };
        let log = Lossy { log: self.log.clone(), loses_commits: self.loses_commits.clone() };
        let log = beginning(Arc::new(log), LOGGING).expect("a log").log;
        let stores = AtHome {
            home: self.home.path().to_owned(),
            node: at,
            graph: GraphRecord { id: 99, name: "test".into(), placement: self.placement },
            log: log.clone(),
            vault: self.vault(),
            opened: self.stores.clone(),
            slow: self.slow.clone(),
        };
        let had: Vec<u16> = self.stores.all().keys().filter(|(node, _)| *node == at).map(|(_, shard)| *shard).collect();
        let had = had.into_iter().map(|shard| (shard, stores.store(shard).expect("a store"))).collect();
        let options = NodeOptions {
            name: format!("node-{at}"),
            address,
            process: process(),
            log,
            shards: had,
            stores: Arc::new(stores),
            pace: PACE,
            keeping: Some(keeping),
        };
        let node = Node::start(options).expect("a node");
        node.place(shards, shards.is_empty(), &|| false).expect("shards");
        if let Some(served) = &mut self.served {
            served.insert(at, serve(node.clone(), listener, None).expect("a server"));
        }
        node.announce(&|| false).expect("a member");
        self.nodes.insert(at, node);
    }

    /// Ends a node.
    pub fn stop(&mut self, at: usize) {
        if let Some(served) = &mut self.served {
            drop(served.remove(at));
        }
        self.nodes.remove(at).stop();
    }

    /// Ends a node, and starts it again.
    pub fn restart(&mut self, at: usize) {
        self.stop(at);
        self.start(at);
    }

    /// The shards of a node, as the log says.
    pub fn shards(&self, at: usize) -> Vec<u16> {
        let asked = self.session(at).call(&Call::Hello, None).expect("a reply");
        let Reply::Hello { members, .. } = asked else { panic!("{asked:?}") };
        members.into_iter().find(|member| member.name == format!("node-{at}")).map_or(Vec::new(), |member| member.shards)
    }

    /// A way to a node.
    pub fn session(&self, at: usize) -> LocalPeer {
        LocalPeer(Session::new(self.nodes[at].clone(), "the tests".into()))
    }

    /// The shards that a node has on its disk.
    pub fn on_disk(&self, at: usize) -> usize {
        std::fs::read_dir(self.home.path().join(format!("node-{at}"))).expect("a directory").count()
    }

    /// Another client.
    pub fn client(&self) -> Arc<Gateway> {
        let Some(served) = &self.served else { return gateway(&self.nodes, self.placement) };
        let nodes = served.iter().map(|serving| serving.address.to_string()).collect();
        Ways::find(&GraphAddress { nodes, graph: "test".into(), tls: None }, "a client").expect("a node").gateway()
    }
}

/// A log that may lose commits.
struct Lossy {
    log: MemoryLog,
    loses_commits: Arc<AtomicBool>,
}

impl Log for Lossy {
    fn append(&self, record: Vec<u8>) -> Result<()> {
        let is_commit = matches!(Record::from_bytes(&record)?, Record::Commit(_));
        if is_commit && self.loses_commits.load(Ordering::Relaxed) { Ok(()) } else { self.log.append(record) }
    }

    fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
        self.log.reader(from)
    }

    fn first(&self) -> Result<u64> {
        self.log.first()
    }

    fn cut(&self, before: u64) -> Result<()> {
        self.log.cut(before)
    }
}

/// A store that takes so many milliseconds for each change, on top of what it needs.
struct Slow(Store, Arc<AtomicU64>);

impl ShardStore for Slow {
    fn view(&self) -> Result<Box<dyn CutView>> {
        ShardStore::view(&self.0)
    }

    fn log_position(&self) -> Result<Option<Vec<u8>>> {
        ShardStore::log_position(&self.0)
    }

    fn change(&self, work: &mut dyn FnMut(&mut dyn FollowerWrite) -> Result<()>) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(self.1.load(Ordering::Relaxed)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.change(work)
    }

    fn copy_to(&self, directory: &Path) -> Result<Option<Vec<u8>>> {
        self.0.copy_to(directory)
    }

    fn bytes(&self) -> Result<u64> {
        self.0.bytes()
    }

    fn check(&self) -> Result<Vec<String>> {
        ShardStore::check(&self.0)
    }
}

fn gateway(nodes: &[Arc<Node>], placement: Placement) -> Arc<Gateway> {
    let peer = |node: &Arc<Node>| {
        let session = Session::new(node.clone(), "a client".into());
        (node.process(), Arc::new(BytePeer(LocalPeer(session))) as Arc<dyn Peer>)
    };
    Gateway::new(Arc::new(BytePeers { peers: nodes.iter().map(peer).collect(), placement }))
}

/// A way to a node, through bytes.
struct BytePeer(LocalPeer);

impl Peer for BytePeer {
    fn call(&self, call: &Call, limits: Option<&ReadContext>) -> Result<Reply> {
        let call: Call = from_bytes(&to_bytes(call)?)?;
        let reply = self.0.call(&call, limits).map_err(SentError::from);
        from_bytes::<Result<Reply, SentError>>(&to_bytes(&reply)?)?.map_err(GraphError::from)
    }

    fn tell(&self, call: Call) {
        self.0.tell(call);
    }
}

struct BytePeers {
    peers: Vec<(u64, Arc<dyn Peer>)>,
    placement: Placement,
}

impl Peers for BytePeers {
    fn graph(&self) -> u64 {
        99
    }

    fn placement(&self) -> Placement {
        self.placement
    }

    fn with_shards(&self) -> Result<Vec<ShardNode>> {
        let count = self.peers.len();
        let of_node = |at: usize| (at as u16..self.placement.shards).step_by(count).collect();
        Ok(self.peers.iter().enumerate().map(|(at, (_, peer))| (peer.clone(), of_node(at))).collect())
    }

    fn all(&self) -> Result<Vec<(String, Way)>> {
        Ok(self.peers.iter().map(|(process, peer)| (process.to_string(), Ok(peer.clone()))).collect())
    }

    fn writer(&self, sought: Sought) -> Result<Arc<dyn Peer>> {
        let writer = self.peers.iter().find(|(process, _)| Sought::Process(*process) == sought);
        Ok(writer.unwrap_or(&self.peers[0]).1.clone())
    }
}

impl StoreUnderTest for Nodes {
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
        Ok(Box::new(self.gateway.cut(None)?.graph(self.placement, &Limits::default())))
    }

    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        let patience = TurnPatience { timeout: None, cancelled: &|| false };
        Ok(Box::new(Writing(ClusterTransaction::begin(&self.gateway, &patience, &Limits::default())?)))
    }

    fn reopen(&mut self) -> Result<()> {
        let count = self.nodes.len();
        self.stop_all();
        self.start_all(count);
        Ok(())
    }

    fn condense(&self, how: Condensing, meanwhile: &dyn Fn() -> bool) -> Result<()> {
        if how != Condensing::Merge {
            let patience = TurnPatience { timeout: None, cancelled: &|| false };
            let mut transaction = ClusterTransaction::begin(&self.gateway, &patience, &Limits::default())?;
            transaction.graph().end_labels()?;
            transaction.commit()?;
            self.gateway.cut(None)?; // all shards have read so
        }
        let stores: Vec<Store> = self.stores.all().values().cloned().collect();
        for store in stores {
            let (writer, patience) = (Writer::this_thread(), Patience::ENDLESS);
            match how {
                Condensing::Seal => store.seal(writer, patience)?,
                Condensing::Merge => store.merge(writer, patience).map(|_| ())?,
                Condensing::Compact => store.compact(writer, patience).map(|_| ())?,
            }
        }
        if meanwhile() { Err(GraphError::Cancelled) } else { Ok(()) }
    }

    fn oracle(&self, id_space: IdSpace) -> Oracle {
        super::shards::oracle(self.placement, id_space)
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for node in &self.nodes {
            all.extend(node.check()?);
        }
        all.extend(self.gateway.cut(None)?.check(self.placement)?);
        Ok(all)
    }
}

struct Writing(ClusterTransaction);

impl Transaction for Writing {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        self.0.graph()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.0.commit().map(|_| ())
    }
}
