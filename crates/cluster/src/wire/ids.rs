//! Ids of elements as bytes. Ids of one batch lie in few labels and shards, so most take three or four bytes.
//!
//! ```text
//!   varint n | n varints: the labels and shards that occur     n is 0: eight bytes an id, little-endian
//!   for each id a varint: its local id, and below it, in few bits, which label and shard
//! ```

use mangrove_graph::id::LOCAL_MAX;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// With more labels and shards than this, ids are written as they are.
const PREFIXES_MAX: usize = 1 << 10;
const LOCAL_BITS: u32 = LOCAL_MAX.trailing_ones();

/// Raw ids of elements.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ids(pub Vec<u64>);

impl Ids {
    fn to_bytes(&self) -> Vec<u8> {
        let mut prefixes: Vec<u64> = Vec::new();
        let (mut codes, mut last) = (Vec::with_capacity(self.0.len()), (u64::MAX, 0));
        for id in &self.0 {
            let prefix = id >> LOCAL_BITS;
            if last.0 != prefix {
                let known = prefixes.iter().position(|known| *known == prefix);
                last = (prefix, known.unwrap_or(prefixes.len()));
                if known.is_none() {
                    prefixes.push(prefix);
                }
                if prefixes.len() > PREFIXES_MAX {
                    return self.plain();
                }
            }
            codes.push(last.1 as u64);
        }
        let bits = bits_of(prefixes.len());
        let mut out = Vec::with_capacity(8 + self.0.len() * 4);
        put(&mut out, prefixes.len() as u64);
        prefixes.iter().for_each(|prefix| put(&mut out, *prefix));
        self.0.iter().zip(codes).for_each(|(id, code)| put(&mut out, (id & LOCAL_MAX) << bits | code));
        out
    }

    fn plain(&self) -> Vec<u8> {
        let mut out = vec![0];
        self.0.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
        out
    }

    fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let count = take(&mut bytes)? as usize;
        if count == 0 {
            let (ids, rest) = bytes.as_chunks::<8>();
            return rest.is_empty().then(|| Self(ids.iter().map(|id| u64::from_le_bytes(*id)).collect()));
        }
        if count > PREFIXES_MAX {
            return None;
        }
        let prefixes = (0..count).map(|_| take(&mut bytes)).collect::<Option<Vec<u64>>>()?;
        let (bits, mut ids) = (bits_of(count), Vec::with_capacity(bytes.len() / 2));
        while !bytes.is_empty() {
            let packed = take(&mut bytes)?;
            let prefix = prefixes.get((packed & ((1 << bits) - 1)) as usize)?;
            ids.push(prefix.checked_shl(LOCAL_BITS)? | packed >> bits & LOCAL_MAX);
        }
        Some(Self(ids))
    }
}

/// The bits that tell so many labels and shards apart.
fn bits_of(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Some(number);
        }
    }
    None
}

impl Serialize for Ids {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Packed;
        impl Visitor<'_> for Packed {
            type Value = Ids;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("packed ids")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Ids, E> {
                Ids::from_bytes(bytes).ok_or_else(|| E::custom("damaged ids"))
            }
        }
        from.deserialize_bytes(Packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_in_few_bytes() {
        let near = |labels: u64, shards: u64| {
            (0..1000).map(|at| (at % labels) << 48 | (at % shards) << 36 | (at * 7919 % 100_000)).collect::<Vec<u64>>()
        };
        for (ids, bytes_max) in [
            (Vec::new(), 1),
            (vec![u64::MAX], 12),
            (near(1, 1), 3_010),
            (near(1, 4), 3_100),
            (near(3, 64), 5_000),
            ((0..5000).map(|at| at << 36).collect(), 40_001),
        ] {
            let (packed, ids) = (Ids(ids.clone()).to_bytes(), Ids(ids));
            assert_eq!(Ids::from_bytes(&packed), Some(ids));
            assert!(packed.len() <= bytes_max, "{} bytes", packed.len());
        }
    }

    #[test]
    fn damaged_ids_are_refused() {
        for bytes in [&[][..], &[0, 1], &[2, 1], &[1, 1, 0x80], &[0xFF; 11], &[0xFF, 0xFF, 0x7F, 1]] {
            assert_eq!(Ids::from_bytes(bytes), None, "{bytes:?}");
        }
    }
}
