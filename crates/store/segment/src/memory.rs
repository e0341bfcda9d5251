//! Prefetches memory.

use std::hint::black_box;

/// Makes the processor fetch an element, if it exists, while the processor continues with independent work.
#[inline]
pub fn ask_for<T: Copy>(elements: &[T], at: usize) {
    black_box(elements.get(at).copied());
}
