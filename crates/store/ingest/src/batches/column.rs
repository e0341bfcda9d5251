//! Columns of properties, built from text.
//!
//! A column with a declared type refuses fields that do not fit. A column with an inferred type widens: it converts the values that
//! it holds, and the batch continues in the wider type. The end of the load converts earlier batches; see `retype`.

use std::sync::Arc;

use arrow_array::builder::*;
use arrow_array::types::*;
use arrow_array::{ArrayRef, TimestampMicrosecondArray};
use mangrove_graph::value::exact_double;
use mangrove_graph::{Cardinality, Date, DateTime, Duration, Uuid, Value, ValueType, number};

use crate::batches::rows::{Misfit, RawCell, RawValue, Values};
use crate::batches::typed_json;
use crate::text::infer::{self, Inferred};

/// The type of a column's fields.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnType {
    /// Inferred from the sample so far.
    Inferred(Inferred),
    /// Times of edges: integers, dates and date-times only. The type is inferred among these.
    Time(Inferred),
    Declared(ValueType),
    /// Several values in one field: the values of a vertex's property, or the list that is the value of an edge's.
    Array {
        item: ValueType,
        cardinality: Cardinality,
    },
    /// A GraphSON array of `{"value": …, "properties": {…}}`, which can express any property.
    Cells,
}

/// The name of an edge's time in messages.
pub const A_TIME: &str = "time, which is an integer, a date or a date-time";

impl ColumnType {
    /// Whether the type may still widen.
    pub fn is_inferred(&self) -> bool {
        matches!(self, ColumnType::Inferred(_) | ColumnType::Time(_))
    }

    /// Whether its values can be the times of edges.
    pub fn may_be_time(&self) -> bool {
        match self {
            ColumnType::Inferred(_) | ColumnType::Time(_) | ColumnType::Cells => true,
            ColumnType::Declared(t) => {
                use ValueType::{Date, DateTime, Int8, Int16, Int32, Int64};
                matches!(t, Int8 | Int16 | Int32 | Int64 | Date | DateTime)
            }
            ColumnType::Array { .. } => false,
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            ColumnType::Inferred(t) => t.value_type().name().into(),
            ColumnType::Time(_) => A_TIME.into(),
            ColumnType::Declared(t) => t.name().into(),
            ColumnType::Array { item, .. } => format!("{}[]", item.name()),
            ColumnType::Cells => "graphson property".into(),
        }
    }
}

/// A field to add: its bytes, and whether it was quoted.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    pub bytes: &'a [u8],
    pub quoted: bool,
}

#[derive(Debug)]
enum Store {
    /// Only blanks so far.
    Nothing(usize),
    Bool(BooleanBuilder),
    Int8(Int8Builder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Date(Date32Builder),
    DateTime(Vec<Option<DateTime>>),
    Text(StringBuilder),
    /// Values of types without a builder of their own.
    Cells(Vec<RawCell>),
}

pub struct ColumnBuilder {
    column_type: ColumnType,
    /// Separates the items of an array.
    array_delimiter: u8,
    on_edges: bool,
    store: Store,
    /// The row of a batch that turned the column into text, and the type it had before.
    became_text: Option<(usize, Inferred)>,
}

impl ColumnBuilder {
    pub fn new(column_type: ColumnType, array_delimiter: u8, on_edges: bool) -> Self {
        let store = Store::of(&column_type);
        Self { column_type, array_delimiter, on_edges, store, became_text: None }
    }

    /// Adds a field. A blank field counts as absent.
    #[inline]
    pub fn push(&mut self, field: Text<'_>) -> Result<(), Misfit> {
        if field.bytes.is_empty() && !self.keeps_empty(field) {
            self.push_absent();
            return Ok(());
        }
        match self.column_type {
            ColumnType::Inferred(_) => self.push_inferred(field),
            ColumnType::Time(_) => self.push_time(field),
            ColumnType::Declared(t) => self.push_declared(t, field),
            ColumnType::Array { item, cardinality } => self.push_array(item, cardinality, field),
            ColumnType::Cells => self.push_cell(field),
        }
    }

