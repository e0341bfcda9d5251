//! A block of adjacency: up to 128 edges of one vertex, label and direction, in order of (time, age).
//!
//! ```text
//!   count 1 | widths 1 | [time width 1] | neighbour base 8 | [edge base 6] | neighbours | edges | [times]
//! ```
//! The parts in brackets exist only for labels whose edges have a time. Neighbours, edges (their places) and times are
//! offsets of a fixed width:
//!
//! * Neighbours count from their base.
//! * Edges count from their base. Without times, that base is the edge in the key.
//! * Times count from the time in the key.
//!
//! The low half of `widths` is the width of neighbours, the high half that of edges. An edge width of 15 means that edges
//! are consecutive and take no room.

use mangrove_graph::{EdgeId, EdgeRef, LabelId, Result, VertexId};

use crate::format::key::{AdjacencyKey, edge_at, flip};
use crate::format::packed::{Packed, pack, width_of};
use crate::system::fault::corrupt;

/// Edges a block holds at most.
pub const EDGES_MAX: usize = 128;
const CONSECUTIVE: usize = 15;

/// One edge, seen from one of its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeEntry {
    pub neighbor: VertexId,
    /// Present only if edges of the label have a time.
    pub time: Option<i64>,
    /// The place of the edge's id.
    pub edge: u64,
}

impl EdgeEntry {
    /// The sort key of edges in a block.
    pub fn order(&self) -> (Option<i64>, u64) {
        (self.time, self.edge)
    }

