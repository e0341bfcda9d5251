//! What is made once, when it is first needed.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mangrove_graph::ReadContext;

use crate::error::Result;

/// A thing that one thread makes while others that need it wait. A failure is not kept: whoever comes next tries again.
pub struct Lazy<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

enum State<T> {
    Nothing,
    InTheMaking,
    Made(Arc<T>),
}

/// How often one who waits looks at its limits.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State::Nothing), changed: Condvar::new() }
    }
}

impl<T> Lazy<T> {
    /// The thing, made by `make` if nobody has made it. Who waits for another stops when its limits say so.
    pub fn get(&self, limits: Option<&ReadContext>, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut state = self.lock();
        loop {
            match &*state {
                State::Made(known) => return Ok(known.clone()),
                State::Nothing => break,
                State::InTheMaking => {
                    limits.map_or(Ok(()), ReadContext::check)?;
                    let waited = self.changed.wait_timeout(state, BETWEEN_LOOKS);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
        *state = State::InTheMaking;
        drop(state);
        let mut making = Making { of: self, made: None };
        let made = Arc::new(make()?);
        making.made = Some(made.clone());
        Ok(made)
    }

    /// The thing, if it is there.
    pub fn known(&self) -> Option<Arc<T>> {
        if let State::Made(known) = &*self.lock() { Some(known.clone()) } else { None }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells those who wait, also after an error or a panic.
struct Making<'l, T> {
    of: &'l Lazy<T>,
    made: Option<Arc<T>>,
}

impl<T> Drop for Making<'_, T> {
    fn drop(&mut self) {
        *self.of.lock() = self.made.take().map_or(State::Nothing, State::Made);
        self.of.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::LakeError;

    #[test]
    fn one_makes_it_and_others_wait_within_their_limits() {
        let (lazy, made) = (Lazy::default(), AtomicUsize::new(0));
        assert!(lazy.get(None, || Err(LakeError::Cancelled)).is_err() && lazy.known().is_none());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let got = lazy.get(None, || {
                        std::thread::sleep(Duration::from_millis(100));
                        Ok(made.fetch_add(1, Ordering::Relaxed))
                    });
                    assert_eq!(*got.unwrap(), 0);
                });
            }
            while !matches!(*lazy.lock(), State::InTheMaking) {
                std::thread::yield_now();
            }
            let limits = ReadContext::default();
            limits.cancel.cancel();
            assert!(lazy.get(Some(&limits), || Ok(7)).is_err(), "it does not wait for the others");
        });
        assert_eq!((made.load(Ordering::Relaxed), lazy.known().as_deref()), (1, Some(&0)));
    }
}
