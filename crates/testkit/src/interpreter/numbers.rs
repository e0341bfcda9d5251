//! Arithmetic as in TinkerPop's `NumberHelper`. A result has the widest type of its operands. It is a float if one of them is. An
//! integer that does not fit gets the next wider type. Numbers of unbounded size are not covered.

use std::cmp::Ordering;

use mangrove_graph::{Map, Value, compare};
use mangrove_query::plan::{Operator, Reduction};

use super::{Failure, Result};

#[derive(Clone, Copy)]
pub(super) enum Sign {
    Plus,
    Minus,
    Times,
    Over,
}

/// The bits of a number's type, and whether it is a float.
fn shape(value: &Value) -> Result<(u32, bool)> {
    Ok(match value {
        Value::Int8(_) => (8, false),
        Value::Int16(_) => (16, false),
        Value::Int32(_) => (32, false),
        Value::Int64(_) => (64, false),
        Value::Float32(_) => (32, true),
        Value::Float64(_) => (64, true),
        Value::BigInt(_) | Value::Decimal(_) => return Err(Failure::Uncovered("unbounded number".into())),
        other => return Err(Failure::met("arithmetic", other)),
    })
}

fn common(a: &Value, b: &Value) -> Result<(u32, bool)> {
    let ((a_bits, a_fraction), (b_bits, b_fraction)) = (shape(a)?, shape(b)?);
    Ok((a_bits.max(b_bits), a_fraction || b_fraction))
}

/// The integer in the first type of at least `bits` bits that holds it.
fn whole(number: i128, bits: u32) -> Result<Value> {
    Ok(if bits <= 8 && i8::try_from(number).is_ok() {
        Value::Int8(number as i8)
    } else if bits <= 16 && i16::try_from(number).is_ok() {
        Value::Int16(number as i16)
    } else if bits <= 32 && i32::try_from(number).is_ok() {
        Value::Int32(number as i32)
    } else if i64::try_from(number).is_ok() {
        Value::Int64(number as i64)
    } else {
        return Err(Failure::value("a sum beyond 64 bits"));
    })
}

fn integer(value: &Value) -> i128 {
    value.as_i64().unwrap_or_default().into()
}

fn double(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Null gives way to the other operand.
pub(super) fn calculate(sign: Sign, a: &Value, b: &Value) -> Result<Value> {
    match (a.is_null(), b.is_null()) {
        (true, _) => return Ok(b.clone()),
        (_, true) => return Ok(a.clone()),
        _ => {}
    }
    let (bits, fraction) = common(a, b)?;
    if !fraction {
        let (a, b) = (integer(a), integer(b));
        let exact = match sign {
            Sign::Plus => a + b,
            Sign::Minus => a - b,
            Sign::Times => a * b,
            Sign::Over if b == 0 => return Err(Failure::value("division by zero")),
            Sign::Over => a / b,
        };
        return whole(exact, bits);
    }
    // A double that holds the result of a float operation rounds to the right float: IEEE 754 has bits enough to spare.
    let (x, y) = match bits {
        ..=32 => (f64::from(double(a) as f32), f64::from(double(b) as f32)),
        _ => (double(a), double(b)),
    };
    let result = match sign {
        Sign::Plus => x + y,
        Sign::Minus => x - y,
        Sign::Times => x * y,
        Sign::Over => x / y,
    };
    Ok(if bits <= 32 { Value::Float32(result as f32) } else { Value::Float64(result) })
}

/// The lesser or the greater of two values. Numbers are compared in their common type.
fn extreme(wanted: Ordering, a: &Value, b: &Value) -> Result<Value> {
    if a.is_null() || b.is_null() {
        return Ok(if a.is_null() { b.clone() } else { a.clone() });
    }
    let Some(ordering) = compare::compare(a, b) else {
        return match (double(a).is_nan() && a.is_number(), double(b).is_nan() && b.is_number()) {
            (true, _) => Ok(b.clone()),
            (_, true) => Ok(a.clone()),
            _ => Err(Failure::met("a comparison", b)),
        };
    };
    let chosen = if ordering == wanted.reverse() { b } else { a };
    if !a.is_number() {
        return Ok(chosen.clone());
    }
    match common(a, b)? {
        (..=32, true) => Ok(Value::Float32(double(chosen) as f32)),
        (_, true) => Ok(Value::Float64(double(chosen))),
        (bits, false) => whole(integer(chosen), bits),
    }
}

pub(super) fn apply(operator: Operator, a: &Value, b: &Value) -> Result<Value> {
    match operator {
        Operator::Sum => calculate(Sign::Plus, a, b),
        Operator::Minus => calculate(Sign::Minus, a, b),
        Operator::Mult => calculate(Sign::Times, a, b),
        Operator::Div => calculate(Sign::Over, a, b),
        Operator::Min => extreme(Ordering::Less, a, b),
        Operator::Max => extreme(Ordering::Greater, a, b),
        Operator::Assign => Ok(b.clone()),
        Operator::And | Operator::Or => match (a.as_bool(), b.as_bool()) {
            (Some(a), Some(b)) => Ok(Value::Bool(if operator == Operator::And { a && b } else { a || b })),
            _ => Err(Failure::met("a logical operator", b)),
        },
        Operator::AddAll => add_all(a, b),
        Operator::SumLong => match calculate(Sign::Plus, a, b)?.as_i64() {
            Some(sum) => Ok(Value::Int64(sum)),
            None => Err(Failure::met("sumLong", b)),
        },
    }
}

fn add_all(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Null, other) | (other, Value::Null) => Ok(other.clone()),
        (Value::Map(a), Value::Map(b)) => {
            let mut all = Map::clone(a);
            b.iter().for_each(|(key, value)| all.insert(key.clone(), value.clone()));
            Ok(Value::map(all))
        }
        _ => match (a.items(), b.items()) {
            (Some(mine), Some(more)) => {
                let all = mine.into_iter().chain(more);
                Ok(if let Value::Set(_) = a { Value::set(all) } else { Value::list(all.collect()) })
            }
            _ => Err(Failure::met("addAll", b)),
        },
    }
}

