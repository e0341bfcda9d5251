//! Writing blocks: from cells, from Arrow arrays, from external ids, and from edge ends.
//!
//! Cells that are all plain and of one type give a block of that type. Any others give a block of cells.

use std::convert::Infallible;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use mangrove_graph::{Cell, DateTime, Duration, EdgeRef, ExternalId, Result, Value, ValueType, column};

use crate::format::block::{Block, Body, FORM_CELLS, FORM_ENDS, FORM_FAR, FORM_PARTIAL, NEAR_MAX, SLOTS, slots};
use crate::format::packed::{pack, width_of};
use mangrove_segment::value;

/// Bytes that a cell of a string has beside those of the string.
const CELL_OF_BYTES: usize = 6;

/// Rows that fill consecutive slots of blocks.
pub trait Rows {
    /// Appends the block that has these rows from `slot` on, and nothing else. Appends nothing if no row has a cell.
    fn encode(&self, rows: Range<usize>, slot: usize, out: &mut Vec<u8>) -> FarCells;

    fn cell(&self, row: usize) -> Cell;
}

/// Cells too large for their block, by slot, as bytes.
pub type FarCells = Vec<(usize, Vec<u8>)>;

/// Far cells that a block keeps as they are when it is written anew.
#[derive(Clone, Copy, Default)]
pub struct Kept {
    pub slots: u128,
    /// The type of the block that had them, if all its cells were of one type.
    pub of_type: Option<ValueType>,
}

/// Appends the block of these cells, by slot. Appends nothing if all are absent and none is kept.
pub fn cells(out: &mut Vec<u8>, cells: &[Cell], kept: Kept) -> FarCells {
    let present = bits(cells.iter().map(|cell| !cell.is_absent())) | kept.slots;
    if present == 0 {
        return Vec::new();
    }
    let form = plain_type(cells).filter(|form| kept.slots == 0 || kept.of_type == Some(*form));
    let form = form.or(kept.of_type.filter(|_| present == kept.slots));
    match form {
        Some(form @ (ValueType::String | ValueType::Bytes)) => byte_cells(out, form as u8, cells, present, kept),
        Some(form) => {
            header(out, form as u8, present, 0);
            typed(out, form, slots(present).filter_map(|slot| cells[slot].values().next()));
            Vec::new()
        }
        None => byte_cells(out, FORM_CELLS, cells, present, kept),
    }
}

/// Appends a block whose content is bytes: those of strings and bytes themselves, and other cells encoded as cells.
fn byte_cells(out: &mut Vec<u8>, form: u8, cells: &[Cell], present: u128, kept: Kept) -> FarCells {
    let Ok(far) = byte_block(out, form, present, kept.slots, |slot, bytes, far| {
        put_near(bytes, form, slot, &cells[slot], far);
        Ok::<_, Infallible>(())
    });
    far
}

/// Appends a block of strings, or of bytes, with some cells changed. Each changed cell must be absent or of the block's
/// type. Otherwise, or if the block is of another type, it returns `None` and appends nothing. It copies the bytes of other
/// cells, without making values of them. It appends nothing if all cells are absent.
pub fn spliced(out: &mut Vec<u8>, old: &Block<'_>, changes: &[(usize, Cell)], kept: Kept) -> Result<Option<FarCells>> {
    let Body::Heap(form, heap) = &old.body else { return Ok(None) };
    let (mut changed, mut present) = ([None; SLOTS], old.present);
    for (slot, cell) in changes {
        match cell {
            Cell::Absent => present &= !(1 << slot),
            Cell::One(value) if form_of(value) == Some(*form) => present |= 1 << slot,
            _ => return Ok(None),
        }
        changed[*slot] = Some(cell);
    }
    if present == 0 {
        return Ok(Some(Vec::new()));
    }
    byte_block(out, *form as u8, present, kept.slots, |slot, bytes, far| {
        match (changed[slot], old.rank(slot)) {
            (Some(cell), _) => put_near(bytes, *form as u8, slot, cell, far),
            (None, Some(rank)) => bytes.extend_from_slice(heap.get(rank)?),
            (None, None) => unreachable!("a slot that is present was there before, or is changed"),
        }
        Ok(())
    })
    .map(Some)
}

