//! The keys of the tables. All parts are big-endian, so that byte order is id order.
//!
//! ```text
//!   columns   kind 1 | label 2 | column 3 | block 6
//!   out, in   vertex 8 | label 2 | [time 8, sign flipped] | edge 6
//! ```
//!
//! The *place* of an element is the low 48 bits of its id: shard and local. A block of a column covers 128 consecutive places.

use mangrove_graph::{EdgeId, ElementId, ElementKind, KeyId, LabelId, Result, Schema, VertexId};

use crate::format::block::SLOTS;
use crate::system::fault::corrupt;

pub const KINDS: [ElementKind; 2] = [ElementKind::Vertex, ElementKind::Edge];

const PLACE_BITS: u32 = 48;
/// The greatest place there can be.
pub const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// A column of a label. Numbers below [`Column::KEYS`] are built in, and so is the one behind all properties. The others are
/// a property key plus `KEYS`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Column {
    pub kind: ElementKind,
    pub label: LabelId,
    number: u32,
}

impl Column {
    const KEYS: u32 = 16;

    /// External ids of vertices, and those users gave to edges.
    pub fn external(kind: ElementKind, label: LabelId) -> Self {
        Self { kind, label, number: 0 }
    }

    /// Further labels of vertices: the label ids, two bytes each.
    pub fn further(label: LabelId) -> Self {
        Self { kind: ElementKind::Vertex, label, number: 1 }
    }

    /// Source and target of edges.
    pub fn ends(label: LabelId) -> Self {
        Self { kind: ElementKind::Edge, label, number: 2 }
    }

    /// Times of edges of old databases. Those of newer edges are properties.
    pub fn time(label: LabelId) -> Self {
        Self { kind: ElementKind::Edge, label, number: 3 }
    }

    /// A cell for every removed element that was sealed, or to be sealed.
    pub fn dead(kind: ElementKind, label: LabelId) -> Self {
        Self { kind, label, number: 4 }
    }

    /// For a wide label: the keys of which the tables have a block. Its number is behind those of all properties.
    pub fn keys(kind: ElementKind, label: LabelId) -> Self {
        Self { kind, label, number: Self::KEYS + (1 << 16) }
    }

    pub fn number(self) -> u32 {
        self.number
    }

    /// Whether only the tables have the column, and segments do not.
    pub fn is_of_tables(self) -> bool {
        self == Self::dead(self.kind, self.label) || self == Self::keys(self.kind, self.label)
    }

    /// Whether its cells never change while their elements live.
    pub fn is_fixed(self) -> bool {
        matches!(self.number, 0 | 2 | 3)
    }

    pub fn property(kind: ElementKind, label: LabelId, key: KeyId) -> Self {
        Self { kind, label, number: Self::KEYS + u32::from(key.0) }
    }

    /// The column that holds a property. For the key of a vertex label, it is the column of external ids.
    pub fn holding(schema: &Schema, kind: ElementKind, label: LabelId, key: KeyId) -> Self {
        if schema.is_key(kind, label, key) { Self::external(kind, label) } else { Self::property(kind, label, key) }
    }

    /// The column whose present cells say which elements are alive.
    pub fn alive(kind: ElementKind, label: LabelId) -> Self {
        match kind {
            ElementKind::Vertex => Self::external(kind, label),
            ElementKind::Edge => Self::ends(label),
        }
    }

    /// The property key of a column, or the name of a built-in one.
    pub fn named(kind: ElementKind, label: LabelId, number: u32) -> Result<KeyId, &'static str> {
        let column = Self { kind, label, number };
        match column.property_key() {
            Some(key) => Ok(key),
            None if column == Self::external(kind, label) => Err("ids"),
            None if column == Self::further(label) => Err("further labels"),
            None if column == Self::ends(label) => Err("ends"),
            None if column == Self::time(label) => Err("times"),
            None if column == Self::keys(kind, label) => Err("keys"),
            None => Err("other"),
        }
    }

    /// The property key, unless the column is built in.
    pub fn property_key(self) -> Option<KeyId> {
        self.number.checked_sub(Self::KEYS).and_then(|key| u16::try_from(key).ok()).map(KeyId)
    }

    pub fn key(self, block: u64) -> [u8; 12] {
        let mut key = [0; 12];
        key[0] = self.kind as u8;
        key[1..3].copy_from_slice(&self.label.0.to_be_bytes());
        key[3..6].copy_from_slice(&self.number.to_be_bytes()[1..]);
        key[6..].copy_from_slice(&block.to_be_bytes()[2..]);
        key
    }

    /// The column and block of a key.
    pub fn parse(key: &[u8]) -> Result<(Self, u64)> {
        let key: &[u8; 12] = key.try_into().map_err(|_| corrupt("a column key of the wrong length"))?;
        let kind = match key[0] {
            0 => ElementKind::Vertex,
            1 => ElementKind::Edge,
            _ => return Err(corrupt("a column key of an unknown kind")),
        };
        let label = LabelId(u16::from_be_bytes([key[1], key[2]]));
        let number = u32::from_be_bytes([0, key[3], key[4], key[5]]);
        Ok((Self { kind, label, number }, place_of(&key[6..])))
    }
}

