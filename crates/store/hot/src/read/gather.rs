//! Reads a column of a batch straight from sealed chunks, where nothing newer lies over them.
//!
//! Elements that were loaded in bulk and have not changed since are the common case. Each of their values costs a look into its
//! chunk and no more, in whatever order the elements come.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, BinaryArray, PrimitiveArray, StringArray, TimestampMicrosecondArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use mangrove_graph::{Elements, GraphError, LabelId, PropertyColumn, Result, ValueType, VertexId};
use mangrove_segment::column::{Chunk, POSITIONS};

use super::Reader;
use crate::format::block::SLOTS;
use crate::format::key::{Column, block_slot, place};
use crate::system::fault::corrupt;

/// The chunks of a column that the elements of a batch are in.
struct Chunks<'t> {
    /// By label, then by number of the chunk.
    labels: Vec<OfLabel<'t>>,
    /// The type of all cells; `None` if no chunk has any.
    value_type: Option<ValueType>,
    /// Some row may have no cell.
    has_gaps: bool,
}

struct OfLabel<'t> {
    label: LabelId,
    /// `None` for a chunk that no row is in, and for one in which no element has a cell.
    chunks: Vec<Option<&'t Chunk<'t>>>,
}

/// How far a column's chunks can be read on their own.
enum Plain<'t> {
    /// No element has a cell.
    Absent,
    Chunks(Chunks<'t>),
}

impl<'t> Reader<'t> {
    /// The column of a batch; `None` if something newer lies over some of its elements, or if its values have no common type with an
    /// array form that is read here.
    pub fn plain_column(
        &self,
        elements: Elements<'_>,
        column: impl Fn(LabelId) -> Option<Column>,
    ) -> Result<Option<PropertyColumn>> {
        match elements {
            Elements::Vertices(ids) => self.plain_column_of(Ids::new(ids.len(), |row: usize| ids[row].0), column),
            Elements::Edges(edges) => self.plain_column_of(Ids::new(edges.len(), |row: usize| edges[row].id.0), column),
        }
    }

    fn plain_column_of(
        &self,
        ids: Ids<impl Fn(usize) -> u64>,
        column: impl Fn(LabelId) -> Option<Column>,
    ) -> Result<Option<PropertyColumn>> {
        let chunks = match ids.is_run {
            true => self.plain_chunks(ids.telling(), column)?,
            false => self.plain_chunks((0..ids.n).map(&ids.of), column)?,
        };
        Ok(match chunks {
            None => None,
            Some(Plain::Absent) => Some(PropertyColumn::Absent(ids.n)),
            Some(Plain::Chunks(chunks)) => chunks.array(self, &ids)?.map(PropertyColumn::Typed),
        })
    }

