//! Writes column chunks, in the form that takes the fewest bytes.

use std::cmp::Ordering;
use std::hash::Hash;

use hashbrown::HashMap;
use mangrove_graph::{Cell, DateTime, Duration, EdgeRef, Encoding, Value, ValueType};

use super::{
    BITS, BYTES, CELLS, DICTIONARY, ENDS, EXPONENT_MAX, INTS, PLAIN, POSITIONS, POWERS, SCALED, SEARCHABLE, SOURCES,
    SYMBOLS, is_count, unscaled,
};
use crate::{bits, heap, ints, symbols, text, value};

/// A dictionary or a table of symbols must shrink the content below this share, because reading it takes two steps.
pub(super) const DICTIONARY_WORTH: f64 = 0.9;
/// Strings with fewer bytes than this do not justify a table of symbols.
const SYMBOLS_FROM: usize = 4096;

/// Appends the chunk of these cells, by position. Cells that an encoding does not suit are stored as [`Encoding::Auto`] would. Returns
/// how many bytes at the end of the chunk are those of its values, which a file may keep in pieces.
///
/// # Panics
/// If there are more than [`POSITIONS`].
pub fn encode(out: &mut Vec<u8>, cells: &[Cell], encoding: Encoding) -> usize {
    assert!(cells.len() <= POSITIONS);
    let there: Vec<&Cell> = cells.iter().filter(|cell| !cell.is_absent()).collect();
    let content = match encoding {
        Encoding::Searchable { sampling_log2 } => searchable(&there, sampling_log2),
        _ => None,
    };
    let content = content.unwrap_or_else(|| {
        let content = Content::of(&there, encoding);
        let worth = match encoding {
            Encoding::Plain | Encoding::Symbols => return content,
            Encoding::Dictionary => f64::INFINITY,
            _ => DICTIONARY_WORTH,
        };
        dictionary(&there, &content, worth).unwrap_or(content)
    });
    header(out, &content, cells.len(), there.len());
    if there.len() < cells.len() {
        let flags: Vec<bool> = cells.iter().map(|cell| !cell.is_absent()).collect();
        bits::encode(out, &flags);
    }
    out.extend_from_slice(&content.bytes);
    content.values
}

/// Appends the chunk of the ends of edges, by position.
///
/// # Panics
/// If there are more than [`POSITIONS`].
pub fn encode_ends(out: &mut Vec<u8>, edges: &[Option<EdgeRef>]) {
    sources(out, ENDS, edges);
    ints::encode(out, &edges.iter().flatten().map(|edge| edge.target.0 as i64).collect::<Vec<_>>());
}

/// The same without the targets, which the lists of outgoing edges must have: in lists whose places are consecutive.
///
/// # Panics
/// If there are more than [`POSITIONS`].
pub fn encode_sources(out: &mut Vec<u8>, edges: &[Option<EdgeRef>]) {
    sources(out, SOURCES, edges);
}

fn sources(out: &mut Vec<u8>, form: u8, edges: &[Option<EdgeRef>]) {
    assert!(edges.len() <= POSITIONS);
    let there: Vec<&EdgeRef> = edges.iter().flatten().collect();
    header(out, &Content { form, ..Content::default() }, edges.len(), there.len());
    if there.len() < edges.len() {
        bits::encode(out, &edges.iter().map(Option::is_some).collect::<Vec<_>>());
    }
    ints::encode(out, &there.iter().map(|edge| edge.source.0 as i64).collect::<Vec<_>>());
}

/// The encoded content of a chunk.
#[derive(Default)]
pub(super) struct Content {
    pub form: u8,
    pub value_type: Option<ValueType>,
    pub exponent: u8,
    pub bytes: Vec<u8>,
    /// How many of the bytes, at their end, are those of the values in a heap.
    pub values: usize,
}

pub(super) fn header(out: &mut Vec<u8>, content: &Content, positions: usize, cells: usize) {
    let code = content.value_type.map_or(0, |t| t as u8);
    out.extend_from_slice(&[content.form, code, u8::from(cells < positions), content.exponent]);
    out.extend_from_slice(&(positions as u32).to_le_bytes());
    out.extend_from_slice(&(cells as u32).to_le_bytes());
}

/// The bytes of a value that is stored as bytes.
pub(super) fn raw_bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        value => value.as_str().unwrap_or_default().as_bytes(),
    }
}

