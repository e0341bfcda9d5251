//! Predicates over whole blocks: a bit for every slot that passes.
//!
//! On a block of one type, most predicates become a loop that makes no values. The others are tested cell by cell.

use std::cmp::Ordering;
use std::ops::Range;

use mangrove_graph::{Comparison, Predicate, Result, TextTest, Value, ValueType};
use mangrove_segment::column::{Chunk, is_count};
use mangrove_segment::ints::Ints;
use mangrove_segment::text::Mode;
use mangrove_segment::value;

use crate::format::block::{Block, Body, SLOTS, slots};
use crate::format::packed::Packed;

/// Patterns to search for in searchable text. They find every value that matches. `is_exact` says whether they find nothing
/// else.
struct Patterns<'p> {
    any: Vec<(Mode, &'p [u8])>,
    is_exact: bool,
}

impl<'p> Patterns<'p> {
    fn of(mode: Mode, text: &'p str) -> Self {
        Self { any: vec![(mode, text.as_bytes())], is_exact: true }
    }
}

/// The patterns of a predicate; `None` if a search does not answer it.
fn patterns(predicate: &Predicate) -> Option<Patterns<'_>> {
    match predicate {
        Predicate::Compare(Comparison::Eq, Value::String(text)) => Some(Patterns::of(Mode::Equal, text)),
        Predicate::Text(TextTest::StartsWith, text) => Some(Patterns::of(Mode::Prefix, text)),
        Predicate::Text(TextTest::EndsWith, text) => Some(Patterns::of(Mode::Suffix, text)),
        Predicate::Text(TextTest::Contains, text) => Some(Patterns::of(Mode::Contains, text)),
        Predicate::Within(options) => {
            let any = options.iter().map(|option| option.as_str().map(|text| (Mode::Equal, text.as_bytes())));
            Some(Patterns { any: any.collect::<Option<_>>()?, is_exact: true })
        }
        Predicate::And(parts) => parts.iter().find_map(patterns).map(|found| Patterns { is_exact: false, ..found }),
        Predicate::Or(parts) => {
            let parts: Vec<Patterns<'_>> = parts.iter().map(patterns).collect::<Option<_>>()?;
            let is_exact = parts.iter().all(|part| part.is_exact);
            Some(Patterns { any: parts.into_iter().flat_map(|part| part.any).collect(), is_exact })
        }
        _ => None,
    }
}

/// A predicate that matches exactly the strings that this one does not, if the form of this one tells it.
fn contrary(predicate: &Predicate) -> Option<Predicate> {
    match predicate {
        Predicate::Compare(Comparison::Neq, operand) => Some(Predicate::eq(operand.clone())),
        Predicate::Without(options) => Some(Predicate::Within(options.clone())),
        Predicate::Not(part) => Some((**part).clone()),
        _ => None,
    }
}

/// Whether a search finds the matches in searchable text without reading all of it.
pub fn is_found(predicate: &Predicate) -> bool {
    patterns(predicate).is_some()
}

/// The positions of a searchable chunk whose cells match, a bit each in blocks of 128; `None` if a search does not find
/// them.
pub fn found(chunk: &Chunk, predicate: &Predicate) -> Result<Option<Vec<u128>>> {
    if let Some(contrary) = contrary(predicate) {
        let Some(mut blocks) = found(chunk, &contrary)? else { return Ok(None) };
        blocks.iter_mut().enumerate().for_each(|(at, found)| *found = chunk.present(at) & !*found);
        return Ok(Some(blocks));
    }
    let Some(patterns) = patterns(predicate).filter(|_| chunk.is_searchable()) else { return Ok(None) };
    let mut blocks = vec![0; chunk.positions().div_ceil(SLOTS)];
    for (mode, pattern) in patterns.any {
        chunk.find_text(pattern, mode, &mut blocks)?;
    }
    for (at, found) in blocks.iter_mut().enumerate().filter(|_| !patterns.is_exact) {
        for slot in slots(*found) {
            if !chunk.cell(at * SLOTS + slot)?.values().any(|value| predicate.matches(value)) {
                *found &= !(1 << slot);
            }
        }
    }
    Ok(Some(blocks))
}