/// Shard and local of an id.
pub fn place(id: u64) -> u64 {
    id & PLACE_MASK
}

/// The block a place is in, and its slot there.
pub fn block_slot(place: u64) -> (u64, usize) {
    (place / SLOTS as u64, (place % SLOTS as u64) as usize)
}

pub fn vertex_at(label: LabelId, place: u64) -> VertexId {
    VertexId(u64::from(label.0) << PLACE_BITS | place)
}

pub fn edge_at(label: LabelId, place: u64) -> EdgeId {
    EdgeId(u64::from(label.0) << PLACE_BITS | place)
}

pub fn element_at(kind: ElementKind, label: LabelId, place: u64) -> ElementId {
    match kind {
        ElementKind::Vertex => ElementId::Vertex(vertex_at(label, place)),
        ElementKind::Edge => ElementId::Edge(edge_at(label, place)),
    }
}

/// The first six bytes as a place.
fn place_of(bytes: &[u8]) -> u64 {
    bytes[..6].iter().fold(0, |place, byte| place << 8 | u64::from(*byte))
}

/// Where a block of adjacency begins: the key of `out` and `in`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AdjacencyKey {
    pub vertex: VertexId,
    pub label: LabelId,
    /// Present only if edges of the label have a time.
    pub time: Option<i64>,
    pub edge: u64,
}

/// A key as bytes, at most [`KeyBytes::MAX`] of them.
#[derive(Clone, Copy)]
pub struct KeyBytes {
    bytes: [u8; Self::MAX],
    len: usize,
}

impl KeyBytes {
    pub const MAX: usize = 24;

    pub fn new(parts: &[&[u8]]) -> Self {
        let mut key = Self { bytes: [0; Self::MAX], len: 0 };
        for part in parts {
            key.bytes[key.len..key.len + part.len()].copy_from_slice(part);
            key.len += part.len();
        }
        key
    }
}

impl std::ops::Deref for KeyBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The beginning of all keys of a vertex.
pub fn vertex_prefix(vertex: VertexId) -> KeyBytes {
    KeyBytes::new(&[&vertex.0.to_be_bytes()])
}

/// The beginning of all keys of a vertex and an edge label.
pub fn label_prefix(vertex: VertexId, label: LabelId) -> KeyBytes {
    KeyBytes::new(&[&vertex.0.to_be_bytes(), &label.0.to_be_bytes()])
}

impl AdjacencyKey {
    pub fn bytes(&self) -> KeyBytes {
        let (vertex, label) = (self.vertex.0.to_be_bytes(), self.label.0.to_be_bytes());
        let edge = self.edge.to_be_bytes();
        match self.time {
            None => KeyBytes::new(&[&vertex, &label, &edge[2..]]),
            Some(time) => KeyBytes::new(&[&vertex, &label, &flip(time).to_be_bytes(), &edge[2..]]),
        }
    }

    pub fn parse(key: &[u8]) -> Result<Self> {
        let wrong = || corrupt("an adjacency key of the wrong length");
        let (vertex, rest) = key.split_first_chunk::<8>().ok_or_else(wrong)?;
        let (label, rest) = rest.split_first_chunk::<2>().ok_or_else(wrong)?;
        let (time, rest) = match rest.len() {
            6 => (None, rest),
            14 => rest.split_first_chunk::<8>().map(|(time, rest)| (Some(*time), rest)).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        };
        Ok(Self {
            vertex: VertexId(u64::from_be_bytes(*vertex)),
            label: LabelId(u16::from_be_bytes(*label)),
            time: time.map(|time| unflip(u64::from_be_bytes(time))),
            edge: place_of(rest),
        })
    }
}

/// Signed integers as unsigned ones of the same order.
pub fn flip(i: i64) -> u64 {
    i as u64 ^ 1 << 63
}

pub fn unflip(u: u64) -> i64 {
    (u ^ 1 << 63) as i64
}

/// The first key behind all that begin with `prefix`; `None` if there is none.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_and_sort_as_their_parts() {
        let key = |time, edge| AdjacencyKey { vertex: VertexId(7), label: LabelId(1), time, edge };
        let sorted = [key(Some(i64::MIN), 9), key(Some(-1), 3), key(Some(0), 1), key(Some(0), 2), key(Some(5), 0)];
        for pair in sorted.windows(2) {
            assert!(pair[0].bytes()[..] < pair[1].bytes()[..], "{pair:?}");
        }
        for key in sorted.into_iter().chain([key(None, PLACE_MASK)]) {
            assert_eq!(AdjacencyKey::parse(&key.bytes()).unwrap(), key);
        }
        let column = Column::property(ElementKind::Edge, LabelId(u16::MAX), KeyId(u16::MAX));
        assert_eq!(Column::parse(&column.key(1 << 40)).unwrap(), (column, 1 << 40));
        assert_eq!(column.property_key(), Some(KeyId(u16::MAX)));
        assert!(Column::parse(&[0; 11]).is_err() && AdjacencyKey::parse(&[0; 17]).is_err());
    }

    #[test]
    fn the_end_of_a_prefix_is_after_all_its_keys() {
        assert_eq!(after_prefix(&[1, 255]), Some(vec![2]));
        assert_eq!(after_prefix(&[255, 255]), None);
    }
}