    /// Adds fields one by one. Reports each refused field and adds it as absent.
    pub fn push_all<'t>(&mut self, mut fields: impl Iterator<Item = Text<'t>>, mut refused: impl FnMut(usize, Misfit)) {
        let mut row = 0;
        loop {
            // Frequent types have loops of their own. A field that does not fit leaves the loop for the general path.
            let odd = match (&mut self.store, &self.column_type) {
                (Store::Int64(b), ColumnType::Inferred(_) | ColumnType::Time(_) | ColumnType::Declared(_)) => {
                    append_while(&mut fields, &mut row, |field| infer::parse_int(field.bytes).map(|v| b.append_value(v)))
                }
                (Store::Float64(b), ColumnType::Inferred(_)) => {
                    append_while(&mut fields, &mut row, |field| lossless_double(field.bytes).map(|v| b.append_value(v)))
                }
                (Store::Float64(b), ColumnType::Declared(_)) => {
                    append_while(&mut fields, &mut row, |field| infer::parse_double(field.bytes).map(|v| b.append_value(v)))
                }
                _ => fields.next(),
            };
            let Some(field) = odd else { return };
            let before = self.inferred();
            if let Err(misfit) = self.push(field) {
                self.push_absent();
                refused(row, misfit);
            }
            if self.inferred() == Some(Inferred::Text)
                && let Some(before) = before.filter(|before| !matches!(before, Inferred::Text | Inferred::Nothing))
            {
                self.became_text = Some((row, before));
            }
            row += 1;
        }
    }

    fn inferred(&self) -> Option<Inferred> {
        if let ColumnType::Inferred(inferred) = self.column_type { Some(inferred) } else { None }
    }

    /// The row of the last [`push_all`](Self::push_all) that turned the column into text, and the type it had before. Resets it.
    pub fn became_text(&mut self) -> Option<(usize, Inferred)> {
        self.became_text.take()
    }

    /// `""` is an empty string in a column of text. In other columns it is blank.
    fn keeps_empty(&self, field: Text<'_>) -> bool {
        field.quoted && matches!(self.store, Store::Text(_))
    }

    pub fn push_absent(&mut self) {
        self.store.append_absent();
    }

    #[inline]
    fn push_inferred(&mut self, field: Text<'_>) -> Result<(), Misfit> {
        let fits = match &mut self.store {
            Store::Int64(b) => infer::parse_int(field.bytes).map(|v| b.append_value(v)).is_some(),
            Store::Float64(b) => lossless_double(field.bytes).map(|v| b.append_value(v)).is_some(),
            Store::Text(b) => {
                b.append_value(std::str::from_utf8(field.bytes).map_err(|_| Misfit::NotUtf8)?);
                true
            }
            _ => false,
        };
        if fits { Ok(()) } else { self.push_widening(field) }
    }

    /// The slow path: trims the field, infers its type, and widens the column.
    fn push_widening(&mut self, field: Text<'_>) -> Result<(), Misfit> {
        let trimmed = field.bytes.trim_ascii();
        if trimmed.is_empty() {
            self.push_absent();
            return Ok(());
        }
        std::str::from_utf8(field.bytes).map_err(|_| Misfit::NotUtf8)?;
        let ColumnType::Inferred(now) = self.column_type else { return Err(Misfit::Type) };
        let found = Inferred::of(trimmed);
        // An integer beyond int64 is fine in a column of doubles.
        let found = if now == Inferred::Double && infer::parse_double(trimmed).is_some() { now } else { found };
        let wide = now.join(found);
        if wide != now || matches!(self.store, Store::Nothing(_)) {
            self.widen(wide);
        }
        if wide == Inferred::Double && lossless_double(trimmed).is_none() {
            // Keep an integer that no double equals.
            let cells = self.store.cells();
            cells.push(RawCell::One(parse_value(ValueType::Int64, trimmed)?));
            return Ok(());
        }
        let kept = if wide == Inferred::Text { field.bytes } else { trimmed };
        self.store.append(wide.value_type(), kept)
    }

