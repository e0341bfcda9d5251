//! The edges of each vertex, by one end.

use std::ops::Range;

use mangrove_graph::{LabelId, ReadContext, VertexId};
use mangrove_segment::adjacency::{self, Entry, Lists};
use mangrove_segment::column::POSITIONS;
use mangrove_segment::file::{SegmentFile, SegmentWriter};

use super::{NONE, Part, in_parallel};
use crate::error::Result;

/// Lists of edges, in a file: the lists of 65,536 vertices are one part.
pub struct ListsIndex(SegmentFile);

impl ListsIndex {
    pub fn new(file: SegmentFile) -> Self {
        Self(file)
    }

    /// Writes the edges of each of `vertices` rows: `near[i]` is the row whose list has edge `i`, and `far[i]` the one it leads to.
    /// Edges of a vertex stay in order. O(edges), on all cores; 8 bytes for each edge beside the input.
    pub fn write(
        writer: &mut SegmentWriter,
        vertices: u64,
        (near, far): (&[u32], &[u32]),
        limits: Option<&ReadContext>,
    ) -> Result<()> {
        let chunks = (vertices as usize).div_ceil(POSITIONS);
        let (starts, places) = by_chunk(chunks, near, far);
        let encoded = in_parallel(chunks, limits, |chunk, _| {
            let first = chunk * POSITIONS;
            let positions = POSITIONS.min(vertices as usize - first);
            let lists = Sorted::new(first as u32, positions, &places[starts[chunk]..starts[chunk + 1]], (near, far));
            let mut bytes = Vec::new();
            adjacency::encode(&mut bytes, &lists.ends, &lists.edges);
            Ok(bytes)
        })?;
        encoded.iter().zip(0..).try_for_each(|(bytes, chunk)| writer.put(Part::Lists.key(chunk), bytes))?;
        Ok(())
    }

    /// The lists that hold the edges of a row, and where in them these are. O(1).
    pub fn list(&self, row: u64) -> Result<Option<(&Lists<'_>, Range<usize>)>> {
        let Some(lists) = self.0.lists(Part::Lists.key(row / POSITIONS as u64))? else { return Ok(None) };
        Ok(Some((lists, lists.list((row % POSITIONS as u64) as usize))))
    }
}

/// The places of edges in the order of the chunks of their near ends, and where each chunk begins.
fn by_chunk(chunks: usize, near: &[u32], far: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let edges = || near.iter().zip(far).enumerate().filter(|(_, (near, far))| **near != NONE && **far != NONE);
    let chunk_of = |near: u32| near as usize / POSITIONS;
    let mut starts = vec![0usize; chunks + 1];
    edges().for_each(|(_, (near, _))| starts[chunk_of(*near) + 1] += 1);
    (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
    let mut next = starts.clone();
    let mut places = vec![0u32; starts[chunks]];
    for (place, (near, _)) in edges() {
        let at = &mut next[chunk_of(*near)];
        places[*at] = place as u32;
        *at += 1;
    }
    (starts, places)
}

/// The edges of the vertices of a chunk, in the order of the vertices.
struct Sorted {
    /// Where the list of each vertex ends.
    ends: Vec<u32>,
    edges: Vec<Entry>,
}

impl Sorted {
    fn new(first: u32, positions: usize, places: &[u32], (near, far): (&[u32], &[u32])) -> Self {
        let position = |place: u32| (near[place as usize] - first) as usize;
        let mut starts = vec![0u32; positions + 1];
        places.iter().for_each(|place| starts[position(*place) + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let nothing = Entry { neighbor: VertexId(0), edge: 0 };
        let mut edges = vec![nothing; places.len()];
        for place in places {
            let at = &mut starts[position(*place)];
            let neighbor = VertexId::new(LabelId(0), 0, far[*place as usize].into());
            edges[*at as usize] = Entry { neighbor, edge: u64::from(*place) };
            *at += 1;
        }
        // Each list now begins where the one before has been filled to, so the starts have become ends.
        starts.truncate(positions);
        Self { ends: starts, edges }
    }
}
