//! A process that has shards, answers who reads them, and may be the writer.
//!
//! ```text
//!   store     what is needed of the store of a shard
//!   tail      the log, read once for all
//!   host      a shard that follows the log, and its cuts
//!   keeping   what it does for backups
//!   turns     the turn to write
//!   role      the writer's role
//!   session   who is connected, and what it holds
//!   own       transactions of the node itself, for clients whose queries it runs
//!   local     a node of this process, for a gateway of this process
//! ```

mod host;
mod keeping;
mod local;
mod own;
mod role;
mod session;
mod store;
mod tail;
mod turns;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

pub use self::keeping::Keeping;
pub use self::local::LocalPeer;
pub use self::own::{OwnTransaction, OwnTransactions, Ran, Runner};
pub use self::role::Outcome;
pub use self::session::Session;
pub use self::store::{CutView, ShardStore};

use self::host::Host;
use self::role::Role;
use self::tail::Tail;
use self::turns::Turns;
use crate::log::{GraphRecord, Log, Member, Record, WriterPace};
use crate::wire::NodeStatus;

/// What a node is made of.
pub struct NodeOptions {
    /// What stays when it starts again.
    pub name: String,
    /// Where others reach it.
    pub address: String,
    /// Drawn anew at each start, and not 0.
    pub process: u64,
    pub log: Arc<dyn Log>,
    /// The shards that it has.
    pub stores: Vec<(u16, Box<dyn ShardStore>)>,
    pub pace: WriterPace,
    /// Where it keeps backups, if it does.
    pub keeping: Option<Keeping>,
}

/// How long a node waits for the log to say something.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

pub struct Node {
    graph: GraphRecord,
    name: String,
    address: String,
    process: u64,
    log: Arc<dyn Log>,
    hosts: BTreeMap<u16, Arc<Host>>,
    tail: Arc<Tail>,
    role: Arc<Role>,
    turns: Arc<Turns>,
    keeping: Option<Keeping>,
    /// What runs queries for clients. It knows the node, too, until that ends.
    runner: Mutex<Option<Arc<dyn Runner>>>,
    /// Held by who makes a copy of a shard.
    copying: Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    is_asked_to_stop: AtomicBool,
    is_announced: AtomicBool,
}

impl Node {
    /// Starts to follow the log. [`announce`](Self::announce) says so in it.
    ///
    /// # Errors
    /// If the log cannot be read, or has no graph, or if the graph has no such shards.
    pub fn start(options: NodeOptions) -> Result<Arc<Self>> {
        let NodeOptions { name, address, process, log, stores, pace, keeping } = options;
        let (tail, turns) = (Arc::new(Tail::new(log.clone(), log.first()?)), Arc::default());
        let (role, inbox) = Role::new(process);
        let role = Arc::new(role);
        let mut threads = vec![thread("log", {
            let tail = tail.clone();
            move || tail.run()
        })?];
        threads.push(thread("role", {
            let (role, tail, log) = (role.clone(), tail.clone(), log.clone());
            move || role.run(inbox, &tail, &*log, pace)
        })?);
        threads.push(thread("listener", {
            let (role, tail) = (role.clone(), tail.clone());
            move || role.listen(&tail)
        })?);
        let mut node = Self {
            graph: GraphRecord::default(),
            name,
            address,
            process,
            log,
            hosts: BTreeMap::new(),
            tail,
            role,
            turns,
            keeping,
            runner: Mutex::default(),
            copying: Mutex::default(),
            threads: Mutex::new(threads),
            is_asked_to_stop: AtomicBool::new(false),
            is_announced: AtomicBool::new(false),
        };
        node.graph = node.role.graph(PATIENCE)?.0;
        for (number, store) in stores {
            node.add(number, store)?;
        }
        Ok(Arc::new(node))
    }

