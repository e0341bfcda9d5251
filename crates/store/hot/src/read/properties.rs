//! Properties of a batch. Every block is read once. Blocks that are all of one type give an Arrow array directly.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::types::*;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, TimestampMicrosecondArray,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use hashbrown::HashMap;
use mangrove_graph::{Cell, ElementKind, Elements, KeyId, LabelId, PropertyColumn, Result, Value, ValueType, VertexId};
use mangrove_segment::value;

use super::gather::{is_too_large, offset};
use super::{Reader, further};
use crate::format::block::{Block, Body, SLOTS};
use crate::format::encode::ones;
use crate::format::key::{Column, block_slot, place};
use crate::system::fault::corrupt;

/// So few elements are not worth an array.
const FEW: usize = 3;
/// From this many keys on, the waits for the memory of their chunks are worth overlapping.
const KEYS_TOGETHER: usize = 6;

/// How the rows of a batch lie in blocks, whatever the column.
struct Rows {
    /// The blocks in which the elements lie, each with the label and the number of the block.
    blocks: Vec<(LabelId, u64)>,
    runs: Vec<Run>,
    rows: usize,
}

/// Consecutive rows whose elements are in consecutive slots of one block.
#[derive(Clone, Copy)]
struct Run {
    block: u32,
    slot: u8,
    len: u8,
}

impl Run {
    fn slots(self) -> Range<usize> {
        usize::from(self.slot)..usize::from(self.slot) + usize::from(self.len)
    }
}

impl Rows {
    fn of(elements: Elements<'_>) -> Self {
        match elements {
            Elements::Vertices(ids) => Self::of_ids(ids.iter().map(|id| id.0)),
            Elements::Edges(edges) => Self::of_ids(edges.iter().map(|edge| edge.id.0)),
        }
    }

    fn of_ids(ids: impl ExactSizeIterator<Item = u64>) -> Self {
        let mut all = Self { blocks: Vec::new(), runs: Vec::new(), rows: ids.len() };
        let mut known: HashMap<u64, u32> = HashMap::new();
        // The id with which the next row would prolong the last run. It must not be the first of a block.
        let mut next = None;
        for raw in ids {
            let last = all.runs.last_mut().filter(|_| next == Some(raw) && raw % SLOTS as u64 != 0);
            next = raw.checked_add(1);
            if let Some(run) = last {
                run.len += 1;
                continue;
            }
            let (block, slot) = block_slot(place(raw));
            let number = *known.entry(raw / SLOTS as u64).or_insert_with(|| {
                all.blocks.push((VertexId(raw).label(), block));
                all.blocks.len() as u32 - 1
            });
            all.runs.push(Run { block: number, slot: slot as u8, len: 1 });
        }
        all
    }
}

/// The cells of a batch under one key.
struct Gathered<'r, 't> {
    rows: &'r Rows,
    /// For each block of the rows, its cells; `None` if there are none.
    blocks: Vec<Option<Block<'t>>>,
    /// Every row has a cell.
    full: bool,
}

