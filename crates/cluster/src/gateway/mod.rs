//! A graph on many nodes, as one to read.
//!
//! ```text
//!   applied   how far the nodes have applied the log, shard by shard
//!   hold      asks nodes to keep a number of their shards
//!   cut       all shards at that number, and the graph that they are
//!   fragments the nodes of a cut, for work that each does with its shards
//! ```
//! Several nodes may have the same shard. All of them that have come so far keep the number, and any of them answers.

mod applied;
mod cut;
mod fragments;
mod hold;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, ReadContext, Result};

use self::applied::Applied;
use self::cut::Seen;
use self::hold::NotHeld;
use crate::placement::Placement;
use crate::wire::{Call, Reply};

pub use self::cut::{CutGraph, CutLine, CutStore, HeldCut, Limits};
pub use self::fragments::CutNodes;

/// A graph that was read is read again for so long, before a newer one is looked for.
const FRESH: Duration = Duration::from_millis(50);
/// A graph that nobody reads is kept for so long.
const IDLE: Duration = Duration::from_millis(1_000);
/// How long all shards may take to have a cut in common.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// For so long, another node is looked for in place of one that seems to be frozen. It may have to be connected first.
const HURRY: Duration = Duration::from_secs(1);
/// How often a thread that waits for another one looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);

/// A way to a node. Calls of many threads go side by side.
pub trait Peer: Send + Sync {
    /// Asks, and waits for the reply within the limits of who asks.
    fn call(&self, call: &Call, limits: Option<&ReadContext>) -> Result<Reply>;

    /// The same, but gives up soon if the node seems to be frozen: for who can ask another one.
    fn call_or_give_up(&self, call: &Call, limits: Option<&ReadContext>) -> Result<Reply> {
        self.call(call, limits)
    }

    /// Says something, and waits for nothing.
    fn tell(&self, call: Call);
}

/// The way to a node, or why there is none.
pub type Way = Result<Arc<dyn Peer>>;

/// A node that can be reached, with its shards.
pub type ShardNode = (Arc<dyn Peer>, Vec<u16>);

/// Which node is to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sought {
    /// The one that was the writer last.
    Last,
    /// A process that is said to be the writer.
    Process(u64),
    /// Any node but that: it does not answer, or knows of no writer.
    Another,
}

impl Sought {
    /// What a node says of the writer.
    pub fn told(writer: Option<u64>) -> Self {
        writer.map_or(Sought::Another, Sought::Process)
    }
}

/// The ways to the nodes of a graph.
pub trait Peers: Send + Sync {
    /// The id of the graph.
    fn graph(&self) -> u64;

    fn placement(&self) -> Placement;

    /// Nodes are at these addresses, too. Who knows all nodes needs no addresses.
    fn learn(&self, _addresses: &[String]) {}

    /// The nodes that can be reached, each with its shards. Fails if one of the shards is not among them.
    fn with_shards(&self) -> Result<Vec<ShardNode>>;

    /// All nodes that have shards, with their names. Some may not be there.
    fn all(&self) -> Result<Vec<(String, Way)>>;

    /// The node that writes, or one that may become it.
    fn writer(&self, sought: Sought) -> Result<Arc<dyn Peer>>;
}

/// Where queries of this process read and write a graph on many nodes.
pub struct Gateway {
    peers: Arc<dyn Peers>,
    current: Mutex<Current>,
    looked: Condvar,
    /// The last commit of this process. It reads nothing older.
    own: AtomicU64,
    /// To which number a shard had come that was behind when all were asked last; `None` if none was.
    behind: Mutex<Option<u64>>,
}

#[derive(Default)]
struct Current {
    cut: Option<Arc<HeldCut>>,
    seen: Arc<Seen>,
    /// The number of the last one.
    number: u64,
    /// From which number on threads look for a newer one, each by itself.
    looking: Vec<u64>,
}

/// Says that a thread looks no longer, however that ends.
struct Looking<'g>(&'g Gateway, u64);

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        let mut current = self.0.current();
        if let Some(at) = current.looking.iter().position(|number| *number == self.1) {
            current.looking.swap_remove(at);
        }
        drop(current);
        self.0.looked.notify_all();
    }
}

