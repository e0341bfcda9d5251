//! Traversers on elements that go to another node, as bytes. Most take two or three.
//!
//! ```text
//!   kind: 0 vertices, 1 edges, +2 with bulks | number of elements | for each: id - id before, [source, target,] [bulk]
//! ```
//! Elements are distinct and in the order of their ids. Numbers have seven bits in a byte, the lowest first. An end of an edge is the
//! difference to that of the edge before, with the sign in the lowest bit.

use mangrove_graph::{EdgeId, EdgeRef, VertexId};

use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::fleet::Owners;

const EDGES: u8 = 1;
const BULKS: u8 = 2;

/// The part of the graph that has the element of each traverser; `None` if they do not stand on elements of one kind.
pub fn parts_of(items: &Items, owners: &(impl Owners + ?Sized)) -> Option<Vec<usize>> {
    match items {
        Items::Vertices(ids) => Some(ids.iter().map(|id| owners.part_of_vertex(*id)).collect()),
        Items::Edges(edges) => Some(edges.iter().map(|edge| owners.part_of_edge(edge)).collect()),
        _ => None,
    }
}

/// The traversers of each part, in their order; `None` if some are in no part.
pub fn split(batch: &Batch, owners: &(impl Owners + ?Sized)) -> Option<Vec<Batch>> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); owners.parts()];
    for (row, part) in (0..).zip(parts_of(&batch.items, owners)?) {
        rows.get_mut(part)?.push(row);
    }
    Some(rows.iter().map(|rows| batch.gather(rows)).collect())
}

/// Traversers on equal elements as one, in the order of their ids. Others stay as they are. `None` if a bulk grows too large.
pub fn merged(batch: Batch) -> Option<Batch> {
    let Batch { items, bulk, .. } = batch;
    let (items, bulk) = match items {
        Items::Vertices(ids) => {
            let (ids, bulk) = coalesced(ids, bulk)?;
            (Items::Vertices(ids), bulk)
        }
        Items::Edges(edges) => {
            let (edges, bulk) = coalesced(edges, bulk)?;
            (Items::Edges(edges), bulk)
        }
        items => (items, bulk),
    };
    Some(Batch { bulk, ..Batch::new(items) })
}

/// Bulks, unless all are 1.
type Bulks = Option<Vec<u64>>;

fn coalesced<T: Copy + Ord>(mut items: Vec<T>, bulk: Bulks) -> Option<(Vec<T>, Bulks)> {
    let mut sums: Vec<u64> = Vec::new();
    let mut distinct = Vec::with_capacity(items.len());
    let mut add = |item: T, bulk: u64| match (distinct.last(), sums.last_mut()) {
        (Some(last), Some(sum)) if *last == item => sum.checked_add(bulk).map(|more| *sum = more),
        _ => {
            distinct.push(item);
            sums.push(bulk);
            Some(())
        }
    };
    match bulk {
        None => {
            items.sort_unstable();
            items.into_iter().try_for_each(|item| add(item, 1))?;
        }
        Some(bulk) => {
            let mut pairs: Vec<(T, u64)> = items.into_iter().zip(bulk).collect();
            pairs.sort_unstable_by_key(|(item, _)| *item);
            pairs.into_iter().try_for_each(|(item, bulk)| add(item, bulk))?;
        }
    }
    let bulk = sums.iter().any(|sum| *sum != 1).then_some(sums);
    Some((distinct, bulk))
}

/// Merged traversers as bytes; `None` if they do not stand on vertices only, or on edges only.
pub fn to_frame(batch: &Batch) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(3 * batch.len() + 12);
    let kind = if batch.edges().is_some() { EDGES } else { 0 };
    bytes.push(kind + if batch.bulk.is_some() { BULKS } else { 0 });
    put(&mut bytes, batch.len() as u64);
    let bulk = |bytes: &mut Vec<u8>, row: usize| batch.bulk.iter().for_each(|bulk| put(bytes, bulk[row]));
    match &batch.items {
        Items::Vertices(ids) => {
            let mut before = 0;
            for (row, id) in ids.iter().enumerate() {
                put(&mut bytes, id.0.wrapping_sub(std::mem::replace(&mut before, id.0)));
                bulk(&mut bytes, row);
            }
        }
        Items::Edges(edges) => {
            let mut before = [0; 3];
            for (row, edge) in edges.iter().enumerate() {
                let now = [edge.id.0, edge.source.0, edge.target.0];
                let [id, source, target] = std::mem::replace(&mut before, now);
                put(&mut bytes, now[0].wrapping_sub(id));
                put(&mut bytes, folded(now[1].wrapping_sub(source)));
                put(&mut bytes, folded(now[2].wrapping_sub(target)));
                bulk(&mut bytes, row);
            }
        }
        _ => return None,
    }
    Some(bytes)
}

