//! How the nodes of a lake hear of each other. Each greets those that it knows of, again and again, and they name others. There is nothing to keep:
//! whoever says nothing for a while is forgotten.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mangrove_cluster::each_at_once;
use mangrove_cluster::gateway::Peer;
use mangrove_cluster::wire::{Call, Reply};
use mangrove_graph::{GraphError, Result};
use mangrove_link::{Identity, Link};

use super::service::{LakeService, NODES_MAX};

/// How often nodes greet each other.
const BETWEEN: Duration = Duration::from_secs(1);
/// How often the thread that greets looks whether the node has ended.
const LOOK: Duration = Duration::from_millis(50);

/// Greets other nodes in the name of one.
pub struct Greetings {
    graph: String,
    service: Arc<LakeService>,
    identity: Option<Identity>,
    /// Where somebody said that other nodes are.
    seeds: Vec<String>,
    /// Where nodes said last that there are others.
    told: Mutex<BTreeSet<String>>,
    links: Mutex<HashMap<String, Arc<Link>>>,
}

impl Greetings {
    pub fn new(graph: String, service: Arc<LakeService>, identity: Option<Identity>, seeds: Vec<String>) -> Self {
        Self { graph, service, identity, seeds, told: Mutex::default(), links: Mutex::default() }
    }

    /// Greets all nodes that are known, and the nodes that they name from the next time on.
    ///
    /// # Errors
    /// If one of them has another graph, or other files. Nodes that do not answer may come later.
    pub fn greet(&self) -> Result<()> {
        let own = &self.service.own().address;
        let met = self.service.nodes().into_iter().map(|node| node.address);
        let told = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
        let told = told.into_iter().take(NODES_MAX);
        let all: BTreeSet<String> =
            self.seeds.iter().cloned().chain(met).chain(told).filter(|address| address != own).collect();
        self.links().retain(|address, _| all.contains(address));
        let greeted = each_at_once(all.into_iter().collect(), |address: String| {
            match self.meet(&address) {
                Err(error @ GraphError::Invalid(_)) => return Err(error),
                Err(error) => tracing::debug!(%address, %error, "a node of the lake does not answer"),
                Ok(()) => {}
            }
            Ok(())
        });
        greeted.into_iter().collect()
    }

    /// Greets until the node ends.
    pub fn go_on(&self) {
        let mut waited = Duration::ZERO;
        while !self.service.has_ended() {
            std::thread::sleep(LOOK);
            waited += LOOK;
            if waited >= BETWEEN {
                waited = Duration::ZERO;
                if let Err(error) = self.greet() {
                    tracing::warn!(%error, "a node of the lake is left alone");
                }
            }
        }
    }

    fn meet(&self, address: &str) -> Result<()> {
        let link = self.link(address)?;
        let call = Call::Meet {
            graph: self.graph.clone(),
            fingerprint: self.service.fingerprint(),
            node: self.service.own().clone(),
        };
        match link.call_or_give_up(&call, None)? {
            Reply::Lake(hello) => {
                let named = hello.nodes.into_iter().map(|node| node.address);
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                let room = NODES_MAX.saturating_sub(told.len());
                told.extend(named.take(room));
                Ok(())
            }
            _ => Err(GraphError::Unavailable(format!("the node at {address} said something else"))),
        }
    }

    fn links(&self) -> MutexGuard<'_, HashMap<String, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection to an address, new or old.
    fn link(&self, address: &str) -> Result<Arc<Link>> {
        if let Some(link) = self.links().get(address).filter(|link| !link.is_gone()) {
            return Ok(link.clone());
        }
        self.links().remove(address);
        let made = Arc::new(Link::connect(address, &self.service.own().name, self.identity.as_ref())?);
        self.links().insert(address.to_owned(), made.clone());
        Ok(made)
    }
}
