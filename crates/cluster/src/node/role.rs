//! The writer's role of this process, driven by the log and by who wants to commit.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

use super::counts::Counts;
use super::tail::{Behind, Entry, Tail};
use crate::log::{
    Base, Event, GraphRecord, Log, Member, Members, Output, PART_BYTES, PartAt, Record, RequestId, Section, Standing,
    Transaction, WriterCore, WriterPace,
};
use crate::section::END_LABELS;
use crate::wire::{NodeStatus, Since};

/// The version of this Mangrove.
pub const SOFTWARE: &str = env!("CARGO_PKG_VERSION");

/// How often the writer looks at the clock.
const TICK: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_millis(100);
/// So much comes in before the writer looks at the clock again.
const BATCH: usize = 1_000;
/// A writer that has heard nothing of the log for so long lets nobody begin to write, and does not know what became of a commit: another one may have
/// the role soon, and whoever waits here must ask it.
const QUIET: Duration = Duration::from_secs(3);
/// How long the log may take to show a part of a transaction.
const LOGGING: Duration = Duration::from_secs(30);
/// How long a process waits for its end to be known.
const LEAVING: Duration = Duration::from_secs(1);
/// Commits stay known until they take so many bytes.
const HISTORY_BYTES: usize = 64 << 20;
/// Requests of so many transactions are recognised when they come again.
const REMEMBERED: usize = 1_000_000;
/// A shard may compress what it has, whenever its log has brought so many bytes.
const SEALED_BYTES: usize = 64 << 20;

enum Input {
    Read(Entry),
    Ended,
    Unread,
    /// The last number is the generation of the role in which the transaction was computed.
    Submit(Transaction, SyncSender<Outcome>, u64),
    /// Writes the first changes of a large transaction to the log.
    Part(Section, SyncSender<PartAt>),
    /// Writes to the log what its records have said.
    Base(SyncSender<PartAt>),
    Want,
    Leave,
}

/// What became of a transaction: the number of its commit, or who has the role instead.
pub type Outcome = Result<u64, Option<u64>>;

/// What the log has said so far.
#[derive(Default)]
struct Known {
    standing: Standing,
    graph: Option<GraphRecord>,
    members: Members,
    /// The offset that is read next.
    next: u64,
    /// The last commits: their numbers, and what they do.
    commits: VecDeque<(u64, Vec<Section>)>,
    bytes: usize,
    /// What was submitted here and is not in the log yet.
    pending: VecDeque<(RequestId, Vec<Section>)>,
    made: HashMap<RequestId, u64>,
    /// The same in their order. The oldest are forgotten.
    order: VecDeque<RequestId>,
    /// What was said not to be made, and so must not be.
    barred: HashSet<RequestId>,
    is_writer: bool,
    /// When the log was read last.
    heard: Option<Instant>,
    /// How many transactions were submitted here.
    submitted: u64,
    /// How often the role was lost. What was computed on transactions that were refused then must not be made.
    generation: u64,
    /// Whether the writer of the log is taken for dead.
    is_silent: bool,
    /// The bytes that each shard got since it could compress what it had.
    unsealed: BTreeMap<u16, usize>,
}

impl Known {
    fn read(&mut self, record: &Record) {
        if !self.standing.take(record) {
            return;
        }
        match record {
            Record::Graph(graph) => self.graph = Some(graph.clone()),
            Record::Base(base) if self.graph.is_none() => {
                self.graph = Some(base.graph.clone());
                self.members = Members::of(base);
            }
            Record::Member(_) | Record::Dropped { .. } | Record::Allow { .. } => self.members.take(record),
            Record::Commit(commit) => {
                self.made.extend(commit.requests.iter().map(|request| (*request, commit.number)));
                self.order.extend(&commit.requests);
                while self.order.len() > REMEMBERED {
                    if let Some(oldest) = self.order.pop_front() {
                        self.made.remove(&oldest);
                    }
                }
                self.pending.retain(|(request, _)| !commit.requests.contains(request));
                self.bytes += bytes_of(&commit.sections);
                self.commits.push_back((commit.number, commit.sections.clone()));
                while self.bytes > HISTORY_BYTES && self.commits.len() > 1 {
                    let gone = self.commits.pop_front().map_or(0, |(_, sections)| bytes_of(&sections));
                    self.bytes -= gone;
                }
            }
            _ => {}
        }
    }