/// The present slots `among` these that have a value that matches.
pub fn passing(block: &Block, predicate: &Predicate, among: u128) -> Result<u128> {
    let among = among & block.present;
    if among == 0 {
        return Ok(0);
    }
    if let Body::Mixed(layers) = &block.body {
        let (over, under) = &**layers;
        return Ok(passing(over, predicate, among)? | passing(under, predicate, among)?);
    }
    match whole(block, predicate)? {
        Some(ranks) => Ok(expand(ranks, block.stored()) & among),
        None => {
            let mut passing = 0;
            for slot in slots(among) {
                let matches = block.cell(slot)?.values().any(|value| predicate.matches(value));
                passing |= u128::from(matches) << slot;
            }
            Ok(passing)
        }
    }
}

/// Turns bits by rank into bits by slot.
fn expand(ranks: u128, stored: u128) -> u128 {
    if stored & stored.wrapping_add(1) == 0 {
        return ranks; // the first slots are present: ranks are slots
    }
    let bit = |(rank, slot): (usize, usize)| (ranks >> rank & 1) << slot;
    slots(stored).enumerate().map(bit).fold(0, |bits, bit| bits | bit)
}

/// The ranks that match; `None` if the predicate cannot be tested for the block as a whole. It can if its outcome is true or
/// false, never unknown, for every value of the block's type.
fn whole(block: &Block, predicate: &Predicate) -> Result<Option<u128>> {
    let all = all(block.len());
    let Some(block_type) = block.value_type() else { return Ok(None) };
    Ok(match predicate {
        Predicate::Compare(comparison, operand) => compared(block, block_type, *comparison, operand)?,
        Predicate::Within(options) => any_equal(block, block_type, options)?,
        Predicate::Without(options) => any_equal(block, block_type, options)?.map(|ranks| all & !ranks),
        Predicate::Text(test, text) if block_type == ValueType::String => {
            Some(text_matches(block, |value| test.test(value, text))?)
        }
        Predicate::Regex(regex) if block_type == ValueType::String => {
            Some(text_matches(block, |value| regex.is_match(value))?)
        }
        Predicate::Text(..) | Predicate::Regex(_) => None,
        Predicate::TypeOf(types) => Some(if types.contains(&block_type) { all } else { 0 }),
        Predicate::And(parts) => fold(block, parts, all, |a, b| a & b)?,
        Predicate::Or(parts) => fold(block, parts, 0, |a, b| a | b)?,
        Predicate::Not(part) => whole(block, part)?.map(|ranks| all & !ranks),
    })
}

fn all(n: usize) -> u128 {
    crate::format::encode::ones(n)
}

fn fold(block: &Block, parts: &[Predicate], start: u128, join: impl Fn(u128, u128) -> u128) -> Result<Option<u128>> {
    let mut outcome = start;
    for part in parts {
        match whole(block, part)? {
            Some(ranks) => outcome = join(outcome, ranks),
            None => return Ok(None),
        }
    }
    Ok(Some(outcome))
}

/// With more options than this, it is quicker to look each cell up among them.
const OPTIONS_MAX: usize = 32;

fn any_equal(block: &Block, block_type: ValueType, options: &[Value]) -> Result<Option<u128>> {
    if options.len() > OPTIONS_MAX {
        return Ok(None);
    }
    let mut any = 0;
    for option in options {
        match compared(block, block_type, Comparison::Eq, option)? {
            Some(ranks) => any |= ranks,
            None => return Ok(None),
        }
    }
    Ok(Some(any))
}

fn compared(block: &Block, block_type: ValueType, comparison: Comparison, operand: &Value) -> Result<Option<u128>> {
    Ok(match &block.body {
        Body::Ints(t, packed) if t.is_integer() => integers(packed, comparison, operand),
        Body::Ints(t, packed) if counts_as(*t, operand) => {
            counted(*t, operand).map(|operand| against(packed, comparison, operand))
        }
        Body::Float32(values) => {
            float_operand(operand).map(|f| floats(values.iter().map(|v| f64::from(f32::from_le_bytes(*v))), comparison, f))
        }
        Body::Float64(values) => {
            float_operand(operand).map(|f| floats(values.iter().map(|v| f64::from_le_bytes(*v)), comparison, f))
        }
        Body::Heap(t @ ValueType::String, _) if operand.value_type() == *t => {
            let operand = operand.as_str().unwrap_or_default().as_bytes();
            Some(byte_matches(block, |bytes| comparison.accepts(bytes.cmp(operand)))?)
        }
        Body::Sealed(chunk, first) => sealed(block, chunk, *first, block_type, comparison, operand)?,
        Body::Bools(_) | Body::Uuids(_) | Body::Heap(..) => None,
        // A value of another kind is never equal to those of the block, and cannot be ordered with them.
        _ if unlike(block_type, operand.value_type()) => match comparison {
            Comparison::Eq => Some(0),
            Comparison::Neq => Some(all(block.len())),
            _ => None,
        },
        _ => None,
    })
}