/// Appends a block whose content is the bytes that `put` gives for the present slots, except those `kept` far.
fn byte_block<E>(
    out: &mut Vec<u8>,
    form: u8,
    present: u128,
    kept: u128,
    mut put: impl FnMut(usize, &mut Vec<u8>, &mut FarCells) -> Result<(), E>,
) -> Result<FarCells, E> {
    let (mut bytes, mut ends, mut far) = (Vec::new(), Vec::new(), Vec::new());
    for slot in slots(present) {
        if kept >> slot & 1 == 0 {
            put(slot, &mut bytes, &mut far)?;
        }
        ends.push(bytes.len() as u64);
    }
    header(out, form, present, far.iter().fold(kept, |bits, (slot, _)| bits | 1 << slot));
    let width = width_of(bytes.len() as u64);
    out.push(width as u8);
    pack(out, ends.into_iter(), 0, width);
    out.extend_from_slice(&bytes);
    Ok(far)
}

fn put_near(bytes: &mut Vec<u8>, form: u8, slot: usize, cell: &Cell, far: &mut FarCells) {
    let whole = value::cell_bytes(cell);
    if whole.len() > NEAR_MAX {
        far.push((slot, whole));
    } else if form == FORM_CELLS {
        bytes.extend_from_slice(&whole);
    } else {
        bytes.extend_from_slice(value::plain_bytes(&whole).unwrap_or_default());
    }
}

/// The type a block of these cells can have.
fn plain_type(cells: &[Cell]) -> Option<ValueType> {
    let mut common = None;
    for cell in cells {
        let t = match cell {
            Cell::Absent => continue,
            Cell::One(value) => form_of(value)?,
            Cell::Many(_) => return None,
        };
        if *common.get_or_insert(t) != t {
            return None;
        }
    }
    common
}

/// The type of the block form that keeps the value exactly.
fn form_of(value: &Value) -> Option<ValueType> {
    use ValueType as T;
    match (value.value_type(), value) {
        (_, Value::DateTime(t)) if t.offset_seconds != 0 || !same_time(t) => None,
        (_, Value::Duration(d)) if Duration::from_micros(d.micros()) != *d => None,
        (t @ (T::Bool | T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::Float32 | T::Float64), _) => Some(t),
        (t @ (T::String | T::Bytes | T::Uuid | T::Date | T::DateTime | T::Duration), _) => Some(t),
        _ => None,
    }
}

fn same_time(t: &DateTime) -> bool {
    let back = DateTime::from_micros(t.micros());
    (back.seconds, back.nanos) == (t.seconds, t.nanos)
}

/// The content of a block of a type other than strings and bytes.
fn typed<'a>(out: &mut Vec<u8>, form: ValueType, values: impl Iterator<Item = &'a Value> + Clone) {
    match form {
        ValueType::Bool => bools(out, values.map(|v| v.as_bool() == Some(true))),
        ValueType::Float32 => values.for_each(|v| {
            let Value::Float32(f) = v else { unreachable!("all of one type") };
            out.extend_from_slice(&f.to_le_bytes());
        }),
        ValueType::Float64 => values.for_each(|v| {
            let Value::Float64(f) = v else { unreachable!("all of one type") };
            out.extend_from_slice(&f.to_le_bytes());
        }),
        ValueType::Uuid => values.for_each(|v| {
            let Value::Uuid(uuid) = v else { unreachable!("all of one type") };
            out.extend_from_slice(uuid.as_bytes());
        }),
        _ => counts(out, values.map(count)),
    }
}

/// The integer a date, date-time, duration or integer is kept as.
fn count(value: &Value) -> i64 {
    match value {
        Value::Date(date) => i64::from(date.0),
        Value::DateTime(t) => t.micros(),
        Value::Duration(d) => d.micros(),
        other => other.as_i64().unwrap_or_default(),
    }
}

/// Rows of an Arrow array of one of the types `mangrove_graph::column` gives.
pub struct ArrayRows<'a>(pub &'a dyn Array);