    pub fn key(&self, vertex: VertexId, label: LabelId) -> AdjacencyKey {
        AdjacencyKey { vertex, label, time: self.time, edge: self.edge }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct AdjacencyBlock<'a> {
    key: AdjacencyKey,
    neighbors: Packed<'a>,
    edges: Edges<'a>,
    /// Offsets from the key's time. Both are flipped to be unsigned.
    times: Option<Packed<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Edges<'a> {
    From(u64),
    Each(Packed<'a>),
}

/// The number of edges of a block, read from its first byte.
pub fn len(value: &[u8]) -> Result<usize> {
    match value.first() {
        Some(n @ 1..=128) => Ok(usize::from(*n)),
        _ => Err(corrupt("an adjacency block of no length")),
    }
}

/// Appends the block of these sorted entries, at most [`EDGES_MAX`]. The key of the block is that of the first entry.
pub fn encode(out: &mut Vec<u8>, entries: &[EdgeEntry]) {
    let first = entries[0];
    let neighbors = || entries.iter().map(|entry| entry.neighbor.0);
    let (min, max) = neighbors().fold((u64::MAX, 0), |(min, max), v| (min.min(v), max.max(v)));
    let width = width_of(max - min);
    let edges = || entries.iter().map(|entry| entry.edge);
    let consecutive = edges().zip(first.edge..).all(|(edge, expected)| edge == expected);
    let (edge_min, edge_max) = edges().fold((u64::MAX, 0), |(min, max), v| (min.min(v), max.max(v)));
    let edge_width = if consecutive { CONSECUTIVE } else { width_of(edge_max - edge_min) };

    out.push(entries.len() as u8);
    out.push((width | edge_width << 4) as u8);
    let time_width = first.time.map(|time| width_of(flip(entries[entries.len() - 1].time.unwrap_or(time)) - flip(time)));
    out.extend(time_width.map(|width| width as u8));
    out.extend_from_slice(&min.to_le_bytes());
    if time_width.is_some() {
        out.extend_from_slice(&edge_min.to_le_bytes()[..6]);
    }
    pack(out, neighbors(), min, width);
    if !consecutive {
        pack(out, edges(), edge_min, edge_width);
    }
    if let (Some(width), Some(base)) = (time_width, first.time) {
        pack(out, entries.iter().map(|entry| flip(entry.time.unwrap_or(base))), flip(base), width);
    }
}

impl<'a> AdjacencyBlock<'a> {
    pub fn parse(key: &[u8], value: &'a [u8]) -> Result<Self> {
        let key = AdjacencyKey::parse(key)?;
        let early = || corrupt("an adjacency block ends early");
        let n = len(value)?;
        let (widths, rest) = value[1..].split_first().ok_or_else(early)?;
        let (time_width, rest) = match key.time {
            None => (None, rest),
            Some(_) => rest.split_first().map(|(width, rest)| (Some(*width), rest)).ok_or_else(early)?,
        };
        let (base, rest) = rest.split_first_chunk().ok_or_else(early)?;
        let (edge_base, rest) = match time_width {
            None => (key.edge, rest),
            Some(_) => {
                let (base, rest) = rest.split_first_chunk::<6>().ok_or_else(early)?;
                let [a, b, c, d, e, f] = *base;
                (u64::from_le_bytes([a, b, c, d, e, f, 0, 0]), rest)
            }
        };
        let (neighbors, rest) = Packed::split(u64::from_le_bytes(*base), usize::from(widths & 15), n, rest)?;
        let (edges, rest) = match usize::from(widths >> 4) {
            CONSECUTIVE => (Edges::From(key.edge), rest),
            width => Packed::split(edge_base, width, n, rest).map(|(edges, rest)| (Edges::Each(edges), rest))?,
        };
        let times = match (time_width, key.time) {
            (Some(width), Some(time)) => Some(Packed::split(flip(time), usize::from(width), n, rest)?.0),
            _ => None,
        };
        Ok(Self { key, neighbors, edges, times })
    }

    pub fn len(&self) -> usize {
        self.neighbors.len()
    }

    /// Appends the first `n` neighbours.
    pub fn neighbors(&self, n: usize, out: &mut Vec<VertexId>) {
        self.neighbors.extend(0..n.min(self.len()), out, VertexId);
    }

    /// Appends the first `n` edges. The block's vertex is their source if `outgoing`, else their target.
    pub fn edges(&self, n: usize, outgoing: bool, out: &mut Vec<EdgeRef>) {
        let (vertex, label) = (self.key.vertex, self.key.label);
        let at = out.len();
        let edge = |neighbor| match outgoing {
            true => EdgeRef { id: EdgeId(0), source: vertex, target: VertexId(neighbor) },
            false => EdgeRef { id: EdgeId(0), source: VertexId(neighbor), target: vertex },
        };
        self.neighbors.extend(0..n.min(self.len()), out, edge);
        for (at, edge) in out[at..].iter_mut().enumerate() {
            edge.id = edge_at(label, self.edge(at));
        }
    }

    fn edge(&self, at: usize) -> u64 {
        match self.edges {
            Edges::From(first) => first + at as u64,
            Edges::Each(edges) => edges.get(at),
        }
    }

    pub fn entry(&self, at: usize) -> EdgeEntry {
        let time = self.times.map(|times| crate::format::key::unflip(times.get(at)));
        EdgeEntry { neighbor: VertexId(self.neighbors.get(at)), time, edge: self.edge(at) }
    }

    /// Appends all entries.
    pub fn entries(&self, out: &mut Vec<EdgeEntry>) {
        out.extend((0..self.len()).map(|at| self.entry(at)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries() -> impl Strategy<Value = Vec<EdgeEntry>> {
        let neighbor = prop_oneof![0u64..300, any::<u64>()];
        let time = prop_oneof![-5i64..5, any::<i64>()];
        let edge = prop_oneof![0u64..1000, 0u64..1 << 48];
        (any::<bool>(), prop::collection::vec((neighbor, time, edge), 1..=EDGES_MAX)).prop_map(|(timed, rows)| {
            let mut entries: Vec<EdgeEntry> = rows
                .into_iter()
                .map(|(n, time, edge)| EdgeEntry { neighbor: VertexId(n), time: timed.then_some(time), edge })
                .collect();
            entries.sort_by_key(EdgeEntry::order);
            entries.dedup_by_key(|entry| entry.order());
            entries
        })
    }

    proptest! {
        #[test]
        fn blocks_give_back_their_edges(entries in entries()) {
            let (vertex, label) = (VertexId(77), LabelId(3));
            let mut bytes = Vec::new();
            encode(&mut bytes, &entries);
            let block = AdjacencyBlock::parse(&entries[0].key(vertex, label).bytes(), &bytes).unwrap();
            let mut back = Vec::new();
            block.entries(&mut back);
            prop_assert_eq!(&back, &entries);
            let (mut neighbors, mut edges) = (Vec::new(), Vec::new());
            block.neighbors(EDGES_MAX, &mut neighbors);
            block.edges(EDGES_MAX, false, &mut edges);
            for (at, entry) in entries.iter().enumerate() {
                prop_assert_eq!(neighbors[at], entry.neighbor);
                prop_assert_eq!(edges[at], EdgeRef { id: edge_at(label, entry.edge), source: entry.neighbor, target: vertex });
            }
        }

        #[test]
        fn damaged_blocks_are_refused_or_read(entries in entries(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
                                              cut in any::<prop::sample::Index>()) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &entries);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok(block) = AdjacencyBlock::parse(&entries[0].key(VertexId(1), LabelId(0)).bytes(), &bytes) {
                block.entries(&mut Vec::new());
            }
        }
    }

    #[test]
    fn a_lone_edge_and_a_run_take_little_room() {
        let run: Vec<EdgeEntry> =
            (0..128).map(|i| EdgeEntry { neighbor: VertexId((1 << 50) | (i % 200)), time: None, edge: 1000 + i }).collect();
        let mut bytes = Vec::new();
        encode(&mut bytes, &run[..1]);
        assert_eq!(bytes.len(), 10);
        bytes.clear();
        encode(&mut bytes, &run);
        assert_eq!(bytes.len(), 10 + 128);
    }
}
