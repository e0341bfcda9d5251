//! A part of a job at a node: the thread that does it, the client that waits for it, and the nodes that send it frames.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mangrove_analytics::engine::{Frame, Report};
use mangrove_analytics::{AnalyticsError, Values};
use mangrove_cluster::wire::{Opaque, SentError};
use mangrove_graph::{Budget, CancelToken, GraphError, ReadContext};

use super::words::{Failure, Kept, Told};

/// How often who waits looks whether to stop.
const LOOK: Duration = Duration::from_millis(20);

pub struct Job {
    pub id: u64,
    /// Who has begun it.
    pub session: u64,
    /// Stops the thread that does it.
    pub cancel: CancelToken,
    /// The number of its part, and of all parts.
    at: u32,
    parts: u32,
    /// The memory of the part. Frames that wait for it are in it.
    budget: Budget,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    /// The rounds to whose end the part has come.
    rounds: u64,
    /// What the client has not heard yet.
    said: Option<Told>,
    /// The last round to whose end all parts have come, and what all of them report.
    went: Option<(u64, Report)>,
    /// The checkpoint that is to be made.
    due: Option<String>,
    /// What has come of the last one, until the client hears it.
    kept: Option<Kept>,
    /// By round and sender.
    frames: BTreeMap<u64, BTreeMap<u32, Vec<u8>>>,
    /// Those of its vertices, once a vertex program has ended.
    values: Option<Values>,
    failed: Option<Failure>,
}

impl Job {
    /// `at` is the number of the part, of so many parts. Frames take from its budget.
    pub fn new(id: u64, session: u64, (at, parts): (u32, u32), budget: Budget) -> Self {
        let (cancel, state, moved) = (CancelToken::default(), Mutex::default(), Condvar::new());
        Self { id, session, cancel, at, parts, budget, state, moved }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.moved.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
    }

    /// The part has come to the end of a round. Waits for the others.
    pub fn pass(&self, round: u64, report: Report, limits: &ReadContext) -> Result<Report, AnalyticsError> {
        let mut state = self.state();
        state.rounds = round + 1;
        state.said = Some(Told::Come { round, report: report.into(), kept: state.kept.take() });
        self.moved.notify_all();
        loop {
            if let Some(failure) = &state.failed {
                return Err(failure.clone().into());
            }
            if let Some((_, report)) = state.went.filter(|(went, _)| *went == round) {
                return Ok(report);
            }
            limits.check()?;
            state = self.wait(state);
        }
    }

    /// All parts have come to the end of a round. A checkpoint of this name is to be made.
    pub fn go(&self, round: u64, report: Report, keep: Option<String>) -> Result<(), Failure> {
        let mut state = self.state();
        match state.failed.clone() {
            Some(failure) => Err(failure),
            None if round.checked_add(1) == Some(state.rounds) && state.went.is_none_or(|(went, _)| went + 1 == round) => {
                state.went = Some((round, report));
                state.due = keep.or(state.due.take());
                self.moved.notify_all();
                Ok(())
            }
            None => Err(strange()),
        }
    }

    /// The name of the checkpoint that is to be made now.
    pub fn due(&self) -> Option<String> {
        self.state().due.take()
    }

    pub fn has_kept(&self, kept: Kept) {
        self.state().kept = Some(kept);
    }

    /// What the part says next. If the limits end the wait, the job ends.
    pub fn told(&self, limits: &ReadContext) -> Told {
        let mut state = self.state();
        loop {
            if let Some(failure) = state.failed.clone() {
                return Told::Failed(failure);
            }
            if let Some(said) = state.said.take() {
                return said;
            }
            if let Err(error) = limits.check() {
                drop(state);
                let failure = Failure::Graph(error.into());
                self.end(failure.clone());
                return Told::Failed(failure);
            }
            state = self.wait(state);
        }
    }

    /// Takes a frame of another part, or the next piece of one. It is of the round that the part is in, or has just come to the end of. If
    /// the part has no memory for it, the job fails.
    pub fn put(&self, round: u64, from: u32, bytes: Vec<u8>) -> Result<(), Failure> {
        let mut state = self.state();
        if let Some(failure) = &state.failed {
            return Err(failure.clone());
        }
        let is_near = round == state.rounds || round.checked_add(1) == Some(state.rounds);
        if !is_near || from == self.at || from >= self.parts {
            return Err(strange());
        }
        if !self.budget.take(bytes.len()) {
            self.budget.give_back(bytes.len());
            drop(state);
            let failure = Failure::Graph(GraphError::OverBudget { bytes_max: self.budget.bytes_max() }.into());
            self.end(failure.clone());
            return Err(failure);
        }
        let kept = state.frames.entry(round).or_default().entry(from).or_default();
        if kept.is_empty() {
            *kept = bytes;
        } else {
            kept.extend_from_slice(&bytes);
        }
        Ok(())
    }

