//! The ways to the nodes of a lake. They tell of each other, and whoever reads looks now and then who is there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_cluster::each_at_once;
use mangrove_cluster::gateway::Peer;
use mangrove_cluster::lake::{LakeNodes, NodeThere};
use mangrove_cluster::wire::{Call, LakeHello, LakeMap, LakeNode, Reply};
use mangrove_graph::{GraphError, Result};

use crate::client::Link;
use crate::identity::Identity;

/// How long the nodes are believed to be those that answered last.
const FRESH: Duration = Duration::from_secs(2);
/// A node that did not answer is not asked again for so long, if another one answers.
const REST: Duration = Duration::from_secs(2);

/// How long somebody who listens may take to take a connection.
const KNOCKING: Duration = Duration::from_secs(1);
/// So many addresses are remembered that nodes tell of.
const NODES_MAX: usize = 1_024;

/// The nodes of a lake, and the connections to them.
pub struct LakeWays {
    found: Arc<Found>,
}

struct Found {
    name: String,
    identity: Option<Identity>,
    graph: String,
    /// That of the files. Nodes with other files do not count.
    fingerprint: u128,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Where to look for nodes: where somebody said, and where nodes say that there are others.
    seeds: BTreeSet<String>,
    told: BTreeSet<String>,
    /// The nodes that are connected, by name.
    nodes: BTreeMap<String, Connected>,
    /// The node that was found at each address.
    names: HashMap<String, String>,
    /// When nodes did not answer, by name.
    missed: HashMap<String, Instant>,
    /// Why the last one that is not connected is not.
    why: Option<String>,
    looked: Option<Instant>,
    is_looking: bool,
}

struct Connected {
    address: String,
    link: Arc<Link>,
}

/// A node of a lake, and what it says.
pub struct LakeNodeFound {
    pub node: LakeNode,
    /// Why it does not say anything, if it does not.
    pub hello: Result<LakeHello>,
    /// Whether somebody listens there, also if nothing is said.
    pub is_there: bool,
}

impl LakeWays {
    /// The nodes of some addresses, and those that the first one tells of, which was found `at` one of them. Connects to all of them.
    pub(crate) fn new(
        seeds: &[String],
        at: &str,
        name: &str,
        identity: Option<Identity>,
        hello: LakeHello,
        link: Link,
    ) -> Self {
        let (name, graph, fingerprint) = (name.to_owned(), hello.graph.clone(), hello.fingerprint);
        let mut state = State { seeds: seeds.iter().cloned().collect(), ..State::default() };
        state.connect(at, hello, link);
        let found = Arc::new(Found { name, identity, graph, fingerprint, state: Mutex::new(state) });
        Found::look(&found);
        Self { found }
    }

    /// That of the files.
    pub fn fingerprint(&self) -> u128 {
        self.found.fingerprint
    }

    /// What there is to know of the lake before anything is read.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if no node says it.
    pub fn map(&self) -> Result<LakeMap> {
        let mut why = None;
        for node in self.there()? {
            match node.peer.call_or_give_up(&Call::LakeMap, None) {
                Ok(Reply::LakeMap(map)) => return Ok(map),
                Ok(_) => why = Some(GraphError::Unavailable(format!("{} said something else", node.name))),
                Err(error) => why = Some(error),
            }
        }
        Err(why.unwrap_or_else(|| self.found.nobody()))
    }

    /// All nodes that are known, by name, and what each says of itself. Those that nothing is known of but an address come last.
    pub fn all(&self) -> Vec<LakeNodeFound> {
        Found::look(&self.found);
        let (mut all, missing) = (Vec::new(), self.found.state().missing());
        for (name, address, link) in self.found.connected() {
            let hello = self.found.hello(&link);
            all.push(LakeNodeFound::new(LakeNode { name, address }, hello));
        }
        for address in missing {
            let hello = self.found.greeted(&address).map(|(hello, _)| hello);
            all.push(LakeNodeFound::new(LakeNode { name: String::new(), address }, hello));
        }
        all
    }

    /// The ways to all nodes of the graph that may run, whichever files they have: by name, or by address if nothing more is known.
    pub fn to_all(&self) -> Vec<(String, Result<Arc<dyn Peer>>)> {
        let connected = self.found.connected().into_iter().map(|(name, _, link)| (name, Ok(link as Arc<dyn Peer>)));
        let missing = self.found.state().missing();
        let others = each_at_once(missing.into_iter().collect(), |address| Ok(self.found.other(address)));
        connected.chain(others.into_iter().flatten().flatten()).collect()
    }
}

impl LakeNodeFound {
    fn new(node: LakeNode, hello: Result<LakeHello>) -> Self {
        let is_there = hello.is_ok() || listens(&node.address);
        Self { node, hello, is_there }
    }
}

/// Whether somebody listens at an address.
fn listens(address: &str) -> bool {
    let takes = |at| TcpStream::connect_timeout(&at, KNOCKING).is_ok();
    address.to_socket_addrs().is_ok_and(|mut all| all.any(takes))
}

impl State {
    /// A node was found at an address.
    fn connect(&mut self, at: &str, hello: LakeHello, link: Link) {
        let LakeNode { name, address } = hello.node.clone();
        self.missed.remove(&name);
        self.names.insert(at.to_owned(), name.clone());
        self.names.insert(address.clone(), name.clone());
        self.tell(hello);
        self.nodes.insert(name, Connected { address, link: Arc::new(link) });
    }

    /// A node says where others are.
    fn tell(&mut self, hello: LakeHello) {
        let room = NODES_MAX.saturating_sub(self.told.len());
        self.told.extend(hello.nodes.into_iter().map(|node| node.address).take(room));
    }

