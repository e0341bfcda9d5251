//! Values as GraphSON writes them: plain JSON, or with a type, as `{"@type": "g:Int32", "@value": 29}`.

use std::sync::Arc;

use base64::Engine;
use mangrove_graph::{Date, DateTime, Duration, Map, Uuid, Value, number};

use crate::batches::rows::{RawCell, RawValue};
use crate::text::json::{self, Json};

/// An error in an element, and the part of the element that shows it.
pub struct Wrong {
    pub value: Option<String>,
    pub reason: String,
}

pub fn wrong(reason: impl Into<String>) -> Wrong {
    Wrong { value: None, reason: reason.into() }
}

pub fn untyped<'j, 't>(json: &'j Json<'t>) -> &'j Json<'t> {
    match json.get("@type") {
        Some(_) => json.get("@value").unwrap_or(json),
        None => json,
    }
}

pub fn member<'j, 't>(json: &'j Json<'t>, key: &str) -> Result<&'j Json<'t>, Wrong> {
    json.get(key).ok_or_else(|| wrong(format!("no `{key}`")))
}

pub fn cell_of(json: &Json<'_>) -> Result<RawCell, Wrong> {
    let Json::Array(values) = json else { return Ok(RawCell::One(value_of(json)?)) };
    let values = values.iter().map(|entry| match untyped(entry) {
        Json::Object(members) if members.iter().any(|(k, _)| k == "value") => vertex_property_of(untyped(entry)),
        _ => Ok(RawValue::plain(value_of(entry)?)),
    });
    Ok(RawCell::from_values(values.collect::<Result<_, _>>()?))
}

fn vertex_property_of(json: &Json<'_>) -> Result<RawValue, Wrong> {
    let meta = match json.get("properties") {
        Some(Json::Object(members)) => {
            members.iter().map(|(key, value)| Ok((Arc::from(&**key), property_value(value)?))).collect::<Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    Ok(RawValue { value: value_of(member(json, "value")?)?, meta })
}

/// A value, possibly wrapped in a `g:Property`.
pub fn property_value(json: &Json<'_>) -> Result<Value, Wrong> {
    match (json.get("@type").and_then(Json::as_str), json.get("@value")) {
        (Some("g:Property"), Some(property)) => value_of(member(property, "value")?),
        _ => value_of(json),
    }
}

/// A value written in GraphSON; `None` if the text is not one.
pub fn parse_text(text: &str) -> Option<Value> {
    value_of(&json::parse(text).ok()?).ok()
}

/// The values of a key, written as an array of `{"value": …, "properties": {…}}`.
pub fn parse_cell(text: &str) -> Option<RawCell> {
    cell_of(&json::parse(text).ok()?).ok()
}

pub fn value_of(json: &Json<'_>) -> Result<Value, Wrong> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(text) => plain_number(text),
        Json::String(text) => Value::string(text),
        Json::Array(items) => Value::list(items.iter().map(value_of).collect::<Result<_, _>>()?),
        Json::Object(members) => match (json.get("@type"), json.get("@value")) {
            (Some(Json::String(name)), value) => typed_value(name, value.unwrap_or(&Json::Null))?,
            _ => {
                let entries = members.iter().map(|(key, value)| Ok((Value::string(key), value_of(value)?)));
                Value::map(entries.collect::<Result<Map, Wrong>>()?)
            }
        },
    })
}

/// A number without a type, as TinkerPop's readers take it: the narrowest of int32, int64 and bigint, or a double.
fn plain_number(text: &str) -> Value {
    if let Ok(int) = text.parse::<i32>() {
        return Value::Int32(int);
    }
    if let Ok(int) = text.parse::<i64>() {
        return Value::Int64(int);
    }
    if let Ok(int) = number::big_int(text) {
        return int.into();
    }
    Value::Float64(text.parse().unwrap_or(f64::NAN))
}

