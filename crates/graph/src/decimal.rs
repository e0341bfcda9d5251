//! Decimals of any size a person means, and of none that hurts.
//!
//! A decimal is digits and an exponent, so a few characters can stand for more digits than there is memory. Whatever reads one
//! goes through [`parse`] or [`bounded`], whatever computes one through [`bounded`], and whatever shows one through [`text`].

use std::str::FromStr;

use bigdecimal::BigDecimal;

/// Exponents of decimals: beyond what any quantity needs, below what hurts.
pub const EXPONENT_MAX: u64 = 10_000;
/// Bits of a whole number, and of a decimal's digits, that arithmetic may make: about 79,000 digits.
pub const BITS_MAX: u64 = 1 << 18;
/// Zeros a decimal is written out with; where it takes more, it is shown with an exponent.
const ZEROS_MAX: u64 = 100;

/// The decimal, unless its exponent or its digits are too many.
pub fn bounded(decimal: BigDecimal) -> Option<BigDecimal> {
    let (digits, scale) = decimal.as_bigint_and_scale();
    let fits = scale.unsigned_abs() <= EXPONENT_MAX && digits.bits() <= BITS_MAX;
    fits.then_some(decimal)
}

/// The decimal of this text, unless it is too large or too fine.
pub fn parse(text: &str) -> Option<BigDecimal> {
    BigDecimal::from_str(text).ok().and_then(bounded)
}

/// Digits in full where few zeros are needed for it, else with an exponent.
pub fn text(decimal: &BigDecimal) -> String {
    let scale = decimal.fractional_digit_count();
    let zeros = if scale < 0 { scale.unsigned_abs() } else { scale.unsigned_abs().saturating_sub(decimal.digits()) };
    if zeros <= ZEROS_MAX { decimal.to_plain_string() } else { decimal.to_scientific_notation() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_characters_never_stand_for_many_digits() {
        for huge in ["1e999999999", "1e-999999999", "1e10001", "-7e123456789012"] {
            assert_eq!(parse(huge), None, "{huge}");
            assert!(text(&BigDecimal::from_str(huge).unwrap()).len() < 40, "{huge}");
        }
        assert_eq!(parse("one"), None);
        assert!(parse(&"9".repeat(100_000)).is_none());
    }

    #[test]
    fn usual_decimals_are_written_out() {
        for plain in ["1.50", "-0.001", "0.00000000000000000001", "123456789012345678901234567890"] {
            assert_eq!(text(&parse(plain).unwrap()), plain);
        }
        assert_eq!(text(&parse("1e40").unwrap()), format!("1{}", "0".repeat(40)));
        assert_eq!(parse(&text(&parse("-1.25e9000").unwrap())), parse("-1.25e9000"));
    }
}
