//! Bit-packed integers, lines of bits that count their ones, and increasing sequences after Elias and Fano.
//!
//! Reading stays within the bytes, whatever they are. Splitting off a structure checks its lengths. Following a position from the
//! data checks the position.

use std::ops::Range;

use super::Corrupt;
use crate::ints;

/// Bytes after bit-packed integers, so that one eight-byte load reads any of them.
const PADDING: usize = 8;
/// The widest integers that one load can read, wherever they begin.
const WIDTH_MAX: u32 = 56;

/// Bits to hold any value up to `max`.
pub fn bits_of(max: u64) -> u32 {
    u64::BITS - max.leading_zeros()
}

/// Integers of `width` bits, least significant bit first, with no gaps between, then eight bytes of zeros.
#[derive(Clone, Copy, Debug)]
pub struct BitPacked<'a> {
    width: u32,
    len: usize,
    data: &'a [u8],
}

/// Appends integers below `1 << width`; `width` is [`WIDTH_MAX`] at most.
pub fn pack(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u32) {
    debug_assert!(width <= WIDTH_MAX);
    ints::pack(out, values, width);
    out.extend_from_slice(&[0; PADDING]);
}

impl<'a> BitPacked<'a> {
    /// Takes `len` integers off the front of `data`.
    pub fn split(width: u32, len: usize, data: &'a [u8]) -> Result<(Self, &'a [u8]), Corrupt> {
        if width > WIDTH_MAX {
            return Err(Corrupt("integers of an impossible width"));
        }
        let size = (len as u64 * u64::from(width)).div_ceil(8) + PADDING as u64;
        let (data, rest) = split(data, size as usize)?;
        Ok((Self { width, len, data }, rest))
    }

    /// # Panics
    /// If `at` is not below the length.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        assert!(at < self.len);
        let bit = at as u64 * u64::from(self.width);
        let start = (bit / 8) as usize;
        let mut word = [0; 8];
        word.copy_from_slice(&self.data[start..start + 8]);
        (u64::from_le_bytes(word) >> (bit % 8)) & ((1 << self.width) - 1)
    }
}

/// Takes `size` bytes off the front of `data`.
pub fn split(data: &[u8], size: usize) -> Result<(&[u8], &[u8]), Corrupt> {
    data.split_at_checked(size).ok_or(Corrupt("a text chunk ends early"))
}

/// Takes `len` records of `N` bytes off the front of `data`.
pub fn split_records<const N: usize>(len: usize, data: &[u8]) -> Result<(&[[u8; N]], &[u8]), Corrupt> {
    let size = len.checked_mul(N).ok_or(Corrupt("a text chunk ends early"))?;
    let (records, rest) = split(data, size)?;
    Ok((records.as_chunks().0, rest))
}

/// A line of a bit vector: the number of ones before it (two bytes, modulo 2^16), then its bits. The count is next to the bits, so
/// that a rank costs only one cache miss.
pub type Line = [u8; LINE_BYTES];
pub const LINE_BYTES: usize = 32;
pub const LINE_BITS: usize = LINE_BYTES * 8 - 16;

/// The bit at `at`, which is below `LINE_BITS`; and the number of ones before it, modulo 2^16.
#[inline]
pub fn rank(line: &Line, at: usize) -> (bool, u16) {
    let words = line.as_chunks::<8>().0;
    let end = at + 16;
    let mut ones = 0;
    for (k, word) in words.iter().enumerate() {
        let counts = if k == 0 { !0xFFFF } else { u64::MAX };
        ones += (u64::from_le_bytes(*word) & counts & low_bits(end.saturating_sub(64 * k))).count_ones();
    }
    let bit = line[end / 8] >> (end % 8) & 1 == 1;
    (bit, u16::from_le_bytes([line[0], line[1]]).wrapping_add(ones as u16))
}

#[inline]
fn low_bits(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// Writes bits as lines.
pub struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    line: Line,
    filled: usize,
    pub bits: usize,
    pub ones: u16,
}

