//! Strings as a compressed suffix array. It finds any substring of a column chunk without a separate index. It reads any part of
//! any value without unpacking the rest.
//!
//! ```text
//!   encode   values ─▶ text: each value, then its end ─▶ suffixes, sorted ─▶ symbol before each (Burrows–Wheeler) ─▶ chunk
//!   extract  the suffix that is the value's end, or an anchor ─ step ─ step ─▶ bytes, last one first
//!   find     all suffixes ─ a byte of the pattern, from its last ─▶ range of suffixes ─ steps to a sample or first ─▶ rows
//! ```
//! A *step* goes from a suffix to the one that is a byte longer, and gives that byte. All reading consists of steps.
//!
//! # Bytes
//! Integers are little-endian. A chunk may start anywhere. Reading is faster if it starts on a cache line (64 bytes).
//!
//! ```text
//!   header    64   version 1 (= 1) | sampling 1: log2 of α | block 1: log2 of a block's symbols
//!                  | flags 1: 1 sampled, 2 anchored (then sampled too)
//!                  | rows 4 | symbols 4: bytes of all values, and one end each | longest 4: bytes of the longest value
//!                  | lines 4 | nodes 4 | zeros 8 | alphabet 32: a bit for every byte that occurs
//!   transform      for every suffix in order, the symbol before it; `sequence` describes its parts
//!   firsts         for every suffix that is a whole value, in order: the row; bit-packed at the bits of rows - 1
//!   ends           if sampled: for every row, the position of its end in the text; Elias–Fano (see `bits`)
//!   samples        if sampled: for one suffix in every run of α: the row; bit-packed likewise
//!   anchors        if anchored: for every 4α-th position of the text, the suffix there; bit-packed at the bits of symbols
//! ```
//! Eight zero bytes follow bit-packed integers. The sample of run k is suffix k·α + hash. The hash is the upper log2 α bits of the
//! 32 bits of k · 0x9E3779B1. In the last run this suffix may not exist.
//!
//! Invariants:
//! 1. Symbol 0 is the end of a value. Bytes that occur are 1 and up, in order. Any byte may occur; none is escaped.
//! 2. Ends are ordered by row, so the suffix of a value's end *is* its row. No table is needed to find rows in the text.
//! 3. A walk ends at the beginning of its value, where `firsts` gives the row. So short values need no samples. A chunk has samples
//!    only if its bytes are on average α or more from the end of their value. It has anchors only if they are 4α or more.
//! 4. Whatever the bytes, reading them ends: after at most two steps for each symbol in `find`, otherwise after one step for each
//!    byte of the longest value.
//! # Why this one
//! Succinct keeps Ψ, the step in the other direction, as gap codes between samples (Agarwal, Khandelwal and Stoica, NSDI 2015;
//! Sadakane, J. Algorithms 2003). A transform in blocks (FM-index: Ferragina and Manzini, J. ACM 2005) was smaller and faster here.
//! The table shows the size as a share of the raw text, and the processor time of a step in ns. Measured on a busy core (AMD EPYC)
//! at α = 32, with the texts of `examples/text.rs`. The alternatives were measured in throw-away code.
//!
//! | | names, 15 B | hex, 128 B | sentences, 58 B |
//! |---|---|---|---|
//! | Ψ, gamma codes, a sample in 128, without rows and positions | 0.69, 260 ns | 0.94, 445 ns | 0.53, 269 ns |
//! | Ψ, a sample in 32 | 0.82, 80 ns | 1.06, 270 ns | 0.66, 80 ns |
//! | this, all of it | **0.54, 43 ns** | **0.64, 150–550 ns** | **0.46, 47 ns** |
//! | with two code bits a level in part, and longer lines | 0.55, 80–140 ns | 0.66, 130–450 ns | 0.47, 75–125 ns |
//!
//! Steps wait for memory where a chunk outgrows the processor's own cache. 8,000 of the hex values take 69 ns a step. 50,000 of
//! them take two to five times that, depending on the machine's other work. A megabyte or two of text make a good chunk.

pub(crate) mod bits;
mod code;
mod encode;
mod sequence;

