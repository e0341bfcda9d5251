//! The ways to all nodes of a graph, found by asking one of them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_cluster::Placement;
use mangrove_cluster::gateway::{Gateway, Peer, Peers, ShardNode, Sought, Way};
use mangrove_cluster::log::{GraphRecord, Member};
use mangrove_cluster::node::Node;
use mangrove_cluster::service::Calls;
use mangrove_cluster::wire::{Call, Reply};
use mangrove_graph::{GraphError, Result};
use thiserror::Error;

use crate::client::Link;
use crate::identity::Identity;
use crate::lake::LakeWays;

/// What the members of a graph say is believed for so long, if nothing is missing.
const FRESH: Duration = Duration::from_secs(2);
/// A node that did not answer is not asked again for so long.
const REST: Duration = Duration::from_millis(200);
/// So many addresses are kept to ask at.
const SEEDS_MAX: usize = 100;
/// How often who waits for connections looks whether there are enough.
const LOOK: Duration = Duration::from_millis(20);

/// `mangrove://host:port,host:port/NAME?tls=DIRECTORY`: nodes of a graph, any of which tells of the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphAddress {
    pub nodes: Vec<String>,
    pub graph: String,
    /// The certificates of who connects: a directory for [`Identity::read`]. Nodes on other machines are spoken to only with them.
    pub tls: Option<PathBuf>,
}

/// Why an address cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "{0:?} is no address of a graph: write mangrove://host:port/NAME, with commas between several nodes, and ?tls=DIRECTORY at the end for nodes on other machines"
)]
pub struct AddressError(String);

impl FromStr for GraphAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> std::result::Result<Self, AddressError> {
        let wrong = || AddressError(text.to_owned());
        let (text, tls) = match text.split_once('?') {
            None => (text, None),
            Some((before, option)) => match option.strip_prefix("tls=") {
                Some(directory) if !directory.is_empty() => (before, Some(PathBuf::from(directory))),
                _ => return Err(wrong()),
            },
        };
        let (nodes, graph) = text.strip_prefix("mangrove://").and_then(|rest| rest.split_once('/')).ok_or_else(wrong)?;
        let has_port =
            |node: &str| node.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
        let nodes: Vec<String> = nodes.split(',').map(str::to_owned).collect();
        let is_name = !graph.is_empty() && graph.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !is_name || !nodes.iter().all(|node| has_port(node)) {
            return Err(wrong());
        }
        Ok(Self { nodes, graph: graph.to_owned(), tls })
    }
}

impl fmt::Display for GraphAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mangrove://{}/{}", self.nodes.join(","), self.graph)?;
        self.tls.as_ref().map_or(Ok(()), |directory| write!(f, "?tls={}", directory.display()))
    }
}

/// What the nodes of an address have.
pub enum Nodes {
    /// Shards of a graph, which follow a log.
    Shards(Ways),
    /// A graph in open files.
    Lake(LakeWays),
}

