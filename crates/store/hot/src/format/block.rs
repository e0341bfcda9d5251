//! A block: the cells of up to 128 consecutive elements under one column. Any one cell is read in O(1), in place.
//!
//! ```text
//!   form 1 | n 1 | [present 16] | [far 16] | content
//! ```
//! If `n` > 0, the first `n` slots are present, and no others. If `n` = 0, a bit set says which slots are present (128 bits,
//! little-endian). The content holds the present cells only, in order of slots. The low seven bits of the form say how:
//!
//! | form | content |
//! |---|---|
//! | the code of bool | one bit each |
//! | of an integer, date, datetime (µs, UTC), duration (µs) | base 8, width 1, offsets from the base |
//! | of float, double, uuid | 4, 8, 16 bytes each |
//! | of string, bytes | width 1, the end of each, then the bytes |
//! | 64, cells | as bytes; each is a cell as `value` describes |
//! | 65, ends | sources as integers, then targets |
//!
//! A cell of more than 256 bytes is kept *far* from its block, under the block's key and its slot (1 byte), as `value`
//! describes cells. It takes no bytes in the content. The high bit of the form says that the block has far cells, and a bit
//! set says which.
//!
//! Over a sealed block, a block that was changed in part *decides* some slots only, and says which. The sealed block decides
//! the others:
//!
//! ```text
//!   66 | said 16, the slots it decides | a block as above, of those slots
//! ```
//! A slot that a block decides, but that is not present, has no cell any more. An empty block is kept only where it takes
//! the place of cells that are sealed, or may soon be. Elsewhere it is removed. A block of a segment is read in the same
//! form: it is some consecutive cells of a chunk.

use std::borrow::Cow;

use heed::{AnyTls, RoTxn};
use mangrove_graph::{Cell, EdgeId, EdgeRef, Result, Uuid, Value, ValueType, VertexId};
use mangrove_segment::column::{Chunk, count_value, is_count};
use mangrove_segment::value;

use crate::format::packed::Packed;
use crate::lmdb::table::Table;
use crate::system::fault::{corrupt, lmdb};

/// Elements a block covers.
pub const SLOTS: usize = 128;
pub const FORM_CELLS: u8 = 64;
pub const FORM_ENDS: u8 = 65;
/// The first byte of a block that decides some slots only.
pub const FORM_PARTIAL: u8 = 66;
/// Set in the form of blocks with far cells.
pub const FORM_FAR: u8 = 128;
/// A cell with more bytes than this is kept far from its block.
pub const NEAR_MAX: usize = 256;

#[derive(Clone)]
pub struct Block<'a> {
    /// The slots it decides. It has no cells in others, and leaves them to what is under it.
    pub said: u128,
    /// The slots that have a cell, a bit each.
    pub present: u128,
    /// The slots that have a cell in the body. A sealed block may store more than is present: cells of removed elements, and
    /// cells that it does not decide.
    stored: u128,
    /// The slots whose cells are far.
    pub far: u128,
    pub body: Body<'a>,
    home: Option<Home<'a>>,
}

/// Where the far cells of a block are.
#[derive(Clone, Copy)]
pub struct Home<'a> {
    pub table: Table,
    pub txn: &'a RoTxn<'a, AnyTls>,
    /// The block's key.
    pub key: [u8; 12],
}

/// The key of a far cell.
pub fn far_key(block: &[u8; 12], slot: usize) -> [u8; 13] {
    let mut key = [slot as u8; 13];
    key[..12].copy_from_slice(block);
    key
}

