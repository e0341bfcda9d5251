//! Results as an Arrow record batch.
//!
//! Rows become columns as [`table`] says. A column gets the narrowest of these types that holds all its values:
//!
//! | values of the column | Arrow type |
//! |---|---|
//! | booleans, strings, bytes | Boolean, Utf8, Binary (LargeUtf8, LargeBinary where a column has more than 2 GB) |
//! | integers | the widest of Int8 … Int64 among them |
//! | floats, or integers and floats | Float32, Float64 |
//! | bigints and decimals, alone or with integers | Decimal128 of the digits needed (38 at most), with floats Float64 |
//! | dates; datetimes, alone or with dates | Date32; Timestamp in UTC, µs (ns where a value is finer) |
//! | durations | Duration µs |
//! | UUIDs | FixedSizeBinary(16), marked `arrow.uuid` |
//! | vectors of one length | FixedSizeList of Float32 |
//! | lists, sets, vectors | List of the type that holds all their items |
//! | maps with names for keys | Struct of all keys, nulls where a map lacks one |
//! | anything else: elements, paths, types mixed | Utf8: strings as they are, all else its JSON |
//!
//! Null and missing values are Arrow nulls. A column with no other value has the type Null.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DurationMicrosecondArray, FixedSizeListArray,
    Float32Array, Float64Array, LargeBinaryArray, LargeStringArray, ListArray, NullArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, TimestampMicrosecondArray, TimestampNanosecondArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use arrow_select::concat::concat;
use mangrove_graph::{BigDecimal, DateTime, PropertyColumn, Value, compare, number};

use crate::describe::Described;
use crate::results::Results;
use crate::table::Run;
use crate::{json, keys, table};

/// How many bytes of text fit into an array with offsets of 32 bits.
const BYTES_MAX: usize = if cfg!(test) { 1 << 12 } else { i32::MAX as usize };