    /// What the records so far say, for those who begin to read after them; `None` if another process may write.
    fn base(&self, process: u64, shift: u64) -> Option<Base> {
        if !self.is_writer || self.standing.writer != process {
            return None;
        }
        let (graph, members) = (self.graph.clone()?, self.members.iter().cloned().collect());
        let (id, allowed) = (uuid::Uuid::new_v4().as_u128(), self.members.allowed_by_the_log());
        Some(Base { id, graph, standing: self.standing, members, shift, allowed })
    }

    /// Whether the records so far say just that.
    fn says(&self, base: &Base) -> bool {
        self.standing == base.standing && self.members == Members::of(base)
    }

    /// Whether it has heard nothing of the log for so long.
    fn has_not_heard(&self, long: Duration) -> bool {
        self.heard.is_none_or(|heard| heard.elapsed() > long)
    }

    /// Lets shards compress what they have if they got much since they could. Returns whether one did.
    fn end_labels(&mut self, transaction: &mut Transaction) -> bool {
        let mut have_ended = false;
        for section in &mut transaction.sections {
            let bytes = self.unsealed.entry(section.shard).or_default();
            *bytes += section.changes.len() + section.earlier.len() * PART_BYTES;
            if *bytes >= SEALED_BYTES {
                *bytes = 0;
                section.changes = [&section.changes, &END_LABELS[..]].concat().into();
                have_ended = true;
            }
        }
        have_ended
    }

    /// What was done after a number, in order. Of a transaction with parts, this is not known.
    fn since(&self, number: u64) -> Option<Since> {
        let is_known = number >= self.standing.number || self.commits.front().is_some_and(|(first, _)| *first <= number + 1);
        let later = self.commits.iter().filter(|(commit, _)| *commit > number).flat_map(|(_, sections)| sections);
        let all = later.chain(self.pending.iter().flat_map(|(_, sections)| sections));
        let all: Option<Vec<Section>> =
            all.map(|section| Some(section.clone()).filter(|section| section.earlier.is_empty())).collect();
        let sections = all.filter(|_| is_known)?;
        Some(Since { sections, number: self.standing.number, is_pending: !self.pending.is_empty() })
    }
}

fn bytes_of(sections: &[Section]) -> usize {
    sections.iter().map(|section| section.changes.len()).sum()
}

/// The parts and bases that were sent to the log and not read back.
#[derive(Default)]
struct Sent(HashMap<u128, SyncSender<PartAt>>);

impl Sent {
    /// Sends a part or a base, or looks whether one was read. Gives all other inputs back.
    fn take(&mut self, input: Input, known: &Known, process: u64, log: &dyn Log) -> Option<Input> {
        match input {
            Input::Part(Section { shard, changes, version, .. }, reply) => {
                let id = uuid::Uuid::new_v4().as_u128();
                self.send(id, &Record::Part { id, shard, changes, version }, reply, log);
                None
            }
            Input::Base(reply) => {
                if let Some(base) = known.base(process, log.shift()) {
                    self.send(base.id, &Record::Base(base), reply, log);
                }
                None
            }
            Input::Read(entry) => {
                let found = match &*entry.record {
                    Record::Part { id, .. } => self.0.remove(id),
                    // Something else may have come between.
                    Record::Base(base) => self.0.remove(&base.id).filter(|_| known.says(base)),
                    _ => None,
                };
                if let Some(reply) = found {
                    let _ = reply.send(PartAt { offset: entry.offset, sum: entry.sum }); // whoever asked may be gone
                }
                Some(Input::Read(entry))
            }
            other => Some(other),
        }
    }

    fn send(&mut self, id: u128, record: &Record, reply: SyncSender<PartAt>, log: &dyn Log) {
        match record.to_bytes().and_then(|bytes| log.append(bytes)) {
            Ok(()) => drop(self.0.insert(id, reply)),
            // Whoever asked hears that the channel has ended.
            Err(error) => tracing::warn!(%error, "the log does not take a record"),
        }
    }
}

/// The role, and what is known of the log.
pub struct Role {
    inbox: Sender<Input>,
    known: Mutex<Known>,
    changed: Condvar,
    process: u64,
    counts: Arc<Counts>,
}

