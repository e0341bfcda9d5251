//! Who is connected to a node, and what it holds there. All of that ends with the connection.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::{CancelToken, GraphError, ReadContext, Result};

use super::Node;
use super::host::Host;
use super::own::Ran;
use super::role::Outcome;
use super::turns::Ticket;
use crate::log::{PartAt, Reached, RequestId, Section, TRANSACTION_BYTES_MAX, Transaction};
use crate::section::version_of;
use crate::wire::{Ask, Call, HeldOf, NextLocals, Opaque, Reply, answer};

/// How long a node tries to become the writer before it says who is.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a node waits for its shards to come to a number.
const WAITING: Duration = Duration::from_secs(1);
/// So many turns that ended before they began are remembered.
const ENDED_MAX: usize = 1_000;
/// A client may leave so many queries without a question for their outcome.
const OUTCOMES_MAX: usize = 1_000;
/// No query runs longer.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// A place in the queue, or the turn.
#[derive(Clone)]
struct Turn {
    ticket: Arc<Ticket>,
    /// The generation of the role in which its transaction is computed, once it asked for what was committed.
    generation: Option<u64>,
    /// The parts of its transaction that are in the log, by shard.
    parts: Vec<(u16, PartAt)>,
}

/// A connection to a node.
pub struct Session {
    node: Arc<Node>,
    /// Who is at the other end, for those who wait for it.
    who: String,
    /// No other session of this process has it.
    number: u64,
    /// Whether the client has said something about work in rounds.
    has_rounds: AtomicBool,
    held: Mutex<HashMap<(u16, u64), u32>>,
    turns: Mutex<HashMap<u64, Turn>>,
    /// Turns that were given back before they were asked for: messages of one client may overtake each other.
    ended: Mutex<HashSet<u64>>,
    /// What becomes of the queries that have run for this client.
    outcomes: Mutex<HashMap<RequestId, Receiver<Outcome>>>,
}