/// The rows of a result as one batch.
///
/// # Errors
/// If the nested lists of the result have more than 2³¹ items.
pub fn record_batch(results: &Results) -> Result<RecordBatch, ArrowError> {
    let table = table::of(results);
    let (fields, arrays) = arrays(&table)?;
    let options = RecordBatchOptions::new().with_row_count(Some(table.rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}

/// A column of values that were read in batches.
pub(crate) fn column(name: &str, batches: &[PropertyColumn]) -> Result<(Field, ArrayRef), ArrowError> {
    let typed = |column: &PropertyColumn| if let PropertyColumn::Typed(array) = column { Some(array.clone()) } else { None };
    let arrays: Option<Vec<ArrayRef>> = batches.iter().map(typed).collect();
    if let Some(arrays) = arrays.filter(|arrays| !arrays.is_empty())
        && arrays.iter().all(|array| array.data_type() == arrays[0].data_type())
    {
        let array = joined(&arrays)?;
        return Ok((named(name, &array, matches!(array.data_type(), DataType::FixedSizeBinary(16))), array));
    }
    let plain = |column: &PropertyColumn| {
        let value = |row: usize| column.cell(row).values().next().cloned().map(Described::Plain);
        (0..column.len()).map(value).collect::<Vec<_>>()
    };
    let cells: Vec<Option<Described>> = batches.iter().flat_map(plain).collect();
    column_array(name, &cells.iter().map(Option::as_ref).collect::<Vec<_>>())
}

fn arrays(table: &table::Table<'_>) -> Result<(Vec<Field>, Vec<ArrayRef>), ArrowError> {
    let mut fields = Vec::with_capacity(table.columns.len());
    let mut arrays = Vec::with_capacity(table.columns.len());
    for column in &table.columns {
        let (field, array) = match whole_array(column)? {
            Some(array) => (named(&column.name, &array, matches!(array.data_type(), DataType::FixedSizeBinary(16))), array),
            None => {
                let cells: Vec<Option<Cow<'_, Described>>> = column.iter().collect();
                column_array(&column.name, &cells.iter().map(Option::as_deref).collect::<Vec<_>>())?
            }
        };
        fields.push(field);
        arrays.push(array);
    }
    Ok((fields, arrays))
}

/// The array of a column whose parts are already arrays of one type.
fn whole_array(column: &table::Column<'_>) -> Result<Option<ArrayRef>, ArrowError> {
    let mut known = None;
    for cells in column.runs() {
        match cells {
            Run::Absent(_) => {}
            Run::Typed(array) if known.is_none_or(|known| known == array.data_type()) => known = Some(array.data_type()),
            Run::Typed(_) | Run::Described(_) => return Ok(None),
        }
    }
    let Some(known) = known else { return Ok(None) };
    let array = |cells: &Run<'_>| match cells {
        Run::Typed(array) => array.clone(),
        Run::Absent(rows) => new_null_array(known, *rows),
        Run::Described(_) => unreachable!("all are arrays"),
    };
    let runs: Vec<ArrayRef> = column.runs().iter().map(array).collect();
    match &runs[..] {
        [one] => Ok(Some(one.clone())),
        runs => joined(runs).map(Some),
    }
}

/// Arrays of one type as one array.
fn joined(arrays: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let large = match arrays[0].data_type() {
        DataType::Utf8 => DataType::LargeUtf8,
        DataType::Binary => DataType::LargeBinary,
        _ => return concat(&arrays.iter().map(AsRef::as_ref).collect::<Vec<_>>()),
    };
    // An array may be a slice of one with more values.
    let bytes = |array: &ArrayRef| {
        let offsets = match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().value_offsets(),
            _ => array.as_binary::<i32>().value_offsets(),
        };
        offsets.last().zip(offsets.first()).map_or(0, |(end, start)| (end - start) as usize)
    };
    let arrays: Vec<ArrayRef> = match arrays.iter().map(bytes).sum::<usize>() > BYTES_MAX {
        true => arrays.iter().map(|array| cast(array, &large)).collect::<Result<_, _>>()?,
        false => arrays.to_vec(),
    };
    concat(&arrays.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

fn named(name: &str, array: &ArrayRef, is_uuid: bool) -> Field {
    let field = Field::new(name, array.data_type().clone(), true);
    match is_uuid {
        true => field.with_metadata([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into()),
        false => field,
    }
}

fn column_array(name: &str, cells: &[Option<&Described>]) -> Result<(Field, ArrayRef), ArrowError> {
    let kind = cells.iter().flatten().map(|cell| Kind::of(cell)).fold(Kind::Null, Kind::join);
    let array = build(&kind, cells)?;
    Ok((named(name, &array, kind == Kind::Uuid), array))
}

/// The common type of a set of values.
#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Null,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    /// The number of digits before the point and after it.
    Decimal {
        whole: u64,
        scale: i64,
    },
    Text,
    Bytes,
    Uuid,
    Date,
    /// Whether some value is finer than a microsecond, and whether some value exceeds 64-bit nanoseconds.
    DateTime {
        fine: bool,
        far: bool,
    },
    Duration,
    Vector(usize),
    List,
    Map,
}

impl Kind {
    fn of(cell: &Described) -> Kind {
        match cell {
            Described::Plain(value) => Kind::of_value(value),
            Described::List(_) | Described::Set(_) => Kind::List,
            Described::Map(entries) if keys::names(entries).is_some() => Kind::Map,
            _ => Kind::Text,
        }
    }

    fn of_value(value: &Value) -> Kind {
        match value {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Int8(_) => Kind::Int8,
            Value::Int16(_) => Kind::Int16,
            Value::Int32(_) => Kind::Int32,
            Value::Int64(_) => Kind::Int64,
            Value::Float32(_) => Kind::Float32,
            Value::Float64(_) => Kind::Float64,
            Value::BigInt(_) | Value::Decimal(_) => Kind::of_decimal(value),
            Value::Bytes(_) => Kind::Bytes,
            Value::Uuid(_) => Kind::Uuid,
            Value::Date(_) => Kind::Date,
            Value::DateTime(t) => Kind::DateTime { fine: t.nanos % 1000 != 0, far: nanos(t).is_none() },
            Value::Duration(_) => Kind::Duration,
            Value::Vector(items) => Kind::Vector(items.len()),
            Value::List(_) | Value::Set(_) => Kind::List,
            _ => Kind::Text,
        }
    }

    fn of_decimal(value: &Value) -> Kind {
        let bounded = |decimal: &BigDecimal| number::check_decimal(decimal).is_ok();
        let Some(decimal) = compare::decimal(value).filter(bounded) else { return Kind::Text };
        let scale = decimal.fractional_digit_count().max(0);
        let digits = decimal.with_scale(scale).digits();
        Kind::Decimal { whole: digits.saturating_sub(scale as u64), scale }
    }

    /// The digits of the decimal that holds every integer of this kind.
    fn whole_digits(&self) -> Option<u64> {
        Some(match self {
            Kind::Int8 => 3,
            Kind::Int16 => 5,
            Kind::Int32 => 10,
            Kind::Int64 => 19,
            _ => return None,
        })
    }

    fn float_rank(&self) -> Option<u8> {
        match self {
            Kind::Int8 | Kind::Int16 | Kind::Float32 => Some(0),
            Kind::Int32 | Kind::Int64 | Kind::Float64 | Kind::Decimal { .. } => Some(1),
            _ => None,
        }
    }

    /// The kind that holds the values of both.
    fn join(self, other: Kind) -> Kind {
        use Kind::*;
        if self == other {
            return self;
        }
        match (self, other) {
            (Null, kind) | (kind, Null) => kind,
            (DateTime { fine: a, far: b }, DateTime { fine: c, far: d }) => DateTime { fine: a | c, far: b | d },
            (Date, DateTime { fine, far }) | (DateTime { fine, far }, Date) => DateTime { fine, far },
            (Decimal { whole: a, scale: b }, Decimal { whole: c, scale: d }) => Decimal { whole: a.max(c), scale: b.max(d) },
            (Vector(_) | List, Vector(_) | List) => List,
            (a, b) => Kind::join_numbers(a, b),
        }
    }

    fn join_numbers(a: Kind, b: Kind) -> Kind {
        match (&a, &b) {
            (Kind::Decimal { whole, scale }, int) | (int, Kind::Decimal { whole, scale })
                if int.whole_digits().is_some() =>
            {
                Kind::Decimal { whole: int.whole_digits().unwrap_or(0).max(*whole), scale: *scale }
            }
            _ => match (a.whole_digits(), b.whole_digits(), a.float_rank(), b.float_rank()) {
                (Some(x), Some(y), _, _) => {
                    if x > y {
                        a
                    } else {
                        b
                    }
                }
                (_, _, Some(0), Some(0)) => Kind::Float32,
                (_, _, Some(_), Some(_)) => Kind::Float64,
                _ => Kind::Text,
            },
        }
    }
}

type Cells<'a> = [Option<&'a Described>];

fn build(kind: &Kind, cells: &Cells<'_>) -> Result<ArrayRef, ArrowError> {
    Ok(match kind {
        Kind::Null => Arc::new(NullArray::new(cells.len())),
        Kind::Bool => Arc::new(BooleanArray::from_iter(cells.iter().map(|c| plain(c)?.as_bool()))),
        Kind::Int8 => integers::<Int8Type>(cells),
        Kind::Int16 => integers::<Int16Type>(cells),
        Kind::Int32 => integers::<Int32Type>(cells),
        Kind::Int64 => integers::<Int64Type>(cells),
        Kind::Float32 => Arc::new(Float32Array::from_iter(cells.iter().map(|c| Some(plain(c)?.as_f64()? as f32)))),
        Kind::Float64 => Arc::new(Float64Array::from_iter(cells.iter().map(|c| plain(c)?.as_f64()))),
        Kind::Decimal { whole, scale } => match decimals(cells, *whole, *scale)? {
            Some(array) => array,
            None => text(cells),
        },
        Kind::Text => text(cells),
        Kind::Bytes => byte_strings(cells),
        Kind::Uuid => uuids(cells)?,
        Kind::Date => Arc::new(Date32Array::from_iter(cells.iter().map(|c| match plain(c)? {
            Value::Date(date) => Some(date.0),
            _ => None,
        }))),
        Kind::DateTime { fine: true, far: true } => text(cells),
        Kind::DateTime { fine: true, far: false } => {
            let nanos = cells.iter().map(|c| nanos(&instant(plain(c)?)?));
            Arc::new(TimestampNanosecondArray::from_iter(nanos).with_timezone("UTC"))
        }
        Kind::DateTime { fine: false, .. } => {
            let micros = cells.iter().map(|c| Some(instant(plain(c)?)?.micros()));
            Arc::new(TimestampMicrosecondArray::from_iter(micros).with_timezone("UTC"))
        }
        Kind::Duration => Arc::new(DurationMicrosecondArray::from_iter(cells.iter().map(|c| match plain(c)? {
            Value::Duration(duration) => Some(duration.micros()),
            _ => None,
        }))),
        Kind::Vector(length) => vectors(cells, *length),
        Kind::List => lists(cells)?,
        Kind::Map => structs(cells)?,
    })
}

fn plain<'a>(cell: &Option<&'a Described>) -> Option<&'a Value> {
    match cell {
        Some(Described::Plain(value)) => Some(value),
        _ => None,
    }
}

