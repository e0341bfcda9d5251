//! A graph on many nodes, as one to write. The changes are in the memory of this process until the commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, ReadContext, Result};

use crate::at_once::at_once;
use crate::change::ClusterChange;
use crate::gateway::{CutStore, Gateway, HeldCut, Limits, Peer, Sought};
use crate::log::{PART_BYTES, PartAt, RequestId, Section, TRANSACTION_BYTES_MAX};
use crate::overlay::Overlay;
use crate::section::{Recorder, pieces};
use crate::wire::{Call, Reply, Since, damaged};

/// How long one call waits for the turn.
const WAIT: Duration = Duration::from_millis(250);
/// So long, a transaction waits while no node can write. Another node becomes the writer within eight seconds.
const NOBODY: Duration = Duration::from_secs(30);
/// How long a turn is looked for, if something is missing when it comes.
const TRYING: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);
/// The changes of a transaction are in the record of its commit if they have so many bytes at most. Otherwise they are in parts before it.
pub(crate) const INLINE_BYTES: usize = 8 << 20;
const PARTS_AT_ONCE: usize = 4;
/// A writer that does not answer to a commit of fewer bytes may be frozen.
const HURRIED_BYTES: usize = 64 << 10;
/// How long the shards may take to apply a large transaction, before the next one can begin.
const APPLYING: Duration = Duration::from_secs(300);
/// So many nodes are asked which one writes, before a query is run here.
const ASKED_MAX: usize = 3;
/// A lost commit is looked for so long.
const LOOK: Duration = Duration::from_secs(60);

/// The graph under change.
pub type Change = ClusterChange<Recorder<Overlay<CutStore>>>;

/// A transaction that has the turn to write. Dropping it undoes everything, and gives the turn back.
pub struct ClusterTransaction {
    gateway: Arc<Gateway>,
    turn: Turn,
    change: Change,
    /// What it reads beside its changes.
    cut: Arc<HeldCut>,
    /// Whether something of what it reads was not in the log when it began.
    has_seen_pending: bool,
}

/// The turn to write at a node. Dropping it gives it back.
struct Turn {
    writer: Arc<dyn Peer>,
    number: u64,
    /// Whether it was given back.
    is_over: bool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_over {
            self.writer.tell(Call::Rollback { turn: self.number });
        }
    }
}

/// How long to wait for the turn.
pub struct TurnPatience<'a> {
    /// For ever, if there is none.
    pub timeout: Option<Duration>,
    pub cancelled: &'a dyn Fn() -> bool,
}

