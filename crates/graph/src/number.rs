//! Numbers of any size, within bounds.
//!
//! A bigint or a decimal of a few characters (`1e999999999`) can stand for gigabytes of digits. Printing, comparing or computing
//! would create all of them. So numbers have a bound: beyond what any quantity needs, and below what does harm. Every reader makes
//! its numbers here. Arithmetic checks its results against the same bound.

use std::str::FromStr;

use bigdecimal::BigDecimal;
use bigdecimal::num_traits::ToPrimitive;
use num_bigint::BigInt;
use thiserror::Error;

use crate::value::{Value, ValueType};

/// Most digits of a bigint or a decimal. Also the largest exponent of a decimal, positive or negative.
pub const DIGITS_MAX: usize = 10_000;
/// Bits that `DIGITS_MAX` digits take.
const BITS_MAX: u64 = 33_220;

/// Why a text or a result is not a number we accept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NumberError {
    #[error("`{0}` is not a whole number")]
    NotWhole(String),
    #[error("`{0}` is not a decimal")]
    NotDecimal(String),
    #[error("a number has at most {DIGITS_MAX} digits")]
    Digits,
    #[error("the exponent of a decimal is between -{DIGITS_MAX} and {DIGITS_MAX}")]
    Exponent,
}

/// Reads a whole number, in decimal digits.
pub fn big_int(text: &str) -> Result<BigInt, NumberError> {
    // Check the length before parsing: parsing takes time quadratic in the digits.
    if text.len() > DIGITS_MAX + 1 {
        return Err(NumberError::Digits);
    }
    let int = BigInt::from_str(text).map_err(|_| NumberError::NotWhole(shortened(text)))?;
    bounded_int(int)
}

/// Reads a decimal: digits, a fraction, an exponent.
pub fn decimal(text: &str) -> Result<BigDecimal, NumberError> {
    if text.len() > DIGITS_MAX + 20 {
        return Err(NumberError::Digits);
    }
    let decimal = BigDecimal::from_str(text).map_err(|_| NumberError::NotDecimal(shortened(text)))?;
    bounded_decimal(decimal)
}

/// The number, if it is within bounds.
pub fn bounded_int(int: BigInt) -> Result<BigInt, NumberError> {
    check_int(&int).map(|()| int)
}

/// Whether the number is within bounds.
pub fn check_int(int: &BigInt) -> Result<(), NumberError> {
    if int.bits() > BITS_MAX { Err(NumberError::Digits) } else { Ok(()) }
}

/// The number, if it is within bounds.
pub fn bounded_decimal(decimal: BigDecimal) -> Result<BigDecimal, NumberError> {
    check_decimal(&decimal).map(|()| decimal)
}

/// Whether the number is within bounds.
pub fn check_decimal(decimal: &BigDecimal) -> Result<(), NumberError> {
    let (digits, scale) = decimal.as_bigint_and_scale();
    if digits.bits() > BITS_MAX {
        return Err(NumberError::Digits);
    }
    if scale.unsigned_abs() > DIGITS_MAX as u64 { Err(NumberError::Exponent) } else { Ok(()) }
}

/// The same number in another type; `None` if that type cannot hold it exactly.
pub fn exactly(value: &Value, wanted: ValueType) -> Option<Value> {
    if value.value_type() == wanted {
        return Some(value.clone());
    }
    match value {
        Value::Float32(_) | Value::Float64(_) => {
            let float = value.as_f64()?;
            match wanted {
                ValueType::Float64 => Some(Value::Float64(float)),
                ValueType::Float32 => {
                    (f64::from(float as f32) == float || float.is_nan()).then_some(Value::Float32(float as f32))
                }
                _ if float.fract() == 0.0 && float.abs() < 1e18 => whole(float as i128, wanted),
                _ => None,
            }
        }
        Value::BigInt(int) => whole(int.to_i128()?, wanted),
        other => whole(i128::from(other.as_i64()?), wanted),
    }
}

fn whole(int: i128, wanted: ValueType) -> Option<Value> {
    Some(match wanted {
        ValueType::Int8 => Value::Int8(int.try_into().ok()?),
        ValueType::Int16 => Value::Int16(int.try_into().ok()?),
        ValueType::Int32 => Value::Int32(int.try_into().ok()?),
        ValueType::Int64 => Value::Int64(int.try_into().ok()?),
        ValueType::Float32 => Value::Float32((int as f32 as i128 == int).then_some(int as f32)?),
        ValueType::Float64 => Value::Float64((int as f64 as i128 == int).then_some(int as f64)?),
        ValueType::BigInt => Value::from(BigInt::from(int)),
        ValueType::Decimal => Value::from(BigDecimal::from(int)),
        _ => return None,
    })
}

