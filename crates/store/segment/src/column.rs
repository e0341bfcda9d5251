//! A column chunk: the cells of up to 65,536 consecutive places under one key. Any one is read in O(1), in place.
//!
//! ```text
//!   form 1 | type 1 | presence 1 | exponent 1 | positions 4 | cells 4 | [present: a set of positions] | content
//! ```
//! `presence` 0: every position has a cell; 1: a set says which. The content holds the cells that are there, in order:
//!
//! | form | type | content |
//! |---|---|---|
//! | 1 integers | integers; date, date-time and duration (µs, UTC) | a sequence of integers |
//! | 2 scaled | float, double | a sequence of integers; each float is its integer / 10^exponent, exactly |
//! | 3 plain | float, double, uuid | 4, 8, 16 bytes each |
//! | 4 bits | bool | a set of positions |
//! | 5 bytes | string, bytes | a heap |
//! | 6 cells | any | a heap; each is a cell as `value` describes |
//! | 7 dictionary | any of the above | codes, a sequence of integers; then a chunk of the distinct cells, sorted |
//! | 8 ends | | sources, then targets, each a sequence of integers |
//! | 9 symbols | string, bytes | a table of symbols, and a heap of strings by it |
//! | 10 searchable | string | a compressed suffix array, as `text` describes |
//!
//! A heap is a sequence of integers, one more than there are cells, that says where each begins, and the bytes. The form is the
//! one that takes the fewest bytes; a dictionary has to save a tenth, since it is read in two steps.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::Hash;
use std::ops::Range;

use hashbrown::HashMap;
use mangrove_graph::{Cell, Date, DateTime, Duration, EdgeId, EdgeRef, Encoding, Result, Uuid, Value, ValueType, VertexId};

use crate::bits::{self, Bits};
use crate::corrupt;
use crate::heap::{self, Heap};
use crate::ints::{self, Ints};
use crate::symbols::{self, Symbols};
use crate::text::{self, Mode, Text};
use crate::value;

/// Places of a chunk.
pub const POSITIONS: usize = 1 << 16;
const HEADER: usize = 12;
const DICTIONARY_WORTH: f64 = 0.9;
/// Fewer bytes of strings are not worth a table of symbols.
const SYMBOLS_FROM: usize = 4096;
/// Beyond so many digits after the point a float is not taken for a decimal.
const EXPONENT_MAX: u8 = 14;

const INTS: u8 = 1;
const SCALED: u8 = 2;
const PLAIN: u8 = 3;
const BITS: u8 = 4;
const BYTES: u8 = 5;
const CELLS: u8 = 6;
const DICTIONARY: u8 = 7;
const ENDS: u8 = 8;
const SYMBOLS: u8 = 9;
const SEARCHABLE: u8 = 10;

