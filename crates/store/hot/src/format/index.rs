//! Property indexes: an entry for every distinct value of a cell, in the order of the values.
//!
//! ```text
//!   label 2 | key 2 | family 1 | value | vertex 8              -> nothing
//!   label 2 | key 2 | 128 | family 1 | value | edge 8          -> nothing
//! ```
//! No family has the number 128. So the entries of edges lie behind those of the vertices whose label and key have the same
//! numbers.
//!
//! | family | value |
//! |---|---|
//! | 1 null | |
//! | 2 bool | 0 or 1 |
//! | 3 number | the nearest double, 8 bytes that sort as it does; NaN is all ones |
//! | 4 date, datetime | seconds 8, nanoseconds 4 |
//! | 5 duration | seconds 8, nanoseconds 4 |
//! | 6 string, 7 bytes | the bytes, a zero as 00 ff; then 00 00, or cut to 460 bytes and then 00 01 |
//! | 8 uuid | 16 bytes |
//! | 9 everything else | |
//!
//! For sealed elements, segments have pairs of a value and a place. An entry is in a segment or in the table. A pair of a
//! segment may be outdated (see `read/index.rs`). Where the encoding may hold more than the predicate asks for, what is
//! found is tested against the cells.

use std::ops::Bound;

use mangrove_graph::{
    Cell, Comparison, ElementKind, KeyId, LabelId, Predicate, PropertyId, Result, TextTest, TypeSet, Value, ValueType,
};

use crate::format::key::{after_prefix, flip, place};
use crate::system::fault::corrupt;

const NULL: u8 = 1;
const BOOL: u8 = 2;
const NUMBER: u8 = 3;
const TIME: u8 = 4;
const DURATION: u8 = 5;
const STRING: u8 = 6;
const BYTES: u8 = 7;
const UUID: u8 = 8;
const OTHER: u8 = 9;

/// The byte before the family in entries of edges.
const EDGES: u8 = 128;
const PREFIX: usize = 4;
/// Bytes of the id at the end of an entry.
const ID: usize = 8;
/// The most bytes of encoded text. A key of LMDB has room for 511 bytes in all.
const TEXT_MAX: usize = 460;
const NAN: u64 = u64::MAX;
/// Integers up to here are doubles of their own.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The beginning of all entries of an index.
pub fn prefix(of: PropertyId) -> Vec<u8> {
    let mut prefix = [of.label.0.to_be_bytes(), of.key.0.to_be_bytes()].concat();
    prefix.extend((of.kind == ElementKind::Edge).then_some(EDGES));
    prefix
}

/// The bounds of all entries of an index.
pub fn range(of: PropertyId) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let first = prefix(of);
    let end = match of.kind {
        ElementKind::Vertex => Some(prefix(PropertyId { kind: ElementKind::Edge, ..of })),
        ElementKind::Edge => after_prefix(&first),
    };
    (Bound::Included(first), end.map_or(Bound::Unbounded, Bound::Excluded))
}

/// The entries of the cell of the element with this raw id, sorted and distinct.
pub fn entries(of: PropertyId, raw: u64, cell: &Cell) -> Vec<Vec<u8>> {
    encoded(cell).into_iter().map(|value| entry(of, &value, raw)).collect()
}

/// The entry of an encoded value.
pub fn entry(of: PropertyId, value: &[u8], raw: u64) -> Vec<u8> {
    [&prefix(of)[..], value, &raw.to_be_bytes()].concat()
}

/// The values of a cell, encoded as in entries, sorted and distinct.
pub fn encoded(cell: &Cell) -> Vec<Vec<u8>> {
    let encoded = cell.values().map(|value| {
        let mut bytes = Vec::new();
        put_value(&mut bytes, value);
        bytes
    });
    let mut values: Vec<Vec<u8>> = encoded.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// An entry taken apart.
#[derive(Clone, Copy)]
pub struct IndexEntry<'a> {
    pub of: PropertyId,
    pub value: &'a [u8],
    /// The place of the element that has the value.
    pub place: u64,
}