impl Rows for ArrayRows<'_> {
    fn encode(&self, rows: Range<usize>, slot: usize, out: &mut Vec<u8>) -> FarCells {
        let present = match self.0.nulls() {
            None => ones(rows.len()),
            Some(nulls) => bits(rows.clone().map(|row| nulls.is_valid(row))),
        };
        if present == 0 || encode_array(out, self.0, rows.start, present, slot) {
            return Vec::new();
        }
        let values: Vec<Cell> = (0..slot).map(|_| Cell::Absent).chain(rows.map(|row| self.cell(row))).collect();
        cells(out, &values, Kept::default())
    }

    fn cell(&self, row: usize) -> Cell {
        if self.0.is_null(row) { Cell::Absent } else { Cell::One(column::value_at(self.0, row)) }
    }
}

/// Appends the block of an array's values. Returns false, and appends nothing, if its type has no form or a value has no
/// room. `present` says which rows from `first` on have a value.
fn encode_array(out: &mut Vec<u8>, array: &dyn Array, first: usize, present: u128, slot: usize) -> bool {
    let rows = slots(present).map(|at| first + at);
    let mut begin = |form: ValueType| header(out, form as u8, present << slot, 0);
    let is_near = |len: usize| len + CELL_OF_BYTES <= NEAR_MAX;
    match array.data_type() {
        DataType::Boolean => {
            begin(ValueType::Bool);
            let values = array.as_boolean();
            bools(out, rows.map(|row| values.value(row)));
        }
        DataType::Int8 => encode_counts::<Int8Type>(out, ValueType::Int8, array, first, present, slot),
        DataType::Int16 => encode_counts::<Int16Type>(out, ValueType::Int16, array, first, present, slot),
        DataType::Int32 => encode_counts::<Int32Type>(out, ValueType::Int32, array, first, present, slot),
        DataType::Int64 => encode_counts::<Int64Type>(out, ValueType::Int64, array, first, present, slot),
        DataType::Date32 => encode_counts::<Date32Type>(out, ValueType::Date, array, first, present, slot),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            encode_counts::<TimestampMicrosecondType>(out, ValueType::DateTime, array, first, present, slot);
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            encode_counts::<DurationMicrosecondType>(out, ValueType::Duration, array, first, present, slot);
        }
        DataType::Float32 => {
            begin(ValueType::Float32);
            let values = array.as_primitive::<Float32Type>().values();
            rows.for_each(|row| out.extend_from_slice(&values[row].to_le_bytes()));
        }
        DataType::Float64 => {
            begin(ValueType::Float64);
            let values = array.as_primitive::<Float64Type>().values();
            rows.for_each(|row| out.extend_from_slice(&values[row].to_le_bytes()));
        }
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            if !rows.clone().all(|row| is_near(values.value(row).len())) {
                return false;
            }
            begin(ValueType::String);
            strings(out, rows.map(|row| values.value(row).as_bytes()));
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            if !rows.clone().all(|row| is_near(values.value(row).len())) {
                return false;
            }
            begin(ValueType::Bytes);
            strings(out, rows.map(|row| values.value(row)));
        }
        DataType::FixedSizeBinary(16) => {
            begin(ValueType::Uuid);
            let values = array.as_fixed_size_binary();
            rows.for_each(|row| out.extend_from_slice(values.value(row)));
        }
        _ => return false,
    }
    true
}

fn encode_counts<T: ArrowPrimitiveType>(
    out: &mut Vec<u8>,
    form: ValueType,
    array: &dyn Array,
    first: usize,
    present: u128,
    slot: usize,
) where
    T::Native: Into<i64>,
{
    header(out, form as u8, present << slot, 0);
    let values = &array.as_primitive::<T>().values()[first..];
    let n = present.count_ones() as usize;
    if present == ones(n) {
        counts(out, values[..n].iter().map(|v| (*v).into()));
    } else {
        counts(out, slots(present).map(|at| values[at].into()));
    }
}

/// The value type whose blocks are written straight from arrays of this type.
pub fn form_of_array(t: &DataType) -> Option<ValueType> {
    Some(match t {
        DataType::Boolean => ValueType::Bool,
        DataType::Int8 => ValueType::Int8,
        DataType::Int16 => ValueType::Int16,
        DataType::Int32 => ValueType::Int32,
        DataType::Int64 => ValueType::Int64,
        DataType::Float32 => ValueType::Float32,
        DataType::Float64 => ValueType::Float64,
        DataType::Utf8 => ValueType::String,
        DataType::Binary => ValueType::Bytes,
        DataType::FixedSizeBinary(16) => ValueType::Uuid,
        DataType::Date32 => ValueType::Date,
        DataType::Timestamp(TimeUnit::Microsecond, _) => ValueType::DateTime,
        DataType::Duration(TimeUnit::Microsecond) => ValueType::Duration,
        _ => return None,
    })
}