    /// The chunks that hold the cells of these elements; `None` if the chunks alone do not tell.
    fn plain_chunks(
        &self,
        ids: impl Iterator<Item = u64>,
        column: impl Fn(LabelId) -> Option<Column>,
    ) -> Result<Option<Plain<'t>>> {
        let mut all = Chunks { labels: Vec::new(), value_type: None, has_gaps: false };
        let mut seen: Vec<Vec<bool>> = Vec::new();
        let mut columns: Vec<Option<Column>> = Vec::new();
        // Beyond `full`, places of the last chunk have no cell. From `end` on they are not sealed.
        let (mut last, mut at, mut full, mut end) = (u64::MAX, 0, 0, 0);
        // By label, the column if it has changed somewhere. Then each block is looked at, the last one not again.
        let (mut changes, mut changed, mut last_block) = (Vec::new(), None, u64::MAX);
        for raw in ids {
            if raw / POSITIONS as u64 == last {
                if place(raw) >= end {
                    return Ok(None);
                }
                if let Some(column) = changed
                    && raw / SLOTS as u64 != last_block
                {
                    last_block = raw / SLOTS as u64;
                    if !self.is_block_untouched(column, block_slot(place(raw)).0)? {
                        return Ok(None);
                    }
                }
                all.has_gaps |= place(raw) >= full;
                continue;
            }
            last = raw / POSITIONS as u64;
            let label = VertexId(raw).label();
            if all.labels.get(at).is_none_or(|known| known.label != label) {
                at = match all.labels.iter().position(|known| known.label == label) {
                    Some(known) => known,
                    None => {
                        let column = column(label);
                        if self.segments.is_empty() || column.is_some_and(Column::is_of_tables) {
                            return Ok(None);
                        }
                        all.labels.push(OfLabel { label, chunks: Vec::new() });
                        seen.push(Vec::new());
                        columns.push(column);
                        changes.push(match column {
                            Some(column) if !self.is_untouched(column)? => Some(column),
                            _ => None,
                        });
                        all.labels.len() - 1
                    }
                };
            }
            changed = changes[at];
            last_block = raw / SLOTS as u64;
            if let Some(column) = changed
                && !self.is_block_untouched(column, block_slot(place(raw)).0)?
            {
                return Ok(None);
            }
            end = columns[at].map_or(u64::MAX, |column| self.segments.end(column.kind, column.label));
            if place(raw) >= end {
                return Ok(None);
            }
            let number = place(raw) as usize / POSITIONS;
            if seen[at].len() <= number {
                seen[at].resize(number + 1, false);
                all.labels[at].chunks.resize(number + 1, None);
            }
            if let (false, Some(column)) = (std::mem::replace(&mut seen[at][number], true), columns[at]) {
                let Some(chunk) = self.deciding_chunk(column, number as u64)? else { return Ok(None) };
                if !chunk.is_none_or(|chunk| all.join(chunk)) {
                    return Ok(None);
                }
                all.labels[at].chunks[number] = chunk;
            }
            let cells = all.labels[at].chunks[number].map_or(0, |chunk| chunk.positions() as u64);
            full = number as u64 * POSITIONS as u64 + cells;
            all.has_gaps |= place(raw) >= full;
        }
        Ok(Some(if all.value_type.is_some() { Plain::Chunks(all) } else { Plain::Absent }))
    }

    /// Whether the tables decide no sealed cell of a column, and mark no element of its label as removed.
    pub fn is_untouched(&self, column: Column) -> Result<bool> {
        Ok(self.is_clean(column)? && self.is_clean(Column::dead(column.kind, column.label))?)
    }

    /// The same for a block of it.
    fn is_block_untouched(&self, column: Column, block: u64) -> Result<bool> {
        Ok(self.is_intact(column, block)? && self.is_intact(Column::dead(column.kind, column.label), block)?)
    }

    /// The chunk that alone decides the cells of its sealed places. The outer `None`: there is no such chunk. The inner one: it is there, and
    /// has no cells.
    #[allow(clippy::type_complexity)]
    fn deciding_chunk(&self, column: Column, number: u64) -> Result<Option<Option<&'t Chunk<'t>>>> {
        let end = self.segments.end(column.kind, column.label);
        let first = number * POSITIONS as u64;
        for (at, segment) in self.segments.list().iter().enumerate().rev() {
            if segment.is_patched(column, number) {
                return Ok(None);
            }
            let own = segment.places(column.kind, column.label);
            if own.start >= end.min(first + POSITIONS as u64) || own.end <= first {
                continue;
            }
            // Places of its own begin where those of older segments end.
            let is_alone = own.start <= first || at == 0;
            return if is_alone && own.end >= end.min(first + POSITIONS as u64) {
                segment.chunk(column, number).map(Some)
            } else {
                Ok(None)
            };
        }
        Ok(None)
    }
}

impl<'t> Chunks<'t> {
    /// Takes note of a chunk. Returns false if its cells are not of the common type.
    fn join(&mut self, chunk: &Chunk<'t>) -> bool {
        self.has_gaps |= chunk.len() < chunk.positions();
        let found = chunk.value_type();
        found.is_some()
            && *self.value_type.get_or_insert(found.unwrap_or(ValueType::Null)) == found.unwrap_or(ValueType::Null)
    }

