//! The writer's role: taking it, committing, giving it up.
//!
//! ```text
//!   idle ── work to do, and no writer heard of ──▶ opening ── read its own Open, and it counts ──▶ writing
//!     ▲                                               │                                              │
//!     └──────── read an Open of another that counts ──┴──────────────────────────────────────────────┘
//! ```
//! A transaction is acknowledged after its commit was read back from the log, and counts. When the writer reads that another has the role, a
//! commit that it has sent and not read back can never count any more: so its transactions were not made, and may be asked for again.

use super::record::{Commit, PartAt, Record, RequestId, Section, Standing};

use std::collections::{HashMap, VecDeque};

/// Milliseconds of the patience of a writer.
#[derive(Clone, Copy, Debug)]
pub struct WriterPace {
    /// A writer that was silent so long is taken for dead. Only time counts in which the end of the log was read.
    pub silence: u64,
    /// If the end is not read for so long, the log may not be there for the writer either. A shorter time counts.
    pub lapse: u64,
    /// What was sent and not read back is sent again after so long.
    pub again: u64,
    /// A writer that has nothing to write says so after so long.
    pub alive: u64,
    /// Cuts are so far apart at least.
    pub cut: u64,
    /// Transactions in a commit, at most.
    pub group: usize,
    /// Requests of earlier commits that are recognised when they come again.
    pub remembered: usize,
}

impl Default for WriterPace {
    fn default() -> Self {
        Self { silence: 5_000, lapse: 1_000, again: 3_000, alive: 1_000, cut: 10, group: 1_000, remembered: 100_000 }
    }
}

/// The most bytes that the sections of a transaction may have beside their parts, so that it fits into a record.
pub const TRANSACTION_BYTES_MAX: usize = 48 << 20;

/// The usual bytes of a part.
pub const PART_BYTES: usize = 4 << 20;

/// What is to become one atomic change.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub request: RequestId,
    /// What it does to each shard. Changes of one shard follow each other in the order of transactions.
    pub sections: Vec<Section>,
}

pub enum Event {
    /// The next record of the log.
    Read(Record),
    /// The end of the log was read, at this time.
    Ended(u64),
    /// The log cannot be read to its end.
    Unread,
    /// A client wants a transaction.
    Submit(Transaction),
    /// A client wants the role taken, if nobody has it.
    Want,
    /// This process is about to end.
    Leave,
    /// Time passes.
    Tick(u64),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Append this record. What becomes of it shows when it is read.
    Append(Record),
    /// The transaction of this request was made, by the commit of this number.
    Done(RequestId, u64),
    /// It was not made, and never will be unless it is submitted again.
    Refused(RequestId, Refusal),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Another writer has the role.
    NotTheWriter { writer: u64 },
}

enum Role {
    Idle,
    Opening {
        term: u64,
        sent: u64,
    },
    Writing {
        /// The commit that was sent and not read back, and when it was sent last.
        flight: Option<(Commit, u64)>,
        /// When a record of this writer was sent last.
        sent: u64,
        /// When it sent a cut last.
        cut: u64,
        /// Whether a commit was sent after it.
        is_uncut: bool,
        /// Whether it was said that the role is given up.
        is_closing: bool,
    },
}

/// A writer of one graph, or one that may become it.
pub struct WriterCore {
    id: u64,
    pace: WriterPace,
    standing: Standing,
    role: Role,
    waiting: VecDeque<Transaction>,
    /// Whether the role is wanted.
    is_wanted: bool,
    /// Whether the role is to be given up.
    is_leaving: bool,
    /// The requests of the last commits, and their numbers.
    made: HashMap<RequestId, u64>,
    order: VecDeque<RequestId>,
    now: u64,
    /// When the writer of the log was heard of last, and the time since then in which the log was not read to its end.
    heard: u64,
    /// Since when the log is not read to its end; `None` if it is.
    unread: Option<u64>,
}

impl WriterCore {
    /// A writer that has read nothing yet. `id` must be drawn anew at each start.
    pub fn new(id: u64, pace: WriterPace, now: u64) -> Self {
        Self {
            id,
            pace,
            standing: Standing::default(),
            role: Role::Idle,
            waiting: VecDeque::new(),
            is_wanted: false,
            is_leaving: false,
            made: HashMap::new(),
            order: VecDeque::new(),
            now,
            heard: now,
            unread: Some(now),
        }
    }

    /// Whether it has the role, as far as it has read.
    pub fn is_writer(&self) -> bool {
        matches!(self.role, Role::Writing { .. })
    }

    /// Whether the writer of the log is taken for dead, or there is none.
    pub fn is_silent(&self) -> bool {
        let since = self.now.saturating_sub(self.heard);
        self.unread.is_none() && (self.standing.writer == 0 || since >= self.pace.silence)
    }

