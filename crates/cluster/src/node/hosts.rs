//! The shards of a node, which come and go while it runs.
//!
//! ```text
//!   arriving   its store follows the log; the log does not say yet that the node has it
//!   here       the log says so
//!   leaving    the log says so no longer; who reads it may go on for a while
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

use super::host::Host;
use super::role::Role;
use super::store::{ShardStore, ShardStores};
use super::tail::Tail;

/// Who knows the members from before may still ask for a shard that leaves, for so long.
const GRACE: Duration = Duration::from_secs(5);
/// A shard that leaves ends after so long, even if somebody still reads it.
const LONGEST: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(100);

/// The shards of a node.
pub struct Hosts {
    node: String,
    process: u64,
    role: Arc<Role>,
    tail: Arc<Tail>,
    stores: Arc<dyn ShardStores>,
    all: RwLock<BTreeMap<u16, Hosted>>,
    /// Held while a shard is opened, announced, given away or deleted.
    moving: Mutex<()>,
}

struct Hosted {
    host: Arc<Host>,
    /// Since when it leaves, if it does.
    leaving: Option<Instant>,
    /// Whether the log has said that the node has it. From then on, the node has it as long as the log says so.
    has_arrived: bool,
    following: JoinHandle<()>,
}

impl Hosts {
    pub fn new(node: String, process: u64, role: Arc<Role>, tail: Arc<Tail>, stores: Arc<dyn ShardStores>) -> Self {
        Self { node, process, role, tail, stores, all: RwLock::default(), moving: Mutex::default() }
    }

    fn all(&self) -> RwLockReadGuard<'_, BTreeMap<u16, Hosted>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_to_change(&self) -> RwLockWriteGuard<'_, BTreeMap<u16, Hosted>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A shard arrives: its store follows the log from now on.
    pub fn add(&self, shard: u16, store: Box<dyn ShardStore>) -> Result<Arc<Host>> {
        let host = Arc::new(Host::new(shard, store)?);
        let following = super::thread("shard", {
            let (host, tail) = (host.clone(), self.tail.clone());
            move || host.run(&tail)
        })?;
        let hosted = Hosted { host: host.clone(), leaving: None, has_arrived: false, following };
        self.all_to_change().insert(shard, hosted);
        Ok(host)
    }

    /// Opens the store of a shard, which arrives.
    pub fn open(&self, shard: u16) -> Result<Arc<Host>> {
        self.add(shard, self.stores.open(shard)?)
    }

    /// The log has said that the node has these shards.
    pub fn have_arrived(&self, shards: &[u16]) {
        let mut all = self.all_to_change();
        shards.iter().for_each(|shard| {
            all.entry(*shard).and_modify(|hosted| (hosted.has_arrived, hosted.leaving) = (true, None));
        });
    }

    /// Ends a shard. Its store is closed once nobody reads it any more, and stays.
    pub fn end(&self, shard: u16) {
        let removed = self.all_to_change().remove(&shard); // the thread of a shard may take a moment to end
        if let Some(Hosted { host, following, .. }) = removed {
            host.stop();
            let _ = following.join(); // one that has panicked has said so
        }
    }

    /// Ends a shard, and deletes its store, unless that has something that the log does not have.
    pub fn delete(&self, shard: u16) {
        let has_failed = self.get(shard).ok().and_then(|host| host.has_failed());
        self.end(shard);
        match has_failed.map_or_else(|| self.stores.delete(shard).map_err(|error| error.to_string()), Err) {
            Ok(()) => tracing::info!(shard, "the node has given the shard away"),
            Err(why) => tracing::warn!(shard, why, "the files of a shard that was given away stay"),
        }
    }

    /// Nobody else opens, gives away or deletes a shard meanwhile. Waits a little for that.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if somebody does so for longer.
    pub fn alone(&self) -> Result<MutexGuard<'_, ()>> {
        let until = Instant::now() + GRACE;
        loop {
            match self.moving.try_lock() {
                Ok(alone) => return Ok(alone),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => {
                    let what = format!("{} takes or gives away another shard: wait until that is done", self.node);
                    return Err(GraphError::Unavailable(what));
                }
            }
        }
    }

    /// Whether it is there, even if it leaves.
    pub fn has(&self, shard: u16) -> bool {
        self.all().contains_key(&shard)
    }

    /// The shards that do not leave, in order.
    pub fn staying(&self) -> Vec<Arc<Host>> {
        self.all().values().filter(|hosted| hosted.leaving.is_none()).map(|hosted| hosted.host.clone()).collect()
    }

    /// The numbers of all.
    pub fn numbers(&self) -> Vec<u16> {
        self.all().keys().copied().collect()
    }

    /// A shard for who reads a cut that is kept.
    pub fn get(&self, shard: u16) -> Result<Arc<Host>> {
        self.all().get(&shard).map(|hosted| hosted.host.clone()).ok_or_else(|| self.missing(shard))
    }

    /// A shard for who looks for a cut.
    pub fn get_for_new(&self, shard: u16) -> Result<Arc<Host>> {
        let all = self.all();
        let may_begin = |hosted: &&Hosted| hosted.leaving.is_none_or(|since| since.elapsed() < GRACE);
        all.get(&shard).filter(may_begin).map(|hosted| hosted.host.clone()).ok_or_else(|| self.missing(shard))
    }

    fn missing(&self, shard: u16) -> GraphError {
        GraphError::Unavailable(format!("{} does not have shard {shard}", self.node))
    }

    /// Follows what the log says of the node, until the log stops. Then all shards have ended.
    pub fn run(&self) {
        while !self.tail.is_stopped() {
            if let Some(member) = self.role.member(&self.node).filter(|member| member.process == self.process) {
                self.heed(&member.shards);
            }
            std::thread::sleep(LOOK);
        }
        self.numbers().into_iter().for_each(|shard| self.end(shard));
    }

    /// The log says that the node has these shards.
    fn heed(&self, own: &[u16]) {
        let mut done = Vec::new();
        for (shard, hosted) in self.all_to_change().iter_mut().filter(|(_, hosted)| hosted.has_arrived) {
            match (own.contains(shard), hosted.leaving) {
                (true, _) => hosted.leaving = None,
                (false, None) => hosted.leaving = Some(Instant::now()),
                (false, Some(_)) => done.extend(hosted.is_done().then_some(*shard)),
            }
        }
        for shard in done {
            let Ok(_alone) = self.alone() else { return };
            if !self.all().get(&shard).is_some_and(Hosted::is_done) {
                continue; // it has come back
            }
            self.delete(shard);
        }
    }
}

impl Hosted {
    /// Whether it has left, and nobody reads it any more.
    fn is_done(&self) -> bool {
        let gone = self.leaving.map_or(Duration::ZERO, |since| since.elapsed());
        gone >= GRACE && self.host.holds() == 0 || gone >= LONGEST
    }
}
