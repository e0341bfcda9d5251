//! A shard in this process: its store follows the log, and is read at cuts.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mangrove_graph::{FollowerWrite, GraphError, ReadContext, Result, Schema, ShardRead};

use super::store::{CutView, ShardStore};
use super::tail::{Behind, Entry, Tail};
use crate::log::{COARSE, CutPace, Cuts, Follower, Found, LogError, Position, Reached, Record, Section, rank};
use crate::section::apply;
use crate::wire::ShardStatus;

/// How many threads can read a cut at the same time.
const VIEWS: usize = 4;
/// A reader waits so long for a cut that the shard has not reached.
const PATIENCE: Duration = Duration::from_millis(1_000);
const PAUSE: Duration = Duration::from_millis(100);
/// How often a reader that waits for a view looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);

type View = Box<dyn CutView>;

/// The shard at one cut, for a few readers at a time.
pub struct Pool {
    views: Mutex<Vec<View>>,
    back: Condvar,
    schema: Arc<Schema>,
    /// Tells schemas of the shard apart.
    version: u64,
}

impl Pool {
    /// At the cut of a number. `before` is the cut before it.
    fn new(store: &dyn ShardStore, number: u64, before: Option<&Self>) -> Result<Self> {
        let views = (0..VIEWS).map(|_| store.view()).collect::<Result<Vec<_>>>()?;
        let schema = views[0].store().schema().clone();
        let is_same = |before: &&Self| Arc::ptr_eq(&before.schema, &schema) || before.schema == schema;
        let version = before.filter(is_same).map_or(number, |before| before.version);
        Ok(Self { views: Mutex::new(views), back: Condvar::new(), schema, version })
    }

    fn views(&self) -> MutexGuard<'_, Vec<View>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with a view, once one is free, for a reader with these limits.
    ///
    /// # Errors
    /// If the limits end the wait.
    pub fn with<T>(&self, limits: Option<ReadContext>, f: impl FnOnce(&dyn ShardRead) -> T) -> Result<T> {
        let mut views = self.views();
        let mut view = loop {
            match views.pop() {
                Some(view) => break view,
                None => {
                    let deadline = limits.as_ref().and_then(|limits| limits.deadline);
                    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                    let look = left.map_or(LOOK, |left| left.min(LOOK));
                    views = self.back.wait_timeout(views, look).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
            limits.as_ref().map_or(Ok(()), ReadContext::check)?;
        };
        drop(views);
        view.limit(limits);
        let back = GiveBack(self, Some(view));
        Ok(f(back.1.as_deref().expect("it is given back at the end").store()))
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    pub fn version(&self) -> u64 {
        self.version
    }
}

struct GiveBack<'p>(&'p Pool, Option<View>);

impl Drop for GiveBack<'_> {
    fn drop(&mut self) {
        self.0.views().extend(self.1.take());
        self.0.back.notify_one();
    }
}

/// A shard and its cuts.
pub struct Host {
    number: u16,
    store: Box<dyn ShardStore>,
    cuts: Mutex<Cuts<Arc<Pool>>>,
    grown: Condvar,
    started: Instant,
    /// Why it cannot go on, if it cannot.
    trouble: Mutex<Option<Trouble>>,
    /// The smallest number that somebody waits for; one that was applied counts no longer. It changes together with the cuts.
    wanted: AtomicU64,
    /// Whether it has come to where the log ended when this process began to read it. Before that, what it has may be old.
    is_ready: AtomicBool,
    /// The offset that is applied next, as the store says.
    kept: AtomicU64,
    /// Whether the log was cut before the shard had applied it.
    has_missed: AtomicBool,
    /// Whether the node has it no longer.
    is_stopped: AtomicBool,
}

#[derive(Clone)]
struct Trouble {
    why: String,
    /// Whether the log is not the one that the shard has applied. Then nobody may read the shard.
    is_astray: bool,
    /// Whether it does not go away by itself.
    is_final: bool,
}

/// Where a shard stands in the log, before its next cut.
struct Reading {
    follower: Follower,
    /// The records since the last cut that change the shard.
    open: Vec<Arc<Record>>,
    /// The number at the last cut of the log.
    before: u64,
}

impl Host {
    pub fn new(number: u16, store: Box<dyn ShardStore>) -> Result<Self> {
        let position = position_of(&*store)?;
        let (first, kept) = (position.standing.number, AtomicU64::new(position.next));
        let pool = Arc::new(Pool::new(&*store, first, None)?);
        let cuts = Mutex::new(Cuts::new(first, pool, CutPace::default()));
        let (grown, started, trouble) = (Condvar::new(), Instant::now(), Mutex::default());
        Ok(Self {
            number,
            store,
            cuts,
            grown,
            started,
            trouble,
            wanted: AtomicU64::new(0),
            is_ready: AtomicBool::new(false),
            kept,
            has_missed: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
        })
    }

