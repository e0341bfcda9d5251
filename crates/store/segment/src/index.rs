//! An index chunk: sorted pairs of a value and a place that has it.
//!
//! ```text
//!   pairs 4 | bits of a place 1 | zeros 3 | distinct values: sorted strings | pairs: an increasing sequence
//! ```
//! Values are bytes that sort as the values do. A pair is one integer: the number of its value among the distinct ones, then its
//! place. Every place takes as many bits as the widest one. So all pairs form one increasing sequence (Elias–Fano), in 2 +
//! log2(values · places / pairs) bits each.

use std::ops::Range;
use std::sync::Arc;

use mangrove_graph::{GraphError, Result};

use crate::corrupt;
use crate::sorted::{self, Sorted};
use crate::text::Corrupt;
use crate::text::bits::{EliasFano, bits_of, pack_increasing};

/// Most pairs in a chunk.
pub const PAIRS_MAX: usize = u16::MAX as usize;
/// A chunk is full once its values take this many bytes.
pub const VALUE_BYTES: usize = 1 << 20;
const PLACE_BITS_MAX: u32 = 48;
const HEADER: usize = 8;

/// A value and a place that has it. Pairs of one value share its bytes.
pub type Pair = (Arc<[u8]>, u64);

#[derive(Clone, Copy, Debug)]
pub struct Index<'a> {
    values: Sorted<'a>,
    place_bits: u32,
    pairs: EliasFano<'a>,
}

/// Appends the chunk of these pairs. They must be sorted and distinct, at most [`PAIRS_MAX`], with places below 2^48.
pub fn encode(out: &mut Vec<u8>, pairs: &[Pair]) {
    debug_assert!(pairs.len() <= PAIRS_MAX && pairs.is_sorted());
    let place_bits = bits_of(pairs.iter().map(|(_, place)| *place).max().unwrap_or(0));
    let values: Vec<&[u8]> = pairs.chunk_by(|a, b| a.0 == b.0).map(|same| &same[0].0[..]).collect();
    let mut number = 0;
    let numbered: Vec<u64> = (0..pairs.len())
        .map(|at| {
            number += u64::from(at > 0 && pairs[at].0 != pairs[at - 1].0);
            number << place_bits | pairs[at].1
        })
        .collect();
    out.extend_from_slice(&(pairs.len() as u32).to_le_bytes());
    out.extend_from_slice(&[place_bits as u8, 0, 0, 0]);
    sorted::encode(out, &values);
    pack_increasing(out, numbered.iter().copied(), values.len() << place_bits);
}

