//! The links between vertices: whatever the direction, each pair once, and none of a vertex with itself.

use rayon::prelude::*;

use super::{Adjacent, Projection};
use crate::error::Result;
use crate::run::Run;

/// Edges and vertices that a thread takes at a time.
const CHUNK: u64 = 1 << 14;

impl Projection {
    /// The links of each vertex, sorted. It needs the incoming and the outgoing edges. O(E).
    pub fn simple(&self, run: &Run) -> Result<Adjacent> {
        self.merged(false, run)
    }

    /// The links of each vertex, and the weights of the edges between them, added up.
    pub fn simple_weighted(&self, run: &Run) -> Result<Adjacent> {
        self.merged(true, run)
    }

    fn merged(&self, with_weights: bool, run: &Run) -> Result<Adjacent> {
        let chunks = self.incoming().chunks(CHUNK);
        let of_chunk = |chunk: &std::ops::Range<usize>| {
            run.advance(0)?;
            let (mut part, mut around) = (Adjacent::empty(), Vec::new());
            for vertex in chunk.clone() {
                self.merge(vertex, &mut around);
                part.push(around.iter().copied(), with_weights);
            }
            Ok(part)
        };
        let parts: Result<Vec<Adjacent>> = chunks.par_iter().map(of_chunk).collect();
        Ok(Adjacent::concat(parts?))
    }

    /// Those that a vertex is linked with, and the weights of the edges between them.
    fn merge(&self, vertex: usize, around: &mut Vec<(u32, f64)>) {
        around.clear();
        around.extend(self.incoming().weighted(vertex));
        if self.is_directed() {
            around.extend(self.outgoing().weighted(vertex));
            around.sort_by_key(|(other, _)| *other);
        }
        around.retain(|(other, _)| *other as usize != vertex);
        around.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
    }
}
