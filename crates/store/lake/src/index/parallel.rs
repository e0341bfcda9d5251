//! Runs pieces of work on all cores.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mangrove_graph::ReadContext;

use crate::error::{LakeError, Result};

/// What `work` gives for each number below `count`, in order. The calling thread works, too, so that its limits are honoured. The
/// first error ends all.
pub fn in_parallel<T: Send>(
    count: usize,
    limits: Option<&ReadContext>,
    work: impl Fn(usize, Option<&ReadContext>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(count));
    let run = |limits: Option<&ReadContext>| {
        while !has_failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let outcome = limits.map_or(Ok(()), ReadContext::check).map_err(LakeError::from);
            let outcome = outcome.and_then(|()| work(number, limits));
            if outcome.is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..cores.min(count))
            .map(|_| {
                let limits = limits.map(ReadContext::for_another_thread);
                scope.spawn(move || run(limits.as_ref()))
            })
            .collect();
        run(limits);
        // A helper that panicked left its piece undone, which is an error below.
        helpers.into_iter().for_each(|helper| drop(helper.join()));
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    let all = done.into_iter().map(|(_, outcome)| outcome).collect::<Result<Vec<T>>>()?;
    match all.len() == count {
        true => Ok(all),
        false => Err(LakeError::Unsupported("a thread that builds an index panicked".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_an_error_ends_all() {
        assert_eq!(in_parallel(100, None, |n, _| Ok(n * n)).unwrap(), (0..100).map(|n| n * n).collect::<Vec<_>>());
        assert!(in_parallel(0, None, |n, _| Ok(n)).unwrap().is_empty());
        let failed = in_parallel(100, None, |n, _| if n == 50 { Err(LakeError::Cancelled) } else { Ok(n) });
        assert!(matches!(failed, Err(LakeError::Cancelled)));
        let limits = ReadContext::default();
        limits.cancel.cancel();
        assert!(in_parallel(3, Some(&limits), |n, _| Ok(n)).is_err());
    }
}