/// As [`compared`], for a part of a chunk of a segment.
fn sealed(
    block: &Block,
    chunk: &Chunk,
    first: usize,
    block_type: ValueType,
    comparison: Comparison,
    operand: &Value,
) -> Result<Option<u128>> {
    Ok(match block_type {
        t if is_count(t) && (t.is_integer() || counts_as(t, operand)) => {
            let ranks = first..first + block.len();
            if let Some(ints) = chunk.plain_counts() {
                return Ok(of_counts(t, &Run { ints, ranks }, comparison, operand));
            }
            let mut counts = Vec::with_capacity(SLOTS);
            chunk.counts(ranks, &mut counts)?;
            of_counts(t, &counts[..], comparison, operand)
        }
        ValueType::Float32 | ValueType::Float64 => match float_operand(operand) {
            Some(operand) => {
                let values = (first..first + block.len()).map(|rank| chunk.float_at(rank));
                Some(floats(values.collect::<Result<Vec<f64>>>()?.into_iter(), comparison, operand))
            }
            None => None,
        },
        ValueType::String if operand.value_type() == block_type => {
            let operand = operand.as_str().unwrap_or_default().as_bytes();
            let ranks = first..first + block.len();
            Some(match chunk.codes_equal(operand)? {
                Some((ints, equal)) => against_codes(&Run { ints, ranks }, comparison, equal),
                None => {
                    let mut passing = 0;
                    for (at, rank) in ranks.enumerate() {
                        let passes = comparison.accepts(chunk.compare_bytes(rank, operand)?);
                        passing |= u128::from(passes) << at;
                    }
                    passing
                }
            })
        }
        _ => None,
    })
}

/// Compares codes of a sorted dictionary. `equal` is the range of codes, one or none, that are equal to the operand.
fn against_codes(codes: &Run<'_>, comparison: Comparison, equal: Range<i64>) -> u128 {
    match comparison {
        Comparison::Eq => bits(codes, |code| equal.contains(&code)),
        Comparison::Neq => bits(codes, |code| !equal.contains(&code)),
        Comparison::Lt => against(codes, Comparison::Lt, equal.start),
        Comparison::Lte => against(codes, Comparison::Lt, equal.end),
        Comparison::Gt => against(codes, Comparison::Gte, equal.end),
        Comparison::Gte => against(codes, Comparison::Gte, equal.start),
    }
}

/// Compares integers, or values kept as integers with an operand of their own type.
fn of_counts(t: ValueType, counts: &(impl Counts + ?Sized), comparison: Comparison, operand: &Value) -> Option<u128> {
    match t.is_integer() {
        true => integers(counts, comparison, operand),
        false => counted(t, operand).map(|operand| against(counts, comparison, operand)),
    }
}

/// Whether values of the two types are never equal.
fn unlike(a: ValueType, b: ValueType) -> bool {
    let is_time = |t| matches!(t, ValueType::Date | ValueType::DateTime);
    a != b && !(a.is_number() && b.is_number()) && !(is_time(a) && is_time(b))
}

/// Whether values of a type may compare with the operand as the integers they are kept as.
fn counts_as(t: ValueType, operand: &Value) -> bool {
    t == operand.value_type() || !unlike(t, operand.value_type()) && !t.is_number()
}