impl<'a> IndexEntry<'a> {
    pub fn parse(entry: &'a [u8]) -> Result<Self> {
        let short = || corrupt("an index entry ends early");
        let (before, raw) = entry.split_last_chunk::<ID>().ok_or_else(short)?;
        let (prefix, value) = before.split_first_chunk::<PREFIX>().ok_or_else(short)?;
        let [a, b, c, d] = *prefix;
        let (kind, value) = match value {
            [EDGES, value @ ..] => (ElementKind::Edge, value),
            value => (ElementKind::Vertex, value),
        };
        let (label, key) = (LabelId(u16::from_be_bytes([a, b])), KeyId(u16::from_be_bytes([c, d])));
        Ok(Self { of: PropertyId { kind, label, key }, value, place: place(u64::from_be_bytes(*raw)) })
    }
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    out.push(family(value));
    match value {
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::Date(date) => put_time(out, i64::from(date.0) * 86_400, 0),
        Value::DateTime(t) => put_time(out, t.seconds, t.nanos),
        Value::Duration(d) => put_time(out, d.seconds, d.nanos),
        Value::String(text) => put_text(out, text.as_bytes()),
        Value::Bytes(bytes) => put_text(out, bytes),
        Value::Uuid(uuid) => out.extend_from_slice(uuid.as_bytes()),
        number if number.is_number() => out.extend_from_slice(&ordered(number.as_f64().unwrap_or(f64::NAN)).to_be_bytes()),
        _ => {}
    }
}

fn family(value: &Value) -> u8 {
    match value.value_type() {
        ValueType::Null => NULL,
        ValueType::Bool => BOOL,
        ValueType::Date | ValueType::DateTime => TIME,
        ValueType::Duration => DURATION,
        ValueType::String => STRING,
        ValueType::Bytes => BYTES,
        ValueType::Uuid => UUID,
        t if t.is_number() => NUMBER,
        _ => OTHER,
    }
}

