//! Stack for work that goes deep.
//!
//! A chain pulls through each of its steps, and a step through its children. So a query of 2,000 steps goes 2,000 operators deep.
//! The thread belongs to the caller and may have as little as 256 kB of stack. So every recursion over steps passes through
//! [`deep`]. When the thread's stack runs short, it continues on a new stack.

use std::cell::Cell;

/// The most stack that the work between two calls of [`deep`] takes.
const NEEDED: usize = 128 << 10;
const MORE: usize = 2 << 20;

thread_local! {
    static IS_MOVED: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that may call this function again, many levels deep.
pub fn deep<T>(work: impl FnOnce() -> T) -> T {
    with_room(NEEDED, work)
}

/// Runs work that takes up to `needed` bytes of stack, at most 2 MB.
pub fn with_room<T>(needed: usize, work: impl FnOnce() -> T) -> T {
    match stacker::remaining_stack() {
        Some(left) if left < needed => moved(work),
        _ => work(),
    }
}

/// Whether this thread runs on another stack than its own. Do not call code that compares addresses with the bounds of the thread's
/// stack then; CPython does so from 3.14 on.
pub fn is_moved() -> bool {
    IS_MOVED.get()
}

#[cold]
fn moved<T>(work: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_MOVED.set(self.0);
        }
    }
    let _restore = Restore(IS_MOVED.replace(true));
    stacker::grow(MORE, work)
}
