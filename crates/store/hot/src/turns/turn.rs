//! Whose turn it is to write. One thread writes at a time.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};

use super::rhythm::Rhythm;
use crate::system::lock::locked;

/// How long a newcomer lets those go first who wait already.
const COURTESY: Duration = Duration::from_micros(300);
/// How often a waiting thread asks whether to go on.
const ASKING_INTERVAL: Duration = Duration::from_millis(20);
/// How long a thread waits for a transaction that it began and that another thread may end, if its timeout is not longer.
const OWN_PATIENCE: Duration = Duration::from_secs(5);

/// Who writes. It is named to those who wait, and keeps a thread from waiting for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    pub thread: ThreadId,
    pub name: String,
    /// Whether another thread may end what this one began. If none can, the thread that began it must not wait for it.
    pub may_move: bool,
    /// Whether it writes for a moment only. Then its commit may wait for those of other such writers, to share one sync.
    pub is_brief: bool,
}

thread_local! {
    /// The writer that this thread works for, if not for itself.
    static ACTS_FOR: RefCell<Option<Writer>> = const { RefCell::new(None) };
}

impl Writer {
    /// Works on this thread on behalf of this writer, who waits for the work on another thread.
    pub fn act<T>(self, work: impl FnOnce() -> T) -> T {
        let before = ACTS_FOR.replace(Some(self));
        let done = work();
        ACTS_FOR.set(before);
        done
    }

    pub fn this_thread() -> Self {
        if let Some(writer) = ACTS_FOR.with_borrow(Option::clone) {
            return writer;
        }
        let thread = thread::current();
        let name = match thread.name() {
            Some(name) => format!("thread {name:?} of this process"),
            None => "another thread of this process".into(),
        };
        Self { thread: thread.id(), name, may_move: false, is_brief: false }
    }
}

/// What may end the wait for a turn.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    pub timeout: Option<Duration>,
    pub cancelled: &'a dyn Fn() -> bool,
}

impl Patience<'_> {
    /// Waits for ever.
    pub const ENDLESS: Patience<'static> = Patience { timeout: None, cancelled: &|| false };
}

impl fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// Whose turn it is at something. Brief writers may share a turn in a group `G`.
pub(crate) struct Turn<G = ()> {
    standing: Mutex<Standing<G>>,
    /// Wakes a writer that is not brief.
    free: Condvar,
    /// Wakes a brief writer.
    free_for_brief: Condvar,
    /// Wakes a writer that waits for others to come.
    others_came: Condvar,
}

impl<G> Default for Turn<G> {
    fn default() -> Self {
        let standing = Standing { writing: None, offer: None, brief: 0, others: 0, rhythm: Rhythm::default() };
        let (free, free_for_brief, others_came) = Default::default();
        Self { standing: Mutex::new(standing), free, free_for_brief, others_came }
    }
}

struct Standing<G> {
    writing: Option<(Writer, Instant)>,
    /// A group that the next brief writer may join. Meanwhile its leader counts as the one who writes.
    offer: Option<Arc<G>>,
    /// How many brief writers wait, and how many others.
    brief: usize,
    others: usize,
    rhythm: Rhythm,
}

impl<G> Standing<G> {
    /// Whether a newcomer lets others go first. Brief writers join each other instead.
    fn is_waited_for(&self, is_brief: bool) -> bool {
        self.others > 0 || (self.brief > 0 && !is_brief)
    }

    fn waiting(&mut self, is_brief: bool) -> &mut usize {
        if is_brief { &mut self.brief } else { &mut self.others }
    }
}

impl<G> Turn<G> {
    /// Whether this writer has the turn.
    pub fn is_of(&self, writer: &Writer) -> bool {
        locked(&self.standing).writing.as_ref().is_some_and(|(other, _)| other.thread == writer.thread)
    }

    /// Gives the turn back to the leader of a group, who has it since `since`. If the group may grow, offers it to a brief writer
    /// that waits. Returns whether there is one.
    pub fn pass_on(&self, leader: &Writer, since: Instant, group: Option<&Arc<G>>) -> bool {
        let mut standing = locked(&self.standing);
        standing.writing = Some((leader.clone(), since));
        standing.offer = group.filter(|_| standing.brief > 0).cloned();
        if standing.offer.is_some() {
            self.free_for_brief.notify_one();
        }
        standing.offer.is_some()
    }

    /// Whether a brief writer waits for this one. If one is likely to come, waits a moment for it.
    pub fn is_wanted(&self, writer: &Writer) -> bool {
        let mut standing = locked(&self.standing);
        let begun = Instant::now();
        if standing.brief > 0 || standing.others > 0 {
            return standing.brief > 0;
        }
        let Some(patience) = standing.rhythm.patience(writer.thread, begun) else { return false };
        let nobody_came = |standing: &mut Standing<G>| standing.brief == 0 && standing.others == 0;
        let waited = self.others_came.wait_timeout_while(standing, patience, nobody_came);
        standing = waited.unwrap_or_else(PoisonError::into_inner).0;
        let came = standing.brief > 0;
        standing.rhythm.waited(came);
        came
    }

    /// Notes how long a commit waited for the disk.
    pub fn synced(&self, took: Duration) {
        locked(&self.standing).rhythm.synced(took);
    }

    /// Takes an offer back. Returns whether nobody had accepted it.
    pub fn withdraw(&self, group: &Arc<G>) -> bool {
        let offer = &mut locked(&self.standing).offer;
        offer.take_if(|offered| Arc::ptr_eq(offered, group)).is_some()
    }