/// External ids as rows.
pub struct IdRows<'a>(pub &'a [ExternalId]);

impl Rows for IdRows<'_> {
    fn encode(&self, rows: Range<usize>, slot: usize, out: &mut Vec<u8>) -> FarCells {
        let ids = &self.0[rows.clone()];
        let present = ones(ids.len()) << slot;
        let is_near = |text: &str| text.len() + CELL_OF_BYTES <= NEAR_MAX;
        if ids.iter().all(|id| matches!(id, ExternalId::Int(_))) {
            header(out, ValueType::Int64 as u8, present, 0);
            counts(out, ids.iter().map(|id| if let ExternalId::Int(i) = id { *i } else { 0 }));
            Vec::new()
        } else if ids.iter().all(|id| matches!(id, ExternalId::String(text) if is_near(text))) {
            header(out, ValueType::String as u8, present, 0);
            strings(out, ids.iter().map(|id| if let ExternalId::String(s) = id { s.as_bytes() } else { &[] }));
            Vec::new()
        } else {
            let values: Vec<Cell> = (0..slot).map(|_| Cell::Absent).chain(rows.map(|row| self.cell(row))).collect();
            cells(out, &values, Kept::default())
        }
    }

    fn cell(&self, row: usize) -> Cell {
        Cell::One(self.0[row].to_value())
    }
}

/// Appends the beginning of a block that decides only these slots. Appends nothing if it decides all.
pub fn said(out: &mut Vec<u8>, slots: u128) {
    if slots != u128::MAX {
        out.push(FORM_PARTIAL);
        out.extend_from_slice(&slots.to_le_bytes());
    }
}

/// A block without cells: the form of cells, no slots, and a width of 0.
pub const EMPTY: [u8; 19] = {
    let mut bytes = [0; 19];
    bytes[0] = FORM_CELLS;
    bytes
};

/// Appends the block of these edge ends, by slot. Appends nothing if there are none.
pub fn ends(out: &mut Vec<u8>, edges: &[Option<EdgeRef>]) {
    let present = bits(edges.iter().map(Option::is_some));
    if present == 0 {
        return;
    }
    header(out, FORM_ENDS, present, 0);
    unsigned(out, edges.iter().flatten().map(|edge| edge.source.0));
    unsigned(out, edges.iter().flatten().map(|edge| edge.target.0));
}

fn header(out: &mut Vec<u8>, form: u8, present: u128, far: u128) {
    let n = present.count_ones() as usize;
    out.push(if far == 0 { form } else { form | FORM_FAR });
    if present == ones(n) {
        out.push(n as u8);
    } else {
        out.push(0);
        out.extend_from_slice(&present.to_le_bytes());
    }
    if far != 0 {
        out.extend_from_slice(&far.to_le_bytes());
    }
}

/// The first `n` bits.
pub fn ones(n: usize) -> u128 {
    if n == 0 { 0 } else { u128::MAX >> (SLOTS - n) }
}

fn bits(flags: impl Iterator<Item = bool>) -> u128 {
    flags.enumerate().fold(0, |bits, (at, flag)| bits | u128::from(flag) << at)
}

fn bools(out: &mut Vec<u8>, values: impl Iterator<Item = bool>) {
    let (mut packed, mut n) = (0u128, 0);
    for value in values {
        packed |= u128::from(value) << n;
        n += 1;
    }
    out.extend_from_slice(&packed.to_le_bytes()[..usize::div_ceil(n, 8)]);
}

fn counts(out: &mut Vec<u8>, values: impl Iterator<Item = i64> + Clone) {
    let (min, max) = values.clone().fold((i64::MAX, i64::MIN), |(min, max), v| (min.min(v), max.max(v)));
    let width = width_of(max.wrapping_sub(min) as u64);
    out.extend_from_slice(&min.to_le_bytes());
    out.push(width as u8);
    pack(out, values.map(|v| v as u64), min as u64, width);
}