fn is_absent(cell: &Option<&Described>) -> bool {
    matches!(cell, None | Some(Described::Plain(Value::Null)))
}

fn integers<T>(cells: &Cells<'_>) -> ArrayRef
where
    T: arrow_array::ArrowPrimitiveType,
    T::Native: TryFrom<i64>,
{
    let value = |c: &Option<&Described>| plain(c)?.as_i64()?.try_into().ok();
    Arc::new(PrimitiveArray::<T>::from_iter(cells.iter().map(value)))
}

/// `None` if 38 digits are too few.
fn decimals(cells: &Cells<'_>, whole: u64, scale: i64) -> Result<Option<ArrayRef>, ArrowError> {
    let precision = whole + scale.unsigned_abs();
    if precision > 38 {
        return Ok(None);
    }
    let unscaled = |decimal: BigDecimal| decimal.with_scale(scale).into_bigint_and_scale().0.try_into().ok();
    let values = cells.iter().map(|c| compare::decimal(plain(c)?).and_then(unscaled));
    let array = Decimal128Array::from_iter(values).with_precision_and_scale(precision.max(1) as u8, scale as i8)?;
    Ok(Some(Arc::new(array)))
}

fn text(cells: &Cells<'_>) -> ArrayRef {
    let texts: Vec<Option<String>> = cells.iter().map(|cell| cell.filter(|_| !is_absent(cell)).map(json::text)).collect();
    match texts.iter().flatten().map(String::len).sum::<usize>() > BYTES_MAX {
        true => Arc::new(LargeStringArray::from(texts)),
        false => Arc::new(StringArray::from(texts)),
    }
}

fn byte_strings(cells: &Cells<'_>) -> ArrayRef {
    let bytes = |c: &Option<&'_ Described>| match plain(c)? {
        Value::Bytes(bytes) => Some(bytes.clone()),
        _ => None,
    };
    let all: Vec<_> = cells.iter().map(bytes).collect();
    match all.iter().flatten().map(|bytes| bytes.len()).sum::<usize>() > BYTES_MAX {
        true => Arc::new(LargeBinaryArray::from_iter(all)),
        false => Arc::new(BinaryArray::from_iter(all)),
    }
}

