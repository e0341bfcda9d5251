//! Work that waits for other processes, side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};

use mangrove_graph::Result;

/// So many threads wait at the same time, for all queries of a process, beside those that ask.
const THREADS: usize = 256;

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// The right to one more thread.
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let one_more = |running: usize| (running < THREADS).then_some(running + 1);
        RUNNING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok().then_some(Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Calls `f` with each item, at the same time, and gives the answers in order.
///
/// # Errors
/// The first in order. All calls come to their ends.
pub fn at_once<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> Result<T> + Sync) -> Result<Vec<T>> {
    each_at_once(items, f).into_iter().collect()
}

/// The same, with the error of each call.
///
/// Each call has a thread of its own: one that waits for a reply costs less than one of a pool, which looks for work before it sleeps. Without
/// further threads, this one makes the calls that are left.
pub fn each_at_once<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> Result<T> + Sync) -> Vec<Result<T>> {
    let count = items.len();
    if count < 2 {
        return items.into_iter().map(f).collect();
    }
    let answers = Mutex::new(Vec::from_iter((0..count).map(|_| None)));
    let items = Mutex::new(items.into_iter().enumerate());
    let calls = || {
        loop {
            let next = lock(&items).next();
            let Some((at, item)) = next else { break };
            let answer = f(item);
            lock(&answers)[at] = Some(answer);
        }
    };
    thread::scope(|scope| {
        let begin = |place: Place| {
            let named = Builder::new().name("mangrove call".into()).stack_size(1 << 20);
            let calls = &calls;
            named.spawn_scoped(scope, move || {
                let _place = place;
                calls();
            })
        };
        // The first that cannot begin ends this.
        (1..count).map_while(|_| Place::take()).map_while(|place| begin(place).ok()).for_each(drop);
        calls();
    });
    answers.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of a call is passed on, and leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use mangrove_graph::GraphError;

    use super::*;

    #[test]
    fn calls_wait_side_by_side_and_answer_in_order() {
        let barrier = Barrier::new(8); // one after the other, nobody would pass
        let answers = at_once((0..8).collect(), |item: i32| {
            barrier.wait();
            Ok(item * 2)
        });
        assert_eq!(answers.unwrap(), [0, 2, 4, 6, 8, 10, 12, 14]);
        let fail = |item: i32| if item % 2 == 1 { Err(GraphError::Unavailable(item.to_string())) } else { Ok(item) };
        assert!(matches!(at_once(vec![0, 1, 2, 3], fail), Err(GraphError::Unavailable(what)) if what == "1"));
        assert_eq!(each_at_once(vec![0, 1, 2], fail).iter().filter(|answer| answer.is_ok()).count(), 2);
    }
}
