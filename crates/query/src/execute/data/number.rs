//! Arithmetic over values, as in TinkerPop's `NumberHelper`. The result has the widest type of the operands. It is a float if one
//! of them is. An integer that would overflow gets the next wider type.

use std::cmp::Ordering;
use std::sync::Arc;

use mangrove_graph::number::{self, NumberError};
use mangrove_graph::{BigDecimal, BigInt, Map, Value, ValueType, compare};

use crate::error::{QueryError, Result};
use crate::execute::data::words::described;
use crate::plan::Operator;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
}

fn bits(t: ValueType) -> u32 {
    match t {
        ValueType::Int8 => 8,
        ValueType::Int16 => 16,
        ValueType::Int32 | ValueType::Float32 => 32,
        ValueType::Int64 | ValueType::Float64 => 64,
        _ => 128,
    }
}

fn is_float(t: ValueType) -> bool {
    matches!(t, ValueType::Float32 | ValueType::Float64 | ValueType::Decimal)
}

/// The type of the result of an operation on both.
pub fn common_type(a: ValueType, b: ValueType) -> ValueType {
    let float = is_float(a) || is_float(b);
    match (bits(a).max(bits(b)), float) {
        (..=32, true) => ValueType::Float32,
        (64, true) => ValueType::Float64,
        (_, true) => ValueType::Decimal,
        (8, false) => ValueType::Int8,
        (16, false) => ValueType::Int16,
        (32, false) => ValueType::Int32,
        (64, false) => ValueType::Int64,
        (_, false) => ValueType::BigInt,
    }
}

pub fn arithmetic(op: Arithmetic, a: &Value, b: &Value) -> Result<Value> {
    match (a.is_null(), b.is_null()) {
        (true, _) => return Ok(b.clone()),
        (_, true) => return Ok(a.clone()),
        _ => {}
    }
    if !a.is_number() || !b.is_number() {
        let odd = if a.is_number() { b } else { a };
        return Err(QueryError::value(format!("the {} is not a number", described(odd))));
    }
    match common_type(a.value_type(), b.value_type()) {
        ValueType::Float32 => {
            let (a, b) = (a.as_f64().unwrap_or(0.0) as f32, b.as_f64().unwrap_or(0.0) as f32);
            Ok(Value::Float32(float(op, a, b)))
        }
        ValueType::Float64 => Ok(Value::Float64(float(op, a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0)))),
        ValueType::Decimal => decimals(op, a, b),
        ValueType::BigInt => bigs(op, a, b),
        t => integers(op, a.as_i64().unwrap_or(0), b.as_i64().unwrap_or(0), t),
    }
}

fn float<T>(op: Arithmetic, a: T, b: T) -> T
where
    T: std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Mul<Output = T> + std::ops::Div<Output = T>,
{
    match op {
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a - b,
        Arithmetic::Mul => a * b,
        Arithmetic::Div => a / b,
    }
}

fn by_zero() -> QueryError {
    QueryError::value("/ by zero")
}

fn beyond_bounds(error: NumberError) -> QueryError {
    QueryError::value(format!("the result is out of bounds: {error}"))
}

fn integers(op: Arithmetic, a: i64, b: i64, t: ValueType) -> Result<Value> {
    let (a, b) = (i128::from(a), i128::from(b));
    let exact = match op {
        Arithmetic::Div if b == 0 => return Err(by_zero()),
        Arithmetic::Div => a / b,
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a - b,
        Arithmetic::Mul => a * b,
    };
    narrowest(exact, t).ok_or_else(overflow)
}

/// An integer of up to 64 bits.
pub fn small_integer(value: &Value) -> Option<i64> {
    if value.value_type() <= ValueType::Int64 && value.value_type().is_integer() { value.as_i64() } else { None }
}

/// `n * integer`, exact.
pub fn product(integer: i64, n: u64) -> Result<i128> {
    i128::from(integer).checked_mul(n.into()).ok_or_else(overflow)
}

/// The integer in type `t`, or in the next wider type that holds it.
pub fn narrowest(exact: i128, t: ValueType) -> Option<Value> {
    if t <= ValueType::Int8
        && let Ok(v) = i8::try_from(exact)
    {
        return Some(Value::Int8(v));
    }
    if t <= ValueType::Int16
        && let Ok(v) = i16::try_from(exact)
    {
        return Some(Value::Int16(v));
    }
    if t <= ValueType::Int32
        && let Ok(v) = i32::try_from(exact)
    {
        return Some(Value::Int32(v));
    }
    i64::try_from(exact).ok().map(Value::Int64)
}