/// What [`to_frame`] wrote; `None` for other bytes.
pub fn from_frame(bytes: &[u8]) -> Option<Batch> {
    let (kind, mut rest) = bytes.split_first().filter(|(kind, _)| **kind <= EDGES + BULKS)?;
    let rows = usize::try_from(take(&mut rest)?).ok().filter(|rows| *rows <= rest.len())?;
    let mut bulks = (kind & BULKS != 0).then(|| Vec::with_capacity(rows));
    let mut bulk =
        |rest: &mut &[u8]| bulks.iter_mut().try_for_each(|bulks: &mut Vec<u64>| take(rest).map(|bulk| bulks.push(bulk)));
    let items = if kind & EDGES == 0 {
        let (mut ids, mut before) = (Vec::with_capacity(rows), 0u64);
        for _ in 0..rows {
            before = before.wrapping_add(take(&mut rest)?);
            ids.push(VertexId(before));
            bulk(&mut rest)?;
        }
        Items::Vertices(ids)
    } else {
        let (mut edges, mut before) = (Vec::with_capacity(rows), [0u64; 3]);
        for _ in 0..rows {
            let [id, source, target] = before;
            before[0] = id.wrapping_add(take(&mut rest)?);
            before[1] = source.wrapping_add(unfolded(take(&mut rest)?));
            before[2] = target.wrapping_add(unfolded(take(&mut rest)?));
            let [id, source, target] = before;
            edges.push(EdgeRef { id: EdgeId(id), source: VertexId(source), target: VertexId(target) });
            bulk(&mut rest)?;
        }
        Items::Edges(edges)
    };
    rest.is_empty().then_some(Batch { bulk: bulks, ..Batch::new(items) })
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(first & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Differences near zero as small numbers.
fn folded(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

fn unfolded(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use mangrove_graph::LabelId;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn batch() -> impl Strategy<Value = Batch> {
        let rows = vec((any::<u64>(), any::<u64>(), any::<u64>(), 0u64..1 << 50), 0..30);
        (rows, any::<bool>(), any::<bool>()).prop_map(|(rows, has_bulks, are_edges)| {
            let edge = |row: &(u64, u64, u64, u64)| EdgeRef {
                id: EdgeId(row.0 % 20),
                source: VertexId(row.0 % 20),
                target: VertexId(row.0 % 20 * 0x1234_5678_9abc),
            };
            let items = match are_edges {
                true => Items::Edges(rows.iter().map(edge).collect()),
                false => Items::Vertices(rows.iter().map(|row| VertexId(row.1 >> (row.2 % 64))).collect()),
            };
            Batch { bulk: has_bulks.then(|| rows.iter().map(|row| row.3).collect()), ..Batch::new(items) }
        })
    }

    proptest! {
        #[test]
        fn merged_traversers_come_back_from_their_bytes(batch in batch()) {
            let total = batch.total();
            let merged = merged(batch).unwrap();
            prop_assert_eq!(merged.total(), total);
            let values: Vec<_> = (0..merged.len()).map(|row| merged.value(row)).collect();
            prop_assert!(values.iter().enumerate().all(|(at, value)| !values[..at].contains(value)));
            let bytes = to_frame(&merged).unwrap();
            let again = from_frame(&bytes).expect("a frame");
            prop_assert_eq!(format!("{:?}", again), format!("{:?}", merged));
            prop_assert!((0..bytes.len()).all(|end| from_frame(&bytes[..end]).is_none()));
        }

        #[test]
        fn damaged_bytes_give_traversers_or_none(bytes in vec(any::<u8>(), 0..60)) {
            if let Some(batch) = from_frame(&bytes) {
                prop_assert!(batch.is_rectangular());
            }
        }
    }

    #[test]
    fn vertices_that_lie_near_each_other_take_few_bytes() {
        let ids = (0..1000).map(|local| VertexId::new(LabelId(3), 7, local * 100)).collect();
        let bytes = to_frame(&Batch::new(Items::Vertices(ids))).unwrap();
        assert!(bytes.len() < 1_050, "{}", bytes.len());
    }

    #[test]
    fn bulks_that_are_too_large_together_are_not_merged() {
        let twice = Items::Vertices(vec![VertexId(1), VertexId(1)]);
        assert!(merged(Batch { bulk: Some(vec![u64::MAX, 1]), ..Batch::new(twice) }).is_none());
    }
}