    /// Adds a time. In a column of integers and dates, each value keeps its type.
    fn push_time(&mut self, field: Text<'_>) -> Result<(), Misfit> {
        let trimmed = field.bytes.trim_ascii();
        let (&ColumnType::Time(now), found) = (&self.column_type, Inferred::of(trimmed)) else { return Err(Misfit::Type) };
        let wide = now.join(found);
        match found {
            Inferred::Nothing => self.push_absent(),
            Inferred::Int | Inferred::Date | Inferred::DateTime => {
                if wide == Inferred::Text || matches!(self.store, Store::Cells(_)) {
                    self.store.cells().push(RawCell::One(parse_value(found.value_type(), trimmed)?));
                    return Ok(());
                }
                if wide != now || matches!(self.store, Store::Nothing(_)) {
                    self.widen(wide);
                }
                self.store.append(wide.value_type(), trimmed)?;
            }
            _ => return Err(Misfit::Type),
        }
        Ok(())
    }

    fn widen(&mut self, wide: Inferred) {
        self.column_type = match self.column_type {
            ColumnType::Time(_) => ColumnType::Time(wide),
            _ => ColumnType::Inferred(wide),
        };
        let old = std::mem::replace(&mut self.store, Store::of_type(wide.value_type()));
        match old {
            Store::Nothing(n) => (0..n).for_each(|_| self.push_absent()),
            old => self.store.append_converted(&old.finish(), wide),
        }
    }

    fn push_declared(&mut self, t: ValueType, field: Text<'_>) -> Result<(), Misfit> {
        if t == ValueType::String {
            return self.store.append(t, field.bytes);
        }
        match field.bytes.trim_ascii() {
            b"" => self.push_absent(),
            trimmed => self.store.append(t, trimmed)?,
        }
        Ok(())
    }

    fn push_array(&mut self, item: ValueType, cardinality: Cardinality, field: Text<'_>) -> Result<(), Misfit> {
        let mut values = Vec::new();
        for part in split_array(field.bytes, self.array_delimiter) {
            let part = if item == ValueType::String { &part[..] } else { part.trim_ascii() };
            values.push(parse_value(item, part)?);
        }
        let Store::Cells(cells) = &mut self.store else { return Err(Misfit::Type) };
        cells.push(cell_of_values(values, cardinality, self.on_edges));
        Ok(())
    }

    fn push_cell(&mut self, field: Text<'_>) -> Result<(), Misfit> {
        let text = std::str::from_utf8(field.bytes).map_err(|_| Misfit::NotUtf8)?;
        let Store::Cells(cells) = &mut self.store else { return Err(Misfit::Type) };
        cells.push(typed_json::parse_cell(text).ok_or(Misfit::Type)?);
        Ok(())
    }

    /// The type so far.
    pub fn column_type(&self) -> &ColumnType {
        &self.column_type
    }

    /// Returns the column so far and starts a new one.
    pub fn finish(&mut self) -> Values {
        let rows = self.store.len();
        let next = match &self.column_type {
            ColumnType::Inferred(Inferred::Int)
            | ColumnType::Time(Inferred::Int)
            | ColumnType::Declared(ValueType::Int64) => Store::Int64(Int64Builder::with_capacity(rows)),
            ColumnType::Inferred(Inferred::Double) | ColumnType::Declared(ValueType::Float64) => {
                Store::Float64(Float64Builder::with_capacity(rows))
            }
            other => Store::of(other),
        };
        std::mem::replace(&mut self.store, next).finish()
    }
}

/// Takes fields while `append` accepts them. Returns the first field that it refuses.
#[inline]
fn append_while<'t>(
    fields: &mut impl Iterator<Item = Text<'t>>,
    row: &mut usize,
    mut append: impl FnMut(Text<'t>) -> Option<()>,
) -> Option<Text<'t>> {
    for field in fields {
        if append(field).is_none() {
            return Some(field);
        }
        *row += 1;
    }
    None
}

impl Store {
    fn of(column_type: &ColumnType) -> Self {
        match column_type {
            ColumnType::Inferred(Inferred::Nothing) | ColumnType::Time(Inferred::Nothing) => Store::Nothing(0),
            ColumnType::Inferred(t) | ColumnType::Time(t) => Self::of_type(t.value_type()),
            ColumnType::Declared(t) => Self::of_type(*t),
            ColumnType::Array { .. } | ColumnType::Cells => Store::Cells(Vec::new()),
        }
    }