impl<'o> LineWriter<'o> {
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, line: [0; LINE_BYTES], filled: 0, bits: 0, ones: 0 }
    }

    pub fn push(&mut self, bit: bool) {
        let at = self.filled + 16;
        self.line[at / 8] |= u8::from(bit) << (at % 8);
        self.filled += 1;
        self.bits += 1;
        self.ones = self.ones.wrapping_add(u16::from(bit));
        if self.filled == LINE_BITS {
            self.next_line();
        }
    }

    /// Writes the last line, even if it has no bits. A caller may ask for the rank at the very end.
    pub fn finish(mut self) {
        self.next_line();
    }

    fn next_line(&mut self) {
        self.out.extend_from_slice(&self.line);
        self.line = [0; LINE_BYTES];
        self.line[..2].copy_from_slice(&self.ones.to_le_bytes());
        self.filled = 0;
    }
}

/// Ones between two hints.
const HINT: usize = 64;

/// `len` increasing integers below `bound`. Each takes 2 + log2(bound / len) bits, and half a bit for the hints.
///
/// ```text
///   hints 4 × ceil(len / 64) | high 8 × ceil((len + (bound >> low) + 1) / 64) | low, bit-packed
/// ```
/// `low` = floor(log2(bound / len)). The high part of integer k is the position of the k-th one, minus k. The hints hold the
/// position of every 64th one.
#[derive(Clone, Copy, Debug)]
pub struct EliasFano<'a> {
    hints: &'a [[u8; 4]],
    high: &'a [[u8; 8]],
    low_width: u32,
    low: BitPacked<'a>,
}

fn low_width(len: usize, bound: usize) -> u32 {
    (bound / len.max(1)).max(1).ilog2()
}

/// Appends increasing integers below `bound`.
pub fn pack_increasing(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = u64> + Clone, bound: usize) {
    let width = low_width(values.len(), bound);
    let mut high = vec![0u64; (values.len() + (bound >> width) + 1).div_ceil(64)];
    for (k, value) in values.clone().enumerate() {
        let at = (value as usize >> width) + k;
        high[at / 64] |= 1 << (at % 64);
        if k % HINT == 0 {
            out.extend_from_slice(&(at as u32).to_le_bytes());
        }
    }
    out.extend(high.iter().flat_map(|word| word.to_le_bytes()));
    pack(out, values.map(|value| value & ((1 << width) - 1)), width);
}

impl<'a> EliasFano<'a> {
    /// Takes `len` integers below `bound` off the front of `data`.
    pub fn split(len: usize, bound: usize, data: &'a [u8]) -> Result<(Self, &'a [u8]), Corrupt> {
        let low_width = low_width(len, bound);
        let (hints, rest) = split_records(len.div_ceil(HINT), data)?;
        let (high, rest) = split_records((len + (bound >> low_width) + 1).div_ceil(64), rest)?;
        let (low, rest) = BitPacked::split(low_width, len, rest)?;
        Ok((Self { hints, high, low_width, low }, rest))
    }

    /// The `k`-th integer.
    ///
    /// # Panics
    /// If `k` is not below the length.
    pub fn get(&self, k: usize) -> Result<usize, Corrupt> {
        let one = self.select(k).ok_or(Corrupt("the end of a value is missing"))?;
        let high = one.checked_sub(k).ok_or(Corrupt("the ends of values do not increase"))?;
        Ok(high << self.low_width | self.low.get(k) as usize)
    }

    pub fn len(&self) -> usize {
        self.low.len
    }

