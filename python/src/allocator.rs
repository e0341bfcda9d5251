//! The allocator of the module: mimalloc, which is quick with the many small pieces of a short query, and the system's for large
//! ones.
//!
//! A buffer that grows to gigabytes must not be copied into another as large: the system moves its pages instead. And mimalloc
//! rounds large sizes up by as much as a fifth. A load of texts of 200 kB took 4.5 GB where it takes less than 3.
//!
//! The functions of mimalloc are called directly. The crate `mimalloc` always asks for an alignment, for which mimalloc has a longer
//! way than for the common case.

use std::alloc::{GlobalAlloc, Layout, System};

use libmimalloc_sys::{mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned};

/// The least size of a piece from the system, in bytes.
const LARGE: usize = 192 << 10;

/// A piece of at least so many bytes is aligned to so many, for each power of two up to this one.
const ALIGNED: usize = 16;

pub struct BySize;

fn is_aligned(layout: Layout) -> bool {
    layout.align() <= ALIGNED && layout.align() <= layout.size()
}

// SAFETY: each piece is given back to the allocator that it came from, because its size, which says which one that was, comes with
// every call. Both allocators keep the contract of `GlobalAlloc`.
unsafe impl GlobalAlloc for BySize {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the allocators ask for.
        unsafe {
            match layout.size() {
                LARGE.. => System.alloc(layout),
                size if is_aligned(layout) => mi_malloc(size).cast(),
                size => mi_malloc_aligned(size, layout.align()).cast(),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        unsafe {
            match layout.size() {
                LARGE.. => System.alloc_zeroed(layout),
                size if is_aligned(layout) => mi_zalloc(size).cast(),
                size => mi_zalloc_aligned(size, layout.align()).cast(),
            }
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the piece came from this allocator, by its size.
        unsafe {
            match layout.size() {
                LARGE.. => System.dealloc(piece, layout),
                _ => mi_free(piece.cast()),
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the piece came from this allocator, by its size, and the caller promises that the new size fits the alignment. A
        // piece that moves from one allocator to the other has at least the smaller of the two sizes, and the two do not overlap.
        unsafe {
            let wanted = Layout::from_size_align_unchecked(size, layout.align());
            match (layout.size(), size) {
                (LARGE.., LARGE..) => System.realloc(piece, layout, size),
                (..LARGE, ..LARGE) if is_aligned(wanted) => mi_realloc(piece.cast(), size).cast(),
                (..LARGE, ..LARGE) => mi_realloc_aligned(piece.cast(), size, layout.align()).cast(),
                _ => {
                    let moved = self.alloc(wanted);
                    if !moved.is_null() {
                        std::ptr::copy_nonoverlapping(piece, moved, layout.size().min(size));
                        self.dealloc(piece, layout);
                    }
                    moved
                }
            }
        }
    }
}