fn unsigned(out: &mut Vec<u8>, values: impl Iterator<Item = u64> + Clone) {
    let (min, max) = values.clone().fold((u64::MAX, 0), |(min, max), v| (min.min(v), max.max(v)));
    let width = width_of(max.wrapping_sub(min));
    out.extend_from_slice(&min.to_le_bytes());
    out.push(width as u8);
    pack(out, values, min, width);
}

fn strings<'a>(out: &mut Vec<u8>, values: impl Iterator<Item = &'a [u8]> + Clone) {
    let width = width_of(values.clone().map(|bytes| bytes.len() as u64).sum());
    out.push(width as u8);
    let ends = values.clone().scan(0, |end, bytes| {
        *end += bytes.len() as u64;
        Some(*end)
    });
    pack(out, ends, 0, width);
    values.for_each(|bytes| out.extend_from_slice(bytes));
}

#[cfg(test)]
mod tests {
    use arrow_array::ArrayRef;
    use mangrove_graph::{BigDecimal, Date, KeyId, PropertyValue, Uuid};
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i8>().prop_map(Value::Int8),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
            any::<f32>().prop_map(Value::Float32),
            any::<f64>().prop_map(Value::Float64),
            any::<i128>().prop_map(|i| mangrove_graph::BigInt::from(i).into()),
            (any::<i64>(), -40i64..40).prop_map(|(i, scale)| BigDecimal::new(i.into(), scale).into()),
            ".{0,12}".prop_map(Value::from),
            (240usize..300).prop_map(|n| Value::string("x".repeat(n))),
            prop::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| Value::Bytes(bytes.into())),
            any::<u128>().prop_map(|u| Uuid::from_u128(u).into()),
            any::<i32>().prop_map(|days| Date(days).into()),
            (any::<i64>(), 0u32..1_000_000_000, -3i32..3)
                .prop_map(|(seconds, nanos, offset)| { DateTime { seconds, nanos, offset_seconds: offset * 1800 }.into() }),
            (any::<i64>(), 0u32..1_000_000_000).prop_map(|(seconds, nanos)| Duration { seconds, nanos }.into()),
            prop::collection::vec(any::<f32>(), 0..5).prop_map(|v| Value::Vector(v.into())),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::set),
                prop::collection::vec((".{0,3}", inner), 0..3).prop_map(|entries| {
                    let mut map = mangrove_graph::Map::new();
                    entries.into_iter().for_each(|(k, v)| map.insert(k.into(), v));
                    map.into()
                }),
            ]
        })
    }

    fn cell() -> impl Strategy<Value = Cell> {
        let entry = (any::<u32>(), value(), prop::collection::vec((any::<u16>(), value()), 0..2)).prop_map(
            |(ordinal, value, meta)| PropertyValue {
                ordinal,
                value,
                meta: meta.into_iter().map(|(k, v)| (KeyId(k), v)).collect(),
            },
        );
        prop_oneof![
            2 => Just(Cell::Absent),
            4 => value().prop_map(Cell::One),
            1 => prop::collection::vec(entry, 1..3).prop_map(Cell::Many),
        ]
    }

    /// Cells of a block, often all of one type.
    fn block() -> impl Strategy<Value = Vec<Cell>> {
        let uniform = (value(), prop::collection::vec((any::<u16>(), prop::bool::weighted(0.8)), 1..=SLOTS)).prop_map(
            |(sample, rows)| {
                let vary = |n: u16| match &sample {
                    Value::Int8(v) => Value::Int8(v.wrapping_add(n as i8)),
                    Value::Int32(v) => Value::Int32(v.wrapping_add(i32::from(n))),
                    Value::Int64(v) => Value::Int64(v.wrapping_mul(i64::from(n))),
                    Value::String(s) => Value::string(format!("{s}{n}")),
                    Value::Bool(_) => Value::Bool(n.is_multiple_of(2)),
                    other => other.clone(),
                };
                rows.into_iter().map(|(n, is)| if is { Cell::One(vary(n)) } else { Cell::Absent }).collect()
            },
        );
        prop_oneof![uniform, prop::collection::vec(cell(), 1..=SLOTS)]
    }

    /// A string, now and then one too long for its block.
    fn text() -> impl Strategy<Value = Cell> {
        prop_oneof![4 => ".{0,12}".prop_map(Value::from), 1 => (240usize..300).prop_map(|n| Value::string("x".repeat(n)))]
            .prop_map(Cell::One)
    }

    fn texts() -> impl Strategy<Value = Vec<Cell>> {
        prop::collection::vec(prop_oneof![1 => Just(Cell::Absent), 3 => text()], 1..=SLOTS)
    }

    proptest! {
        #[test]
        fn blocks_give_back_their_cells(cells in block()) {
            let mut bytes = Vec::new();
            let far = super::cells(&mut bytes, &cells, Kept::default());
            if cells.iter().all(Cell::is_absent) {
                prop_assert!(bytes.is_empty());
                return Ok(());
            }
            let block = Block::parse(&bytes, None).unwrap();
            let near = block.near_cells().unwrap();
            for (slot, cell) in cells.iter().enumerate() {
                match far.iter().find(|(at, _)| *at == slot) {
                    Some((_, bytes)) => prop_assert_eq!(&value::cell(bytes).unwrap(), cell),
                    None => {
                        prop_assert_eq!(&block.cell(slot).unwrap(), cell);
                        prop_assert_eq!(&near[slot], cell);
                    }
                }
                prop_assert_eq!(block.far >> slot & 1 != 0, far.iter().any(|(at, _)| *at == slot));
            }
        }

        #[test]
        fn splicing_gives_the_block_of_the_changed_cells(
            cells in prop_oneof![block(), texts()],
            changes in prop::collection::vec((0..SLOTS, prop_oneof![text(), text(), Just(Cell::Absent), cell()]), 1..4),
        ) {
            let mut bytes = Vec::new();
            super::cells(&mut bytes, &cells, Kept::default());
            if bytes.is_empty() {
                return Ok(());
            }
            let old = Block::parse(&bytes, None).unwrap();
            let (mut kept, mut changed) = (Kept { slots: old.far, of_type: old.value_type() }, old.near_cells().unwrap());
            for (slot, cell) in &changes {
                kept.slots &= !(1 << slot);
                changed[*slot] = cell.clone();
            }
            let (mut spliced, mut whole) = (Vec::new(), Vec::new());
            let is_text = |cell: &Cell| matches!(cell, Cell::Absent | Cell::One(Value::String(_)));
            match super::spliced(&mut spliced, &old, &changes, kept).unwrap() {
                Some(far) => {
                    prop_assert_eq!(far, super::cells(&mut whole, &changed, kept));
                    prop_assert_eq!(spliced, whole);
                }
                None => prop_assert!(spliced.is_empty() && !(cells.iter().all(is_text) && changes.iter().all(|(_, cell)| is_text(cell)))),
            }
        }

        #[test]
        fn arrays_give_the_blocks_their_cells_give(cells in block(), shift in 0usize..SLOTS) {
            let shift = shift.min(SLOTS - cells.len());
            let values: Vec<Option<&Value>> = cells.iter().map(|cell| cell.values().next()).collect();
            let array: Option<ArrayRef> = column::array_of(&values);
            let Some(array) = array.filter(|_| !cells.iter().any(|cell| matches!(cell, Cell::Many(_)))) else {
                return Ok(());
            };
            let mut from_array = Vec::new();
            ArrayRows(&array).encode(0..cells.len(), shift, &mut from_array);
            let mut shifted = vec![Cell::Absent; shift];
            shifted.extend(cells);
            let mut from_cells = Vec::new();
            super::cells(&mut from_cells, &shifted, Kept::default());
            prop_assert_eq!(from_array, from_cells);
        }

        #[test]
        fn damaged_blocks_are_refused_or_read(cells in block(), cut in any::<prop::sample::Index>(),
                                              flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
            let mut bytes = Vec::new();
            super::cells(&mut bytes, &cells, Kept::default());
            if bytes.is_empty() {
                return Ok(());
            }
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok(block) = Block::parse(&bytes, None) {
                for slot in 0..SLOTS {
                    let _ = block.cell(slot);
                    let _ = block.edge(mangrove_graph::EdgeId(0), slot);
                }
            }
        }
    }
}