    fn of_type(t: ValueType) -> Self {
        match t {
            ValueType::Bool => Store::Bool(BooleanBuilder::new()),
            ValueType::Int8 => Store::Int8(Int8Builder::new()),
            ValueType::Int16 => Store::Int16(Int16Builder::new()),
            ValueType::Int32 => Store::Int32(Int32Builder::new()),
            ValueType::Int64 => Store::Int64(Int64Builder::new()),
            ValueType::Float32 => Store::Float32(Float32Builder::new()),
            ValueType::Float64 => Store::Float64(Float64Builder::new()),
            ValueType::Date => Store::Date(Date32Builder::new()),
            ValueType::DateTime => Store::DateTime(Vec::new()),
            ValueType::String => Store::Text(StringBuilder::new()),
            _ => Store::Cells(Vec::new()),
        }
    }

    fn append(&mut self, t: ValueType, field: &[u8]) -> Result<(), Misfit> {
        if let Store::Text(builder) = self {
            builder.append_value(std::str::from_utf8(field).map_err(|_| Misfit::NotUtf8)?);
            return Ok(());
        }
        self.append_value(&parse_value(t, field)?);
        Ok(())
    }

    /// Adds a value. Its type must be that of the store.
    fn append_value(&mut self, value: &Value) {
        match (self, value) {
            (Store::Bool(b), Value::Bool(v)) => b.append_value(*v),
            (Store::Int8(b), Value::Int8(v)) => b.append_value(*v),
            (Store::Int16(b), Value::Int16(v)) => b.append_value(*v),
            (Store::Int32(b), Value::Int32(v)) => b.append_value(*v),
            (Store::Int64(b), Value::Int64(v)) => b.append_value(*v),
            (Store::Float32(b), Value::Float32(v)) => b.append_value(*v),
            (Store::Float64(b), Value::Float64(v)) => b.append_value(*v),
            (Store::Date(b), Value::Date(v)) => b.append_value(v.0),
            (Store::DateTime(b), Value::DateTime(v)) => b.push(Some(*v)),
            (Store::Text(b), Value::String(v)) => b.append_value(v),
            (Store::Cells(cells), v) => cells.push(RawCell::One(v.clone())),
            (store, value) => unreachable!("a {} came to {store:?}", value.value_type()),
        }
    }

    /// Adds the values of a column, converted to a wider type. An integer that no double equals stays an integer; then each value
    /// keeps its own type.
    fn append_converted(&mut self, column: &Values, wide: Inferred) {
        for row in 0..column.len() {
            let RawCell::One(value) = column.cell(row) else {
                self.append_absent();
                continue;
            };
            let value = convert(&value, wide);
            if value.value_type() == ValueType::Int64 && wide == Inferred::Double {
                self.cells();
            }
            self.append_value(&value);
        }
    }

    /// The values as cells, which can mix types.
    fn cells(&mut self) -> &mut Vec<RawCell> {
        if !matches!(self, Store::Cells(_)) {
            let column = std::mem::replace(self, Store::Nothing(0)).finish();
            *self = Store::Cells((0..column.len()).map(|row| column.cell(row)).collect());
        }
        match self {
            Store::Cells(cells) => cells,
            _ => unreachable!("made so above"),
        }
    }

    fn append_absent(&mut self) {
        match self {
            Store::Nothing(n) => *n += 1,
            Store::Bool(b) => b.append_null(),
            Store::Int8(b) => b.append_null(),
            Store::Int16(b) => b.append_null(),
            Store::Int32(b) => b.append_null(),
            Store::Int64(b) => b.append_null(),
            Store::Float32(b) => b.append_null(),
            Store::Float64(b) => b.append_null(),
            Store::Date(b) => b.append_null(),
            Store::DateTime(b) => b.push(None),
            Store::Text(b) => b.append_null(),
            Store::Cells(cells) => cells.push(RawCell::Absent),
        }
    }

