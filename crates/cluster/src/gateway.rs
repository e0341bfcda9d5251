//! A graph on many nodes, as one to read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, ReadContext, Result, Schema};

use crate::placement::Placement;
use crate::remote::{Known, Line, Remote};
use crate::shard::ShardView;
use crate::view::ClusterView;
use crate::wire::{Answer, Ask, Call, Reply, damaged};

/// A graph that was read is read again for so long, before a newer one is looked for.
const FRESH: Duration = Duration::from_millis(50);
/// How long all shards may take to have a cut in common.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// A way to a node. Calls of many threads go side by side.
pub trait Peer: Send + Sync {
    /// Asks, and waits for the reply within the limits of who asks.
    fn call(&self, call: &Call, limits: Option<&ReadContext>) -> Result<Reply>;

    /// Says something, and waits for nothing.
    fn tell(&self, call: Call);
}

/// The way to a node, or why there is none.
pub type Way = Result<Arc<dyn Peer>>;

/// The ways to the nodes of a graph.
pub trait Peers: Send + Sync {
    fn placement(&self) -> Placement;

    /// A node that has a shard.
    fn of_shard(&self, shard: u16) -> Result<Arc<dyn Peer>>;

    /// All nodes that have shards, with their names. Some may not be there.
    fn all(&self) -> Result<Vec<(String, Way)>>;

    /// The node that writes, or one that may become it. `known` is a process that is said to write.
    fn writer(&self, known: Option<u64>) -> Result<Arc<dyn Peer>>;
}

/// All shards at one number, which they keep as long as this lives.
pub struct HeldCut {
    number: u64,
    shards: Vec<HeldShard>,
    schema: Arc<Schema>,
    made: Instant,
}

#[derive(Clone)]
struct HeldShard {
    peer: Arc<dyn Peer>,
    version: u64,
    known: Arc<Known>,
}

impl Drop for HeldCut {
    fn drop(&mut self) {
        for (shard, held) in (0..).zip(&self.shards) {
            held.peer.tell(Call::Release { shard, number: self.number });
        }
    }
}

/// The limits of who reads a cut, which may change. Clones share them.
#[derive(Clone, Default)]
pub struct Limits(Arc<RwLock<Option<ReadContext>>>);