use std::fmt;
use std::ops::Range;

pub use encode::encode;

use bits::{BitPacked, EliasFano, bits_of, split};
use sequence::{Sequence, Shape};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 64;
const ALPHABET: usize = 32;
/// The symbol after every value. The bytes that occur are 1 and up, in order.
const END: usize = 0;
/// Flags.
const SAMPLED: u8 = 1;
const ANCHORED: u8 = 2;
/// Most bytes in all values, counting one more for each value. This bounds the memory of a chunk, whatever its bytes say.
pub const SYMBOLS_MAX: usize = 1 << 27;
const SAMPLING_LOG2_MAX: u32 = 16;
/// There is one anchor for this many samples (log2). Reading a range walks once from an anchor; finding rows walks once for each
/// hit.
const ANCHOR_LOG2: u32 = 2;

/// Walks that run at the same time.
const LANES: usize = 8;

/// TextOptions for writing a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// α: one in α suffixes keeps its row. A smaller α makes walks from a hit to its row shorter, and takes more room. Default 32;
    /// rounded up to a power of two, at most 65,536.
    pub sampling: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { sampling: 32 }
    }
}

impl TextOptions {
    fn sampling_log2(self) -> u32 {
        self.sampling.min(1 << SAMPLING_LOG2_MAX).next_power_of_two().ilog2()
    }
}

/// The bytes are not a valid chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt(pub &'static str);

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "corrupt text chunk: {}", self.0)
    }
}

impl std::error::Error for Corrupt {}

/// Which part of a value a pattern must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Equal,
    Prefix,
    Suffix,
    Contains,
}

/// The values that determine the sizes of all parts.
#[derive(Clone, Copy, Debug)]
struct Layout {
    sampling_log2: u32,
    rows: usize,
    symbols: usize,
}

impl Layout {
    /// One sample for every full or partial run of α suffixes.
    fn samples(&self) -> usize {
        self.symbols.div_ceil(1 << self.sampling_log2)
    }

    /// The suffix of a run that has the sample, chosen by a hash. With a fixed choice, a walk through periodic text could miss all
    /// samples, because its steps have equal length.
    #[inline]
    fn sample_place(&self, run: usize) -> usize {
        let hash = (run as u32).wrapping_mul(0x9E37_79B1);
        (run << self.sampling_log2) + (u64::from(hash) >> (32 - self.sampling_log2)) as usize
    }

    /// Bytes of text from one anchor to the next.
    fn anchoring(&self) -> usize {
        1 << (self.sampling_log2 + ANCHOR_LOG2)
    }

    fn anchors(&self) -> usize {
        self.symbols.div_ceil(self.anchoring())
    }
}

/// A chunk of strings, read in place.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    layout: Layout,
    longest: usize,
    alphabet: [u64; ALPHABET / 8],
    /// The byte of each symbol, from 1 on.
    bytes: [u8; 256],
    sequence: Sequence<'a>,
    firsts: BitPacked<'a>,
    samples: Option<Samples<'a>>,
    anchors: Option<BitPacked<'a>>,
}

/// How far a walk to a value has come.
enum WalkTo {
    At(usize),
    Row(u32),
}

/// The extra parts of chunks with long values.
#[derive(Clone, Copy, Debug)]
struct Samples<'a> {
    ends: EliasFano<'a>,
    rows: BitPacked<'a>,
}