    /// Takes an event, and appends what is to be done.
    pub fn take(&mut self, event: Event, out: &mut Vec<Output>) {
        match event {
            Event::Read(record) => {
                self.unread.get_or_insert(self.now);
                self.read(&record, out);
            }
            Event::Ended(now) => {
                self.now = self.now.max(now);
                let unread = self.unread.take().map_or(0, |since| self.now - since);
                if unread >= self.pace.lapse {
                    self.heard = (self.heard + unread).min(self.now);
                }
            }
            Event::Unread => {
                self.unread.get_or_insert(self.now);
            }
            Event::Submit(transaction) => self.submit(transaction, out),
            Event::Want => self.is_wanted = !self.is_leaving,
            Event::Leave => (self.is_leaving, self.is_wanted) = (true, false),
            Event::Tick(now) => self.now = self.now.max(now),
        }
        self.act(out);
    }

    fn read(&mut self, record: &Record, out: &mut Vec<Output>) {
        if !self.standing.take(record) {
            return;
        }
        // Nodes write that they are there. This says nothing of the writer.
        if !matches!(record, Record::Graph(_) | Record::Member(_) | Record::Dropped { .. } | Record::Allow { .. }) {
            self.heard = self.now;
        }
        match record {
            Record::Open { term, writer } if *writer == self.id => {
                if matches!(self.role, Role::Opening { term: wanted, .. } if wanted == *term) {
                    self.role = Role::Writing { flight: None, sent: self.now, cut: 0, is_uncut: true, is_closing: false };
                }
            }
            Record::Open { .. } | Record::Close { .. } => self.step_back(out),
            Record::Graph(_) | Record::Member(_) | Record::Dropped { .. } | Record::Allow { .. } => {}
            Record::Alive { .. } | Record::Part { .. } | Record::Base(_) => {}
            Record::Commit(commit) => self.made_commit(commit, out),
        }
    }

    /// Another writer has the role.
    fn step_back(&mut self, out: &mut Vec<Output>) {
        self.is_wanted = false;
        let role = std::mem::replace(&mut self.role, Role::Idle);
        let sent = if let Role::Writing { flight: Some((commit, _)), .. } = role { commit.requests } else { Vec::new() };
        let waiting = self.waiting.drain(..).map(|transaction| transaction.request);
        let refusal = Refusal::NotTheWriter { writer: self.standing.writer };
        out.extend(sent.into_iter().chain(waiting).map(|request| Output::Refused(request, refusal)));
    }

    /// A commit counts.
    fn made_commit(&mut self, commit: &Commit, out: &mut Vec<Output>) {
        for request in &commit.requests {
            self.made.insert(*request, commit.number);
            self.order.push_back(*request);
        }
        while self.order.len() > self.pace.remembered {
            if let Some(oldest) = self.order.pop_front() {
                self.made.remove(&oldest);
            }
        }
        // A writer before this one may have made what waits here.
        self.waiting.retain(|waiting| {
            let is_made = commit.requests.contains(&waiting.request);
            out.extend(is_made.then_some(Output::Done(waiting.request, commit.number)));
            !is_made
        });
        if let Role::Writing { flight, .. } = &mut self.role
            && flight.take_if(|(sent, _)| sent.number == commit.number).is_some()
        {
            out.extend(commit.requests.iter().map(|request| Output::Done(*request, commit.number)));
        }
    }

    fn submit(&mut self, transaction: Transaction, out: &mut Vec<Output>) {
        let Transaction { request, .. } = &transaction;
        if let Some(number) = self.made.get(request) {
            return out.push(Output::Done(*request, *number));
        }
        if self.is_leaving {
            return out.push(Output::Refused(*request, Refusal::NotTheWriter { writer: 0 }));
        }
        let in_flight =
            matches!(&self.role, Role::Writing { flight: Some((commit, _)), .. } if commit.requests.contains(request));
        if !in_flight && !self.waiting.iter().any(|waiting| waiting.request == *request) {
            self.waiting.push_back(transaction);
        }
    }

    /// Sends what is due.
    fn act(&mut self, out: &mut Vec<Output>) {
        let (now, pace, id, is_silent) = (self.now, self.pace, self.id, self.is_silent());
        let is_leaving = self.is_leaving;
        match &mut self.role {
            Role::Idle if is_leaving => self.step_back(out),
            Role::Idle => {
                if (self.is_wanted || !self.waiting.is_empty()) && is_silent {
                    let term = self.standing.term + 1;
                    self.role = Role::Opening { term, sent: now };
                    out.push(Output::Append(Record::Open { term, writer: id }));
                } else if self.unread.is_none() && !is_silent {
                    self.step_back(out);
                }
            }
            Role::Opening { term, sent } => {
                if now.saturating_sub(*sent) >= pace.again {
                    *sent = now;
                    out.push(Output::Append(Record::Open { term: *term, writer: id }));
                }
            }
            Role::Writing { flight: Some((commit, sent)), .. } => {
                // The very same record: a second copy is void.
                if now.saturating_sub(*sent) >= pace.again {
                    *sent = now;
                    out.push(Output::Append(Record::Commit(commit.clone())));
                }
            }
            Role::Writing { flight, sent, cut, is_uncut, is_closing } => {
                let cut_is_due = now.saturating_sub(*cut) >= pace.cut;
                if is_leaving && self.waiting.is_empty() && !*is_uncut {
                    if !*is_closing || now.saturating_sub(*sent) >= pace.again {
                        (*sent, *is_closing) = (now, true);
                        out.push(Output::Append(Record::Close { term: self.standing.term, writer: id }));
                    }
                } else if !self.waiting.is_empty() {
                    let group = self.waiting.drain(..group_of(&self.waiting, pace.group)).collect();
                    let commit = Commit { is_cut: cut_is_due, ..grouped(self.standing, group) };
                    (*sent, *is_uncut) = (now, !cut_is_due);
                    if cut_is_due {
                        *cut = now;
                    }
                    *flight = Some((commit.clone(), now));
                    out.push(Output::Append(Record::Commit(commit)));
                } else if now.saturating_sub(*sent) >= pace.alive || *is_uncut && cut_is_due {
                    (*sent, *cut, *is_uncut) = (now, now, false);
                    out.push(Output::Append(Record::Alive { term: self.standing.term, writer: id }));
                }
            }
        }
    }
}

