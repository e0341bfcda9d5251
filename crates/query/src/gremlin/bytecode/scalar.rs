//! The plain values of GraphBinary, and the bytes they are read from.
//!
//! Integers are big-endian. A length in the input never leads to an allocation by itself: the bytes it counts must be there.

use std::sync::Arc;

use bigdecimal::BigDecimal;
use jiff::{civil, tz::Offset};
use mangrove_graph::{Date, DateTime, Duration, Uuid, Value, number};
use num_bigint::BigInt;

use super::{Problem, Read, problem, single};
use crate::gremlin::error::SyntaxError;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// The bytes of the longest integer that a query may have.
const BIG_INTEGER_BYTES_MAX: usize = number::DIGITS_MAX * 10 / 24;

/// Reads the plain value of a type code from the front of some bytes, without its type; `None` if the type is not plain.
pub fn read_plain(bytes: &mut &[u8], code: u8) -> Result<Option<Value>, SyntaxError> {
    let mut reader = Bytes::new(bytes);
    let value = reader.scalar(code).map_err(Problem::into_error)?;
    *bytes = &bytes[reader.position()..];
    Ok(value)
}

/// Bytes to read from the front.
pub struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes read.
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn take(&mut self, n: usize) -> Read<&'a [u8]> {
        if n > self.left() {
            return problem(format!("{n} bytes should follow, but there are {}", self.left()));
        }
        let start = self.at;
        self.at += n;
        Ok(&self.bytes[start..self.at])
    }

    pub fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn byte(&mut self) -> Read<u8> {
        self.array().map(|[byte]: [u8; 1]| byte)
    }

    pub fn int(&mut self) -> Read<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn long(&mut self) -> Read<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// A count of items that follow. Each item takes at least one byte.
    pub fn count(&mut self) -> Read<usize> {
        let count = self.int()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.left() => Ok(count),
            _ => problem(format!("a count of {count}, but {} bytes are left", self.left())),
        }
    }

    pub fn string(&mut self) -> Read<&'a str> {
        let count = self.count()?;
        let bytes = self.take(count)?;
        str::from_utf8(bytes).or_else(|_| problem("a string that is not UTF-8"))
    }

    fn char(&mut self) -> Read<&'a str> {
        let start = self.at;
        let first = self.byte()?;
        let further = first.leading_ones().saturating_sub(1).min(3) as usize;
        self.take(further)?;
        str::from_utf8(&self.bytes[start..self.at]).or_else(|_| problem("a character that is not UTF-8"))
    }

    /// The plain value of a type code; `None` if the type is not plain.
    pub fn scalar(&mut self, code: u8) -> Read<Option<Value>> {
        Ok(Some(match code {
            0x01 => Value::Int32(self.int()?),
            0x02 => Value::Int64(self.long()?),
            0x03 => self.string()?.into(),
            0x04 | 0x05 => date_time(Some(DateTime::from_millis(self.long()?)))?,
            0x07 => Value::Float64(self.array().map(f64::from_be_bytes)?),
            0x08 => single(f64::from(self.array().map(f32::from_be_bytes)?)),
            0x0c => Value::Uuid(Uuid::from_bytes(self.array()?)),
            0x22 => self.decimal()?,
            0x23 => Value::BigInt(Arc::new(self.big_integer()?)),
            0x24 => Value::Int8(self.array().map(i8::from_be_bytes)?),
            0x25 => {
                let count = self.count()?;
                Value::Bytes(self.take(count)?.into())
            }
            0x26 => Value::Int16(self.array().map(i16::from_be_bytes)?),
            0x27 => Value::Bool(self.byte()? != 0),
            0x80 => self.char()?.into(),
            0x81 => Value::Duration(self.duration()?),
            0x83 => {
                let Duration { seconds, nanos } = self.duration()?;
                date_time(Some(DateTime { seconds, nanos, offset_seconds: 0 }))?
            }
            0x84 => Value::Date(Date((self.date()? - civil::date(1970, 1, 1)).get_days())),
            0x85 => {
                let civil = self.civil()?;
                date_time(instant(civil, 0))?
            }
            0x88 | 0x8d => {
                let civil = self.civil()?;
                date_time(instant(civil, self.int()?))?
            }
            _ => return Ok(None),
        }))
    }

    fn big_integer(&mut self) -> Read<BigInt> {
        let count = self.count()?;
        if count > BIG_INTEGER_BYTES_MAX {
            return problem(format!("an integer of {count} bytes: the limit is {BIG_INTEGER_BYTES_MAX}"));
        }
        self.take(count).map(BigInt::from_signed_bytes_be)
    }

    fn decimal(&mut self) -> Read<Value> {
        let scale = self.int()?;
        let digits = self.big_integer()?;
        let decimal = number::bounded_decimal(BigDecimal::new(digits, i64::from(scale)));
        decimal.map(Value::from).or_else(|error| problem(error.to_string()))
    }

    /// A duration: seconds and nanoseconds.
    fn duration(&mut self) -> Read<Duration> {
        let (seconds, nanos) = (self.long()?, self.int()?);
        match u32::try_from(nanos) {
            Ok(nanos) if i64::from(nanos) < NANOS_PER_SECOND => Ok(Duration { seconds, nanos }),
            _ => problem(format!("{nanos} nanoseconds do not fit into a second")),
        }
    }

    fn date(&mut self) -> Read<civil::Date> {
        let (year, [month, day]) = (self.int()?, self.array()?.map(|byte: u8| byte as i8));
        let date = i16::try_from(year).ok().and_then(|year| civil::Date::new(year, month, day).ok());
        date.map_or_else(|| problem(format!("there is no day {year}-{month}-{day}")), Ok)
    }

    /// A date and the nanoseconds since its midnight.
    fn civil(&mut self) -> Read<civil::DateTime> {
        let (date, nanos) = (self.date()?, self.long()?);
        let (seconds, rest) = (nanos.div_euclid(NANOS_PER_SECOND), nanos.rem_euclid(NANOS_PER_SECOND));
        let parts = (i8::try_from(seconds / 3600), (seconds / 60 % 60) as i8, (seconds % 60) as i8);
        let time = parts.0.ok().and_then(|hour| civil::Time::new(hour, parts.1, parts.2, rest as i32).ok());
        time.map_or_else(|| problem(format!("{nanos} nanoseconds do not fit into a day")), |time| Ok(date.to_datetime(time)))
    }
}

fn instant(civil: civil::DateTime, offset_seconds: i32) -> Option<DateTime> {
    let offset = Offset::from_seconds(offset_seconds).ok()?;
    Some(DateTime::from_timestamp(offset.to_timestamp(civil).ok()?, offset))
}

fn date_time(value: Option<DateTime>) -> Read<Value> {
    let value = value.filter(|value| value.timestamp().is_some());
    value.map_or_else(|| problem("a time outside the years -9999 to 9999"), |value| Ok(Value::DateTime(value)))
}