fn uuids(cells: &Cells<'_>) -> Result<ArrayRef, ArrowError> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(cells.len(), 16);
    for cell in cells {
        match plain(cell) {
            Some(Value::Uuid(uuid)) => builder.append_value(uuid.as_bytes())?,
            _ => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// A date counts as its midnight in UTC.
fn instant(value: &Value) -> Option<DateTime> {
    match value {
        Value::DateTime(t) => Some(*t),
        Value::Date(date) => Some(DateTime { seconds: i64::from(date.0) * 86_400, nanos: 0, offset_seconds: 0 }),
        _ => None,
    }
}

fn nanos(t: &DateTime) -> Option<i64> {
    t.seconds.checked_mul(1_000_000_000)?.checked_add(i64::from(t.nanos))
}

fn vectors(cells: &Cells<'_>, length: usize) -> ArrayRef {
    let vector = |cell: &Option<&Described>| match plain(cell)? {
        Value::Vector(items) => Some(items.iter().map(|f| Some(*f)).collect::<Vec<_>>()),
        _ => None,
    };
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(cells.iter().map(vector), length))
}

fn items(cell: &Described) -> Vec<Described> {
    match cell {
        Described::List(items) | Described::Set(items) => items.clone(),
        Described::Plain(value) => value.items().unwrap_or_default().into_iter().map(Described::Plain).collect(),
        _ => Vec::new(),
    }
}

fn lists(cells: &Cells<'_>) -> Result<ArrayRef, ArrowError> {
    let lists: Vec<Vec<Described>> = cells.iter().map(|cell| cell.map(items).unwrap_or_default()).collect();
    let total: usize = lists.iter().map(Vec::len).sum();
    if i32::try_from(total).is_err() {
        return Err(ArrowError::ComputeError(format!(
            "the lists of one column hold {total} items, but Arrow takes at most 2147483647"
        )));
    }
    let flat: Vec<Option<&Described>> = lists.iter().flatten().map(Some).collect();
    let (field, items) = column_array("item", &flat)?;
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
    Ok(Arc::new(ListArray::try_new(Arc::new(field), offsets, items, validity(cells))?))
}

fn structs(cells: &Cells<'_>) -> Result<ArrayRef, ArrowError> {
    let rows = cells.iter().map(|cell| cell.cloned().unwrap_or(Described::Plain(Value::Null))).collect();
    let rows = Results::of_rows(rows);
    let (fields, arrays) = arrays(&table::of(&rows))?;
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(cells.len(), validity(cells))));
    }
    Ok(Arc::new(StructArray::try_new(Fields::from(fields), arrays, validity(cells))?))
}

