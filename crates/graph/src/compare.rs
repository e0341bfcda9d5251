//! Equality, comparability and order of values, after TinkerPop's semantics (reference documentation, "Equality,
//! Comparability, Orderability").

use std::cmp::Ordering;
use std::str::FromStr;

use bigdecimal::BigDecimal;

use crate::value::{Value, ValueType};

/// Whether `a` and `b` are equal under `P.eq`. Numbers compare by value, whatever their type. A date equals the date-time of its
/// midnight in UTC. Everything else compares by type and content. NaN equals nothing.
pub fn equals(a: &Value, b: &Value) -> bool {
    if a.is_number() && b.is_number() {
        return compare_numbers(a, b) == Some(Ordering::Equal);
    }
    match (a, b) {
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equals(a, b)),
        (Value::Set(a), Value::Set(b)) => {
            a.len() == b.len() && a.iter().all(|item| b.iter().any(|other| equals(item, other)))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.iter().any(|(other, w)| equals(k, other) && equals(v, w)))
        }
        (Value::BulkSet(_), _) | (_, Value::BulkSet(_)) => a.items() == b.items(),
        (Value::Date(_), Value::DateTime(_)) | (Value::DateTime(_), Value::Date(_)) => {
            compare(a, b) == Some(Ordering::Equal)
        }
        _ => a == b,
    }
}

/// How `a` compares with `b` under `P.lt` and its kin. `None` if they cannot be compared (different types, NaN, null).
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    if a.is_number() && b.is_number() {
        return compare_numbers(a, b);
    }
    match (a, b) {
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Uuid(a), Value::Uuid(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        (Value::DateTime(a), Value::DateTime(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::DateTime(b)) => Some(a.midnight().cmp(b)),
        (Value::DateTime(a), Value::Date(b)) => Some(a.cmp(&b.midnight())),
        (Value::List(a), Value::List(b)) => compare_items(a, b),
        (Value::Token(a), Value::Token(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// A total order over all values: by family (null, booleans, numbers, times, strings, …, elements, collections), then by content.
/// NaN comes after all other numbers.
pub fn order(a: &Value, b: &Value) -> Ordering {
    let by_family = family(a.value_type()).cmp(&family(b.value_type()));
    if by_family != Ordering::Equal {
        return by_family;
    }
    match (a, b) {
        (Value::List(a), Value::List(b)) | (Value::Set(a), Value::Set(b)) => order_items(a, b),
        (Value::Map(a), Value::Map(b)) => {
            let sorted = |m: &crate::value::Map| {
                let mut entries: Vec<_> = m.iter().cloned().collect();
                entries.sort_by(|x, y| order(&x.0, &y.0).then_with(|| order(&x.1, &y.1)));
                entries
            };
            order_entries(&sorted(a), &sorted(b))
        }
        (Value::Token(a), Value::String(b)) => a.name().cmp(b),
        (Value::String(a), Value::Token(b)) => (**a).cmp(b.name()),
        (Value::Token(a), Value::Token(b)) => a.name().cmp(b.name()),
        (Value::Entry(a), Value::Entry(b)) => order(&a.0, &b.0).then_with(|| order(&a.1, &b.1)),
        (Value::Path(a), Value::Path(b)) => order_items(&a.objects, &b.objects),
        (Value::Vertex(a), Value::Vertex(b)) => a.cmp(b),
        (Value::Edge(a), Value::Edge(b)) => a.id.cmp(&b.id),
        (Value::VertexProperty(a), Value::VertexProperty(b)) => {
            (a.vertex, a.key, a.ordinal).cmp(&(b.vertex, b.key, b.ordinal))
        }
        (Value::Property(a), Value::Property(b)) => a.name.cmp(&b.name).then_with(|| order(&a.value, &b.value)),
        (Value::Vector(a), Value::Vector(b)) => {
            a.iter().zip(b.iter()).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
        }
        _ if a.is_number() => compare_numbers(a, b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b))),
        _ => compare(a, b).unwrap_or(Ordering::Equal),
    }
}

fn family(t: ValueType) -> u8 {
    use ValueType::*;
    match t {
        Null => 0,
        Bool => 1,
        Int8 | Int16 | Int32 | Int64 | Float32 | Float64 | BigInt | Decimal => 2,
        Date | DateTime => 3,
        Duration => 4,
        String | Token => 5,
        Uuid => 6,
        Bytes => 7,
        Vertex => 8,
        Edge => 9,
        VertexProperty => 10,
        Property => 11,
        Path => 12,
        Set => 13,
        List | BulkSet => 14,
        Vector => 15,
        Map => 16,
        Entry => 17,
        Tree => 18,
        Subgraph => 19,
    }
}

fn is_nan(v: &Value) -> bool {
    matches!(v, Value::Float32(f) if f.is_nan()) || matches!(v, Value::Float64(f) if f.is_nan())
}

fn compare_items(a: &[Value], b: &[Value]) -> Option<Ordering> {
    for (a, b) in a.iter().zip(b) {
        match compare(a, b)? {
            Ordering::Equal => {}
            unequal => return Some(unequal),
        }
    }
    Some(a.len().cmp(&b.len()))
}

fn order_items(a: &[Value], b: &[Value]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| order(a, b)).find(|o| o.is_ne()).unwrap_or(a.len().cmp(&b.len()))
}

fn order_entries(a: &[(Value, Value)], b: &[(Value, Value)]) -> Ordering {
    a.iter()
        .zip(b)
        .map(|(a, b)| order(&a.0, &b.0).then_with(|| order(&a.1, &b.1)))
        .find(|o| o.is_ne())
        .unwrap_or(a.len().cmp(&b.len()))
}

/// Exact comparison of any two numbers; `None` if one is NaN.
fn compare_numbers(a: &Value, b: &Value) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return Some(a.cmp(&b));
    }
    let big = |v: &Value| matches!(v, Value::BigInt(_) | Value::Decimal(_));
    if big(a) || big(b) {
        return match (decimal(a), decimal(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?), // one of them is an infinity or NaN
        };
    }
    if let (Some(i), Some(f)) = (a.as_i64(), b.as_f64()) {
        return compare_int_float(i, f);
    }
    if let (Some(f), Some(i)) = (a.as_f64(), b.as_i64()) {
        return compare_int_float(i, f).map(Ordering::reverse);
    }
    a.as_f64()?.partial_cmp(&b.as_f64()?)
}

