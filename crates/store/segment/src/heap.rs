//! Byte strings one after the other. A sequence of integers says where each begins, and the bytes follow. The sequence has one
//! integer more than there are strings.

use mangrove_graph::Result;

use crate::corrupt;
use crate::ints::{self, Ints};
use crate::pieces::Pieces;

/// Byte strings one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Heap<'a> {
    starts: Ints<'a>,
    bytes: Stored<'a>,
}

/// The bytes of a heap: in its part, or in pieces.
#[derive(Clone, Copy, Debug)]
enum Stored<'a> {
    Whole(&'a [u8]),
    Pieces(&'a Pieces<'a>),
}

impl<'a> Heap<'a> {
    /// Reads all of `data` as a heap. If there are pieces, they have its bytes.
    pub fn split(data: &'a [u8], pieces: Option<&'a Pieces<'a>>) -> Result<Self> {
        let (starts, rest) = Ints::split(data)?;
        let bytes = pieces.map_or(Stored::Whole(rest), Stored::Pieces);
        if starts.is_empty() { Err(corrupt("a heap without its beginnings")) } else { Ok(Self { starts, bytes }) }
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Prefetches the start of a string.
    pub fn ask_for_start(&self, at: usize) {
        self.starts.ask_for(at);
    }

    pub fn get(&self, at: usize) -> Result<&'a [u8]> {
        let (start, end) = (self.starts.get(at) as usize, self.starts.get(at + 1) as usize);
        match self.bytes {
            Stored::Whole(bytes) => bytes.get(start..end).ok_or_else(|| corrupt("text beyond the end of its chunk")),
            Stored::Pieces(pieces) => pieces.get(start..end),
        }
    }
}

/// A heap of these values, in order, and how many bytes they have: the last ones of the heap.
pub fn bytes<'v>(values: impl Iterator<Item = &'v [u8]> + Clone) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    let len = starts(&mut out, values.clone().map(|value| value.len()));
    values.for_each(|value| out.extend_from_slice(value));
    (out, len)
}

/// Appends where values of these lengths begin. Returns their total length.
pub fn starts(out: &mut Vec<u8>, lengths: impl Iterator<Item = usize>) -> usize {
    let mut end = 0;
    let ends = lengths.map(|len| {
        end += len as i64;
        end
    });
    let starts: Vec<i64> = std::iter::once(0).chain(ends).collect();
    ints::encode(out, &starts);
    end as usize
}
