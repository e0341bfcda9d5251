//! A column chunk: the cells of up to 65,536 consecutive places under one key. A reader finds any of them in O(1), in place.
//!
//! ```text
//!   form 1 | type 1 | presence 1 | exponent 1 | positions 4 | cells 4 | [present: a set of positions] | content
//! ```
//! `presence` 0: every position has a cell; 1: a set says which. The content holds the present cells, in order:
//!
//! | form | type | content |
//! |---|---|---|
//! | 1 integers | integers; date, date-time and duration (µs, UTC) | a sequence of integers |
//! | 2 scaled | float, double | a sequence of integers; each float is its integer / 10^exponent, exactly |
//! | 3 plain | float, double, uuid | 4, 8, 16 bytes each |
//! | 4 bits | bool | a set of positions |
//! | 5 bytes | string, bytes | a heap |
//! | 6 cells | any | a heap of cells, as `value` describes them |
//! | 7 dictionary | any of the above | codes, a sequence of integers; then a chunk of the distinct cells, sorted |
//! | 8 ends | | sources, then targets, each a sequence of integers |
//! | 9 symbols | string, bytes | a table of symbols, and a heap of strings encoded with it |
//! | 10 searchable | string | a compressed suffix array, as `text` describes |
//! | 11 sources | | sources, a sequence of integers; the lists of outgoing edges have the targets |
//!
//! A heap is a sequence of integers, which say where each string begins, and the bytes. The sequence has one integer more than
//! there are strings. If a part has pieces, they hold the bytes. The writer picks the form that takes the fewest bytes. A dictionary
//! must save a tenth, because reading it takes two steps.

mod across;
mod encode;
mod long;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use mangrove_graph::{Cell, Date, DateTime, Duration, EdgeId, EdgeRef, Result, Uuid, Value, ValueType, VertexId};

use crate::bits::Bits;
use crate::corrupt;
use crate::heap::Heap;
use crate::ints::Ints;
use crate::pieces::Pieces;
use crate::symbols::Symbols;
use crate::text::{self, Mode, Text};
use crate::value;

pub use across::cells_across;
pub use encode::{encode, encode_ends, encode_sources};
pub use long::LongValues;

/// Places that a chunk covers at most.
pub const POSITIONS: usize = 1 << 16;
const HEADER: usize = 12;
/// With more digits than this after the point, a float does not count as a decimal.
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
const SOURCES: u8 = 11;

