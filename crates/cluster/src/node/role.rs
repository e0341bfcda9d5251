//! The writer's role of this process, driven by the log and by who wants to commit.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

use super::tail::Tail;
use crate::log::{
    Event, GraphRecord, Log, Member, Output, Record, RequestId, Section, Standing, Transaction, WriterCore, WriterPace,
};

/// How often the writer looks at the clock.
const TICK: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_millis(100);
/// How long a process waits for its end to be known.
const LEAVING: Duration = Duration::from_secs(1);
/// How long a commit in flight is waited for.
const SETTLING: Duration = Duration::from_secs(5);
/// Commits stay known until they take so many bytes.
const HISTORY_BYTES: usize = 64 << 20;

enum Input {
    Record(Arc<Record>),
    Ended,
    Submit(Transaction, SyncSender<Outcome>),
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
    members: BTreeMap<String, Member>,
    /// The last commits: their numbers, and what they do.
    commits: VecDeque<(u64, Vec<Section>)>,
    bytes: usize,
    /// What was submitted here and is not in the log yet.
    pending: VecDeque<(RequestId, Vec<Section>)>,
    made: HashMap<RequestId, u64>,
    /// What was said not to be made, and so must not be.
    barred: HashSet<RequestId>,
    is_writer: bool,
    /// Whether the writer of the log is taken for dead.
    is_silent: bool,
}

impl Known {
    fn read(&mut self, record: &Record) {
        if !self.standing.take(record) {
            return;
        }
        match record {
            Record::Graph(graph) => self.graph = Some(graph.clone()),
            Record::Member(member) => drop(self.members.insert(member.name.clone(), member.clone())),
            Record::Commit(commit) => {
                self.made.extend(commit.requests.iter().map(|request| (*request, commit.number)));
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

    /// What was done after a number, in order.
    fn since(&self, number: u64) -> Option<Vec<Section>> {
        let is_known = number >= self.standing.number || self.commits.front().is_some_and(|(first, _)| *first <= number + 1);
        let later = self.commits.iter().filter(|(commit, _)| *commit > number).flat_map(|(_, sections)| sections);
        let all = later.chain(self.pending.iter().flat_map(|(_, sections)| sections));
        is_known.then(|| all.cloned().collect())
    }
}

fn bytes_of(sections: &[Section]) -> usize {
    sections.iter().map(|section| section.changes.len()).sum()
}

/// The role, and what is known of the log.
pub struct Role {
    inbox: Sender<Input>,
    known: Mutex<Known>,
    changed: Condvar,
    process: u64,
}

/// What the thread of the role needs.
pub struct RoleInbox(Receiver<Input>);

impl Role {
    pub fn new(process: u64) -> (Self, RoleInbox) {
        let (inbox, receiver) = channel();
        (Self { inbox, known: Mutex::default(), changed: Condvar::new(), process }, RoleInbox(receiver))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes what the log says on to the role, until the log stops.
    pub fn listen(&self, tail: &Tail) {
        let mut next = 0;
        while !tail.is_stopped() {
            let Ok(batch) = tail.next(next, PAUSE) else { return };
            next = batch.records.last().map_or(next, |(offset, _)| offset + 1);
            let inputs = batch.records.into_iter().map(|(_, record)| Input::Record(record));
            let sent = inputs.chain(batch.ended.then_some(Input::Ended)).try_for_each(|input| self.inbox.send(input));
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
        let mut out = Vec::new();
        while !tail.is_stopped() {
            let first = match inbox.0.recv_timeout(TICK) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            core.take(Event::Tick(now()), &mut out);
            for input in first.into_iter().chain(inbox.0.try_iter()) {
                self.take(input, now(), &mut core, &mut waiting, &mut out);
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
            Input::Record(record) => {
                self.known().read(&record);
                core.take(Event::Read(Record::clone(&record)), out);
            }
            Input::Ended => {
                core.take(Event::Ended(now), out);
            }
            Input::Submit(transaction, reply) => {
                waiting.entry(transaction.request).or_default().push(reply);
                core.take(Event::Submit(transaction), out);
            }
            Input::Want => core.take(Event::Want, out),
            Input::Leave => core.take(Event::Leave, out),
        }
    }

    fn give(&self, output: Output, log: &dyn Log, waiting: &mut HashMap<RequestId, Vec<SyncSender<Outcome>>>) {
        let (request, outcome) = match output {
            Output::Append(record) => {
                // What cannot be sent is sent again, as what was lost.
                if let Err(error) = record.to_bytes().and_then(|bytes| log.append(bytes)) {
                    tracing::warn!(%error, "the log does not take a record");
                }
                return;
            }
            Output::Done(request, number) => (request, Ok(number)),
            Output::Refused(request, crate::log::Refusal::NotTheWriter { writer }) => {
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
                return Ok(());
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

    /// Submits a transaction, in the turn of who submits.
    pub fn submit(&self, transaction: Transaction) -> Receiver<Outcome> {
        let (reply, outcome) = sync_channel(1);
        let mut known = self.known();
        if known.barred.contains(&transaction.request) {
            let _ = reply.send(Err(Some(self.process))); // nobody waits for it any more
            return outcome;
        }
        if !known.made.contains_key(&transaction.request) {
            known.pending.push_back((transaction.request, transaction.sections.clone()));
        }
        let _ = self.inbox.send(Input::Submit(transaction, reply)); // if the role has ended, so has the channel of the outcome
        outcome
    }

    /// What was committed after a number, and what is to be; `None` if that is not known any more.
    pub fn since(&self, number: u64) -> Option<Vec<Section>> {
        self.known().since(number)
    }

    /// By which commit a transaction was made. If by none, it never will be. Only the writer can tell.
    pub fn settle(&self, request: RequestId) -> Result<Option<u64>> {
        let until = Instant::now() + SETTLING;
        let mut known = self.known();
        loop {
            if let Some(number) = known.made.get(&request) {
                return Ok(Some(*number));
            }
            if known.is_writer && !known.pending.iter().any(|(pending, _)| *pending == request) {
                known.barred.insert(request);
                return Ok(None);
            }
            if !known.is_writer || Instant::now() >= until {
                return Err(GraphError::Unavailable("it is not known yet whether a transaction was made".into()));
            }
            known = self.changed.wait_timeout(known, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The graph, its members and its writer, once the log has said it.
    pub fn graph(&self, patience: Duration) -> Result<(GraphRecord, Vec<Member>, Option<u64>)> {
        let until = Instant::now() + patience;
        let mut known = self.known();
        loop {
            if let Some(graph) = &known.graph {
                let writer = Some(known.standing.writer).filter(|writer| *writer != 0);
                return Ok((graph.clone(), known.members.values().cloned().collect(), writer));
            }
            if Instant::now() >= until {
                return Err(GraphError::Unavailable("the log has no graph".into()));
            }
            known = self.changed.wait_timeout(known, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
