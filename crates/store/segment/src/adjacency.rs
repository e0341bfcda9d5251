//! An adjacency chunk: the lists of edges of up to 65,536 consecutive vertices, for one direction and edge label. A reader finds a
//! list in O(1), and reads any edge in place.
//!
//! ```text
//!   presence 1 | places 1 | low half of groups 2 | positions 4 | edges 4 | high half of groups 2 | zeros 2
//!   | for every group of neighbours, those of a label and shard: where its codes begin 8, label 2, shard 2, zeros 4
//!   | [present: a set of positions] | starts | neighbours | edge places: a sequence of integers, or the first 8
//! ```
//! `presence` 0: every vertex has a list; 1: a set says which. `starts` says where each list begins, and has one integer more than
//! there are lists. A neighbour's code is its local id plus the first code of its group. So lists with vertices of many shards are hardly
//! wider than those with vertices of one. `places` 1: edge places are consecutive, so the chunk keeps only the first. Labels with a time
//! order the edges of a list by (time, place); other labels order them by place.

use std::collections::BTreeMap;
use std::ops::Range;

use mangrove_graph::id::LOCAL_MAX;
use mangrove_graph::{LabelId, Result, VertexId};

use crate::bits::{self, Bits};
use crate::column::POSITIONS;
use crate::corrupt;
use crate::ints::{self, Ints};

const HEADER: usize = 16;
const GROUP: usize = 16;
const LOCAL_BITS: u32 = LOCAL_MAX.trailing_ones();
const SHARD_BITS: u32 = 12;

/// An edge in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    pub neighbor: VertexId,
    /// The shard and local of the edge.
    pub edge: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Lists<'a> {
    positions: usize,
    present: Option<Bits<'a>>,
    /// Of neighbours: one for each label and shard.
    groups: &'a [[u8; GROUP]],
    starts: Ints<'a>,
    /// Every list has one edge.
    are_single: bool,
    neighbors: Ints<'a>,
    edges: Places<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Places<'a> {
    From(u64),
    Each(Ints<'a>),
}