#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    positions: usize,
    cells: usize,
    present: Option<Bits<'a>>,
    address: usize,
    /// The type of all cells, if they are plain values of one type.
    value_type: Option<ValueType>,
    /// If the body is a dictionary, the index of each cell in it.
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
    /// A text, and the number of its strings.
    Searchable(&'a [u8], usize),
    Cells(Heap<'a>),
    /// Sources and targets of edges. Without targets, the lists of outgoing edges have these.
    Ends(Ints<'a>, Option<Ints<'a>>),
}

impl<'a> Chunk<'a> {
    /// Reads a chunk. If it has pieces, they hold the bytes of its values. O(1).
    pub fn parse(data: &'a [u8], pieces: Option<&'a Pieces<'a>>) -> Result<Self> {
        let (header, rest) = data.split_first_chunk::<HEADER>().ok_or_else(|| corrupt("a column chunk ends early"))?;
        let address = data.as_ptr().addr();
        let [form, type_code, presence, exponent, a, b, c, d, e, f, g, h] = *header;
        let (positions, cells) = (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]) as usize);
        let (present, content) = match presence {
            0 => (None, rest),
            _ => Bits::split(rest).map(|(bits, rest)| (Some(bits), rest))?,
        };
        let counted = present.map_or(positions, |bits| bits.ones());
        if positions > POSITIONS || counted != cells || present.is_some_and(|bits| bits.len() != positions) {
            return Err(corrupt("a column chunk with wrong counts"));
        }
        // Where only the last positions lack a cell, ranks are positions.
        let (present, positions) = match present.filter(|bits| bits.before(cells) < cells) {
            Some(bits) => (Some(bits), positions),
            None => (None, cells),
        };
        let value_type = ValueType::from_code(type_code).filter(|t| *t != ValueType::Null);
        let missing = || corrupt("a column chunk with cells missing");
        if form == DICTIONARY {
            let (codes, content) = Ints::split(content)?;
            if content.first() == Some(&DICTIONARY) {
                return Err(corrupt("a dictionary in a dictionary"));
            }
            let distinct = Self::parse(content, pieces)?;
            if codes.len() != cells || distinct.present.is_some() || distinct.is_of_ends() {
                return Err(missing());
            }
            return Ok(Self { positions, cells, present, address, codes: Some(codes), ..distinct });
        }
        let body = Body::parse(form, value_type, exponent, cells, content, pieces)?;
        if body.len() != Some(cells) {
            return Err(missing());
        }
        Ok(Self { positions, cells, present, address, value_type, codes: None, body })
    }

    /// The address of the chunk in memory, which identifies it.
    pub fn address(&self) -> usize {
        self.address
    }

    /// The number of places it covers, perhaps without those behind the last cell.
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

    /// The type of all cells, if they are plain values of one type.
    pub fn value_type(&self) -> Option<ValueType> {
        self.value_type
    }

    /// The name of the form of its cells, for users.
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
            Body::Ends(_, None) => "sources",
            Body::Ends(..) => "ends",
        }
    }

    /// The positions with a cell, among the 128 positions from `128 * block` on.
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

    /// The rank of a position: its number among the positions with a cell.
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

    /// The index in the body of the cell at a rank. Within the body, whatever the bytes.
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
        let at = self.at(rank)?;
        self.cell_in_body(at, self.body.bytes(at)?, &mut Vec::new())
    }

    /// The cell at an index of the body. `bytes` are its bytes in the heap. `buffer` is scratch space for decoding.
    fn cell_in_body(&self, at: usize, bytes: &[u8], buffer: &mut Vec<u8>) -> Result<Cell> {
        let of_type = || self.value_type.ok_or_else(|| corrupt("a chunk of an unknown type"));
        Ok(Cell::One(match &self.body {
            Body::Ints(ints) => count_value(of_type()?, ints.get(at)),
            Body::Float32(values) => Value::Float32(f32::from_le_bytes(values[at])),
            Body::Float64(values) => Value::Float64(f64::from_le_bytes(values[at])),
            Body::Scaled(ints, exponent) => match of_type()? {
                ValueType::Float32 => Value::Float32(unscaled(ints.get(at), *exponent) as f32),
                _ => Value::Float64(unscaled(ints.get(at), *exponent)),
            },
            Body::Uuids(values) => Value::Uuid(Uuid::from_bytes(values[at])),
            Body::Bools(bits) => Value::Bool(bits.rank(at).is_some()),
            Body::Bytes(_) => string(of_type()?, bytes)?,
            Body::Symbols(symbols, _) => string(of_type()?, symbols.decode(bytes, buffer)?)?,
            Body::Searchable(text, _) => string(of_type()?, &whole_text(text, at)?)?,
            Body::Cells(_) => return value::cell(bytes),
            Body::Ends(..) => return Err(corrupt("ends of edges are no cells")),
        }))
    }

    /// The integer that stands for a cell. The chunk must hold integers, dates, date-times (µs, UTC) or durations (µs).
    #[inline]
    pub fn count_at(&self, rank: usize) -> Result<i64> {
        match self.body {
            Body::Ints(ints) => Ok(ints.get(self.at(rank)?)),
            _ => Err(other_form()),
        }
    }

    /// The integers that stand for cells, by rank, unless the chunk has a dictionary.
    pub fn plain_counts(&self) -> Option<Ints<'a>> {
        match (self.body, self.codes) {
            (Body::Ints(ints), None) => Some(ints),
            _ => None,
        }
    }

    /// Appends the integers that stand for the cells of a range of ranks.
    pub fn counts(&self, ranks: Range<usize>, out: &mut Vec<i64>) -> Result<()> {
        match self.plain_counts() {
            Some(ints) => ints.each(ranks, |count| out.push(count)),
            None => out.extend(ranks.map(|rank| self.count_at(rank)).collect::<Result<Vec<_>>>()?),
        }
        Ok(())
    }

    /// The float at a rank. The chunk must hold floats or doubles.
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

    /// The bytes at a rank. The chunk must hold strings or bytes.
    #[inline]
    pub fn bytes_at(&self, rank: usize) -> Result<Cow<'a, [u8]>> {
        match self.body {
            Body::Bytes(heap) => heap.get(self.at(rank)?).map(Cow::Borrowed),
            Body::Symbols(symbols, heap) => symbols.decoded(heap.get(self.at(rank)?)?).map(Cow::Owned),
            Body::Searchable(text, _) => whole_text(text, self.at(rank)?).map(Cow::Owned),
            _ => Err(other_form()),
        }
    }

    /// Appends the bytes at a rank. The chunk must hold strings or bytes.
    #[inline]
    pub fn bytes_into(&self, rank: usize, out: &mut Vec<u8>) -> Result<()> {
        let at = self.at(rank)?;
        match self.body {
            Body::Bytes(heap) => out.extend_from_slice(heap.get(at)?),
            Body::Symbols(symbols, heap) => symbols.decode_into(heap.get(at)?, out)?,
            Body::Searchable(text, _) => {
                Text::parse(text).and_then(|text| text.value_into(at, out)).map_err(damaged)?;
            }
            _ => return Err(other_form()),
        }
        Ok(())
    }

    /// Calls `f` with the bytes at each rank of a range, in order. The chunk must hold strings or bytes.
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

    /// Compares the bytes at a rank with others. The chunk must hold strings or bytes.
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

    /// The codes of a dictionary of strings, by rank, and the range of codes whose strings equal a given one. Codes sort as their
    /// strings do. `None` if there is no dictionary. O(log distinct).
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

    /// Whether a search can find any substring without reading the strings.
    pub fn is_searchable(&self) -> bool {
        matches!(self.body, Body::Searchable(..))
    }

    /// Adds the positions whose string matches a pattern, as bits in blocks of 128. Does nothing if the chunk is not searchable.
    /// Takes about α steps for each hit (see [`crate::text`]).
    pub fn find_text(&self, pattern: &[u8], mode: Mode, blocks: &mut [u128]) -> Result<()> {
        let Body::Searchable(text, _) = self.body else { return Ok(()) };
        let mut ranks = Vec::new();
        Text::parse(text).and_then(|text| text.find(pattern, mode, &mut ranks)).map_err(damaged)?;
        // Ranks are in order, and so are the positions with a cell.
        let (mut ranks, mut first) = (ranks.into_iter().map(|rank| rank as usize).peekable(), 0);
        for (at, found) in blocks.iter_mut().enumerate() {
            let mut present = self.present(at);
            let end = first + present.count_ones() as usize;
            while let Some(rank) = ranks.next_if(|rank| *rank < end) {
                // Skip the positions of the ranks before it.
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

    /// The edge at a position, with its source and target.
    pub fn edge(&self, id: EdgeId, position: usize) -> Result<Option<EdgeRef>> {
        self.rank(position).map(|rank| self.edge_at(id, rank)).transpose()
    }

    /// The edge at a rank, with its source and target.
    #[inline]
    pub fn edge_at(&self, id: EdgeId, rank: usize) -> Result<EdgeRef> {
        let Body::Ends(sources, Some(targets)) = self.body else { return Err(corrupt("cells are no ends of edges")) };
        Ok(EdgeRef { id, source: VertexId(sources.get(rank) as u64), target: VertexId(targets.get(rank) as u64) })
    }

    /// The source of the edge at a rank, if the chunk holds sources alone.
    #[inline]
    pub fn source_at(&self, rank: usize) -> Option<VertexId> {
        match self.body {
            Body::Ends(sources, None) => Some(VertexId(sources.get(rank) as u64)),
            _ => None,
        }
    }

    /// Whether the chunk holds the ends of edges instead of cells.
    pub fn is_of_ends(&self) -> bool {
        matches!(self.body, Body::Ends(..))
    }
}

impl<'a> Body<'a> {
    fn parse(
        form: u8,
        t: Option<ValueType>,
        exponent: u8,
        cells: usize,
        data: &'a [u8],
        pieces: Option<&'a Pieces<'a>>,
    ) -> Result<Self> {
        let plain = |size: usize| data.get(..cells * size).ok_or_else(|| corrupt("a column chunk ends early"));
        Ok(match (form, t) {
            (INTS, Some(t)) if is_count(t) => Body::Ints(Ints::split(data)?.0),
            (SCALED, Some(ValueType::Float32 | ValueType::Float64)) => Body::Scaled(Ints::split(data)?.0, exponent),
            (PLAIN, Some(ValueType::Float32)) => Body::Float32(plain(4)?.as_chunks().0),
            (PLAIN, Some(ValueType::Float64)) => Body::Float64(plain(8)?.as_chunks().0),
            (PLAIN, Some(ValueType::Uuid)) => Body::Uuids(plain(16)?.as_chunks().0),
            (BITS, Some(ValueType::Bool)) => Body::Bools(Bits::split(data)?.0),
            (BYTES, Some(ValueType::String | ValueType::Bytes)) => Body::Bytes(Heap::split(data, pieces)?),
            (SYMBOLS, Some(ValueType::String | ValueType::Bytes)) => {
                let (symbols, rest) = Symbols::split(data)?;
                Body::Symbols(symbols, Heap::split(rest, pieces)?)
            }
            (SEARCHABLE, Some(ValueType::String)) => Body::Searchable(data, Text::parse(data).map_err(damaged)?.len()),
            (CELLS, None) => Body::Cells(Heap::split(data, pieces)?),
            (ENDS, None) => {
                let (sources, rest) = Ints::split(data)?;
                Body::Ends(sources, Some(Ints::split(rest)?.0))
            }
            (SOURCES, None) => Body::Ends(Ints::split(data)?.0, None),
            _ => return Err(corrupt("a column chunk of an unknown form")),
        })
    }

    /// The bytes of a cell in the heap; empty if the body has no heap.
    #[inline]
    fn bytes(&self, at: usize) -> Result<&'a [u8]> {
        match self {
            Body::Bytes(heap) | Body::Symbols(_, heap) | Body::Cells(heap) => heap.get(at),
            _ => Ok(&[]),
        }
    }

    /// The number of cells; `None` if the parts disagree.
    fn len(&self) -> Option<usize> {
        Some(match self {
            Body::Ints(ints) | Body::Scaled(ints, _) => ints.len(),
            Body::Float32(values) => values.len(),
            Body::Float64(values) => values.len(),
            Body::Uuids(values) => values.len(),
            Body::Bools(bits) => bits.len(),
            Body::Bytes(heap) | Body::Symbols(_, heap) | Body::Cells(heap) => heap.len(),
            Body::Searchable(_, len) => *len,
            Body::Ends(sources, targets) => {
                return targets.is_none_or(|targets| targets.len() == sources.len()).then_some(sources.len());
            }
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

/// A value of a type that is stored as bytes.
fn string(t: ValueType, bytes: &[u8]) -> Result<Value> {
    Ok(if t == ValueType::String { value::text(bytes)?.into() } else { Value::Bytes(bytes.into()) })
}

fn other_form() -> mangrove_graph::GraphError {
    corrupt("a chunk of another form than its type has")
}

/// Whether values of this type are stored as integers.
pub fn is_count(t: ValueType) -> bool {
    use ValueType::*;
    matches!(t, Int8 | Int16 | Int32 | Int64 | Date | DateTime | Duration)
}

/// The value of such a type that `count` stands for.
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

const POWERS: [f64; EXPONENT_MAX as usize + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

fn unscaled(count: i64, exponent: u8) -> f64 {
    count as f64 / POWERS[usize::from(exponent.min(EXPONENT_MAX))]
}

#[cfg(test)]
mod tests;
