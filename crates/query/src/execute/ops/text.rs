//! Functions of strings: `concat`, `length`, `substring`, `format`, …. Also casts to strings, booleans and numbers.

use bigdecimal::ToPrimitive;
use mangrove_graph::{BigInt, Cell, Value, ValueType, number};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::items::Items;
use crate::execute::data::words::{not_a_list, shown};
use crate::execute::modulators::by::{ByOp, round_robin};
use crate::execute::ops::operand::OperandOp;
use crate::execute::reads::read;
use crate::execute::reads::texts::Texts;
use crate::execute::run::chain::MapBatch;
use crate::execute::run::context::Context;
use crate::execute::run::scope::scope_value;
use crate::plan::{Name, Pop, Scope, TextFunction};

/// Functions of one string. With `local` they apply to each item of a list.
pub struct TextOp {
    pub function: TextFunction,
    pub scope: Scope,
}

impl MapBatch for TextOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let texts = match self.function {
            TextFunction::AsString => Texts::of_items(cx, &batch.items)?,
            _ => Texts::default(),
        };
        let mut values = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let value = batch.value(row);
            values.push(match (self.scope, value.items()) {
                (Scope::Local, Some(items)) => {
                    let mapped = items.into_iter().map(|item| self.apply(&texts, item)).collect::<Result<Vec<_>>>()?;
                    if let Value::Set(_) = value { Value::set(mapped) } else { Value::list(mapped) }
                }
                _ => self.apply(&texts, value)?,
            });
        }
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::from_values(values), mode))
    }
}

impl TextOp {
    fn apply(&self, texts: &Texts, value: Value) -> Result<Value> {
        let text = match (&self.function, &value) {
            (TextFunction::AsString, Value::Null) => return Err(QueryError::value("Can't parse null as String.")),
            (TextFunction::AsString, value) => return Ok(Value::string(texts.text(value))),
            (_, Value::Null) => return Ok(Value::Null),
            (TextFunction::Reverse, value) if value.items().is_some() => {
                let mut items = value.items().unwrap_or_default();
                items.reverse();
                return Ok(Value::list(items));
            }
            (TextFunction::Reverse, value) if value.as_str().is_none() => return Ok(value.clone()),
            (function, value) => value.as_str().ok_or_else(|| {
                let (local, wanted) = match self.scope {
                    Scope::Local => ("local", "string or list of strings"),
                    Scope::Global => ("", "string"),
                };
                let (name, met) = (function.name(), value.value_type());
                QueryError::value(format!("The {name}({local}) step can only take {wanted} as argument, encountered {met}"))
            })?,
        };
        Ok(match &self.function {
            TextFunction::AsString => value.clone(),
            TextFunction::Length => Value::Int32(text.encode_utf16().count() as i32),
            TextFunction::ToLower => Value::string(text.to_lowercase()),
            TextFunction::ToUpper => Value::string(text.to_uppercase()),
            TextFunction::Trim => Value::string(text.trim()),
            TextFunction::LTrim => Value::string(text.trim_start()),
            TextFunction::RTrim => Value::string(text.trim_end()),
            TextFunction::Reverse => Value::string(text.chars().rev().collect::<String>()),
            TextFunction::Replace(Some(old), Some(new)) => Value::string(text.replace(&**old, new)),
            TextFunction::Replace(..) => value.clone(),
            TextFunction::Split(separator) => Value::list(split(text, separator.as_deref())),
            TextFunction::Substring(start, end) => Value::string(substring(text, *start, *end)),
        })
    }
}

fn split(text: &str, separator: Option<&str>) -> Vec<Value> {
    match separator {
        None => text.split_whitespace().map(Value::string).collect(),
        Some("") => text.chars().map(|c| Value::string(c.to_string())).collect(),
        Some(separator) => text.split(separator).map(Value::string).collect(),
    }
}

/// Bounds count characters. Negative ones count from the end; those out of range move to the nearest valid one.
fn substring(text: &str, start: i64, end: Option<i64>) -> String {
    let n = text.chars().count() as i64;
    let place = |at: i64| if at < 0 { (n + at).max(0) } else { at.min(n) };
    let (start, end) = (place(start), end.map_or(n, place));
    text.chars().skip(start as usize).take((end - start).max(0) as usize).collect()
}

/// `concat(…)`: the incoming string followed by all operands. A traversal gives its first result. Null if all are null.
pub struct ConcatOp(pub Vec<OperandOp>);