impl<'t> Reader<'t> {
    /// Appends the columns of a batch, one for each key.
    pub fn columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        if elements.len() <= FEW {
            return self.few_columns(elements, keys, out);
        }
        let mut rows = None;
        for key in keys {
            self.check()?;
            let column = |label| self.property_of(elements.kind(), label, *key);
            out.push(match self.plain_column(elements, column)? {
                Some(column) => column,
                None => self.values_of(rows.get_or_insert_with(|| Rows::of(elements)), column)?,
            });
        }
        Ok(())
    }

    /// The columns of a few elements, read one by one.
    fn few_columns(&self, elements: Elements<'_>, keys: &[KeyId], out: &mut Vec<PropertyColumn>) -> Result<()> {
        if keys.len() < KEYS_TOGETHER {
            for key in keys {
                let column = (0..elements.len()).map(|at| self.cell(elements.get(at), *key)).collect::<Result<_>>()?;
                out.push(PropertyColumn::Cells(column));
            }
            return Ok(());
        }
        let mut cells = Vec::with_capacity(elements.len() * keys.len());
        (0..elements.len()).try_for_each(|at| self.cells(elements.get(at), keys, &mut cells))?;
        for key in 0..keys.len() {
            let column = cells.iter_mut().skip(key).step_by(keys.len()).map(std::mem::take).collect();
            out.push(PropertyColumn::Cells(column));
        }
        Ok(())
    }

    /// Which elements of a batch have something under a key. This reads no value.
    pub fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        let rows = Rows::of(elements);
        let gathered = self.gathered(&rows, |label| self.property_of(elements.kind(), label, key))?;
        Ok(gathered.all_cells().map(|cell| cell.is_some()).collect())
    }

    pub fn external_ids(&self, elements: Elements<'_>) -> Result<PropertyColumn> {
        let kind = elements.kind();
        if elements.len() == 1 {
            let element = elements.get(0);
            let cell = self.cell_at(Column::external(kind, element.label()), place(element.raw()))?;
            return Ok(PropertyColumn::Cells(vec![cell]));
        }
        let column = |label| Some(Column::external(kind, label));
        match self.plain_column(elements, column)? {
            Some(column) => Ok(column),
            None => self.values_of(&Rows::of(elements), column),
        }
    }

    pub fn contain(&self, elements: Elements<'_>) -> Result<Vec<bool>> {
        let rows = Rows::of(elements);
        let alive = rows.blocks.iter().map(|(label, block)| self.alive(elements.kind(), *label, *block));
        let alive = alive.collect::<Result<Vec<u128>>>()?;
        let of_run = |run: &Run| run.slots().map(|slot| alive[run.block as usize] >> slot & 1 != 0).collect::<Vec<_>>();
        Ok(rows.runs.iter().flat_map(of_run).collect())
    }

    /// Appends the further labels of each vertex.
    pub fn all_further_labels(&self, vertices: &[VertexId], out: &mut Vec<Vec<LabelId>>) -> Result<()> {
        if self.schema.vertex_labels.iter().all(|label| label.further.is_empty()) {
            out.resize_with(out.len() + vertices.len(), Vec::new);
            return Ok(());
        }
        let carries = |label| {
            let label = self.schema.label_schema(ElementKind::Vertex, label);
            label.is_some_and(|label| !label.further.is_empty())
        };
        let rows = Rows::of(Elements::Vertices(vertices));
        let column = |label| carries(label).then(|| Column::further(label));
        for cell in self.gathered(&rows, column)?.all_cells() {
            out.push(cell.map_or(Ok(Vec::new()), |(block, rank)| further(block.cell_at(rank)?))?);
        }
        Ok(())
    }

    fn values_of(&self, rows: &Rows, column: impl Fn(LabelId) -> Option<Column>) -> Result<PropertyColumn> {
        let gathered = self.gathered(rows, column)?;
        if gathered.blocks.iter().all(Option::is_none) {
            return Ok(PropertyColumn::Absent(rows.rows));
        }
        match gathered.common_type().map(|t| gathered.array(t, self)) {
            Some(Err(error)) if is_too_large(&error) => gathered.cells(self).map(PropertyColumn::Cells),
            Some(array) => array.map(PropertyColumn::Typed),
            None => gathered.cells(self).map(PropertyColumn::Cells),
        }
    }

    /// Reads the blocks of a column, in the order of the store.
    fn gathered<'r>(&self, rows: &'r Rows, column: impl Fn(LabelId) -> Option<Column>) -> Result<Gathered<'r, 't>> {
        let mut order: Vec<u32> = (0..rows.blocks.len() as u32).collect();
        order.sort_unstable_by_key(|at| rows.blocks[*at as usize]);
        let mut blocks = vec![None; rows.blocks.len()];
        for at in order {
            let (label, block) = rows.blocks[at as usize];
            if let Some(column) = column(label) {
                blocks[at as usize] = self.block(column, block)?;
            }
        }
        let mut gathered = Gathered { rows, blocks, full: true };
        gathered.full = rows.runs.iter().all(|run| gathered.is_full(*run));
        Ok(gathered)
    }
}

