//! The client's side of an analysis: it shares the shards among nodes, and keeps them in step.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mangrove_analytics::divided::{Collected, Ended};
use mangrove_analytics::engine::{Report, Sent};
use mangrove_analytics::{AnalyticsError, Result, Stage};
use mangrove_cluster::gateway::{HeldCut, Peer};
use mangrove_cluster::wire::{Call, Opaque, Reply, to_bytes};
use mangrove_graph::{CancelToken, GraphError, Numbering, ReadContext};

use super::between::{named, say};
use super::points::Points;
use super::words::{Asked, Checkpoint, Finished, Kept, NumberRun, PartPlan, Summed, Told};
use crate::backend::{InParts, RanInParts, Restarts};

/// Vertices that are numbered, or whose values are brought, at a time.
const PAGE: u64 = 1 << 20;
/// How often the client looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);
/// How often the client shows how far the work is.
const BETWEEN_SHOWS: Duration = Duration::from_millis(50);
/// How long a node may take to hear that nobody needs a job any more. It learns so from the end of the connection, too.
const ENDING: Duration = Duration::from_secs(1);

/// A node with its part.
struct Member {
    name: String,
    peer: Arc<dyn Peer>,
    runs: Vec<NumberRun>,
}

/// The nodes of an analysis.
struct Crew<'a> {
    job: u64,
    members: Vec<Member>,
    limits: &'a ReadContext,
    /// Stops what they do.
    stop: CancelToken,
}

/// Runs a vertex program on the nodes that keep a cut; `None` if they run none. It goes on after the last checkpoint, if there is one.
///
/// # Errors
/// What a node says has failed. [`GraphError::Unavailable`] if one of them ends. [`GraphError::Corrupt`] if the checkpoint cannot be used.
pub fn run(
    cut: &HeldCut,
    work: &InParts<'_>,
    limits: &ReadContext,
    points: &mut Points,
    show: &mut dyn FnMut(Stage),
) -> Result<Option<RanInParts>> {
    let started = Instant::now();
    let Shared { peers, owners } = shared(cut)?;
    let Some(names) = names(&peers, limits)? else { return Ok(None) };
    let mut runs = vec![Vec::new(); peers.len()];
    for run in numbered(work.numbering, limits)? {
        let owner = owners.get(usize::from(run.shard)).ok_or_else(|| GraphError::corrupt("a vertex in no shard"))?;
        runs[*owner as usize].push(run);
    }
    let members = names.iter().zip(peers).zip(runs);
    let members = members.map(|((name, peer), runs)| Member { name: name.clone(), peer, runs }).collect();
    let (job, stop) = (mangrove_graph::Uuid::new_v4().as_u64_pair().0, CancelToken::default());
    let crew = Crew { job, members, limits, stop };
    show(Stage { name: "reading on the nodes", done: 0, of: 0 });
    let plan = |at: usize, member: &Member| {
        let places = member.runs.iter().flat_map(|run| run.numbers()).filter_map(|at| work.id_order.get(at as usize));
        PartPlan {
            job,
            number: cut.number,
            at: at as u32,
            names: names.clone(),
            owners: owners.clone(),
            vertices: work.numbering.count(),
            runs: member.runs.clone(),
            id_places: Opaque(places.flat_map(|place| place.to_le_bytes()).collect()),
            selection: work.selection.clone(),
            divided: work.divided.clone(),
            threads: work.threads as u64,
            memory_bytes: work.memory_bytes,
            from: points.last().map(|last| of_part(last, &owners, at)),
        }
    };
    let told = crew.each(|at, member, limits| crew.ask(member, limits, &Asked::Begin(Box::new(plan(at, member)))))?;
    let reading = started.elapsed();
    let ended = crew.steps(told, points, show)?;
    let all = Mutex::new(Collected::new(work.divided, work.numbering.count() as usize));
    crew.each(|_, member, limits| crew.values(member, limits, &all))?;
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Some(RanInParts { all, ended, reading, restarts: Restarts::default() }))
}

/// What a part needs of a checkpoint.
fn of_part(checkpoint: &Checkpoint, owners: &[u32], at: usize) -> Checkpoint {
    let is_own = |shard: u16| owners.get(usize::from(shard)) == Some(&(at as u32));
    let shards = checkpoint.shards.iter().filter(|kept| is_own(kept.shard)).cloned().collect();
    Checkpoint { name: checkpoint.name.clone(), shards, ..*checkpoint }
}

/// How a graph is shared among nodes.
struct Shared {
    /// The nodes that get a part.
    peers: Vec<Arc<dyn Peer>>,
    /// The part of each shard.
    owners: Vec<u32>,
}

/// Shares a graph among the nodes that keep it. Each shard goes to that of its nodes which has the fewest edges so far.
fn shared(cut: &HeldCut) -> Result<Shared, GraphError> {
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
    Ok(Shared { peers, owners: chosen.iter().map(part).collect() })
}

/// The names of nodes; `None` if one of them runs no analyses.
fn names(peers: &[Arc<dyn Peer>], limits: &ReadContext) -> Result<Option<Vec<String>>> {
    let mut names = Vec::new();
    for peer in peers {
        let asked = Opaque(to_bytes(&Asked::Name)?);
        let Reply::Analyzed(told) = peer.call(&Call::Analyze { left: None, asked }, Some(limits))? else { return Ok(None) };
        let Told::Name(name) = mangrove_cluster::wire::from_bytes(&told.0)? else { return Ok(None) };
        names.push(name);
    }
    Ok(Some(names))
}