    pub fn number(&self) -> u16 {
        self.number
    }

    pub fn store(&self) -> &dyn ShardStore {
        &*self.store
    }

    fn cuts(&self) -> MutexGuard<'_, Cuts<Arc<Pool>>> {
        self.cuts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Ends [`run`](Self::run).
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn has_ended(&self, tail: &Tail) -> bool {
        self.is_stopped.load(Ordering::Relaxed) || tail.is_stopped()
    }

    /// Follows the log until that stops, or the shard.
    pub fn run(&self, tail: &Tail) {
        while !self.has_ended(tail) {
            let Err((error, is_astray)) = self.follow(tail) else { return };
            if !self.has_ended(tail) && self.trouble().is_none_or(|before| before.why != error.to_string()) {
                tracing::error!(shard = self.number, %error, "the shard cannot follow the log");
            }
            let is_final =
                is_astray || tail.has_failed() || matches!(error, GraphError::Corrupt(_) | GraphError::Invalid(_));
            self.set_trouble(Some(Trouble { why: error.to_string(), is_astray, is_final }));
            if is_final && tail.begins_after(self.kept.load(Ordering::Acquire)) {
                self.has_missed.store(true, Ordering::Relaxed);
            }
            if matches!(error, GraphError::Corrupt(_)) || self.has_ended(tail) {
                return;
            }
            // A full disk may have room again.
            std::thread::sleep(PAUSE * 10);
        }
    }

    /// Fails with whether the shard and the log belong together no more.
    fn follow(&self, tail: &Tail) -> Result<(), (GraphError, bool)> {
        let failed = |error| (error, false);
        let follower = Follower::new(self.number, position_of(&*self.store).map_err(failed)?);
        let (before, mut from) = (follower.position().standing.number, follower.first());
        let mut reading = Reading { follower: follower.clone(), open: Vec::new(), before };
        self.catch_up(follower.position().standing.number).map_err(failed)?;
        let mut behind = Behind::default();
        while !self.has_ended(tail) {
            let batch = tail.next(from, PAUSE, &mut behind).map_err(|error| (error, tail.has_failed()))?;
            if let Some(end) = batch.end {
                reading.follower.ends(end).map_err(no_log)?;
            }
            self.read(&mut reading, &batch.records, tail)?;
            if batch.records.is_empty() && self.is_wanted(&reading) {
                self.cut(&mut reading, 0, false, tail).map_err(failed)?;
            }
            if !batch.records.is_empty() {
                from = reading.follower.position().next;
                self.set_trouble(None);
            }
            if tail.has_read_to(reading.follower.position().next) {
                self.is_ready.store(true, Ordering::Relaxed);
                self.grown.notify_all();
            }
            let now = self.now();
            let gone = self.cuts().prune(now);
            drop(gone); // without the lock
        }
        Ok(())
    }

    /// Whether somebody waits for one of the last commits, after which the log has no cut yet. It may not get one for a while: its writer may be gone.
    fn is_wanted(&self, reading: &Reading) -> bool {
        let number = reading.follower.position().standing.number;
        (self.cuts().applied() + 1..=number).contains(&self.wanted.load(Ordering::Relaxed))
    }

    /// Makes the cut of what the store has, if that failed after the store had changed.
    fn catch_up(&self, number: u64) -> Result<()> {
        let applied = self.cuts().applied();
        if applied < number {
            let pool = Arc::new(Pool::new(&*self.store, number, self.newest().as_deref())?);
            let now = self.now();
            let gone = self.cuts().made(number, 0, Some((applied + 1, pool)), now);
            drop(gone); // without the lock
        }
        Ok(())
    }

