//! Work that waits for other processes, side by side.

use std::panic::resume_unwind;
use std::thread::{self, Builder};

use mangrove_graph::{GraphError, Result};

/// So many calls of a query wait at the same time. The others wait for a place.
const THREADS: usize = 64;

/// Calls `f` with each item, at the same time, and gives the answers in order.
///
/// # Errors
/// The first in order. All calls come to their ends.
pub fn at_once<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> Result<T> + Sync) -> Result<Vec<T>> {
    each_at_once(items, f).into_iter().collect()
}

/// The same, with the error of each call.
pub fn each_at_once<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> Result<T> + Sync) -> Vec<Result<T>> {
    let mut items = items.into_iter();
    let mut answers = Vec::with_capacity(items.len());
    // This thread makes the first call, because it would only wait.
    while let Some(own) = items.next() {
        let others: Vec<I> = items.by_ref().take(THREADS - 1).collect();
        together(own, others, &f, &mut answers);
    }
    answers
}

/// A thread that waits for a reply costs less than one of a pool, which looks for work for a while before it sleeps.
fn together<I: Send, T: Send>(own: I, others: Vec<I>, f: &(impl Fn(I) -> Result<T> + Sync), answers: &mut Vec<Result<T>>) {
    if others.is_empty() {
        return answers.push(f(own));
    }
    thread::scope(|scope| {
        let waiting: Vec<_> = others
            .into_iter()
            .map(|item| Builder::new().name("mangrove call".into()).stack_size(1 << 20).spawn_scoped(scope, move || f(item)))
            .collect();
        answers.push(f(own));
        for call in waiting {
            answers.push(match call {
                Ok(call) => call.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(error) => Err(GraphError::Unavailable(format!("no thread for a call to a node: {error}"))),
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

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
