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
use mangrove_graph::{Cell, ElementId, Elements, KeyId, PropertyColumn, Result, Value, ValueType};
use mangrove_segment::value;

use super::Reader;
use crate::block::{Block, Body, SLOTS};
use crate::encode::ones;
use crate::fault::corrupt;
use crate::key::{Column, block_slot, place};

/// The rows of a batch as positions in blocks.
struct Gathered<'t> {
    blocks: Vec<Block<'t>>,
    runs: Vec<Run>,
    rows: usize,
    /// Every row has a cell.
    full: bool,
}

/// Consecutive rows whose elements are in consecutive slots of one block.
#[derive(Clone, Copy)]
struct Run {
    /// `None` if the elements have no such property.
    block: Option<u32>,
    slot: u8,
    len: u8,
}

impl Run {
    fn slots(self) -> Range<usize> {
        usize::from(self.slot)..usize::from(self.slot) + usize::from(self.len)
    }
}

impl<'t> Reader<'t> {
    pub fn properties(&self, elements: Elements<'_>, key: KeyId) -> Result<PropertyColumn> {
        let gathered = self.gathered(elements, key)?;
        if gathered.blocks.is_empty() {
            return Ok(PropertyColumn::Absent(elements.len()));
        }
        match gathered.common_type() {
            Some(t) => gathered.array(t).map(PropertyColumn::Typed),
            None => gathered.cells().map(PropertyColumn::Cells),
        }
    }

    /// Which elements of a batch have something under a key. This reads no value.
    pub fn have(&self, elements: Elements<'_>, key: KeyId) -> Result<Vec<bool>> {
        Ok(self.gathered(elements, key)?.all_cells().map(|cell| cell.is_some()).collect())
    }

    fn gathered(&self, elements: Elements<'_>, key: KeyId) -> Result<Gathered<'t>> {
        match elements {
            Elements::Vertices(ids) => self.gather(ids.iter().map(|id| id.0), elements, key),
            Elements::Edges(edges) => self.gather(edges.iter().map(|edge| edge.id.0), elements, key),
        }
    }

    /// `ids` are those of the elements.
    fn gather(&self, ids: impl Iterator<Item = u64>, elements: Elements<'_>, key: KeyId) -> Result<Gathered<'t>> {
        let mut gathered = Gathered { blocks: Vec::new(), runs: Vec::new(), rows: elements.len(), full: true };
        // Each (label, block) gets a number when it is first met, and one row that is in it.
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut wanted: Vec<(u64, usize)> = Vec::new();
        // The id with which the next row would prolong the last run. It must not be the first of a block.
        let mut next = None;
        for (row, raw) in ids.enumerate() {
            let last = gathered.runs.last_mut().filter(|_| next == Some(raw) && raw % SLOTS as u64 != 0);
            next = raw.checked_add(1);
            if let Some(run) = last {
                run.len += 1;
                continue;
            }
            let number = *known.entry(raw / SLOTS as u64).or_insert_with(|| {
                wanted.push((raw / SLOTS as u64, row));
                wanted.len() as u32 - 1
            });
            gathered.runs.push(Run { block: Some(number), slot: block_slot(place(raw)).1 as u8, len: 1 });
        }
        let places = self.fetch(&wanted, elements, key, &mut gathered.blocks)?;
        gathered.runs.iter_mut().for_each(|run| run.block = run.block.and_then(|number| places[number as usize]));
        gathered.full = gathered.runs.iter().all(|run| gathered.is_full(*run));
        Ok(gathered)
    }

    /// Appends the wanted blocks that exist, and reads them in the order of the store. Returns the position of each.
    fn fetch(
        &self,
        wanted: &[(u64, usize)],
        elements: Elements<'_>,
        key: KeyId,
        blocks: &mut Vec<Block<'t>>,
    ) -> Result<Vec<Option<u32>>> {
        let mut order: Vec<u32> = (0..wanted.len() as u32).collect();
        order.sort_unstable_by_key(|number| wanted[*number as usize].0);
        let mut places = vec![None; wanted.len()];
        for number in order {
            let (_, row) = wanted[number as usize];
            if let Some(block) = self.property_block(elements.get(row), key)? {
                places[number as usize] = Some(blocks.len() as u32);
                blocks.push(block);
            }
        }
        Ok(places)
    }

    fn property_block(&self, element: ElementId, key: KeyId) -> Result<Option<Block<'t>>> {
        let (kind, label) = (element.kind(), element.label());
        if self.schema.label_schema(kind, label).and_then(|label| label.property(key)).is_none() {
            return Ok(None);
        }
        self.block(Column::holding(self.schema, kind, label, key), block_slot(place(element.raw())).0)
    }
}

impl<'t> Gathered<'t> {
    fn is_full(&self, run: Run) -> bool {
        let wanted = ones(usize::from(run.len)) << run.slot;
        run.block.is_some_and(|block| self.blocks[block as usize].present & wanted == wanted)
    }

