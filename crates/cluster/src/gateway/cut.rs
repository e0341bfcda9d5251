//! All shards of a graph at one number of the log.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, ReadContext, Result, Schema};

use super::{Peer, ShardNode};
use crate::at_once::at_once;
use crate::halves::{Halves, compared};
use crate::names::Own;
use crate::placement::Placement;
use crate::remote::{Known, Line, Remote};
use crate::shard::ShardView;
use crate::view::{AtOnce, ClusterView, InTurn};
use crate::wire::{Answer, Ask, Call, NextLocals, Reply, damaged};

/// What was read for longer is not read again from the beginning.
const YOUNG: Duration = Duration::from_secs(60);

/// All shards at one number, which their nodes keep as long as this lives.
pub struct HeldCut {
    pub number: u64,
    pub made: Instant,
    /// What each node keeps.
    pub nodes: Vec<ShardNode>,
    /// By shard.
    pub shards: Vec<HeldShard>,
    pub seen: Arc<Seen>,
    /// Whether no node answers any longer for some shard at this number. Another cut may be read.
    pub lost: AtomicBool,
}

/// The nodes that have a shard at that number. Any of them answers.
#[derive(Default)]
pub struct HeldShard {
    pub peers: Vec<Arc<dyn Peer>>,
    /// How many nodes have the shard. Some may not have that number, but another.
    pub copies: usize,
    /// Counts those that did not answer. The next one is asked from then on.
    pub skipped: AtomicUsize,
}

/// What is known of the shards without asking.
#[derive(Default)]
pub struct Seen {
    pub shards: Vec<SeenShard>,
    pub schema: Arc<Schema>,
}

#[derive(Clone)]
pub struct SeenShard {
    /// Tells schemas of the shard apart.
    pub version: u64,
    pub known: Arc<Known>,
}

