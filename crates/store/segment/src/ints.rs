//! Sequences of integers. Each integer takes as few bits as fit, and O(1) to read.
//!
//! ```text
//!   form 1 | width 1 | zeros 2 | len 4 | base 8 | slope 8 | bits, eight zero bytes                    a line
//!   form 1 | zeros 3          | len 4 | of every 128: base 8, width 1, start 7 | bits, eight zero bytes       blocks
//!   form 1 | zeros 3          | len 4 | of every 128: base 8, slope 3, width 1, start 4 | bits, eight zero bytes    lines
//! ```
//! Forms:
//!
//! - Line: integer i is base + (slope · i >> 32) + the i-th bits. Ids and times that grow evenly take few bits, or none.
//! - Blocks: an integer is the base of its block + its bits there. So a few large integers do not widen all others.
//! - Lines: blocks that are each on their own line. The slope is in 256ths. They suit the starts of texts, for example.
//!
//! Arithmetic wraps at 64 bits. Bits are packed least significant first. Widths are 0 to 56, or 64. `start` counts bytes from the
//! bits of the first block.

use std::ops::Range;

use mangrove_graph::{GraphError, Result};

use crate::memory::ask_for;

const LINE: u8 = 0;
const BLOCKS: u8 = 1;
const LINES: u8 = 2;
const BLOCK: usize = 128;
const LINE_HEADER: usize = 24;
const BLOCKS_HEADER: usize = 8;
const BLOCK_HEADER: usize = 16;
/// Bytes after packed bits, so that one eight-byte load reads any integer.
const PADDING: usize = 8;
/// Reading blocks takes two steps, so they must save more than a twentieth.
const BLOCKS_WORTH: f64 = 0.95;
/// Fewer integers are read one by one.
const UNPACKED_MIN: usize = 4;
/// The slope of a line that rises by one.
const ONE: u64 = 1 << 32;
/// The steepest line of a block.
const BLOCK_SLOPE_MAX: i64 = (1 << 24) - 1;

#[derive(Clone, Copy, Debug)]
pub struct Ints<'a> {
    len: usize,
    form: Form<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Line {
        base: u64,
        slope: u64,
        width: u32,
        bits: &'a [u8],
    },
    /// Each block is on its own line if the blocks are `sloped`.
    Blocks {
        headers: &'a [[u8; BLOCK_HEADER]],
        bits: &'a [u8],
        sloped: bool,
    },
}

/// The width in bits for offsets up to `max`.
fn width_of(max: u64) -> u32 {
    match u64::BITS - max.leading_zeros() {
        57.. => 64,
        width => width,
    }
}

#[inline]
fn packed(bits: &[u8], width: u32, at: usize) -> u64 {
    let bit = at * width as usize;
    let mut word = [0; 8];
    word.copy_from_slice(&bits[bit / 8..bit / 8 + 8]);
    u64::from_le_bytes(word) >> (bit % 8) & mask(width)
}

/// The lowest bits of a word: so many of them.
#[inline]
fn mask(width: u32) -> u64 {
    if width < 64 { (1 << width) - 1 } else { u64::MAX }
}

/// Calls `f` with the packed integers of a range. One load of 16 bytes reads several of them.
#[inline]
fn unpack(bits: &[u8], width: u32, range: Range<usize>, mut f: impl FnMut(u64)) {
    if width == 0 {
        return range.for_each(|_| f(0));
    }
    // The first integer may begin at any bit of its byte. Shifts of 64 bits are faster than those of 128, so a load is cut in two.
    let (half, mask) = ((64 / width) as usize, u64::MAX >> (64 - width));
    let at_once = (2 * half).min((121 / width) as usize);
    let mut at = range.start;
    while at < range.end && width <= 56 {
        let bit = at * width as usize;
        let Some(bytes) = bits.get(bit / 8..).and_then(|bits| bits.first_chunk()) else { break };
        let word = u128::from_le_bytes(*bytes) >> (bit % 8);
        let n = at_once.min(range.end - at);
        let mut each = |mut word: u64, n: usize| {
            for _ in 0..n {
                f(word & mask);
                word >>= width;
            }
        };
        each(word as u64, n.min(half));
        each((word >> (half * width as usize)) as u64, n.saturating_sub(half));
        at += n;
    }
    (at..range.end).for_each(|at| f(packed(bits, width, at)));
}