impl<'a> Lists<'a> {
    /// Reads a chunk. O(1).
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let early = || corrupt("an adjacency chunk ends early");
        let (header, rest) = data.split_first_chunk::<HEADER>().ok_or_else(early)?;
        let [presence, consecutive, g0, g1, a, b, c, d, e, f, g, h, g2, g3, ..] = *header;
        let (positions, count) = (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]) as usize);
        let groups = (u32::from_le_bytes([g0, g1, g2, g3]) as usize).checked_mul(GROUP).ok_or_else(early)?;
        let (groups, rest) = rest.split_at_checked(groups).ok_or_else(early)?;
        let groups = groups.as_chunks().0;
        let (present, rest) = match presence {
            0 => (None, rest),
            _ => Bits::split(rest).map(|(bits, rest)| (Some(bits), rest))?,
        };
        let (starts, rest) = Ints::split(rest)?;
        let (neighbors, rest) = Ints::split(rest)?;
        let edges = match consecutive {
            0 => Places::Each(Ints::split(rest)?.0),
            _ => Places::From(u64::from_le_bytes(*rest.first_chunk().ok_or_else(early)?)),
        };
        let lists = present.map_or(positions, |bits| bits.ones());
        let each = if let Places::Each(places) = edges { places.len() } else { count };
        let fits = positions <= POSITIONS && present.is_none_or(|bits| bits.len() == positions);
        if !fits
            || starts.len() != lists + 1
            || neighbors.len() != count
            || each != count
            || (count > 0 && groups.is_empty())
        {
            return Err(corrupt("an adjacency chunk with wrong counts"));
        }
        // Where only the last positions lack a list, ranks are positions.
        let (present, positions) = match present.filter(|bits| bits.before(lists) < lists) {
            Some(bits) => (Some(bits), positions),
            None => (None, lists),
        };
        let are_single = starts.counts_up() && count == lists;
        Ok(Self { positions, present, groups, starts, are_single, neighbors, edges })
    }

    /// The number of vertices it covers, perhaps without those behind the last list.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// The number of edges in all lists.
    pub fn len(&self) -> usize {
        self.neighbors.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The range of a vertex's list among the edges; empty if it has none.
    #[inline]
    pub fn list(&self, position: usize) -> Range<usize> {
        let rank = match &self.present {
            _ if position >= self.positions => None,
            Some(bits) => bits.rank(position),
            None => Some(position),
        };
        let Some(rank) = rank.filter(|rank| rank + 1 < self.starts.len()) else { return 0..0 };
        if self.are_single {
            return rank..rank + 1;
        }
        // Stay within the edges, whatever the bytes.
        let (start, end) = (self.starts.get(rank) as usize, self.starts.get(rank + 1) as usize);
        let end = end.min(self.len());
        start.min(end)..end
    }

    /// The neighbour to which an edge leads.
    #[inline]
    pub fn neighbor(&self, at: usize) -> VertexId {
        self.vertex(self.neighbors.get(at) as u64)
    }

    /// Calls `f` with the neighbours of a part of a list.
    #[inline]
    pub fn each_neighbor(&self, list: Range<usize>, mut f: impl FnMut(VertexId)) {
        match self.groups {
            [only] => {
                let base = first_vertex(only);
                self.neighbors.each(list, |code| f(VertexId(base.wrapping_add(code as u64))));
            }
            [low, high] => {
                let (bases, (split, _)) = ([first_vertex(low), first_vertex(high)], group(high));
                let base = |code: u64| bases[usize::from(code >= split)];
                self.neighbors.each(list, |code| f(VertexId(base(code as u64).wrapping_add(code as u64))));
            }
            _ => self.neighbors.each(list, |code| f(self.vertex(code as u64))),
        }
    }

    /// Calls `f` with the only neighbour of each of these vertices, until one has another number of edges or the chunk does not tell.
    /// Returns how many vertices that were.
    #[inline]
    pub fn each_only_neighbor(&self, positions: impl Iterator<Item = usize>, mut f: impl FnMut(VertexId)) -> usize {
        match self.groups {
            _ if !self.are_single || self.present.is_some() => 0,
            [only] => {
                let base = first_vertex(only);
                self.neighbors.gather(positions, |code| f(VertexId(base.wrapping_add(code as u64))))
            }
            _ => self.neighbors.gather(positions, |code| f(self.vertex(code as u64))),
        }
    }

    fn vertex(&self, code: u64) -> VertexId {
        let after = self.groups.partition_point(|entry| group(entry).0 <= code);
        let (start, group) = self.groups.get(after.saturating_sub(1)).map_or((0, 0), group);
        VertexId(group << LOCAL_BITS | code.wrapping_sub(start) & LOCAL_MAX)
    }

    /// The shard and local of an edge.
    #[inline]
    pub fn edge(&self, at: usize) -> u64 {
        match self.edges {
            Places::From(first) => first.wrapping_add(at as u64),
            Places::Each(places) => places.get(at) as u64,
        }
    }

    /// Calls `f` with the shard and local of each edge of a part of a list.
    #[inline]
    pub fn each_edge(&self, list: Range<usize>, mut f: impl FnMut(u64)) {
        match self.edges {
            Places::From(first) => list.for_each(|at| f(first.wrapping_add(at as u64))),
            Places::Each(places) => places.each(list, |place| f(place as u64)),
        }
    }

    /// The first edge place, if edge places are consecutive.
    pub fn first_place(&self) -> Option<u64> {
        if let Places::From(first) = self.edges { Some(first) } else { None }
    }

    /// The neighbour to which the edge at a place leads, if edge places are consecutive and this is one of them. O(1).
    #[inline]
    pub fn neighbor_of(&self, place: u64) -> Option<VertexId> {
        let at = usize::try_from(place.checked_sub(self.first_place()?)?).ok()?;
        (at < self.len()).then(|| self.neighbor(at))
    }

    /// The position of the vertex whose list contains an edge.
    pub fn position_of(&self, at: usize) -> usize {
        // The last list that begins at or before the edge. An empty list begins where the next one does.
        let list = self.starts.below(at as i64 + 1).saturating_sub(1);
        let Some(bits) = &self.present else { return list };
        let (mut low, mut high) = (0, self.positions);
        while low < high {
            let middle = low.midpoint(high);
            if bits.before(middle + 1) <= list { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// The first code of a group, and its number: the upper bits of its vertices.
fn group(entry: &[u8; GROUP]) -> (u64, u64) {
    let [a, b, c, d, e, f, g, h, l0, l1, s0, s1, ..] = *entry;
    let (label, shard) = (u16::from_le_bytes([l0, l1]), u16::from_le_bytes([s0, s1]));
    let shard = u64::from(shard) & ((1 << SHARD_BITS) - 1);
    (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from(label) << SHARD_BITS | shard)
}

/// What to add to the codes of a group to get vertices.
fn first_vertex(entry: &[u8; GROUP]) -> u64 {
    let (start, group) = group(entry);
    (group << LOCAL_BITS).wrapping_sub(start)
}

/// Appends the chunk of these lists. `ends` says, by position, where each list ends among the edges.
///
/// # Panics
/// If there are more than [`POSITIONS`].
pub fn encode(out: &mut Vec<u8>, ends: &[u32], edges: &[Entry]) {
    assert!(ends.len() <= POSITIONS);
    let count = ends.last().copied().unwrap_or(0);
    assert_eq!(edges.len(), count as usize);
    let groups = code_ranges(edges);
    let consecutive = edges.windows(2).all(|pair| pair[1].edge == pair[0].edge + 1);
    let starts = || std::iter::once(0).chain(ends.iter().copied());
    let there: Vec<bool> = starts().zip(ends).map(|(start, end)| start < *end).collect();
    let sparse = !there.iter().all(|there| *there);
    out.extend_from_slice(&[u8::from(sparse), u8::from(consecutive)]);
    let [g0, g1, g2, g3] = (groups.len() as u32).to_le_bytes(); // no more than there are edges
    out.extend_from_slice(&[g0, g1]);
    out.extend_from_slice(&(ends.len() as u32).to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&[g2, g3, 0, 0]);
    for ((label, shard), start) in &groups {
        out.extend_from_slice(&start.to_le_bytes());
        out.extend_from_slice(&label.0.to_le_bytes());
        out.extend_from_slice(&shard.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
    }
    if sparse {
        bits::encode(out, &there);
    }
    let ends = there.iter().zip(ends).filter(|(there, _)| !sparse || **there).map(|(_, end)| i64::from(*end));
    ints::encode(out, &std::iter::once(0).chain(ends).collect::<Vec<i64>>());
    let code = |entry: &Entry| (groups[&group_of(entry.neighbor)] + entry.neighbor.local()) as i64;
    ints::encode(out, &edges.iter().map(code).collect::<Vec<_>>());
    if consecutive {
        out.extend_from_slice(&edges.first().map_or(0, |entry| entry.edge).to_le_bytes());
    } else {
        ints::encode(out, &edges.iter().map(|entry| entry.edge as i64).collect::<Vec<_>>());
    }
}

fn group_of(vertex: VertexId) -> (LabelId, u16) {
    (vertex.label(), vertex.shard())
}

/// The first code of each group of neighbours. A group's codes follow those of the groups before it.
fn code_ranges(edges: &[Entry]) -> BTreeMap<(LabelId, u16), u64> {
    let mut ends: BTreeMap<(LabelId, u16), u64> = BTreeMap::new();
    for entry in edges {
        let end = ends.entry(group_of(entry.neighbor)).or_default();
        *end = (*end).max(entry.neighbor.local() + 1);
    }
    let mut start = 0;
    ends.values_mut().for_each(|end| start += std::mem::replace(end, start));
    ends
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lists() -> impl Strategy<Value = Vec<Vec<Entry>>> {
        let neighbor = (
            0u16..3,
            prop_oneof![3 => Just(0u16), 1 => 0u16..3, 1 => 4090u16..4096],
            prop_oneof![0u64..300, 0u64..LOCAL_MAX],
        );
        let list = |lengths: std::ops::Range<usize>| prop::collection::vec((neighbor.clone(), 0u64..1 << 45), lengths);
        let lists = prop_oneof![
            3 => prop::collection::vec(list(0..9), 0..80),
            1 => prop::collection::vec(list(0..2), 0..80),
            1 => prop::collection::vec(list(1..2), 0..80),
        ];
        (lists, any::<bool>(), any::<bool>()).prop_map(|(lists, one_label, numbered)| {
            let mut next = 1000;
            let entry = |((label, shard, local), edge): ((u16, u16, u64), u64)| {
                next += 1;
                let (label, shard) = if one_label { (7, 0) } else { (label, shard) };
                Entry { neighbor: VertexId::new(LabelId(label), shard, local), edge: if numbered { next } else { edge } }
            };
            let mut entry = entry;
            lists.into_iter().map(|list| list.into_iter().map(&mut entry).collect()).collect()
        })
    }

    fn encode_lists(out: &mut Vec<u8>, lists: &[Vec<Entry>]) {
        let ends: Vec<u32> = lists
            .iter()
            .scan(0, |end, list| {
                *end += list.len() as u32;
                Some(*end)
            })
            .collect();
        encode(out, &ends, &lists.concat());
    }

    proptest! {
        #[test]
        fn lists_come_back(lists in lists()) {
            let mut bytes = Vec::new();
            encode_lists(&mut bytes, &lists);
            let chunk = Lists::parse(&bytes).unwrap();
            let last = lists.iter().rposition(|list| !list.is_empty()).map_or(0, |last| last + 1);
            prop_assert!((last..=lists.len()).contains(&chunk.positions()));
            prop_assert_eq!(chunk.len(), lists.iter().map(Vec::len).sum::<usize>());
            let (mut only, all) = (Vec::new(), (0..lists.len() + 1).rev());
            let n = chunk.each_only_neighbor(all.clone().skip(1), |neighbor| only.push(neighbor));
            prop_assert!(n == 0 || lists.iter().all(|list| list.len() == 1));
            prop_assert!(only.iter().zip(all.skip(1)).all(|(neighbor, at)| *neighbor == lists[at][0].neighbor));
            prop_assert_eq!(only.len(), n);
            for (position, list) in lists.iter().enumerate() {
                let range = chunk.list(position);
                let back: Vec<Entry> =
                    range.clone().map(|at| Entry { neighbor: chunk.neighbor(at), edge: chunk.edge(at) }).collect();
                prop_assert_eq!(&back, list);
                let (mut neighbors, mut edges) = (Vec::new(), Vec::new());
                chunk.each_neighbor(range.clone(), |neighbor| neighbors.push(neighbor));
                chunk.each_edge(range.clone(), |edge| edges.push(edge));
                prop_assert_eq!(neighbors, list.iter().map(|entry| entry.neighbor).collect::<Vec<_>>());
                prop_assert_eq!(edges, list.iter().map(|entry| entry.edge).collect::<Vec<_>>());
                for at in range {
                    prop_assert_eq!(chunk.position_of(at), position);
                }
            }
            prop_assert_eq!(chunk.list(lists.len()), 0..0);
        }

        #[test]
        fn damaged_lists_are_refused_or_read(
            lists in lists(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            encode_lists(&mut bytes, &lists);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok(chunk) = Lists::parse(&bytes) {
                for position in 0..chunk.positions().min(500) {
                    for at in chunk.list(position).take(100) {
                        let _ = (chunk.neighbor(at), chunk.edge(at));
                    }
                }
            }
        }
    }
}