/// Most zeros written out before an exponent replaces them.
const ZEROS_MAX: i64 = 40;

/// The decimal as people write it, with an exponent where it would need many zeros.
pub fn text(decimal: &BigDecimal) -> String {
    match decimal.as_bigint_and_scale() {
        (_, scale) if (-ZEROS_MAX..=0).contains(&scale) => decimal.to_plain_string(),
        (digits, scale) if scale < 0 => with_exponent(&digits, scale),
        (digits, scale) if scale > digits.bits() as i64 + ZEROS_MAX => with_exponent(&digits, scale),
        _ => decimal.to_plain_string(),
    }
}

/// The decimal as text that keeps its exact scale: `1.50`, and `15E1` instead of `150`.
pub fn text_with_scale(decimal: &BigDecimal) -> String {
    match decimal.as_bigint_and_scale() {
        (digits, scale) if scale < 0 => with_exponent(&digits, scale),
        _ => text(decimal),
    }
}

fn with_exponent(digits: &BigInt, scale: i64) -> String {
    format!("{digits}E{}", -i128::from(scale))
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_change_their_type_only_if_nothing_is_lost() {
        let exact = |value: Value, wanted| exactly(&value, wanted);
        assert_eq!(exact(Value::Int64(5), ValueType::Int32), Some(Value::Int32(5)));
        assert_eq!(exact(Value::Int32(5), ValueType::Float64), Some(Value::Float64(5.0)));
        assert_eq!(exact(Value::Float64(31.0), ValueType::Int64), Some(Value::Int64(31)));
        assert_eq!(exact(Value::Int32(5), ValueType::Decimal), Some(Value::from(BigDecimal::from(5))));
        assert_eq!(exact(Value::Float64(0.5), ValueType::Float32), Some(Value::Float32(0.5)));
        for (value, wanted) in [
            (Value::Int64(1 << 40), ValueType::Int32),
            (Value::Int64((1 << 53) + 1), ValueType::Float64),
            (Value::Int64(i64::MAX), ValueType::Float64),
            (Value::Float64(0.1), ValueType::Float32),
            (Value::Float64(1.5), ValueType::Int64),
            (Value::Float64(f64::NAN), ValueType::Int64),
            (Value::Float64(1e300), ValueType::Int64),
            (Value::Int32(1), ValueType::String),
            (Value::string("5"), ValueType::Int64),
        ] {
            assert_eq!(exactly(&value, wanted), None, "{value:?} {wanted}");
        }
    }

    #[test]
    fn numbers_are_read_within_bounds() {
        let long = "9".repeat(DIGITS_MAX);
        assert_eq!(big_int(&long).unwrap().to_string(), long);
        assert_eq!(decimal(&format!("-{long}")).unwrap().to_plain_string(), format!("-{long}"));
        assert_eq!(big_int(&format!("{long}00")), Err(NumberError::Digits));
        assert_eq!(decimal(&format!("{long}.{long}")), Err(NumberError::Digits));
        assert_eq!(big_int("1.5"), Err(NumberError::NotWhole("1.5".into())));
        assert_eq!(decimal("one"), Err(NumberError::NotDecimal("one".into())));
        for far in ["1e10001", "1e-10001", "1e999999999", "-1e-9999999999"] {
            assert_eq!(decimal(far), Err(NumberError::Exponent), "{far}");
        }
        assert_eq!(bounded_int(BigInt::from(1) << 40_000u32), Err(NumberError::Digits));
    }

    #[test]
    fn no_text_is_much_longer_than_its_digits_and_each_reads_as_it_was() {
        for (number, shown) in [
            ("1.50", "1.50"),
            ("-0.001", "-0.001"),
            ("15e3", "15000"),
            ("1e40", &format!("1{}", "0".repeat(40))),
            ("1e41", "1E41"),
            ("-12e9000", "-12E9000"),
            ("1.2e-9000", "12E-9001"),
            ("0e-5000", "0E-5000"),
        ] {
            let decimal = decimal(number).unwrap();
            assert_eq!(text(&decimal), shown, "{number}");
            let again = super::decimal(&text_with_scale(&decimal)).unwrap();
            assert_eq!(again.as_bigint_and_scale(), decimal.as_bigint_and_scale(), "{number}");
        }
        // A program can make numbers beyond the bounds. They must still print.
        assert_eq!(text(&BigDecimal::new(7.into(), i64::MIN)), "7E9223372036854775808");
    }
}
