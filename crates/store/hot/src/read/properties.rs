//! Properties of a batch: every block is read once, and gives an Arrow array straight if all are of one type.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::types::*;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use hashbrown::HashMap;
use mangrove_graph::{Cell, Elements, KeyId, PropertyColumn, Result, ValueType};

use super::Reader;
use crate::block::{Block, Body};
use crate::fault::corrupt;
use crate::key::{Column, block_slot, place};
use crate::value;

/// The rows of a batch as positions in blocks.
struct Gathered<'t> {
    blocks: Vec<Block<'t>>,
    /// For every row its block and the rank of its cell there; nothing if it has none.
    rows: Vec<Option<(u32, u8)>>,
}

impl<'t> Reader<'t> {
    pub fn properties(&self, elements: Elements<'_>, key: KeyId) -> Result<PropertyColumn> {
        let gathered = self.gather(elements, key)?;
        if gathered.rows.iter().all(Option::is_none) {
            return Ok(PropertyColumn::Absent(elements.len()));
        }
        match gathered.common_type() {
            Some(t) => gathered.array(t).map(PropertyColumn::Typed),
            None => gathered.cells().map(PropertyColumn::Cells),
        }
    }

    fn gather(&self, elements: Elements<'_>, key: KeyId) -> Result<Gathered<'t>> {
        let mut gathered = Gathered { blocks: Vec::new(), rows: Vec::with_capacity(elements.len()) };
        // Where the block of each (label, block) is; nothing if there is none.
        let mut known: HashMap<u64, Option<u32>> = HashMap::new();
        let mut last: Option<(u64, Option<u32>)> = None;
        for at in 0..elements.len() {
            let raw = elements.get(at).raw();
            let which = raw / crate::block::SLOTS as u64;
            let found = match last {
                Some((same, found)) if same == which => found,
                _ => match known.get(&which) {
                    Some(found) => *found,
                    None => {
                        let found = self.property_block(elements, at, key)?.map(|block| {
                            gathered.blocks.push(block);
                            gathered.blocks.len() as u32 - 1
                        });
                        known.insert(which, found);
                        found
                    }
                },
            };
            last = Some((which, found));
            let (_, slot) = block_slot(place(raw));
            gathered
                .rows
                .push(found.and_then(|block| gathered.blocks[block as usize].rank(slot).map(|rank| (block, rank as u8))));
        }
        Ok(gathered)
    }

    fn property_block(&self, elements: Elements<'_>, at: usize, key: KeyId) -> Result<Option<Block<'t>>> {
        let element = elements.get(at);
        let (kind, label) = (element.kind(), element.label());
        if self.schema.label_schema(kind, label).and_then(|label| label.property(key)).is_none() {
            return Ok(None);
        }
        self.block(Column::property(kind, label, key), block_slot(place(element.raw())).0)
    }
}

impl Gathered<'_> {
    /// The type of all cells, if they are of one that has an array form.
    fn common_type(&self) -> Option<ValueType> {
        let common = self.blocks.first()?.value_type()?;
        self.blocks.iter().all(|block| block.value_type() == Some(common)).then_some(common)
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        let cell = |row: &Option<(u32, u8)>| match row {
            Some((block, rank)) => self.blocks[*block as usize].cell_at(usize::from(*rank)),
            None => Ok(Cell::Absent),
        };
        self.rows.iter().map(cell).collect()
    }

    fn nulls(&self) -> Option<NullBuffer> {
        let all = self.rows.iter().all(Option::is_some);
        (!all).then(|| NullBuffer::new(BooleanBuffer::collect_bool(self.rows.len(), |at| self.rows[at].is_some())))
    }

    fn array(&self, t: ValueType) -> Result<ArrayRef> {
        Ok(match t {
            ValueType::Bool => self.bools(),
            ValueType::Int8 => self.ints::<Int8Type>(|v| v as i8),
            ValueType::Int16 => self.ints::<Int16Type>(|v| v as i16),
            ValueType::Int32 => self.ints::<Int32Type>(|v| v as i32),
            ValueType::Int64 => self.ints::<Int64Type>(|v| v),
            ValueType::Date => self.ints::<Date32Type>(|v| v as i32),
            ValueType::Duration => self.ints::<DurationMicrosecondType>(|v| v),
            ValueType::DateTime => {
                let micros = self.primitives::<TimestampMicrosecondType>(int);
                Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"))
            }
            ValueType::Float32 => Arc::new(self.primitives::<Float32Type>(|body, rank| match body {
                Body::Float32(values) => f32::from_le_bytes(values[rank]),
                _ => 0.0,
            })),
            ValueType::Float64 => Arc::new(self.primitives::<Float64Type>(|body, rank| match body {
                Body::Float64(values) => f64::from_le_bytes(values[rank]),
                _ => 0.0,
            })),
            ValueType::String => self.strings()?,
            ValueType::Bytes => self.byte_strings()?,
            ValueType::Uuid => self.uuids()?,
            _ => return Err(corrupt("a block of a type that has no array form")),
        })
    }

    fn primitives<T: ArrowPrimitiveType>(&self, value: impl Fn(&Body, usize) -> T::Native) -> PrimitiveArray<T> {
        let of_row = |row: &Option<(u32, u8)>| match row {
            Some((block, rank)) => value(&self.blocks[*block as usize].body, usize::from(*rank)),
            None => T::Native::default(),
        };
        let values: Vec<T::Native> = self.rows.iter().map(of_row).collect();
        PrimitiveArray::new(ScalarBuffer::from(values), self.nulls())
    }

    fn ints<T: ArrowPrimitiveType>(&self, narrow: impl Fn(i64) -> T::Native) -> ArrayRef {
        Arc::new(self.primitives::<T>(|body, rank| narrow(int(body, rank))))
    }

    fn bools(&self) -> ArrayRef {
        let value = |at: usize| match self.rows[at] {
            Some((block, rank)) => match self.blocks[block as usize].body {
                Body::Bools(bits) => bits[usize::from(rank) / 8] >> (rank % 8) & 1 != 0,
                _ => false,
            },
            None => false,
        };
        Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(self.rows.len(), value), self.nulls()))
    }

    fn heap_bytes(&self, row: &Option<(u32, u8)>) -> Result<Option<&[u8]>> {
        match row {
            Some((block, rank)) => self.blocks[*block as usize].bytes_at(usize::from(*rank)).map(Some),
            None => Ok(None),
        }
    }

    fn strings(&self) -> Result<ArrayRef> {
        let mut builder = StringBuilder::with_capacity(self.rows.len(), 16 * self.rows.len());
        for row in &self.rows {
            builder.append_option(self.heap_bytes(row)?.map(value::text).transpose()?);
        }
        Ok(Arc::new(builder.finish()))
    }

    fn byte_strings(&self) -> Result<ArrayRef> {
        let mut builder = BinaryBuilder::with_capacity(self.rows.len(), 16 * self.rows.len());
        for row in &self.rows {
            builder.append_option(self.heap_bytes(row)?);
        }
        Ok(Arc::new(builder.finish()))
    }

    fn uuids(&self) -> Result<ArrayRef> {
        let mut bytes = Vec::with_capacity(16 * self.rows.len());
        for row in &self.rows {
            let uuid = match row.map(|(block, rank)| (&self.blocks[block as usize].body, rank)) {
                Some((Body::Uuids(values), rank)) => values[usize::from(rank)],
                _ => [0; 16],
            };
            bytes.extend_from_slice(&uuid);
        }
        let array = FixedSizeBinaryArray::try_new(16, Buffer::from_vec(bytes), self.nulls());
        array.map(|array| Arc::new(array) as ArrayRef).map_err(mangrove_graph::GraphError::storage)
    }
}

fn int(body: &Body, rank: usize) -> i64 {
    match body {
        Body::Ints(_, packed) => packed.get(rank) as i64,
        _ => 0,
    }
}