    /// Says in the log that it is there, so that others find it. It should answer by then.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if the log says nothing new for a while, [`GraphError::Cancelled`] if it should not go on.
    pub fn announce(&self, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        let (name, address, shards) = (self.name.clone(), self.address.clone(), self.hosts.keys().copied().collect());
        let announced = Record::Member(Member { name, process: self.process, address, shards }).to_bytes()?;
        let mut last = (0, Instant::now());
        while !self.role.has_member(self.process) {
            let (read, is_at_end) = self.tail.read_to();
            if read > last.0 {
                last = (read, Instant::now());
            }
            if is_cancelled() {
                return Err(GraphError::Cancelled);
            }
            if last.1.elapsed() >= PATIENCE {
                return Err(GraphError::Unavailable("the log says nothing new, and takes no record".into()));
            }
            if is_at_end {
                self.log.append(announced.clone())?;
                self.role.wait_for_member(self.process);
            } else {
                std::thread::sleep(LOOK);
            }
        }
        self.is_announced.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether another process has its name now. Nobody finds this one any more, so it should end.
    pub fn is_replaced(&self) -> bool {
        self.is_announced.load(Ordering::Relaxed) && self.role.is_another(&self.name, self.process)
    }

    /// Whether the log was cut before it had read it. When it starts again, its shards come from a backup.
    pub fn has_missed(&self) -> bool {
        self.tail.has_missed() || self.hosts.values().any(|host| host.has_missed())
    }

    /// Whether all its shards have come to where the log ended when it began to read, or cannot do so.
    pub fn is_ready(&self) -> bool {
        self.hosts.values().all(|host| host.is_ready())
    }

    fn add(&mut self, number: u16, store: Box<dyn ShardStore>) -> Result<()> {
        if number >= self.graph.placement.shards {
            let shards = self.graph.placement.shards;
            return Err(GraphError::Invalid(format!("there is no shard {number}: the graph has {shards}")));
        }
        let host = Arc::new(Host::new(number, store)?);
        let following = thread("shard", {
            let (host, tail) = (host.clone(), self.tail.clone());
            move || host.run(&tail)
        })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(following);
        self.hosts.insert(number, host);
        Ok(())
    }

    pub fn graph(&self) -> &GraphRecord {
        &self.graph
    }

    pub fn process(&self) -> u64 {
        self.process
    }

    /// What is wrong with its shards, each by itself.
    pub fn check(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for (number, host) in &self.hosts {
            found.extend(host.store().check()?.into_iter().map(|what| format!("shard {number}: {what}")));
        }
        Ok(found)
    }

    /// Takes another node off the members. It comes back if it starts again.
    pub fn forget(&self, name: &str) -> Result<()> {
        if name == self.name {
            return Err(GraphError::Invalid(format!("{name} runs: end it first")));
        }
        self.log.append(Record::Member(Member::gone(name)).to_bytes()?)?;
        match self.role.wait_for_the_end_of(name) {
            true => Ok(()),
            false => Err(GraphError::Unavailable(format!("the log does not say yet that {name} is gone"))),
        }
    }

    /// How the node is.
    pub fn status(&self) -> Result<NodeStatus> {
        let mut status = self.role.status();
        status.shards = self.hosts.values().map(|host| host.status()).collect::<Result<_>>()?;
        Ok(status)
    }

    /// Somebody wants it to end. Whoever started it does so.
    pub fn ask_to_stop(&self) {
        self.is_asked_to_stop.store(true, Ordering::Relaxed);
    }

    pub fn is_asked_to_stop(&self) -> bool {
        self.is_asked_to_stop.load(Ordering::Relaxed)
    }

    fn host(&self, shard: u16) -> Result<&Arc<Host>> {
        let missing = || GraphError::Unavailable(format!("{} does not have shard {shard}", self.name));
        self.hosts.get(&shard).ok_or_else(missing)
    }

    /// From now on, it runs small queries of clients that write, and parts of analyses.
    pub fn run_with(&self, runner: Arc<dyn Runner>) {
        *self.runner.lock().unwrap_or_else(PoisonError::into_inner) = Some(runner);
    }

    fn runner(&self) -> Option<Arc<dyn Runner>> {
        self.runner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives up the writer's role, and ends its threads.
    pub fn stop(&self) {
        let runner = self.runner.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(runner); // without the lock: with it end sessions that ask for the runner
        self.role.leave();
        self.tail.stop();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join(); // one that has panicked has said so
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(format!("mangrove {name}")).spawn(work).map_err(GraphError::storage)
}