    fn read(&self, reading: &mut Reading, entries: &[Entry], tail: &Tail) -> Result<(), (GraphError, bool)> {
        let mut ahead = reading.follower.clone();
        let is_cut = |entry: &Entry| ahead.read(entry.offset, entry.sum, &entry.record).is_ok_and(|step| step.is_cut);
        let mut left = entries.iter().map(is_cut).filter(|is_cut| *is_cut).count();
        for Entry { offset, sum, record } in entries {
            let step = reading.follower.read(*offset, *sum, record).map_err(no_log)?;
            if step.section.is_some() {
                reading.open.push(record.clone());
            }
            if step.is_cut {
                let number = reading.follower.position().standing.number;
                let rank = rank(reading.before, number);
                (left, reading.before) = (left - 1, number);
                if left == 0 || rank >= COARSE || step.is_base {
                    self.cut(reading, rank, step.is_base, tail).map_err(|error| (error, false))?;
                }
            }
        }
        Ok(())
    }

    /// Keeps the changes since the last cut, and makes one. At a base, keeps the position even if there are none.
    fn cut(&self, reading: &mut Reading, rank: u32, is_base: bool, tail: &Tail) -> Result<()> {
        let (position, open) = (reading.follower.position(), std::mem::take(&mut reading.open));
        let first = first_of(&open);
        if first.is_some() || is_base {
            let sections = || open.iter().filter_map(|record| section_of(record, self.number));
            self.store.change(&mut |store| {
                sections().try_for_each(|section| self.apply(section, tail, store))?;
                store.put_log_position(&position.to_bytes()?)
            })?;
            self.kept.store(position.next, Ordering::Release);
        }
        let changed = match first {
            None => None,
            Some(first) => {
                let before = self.newest();
                Some((first, Arc::new(Pool::new(&*self.store, position.standing.number, before.as_deref())?)))
            }
        };
        let now = self.now();
        let gone = self.cuts().made(position.standing.number, rank, changed, now);
        self.grown.notify_all();
        drop(gone); // without the lock
        Ok(())
    }

    fn apply(&self, section: &Section, tail: &Tail, store: &mut dyn FollowerWrite) -> Result<()> {
        tail.parts(&section.earlier, self.number).try_for_each(|part| apply(&part?, store))?;
        apply(&section.changes, store)
    }

    fn newest(&self) -> Option<Arc<Pool>> {
        let cuts = self.cuts();
        if let Found::At(pool) = cuts.at(cuts.applied()) { Some(pool.clone()) } else { None }
    }