    /// How many rows the frequent types hold. Used to reserve memory.
    fn len(&self) -> usize {
        match self {
            Store::Int64(b) => b.len(),
            Store::Float64(b) => b.len(),
            _ => 0,
        }
    }

    fn finish(self) -> Values {
        let array: ArrayRef = match self {
            Store::Nothing(n) => return Values::Absent(n),
            Store::Cells(cells) => return Values::Cells(cells),
            Store::DateTime(times) => return date_times(times),
            Store::Bool(mut b) => Arc::new(b.finish()),
            Store::Int8(mut b) => Arc::new(b.finish()),
            Store::Int16(mut b) => Arc::new(b.finish()),
            Store::Int32(mut b) => Arc::new(b.finish()),
            Store::Int64(mut b) => Arc::new(b.finish()),
            Store::Float32(mut b) => Arc::new(b.finish()),
            Store::Float64(mut b) => Arc::new(b.finish()),
            Store::Date(mut b) => Arc::new(b.finish()),
            Store::Text(mut b) => Arc::new(b.finish()),
        };
        Values::of_array(array)
    }
}

/// Date-times as an array if that loses nothing; see [`mangrove_graph::column`].
fn date_times(times: Vec<Option<DateTime>>) -> Values {
    if times.iter().all(Option::is_none) {
        return Values::Absent(times.len());
    }
    let exact = |t: &DateTime| t.offset_seconds == 0 && t.nanos.is_multiple_of(1000);
    if times.iter().flatten().all(exact) {
        let micros = times.iter().map(|t| t.map(|t| t.micros()));
        return Values::Typed(Arc::new(TimestampMicrosecondArray::from_iter(micros).with_timezone("UTC")));
    }
    Values::Cells(times.into_iter().map(|t| t.map_or(RawCell::Absent, |t| RawCell::One(t.into()))).collect())
}

/// Reads a double. `None` for an integer that no double equals.
fn lossless_double(field: &[u8]) -> Option<f64> {
    /// 2^53 has sixteen digits.
    const EXACT_DIGITS: usize = 15;
    match field.len() > EXACT_DIGITS && infer::parse_int(field.trim_ascii()).is_some_and(|int| exact_double(int).is_none()) {
        true => None,
        false => infer::parse_double(field),
    }
}

/// Converts a value to a wider inferred type. An integer that no double equals stays as it is.
pub fn convert(value: &Value, to: Inferred) -> Value {
    match (value, to) {
        (Value::Int64(v), Inferred::Double) => exact_double(*v).map_or_else(|| value.clone(), Value::Float64),
        (Value::Date(v), Inferred::DateTime) => {
            Value::DateTime(DateTime { seconds: i64::from(v.0) * 86_400, nanos: 0, offset_seconds: 0 })
        }
        (Value::String(_), _) => value.clone(),
        (value, Inferred::Text) => Value::string(value.to_string()),
        (value, _) => value.clone(),
    }
}

/// Applies [`convert`] to a whole column.
pub fn convert_column(column: &Values, to: Inferred) -> Values {
    if let (Values::Typed(array), Inferred::Double) = (column, to)
        && let Some(ints) = array.as_any().downcast_ref::<arrow_array::Int64Array>()
        && ints.iter().flatten().all(|int| exact_double(int).is_some())
    {
        return Values::Typed(Arc::new(ints.unary::<_, Float64Type>(|v| v as f64)));
    }
    let mut store = Store::of_type(to.value_type());
    store.append_converted(column, to);
    store.finish()
}

/// Reads a field as a value of a declared type.
pub fn parse_value(t: ValueType, field: &[u8]) -> Result<Value, Misfit> {
    let text = std::str::from_utf8(field).map_err(|_| Misfit::NotUtf8)?;
    parse_text(t, text).ok_or(Misfit::Type)
}