/// Compares without rounding the integer to a double. Rounding would make 2^53 + 1 equal 2^53.
fn compare_int_float(i: i64, f: f64) -> Option<Ordering> {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    if f.is_nan() {
        return None;
    }
    if f >= TWO_63 {
        return Some(Ordering::Less);
    }
    if f < -TWO_63 {
        return Some(Ordering::Greater);
    }
    Some(i.cmp(&(f.trunc() as i64)).then_with(|| 0.0.partial_cmp(&f.fract()).unwrap_or(Ordering::Equal)))
}

/// The number as an exact decimal. A float becomes its shortest decimal notation, so that `0.1` equals `0.1m`.
pub fn decimal(v: &Value) -> Option<BigDecimal> {
    match v {
        Value::Decimal(d) => Some((**d).clone()),
        Value::BigInt(i) => Some(BigDecimal::from((**i).clone())),
        Value::Float32(f) => BigDecimal::from_str(&f.to_string()).ok(),
        Value::Float64(f) => BigDecimal::from_str(&f.to_string()).ok(),
        other => other.as_i64().map(BigDecimal::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value_across_types() {
        assert!(equals(&Value::Int32(1), &Value::Float64(1.0)));
        assert!(equals(&Value::Int64(1), &Value::Decimal(BigDecimal::from(1).into())));
        assert!(!equals(&Value::Int64((1 << 53) + 1), &Value::Float64((1u64 << 53) as f64)));
        assert!(!equals(&Value::Float64(f64::NAN), &Value::Float64(f64::NAN)));
        assert_eq!(compare(&Value::Int64(-2), &Value::Float64(-1.5)), Some(Ordering::Less));
        assert_eq!(compare(&Value::Int64(i64::MAX), &Value::Float64(f64::INFINITY)), Some(Ordering::Less));
    }

    #[test]
    fn a_date_equals_its_midnight() {
        let date = crate::Date(19_000);
        let midnight = date.midnight();
        assert!(equals(&date.into(), &midnight.into()) && equals(&midnight.into(), &date.into()));
        let later = crate::DateTime { seconds: midnight.seconds + 1, ..midnight };
        assert!(!equals(&date.into(), &later.into()));
        assert_eq!((later.date(), midnight.date()), (None, Some(date)));
    }

    #[test]
    fn unlike_types_cannot_be_compared_but_have_an_order() {
        assert_eq!(compare(&"a".into(), &Value::Int32(1)), None);
        assert_eq!(order(&Value::Int32(1), &"a".into()), Ordering::Less);
        assert_eq!(order(&Value::Float64(f64::NAN), &Value::Float64(f64::INFINITY)), Ordering::Greater);
        assert_eq!(order(&Value::Null, &Value::Bool(false)), Ordering::Less);
    }
}