/// The bits of a double as an integer that sorts as the double does.
fn ordered(f: f64) -> u64 {
    if f.is_nan() {
        return NAN;
    }
    let bits = (f + 0.0).to_bits(); // -0.0 is 0.0
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn put_time(out: &mut Vec<u8>, seconds: i64, nanos: u32) {
    out.extend_from_slice(&flip(seconds).to_be_bytes());
    out.extend_from_slice(&nanos.to_be_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let is_whole = put_escaped(out, text);
    out.extend_from_slice(if is_whole { &[0, 0] } else { &[0, 1] });
}

/// Appends escaped text. Returns whether all of it found room.
fn put_escaped(out: &mut Vec<u8>, text: &[u8]) -> bool {
    let start = out.len();
    for byte in text {
        if out.len() - start + 2 > TEXT_MAX {
            return false;
        }
        out.push(*byte);
        if *byte == 0 {
            out.push(u8::MAX);
        }
    }
    true
}

/// A range of an index, and whether everything in it matches.
#[derive(Clone, Debug)]
pub struct IndexRange {
    pub from: Vec<u8>,
    /// Excluded.
    pub to: Vec<u8>,
    pub is_exact: bool,
    /// It has the entries of one encoded value, `from`. So they are in the order of their places.
    pub is_one_value: bool,
}

/// The parts of an index that hold all matches; `None` if the index does not answer this predicate. `types` are those of the
/// indexed values.
pub fn parts(predicate: &Predicate, types: TypeSet) -> Option<Vec<IndexRange>> {
    match predicate {
        Predicate::Compare(comparison, operand) => compared(*comparison, operand, types),
        Predicate::Within(options) => {
            let parts: Option<Vec<_>> = options.iter().map(|option| compared(Comparison::Eq, option, types)).collect();
            Some(parts?.concat())
        }
        Predicate::Text(TextTest::StartsWith, text) => {
            let mut from = vec![STRING];
            let is_exact = put_escaped(&mut from, text.as_bytes());
            Some(vec![IndexRange { to: after(&from), from, is_exact, is_one_value: false }])
        }
        Predicate::And(conjuncts) => conjunction(conjuncts, types),
        Predicate::Or(disjuncts) => {
            let parts: Option<Vec<_>> = disjuncts.iter().map(|part| parts(part, types)).collect();
            Some(parts?.concat())
        }
        _ => None,
    }
}

/// The intersection of the conjuncts that give one part each. A test of the cells does the rest.
fn conjunction(conjuncts: &[Predicate], types: TypeSet) -> Option<Vec<IndexRange>> {
    let mut common: Option<IndexRange> = None;
    let mut is_exact = true;
    for conjunct in conjuncts {
        match parts(conjunct, types).as_deref() {
            Some([]) => return Some(Vec::new()),
            Some([part]) => {
                is_exact &= part.is_exact;
                common = Some(match common {
                    None => part.clone(),
                    Some(other) => IndexRange {
                        from: other.from.max(part.from.clone()),
                        to: other.to.min(part.to.clone()),
                        is_exact,
                        is_one_value: other.is_one_value || part.is_one_value,
                    },
                });
            }
            _ => is_exact = false,
        }
    }
    common.map(|part| vec![IndexRange { is_exact, ..part }])
}

fn compared(comparison: Comparison, operand: &Value, types: TypeSet) -> Option<Vec<IndexRange>> {
    let family = family(operand);
    let mut value = Vec::new();
    put_value(&mut value, operand);
    if comparison == Comparison::Neq {
        return None;
    }
    if family == OTHER {
        let is_equality = comparison == Comparison::Eq;
        return is_equality
            .then(|| vec![IndexRange { to: after(&value), from: value, is_exact: false, is_one_value: true }]);
    }
    if operand.as_f64().is_some_and(f64::is_nan) {
        return Some(Vec::new());
    }
    let is_exact = is_exact(operand, types);
    let (start, end) = (vec![family], if family == NUMBER { number_end() } else { vec![family + 1] });
    let beyond = after(&value);
    // Different values may have the same encoding. Then the part includes the encoding of the operand, and its cells are
    // tested.
    let (from, to) = match comparison {
        Comparison::Lt => (start, if is_exact { value } else { beyond }),
        Comparison::Lte => (start, beyond),
        Comparison::Gt => (if is_exact { beyond } else { value }, end),
        Comparison::Gte => (value, end),
        _ => (value, beyond),
    };
    Some(vec![IndexRange { from, to, is_exact, is_one_value: comparison == Comparison::Eq }])
}

/// The end of the numbers that can be compared.
fn number_end() -> Vec<u8> {
    [&[NUMBER][..], &NAN.to_be_bytes()].concat()
}

/// Whether all values encoded as the operand is are equal to it.
fn is_exact(operand: &Value, types: TypeSet) -> bool {
    match operand {
        Value::String(text) => put_escaped(&mut Vec::new(), text.as_bytes()),
        Value::Bytes(bytes) => put_escaped(&mut Vec::new(), bytes),
        Value::BigInt(_) | Value::Decimal(_) => false,
        number if number.is_number() => {
            let is_small = number.as_f64().is_some_and(|f| f.abs() < EXACT_MAX);
            is_small && !types.contains(ValueType::BigInt) && !types.contains(ValueType::Decimal)
        }
        _ => true,
    }
}

/// The first key behind all that begin with `bytes`, which begin with a family.
fn after(bytes: &[u8]) -> Vec<u8> {
    after_prefix(bytes).unwrap_or_else(|| vec![OTHER + 1])
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{BigInt, Date, DateTime, Duration, Uuid, compare};
    use std::ops::RangeBounds;

    use proptest::prelude::*;

    use super::encoded as encoded_cell;
    use super::*;

    fn encoded(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_value(&mut bytes, value);
        bytes
    }

    fn comparable() -> impl Strategy<Value = Value> {
        let edge_ints = prop_oneof![any::<i64>(), Just((1 << 53) + 1), -3i64..3];
        prop_oneof![
            edge_ints.prop_map(Value::Int64),
            any::<i8>().prop_map(Value::Int8),
            any::<f64>().prop_map(Value::Float64),
            Just(Value::Float64(-0.0)),
            Just(Value::Float32(f32::INFINITY)),
            any::<i128>().prop_map(|i| BigInt::from(i).into()),
            "[\u{0}ab]{0,4}".prop_map(Value::from),
            prop::collection::vec(0u8..3, 0..4).prop_map(|bytes| Value::Bytes(bytes.into())),
            (454usize..464, "[\u{0}a]{0,2}").prop_map(|(n, end)| Value::string("a".repeat(n) + &end)),
            any::<bool>().prop_map(Value::Bool),
            (-9i32..9).prop_map(|days| Date(days).into()),
            (-9i64..9, 0u32..2).prop_map(|(d, nanos)| DateTime { seconds: d * 43_200, nanos, offset_seconds: 0 }.into()),
            (-2i64..2, 0u32..2).prop_map(|(seconds, nanos)| Duration { seconds, nanos }.into()),
            (0u128..3).prop_map(|u| Uuid::from_u128(u).into()),
        ]
    }

    proptest! {
        #[test]
        fn entries_sort_as_their_values(a in comparable(), b in comparable()) {
            if let Some(order) = compare::compare(&a, &b) {
                let encoded = encoded(&a).cmp(&encoded(&b));
                prop_assert!(encoded == order || encoded.is_eq(), "{a:?} {b:?}");
            }
        }

        #[test]
        fn parts_hold_all_matches_and_exact_ones_nothing_else(
            values in prop::collection::vec(comparable(), 1..8), operand in comparable(), other in comparable(),
        ) {
            use Comparison::*;
            let mut types = TypeSet::default();
            values.iter().for_each(|value| types.insert(value.value_type()));
            let mut predicates: Vec<Predicate> =
                [Eq, Lt, Lte, Gt, Gte].map(|c| Predicate::Compare(c, operand.clone())).into();
            predicates.push(Predicate::And(vec![predicates[4].clone(), Predicate::Compare(Lt, other.clone())]));
            predicates.push(Predicate::Within(vec![operand.clone(), other].into()));
            if let Some(text) = operand.as_str() {
                predicates.push(Predicate::Text(TextTest::StartsWith, text.into()));
            }
            for predicate in predicates {
                let parts = parts(&predicate, types).expect("an index answers these");
                for value in &values {
                    let mut entry = encoded(value);
                    entry.extend_from_slice(&[0xff; 8]);
                    let within: Vec<&IndexRange> = parts.iter().filter(|p| p.from <= entry && entry < p.to).collect();
                    if predicate.matches(value) {
                        prop_assert!(!within.is_empty(), "{predicate:?} misses {value:?}");
                    } else {
                        prop_assert!(within.iter().all(|part| !part.is_exact), "{predicate:?} holds {value:?}");
                    }
                }
            }
        }
    }

    /// Who knows the declarations need not ask a store whether its index answers.
    #[test]
    fn a_predicate_says_whether_an_index_answers_it() {
        use Comparison::*;
        let operands = [
            Value::Null,
            Value::Bool(true),
            Value::Int64(3),
            Value::Float64(f64::NAN),
            "a".into(),
            Value::Bytes([1, 2].into()),
            Uuid::from_u128(1).into(),
            Date(1).into(),
            DateTime { seconds: 1, nanos: 0, offset_seconds: 0 }.into(),
            Duration { seconds: 1, nanos: 0 }.into(),
            Value::list(vec![Value::Null]),
        ];
        let mut predicates: Vec<Predicate> =
            vec![Predicate::Within(Vec::new().into()), Predicate::Without(Vec::new().into())];
        for operand in &operands {
            predicates.extend([Eq, Neq, Lt, Lte, Gt, Gte].map(|comparison| Predicate::Compare(comparison, operand.clone())));
            predicates.push(Predicate::Within(vec![operand.clone()].into()));
            predicates.push(Predicate::Within(vec![operand.clone(), Value::Int64(7)].into()));
        }
        let tests = [TextTest::StartsWith, TextTest::EndsWith, TextTest::Contains];
        predicates.extend(tests.map(|test| Predicate::Text(test, "a".into())));
        predicates.push(Predicate::TypeOf([ValueType::Null].into()));
        predicates.push(Predicate::Not(Box::new(Predicate::eq("a"))));
        let pairs = predicates.iter().flat_map(|a| predicates.iter().map(move |b| vec![a.clone(), b.clone()]));
        let both = pairs.flat_map(|pair| {
            let either = Predicate::Or(pair.clone());
            [Predicate::And(pair.clone()), Predicate::And(vec![either.clone(), pair[0].clone()]), either]
        });
        for predicate in both.chain(predicates.iter().cloned()) {
            let is_answered = parts(&predicate, TypeSet::default()).is_some();
            assert_eq!(is_answered, predicate.is_answered_by_index(), "{predicate}");
        }
    }

    #[test]
    fn the_longest_entry_fits_a_key() {
        let cell = Cell::One(Value::string("\0".repeat(1000)));
        let of = PropertyId::of_edges(LabelId(u16::MAX), KeyId(u16::MAX));
        let entry = entries(of, u64::MAX, &cell).remove(0);
        assert!(entry.len() <= 511, "{}", entry.len());
        let parsed = IndexEntry::parse(&entry).unwrap();
        assert_eq!((parsed.of, parsed.value, parsed.place), (of, &encoded_cell(&cell)[0][..], place(u64::MAX)));
    }

    #[test]
    fn entries_of_edges_lie_behind_those_of_vertices() {
        let of = |kind| PropertyId { kind, label: LabelId(3), key: KeyId(4) };
        let (vertices, edges) = (range(of(ElementKind::Vertex)), range(of(ElementKind::Edge)));
        for value in [Value::Null, Value::list(vec![]), Value::Float64(f64::NAN)] {
            for (kind, mine, other) in [(ElementKind::Vertex, &vertices, &edges), (ElementKind::Edge, &edges, &vertices)] {
                let entry = entries(of(kind), 9, &Cell::One(value.clone())).remove(0);
                assert!(mine.contains(&entry) && !other.contains(&entry), "{value:?} {kind:?}");
                assert_eq!(IndexEntry::parse(&entry).unwrap().of, of(kind));
            }
        }
    }
}