/// The numbers of vertices by label and shard, in order.
fn numbered(numbering: &Numbering, limits: &ReadContext) -> Result<Vec<NumberRun>, GraphError> {
    let (mut runs, mut first): (Vec<NumberRun>, u64) = (Vec::new(), 0);
    while first < numbering.count() {
        limits.check()?;
        let end = numbering.count().min(first + PAGE);
        for (vertex, number) in numbering.slice(first..end).into_iter().zip(first as u32..) {
            let (label, shard) = (vertex.label().0, vertex.shard());
            match runs.last_mut() {
                Some(last) if (last.label, last.shard) == (label, shard) => last.count += 1,
                _ => runs.push(NumberRun { label, shard, first: number, count: 1 }),
            }
        }
        first = end;
    }
    Ok(runs)
}

impl Crew<'_> {
    /// What a node tells.
    fn ask(&self, member: &Member, limits: &ReadContext, asked: &Asked) -> Result<Told> {
        let told = say(&*member.peer, asked, limits).map_err(|error| named(&member.name, error))?;
        Ok(told.0)
    }

    /// Calls `f` for all nodes at the same time. The first that fails stops the others.
    fn each<T: Send>(&self, f: impl Fn(usize, &Member, &ReadContext) -> Result<T> + Sync) -> Result<Vec<T>> {
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
        match failed {
            Some(AnalyticsError::Graph(GraphError::Stopped)) => {
                Err(GraphError::Unavailable("a node has ended its part of the analysis".into()).into())
            }
            Some(error) => Err(error),
            None => found.into_iter().collect::<Option<_>>().ok_or_else(|| AnalyticsError::Panicked("a call".into())),
        }
    }

    /// Lets all parts go on from round to round, until they have ended. From time to time, they keep their values.
    fn steps(&self, mut told: Vec<Told>, points: &mut Points, show: &mut dyn FnMut(Stage)) -> Result<Ended> {
        let mut shown: Option<Instant> = None;
        for round in 0.. {
            if shown.is_none_or(|shown| shown.elapsed() >= BETWEEN_SHOWS) {
                show(Stage { name: "steps on the nodes", done: round, of: 0 });
                shown = Some(Instant::now());
            }
            if told.iter().all(|told| matches!(told, Told::Done(_))) {
                break;
            }
            let (mut sum, mut kept) = (Report::default(), Vec::new());
            for one in told {
                match one {
                    Told::Come { round: come, report, kept: of_one } if come == round => {
                        sum = sum.and(Report::from(report));
                        kept.push(of_one);
                    }
                    _ => return Err(out_of_step()),
                }
            }
            if kept.iter().any(Option::is_some) {
                // All parts have kept their values after the same step.
                let kept: Option<Vec<Kept>> = kept.into_iter().collect();
                points.take(kept.ok_or_else(out_of_step)?.into_iter());
                points.tidy(self.members.iter().map(|member| &*member.peer));
            }
            let go = Asked::Go { job: self.job, round, report: Summed::from(sum), keep: points.due() };
            told = self.each(|_, member, limits| self.ask(member, limits, &go))?;
        }
        let finished = told.into_iter().map(|told| match told {
            Told::Done(finished) => Ok(finished),
            _ => Err(out_of_step()),
        });
        ended(&finished.collect::<Result<Vec<_>>>()?)
    }

    /// Brings the values of a node.
    fn values(&self, member: &Member, limits: &ReadContext, all: &Mutex<Collected>) -> Result<()> {
        let numbers: Vec<u32> = member.runs.iter().flat_map(|run| run.numbers()).collect();
        for (page, numbers) in numbers.chunks(PAGE as usize).enumerate() {
            let asked = Asked::Values { job: self.job, first: page as u64 * PAGE, count: numbers.len() as u64 };
            let Told::Values(bytes) = self.ask(member, limits, &asked)? else { return Err(out_of_step()) };
            all.lock().unwrap_or_else(PoisonError::into_inner).put_bytes(numbers, &bytes.0)?;
        }
        Ok(())
    }
}

/// Tells the nodes that nobody needs the job any more.
impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.stop.cancel();
        let deadline = Some(Instant::now() + ENDING);
        let limits = ReadContext { deadline, timeout: Some(ENDING), ..ReadContext::default() };
        let (job, limits) = (self.job, &limits);
        std::thread::scope(|scope| {
            for member in &self.members {
                scope.spawn(move || {
                    if let Err(error) = say(&*member.peer, &Asked::End { job }, limits) {
                        tracing::debug!(node = member.name, %error, "a node has not heard that an analysis has ended");
                    }
                });
            }
        });
    }
}

/// What all parts came to.
fn ended(parts: &[Finished]) -> Result<Ended> {
    let Some(first) = parts.first() else { return Err(out_of_step()) };
    let came_to = |part: &Finished| (part.steps, part.totals.map(f64::to_bits));
    if parts.iter().any(|part| came_to(part) != came_to(first)) {
        return Err(out_of_step());
    }
    let sum = |of: fn(&Finished) -> u64| parts.iter().map(of).sum();
    let sent = Sent {
        values: sum(|part| part.values_sent),
        bytes: sum(|part| part.bytes_sent),
        frames: sum(|part| part.frames_sent),
    };
    Ok(Ended { steps: first.steps, totals: first.totals, sent })
}

fn out_of_step() -> AnalyticsError {
    GraphError::Unavailable("the nodes are not in the same round of an analysis".into()).into()
}
