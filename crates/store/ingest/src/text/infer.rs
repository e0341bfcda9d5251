//! Infers the type of a column of text.
//!
//! ```text
//!            bool
//! nothing <  int64 < double        < string
//!            date  < datetime
//! ```
//!
//! A column gets the narrowest type that holds every value of its sample. It widens when a later value needs it, to the next type
//! above both. If no type but string is above both, it becomes string. A value counts as
//! * bool: `true` or `false`, in any one case (`True`, `TRUE`);
//! * int64: decimal digits with an optional minus, in range, without leading zeros (`007` and `+49` are text, not numbers);
//! * double: a decimal fraction or exponent, or `NaN`, `Infinity`, `inf`, `-inf` and the like;
//! * date: `2024-02-29`; datetime: such a date with `T` or a space and a time, with or without an offset;
//! * string: everything else.
//!
//! Spaces around values do not count, except for strings. Blank fields do not affect the type.

use mangrove_graph::{Date, DateTime, ValueType};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Inferred {
    /// No value seen yet.
    #[default]
    Nothing,
    Bool,
    Int,
    Double,
    Date,
    DateTime,
    Text,
}

impl Inferred {
    /// The narrowest type of a field that is not blank.
    pub fn of(field: &[u8]) -> Self {
        let field = field.trim_ascii();
        match field.first() {
            None => Inferred::Nothing,
            Some(b'0'..=b'9' | b'-' | b'.') => Self::of_number(field),
            Some(b't' | b'T' | b'f' | b'F') if parse_bool(field).is_some() => Inferred::Bool,
            Some(b'n' | b'N' | b'i' | b'I') if parse_special(field).is_some() => Inferred::Double,
            Some(_) => Inferred::Text,
        }
    }

    fn of_number(field: &[u8]) -> Self {
        if parse_int(field).is_some() {
            return Inferred::Int;
        }
        if is_date_like(field) {
            return match std::str::from_utf8(field) {
                Ok(text) if Date::parse(text).is_some() => Inferred::Date,
                Ok(text) if field.len() > 10 && DateTime::parse(text).is_some() => Inferred::DateTime,
                _ => Inferred::Text,
            };
        }
        let written_as_fraction = field.iter().any(|b| matches!(b, b'.' | b'e' | b'E' | b'n'));
        if written_as_fraction && !has_leading_zeros(field) && parse_double(field).is_some() {
            return Inferred::Double;
        }
        Inferred::Text
    }

    /// The narrowest type that holds all values of both types.
    pub fn join(self, other: Self) -> Self {
        use Inferred::*;
        match (self.min(other), self.max(other)) {
            (Nothing, other) => other,
            (a, b) if a == b => a,
            (Int, Double) => Double,
            (Date, DateTime) => DateTime,
            _ => Text,
        }
    }

    pub fn value_type(self) -> ValueType {
        match self {
            Inferred::Bool => ValueType::Bool,
            Inferred::Int => ValueType::Int64,
            Inferred::Double => ValueType::Float64,
            Inferred::Date => ValueType::Date,
            Inferred::DateTime => ValueType::DateTime,
            Inferred::Nothing | Inferred::Text => ValueType::String,
        }
    }

    /// The inferred type for a value type; `None` if inference never gives that type.
    pub fn from_value_type(t: ValueType) -> Option<Self> {
        [Inferred::Bool, Inferred::Int, Inferred::Double, Inferred::Date, Inferred::DateTime, Inferred::Text]
            .into_iter()
            .find(|i| i.value_type() == t)
    }
}

fn is_date_like(field: &[u8]) -> bool {
    field.len() >= 10
        && field[4] == b'-'
        && field[7] == b'-'
        && field[..4].iter().all(u8::is_ascii_digit)
        && matches!(field.get(10), None | Some(b'T' | b't' | b' '))
}

fn has_leading_zeros(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

/// Reads an integer in the form that this loader writes: no plus, no leading zeros, no `-0`.
pub fn parse_int(field: &[u8]) -> Option<i64> {
    let (negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 19 || (digits[0] == b'0' && (digits.len() > 1 || negative)) {
        return None;
    }
    let mut value: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit); // 19 digits fit
    }
    match negative {
        false => i64::try_from(value).ok(),
        true => 0i64.checked_sub_unsigned(value),
    }
}

pub fn parse_bool(field: &[u8]) -> Option<bool> {
    match field {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// The nearest double; `None` if the number is beyond the range of doubles.
pub fn parse_double(field: &[u8]) -> Option<f64> {
    match field.iter().find(|b| b.is_ascii_alphabetic()) {
        None | Some(b'e' | b'E') => fast_float2::parse(field).ok().filter(|double: &f64| double.is_finite()),
        Some(_) => parse_special(field),
    }
}

fn parse_special(field: &[u8]) -> Option<f64> {
    let (sign, word) = match field {
        [b'-', word @ ..] => (-1.0, word),
        word => (1.0, word),
    };
    match word {
        b"NaN" | b"nan" => Some(f64::NAN),
        b"Infinity" | b"inf" | b"Inf" | b"INF" => Some(sign * f64::INFINITY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_narrowest_type_that_loses_nothing() {
        let types = |fields: &[&str]| fields.iter().map(|f| Inferred::of(f.as_bytes())).collect::<Vec<_>>();
        use Inferred::*;
        assert_eq!(types(&["0", "-12", " 7 ", "9223372036854775807", "-9223372036854775808"]), [Int; 5]);
        assert_eq!(types(&["007", "+49", "-0", "9223372036854775808", "1 2", "12a", "-", "00.5"]), [Text; 8]);
        assert_eq!(types(&["1.5", "-.5", "1e3", "NaN", "-inf", "Infinity"]), [Double; 6]);
        assert_eq!(types(&["true", "FALSE", "tRUE", "t"]), [Bool, Bool, Text, Text]);
        assert_eq!(types(&["2024-02-29", "2024-02-30", "20240229"]), [Date, Text, Int]);
        assert_eq!(
            types(&["2024-02-29T10:11:12Z", "2024-02-29 10:11:12.5+02:00", "2024-02-29Tx"]),
            [DateTime, DateTime, Text]
        );
    }

    #[test]
    fn widening_goes_one_way_only() {
        use Inferred::*;
        let all = [Nothing, Bool, Int, Double, Date, DateTime, Text];
        for a in all {
            for b in all {
                assert_eq!(a.join(b), b.join(a));
                assert_eq!(a.join(b).join(a), a.join(b));
            }
        }
        assert_eq!((Int.join(Double), Int.join(Date), Bool.join(Int)), (Double, Text, Text));
    }
}
