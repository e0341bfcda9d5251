//! Group commit: brief writers that wait for each other share one sync.
//!
//! A writer that is done and sees brief writers wait becomes the *leader* of a group. It does not commit yet, but offers its
//! LMDB transaction to them. One *member* after the other takes it, and works in a transaction nested in it. A member that
//! fails or gives up undoes its own work alone. When nobody waits any more, or the group is full, the leader commits for all.
//! Nobody's commit returns before that. So a commit is still on the disk when it returns. A writer that is done also waits a moment for
//! one that is likely to come, as `rhythm` tells.
//!
//! DeWitt et al., "Implementation Techniques for Main Memory Database Systems" (SIGMOD 1984, §5.2) describe group commit.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use heed::{Env, WithoutTls};
use mangrove_graph::{GraphError, Result};

use crate::lmdb::table::{Tables, Writing};
use crate::system::fault;
use crate::system::identity::Own;
use crate::system::lock::locked;
use crate::turns::turn::{Turn, Writer};

/// After this time a group takes no more members. So the leader waits at most that long, and for one member.
const GROWING_MAX: Duration = Duration::from_millis(2);
/// The most members of a group.
const MEMBERS_MAX: usize = 64;
/// How long a writer that was woken may take to join.
const JOINING_MAX: Duration = Duration::from_millis(1);

/// The transaction of a leader, on its way between threads.
struct Handed(Box<Own<Writing<'static>>>);

// SAFETY: LMDB binds a write transaction to a thread only by the lock that its begin takes and its end releases. The leader's
// thread does both. In between, a mutex passes the transaction on, so one thread at a time uses it, and each sees what those
// before it did.
unsafe impl Send for Handed {}

struct State {
    /// The transaction, while nobody works in it.
    txn: Option<Handed>,
    members: usize,
    /// Whether the leader may commit.
    is_closed: bool,
    /// What became of the commit.
    outcome: Option<Result<()>>,
}

pub(crate) struct Group {
    state: Mutex<State>,
    changed: Condvar,
    leader: Writer,
    begun: Instant,
}

impl Group {
    fn new(txn: Own<Writing<'static>>, leader: Writer) -> Self {
        let state = State { txn: Some(Handed(Box::new(txn))), members: 0, is_closed: false, outcome: None };
        Self { state: Mutex::new(state), changed: Condvar::new(), leader, begun: Instant::now() }
    }

    /// Gives the transaction back, and passes it on to the next member or to the leader.
    fn give_back(self: &Arc<Self>, txn: Box<Own<Writing<'static>>>, turn: &Turn<Self>) {
        let may_grow = {
            let mut state = locked(&self.state);
            let is_light = txn.is_light();
            state.txn = Some(Handed(txn));
            is_light && state.members < MEMBERS_MAX && self.begun.elapsed() < GROWING_MAX
        };
        self.pass_on(turn, may_grow);
    }

    fn pass_on(self: &Arc<Self>, turn: &Turn<Self>, may_grow: bool) {
        if !turn.pass_on(&self.leader, self.begun, may_grow.then_some(self)) {
            self.close();
        }
    }

    fn close(&self) {
        locked(&self.state).is_closed = true;
        self.changed.notify_all();
    }

    /// Waits until the last member is done. Returns the transaction.
    fn wait_for_members(self: &Arc<Self>, turn: &Turn<Self>) -> Option<Own<Writing<'static>>> {
        let mut state = locked(&self.state);
        while !state.is_closed {
            let (waited, timeout) = self.changed.wait_timeout(state, JOINING_MAX).unwrap_or_else(PoisonError::into_inner);
            state = waited;
            if timeout.timed_out() && !state.is_closed {
                // The one who was to join next may have given up.
                drop(state);
                let is_over = turn.withdraw(self);
                state = locked(&self.state);
                state.is_closed |= is_over;
            }
        }
        state.txn.take().map(|handed| *handed.0)
    }

    fn end(&self, outcome: Result<()>) {
        locked(&self.state).outcome = Some(outcome);
        self.changed.notify_all();
    }

    fn outcome(&self) -> Result<()> {
        let mut state = locked(&self.state);
        loop {
            match &state.outcome {
                Some(Ok(())) => return Ok(()),
                Some(Err(error)) => return Err(fault::again(error)),
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// The leader's part in a group. It ends the group.
pub(crate) struct Lead {
    group: Arc<Group>,
    is_ended: bool,
}

impl Lead {
    /// Lets brief writers that wait work in this transaction, too. Returns it when the last of them is done.
    pub fn gather(
        mut txn: Own<Writing<'static>>,
        leader: Writer,
        turn: &Turn<Group>,
        tables: &Tables,
    ) -> Result<(Own<Writing<'static>>, Option<Self>)> {
        if !turn.is_wanted(&leader) {
            return Ok((txn, None));
        }
        txn.finish(tables)?;
        let group = Arc::new(Group::new(txn, leader));
        group.pass_on(turn, true);
        let lead = Self { group, is_ended: false };
        let txn = lead.group.wait_for_members(turn);
        tracing::debug!(members = locked(&lead.group.state).members, "writers share a commit");
        match txn {
            Some(txn) => Ok((txn, Some(lead))),
            None => Err(GraphError::Invalid("a transaction that was handed to other threads was lost".into())),
        }
    }

    /// Tells the members what became of the commit.
    pub fn end(mut self, outcome: &Result<()>) {
        self.is_ended = true;
        self.group.end(outcome.as_ref().copied().map_err(fault::again));
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if !self.is_ended {
            self.group
                .end(Err(GraphError::Invalid("the commit of a group of transactions was given up: run it again".into())));
        }
    }
}

/// A member's part in a group. Dropping it passes the transaction on.
pub(crate) struct Member {
    group: Arc<Group>,
    turn: Arc<Turn<Group>>,
    /// The leader's transaction. It is there until this is dropped.
    leaders: Option<Box<Own<Writing<'static>>>>,
}

impl Member {
    /// Takes the transaction of a group that this thread has joined, and begins one nested in it. End the nested one first. The
    /// environment must outlive both.
    pub fn begin(
        group: &Arc<Group>,
        turn: &Arc<Turn<Group>>,
        env: &Env<WithoutTls>,
        tables: &Tables,
    ) -> Result<(Own<Writing<'static>>, Self)> {
        let leaders = {
            let mut state = locked(&group.state);
            state.members += 1;
            state.txn.take().map(|handed| handed.0)
        };
        let mut member = Self { group: group.clone(), turn: turn.clone(), leaders };
        let nested = match &mut member.leaders {
            Some(leaders) => leaders.nested(env, tables)?,
            None => return Err(GraphError::Invalid("the transaction of a group was lost".into())),
        };
        // SAFETY: the nested transaction borrows the leader's, which is on the heap and stays in `member` until `member` is
        // dropped, and the environment. Whoever holds both drops the nested transaction first.
        let nested = unsafe { std::mem::transmute::<Writing<'_>, Writing<'static>>(nested) };
        Ok((Own::new(nested), member))
    }

    /// Commits the nested transaction, passes the leader's on, and waits until that is committed too.
    pub fn commit(mut self, nested: Own<Writing<'static>>, tables: &Tables) -> Result<()> {
        let changes = nested.take()?.commit(tables)?;
        if let Some(leaders) = &mut self.leaders {
            leaders.absorb(changes);
        }
        let group = self.group.clone();
        drop(self);
        group.outcome()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(leaders) = self.leaders.take() {
            self.group.give_back(leaders, &self.turn);
        }
    }
}