fn parse_text(t: ValueType, text: &str) -> Option<Value> {
    Some(match t {
        ValueType::Bool => Value::Bool(parse_declared_bool(text)?),
        ValueType::Int8 => Value::Int8(text.parse().ok()?),
        ValueType::Int16 => Value::Int16(text.parse().ok()?),
        ValueType::Int32 => Value::Int32(text.parse().ok()?),
        ValueType::Int64 => Value::Int64(text.parse().ok()?),
        ValueType::Float32 => Value::Float32(parse_float(text)?),
        ValueType::Float64 => Value::Float64(infer::parse_double(text.as_bytes())?),
        ValueType::BigInt => number::big_int(text).ok()?.into(),
        ValueType::Decimal => number::decimal(text).ok()?.into(),
        ValueType::String => Value::string(text),
        ValueType::Bytes => Value::Bytes(parse_hex(text)?.into()),
        ValueType::Uuid => Value::Uuid(text.parse::<Uuid>().ok()?),
        ValueType::Date => Value::Date(Date::parse(text)?),
        ValueType::DateTime => Value::DateTime(DateTime::parse(text)?),
        ValueType::Duration => Value::Duration(Duration::parse(text)?),
        ValueType::Vector => parse_vector(text)?,
        ValueType::List | ValueType::Set | ValueType::Map => {
            Some(typed_json::parse_text(text)?).filter(|v| v.value_type() == t)?
        }
        _ => return None,
    })
}

fn parse_declared_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn parse_float(text: &str) -> Option<f32> {
    match infer::parse_double(text.as_bytes())? {
        special if !special.is_finite() => Some(special as f32),
        _ => fast_float2::parse(text).ok().filter(|float: &f32| float.is_finite()),
    }
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    digits.chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// Numbers separated by commas, semicolons or spaces, with or without brackets.
fn parse_vector(text: &str) -> Option<Value> {
    let inner = text.strip_prefix('[').map_or(Some(text), |rest| rest.strip_suffix(']'))?;
    let parts = inner.split([',', ';', ' ']).filter(|part| !part.is_empty());
    Some(Value::Vector(parts.map(parse_float).collect::<Option<Vec<f32>>>()?.into()))
}

/// Splits an array field into items. A delimiter after a backslash is part of the item.
fn split_array(field: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    let mut items = vec![Vec::new()];
    let mut bytes = field.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(next)) if *next == delimiter => items.last_mut().expect("never empty").extend(bytes.next()),
            (byte, _) if byte == delimiter => items.push(Vec::new()),
            (byte, _) => items.last_mut().expect("never empty").push(byte),
        }
    }
    items
}

