//! Reading a graph on several threads, each with its own view.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};

use mangrove_graph::{GraphView, ReadContext};

use super::{BETWEEN_LOOKS, text_of};
use crate::error::{AnalyticsError, Result};

/// What `work` gives for each number below `count`, in order. The first error ends all.
///
/// The calling thread only waits: it honours its limits, and tells `show` how many numbers are done. A view that cannot be forked, such as
/// that of a transaction, is read by the calling thread alone.
pub fn with_views<T: Send>(
    view: &dyn GraphView,
    threads: usize,
    count: usize,
    (limits, show): (&ReadContext, &mut dyn FnMut(u64)),
    work: impl Fn(&dyn GraphView, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut forks = Vec::new();
    for _ in 0..threads.min(count) {
        forks.extend(view.fork()?);
    }
    if forks.is_empty() {
        return (0..count).map(|number| work(view, number).inspect(|_| show(number as u64 + 1))).collect();
    }
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
            scope.spawn(move || run(&*fork, tell));
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