fn validity(cells: &Cells<'_>) -> Option<NullBuffer> {
    Some(NullBuffer::from_iter(cells.iter().map(|cell| !is_absent(cell)))).filter(|nulls| nulls.null_count() > 0)
}

#[cfg(test)]
mod tests {
    use mangrove_graph::column::array_of;

    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_schema::TimeUnit;
    use mangrove_graph::{BigInt, Date, Token};

    fn row(entries: &[(&str, Value)]) -> Described {
        let entry = |(key, value): &(&str, Value)| (Described::Plain((*key).into()), Described::Plain(value.clone()));
        Described::Map(entries.iter().map(entry).collect())
    }

    fn column_of(values: impl IntoIterator<Item = Value>) -> ArrayRef {
        let rows = values.into_iter().map(Described::Plain).collect();
        let batch = record_batch(&Results::of_rows(rows)).unwrap();
        assert_eq!(batch.schema().field(0).name(), "value");
        batch.column(0).clone()
    }

    #[test]
    fn maps_become_columns_and_what_a_row_lacks_is_null() {
        let rows =
            vec![row(&[("a", 1.into())]), Described::Plain(Value::Null), row(&[("b", "x".into()), ("a", 2i64.into())])];
        let batch = record_batch(&Results::of_rows(rows)).unwrap();
        assert_eq!(batch.schema().fields().iter().map(|f| &f.name()[..]).collect::<Vec<_>>(), ["a", "b"]);
        let a = batch.column(0).as_primitive::<Int64Type>();
        assert_eq!(a.iter().collect::<Vec<_>>(), [Some(1), None, Some(2)]);
        assert_eq!(batch.column(1).as_string::<i32>().iter().collect::<Vec<_>>(), [None, None, Some("x")]);
    }