impl Gateway {
    pub fn new(peers: Arc<dyn Peers>) -> Arc<Self> {
        let (current, looked, own, behind) = (Mutex::default(), Condvar::new(), AtomicU64::new(0), Mutex::default());
        let new = Arc::new(Self { peers, current, looked, own, behind });
        let tidied = Arc::downgrade(&new);
        // Without that thread, nodes keep a cut that nobody reads until it is too old.
        let _ = std::thread::Builder::new().name("mangrove gateway".into()).spawn(move || tidy(&tidied));
        new
    }

    pub fn peers(&self) -> &dyn Peers {
        &*self.peers
    }

    pub fn placement(&self) -> Placement {
        self.peers.placement()
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn behind(&self) -> MutexGuard<'_, Option<u64>> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, reads see a commit.
    pub fn has_seen(&self, number: u64) {
        self.own.fetch_max(number, Ordering::Relaxed);
    }

    /// The last commit of this process.
    pub fn own(&self) -> u64 {
        self.own.load(Ordering::Relaxed)
    }

    /// A cut that is not old. It may be before what this process has committed.
    pub fn any_cut(&self, limits: Option<&ReadContext>) -> Result<Arc<HeldCut>> {
        self.cut_from(0, FRESH, limits)
    }

    /// A cut that is not old, and not before what this process has committed or read.
    pub fn cut(&self, limits: Option<&ReadContext>) -> Result<Arc<HeldCut>> {
        self.cut_from(self.newest(), FRESH, limits)
    }

    /// The last commit that this process has made or read.
    pub fn newest(&self) -> u64 {
        self.own().max(self.current().number)
    }

    /// Waits until a commit can be read, of this process or of another. From then on, reads see it.
    pub fn wait_for(&self, number: u64, limits: &ReadContext) -> Result<()> {
        loop {
            match self.cut_from(number, FRESH, Some(limits)) {
                Ok(_) => break,
                // It takes longer than a read may take.
                Err(GraphError::Unavailable(_)) => limits.check()?,
                Err(error) => return Err(error),
            }
        }
        self.has_seen(number);
        Ok(())
    }

    /// Waits until all nodes that answer have what this process has committed, as long as they come nearer to it. Then nobody gets an older state from
    /// them.
    pub fn settle(&self, limits: Option<&ReadContext>) -> Result<()> {
        let (own, mut last) = (self.own(), (0, Instant::now()));
        loop {
            let nodes = self.peers.with_shards()?;
            let mut applied = Applied::new(self.placement().shards, None);
            applied.ask(nodes.iter().map(|(peer, shards)| (peer, shards.clone())), own, true, limits)?;
            let sum = applied.sum();
            if applied.all_nodes_have(own) {
                return Ok(());
            }
            if sum > last.0 {
                last = (sum, Instant::now());
            }
            if last.1.elapsed() >= PATIENCE {
                return applied.all_have(own).map(drop);
            }
            limits.map_or(Ok(()), ReadContext::check)?;
            std::thread::sleep(PAUSE);
        }
    }

    /// A cut at a number or after it, looked for no longer ago than this. One thread looks for all that wait, unless it waits for a later number.
    pub fn cut_from(&self, number: u64, fresh: Duration, limits: Option<&ReadContext>) -> Result<Arc<HeldCut>> {
        let (came, mut why) = (Instant::now(), None);
        loop {
            let mut current = self.current();
            let is_fresh = |cut: &HeldCut| cut.made.elapsed() <= fresh || cut.made >= came;
            let will_do = |cut: &&Arc<HeldCut>| cut.number >= number && is_fresh(cut) && !cut.is_lost();
            if let Some(cut) = current.cut.as_ref().filter(will_do) {
                return Ok(cut.clone());
            }
            limits.map_or(Ok(()), ReadContext::check)?;
            if came.elapsed() >= PATIENCE {
                return Err(why.unwrap_or_else(|| GraphError::Unavailable("the shards do not answer".into())));
            }
            if current.looking.iter().any(|other| *other <= number) {
                drop(self.looked.wait_timeout(current, LOOK).unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            current.looking.push(number);
            let (looking, seen) = (Looking(self, number), current.seen.clone());
            drop(current);
            match self.newer(number, &seen, came.elapsed() < HURRY, limits) {
                Ok(cut) => {
                    let cut = Arc::new(cut);
                    let mut current = self.current();
                    let mut before = None;
                    // Another thread may have found a newer one.
                    if cut.number >= current.number {
                        (current.seen, current.number) = (cut.seen.clone(), cut.number);
                        before = current.cut.replace(cut.clone());
                    }
                    drop((current, before)); // without the lock
                    return Ok(cut);
                }
                Err(error @ GraphError::Unavailable(_)) => why = Some(error),
                Err(error) => return Err(error),
            }
            drop(looking);
            std::thread::sleep(PAUSE);
        }
    }

    /// The graph at a number that somebody keeps already, for a node that reads shards of its own first.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if some shard does not have that number any more.
    pub fn cut_at(&self, number: u64, own: &Arc<dyn Peer>, limits: &ReadContext) -> Result<Arc<HeldCut>> {
        let (nodes, applied) = self.reached(limits)?;
        let gone = |NotHeld { why, .. }| match why {
            GraphError::Unavailable(what) => GraphError::Unavailable(format!("the graph at {number} is not there: {what}")),
            error => error,
        };
        let mut cut = hold::hold(number, &nodes, &applied, &Seen::default()).map_err(gone)?;
        cut.prefer(own);
        Ok(Arc::new(cut))
    }

    /// The graph at a number that was read before, wherever it is now; `None` if all nodes answer, and some shard does not have it any more.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if no node answers for some shard, or if one has not come so far yet.
    pub fn cut_again(&self, number: u64, limits: &ReadContext) -> Result<Option<Arc<HeldCut>>> {
        let (nodes, applied) = self.reached(limits)?;
        applied.all_have(number)?;
        match hold::hold(number, &nodes, &applied, &Seen::default()) {
            Ok(cut) => Ok(Some(Arc::new(cut))),
            Err(NotHeld { is_gone: true, .. }) => Ok(None),
            Err(NotHeld { why, .. }) => Err(why),
        }
    }

    /// The nodes that can be reached, and how far they are. One that seems to be frozen is waited for only if a shard has no other.
    fn reached(&self, limits: &ReadContext) -> Result<(Vec<ShardNode>, Applied)> {
        let nodes = self.peers.with_shards()?;
        let mut applied = Applied::new(self.placement().shards, None);
        applied.ask_all(&nodes, true, Some(limits))?;
        if applied.is_incomplete() {
            applied.ask_all(&nodes, false, Some(limits))?;
        }
        Ok((nodes, applied))
    }

    /// The newest cut that all shards have. Who is hurried waits for no node that seems to be frozen.
    fn newer(&self, from: u64, seen: &Seen, is_hurried: bool, limits: Option<&ReadContext>) -> Result<HeldCut> {
        let nodes = self.peers.with_shards()?;
        let mut applied = Applied::new(self.placement().shards, *self.behind());
        // Only if a shard has no other node for a while, one that seems to be frozen is waited for.
        applied.ask_all(&nodes, true, limits)?;
        if applied.is_incomplete() && !is_hurried {
            applied.ask_all(&nodes, false, limits)?;
        }
        *self.behind() = applied.is_behind();
        if applied.least() < from {
            // The nodes that have come furthest wait until they come so far.
            let behind = applied.behind(from);
            let furthest = |(at, shards): (usize, Vec<u16>)| (&nodes[at].0, shards);
            applied.ask(behind.into_iter().map(furthest), from, true, limits)?;
        }
        let number = applied.all_have(from)?;
        let cut = match hold::hold(number, &nodes, &applied, seen) {
            // Shards that are ahead have left that cut out.
            Err(NotHeld { is_gone: true, .. }) if (from..number).contains(&applied.coarse()) => {
                hold::hold(applied.coarse(), &nodes, &applied, seen)
            }
            cut => cut,
        };
        cut.map_err(|NotHeld { why, .. }| match why {
            GraphError::Unavailable(what) => GraphError::Unavailable(applied.with_what_is_behind(what)),
            error => error,
        })
    }
}

/// Gives back a cut that nobody has read for a while.
fn tidy(gateway: &Weak<Gateway>) {
    loop {
        std::thread::sleep(IDLE);
        let Some(gateway) = gateway.upgrade() else { return };
        let mut current = gateway.current();
        let is_idle = current.cut.as_ref().is_some_and(|cut| cut.made.elapsed() > IDLE);
        let gone = if is_idle { current.cut.take() } else { None };
        drop((current, gone)); // without the lock
    }
}
