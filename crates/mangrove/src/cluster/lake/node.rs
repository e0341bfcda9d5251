//! A node of a lake.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use mangrove_cluster::wire::{Chunk, LakeNode};
use mangrove_graph::GraphError;
use mangrove_lake::{Lake, LakeOptions};
use mangrove_link::{Identity, Serving};

use super::greetings::Greetings;
use super::service::LakeService;
use crate::cluster::node::{BACKLOG, bound};
use crate::error::OpenError;
use crate::lake::lake_file;

/// What a node of a lake is made of.
pub struct LakeNodeConfig {
    /// The name of the graph.
    pub graph: String,
    /// Its own name, which no other node has. Chunks go to nodes by their names, so it should stay when the node starts again.
    pub name: String,
    /// The file that describes the graph: one of GraphAr, or a mapping. A path or an address.
    pub place: PathBuf,
    pub options: LakeOptions,
    pub listen: SocketAddr,
    /// Where others reach it, if that is elsewhere.
    pub advertise: Option<String>,
    /// The directory of its certificates. Without, it listens on this machine only.
    pub tls: Option<PathBuf>,
    /// Addresses of other nodes. One that is there names all others.
    pub join: Vec<String>,
}

/// A node of a lake that runs. Dropping it ends it. It keeps nothing but what it has read.
pub struct RunningLakeNode {
    service: Arc<LakeService>,
    serving: Serving,
    greeting: Option<JoinHandle<()>>,
}

impl RunningLakeNode {
    /// Opens the files, greets other nodes, and starts to answer.
    ///
    /// # Errors
    /// If the files cannot be opened, if another node has other files, or if the address is not free.
    pub fn start(config: LakeNodeConfig) -> Result<Self, OpenError> {
        let LakeNodeConfig { graph, name, place, options, listen, advertise, tls, join } = config;
        let failed = |error: String| OpenError::Cluster(GraphError::Invalid(error));
        let identity = tls.as_deref().map(Identity::read).transpose().map_err(|error| failed(error.to_string()))?;
        let (socket, listening) = bound(listen).map_err(|error| failed(format!("cannot listen on {listen}: {error}")))?;
        let address = advertise.unwrap_or_else(|| listening.to_string());
        identity.as_ref().map_or(Ok(()), |own| own.must_be_of(&address)).map_err(|error| failed(error.to_string()))?;
        let lake = Lake::open(&lake_file(&place)?, &options)?;
        let service = Arc::new(LakeService::new(graph.clone(), LakeNode { name, address }, lake)?);
        let greetings = Greetings::new(graph, service.clone(), identity.clone(), join);
        greetings.greet().map_err(OpenError::Cluster)?;
        let listened = socket.listen(BACKLOG).and_then(|()| mangrove_link::serve(service.clone(), socket.into(), identity));
        let serving = listened.map_err(|error| failed(format!("cannot listen on {listening}: {error}")))?;
        let thread = std::thread::Builder::new().name("mangrove greetings".into()).spawn(move || greetings.go_on());
        let greeting = thread.map_err(|error| failed(error.to_string()))?;
        Ok(Self { service, serving, greeting: Some(greeting) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.serving.address
    }

    /// Whether somebody has asked for its end.
    pub fn is_asked_to_stop(&self) -> bool {
        self.service.is_asked_to_stop()
    }

    /// The nodes that have said lately that they are there, and this one, by name.
    pub fn nodes(&self) -> Vec<LakeNode> {
        self.service.nodes()
    }

    /// The chunks of which something was read here.
    pub fn chunks_asked(&self) -> Vec<Chunk> {
        self.service.chunks_asked()
    }
}

impl Drop for RunningLakeNode {
    fn drop(&mut self) {
        self.service.end();
        if let Some(greeting) = self.greeting.take() {
            let _ = greeting.join(); // one that has panicked has said so
        }
    }
}