#[derive(Clone)]
pub enum Body<'a> {
    Bools(&'a [u8]),
    /// Integers, and the types kept as integer counts: dates, date-times, durations.
    Ints(ValueType, Packed<'a>),
    Float32(&'a [[u8; 4]]),
    Float64(&'a [[u8; 8]]),
    Uuids(&'a [[u8; 16]]),
    /// Strings or bytes.
    Heap(ValueType, Heap<'a>),
    Cells(Heap<'a>),
    Ends(Packed<'a>, Packed<'a>),
    /// A part of a chunk of a segment, from this rank on.
    Sealed(&'a Chunk<'a>, usize),
    /// A block, and the one under it without the slots that the first decides.
    Mixed(Box<(Block<'a>, Block<'a>)>),
}

/// Byte strings one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Heap<'a> {
    ends: Packed<'a>,
    bytes: &'a [u8],
}

impl<'a> Heap<'a> {
    #[inline]
    pub fn get(&self, at: usize) -> Result<&'a [u8]> {
        let start = if at == 0 { 0 } else { self.ends.get(at - 1) as usize };
        let bytes = self.bytes.get(start..self.ends.get(at) as usize);
        bytes.ok_or_else(|| corrupt("text beyond the end of its block"))
    }
}

impl<'a> Block<'a> {
    /// Reads a block. Reading its far cells needs its home.
    pub fn parse(bytes: &'a [u8], home: Option<Home<'a>>) -> Result<Self> {
        let (said, bytes) = Self::said(bytes)?;
        let (present, n, content) = Self::header(bytes)?;
        if present & !said != 0 {
            return Err(corrupt("a block with more cells than it declares"));
        }
        let (far, content) = match content.split_first_chunk() {
            _ if bytes[0] & FORM_FAR == 0 => (0, content),
            Some((far, content)) => (u128::from_le_bytes(*far), content),
            None => return Err(corrupt("a block ends early")),
        };
        let body = match bytes[0] & !FORM_FAR {
            FORM_CELLS => Body::Cells(heap(n, content)?),
            FORM_ENDS => {
                let (sources, rest) = ints(n, content)?;
                Body::Ends(sources, ints(n, rest)?.0)
            }
            form => match ValueType::from_code(form) {
                Some(ValueType::Bool) => Body::Bools(exactly(content, n.div_ceil(8))?),
                Some(ValueType::Float32) => Body::Float32(exactly(content, 4 * n)?.as_chunks().0),
                Some(ValueType::Float64) => Body::Float64(exactly(content, 8 * n)?.as_chunks().0),
                Some(ValueType::Uuid) => Body::Uuids(exactly(content, 16 * n)?.as_chunks().0),
                Some(t @ (ValueType::String | ValueType::Bytes)) => Body::Heap(t, heap(n, content)?),
                Some(t) if is_count(t) => Body::Ints(t, ints(n, content)?.0),
                _ => return Err(corrupt("a block of an unknown form")),
            },
        };
        Ok(Self { said, present, stored: present, far, body, home })
    }

    /// The slots that the bytes of a block decide, and the bytes of the block itself.
    pub fn said(bytes: &[u8]) -> Result<(u128, &[u8])> {
        match bytes.split_first() {
            Some((&FORM_PARTIAL, rest)) => {
                let (said, block) = rest.split_first_chunk().ok_or_else(|| corrupt("a block ends early"))?;
                Ok((u128::from_le_bytes(*said), block))
            }
            _ => Ok((u128::MAX, bytes)),
        }
    }

    /// This block over another one, which provides the slots that this block does not decide. `None` if no cell is left.
    pub fn over(self, under: Option<Self>) -> Option<Self> {
        let Some(under) = under.and_then(|under| under.without(self.said)) else { return self.without(0) };
        if self.present == 0 {
            return Some(under);
        }
        let (said, present) = (self.said | under.said, self.present | under.present);
        Some(Self { said, present, stored: present, far: 0, body: Body::Mixed(Box::new((self, under))), home: None })
    }

    /// The block without the cells of some slots; `None` if no cell is left.
    pub fn without(self, slots: u128) -> Option<Self> {
        let present = self.present & !slots;
        (present != 0).then_some(Self { present, ..self })
    }

    /// The block of a chunk's cells from a rank on, which decides the slots `said`. Its cells are in the slots `stored`;
    /// only those `present` count.
    pub fn sealed(chunk: &'a Chunk<'a>, rank: usize, said: u128, stored: u128, present: u128) -> Self {
        Self { said, present, stored, far: 0, body: Body::Sealed(chunk, rank), home: None }
    }

    /// Which slots are present, without looking at the cells.
    pub fn presence(bytes: &'a [u8]) -> Result<u128> {
        Self::header(Self::said(bytes)?.1).map(|(present, _, _)| present)
    }

    fn header(bytes: &'a [u8]) -> Result<(u128, usize, &'a [u8])> {
        match bytes {
            [_, 0, rest @ ..] => {
                let (bits, rest) = rest.split_first_chunk().ok_or_else(|| corrupt("a block without its bits"))?;
                let present = u128::from_le_bytes(*bits);
                Ok((present, present.count_ones() as usize, rest))
            }
            [_, n @ 1..=128, rest @ ..] => Ok((u128::MAX >> (SLOTS - usize::from(*n)), usize::from(*n), rest)),
            _ => Err(corrupt("a block without its header")),
        }
    }

    /// The number of ranks.
    pub fn len(&self) -> usize {
        self.stored.count_ones() as usize
    }

    /// The slots of all ranks, in order.
    pub fn stored(&self) -> u128 {
        self.stored
    }

    /// The rank of a slot's cell, that is its position in the content.
    #[inline]
    pub fn rank(&self, slot: usize) -> Option<usize> {
        let bit = 1u128 << slot;
        (self.present & bit != 0).then(|| (self.stored & (bit - 1)).count_ones() as usize)
    }

    pub fn cell(&self, slot: usize) -> Result<Cell> {
        self.rank(slot).map_or(Ok(Cell::Absent), |rank| self.cell_at(rank))
    }

    /// Which of the two parts of a mixed block has the cell at a rank, and its rank there.
    fn mixed<'m>(&self, (over, under): &'m (Self, Self), rank: usize) -> Result<(&'m Self, usize)> {
        let missing = || corrupt("a cell that is in no layer");
        let slot = nth(self.stored, rank).ok_or_else(missing)?;
        let block = if over.said >> slot & 1 != 0 { over } else { under };
        Ok((block, block.rank(slot).ok_or_else(missing)?))
    }

    /// The cell at a rank.
    pub fn cell_at(&self, rank: usize) -> Result<Cell> {
        Ok(Cell::One(match &self.body {
            Body::Bools(bits) => Value::Bool(bits[rank / 8] >> (rank % 8) & 1 != 0),
            Body::Ints(t, packed) => count_value(*t, packed.get(rank) as i64),
            Body::Float32(values) => Value::Float32(f32::from_le_bytes(values[rank])),
            Body::Float64(values) => Value::Float64(f64::from_le_bytes(values[rank])),
            Body::Uuids(values) => Value::Uuid(Uuid::from_bytes(values[rank])),
            Body::Heap(ValueType::String, _) => Value::String(value::text(&self.bytes_at(rank)?)?.into()),
            Body::Heap(..) => Value::Bytes(self.bytes_at(rank)?.as_ref().into()),
            Body::Cells(heap) => {
                return value::cell(match self.far_at(rank)? {
                    Some(cell) => cell,
                    None => heap.get(rank)?,
                });
            }
            Body::Ends(..) => return Err(corrupt("edge ends in place of values")),
            Body::Sealed(chunk, first) => return chunk.cell_at(first + rank),
            Body::Mixed(layers) => {
                let (block, rank) = self.mixed(layers, rank)?;
                return block.cell_at(rank);
            }
        }))
    }

    /// The integer that a cell is kept as. The block must be one of integers, dates, date-times or durations.
    #[inline]
    pub fn count_at(&self, rank: usize) -> Result<i64> {
        match &self.body {
            Body::Ints(_, packed) => Ok(packed.get(rank) as i64),
            Body::Sealed(chunk, first) => chunk.count_at(first + rank),
            Body::Mixed(layers) => self.mixed(layers, rank).and_then(|(block, rank)| block.count_at(rank)),
            _ => Err(corrupt("a block of another form than integers")),
        }
    }

    /// The float at a rank, exactly. The block must be one of floats or doubles.
    #[inline]
    pub fn float_at(&self, rank: usize) -> Result<f64> {
        match &self.body {
            Body::Float32(values) => Ok(f64::from(f32::from_le_bytes(values[rank]))),
            Body::Float64(values) => Ok(f64::from_le_bytes(values[rank])),
            Body::Sealed(chunk, first) => chunk.float_at(first + rank),
            Body::Mixed(layers) => self.mixed(layers, rank).and_then(|(block, rank)| block.float_at(rank)),
            _ => Err(corrupt("a block of another form than floats")),
        }
    }

    /// The string or bytes at a rank. All cells must be of that kind.
    pub fn bytes_at(&self, rank: usize) -> Result<Cow<'a, [u8]>> {
        let heap = match &self.body {
            Body::Heap(_, heap) => heap,
            Body::Sealed(chunk, first) => return chunk.bytes_at(first + rank),
            Body::Mixed(layers) => return self.mixed(layers, rank).and_then(|(block, rank)| block.bytes_at(rank)),
            _ => return Err(corrupt("a block of another form than strings")),
        };
        match self.far_at(rank)? {
            Some(cell) => value::plain_bytes(cell).map(Cow::Borrowed),
            None => heap.get(rank).map(Cow::Borrowed),
        }
    }

    /// Calls `f` with the rank and the bytes of every cell. All cells must be strings or bytes.
    pub fn each_bytes(&self, mut f: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        if let Body::Sealed(chunk, first) = &self.body {
            let (first, mut rank) = (*first, 0);
            return chunk.each_bytes(first..first + self.len(), |bytes| {
                rank += 1;
                f(rank - 1, bytes)
            });
        }
        (0..self.len()).try_for_each(|rank| f(rank, &self.bytes_at(rank)?))
    }

    /// The bytes of the cell at a rank, if it is far.
    fn far_at(&self, rank: usize) -> Result<Option<&'a [u8]>> {
        if self.far == 0 {
            return Ok(None);
        }
        let slot = nth(self.stored, rank).filter(|slot| self.far >> slot & 1 != 0);
        let Some(slot) = slot else { return Ok(None) };
        let missing = || corrupt("a far cell is missing");
        let home = self.home.as_ref().ok_or_else(missing)?;
        home.table.get(home.txn, &far_key(&home.key, slot)).map_err(lmdb)?.ok_or_else(missing).map(Some)
    }

    /// The cells of all slots but the far ones.
    pub fn near_cells(&self) -> Result<Vec<Cell>> {
        let mut cells = vec![Cell::Absent; SLOTS];
        for slot in slots(self.present & !self.far) {
            cells[slot] = self.cell(slot)?;
        }
        Ok(cells)
    }

    /// The type of the cells, if all have the same one.
    pub fn value_type(&self) -> Option<ValueType> {
        match &self.body {
            Body::Bools(_) => Some(ValueType::Bool),
            Body::Ints(t, _) | Body::Heap(t, _) => Some(*t),
            Body::Float32(_) => Some(ValueType::Float32),
            Body::Float64(_) => Some(ValueType::Float64),
            Body::Uuids(_) => Some(ValueType::Uuid),
            Body::Cells(_) | Body::Ends(..) => None,
            Body::Sealed(chunk, _) => chunk.value_type(),
            Body::Mixed(layers) => layers.0.value_type().filter(|t| layers.1.value_type() == Some(*t)),
        }
    }

    /// Whether the block holds ends of edges, rather than cells.
    pub fn is_of_ends(&self) -> bool {
        match &self.body {
            Body::Sealed(chunk, _) => chunk.is_of_ends(),
            body => matches!(body, Body::Ends(..)),
        }
    }

    /// The source of the edge of a slot, if the block has sources alone: the lists of outgoing edges have the targets then.
    #[inline]
    pub fn source(&self, slot: usize) -> Option<VertexId> {
        match &self.body {
            Body::Sealed(chunk, first) => chunk.source_at(first + self.rank(slot)?),
            _ => None,
        }
    }

    /// The edge of a slot, if there is one. The block must be one of ends, and not of sources alone.
    pub fn edge(&self, id: EdgeId, slot: usize) -> Result<Option<EdgeRef>> {
        let Some(rank) = self.rank(slot) else { return Ok(None) };
        match &self.body {
            Body::Ends(sources, targets) => {
                Ok(Some(EdgeRef { id, source: VertexId(sources.get(rank)), target: VertexId(targets.get(rank)) }))
            }
            Body::Sealed(chunk, first) => chunk.edge_at(id, first + rank).map(Some),
            _ => Err(corrupt("values in place of edge ends")),
        }
    }
}

/// The position of the set bit that has `rank` set bits before it.
fn nth(bits: u128, rank: usize) -> Option<usize> {
    let (mut slot, mut rest) = (0, rank as u32);
    if rest >= bits.count_ones() {
        return None;
    }
    for half in [64, 32, 16, 8, 4, 2, 1] {
        let within = (bits >> slot & ((1 << half) - 1)).count_ones();
        if within <= rest {
            (slot, rest) = (slot + half, rest - within);
        }
    }
    Some(slot)
}

/// The slots of a bit set, in order.
#[inline]
pub fn slots(mut bits: u128) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let slot = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (slot < SLOTS).then_some(slot)
    })
}

fn exactly(content: &[u8], n: usize) -> Result<&[u8]> {
    content.get(..n).ok_or_else(|| corrupt("a block ends early"))
}

fn ints(n: usize, content: &[u8]) -> Result<(Packed<'_>, &[u8])> {
    let (base, rest) = content.split_first_chunk().ok_or_else(|| corrupt("a block ends early"))?;
    let (width, rest) = rest.split_first().ok_or_else(|| corrupt("a block ends early"))?;
    Packed::split(u64::from_le_bytes(*base), usize::from(*width), n, rest)
}

fn heap(n: usize, content: &[u8]) -> Result<Heap<'_>> {
    let (width, rest) = content.split_first().ok_or_else(|| corrupt("a block ends early"))?;
    let (ends, bytes) = Packed::split(0, usize::from(*width), n, rest)?;
    Ok(Heap { ends, bytes })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slots_are_counted_through(a in any::<u128>(), b in any::<u128>(), dense in any::<bool>()) {
            let bits = if dense { a | b } else { a & b & b.rotate_left(7) };
            for rank in 0..=SLOTS {
                prop_assert_eq!(nth(bits, rank), slots(bits).nth(rank));
            }
        }
    }
}