/// The cell for several values of one key. A vertex has them side by side, an edge has one list.
pub fn cell_of_values(values: Vec<Value>, cardinality: Cardinality, on_edges: bool) -> RawCell {
    if on_edges || cardinality == Cardinality::Single {
        return RawCell::One(Value::list(values));
    }
    let mut kept: Vec<Value> = Vec::with_capacity(values.len());
    for value in values {
        if cardinality == Cardinality::List || !kept.contains(&value) {
            kept.push(value);
        }
    }
    RawCell::from_values(kept.into_iter().map(|value| RawValue { value, meta: Vec::new() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    fn text(s: &str) -> Text<'_> {
        Text { bytes: s.as_bytes(), quoted: false }
    }

    fn inferred(fields: &[&str]) -> (ColumnBuilder, Values) {
        let mut builder = ColumnBuilder::new(ColumnType::Inferred(Inferred::Nothing), b';', false);
        fields.iter().for_each(|f| builder.push(text(f)).unwrap());
        let column = builder.finish();
        (builder, column)
    }

    #[test]
    fn an_inferred_column_widens_and_keeps_what_it_held() {
        let (builder, column) = inferred(&["", "1", " 2", "2.5"]);
        assert_eq!(builder.column_type(), &ColumnType::Inferred(Inferred::Double));
        let cells: Vec<RawCell> = (0..4).map(|i| column.cell(i)).collect();
        assert_eq!(cells[0], RawCell::Absent);
        assert_eq!(cells[1..], [1.0, 2.0, 2.5].map(|v: f64| RawCell::One(v.into())));
        let (_, column) = inferred(&["7", "true", "2024-01-01"]);
        let cells: Vec<RawCell> = (0..3).map(|i| column.cell(i)).collect();
        assert_eq!(cells, ["7", "true", "2024-01-01"].map(|v| RawCell::One(v.into())));
    }

    #[test]
    fn an_integer_that_no_double_is_stays_one_among_doubles() {
        let large = (1i64 << 53) + 1;
        for fields in [[large.to_string(), "0.5".into()], ["0.5".into(), large.to_string()]] {
            let (builder, column) = inferred(&[&fields[0], "", &fields[1], "3"]);
            assert_eq!(builder.column_type(), &ColumnType::Inferred(Inferred::Double));
            let cells: Vec<RawCell> = (0..4).map(|i| column.cell(i)).collect();
            assert!(cells.contains(&RawCell::One(large.into())) && cells.contains(&RawCell::One(0.5.into())), "{cells:?}");
            assert_eq!((&cells[1], &cells[3]), (&RawCell::Absent, &RawCell::One(3.0.into())));
        }
        let (_, exact) = inferred(&["9007199254740992", "0.5"]);
        assert!(matches!(exact, Values::Typed(_)));
    }

    #[test]
    fn a_declared_column_refuses_what_does_not_fit() {
        let mut builder = ColumnBuilder::new(ColumnType::Declared(ValueType::Int8), b';', false);
        assert_eq!(builder.push(text(" 12 ")), Ok(()));
        assert_eq!(builder.push(text("128")), Err(Misfit::Type));
        assert_eq!(builder.push(text("\u{e9}")), Err(Misfit::Type));
        assert_eq!(builder.push(Text { bytes: b"\xff", quoted: false }), Err(Misfit::NotUtf8));
        let Values::Typed(array) = builder.finish() else { panic!() };
        assert_eq!(array.as_primitive::<Int8Type>().values(), &[12]);
    }

    #[test]
    fn an_empty_field_is_absent_and_an_empty_string_is_not() {
        let mut builder = ColumnBuilder::new(ColumnType::Declared(ValueType::String), b';', false);
        builder.push(text("")).unwrap();
        builder.push(Text { bytes: b"", quoted: true }).unwrap();
        let column = builder.finish();
        assert_eq!((column.cell(0), column.cell(1)), (RawCell::Absent, RawCell::One("".into())));
    }

    #[test]
    fn arrays_are_many_values_on_vertices_and_a_list_on_edges() {
        let array = ColumnType::Array { item: ValueType::Int32, cardinality: Cardinality::Set };
        let cell = |on_edges| {
            let mut builder = ColumnBuilder::new(array.clone(), b';', on_edges);
            builder.push(text("1; 2;1")).unwrap();
            builder.finish().cell(0)
        };
        assert_eq!(cell(false), RawCell::from_values([1, 2].map(|v: i32| RawValue::plain(v.into())).into()));
        assert_eq!(cell(true), RawCell::One(Value::list(vec![1.into(), 2.into(), 1.into()])));
        assert_eq!(split_array(br"a\;b;c", b';'), [b"a;b".to_vec(), b"c".to_vec()]);
    }

    #[test]
    fn every_declarable_type_reads_its_text() {
        for (t, text) in [
            (ValueType::Bool, "TRUE"),
            (ValueType::Float32, "0.1"),
            (ValueType::BigInt, "123456789012345678901234567890"),
            (ValueType::Decimal, "1.10"),
            (ValueType::Bytes, "00ff"),
            (ValueType::Uuid, "550e8400-e29b-41d4-a716-446655440000"),
            (ValueType::Date, "2024-02-29"),
            (ValueType::DateTime, "2024-02-29T10:11:12+02:00"),
            (ValueType::Duration, "PT1H"),
            (ValueType::Vector, "[0.5, 1]"),
            (ValueType::List, "[1, \"a\"]"),
            (ValueType::Map, "{\"a\": 1}"),
        ] {
            let value = parse_value(t, text.as_bytes()).unwrap();
            assert_eq!(value.value_type(), t);
            assert!(parse_value(t, b"\"nonsense").is_err(), "{t}");
        }
        assert_eq!(parse_value(ValueType::Float32, b"0.1"), Ok(Value::Float32(0.1)));
    }
}
