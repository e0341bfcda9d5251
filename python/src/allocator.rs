//! The allocator of the module: mimalloc, which is quick with the many small pieces of a short query, and the system's for large
//! ones.
//!
//! A buffer that grows to gigabytes must not be copied into another as large: the system moves its pages instead. And mimalloc
//! rounds large sizes up by as much as a fifth. A load of texts of 200 kB took 4.5 GB where it takes less than 3.

use std::alloc::{GlobalAlloc, Layout, System};

use mimalloc::MiMalloc;

/// The least size of a piece from the system, in bytes.
const LARGE: usize = 192 << 10;

pub struct BySize;

fn of(size: usize) -> &'static dyn GlobalAlloc {
    if size < LARGE { &MiMalloc } else { &System }
}

// SAFETY: each piece is given back to the allocator that it came from, because its size, which says which one that was, comes with
// every call. Both allocators keep the contract of `GlobalAlloc`.
unsafe impl GlobalAlloc for BySize {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the allocator asks for.
        unsafe { of(layout.size()).alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        unsafe { of(layout.size()).alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the piece came from this allocator, by its size.
        unsafe { of(layout.size()).dealloc(piece, layout) }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if (layout.size() < LARGE) == (size < LARGE) {
            // SAFETY: the piece came from this allocator, and the new size keeps it there.
            return unsafe { of(size).realloc(piece, layout, size) };
        }
        // SAFETY: the caller promises that the new size fits the alignment. Both pieces have at least the smaller of the two sizes,
        // and they do not overlap.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(piece, moved, layout.size().min(size));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}
