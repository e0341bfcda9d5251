//! Bytes whose checksums are verified piece by piece, each when it is first read. Whoever reads one long value does not wait until the
//! disk has read all other values of its chunk.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mangrove_graph::Result;
use xxhash_rust::xxh3::xxh3_64;

use crate::corrupt;

/// The bytes that one checksum covers.
pub const PIECE: usize = 1 << 16;

/// Bytes of a file with a checksum for each piece.
#[derive(Debug)]
pub struct Pieces<'a> {
    len: usize,
    /// The bytes, and the zeros after them. The last checksum covers these, too.
    filled: &'a [u8],
    sums: &'a [[u8; 8]],
    /// For each piece, a bit that tells whether its checksum was verified.
    verified: Box<[AtomicU64]>,
    file: Arc<Path>,
    /// Where the bytes begin in the file.
    start: usize,
}

impl<'a> Pieces<'a> {
    /// The first `len` bytes of `filled`, with one checksum for each piece. They begin at `start` in the file.
    pub fn new(len: usize, filled: &'a [u8], sums: &'a [[u8; 8]], file: Arc<Path>, start: usize) -> Self {
        let verified = (0..sums.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { len, filled, sums, verified, file, start }
    }

    /// These bytes, after verification of the pieces that they are in. O(1) if these were read before.
    ///
    /// # Errors
    /// If they are not the ones written, or end beyond the last.
    #[inline]
    pub fn get(&self, range: Range<usize>) -> Result<&'a [u8]> {
        let bytes =
            self.filled[..self.len].get(range.clone()).ok_or_else(|| corrupt("a value beyond the end of its chunk"))?;
        for piece in range.start / PIECE..range.end.div_ceil(PIECE) {
            if self.verified[piece / 64].load(Ordering::Relaxed) >> (piece % 64) & 1 == 0 {
                self.verify_piece(piece)?;
            }
        }
        Ok(bytes)
    }

    /// Verifies all pieces.
    pub fn verify(&self) -> Result<()> {
        (0..self.sums.len()).try_for_each(|piece| self.verify_piece(piece))
    }

    #[cold]
    fn verify_piece(&self, piece: usize) -> Result<()> {
        let range = piece * PIECE..self.filled.len().min((piece + 1) * PIECE);
        if xxh3_64(&self.filled[range.clone()]) != u64::from_le_bytes(self.sums[piece]) {
            let (file, len, start) = (self.file.display(), range.len(), self.start + range.start);
            return Err(corrupt(&format!("{file}: the {len} bytes from {start} on are damaged")));
        }
        self.verified[piece / 64].fetch_or(1 << (piece % 64), Ordering::Relaxed);
        Ok(())
    }
}
