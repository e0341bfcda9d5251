//! Which elements of a lake lie together in files.

use std::ops::Range;

use mangrove_graph::{ElementKind, LabelId};
use serde::{Deserialize, Serialize};

/// Elements of one label that lie together, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Chunk {
    pub kind: ElementKind,
    pub label: LabelId,
    pub number: u64,
}

/// Elements of one label, from one local id to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LakeRange {
    pub kind: ElementKind,
    pub label: LabelId,
    pub locals: Range<u64>,
}

/// The chunks of all labels. For each label, there is the first local id of each chunk, and at the end the number of local ids.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Chunks {
    vertices: Vec<Vec<u64>>,
    edges: Vec<Vec<u64>>,
}

impl Chunks {
    /// Those of so many labels of vertices and of edges. `starts` gives those of a label. They ascend.
    pub fn new(labels: [usize; 2], starts: impl Fn(ElementKind, LabelId) -> Vec<u64>) -> Self {
        let of = |kind, labels| (0..labels as u16).map(|label| starts(kind, LabelId(label))).collect();
        Self { vertices: of(ElementKind::Vertex, labels[0]), edges: of(ElementKind::Edge, labels[1]) }
    }

    fn starts(&self, kind: ElementKind, label: LabelId) -> &[u64] {
        let all = if kind == ElementKind::Vertex { &self.vertices } else { &self.edges };
        all.get(usize::from(label.0)).map_or(&[], Vec::as_slice)
    }

    /// The local ids of a label are below this.
    pub fn rows(&self, kind: ElementKind, label: LabelId) -> u64 {
        self.starts(kind, label).last().copied().unwrap_or(0)
    }

    /// The chunk of an element. One that is not there is in the first or the last chunk.
    pub fn chunk_of(&self, kind: ElementKind, label: LabelId, local: u64) -> Chunk {
        let starts = self.starts(kind, label);
        let behind = starts.partition_point(|start| *start <= local).min(starts.len().saturating_sub(1));
        Chunk { kind, label, number: behind.saturating_sub(1) as u64 }
    }

    /// The chunks of a label from a local id on, each with its local ids from there.
    pub fn beginning_at(&self, kind: ElementKind, label: LabelId, local: u64) -> impl Iterator<Item = (Chunk, Range<u64>)> {
        let first = self.chunk_of(kind, label, local).number as usize;
        let bounds = self.starts(kind, label).windows(2).enumerate().skip(first);
        bounds
            .map(move |(number, bound)| (Chunk { kind, label, number: number as u64 }, bound[0].max(local)..bound[1]))
            .filter(|(_, locals)| !locals.is_empty())
    }

    /// All chunks.
    pub fn all(&self) -> impl Iterator<Item = Chunk> {
        let of = |kind, labels: usize| (0..labels as u16).flat_map(move |label| self.beginning_at(kind, LabelId(label), 0));
        let chunks = of(ElementKind::Vertex, self.vertices.len()).chain(of(ElementKind::Edge, self.edges.len()));
        chunks.map(|(chunk, _)| chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: (ElementKind, LabelId) = (ElementKind::Vertex, LabelId(1));

    fn chunks() -> Chunks {
        Chunks::new([2, 1], |kind, label| match (kind, label) {
            OF => vec![0, 4, 8, 10],
            _ => vec![0],
        })
    }

    #[test]
    fn every_element_has_a_chunk() {
        let of = |local| chunks().chunk_of(OF.0, OF.1, local).number;
        assert_eq!([0, 3, 4, 7, 8, 9, 10, u64::MAX].map(of), [0, 0, 1, 1, 2, 2, 2, 2]);
        assert_eq!(chunks().chunk_of(OF.0, LabelId(0), 5).number, 0);
        assert_eq!(chunks().chunk_of(OF.0, LabelId(9), 5).number, 0);
        assert_eq!((chunks().rows(OF.0, OF.1), chunks().rows(OF.0, LabelId(9))), (10, 0));
    }

    #[test]
    fn a_scan_goes_on_within_a_chunk() {
        let from = |local| {
            chunks().beginning_at(OF.0, OF.1, local).map(|(chunk, locals)| (chunk.number, locals)).collect::<Vec<_>>()
        };
        assert_eq!(from(0), [(0, 0..4), (1, 4..8), (2, 8..10)]);
        assert_eq!(from(5), [(1, 5..8), (2, 8..10)]);
        assert_eq!(from(8), [(2, 8..10)]);
        assert!(from(10).is_empty());
        assert_eq!(chunks().all().count(), 3);
    }
}