impl MapBatch for ConcatOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let mut texts: Vec<Option<String>> = vec![None; batch.len()];
        for (row, text) in texts.iter_mut().enumerate() {
            append(text, &batch.value(row))?;
        }
        for operand in &mut self.0 {
            let parts = match operand {
                OperandOp::Child(child) => {
                    child.first(cx, &batch)?.into_iter().map(|part| part.into_iter().collect()).collect()
                }
                OperandOp::Value(value) => {
                    let parts = match value.items() {
                        Some(items) => items,
                        None => vec![value.clone()],
                    };
                    vec![parts; batch.len()]
                }
            };
            for (text, parts) in texts.iter_mut().zip(parts) {
                parts.iter().try_for_each(|part| append(text, part))?;
                cx.fits(text.as_ref().map_or(0, String::len))?;
            }
        }
        let values = texts.into_iter().map(|text| text.map(Value::string).unwrap_or_default()).collect();
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

fn append(text: &mut Option<String>, part: &Value) -> Result<()> {
    match part {
        Value::Null => {}
        Value::String(s) => text.get_or_insert_default().push_str(s),
        other => {
            return Err(QueryError::value(format!(
                "String concat() can only take string as argument, encountered {}",
                other.value_type()
            )));
        }
    }
    Ok(())
}

/// `format("Hello %{name}")`: a variable is a property of the element, an entry of the map, or a label. `%{_}` takes the next
/// `by()`.
pub struct FormatOp {
    pub template: Name,
    pub by: Vec<ByOp>,
}

impl MapBatch for FormatOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let template = self.template.clone();
        let mut texts = vec![String::new(); batch.len()];
        // The rows for which every variable so far had a value.
        let mut open: Vec<u32> = (0..batch.len() as u32).collect();
        let (mut rest, mut positional) = (&*template, 0);
        while let Some(at) = rest.find("%{") {
            let Some(end) = rest[at..].find('}') else { break };
            let name = &rest[at + 2..at + end];
            let batch = batch.gather(&open);
            let values = if name == "_" {
                positional += 1;
                match round_robin(&mut self.by, positional - 1) {
                    Some(by) => by.eval(cx, &batch)?,
                    None => vec![None; open.len()],
                }
            } else {
                variables(cx, &batch, name)?
            };
            let told = Texts::of(cx, values.iter().flatten())?;
            let mut still = Vec::with_capacity(open.len());
            for (row, value) in open.into_iter().zip(values) {
                let Some(value) = value else { continue };
                texts[row as usize].push_str(&rest[..at]);
                texts[row as usize].push_str(&told.text(&value));
                still.push(row);
            }
            (open, rest) = (still, &rest[at + end + 1..]);
        }
        let mut moves = Moves::default();
        for row in open {
            let text = std::mem::take(&mut texts[row as usize]) + rest;
            moves.push(row as usize, Value::string(text));
        }
        Ok(moves.finish(&batch, cx.mode()))
    }
}

/// The value of a variable for each row: the first value of a property of that name, or what `select()` would give.
fn variables(cx: &mut Context<'_, '_>, batch: &Batch, name: &str) -> Result<Vec<Option<Value>>> {
    let cells = match cx.view().schema().key(name) {
        Some(key) => read::cells(cx, &batch.items, key)?,
        None => Vec::new(),
    };
    let of = |row| match cells.get(row).and_then(|cell: &Cell| cell.values().next()) {
        Some(value) => Ok(Some(value.clone())),
        None => scope_value(cx, batch, row, name, Pop::Last),
    };
    (0..batch.len()).map(of).collect()
}

/// `conjoin(delimiter)`: joins the items of a list to one string, without nulls.
pub struct ConjoinOp(pub Name);

impl MapBatch for ConjoinOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let texts = Texts::of_items(cx, &batch.items)?;
        let mut values = Vec::with_capacity(batch.len());
        for row in 0..batch.len() {
            let value = batch.value(row);
            let items = value.items().ok_or_else(|| not_a_list("conjoin", &value))?;
            let parts: Vec<String> = items.iter().filter(|item| !item.is_null()).map(|item| texts.text(item)).collect();
            values.push(Value::string(parts.join(&self.0)));
        }
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

/// `asBool()`.
pub struct AsBoolOp;

impl MapBatch for AsBoolOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let values = (0..batch.len()).map(|row| as_bool(&batch.value(row))).collect::<Result<_>>()?;
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

fn as_bool(value: &Value) -> Result<Value> {
    let unparsable = || QueryError::value(format!("Can't parse {} as Boolean.", shown(value)));
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(s) if s.eq_ignore_ascii_case("true") => Ok(true.into()),
        Value::String(s) if s.eq_ignore_ascii_case("false") => Ok(false.into()),
        Value::Null => Err(unparsable()),
        number if number.is_number() => match number.as_f64() {
            Some(f) => Ok(Value::Bool(f != 0.0 && !f.is_nan())),
            None => Err(unparsable()),
        },
        _ => Err(unparsable()),
    }
}