impl ClusterTransaction {
    /// Waits for the turn.
    ///
    /// # Errors
    /// [`GraphError::Busy`] if it does not come in time, [`GraphError::Unavailable`] if no node can write.
    pub fn begin(gateway: &Arc<Gateway>, patience: &TurnPatience<'_>, limits: &Limits) -> Result<Self> {
        let mut until = None;
        loop {
            let turn = turn(gateway, patience)?;
            let until = *until.get_or_insert_with(|| Instant::now() + TRYING);
            match Self::with_turn(gateway, &turn, limits) {
                Ok((change, cut, has_seen_pending)) => {
                    return Ok(Self { gateway: gateway.clone(), turn, change, cut, has_seen_pending });
                }
                // The role may have gone to another node just now.
                Err(GraphError::Unavailable(_)) if Instant::now() < until => std::thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
    }

    /// The graph with what was committed and is to be, the cut below that, and whether some of it is not in the log yet.
    fn with_turn(gateway: &Gateway, turn: &Turn, limits: &Limits) -> Result<(Change, Arc<HeldCut>, bool)> {
        // What was committed after it is told by the writer.
        let mut cut = gateway.any_cut(None)?;
        loop {
            let since = Call::Since { turn: turn.number, number: cut.number, own: gateway.own() };
            let Reply::Since(since) = turn.writer.call_or_give_up(&since, None)? else {
                return Err(damaged("what was committed"));
            };
            if let Some(Since { sections, number, is_pending }) = since {
                let stores = cut.stores(limits).into_iter().map(|store| Recorder::new(Overlay::new(store))).collect();
                let mut change = Change::new(stores, gateway.placement());
                change.catch_up(&sections)?;
                gateway.has_seen(number); // later reads see what this transaction sees
                return Ok((change, cut, is_pending));
            }
            cut = next_cut(gateway, cut.number)?;
        }
    }

    /// Whether no node answers any longer for some shard. Then another transaction can begin.
    pub fn is_lost(&self) -> bool {
        self.cut.is_lost()
    }

    pub fn graph(&mut self) -> &mut Change {
        &mut self.change
    }

    pub fn view(&self) -> &Change {
        &self.change
    }

    /// Makes the changes last. Returns the number of the commit; `None` if there was nothing to commit. What the transaction has read is in the log
    /// then, too.
    ///
    /// # Errors
    /// Those of a commit of one store; [`GraphError::TakenOver`] if another node became the writer. Then nothing was made, and what the transaction has
    /// read of others may be lost. [`GraphError::OutcomeUnknown`] if nobody says whether it was made.
    pub fn commit(mut self) -> Result<Option<u64>> {
        let sections = self.change.take_sections()?;
        let is_changed = !sections.is_empty();
        // An empty commit comes after what was not in the log.
        if !is_changed && !self.has_seen_pending {
            return Ok(None);
        }
        let bytes: usize = sections.iter().map(|section| section.changes.len()).sum();
        let sections = if bytes > INLINE_BYTES { self.in_parts(sections)? } else { sections };
        let request = RequestId(uuid::Uuid::new_v4().as_u128());
        let commit = Call::Commit { turn: self.turn.number, request, sections };
        // A node that has much to read says nothing meanwhile.
        let said = match bytes {
            0..HURRIED_BYTES => self.turn.writer.call_or_give_up(&commit, None),
            _ => self.turn.writer.call(&commit, None),
        };
        // The commit has given the turn back, unless the node did not take it.
        self.turn.is_over = said.is_ok();
        let number = match said {
            Ok(Reply::Committed(number)) => number,
            Ok(Reply::Elsewhere { .. }) => return Err(GraphError::TakenOver),
            Ok(_) => return Err(damaged("a commit")),
            // The commit may be in the log all the same.
            Err(GraphError::Unavailable(_)) => self.look_for(request)?.ok_or(GraphError::TakenOver)?,
            Err(error) => return Err(error),
        };
        self.gateway.has_seen(number);
        Ok(is_changed.then_some(number))
    }

    /// Writes what is too large for one record to the log before the commit. It does nothing until the commit names it.
    fn in_parts(&self, sections: Vec<Section>) -> Result<Vec<Section>> {
        let mut parts = Vec::new();
        for (at, section) in sections.iter().enumerate() {
            parts.extend(pieces(&section.changes, PART_BYTES)?.into_iter().map(|piece| (at, piece)));
        }
        let mut logged: Vec<Section> = sections.iter().map(|section| Section::new(section.shard, Vec::new())).collect();
        for some in parts.chunks(PARTS_AT_ONCE) {
            let sent = at_once(some.to_vec(), |(at, piece)| {
                if piece.len() > TRANSACTION_BYTES_MAX {
                    let what = format!("one change of {} bytes is too large for the log", piece.len());
                    return Err(GraphError::Limit { what, limit: TRANSACTION_BYTES_MAX as u64 });
                }
                let call = Call::Part { turn: self.turn.number, section: Section::new(sections[at].shard, piece) };
                match self.turn.writer.call(&call, None)? {
                    Reply::Part(part) => Ok((at, part)),
                    _ => Err(damaged("a part")),
                }
            })?;
            sent.into_iter().for_each(|(at, part)| logged[at].earlier.push(part));
        }
        Ok(logged)
    }

    /// Asks the nodes whether a transaction was made.
    fn look_for(&self, request: RequestId) -> Result<Option<u64>> {
        look_for(&self.gateway, request, LOOK)
    }
}

/// Asks the nodes whether a transaction was made. If it was not, it never will be.
///
/// # Errors
/// [`GraphError::OutcomeUnknown`] if none of them says so in time.
fn look_for(gateway: &Gateway, request: RequestId, patience: Duration) -> Result<Option<u64>> {
    let (until, mut sought) = (Instant::now() + patience, Sought::Last);
    while Instant::now() < until {
        let asked = gateway.peers().writer(sought).and_then(|writer| writer.call_or_give_up(&Call::WasMade(request), None));
        match asked {
            Ok(Reply::Made(made)) => return Ok(made),
            Ok(Reply::Elsewhere { writer }) => sought = Sought::told(writer),
            Ok(_) => return Err(damaged("what was made")),
            Err(_) => sought = Sought::Another,
        }
        std::thread::sleep(PAUSE);
    }
    Err(GraphError::OutcomeUnknown("no node says whether this transaction was made: look before you repeat it".into()))
}

/// How long a transaction is looked for, after an error.
fn patience(error: &GraphError) -> Duration {
    match error {
        GraphError::Stopped | GraphError::Late(_) => TRYING, // whoever asked wants no answer any more
        _ => LOOK,
    }
}

/// Asks the node that writes to run a small query. Gives what the query gave; `None` if it is to be run here.
///
/// # Errors
/// If the limits end it; then nothing was stored. [`GraphError::Storage`] if its changes were stored, and what it gave is lost.
/// [`GraphError::OutcomeUnknown`] if nobody says whether they were.
pub fn run(gateway: &Gateway, query: &[u8], limits: &ReadContext) -> Result<Option<Vec<u8>>> {
    let mut sought = Sought::Last;
    for _ in 0..ASKED_MAX {
        // What was looked for and not found never comes.
        let request = RequestId(uuid::Uuid::new_v4().as_u128());
        let left = limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let call = Call::Run { request, left, query: query.to_vec() };
        let Ok(writer) = gateway.peers().writer(sought) else { return Ok(None) };
        let given = match writer.call_or_give_up(&call, Some(limits)) {
            Ok(Reply::Ran { given, commits: false }) => return Ok(Some(given)),
            Ok(Reply::Ran { given, .. }) => given,
            Ok(Reply::Elsewhere { writer }) => {
                sought = Sought::told(writer);
                continue;
            }
            Ok(_) => return Ok(None),
            Err(error) => match (look_for(gateway, request, patience(&error))?, error) {
                (Some(number), _) => {
                    gateway.has_seen(number);
                    let message =
                        format!("the changes of this query were stored, by commit {number}, but what it gave is lost");
                    return Err(GraphError::Storage { message, source: None });
                }
                (None, error @ (GraphError::Stopped | GraphError::Late(_))) => return Err(error),
                (None, _) => continue,
            },
        };
        let number = match writer.call_or_give_up(&Call::Outcome(request), None) {
            Ok(Reply::Committed(number)) => Some(number),
            Ok(Reply::Elsewhere { .. }) => None,
            // It may have committed all the same.
            _ => look_for(gateway, request, LOOK)?,
        };
        if let Some(number) = number {
            gateway.has_seen(number);
            return Ok(Some(given));
        }
    }
    Ok(None)
}

/// Writes what the log has said to it, as a place where it may begin, between two transactions.
///
/// # Errors
/// Those of [`ClusterTransaction::begin`].
pub fn base(gateway: &Gateway, patience: &TurnPatience<'_>) -> Result<PartAt> {
    let mut until = None;
    loop {
        let turn = turn(gateway, patience)?;
        let until = *until.get_or_insert_with(|| Instant::now() + TRYING);
        match turn.writer.call(&Call::Base { turn: turn.number }, None) {
            Ok(Reply::Base(at)) => return Ok(at),
            Ok(_) => return Err(damaged("a place in the log")),
            // A node that became a member, or another writer, may have come between.
            Err(GraphError::Unavailable(_)) if Instant::now() < until => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
}

/// The next cut. The shards may have much to apply before it.
fn next_cut(gateway: &Gateway, number: u64) -> Result<Arc<HeldCut>> {
    let until = Instant::now() + APPLYING;
    loop {
        match gateway.cut_from(number + 1, Duration::ZERO, None) {
            Err(GraphError::Unavailable(_)) if Instant::now() < until => {}
            found => return found,
        }
    }
}

/// Waits for the turn at the node that writes.
fn turn(gateway: &Gateway, patience: &TurnPatience<'_>) -> Result<Turn> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let started = Instant::now();
    let (mut sought, mut asked): (_, Option<Turn>) = (Sought::Last, None);
    // Since when no node can write, and why.
    let mut nobody: Option<(Instant, String)> = None;
    loop {
        let reply = gateway.peers().writer(sought).and_then(|writer| {
            // A place in the queue of another node is given back.
            let turn = match asked.take().filter(|turn| Arc::ptr_eq(&turn.writer, &writer)) {
                Some(same) => asked.insert(same),
                None => {
                    // One that was given back never comes again.
                    let number = LAST.fetch_add(1, Ordering::Relaxed);
                    asked.insert(Turn { writer, number, is_over: false })
                }
            };
            turn.writer.call_or_give_up(&Call::Begin { turn: turn.number, patience: WAIT }, None)
        });
        let (holder, held) = match reply {
            Ok(Reply::Turn) => return asked.ok_or_else(|| damaged("a turn")),
            Ok(Reply::Busy { holder, held }) => {
                nobody = None;
                (holder, held)
            }
            Ok(Reply::Elsewhere { writer }) => {
                sought = Sought::told(writer);
                std::thread::sleep(PAUSE / 10);
                let what = "no node has become the writer: is Kafka there?";
                nobody.get_or_insert_with(|| (Instant::now(), String::new())).1 = what.to_owned();
                ("another node".into(), Duration::ZERO)
            }
            Ok(_) => return Err(damaged("a turn")),
            Err(GraphError::Unavailable(what)) => {
                sought = Sought::Another;
                std::thread::sleep(PAUSE);
                nobody.get_or_insert_with(|| (Instant::now(), String::new())).1.clone_from(&what);
                (what, Duration::ZERO)
            }
            Err(error) => return Err(error),
        };
        let (waited, is_cancelled) = (started.elapsed(), (patience.cancelled)());
        let timed_out = patience.timeout.is_some_and(|timeout| waited >= timeout);
        if let Some((since, what)) = nobody.take_if(|(since, _)| timed_out || since.elapsed() >= NOBODY) {
            let lasted = since.elapsed().as_secs();
            return Err(GraphError::Unavailable(format!("no node can write, since {lasted} s: {what}")));
        }
        if timed_out || is_cancelled {
            return Err(GraphError::Busy { holder, held, waited, timed_out });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{Peers, ShardNode, Way};
    use crate::placement::Placement;

    /// The nodes of a graph, none of which can be reached.
    struct Gone;

    fn gone<T>() -> Result<T> {
        Err(GraphError::Unavailable("it has ended".into()))
    }

    impl Peers for Gone {
        fn graph(&self) -> u64 {
            7
        }

        fn placement(&self) -> Placement {
            Placement { shards: 1, seed: 7, id_space: mangrove_graph::IdSpace::Graph }
        }

        fn with_shards(&self) -> Result<Vec<ShardNode>> {
            gone()
        }

        fn all(&self) -> Result<Vec<(String, Way)>> {
            gone()
        }

        fn writer(&self, _: Sought) -> Result<Arc<dyn Peer>> {
            gone()
        }
    }

    #[test]
    fn a_commit_that_nobody_knows_of_has_an_error_of_its_own() {
        let outcome = look_for(&Gateway::new(Arc::new(Gone)), RequestId(1), PAUSE);
        assert!(matches!(outcome, Err(GraphError::OutcomeUnknown(_))), "{outcome:?}");
    }
}
