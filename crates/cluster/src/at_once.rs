//! Work that waits for other processes, side by side.

use std::sync::LazyLock;

use mangrove_graph::Result;

/// So many calls wait at the same time, for all queries of a process. Others wait for a place.
const THREADS: usize = 64;

static WAITING: LazyLock<Option<rayon::ThreadPool>> = LazyLock::new(|| {
    let named = |number| format!("mangrove call {number}");
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).stack_size(1 << 20).thread_name(named).build().ok()
});

/// Calls `f` with each item, at the same time, and gives the answers in order.
///
/// # Errors
/// The first in order. All calls come to their ends.
pub fn at_once<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> Result<T> + Sync) -> Result<Vec<T>> {
    each_at_once(items, f).into_iter().collect()
}

/// The same, with the error of each call.
pub fn each_at_once<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> Result<T> + Sync) -> Vec<Result<T>> {
    let pool = match &*WAITING {
        Some(pool) if items.len() > 1 => pool,
        // A system without threads goes on, one after the other.
        _ => return items.into_iter().map(f).collect(),
    };
    let mut answers: Vec<Option<Result<T>>> = items.iter().map(|_| None).collect();
    pool.in_place_scope(|scope| {
        let mut jobs = items.into_iter().zip(&mut answers);
        let own = jobs.next();
        for (item, answer) in jobs {
            let f = &f;
            scope.spawn(move |_| *answer = Some(f(item)));
        }
        // This thread would only wait.
        if let Some((item, answer)) = own {
            *answer = Some(f(item));
        }
    });
    answers.into_iter().flatten().collect()
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