/// Appends integers below `1 << width`, least significant bits first. Pads the last byte.
pub(crate) fn pack(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u32) {
    let (mut pending, mut filled) = (0u128, 0);
    for value in values {
        pending |= u128::from(value) << filled;
        filled += width;
        while filled >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(pending as u8);
    }
}

#[inline]
fn on_line(slope: u64, at: usize) -> u64 {
    ((u128::from(slope) * at as u128) >> 32) as u64
}

/// A line under the values, and the width in bits of their distance above it.
struct Fit {
    base: u64,
    slope: u64,
    width: u32,
}

impl Fit {
    fn new(values: &[i64], slope: u64) -> Self {
        let above = |(at, value): (usize, &i64)| value.wrapping_sub(on_line(slope, at) as i64);
        let (low, high) = values
            .iter()
            .enumerate()
            .map(above)
            .fold((i64::MAX, i64::MIN), |(low, high), above| (low.min(above), high.max(above)));
        let (low, high) = if values.is_empty() { (0, 0) } else { (low, high) };
        Self { base: low as u64, slope, width: width_of(high.wrapping_sub(low) as u64) }
    }

    /// The flat line, or the line from the first to the last value if that takes fewer bits.
    fn best(values: &[i64]) -> Self {
        let flat = Self::new(values, 0);
        let (Some(first), Some(last), steps @ 1..) = (values.first(), values.last(), values.len().saturating_sub(1)) else {
            return flat;
        };
        // Only rising lines, and none so steep that it would wrap.
        let Some(rise) = last.checked_sub(*first).filter(|rise| (1..1 << 56).contains(rise)) else { return flat };
        let Ok(slope) = u64::try_from(((rise as u128) << 32) / steps as u128) else { return flat };
        let sloped = Self::new(values, slope);
        if sloped.width < flat.width { sloped } else { flat }
    }

    /// The best line for a block: flat, or with a slope in 256ths.
    fn of_block(values: &[i64]) -> Self {
        let flat = Self::new(values, 0);
        let (Some(first), Some(last), steps @ 1..) = (values.first(), values.last(), values.len().saturating_sub(1)) else {
            return flat;
        };
        let Some(rise) = last.checked_sub(*first).filter(|rise| (1..1 << 40).contains(rise)) else { return flat };
        let slope = ((rise << 8) / steps as i64).min(BLOCK_SLOPE_MAX) as u64;
        let sloped = Self::new(values, slope << 24);
        if sloped.width < flat.width { sloped } else { flat }
    }

    fn bits(&self, at: usize, value: i64) -> u64 {
        (value as u64).wrapping_sub(self.base).wrapping_sub(on_line(self.slope, at))
    }

    fn bytes(&self, len: usize) -> usize {
        LINE_HEADER + (len * self.width as usize).div_ceil(8) + PADDING
    }
}

