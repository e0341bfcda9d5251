//! Transactions of the writer's own process, which runs small queries for clients. They wait for the turn as all others do, but nothing of them
//! travels before the commit.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, ReadContext, Result};

use super::Node;
use super::role::Outcome;
use super::turns::Ticket;
use crate::gateway::{Gateway, HeldCut, Limits};
use crate::log::{RequestId, Transaction};
use crate::overlay::Overlay;
use crate::section::Recorder;
use crate::transaction::{Change, INLINE_BYTES};

/// Runs small queries for clients, steps of others, and parts of what several nodes do in rounds.
pub trait Runner: Send + Sync {
    /// Runs a query that writes, for somebody; `None` if whoever asks must run it. Then nothing of it was stored.
    fn run(&self, query: &[u8], request: RequestId, who: &str, limits: ReadContext) -> Option<Ran>;

    /// Answers a word about work in rounds, within these limits; `None` if there is none here. `session` is the number of who says it.
    fn rounds(&self, _asked: &[u8], _session: u64, _limits: ReadContext) -> Option<Result<Vec<u8>>> {
        None
    }

    /// Runs steps of a query over the shards of the node at a number, within these limits; `None` if no steps run here.
    fn fragment(&self, _number: u64, _asked: &[u8], _limits: &ReadContext) -> Option<Result<Vec<u8>>> {
        None
    }

    /// The same on the thread of who asks, without a wait for any other; `None` if the steps do not come to their end within the limits.
    fn fragment_alone(&self, _number: u64, _asked: &[u8], _limits: &ReadContext) -> Option<Vec<u8>> {
        None
    }

    /// How many parts of work in rounds there are now.
    fn parts_running(&self) -> usize {
        0
    }

    /// Whoever had this number is gone. What that one has begun ends.
    fn has_gone(&self, _session: u64) {}
}

/// A query that has run.
pub struct Ran {
    /// What it gave.
    pub given: Vec<u8>,
    /// What becomes of its changes, if it made some.
    pub outcome: Option<Receiver<Outcome>>,
}

/// How often who waits for the turn looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);
/// How long who asks waits here for the turn, before it waits as others do.
const WAITING: Duration = Duration::from_millis(250);
/// The changes of earlier transactions are kept in memory for the next one for so long. Then the shards have them.
const KEPT: Duration = Duration::from_millis(100);

/// The graph with the changes of the last transaction, for the next one.
struct Kept {
    change: Change,
    cut: Arc<HeldCut>,
    /// The limits of who reads it.
    limits: Limits,
    /// The generation of the role, and how many transactions were submitted by then.
    at: (u64, u64),
}

/// Where a node writes by itself.
pub struct OwnTransactions {
    node: Arc<Node>,
    gateway: Arc<Gateway>,
    kept: Mutex<Option<Kept>>,
}

impl OwnTransactions {
    pub fn new(node: Arc<Node>, gateway: Arc<Gateway>) -> Self {
        Self { node, gateway, kept: Mutex::default() }
    }

    /// Waits for the turn, for somebody with these limits. Not long: who waits here takes a place of those that others need to end their turns.
    ///
    /// # Errors
    /// If it takes longer, or if this node is not the writer any more.
    pub fn begin(&self, who: &str, limits: ReadContext) -> Result<OwnTransaction<'_>> {
        let ticket = self.node.turns.queue();
        let until = Instant::now() + WAITING;
        while ticket.wait(LOOK, who).is_err() {
            limits.check()?;
            if Instant::now() >= until {
                return Err(GraphError::Unavailable("others write".into()));
            }
        }
        let kept = self.kept().take().filter(|kept| kept.cut.made.elapsed() < KEPT && !kept.cut.is_lost());
        let kept = match kept.filter(|kept| self.node.role.submitted() == Some(kept.at)) {
            Some(kept) => kept,
            None => self.fresh(&limits)?,
        };
        kept.limits.set(Some(limits));
        Ok(OwnTransaction { of: self, kept, ticket })
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The graph as it is, with what was submitted.
    fn fresh(&self, own: &ReadContext) -> Result<Kept> {
        let (cut, limits) = (self.gateway.any_cut(Some(own))?, Limits::default());
        let elsewhere = || GraphError::Unavailable("this node is not the writer any more, or its shards are behind".into());
        let at = self.node.role.submitted().ok_or_else(elsewhere)?;
        let (generation, since) = self.node.role.since(cut.number, 0)?;
        let since = since.filter(|_| generation == at.0).ok_or_else(elsewhere)?;
        let stores = cut.stores(&limits).into_iter().map(|store| Recorder::new(Overlay::new(store))).collect();
        let mut change = Change::new(stores, self.gateway.placement());
        change.catch_up(&since.sections)?;
        Ok(Kept { change, cut, limits, at })
    }
}

/// A transaction that has the turn. Dropping it undoes everything, and gives the turn back.
pub struct OwnTransaction<'o> {
    of: &'o OwnTransactions,
    kept: Kept,
    ticket: Ticket,
}

impl OwnTransaction<'_> {
    /// Sets the limits of who reads in it.
    pub fn limit(&self, limits: ReadContext) {
        self.kept.limits.set(Some(limits));
    }

    pub fn graph(&mut self) -> &mut Change {
        &mut self.kept.change
    }

    /// Whether its commit can be one record.
    pub fn is_small(&self) -> bool {
        self.kept.change.recorded_bytes() <= INLINE_BYTES
    }

    /// Submits the changes, and gives the turn back. What becomes of them is known later; `None` if there are none.
    ///
    /// # Errors
    /// If a shard would refuse them. Then nothing was stored.
    pub fn submit(self, request: RequestId) -> Result<Option<Receiver<Outcome>>> {
        let Self { of, mut kept, ticket } = self;
        let sections = kept.change.take_sections()?;
        // What it has read may not be in the log yet. Then an empty commit comes after that.
        let submits = !sections.is_empty() || of.node.role.has_pending();
        let submitted = submits.then(|| of.node.role.submit(Transaction { request, sections }, kept.at.0));
        kept.at.1 += u64::from(submits);
        kept.limits.set(None);
        let is_right = submitted.as_ref().is_none_or(|(_, is_as_said)| *is_as_said);
        // Without somebody who waits, it would only keep an old state of the shards.
        if is_right && of.node.turns.is_awaited() {
            *of.kept() = Some(kept);
        }
        drop(ticket); // what comes next sees this one before it is in the log
        Ok(submitted.map(|(outcome, _)| outcome))
    }
}
