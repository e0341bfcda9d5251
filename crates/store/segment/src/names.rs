//! A names chunk: a hash table of elements by their external ids.
//!
//! ```text
//!   slots: a sequence of integers, each 0 or an element's code + 1
//! ```
//! The upper bits of a name's hash (XXH3, 64 bits) select the chunk. The lower 32 bits select the slot hash · slots / 2^32. If that
//! slot is taken, the name is in a later one, wrapping around, before the next empty slot. Eight of ten slots are taken, so a
//! lookup reads few. A chunk does not hold the ids: the caller checks whether the element found has the id.

use mangrove_graph::{ExternalId, Result};
use xxhash_rust::xxh3::xxh3_64;

use crate::ints::{self, Ints};

/// About how many names a chunk holds.
pub const NAMES: u64 = 1 << 16;

/// The hash of an id. Ids of different kinds are different names.
pub fn hash(id: &ExternalId) -> u64 {
    match id {
        ExternalId::Int(i) => xxh3_64(&[&[1], &i.to_le_bytes()[..]].concat()),
        ExternalId::Uuid(uuid) => xxh3_64(&[&[2], &uuid.as_bytes()[..]].concat()),
        ExternalId::String(text) => xxh3_64(&[&[3], text.as_bytes()].concat()),
    }
}

/// How many bits of a hash select the chunk, for this many names.
pub fn chunk_bits(names: u64) -> u32 {
    names.div_ceil(NAMES).next_power_of_two().ilog2()
}

/// The chunk that contains a name.
pub fn chunk_of(hash: u64, bits: u32) -> u64 {
    if bits == 0 { 0 } else { hash >> (64 - bits) }
}

#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    slots: Ints<'a>,
}

impl<'a> Names<'a> {
    /// Reads a chunk. O(1).
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Ok(Self { slots: Ints::split(data)?.0 })
    }

    /// The code of the first element for which `is_it` holds, among those that may have a name with this hash.
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u64) -> Result<bool>) -> Result<Option<u64>> {
        let slots = self.slots.len();
        let first = first_slot(hash, slots);
        for at in (first..slots).chain(0..first) {
            match self.slots.get(at) {
                0 => break,
                code if is_it(code as u64 - 1)? => return Ok(Some(code as u64 - 1)),
                _ => {}
            }
        }
        Ok(None)
    }
}

fn first_slot(hash: u64, slots: usize) -> usize {
    (((hash & 0xFFFF_FFFF) * slots as u64) >> 32) as usize
}

/// Appends the chunk of these names. Each is a hash and a code below 2^63.
pub fn encode(out: &mut Vec<u8>, names: &[(u64, u64)]) {
    let mut slots = vec![0i64; (names.len() * 5).div_ceil(4) + usize::from(!names.is_empty())];
    let n = slots.len();
    for (hash, code) in names {
        let mut at = first_slot(*hash, n);
        while slots[at] != 0 {
            at = (at + 1) % n;
        }
        slots[at] = *code as i64 + 1;
    }
    ints::encode(out, &slots);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mangrove_graph::Uuid;
    use proptest::prelude::*;

    use super::*;

    fn id() -> impl Strategy<Value = ExternalId> {
        prop_oneof![
            any::<i64>().prop_map(|i| ExternalId::Int(i >> 50)),
            any::<u8>().prop_map(|n| ExternalId::Uuid(Uuid::from_u128(n.into()))),
            "[a-c]{0,4}".prop_map(|text| ExternalId::String(text.into())),
        ]
    }

    proptest! {
        #[test]
        fn who_has_a_name_is_found(ids in prop::collection::btree_set(id(), 0..300), others in prop::collection::vec(id(), 0..50)) {
            let all: Vec<ExternalId> = ids.iter().cloned().collect();
            let names: Vec<(u64, u64)> = all.iter().map(hash).zip(100..).collect();
            let mut bytes = Vec::new();
            encode(&mut bytes, &names);
            let chunk = Names::parse(&bytes).unwrap();
            let find = |id: &ExternalId| chunk.find(hash(id), |code| Ok(all[code as usize - 100] == *id)).unwrap();
            for (id, code) in all.iter().zip(100..) {
                prop_assert_eq!(find(id), Some(code));
            }
            let known: BTreeSet<&ExternalId> = all.iter().collect();
            for id in others.iter().filter(|id| !known.contains(id)) {
                prop_assert_eq!(find(id), None);
            }
        }
    }

    #[test]
    fn many_names_are_spread_over_chunks() {
        assert_eq!([0, 1, NAMES, NAMES + 1, 4 * NAMES, 4 * NAMES + 1].map(chunk_bits), [0, 0, 0, 1, 2, 3]);
        assert_eq!((chunk_of(u64::MAX, 0), chunk_of(u64::MAX, 3), chunk_of(1, 3)), (0, 7, 0));
    }
}
