//! A process that has shards, answers who reads them, and may be the writer.
//!
//! ```text
//!   store     what is needed of the store of a shard
//!   tail      the log, read once for all
//!   host      a shard that follows the log, and its cuts
//!   hosts     the shards of a node, which come and go
//!   moving    shards that it takes and gives away
//!   keeping   what it does for backups
//!   turns     the turn to write
//!   role      the writer's role
//!   session   who is connected, and what it holds
//!   own       transactions of the node itself, for clients whose queries it runs
//!   local     a node of this process, for a gateway of this process
//!   versions  which Mangrove it is, and which records the graph allows
//!   counts    what it counts of its work
//!   counted   the log, which counts what is read and written
//!   seen      the node as those see it who watch it
//! ```

mod counted;
mod counts;
mod host;
mod hosts;
mod keeping;
mod local;
mod moving;
mod own;
mod role;
mod seen;
mod session;
mod store;
mod tail;
mod turns;
mod versions;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mangrove_graph::{GraphError, Result};

pub use self::counts::{Counts, LogCounts, WriteCounts};
pub use self::keeping::Keeping;
pub use self::local::LocalPeer;
pub use self::own::{OwnTransaction, OwnTransactions, Ran, Runner};
pub use self::role::Outcome;
pub use self::seen::{LogSeen, NodeSeen, WritesSeen};
pub use self::session::Session;
pub use self::store::{CutView, ShardStore, ShardStores};

use self::counted::Counted;
use self::hosts::Hosts;
use self::role::Role;
use self::tail::Tail;
use self::turns::Turns;
use crate::log::{GraphRecord, Log, Member, Members, Record, WriterPace};
use crate::service::Tracer;
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
    /// The shards with which it begins.
    pub shards: Vec<(u16, Box<dyn ShardStore>)>,
    /// Where others come from, and all go to.
    pub stores: Arc<dyn ShardStores>,
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
    hosts: Arc<Hosts>,
    tail: Arc<Tail>,
    role: Arc<Role>,
    turns: Arc<Turns>,
    keeping: Option<Keeping>,
    counts: Arc<Counts>,
    tracer: OnceLock<Arc<dyn Tracer>>,
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
        let NodeOptions { name, address, process, log, shards, stores, pace, keeping } = options;
        let counts = Arc::new(Counts::default());
        let log: Arc<dyn Log> = Arc::new(Counted::new(log, counts.clone()));
        let (tail, turns) = (Arc::new(Tail::new(log.clone(), log.first()?)), Arc::default());
        let (role, inbox) = Role::new(process, counts.clone());
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
        let hosts = Arc::new(Hosts::new(name.clone(), process, role.clone(), tail.clone(), stores));
        let mut node = Self {
            graph: GraphRecord::default(),
            name,
            address,
            process,
            log,
            hosts,
            tail,
            role,
            turns,
            keeping,
            counts,
            tracer: OnceLock::new(),
            runner: Mutex::default(),
            copying: Mutex::default(),
            threads: Mutex::new(threads),
            is_asked_to_stop: AtomicBool::new(false),
            is_announced: AtomicBool::new(false),
        };
        node.graph = node.role.graph(PATIENCE)?.0;
        for (number, store) in shards {
            node.must_be_shard(number)?;
            node.hosts.add(number, store)?;
        }
        let heeding = thread("shards", {
            let hosts = node.hosts.clone();
            move || hosts.run()
        })?;
        node.threads.lock().unwrap_or_else(PoisonError::into_inner).push(heeding);
        Ok(Arc::new(node))
    }

    /// Says in the log that it is there, with its shards, so that others find it. It should answer by then.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if the log says nothing new for a while, [`GraphError::Cancelled`] if it should not go on.
    pub fn announce(&self, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
        self.read_to_the_end(is_cancelled)?;
        let (name, address, shards) = (self.name.clone(), self.address.clone(), self.hosts.numbers());
        let announced = Record::Member(Member { name, process: self.process, address, shards: shards.clone() });
        self.say(&announced, |members| members.iter().any(|member| member.process == self.process), is_cancelled)?;
        self.hosts.have_arrived(&shards);
        self.is_announced.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether another process has its name now. Nobody finds this one any more, so it should end.
    pub fn is_replaced(&self) -> bool {
        self.is_announced.load(Ordering::Relaxed) && self.role.is_another(&self.name, self.process)
    }

    /// Whether the log was cut before it had read it. When it starts again, its shards come from a backup.
    pub fn has_missed(&self) -> bool {
        self.tail.has_missed() || self.hosts.staying().iter().any(|host| host.has_missed())
    }

    /// Whether all its shards have come to where the log ended when it began to read, or cannot do so.
    pub fn is_ready(&self) -> bool {
        self.hosts.staying().iter().all(|host| host.is_ready())
    }

    pub fn graph(&self) -> &GraphRecord {
        &self.graph
    }

    /// What it counts of its work.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// From now on, it tells of calls that are parts of traces.
    pub fn trace_with(&self, tracer: Arc<dyn Tracer>) {
        let _ = self.tracer.set(tracer); // the first one stays
    }

    /// Where it tells of them, if somebody wants to know.
    pub fn tracer(&self) -> Option<&dyn Tracer> {
        self.tracer.get().map(|tracer| &**tracer)
    }

    pub fn process(&self) -> u64 {
        self.process
    }

    /// What is wrong with its shards, each by itself.
    pub fn check(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for host in self.hosts.staying() {
            found.extend(host.store().check()?.into_iter().map(|what| format!("shard {}: {what}", host.number())));
        }
        Ok(found)
    }

    /// Takes another node off the members. It comes back if it starts again.
    pub fn forget(&self, name: &str) -> Result<()> {
        if name == self.name {
            return Err(GraphError::Invalid(format!("{name} runs: end it first")));
        }
        let has_shards = |member: Member| member.shards.iter().find(|shard| !self.role.is_elsewhere(**shard, name)).copied();
        if let Some(shard) = self.role.member(name).and_then(has_shards) {
            return Err(GraphError::Invalid(format!("without {name}, no node has shard {shard}: copy it to one first")));
        }
        let is_gone = |members: &Members| members.get(name).is_none();
        self.say(&Record::Member(Member::gone(name)), is_gone, &|| self.tail.is_stopped())
    }

    /// How the node is.
    pub fn status(&self) -> Result<NodeStatus> {
        let mut status = self.role.status();
        status.shards = self.hosts.staying().iter().map(|host| host.status()).collect::<Result<_>>()?;
        Ok(status)
    }

    /// Somebody wants it to end. Whoever started it does so.
    pub fn ask_to_stop(&self) {
        self.is_asked_to_stop.store(true, Ordering::Relaxed);
    }

    pub fn is_asked_to_stop(&self) -> bool {
        self.is_asked_to_stop.load(Ordering::Relaxed)
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