/// `asNumber(type)`.
pub struct AsNumberOp(pub Option<ValueType>);

impl MapBatch for AsNumberOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let values = (0..batch.len()).map(|row| as_number(&batch.value(row), self.0)).collect::<Result<_>>()?;
        let mode = cx.mode();
        Ok(batch.moved_in_place(Items::Values(values), mode))
    }
}

fn as_number(value: &Value, wanted: Option<ValueType>) -> Result<Value> {
    let number = match value {
        Value::String(text) => {
            parse_number(text).ok_or_else(|| QueryError::value(format!("Can't parse string '{text}' as number.")))?
        }
        Value::DateTime(t) => Value::Int64(t.millis()),
        number if number.is_number() => number.clone(),
        Value::Null => return Ok(Value::Null),
        other => return Err(QueryError::value(format!("Can't parse type {} as number.", other.value_type()))),
    };
    match wanted {
        Some(wanted) => cast(&number, wanted),
        None => Ok(number),
    }
}

fn parse_number(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let i = i64::from_str_radix(digits, 16).ok()?;
        return Some(i32::try_from(i).map_or(Value::Int64(i), Value::Int32));
    }
    if let Ok(i) = text.parse::<i32>() {
        return Some(Value::Int32(i));
    }
    if let Ok(i) = text.parse::<i64>() {
        return Some(Value::Int64(i));
    }
    if let Ok(i) = number::big_int(text) {
        return Some(i.into());
    }
    if !text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) {
        return None;
    }
    match text.parse::<f64>() {
        Ok(f) if f.is_finite() => Some(Value::Float64(f)),
        _ => number::decimal(text).ok().map(Value::from),
    }
}

/// Gremlin's name of a number type.
fn gremlin_name(t: ValueType) -> &'static str {
    match t {
        ValueType::Int8 => "Byte",
        ValueType::Int16 => "Short",
        ValueType::Int32 => "Integer",
        ValueType::Int64 => "Long",
        ValueType::Float32 => "Float",
        ValueType::Float64 => "Double",
        ValueType::BigInt => "BigInteger",
        ValueType::Decimal => "BigDecimal",
        other => other.name(),
    }
}

/// The number in another type. Fails if that would lose magnitude.
fn cast(number: &Value, wanted: ValueType) -> Result<Value> {
    let overflow = || {
        QueryError::value(format!(
            "Can't convert number of type {} to {} due to overflow.",
            gremlin_name(number.value_type()),
            gremlin_name(wanted)
        ))
    };
    // A parameter may hold any decimal. Written out, one with an enormous exponent would be enormous too.
    if let Value::Decimal(decimal) = number {
        number::check_decimal(decimal).map_err(|_| overflow())?;
    }
    let whole = || -> Result<i128> {
        match number {
            Value::BigInt(i) => i.to_i128().ok_or_else(overflow),
            Value::Decimal(d) => d.to_i128().ok_or_else(overflow),
            n => match n.as_i64() {
                Some(i) => Ok(i128::from(i)),
                None => match n.as_f64() {
                    Some(f) if f.is_finite() => Ok(f as i128),
                    _ => Err(overflow()),
                },
            },
        }
    };
    Ok(match wanted {
        ValueType::Int8 => Value::Int8(i8::try_from(whole()?).map_err(|_| overflow())?),
        ValueType::Int16 => Value::Int16(i16::try_from(whole()?).map_err(|_| overflow())?),
        ValueType::Int32 => Value::Int32(i32::try_from(whole()?).map_err(|_| overflow())?),
        ValueType::Int64 => Value::Int64(i64::try_from(whole()?).map_err(|_| overflow())?),
        ValueType::Float32 => {
            let f = number.as_f64().ok_or_else(overflow)?;
            if f.is_finite() && f.abs() > f64::from(f32::MAX) {
                return Err(overflow());
            }
            Value::Float32(f as f32)
        }
        ValueType::Float64 => match number.as_f64() {
            Some(f) if f.is_finite() || matches!(number, Value::Float32(_) | Value::Float64(_)) => Value::Float64(f),
            _ => return Err(overflow()),
        },
        ValueType::BigInt => match number {
            Value::BigInt(_) => number.clone(),
            Value::Decimal(d) => d.with_scale(0).into_bigint_and_exponent().0.into(),
            _ => BigInt::from(whole()?).into(),
        },
        ValueType::Decimal => mangrove_graph::compare::decimal(number).ok_or_else(overflow)?.into(),
        other => return Err(QueryError::value(format!("{other} is not a number type"))),
    })
}
