//! The client's side of a job: it shares the shards among nodes, and keeps them in step.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use mangrove_analytics::engine::Report;
use mangrove_analytics::{AnalyticsError, Result};
use mangrove_cluster::gateway::{HeldCut, Peer};
use mangrove_cluster::wire::{Call, Opaque, Reply, from_bytes, to_bytes};
use mangrove_graph::{CancelToken, GraphError, ReadContext, Uuid};

use super::between::{named, say, say_with};
use super::words::{Asked, Kept, Summed, Told};

/// How often the client looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);
/// How long a node may take to hear that nobody needs a job any more. It learns so from the end of the connection, too.
const ENDING: Duration = Duration::from_secs(1);

/// How a graph is shared among nodes.
#[derive(Clone)]
pub struct Shared {
    /// The nodes that get a part.
    pub peers: Vec<Arc<dyn Peer>>,
    /// The part of each shard.
    pub owners: Vec<u32>,
}

impl Shared {
    /// Shares a graph among the nodes that keep it. Each shard goes to that of its nodes which has the fewest edges so far.
    pub fn of(cut: &HeldCut) -> Result<Self, GraphError> {
        let mut edges = vec![0u64; cut.nodes.len()];
        let mut chosen = Vec::new();
        for shard in 0..cut.shards.len() as u16 {
            let has_it = |at: &usize| cut.nodes[*at].1.contains(&shard);
            let least = (0..cut.nodes.len()).filter(has_it).min_by_key(|at| edges[*at]);
            let node = least.ok_or_else(|| GraphError::Unavailable(format!("no node has shard {shard}")))?;
            edges[node] += cut.edges(shard) + 1;
            chosen.push(node);
        }
        let mut nodes = chosen.clone();
        nodes.sort_unstable();
        nodes.dedup();
        let part = |node: &usize| nodes.binary_search(node).unwrap_or_default() as u32;
        let peers = nodes.iter().map(|node| cut.nodes[*node].0.clone()).collect();
        Ok(Self { peers, owners: chosen.iter().map(part).collect() })
    }
}

/// The names of nodes that were asked for theirs.
#[derive(Default)]
pub struct NodeNames(Mutex<Vec<(Weak<dyn Peer>, String)>>);

impl NodeNames {
    /// The names of these nodes; `None` if one of them does no work in rounds. Who gives up does not wait for one that seems to be frozen.
    pub fn of(&self, peers: &[Arc<dyn Peer>], limits: &ReadContext, gives_up: bool) -> Result<Option<Vec<String>>> {
        let mut names = Vec::new();
        for peer in peers {
            let known = self.known(peer);
            let asked = if known.is_none() { asked_for_name(&**peer, limits, gives_up)? } else { known };
            let Some(name) = asked else { return Ok(None) };
            self.remember(peer, &name);
            names.push(name);
        }
        Ok(Some(names))
    }

    fn known(&self, peer: &Arc<dyn Peer>) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |weak: &Weak<dyn Peer>| std::ptr::addr_eq(weak.as_ptr(), Arc::as_ptr(peer));
        known.iter().find(|(weak, _)| is_it(weak)).map(|(_, name)| name.clone())
    }

    fn remember(&self, peer: &Arc<dyn Peer>, name: &str) {
        if self.known(peer).is_none() {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|(weak, _)| weak.strong_count() > 0);
            known.push((Arc::downgrade(peer), name.to_owned()));
        }
    }

    /// Asks again the next time.
    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn asked_for_name(peer: &dyn Peer, limits: &ReadContext, gives_up: bool) -> Result<Option<String>> {
    let call = Call::Rounds { left: None, asked: Opaque(to_bytes(&Asked::Name)?) };
    let reply = match gives_up {
        true => peer.call_or_give_up(&call, Some(limits))?,
        false => peer.call(&call, Some(limits))?,
    };
    let Reply::Rounds(told) = reply else { return Ok(None) };
    match from_bytes(&told.0)? {
        Told::Name(name) => Ok(Some(name)),
        _ => Ok(None),
    }
}

/// A node with its part.
pub struct Member {
    pub name: String,
    pub peer: Arc<dyn Peer>,
}

/// What the client does between two rounds. It learns to the end of which round all parts have come, and what each has kept since the round before.
/// It may name a checkpoint that is to be made.
pub type Next<'a> = dyn FnMut(u64, Vec<Option<Kept>>) -> Result<Option<String>> + 'a;

