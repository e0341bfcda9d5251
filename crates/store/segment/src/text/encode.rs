//! Writes a text chunk.

use libsais::SuffixArrayConstruction;
use libsais::suffix_array::ExtraSpace;

use super::bits::{bits_of, pack, pack_increasing};
use super::{ALPHABET, ANCHORED, END, HEADER_BYTES, Layout, SAMPLED, SYMBOLS_MAX, TextOptions, VERSION, sequence};

/// Appends a chunk that holds `values`, in order. Takes time linear in the bytes (15 to 25 MB a second). Needs 7 bytes of memory
/// for each byte of text besides the chunk, or 11 if some values are empty.
///
/// # Panics
/// If the values have more than `SYMBOLS_MAX` bytes. Each value counts for one byte more.
pub fn encode(values: &[&[u8]], options: TextOptions, out: &mut Vec<u8>) {
    let symbols: usize = values.iter().map(|value| value.len() + 1).sum();
    assert!(symbols <= SYMBOLS_MAX, "{symbols} bytes are too many for one chunk of text");
    let alphabet = Alphabet::of(values);
    // The end of a value is also a symbol. So only 255 different bytes leave room for it in one byte.
    let sorted = match alphabet.len < 256 {
        true => Sorted::new(values, |byte| alphabet.symbols[usize::from(byte)] as u8),
        false => Sorted::new(values, |byte| alphabet.symbols[usize::from(byte)]),
    };
    write(values, &sorted, &alphabet, options.sampling_log2(), out);
}

/// The bytes that occur, and the symbol of each: 1 and up, in order.
struct Alphabet {
    present: [u8; ALPHABET],
    symbols: [u16; 256],
    len: usize,
}

impl Alphabet {
    fn of(values: &[&[u8]]) -> Self {
        let mut alphabet = Self { present: [0; ALPHABET], symbols: [0; 256], len: 0 };
        let mut seen = [false; 256];
        values.iter().flat_map(|value| value.iter()).for_each(|&byte| seen[usize::from(byte)] = true);
        for byte in (0..256).filter(|&byte| seen[byte]) {
            alphabet.len += 1;
            alphabet.symbols[byte] = alphabet.len as u16;
            alphabet.present[byte / 8] |= 1 << (byte % 8);
        }
        alphabet
    }
}

/// The sorted suffixes of all values, and the symbol before each.
struct Sorted {
    suffixes: Vec<i32>,
    before: Vec<u16>,
    /// Where each value ends in the text.
    ends: Vec<u32>,
}

impl Sorted {
    fn new<S>(values: &[&[u8]], symbol: impl Fn(u8) -> S) -> Self
    where
        S: libsais::SmallAlphabet + Into<u16>,
        i32: libsais::IsValidOutputFor<S>,
    {
        let mut text = Vec::new();
        let mut ends = Vec::with_capacity(values.len());
        for value in values {
            text.extend(value.iter().map(|&byte| symbol(byte)));
            ends.push(text.len() as u32);
            text.push(S::zero());
        }
        let suffixes = if values.iter().any(|value| value.is_empty()) { sort_around(&text, &ends) } else { sort(&text) };
        let last = text.len().wrapping_sub(1);
        let before = suffixes.iter().map(|&at| text[(at as usize).checked_sub(1).unwrap_or(last)].into()).collect();
        Self { suffixes, before, ends }
    }

    /// The value to which a position of the text belongs.
    fn row(&self, at: usize) -> usize {
        self.ends.partition_point(|&end| (end as usize) < at)
    }
}

/// Sorts the suffixes of a text. The ends of values differ, and sort by value (a "generalized" suffix array). So the k-th suffix is
/// the end of value k.
fn sort<S>(text: &[S]) -> Vec<i32>
where
    S: libsais::SmallAlphabet,
    i32: libsais::IsValidOutputFor<S>,
{
    let sort = SuffixArrayConstruction::for_text(text).in_owned_buffer32().single_threaded().generalized_suffix_array();
    sort.with_extra_space_in_buffer(ExtraSpace::None).run().expect("a text within the limits can be sorted").into_vec()
}

/// Sorts a text with empty values, which libsais refuses. An empty value has no suffix but its end, and the order of the ends is
/// known.
fn sort_around<S>(text: &[S], ends: &[u32]) -> Vec<i32>
where
    S: libsais::SmallAlphabet,
    i32: libsais::IsValidOutputFor<S>,
{
    let is_empty = |&at: &usize| text[at].is_zero() && (at == 0 || text[at - 1].is_zero());
    let places: Vec<i32> = (0..text.len()).filter(|at| !is_empty(at)).map(|at| at as i32).collect();
    let others: Vec<S> = places.iter().map(|&at| text[at as usize]).collect();
    let empty = text.len() - others.len();
    let sorted = sort(&others);
    let inner = sorted[ends.len() - empty..].iter().map(|&at| places[at as usize]);
    ends.iter().map(|&end| end as i32).chain(inner).collect()
}

fn write(values: &[&[u8]], sorted: &Sorted, alphabet: &Alphabet, sampling_log2: u32, out: &mut Vec<u8>) {
    let layout = Layout { sampling_log2, rows: values.len(), symbols: sorted.before.len() };
    let sampling = 1 << sampling_log2;
    // Half the sum of squares over the sum: the average distance of a byte from the end of its value.
    let squares: u64 = values.iter().map(|value| (value.len() as u64).pow(2)).sum();
    let distance = squares / (2 * layout.symbols as u64).max(1);
    let sampled = distance >= sampling;
    let anchored = distance >= layout.anchoring() as u64;
    let longest = values.iter().map(|value| value.len()).max().unwrap_or(0);

    let start = out.len();
    out.resize(start + HEADER_BYTES, 0);
    let shape = sequence::encode(&sorted.before, alphabet.len + 1, out);
    let row_bits = bits_of(layout.rows.saturating_sub(1) as u64);
    let firsts = (0..layout.symbols).filter(|&k| usize::from(sorted.before[k]) == END);
    pack(out, firsts.map(|k| sorted.row(sorted.suffixes[k] as usize) as u64), row_bits);
    if sampled {
        pack_increasing(out, sorted.ends.iter().map(|end| u64::from(*end)), layout.symbols);
        let places = (0..layout.samples()).map(|k| layout.sample_place(k));
        pack(out, places.map(|k| sorted.suffixes.get(k).map_or(0, |&at| sorted.row(at as usize) as u64)), row_bits);
    }
    if anchored {
        let mut anchors = vec![0; layout.anchors()];
        for (k, at) in sorted.suffixes.iter().map(|&at| at as usize).enumerate() {
            if at.is_multiple_of(layout.anchoring()) {
                anchors[at / layout.anchoring()] = k as u64;
            }
        }
        pack(out, anchors.into_iter(), bits_of(layout.symbols as u64));
    }
    let header = &mut out[start..start + HEADER_BYTES];
    let flags = if sampled { SAMPLED } else { 0 } | if anchored { ANCHORED } else { 0 };
    header[..4].copy_from_slice(&[VERSION, sampling_log2 as u8, shape.block_log2 as u8, flags]);
    let counts = [layout.rows, layout.symbols, longest, shape.lines, shape.nodes];
    for (field, count) in header[4..24].as_chunks_mut::<4>().0.iter_mut().zip(counts) {
        *field = (count as u32).to_le_bytes();
    }
    header[HEADER_BYTES - ALPHABET..].copy_from_slice(&alphabet.present);
}
