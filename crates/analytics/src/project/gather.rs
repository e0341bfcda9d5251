//! Values of neighbours, brought together for all vertices at once: what vertex programs over whole arrays are made of.

use rayon::prelude::*;

use super::Projection;

/// Edges and vertices that a thread takes at a time.
const CHUNK: u64 = 1 << 14;

/// How the values of neighbours become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduce {
    /// 0 without neighbours.
    Sum,
    /// Infinite without neighbours.
    Min,
    /// Minus infinite without neighbours.
    Max,
}

/// What happens to a value on its way along an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    Nothing,
    /// It is multiplied by the weight.
    Times,
    /// The weight is added to it.
    Plus,
}

impl Projection {
    /// For each vertex, the values of its in-neighbours as one. O(E).
    ///
    /// # Panics
    /// If there is not one value for each vertex, or if the incoming edges were not read.
    pub fn gather(&self, values: &[f64], reduce: Reduce, along: Along) -> Vec<f64> {
        assert_eq!(values.len(), self.vertices(), "one value for each vertex");
        let incoming = self.incoming();
        let of_vertex = |vertex: usize| {
            let value = |(other, weight): (u32, f64)| match along {
                Along::Nothing => values[other as usize],
                Along::Times => values[other as usize] * weight,
                Along::Plus => values[other as usize] + weight,
            };
            let around = incoming.weighted(vertex).map(value);
            match reduce {
                Reduce::Sum => around.sum(),
                Reduce::Min => around.fold(f64::INFINITY, f64::min),
                Reduce::Max => around.fold(f64::NEG_INFINITY, f64::max),
            }
        };
        let chunks = incoming.chunks(CHUNK);
        chunks.into_par_iter().flat_map_iter(|chunk| chunk.map(of_vertex)).collect()
    }
}