    fn waits<'a>(
        &self,
        standing: MutexGuard<'a, Standing<G>>,
        is_brief: bool,
        longest: Duration,
    ) -> MutexGuard<'a, Standing<G>> {
        let condition = if is_brief { &self.free_for_brief } else { &self.free };
        condition.wait_timeout(standing, longest).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Counts one waiting thread.
struct Waiting<'a, G> {
    turn: &'a Turn<G>,
    is_brief: bool,
}

impl<'a, G> Waiting<'a, G> {
    fn new(turn: &'a Turn<G>, standing: &mut Standing<G>, is_brief: bool) -> Self {
        *standing.waiting(is_brief) += 1;
        turn.others_came.notify_all();
        Self { turn, is_brief }
    }

    /// It does not wait any more.
    fn end(self, standing: &mut Standing<G>) {
        *standing.waiting(self.is_brief) -= 1;
        std::mem::forget(self);
    }
}

impl<G> Drop for Waiting<'_, G> {
    fn drop(&mut self) {
        *locked(&self.turn.standing).waiting(self.is_brief) -= 1;
    }
}

/// The turn of one writer. Dropping it ends the turn.
pub(crate) struct MyTurn<G = ()> {
    turn: Arc<Turn<G>>,
    /// The group whose leader has the turn, and shares it.
    joined: Option<Arc<G>>,
}

impl<G> MyTurn<G> {
    /// Waits for a turn at something that only one thread may do at a time. A brief writer may instead join a group.
    pub fn wait(turn: &Arc<Turn<G>>, me: Writer, patience: Patience<'_>) -> Result<Self> {
        let started = Instant::now();
        let own_patience = patience.timeout.unwrap_or_default().max(OWN_PATIENCE);
        if locked(&turn.standing).is_waited_for(me.is_brief) && !turn.is_of(&me) {
            // A thread that has waited goes first. It has been woken, and needs a moment.
            thread::sleep(COURTESY);
        }
        let mut standing = locked(&turn.standing);
        let mut waiting = None;
        while let Some((other, since)) = &standing.writing {
            if other.thread == me.thread && !(other.may_move && started.elapsed() < own_patience) {
                drop(standing);
                return Err(GraphError::OpenAlready);
            }
            let timed_out = patience.timeout.is_some_and(|timeout| started.elapsed() >= timeout);
            let busy = (other.name.clone(), since.elapsed());
            waiting.get_or_insert_with(|| Waiting::new(turn, &mut standing, me.is_brief));
            // Ask without the lock: `cancelled` may take time, or a lock of its own.
            drop(standing);
            if timed_out || (patience.cancelled)() {
                let (holder, held) = busy;
                return Err(GraphError::Busy { holder, held, waited: started.elapsed(), timed_out });
            }
            standing = locked(&turn.standing);
            if standing.writing.is_some() && !(me.is_brief && standing.offer.is_some()) {
                let left = patience.timeout.map_or(ASKING_INTERVAL, |timeout| timeout.saturating_sub(started.elapsed()));
                standing = turn.waits(standing, me.is_brief, left.min(ASKING_INTERVAL));
            }
            if me.is_brief && standing.offer.is_some() {
                break;
            }
        }
        waiting.into_iter().for_each(|waiting| waiting.end(&mut standing));
        let now = Instant::now();
        if me.is_brief {
            standing.rhythm.came(me.thread, now);
        }
        standing.writing = Some((me, now));
        Ok(Self { turn: turn.clone(), joined: standing.offer.take() })
    }

    /// The group whose leader shares its turn, if one does.
    pub fn joined(&self) -> Option<&Arc<G>> {
        self.joined.as_ref()
    }
}

impl<G> Drop for MyTurn<G> {
    fn drop(&mut self) {
        if self.joined.is_some() {
            return; // the member's part in the group passes the turn on
        }
        let mut standing = locked(&self.turn.standing);
        standing.writing = None;
        // Whichever of the two comes first has the turn, so that neither kind keeps the other waiting.
        if standing.others > 0 {
            self.turn.free.notify_one();
        }
        if standing.brief > 0 {
            self.turn.free_for_brief.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief() -> Writer {
        Writer { is_brief: true, ..Writer::this_thread() }
    }

    /// A writer that is done waits for another one for an hour, if need be. If nobody told it that one came, this would not end.
    #[test]
    fn a_writer_that_is_done_waits_for_one_that_is_likely_to_come() {
        let turn: Arc<Turn> = Arc::default();
        let come = |patience| MyTurn::wait(&turn, brief(), patience);
        thread::scope(|scope| {
            scope.spawn(|| drop(come(Patience::ENDLESS).expect("a turn")));
        });
        let mine = come(Patience::ENDLESS).expect("a turn");
        assert!(!turn.is_wanted(&brief()), "no sync was measured");
        locked(&turn.standing).rhythm.wait_for(Duration::from_secs(3600));
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(30));
                drop(come(Patience::ENDLESS).expect("a turn"));
            });
            assert!(turn.is_wanted(&brief()));
            drop(mine);
        });
        let mine = come(Patience::ENDLESS).expect("a turn");
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(30));
                drop(MyTurn::wait(&turn, Writer::this_thread(), Patience::ENDLESS).expect("a turn"));
            });
            assert!(!turn.is_wanted(&brief()), "one that is not brief shares no commit, and does not wait for others");
            drop(mine);
        });
    }
}