/// A commit has so many bytes at most, unless a single transaction has more.
const GROUP_BYTES: usize = TRANSACTION_BYTES_MAX;

/// How many of those that wait go into the next commit. One with parts goes alone: they come before all other changes of a commit.
fn group_of(waiting: &VecDeque<Transaction>, count_max: usize) -> usize {
    let mut bytes = 0;
    let has_parts = |transaction: &Transaction| transaction.sections.iter().any(|section| !section.earlier.is_empty());
    let fits = |transaction: &&Transaction| {
        bytes += transaction.sections.iter().map(|section| section.changes.len()).sum::<usize>();
        bytes <= GROUP_BYTES && !has_parts(transaction)
    };
    waiting.iter().take(count_max).take_while(fits).count().max(1)
}

/// The next commit, with these transactions. Each shard gets one section, with the changes of all.
fn grouped(standing: Standing, group: Vec<Transaction>) -> Commit {
    let requests = group.iter().map(|transaction| transaction.request).collect();
    let mut all: std::collections::BTreeMap<u16, (Vec<PartAt>, Vec<u8>, u8)> = std::collections::BTreeMap::new();
    for section in group.into_iter().flat_map(|transaction| transaction.sections) {
        let (earlier, changes, version) = all.entry(section.shard).or_default();
        earlier.extend(section.earlier);
        changes.extend_from_slice(&section.changes);
        *version = section.version.max(*version);
    }
    let section = |(shard, (earlier, changes, version)): (u16, (Vec<PartAt>, Vec<u8>, u8))| Section {
        shard,
        earlier,
        changes: changes.into(),
        version,
    };
    let Standing { term, writer, number, .. } = standing;
    Commit { term, writer, is_cut: false, number: number + 1, requests, sections: all.into_iter().map(section).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Member;

    /// How a process stands that has read of another writer, just now.
    fn hearing() -> WriterCore {
        let mut core = WriterCore::new(7, WriterPace::default(), 0);
        core.take(Event::Read(Record::Open { term: 1, writer: 8 }), &mut Vec::new());
        core.take(Event::Ended(0), &mut Vec::new());
        core
    }

    #[test]
    fn nodes_that_start_do_not_make_a_dead_writer_seem_alive() {
        let mut core = hearing();
        for now in (100..5_000).step_by(100) {
            core.take(Event::Tick(now), &mut Vec::new());
            core.take(Event::Read(Record::Member(Member::default())), &mut Vec::new());
            core.take(Event::Ended(now), &mut Vec::new());
            assert!(!core.is_silent(), "after {now} ms");
        }
        core.take(Event::Ended(5_000), &mut Vec::new());
        assert!(core.is_silent());
        core.take(Event::Read(Record::Alive { term: 1, writer: 8 }), &mut Vec::new());
        core.take(Event::Ended(5_000), &mut Vec::new());
        assert!(!core.is_silent());
    }

    #[test]
    fn a_long_time_in_which_the_log_is_not_read_does_not_count() {
        let mut core = hearing();
        core.take(Event::Ended(4_000), &mut Vec::new());
        core.take(Event::Unread, &mut Vec::new());
        core.take(Event::Tick(9_000), &mut Vec::new());
        assert!(!core.is_silent());
        core.take(Event::Ended(9_000), &mut Vec::new());
        assert!(!core.is_silent(), "the end was read for 4 s");
        core.take(Event::Ended(9_999), &mut Vec::new());
        assert!(!core.is_silent());
        core.take(Event::Ended(10_000), &mut Vec::new());
        assert!(core.is_silent(), "the end was read for 5 s");
    }

    #[test]
    fn a_busy_machine_may_read_the_log_late() {
        let mut core = hearing();
        for now in (900..5_000).step_by(900) {
            core.take(Event::Unread, &mut Vec::new());
            core.take(Event::Ended(now), &mut Vec::new());
            assert!(!core.is_silent(), "after {now} ms");
        }
        core.take(Event::Unread, &mut Vec::new());
        core.take(Event::Ended(5_000), &mut Vec::new());
        assert!(core.is_silent());
    }
}
