//! The rows of vertices, by their ids.
//!
//! Integers are kept themselves, sorted, so that a look-up is exact. Of other ids the index has hashes, sorted too, and whoever looks
//! one up reads the ids of the rows that may have it.

use mangrove_graph::{ExternalId, ReadContext};
use mangrove_segment::file::{SegmentFile, SegmentWriter};
use mangrove_segment::ints::{self, Ints};
use mangrove_segment::names;

use super::{Part, in_parallel};
use crate::error::{LakeError, Result};

/// Ids to a part.
const CHUNK: usize = 1 << 16;

pub struct IdsIndex {
    file: SegmentFile,
    /// How many ids there are.
    count: u64,
    are_integers: bool,
}

/// The rows that an id may belong to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Candidates {
    pub rows: Vec<u64>,
    /// Whether it is sure that the first of them has the id.
    pub is_sure: bool,
}

impl IdsIndex {
    /// Reads an index. `None` if it is not whole.
    pub fn parse(file: SegmentFile) -> Option<Self> {
        let counts: [u8; 9] = file.get(Part::Count.key(0)).ok()??.try_into().ok()?;
        let count = u64::from_le_bytes(*counts.first_chunk()?);
        Some(Self { count, are_integers: counts[8] == 1, file })
    }

    /// Writes the rows of integers. O(ids · log ids).
    pub fn write_integers(writer: &mut SegmentWriter, ids: Vec<(i64, u32)>, limits: Option<&ReadContext>) -> Result<()> {
        write(writer, ids, true, limits)
    }

    /// Writes the rows of ids of any kind. O(ids · log ids).
    pub fn write_hashes(
        writer: &mut SegmentWriter,
        ids: impl Iterator<Item = (ExternalId, u32)>,
        limits: Option<&ReadContext>,
    ) -> Result<()> {
        write(writer, ids.map(|(id, row)| (hash(&id), row)).collect(), false, limits)
    }

    /// The rows that an id may belong to, in order. O(log ids).
    pub fn find(&self, id: &ExternalId) -> Result<Candidates> {
        match (self.are_integers, id) {
            (true, ExternalId::Int(id)) => Ok(Candidates { rows: self.rows_of(*id)?, is_sure: true }),
            (true, _) => Ok(Candidates::default()),
            (false, id) => Ok(Candidates { rows: self.rows_of(hash(id))?, is_sure: false }),
        }
    }

    fn rows_of(&self, key: i64) -> Result<Vec<u64>> {
        let part = |part: Part, chunk: usize| -> Result<&[u8]> {
            let missing = || LakeError::Unsupported("an index lacks a part".into());
            self.file.get(part.key(chunk as u64))?.ok_or_else(missing)
        };
        let mut found = Vec::new();
        if self.count == 0 {
            return Ok(found);
        }
        let (firsts, _) = Ints::split(part(Part::Firsts, 0)?)?;
        // Rows with one key may lie in several chunks: the first is that before the first chunk that begins with the key.
        for chunk in firsts.below(key).saturating_sub(1)..firsts.len() {
            if firsts.get(chunk) > key {
                break;
            }
            let (keys, rest) = Ints::split(part(Part::Ids, chunk)?)?;
            let (rows, _) = Ints::split(rest)?;
            let places = keys.below(key)..keys.len().min(rows.len());
            found.extend(places.take_while(|at| keys.get(*at) == key).map(|at| rows.get(at) as u64));
        }
        Ok(found)
    }
}

fn hash(id: &ExternalId) -> i64 {
    names::hash(id) as i64
}

fn write(
    writer: &mut SegmentWriter,
    mut keyed: Vec<(i64, u32)>,
    are_integers: bool,
    limits: Option<&ReadContext>,
) -> Result<()> {
    keyed.sort_unstable();
    let mut counts = (keyed.len() as u64).to_le_bytes().to_vec();
    counts.push(u8::from(are_integers));
    writer.put(Part::Count.key(0), &counts)?;
    let chunks: Vec<&[(i64, u32)]> = keyed.chunks(CHUNK).collect();
    let mut firsts = Vec::new();
    ints::encode(&mut firsts, &chunks.iter().map(|chunk| chunk[0].0).collect::<Vec<_>>());
    writer.put(Part::Firsts.key(0), &firsts)?;
    let encoded = in_parallel(chunks.len(), limits, |at, _| {
        let mut bytes = Vec::new();
        ints::encode(&mut bytes, &chunks[at].iter().map(|(key, _)| *key).collect::<Vec<_>>());
        ints::encode(&mut bytes, &chunks[at].iter().map(|(_, row)| i64::from(*row)).collect::<Vec<_>>());
        Ok(bytes)
    })?;
    encoded.iter().zip(0..).try_for_each(|(bytes, chunk)| writer.put(Part::Ids.key(chunk), bytes))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::IndexCache;
    use super::*;

    #[test]
    fn integers_are_found_exactly() {
        let place = tempfile::tempdir().unwrap();
        let cache = IndexCache::new(Some(place.path().to_owned()), None);
        let mut ids: Vec<(i64, u32)> =
            (0..200_000u32).map(|row| (i64::from(row) * 977 % 1_000_003 - 500_000, row)).collect();
        ids.extend([(i64::MIN, 200_000), (i64::MAX, 200_001), (ids[7].0, 200_002)]);
        let file = cache.write("x", |writer| IdsIndex::write_integers(writer, ids.clone(), None)).unwrap();
        let index = IdsIndex::parse(file).unwrap();
        for (id, row) in ids.iter().take(200_002).skip(8).step_by(97).chain(&ids[199_999..200_002]) {
            assert_eq!(index.find(&(*id).into()).unwrap(), Candidates { rows: vec![u64::from(*row)], is_sure: true });
        }
        assert_eq!(index.find(&ids[7].0.into()).unwrap().rows, [7, 200_002]);
        for other in [ExternalId::Int(600_001), ExternalId::Int(i64::MIN + 1), ExternalId::from("7")] {
            assert!(index.find(&other).unwrap().rows.is_empty());
        }
    }

    #[test]
    fn other_ids_are_among_the_candidates() {
        let place = tempfile::tempdir().unwrap();
        let cache = IndexCache::new(Some(place.path().to_owned()), None);
        let ids: Vec<(ExternalId, u32)> =
            (0..100_000u32).map(|row| (ExternalId::from(&*format!("id {row}")), row)).collect();
        let file = cache.write("x", |writer| IdsIndex::write_hashes(writer, ids.iter().cloned(), None)).unwrap();
        let index = IdsIndex::parse(file).unwrap();
        for (id, row) in ids.iter().step_by(101) {
            let found = index.find(id).unwrap();
            assert_eq!(found, Candidates { rows: vec![u64::from(*row)], is_sure: false });
        }
        let same = vec![(7, 1); CHUNK + 5];
        let file = cache.write("z", |writer| IdsIndex::write_integers(writer, same.clone(), None)).unwrap();
        assert_eq!(IdsIndex::parse(file).unwrap().find(&7.into()).unwrap().rows.len(), CHUNK + 5, "across parts");
        let empty = cache.write("y", |writer| IdsIndex::write_hashes(writer, std::iter::empty(), None)).unwrap();
        assert_eq!(IdsIndex::parse(empty).unwrap().find(&7.into()).unwrap().rows, [0u64; 0]);
    }
}