/// Asks the nodes of an address what they have. `name` is told to those who wait for this process.
///
/// # Errors
/// [`GraphError::Unavailable`] if none of them answers. [`GraphError::Invalid`] if the certificates of the address cannot be read.
pub fn find(address: &GraphAddress, name: &str) -> Result<Nodes> {
    let identity = address.tls.as_deref().map(Identity::read).transpose();
    let identity = identity.map_err(|error| GraphError::Invalid(error.to_string()))?;
    let mut why = GraphError::Invalid("an address without nodes".into());
    for node in &address.nodes {
        let said = Link::connect(node, name, identity.as_ref()).and_then(|link| Ok((link.call(&Call::Hello, None)?, link)));
        let other =
            |found: &str| GraphError::Invalid(format!("the node at {node} has the graph {found}, not {}", address.graph));
        match said {
            Ok((Reply::Hello { graph, .. }, _)) if graph.name != address.graph => why = other(&graph.name),
            Ok((Reply::Lake(hello), _)) if hello.graph != address.graph => why = other(&hello.graph),
            Ok((Reply::Hello { graph, members, writer }, link)) => {
                let links = HashMap::from([(node.clone(), Arc::new(link))]);
                let seeds = address.nodes.clone();
                let state = State { seeds, members, writer, asked: Some(Instant::now()), links, ..State::default() };
                return Ok(Nodes::Shards(Ways::new(name.to_owned(), identity, graph, Arc::default(), None, state)));
            }
            Ok((Reply::Lake(hello), link)) => {
                return Ok(Nodes::Lake(LakeWays::new(&address.nodes, node, name, identity, hello, link)));
            }
            Ok(_) => why = GraphError::Unavailable(format!("the node at {node} said something else")),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// The nodes of a graph, and the connections to them.
pub struct Ways(Arc<Found>);

struct Found {
    name: String,
    identity: Option<Identity>,
    graph: GraphRecord,
    /// The calls of other nodes.
    counts: Arc<Calls>,
    /// The node of this process and where others reach it, if it is one.
    own: Option<(String, Arc<dyn Peer>)>,
    state: Mutex<State>,
    /// A thread has tried to connect.
    tried: Condvar,
}

#[derive(Default)]
struct State {
    /// Where to ask for the members.
    seeds: Vec<String>,
    members: Vec<Member>,
    writer: Option<u64>,
    asked: Option<Instant>,
    links: HashMap<String, Arc<Link>>,
    failed: HashMap<String, Instant>,
    /// To which threads make connections.
    awaited: HashSet<String>,
    /// Why the last connection that failed did.
    why: Option<String>,
    /// Chooses among nodes. Counting round would choose the same one each time if there are as many choices in a row as nodes.
    dice: u64,
}

impl Ways {
    /// Asks the nodes of an address for the others. `name` is told to those who wait for this process.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if none of them answers. [`GraphError::Invalid`] if the certificates of the address cannot be read.
    pub fn find(address: &GraphAddress, name: &str) -> Result<Self> {
        match find(address, name)? {
            Nodes::Shards(ways) => Ok(ways),
            Nodes::Lake(_) => Err(GraphError::Invalid(format!(
                "{} is a lake: its nodes keep no shards and no log, so there is nothing to move, to remove, to finalize or to back up",
                address.graph
            ))),
        }
    }

    fn new(
        name: String,
        identity: Option<Identity>,
        graph: GraphRecord,
        counts: Arc<Calls>,
        own: Option<(String, Arc<dyn Peer>)>,
        state: State,
    ) -> Self {
        Self(Arc::new(Found { name, identity, graph, counts, own, state: Mutex::new(state), tried: Condvar::new() }))
    }

    /// The ways from a node to all nodes: to itself, within this process, and to the others. `address` is where others reach it. Calls of others are
    /// counted as its own.
    pub fn of_node(node: &Node, name: &str, address: &str, own: Arc<dyn Peer>, identity: Option<Identity>) -> Self {
        let state = State { seeds: vec![address.to_owned()], ..State::default() };
        let (graph, counts) = (node.graph().clone(), node.counts().asked.clone());
        Self::new(name.to_owned(), identity, graph, counts, Some((address.to_owned(), own)), state)
    }

    /// The graph and its members.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if no node tells.
    pub fn members(&self) -> Result<(GraphRecord, Vec<Member>)> {
        self.0.ask(REST)?;
        Ok((self.0.graph.clone(), self.0.state().members.clone()))
    }

    /// The ways to all members, whether they have shards or not.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if no node tells of them.
    pub fn to_all(&self) -> Result<Vec<(Member, Way)>> {
        self.0.ask(Duration::ZERO)?;
        let members = self.0.state().members.clone();
        Ok(members.into_iter().map(|member| (member.clone(), self.0.way(&member.address))).collect())
    }

    /// A gateway to the graph.
    pub fn gateway(self) -> Arc<Gateway> {
        Gateway::new(Arc::new(self))
    }
}

impl Found {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The members that have shards: those that are connected, and the others.
    fn members(&self) -> (Vec<Member>, Vec<Member>) {
        let state = self.state();
        let is_connected = |member: &Member| {
            self.own(&member.address).is_some() || state.links.get(&member.address).is_some_and(|link| !link.is_gone())
        };
        state.members.iter().filter(|member| !member.shards.is_empty()).cloned().partition(is_connected)
    }

    /// The members that are connected, once they have all shards. Connections to the others are made at the same time.
    fn covering(of: &Arc<Self>) -> Result<Vec<ShardNode>> {
        let mut is_first = true;
        loop {
            let is_idle = of.state().awaited.is_empty(); // before the look at what is connected
            let (connected, others) = of.members();
            let there = connected.into_iter().filter_map(|member| Some((of.connected(&member.address)?, member.shards)));
            let there: Vec<ShardNode> = there.collect();
            let covered: BTreeSet<u16> = there.iter().flat_map(|(_, shards)| shards).copied().collect();
            let missing = (0..of.graph.placement.shards).find(|shard| !covered.contains(shard));
            if is_first {
                others.into_iter().for_each(|member| Self::link_later(of, member.address));
            }
            let Some(missing) = missing else { return Ok(there) };
            let state = of.state();
            if is_idle && !is_first {
                let why = state.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
                return Err(GraphError::Unavailable(format!("no node has shard {missing}{why}")));
            }
            is_first = false;
            drop(of.tried.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The node of this process, if it is the one with that address.
    fn own(&self, address: &str) -> Option<&Arc<dyn Peer>> {
        self.own.as_ref().filter(|(own, _)| own == address).map(|(_, peer)| peer)
    }

    /// A way that is there.
    fn connected(&self, address: &str) -> Option<Arc<dyn Peer>> {
        if let Some(own) = self.own(address) {
            return Some(own.clone());
        }
        self.state().links.get(address).filter(|link| !link.is_gone()).map(|link| link.clone() as _)
    }

    /// A way to an address, new or old.
    fn way(&self, address: &str) -> Result<Arc<dyn Peer>> {
        match self.own(address) {
            Some(own) => Ok(own.clone()),
            None => Ok(self.link(address)?),
        }
    }

    /// Makes a connection in another thread.
    fn link_later(of: &Arc<Self>, address: String) {
        let mut state = of.state();
        let has_failed = state.failed.get(&address).is_some_and(|failed| failed.elapsed() < REST);
        if has_failed || !state.awaited.insert(address.clone()) {
            return;
        }
        drop(state);
        let (found, wanted) = (of.clone(), address.clone());
        let connecting = std::thread::Builder::new().name("mangrove link".into()).spawn(move || {
            let made = found.link(&address);
            let mut state = found.state();
            state.awaited.remove(&address);
            state.why = made.err().map(|error| error.to_string()).or(state.why.take());
            found.tried.notify_all();
        });
        if let Err(error) = connecting {
            tracing::warn!(%error, "no thread connects to a node");
            of.state().awaited.remove(&wanted);
        }
    }

    /// A connection to an address, new or old.
    fn link(&self, address: &str) -> Result<Arc<Link>> {
        let mut state = self.state();
        if let Some(link) = state.links.get(address).filter(|link| !link.is_gone()) {
            return Ok(link.clone());
        }
        if state.failed.get(address).is_some_and(|failed| failed.elapsed() < REST) {
            return Err(GraphError::Unavailable(format!("the node at {address} did not answer")));
        }
        drop(state);
        let made = Link::connect(address, &self.name, self.identity.as_ref());
        let made = made.map(|link| link.counting(self.counts.clone()));
        let made = made.and_then(|link| match link.call(&Call::Hello, None)? {
            Reply::Hello { graph, .. } if graph.id == self.graph.id => Ok(link),
            _ => Err(GraphError::Unavailable(format!("the node at {address} has another graph"))),
        });
        state = self.state();
        match made {
            Ok(link) => {
                state.failed.remove(address);
                // Another thread may have been faster. All use one connection.
                let link = Arc::new(link);
                let known = state.links.entry(address.to_owned()).or_insert_with(|| link.clone());
                if known.is_gone() {
                    *known = link;
                }
                Ok(known.clone())
            }
            Err(error) => {
                state.failed.insert(address.to_owned(), Instant::now());
                Err(error)
            }
        }
    }

    /// Asks who is there, unless that was asked just now.
    fn ask(&self, fresh: Duration) -> Result<()> {
        let state = self.state();
        if state.asked.is_some_and(|asked| asked.elapsed() < fresh) {
            return Ok(());
        }
        let told = state.seeds.iter().chain(state.members.iter().map(|member| &member.address));
        let mut addresses: Vec<String> = told.filter(|address| !address.is_empty()).cloned().collect();
        let mut known = HashSet::new();
        addresses.retain(|address| known.insert(address.clone()));
        addresses.sort_by_key(|address| state.links.get(address).is_none_or(|link| link.is_gone())); // connected ones tell at once
        drop(state);
        let mut why = GraphError::Unavailable("the graph has no nodes".into());
        for address in addresses {
            match self.way(&address).and_then(|way| way.call_or_give_up(&Call::Hello, None)) {
                Ok(Reply::Hello { graph, members, writer }) if graph.id == self.graph.id => {
                    let mut state = self.state();
                    (state.members, state.writer, state.asked) = (members, writer, Some(Instant::now()));
                    return Ok(());
                }
                Ok(_) => {}
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// Connections to the members for which `is_wanted` holds. The first that can be reached is given.
    fn reach(&self, is_wanted: impl Fn(&Member) -> bool, missing: &str) -> Result<Arc<dyn Peer>> {
        let mut why = GraphError::Unavailable(missing.to_owned());
        for fresh in [FRESH, REST] {
            if let Err(error) = self.ask(fresh) {
                why = error;
            }
            let mut state = self.state();
            state.dice = state.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407); // Knuth, MMIX
            let chosen = (state.dice >> 33) as usize;
            let mut wanted: Vec<String> =
                state.members.iter().filter(|member| is_wanted(member)).map(|member| member.address.clone()).collect();
            drop(state);
            let count = wanted.len().max(1);
            wanted.rotate_left(chosen % count);
            // One that is connected comes first: cuts are kept by those who gave them.
            wanted.sort_by_key(|address| self.state().links.get(address).is_none_or(|link| link.is_gone()));
            for address in wanted {
                match self.way(&address) {
                    Ok(way) => return Ok(way),
                    Err(error) => why = error,
                }
            }
        }
        Err(why)
    }
}

impl Peers for Ways {
    fn graph(&self) -> u64 {
        self.0.graph.id
    }

    fn placement(&self) -> Placement {
        self.0.graph.placement
    }

    fn learn(&self, addresses: &[String]) {
        let mut state = self.0.state();
        state.seeds.retain(|seed| !addresses.contains(seed));
        state.seeds.splice(0..0, addresses.iter().cloned());
        state.seeds.truncate(SEEDS_MAX);
        state.asked = None;
    }

    fn with_shards(&self) -> Result<Vec<ShardNode>> {
        let mut why = None;
        for fresh in [FRESH, REST] {
            if let Err(error) = self.0.ask(fresh) {
                why = Some(error);
            }
            match Found::covering(&self.0) {
                Ok(there) => return Ok(there),
                Err(error) => why = why.or(Some(error)),
            }
        }
        Err(why.unwrap_or_else(|| GraphError::Unavailable("the graph has no nodes".into())))
    }

    fn all(&self) -> Result<Vec<(String, Way)>> {
        self.0.ask(Duration::ZERO)?;
        let (connected, others) = self.0.members();
        Ok(connected.into_iter().chain(others).map(|member| (member.name, self.0.way(&member.address))).collect())
    }

    fn writer(&self, sought: Sought) -> Result<Arc<dyn Peer>> {
        let writer = {
            let mut state = self.0.state();
            match sought {
                Sought::Last => {}
                Sought::Process(process) => state.writer = Some(process),
                Sought::Another => state.writer = None,
            }
            state.writer
        };
        let is_writer = |member: &Member| Some(member.process) == writer;
        let is_known = self.0.state().members.iter().any(is_writer);
        match self.0.reach(is_writer, "the writer is not there") {
            Ok(peer) if is_known => Ok(peer),
            // The writer is gone, or there is none yet. Any node may become it.
            _ => self.0.reach(|_| true, "no node is there"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn addresses_are_read() {
        let address: GraphAddress = "mangrove://127.0.0.1:7701,node-2:7702/air-routes".parse().unwrap();
        assert_eq!((address.nodes.len(), address.graph.as_str()), (2, "air-routes"));
        assert_eq!(address.to_string(), "mangrove://127.0.0.1:7701,node-2:7702/air-routes");
        let address: GraphAddress = "mangrove://[::1]:7701/air?tls=/etc/my certs".parse().unwrap();
        assert_eq!(address.tls.as_deref(), Some(Path::new("/etc/my certs")));
        assert_eq!(address.to_string(), "mangrove://[::1]:7701/air?tls=/etc/my certs");
        for wrong in [
            "",
            "mangrove://",
            "mangrove://a:1",
            "mangrove://a/b",
            "mangrove://a:1/",
            "http://a:1/b",
            "mangrove://a:1/../b",
            "mangrove://a:1/b?tls=",
            "mangrove://a:1/b?ssl=x",
        ] {
            assert_eq!(wrong.parse::<GraphAddress>(), Err(AddressError(wrong.into())));
        }
    }
}