impl<'t> Gathered<'_, 't> {
    fn is_full(&self, run: Run) -> bool {
        let wanted = ones(usize::from(run.len)) << run.slot;
        self.blocks[run.block as usize].as_ref().is_some_and(|block| block.present & wanted == wanted)
    }

    /// For every row of a run, its block and the rank of its cell there; `None` if it has no cell.
    fn cells_of(&self, run: Run) -> impl Iterator<Item = Option<(&Block<'t>, usize)>> {
        let block = self.blocks[run.block as usize].as_ref();
        run.slots().map(move |slot| block.and_then(|block| block.rank(slot).map(|rank| (block, rank))))
    }

    fn all_cells(&self) -> impl Iterator<Item = Option<(&Block<'t>, usize)>> {
        self.rows.runs.iter().flat_map(|run| self.cells_of(*run))
    }

    /// The type of all cells, if they are of one that has an array form.
    fn common_type(&self) -> Option<ValueType> {
        let mut types = self.blocks.iter().flatten().map(Block::value_type);
        let common = types.next()??;
        types.all(|t| t == Some(common)).then_some(common)
    }

    /// The cells, as far as they fit into the reader's memory.
    fn cells(&self, reader: &Reader<'_>) -> Result<Vec<Cell>> {
        let (mut cells, mut bytes) = (Vec::with_capacity(self.rows.rows), 0usize);
        for cell in self.all_cells() {
            let cell = cell.map_or(Ok(Cell::Absent), |(block, rank)| block.cell_at(rank))?;
            bytes = cell.values().fold(bytes, |bytes, value| bytes.saturating_add(value.memory_bytes(usize::MAX)));
            reader.fits(bytes)?;
            cells.push(cell);
        }
        Ok(cells)
    }

    fn nulls(&self) -> Option<NullBuffer> {
        (!self.full).then(|| self.all_cells().map(|cell| cell.is_some()).collect::<Vec<bool>>().into())
    }

    fn array(&self, t: ValueType, reader: &Reader<'_>) -> Result<ArrayRef> {
        Ok(match t {
            ValueType::Bool => self.bools()?,
            ValueType::Int8 => Arc::new(self.ints::<Int8Type>(|v| v as i8)?),
            ValueType::Int16 => Arc::new(self.ints::<Int16Type>(|v| v as i16)?),
            ValueType::Int32 => Arc::new(self.ints::<Int32Type>(|v| v as i32)?),
            ValueType::Int64 => Arc::new(self.ints::<Int64Type>(|v| v)?),
            ValueType::Date => Arc::new(self.ints::<Date32Type>(|v| v as i32)?),
            ValueType::Duration => Arc::new(self.ints::<DurationMicrosecondType>(|v| v)?),
            ValueType::DateTime => {
                let micros = self.ints::<TimestampMicrosecondType>(|v| v)?;
                Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"))
            }
            ValueType::Float32 => Arc::new(self.floats::<Float32Type>(|v| v as f32)?),
            ValueType::Float64 => Arc::new(self.floats::<Float64Type>(|v| v)?),
            ValueType::String => self.strings(reader)?,
            ValueType::Bytes => self.byte_strings(reader)?,
            ValueType::Uuid => self.uuids()?,
            _ => return Err(corrupt("a block of a type that has no array form")),
        })
    }

    fn floats<T: ArrowPrimitiveType>(&self, narrow: impl Fn(f64) -> T::Native) -> Result<PrimitiveArray<T>> {
        let mut values: Vec<T::Native> = Vec::with_capacity(self.rows.rows);
        for cell in self.all_cells() {
            values.push(match cell {
                Some((block, rank)) => narrow(block.float_at(rank)?),
                None => T::Native::default(),
            });
        }
        Ok(PrimitiveArray::new(ScalarBuffer::from(values), self.nulls()))
    }

    fn ints<T: ArrowPrimitiveType>(&self, narrow: impl Fn(i64) -> T::Native) -> Result<PrimitiveArray<T>> {
        let mut counts = Vec::new();
        let mut values: Vec<T::Native> = Vec::with_capacity(self.rows.rows);
        for run in &self.rows.runs {
            let block = self.blocks[run.block as usize].as_ref();
            match block.map(|block| (block.present, &block.body)) {
                // The first slots are present, and no others: ranks are slots.
                Some((present, Body::Ints(_, packed))) if self.full && present & present.wrapping_add(1) == 0 => {
                    packed.extend(run.slots(), &mut values, |v| narrow(v as i64));
                }
                Some((_, Body::Sealed(chunk, first))) if self.full => {
                    let ranks = self.cells_of(*run).next().flatten().map_or(0, |(_, rank)| first + rank);
                    counts.clear();
                    chunk.counts(ranks..ranks + usize::from(run.len), &mut counts)?;
                    values.extend(counts.iter().map(|v| narrow(*v)));
                }
                _ => {
                    for cell in self.cells_of(*run) {
                        values.push(match cell {
                            Some((block, rank)) => narrow(block.count_at(rank)?),
                            None => T::Native::default(),
                        });
                    }
                }
            }
        }
        Ok(PrimitiveArray::new(ScalarBuffer::from(values), self.nulls()))
    }

    fn bools(&self) -> Result<ArrayRef> {
        let is_true = |cell: Option<(&Block, usize)>| match cell {
            Some((block, rank)) => Ok(block.cell_at(rank)? == Cell::One(Value::Bool(true))),
            None => Ok(false),
        };
        let values = self.all_cells().map(is_true).collect::<Result<Vec<bool>>>()?;
        Ok(Arc::new(BooleanArray::new(values.into(), self.nulls())))
    }

    fn strings(&self, reader: &Reader<'_>) -> Result<ArrayRef> {
        let mut builder = StringBuilder::with_capacity(self.rows.rows, 16 * self.rows.rows);
        for cell in self.all_cells() {
            let bytes = cell.map(|(block, rank)| block.bytes_at(rank)).transpose()?;
            let end = builder.values_slice().len() + bytes.as_deref().map_or(0, <[u8]>::len);
            reader.fits(end)?;
            offset(end)?;
            builder.append_option(bytes.as_deref().map(value::text).transpose()?);
        }
        Ok(Arc::new(builder.finish()))
    }

    fn byte_strings(&self, reader: &Reader<'_>) -> Result<ArrayRef> {
        let mut builder = BinaryBuilder::with_capacity(self.rows.rows, 16 * self.rows.rows);
        for cell in self.all_cells() {
            let bytes = cell.map(|(block, rank)| block.bytes_at(rank)).transpose()?;
            let end = builder.values_slice().len() + bytes.as_deref().map_or(0, <[u8]>::len);
            reader.fits(end)?;
            offset(end)?;
            builder.append_option(bytes);
        }
        Ok(Arc::new(builder.finish()))
    }

    fn uuids(&self) -> Result<ArrayRef> {
        let mut bytes = Vec::with_capacity(16 * self.rows.rows);
        for cell in self.all_cells() {
            match cell.map(|(block, rank)| block.cell_at(rank)).transpose()? {
                Some(Cell::One(Value::Uuid(uuid))) => bytes.extend_from_slice(uuid.as_bytes()),
                _ => bytes.extend_from_slice(&[0; 16]),
            }
        }
        let array = FixedSizeBinaryArray::try_new(16, Buffer::from_vec(bytes), self.nulls());
        array.map(|array| Arc::new(array) as ArrayRef).map_err(mangrove_graph::GraphError::storage)
    }
}