    /// The chunk of an element and its position there; `None` if no element of the chunk has a cell.
    #[inline]
    fn chunk_of(&self, known: &mut usize, raw: u64) -> Option<(&'t Chunk<'t>, usize)> {
        let label = VertexId(raw).label();
        if self.labels[*known].label != label {
            *known = self.labels.iter().position(|known| known.label == label)?;
        }
        let place = place(raw) as usize;
        let chunk = self.labels[*known].chunks.get(place / POSITIONS).copied().flatten()?;
        Some((chunk, place % POSITIONS))
    }

    /// Calls `f` with the chunk of each element and the rank of its cell there; `None` if it has no cell.
    fn each(
        &self,
        reader: &Reader<'_>,
        ids: &Ids<impl Fn(usize) -> u64>,
        mut f: impl FnMut(Option<(&'t Chunk<'t>, usize)>) -> Result<()>,
    ) -> Result<()> {
        let mut known = 0;
        for row in 0..ids.n {
            reader.go_on(row)?;
            let chunk = self.chunk_of(&mut known, (ids.of)(row));
            f(chunk.and_then(|(chunk, position)| chunk.rank(position).map(|rank| (chunk, rank))))?;
        }
        Ok(())
    }

    fn array(&self, reader: &Reader<'_>, ids: &Ids<impl Fn(usize) -> u64>) -> Result<Option<ArrayRef>> {
        let Some(t) = self.value_type else { return Ok(None) };
        Ok(Some(match t {
            ValueType::Int8 => Arc::new(self.ints::<Int8Type>(reader, ids, |v| v as i8)?),
            ValueType::Int16 => Arc::new(self.ints::<Int16Type>(reader, ids, |v| v as i16)?),
            ValueType::Int32 => Arc::new(self.ints::<Int32Type>(reader, ids, |v| v as i32)?),
            ValueType::Int64 => Arc::new(self.ints::<Int64Type>(reader, ids, |v| v)?),
            ValueType::Date => Arc::new(self.ints::<Date32Type>(reader, ids, |v| v as i32)?),
            ValueType::Duration => Arc::new(self.ints::<DurationMicrosecondType>(reader, ids, |v| v)?),
            ValueType::DateTime => {
                let micros = self.ints::<TimestampMicrosecondType>(reader, ids, |v| v)?;
                Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"))
            }
            ValueType::Float32 => Arc::new(self.floats::<Float32Type>(reader, ids, |v| v as f32)?),
            ValueType::Float64 => Arc::new(self.floats::<Float64Type>(reader, ids, |v| v)?),
            ValueType::String => {
                let Some(Heap { offsets, bytes, valid }) = self.heap(reader, ids)? else { return Ok(None) };
                Arc::new(StringArray::try_new(offsets, bytes, valid).map_err(damaged)?)
            }
            ValueType::Bytes => {
                let Some(Heap { offsets, bytes, valid }) = self.heap(reader, ids)? else { return Ok(None) };
                Arc::new(BinaryArray::try_new(offsets, bytes, valid).map_err(damaged)?)
            }
            _ => return Ok(None),
        }))
    }