/// Appends the integers in the smallest form.
///
/// # Panics
/// If there are 2^32 or more.
pub fn encode(out: &mut Vec<u8>, values: &[i64]) {
    let len = u32::try_from(values.len()).expect("fewer than 2^32 integers");
    let line = Fit::best(values);
    let mut blocks: Vec<Fit> = values.chunks(BLOCK).map(Fit::of_block).collect();
    let mut in_blocks = blocks.iter().map(|fit| BLOCK_HEADER + block_bytes(fit.width)).sum::<usize>();
    let sloped = u32::try_from(in_blocks).is_ok();
    if !sloped {
        blocks = values.chunks(BLOCK).map(|block| Fit::new(block, 0)).collect();
        in_blocks = blocks.iter().map(|fit| BLOCK_HEADER + block_bytes(fit.width)).sum();
    }
    if (BLOCKS_HEADER + in_blocks + PADDING) as f64 >= BLOCKS_WORTH * line.bytes(values.len()) as f64 {
        out.extend_from_slice(&[LINE, line.width as u8, 0, 0]);
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&line.base.to_le_bytes());
        out.extend_from_slice(&line.slope.to_le_bytes());
        pack(out, values.iter().enumerate().map(|(at, value)| line.bits(at, *value)), line.width);
    } else {
        out.extend_from_slice(&[if sloped { LINES } else { BLOCKS }, 0, 0, 0]);
        out.extend_from_slice(&len.to_le_bytes());
        let mut start = 0u64;
        for fit in &blocks {
            let width = u64::from(fit.width);
            let word = if sloped { start << 32 | width << 24 | fit.slope >> 24 } else { start << 8 | width };
            out.extend_from_slice(&fit.base.to_le_bytes());
            out.extend_from_slice(&word.to_le_bytes());
            start += block_bytes(fit.width) as u64;
        }
        for (fit, block) in blocks.iter().zip(values.chunks(BLOCK)) {
            let first = out.len();
            pack(out, block.iter().enumerate().map(|(at, value)| fit.bits(at, *value)), fit.width);
            out.resize(first + block_bytes(fit.width), 0);
        }
    }
    out.extend_from_slice(&[0; PADDING]);
}

impl<'a> Ints<'a> {
    /// Takes a sequence off the front of `data`.
    pub fn split(data: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let early = || GraphError::corrupt("a sequence of integers ends early");
        let (header, rest) = data.split_first_chunk::<8>().ok_or_else(early)?;
        let [form, width, _, _, a, b, c, d] = *header;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        let (form, rest) = match form {
            LINE => {
                let (base, rest) = rest.split_first_chunk().ok_or_else(early)?;
                let (slope, rest) = rest.split_first_chunk().ok_or_else(early)?;
                let width = valid(width)?;
                let (bits, rest) = rest.split_at_checked((len * width as usize).div_ceil(8) + PADDING).ok_or_else(early)?;
                (Form::Line { base: u64::from_le_bytes(*base), slope: u64::from_le_bytes(*slope), width, bits }, rest)
            }
            BLOCKS | LINES => Self::split_blocks(len, rest, form == LINES)?,
            _ => return Err(GraphError::corrupt("integers of an unknown form")),
        };
        Ok((Self { len, form }, rest))
    }

