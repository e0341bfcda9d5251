//! A node of a graph: its shards, and where it listens.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_cluster::backup::{Objects, restore_shard};
use mangrove_cluster::gateway::Peer;
use mangrove_cluster::log::{Beginning, GraphRecord, Log, Position, WriterPace, beginning};
use mangrove_cluster::node::{Keeping, LocalPeer, Node, NodeOptions, Session, ShardStore};
use mangrove_directory::{Durability, OpenOptions, ShardOf, Store};
use mangrove_graph::{GraphError, Result};
use mangrove_link::{Identity, Serving, Ways};
use socket2::{Domain, Socket, Type};

use super::runner::NodeRunner;
use super::{BEGUN, PAUSE};
use crate::error::OpenError;

/// Connections that wait until the node takes them.
const BACKLOG: i32 = 1_024;

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
    /// Where it keeps backups. A shard that it does not have comes from there.
    pub store: Option<Arc<dyn Objects>>,
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
        let NodeConfig { name, data, shards, listen, advertise, tls, log, store, is_cancelled } = config;
        let failed = |error: String| OpenError::Cluster(GraphError::Invalid(error));
        let identity = tls.as_deref().map(Identity::read).transpose().map_err(|error| failed(error.to_string()))?;
        let (socket, listening) = bound(listen).map_err(|error| failed(format!("cannot listen on {listen}: {error}")))?;
        let address = advertise.unwrap_or_else(|| listening.to_string());
        identity.as_ref().map_or(Ok(()), |own| own.must_be_of(&address)).map_err(|error| failed(error.to_string()))?;
        let Beginning { graph, log } = beginning(log, BEGUN).map_err(OpenError::Cluster)?;
        let place = Shards { data: &data, graph: &graph, log: &*log, store: store.as_deref() };
        let stores = shards.into_iter().map(|number| Ok((number, place.open(number)?)));
        let stores = stores.collect::<Result<_, OpenError>>()?;
        let options = NodeOptions {
            name: name.clone(),
            address: address.clone(),
            process: drawn(),
            log,
            stores,
            pace: WriterPace::default(),
            keeping: store.map(|objects| Keeping { objects, scratch: data }),
        };
        let node = Node::start(options).map_err(OpenError::Cluster)?;
        while !node.is_ready() {
            if is_cancelled() {
                return Err(OpenError::Cluster(GraphError::Cancelled));
            }
            std::thread::sleep(PAUSE / 5);
        }
        let listened = socket.listen(BACKLOG).and_then(|()| mangrove_link::serve(&node, socket.into(), identity.clone()));
        let serving = listened.map_err(|error| failed(format!("cannot listen on {listening}: {error}")))?;
        node.announce(is_cancelled).map_err(OpenError::Cluster)?;
        let own: Arc<dyn Peer> = Arc::new(LocalPeer(Session::new(node.clone(), name.clone())));
        let gateway = Ways::of_node(node.graph().clone(), &name, &address, own.clone(), identity).gateway();
        node.run_with(Arc::new(NodeRunner::new(name, node.clone(), gateway, own)));
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
fn bound(address: SocketAddr) -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A node that starts again must not wait until the system has forgotten the connections of the one before.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    let own = socket.local_addr()?.as_socket().ok_or_else(|| io::Error::other("no address of the network"))?;
    Ok((socket, own))
}

/// Where the shards of a node are.
struct Shards<'a> {
    data: &'a Path,
    graph: &'a GraphRecord,
    log: &'a dyn Log,
    store: Option<&'a dyn Objects>,
}

impl Shards<'_> {
    /// Opens a shard. If it is not there, or has missed what the log has no more, it comes from a backup first.
    fn open(&self, number: u16) -> Result<Box<dyn ShardStore>, OpenError> {
        let shards = self.graph.placement.shards;
        if number >= shards {
            return Err(OpenError::Cluster(GraphError::Invalid(format!(
                "there is no shard {number}: the graph has {shards}"
            ))));
        }
        let directory = self.data.join(format!("shard-{number:04}"));
        let first = self.log.first().map_err(OpenError::Cluster)?;
        if directory.exists() {
            let store = self.opened(number, &directory)?;
            let position = ShardStore::log_position(&store).map_err(OpenError::Cluster)?;
            let position = position.map_or(Ok(Position::default()), |bytes| Position::from_bytes(&bytes));
            // It reads the record before its position again. A log that began anew has another one at its beginning.
            let least = first + u64::from(self.log.shift() > 0);
            if first == 0 || position.map_err(OpenError::Cluster)?.next > least {
                return Ok(Box::new(store));
            }
        }
        let restored = match self.store {
            Some(store) => self.restore(store, number, &directory).map_err(OpenError::Cluster)?,
            None => false,
        };
        if !restored && first > 0 {
            let what = match self.store {
                Some(store) => format!("{} has no backup of it that is whole", store.place()),
                None => "say with --store where its backups are".to_owned(),
            };
            let error =
                format!("the log begins at record {first}, and shard {number} has nothing of what was before: {what}");
            return Err(OpenError::Cluster(GraphError::Invalid(error)));
        }
        Ok(Box::new(self.opened(number, &directory)?))
    }

    fn opened(&self, number: u16, directory: &Path) -> Result<Store, OpenError> {
        let shard = ShardOf { graph: self.graph.id, number, shards: self.graph.placement.shards };
        let options = OpenOptions {
            durability: Durability::Replayed,
            id_space: Some(self.graph.placement.id_space),
            shard: Some(shard),
            ..OpenOptions::default()
        };
        Ok(Store::open(directory, &options)?)
    }

    /// Brings a shard back from the newest backup, in place of what there is. Returns whether there is a backup.
    fn restore(&self, store: &dyn Objects, number: u16, directory: &Path) -> Result<bool> {
        std::fs::create_dir_all(self.data).map_err(GraphError::storage)?;
        let (restored, old) = (directory.with_extension("restored"), directory.with_extension("old"));
        for left in [&restored, &old] {
            if left.exists() {
                std::fs::remove_dir_all(left).map_err(GraphError::storage)?; // of a process that was killed
            }
        }
        let Some(backup) = restore_shard(store, self.graph, self.log, number, &restored)? else { return Ok(false) };
        if directory.exists() {
            std::fs::rename(directory, &old).map_err(GraphError::storage)?;
        }
        std::fs::rename(&restored, directory).map_err(GraphError::storage)?;
        if old.exists() {
            std::fs::remove_dir_all(&old).map_err(GraphError::storage)?;
        }
        tracing::warn!("shard {number} comes from the backup {backup}");
        Ok(true)
    }
}

/// A number for a process, which is not 0.
fn drawn() -> u64 {
    mangrove_graph::Uuid::new_v4().as_u64_pair().0.max(1)
}