    #[test]
    fn a_column_takes_the_narrowest_type_that_holds_its_values() {
        let big: Value = BigInt::from(u64::MAX).into();
        let cases: [(Vec<Value>, DataType); 9] = [
            (vec![Value::Null], DataType::Null),
            (vec![1i8.into(), 2i16.into()], DataType::Int16),
            (vec![1i8.into(), 0.5f32.into()], DataType::Float32),
            (vec![1i64.into(), 0.5f32.into()], DataType::Float64),
            (vec![big.clone(), 1.into()], DataType::Decimal128(20, 0)),
            (vec![big, 0.5.into()], DataType::Float64),
            (
                vec![Date(1).into(), DateTime::from_micros(5).into()],
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            ),
            (vec![1.into(), "x".into()], DataType::Utf8),
            (vec![vec![1.into()].into(), vec![2i64.into()].into()], DataType::new_list(DataType::Int64, true)),
        ];
        for (values, expected) in cases {
            assert_eq!(*column_of(values.clone()).data_type(), expected, "{values:?}");
        }
    }

    #[test]
    fn more_bytes_than_an_array_takes_are_in_a_large_one() {
        let text = |n: usize| Value::string(format!("{n} ").repeat(600));
        assert_eq!(*column_of([text(1), text(2)]).data_type(), DataType::Utf8);
        let large = column_of([text(1), Value::Null, text(2), text(3), text(4)]);
        let expected = [Some(text(1)), None, Some(text(2)), Some(text(3)), Some(text(4))];
        let found = large.as_string::<i64>().iter().map(|text| text.map(Value::string));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let bytes = |n: u8| Value::Bytes(vec![n; 1500].into());
        assert_eq!(*column_of([bytes(1), bytes(2)]).data_type(), DataType::Binary);
        let large = column_of([bytes(1), bytes(2), bytes(3)]);
        assert_eq!(large.as_binary::<i64>().iter().map(|b| b.map(|b| b[1499])).collect::<Vec<_>>(), [1, 2, 3].map(Some));

        let array =
            |values: &[Value]| PropertyColumn::Typed(array_of(&values.iter().map(Some).collect::<Vec<_>>()).unwrap());
        for (value, few, many) in
            [(text(1), DataType::Utf8, DataType::LargeUtf8), (bytes(1), DataType::Binary, DataType::LargeBinary)]
        {
            let (one, two) = (array(std::slice::from_ref(&value)), array(&[value.clone(), value]));
            assert_eq!(column("c", &[one.clone(), one.clone()]).unwrap().1.data_type(), &few);
            let (_, joined) = column("c", &[two.clone(), one.clone(), two]).unwrap();
            assert_eq!((joined.data_type(), joined.len()), (&many, 5));
        }
    }

    #[test]
    fn mixed_values_become_text_strings_as_they_are() {
        let column = column_of(["x".into(), 1.into(), Value::Null, vec![true.into()].into()]);
        assert_eq!(column.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("x"), Some("1"), None, Some("[true]")]);
    }

    #[test]
    fn maps_in_columns_become_structs_and_decimals_keep_their_scale() {
        let inner = row(&[("n", "1.50".parse::<BigDecimal>().unwrap().into())]);
        let key = || Described::Plain(Token::Id.into());
        let rows = vec![Described::Map(vec![(key(), inner)]), Described::Map(vec![(key(), Described::Plain(Value::Null))])];
        let batch = record_batch(&Results::of_rows(rows)).unwrap();
        let id = batch.column_by_name("id").unwrap().as_struct();
        assert!(id.is_null(1));
        let n = id.column_by_name("n").unwrap();
        assert_eq!(
            (n.data_type(), n.as_primitive::<arrow_array::types::Decimal128Type>().value(0)),
            (&DataType::Decimal128(3, 2), 150)
        );
    }
}
