//! The rows of both ends of each edge, by its place.

use mangrove_graph::{EdgeId, EdgeRef, LabelId, ReadContext, VertexId};
use mangrove_segment::column::{self, POSITIONS};
use mangrove_segment::file::{SegmentFile, SegmentWriter};

use super::{Part, in_parallel};
use crate::error::{LakeError, Result};

/// The end of a place that holds no edge.
pub const NONE: u32 = u32::MAX;

/// The rows of the ends of all edges, in memory: sources, and targets.
pub type Ends = [Vec<u32>; 2];

/// The ends of all edges, in a file.
pub struct EndsIndex {
    file: SegmentFile,
    /// How many places hold an edge.
    count: u64,
    places: u64,
}

impl EndsIndex {
    /// Reads an index. `None` if it is not whole.
    pub fn parse(file: SegmentFile) -> Option<Self> {
        let counts: [u8; 16] = file.get(Part::Count.key(0)).ok()??.try_into().ok()?;
        let (count, places) = counts.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        Some(Self { count: number(count)?, places: number(places)?, file })
    }

    /// Writes the ends. O(edges), on all cores.
    pub fn write(writer: &mut SegmentWriter, ends: &Ends, limits: Option<&ReadContext>) -> Result<()> {
        let [sources, targets] = ends;
        let count = sources.iter().zip(targets).filter(|(source, target)| is_edge(**source, **target)).count() as u64;
        writer.put(Part::Count.key(0), &[count.to_le_bytes(), (sources.len() as u64).to_le_bytes()].concat())?;
        let chunks = in_parallel(sources.len().div_ceil(POSITIONS), limits, |chunk, _| {
            let range = chunk * POSITIONS..sources.len().min((chunk + 1) * POSITIONS);
            let vertex = |row: u32| VertexId::new(LabelId(0), 0, row.into());
            let edge = |(source, target): (&u32, &u32)| {
                let is_one = is_edge(*source, *target);
                is_one.then(|| EdgeRef { id: EdgeId(0), source: vertex(*source), target: vertex(*target) })
            };
            let edges: Vec<Option<EdgeRef>> = sources[range.clone()].iter().zip(&targets[range]).map(edge).collect();
            let mut bytes = Vec::new();
            column::encode_ends(&mut bytes, &edges);
            Ok(bytes)
        })?;
        chunks.iter().zip(0..).try_for_each(|(bytes, chunk)| writer.put(Part::Ends.key(chunk), bytes))?;
        Ok(())
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The rows of the ends of the edge at a place; `None` if it holds no edge.
    pub fn at(&self, place: u64) -> Result<Option<(u64, u64)>> {
        if place >= self.places {
            return Ok(None);
        }
        let chunk = self.file.column(Part::Ends.key(place / POSITIONS as u64))?.ok_or_else(missing)?;
        let edge = chunk.edge(EdgeId(0), (place % POSITIONS as u64) as usize)?;
        Ok(edge.map(|edge| (edge.source.local(), edge.target.local())))
    }

    /// The ends of all edges. O(edges).
    pub fn all(&self, limits: Option<&ReadContext>) -> Result<Ends> {
        let chunks = in_parallel((self.places as usize).div_ceil(POSITIONS), limits, |chunk, _| {
            let first = (chunk * POSITIONS) as u64;
            let places = first..self.places.min(first + POSITIONS as u64);
            let ends = |place| Ok(self.at(place)?.map_or((NONE, NONE), |(source, target)| (source as u32, target as u32)));
            places.map(ends).collect::<Result<Vec<(u32, u32)>>>()
        })?;
        Ok(chunks.into_iter().flatten().unzip()).map(|(sources, targets)| [sources, targets])
    }
}

fn is_edge(source: u32, target: u32) -> bool {
    source != NONE && target != NONE
}

fn missing() -> LakeError {
    LakeError::Unsupported("an index lacks a part".into())
}
