//! A node of a graph: its shards, and where it listens.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use mangrove_cluster::backup::Objects;
use mangrove_cluster::gateway::Peer;
use mangrove_cluster::log::{Beginning, Log, WriterPace, beginning};
use mangrove_cluster::node::{Keeping, LocalPeer, Node, NodeOptions, NodeSeen, Session};
use mangrove_cluster::service::Tracer;
use mangrove_graph::{GraphError, Result};
use mangrove_link::{Identity, Serving, Ways};
use socket2::{Domain, Socket, Type};

use super::runner::NodeRunner;
use super::stores::{StartedWith, Stores};
use super::{BEGUN, PAUSE};
use crate::error::OpenError;

/// Connections that wait until the node takes them.
pub const BACKLOG: i32 = 1_024;

/// What a node of a graph is made of.
pub struct NodeConfig<'a> {
    /// What stays when it starts again.
    pub name: String,
    /// The directory of its shards.
    pub data: PathBuf,
    /// The shards with which it is started. Those that are new are added to what it has. If they are the same as before, only the log counts: shards may
    /// have come and gone since then.
    pub shards: Vec<u16>,
    /// Where it listens, once it has read the log.
    pub listen: SocketAddr,
    /// Where others reach it, if that is elsewhere.
    pub advertise: Option<String>,
    /// The directory of its certificates. Without, it listens on this machine only.
    pub tls: Option<PathBuf>,
    pub log: Arc<dyn Log>,
    /// Where it keeps backups, and the checkpoints of analyses. A shard that it does not have comes from there.
    pub store: Option<Arc<dyn Objects>>,
    /// Whether it should rather end than start.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

/// A node as those see it who watch it. It does not keep the node running.
#[derive(Clone)]
pub struct NodeWatch(Weak<Node>);

impl NodeWatch {
    /// Whether it answers clients. Before that, it reads the log.
    pub fn answers(&self) -> bool {
        self.0.upgrade().is_some_and(|node| node.answers())
    }

    /// From now on, it tells of calls that are parts of traces.
    pub fn trace_with(&self, tracer: Arc<dyn Tracer>) {
        if let Some(node) = self.0.upgrade() {
            node.trace_with(tracer);
        }
    }

    /// How it is, and what it has done; `None` if it has ended.
    pub fn seen(&self) -> Option<NodeSeen> {
        self.0.upgrade().map(|node| node.seen())
    }
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
        Self::start_watched(config, |_| {})
    }

    /// The same. `watch` gets what others can watch, as soon as the node follows the log: before it answers.
    ///
    /// # Errors
    /// The same.
    pub fn start_watched(config: NodeConfig<'_>, watch: impl FnOnce(NodeWatch)) -> Result<Self, OpenError> {
        let NodeConfig { name, data, shards, listen, advertise, tls, log, store, is_cancelled } = config;
        let failed = |error: String| OpenError::Cluster(GraphError::Invalid(error));
        let identity = tls.as_deref().map(Identity::read).transpose().map_err(|error| failed(error.to_string()))?;
        let (socket, listening) = bound(listen).map_err(|error| failed(format!("cannot listen on {listen}: {error}")))?;
        let address = advertise.unwrap_or_else(|| listening.to_string());
        identity.as_ref().map_or(Ok(()), |own| own.must_be_of(&address)).map_err(|error| failed(error.to_string()))?;
        let Beginning { graph, log } = beginning(log, BEGUN).map_err(OpenError::Cluster)?;
        let asked = StartedWith { graph: graph.id, name: name.clone(), shards };
        let was_asked = asked.is_as_before(&data);
        let stores = Arc::new(Stores { data: data.clone(), graph, log: log.clone(), backups: store.clone() });
        let first = if was_asked { stores.on_disk() } else { asked.shards.clone() };
        let first = first.into_iter().map(|number| Ok((number, stores.opened(number)?)));
        let options = NodeOptions {
            name: name.clone(),
            address: address.clone(),
            process: drawn(),
            log,
            shards: first.collect::<Result<_, OpenError>>()?,
            stores,
            pace: WriterPace::default(),
            keeping: store.clone().map(|objects| Keeping { objects, scratch: data.clone() }),
        };
        let node = Node::start(options).map_err(OpenError::Cluster)?;
        watch(NodeWatch(Arc::downgrade(&node)));
        node.place(&asked.shards, was_asked, is_cancelled).map_err(OpenError::Cluster)?;
        while !node.is_ready() {
            if is_cancelled() {
                return Err(OpenError::Cluster(GraphError::Cancelled));
            }
            std::thread::sleep(PAUSE / 5);
        }
        let listened =
            socket.listen(BACKLOG).and_then(|()| mangrove_link::serve(node.clone(), socket.into(), identity.clone()));
        let serving = listened.map_err(|error| failed(format!("cannot listen on {listening}: {error}")))?;
        node.announce(is_cancelled).and_then(|()| asked.keep(&data)).map_err(OpenError::Cluster)?;
        let own: Arc<dyn Peer> = Arc::new(LocalPeer(Session::new(node.clone(), name.clone())));
        let gateway = Ways::of_node(&node, &name, &address, own.clone(), identity).gateway();
        node.run_with(Arc::new(NodeRunner::new(name, node.clone(), gateway, own, store)));
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

    /// Whether the log was cut before it had read it. When it starts again, its shards come from a backup.
    pub fn has_missed(&self) -> bool {
        self.node.has_missed()
    }

    /// Ends it, once others know.
    pub fn stop(self) {}
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        self.node.stop();
    }
}

/// A socket with an address. Nobody can connect until it listens.
pub fn bound(address: SocketAddr) -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A node that starts again must not wait until the system has forgotten the connections of the one before.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    let own = socket.local_addr()?.as_socket().ok_or_else(|| io::Error::other("no address of the network"))?;
    Ok((socket, own))
}

/// A number for a process, which is not 0.
fn drawn() -> u64 {
    mangrove_graph::Uuid::new_v4().as_u64_pair().0.max(1)
}
