//! External ids as keys, in the order of `ExternalId`.
//!
//! ```text
//!   [label 2] | 1 | integer 8, sign flipped
//!   [label 2] | 2 | UUID 16
//!   [label 2] | 3 | UTF-8, up to 400 bytes
//!   [label 2] | 3 | the first 400 bytes | FNV-1a of 128 bits of all | length 8      for longer ones
//! ```
//! A key has the label only if ids are unique within labels. What is found under a shortened id is compared with the full
//! id, which the element has.

use mangrove_graph::{ExternalId, LabelId};

use crate::format::key::flip;

const TEXT_MAX: usize = 400;

/// Appends the key of an id.
pub fn put(out: &mut Vec<u8>, label: Option<LabelId>, id: &ExternalId) {
    if let Some(label) = label {
        out.extend_from_slice(&label.0.to_be_bytes());
    }
    match id {
        ExternalId::Int(i) => {
            out.push(1);
            out.extend_from_slice(&flip(*i).to_be_bytes());
        }
        ExternalId::Uuid(uuid) => {
            out.push(2);
            out.extend_from_slice(uuid.as_bytes());
        }
        ExternalId::String(text) => {
            out.push(3);
            put_text(out, text.as_bytes());
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    match text.split_at_checked(TEXT_MAX) {
        Some((start, rest)) if !rest.is_empty() => {
            out.extend_from_slice(start);
            out.extend_from_slice(&fnv(text).to_be_bytes());
            out.extend_from_slice(&(text.len() as u64).to_be_bytes());
        }
        _ => out.extend_from_slice(text),
    }
}

pub fn key(label: Option<LabelId>, id: &ExternalId) -> Vec<u8> {
    let mut key = Vec::with_capacity(24);
    put(&mut key, label, id);
    key
}

/// Whether the key of an id holds only a part of it.
pub fn is_shortened(id: &ExternalId) -> bool {
    matches!(id, ExternalId::String(text) if text.len() > TEXT_MAX)
}

fn fnv(bytes: &[u8]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use mangrove_graph::Uuid;

    use super::*;

    #[test]
    fn keys_sort_as_ids_and_differ_as_they_do() {
        let long = |end: char| ExternalId::from(&*("x".repeat(500) + &end.to_string()));
        let ids = [
            ExternalId::Int(i64::MIN),
            ExternalId::Int(-1),
            ExternalId::Int(0),
            ExternalId::Uuid(Uuid::from_u128(5)),
            "".into(),
            "a".into(),
            "ab".into(),
            "b".into(),
            long('a'),
        ];
        for pair in ids.windows(2) {
            assert!(pair[0] < pair[1] && key(None, &pair[0]) < key(None, &pair[1]), "{pair:?}");
        }
        assert_ne!(key(None, &long('a')), key(None, &long('b')));
        assert!(is_shortened(&long('a')) && key(Some(LabelId(1)), &long('a')).len() < 511);
        assert_ne!(key(Some(LabelId(1)), &"a".into()), key(Some(LabelId(2)), &"a".into()));
    }
}
