//! A graph on several nodes in this process, which follow a log in memory. All that they say to each other goes through bytes, or through
//! connections.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mangrove_cluster::Placement;
use mangrove_cluster::gateway::{Gateway, Limits, Peer, Peers, Way};
use mangrove_cluster::log::{GraphRecord, Log, MemoryLog, Record, WriterPace};
use mangrove_cluster::node::{LocalPeer, Node, NodeOptions, Session};
use mangrove_cluster::transaction::{ClusterTransaction, TurnPatience};
use mangrove_cluster::wire::{Call, Reply, SentError, from_bytes, to_bytes};
use mangrove_directory::{Durability, OpenOptions, Patience, ShardOf, Store, Writer};
use mangrove_graph::{GraphError, GraphView, GraphWrite, IdSpace, ReadContext, Result};
use mangrove_link::{GraphAddress, Serving, Ways, serve};
use mangrove_testkit::oracle::Oracle;
use mangrove_testkit::suite::{Condensing, StoreUnderTest, Transaction};
use tempfile::TempDir;

const PACE: WriterPace = WriterPace { silence: 5_000, again: 500, alive: 20, cut: 2, group: 1_000, remembered: 100_000 };

/// Nodes, each with every so manieth shard.
pub struct Nodes {
    pub nodes: Vec<Arc<Node>>,
    stores: Vec<Store>,
    pub gateway: Arc<Gateway>,
    log: MemoryLog,
    placement: Placement,
    home: TempDir,
    /// Where each node is served, if they are.
    served: Option<Vec<Serving>>,
}

fn open(home: &Path, graph: &GraphRecord, number: u16) -> Store {
    let Placement { shards, id_space, .. } = graph.placement;
    let shard = Some(ShardOf { graph: graph.id, number, shards });
    let options = OpenOptions {
        durability: Durability::Relaxed,
        id_space: Some(id_space),
        seal_bytes: 0,
        shard,
        ..OpenOptions::default()
    };
    Store::open(home.join(format!("shard-{number}")), &options).expect("a store")
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
        Self::made(nodes, shards, id_space, None)
    }

    /// The same, with clients that connect to them.
    pub fn served(nodes: usize, shards: u16, id_space: IdSpace) -> Self {
        Self::made(nodes, shards, id_space, Some(Vec::new()))
    }

    fn made(count: usize, shards: u16, id_space: IdSpace, served: Option<Vec<Serving>>) -> Self {
        let (home, log) = (tempfile::tempdir().expect("a temporary directory"), MemoryLog::default());
        let placement = Placement { shards, seed: 7, id_space };
        let graph = GraphRecord { id: 99, name: "test".into(), placement };
        log.append(Record::Graph(graph.clone()).to_bytes().expect("bytes")).expect("a log");
        let stores: Vec<Store> = (0..shards).map(|number| open(home.path(), &graph, number)).collect();
        let gateway = gateway(&[], placement);
        let mut new = Self { nodes: Vec::new(), stores, gateway, log, placement, home, served };
        (0..count).for_each(|at| new.start(at, count));
        new.gateway = new.client();
        new
    }

    /// Starts one of so many nodes.
    pub fn start(&mut self, at: usize, count: usize) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let node = start(at, count, &self.stores, &self.log, address);
        if let Some(served) = &mut self.served {
            served.insert(at, serve(&node, listener).expect("a server"));
        }
        self.nodes.insert(at, node);
    }

    /// Ends a node, and starts it again.
    pub fn restart(&mut self, at: usize) {
        let count = self.nodes.len();
        if let Some(served) = &mut self.served {
            drop(served.remove(at));
        }
        self.nodes.remove(at).stop();
        self.start(at, count);
    }

    /// Another client.
    pub fn client(&self) -> Arc<Gateway> {
        let Some(served) = &self.served else { return gateway(&self.nodes, self.placement) };
        let nodes = served.iter().map(|serving| serving.address.to_string()).collect();
        Ways::find(&GraphAddress { nodes, graph: "test".into() }, "a client").expect("a node").gateway()
    }
}

fn start(at: usize, nodes: usize, stores: &[Store], log: &MemoryLog, address: String) -> Arc<Node> {
    let own = (0..).zip(stores).filter(|(number, _)| usize::from(*number) % nodes == at);
    let options = NodeOptions {
        name: format!("node-{at}"),
        address,
        process: process(),
        log: Arc::new(log.clone()),
        stores: own.map(|(number, store)| (number, Box::new(store.clone()) as _)).collect(),
        pace: PACE,
    };
    Node::start(options).expect("a node")
}

fn gateway(nodes: &[Arc<Node>], placement: Placement) -> Arc<Gateway> {
    let peer = |node: &Arc<Node>| {
        let session = Session::new(node.clone(), "a client".into());
        (node.process(), Arc::new(BytePeer(LocalPeer(session))) as Arc<dyn Peer>)
    };
    Arc::new(Gateway::new(Arc::new(BytePeers { peers: nodes.iter().map(peer).collect(), placement })))
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
    fn placement(&self) -> Placement {
        self.placement
    }

    fn of_shard(&self, shard: u16) -> Result<Arc<dyn Peer>> {
        Ok(self.peers[usize::from(shard) % self.peers.len()].1.clone())
    }

    fn all(&self) -> Result<Vec<(String, Way)>> {
        Ok(self.peers.iter().map(|(process, peer)| (process.to_string(), Ok(peer.clone()))).collect())
    }

    fn writer(&self, known: Option<u64>) -> Result<Arc<dyn Peer>> {
        let writer = self.peers.iter().find(|(process, _)| Some(*process) == known);
        Ok(writer.unwrap_or(&self.peers[0]).1.clone())
    }
}

impl StoreUnderTest for Nodes {
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
        Ok(Box::new(self.gateway.cut()?.graph(self.placement, &Limits::default())))
    }

    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        let patience = TurnPatience { timeout: None, cancelled: &|| false };
        Ok(Box::new(Writing(ClusterTransaction::begin(&self.gateway, &patience, &Limits::default())?)))
    }

    fn reopen(&mut self) -> Result<()> {
        let count = self.nodes.len();
        self.gateway = gateway(&[], self.placement);
        self.served.iter_mut().for_each(Vec::clear);
        self.nodes.drain(..).for_each(|node| node.stop());
        self.stores.clear();
        let graph = GraphRecord { id: 99, name: "test".into(), placement: self.placement };
        self.stores = (0..self.placement.shards).map(|number| open(self.home.path(), &graph, number)).collect();
        (0..count).for_each(|at| self.start(at, count));
        self.gateway = self.client();
        Ok(())
    }

    fn condense(&self, how: Condensing, meanwhile: &dyn Fn() -> bool) -> Result<()> {
        if how != Condensing::Merge {
            let patience = TurnPatience { timeout: None, cancelled: &|| false };
            let mut transaction = ClusterTransaction::begin(&self.gateway, &patience, &Limits::default())?;
            transaction.graph().end_labels()?;
            transaction.commit()?;
            self.gateway.cut()?; // all shards have read so
        }
        for store in &self.stores {
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