    /// The frames of a round, to whose end all parts have come.
    pub fn frames(&self, round: u64) -> Vec<Frame> {
        let frames = self.state().frames.remove(&round).unwrap_or_default();
        self.budget.give_back(frames.values().map(Vec::len).sum());
        frames.into_iter().map(|(from, bytes)| Frame { from, to: self.at, bytes }).collect()
    }

    /// The work has ended. The client hears `said`, and may ask for the values.
    pub fn done(&self, said: Told, values: Option<Values>) {
        let mut state = self.state();
        if state.failed.is_none() {
            (state.values, state.said) = (values, Some(said));
        }
        self.moved.notify_all();
    }

    /// Some of the values.
    pub fn values(&self, first: u64, count: u64) -> Result<Opaque, Failure> {
        let state = self.state();
        if let Some(failure) = &state.failed {
            return Err(failure.clone());
        }
        let range = usize::try_from(first).ok().zip(usize::try_from(first.saturating_add(count)).ok());
        let bytes = range.and_then(|(first, end)| state.values.as_ref()?.bytes(first..end));
        bytes.map(Opaque).ok_or_else(strange)
    }

    /// Ends the job, unless it has failed already. What it holds goes.
    pub fn end(&self, failure: Failure) {
        self.cancel.cancel();
        let mut state = self.state();
        state.failed.get_or_insert(failure);
        let gone = (std::mem::take(&mut state.frames), state.values.take());
        self.budget.give_back(gone.0.values().flat_map(BTreeMap::values).map(Vec::len).sum());
        self.moved.notify_all();
        drop((state, gone));
    }

    pub fn has_failed(&self) -> bool {
        self.state().failed.is_some()
    }
}

fn strange() -> Failure {
    let what = "a node and its client are not in the same round".into();
    Failure::Graph(SentError::from(GraphError::Unavailable(what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(bytes_max: usize) -> Job {
        Job::new(7, 0, (0, 2), Budget::new(bytes_max))
    }

    fn report(changed: u64) -> Report {
        Report { changed, ..Report::default() }
    }

    #[test]
    fn rounds_pass_when_all_have_come() {
        let (job, limits) = (job(usize::MAX), ReadContext::default());
        job.has_kept(Kept::NoStore);
        std::thread::scope(|scope| {
            let computing = scope.spawn(|| {
                let first = job.pass(0, report(1), &limits).unwrap();
                let frames = job.frames(0);
                (first.changed, frames, job.pass(1, report(2), &limits).unwrap().changed)
            });
            assert!(matches!(job.told(&limits), Told::Come { round: 0, kept: Some(Kept::NoStore), .. }));
            assert!(job.go(1, report(9), None).is_err(), "it has not come so far");
            job.put(1, 1, vec![1]).unwrap();
            job.put(1, 1, vec![2]).unwrap();
            assert!(job.put(3, 1, vec![1]).is_err() && job.put(1, 0, vec![1]).is_err() && job.put(1, 2, vec![1]).is_err());
            job.go(0, report(7), Some("one".into())).unwrap();
            assert!(matches!(job.told(&limits), Told::Come { round: 1, kept: None, .. }));
            assert_eq!((job.due().as_deref(), job.due()), (Some("one"), None), "once");
            let received = job.frames(1);
            assert_eq!((received.len(), &received[0].bytes[..]), (1, &[1, 2][..]), "pieces come together");
            job.go(1, report(8), None).unwrap();
            assert_eq!(computing.join().unwrap(), (7, Vec::new(), 8));
        });
    }

    #[test]
    fn frames_beyond_the_memory_of_a_part_end_the_job() {
        let job = job(10);
        job.put(0, 1, vec![1; 6]).unwrap();
        assert_eq!(job.frames(0).len(), 1);
        job.put(0, 1, vec![1; 6]).unwrap();
        assert!(!job.has_failed(), "the first frame is gone");
        let failure = job.put(0, 1, vec![1; 5]).unwrap_err();
        assert!(matches!(failure, Failure::Graph(SentError::OverBudget(10))), "{failure:?}");
        assert!(job.has_failed() && job.cancel.is_cancelled() && job.frames(0).is_empty());
        assert!(job.budget.take(10), "it holds nothing any more");
    }

    #[test]
    fn a_job_that_ends_answers_all_who_wait() {
        let (job, limits) = (job(usize::MAX), ReadContext::default());
        std::thread::scope(|scope| {
            let computing = scope.spawn(|| job.pass(0, report(1), &limits));
            job.told(&limits);
            let stopped = ReadContext::default();
            stopped.cancel.cancel();
            assert!(matches!(job.told(&stopped), Told::Failed(Failure::Graph(SentError::Stopped))));
            assert!(computing.join().unwrap().is_err());
        });
        assert!(job.cancel.is_cancelled() && job.has_failed());
        assert!(job.put(0, 1, Vec::new()).is_err() && job.values(0, 0).is_err() && job.go(0, report(0), None).is_err());
    }
}