impl<'a> Text<'a> {
    /// Parses the header of a chunk. Takes a few hundred nanoseconds, whatever the chunk's size.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Corrupt> {
        let (header, rest) = split(bytes, HEADER_BYTES)?;
        let [version, sampling_log2, block_log2, flags] = [header[0], header[1], header[2], header[3]];
        let [rows, symbols, longest, lines, nodes] =
            [4, 8, 12, 16, 20].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|k| header[at + k])) as usize);
        if version != VERSION || flags > (SAMPLED | ANCHORED) || flags == ANCHORED {
            return Err(Corrupt("a version this reader does not know"));
        }
        let possible = symbols <= SYMBOLS_MAX && rows <= symbols && longest <= symbols && (rows > 0 || symbols == 0);
        if !possible || u32::from(sampling_log2) > SAMPLING_LOG2_MAX {
            return Err(Corrupt("impossible sizes"));
        }
        let (alphabet, bytes, distinct) = alphabet(&header[HEADER_BYTES - ALPHABET..]);
        let layout = Layout { sampling_log2: sampling_log2.into(), rows, symbols };
        let shape = Shape { len: symbols, symbols: distinct + 1, block_log2: block_log2.into(), lines, nodes };
        let (sequence, rest) = Sequence::split(shape, rest)?;
        let row_bits = bits_of(rows.saturating_sub(1) as u64);
        let (firsts, mut rest) = BitPacked::split(row_bits, rows, rest)?;
        let (mut samples, mut anchors) = (None, None);
        if flags & SAMPLED != 0 {
            let (ends, after) = EliasFano::split(rows, symbols, rest)?;
            let (rows, after) = BitPacked::split(row_bits, layout.samples(), after)?;
            (samples, rest) = (Some(Samples { ends, rows }), after);
        }
        if flags & ANCHORED != 0 {
            let (places, after) = BitPacked::split(bits_of(symbols as u64), layout.anchors(), rest)?;
            (anchors, rest) = (Some(places), after);
        }
        match rest {
            [] => Ok(Self { layout, longest, alphabet, bytes, sequence, firsts, samples, anchors }),
            _ => Err(Corrupt("bytes after the end")),
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.layout.rows
    }

    pub fn is_empty(&self) -> bool {
        self.layout.rows == 0
    }

    /// Appends a value. Takes one step for each byte.
    ///
    /// # Panics
    /// If `row` is not below `len()`.
    pub fn value_into(&self, row: usize, out: &mut Vec<u8>) -> Result<(), Corrupt> {
        self.extract_into(row, 0..usize::MAX, out)
    }

    /// Appends the bytes of a value that lie in `range`. The range may go beyond the value's end.
    ///
    /// In a chunk of long values, the walk starts at the next anchor after the range, or at the value's end. It takes one step for
    /// each byte from there to the beginning of the range. In other chunks it takes one step for each byte of the value. After an
    /// error, do not use the appended bytes.
    ///
    /// # Panics
    /// If `row` is not below `len()`.
    pub fn extract_into(&self, row: usize, range: Range<usize>, out: &mut Vec<u8>) -> Result<(), Corrupt> {
        assert!(row < self.layout.rows, "value {row} of {}", self.layout.rows);
        let start = out.len();
        let outcome = match self.samples {
            Some(samples) => self.extract_part(row, samples.bounds(row)?, range, out),
            None => self.extract_whole(row, range, out),
        };
        out[start..].reverse();
        outcome
    }

    /// Appends the range, last byte first.
    fn extract_part(&self, row: usize, bounds: Range<usize>, range: Range<usize>, out: &mut Vec<u8>) -> Result<(), Corrupt> {
        if bounds.end >= self.layout.symbols {
            return Err(Corrupt("the end of a value beyond the text"));
        }
        let last = bounds.len().min(range.end) + bounds.start;
        let first = bounds.len().min(range.start) + bounds.start;
        let (mut at, mut suffix) = self.anchor(last, &bounds).unwrap_or((bounds.end, row));
        while at > first {
            let (symbol, next) = self.step(suffix)?;
            if symbol == END {
                return Err(Corrupt("a value begins too late"));
            }
            if at <= last {
                out.push(self.bytes[symbol - 1]);
            }
            (at, suffix) = (at - 1, next);
        }
        Ok(())
    }

    /// The first anchor at or after a position of the text, if it lies within the value: its position, and the suffix that begins
    /// there.
    fn anchor(&self, at: usize, bounds: &Range<usize>) -> Option<(usize, usize)> {
        let anchors = self.anchors?;
        let number = at.div_ceil(self.layout.anchoring());
        let place = number * self.layout.anchoring();
        (place < bounds.end).then(|| (place, anchors.get(number) as usize))
    }

    /// Appends the range, last byte first: the value's length is known only after reading it.
    fn extract_whole(&self, row: usize, range: Range<usize>, out: &mut Vec<u8>) -> Result<(), Corrupt> {
        let start = out.len();
        let mut suffix = row;
        loop {
            let (symbol, next) = self.step(suffix)?;
            if symbol == END {
                break;
            }
            if out.len() - start == self.longest {
                return Err(Corrupt("a value begins too early"));
            }
            out.push(self.bytes[symbol - 1]);
            suffix = next;
        }
        let len = out.len() - start;
        out.truncate(start + len - range.start.min(len));
        out.drain(start..start + len.saturating_sub(range.end).min(out.len() - start));
        Ok(())
    }

    /// How often a pattern occurs in all values. Occurrences may overlap. The empty pattern occurs before every byte and at every
    /// end. Takes two steps for each byte of the pattern.
    pub fn count(&self, pattern: &[u8]) -> Result<usize, Corrupt> {
        Ok(self.suffixes(pattern, 0..self.layout.symbols)?.len())
    }

    /// Replaces the contents of `rows` with the values that match a pattern, in order.
    ///
    /// Takes two steps for each byte of the pattern. `Suffix` and `Contains` then take at most about α steps for each occurrence,
    /// or one step for each byte of the chunk if that is less. After an error, do not use `rows`.
    pub fn find(&self, pattern: &[u8], mode: Mode, rows: &mut Vec<u32>) -> Result<(), Corrupt> {
        rows.clear();
        if pattern.is_empty() && mode != Mode::Equal {
            rows.extend(0..self.layout.rows as u32);
            return Ok(());
        }
        let at_end = matches!(mode, Mode::Equal | Mode::Suffix);
        let last = if at_end { self.layout.rows } else { self.layout.symbols };
        let mut suffixes = self.suffixes(pattern, 0..last)?;
        if matches!(mode, Mode::Equal | Mode::Prefix) {
            suffixes = self.longer(END, &suffixes)?;
            self.firsts_into(suffixes, rows)?;
        } else if self.locate_into(suffixes.clone(), rows)?.is_none() {
            rows.clear();
            self.sweep_into(suffixes, rows)?;
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(())
    }

    /// For each suffix in `among` that follows the pattern, the suffix that begins with the pattern before it.
    fn suffixes(&self, pattern: &[u8], among: Range<usize>) -> Result<Range<usize>, Corrupt> {
        let mut suffixes = among;
        for &byte in pattern.iter().rev() {
            match self.symbol(byte) {
                Some(symbol) if !suffixes.is_empty() => suffixes = self.longer(symbol, &suffixes)?,
                _ => return Ok(0..0),
            }
        }
        Ok(suffixes)
    }

    /// The suffixes that consist of `symbol` and then one of `suffixes`.
    fn longer(&self, symbol: usize, suffixes: &Range<usize>) -> Result<Range<usize>, Corrupt> {
        let start = self.sequence.place(symbol, suffixes.start)?;
        let end = self.sequence.place(symbol, suffixes.end)?;
        if start > end { Err(Corrupt("fewer symbols than before")) } else { Ok(start..end) }
    }

    fn symbol(&self, byte: u8) -> Option<usize> {
        let (word, bit) = (usize::from(byte / 64), byte % 64);
        let smaller: u32 = self.alphabet[..word].iter().map(|word| word.count_ones()).sum();
        let below = self.alphabet[word] & ((1 << bit) - 1);
        (self.alphabet[word] >> bit & 1 == 1).then(|| (smaller + below.count_ones()) as usize + 1)
    }

    /// Appends the values at these positions in the order of the values.
    fn firsts_into(&self, places: Range<usize>, rows: &mut Vec<u32>) -> Result<(), Corrupt> {
        for place in places {
            rows.push(self.first(place)?);
        }
        Ok(())
    }

    /// Appends the value of each suffix. `None` if that takes longer than reading all values.
    fn locate_into(&self, suffixes: Range<usize>, rows: &mut Vec<u32>) -> Result<Option<()>, Corrupt> {
        if suffixes.is_empty() {
            return Ok(Some(()));
        }
        let mean = match self.samples {
            Some(_) => 1 << self.layout.sampling_log2,
            None => self.layout.symbols / self.layout.rows / 2 + 1,
        };
        if suffixes.len() > self.layout.symbols / mean {
            return Ok(None);
        }
        // A walk waits for memory at every step. Walks of several suffixes wait at the same time.
        let mut steps = self.layout.symbols;
        let mut suffixes = suffixes.into_iter();
        let mut lanes: Vec<usize> = suffixes.by_ref().take(LANES).collect();
        while !lanes.is_empty() {
            if steps < lanes.len() {
                return Ok(None);
            }
            steps -= lanes.len();
            let mut lane = 0;
            while lane < lanes.len() {
                match self.toward_row(lanes[lane])? {
                    WalkTo::At(suffix) => lanes[lane] = suffix,
                    WalkTo::Row(row) => {
                        rows.push(row);
                        match suffixes.next() {
                            Some(suffix) => lanes[lane] = suffix,
                            None => _ = lanes.swap_remove(lane),
                        }
                    }
                }
                lane += 1;
            }
        }
        Ok(Some(()))
    }

    /// One step from a suffix to its value. Gives the value if it is known here, otherwise the suffix that is one symbol longer.
    #[inline]
    fn toward_row(&self, suffix: usize) -> Result<WalkTo, Corrupt> {
        if let Some(samples) = self.samples {
            let run = suffix >> self.layout.sampling_log2;
            if self.layout.sample_place(run) == suffix {
                return self.row(samples.rows.get(run)).map(WalkTo::Row);
            }
        }
        let (symbol, next) = self.step(suffix)?;
        if symbol == END { self.first(next).map(WalkTo::Row) } else { Ok(WalkTo::At(next)) }
    }

    /// Appends the values of suffixes. Walks through every value until it meets one of the suffixes.
    fn sweep_into(&self, suffixes: Range<usize>, rows: &mut Vec<u32>) -> Result<(), Corrupt> {
        let mut steps = self.layout.symbols;
        for row in 0..self.layout.rows {
            let mut suffix = row;
            while !suffixes.contains(&suffix) {
                steps = steps.checked_sub(1).ok_or(Corrupt("values longer than the text"))?;
                let (symbol, next) = self.step(suffix)?;
                if symbol == END {
                    break;
                }
                suffix = next;
            }
            if suffixes.contains(&suffix) {
                rows.push(row as u32);
            }
        }
        Ok(())
    }

    #[inline]
    fn step(&self, suffix: usize) -> Result<(usize, usize), Corrupt> {
        if suffix >= self.layout.symbols {
            return Err(Corrupt("a suffix beyond the text"));
        }
        self.sequence.step(suffix)
    }

    /// The value at a position in the order of the values.
    fn first(&self, place: usize) -> Result<u32, Corrupt> {
        if place >= self.layout.rows {
            return Err(Corrupt("more values than there are"));
        }
        self.row(self.firsts.get(place))
    }

    fn row(&self, row: u64) -> Result<u32, Corrupt> {
        if row < self.layout.rows as u64 { Ok(row as u32) } else { Err(Corrupt("a value beyond the last")) }
    }
}

impl Samples<'_> {
    /// Where a value lies in the text.
    fn bounds(&self, row: usize) -> Result<Range<usize>, Corrupt> {
        let start = if row == 0 { 0 } else { self.ends.get(row - 1)? + 1 };
        let end = self.ends.get(row)?;
        if start > end { Err(Corrupt("a value of negative length")) } else { Ok(start..end) }
    }
}

/// The alphabet as words, the byte of each symbol, and the number of symbols.
fn alphabet(present: &[u8]) -> ([u64; ALPHABET / 8], [u8; 256], usize) {
    let mut bytes = [0; 256];
    let mut distinct = 0;
    for byte in (0..=u8::MAX).filter(|byte| present[usize::from(byte / 8)] >> (byte % 8) & 1 == 1) {
        bytes[distinct] = byte;
        distinct += 1;
    }
    let mut words = [0; ALPHABET / 8];
    let chunks = present.as_chunks::<8>().0;
    words.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = u64::from_le_bytes(*chunk));
    (words, bytes, distinct)
}

#[cfg(test)]
mod tests;