/// The integer that values of type `t` (dates, date-times or durations) compare with; `None` if it would lose something.
fn counted(t: ValueType, operand: &Value) -> Option<i64> {
    let exact = |seconds: i64, nanos: u32| nanos.is_multiple_of(1000) && seconds.unsigned_abs() < 1 << 42;
    match (t, operand) {
        (ValueType::Date, Value::Date(date)) => Some(i64::from(date.0)),
        (ValueType::Date, Value::DateTime(t)) => {
            mangrove_graph::DateTime { offset_seconds: 0, ..*t }.date().map(|date| i64::from(date.0))
        }
        (ValueType::DateTime, Value::Date(date)) => {
            let t = date.midnight();
            exact(t.seconds, t.nanos).then(|| t.micros())
        }
        (ValueType::DateTime, Value::DateTime(t)) => exact(t.seconds, t.nanos).then(|| t.micros()),
        (ValueType::Duration, Value::Duration(d)) => exact(d.seconds, d.nanos).then(|| d.micros()),
        _ => None,
    }
}

/// Integers in the order of their ranks.
trait Counts {
    fn each(&self, f: impl FnMut(usize, i64));
}

impl Counts for Packed<'_> {
    #[inline]
    fn each(&self, mut f: impl FnMut(usize, i64)) {
        Packed::each(self, |at, v| f(at, v as i64));
    }
}

/// Some integers of a chunk.
struct Run<'a> {
    ints: Ints<'a>,
    ranks: Range<usize>,
}

impl Counts for Run<'_> {
    #[inline]
    fn each(&self, mut f: impl FnMut(usize, i64)) {
        let mut at = 0;
        self.ints.each(self.ranks.clone(), |v| {
            f(at, v);
            at += 1;
        });
    }
}

impl Counts for [i64] {
    #[inline]
    fn each(&self, mut f: impl FnMut(usize, i64)) {
        self.iter().enumerate().for_each(|(at, v)| f(at, *v));
    }
}

fn bits(counts: &(impl Counts + ?Sized), test: impl Fn(i64) -> bool) -> u128 {
    let mut flags = [false; SLOTS];
    counts.each(|at, v| flags[at % SLOTS] = test(v));
    flags_as_bits(&flags)
}

/// One loop for each comparison. The compiler turns each into vector instructions.
fn against(packed: &(impl Counts + ?Sized), comparison: Comparison, operand: i64) -> u128 {
    match comparison {
        Comparison::Eq => bits(packed, |v| v == operand),
        Comparison::Neq => bits(packed, |v| v != operand),
        Comparison::Lt => bits(packed, |v| v < operand),
        Comparison::Lte => bits(packed, |v| v <= operand),
        Comparison::Gt => bits(packed, |v| v > operand),
        Comparison::Gte => bits(packed, |v| v >= operand),
    }
}

fn pack_bits(passing: impl Iterator<Item = bool>) -> u128 {
    let mut flags = [false; SLOTS];
    flags.iter_mut().zip(passing).for_each(|(flag, passes)| *flag = passes);
    flags_as_bits(&flags)
}

/// A bit for every flag. One multiplication gathers eight of them.
fn flags_as_bits(flags: &[bool; SLOTS]) -> u128 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let bytes = flags.as_chunks::<8>().0.iter().map(|eight| {
        let eight = u64::from_le_bytes(eight.map(u8::from));
        eight.wrapping_mul(GATHER) >> 56
    });
    bytes.enumerate().fold(0, |bits, (at, byte)| bits | u128::from(byte) << (8 * at))
}

fn integers(packed: &(impl Counts + ?Sized), comparison: Comparison, operand: &Value) -> Option<u128> {
    if let Some(operand) = operand.as_i64() {
        return Some(against(packed, comparison, operand));
    }
    let operand = match operand {
        Value::Float32(f) => f64::from(*f),
        Value::Float64(f) => *f,
        _ => return None,
    };
    if operand.is_nan() || operand.abs() > 9.0e18 {
        return None; // it cannot be compared as an integer
    }
    let (floor, is_whole) = (operand.floor() as i64, operand.fract() == 0.0);
    let ordering = |v: i64| match v.cmp(&floor) {
        Ordering::Equal if !is_whole => Ordering::Less,
        ordering => ordering,
    };
    Some(bits(packed, |v| comparison.accepts(ordering(v))))
}

/// The operand as a double, if a double holds it exactly.
fn float_operand(operand: &Value) -> Option<f64> {
    match operand {
        Value::Float32(f) => Some(f64::from(*f)),
        Value::Float64(f) => Some(*f),
        other => other.as_i64().filter(|i| i.unsigned_abs() <= 1 << 53).map(|i| i as f64),
    }
}