#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    positions: usize,
    cells: usize,
    present: Option<Bits<'a>>,
    /// The type of all cells, if they are plain values of one.
    value_type: Option<ValueType>,
    /// Where each cell is in the body, if that is a dictionary.
    codes: Option<Ints<'a>>,
    body: Body<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Body<'a> {
    Ints(Ints<'a>),
    Scaled(Ints<'a>, u8),
    Float32(&'a [[u8; 4]]),
    Float64(&'a [[u8; 8]]),
    Uuids(&'a [[u8; 16]]),
    Bools(Bits<'a>),
    Bytes(Heap<'a>),
    Symbols(Symbols<'a>, Heap<'a>),
    /// A text of so many strings.
    Searchable(&'a [u8], usize),
    Cells(Heap<'a>),
    Ends(Ints<'a>, Ints<'a>),
}

impl<'a> Chunk<'a> {
    /// Reads a chunk. O(1).
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let (header, rest) = data.split_first_chunk::<HEADER>().ok_or_else(|| corrupt("a column chunk ends early"))?;
        let [form, type_code, presence, exponent, a, b, c, d, e, f, g, h] = *header;
        let (positions, cells) = (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]) as usize);
        let (present, content) = match presence {
            0 => (None, rest),
            _ => Bits::split(rest).map(|(bits, rest)| (Some(bits), rest))?,
        };
        let counted = present.map_or(positions, |bits| bits.ones());
        if positions > POSITIONS || counted != cells || present.is_some_and(|bits| bits.len() != positions) {
            return Err(corrupt("a column chunk that counts wrong"));
        }
        let value_type = ValueType::from_code(type_code).filter(|t| *t != ValueType::Null);
        let missing = || corrupt("a column chunk with cells missing");
        if form == DICTIONARY {
            let (codes, content) = Ints::split(content)?;
            if content.first() == Some(&DICTIONARY) {
                return Err(corrupt("a dictionary in a dictionary"));
            }
            let distinct = Self::parse(content)?;
            if codes.len() != cells || distinct.present.is_some() {
                return Err(missing());
            }
            return Ok(Self { positions, cells, present, codes: Some(codes), ..distinct });
        }
        let body = Body::parse(form, value_type, exponent, cells, content)?;
        if body.len() != Some(cells) {
            return Err(missing());
        }
        Ok(Self { positions, cells, present, value_type, codes: None, body })
    }

    /// The number of places it covers.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// The number of places that have a cell.
    pub fn len(&self) -> usize {
        self.cells
    }

    pub fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// The type of all cells, if they are plain values of one.
    pub fn value_type(&self) -> Option<ValueType> {
        self.value_type
    }

    /// How its cells are kept, as people call it.
    pub fn form(&self) -> &'static str {
        match self.body {
            _ if self.codes.is_some() => "dictionary",
            Body::Ints(_) => "integers",
            Body::Scaled(..) => "decimals",
            Body::Float32(_) | Body::Float64(_) | Body::Uuids(_) => "plain",
            Body::Bools(_) => "bits",
            Body::Bytes(_) => "bytes",
            Body::Symbols(..) => "symbols",
            Body::Searchable(..) => "searchable",
            Body::Cells(_) => "cells",
            Body::Ends(..) => "ends",
        }
    }

    /// Which of the 128 positions from `128 * block` on have a cell.
    pub fn present(&self, block: usize) -> u128 {
        match self.present {
            Some(bits) => bits.block(block),
            None => match self.positions.saturating_sub(block * 128) {
                0 => 0,
                n @ 1..128 => (1 << n) - 1,
                _ => u128::MAX,
            },
        }
    }

    /// Where among the cells that of a position is.
    #[inline]
    pub fn rank(&self, position: usize) -> Option<usize> {
        if position >= self.positions {
            return None;
        }
        match &self.present {
            Some(bits) => bits.rank(position).filter(|rank| *rank < self.cells),
            None => Some(position),
        }
    }

    /// The number of cells before a position.
    pub fn before(&self, position: usize) -> usize {
        match &self.present {
            Some(bits) => bits.before(position),
            None => position.min(self.positions),
        }
    }

    /// Where in the body the cell at a rank is; whatever the bytes, within it.
    #[inline]
    fn at(&self, rank: usize) -> Result<usize> {
        let Some(codes) = &self.codes else { return Ok(rank) };
        let code = usize::try_from(codes.get(rank)).ok().filter(|code| Some(*code) < self.body.len());
        code.ok_or_else(|| corrupt("a code beyond its dictionary"))
    }

    pub fn cell(&self, position: usize) -> Result<Cell> {
        self.rank(position).map_or(Ok(Cell::Absent), |rank| self.cell_at(rank))
    }

    /// The cell at a rank, which is below `len()`.
    pub fn cell_at(&self, rank: usize) -> Result<Cell> {
        let of_type = || self.value_type.ok_or_else(|| corrupt("a chunk of no type"));
        let at = self.at(rank)?;
        Ok(Cell::One(match self.body {
            Body::Ints(ints) => count_value(of_type()?, ints.get(at)),
            Body::Float32(_) => Value::Float32(self.float_at(rank)? as f32),
            Body::Float64(_) => Value::Float64(self.float_at(rank)?),
            Body::Scaled(..) => match of_type()? {
                ValueType::Float32 => Value::Float32(self.float_at(rank)? as f32),
                _ => Value::Float64(self.float_at(rank)?),
            },
            Body::Uuids(values) => Value::Uuid(Uuid::from_bytes(values[at])),
            Body::Bools(bits) => Value::Bool(bits.rank(at).is_some()),
            Body::Bytes(heap) => string(of_type()?, heap.get(at)?)?,
            Body::Symbols(symbols, heap) => string(of_type()?, &symbols.decode(heap.get(at)?)?)?,
            Body::Searchable(text, _) => string(of_type()?, &whole_text(text, at)?)?,
            Body::Cells(heap) => return value::cell(heap.get(at)?),
            Body::Ends(..) => return Err(corrupt("ends of edges are no cells")),
        }))
    }

    /// The integer a cell is kept as; the chunk is one of integers, dates, date-times (µs, UTC) or durations (µs).
    #[inline]
    pub fn count_at(&self, rank: usize) -> Result<i64> {
        match self.body {
            Body::Ints(ints) => Ok(ints.get(self.at(rank)?)),
            _ => Err(other_form()),
        }
    }

    /// The integers cells are kept as, by rank, if they stand there one by one.
    pub fn plain_counts(&self) -> Option<Ints<'a>> {
        match (self.body, self.codes) {
            (Body::Ints(ints), None) => Some(ints),
            _ => None,
        }
    }

    /// Appends the integers cells of consecutive ranks are kept as.
    pub fn counts(&self, ranks: Range<usize>, out: &mut Vec<i64>) -> Result<()> {
        match self.plain_counts() {
            Some(ints) => ints.each(ranks, |count| out.push(count)),
            None => out.extend(ranks.map(|rank| self.count_at(rank)).collect::<Result<Vec<_>>>()?),
        }
        Ok(())
    }

    /// The float at a rank; the chunk is one of floats or doubles.
    #[inline]
    pub fn float_at(&self, rank: usize) -> Result<f64> {
        let at = self.at(rank)?;
        Ok(match self.body {
            Body::Scaled(ints, exponent) => unscaled(ints.get(at), exponent),
            Body::Float32(values) => f64::from(f32::from_le_bytes(values[at])),
            Body::Float64(values) => f64::from_le_bytes(values[at]),
            _ => return Err(other_form()),
        })
    }

    /// The bytes at a rank; the chunk is one of strings or bytes.
    #[inline]
    pub fn bytes_at(&self, rank: usize) -> Result<Cow<'a, [u8]>> {
        match self.body {
            Body::Bytes(heap) => heap.get(self.at(rank)?).map(Cow::Borrowed),
            Body::Symbols(symbols, heap) => symbols.decode(heap.get(self.at(rank)?)?).map(Cow::Owned),
            Body::Searchable(text, _) => whole_text(text, self.at(rank)?).map(Cow::Owned),
            _ => Err(other_form()),
        }
    }

    /// Calls `f` with the bytes at consecutive ranks, one after the other; the chunk is one of strings or bytes.
    pub fn each_bytes(&self, ranks: Range<usize>, mut f: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self.body {
            Body::Bytes(heap) => ranks.into_iter().try_for_each(|rank| f(heap.get(self.at(rank)?)?)),
            Body::Symbols(symbols, heap) => {
                let mut decoder = symbols.decoder();
                ranks.into_iter().try_for_each(|rank| f(decoder.decode(heap.get(self.at(rank)?)?)?))
            }
            Body::Searchable(text, _) => {
                let (text, mut decoded) = (Text::parse(text).map_err(damaged)?, Vec::new());
                ranks.into_iter().try_for_each(|rank| {
                    decoded.clear();
                    text.value_into(self.at(rank)?, &mut decoded).map_err(damaged)?;
                    f(&decoded)
                })
            }
            _ => Err(other_form()),
        }
    }

    /// How the bytes at a rank compare with others; the chunk is one of strings or bytes.
    pub fn compare_bytes(&self, rank: usize, with: &[u8]) -> Result<Ordering> {
        self.compare_at(self.at(rank)?, with)
    }

    fn compare_at(&self, at: usize, with: &[u8]) -> Result<Ordering> {
        match self.body {
            Body::Bytes(heap) => Ok(heap.get(at)?.cmp(with)),
            Body::Symbols(symbols, heap) => symbols.compare(heap.get(at)?, with),
            Body::Searchable(text, _) => Ok(whole_text(text, at)?[..].cmp(with)),
            _ => Err(other_form()),
        }
    }

    /// The codes of strings in a dictionary, by rank, and those of strings equal to a given one: smaller codes are of smaller strings,
    /// greater ones of greater. Nothing if there is no dictionary. O(log distinct).
    pub fn codes_equal(&self, to: &[u8]) -> Result<Option<(Ints<'a>, Range<i64>)>> {
        let Some(codes) = self.codes else { return Ok(None) };
        let (mut low, mut high) = (0, self.body.len().unwrap_or(0));
        while low < high {
            let middle = low.midpoint(high);
            if self.compare_at(middle, to)? == Ordering::Less { low = middle + 1 } else { high = middle }
        }
        let is_there = low < self.body.len().unwrap_or(0) && self.compare_at(low, to)? == Ordering::Equal;
        Ok(Some((codes, low as i64..low as i64 + i64::from(is_there))))
    }

    /// Whether any part of its strings is found without reading them.
    pub fn is_searchable(&self) -> bool {
        matches!(self.body, Body::Searchable(..))
    }

    /// Adds the positions whose string matches a pattern, a bit each in blocks of 128; nothing is done if it is not searchable.
    /// About α steps for each hit (see [`text`](crate::text)).
    pub fn find_text(&self, pattern: &[u8], mode: Mode, blocks: &mut [u128]) -> Result<()> {
        let Body::Searchable(text, _) = self.body else { return Ok(()) };
        let mut ranks = Vec::new();
        Text::parse(text).and_then(|text| text.find(pattern, mode, &mut ranks)).map_err(damaged)?;
        // Ranks are in order; so are the positions of those that are there.
        let (mut ranks, mut first) = (ranks.into_iter().map(|rank| rank as usize).peekable(), 0);
        for (at, found) in blocks.iter_mut().enumerate() {
            let mut present = self.present(at);
            let end = first + present.count_ones() as usize;
            while let Some(rank) = ranks.next_if(|rank| *rank < end) {
                // The positions of ranks before it are done with.
                while first < rank {
                    present &= present - 1;
                    first += 1;
                }
                *found |= present & present.wrapping_neg();
            }
            first = end;
        }
        Ok(())
    }

    /// Source and target of the edge at a position.
    pub fn edge(&self, id: EdgeId, position: usize) -> Result<Option<EdgeRef>> {
        self.rank(position).map(|rank| self.edge_at(id, rank)).transpose()
    }

    /// Source and target of the edge at a rank.
    #[inline]
    pub fn edge_at(&self, id: EdgeId, rank: usize) -> Result<EdgeRef> {
        let Body::Ends(sources, targets) = self.body else { return Err(corrupt("cells are no ends of edges")) };
        Ok(EdgeRef { id, source: VertexId(sources.get(rank) as u64), target: VertexId(targets.get(rank) as u64) })
    }

    /// Whether it holds the ends of edges, and not cells.
    pub fn is_of_ends(&self) -> bool {
        matches!(self.body, Body::Ends(..))
    }
}

impl<'a> Body<'a> {
    fn parse(form: u8, t: Option<ValueType>, exponent: u8, cells: usize, data: &'a [u8]) -> Result<Self> {
        let plain = |size: usize| data.get(..cells * size).ok_or_else(|| corrupt("a column chunk ends early"));
        Ok(match (form, t) {
            (INTS, Some(t)) if is_count(t) => Body::Ints(Ints::split(data)?.0),
            (SCALED, Some(ValueType::Float32 | ValueType::Float64)) => Body::Scaled(Ints::split(data)?.0, exponent),
            (PLAIN, Some(ValueType::Float32)) => Body::Float32(plain(4)?.as_chunks().0),
            (PLAIN, Some(ValueType::Float64)) => Body::Float64(plain(8)?.as_chunks().0),
            (PLAIN, Some(ValueType::Uuid)) => Body::Uuids(plain(16)?.as_chunks().0),
            (BITS, Some(ValueType::Bool)) => Body::Bools(Bits::split(data)?.0),
            (BYTES, Some(ValueType::String | ValueType::Bytes)) => Body::Bytes(Heap::split(data)?),
            (SYMBOLS, Some(ValueType::String | ValueType::Bytes)) => {
                let (symbols, rest) = Symbols::split(data)?;
                Body::Symbols(symbols, Heap::split(rest)?)
            }
            (SEARCHABLE, Some(ValueType::String)) => Body::Searchable(data, Text::parse(data).map_err(damaged)?.len()),
            (CELLS, None) => Body::Cells(Heap::split(data)?),
            (ENDS, None) => {
                let (sources, rest) = Ints::split(data)?;
                Body::Ends(sources, Ints::split(rest)?.0)
            }
            _ => return Err(corrupt("a column chunk of an unknown form")),
        })
    }

    /// The number of cells; nothing if its parts differ.
    fn len(&self) -> Option<usize> {
        Some(match self {
            Body::Ints(ints) | Body::Scaled(ints, _) => ints.len(),
            Body::Float32(values) => values.len(),
            Body::Float64(values) => values.len(),
            Body::Uuids(values) => values.len(),
            Body::Bools(bits) => bits.len(),
            Body::Bytes(heap) | Body::Symbols(_, heap) | Body::Cells(heap) => heap.len(),
            Body::Searchable(_, len) => *len,
            Body::Ends(sources, targets) => return (sources.len() == targets.len()).then_some(sources.len()),
        })
    }
}

fn damaged(error: text::Corrupt) -> mangrove_graph::GraphError {
    corrupt(&error.to_string())
}

fn whole_text(text: &[u8], at: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    Text::parse(text).and_then(|text| text.value_into(at, &mut out)).map_err(damaged)?;
    Ok(out)
}

/// A value of a type that is kept as bytes.
fn string(t: ValueType, bytes: &[u8]) -> Result<Value> {
    Ok(if t == ValueType::String { value::text(bytes)?.into() } else { Value::Bytes(bytes.into()) })
}

fn other_form() -> mangrove_graph::GraphError {
    corrupt("a chunk of another form than its type has")
}

/// Whether values of this type are kept as integers.
pub fn is_count(t: ValueType) -> bool {
    use ValueType::*;
    matches!(t, Int8 | Int16 | Int32 | Int64 | Date | DateTime | Duration)
}

/// The value of such a type that is kept as `count`.
pub fn count_value(t: ValueType, count: i64) -> Value {
    match t {
        ValueType::Int8 => Value::Int8(count as i8),
        ValueType::Int16 => Value::Int16(count as i16),
        ValueType::Int32 => Value::Int32(count as i32),
        ValueType::Date => Value::Date(Date(count as i32)),
        ValueType::DateTime => Value::DateTime(DateTime::from_micros(count)),
        ValueType::Duration => Value::Duration(Duration::from_micros(count)),
        _ => Value::Int64(count),
    }
}

/// The integer a value of such a type is kept as; nothing if that would lose something.
fn count_of(value: &Value) -> Option<i64> {
    match value {
        Value::Int8(v) => Some(i64::from(*v)),
        Value::Int16(v) => Some(i64::from(*v)),
        Value::Int32(v) => Some(i64::from(*v)),
        Value::Int64(v) => Some(*v),
        Value::Date(date) => Some(i64::from(date.0)),
        Value::DateTime(t) => Some(t.micros()).filter(|us| t.offset_seconds == 0 && DateTime::from_micros(*us) == *t),
        Value::Duration(d) => Some(d.micros()).filter(|us| Duration::from_micros(*us) == *d),
        _ => None,
    }
}

const POWERS: [f64; EXPONENT_MAX as usize + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

fn unscaled(count: i64, exponent: u8) -> f64 {
    count as f64 / POWERS[usize::from(exponent.min(EXPONENT_MAX))]
}

/// The integer that is the float times 10^exponent, if dividing gives the very float back.
fn scaled(float: f64, exponent: u8) -> Option<i64> {
    let count = (float * POWERS[usize::from(exponent)]).round();
    let fits = count.abs() < 9e15 && (count != 0.0 || float.to_bits() == 0);
    (fits && unscaled(count as i64, exponent).to_bits() == float.to_bits()).then_some(count as i64)
}

/// Appends the chunk of these cells, by position. Where an encoding does not suit them they are kept as by [`Encoding::Auto`].
///
/// # Panics
/// If there are more than [`POSITIONS`].
pub fn encode(out: &mut Vec<u8>, cells: &[Cell], encoding: Encoding) {
    assert!(cells.len() <= POSITIONS);
    let there: Vec<&Cell> = cells.iter().filter(|cell| !cell.is_absent()).collect();
    let content = match encoding {
        Encoding::Searchable { sampling_log2 } => searchable(&there, sampling_log2),
        _ => None,
    };
    let content = content.unwrap_or_else(|| {
        let content = Content::of(&there, encoding);
        let worth = match encoding {
            Encoding::Plain | Encoding::Symbols => return content,
            Encoding::Dictionary => f64::INFINITY,
            _ => DICTIONARY_WORTH,
        };
        dictionary(&there, &content, worth).unwrap_or(content)
    });
    header(out, &content, cells.len(), there.len());
    if there.len() < cells.len() {
        let flags: Vec<bool> = cells.iter().map(|cell| !cell.is_absent()).collect();
        bits::encode(out, &flags);
    }
    out.extend_from_slice(&content.bytes);
}

/// Appends the chunk of the ends of edges, by position.
///
/// # Panics
/// If there are more than [`POSITIONS`].
pub fn encode_ends(out: &mut Vec<u8>, edges: &[Option<EdgeRef>]) {
    assert!(edges.len() <= POSITIONS);
    let there: Vec<&EdgeRef> = edges.iter().flatten().collect();
    header(out, &Content { form: ENDS, ..Content::default() }, edges.len(), there.len());
    if there.len() < edges.len() {
        bits::encode(out, &edges.iter().map(Option::is_some).collect::<Vec<_>>());
    }
    ints::encode(out, &there.iter().map(|edge| edge.source.0 as i64).collect::<Vec<_>>());
    ints::encode(out, &there.iter().map(|edge| edge.target.0 as i64).collect::<Vec<_>>());
}

/// What cells are encoded as.
#[derive(Default)]
struct Content {
    form: u8,
    value_type: Option<ValueType>,
    exponent: u8,
    bytes: Vec<u8>,
}

fn header(out: &mut Vec<u8>, content: &Content, positions: usize, cells: usize) {
    let code = content.value_type.map_or(0, |t| t as u8);
    out.extend_from_slice(&[content.form, code, u8::from(cells < positions), content.exponent]);
    out.extend_from_slice(&(positions as u32).to_le_bytes());
    out.extend_from_slice(&(cells as u32).to_le_bytes());
}

/// The bytes of a value that is kept as such.
fn raw_bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        value => value.as_str().unwrap_or_default().as_bytes(),
    }
}

/// Byte strings as they are, or by symbols, if that saves a tenth: it is slower to read.
fn strings(all: &Vec<&[u8]>, encoding: Encoding) -> (u8, Vec<u8>) {
    let plain = heap::bytes(all.iter().copied());
    let wanted = encoding == Encoding::Symbols;
    let is_short = all.iter().map(|string| string.len()).sum::<usize>() < SYMBOLS_FROM;
    if encoding == Encoding::Plain || is_short && !wanted {
        return (BYTES, plain);
    }
    let (mut bytes, encoded) = symbols::encode(all);
    let table_len = bytes.len();
    bytes.extend(heap::bytes(encoded.iter().map(|string| &string[..])));
    let pays = wanted || (bytes.len() as f64) < DICTIONARY_WORTH * plain.len() as f64;
    // What cannot be read back must never be stored, whatever a library does.
    let is_read_back = || {
        let (table, _) = Symbols::split(&bytes[..table_len]).ok()?;
        let mut decoder = table.decoder();
        let mut strings = encoded.iter().zip(all);
        strings.all(|(codes, string)| decoder.decode(codes).is_ok_and(|decoded| decoded == *string)).then_some(())
    };
    if pays && is_read_back().is_some() { (SYMBOLS, bytes) } else { (BYTES, plain) }
}

/// Strings as a searchable text; nothing if not all cells are strings, or they are too many for one.
fn searchable(cells: &[&Cell], sampling_log2: u8) -> Option<Content> {
    let string = |cell: &&Cell| match cell {
        Cell::One(Value::String(text)) => Some(text.len() + 1),
        _ => None,
    };
    let symbols: usize = cells.iter().map(string).sum::<Option<usize>>()?;
    if symbols > text::SYMBOLS_MAX {
        return None;
    }
    let values: Vec<&[u8]> = cells.iter().flat_map(|cell| cell.values()).map(raw_bytes).collect();
    let mut bytes = Vec::new();
    text::encode(&values, text::Options { sampling: 1 << sampling_log2 }, &mut bytes);
    Some(Content { form: SEARCHABLE, value_type: Some(ValueType::String), exponent: 0, bytes })
}

impl Content {
    /// Without a dictionary.
    fn of(cells: &[&Cell], encoding: Encoding) -> Self {
        let plain = |cell: &&Cell| if let Cell::One(value) = cell { Some(value.value_type()) } else { None };
        let first = cells.first().and_then(plain);
        let common = first.filter(|t| cells.iter().all(|cell| plain(cell) == Some(*t)));
        common.and_then(|t| Self::typed(t, cells, encoding)).unwrap_or_else(|| {
            let bytes: Vec<Vec<u8>> = cells.iter().map(|cell| value::cell_bytes(cell)).collect();
            Self { form: CELLS, bytes: heap::bytes(bytes.iter().map(|bytes| &bytes[..])), ..Self::default() }
        })
    }

    /// Nothing if a value would lose something.
    fn typed(t: ValueType, cells: &[&Cell], encoding: Encoding) -> Option<Self> {
        let values = || cells.iter().filter_map(|cell| cell.values().next());
        let content = |form, exponent, bytes| Some(Self { form, value_type: Some(t), exponent, bytes });
        match t {
            t if is_count(t) => {
                let mut bytes = Vec::new();
                ints::encode(&mut bytes, &values().map(count_of).collect::<Option<Vec<i64>>>()?);
                content(INTS, 0, bytes)
            }
            ValueType::Float32 | ValueType::Float64 => {
                Self::floats(t, &values().filter_map(Value::as_f64).collect::<Vec<_>>())
            }
            ValueType::Bool => {
                let mut bytes = Vec::new();
                bits::encode(&mut bytes, &values().map(|value| *value == Value::Bool(true)).collect::<Vec<_>>());
                content(BITS, 0, bytes)
            }
            ValueType::Uuid => {
                let uuid = |value: &Value| if let Value::Uuid(uuid) = value { *uuid.as_bytes() } else { [0; 16] };
                content(PLAIN, 0, values().flat_map(uuid).collect())
            }
            ValueType::String | ValueType::Bytes => {
                let (form, bytes) = strings(&values().map(raw_bytes).collect(), encoding);
                content(form, 0, bytes)
            }
            _ => None,
        }
    }

    fn floats(t: ValueType, floats: &[f64]) -> Option<Self> {
        let plain: Vec<u8> = match t {
            ValueType::Float32 => floats.iter().flat_map(|f| (*f as f32).to_le_bytes()).collect(),
            _ => floats.iter().flat_map(|f| f.to_le_bytes()).collect(),
        };
        let in_type = |f: f64, exponent| match t {
            // A float is the nearest to its decimal in its own width.
            ValueType::Float32 => {
                let decimal: f64 = (f as f32).to_string().parse().unwrap_or(f);
                scaled(decimal, exponent)
                    .filter(|count| (unscaled(*count, exponent) as f32).to_bits() == (f as f32).to_bits())
            }
            _ => scaled(f, exponent),
        };
        let fitting = (0..=EXPONENT_MAX).find(|exponent| floats.iter().all(|f| in_type(*f, *exponent).is_some()));
        let mut best = Self { form: PLAIN, value_type: Some(t), exponent: 0, bytes: plain };
        if let Some(exponent) = fitting {
            let mut bytes = Vec::new();
            ints::encode(&mut bytes, &floats.iter().filter_map(|f| in_type(*f, exponent)).collect::<Vec<_>>());
            if bytes.len() < best.bytes.len() {
                best = Self { form: SCALED, value_type: Some(t), exponent, bytes };
            }
        }
        Some(best)
    }
}

/// The cells by code, if that takes less.
fn dictionary(cells: &[&Cell], content: &Content, worth: f64) -> Option<Content> {
    let values = || cells.iter().filter_map(|cell| cell.values().next());
    let (codes, firsts) = match content.form {
        INTS => codes_of(&values().map(count_of).collect::<Vec<_>>(), content, worth),
        SCALED | PLAIN if content.value_type != Some(ValueType::Uuid) => {
            codes_of(&values().map(|value| value.as_f64().map(f64::to_bits)).collect::<Vec<_>>(), content, worth)
        }
        BYTES | SYMBOLS if content.value_type == Some(ValueType::String) => {
            codes_of(&values().map(Value::as_str).collect::<Vec<_>>(), content, worth)
        }
        BITS => None,
        _ => codes_of(&cells.iter().map(|cell| value::cell_bytes(cell)).collect::<Vec<_>>(), content, worth),
    }?;
    let mut order: Vec<usize> = (0..firsts.len()).collect();
    order.sort_by(|a, b| sort_order(cells[firsts[*a]], cells[firsts[*b]]).then(firsts[*a].cmp(&firsts[*b])));
    let mut place = vec![0; order.len()];
    order.iter().zip(0i64..).for_each(|(code, at)| place[*code] = at);
    let mut bytes = Vec::new();
    ints::encode(&mut bytes, &codes.iter().map(|code| place[*code as usize]).collect::<Vec<_>>());
    let sorted: Vec<&Cell> = order.iter().map(|code| cells[firsts[*code]]).collect();
    let inner = Content::of(&sorted, Encoding::Auto);
    header(&mut bytes, &inner, sorted.len(), sorted.len());
    bytes.extend_from_slice(&inner.bytes);
    let pays = (bytes.len() as f64) < worth * content.bytes.len() as f64;
    pays.then_some(Content { form: DICTIONARY, value_type: content.value_type, exponent: 0, bytes })
}

/// Of each key the number of the first one equal to it, and where those are; nothing if it is clear that their codes save nothing.
fn codes_of<K: Eq + Hash>(keys: &[K], content: &Content, worth: f64) -> Option<(Vec<u32>, Vec<usize>)> {
    let mut known: HashMap<&K, u32> = HashMap::new();
    let (mut codes, mut firsts) = (Vec::with_capacity(keys.len()), Vec::new());
    let worth = worth * 8.0 * content.bytes.len() as f64;
    for (at, key) in keys.iter().enumerate() {
        let code = *known.entry(key).or_insert(firsts.len() as u32);
        if code as usize == firsts.len() {
            firsts.push(at);
            // The bits of the codes alone, once they grow by one; and with this many distinct keys it never pays.
            let too_wide = firsts.len().is_power_of_two() && f64::from(firsts.len().ilog2()) * keys.len() as f64 > worth;
            if too_wide || worth.is_finite() && firsts.len() * 2 > keys.len() {
                return None;
            }
        }
        codes.push(code);
    }
    Some((codes, firsts))
}

/// Values in their order, other cells after them.
fn sort_order(a: &Cell, b: &Cell) -> Ordering {
    match (a, b) {
        (Cell::One(a), Cell::One(b)) => mangrove_graph::compare::order(a, b),
        (Cell::One(_), _) => Ordering::Less,
        (_, Cell::One(_)) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{BigDecimal, KeyId, PropertyValue};
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i8>().prop_map(Value::Int8),
            any::<i64>().prop_map(Value::Int64),
            any::<f32>().prop_map(Value::Float32),
            any::<f64>().prop_map(Value::Float64),
            (-9999i32..9999).prop_map(|i| Value::Float64(f64::from(i) / 100.0)),
            (any::<i64>(), -40i64..40).prop_map(|(i, scale)| BigDecimal::new(i.into(), scale).into()),
            ".{0,12}".prop_map(Value::from),
            prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| Value::Bytes(bytes.into())),
            any::<u128>().prop_map(|u| Uuid::from_u128(u).into()),
            any::<i32>().prop_map(|days| Date(days).into()),
            (any::<i64>(), 0u32..1_000_000_000, -3i32..3)
                .prop_map(|(seconds, nanos, offset)| { DateTime { seconds, nanos, offset_seconds: offset * 1800 }.into() }),
            any::<i64>().prop_map(|us| DateTime::from_micros(us).into()),
            (any::<i64>(), 0u32..1_000_000_000).prop_map(|(seconds, nanos)| Duration { seconds, nanos }.into()),
        ]
    }

    fn vary(sample: &Value, n: u16) -> Value {
        match sample {
            Value::Int8(v) => Value::Int8(v.wrapping_add(n as i8)),
            Value::Int64(v) => Value::Int64(v.wrapping_add(i64::from(n))),
            Value::Float64(v) => Value::Float64(v + f64::from(n % 100) / 4.0),
            Value::Float32(v) => Value::Float32(v + f32::from(n % 100) / 10.0),
            Value::String(s) if s.len() % 2 == 0 => Value::string(format!("{s}{}", n % 30)),
            Value::String(s) => Value::string(format!("lantern {s} of meadow {n}")),
            Value::Bool(_) => Value::Bool(n.is_multiple_of(2)),
            other => other.clone(),
        }
    }

    fn cells() -> impl Strategy<Value = Vec<Cell>> {
        let uniform = (value(), prop::collection::vec((any::<u16>(), prop::bool::weighted(0.8)), 0..300)).prop_map(
            |(sample, rows)| {
                let cell = |(n, is)| if is { Cell::One(vary(&sample, n)) } else { Cell::Absent };
                rows.into_iter().map(cell).collect()
            },
        );
        let many = (any::<u32>(), value()).prop_map(|(ordinal, value)| {
            Cell::Many(vec![PropertyValue { ordinal, value, meta: vec![(KeyId(3), true.into())] }])
        });
        let any_cell = prop_oneof![2 => Just(Cell::Absent), 4 => value().prop_map(Cell::One), 1 => many];
        prop_oneof![2 => uniform, 1 => prop::collection::vec(any_cell, 0..100)]
    }

    fn encoding() -> impl Strategy<Value = Encoding> {
        const NAMES: [&str; 6] = ["auto", "plain", "dictionary", "symbols", "searchable", "searchable:4"];
        prop::sample::select(&NAMES[..]).prop_map(|name| Encoding::parse(name).unwrap())
    }

    /// Equal to the bit: NaN is itself, and zero is not minus zero.
    fn same(a: &Cell, b: &Cell) -> bool {
        value::cell_bytes(a) == value::cell_bytes(b)
    }

    proptest! {
        #[test]
        fn chunks_give_back_their_cells(cells in cells(), encoding in encoding()) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &cells, encoding);
            let chunk = Chunk::parse(&bytes).unwrap();
            prop_assert_eq!(chunk.positions(), cells.len());
            prop_assert_eq!(chunk.len(), cells.iter().filter(|cell| !cell.is_absent()).count());
            for (position, cell) in cells.iter().enumerate() {
                let back = chunk.cell(position).unwrap();
                prop_assert!(same(&back, cell), "{:?} for {:?}", back, cell);
                prop_assert_eq!(chunk.present(position / 128) >> (position % 128) & 1 == 1, !cell.is_absent());
            }
            prop_assert!(chunk.cell(cells.len()).unwrap().is_absent());
        }

        #[test]
        fn ends_come_back(ends in prop::collection::vec(prop::option::of((any::<u64>(), any::<u64>())), 0..200)) {
            let edges: Vec<Option<EdgeRef>> = ends.iter().map(|ends| {
                ends.map(|(s, t)| EdgeRef { id: EdgeId(9), source: VertexId(s >> 20), target: VertexId(t) })
            }).collect();
            let mut bytes = Vec::new();
            encode_ends(&mut bytes, &edges);
            let chunk = Chunk::parse(&bytes).unwrap();
            for (position, edge) in edges.iter().enumerate() {
                prop_assert_eq!(&chunk.edge(EdgeId(9), position).unwrap(), edge);
            }
        }

        #[test]
        fn damaged_chunks_are_refused_or_read(
            cells in cells(), encoding in encoding(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            encode(&mut bytes, &cells, encoding);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok(chunk) = Chunk::parse(&bytes) {
                for position in 0..chunk.positions().min(400) {
                    let _ = chunk.cell(position);
                    let _ = chunk.edge(EdgeId(0), position);
                }
            }
        }
    }

    #[test]
    fn the_form_is_what_takes_least() {
        let form = |values: &mut dyn Iterator<Item = Value>| {
            let mut bytes = Vec::new();
            encode(&mut bytes, &values.map(Cell::One).collect::<Vec<_>>(), Encoding::Auto);
            (Chunk::parse(&bytes).unwrap().form(), bytes.len())
        };
        let text = |n: u32| format!("the lantern of meadow {n}");
        let (kept, bytes) = form(&mut (0..2000).map(|n| Value::string(text(n))));
        let raw: usize = (0..2000).map(|n| text(n).len()).sum();
        assert!(kept == "symbols" && bytes * 3 < raw, "{kept}, {bytes} of {raw}");
        assert_eq!(form(&mut (0..2000).map(|n| Value::Bytes(text(n).into_bytes().into()))).0, "symbols");
        assert_eq!(form(&mut (0..2000).map(|n| Value::string(text(n % 5)))).0, "dictionary");
        assert_eq!(form(&mut (0..20).map(|n| Value::string(text(n)))).0, "bytes");
        assert_eq!(form(&mut (0..2000).map(|n| Value::from(i64::from(n)))).0, "integers");
    }

    #[test]
    fn the_form_can_be_chosen() {
        let texts: Vec<Cell> = (0..300).map(|n| Cell::One(Value::string(format!("lantern {}", n % 200)))).collect();
        let numbers: Vec<Cell> = (0..300).map(|n| Cell::One(Value::from(n))).collect();
        for (encoding, of_texts, of_numbers) in [
            (Encoding::Auto, "bytes", "integers"),
            (Encoding::Plain, "bytes", "integers"),
            (Encoding::Dictionary, "dictionary", "dictionary"),
            (Encoding::Symbols, "symbols", "integers"),
            (Encoding::Searchable { sampling_log2: 5 }, "searchable", "integers"),
        ] {
            for (cells, form) in [(&texts, of_texts), (&numbers, of_numbers)] {
                let mut bytes = Vec::new();
                encode(&mut bytes, cells, encoding);
                assert_eq!(Chunk::parse(&bytes).unwrap().form(), form, "{encoding}");
            }
        }
    }

    #[test]
    fn parts_of_texts_are_found() {
        let text = |n: usize| (n % 3 != 1).then(|| format!("{} lantern {}", ["red", "green"][n % 2], n * n));
        let cells: Vec<Cell> =
            (0..1000).map(|n| text(n).map_or(Cell::Absent, |text| Cell::One(Value::string(text)))).collect();
        let mut bytes = Vec::new();
        encode(&mut bytes, &cells, Encoding::parse("searchable").unwrap());
        let chunk = Chunk::parse(&bytes).unwrap();
        type Test = fn(&str, &str) -> bool;
        let modes: [(Mode, Test); 4] = [
            (Mode::Equal, |text, part| text == part),
            (Mode::Prefix, |text, part| text.starts_with(part)),
            (Mode::Suffix, |text, part| text.ends_with(part)),
            (Mode::Contains, |text, part| text.contains(part)),
        ];
        for pattern in ["red", "lantern 4", "16", "red lantern 16", "green lantern 81", "blue", ""] {
            for (mode, test) in modes {
                let mut blocks = [0u128; 8];
                chunk.find_text(pattern.as_bytes(), mode, &mut blocks).unwrap();
                for n in 0..1000 {
                    let expected = text(n).is_some_and(|text| test(&text, pattern));
                    assert_eq!(blocks[n / 128] >> (n % 128) & 1 == 1, expected, "{pattern} {mode:?} {n}");
                }
            }
        }
    }

    #[test]
    fn what_repeats_or_is_regular_takes_little() {
        let size = |cells: Vec<Cell>| {
            let mut bytes = Vec::new();
            encode(&mut bytes, &cells, Encoding::Auto);
            bytes.len()
        };
        let n = 10_000usize;
        let of = |value: &dyn Fn(usize) -> Value| (0..n).map(|at| Cell::One(value(at))).collect::<Vec<_>>();
        assert!(size(of(&|at| Value::Int64(at as i64))) < 100);
        assert!(size(of(&|at| ["red", "green", "blue"][at % 3].into())) < n / 4 + 200);
        assert!(size(of(&|at| Value::Float64(((at * 7919) % 10_000) as f64 / 10_000.0))) < 2 * n);
        let sparse = (0..n).map(|at| if at % 100 == 0 { Cell::One("rare".into()) } else { Cell::Absent }).collect();
        assert!(size(sparse) < n / 4);
    }
}