impl Limits {
    pub fn set(&self, limits: Option<ReadContext>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    fn get(&self) -> Option<ReadContext> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What leads to a shard at the number of a cut.
#[derive(Clone)]
pub struct CutLine {
    cut: Arc<HeldCut>,
    shard: u16,
    limits: Limits,
}

impl Line for CutLine {
    fn ask(&self, ask: &Ask) -> Result<Answer> {
        let limits = self.limits.get();
        limits.as_ref().map_or(Ok(()), ReadContext::begin)?;
        let left = limits.as_ref().and_then(|limits| limits.deadline);
        let left = left.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let call = Call::Ask { shard: self.shard, number: self.cut.number, left, ask: ask.clone() };
        match self.cut.shards[usize::from(self.shard)].peer.call(&call, limits.as_ref())? {
            Reply::Answer(answer) => Ok(answer),
            _ => Err(damaged("an answer")),
        }
    }

    fn for_another_thread(&self) -> Self {
        let limits = Limits::default();
        limits.set(self.limits.get().as_ref().map(ReadContext::for_another_thread));
        Self { cut: self.cut.clone(), shard: self.shard, limits }
    }
}

/// The store of a shard at a cut.
pub type CutStore = Box<Remote<CutLine>>;

/// The graph at a cut.
pub type CutGraph = ClusterView<ShardView<CutStore>>;

impl HeldCut {
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The stores of all shards, for a reader with these limits.
    pub fn stores(self: &Arc<Self>, limits: &Limits) -> Vec<CutStore> {
        let store = |(shard, held): (u16, &HeldShard)| {
            let line = CutLine { cut: self.clone(), shard, limits: limits.clone() };
            Box::new(Remote::new(line, held.known.clone()))
        };
        (0..).zip(&self.shards).map(store).collect()
    }

    /// The graph, for a reader with these limits.
    pub fn graph(self: &Arc<Self>, placement: Placement, limits: &Limits) -> CutGraph {
        ClusterView::with_schema(self.stores(limits), placement, self.schema.clone())
    }
}

/// Where queries of this process read and write a graph on many nodes.
pub struct Gateway {
    peers: Arc<dyn Peers>,
    current: Mutex<Option<Arc<HeldCut>>>,
    /// The last commit of this process. It reads nothing older.
    own: AtomicU64,
}

impl Gateway {
    pub fn new(peers: Arc<dyn Peers>) -> Self {
        Self { peers, current: Mutex::default(), own: AtomicU64::new(0) }
    }

    pub fn peers(&self) -> &dyn Peers {
        &*self.peers
    }

    pub fn placement(&self) -> Placement {
        self.peers.placement()
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<HeldCut>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, reads see a commit.
    pub fn has_seen(&self, number: u64) {
        self.own.fetch_max(number, Ordering::Relaxed);
    }

    /// A cut that is not old. It may be before what this process has committed.
    pub fn any_cut(&self) -> Result<Arc<HeldCut>> {
        self.cut_from(0, FRESH)
    }

    /// A cut that is not old, and not before what this process has committed.
    pub fn cut(&self) -> Result<Arc<HeldCut>> {
        self.cut_from(self.own.load(Ordering::Relaxed), FRESH)
    }

    /// A cut at a number or after it, looked for no longer ago than this.
    pub fn cut_from(&self, number: u64, fresh: Duration) -> Result<Arc<HeldCut>> {
        let mut current = self.current();
        if let Some(cut) = current.as_ref().filter(|cut| cut.number >= number && cut.made.elapsed() <= fresh) {
            return Ok(cut.clone());
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let before = current.clone();
            match self.newer(number, before.as_ref()) {
                Ok(cut) => {
                    *current = Some(cut.clone());
                    return Ok(cut);
                }
                Err(error @ GraphError::Unavailable(_)) if Instant::now() >= until => {
                    *current = None;
                    return Err(error);
                }
                Err(GraphError::Unavailable(_)) => std::thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
    }

    /// The newest cut that all shards have.
    fn newer(&self, from: u64, before: Option<&Arc<HeldCut>>) -> Result<Arc<HeldCut>> {
        let peers = (0..self.placement().shards).map(|shard| self.peers.of_shard(shard)).collect::<Result<Vec<_>>>()?;
        let number = applied(&peers, from)?;
        if number < from {
            return Err(GraphError::Unavailable(format!(
                "the shards have applied the log up to {number}, not up to {from}"
            )));
        }
        Ok(Arc::new(self.hold(number, peers, before)?))
    }

    fn hold(&self, number: u64, peers: Vec<Arc<dyn Peer>>, before: Option<&Arc<HeldCut>>) -> Result<HeldCut> {
        let mut cut = HeldCut { number, shards: Vec::new(), schema: Arc::default(), made: Instant::now() };
        for (shard, peer) in (0..).zip(peers) {
            let known = before.and_then(|before| before.shards.get(usize::from(shard)));
            let version = known.map(|known| known.version);
            let Reply::Held { version, schema, statistics, next } =
                peer.call(&Call::Hold { shard, number, version }, None)?
            else {
                return Err(damaged("a cut"));
            };
            let schema =
                schema.or_else(|| known.map(|known| known.known.schema.clone())).ok_or_else(|| damaged("a schema"))?;
            // From here on, dropping the cut gives this shard's back.
            cut.shards.push(HeldShard { peer, version, known: Arc::new(Known { schema, statistics, next }) });
        }
        cut.schema = match before.filter(|before| before.has_versions_of(&cut)) {
            Some(before) => before.schema.clone(),
            None => crate::schema::joined(cut.shards.iter().map(|held| &*held.known.schema)),
        };
        Ok(cut)
    }
}

impl HeldCut {
    fn has_versions_of(&self, other: &Self) -> bool {
        self.shards.len() == other.shards.len()
            && self.shards.iter().zip(&other.shards).all(|(a, b)| Arc::ptr_eq(&a.known.schema, &b.known.schema))
    }
}

/// The newest number that all shards have applied, at `from` or after it if they come so far. One call for each node.
fn applied(peers: &[Arc<dyn Peer>], from: u64) -> Result<u64> {
    let mut nodes: BTreeMap<*const u8, (Arc<dyn Peer>, Vec<u16>)> = BTreeMap::new();
    for (shard, peer) in (0..).zip(peers) {
        let at = Arc::as_ptr(peer).cast::<u8>();
        nodes.entry(at).or_insert_with(|| (peer.clone(), Vec::new())).1.push(shard);
    }
    let mut least = u64::MAX;
    for (peer, shards) in nodes.into_values() {
        let Reply::Applied(numbers) = peer.call(&Call::Applied { shards, from }, None)? else {
            return Err(damaged("numbers"));
        };
        least = numbers.into_iter().fold(least, u64::min);
    }
    Ok(least)
}