fn floats(values: impl Iterator<Item = f64>, comparison: Comparison, operand: f64) -> u128 {
    match comparison {
        Comparison::Eq => pack_bits(values.map(|v| v == operand)),
        Comparison::Neq => pack_bits(values.map(|v| v != operand)),
        Comparison::Lt => pack_bits(values.map(|v| v < operand)),
        Comparison::Lte => pack_bits(values.map(|v| v <= operand)),
        Comparison::Gt => pack_bits(values.map(|v| v > operand)),
        Comparison::Gte => pack_bits(values.map(|v| v >= operand)),
    }
}

fn byte_matches(block: &Block, test: impl Fn(&[u8]) -> bool) -> Result<u128> {
    let mut passing = 0;
    block.each_bytes(|rank, bytes| {
        passing |= u128::from(test(bytes)) << rank;
        Ok(())
    })?;
    Ok(passing)
}

fn text_matches(block: &Block, test: impl Fn(&str) -> bool) -> Result<u128> {
    let mut passing = 0;
    block.each_bytes(|rank, bytes| {
        passing |= u128::from(test(value::text(bytes)?)) << rank;
        Ok(())
    })?;
    Ok(passing)
}

#[cfg(test)]
mod tests {
    use mangrove_graph::{Cell, Date, DateTime};

    use super::*;
    use crate::format::encode;

    /// However a block is tested, the outcome is that of its cells.
    #[test]
    fn blocks_pass_what_their_cells_pass() {
        let columns: [Vec<Value>; 9] = [
            (-3..60i32).map(Value::from).collect(),
            [i64::MIN, -1, 0, 1 << 53, (1 << 53) + 1, i64::MAX].map(Value::from).into(),
            [f64::NEG_INFINITY, -0.0, 0.0, 1.5, 2.0, f64::NAN].map(Value::from).into(),
            [0.5f32, 1.5, f32::NAN].map(Value::from).into(),
            ["", "a", "ab", "b", "zebra"].map(Value::from).into(),
            [true, false].map(Value::from).into(),
            [Date(-1), Date(0), Date(19_000)].map(Value::from).into(),
            [0, 1_000_001, -5].map(|us| DateTime::from_micros(us).into()).into(),
            [Value::Null, 1.into(), "a".into(), 2.5.into()].into(),
        ];
        let operands: Vec<Value> = columns.iter().flatten().cloned().chain([(1i128 << 70).into()].map(big)).collect();
        for column in &columns {
            let mut cells = Vec::new();
            for value in column {
                cells.extend([Cell::One(value.clone()), Cell::Absent]);
            }
            let mut bytes = Vec::new();
            encode::cells(&mut bytes, &cells, encode::Kept::default());
            let block = Block::parse(&bytes, None).unwrap();
            for predicate in predicates(&operands) {
                let found = passing(&block, &predicate, u128::MAX).unwrap();
                for (slot, cell) in cells.iter().enumerate() {
                    let expected = cell.values().any(|value| predicate.matches(value));
                    assert_eq!(found >> slot & 1 != 0, expected, "{cell:?} {predicate:?}");
                }
            }
        }
    }

    fn big(i: mangrove_graph::BigInt) -> Value {
        Value::from(i)
    }

    fn predicates(operands: &[Value]) -> Vec<Predicate> {
        use Comparison::*;
        let mut all = Vec::new();
        for operand in operands {
            for comparison in [Eq, Neq, Lt, Lte, Gt, Gte] {
                let plain = Predicate::Compare(comparison, operand.clone());
                all.push(Predicate::Not(Box::new(plain.clone())));
                all.push(Predicate::Or(vec![plain.clone(), Predicate::eq(1)]));
                all.push(Predicate::And(vec![plain.clone(), Predicate::Compare(Neq, "a".into())]));
                all.push(plain);
            }
            all.push(Predicate::Without(vec![operand.clone(), 2.into()].into()));
        }
        for test in [TextTest::StartsWith, TextTest::EndsWith, TextTest::Contains] {
            all.push(Predicate::Text(test, "a".into()));
        }
        all.push(Predicate::TypeOf([ValueType::Int32, ValueType::Null].as_slice().into()));
        all
    }
}
