//! Locks that a panic does not poison.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a mutex guards. A panic of another thread that held it changes nothing: no data is left halfway.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
