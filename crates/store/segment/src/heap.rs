//! Byte strings one after the other. A sequence of integers says where each begins, and the bytes follow. The sequence has one
//! integer more than there are strings.

use mangrove_graph::Result;

use crate::corrupt;
use crate::ints::{self, Ints};

/// Byte strings one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Heap<'a> {
    starts: Ints<'a>,
    bytes: &'a [u8],
}

impl<'a> Heap<'a> {
    /// Reads all of `data` as a heap.
    pub fn split(data: &'a [u8]) -> Result<Self> {
        let (starts, bytes) = Ints::split(data)?;
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
        self.bytes.get(start..end).ok_or_else(|| corrupt("text beyond the end of its chunk"))
    }
}

/// A heap of these values, in order.
pub fn bytes<'v>(values: impl Iterator<Item = &'v [u8]> + Clone) -> Vec<u8> {
    let mut end = 0;
    let ends = values.clone().map(|value| {
        end += value.len() as i64;
        end
    });
    let starts: Vec<i64> = std::iter::once(0).chain(ends).collect();
    let mut out = Vec::new();
    ints::encode(&mut out, &starts);
    values.for_each(|value| out.extend_from_slice(value));
    out
}