    fn split_blocks(len: usize, data: &'a [u8], sloped: bool) -> Result<(Form<'a>, &'a [u8])> {
        let early = || GraphError::corrupt("a sequence of integers ends early");
        let (headers, rest) = data.split_at_checked(len.div_ceil(BLOCK) * BLOCK_HEADER).ok_or_else(early)?;
        let headers = headers.as_chunks::<BLOCK_HEADER>().0;
        let end = match headers.last().map(|header| block(header, sloped)) {
            Some((_, _, width, start)) => start.checked_add(block_bytes(valid(width as u8)?)).ok_or_else(early)?,
            None => 0,
        };
        let (bits, rest) = rest.split_at_checked(end.saturating_add(PADDING)).ok_or_else(early)?;
        Ok((Form::Blocks { headers, bits, sloped }, rest))
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// # Panics
    /// If `at` is not below `len()`.
    #[inline]
    pub fn get(&self, at: usize) -> i64 {
        assert!(at < self.len);
        match self.form {
            Form::Line { base, slope: 0, width, bits } => base.wrapping_add(packed(bits, width, at)) as i64,
            Form::Line { base, slope, width, bits } => {
                base.wrapping_add(on_line(slope, at)).wrapping_add(packed(bits, width, at)) as i64
            }
            Form::Blocks { headers, bits, sloped } => in_block(&headers[at / BLOCK], bits, sloped, at % BLOCK),
        }
    }

    /// Calls `f` with the integers at some positions, in their order, until one is beyond the end. Returns how many there were.
    #[inline]
    pub fn gather(&self, positions: impl Iterator<Item = usize>, mut f: impl FnMut(i64)) -> usize {
        let mut n = 0;
        let there = positions.take_while(|at| *at < self.len).inspect(|_| n += 1);
        match self.form {
            Form::Line { base, slope: 0, width, bits } => {
                there.for_each(|at| f(base.wrapping_add(packed(bits, width, at)) as i64));
            }
            Form::Line { .. } => there.for_each(|at| f(self.get(at))),
            Form::Blocks { headers, bits, sloped: true } => {
                there.for_each(|at| f(in_block(&headers[at / BLOCK], bits, true, at % BLOCK)));
            }
            Form::Blocks { headers, bits, sloped: false } => {
                there.for_each(|at| f(in_block(&headers[at / BLOCK], bits, false, at % BLOCK)));
            }
        }
        n
    }

    /// Prefetches what `get` reads first: the bits of an integer on a line, or the header of its block.
    #[inline]
    pub fn ask_for(&self, at: usize) {
        match self.form {
            Form::Line { width, bits, .. } => ask_for(bits, at * width as usize / 8),
            Form::Blocks { headers, .. } => ask_for(headers, at / BLOCK),
        }
    }

    /// The integers of a range, in order.
    ///
    /// # Panics
    /// If the range is not within `len()`.
    #[inline]
    pub fn each(&self, range: Range<usize>, mut f: impl FnMut(i64)) {
        assert!(range.end <= self.len);
        if range.len() < UNPACKED_MIN {
            return range.for_each(|at| f(self.get(at)));
        }
        match self.form {
            Form::Line { base, slope: 0, width, bits } => {
                unpack(bits, width, range, |above| f(base.wrapping_add(above) as i64));
            }
            Form::Line { base, slope, width, bits } => {
                let mut at = range.start;
                unpack(bits, width, range, |above| {
                    f(base.wrapping_add(on_line(slope, at)).wrapping_add(above) as i64);
                    at += 1;
                });
            }
            Form::Blocks { headers, bits, sloped } => {
                let mut at = range.start;
                while at < range.end {
                    let end = range.end.min(at - at % BLOCK + BLOCK);
                    each_in_block(&headers[at / BLOCK], bits, sloped, at % BLOCK..at % BLOCK + (end - at), &mut f);
                    at = end;
                }
            }
        }
    }

    /// Whether integer `i` is `i`, as its form tells.
    pub fn counts_up(&self) -> bool {
        matches!(self.form, Form::Line { base: 0, slope: ONE, width: 0, .. })
    }

    /// How many integers at the start are below `bound`. The sequence must not fall.
    pub fn below(&self, bound: i64) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle) < bound { low = middle + 1 } else { high = middle }
        }
        low
    }
}

fn block_bytes(width: u32) -> usize {
    width as usize * BLOCK / 8
}

fn valid(width: u8) -> Result<u32> {
    if width <= 56 || width == 64 { Ok(width.into()) } else { Err(GraphError::corrupt("integers of an impossible width")) }
}

/// The base, slope, width and start of a block.
#[inline]
fn block(header: &[u8; BLOCK_HEADER], sloped: bool) -> (u64, u64, u32, usize) {
    let (words, _) = header.as_chunks::<8>();
    let (base, word) = (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]));
    if sloped {
        (base, word & BLOCK_SLOPE_MAX as u64, (word >> 24) as u32 & 0xFF, (word >> 32) as usize)
    } else {
        (base, 0, (word & 0xFF) as u32, (word >> 8) as usize)
    }
}