/// Byte strings as they are, or by symbols if that saves a tenth. Symbols are slower to read. Gives form, bytes, and the length of the
/// values at their end.
fn strings(all: &Vec<&[u8]>, encoding: Encoding) -> (u8, Vec<u8>, usize) {
    let (plain, len) = heap::bytes(all.iter().copied());
    let wanted = encoding == Encoding::Symbols;
    let is_short = len < SYMBOLS_FROM;
    if encoding == Encoding::Plain || is_short && !wanted {
        return (BYTES, plain, len);
    }
    let encoder = symbols::Encoder::train(all);
    let encoded = encoder.encode_all(all);
    let (heap, encoded_len) = heap::bytes(encoded.iter().map(|string| &string[..]));
    let bytes = [encoder.table(), &heap].concat();
    let pays = wanted || (bytes.len() as f64) < DICTIONARY_WORTH * plain.len() as f64;
    if pays { (SYMBOLS, bytes, encoded_len) } else { (BYTES, plain, len) }
}

/// Strings as a searchable text. `None` if some cell is not a string, or if the strings are too long for one text.
fn searchable(cells: &[&Cell], sampling_log2: u8) -> Option<Content> {
    let string = |cell: &&Cell| match cell {
        Cell::One(Value::String(text)) => Some(text.len() + 1),
        _ => None,
    };
    let symbols: usize = cells.iter().map(string).sum::<Option<usize>>()?;
    if symbols > text::SYMBOLS_MAX {
        return None;
    }
    let values: Vec<&[u8]> = cells.iter().flat_map(|cell| cell.values()).map(raw_bytes).collect();
    let mut bytes = Vec::new();
    text::encode(&values, text::TextOptions { sampling: 1 << sampling_log2 }, &mut bytes);
    Some(Content { form: SEARCHABLE, value_type: Some(ValueType::String), bytes, ..Content::default() })
}

impl Content {
    /// Encodes the cells without a dictionary.
    fn of(cells: &[&Cell], encoding: Encoding) -> Self {
        let plain = |cell: &&Cell| if let Cell::One(value) = cell { Some(value.value_type()) } else { None };
        let first = cells.first().and_then(plain);
        let common = first.filter(|t| cells.iter().all(|cell| plain(cell) == Some(*t)));
        common.and_then(|t| Self::typed(t, cells, encoding)).unwrap_or_else(|| {
            let all: Vec<Vec<u8>> = cells.iter().map(|cell| value::cell_bytes(cell)).collect();
            let (bytes, values) = heap::bytes(all.iter().map(|bytes| &bytes[..]));
            Self { form: CELLS, bytes, values, ..Self::default() }
        })
    }

    /// `None` if this form would lose part of a value.
    fn typed(t: ValueType, cells: &[&Cell], encoding: Encoding) -> Option<Self> {
        let values = || cells.iter().filter_map(|cell| cell.values().next());
        let content = |form, bytes| Some(Self { form, value_type: Some(t), bytes, ..Self::default() });
        match t {
            t if is_count(t) => {
                let mut bytes = Vec::new();
                ints::encode(&mut bytes, &values().map(count_of).collect::<Option<Vec<i64>>>()?);
                content(INTS, bytes)
            }
            ValueType::Float32 | ValueType::Float64 => {
                Self::floats(t, &values().filter_map(Value::as_f64).collect::<Vec<_>>())
            }
            ValueType::Bool => {
                let mut bytes = Vec::new();
                bits::encode(&mut bytes, &values().map(|value| *value == Value::Bool(true)).collect::<Vec<_>>());
                content(BITS, bytes)
            }
            ValueType::Uuid => {
                let uuid = |value: &Value| if let Value::Uuid(uuid) = value { *uuid.as_bytes() } else { [0; 16] };
                content(PLAIN, values().flat_map(uuid).collect())
            }
            ValueType::String | ValueType::Bytes => {
                let (form, bytes, values) = strings(&values().map(raw_bytes).collect(), encoding);
                Some(Self { form, value_type: Some(t), bytes, values, ..Self::default() })
            }
            _ => None,
        }
    }

    fn floats(t: ValueType, floats: &[f64]) -> Option<Self> {
        let plain: Vec<u8> = match t {
            ValueType::Float32 => floats.iter().flat_map(|f| (*f as f32).to_le_bytes()).collect(),
            _ => floats.iter().flat_map(|f| f.to_le_bytes()).collect(),
        };
        let in_type = |f: f64, exponent| match t {
            // A float is the nearest one to its decimal in its own width.
            ValueType::Float32 => {
                let decimal: f64 = (f as f32).to_string().parse().unwrap_or(f);
                scaled(decimal, exponent)
                    .filter(|count| (unscaled(*count, exponent) as f32).to_bits() == (f as f32).to_bits())
            }
            _ => scaled(f, exponent),
        };
        let fitting = (0..=EXPONENT_MAX).find(|exponent| floats.iter().all(|f| in_type(*f, *exponent).is_some()));
        let mut best = Self { form: PLAIN, value_type: Some(t), bytes: plain, ..Self::default() };
        if let Some(exponent) = fitting {
            let mut bytes = Vec::new();
            ints::encode(&mut bytes, &floats.iter().filter_map(|f| in_type(*f, exponent)).collect::<Vec<_>>());
            if bytes.len() < best.bytes.len() {
                best = Self { form: SCALED, exponent, bytes, ..best };
            }
        }
        Some(best)
    }
}

