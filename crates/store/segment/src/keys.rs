//! A chunk of keys: the keys under which the elements of a chunk have a cell. Only labels with many keys have it.
//!
//! ```text
//!   usual 4 | blocks 4 | usual keys, 2 each | for every 128 positions: where their pairs end 4 | pairs: slot 1, key 2
//! ```
//! A usual key is one that many elements have; the chunk does not record which ones. For every other key, the chunk lists each
//! element that has it. So a lookup gives all keys of an element, and few others.

use std::collections::BTreeMap;

use mangrove_graph::{KeyId, Result};

use crate::corrupt;

/// Positions of a block.
const SLOTS: usize = 128;
/// A key is usual if at least this many elements of a chunk have it.
const USUAL: usize = 4096;

/// The keys of a chunk that is being written. Takes 4 bytes for every element and unusual key that it has.
#[derive(Default)]
pub struct KeysOfChunk {
    usual: Vec<KeyId>,
    pairs: Vec<(u16, KeyId)>,
}

impl KeysOfChunk {
    /// Records that the elements at these positions have a cell under `key`.
    pub fn add(&mut self, key: KeyId, positions: impl ExactSizeIterator<Item = u16>) {
        if positions.len() >= USUAL {
            self.usual.push(key);
        } else {
            self.pairs.extend(positions.map(|position| (position, key)));
        }
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.usual[..]) + size_of_val(&self.pairs[..])
    }

    pub fn encode(mut self, out: &mut Vec<u8>) {
        self.pairs.sort_unstable();
        let blocks = self.pairs.last().map_or(0, |(position, _)| usize::from(*position) / SLOTS + 1);
        out.extend_from_slice(&(self.usual.len() as u32).to_le_bytes());
        out.extend_from_slice(&(blocks as u32).to_le_bytes());
        self.usual.iter().for_each(|key| out.extend_from_slice(&key.0.to_le_bytes()));
        for block in 1..=blocks {
            let end = self.pairs.partition_point(|(position, _)| usize::from(*position) < block * SLOTS);
            out.extend_from_slice(&(end as u32).to_le_bytes());
        }
        for (position, key) in self.pairs {
            out.push((usize::from(position) % SLOTS) as u8);
            out.extend_from_slice(&key.0.to_le_bytes());
        }
    }
}

/// The keys of a chunk.
pub struct Keys<'a> {
    usual: &'a [[u8; 2]],
    ends: &'a [[u8; 4]],
    pairs: &'a [[u8; 3]],
}

impl<'a> Keys<'a> {
    /// Reads a chunk. O(1).
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::split(bytes).ok_or_else(|| corrupt("a chunk of keys ends early"))
    }

    fn split(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<8>()?;
        let [usual, blocks] = [&head[..4], &head[4..]].map(|n| n.try_into().map(u32::from_le_bytes).unwrap_or(0) as usize);
        let (usual, rest) = rest.split_at_checked(usual.checked_mul(2)?)?;
        let (ends, pairs) = rest.split_at_checked(blocks.checked_mul(4)?)?;
        let [usual, ends, pairs] = [usual, ends, pairs];
        Some(Self { usual: usual.as_chunks().0, ends: ends.as_chunks().0, pairs: pairs.as_chunks().0 })
    }

    /// Adds the keys that the elements in these slots of a block may have. O(pairs of the block + usual keys).
    pub fn of_block(&self, block: usize, slots: u128, out: &mut impl Extend<KeyId>) -> Result<()> {
        out.extend(self.usual.iter().map(|key| KeyId(u16::from_le_bytes(*key))));
        let end = |block: usize| self.ends.get(block).map(|end| u32::from_le_bytes(*end) as usize);
        let Some(last) = end(block) else { return Ok(()) };
        let first = block.checked_sub(1).and_then(end).unwrap_or(0);
        let pairs = self.pairs.get(first..last).ok_or_else(|| corrupt("keys beyond the end of their chunk"))?;
        let wanted = |slot: u8| slots >> (slot % SLOTS as u8) & 1 != 0;
        out.extend(pairs.iter().filter(|[slot, ..]| wanted(*slot)).map(|[_, key @ ..]| KeyId(u16::from_le_bytes(*key))));
        Ok(())
    }
}

/// The keys of the chunks of a label, by chunk.
pub type KeysOfChunks = BTreeMap<u64, KeysOfChunk>;

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk() -> Vec<u8> {
        let mut keys = KeysOfChunk::default();
        keys.add(KeyId(9), (0..USUAL as u16).collect::<Vec<_>>().into_iter());
        keys.add(KeyId(300), [0, 129, 65_535].into_iter());
        keys.add(KeyId(7), [129].into_iter());
        let mut bytes = Vec::new();
        keys.encode(&mut bytes);
        bytes
    }

    fn found(bytes: &[u8], block: usize, slots: u128) -> Vec<u16> {
        let mut out: Vec<KeyId> = Vec::new();
        Keys::parse(bytes).expect("a chunk").of_block(block, slots, &mut out).expect("keys");
        out.into_iter().map(|key| key.0).collect()
    }

    #[test]
    fn the_keys_of_an_element_are_found() {
        let bytes = chunk();
        assert_eq!(found(&bytes, 0, 1), [9, 300]);
        assert_eq!(found(&bytes, 0, 2), [9]);
        assert_eq!(found(&bytes, 1, 2), [9, 7, 300]);
        assert_eq!(found(&bytes, 511, 1 << 127), [9, 300]);
        assert_eq!(found(&bytes, 200, u128::MAX), [9]);
        let mut none = Vec::new();
        KeysOfChunk::default().encode(&mut none);
        assert_eq!(found(&none, 0, u128::MAX), [0; 0]);
    }

    #[test]
    fn what_is_cut_or_changed_is_refused_or_read_without_a_panic() {
        let bytes = chunk();
        for end in 0..bytes.len() {
            if let Ok(keys) = Keys::parse(&bytes[..end]) {
                let _ = (0..512).try_for_each(|block| keys.of_block(block, u128::MAX, &mut Vec::new()));
            }
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xFF;
            if let Ok(keys) = Keys::parse(&damaged) {
                let _ = (0..512).try_for_each(|block| keys.of_block(block, u128::MAX, &mut Vec::new()));
            }
        }
        assert!(Keys::parse(&bytes[..7]).is_err());
    }
}
