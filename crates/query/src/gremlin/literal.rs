//! The values of literals: numbers by their suffixes, and literals written as calls.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD as BASE64, Engine};
use jiff::{Timestamp, tz::Offset};
use mangrove_graph::number::{self, DIGITS_MAX};
use mangrove_graph::{Date, DateTime, Duration, Uuid, Value};
use num_bigint::BigInt;

/// The value of a number, or an error message. Without a suffix, an integer is the first of int32, int64 and bigint that holds it;
/// a fraction is a double.
pub(super) fn number(digits: &str, suffix: &str) -> Result<Value, String> {
    let unsigned = digits.trim_start_matches(['+', '-']);
    let hex = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    if digits.len() > DIGITS_MAX {
        return Err(format!("a number has at most {DIGITS_MAX} digits"));
    }
    if unsigned.ends_with('_') {
        return Err("an underscore must stand between digits".into());
    }
    let plain = digits.replace('_', "");
    if unsigned == "Infinity" {
        let infinity = if digits.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY };
        return if suffix.is_empty() { Ok(infinity.into()) } else { Err(format!("Infinity has no suffix `{suffix}`")) };
    }
    let whole = hex || !unsigned.contains(['.', 'e', 'E']);
    match suffix {
        "f" | "F" if !hex => finite(plain.parse().ok(), f32::is_finite).map(Value::Float32),
        "d" | "D" if !hex => double(&plain),
        "m" | "M" if !hex => decimal(&plain),
        "" if !whole => double(&plain),
        _ if whole => integer(&plain, hex, suffix),
        _ => Err(format!("`{suffix}` is not a suffix for fractions: use f, d or m")),
    }
}

fn double(text: &str) -> Result<Value, String> {
    finite(text.parse().ok(), f64::is_finite).map(Value::Float64)
}

fn finite<F: Copy>(value: Option<F>, is_finite: impl Fn(F) -> bool) -> Result<F, String> {
    value.filter(|float| is_finite(*float)).ok_or_else(|| "the number is too large; a decimal (suffix m) can hold it".into())
}

/// A decimal. Its size is bounded whatever its exponent.
pub(super) fn decimal(text: &str) -> Result<Value, String> {
    number::decimal(text).map(Value::from).map_err(|e| e.to_string())
}

/// A whole number from decimal digits.
pub(super) fn big_integer(text: &str) -> Result<Value, String> {
    number::big_int(text).map(Value::from).map_err(|e| e.to_string())
}

fn integer(text: &str, hex: bool, suffix: &str) -> Result<Value, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits {
        digits if hex => (16, &digits[2..]),
        digits if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        digits => (10, digits),
    };
    let value = BigInt::parse_bytes(format!("{sign}{digits}").as_bytes(), radix)
        .ok_or("a number that starts with 0 is octal, with digits 0 to 7")?;
    let fits = |kind: &str| format!("{text} does not fit {kind}");
    match suffix {
        "" => Ok(smallest(value)),
        "b" | "B" => i8::try_from(&value).map(Value::Int8).map_err(|_| fits("a byte (suffix b)")),
        "s" | "S" => i16::try_from(&value).map(Value::Int16).map_err(|_| fits("a short (suffix s)")),
        "i" | "I" => i32::try_from(&value).map(Value::Int32).map_err(|_| fits("an int (suffix i)")),
        "l" | "L" => i64::try_from(&value).map(Value::Int64).map_err(|_| fits("a long (suffix l)")),
        "n" | "N" => Ok(Value::BigInt(Arc::new(value))),
        _ => Err(format!("a number cannot be followed by `{}`", shortened(suffix))),
    }
}

