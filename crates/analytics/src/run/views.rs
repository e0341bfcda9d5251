//! Reading a graph on several threads, each with its own view.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};

use mangrove_graph::{GraphView, ReadContext};

use super::{BETWEEN_LOOKS, text_of};
use crate::error::{AnalyticsError, Result};

/// A view, and others of the same graph for other threads.
pub struct Views<'a> {
    view: &'a dyn GraphView,
    forks: Vec<Box<dyn GraphView + Send>>,
}

impl<'a> Views<'a> {
    /// Takes the other views now, because a graph that has changed since gives none. So does that of a transaction: then the calling
    /// thread reads alone.
    pub fn new(view: &'a dyn GraphView, threads: usize) -> Result<Self> {
        let mut forks = Vec::new();
        for _ in 0..threads {
            forks.extend(view.fork()?);
        }
        Ok(Self { view, forks })
    }

    /// What `work` gives for each number below `count`, in order. The first error ends all.
    ///
    /// The calling thread only waits: it honours its limits, and tells `show` how many numbers are done.
    pub fn map<T: Send>(
        &mut self,
        count: usize,
        (limits, show): (&ReadContext, &mut dyn FnMut(u64)),
        work: impl Fn(&dyn GraphView, usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        if self.forks.is_empty() {
            return (0..count)
                .map(|number| {
                    limits.check()?;
                    work(self.view, number).inspect(|_| show(number as u64 + 1))
                })
                .collect();
        }
        on_threads(self.forks.iter_mut().take(count), count, (limits, show), work)
    }
}

fn on_threads<'f, T: Send>(
    forks: impl Iterator<Item = &'f mut Box<dyn GraphView + Send>>,
    count: usize,
    (limits, show): (&ReadContext, &mut dyn FnMut(u64)),
    work: impl Fn(&dyn GraphView, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (tell, told) = mpsc::channel();
    let run = |view: &dyn GraphView, tell: mpsc::Sender<(usize, Result<T>)>| {
        while !is_stopped.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| work(view, number)))
                .unwrap_or_else(|panic| Err(AnalyticsError::Panicked(text_of(&*panic))));
            // The calling thread listens until all are done.
            let _ = tell.send((number, outcome));
        }
    };
    let mut done: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let mut failure = None;
    std::thread::scope(|scope| {
        for fork in forks {
            let (run, tell) = (&run, tell.clone());
            scope.spawn(move || run(&**fork, tell));
        }
        drop(tell);
        let mut finished = 0;
        loop {
            match told.recv_timeout(BETWEEN_LOOKS) {
                Ok((number, Ok(one))) => (done[number], finished) = (Some(one), finished + 1),
                Ok((_, Err(error))) => failure = failure.take().or(Some(error)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => show(finished),
            }
            if failure.is_none() {
                failure = limits.check().err().map(AnalyticsError::from);
            }
            is_stopped.fetch_or(failure.is_some(), Ordering::Relaxed);
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(done.into_iter().flatten().collect()),
    }
}