/// A number, or null, plus a sum of integers of which `widest` is the widest type.
pub fn with_integers(value: Value, sum: i128, widest: ValueType) -> Result<Value> {
    match (narrowest(sum, widest), &value) {
        (Some(sum), _) => arithmetic(Arithmetic::Add, &value, &sum),
        (None, Value::Null) => Err(overflow()),
        (None, Value::Float32(_) | Value::Float64(_)) => Ok(Value::Float64(value.as_f64().unwrap_or(f64::NAN) + sum as f64)),
        (None, _) => arithmetic(Arithmetic::Add, &value, &Value::from(BigInt::from(sum))),
    }
}

fn decimals(op: Arithmetic, a: &Value, b: &Value) -> Result<Value> {
    let (Some(x), Some(y)) = (compare::decimal(a), compare::decimal(b)) else {
        // Infinities and NaN have no decimal form.
        return Ok(Value::Float64(float(op, a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN))));
    };
    // A parameter may hold any decimal.
    [&x, &y].into_iter().try_for_each(number::check_decimal).map_err(beyond_bounds)?;
    let exact = match op {
        Arithmetic::Div if y == 0 => return Err(by_zero()),
        Arithmetic::Div => (x / y).with_prec(34).normalized(),
        Arithmetic::Add => x + y,
        Arithmetic::Sub => x - y,
        Arithmetic::Mul => x * y,
    };
    number::bounded_decimal(exact).map(Value::from).map_err(beyond_bounds)
}

fn bigs(op: Arithmetic, a: &Value, b: &Value) -> Result<Value> {
    let big = |v: &Value| match v {
        Value::BigInt(i) => (**i).clone(),
        other => BigInt::from(other.as_i64().unwrap_or(0)),
    };
    let (a, b) = (big(a), big(b));
    let exact = match op {
        Arithmetic::Div if b == BigInt::from(0) => return Err(by_zero()),
        Arithmetic::Div => a / b,
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a - b,
        Arithmetic::Mul => a * b,
    };
    number::bounded_int(exact).map(Value::from).map_err(beyond_bounds)
}

/// `sum / count`, as a float.
pub fn mean(sum: &Value, count: u64) -> Result<Value> {
    match sum {
        Value::Decimal(_) | Value::BigInt(_) => {
            decimals(Arithmetic::Div, sum, &Value::Decimal(Arc::new(BigDecimal::from(count))))
        }
        _ => Ok(Value::Float64(sum.as_f64().unwrap_or(f64::NAN) / count as f64)),
    }
}

/// `a / b` as a fraction, whatever the types: exact for big numbers, a double otherwise.
pub fn fraction(a: &Value, b: &Value) -> Result<Value> {
    let big = |v: &Value| matches!(v, Value::BigInt(_) | Value::Decimal(_));
    if big(a) || big(b) {
        return decimals(Arithmetic::Div, a, b);
    }
    Ok(Value::Float64(a.as_f64().unwrap_or(f64::NAN) / b.as_f64().unwrap_or(f64::NAN)))
}

/// `n * v`, for a traverser that stands for many.
pub fn times(v: &Value, n: u64) -> Result<Value> {
    match v.value_type() {
        t if n == 1 && (v.is_number() || t == ValueType::Null) => Ok(v.clone()),
        // The result of adding it n times: no wider than it must be.
        t if t <= ValueType::Int64 && t.is_integer() => {
            let n = i64::try_from(n).map_err(|_| overflow())?;
            integers(Arithmetic::Mul, v.as_i64().unwrap_or(0), n, t)
        }
        _ => arithmetic(Arithmetic::Mul, v, &counted(n, v)),
    }
}

/// `n` as a type that does not widen `v`.
fn counted(n: u64, v: &Value) -> Value {
    match v.value_type() {
        ValueType::Float32 => match i32::try_from(n) {
            Ok(n) => Value::Int32(n),
            Err(_) => Value::Int64(n as i64),
        },
        _ => Value::Int64(n as i64),
    }
}

/// The lesser (`Less`) or greater (`Greater`) of two comparable values. Null gives way.
pub fn extreme(wanted: Ordering, a: Value, b: Value) -> Result<Value> {
    match (a.is_null(), b.is_null()) {
        (true, _) => return Ok(b),
        (_, true) => return Ok(a),
        _ => {}
    }
    let nan = |v: &Value| v.as_f64().is_some_and(f64::is_nan);
    match compare::compare(&b, &a) {
        Some(ordering) => {
            let t = common_type(a.value_type(), b.value_type());
            let (chosen, other) = if ordering == wanted { (b, a) } else { (a, b) };
            Ok(if chosen.is_number() && other.is_number() { widened(chosen, t) } else { chosen })
        }
        None if nan(&a) => Ok(b),
        None if nan(&b) => Ok(a),
        None => Err(QueryError::value(format!("cannot compare the {} with the {}", described(&a), described(&b)))),
    }
}