    /// For every row of a run, its block and the rank of its cell there; `None` if it has no cell.
    fn cells_of(&self, run: Run) -> impl Iterator<Item = Option<(&Block<'t>, usize)>> {
        let block = run.block.map(|block| &self.blocks[block as usize]);
        run.slots().map(move |slot| block.and_then(|block| block.rank(slot).map(|rank| (block, rank))))
    }

    fn all_cells(&self) -> impl Iterator<Item = Option<(&Block<'t>, usize)>> {
        self.runs.iter().flat_map(|run| self.cells_of(*run))
    }

    /// The type of all cells, if they are of one that has an array form.
    fn common_type(&self) -> Option<ValueType> {
        let common = self.blocks.first()?.value_type()?;
        self.blocks.iter().all(|block| block.value_type() == Some(common)).then_some(common)
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        self.all_cells().map(|cell| cell.map_or(Ok(Cell::Absent), |(block, rank)| block.cell_at(rank))).collect()
    }

    fn nulls(&self) -> Option<NullBuffer> {
        (!self.full).then(|| self.all_cells().map(|cell| cell.is_some()).collect::<Vec<bool>>().into())
    }

    fn array(&self, t: ValueType) -> Result<ArrayRef> {
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
            ValueType::String => self.strings()?,
            ValueType::Bytes => self.byte_strings()?,
            ValueType::Uuid => self.uuids()?,
            _ => return Err(corrupt("a block of a type that has no array form")),
        })
    }

    fn floats<T: ArrowPrimitiveType>(&self, narrow: impl Fn(f64) -> T::Native) -> Result<PrimitiveArray<T>> {
        let mut values: Vec<T::Native> = Vec::with_capacity(self.rows);
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
        let mut values: Vec<T::Native> = Vec::with_capacity(self.rows);
        for run in &self.runs {
            let block = run.block.map(|block| &self.blocks[block as usize]);
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

    fn strings(&self) -> Result<ArrayRef> {
        let mut builder = StringBuilder::with_capacity(self.rows, 16 * self.rows);
        for cell in self.all_cells() {
            let bytes = cell.map(|(block, rank)| block.bytes_at(rank)).transpose()?;
            builder.append_option(bytes.as_deref().map(value::text).transpose()?);
        }
        Ok(Arc::new(builder.finish()))
    }

    fn byte_strings(&self) -> Result<ArrayRef> {
        let mut builder = BinaryBuilder::with_capacity(self.rows, 16 * self.rows);
        for cell in self.all_cells() {
            builder.append_option(cell.map(|(block, rank)| block.bytes_at(rank)).transpose()?);
        }
        Ok(Arc::new(builder.finish()))
    }

    fn uuids(&self) -> Result<ArrayRef> {
        let mut bytes = Vec::with_capacity(16 * self.rows);
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