    fn ints<T: ArrowPrimitiveType>(
        &self,
        reader: &Reader<'_>,
        ids: &Ids<impl Fn(usize) -> u64>,
        narrow: impl Fn(i64) -> T::Native,
    ) -> Result<PrimitiveArray<T>> {
        if self.has_gaps {
            return self.numbers(reader, ids, |chunk, rank| chunk.count_at(rank).map(&narrow));
        }
        // Where all places have a cell, ranks are positions.
        let (mut values, mut counts) = (Vec::with_capacity(ids.n), Vec::new());
        let (mut known, mut row) = (0, 0);
        while row < ids.n {
            let missing = || corrupt("a cell that is in no chunk");
            let (chunk, position) = self.chunk_of(&mut known, (ids.of)(row)).ok_or_else(missing)?;
            if !ids.has_company(row) {
                values.push(narrow(chunk.count_at(chunk.rank(position).ok_or_else(missing)?)?));
                row += 1;
                continue;
            }
            let (rows, are_consecutive) = ids.part(row);
            let positions = position..position + rows.len();
            if are_consecutive && positions.end > chunk.len() {
                return Err(missing());
            }
            match chunk.plain_counts() {
                Some(ints) if are_consecutive => ints.each(positions, |count| values.push(narrow(count))),
                Some(ints) => {
                    let positions = rows.clone().map(|row| place((ids.of)(row)) as usize % POSITIONS);
                    if ints.gather(positions, |count| values.push(narrow(count))) < rows.len() {
                        return Err(missing());
                    }
                }
                None if are_consecutive => {
                    counts.clear();
                    chunk.counts(positions, &mut counts)?;
                    values.extend(counts.iter().map(|count| narrow(*count)));
                }
                None => {
                    for row in rows.clone() {
                        let rank = chunk.rank(place((ids.of)(row)) as usize % POSITIONS).ok_or_else(missing)?;
                        values.push(narrow(chunk.count_at(rank)?));
                    }
                }
            }
            row = rows.end;
        }
        Ok(PrimitiveArray::new(ScalarBuffer::from(values), None))
    }

    fn floats<T: ArrowPrimitiveType>(
        &self,
        reader: &Reader<'_>,
        ids: &Ids<impl Fn(usize) -> u64>,
        narrow: impl Fn(f64) -> T::Native,
    ) -> Result<PrimitiveArray<T>> {
        self.numbers(reader, ids, |chunk, rank| chunk.float_at(rank).map(&narrow))
    }

    #[inline]
    fn numbers<T: ArrowPrimitiveType>(
        &self,
        reader: &Reader<'_>,
        ids: &Ids<impl Fn(usize) -> u64>,
        get: impl Fn(&Chunk<'t>, usize) -> Result<T::Native>,
    ) -> Result<PrimitiveArray<T>> {
        let (mut values, mut valid) = (Vec::with_capacity(ids.n), Valid::new(self.has_gaps, ids.n));
        self.each(reader, ids, |cell| {
            valid.push(cell.is_some());
            values.push(cell.map_or(Ok(T::Native::default()), |(chunk, rank)| get(chunk, rank))?);
            Ok(())
        })?;
        Ok(PrimitiveArray::new(ScalarBuffer::from(values), valid.finish()))
    }

    /// `None` if the bytes do not fit into one array.
    fn heap(&self, reader: &Reader<'_>, ids: &Ids<impl Fn(usize) -> u64>) -> Result<Option<Heap>> {
        let (mut bytes, mut offsets) = (Vec::with_capacity(16 * ids.n), Vec::with_capacity(ids.n + 1));
        let mut valid = Valid::new(self.has_gaps, ids.n);
        offsets.push(0i32);
        let read = self.each(reader, ids, |cell| {
            valid.push(cell.is_some());
            if let Some((chunk, rank)) = cell {
                chunk.bytes_into(rank, &mut bytes)?;
            }
            reader.fits(bytes.len())?;
            offsets.push(offset(bytes.len())?);
            Ok(())
        });
        match read {
            Err(error) if is_too_large(&error) => return Ok(None),
            read => read?,
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Some(Heap { offsets, bytes: Buffer::from_vec(bytes), valid: valid.finish() }))
    }
}

/// The raw ids of a batch.
struct Ids<F> {
    n: usize,
    of: F,
    /// They are consecutive, as a scan gives them.
    is_run: bool,
}

/// So many consecutive places are read together.
const TOGETHER_MIN: usize = 4;

impl<F: Fn(usize) -> u64> Ids<F> {
    fn new(n: usize, of: F) -> Self {
        let is_run = n >= TOGETHER_MIN && of(n - 1).wrapping_sub(of(0)) == n as u64 - 1 && {
            let first = of(0);
            // No early end, so that the loop becomes vector instructions.
            (0..n).fold(0, |other, row| other | (of(row) ^ (first + row as u64))) == 0
        };
        Self { n, of, is_run }
    }