/// The cells as a dictionary and codes, if that takes less.
fn dictionary(cells: &[&Cell], content: &Content, worth: f64) -> Option<Content> {
    let values = || cells.iter().filter_map(|cell| cell.values().next());
    let (codes, firsts) = match content.form {
        INTS => codes_of(&values().map(count_of).collect::<Vec<_>>(), content, worth),
        SCALED | PLAIN if content.value_type != Some(ValueType::Uuid) => {
            codes_of(&values().map(|value| value.as_f64().map(f64::to_bits)).collect::<Vec<_>>(), content, worth)
        }
        BYTES | SYMBOLS if content.value_type == Some(ValueType::String) => {
            codes_of(&values().map(Value::as_str).collect::<Vec<_>>(), content, worth)
        }
        BITS => None,
        _ => codes_of(&cells.iter().map(|cell| value::cell_bytes(cell)).collect::<Vec<_>>(), content, worth),
    }?;
    let mut order: Vec<usize> = (0..firsts.len()).collect();
    order.sort_by(|a, b| sort_order(cells[firsts[*a]], cells[firsts[*b]]).then(firsts[*a].cmp(&firsts[*b])));
    let mut place = vec![0; order.len()];
    order.iter().zip(0i64..).for_each(|(code, at)| place[*code] = at);
    let mut bytes = Vec::new();
    ints::encode(&mut bytes, &codes.iter().map(|code| place[*code as usize]).collect::<Vec<_>>());
    let sorted: Vec<&Cell> = order.iter().map(|code| cells[firsts[*code]]).collect();
    let inner = Content::of(&sorted, Encoding::Auto);
    header(&mut bytes, &inner, sorted.len(), sorted.len());
    bytes.extend_from_slice(&inner.bytes);
    let pays = (bytes.len() as f64) < worth * content.bytes.len() as f64;
    pays.then_some(Content {
        form: DICTIONARY,
        value_type: content.value_type,
        bytes,
        values: inner.values,
        ..Content::default()
    })
}

/// For each key, the number of the first key equal to it; and the positions of these first keys. `None` as soon as it is clear that
/// the codes save nothing.
fn codes_of<K: Eq + Hash>(keys: &[K], content: &Content, worth: f64) -> Option<(Vec<u32>, Vec<usize>)> {
    let mut known: HashMap<&K, u32> = HashMap::new();
    let (mut codes, mut firsts) = (Vec::with_capacity(keys.len()), Vec::new());
    let worth = worth * 8.0 * content.bytes.len() as f64;
    for (at, key) in keys.iter().enumerate() {
        let code = *known.entry(key).or_insert(firsts.len() as u32);
        if code as usize == firsts.len() {
            firsts.push(at);
            // Stop if the bits of the codes alone, at their new width, are too many. Stop too if more than half the keys are
            // distinct: that never pays.
            let too_wide = firsts.len().is_power_of_two() && f64::from(firsts.len().ilog2()) * keys.len() as f64 > worth;
            if too_wide || worth.is_finite() && firsts.len() * 2 > keys.len() {
                return None;
            }
        }
        codes.push(code);
    }
    Some((codes, firsts))
}

/// Plain values in their order, then all other cells.
fn sort_order(a: &Cell, b: &Cell) -> Ordering {
    match (a, b) {
        (Cell::One(a), Cell::One(b)) => mangrove_graph::compare::order(a, b),
        (Cell::One(_), _) => Ordering::Less,
        (_, Cell::One(_)) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// The integer that stands for a value in an integer column. `None` if the integer would lose part of the value.
fn count_of(value: &Value) -> Option<i64> {
    match value {
        Value::Int8(v) => Some(i64::from(*v)),
        Value::Int16(v) => Some(i64::from(*v)),
        Value::Int32(v) => Some(i64::from(*v)),
        Value::Int64(v) => Some(*v),
        Value::Date(date) => Some(i64::from(date.0)),
        Value::DateTime(t) => Some(t.micros()).filter(|us| t.offset_seconds == 0 && DateTime::from_micros(*us) == *t),
        Value::Duration(d) => Some(d.micros()).filter(|us| Duration::from_micros(*us) == *d),
        _ => None,
    }
}

/// The float times 10^exponent as an integer, if dividing gives exactly the same float.
fn scaled(float: f64, exponent: u8) -> Option<i64> {
    let count = (float * POWERS[usize::from(exponent)]).round();
    let fits = count.abs() < 9e15 && (count != 0.0 || float.to_bits() == 0);
    (fits && unscaled(count as i64, exponent).to_bits() == float.to_bits()).then_some(count as i64)
}