fn smallest(value: BigInt) -> Value {
    match (i32::try_from(&value), i64::try_from(&value)) {
        (Ok(i), _) => Value::Int32(i),
        (_, Ok(i)) => Value::Int64(i),
        _ => Value::BigInt(Arc::new(value)),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The names of literals written as calls.
pub(super) const CALLS: [&str; 6] = ["datetime", "DateTime", "Date", "Duration", "UUID", "Binary"];

/// `datetime('2024-02-29T10:00:00Z')`, `UUID()` and the like.
pub(super) fn call(name: &str, args: &[Value]) -> Result<Value, String> {
    match (name, args) {
        ("datetime" | "DateTime", []) => Ok(Value::DateTime(DateTime::from_timestamp(Timestamp::now(), Offset::UTC))),
        ("UUID", []) => Ok(Value::Uuid(Uuid::new_v4())),
        ("Duration", [seconds, nanos]) => seconds_and_nanos(seconds, nanos),
        (name, [Value::String(text)]) => from_text(name, text),
        _ => Err(format!("{name} takes {}", takes(name))),
    }
}

fn from_text(name: &str, text: &str) -> Result<Value, String> {
    let value = match name {
        "datetime" | "DateTime" => date_time(text).map(Value::DateTime),
        "Date" => Date::parse(text).map(Value::Date),
        "Duration" => duration(text).map(Value::Duration),
        "UUID" => Uuid::parse_str(text).ok().map(Value::Uuid),
        _ => BASE64.decode(text).ok().map(|bytes| Value::Bytes(bytes.into())),
    };
    value.ok_or_else(|| format!("`{}` is not {}", shortened(text), takes(name)))
}

fn takes(name: &str) -> &'static str {
    match name {
        "datetime" | "DateTime" => "a date and time such as '2024-02-29T10:11:12Z'",
        "Date" => "a day such as '2024-02-29'",
        "Duration" => "a duration such as 'PT1H30M'",
        "UUID" => "a UUID such as 'c2d7a8f0-5b1e-4f6e-9f3a-1d2b3c4d5e6f'",
        _ => "bytes in base64",
    }
}

/// A time in ISO 8601. A month alone, and offsets without colons, are accepted too.
pub(super) fn date_time(text: &str) -> Option<DateTime> {
    let month_alone = text.len() == 7 && text.as_bytes().get(4) == Some(&b'-');
    let value = if month_alone { DateTime::parse(&format!("{text}-01")) } else { DateTime::parse(text) };
    value.filter(|value| value.timestamp().is_some())
}

pub(super) fn duration(text: &str) -> Option<Duration> {
    Duration::parse(text)
}

fn seconds_and_nanos(seconds: &Value, nanos: &Value) -> Result<Value, String> {
    let nanos = nanos.as_i64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n < 1_000_000_000);
    match (seconds.as_i64(), nanos) {
        (Some(seconds), Some(nanos)) => Ok(Value::Duration(Duration { seconds, nanos })),
        _ => Err("Duration takes whole seconds, and nanoseconds below 1000000000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_give_types() {
        let big = |text: &str| Value::BigInt(Arc::new(text.parse().unwrap()));
        let cases = [
            ("7", "", Value::Int32(7)),
            ("-2147483648", "", Value::Int32(i32::MIN)),
            ("2147483648", "", Value::Int64(1 << 31)),
            ("9_223_372_036_854_775_807", "", Value::Int64(i64::MAX)),
            ("9223372036854775808", "", big("9223372036854775808")),
            ("-128", "b", Value::Int8(-128)),
            ("+5", "S", Value::Int16(5)),
            ("5", "i", Value::Int32(5)),
            ("5", "L", Value::Int64(5)),
            ("5", "n", big("5")),
            ("0x1F", "", Value::Int32(31)),
            ("-0xff", "l", Value::Int64(-255)),
            ("017", "", Value::Int32(15)),
            ("0", "", Value::Int32(0)),
            ("1.5", "", Value::Float64(1.5)),
            ("1e3", "", Value::Float64(1000.0)),
            ("1", "d", Value::Float64(1.0)),
            ("1.5", "F", Value::Float32(1.5)),
            ("1.50", "m", Value::Decimal(Arc::new("1.5".parse().unwrap()))),
            ("-Infinity", "", Value::Float64(f64::NEG_INFINITY)),
        ];
        for (digits, suffix, value) in cases {
            assert_eq!(number(digits, suffix), Ok(value), "{digits}{suffix}");
        }
    }

    #[test]
    fn numbers_that_are_none_say_why() {
        let long = "1".repeat(DIGITS_MAX + 1);
        let cases = [
            ("128", "b", "128 does not fit a byte"),
            ("3000000000", "i", "does not fit an int"),
            ("09", "", "octal"),
            ("1", "x", "cannot be followed by `x`"),
            ("1.5", "l", "not a suffix for fractions"),
            ("1_", "", "between digits"),
            ("1e999", "", "too large"),
            ("1e99999999999999999999", "m", "not a decimal"),
            ("1e999999", "m", "exponent"),
            (&long, "", "at most"),
            ("Infinity", "f", "no suffix"),
        ];
        for (digits, suffix, reason) in cases {
            let error = number(digits, suffix).unwrap_err();
            assert!(error.contains(reason), "{digits}{suffix}: {error}");
        }
    }

    #[test]
    fn calls_give_dates_and_ids() {
        let text = |name: &str, text: &str| call(name, &[text.into()]).map(|v| v.to_string());
        assert_eq!(text("datetime", "2023-08").unwrap(), "2023-08-01T00:00:00Z");
        assert_eq!(text("DateTime", "2018-03-22T00:35:44.741+1600").unwrap(), "2018-03-22T00:35:44.741+16:00");
        assert_eq!(text("Date", "2024-02-29").unwrap(), "2024-02-29");
        assert_eq!(text("Duration", "P1DT2H").unwrap(), "PT26H");
        assert!(text("UUID", "nope").unwrap_err().contains("is not a UUID"));
        assert!(matches!(call("UUID", &[]), Ok(Value::Uuid(_))));
        assert!(matches!(call("datetime", &[]), Ok(Value::DateTime(_))));
        assert!(call("Date", &[Value::Int32(1)]).is_err());
        assert_eq!(call("Binary", &["/wD+AQ==".into()]), Ok(Value::Bytes([0xff, 0, 0xfe, 1].into())));
        assert!(text("Binary", "Zg=").unwrap_err().contains("base64"));
    }
}