fn typed_value(name: &str, json: &Json<'_>) -> Result<Value, Wrong> {
    let misfit = || Wrong { value: Some(shown(json)), reason: format!("not a {name}") };
    let text = match json {
        Json::Number(text) => *text,
        Json::String(text) => text,
        _ => "",
    };
    let scalar = match name {
        "g:Int32" => text.parse().ok().map(Value::Int32),
        "g:Int64" => text.parse().ok().map(Value::Int64),
        "gx:Int16" => text.parse().ok().map(Value::Int16),
        "gx:Byte" => text.parse().ok().map(Value::Int8),
        "g:Float" => float(text).map(|f| Value::Float32(f as f32)),
        "g:Double" => float(text).map(Value::Float64),
        "gx:BigInteger" => number::big_int(text).ok().map(Value::from),
        "gx:BigDecimal" => number::decimal(text).ok().map(Value::from),
        "g:UUID" => text.parse::<Uuid>().ok().map(Value::from),
        "gx:Char" => Some(Value::string(text)),
        "gx:ByteBuffer" => base64::engine::general_purpose::STANDARD.decode(text).ok().map(|b| Value::Bytes(b.into())),
        "g:Date" | "g:Timestamp" => text.parse().ok().map(|ms| Value::DateTime(DateTime::from_millis(ms))),
        "gx:LocalDate" => Date::parse(text).map(Value::from),
        "gx:Instant" | "gx:OffsetDateTime" | "gx:ZonedDateTime" | "gx:LocalDateTime" => {
            DateTime::parse(text).map(Value::from)
        }
        "gx:Duration" => Duration::parse(text).map(Value::from),
        _ => return collection(name, json),
    };
    scalar.ok_or_else(misfit)
}

fn float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        text => text.parse().ok(),
    }
}

fn collection(name: &str, json: &Json<'_>) -> Result<Value, Wrong> {
    let items = || match json {
        Json::Array(items) => items.iter().map(value_of).collect::<Result<Vec<Value>, Wrong>>(),
        _ => Err(Wrong { value: Some(shown(json)), reason: format!("not a {name}") }),
    };
    match name {
        "g:List" => Ok(Value::list(items()?)),
        "g:Set" => Ok(Value::set(items()?)),
        "g:Map" => {
            let items = items()?;
            Ok(Value::map(items.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()))
        }
        _ => {
            Err(Wrong { value: Some(name.to_owned()), reason: "a GraphSON type that properties and ids cannot have".into() })
        }
    }
}

fn shown(json: &Json<'_>) -> String {
    match json {
        Json::Number(text) => (*text).to_owned(),
        Json::String(text) => text.to_string(),
        other => other.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_and_plain_values_are_read() {
        let value = |text: &str| parse_text(text).unwrap();
        assert_eq!(value(r#"{"@type":"g:Int64","@value":29}"#), Value::Int64(29));
        assert_eq!(value(r#"{"@type":"g:Double","@value":"NaN"}"#), Value::Float64(f64::NAN));
        assert_eq!(value("3000000000"), Value::Int64(3_000_000_000));
        let big = "123456789012345678901234567890";
        assert_eq!(value(&format!(r#"{{"@type":"gx:BigInteger","@value":{big}}}"#)).to_string(), big);
        assert_eq!(
            value(r#"{"@type":"g:Map","@value":["a",{"@type":"g:Set","@value":[1,1,2]}]}"#).to_string(),
            "{a={1, 2}}"
        );
        assert_eq!(value(r#"{"@type":"g:Date","@value":1481750076295}"#).to_string(), "2016-12-14T21:14:36.295Z");
        assert!(parse_text(r#"{"@type":"g:Int32","@value":"x"}"#).is_none());
        assert!(parse_text(r#"{"@type":"g:Vertex","@value":{}}"#).is_none());
    }

    #[test]
    fn a_cell_keeps_several_values_and_their_properties() {
        let text = r#"[{"id":1,"value":"a","properties":{"since":{"@type":"g:Int32","@value":1997}}},{"value":"b"}]"#;
        let meta = vec![("since".into(), Value::Int32(1997))];
        let expected = vec![RawValue { value: "a".into(), meta }, RawValue::plain("b".into())];
        assert_eq!(parse_cell(text), Some(RawCell::Many(expected)));
        assert_eq!(parse_cell(r#"[{"value":"b"}]"#), Some(RawCell::One("b".into())));
    }
}
