//! Random values, cells and ids.

use mangrove_graph::{BigDecimal, BigInt, Date, DateTime, Duration, ExternalId, Map, Uuid, Value, ValueType};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{KEYS, OpCell, OpEntry};

/// A storable value of any type, nested ones included.
pub fn value() -> impl Strategy<Value = Value> + Clone {
    let items = |inner: BoxedStrategy<Value>| {
        let list = vec(inner.clone(), 0..4).prop_map(Value::list);
        let set = vec(inner.clone(), 0..4).prop_map(Value::set);
        let map = vec((inner.clone(), inner), 0..4).prop_map(|entries| {
            let mut map = Map::new();
            entries.into_iter().for_each(|(key, value)| map.insert(key, value));
            Value::map(map)
        });
        prop_oneof![list, set, map].boxed()
    };
    plain().prop_recursive(2, 12, 4, move |inner| items(inner.boxed()))
}

fn plain() -> BoxedStrategy<Value> {
    let types = ValueType::ALL_STORABLE.into_iter().filter(|t| *t < ValueType::List);
    proptest::strategy::Union::new(types.map(value_of)).boxed()
}

/// A value of one type that is no collection. A few values are frequent, so that equal ones meet.
///
/// # Panics
/// For lists, sets and maps.
pub fn value_of(t: ValueType) -> BoxedStrategy<Value> {
    let time = || (-100_000_000_000i64..100_000_000_000, prop_oneof![Just(0u32), Just(1000), 0..1_000_000_000u32]);
    match t {
        ValueType::Null => Just(Value::Null).boxed(),
        ValueType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        ValueType::Int8 => any::<i8>().prop_map(Value::Int8).boxed(),
        ValueType::Int16 => prop_oneof![-3i16..3, any::<i16>()].prop_map(Value::Int16).boxed(),
        ValueType::Int32 => prop_oneof![-3i32..3, any::<i32>()].prop_map(Value::Int32).boxed(),
        ValueType::Int64 => prop_oneof![-3i64..3, any::<i64>()].prop_map(Value::Int64).boxed(),
        ValueType::Float32 => prop_oneof![(-3i8..3).prop_map(f32::from), any::<f32>()].prop_map(Value::Float32).boxed(),
        ValueType::Float64 => prop_oneof![(-3i8..3).prop_map(f64::from), any::<f64>()].prop_map(Value::Float64).boxed(),
        ValueType::BigInt => prop_oneof![-3i128..3, any::<i128>()].prop_map(|i| BigInt::from(i).into()).boxed(),
        ValueType::Decimal => {
            let digits = prop_oneof![-30i64..30, any::<i64>()];
            (digits, -5i64..25).prop_map(|(digits, scale)| BigDecimal::new(digits.into(), scale).into()).boxed()
        }
        ValueType::String => {
            let long = (0usize..3000).prop_map(|n| "long ".repeat(n));
            prop_oneof![6 => "[a-c]{0,2}", 3 => any::<String>(), 1 => long].prop_map(Value::from).boxed()
        }
        ValueType::Bytes => vec(any::<u8>(), 0..40).prop_map(|bytes| Value::Bytes(bytes.into())).boxed(),
        ValueType::Uuid => any::<u128>().prop_map(|bits| Value::Uuid(Uuid::from_u128(bits))).boxed(),
        ValueType::Date => any::<i32>().prop_map(|days| Value::Date(Date(days))).boxed(),
        ValueType::DateTime => (time(), prop_oneof![3 => Just(0), 1 => -18..=18])
            .prop_map(|((seconds, nanos), hours)| DateTime { seconds, nanos, offset_seconds: hours * 3600 }.into())
            .boxed(),
        ValueType::Duration => time().prop_map(|(seconds, nanos)| Duration { seconds, nanos }.into()).boxed(),
        ValueType::Vector => vec(any::<f32>(), 0..5).prop_map(|numbers| Value::Vector(numbers.into())).boxed(),
        other => panic!("{other} is a collection or cannot be stored"),
    }
}

/// One of few values of a type, for whole columns.
pub(super) fn simple(t: ValueType, n: u64) -> Value {
    match t {
        ValueType::Bool => n.is_multiple_of(2).into(),
        ValueType::Int32 => (n as i32).into(),
        ValueType::Int64 => (n as i64 * 1_000_000_007).into(),
        ValueType::Float64 => (n as f64 / 4.0).into(),
        ValueType::Date => Date(n as i32).into(),
        ValueType::DateTime => DateTime::from_millis(n as i64 * 999).into(),
        ValueType::Uuid => Uuid::from_u128(u128::from(n)).into(),
        ValueType::Null => Value::Null,
        _ => format!("text {n}").into(),
    }
}

/// The types [`simple`] has values of.
pub(super) const SIMPLE_TYPES: [ValueType; 9] = {
    use ValueType::*;
    [Bool, Int32, Int64, Float64, Date, DateTime, Uuid, Null, String]
};

/// A cell for an element under a key.
pub fn cell() -> impl Strategy<Value = OpCell> {
    let meta = vec((0..KEYS.len(), value()), 0..3).prop_map(|mut meta| {
        meta.sort_by_key(|(key, _)| *key);
        meta.dedup_by_key(|(key, _)| *key);
        meta
    });
    let many = vec((0u8..3, value(), meta).prop_map(|(step, value, meta)| OpEntry { step, value, meta }), 0..4)
        .prop_map(OpCell::Many);
    prop_oneof![6 => value().prop_map(OpCell::One), 2 => many, 2 => Just(OpCell::Absent)]
}

/// An id of any type. Small integers are frequent, so that duplicates occur.
pub fn external_id() -> impl Strategy<Value = ExternalId> {
    prop_oneof![
        4 => (0i64..60).prop_map(ExternalId::Int),
        1 => any::<i64>().prop_map(ExternalId::Int),
        2 => "[a-e]{1,3}".prop_map(|text| ExternalId::from(text.as_str())),
        1 => (0usize..700).prop_map(|n| ExternalId::from("id ".repeat(n).as_str())),
        1 => any::<u128>().prop_map(|bits| ExternalId::Uuid(Uuid::from_u128(bits))),
    ]
}
