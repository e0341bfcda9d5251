//! Which users an operation touches.

use mangrove_analytics::algorithms::Random;

/// The skew of Zipf's law for each use, as LinkBench's authors measured them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    EdgeRead,
    EdgeWrite,
    NodeRead,
    NodeWrite,
}

impl Use {
    fn skew(self) -> f64 {
        match self {
            Use::EdgeRead => 0.8,
            Use::EdgeWrite => 0.741,
            Use::NodeRead => 0.625,
            Use::NodeWrite => 0.606,
        }
    }

    /// Whether users with more edges are drawn more often. For others, how often one is drawn does not depend on its edges.
    pub fn is_of_edges(self) -> bool {
        matches!(self, Use::EdgeRead | Use::EdgeWrite)
    }

    /// A rank below a bound, 0 the most frequent one: the inverse of the continuous law.
    pub fn rank(self, random: &mut Random, below: u64) -> u64 {
        zipf(random, below, self.skew())
    }
}

/// A rank below a bound by Zipf's law with a skew below 1.
pub fn zipf(random: &mut Random, below: u64, skew: f64) -> u64 {
    power(random, below, 1.0 / (1.0 - skew))
}

/// A number below a bound. The higher the power, the more often it is a low one.
pub fn power(random: &mut Random, below: u64, power: f64) -> u64 {
    ((below as f64 * random.share().powf(power)) as u64).min(below.saturating_sub(1))
}

/// The numbers below `count` in random order.
pub fn permutation(random: &mut Random, count: u64) -> Vec<u32> {
    let mut all: Vec<u32> = (0..count as u32).collect();
    (1..all.len()).rev().for_each(|at| all.swap(at, random.below(at as u64 + 1) as usize));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_ranks_are_frequent() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..20_000).map(|_| Use::EdgeRead.rank(&mut random, 1000)).collect();
        assert!(drawn.iter().all(|rank| *rank < 1000));
        // The continuous law gives the first tenth of the ranks a share of 0.1^(1 - 0.8), 63%.
        let first = drawn.iter().filter(|rank| **rank < 100).count();
        assert!((12_000..13_300).contains(&first), "{first}");
        assert_eq!(zipf(&mut random, 1, 0.8), 0);
    }

    #[test]
    fn a_permutation_has_each_number_once() {
        let mut all = permutation(&mut Random::new(3), 100);
        assert_ne!(all, (0..100).collect::<Vec<u32>>());
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<u32>>());
    }
}