    /// Whether it has read what the log had when this process began, or will never read it.
    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed) || self.trouble().is_some_and(|trouble| trouble.is_final)
    }

    /// Whether it will never read any further by itself.
    pub fn has_failed(&self) -> Option<String> {
        self.trouble().filter(|trouble| trouble.is_final).map(|trouble| trouble.why)
    }

    /// How often its cuts are held.
    pub fn holds(&self) -> u32 {
        self.cuts().holds()
    }

    /// Whether the log was cut before the shard had applied it. A backup has what it missed.
    pub fn has_missed(&self) -> bool {
        self.has_missed.load(Ordering::Relaxed)
    }

    /// How the shard is.
    pub fn status(&self) -> Result<ShardStatus> {
        let (number, cuts) = {
            let cuts = self.cuts();
            (cuts.applied(), cuts.kept() as u64)
        };
        let (bytes, trouble) = (self.store.bytes()?, self.trouble().map(|trouble| trouble.why));
        Ok(ShardStatus { shard: self.number, number, cuts, bytes, trouble })
    }

    fn trouble(&self) -> Option<Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_trouble(&self, trouble: Option<Trouble>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// Fails if what the shard has is not what the log says.
    fn may_be_read(&self) -> Result<()> {
        match self.trouble().filter(|trouble| trouble.is_astray) {
            Some(trouble) => Err(GraphError::Unavailable(format!("shard {}: {}", self.number, trouble.why))),
            None => Ok(()),
        }
    }

    /// Somebody waits for a shard that has come to this number.
    pub fn spare(&self, number: u64) {
        let now = self.now();
        self.cuts().spare(number, now);
    }

    /// How far it is. Waits until it is at a number or after it.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if it has not read the log to its end since the process began.
    pub fn reached(&self, number: u64, until: Instant) -> Result<Reached> {
        self.may_be_read()?;
        let mut cuts = self.cuts();
        loop {
            self.want(number, cuts.applied());
            let (left, is_ready) = (until.saturating_duration_since(Instant::now()), self.is_ready.load(Ordering::Relaxed));
            if is_ready && (cuts.applied() >= number || left.is_zero()) {
                return Ok(cuts.reached());
            }
            if left.is_zero() || number == 0 {
                let applied = cuts.applied(); // another node may have the shard: whoever asks comes back
                return Err(GraphError::Unavailable(format!(
                    "shard {} still reads the log, and has come to commit {applied}",
                    self.number
                )));
            }
            cuts = self.grown.wait_timeout(cuts, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Somebody waits for a number, and the shard has come to `applied`. A larger one that others wait for may never come, and they say so again
    /// whenever there is a new cut.
    fn want(&self, number: u64, applied: u64) {
        let known = self.wanted.load(Ordering::Relaxed);
        if number > applied && !(applied + 1..=number).contains(&known) {
            self.wanted.store(number, Ordering::Relaxed);
        }
    }

    /// The shard at a number. Waits a little if it has not come so far, but not beyond a deadline.
    ///
    /// # Errors
    /// [`GraphError::Unavailable`] if it does not come so far, or if that cut is gone.
    pub fn at(&self, number: u64, deadline: Option<Instant>) -> Result<Arc<Pool>> {
        let latest = Instant::now() + PATIENCE;
        let until = deadline.map_or(latest, |deadline| deadline.min(latest));
        self.may_be_read()?;
        let mut cuts = self.cuts();
        loop {
            match cuts.at(number) {
                Found::At(pool) => return Ok(pool.clone()),
                Found::Gone => return Err(self.gone(number)),
                Found::Later => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.behind(number, cuts.applied()));
            }
            cuts = self.grown.wait_timeout(cuts, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Keeps the cut of a number for somebody who reads it, and gives it.
    pub fn hold(&self, number: u64) -> Result<Arc<Pool>> {
        let pool = self.at(number, None)?;
        if self.cuts().hold(number) { Ok(pool) } else { Err(self.gone(number)) }
    }

    pub fn release(&self, number: u64) {
        self.cuts().release(number);
    }

    /// Copies the store into a new directory, once it has applied the log beyond an offset. Gives the position of the copy.
    ///
    /// # Errors
    /// If it does not come so far, if `is_cancelled`, or if the copy cannot be written.
    pub fn copy_to(&self, directory: &Path, beyond: u64, is_cancelled: &dyn Fn() -> bool) -> Result<Position> {
        while self.kept.load(Ordering::Acquire) <= beyond {
            self.may_be_read()?;
            if let Some(trouble) = self.trouble() {
                return Err(GraphError::Unavailable(format!("shard {}: {}", self.number, trouble.why)));
            }
            if is_cancelled() {
                return Err(GraphError::Cancelled);
            }
            std::thread::sleep(LOOK);
        }
        match self.store.copy_to(directory)? {
            Some(position) => Position::from_bytes(&position),
            None => Err(GraphError::corrupt("a copy of a shard that does not say how far it is")),
        }
    }

    fn gone(&self, number: u64) -> GraphError {
        GraphError::Unavailable(format!("shard {} does not keep the graph at {number} any longer", self.number))
    }

    fn behind(&self, number: u64, applied: u64) -> GraphError {
        let why = self.trouble().map_or(String::new(), |trouble| format!(": {}", trouble.why));
        GraphError::Unavailable(format!(
            "shard {} has applied the log up to {applied}, not up to {number}{why}",
            self.number
        ))
    }
}

/// What an error of the log means to a shard: whether the two belong together no more.
fn no_log(error: LogError) -> (GraphError, bool) {
    let what = error.to_string();
    match error {
        LogError::Cut { .. } => (GraphError::Invalid(what), false),
        LogError::Changed { .. } => (GraphError::corrupt(what), true),
        LogError::Short { .. } => (GraphError::Unavailable(what), true),
    }
}

fn position_of(store: &dyn ShardStore) -> Result<Position> {
    store.log_position()?.map_or(Ok(Position::default()), |bytes| Position::from_bytes(&bytes))
}

fn section_of(record: &Record, shard: u16) -> Option<&Section> {
    if let Record::Commit(commit) = record { commit.section(shard) } else { None }
}

fn first_of(open: &[Arc<Record>]) -> Option<u64> {
    if let Record::Commit(commit) = &**open.first()? { Some(commit.number) } else { None }
}
