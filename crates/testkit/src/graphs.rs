//! Large made-up graphs. The same seed gives the same graph on every machine.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};

/// A small generator of random numbers (SplitMix64, Steele et al. 2014). It is good enough for drawing graphs.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`. `bound` must be above zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `edges` edges among 2^`scale` vertices, drawn by R-MAT (Chakrabarti et al. 2004) with a, b, c = .57, .19, .19, as in Graph500.
/// Repeated edges and loops stay. Vertices with low numbers have the high degrees.
pub fn rmat(scale: u32, edges: usize, seed: u64) -> Vec<(u32, u32)> {
    const A: f64 = 0.57;
    const B: f64 = 0.19;
    const C: f64 = 0.19;
    let mut random = Random::new(seed);
    let mut draw = || {
        let (mut source, mut target) = (0, 0);
        for _ in 0..scale {
            let quarter = random.unit();
            source = source << 1 | u32::from(quarter >= A + B);
            target = target << 1 | u32::from((A..A + B).contains(&quarter) || quarter >= A + B + C);
        }
        (source, target)
    };
    (0..edges).map(|_| draw()).collect()
}

/// `edges` edges among `vertices` vertices whose out- and in-degrees fall off as rank^-`skew` (0 is even, 1 is Zipf's law). The
/// ranks of the two directions are independent.
pub fn power_law(vertices: u32, edges: usize, skew: f64, seed: u64) -> Vec<(u32, u32)> {
    let mut random = Random::new(seed);
    let mut weights = Vec::with_capacity(vertices as usize);
    let mut total = 0.0;
    for rank in 1..=vertices {
        total += f64::from(rank).powf(-skew);
        weights.push(total);
    }
    let mut shuffled: Vec<u32> = (0..vertices).collect();
    for at in (1..shuffled.len()).rev() {
        shuffled.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut rank = || {
        let point = random.unit() * total;
        weights.partition_point(|below| *below <= point).min(weights.len() - 1)
    };
    (0..edges).map(|_| (rank() as u32, shuffled[rank()])).collect()
}

/// Writes `vertices.csv` (id, name of 32 characters, age) and `edges.csv` (src, dst, ts, weight) into `dir`, as the benchmarks load
/// them. Returns their paths.
pub fn write_csv(dir: &Path, vertices: u32, edges: &[(u32, u32)], seed: u64) -> Result<[PathBuf; 2]> {
    let paths = ["vertices.csv", "edges.csv"].map(|name| dir.join(name));
    let mut random = Random::new(seed);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&paths[0])?);
    writeln!(out, "id,name,age")?;
    for id in 0..vertices {
        let mut name = String::with_capacity(32);
        (0..2).for_each(|_| write!(name, "{:016x}", random.bits()).expect("a string takes it"));
        writeln!(out, "{id},{name},{}", 18 + random.below(70))?;
    }
    out.flush()?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&paths[1])?);
    writeln!(out, "src,dst,ts,weight")?;
    for (source, target) in edges {
        let time = 1_600_000_000 + random.below(100_000_000);
        writeln!(out, "{source},{target},{time},{:.4}", random.unit())?;
    }
    out.flush()?;
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degrees(edges: &[(u32, u32)], vertices: usize) -> Vec<usize> {
        let mut degrees = vec![0; vertices];
        edges.iter().for_each(|(source, _)| degrees[*source as usize] += 1);
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        degrees
    }

    #[test]
    fn rmat_is_skewed_and_the_same_every_time() {
        let edges = rmat(10, 16_384, 7);
        assert_eq!(edges, rmat(10, 16_384, 7));
        assert_ne!(edges, rmat(10, 16_384, 8));
        assert!(edges.iter().all(|(source, target)| *source < 1024 && *target < 1024));
        let degrees = degrees(&edges, 1024);
        assert!(degrees[0] > 200, "a hub: {}", degrees[0]);
        assert!(degrees[512] < 16, "most are below the mean: {}", degrees[512]);
    }

    #[test]
    fn a_power_law_falls_off_as_its_skew_says() {
        let degrees = degrees(&power_law(1000, 100_000, 1.0, 3), 1000);
        let ratio = degrees[0] as f64 / degrees[9] as f64;
        assert!((7.0..14.0).contains(&ratio), "rank 1 has ten times the edges of rank 10: {ratio}");
    }

    #[test]
    fn the_csv_files_have_a_row_an_element() {
        let dir = tempfile::tempdir().unwrap();
        let edges = rmat(4, 30, 1);
        let paths = write_csv(dir.path(), 16, &edges, 1).unwrap();
        let [vertices, edges] = paths.map(|path| std::fs::read_to_string(path).unwrap());
        assert_eq!((vertices.lines().count(), edges.lines().count()), (17, 31));
        let name = vertices.lines().nth(3).unwrap().split(',').nth(1).unwrap();
        assert_eq!(name.len(), 32);
    }
}