impl<'a> Index<'a> {
    /// Reads a chunk. O(1).
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let (header, rest) = data.split_first_chunk::<HEADER>().ok_or_else(|| corrupt("an index chunk ends early"))?;
        let (values, rest) = Sorted::split(rest)?;
        let pairs = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let place_bits = u32::from(header[4]);
        if pairs > PAIRS_MAX || values.len() > pairs || place_bits > PLACE_BITS_MAX {
            return Err(corrupt("an index chunk with wrong counts"));
        }
        let (pairs, _) = EliasFano::split(pairs, values.len() << place_bits, rest).map_err(damaged)?;
        Ok(Self { values, place_bits, pairs })
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first value.
    pub fn first(&self) -> Result<&'a [u8]> {
        self.values.first()
    }

    /// Appends the places that have a value in `from..to`, in the order of the values. O(log pairs + found).
    pub fn search(&self, from: &[u8], to: &[u8], out: &mut Vec<u64>) -> Result<()> {
        let mask = (1 << self.place_bits) - 1;
        self.pairs.each(self.range(from, to)?, |pair| out.push(pair & mask)).map_err(damaged)
    }

    /// Appends the first `limit` places behind `after` that have exactly this value, in order. O(log pairs + found).
    pub fn search_one(&self, value: &[u8], after: Option<u64>, limit: usize, out: &mut Vec<u64>) -> Result<()> {
        let mask = (1 << self.place_bits) - 1;
        let range = self.range(value, &[value, &[0]].concat())?;
        let start = match after {
            Some(after) if after >= mask => range.end,
            Some(after) => {
                let pair = (self.values.below(value)? as u64) << self.place_bits | (after + 1);
                self.pairs.below(pair).map_err(damaged)?.clamp(range.start, range.end)
            }
            None => range.start,
        };
        let end = range.end.min(start.saturating_add(limit));
        self.pairs.each(start..end, |pair| out.push(pair & mask)).map_err(damaged)
    }

    /// Counts the pairs with a value in `from..to`. O(log pairs).
    pub fn count(&self, from: &[u8], to: &[u8]) -> Result<usize> {
        self.range(from, to).map(|range| range.len())
    }

    fn range(&self, from: &[u8], to: &[u8]) -> Result<Range<usize>> {
        Ok(self.starts_at(self.values.below(from)?)?..self.starts_at(self.values.below(to)?)?)
    }

    /// Whether the chunk contains the pair. O(log pairs).
    pub fn contains(&self, value: &[u8], place: u64) -> Result<bool> {
        let number = self.values.below(value)?;
        if place >> self.place_bits != 0 || self.values.below(&[value, &[0]].concat())? == number {
            return Ok(false);
        }
        let pair = (number as u64) << self.place_bits | place;
        let at = self.pairs.below(pair).map_err(damaged)?;
        Ok(at < self.len() && self.pairs.get(at).map_err(damaged)? as u64 == pair)
    }

    /// Where the pairs of a value begin, or would begin if it had any.
    fn starts_at(&self, value: usize) -> Result<usize> {
        self.pairs.below((value as u64) << self.place_bits).map_err(damaged)
    }

    /// All pairs, in order. O(pairs).
    pub fn pairs(&self) -> Result<Vec<Pair>> {
        let mut values: Vec<Arc<[u8]>> = Vec::with_capacity(self.values.len());
        self.values.each(|value| values.push(value.into()))?;
        let mask = (1 << self.place_bits) - 1;
        let mut numbered = Vec::with_capacity(self.len());
        self.pairs.each(0..self.len(), |pair| numbered.push(pair)).map_err(damaged)?;
        let value = |pair: &u64| values.get((pair >> self.place_bits) as usize);
        let pair = |pair: u64| Some((value(&pair)?.clone(), pair & mask));
        numbered.into_iter().map(|at| pair(at).ok_or_else(|| corrupt("a pair without a value"))).collect()
    }
}

fn damaged(Corrupt(what): Corrupt) -> GraphError {
    corrupt(what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs() -> impl Strategy<Value = Vec<Pair>> {
        let place = prop_oneof![0u64..300, (1u64 << 40)..(1 << 40) + 99, Just((1 << 48) - 1)];
        prop::collection::btree_set((prop::collection::vec(0u8..4, 0..4), place), 0..200)
            .prop_map(|set| set.into_iter().map(|(value, place)| (value.into(), place)).collect())
    }

    proptest! {
        #[test]
        fn ranges_give_their_places(pairs in pairs(), from in prop::collection::vec(0u8..5, 0..4),
                                    to in prop::collection::vec(0u8..5, 0..4)) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &pairs);
            let index = Index::parse(&bytes).unwrap();
            let mut found = Vec::new();
            index.search(&from, &to, &mut found).unwrap();
            let expected: Vec<u64> =
                pairs.iter().filter(|(value, _)| value[..] >= from[..] && value[..] < to[..]).map(|(_, place)| *place).collect();
            prop_assert_eq!(index.count(&from, &to).unwrap(), expected.len());
            prop_assert_eq!(found, expected);
            for (value, after) in &pairs {
                let behind = pairs.iter().filter(|pair| pair.0 == *value && pair.1 > *after).map(|pair| pair.1);
                let mut found = Vec::new();
                index.search_one(value, Some(*after), 2, &mut found).unwrap();
                prop_assert_eq!(found, behind.take(2).collect::<Vec<_>>());
            }
            for (value, place) in &pairs {
                for (value, place) in [(&value[..], *place), (&value[..], place ^ 1), (&from, *place)] {
                    let is_there = pairs.iter().any(|pair| (&pair.0[..], pair.1) == (value, place));
                    prop_assert_eq!(index.contains(value, place).unwrap(), is_there);
                }
            }
            prop_assert_eq!(index.pairs().unwrap(), pairs);
        }

        #[test]
        fn damaged_indexes_are_refused_or_read(
            pairs in pairs(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &pairs);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok(index) = Index::parse(&bytes) {
                let _ = index.first();
                let _ = index.contains(&[1], 7);
                let _ = index.search(&[], &[9], &mut Vec::new());
                let _ = index.search_one(&[1], Some(7), 3, &mut Vec::new());
                let _ = index.pairs();
            }
        }
    }
}