/// The number in a type at least as wide as `t`.
fn widened(number: Value, t: ValueType) -> Value {
    if number.value_type() == t {
        return number;
    }
    match t {
        ValueType::Float32 => Value::Float32(number.as_f64().unwrap_or(f64::NAN) as f32),
        ValueType::Float64 => Value::Float64(number.as_f64().unwrap_or(f64::NAN)),
        ValueType::Decimal => compare::decimal(&number).map_or(number, Value::from),
        ValueType::BigInt => number.as_i64().map_or(number, |i| BigInt::from(i).into()),
        t => number.as_i64().and_then(|i| narrowest(i.into(), t)).unwrap_or(number),
    }
}

/// A binary operator of `sack`, `fold` and side effects.
pub fn apply(operator: Operator, a: Value, b: Value) -> Result<Value> {
    match operator {
        Operator::Sum => arithmetic(Arithmetic::Add, &a, &b),
        Operator::Minus => arithmetic(Arithmetic::Sub, &a, &b),
        Operator::Mult => arithmetic(Arithmetic::Mul, &a, &b),
        Operator::Div => arithmetic(Arithmetic::Div, &a, &b),
        Operator::Min => extreme(Ordering::Less, a, b),
        Operator::Max => extreme(Ordering::Greater, a, b),
        Operator::Assign => Ok(b),
        Operator::And | Operator::Or => match (a.as_bool(), b.as_bool()) {
            (Some(a), Some(b)) => Ok(Value::Bool(if operator == Operator::And { a && b } else { a || b })),
            _ => Err(QueryError::value("the operators `and` and `or` work on booleans")),
        },
        Operator::AddAll => add_all(a, b),
        Operator::SumLong => match arithmetic(Arithmetic::Add, &a, &b)?.as_i64() {
            Some(sum) => Ok(Value::Int64(sum)),
            None => Err(QueryError::value("the operator `sumLong` works on integers")),
        },
    }
}

/// [`apply`] with the same right operand `n` times.
pub fn apply_times(operator: Operator, a: Value, b: Value, n: u64) -> Result<Value> {
    const TIMES_MAX: u64 = 1 << 20;
    match operator {
        Operator::Min | Operator::Max | Operator::Assign | Operator::And | Operator::Or => apply(operator, a, b),
        Operator::Sum | Operator::Minus | Operator::SumLong => apply(operator, a, times(&b, n)?),
        _ if n > TIMES_MAX => {
            Err(QueryError::value(format!("an operator would be applied {n} times: use dedup() or limit() earlier")))
        }
        _ => (0..n).try_fold(a, |a, _| apply(operator, a, b.clone())),
    }
}

fn add_all(a: Value, b: Value) -> Result<Value> {
    if a.is_null() {
        return Ok(b);
    }
    if b.is_null() {
        return Ok(a);
    }
    if let (Value::Map(a), Value::Map(b)) = (&a, &b) {
        let mut all: Map = (**a).clone();
        b.iter().for_each(|(k, v)| all.insert(k.clone(), v.clone()));
        return Ok(Value::map(all));
    }
    match (a.items(), b.items()) {
        (Some(mut items), Some(more)) => {
            items.extend(more);
            Ok(if let Value::Set(_) = a { Value::set(items) } else { Value::list(items) })
        }
        _ => Err(QueryError::value("the operator `addAll` works on two collections or two maps")),
    }
}

pub fn overflow() -> QueryError {
    QueryError::value("long overflow").help("use asNumber(GType.BIGINT) before it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(a: impl Into<Value>, b: impl Into<Value>) -> Value {
        arithmetic(Arithmetic::Add, &a.into(), &b.into()).unwrap()
    }

    #[test]
    fn results_take_the_widest_type_and_move_up_on_overflow() {
        assert_eq!(add(1i8, 2i16), Value::Int16(3));
        assert_eq!(add(127i8, 1i8), Value::Int16(128));
        assert_eq!(add(i32::MAX, 1i32), Value::Int64(1 << 31));
        assert_eq!(add(1i32, 0.5f32), Value::Float32(1.5));
        assert_eq!(add(1i64, 0.5f32), Value::Float64(1.5));
        assert!(arithmetic(Arithmetic::Add, &i64::MAX.into(), &1i64.into()).is_err());
        assert!(arithmetic(Arithmetic::Div, &1i32.into(), &0i32.into()).is_err());
    }
}