    /// How many integers are below `bound`. O(log len).
    pub fn below(&self, bound: u64) -> Result<usize, Corrupt> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if (self.get(middle)? as u64) < bound { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Calls `f` with the integers of a range, in order. O(range).
    ///
    /// # Panics
    /// If the range goes beyond the length.
    pub fn each(&self, range: Range<usize>, mut f: impl FnMut(u64)) -> Result<(), Corrupt> {
        let beyond = || Corrupt("an increasing sequence that ends early");
        if range.is_empty() {
            return Ok(());
        }
        let start = self.select(range.start).ok_or_else(beyond)?;
        let mut word_at = start / 64;
        let mut word = self.high.get(word_at).map_or(0, |word| u64::from_le_bytes(*word)) & !low_bits(start % 64);
        for k in range {
            while word == 0 {
                word_at += 1;
                word = u64::from_le_bytes(*self.high.get(word_at).ok_or_else(beyond)?);
            }
            let one = word_at * 64 + word.trailing_zeros() as usize;
            word &= word - 1;
            let high = one.checked_sub(k).ok_or_else(beyond)?;
            f((high << self.low_width) as u64 | self.low.get(k));
        }
        Ok(())
    }

    /// The position of the `k`-th one of `high`.
    fn select(&self, k: usize) -> Option<usize> {
        let start = u32::from_le_bytes(self.hints[k / HINT]) as usize;
        let mut rest = (k % HINT) as u32;
        let mut at = start / 64;
        let mut word = u64::from_le_bytes(*self.high.get(at)?) & !low_bits(start % 64);
        while word.count_ones() <= rest {
            rest -= word.count_ones();
            at += 1;
            word = u64::from_le_bytes(*self.high.get(at)?);
        }
        for _ in 0..rest {
            word &= word - 1;
        }
        Some(at * 64 + word.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_integers_come_back(values in prop::collection::vec(any::<u32>(), 0..200), shift in 0u32..=32) {
            let values: Vec<u64> = values.iter().map(|&v| u64::from(v) >> shift).collect();
            let mut bytes = Vec::new();
            pack(&mut bytes, values.iter().copied(), 32 - shift);
            let (packed, rest) = BitPacked::split(32 - shift, values.len(), &bytes).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert!((0..values.len()).all(|at| packed.get(at) == values[at]));
        }

        #[test]
        fn increasing_integers_come_back(gaps in prop::collection::vec(1u64..2000, 0..400), step in 0u32..4,
                                         asked in any::<[prop::sample::Index; 2]>()) {
            let values: Vec<u64> = gaps.iter().scan(0, |sum, gap| {
                *sum += [1 + gap / 1500, *gap, gap << 20, gap << 40][step as usize];
                Some(*sum - 1)
            }).collect();
            let bound = values.last().map_or(0, |&last| last as usize + 1);
            let mut bytes = Vec::new();
            pack_increasing(&mut bytes, values.iter().copied(), bound);
            let (packed, rest) = EliasFano::split(values.len(), bound, &bytes).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert!((0..values.len()).all(|k| packed.get(k) == Ok(values[k] as usize)));
            let [from, to] = asked.map(|at| at.index(values.len() + 1));
            let mut found = Vec::new();
            packed.each(from.min(to)..to, |value| found.push(value)).unwrap();
            prop_assert_eq!(&found[..], &values[from.min(to)..to]);
            for bound in values.get(from).into_iter().flat_map(|value| [*value, value + 1]) {
                prop_assert_eq!(packed.below(bound), Ok(values.partition_point(|value| *value < bound)));
            }
        }

        #[test]
        fn lines_count(bits in prop::collection::vec(any::<bool>(), 0..1000)) {
            let mut bytes = Vec::new();
            let mut writer = LineWriter::new(&mut bytes);
            bits.iter().for_each(|&bit| writer.push(bit));
            writer.finish();
            let lines = bytes.as_chunks::<LINE_BYTES>().0;
            let mut ones = 0;
            for at in 0..=bits.len() {
                let (bit, before) = rank(&lines[at / LINE_BITS], at % LINE_BITS);
                prop_assert_eq!(before, ones);
                if at < bits.len() {
                    prop_assert_eq!(bit, bits[at]);
                    ones += u16::from(bit);
                }
            }
        }
    }

    #[test]
    fn short_data_is_refused() {
        assert!(BitPacked::split(3, 8, &[0; 10]).is_err());
        assert!(BitPacked::split(57, 1, &[0; 100]).is_err());
        assert!(EliasFano::split(8, 100, &[0; 10]).is_err());
    }
}