    /// Of consecutive ids: the first and the last one in each block.
    fn telling(&self) -> impl Iterator<Item = u64> {
        let (first, last) = ((self.of)(0), (self.of)(self.n - 1));
        let size = SLOTS as u64;
        (first / size..=last / size).flat_map(move |block| [first.max(block * size), last.min(block * size + size - 1)])
    }

    /// Whether the next rows seem to lie in the same chunk, so that looking for all of these pays.
    #[inline]
    fn has_company(&self, row: usize) -> bool {
        let chunk = |row: usize| (self.of)(row) / POSITIONS as u64;
        let is_near = |ahead: usize| row + ahead < self.n && chunk(row + ahead) == chunk(row);
        is_near(1) && is_near(TOGETHER_MIN - 1) && is_near(2 * TOGETHER_MIN - 1)
    }

    /// The rows from `row` on that lie in one chunk: either in consecutive places, which is true, or scattered up to where
    /// consecutive places begin.
    fn part(&self, row: usize) -> (Range<usize>, bool) {
        let (first, end) = ((self.of)(row), self.n);
        if self.is_run {
            return (row..end.min(row + POSITIONS - first as usize % POSITIONS), true);
        }
        let chunk = |raw: u64| raw / POSITIONS as u64;
        let follows =
            |next: &usize| (self.of)(*next) == first + (next - row) as u64 && chunk((self.of)(*next)) == chunk(first);
        let together = row + 1 + (row + 1..end).take_while(follows).count();
        if together - row >= TOGETHER_MIN || together == end {
            return (row..together, true);
        }
        let ahead = TOGETHER_MIN - 1;
        let begins = |row: usize| row + ahead < end && (self.of)(row + ahead) == (self.of)(row).wrapping_add(ahead as u64);
        let is_scattered = |next: &usize| chunk((self.of)(*next)) == chunk(first) && !begins(*next);
        (row..together + (together..end).take_while(is_scattered).count(), false)
    }
}

/// Strings as Arrow arrays keep them.
struct Heap {
    offsets: OffsetBuffer<i32>,
    bytes: Buffer,
    valid: Option<NullBuffer>,
}

fn damaged(error: arrow_schema::ArrowError) -> GraphError {
    GraphError::corrupt(format!("text that is not UTF-8 ({error})"))
}

/// The most bytes of strings in one Arrow array.
const ARRAY_BYTES_MAX: usize = if cfg!(test) { 1 << 18 } else { i32::MAX as usize };

/// The offset of a string in an array. Fails, as [`is_too_large`] tells, if it is too far.
pub(super) fn offset(bytes: usize) -> Result<i32> {
    let offset = i32::try_from(bytes).ok().filter(|_| bytes <= ARRAY_BYTES_MAX);
    offset.ok_or_else(|| GraphError::Limit { what: TOO_LARGE.into(), limit: ARRAY_BYTES_MAX as u64 })
}

const TOO_LARGE: &str = "too much text in one array";

/// Whether a batch has more text than an array takes. It is read as cells instead.
pub(super) fn is_too_large(error: &GraphError) -> bool {
    matches!(error, GraphError::Limit { what, .. } if what == TOO_LARGE)
}

/// Which rows have a value. It costs nothing where all have one.
struct Valid(Option<Vec<bool>>);

impl Valid {
    fn new(has_gaps: bool, rows: usize) -> Self {
        Self(has_gaps.then(|| Vec::with_capacity(rows)))
    }

    #[inline]
    fn push(&mut self, is_valid: bool) {
        if let Some(valid) = &mut self.0 {
            valid.push(is_valid);
        }
    }

    fn finish(self) -> Option<NullBuffer> {
        self.0.filter(|valid| valid.contains(&false)).map(NullBuffer::from)
    }
}