impl Drop for HeldCut {
    fn drop(&mut self) {
        for (peer, shards) in std::mem::take(&mut self.nodes) {
            peer.tell(Call::Release { number: self.number, shards });
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

    pub fn get(&self) -> Option<ReadContext> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same for another thread.
    pub fn for_another_thread(&self) -> Self {
        let limits = Limits::default();
        limits.set(self.get().as_ref().map(ReadContext::for_another_thread));
        limits
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
        let held = &self.cut.shards[usize::from(self.shard)];
        let mut why = GraphError::Unavailable(format!("no node has shard {}", self.shard));
        let first = held.skipped.load(Ordering::Relaxed);
        for skipped in first..first + held.peers.len() {
            let left = limits.as_ref().and_then(|limits| limits.deadline);
            let left = left.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let call = Call::Ask { shard: self.shard, number: self.cut.number, left, ask: ask.clone() };
            let peer = &held.peers[skipped % held.peers.len()];
            // If this node is frozen, another may have a newer cut.
            let reply = match held.copies {
                0 | 1 => peer.call(&call, limits.as_ref()),
                _ => peer.call_or_give_up(&call, limits.as_ref()),
            };
            match reply {
                Ok(Reply::Answer(answer)) => return Ok(answer),
                Ok(_) => return Err(damaged("an answer")),
                // Another node with this shard has the same.
                Err(error @ GraphError::Unavailable(_)) => why = error,
                Err(error @ GraphError::Corrupt(_)) if held.peers.len() > 1 => {
                    tracing::warn!(shard = self.shard, %error, "a node has damaged files, and another one is asked");
                    why = error;
                }
                Err(error) => return Err(error),
            }
            held.skipped.fetch_max(skipped + 1, Ordering::Relaxed);
        }
        // One that was kept for long was given up rather than lost, and so would be the next one.
        if matches!(why, GraphError::Unavailable(_)) && self.cut.made.elapsed() < YOUNG {
            self.cut.lost.store(true, Ordering::Relaxed);
        }
        Err(why)
    }

    fn for_another_thread(&self) -> Self {
        Self { limits: self.limits.for_another_thread(), ..self.clone() }
    }
}

/// The store of a shard at a cut.
pub type CutStore = Box<Remote<CutLine>>;

/// The graph at a cut.
pub type CutGraph = ClusterView<ShardView<CutStore>, AtOnce>;

impl HeldCut {
    /// What one node has of the graph at a number that somebody else keeps. Shards that it does not have cannot be read.
    pub fn of_node(number: u64, peer: &Arc<dyn Peer>, placement: Placement, schema: Arc<Schema>) -> Arc<Self> {
        let (statistics, next) = (Arc::default(), NextLocals::default());
        let known = Arc::new(Known { schema: schema.clone(), statistics, next });
        let of_each = 0..placement.shards;
        let seen = of_each.clone().map(|_| SeenShard { version: number, known: known.clone() }).collect();
        let held = |_| HeldShard { peers: vec![peer.clone()], copies: 1, ..HeldShard::default() };
        Arc::new(Self {
            number,
            made: Instant::now(),
            nodes: Vec::new(),
            shards: of_each.map(held).collect(),
            seen: Arc::new(Seen { shards: seen, schema }),
            lost: AtomicBool::new(false),
        })
    }

    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// From now on, this node is asked first for what it has.
    pub fn prefer(&mut self, peer: &Arc<dyn Peer>) {
        for shard in &mut self.shards {
            shard.peers.sort_by_key(|other| !std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(peer)));
        }
    }

    /// One shard as a part of the graph, for a reader with these limits; `None` if there is no such shard.
    pub fn shard(self: &Arc<Self>, shard: u16, placement: Placement, limits: &Limits) -> Option<ShardView<CutStore>> {
        let seen = self.seen.shards.get(usize::from(shard))?;
        let line = CutLine { cut: self.clone(), shard, limits: limits.clone() };
        let store = Box::new(Remote::new(line, seen.known.clone()));
        Some(ShardView::new(store, shard, placement.shards, self.seen.schema.clone()))
    }

    /// About how many edges a shard lists: those that leave its vertices, and those that come into them.
    pub fn edges(&self, shard: u16) -> u64 {
        let seen = self.seen.shards.get(usize::from(shard));
        seen.map_or(0, |seen| seen.known.statistics.edges.iter().sum())
    }

    /// The stores of all shards, for a reader with these limits.
    pub fn stores(self: &Arc<Self>, limits: &Limits) -> Vec<CutStore> {
        let store = |(shard, seen): (u16, &SeenShard)| {
            let line = CutLine { cut: self.clone(), shard, limits: limits.clone() };
            Box::new(Remote::new(line, seen.known.clone()))
        };
        (0..).zip(&self.seen.shards).map(store).collect()
    }

    /// The graph, for a reader with these limits.
    pub fn graph(self: &Arc<Self>, placement: Placement, limits: &Limits) -> CutGraph {
        ClusterView::with_schema(self.stores(limits), placement, self.seen.schema.clone())
    }

    /// The same for shards of this process: one thread reads them, one after the other.
    pub fn graph_in_turn(
        self: &Arc<Self>,
        placement: Placement,
        limits: &Limits,
    ) -> ClusterView<ShardView<CutStore>, InTurn> {
        ClusterView::with_schema(self.stores(limits), placement, self.seen.schema.clone())
    }

    /// What is wrong between shards, and between nodes with the same shard. O(edges), on the nodes, and O(elements of labels with routed indexes).
    pub fn check(self: &Arc<Self>, placement: Placement) -> Result<Vec<String>> {
        let asked =
            self.shards.iter().enumerate().flat_map(|(shard, held)| held.peers.iter().map(move |peer| (shard, peer)));
        let told = at_once(asked.collect(), |(shard, peer)| {
            let ask = Ask::Halves(Own { number: shard as u16, shards: placement.shards });
            match peer.call(&Call::Ask { shard: shard as u16, number: self.number, left: None, ask }, None) {
                Ok(Reply::Answer(Answer::Halves(halves))) => Ok((shard, Ok(halves))),
                Ok(_) => Err(damaged("sums")),
                Err(GraphError::Corrupt(what)) => Ok((shard, Err(what))),
                Err(error) => Err(error),
            }
        })?;
        let (mut first, mut wrong): (Vec<Option<Halves>>, _) = (vec![None; self.shards.len()], Vec::new());
        for (shard, halves) in told {
            let halves = match halves {
                Ok(halves) => halves,
                Err(what) => {
                    wrong.push(what);
                    continue;
                }
            };
            match &first[shard] {
                None => first[shard] = Some(halves),
                Some(known) if *known != halves => wrong.push(format!("two nodes have different edges in shard {shard}")),
                Some(_) => {}
            }
        }
        wrong.extend(compared(&first.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>()));
        match self.graph(placement, &Limits::default()).unlisted() {
            Ok(unlisted) => wrong.extend(unlisted),
            Err(GraphError::Corrupt(what)) => wrong.push(what),
            Err(error) => return Err(error),
        }
        Ok(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node that always says the same.
    struct Saying(fn() -> Result<Reply>);

    impl Peer for Saying {
        fn call(&self, _: &Call, _: Option<&ReadContext>) -> Result<Reply> {
            (self.0)()
        }

        fn tell(&self, _: Call) {}
    }

    fn whole() -> Result<Reply> {
        Ok(Reply::Answer(Answer::Number(7)))
    }

    fn torn() -> Result<Reply> {
        Err(GraphError::corrupt("a part is damaged"))
    }

    fn gone() -> Result<Reply> {
        Err(GraphError::Unavailable("it has ended".into()))
    }

    /// What a shard answers that these nodes have, and whether another cut may be read.
    fn asked(nodes: &[fn() -> Result<Reply>]) -> (Result<Answer>, bool) {
        let peers: Vec<Arc<dyn Peer>> = nodes.iter().map(|node| Arc::new(Saying(*node)) as _).collect();
        let shards = vec![HeldShard { copies: peers.len(), peers, skipped: AtomicUsize::new(0) }];
        let (made, lost) = (Instant::now(), AtomicBool::new(false));
        let cut = Arc::new(HeldCut { number: 1, made, nodes: Vec::new(), shards, seen: Arc::default(), lost });
        let line = CutLine { cut: cut.clone(), shard: 0, limits: Limits::default() };
        (line.ask(&Ask::FindVertices(None, Vec::new())), cut.is_lost())
    }

    #[test]
    fn another_node_answers_for_one_with_damaged_files() {
        for nodes in [[torn, whole], [gone, whole], [whole, torn]] {
            assert!(matches!(asked(&nodes), (Ok(Answer::Number(7)), false)));
        }
        assert!(matches!(asked(&[torn]), (Err(GraphError::Corrupt(_)), false)));
        assert!(matches!(asked(&[torn, torn]), (Err(GraphError::Corrupt(_)), false)));
        assert!(matches!(asked(&[torn, gone]), (Err(GraphError::Unavailable(_)), true)));
    }
}
