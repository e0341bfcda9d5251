//! The turn to write: one transaction after the other, in the order in which they asked.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Whose turn it is.
#[derive(Default)]
pub struct Turns {
    state: Mutex<Queue>,
    moved: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<u64>,
    /// The ticket of who has the turn, since when, and who that is.
    held: Option<(u64, Instant, String)>,
    last: u64,
}

/// A place in the queue, and then the turn. Dropping it gives it back.
pub struct Ticket {
    turns: Arc<Turns>,
    number: u64,
}

/// Who has the turn, and how long.
pub struct Holder {
    pub who: String,
    pub held: Duration,
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody waits for the turn.
    pub fn is_awaited(&self) -> bool {
        !self.state().waiting.is_empty()
    }

    /// Takes a place in the queue.
    pub fn queue(self: &Arc<Self>) -> Ticket {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.waiting.push_back(number);
        Ticket { turns: self.clone(), number }
    }
}

impl Ticket {
    /// Waits for the turn, at most so long. `who` is told to those who wait for it.
    pub fn wait(&self, patience: Duration, who: &str) -> Result<(), Holder> {
        let until = Instant::now() + patience;
        let mut state = self.turns.state();
        loop {
            match &state.held {
                Some((number, ..)) if *number == self.number => return Ok(()),
                None if state.waiting.front() == Some(&self.number) => {
                    state.waiting.pop_front();
                    state.held = Some((self.number, Instant::now(), who.to_owned()));
                    return Ok(());
                }
                _ => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let held = state.held.as_ref();
                let held = held.map(|(_, since, who)| Holder { who: who.clone(), held: since.elapsed() });
                return Err(held.unwrap_or(Holder { who: "another writer".into(), held: Duration::ZERO }));
            }
            state = self.turns.moved.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        state.waiting.retain(|number| *number != self.number);
        if state.held.as_ref().is_some_and(|(number, ..)| *number == self.number) {
            state.held = None;
        }
        drop(state);
        self.turns.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round_in_order() {
        let turns = Arc::new(Turns::default());
        let [first, second, third] = [(); 3].map(|()| turns.queue());
        let now = Duration::ZERO;
        assert!(second.wait(now, "b").is_err() && first.wait(now, "a").is_ok() && first.wait(now, "a").is_ok());
        assert_eq!(third.wait(now, "c").err().map(|holder| holder.who), Some("a".into()));
        drop(second);
        drop(first);
        assert!(third.wait(Duration::from_secs(60), "c").is_ok());
        let last = turns.queue();
        let waiting = std::thread::spawn(move || last.wait(Duration::from_secs(60), "d").is_ok());
        drop(third);
        assert!(waiting.join().unwrap());
    }
}
