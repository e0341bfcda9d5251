//! Asking for memory before it is read.

use std::hint::black_box;

/// Has the processor fetch an element, if there is one, while it goes on with what does not depend on it.
#[inline]
pub fn ask_for<T: Copy>(elements: &[T], at: usize) {
    black_box(elements.get(at).copied());
}
