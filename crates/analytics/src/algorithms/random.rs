//! Numbers that look random, and are the same for the same seed (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
//! OOPSLA 2014).

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers that belong to some words, and have nothing in common with those of others.
    pub fn of(words: &[u64]) -> Self {
        Self(words.iter().fold(0, |mixed, word| Self(mixed ^ word).bits()))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 up to 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread() {
        let mut random = Random::new(7);
        let mut counts = [0; 10];
        (0..10_000).for_each(|_| counts[random.below(10) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        let mean = (0..10_000).map(|_| random.share()).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02);
        assert_eq!(Random::new(3).bits(), Random::new(3).bits());
    }
}
