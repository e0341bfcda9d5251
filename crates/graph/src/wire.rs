//! How values and predicates travel between processes.
//!
//! Their serialisation is derived. This module has what cannot be derived: numbers of any size, choices, regular expressions, and a
//! bound on the depth. Whoever reads bytes of others needs no more stack and memory than for values that a query may make.

use std::cell::Cell;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Collections within collections, trees and predicates may nest this deep, all together.
pub const DEPTH_MAX: u32 = 256;

/// The most regular expressions in what is read at once. Each takes up to a megabyte.
const REGEXES_MAX: u32 = 128;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static REGEXES: Cell<u32> = const { Cell::new(0) };
}

/// Reads something whole. Within it, what takes much memory is counted.
pub fn reading<T>(work: impl FnOnce() -> T) -> T {
    REGEXES.set(0);
    work()
}

/// Counts one level while it lives.
struct Level;

impl Level {
    fn enter<E: Error>() -> Result<Self, E> {
        DEPTH.set(DEPTH.get() + 1);
        let level = Self;
        if DEPTH.get() > DEPTH_MAX { Err(E::custom("values are nested too deep")) } else { Ok(level) }
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Reads what may contain more of its kind. `work` reads one level.
pub fn one_deeper<T, E: Error>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let _level = Level::enter()?;
    work()
}

/// For fields that may contain more of their kind.
pub mod deeper {
    use super::*;

    pub fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        one_deeper(|| T::deserialize(from))
    }
}

/// Whole numbers of any size, as text.
pub mod big_int {
    use num_bigint::BigInt;

    use super::*;

    pub fn serialize<S: Serializer>(int: &Arc<BigInt>, to: S) -> Result<S::Ok, S::Error> {
        int.to_string().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<BigInt>, D::Error> {
        crate::number::big_int(&String::deserialize(from)?).map(Arc::new).map_err(D::Error::custom)
    }
}

/// Decimals: their digits as a whole number in text, and how many of these stand behind the point.
pub mod decimal {
    use bigdecimal::BigDecimal;

    use super::*;

    pub fn serialize<S: Serializer>(decimal: &Arc<BigDecimal>, to: S) -> Result<S::Ok, S::Error> {
        let (digits, scale) = decimal.as_bigint_and_scale();
        (digits.to_string(), scale).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<BigDecimal>, D::Error> {
        let (digits, scale) = <(String, i64)>::deserialize(from)?;
        let decimal = BigDecimal::new(crate::number::big_int(&digits).map_err(D::Error::custom)?, scale);
        crate::number::bounded_decimal(decimal).map(Arc::new).map_err(D::Error::custom)
    }
}

pub mod choices {
    use super::*;
    use crate::choices::Choices;
    use crate::value::Value;

    pub fn serialize<S: Serializer>(choices: &Choices, to: S) -> Result<S::Ok, S::Error> {
        let values: &[Value] = choices;
        values.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Choices, D::Error> {
        one_deeper(|| Vec::<Value>::deserialize(from)).map(Choices::from)
    }
}

/// Regular expressions, as the text they were made of.
pub mod regex {
    use ::regex::Regex;

    use super::*;

    pub fn serialize<S: Serializer>(regex: &Regex, to: S) -> Result<S::Ok, S::Error> {
        regex.as_str().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Regex, D::Error> {
        REGEXES.set(REGEXES.get() + 1);
        if REGEXES.get() > REGEXES_MAX {
            return Err(D::Error::custom("too many regular expressions"));
        }
        crate::predicate::regex(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}
