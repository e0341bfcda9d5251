//! A set of vertices that several threads fill.

use std::sync::atomic::{AtomicU64, Ordering};

pub struct Bits(Vec<AtomicU64>);

impl Bits {
    pub fn new(vertices: usize) -> Self {
        Self((0..vertices.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    pub fn get(&self, vertex: u32) -> bool {
        self.0[vertex as usize / 64].load(Ordering::Relaxed) >> (vertex % 64) & 1 == 1
    }

    #[inline]
    pub fn set(&self, vertex: u32) {
        self.0[vertex as usize / 64].fetch_or(1 << (vertex % 64), Ordering::Relaxed);
    }

    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|word| *word.get_mut() = 0);
    }

    /// The vertices in it, in order.
    pub fn vertices(&self) -> Vec<u32> {
        let of_word = |(at, word): (usize, &AtomicU64)| {
            let mut word = word.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(at as u32 * 64 + bit)
            })
        };
        self.0.iter().enumerate().flat_map(of_word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_come_in_order() {
        let mut bits = Bits::new(200);
        [199, 0, 64, 63].into_iter().for_each(|vertex| bits.set(vertex));
        assert_eq!(bits.vertices(), [0, 63, 64, 199]);
        assert!(bits.get(64) && !bits.get(65));
        bits.clear();
        assert!(bits.vertices().is_empty());
    }
}
