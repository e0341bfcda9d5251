//! Sets of positions that answer rank queries.
//!
//! ```text
//!   len 4 | ones 4 | for every 512 positions: ones before them 4 | words 8 …, little-endian
//! ```

use mangrove_graph::{GraphError, Result};

use crate::memory::ask_for;

const RUN: usize = 512;

#[derive(Clone, Copy, Debug)]
pub struct Bits<'a> {
    len: usize,
    ones: usize,
    before: &'a [[u8; 4]],
    words: &'a [[u8; 8]],
}

/// Appends a set. `flags` has a flag for each position.
pub fn encode(out: &mut Vec<u8>, flags: &[bool]) {
    let words: Vec<u64> = flags
        .chunks(64)
        .map(|chunk| chunk.iter().enumerate().fold(0, |word, (at, flag)| word | u64::from(*flag) << at))
        .collect();
    let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
    out.extend_from_slice(&(flags.len() as u32).to_le_bytes());
    out.extend_from_slice(&ones.to_le_bytes());
    let mut before = 0u32;
    for run in words.chunks(RUN / 64) {
        out.extend_from_slice(&before.to_le_bytes());
        before += run.iter().map(|word| word.count_ones()).sum::<u32>();
    }
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

impl<'a> Bits<'a> {
    /// Takes a set off the front of `data`.
    pub fn split(data: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let early = || GraphError::corrupt("a set of positions ends early");
        let (len, rest) = data.split_first_chunk().ok_or_else(early)?;
        let (ones, rest) = rest.split_first_chunk().ok_or_else(early)?;
        let (len, ones) = (u32::from_le_bytes(*len) as usize, u32::from_le_bytes(*ones) as usize);
        let (before, rest) = rest.split_at_checked(len.div_ceil(RUN) * 4).ok_or_else(early)?;
        let (words, rest) = rest.split_at_checked(len.div_ceil(64) * 8).ok_or_else(early)?;
        let (before, words) = (before.as_chunks().0, words.as_chunks().0);
        if ones > len {
            return Err(GraphError::corrupt("more positions in a set than there are"));
        }
        Ok((Self { len, ones, before, words }, rest))
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of positions in the set.
    pub fn ones(&self) -> usize {
        self.ones
    }

    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.words[at])
    }

    /// The rank of a position: how many smaller positions are in the set. `None` if the position is not in the set.
    ///
    /// # Panics
    /// If `at` is not below `len()`.
    #[inline]
    pub fn rank(&self, at: usize) -> Option<usize> {
        assert!(at < self.len);
        let word = self.word(at / 64);
        (word >> (at % 64) & 1 == 1).then(|| self.before(at))
    }

    /// Prefetches what `rank` reads for a position.
    #[inline]
    pub fn ask_for(&self, at: usize) {
        ask_for(self.words, at / 64);
        ask_for(self.before, at / RUN);
    }

    /// How many positions before `at` are in the set; `at` is at most `len()`. Never more than `ones()`, whatever the bytes.
    pub fn before(&self, at: usize) -> usize {
        if at >= self.len {
            return self.ones;
        }
        let run = at / RUN;
        let counted: u32 = (run * RUN / 64..at / 64).map(|word| self.word(word).count_ones()).sum();
        let within = self.word(at / 64) & ((1 << (at % 64)) - 1);
        let before = u32::from_le_bytes(self.before[run]) + counted + within.count_ones();
        (before as usize).min(self.ones)
    }

    /// The 128 positions from `128 * block` on. Positions beyond the end are not in the set.
    pub fn block(&self, block: usize) -> u128 {
        let word = |at: usize| self.words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
        u128::from(word(2 * block)) | u128::from(word(2 * block + 1)) << 64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_are_found_and_counted(flags in prop::collection::vec(any::<bool>(), 0..1500)) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &flags);
            let (bits, rest) = Bits::split(&bytes).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!((bits.len(), bits.ones()), (flags.len(), flags.iter().filter(|f| **f).count()));
            let mut before = 0;
            for (at, flag) in flags.iter().enumerate() {
                prop_assert_eq!(bits.before(at), before);
                prop_assert_eq!(bits.rank(at), flag.then_some(before));
                prop_assert_eq!(bits.block(at / 128) >> (at % 128) & 1 == 1, *flag);
                before += usize::from(*flag);
            }
        }

        #[test]
        fn damaged_sets_are_refused_or_read(flags in prop::collection::vec(any::<bool>(), 0..700), at in any::<prop::sample::Index>(),
                                            byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &flags);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok((bits, _)) = Bits::split(&bytes) {
                for at in 0..bits.len().min(2000) {
                    prop_assert!(bits.rank(at).is_none_or(|rank| rank <= bits.ones()));
                }
            }
        }
    }
}