/// The nodes of a job.
pub struct Crew<'a> {
    pub job: u64,
    pub members: Vec<Member>,
    limits: &'a ReadContext,
    /// What the job is, in a word.
    what: &'static str,
    /// The client does not wait for nodes that seem to be frozen.
    gives_up: bool,
    /// Stops what they do.
    stop: CancelToken,
    /// Whether the nodes know that the job has ended.
    has_ended: bool,
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl<'a> Crew<'a> {
    pub fn new(names: &[String], peers: &[Arc<dyn Peer>], limits: &'a ReadContext, what: &'static str) -> Self {
        let members = names.iter().zip(peers).map(|(name, peer)| Member { name: name.clone(), peer: peer.clone() });
        Self {
            job: Uuid::new_v4().as_u64_pair().0,
            members: members.collect(),
            limits,
            what,
            gives_up: false,
            stop: CancelToken::default(),
            has_ended: false,
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// The same for a client that can do the work in another way.
    pub fn gives_up(mut self) -> Self {
        self.gives_up = true;
        self
    }

    /// The messages of the client, and the bytes of these and of the replies.
    pub fn sent(&self) -> (u64, u64) {
        (self.messages.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// What a node tells.
    pub fn ask(&self, member: &Member, limits: &ReadContext, asked: &Asked) -> Result<Told> {
        let told = say_with(&*member.peer, asked, limits, self.gives_up).map_err(|error| named(&member.name, error));
        let (told, sent, received) = told?;
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add((sent + received) as u64, Ordering::Relaxed);
        Ok(told)
    }

    /// Calls `f` for all nodes at the same time. The first that fails stops the others.
    pub fn each<T: Send>(&self, f: impl Fn(usize, &Member, &ReadContext) -> Result<T> + Sync) -> Result<Vec<T>> {
        let (tell, told) = channel();
        let (deadline, timeout, cancel) = (self.limits.deadline, self.limits.timeout, self.stop.clone());
        let limits = ReadContext { deadline, timeout, cancel, ..ReadContext::default() };
        let (mut found, mut failed): (Vec<Option<T>>, _) = (self.members.iter().map(|_| None).collect(), None);
        std::thread::scope(|scope| {
            for (at, member) in self.members.iter().enumerate() {
                let (tell, f, limits) = (tell.clone(), &f, &limits);
                scope.spawn(move || {
                    let _ = tell.send((at, f(at, member, limits))); // the other end waits for all
                });
            }
            drop(tell);
            loop {
                match told.recv_timeout(LOOK) {
                    Ok((at, Ok(one))) => found[at] = Some(one),
                    Ok((_, Err(error))) => failed = failed.take().or(Some(error)),
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if failed.is_none() {
                    failed = self.limits.check().err().map(AnalyticsError::from);
                }
                if failed.is_some() {
                    self.stop.cancel();
                }
            }
        });
        if failed.is_some() {
            self.limits.check()?; // who stops or is late hears that, and not how nodes end
        }
        let what = self.what;
        match failed {
            Some(AnalyticsError::Graph(GraphError::Stopped)) => {
                Err(GraphError::Unavailable(format!("a node has ended its part of the {what}")).into())
            }
            Some(error) => Err(error),
            None => found.into_iter().collect::<Option<_>>().ok_or_else(|| AnalyticsError::Panicked("a call".into())),
        }
    }

    /// Lets all parts go on from round to round, until they have ended. `told` is what they said when they began.
    pub fn rounds(&self, mut told: Vec<Told>, next: &mut Next<'_>) -> Result<Vec<Told>> {
        for round in 0.. {
            if !told.iter().any(|told| matches!(told, Told::Come { .. })) {
                break;
            }
            let (mut sum, mut kept) = (Report::default(), Vec::new());
            for one in told {
                match one {
                    Told::Come { round: come, report, kept: of_one } if come == round => {
                        sum = sum.and(Report::from(report));
                        kept.push(of_one);
                    }
                    _ => return Err(self.out_of_step()),
                }
            }
            let go = Asked::Go { job: self.job, round, report: Summed::from(sum), keep: next(round, kept)? };
            told = self.each(|_, member, limits| self.ask(member, limits, &go))?;
        }
        Ok(told)
    }

    /// The nodes need not hear that the job has ended.
    pub fn has_ended(&mut self) {
        self.has_ended = true;
    }

    pub fn out_of_step(&self) -> AnalyticsError {
        let what = self.what;
        GraphError::Unavailable(format!("the nodes are not in the same round of the {what}")).into()
    }
}

/// Tells the nodes that nobody needs the job any more.
impl Drop for Crew<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        self.stop.cancel();
        let deadline = Some(Instant::now() + ENDING);
        let limits = ReadContext { deadline, timeout: Some(ENDING), ..ReadContext::default() };
        let (job, limits) = (self.job, &limits);
        std::thread::scope(|scope| {
            for member in &self.members {
                scope.spawn(move || {
                    if let Err(error) = say(&*member.peer, &Asked::End { job }, limits) {
                        tracing::debug!(node = member.name, %error, "a node has not heard that a job has ended");
                    }
                });
            }
        });
    }
}
