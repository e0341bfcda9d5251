//! Stack for work that goes deep.
//!
//! A chain pulls through each of its steps, and a step through its children: a query of 2,000 steps goes 2,000 operators deep. The
//! thread is the caller's, and may have as little as 256 kB. So every recursion over steps passes through [`deep`], which goes on
//! with a stack of its own where the thread's comes to its end.

use std::cell::Cell;

/// What all work between two calls of [`deep`] takes at most.
const NEEDED: usize = 128 << 10;
const MORE: usize = 2 << 20;

thread_local! {
    static IS_MOVED: Cell<bool> = const { Cell::new(false) };
}

/// Does work that may call this function again, many levels deep.
pub fn deep<T>(work: impl FnOnce() -> T) -> T {
    with_room(NEEDED, work)
}

/// Does work that takes up to so many bytes of stack, at most 2 MB.
pub fn with_room<T>(needed: usize, work: impl FnOnce() -> T) -> T {
    match stacker::remaining_stack() {
        Some(left) if left < needed => moved(work),
        _ => work(),
    }
}

/// Whether this thread works on another stack than its own. Code that compares addresses with the bounds of the thread's stack, as
/// CPython does from 3.14 on, must not be called then.
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