/// A running `count`, `sum`, `min`, `max` or `mean`.
pub(super) struct Reduced {
    reduction: Reduction,
    all: i64,
    /// The number of values that are not null.
    counted: u64,
    /// The sum of the integers and the bits of their widest type.
    integers: Option<(i128, u32)>,
    /// The sum of the other numbers, or the extreme so far.
    value: Option<Value>,
}

impl Reduced {
    pub(super) fn new(reduction: Reduction) -> Self {
        Self { reduction, all: 0, counted: 0, integers: None, value: None }
    }

    pub(super) fn add(&mut self, value: &Value) -> Result<()> {
        self.all += 1;
        self.counted += u64::from(!value.is_null());
        let operator = match self.reduction {
            Reduction::Count => return Ok(()),
            Reduction::Sum | Reduction::Mean => Operator::Sum,
            Reduction::Min => Operator::Min,
            Reduction::Max => Operator::Max,
        };
        if operator == Operator::Sum && !value.is_null() {
            // The first value must be a number too.
            let (bits, is_fraction) = shape(value)?;
            if !is_fraction {
                let (sum, widest) = self.integers.unwrap_or_default();
                self.integers = Some((sum + integer(value), widest.max(bits)));
                return Ok(());
            }
        }
        let before = self.value.take().unwrap_or_default();
        self.value = Some(apply(operator, &before, value)?);
        Ok(())
    }

    /// The result; `None` if there was nothing to reduce. A count is 0 then.
    pub(super) fn finish(self) -> Result<Option<Value>> {
        let value = match self.integers {
            None => self.value,
            // A sum beyond 64 bits can still be added to a fraction.
            Some((sum, bits)) => Some(match (whole(sum, bits), self.value.unwrap_or_default()) {
                (Err(_), value) if !value.is_null() => Value::Float64(double(&value) + sum as f64),
                (sum, value) => calculate(Sign::Plus, &value, &sum?)?,
            }),
        };
        Ok(match (self.reduction, value) {
            (Reduction::Count, _) => Some(Value::Int64(self.all)),
            (Reduction::Mean, Some(sum)) if self.counted > 0 => Some(Value::Float64(double(&sum) / self.counted as f64)),
            (_, value) => value,
        })
    }
}