/// The integer at a position of a block. Stays within the bits, whatever the header says.
#[inline(always)]
fn in_block(header: &[u8; BLOCK_HEADER], bits: &[u8], sloped: bool, at: usize) -> i64 {
    let (base, slope, width, start) = block(header, sloped);
    let bit = at * width as usize;
    let above = match bits.get(start + bit / 8..).and_then(|bits| bits.first_chunk()) {
        Some(word) => u64::from_le_bytes(*word) >> (bit % 8) & mask(width),
        None => 0,
    };
    base.wrapping_add((slope * at as u64) >> 8).wrapping_add(above) as i64
}

/// The integers of a range of one block, in order.
#[inline]
fn each_in_block(header: &[u8; BLOCK_HEADER], bits: &[u8], sloped: bool, range: Range<usize>, f: &mut impl FnMut(i64)) {
    let (base, slope, width, start) = block(header, sloped);
    match bits.get(start..) {
        Some(bits) if width <= 64 && range.len() >= UNPACKED_MIN && bits.len() >= block_bytes(width) + PADDING => {
            let mut line = slope * range.start as u64;
            unpack(bits, width, range, |above| {
                f(base.wrapping_add(line >> 8).wrapping_add(above) as i64);
                line += slope;
            });
        }
        _ => range.for_each(|at| f(in_block(header, bits, sloped, at))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sequence() -> impl Strategy<Value = Vec<i64>> {
        let step = prop_oneof![3 => 0i64..50, 1 => any::<i64>().prop_map(|v| v >> 40), 1 => any::<i64>()];
        (any::<i64>(), 0u32..63, prop::collection::vec(step, 0..600), any::<bool>()).prop_map(
            |(base, shift, steps, growing)| {
                let base = base >> shift;
                if growing {
                    steps
                        .iter()
                        .scan(base, |sum, step| {
                            *sum = sum.saturating_add((step & 0xFFFF).abs());
                            Some(*sum)
                        })
                        .collect()
                } else {
                    steps.iter().map(|step| base.wrapping_add(*step)).collect()
                }
            },
        )
    }

    proptest! {
        #[test]
        fn integers_come_back(values in sequence()) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &values);
            bytes.push(7);
            let (ints, rest) = Ints::split(&bytes).unwrap();
            prop_assert_eq!((ints.len(), rest), (values.len(), &[7u8][..]));
            prop_assert!((0..values.len()).all(|at| ints.get(at) == values[at]));
            let mut all = Vec::new();
            ints.each(0..values.len(), |value| all.push(value));
            prop_assert_eq!(&all, &values);
            all.clear();
            ints.gather((0..values.len()).rev(), |value| all.push(value));
            prop_assert!(all.iter().rev().eq(&values));
            if values.is_sorted() {
                for bound in values.iter().flat_map(|v| [*v, v.saturating_add(1)]) {
                    prop_assert_eq!(ints.below(bound), values.partition_point(|v| *v < bound));
                }
            }
        }

        #[test]
        fn damaged_integers_are_refused_or_read(
            values in sequence(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &values);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok((ints, _)) = Ints::split(&bytes) {
                let few = ints.len().min(2000);
                let all = || (0..few).map(|at| ints.get(at));
                let (mut gathered, mut in_order) = (all(), all());
                ints.gather(0..few, |value| assert_eq!(Some(value), gathered.next()));
                ints.each(0..few, |value| assert_eq!(Some(value), in_order.next()));
            }
        }
    }

    #[test]
    fn what_is_regular_takes_no_bits() {
        let size = |values: &[i64]| {
            let mut bytes = Vec::new();
            encode(&mut bytes, values);
            bytes.len()
        };
        let (plain, few) = (LINE_HEADER + PADDING, 10_000usize);
        assert_eq!(size(&vec![42; few]), plain);
        assert_eq!(size(&(0..few as i64).collect::<Vec<_>>()), plain);
        let uneven: Vec<i64> = (0..few as i64).map(|i| 1_600_000_000 + 37 * i + i * i % 11).collect();
        assert!(size(&uneven) < plain + few, "{}", size(&uneven));
        let mut hub = vec![1i64; few];
        hub[5000] = 1 << 40;
        assert!(size(&hub) < few, "{}", size(&hub));
    }
}