/// What the thread of the role needs.
pub struct RoleInbox(Receiver<Input>);

impl Role {
    pub fn new(process: u64, counts: Arc<Counts>) -> (Self, RoleInbox) {
        let (inbox, receiver) = channel();
        (Self { inbox, known: Mutex::default(), changed: Condvar::new(), process, counts }, RoleInbox(receiver))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes what the log says on to the role, until the log stops.
    pub fn listen(&self, tail: &Tail) {
        let (mut next, mut behind) = (tail.first(), Behind::default());
        while !tail.is_stopped() {
            let Ok(batch) = tail.next(next, PAUSE, &mut behind) else {
                let _ = self.inbox.send(Input::Unread); // if the role has ended, so does this, soon
                std::thread::sleep(PAUSE);
                continue;
            };
            next = batch.records.last().map_or(next, |last| last.offset + 1);
            let then = match batch.end {
                Some(_) => Some(Input::Ended),
                None if batch.records.is_empty() => Some(Input::Unread),
                None => None,
            };
            let mut inputs = batch.records.into_iter().map(Input::Read).chain(then);
            let sent = inputs.try_for_each(|input| self.inbox.send(input));
            if sent.is_err() {
                return;
            }
        }
    }

    /// Plays the role until the log stops.
    pub fn run(&self, inbox: RoleInbox, tail: &Tail, log: &dyn Log, pace: WriterPace) {
        let started = Instant::now();
        let now = || started.elapsed().as_millis() as u64;
        let mut core = WriterCore::new(self.process, pace, now());
        let mut waiting: HashMap<RequestId, Vec<SyncSender<Outcome>>> = HashMap::new();
        let mut sent = Sent::default();
        let mut out = Vec::new();
        while !tail.is_stopped() {
            let first = match inbox.0.recv_timeout(TICK) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            core.take(Event::Tick(now()), &mut out);
            for input in first.into_iter().chain(inbox.0.try_iter().take(BATCH)) {
                let was_writer = core.is_writer();
                let Some(input) = sent.take(input, &self.known(), self.process, log) else { continue };
                self.take(input, now(), &mut core, &mut waiting, &mut out);
                if was_writer && !core.is_writer() {
                    let mut known = self.known();
                    (known.is_writer, known.generation) = (false, known.generation + 1);
                    known.pending.clear();
                }
            }
            let (is_writer, is_silent) = (core.is_writer(), core.is_silent());
            for output in out.drain(..) {
                self.give(output, log, &mut waiting);
            }
            let mut known = self.known();
            known.is_silent = is_silent;
            if known.is_writer != is_writer {
                known.is_writer = is_writer;
                tracing::info!(is_writer, term = known.standing.term, "the writer's role");
            }
            drop(known);
            self.changed.notify_all();
        }
    }

    fn take(
        &self,
        input: Input,
        now: u64,
        core: &mut WriterCore,
        waiting: &mut HashMap<RequestId, Vec<SyncSender<Outcome>>>,
        out: &mut Vec<Output>,
    ) {
        match input {
            Input::Read(Entry { record, offset, .. }) => {
                let mut known = self.known();
                (known.heard, known.next) = (Some(Instant::now()), offset + 1);
                known.read(&record);
                drop(known);
                core.take(Event::Read(Record::clone(&record)), out);
            }
            Input::Ended => {
                self.known().heard = Some(Instant::now());
                core.take(Event::Ended(now), out);
            }
            Input::Unread => core.take(Event::Unread, out),
            // What was computed before the role was lost may build on what was refused.
            Input::Submit(_, reply, generation) if !core.is_writer() || generation != self.known().generation => {
                let _ = reply.send(Err(None)); // whoever asked may be gone
            }
            Input::Submit(transaction, reply, _) => {
                waiting.entry(transaction.request).or_default().push(reply);
                core.take(Event::Submit(transaction), out);
            }
            Input::Part(..) | Input::Base(..) => {} // taken before
            Input::Want => core.take(Event::Want, out),
            Input::Leave => core.take(Event::Leave, out),
        }
    }

    fn give(&self, output: Output, log: &dyn Log, waiting: &mut HashMap<RequestId, Vec<SyncSender<Outcome>>>) {
        let (request, outcome) = match output {
            Output::Append(record) => {
                match record.to_bytes().and_then(|bytes| log.append(bytes)) {
                    Ok(()) => self.counts.writes.commits.add(u64::from(matches!(record, Record::Commit(_)))),
                    // What cannot be sent is sent again, as what was lost.
                    Err(error) => tracing::warn!(%error, "the log does not take a record"),
                }
                return;
            }
            Output::Done(request, number) => {
                self.counts.writes.made.add(1);
                (request, Ok(number))
            }
            Output::Refused(request, crate::log::Refusal::NotTheWriter { writer }) => {
                self.counts.writes.refused.add(1);
                self.known().pending.retain(|(pending, _)| *pending != request);
                (request, Err(Some(writer).filter(|writer| *writer != 0)))
            }
        };
        for reply in waiting.remove(&request).into_iter().flatten() {
            let _ = reply.send(outcome); // whoever asked may be gone
        }
    }

    /// Waits until this process has the role, or knows that another has it.
    pub fn become_writer(&self, patience: Duration) -> Result<(), Option<u64>> {
        let until = Instant::now() + patience;
        let mut known = self.known();
        loop {
            if known.is_writer {
                return if known.has_not_heard(QUIET) { Err(None) } else { Ok(()) };
            }
            let _ = self.inbox.send(Input::Want);
            // If that process is gone, whoever asks comes back, and the role is taken once it was silent for long.
            if known.standing.writer != 0 && known.standing.writer != self.process && !known.is_silent {
                return Err(Some(known.standing.writer));
            }
            if Instant::now() >= until {
                return Err(None);
            }
            known = self.changed.wait_timeout(known, TICK * 5).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Gives the role up, if this process has it. Waits a little until all have read so.
    pub fn leave(&self) {
        let until = Instant::now() + LEAVING;
        let mut known = self.known();
        while known.is_writer && Instant::now() < until && self.inbox.send(Input::Leave).is_ok() {
            known = self.changed.wait_timeout(known, TICK * 5).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Submits a transaction, in the turn of who submits. It was computed in a generation of the role. Says also whether just that is on its way: it may
    /// be refused, or shards may do more than it says.
    pub fn submit(&self, mut transaction: Transaction, generation: u64) -> (Receiver<Outcome>, bool) {
        let (reply, outcome) = sync_channel(1);
        let mut known = self.known();
        if known.barred.contains(&transaction.request) {
            let _ = reply.send(Err(Some(self.process))); // nobody waits for it any more
            return (outcome, false);
        }
        let is_new = generation == known.generation && !known.made.contains_key(&transaction.request);
        let is_as_said = !known.end_labels(&mut transaction) && is_new;
        known.submitted += 1;
        if is_new {
            known.pending.push_back((transaction.request, transaction.sections.clone()));
        }
        let _ = self.inbox.send(Input::Submit(transaction, reply, generation)); // if the role has ended, so has the channel of the outcome
        (outcome, is_as_said)
    }

    /// Whether something that was submitted here is not in the log yet.
    pub fn has_pending(&self) -> bool {
        !self.known().pending.is_empty()
    }

    /// The generation of the role, and how many transactions were submitted here, while this process is the writer.
    pub fn submitted(&self) -> Option<(u64, u64)> {
        let known = self.known();
        (known.is_writer && !known.has_not_heard(QUIET)).then_some((known.generation, known.submitted))
    }

    /// Writes the first changes of a large transaction to the log, and waits until they are there.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if that is not known in time. Then the transaction cannot go on.
    pub fn log_part(&self, section: Section) -> Result<PartAt> {
        let (reply, at) = sync_channel(1);
        let _ = self.inbox.send(Input::Part(section, reply)); // if the role has ended, so has the channel
        let unknown = |_| GraphError::Unavailable("the log does not take a part of the transaction".into());
        at.recv_timeout(LOGGING).map_err(unknown)
    }

    /// Writes to the log what its records have said, and gives the offset. The log may begin there one day. Nobody else may have the turn to
    /// write, so that nothing before it waits for what comes after.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if something else came between, or if that is not known in time.
    pub fn log_base(&self) -> Result<PartAt> {
        let unknown = || GraphError::Unavailable("the log has no place to begin at yet: something else came between".into());
        let (mut known, until) = (self.known(), Instant::now() + LOGGING);
        while !known.pending.is_empty() {
            if Instant::now() >= until {
                return Err(unknown());
            }
            known = self.changed.wait_timeout(known, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(known);
        let (reply, at) = sync_channel(1);
        let _ = self.inbox.send(Input::Base(reply)); // if the role has ended, so has the channel
        at.recv_timeout(LOGGING).map_err(|_| unknown())
    }

    /// What was committed after a number, and what is to be, in this generation of the role; `None` if that is not known any more. Whoever asks
    /// knows of the commit `own`.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if this process is not the writer.
    pub fn since(&self, number: u64, own: u64) -> Result<(u64, Option<Since>)> {
        let (mut known, until) = (self.known(), Instant::now() + PAUSE * 20);
        let least = number.max(own);
        // The shards of who asks, and who asks, may have read further than this thread.
        while known.is_writer && known.standing.number < least && Instant::now() < until {
            known = self.changed.wait_timeout(known, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
        match known.is_writer && known.standing.number >= least {
            true => Ok((known.generation, known.since(number))),
            false => Err(GraphError::Unavailable("this node is not the writer any more".into())),
        }
    }

    /// By which commit a transaction was made. If by none, it never will be. Only the writer can tell, and it proves that it is the writer.
    pub fn settle(&self, request: RequestId) -> Result<Option<u64>> {
        let unknown = || GraphError::Unavailable("it is not known yet whether a transaction was made".into());
        let mut known = self.known();
        if let Some(number) = known.made.get(&request) {
            return Ok(Some(*number));
        }
        if known.barred.len() > REMEMBERED {
            known.barred.clear(); // nobody asks for so long
        }
        known.barred.insert(request);
        let generation = known.generation;
        drop(known);
        // A commit that does nothing comes after all that this process, or a writer before it, has sent.
        let proof = Transaction { request: RequestId(uuid::Uuid::new_v4().as_u128()), sections: Vec::new() };
        self.waited(&self.submit(proof, generation).0)?.map_err(|_| unknown())?;
        let mut known = self.known();
        let made = known.made.get(&request).copied();
        if made.is_some() {
            known.barred.remove(&request);
        }
        Ok(made)
    }

    /// Waits for what becomes of a transaction, as long as the log can be read.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if that is not known.
    pub fn waited(&self, outcome: &Receiver<Outcome>) -> Result<Outcome> {
        loop {
            match outcome.recv_timeout(PAUSE) {
                Ok(outcome) => return Ok(outcome),
                Err(RecvTimeoutError::Timeout) if !self.known().has_not_heard(QUIET) => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(GraphError::Unavailable("the log cannot be reached".into()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(GraphError::Unavailable("the node was stopped before it knew of the commit".into()));
                }
            }
        }
    }

    /// How the role is, without the shards.
    pub fn status(&self) -> NodeStatus {
        let known = self.known();
        let Standing { number, term, .. } = known.standing;
        let silent = known.heard.map_or(Duration::MAX, |heard| heard.elapsed());
        NodeStatus { process: self.process, number, term, is_writer: known.is_writer, silent, shards: Vec::new() }
    }

    /// The bytes of the commits in memory.
    pub fn held(&self) -> usize {
        self.known().bytes
    }

    /// Says that somebody waits for a newer cut. If the writer is gone, the next one makes it.
    pub fn want_cut(&self) {
        if self.known().is_silent {
            let _ = self.inbox.send(Input::Want); // if the role has ended, nobody waits here either
        }
    }

    /// Whether it has read all records before an offset.
    pub fn has_read_to(&self, offset: u64) -> bool {
        self.known().next >= offset
    }

    /// What the log says of the node of a name.
    pub fn member(&self, name: &str) -> Option<Member> {
        self.known().members.get(name).cloned()
    }

    /// The version of records that the graph allows.
    pub fn allowed(&self) -> u8 {
        self.known().members.allowed()
    }

    /// Fails if the graph does not allow records of a version: some of its nodes may be older.
    pub fn must_allow(&self, version: u8) -> Result<()> {
        let allowed = self.allowed();
        match version <= allowed {
            true => Ok(()),
            false => Err(GraphError::Invalid(format!(
                "this needs records of version {version} in the log, and the graph allows them up to version {allowed}, for the sake of older \
                 nodes: type `mangrove cluster finalize` once all nodes run Mangrove {SOFTWARE}"
            ))),
        }
    }

    /// Whether the log says that a node other than that has a shard.
    pub fn is_elsewhere(&self, shard: u16, name: &str) -> bool {
        self.known().members.is_elsewhere(shard, name)
    }

    /// Whether another process has taken the name of a node, after `process` had it.
    pub fn is_another(&self, name: &str, process: u64) -> bool {
        self.known().members.get(name).is_some_and(|member| member.process != process)
    }

    /// Waits a little until the log says something of the members. Returns whether it does.
    pub fn wait_until(&self, says: impl Fn(&Members) -> bool) -> bool {
        let until = Instant::now() + PAUSE * 20;
        while !says(&self.known().members) {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(TICK);
        }
        true
    }

    /// The graph, its members and its writer, once the log has said it.
    pub fn graph(&self, patience: Duration) -> Result<(GraphRecord, Vec<Member>, Option<u64>)> {
        let until = Instant::now() + patience;
        let mut known = self.known();
        loop {
            if let Some(graph) = &known.graph {
                let writer = Some(known.standing.writer).filter(|writer| *writer != 0);
                return Ok((graph.clone(), known.members.iter().cloned().collect(), writer));
            }
            if Instant::now() >= until {
                return Err(GraphError::Unavailable("the log has no graph".into()));
            }
            known = self.changed.wait_timeout(known, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::log::{LogReader, MemoryLog};

    /// A log that loses commits when it is told to.
    #[derive(Clone, Default)]
    struct Lossy {
        log: MemoryLog,
        loses: Arc<AtomicBool>,
    }

    impl Log for Lossy {
        fn append(&self, record: Vec<u8>) -> Result<()> {
            let is_commit = matches!(Record::from_bytes(&record)?, Record::Commit(_));
            if is_commit && self.loses.load(Ordering::Relaxed) { Ok(()) } else { self.log.append(record) }
        }

        fn reader(&self, from: u64) -> Result<Box<dyn LogReader>> {
            self.log.reader(from)
        }
    }

    fn transaction(request: u128) -> Transaction {
        Transaction { request: RequestId(request), sections: vec![Section::new(0, vec![1])] }
    }

    /// A transaction that was computed on another one, which the log has lost, must not be made without it.
    #[test]
    fn what_was_computed_before_the_role_was_lost_is_not_made() {
        let log = Lossy::default();
        let (tail, (role, inbox)) = (Tail::new(Arc::new(log.clone()), 0), Role::new(7, Arc::default()));
        let pace = WriterPace { silence: 50, ..WriterPace::default() };
        std::thread::scope(|scope| {
            scope.spawn(|| tail.run());
            scope.spawn(|| role.listen(&tail));
            scope.spawn(|| role.run(inbox, &tail, &log, pace));
            let _ending = Ending(&tail); // whatever fails
            role.become_writer(PAUSE * 50).unwrap();
            log.loses.store(true, Ordering::Relaxed);
            let (generation, since) = role.since(0, 0).unwrap();
            let none = |number| Some(Since { sections: Vec::new(), number, is_pending: false });
            assert_eq!(since, none(0));
            let (first, _) = role.submit(transaction(1), generation);
            let since = role.since(0, 0).unwrap().1.unwrap();
            assert_eq!((since.sections.len(), since.is_pending), (1, true), "the next one sees it");
            let other = Record::Open { term: 9, writer: 8 };
            log.append(other.to_bytes().unwrap()).unwrap();
            assert!(first.recv().unwrap().is_err());
            log.loses.store(false, Ordering::Relaxed);
            while role.become_writer(PAUSE).is_err() {
                std::thread::sleep(TICK);
            }
            let (now, since) = role.since(0, 0).unwrap();
            assert_eq!((now, since), (generation + 1, none(0)));
            assert_eq!(role.submit(transaction(2), generation).0.recv().unwrap(), Err(None));
            assert_eq!(role.submit(transaction(3), now).0.recv().unwrap(), Ok(1));
        });
    }

    struct Ending<'a>(&'a Tail);

    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            self.0.stop();
        }
    }
}
