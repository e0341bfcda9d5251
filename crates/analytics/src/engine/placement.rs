//! Which partition a vertex belongs to.

/// How vertices are shared among partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// By a hash of the vertex's number, as LFGraph does: all partitions get the same, whatever the graph looks like.
    Hashed(u32),
}

impl Placement {
    pub fn partitions(self) -> u32 {
        match self {
            Placement::Hashed(partitions) => partitions.max(1),
        }
    }

    /// The partition of a vertex, of so many.
    pub fn owner(self, vertex: u32) -> u32 {
        let partitions = u64::from(self.partitions());
        match self {
            // The high bits of a product with a number whose bits are mixed (Knuth, TAOCP 3, 6.4) spread evenly.
            Placement::Hashed(_) => ((u64::from(vertex.wrapping_mul(0x9E37_79B1)) * partitions) >> 32) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_get_about_the_same() {
        let mut counts = [0; 7];
        (0..7_000).for_each(|vertex| counts[Placement::Hashed(7).owner(vertex) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }
}
