//! Reading a graph on several threads, each with its own view.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use mangrove_graph::GraphView;

use super::text_of;
use crate::error::{AnalyticsError, Result};

/// What `work` gives for each number below `count`, in order. The calling thread works, too, so that the limits of its view are
/// honoured. A view that cannot be forked, such as that of a transaction, is read by it alone. The first error ends all.
pub fn with_views<T: Send>(
    view: &dyn GraphView,
    threads: usize,
    count: usize,
    work: impl Fn(&dyn GraphView, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut forks = Vec::new();
    for _ in 1..threads.min(count) {
        forks.extend(view.fork()?);
    }
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(count));
    let run = |view: &dyn GraphView| {
        while !has_failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| work(view, number)))
                .unwrap_or_else(|panic| Err(AnalyticsError::Panicked(text_of(&*panic))));
            has_failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
        }
    };
    std::thread::scope(|scope| {
        for fork in forks {
            let run = &run;
            scope.spawn(move || run(&*fork));
        }
        run(view);
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