    /// Where nodes may be that are not connected.
    fn missing(&self) -> BTreeSet<String> {
        let is_missing = |address: &&String| self.names.get(*address).is_none_or(|name| !self.nodes.contains_key(name));
        self.seeds.union(&self.told).filter(is_missing).cloned().collect()
    }
}

impl Found {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nodes that are connected: name, address and way.
    fn connected(&self) -> Vec<(String, String, Arc<Link>)> {
        let state = self.state();
        let there = state.nodes.iter().filter(|(_, node)| !node.link.is_gone());
        there.map(|(name, node)| (name.clone(), node.address.clone(), node.link.clone())).collect()
    }

    fn nobody(&self) -> GraphError {
        let why = self.state().why.clone().map_or(String::new(), |why| format!(": {why}"));
        GraphError::Unavailable(format!("no node of the lake {} answers{why}", self.graph))
    }

    /// What a node says first, if it has this lake.
    fn hello(&self, link: &Link) -> Result<LakeHello> {
        match link.call_or_give_up(&Call::Hello, None)? {
            Reply::Lake(hello) if hello.graph != self.graph => {
                Err(GraphError::Unavailable(format!("{} has the graph {}", hello.node.name, hello.graph)))
            }
            Reply::Lake(hello) if hello.fingerprint != self.fingerprint => Err(other_files(&hello.node)),
            Reply::Lake(hello) => Ok(hello),
            _ => Err(GraphError::Unavailable("another node is there now".into())),
        }
    }

    /// A node that is not connected, whichever files it has; `None` if nobody is there, or one with another graph.
    fn other(&self, address: String) -> Option<(String, Result<Arc<dyn Peer>>)> {
        let link = match Link::connect(&address, &self.name, self.identity.as_ref()) {
            Ok(link) => link,
            Err(error) => return listens(&address).then(|| (address, Err(error))),
        };
        match link.call_or_give_up(&Call::Hello, None) {
            Ok(Reply::Lake(hello)) if hello.graph == self.graph => Some((hello.node.name, Ok(Arc::new(link) as _))),
            Ok(_) => None,
            Err(error) => Some((address, Err(error))),
        }
    }

    fn greeted(&self, address: &str) -> Result<(LakeHello, Link)> {
        let link = Link::connect(address, &self.name, self.identity.as_ref())?;
        Ok((self.hello(&link)?, link))
    }

    /// Asks a node who is there, and connects to those that are not connected. All of that takes as long as the slowest of them.
    fn look(of: &Arc<Self>) {
        let mut told = BTreeSet::new();
        for (name, _, link) in of.connected() {
            match of.hello(&link) {
                Ok(hello) => told.extend(hello.nodes.into_iter().map(|node| node.address).take(NODES_MAX)),
                Err(error) => of.lose(&name, &error),
            }
        }
        let mut state = of.state();
        if !told.is_empty() {
            state.told = told.into_iter().take(NODES_MAX).collect();
        }
        state.nodes.retain(|_, node| !node.link.is_gone());
        let missing = state.missing();
        drop(state);
        each_at_once(missing.into_iter().collect(), |address: String| {
            of.add(&address);
            Ok(())
        });
        let mut state = of.state();
        (state.looked, state.is_looking) = (Some(Instant::now()), false);
    }

    /// Connects to a node.
    fn add(&self, address: &str) {
        let greeted = self.greeted(address);
        let mut state = self.state();
        match greeted {
            Ok((hello, link)) => state.connect(address, hello, link),
            Err(error) => {
                tracing::debug!(address, %error, "a node of a lake cannot be asked");
                state.why = Some(error.to_string());
            }
        }
    }

    /// A node does not answer as it should.
    fn lose(&self, name: &str, error: &GraphError) {
        let mut state = self.state();
        state.why = Some(error.to_string());
        state.missed.insert(name.to_owned(), Instant::now());
    }

    /// Looks who is there, in another thread, unless that was done just now.
    fn look_later(of: &Arc<Self>) {
        let mut state = of.state();
        let is_complete = state.nodes.values().all(|node| !node.link.is_gone());
        let patience = if is_complete { FRESH } else { REST / 4 };
        if state.is_looking || state.looked.is_some_and(|looked| looked.elapsed() < patience) {
            return;
        }
        state.is_looking = true;
        drop(state);
        let found = of.clone();
        let looking = std::thread::Builder::new().name("mangrove lake".into()).spawn(move || Found::look(&found));
        if let Err(error) = looking {
            tracing::warn!(%error, "no thread looks for the nodes of a lake");
            of.state().is_looking = false;
        }
    }
}

impl LakeNodes for LakeWays {
    fn there(&self) -> Result<Vec<NodeThere>> {
        Found::look_later(&self.found);
        let mut connected = self.found.connected();
        if connected.is_empty() {
            Found::look(&self.found);
            connected = self.found.connected();
        }
        let missed = |name: &String| self.found.state().missed.get(name).is_some_and(|missed| missed.elapsed() < REST);
        let (resting, answering): (Vec<_>, Vec<_>) = connected.into_iter().partition(|(name, ..)| missed(name));
        // If none has answered, one of them may by now.
        let asked = if answering.is_empty() { resting } else { answering };
        match asked.is_empty() {
            true => Err(self.found.nobody()),
            false => Ok(asked.into_iter().map(|(name, _, link)| NodeThere { name: name.into(), peer: link }).collect()),
        }
    }

    fn missed(&self, node: &NodeThere) {
        self.found.state().missed.insert(node.name.to_string(), Instant::now());
    }
}

fn other_files(node: &LakeNode) -> GraphError {
    GraphError::Unavailable(format!(
        "{} at {} has other files of the lake: all nodes must read the same ones, and files that are copied must keep their times",
        node.name, node.address
    ))
}