impl Session {
    pub fn new(node: Arc<Node>, who: String) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let (number, has_rounds) = (LAST.fetch_add(1, Ordering::Relaxed), AtomicBool::new(false));
        let (held, turns, ended, outcomes) = (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        Self { node, who, number, has_rounds, held, turns, ended, outcomes }
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<u64, Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outcomes(&self) -> MutexGuard<'_, HashMap<RequestId, Receiver<Outcome>>> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<(u16, u64), u32>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a call. `cancel` stops it.
    pub fn serve(&self, call: Call, cancel: CancelToken) -> Result<Reply> {
        self.serve_for(call, ReadContext { cancel, ..ReadContext::default() })
    }

    /// The same for somebody whose request to stop, and whose trace, are `asker`'s.
    pub fn serve_for(&self, call: Call, asker: ReadContext) -> Result<Reply> {
        let cancel = &asker.cancel;
        if self.node.tail.is_stopped() {
            if let Call::Run { .. } = call {
                return Ok(Reply::NotRun); // an error might mean that it was run
            }
            return Err(GraphError::Unavailable(format!("{} has ended", self.node.name)));
        }
        match call {
            Call::Hello => {
                let (graph, members, writer) = self.node.role.graph(Duration::ZERO)?;
                Ok(Reply::Hello { graph, members, writer })
            }
            Call::Applied { shards, from, behind } => Ok(Reply::Applied(self.applied(&shards, from, behind))),
            Call::Hold { number, shards } => {
                let held = shards.iter().map(|(shard, version)| self.hold(*shard, number, *version, cancel));
                let held: Vec<_> = held.map(|held| held.map_err(|error| error.to_string())).collect();
                if cancel.is_cancelled() {
                    // Nobody waits for it, and so nobody would give it back.
                    let kept = shards.iter().zip(&held).filter(|(_, held)| held.is_ok());
                    kept.for_each(|((shard, _), _)| self.release(*shard, number));
                    return Err(GraphError::Cancelled);
                }
                Ok(Reply::Held(held))
            }
            Call::Release { number, shards } => {
                shards.into_iter().for_each(|shard| self.release(shard, number));
                Ok(Reply::Released)
            }
            Call::Ask { shard, number, left, ask } => self.ask(shard, number, ask, within(left, asker)),
            Call::Run { request, left, query } => self.run(request, &query, within(left, asker)),
            Call::Rounds { left, asked } => self.rounds(&asked.0, within(left, asker)),
            Call::Fragment { left, number, asked } => self.fragment(number, &asked.0, &within(left, asker)),
            Call::Outcome(request) => self.outcome(request),
            Call::Begin { turn, patience } => Ok(self.begin(turn, patience)),
            Call::Since { turn, number, own } => {
                self.must_have(turn)?;
                let (generation, since) = self.node.role.since(number, own)?;
                self.turns().entry(turn).and_modify(|turn| turn.generation = Some(generation));
                Ok(Reply::Since(since))
            }
            Call::Part { turn, section } => self.part(turn, section),
            Call::Base { turn } => {
                self.must_have(turn)?;
                self.node.role.log_base().map(Reply::Base)
            }
            Call::CopyShard { shard, base } => {
                self.node.copy_shard(shard, base, &|| cancel.is_cancelled()).map(Reply::ShardCopied)
            }
            Call::CopyLog { base, shards } => self.node.copy_log(base, shards).map(Reply::LogCopied),
            Call::CutLog => self.node.cut_log(&|| cancel.is_cancelled()).map(Reply::LogCut),
            Call::Commit { turn, request, sections } => self.commit(turn, request, sections),
            Call::Rollback { turn } => {
                if self.turns().remove(&turn).is_none() {
                    let mut ended = self.ended();
                    if ended.len() >= ENDED_MAX {
                        ended.clear();
                    }
                    ended.insert(turn);
                }
                Ok(Reply::RolledBack)
            }
            Call::Check => self.node.check().map(Reply::Checked),
            Call::WasMade(request) => {
                self.outcomes().remove(&request);
                match self.node.role.become_writer(PATIENCE) {
                    Ok(()) => self.node.role.settle(request).map(Reply::Made),
                    Err(writer) => Ok(Reply::Elsewhere { writer }),
                }
            }
            Call::Status => self.node.status().map(Reply::Status),
            Call::Forget { name } => self.node.forget(&name).map(|()| Reply::Forgotten),
            Call::TakeShard { shard } => self.node.take_shard(shard, &|| cancel.is_cancelled()).map(|()| Reply::ShardTaken),
            Call::DropShard { shard } => {
                self.node.drop_shard(shard, &|| cancel.is_cancelled()).map(|()| Reply::ShardDropped)
            }
            Call::About => Ok(Reply::About(self.node.about())),
            Call::Allow { version } => self.node.allow(version, &|| cancel.is_cancelled()).map(|()| Reply::Allowed),
            Call::Stop => {
                self.node.ask_to_stop();
                Ok(Reply::Stopping)
            }
            Call::LakeMap | Call::Meet { .. } | Call::AskLake { .. } | Call::LakeFragment { .. } => {
                Err(GraphError::Invalid(format!("{} has shards of a graph, and no lake", self.node.name)))
            }
        }
    }

    /// Answers a call on a thread that must not wait: one that carries messages. It takes so long at most, and waits for no other thread that
    /// carries any. `None` if the call needs another thread.
    pub fn serve_briefly(&self, call: &Call, longest: Duration) -> Option<Reply> {
        if self.node.tail.is_stopped() {
            return None;
        }
        let asker = ReadContext::default();
        let brief = |left: &Option<Duration>| Some(left.map_or(longest, |left| left.min(longest)));
        match call {
            Call::Ask { shard, number, left, ask } if ask.is_brief() => {
                self.ask(*shard, *number, ask.clone(), within(brief(left), asker)).ok()
            }
            Call::Fragment { left, number, asked } => {
                let limits = within(brief(left), asker);
                let told = self.node.runner()?.fragment_alone(*number, &asked.0, &limits)?;
                Some(Reply::Fragment(Opaque(told)))
            }
            _ => None,
        }
    }

    fn applied(&self, shards: &[u16], from: u64, behind: Option<u64>) -> Vec<Result<Reached, String>> {
        let until = Instant::now() + WAITING;
        let hosts: Vec<_> = shards.iter().map(|shard| self.node.hosts.get_for_new(*shard)).collect();
        if let Some(number) = behind {
            hosts.iter().flatten().for_each(|host| host.spare(number));
        }
        let reached = |host: Result<Arc<Host>>| host.and_then(|host| host.reached(from, until));
        let reached: Vec<_> = hosts.into_iter().map(|host| reached(host).map_err(|error| error.to_string())).collect();
        if reached.iter().flatten().any(|reached| reached.number < from) {
            self.node.role.want_cut();
        }
        reached
    }

    fn hold(&self, shard: u16, number: u64, version: Option<u64>, cancel: &CancelToken) -> Result<HeldOf> {
        let pool = self.node.hosts.get_for_new(shard)?.hold(number)?;
        *self.held().entry((shard, number)).or_default() += 1; // from here on, the end of the session gives it back
        let limits = ReadContext { cancel: cancel.clone(), ..ReadContext::default() };
        let found = pool.with(Some(limits), |store| Ok((store.statistics()?, NextLocals::of_store(store)?))).flatten();
        let (statistics, next) = found.inspect_err(|_| self.release(shard, number))?;
        let schema = (version != Some(pool.version())).then(|| pool.schema().clone());
        Ok(HeldOf { version: pool.version(), schema, statistics, next })
    }

    fn release(&self, shard: u16, number: u64) {
        let mut held = self.held();
        if let Some(count) = held.get_mut(&(shard, number)) {
            *count -= 1;
            if *count == 0 {
                held.remove(&(shard, number));
            }
            if let Ok(host) = self.node.hosts.get(shard) {
                host.release(number);
            }
        }
    }

    fn ask(&self, shard: u16, number: u64, ask: Ask, limits: ReadContext) -> Result<Reply> {
        let pool = self.node.hosts.get(shard)?.at(number, limits.deadline)?;
        pool.with(Some(limits), |store| answer(store, ask)).flatten().map(Reply::Answer)
    }

    fn run(&self, request: RequestId, query: &[u8], limits: ReadContext) -> Result<Reply> {
        let Some(runner) = self.node.runner().filter(|_| self.outcomes().len() < OUTCOMES_MAX) else {
            return Ok(Reply::NotRun);
        };
        if let Err(writer) = self.node.role.become_writer(PATIENCE) {
            return Ok(Reply::Elsewhere { writer });
        }
        let Some(Ran { given, outcome }) = runner.run(query, request, &self.who, limits) else { return Ok(Reply::NotRun) };
        let commits = outcome.is_some();
        self.outcomes().extend(outcome.map(|outcome| (request, outcome)));
        Ok(Reply::Ran { given, commits })
    }

    fn rounds(&self, asked: &[u8], limits: ReadContext) -> Result<Reply> {
        let Some(runner) = self.node.runner() else { return Ok(Reply::NotRun) };
        self.has_rounds.store(true, Ordering::Relaxed);
        match runner.rounds(asked, self.number, limits) {
            Some(told) => Ok(Reply::Rounds(Opaque(told?))),
            None => Ok(Reply::NotRun),
        }
    }

    fn fragment(&self, number: u64, asked: &[u8], limits: &ReadContext) -> Result<Reply> {
        let Some(runner) = self.node.runner() else { return Ok(Reply::NotRun) };
        match runner.fragment(number, asked, limits) {
            Some(told) => Ok(Reply::Fragment(Opaque(told?))),
            None => Ok(Reply::NotRun),
        }
    }

    fn outcome(&self, request: RequestId) -> Result<Reply> {
        let unknown = || GraphError::Unavailable("nothing is known of this transaction".into());
        let outcome = self.outcomes().remove(&request).ok_or_else(unknown)?;
        match self.node.role.waited(&outcome)? {
            Ok(number) => Ok(Reply::Committed(number)),
            Err(writer) => Ok(Reply::Elsewhere { writer }),
        }
    }

    fn begin(&self, turn: u64, patience: Duration) -> Reply {
        let patience = patience.min(PATIENCE);
        let until = Instant::now() + patience;
        if let Err(writer) = self.node.role.become_writer(PATIENCE) {
            self.turns().remove(&turn);
            return Reply::Elsewhere { writer };
        }
        let queued = || Turn { ticket: Arc::new(self.node.turns.queue()), generation: None, parts: Vec::new() };
        let ticket = {
            let mut turns = self.turns();
            if self.ended().remove(&turn) {
                return Reply::RolledBack;
            }
            turns.entry(turn).or_insert_with(queued).ticket.clone()
        };
        match ticket.wait(until.saturating_duration_since(Instant::now()), &self.who) {
            Ok(()) => Reply::Turn,
            Err(holder) => Reply::Busy { holder: holder.who, held: holder.held },
        }
    }

    fn must_have(&self, turn: u64) -> Result<Turn> {
        let turn = self.turns().get(&turn).cloned();
        let has_it = |turn: &Turn| turn.ticket.wait(Duration::ZERO, &self.who).is_ok();
        turn.filter(has_it).ok_or_else(|| GraphError::Unavailable("the turn to write has ended".into()))
    }

    fn part(&self, turn: u64, mut section: Section) -> Result<Reply> {
        self.must_have(turn)?;
        let shard = section.shard;
        self.can_be_logged(std::slice::from_mut(&mut section), &[])?;
        let at = self.node.role.log_part(section)?;
        self.turns().entry(turn).and_modify(|turn| turn.parts.push((shard, at)));
        Ok(Reply::Part(at))
    }

    fn commit(&self, turn: u64, request: RequestId, mut sections: Vec<Section>) -> Result<Reply> {
        let held = self.must_have(turn)?; // nobody else begins to write before this is submitted
        self.can_be_logged(&mut sections, &held.parts)?;
        let without_a_look = || GraphError::Invalid("a commit without a look at what was committed".into());
        let generation = held.generation.ok_or_else(without_a_look)?;
        let (outcome, _) = self.node.role.submit(Transaction { request, sections }, generation);
        self.turns().remove(&turn); // what comes next sees this one before it is in the log
        drop(held);
        match self.node.role.waited(&outcome)? {
            Ok(number) => Ok(Reply::Committed(number)),
            Err(writer) => Ok(Reply::Elsewhere { writer }),
        }
    }

    /// Fails if a shard could not read its section, or if there is no such shard, or if a part was not logged in this turn. Notes which version
    /// of records can have each, and fails if the graph does not allow it.
    fn can_be_logged(&self, sections: &mut [Section], parts: &[(u16, PartAt)]) -> Result<()> {
        let bytes: usize = sections.iter().map(|section| section.changes.len()).sum();
        if bytes > TRANSACTION_BYTES_MAX {
            let what = "a transaction is too large for the log".into();
            return Err(GraphError::Limit { what, limit: TRANSACTION_BYTES_MAX as u64 });
        }
        let shards: BTreeSet<u16> = sections.iter().map(|section| section.shard).collect();
        let are_there = shards.iter().all(|shard| *shard < self.node.graph().placement.shards);
        let has_strange = |section: &Section| section.earlier.iter().any(|part| !parts.contains(&(section.shard, *part)));
        let wrong = || GraphError::Invalid("a commit that no shard could read: use the version of the nodes".into());
        if shards.len() < sections.len() || !are_there || sections.iter().any(has_strange) {
            return Err(wrong());
        }
        for section in sections {
            section.version = version_of(&section.changes).map_err(|_| wrong())?;
            self.node.role.must_allow(section.version)?;
        }
        Ok(())
    }
}

/// The limits of who waits so long.
fn within(left: Option<Duration>, asker: ReadContext) -> ReadContext {
    let timeout = left.map(|left| left.min(LONGEST));
    ReadContext { deadline: timeout.map(|left| Instant::now() + left), timeout, ..asker }
}

impl Drop for Session {
    fn drop(&mut self) {
        let held = std::mem::take(&mut *self.held());
        for ((shard, number), count) in held {
            if let Ok(host) = self.node.hosts.get(shard) {
                (0..count).for_each(|_| host.release(number));
            }
        }
        if self.has_rounds.load(Ordering::Relaxed)
            && let Some(runner) = self.node.runner()
        {
            runner.has_gone(self.number);
        }
    }
}
