//! Encodes values and cells as bytes, for blocks whose cells are not all plain values of one type.
//!
//! ```text
//!   value   type 1 | content
//!   cell    0 | value            one plain value
//!           1 | count | (ordinal 4 | value | count | (key 2 | value)*)*
//! ```
//! Integers are little-endian; counts and lengths take four bytes. The content of a collection is its count and its values.

use std::sync::Arc;

use mangrove_graph::number::{self, NumberError};
use mangrove_graph::value::NESTING_MAX;
use mangrove_graph::{
    BigDecimal, BigInt, Cell, Date, DateTime, Duration, GraphError, KeyId, Map, PropertyValue, Result, Uuid, Value,
    ValueType,
};

use crate::corrupt;

/// The bytes of a cell.
pub fn cell_bytes(cell: &Cell) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_cell(&mut bytes, cell);
    bytes
}

fn put_cell(out: &mut Vec<u8>, cell: &Cell) {
    match cell {
        Cell::Absent => {}
        Cell::One(value) => {
            out.push(0);
            put_value(out, value);
        }
        Cell::Many(entries) => {
            out.push(1);
            put_count(out, entries.len());
            for entry in entries {
                out.extend_from_slice(&entry.ordinal.to_le_bytes());
                put_value(out, &entry.value);
                put_count(out, entry.meta.len());
                for (key, value) in &entry.meta {
                    out.extend_from_slice(&key.0.to_le_bytes());
                    put_value(out, value);
                }
            }
        }
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    out.push(value.value_type() as u8);
    match value {
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::Int8(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Int16(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Int32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Int64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Float32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Float64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::BigInt(v) => put_bytes(out, &v.to_signed_bytes_le()),
        Value::Decimal(v) => {
            let (unscaled, scale) = v.as_bigint_and_scale();
            out.extend_from_slice(&scale.to_le_bytes());
            put_bytes(out, &unscaled.to_signed_bytes_le());
        }
        Value::String(v) => put_bytes(out, v.as_bytes()),
        Value::Bytes(v) => put_bytes(out, v),
        Value::Uuid(v) => out.extend_from_slice(v.as_bytes()),
        Value::Date(v) => out.extend_from_slice(&v.0.to_le_bytes()),
        Value::DateTime(v) => {
            out.extend_from_slice(&v.seconds.to_le_bytes());
            out.extend_from_slice(&v.nanos.to_le_bytes());
            out.extend_from_slice(&v.offset_seconds.to_le_bytes());
        }
        Value::Duration(v) => {
            out.extend_from_slice(&v.seconds.to_le_bytes());
            out.extend_from_slice(&v.nanos.to_le_bytes());
        }
        Value::Vector(v) => {
            put_count(out, v.len());
            v.iter().for_each(|f| out.extend_from_slice(&f.to_le_bytes()));
        }
        Value::List(items) | Value::Set(items) => {
            put_count(out, items.len());
            items.iter().for_each(|item| put_value(out, item));
        }
        Value::Map(map) => {
            put_count(out, map.len());
            map.iter().for_each(|(k, v)| {
                put_value(out, k);
                put_value(out, v);
            });
        }
        _ => {} // null; no store takes other types
    }
}

/// The content of a cell that is one plain string or bytes.
pub fn plain_bytes(cell: &[u8]) -> Result<&[u8]> {
    match cell {
        [0, _, _, _, _, _, bytes @ ..] => Ok(bytes),
        _ => Err(corrupt("a cell that is not plain")),
    }
}

pub fn cell(bytes: &[u8]) -> Result<Cell> {
    let mut reader = ValueReader { bytes };
    let cell = match reader.byte()? {
        0 => Cell::One(reader.value(0)?),
        1 => Cell::Many(reader.repeat(9, ValueReader::entry)?),
        _ => return Err(corrupt("a cell of an unknown form")),
    };
    if reader.bytes.is_empty() { Ok(cell) } else { Err(corrupt("a cell with bytes to spare")) }
}

struct ValueReader<'a> {
    bytes: &'a [u8],
}

impl<'a> ValueReader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(n).ok_or_else(|| corrupt("a value ends early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(|| corrupt("a value ends early"))?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    fn count(&mut self) -> Result<usize> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn counted(&mut self) -> Result<&'a [u8]> {
        let n = self.count()?;
        self.take(n)
    }

    /// Reads a count, then that many items. Each item takes at least `least` bytes.
    fn repeat<T>(&mut self, least: usize, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let n = self.count()?;
        if n > self.bytes.len() / least {
            return Err(corrupt("a count beyond the end of its value"));
        }
        (0..n).map(|_| item(self)).collect()
    }

    fn entry(&mut self) -> Result<PropertyValue> {
        Ok(PropertyValue {
            ordinal: u32::from_le_bytes(self.array()?),
            value: self.value(0)?,
            meta: self.repeat(3, |r| Ok((KeyId(u16::from_le_bytes(r.array()?)), r.value(0)?)))?,
        })
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        if depth > NESTING_MAX {
            return Err(corrupt("values nested too deep"));
        }
        let value_type = ValueType::from_code(self.byte()?).ok_or_else(|| corrupt("a value of an unknown type"))?;
        Ok(match value_type {
            ValueType::Null => Value::Null,
            ValueType::Bool => Value::Bool(self.byte()? != 0),
            ValueType::Int8 => Value::Int8(i8::from_le_bytes(self.array()?)),
            ValueType::Int16 => Value::Int16(i16::from_le_bytes(self.array()?)),
            ValueType::Int32 => Value::Int32(i32::from_le_bytes(self.array()?)),
            ValueType::Int64 => Value::Int64(i64::from_le_bytes(self.array()?)),
            ValueType::Float32 => Value::Float32(f32::from_le_bytes(self.array()?)),
            ValueType::Float64 => Value::Float64(f64::from_le_bytes(self.array()?)),
            ValueType::BigInt => {
                number::bounded_int(BigInt::from_signed_bytes_le(self.counted()?)).map_err(beyond_bounds)?.into()
            }
            ValueType::Decimal => {
                let scale = i64::from_le_bytes(self.array()?);
                let decimal = BigDecimal::new(BigInt::from_signed_bytes_le(self.counted()?), scale);
                number::bounded_decimal(decimal).map_err(beyond_bounds)?.into()
            }
            ValueType::String => text(self.counted()?)?.into(),
            ValueType::Bytes => Value::Bytes(self.counted()?.into()),
            ValueType::Uuid => Value::Uuid(Uuid::from_bytes(self.array()?)),
            ValueType::Date => Value::Date(Date(i32::from_le_bytes(self.array()?))),
            ValueType::DateTime => Value::DateTime(DateTime {
                seconds: i64::from_le_bytes(self.array()?),
                nanos: u32::from_le_bytes(self.array()?),
                offset_seconds: i32::from_le_bytes(self.array()?),
            }),
            ValueType::Duration => Value::Duration(Duration {
                seconds: i64::from_le_bytes(self.array()?),
                nanos: u32::from_le_bytes(self.array()?),
            }),
            ValueType::Vector => Value::Vector(self.repeat(4, |r| Ok(f32::from_le_bytes(r.array()?)))?.into()),
            ValueType::List => Value::list(self.repeat(1, |r| r.value(depth + 1))?),
            ValueType::Set => Value::Set(Arc::new(self.repeat(1, |r| r.value(depth + 1))?)),
            ValueType::Map => {
                let entries = self.repeat(2, |r| Ok((r.value(depth + 1)?, r.value(depth + 1)?)))?;
                Value::map(Map::from_distinct(entries))
            }
            _ => return Err(corrupt("a value of a type that is not stored")),
        })
    }
}

pub fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| corrupt("text that is not UTF-8"))
}

fn beyond_bounds(error: NumberError) -> GraphError {
    corrupt(&error.to_string())
}
