//! Which shards may have a value of a routed index.
//!
//! The directory is spread over the shards. The hash of a property and a value says in which shard its entries are. An entry is that hash, and a
//! shard that has had an element with such a value.
//!
//! ```text
//!   hash   XXH3 of: kind 1 | label 2 | key 2 | family 1 | value        numbers big-endian
//!          0 null | 1 bool 1 | 2 nearest double, rounded 8 | 3 date, datetime: seconds 8, nanoseconds 4 | 4 duration: the same
//!          5 UTF-8 | 6 bytes | 7 uuid 16 | 8 everything else, without its value
//! ```
//! Invariants
//! 1. At each number of the log, every value under a routed index is listed with the shard of its element. The commit that sets the value lists it.
//! 2. More may be listed: entries stay until the index is dropped, and different values may have the same hash. Then a shard is asked in vain.
//! 3. A value that equals one which is looked for has the same hash. Nothing is looked for by a fraction: a decimal may equal two floats that are
//!    not equal. Integers are looked for as far as doubles are exact.
//!
//! The ids of vertices are not listed: an id leads to its shard.

use std::collections::BTreeSet;

use mangrove_graph::{Cell, ElementKind, Predicate, PropertyId, Schema, Value};

use crate::placement::Placement;

/// A search for more values than these asks every shard: the directory would name most of them.
const VALUES_MAX: usize = 1 << 10;

/// The hash of a value, and a shard that may have it.
pub type Entry = (u64, u16);

/// Whether the values of a property of the graph are listed.
pub fn is_listed(schema: &Schema, placement: Placement, of: PropertyId) -> bool {
    placement.shards > 1 && schema.index(of).is_some_and(|index| index.routed) && !schema.is_key(of.kind, of.label, of.key)
}

/// The values that a predicate allows, if it lists them, and if the directory leads to them.
pub fn values(predicate: &Predicate) -> Option<&[Value]> {
    let listed = predicate.listed().filter(|values| values.len() <= VALUES_MAX)?;
    listed.iter().all(is_told_apart).then_some(listed)
}

fn is_told_apart(value: &Value) -> bool {
    !value.is_number() || value.as_i64().is_some_and(|int| int.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS)
}

/// The hash under which a value of a property of the graph is listed.
pub fn hash(placement: Placement, of: PropertyId, value: &Value) -> u64 {
    let mut key = vec![u8::from(of.kind == ElementKind::Edge)];
    key.extend_from_slice(&of.label.0.to_be_bytes());
    key.extend_from_slice(&of.key.0.to_be_bytes());
    put_value(&mut key, value);
    placement.hash(&key)
}

/// The entries of what elements have under a property of the graph. Each cell comes with the shard of its element.
pub fn entries(placement: Placement, of: PropertyId, cells: impl IntoIterator<Item = (u16, Cell)>) -> BTreeSet<Entry> {
    let mut all = BTreeSet::new();
    for (shard, cell) in cells {
        all.extend(cell.values().map(|value| (hash(placement, of, value), shard)));
    }
    all
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(0),
        Value::Bool(bool) => out.extend_from_slice(&[1, u8::from(*bool)]),
        Value::Date(date) => put_time(out, 3, i64::from(date.0) * 86_400, 0),
        Value::DateTime(time) => put_time(out, 3, time.seconds, time.nanos),
        Value::Duration(duration) => put_time(out, 4, duration.seconds, duration.nanos),
        Value::String(text) => put_bytes(out, 5, text.as_bytes()),
        Value::Bytes(bytes) => put_bytes(out, 6, bytes),
        Value::Uuid(uuid) => put_bytes(out, 7, uuid.as_bytes()),
        number if number.is_number() => {
            // All NaN are one, and -0.0 is 0.0. The double of a decimal may be off by a little.
            let double = number.as_f64().filter(|double| !double.is_nan());
            let rounded = double.map_or(u64::MAX, |double| (double.round() + 0.0).to_bits());
            put_bytes(out, 2, &rounded.to_be_bytes());
        }
        _ => out.push(8),
    }
}

fn put_bytes(out: &mut Vec<u8>, family: u8, bytes: &[u8]) {
    out.push(family);
    out.extend_from_slice(bytes);
}

fn put_time(out: &mut Vec<u8>, family: u8, seconds: i64, nanos: u32) {
    put_bytes(out, family, &seconds.to_be_bytes());
    out.extend_from_slice(&nanos.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mangrove_graph::{BigDecimal, Date, DateTime, Duration, IdSpace, KeyId, LabelId, Uuid, compare};

    use super::*;

    const OF: PropertyId = PropertyId { kind: ElementKind::Vertex, label: LabelId(1), key: KeyId(2) };

    fn placement() -> Placement {
        Placement { shards: 8, seed: 7, id_space: IdSpace::Graph }
    }

    #[test]
    fn what_is_looked_for_has_the_hash_of_what_equals_it() {
        let decimal = |text: &str| Value::Decimal(Arc::new(text.parse::<BigDecimal>().unwrap()));
        let noon = DateTime { seconds: 43_200, nanos: 0, offset_seconds: 0 };
        let midnight = DateTime { seconds: 86_400, nanos: 0, offset_seconds: 0 };
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int8(1),
            Value::Int64(1),
            Value::Float32(1.0),
            Value::Float64(1.0),
            Value::Float64(1.5),
            Value::Float64(0.0),
            Value::Float64(-0.0),
            Value::Float32(0.1),
            Value::Float64(0.1),
            Value::Int64(1 << 53),
            Value::Int64((1 << 53) + 1),
            Value::Float64(9_007_199_254_740_992.0),
            decimal("1.000"),
            decimal("0.1"),
            decimal("9007199254740992"),
            decimal("1e23"),
            Date(1).into(),
            midnight.into(),
            noon.into(),
            "1".into(),
            "".into(),
            Value::list(vec![Value::Int8(1)]),
            Value::list(vec![Value::Float64(1.0)]),
        ];
        for a in &values {
            for b in &values {
                let is_same = hash(placement(), OF, a) == hash(placement(), OF, b);
                assert!(is_same || !is_told_apart(a) || !compare::equals(a, b), "{a} and {b}");
            }
        }
        let told_apart = values.iter().filter(|value| is_told_apart(value)).count();
        assert_eq!(values.len() - told_apart, 13, "fractions, and an integer beyond doubles");
    }

    #[test]
    fn hashes_stay_what_they_are() {
        let of_edges = PropertyId::of_edges(LabelId(1), KeyId(2));
        let values: [Value; 10] = [
            Value::Null,
            true.into(),
            Value::Int64(1),
            Date(1).into(),
            Value::Duration(Duration { seconds: 1, nanos: 2 }),
            "a".into(),
            Value::Bytes(vec![1].into()),
            Value::Uuid(Uuid::from_u128(1)),
            Value::list(vec![]),
            Value::Float64(f64::NAN),
        ];
        let hashes = values.each_ref().map(|value| hash(placement(), OF, value));
        // Logs and shards depend on these.
        assert_eq!(hashes, HASHES);
        assert_ne!(hash(placement(), of_edges, &"a".into()), hash(placement(), OF, &"a".into()));
    }

    const HASHES: [u64; 10] = [
        17_860_348_218_385_464_567,
        18_442_883_355_312_891_395,
        10_071_886_461_863_021_198,
        16_841_299_690_361_788_002,
        12_684_526_484_087_376_841,
        14_890_325_051_793_562_915,
        8_071_715_175_020_408_150,
        10_507_266_584_371_692_426,
        8_136_770_078_804_594_296,
        16_834_886_640_348_613_561,
    ];
}
