//! Reads GraphSON 3 bytecode.
//!
//! ```json
//! {"@type": "g:Bytecode", "@value": {
//!    "source": [["withStrategies", {"@type": "g:ReadOnlyStrategy", "@value": {…}}]],
//!    "step":   [["V"], ["has", "age", {"@type": "g:P", "@value": {"predicate": "gt", "value": …}}]]}}
//! ```
//!
//! The forms follow what gremlinpython 3.7 and 3.8 write: enums in camel case; `gx:ByteBuffer` as one character per byte; a pair of
//! operands as a bare array; strategies with their options or with `fqcn` and `conf`. gremlinpython writes tuples as untyped JSON.
//! The reader infers their types.

use mangrove_graph::{DateTime, Uuid, Value};
use serde_json::{Map, Number, Value as Json};

use super::{Problem, Read, Usage, argument, problem, single};
use crate::diagnostics::Span;
use crate::gremlin::error::SyntaxError;
use crate::gremlin::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, TraversalSyntax};
use crate::gremlin::{literal, names};
use crate::stack::with_room;

/// The most bytes of a bytecode. Bytecode is several times as long as the same text.
pub const BYTECODE_BYTES_MAX: usize = 32 << 20;
/// The most values of a JSON text, within others or not. GraphSON has up to six for each value of a query.
pub const VALUES_MAX: usize = 6 << 20;
/// The most arrays and objects within one another.
const JSON_DEPTH_MAX: usize = 512;
/// The stack needed to read and drop JSON of that depth, with a wide margin.
pub(super) const STACK_BYTES: usize = 1 << 20;

/// Reads one traversal.
pub fn read_bytecode(json: &str) -> Result<TraversalSyntax, SyntaxError> {
    let read = || parse_json(json, "bytecode").and_then(|json| JsonReader::default().query(&json));
    with_room(STACK_BYTES, read).map_err(super::Problem::into_error)
}

/// Reads the JSON of `what`.
pub(super) fn parse_json(text: &str, what: &str) -> Read<Json> {
    if text.len() > BYTECODE_BYTES_MAX {
        return problem(format!("{what} of {} bytes is too long: the limit is {BYTECODE_BYTES_MAX}", text.len()));
    }
    let Outline { deepest, values, long_number } = Outline::of(text);
    if deepest > JSON_DEPTH_MAX {
        return problem(format!("{what} is nested too deep: the limit is {JSON_DEPTH_MAX}"));
    }
    if values > VALUES_MAX {
        return problem(format!("{what} has more than {VALUES_MAX} values"));
    }
    if let Some(number) = long_number {
        return Err(Problem {
            message: format!("JSON cannot carry all digits of the number {number}"),
            help: Some("send it as text, as in {\"@type\": \"gx:BigInteger\", \"@value\": \"…\"}, or use GraphBinary"),
            place: None,
        });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The depth is checked above. It may exceed serde_json's own limit.
    deserializer.disable_recursion_limit();
    let mut documents = deserializer.into_iter::<Json>();
    match (documents.next(), documents.next()) {
        (Some(Ok(json)), None) => Ok(json),
        (Some(Err(error)), _) | (_, Some(Err(error))) => problem(format!("{what} is not JSON: {error}")),
        (None, _) => problem(format!("{what} is empty")),
        (_, Some(Ok(_))) => problem(format!("{what} must be one JSON document")),
    }
}

/// What a JSON text looks like from afar. What stands in strings does not count.
#[derive(Default)]
pub struct Outline<'t> {
    /// The greatest number of brackets open at once.
    deepest: usize,
    /// The number of values, within others or not, or somewhat less.
    pub values: usize,
    /// A number whose digits neither 64 bits nor a double can hold.
    pub long_number: Option<&'t str>,
}

impl<'t> Outline<'t> {
    pub fn of(text: &'t str) -> Self {
        let (mut outline, mut depth) = (Self::default(), 0usize);
        let mut bytes = text.as_bytes().iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b',' => outline.values += 1,
                b'[' | b'{' => {
                    depth += 1;
                    outline.values += 1;
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b'"' => skip_string(&mut bytes),
                b'-' | b'0'..=b'9' => {
                    let begin = text.len() - bytes.len() - 1;
                    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                    while bytes.as_slice().first().is_some_and(is_part) {
                        bytes.next();
                    }
                    let number = &text[begin..text.len() - bytes.len()];
                    outline.long_number = outline.long_number.or(Some(number).filter(|number| loses_digits(number)));
                }
                _ => {}
            }
            outline.deepest = outline.deepest.max(depth);
        }
        outline
    }
}

/// Whether serde_json would read another number. It reads integers of 64 bits, and all others as doubles.
fn loses_digits(number: &str) -> bool {
    /// Each double has a text with so many digits, and no text with fewer stands for another double.
    const DOUBLE_DIGITS: usize = 17;
    if number.len() <= DOUBLE_DIGITS || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return false;
    }
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len() > DOUBLE_DIGITS
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => _ = bytes.next(),
            _ => {}
        }
    }
}

#[derive(Default)]
pub(super) struct JsonReader {
    usage: Usage,
}

impl JsonReader {
    /// The values read so far, those within others included.
    pub(super) fn values(&self) -> usize {
        self.usage.arguments
    }

    pub(super) fn query(&mut self, json: &Json) -> Read<TraversalSyntax> {
        let body = match typed(json) {
            Some(("g:Bytecode", body)) => body,
            Some((kind, _)) => return problem(format!("expected g:Bytecode, found {kind}")),
            None => json,
        };
        let mut traversal = self.traversal(body)?;
        traversal.from_source = true;
        Ok(traversal)
    }

    fn traversal(&mut self, body: &Json) -> Read<TraversalSyntax> {
        let Json::Object(body) = body else { return problem("bytecode must be an object with `source` and `step`") };
        let mut calls = Vec::new();
        for part in ["source", "step"] {
            match body.get(part) {
                None | Some(Json::Null) => {}
                Some(Json::Array(instructions)) => {
                    for instruction in instructions {
                        self.instruction(instruction, &mut calls)?;
                    }
                }
                Some(_) => return problem(format!("`{part}` of bytecode must be an array of instructions")),
            }
        }
        let from_source =
            body.get("source").is_some_and(|source| source.as_array().is_some_and(|source| !source.is_empty()));
        super::traversal(calls, from_source)
    }

    fn instruction(&mut self, instruction: &Json, calls: &mut Vec<Call>) -> Read<()> {
        let parts = instruction.as_array().map(Vec::as_slice).unwrap_or_default();
        let Some((Json::String(name), args)) = parts.split_first() else {
            return problem("an instruction of bytecode must be an array of a name and arguments");
        };
        super::check_step_name(name)?;
        let args = args.iter().enumerate().map(|(i, arg)| {
            self.argument(arg).map_err(|problem| problem.within(|| format!("argument {} of {name}()", i + 1)))
        });
        let args = args.collect::<Read<_>>()?;
        self.usage.step()?;
        super::push_call(name, args, calls);
        Ok(())
    }

    pub(super) fn argument(&mut self, json: &Json) -> Read<Argument> {
        self.usage.enter()?;
        let kind = self.kind(json);
        self.usage.leave();
        Ok(argument(kind?))
    }

    fn arguments<'a>(&mut self, items: impl IntoIterator<Item = &'a Json>) -> Read<Vec<Argument>> {
        items.into_iter().map(|item| self.argument(item)).collect()
    }

    fn kind(&mut self, json: &Json) -> Read<ArgumentKind> {
        if let Some((kind, value)) = typed(json) {
            return self.typed(kind, value);
        }
        Ok(ArgumentKind::Value(match json {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Bool(*flag),
            Json::Number(number) => untyped_number(number)?,
            Json::String(text) => text.as_str().into(),
            Json::Array(items) => return self.arguments(items).map(ArgumentKind::List),
            Json::Object(fields) => return self.object(fields),
        }))
    }

    fn object(&mut self, fields: &Map<String, Json>) -> Read<ArgumentKind> {
        let entries = fields
            .iter()
            .map(|(key, value)| Ok((argument(ArgumentKind::Value(key.as_str().into())), self.argument(value)?)));
        entries.collect::<Read<_>>().map(ArgumentKind::Map)
    }

    fn typed(&mut self, kind: &str, value: &Json) -> Read<ArgumentKind> {
        match kind {
            "g:Bytecode" => self.traversal(value).and_then(super::nested),
            "g:P" | "g:TextP" => self.predicate(value).map(ArgumentKind::Predicate),
            "g:List" => self.arguments(array(kind, value)?).map(ArgumentKind::List),
            "g:Set" => self.arguments(array(kind, value)?).map(ArgumentKind::Set),
            "g:Map" => self.map(array(kind, value)?),
            "g:Binding" => self.argument(field(kind, value, "value")?).map(|argument| argument.kind),
            "g:Vertex" | "g:Edge" => self.element(kind, value, &["id", "label"]),
            "g:VertexProperty" => self.element(kind, value, &["id", "label", "value"]),
            "g:Property" => self.element(kind, value, &["key", "value"]),
            "g:Class" => super::strategy_of_class(value.as_str().unwrap_or_default(), Vec::new()),
            "g:Lambda" => super::lambda(),
            _ if kind.ends_with("Strategy") => self.strategy(kind, value),
            _ => match constant(kind, value) {
                Some(constant) => constant,
                None => literal(kind, value).map(ArgumentKind::Value),
            },
        }
    }

    fn map(&mut self, flat: &[Json]) -> Read<ArgumentKind> {
        let (pairs, rest) = flat.as_chunks::<2>();
        if !rest.is_empty() {
            return problem("g:Map must hold keys and values in turn");
        }
        let entries = pairs.iter().map(|[key, value]| Ok((self.argument(key)?, self.argument(value)?)));
        entries.collect::<Read<_>>().map(ArgumentKind::Map)
    }

    fn element(&mut self, kind: &str, value: &Json, fields: &[&str]) -> Read<ArgumentKind> {
        let args = fields.iter().map(|name| self.argument(field(kind, value, name)?)).collect::<Read<_>>()?;
        Ok(super::element(&kind["g:".len()..], args))
    }

    fn strategy(&mut self, kind: &str, value: &Json) -> Read<ArgumentKind> {
        let name = kind.rsplit([':', '.']).next().unwrap_or(kind);
        let empty = Map::new();
        let options = match value.get("conf") {
            Some(conf) if value.get("fqcn").is_some() => conf,
            _ => value,
        };
        let options = options.as_object().unwrap_or(&empty);
        let options = options.iter().map(|(name, value)| Ok((name.clone(), self.argument(value)?)));
        let options = options.collect::<Read<_>>().map_err(|problem| problem.within(|| format!("an option of {name}")))?;
        super::named_strategy(name, options)
    }

    fn predicate(&mut self, value: &Json) -> Read<PredicateSyntax> {
        let name = field("g:P", value, "predicate")?;
        let name = name.as_str().unwrap_or_default();
        let operand = value.get("value").unwrap_or(&Json::Null);
        match name {
            "and" | "or" => self.connective(name, operand),
            "not" => {
                self.usage.joint()?;
                self.operand(operand).map(|operand| PredicateSyntax::Not(Box::new(operand)))
            }
            _ if names::is_predicate(name) => {
                let args = match operand {
                    _ if !["inside", "outside", "between"].contains(&name) => vec![self.argument(operand)?],
                    operand => self.arguments(array("g:List", typed(operand).map_or(operand, |(_, items)| items))?)?,
                };
                Ok(PredicateSyntax::Test { name: name.into(), args, span: Span::default() })
            }
            _ => super::unknown_predicate(name),
        }
    }

    /// Predicates joined from the left.
    fn connective(&mut self, name: &str, operands: &Json) -> Read<PredicateSyntax> {
        let operands = array("g:List", typed(operands).map_or(operands, |(_, items)| items))?;
        let Some((first, rest)) = operands.split_first() else {
            return problem(format!("`{name}` needs predicates to join"));
        };
        let mut joined = self.operand(first)?;
        for operand in rest {
            self.usage.joint()?;
            self.usage.enter()?;
            let other = self.operand(operand);
            self.usage.leave();
            joined = super::join(name, joined, other?);
        }
        Ok(joined)
    }

    fn operand(&mut self, json: &Json) -> Read<PredicateSyntax> {
        match typed(json) {
            Some(("g:P" | "g:TextP", value)) => self.predicate(value),
            _ => problem("`and`, `or` and `not` take predicates"),
        }
    }
}

/// The type and value of typed JSON. A missing value is null.
pub(super) fn typed(json: &Json) -> Option<(&str, &Json)> {
    let kind = json.get("@type")?.as_str()?;
    Some((kind, json.get("@value").unwrap_or(&Json::Null)))
}

fn field<'a>(kind: &str, value: &'a Json, name: &str) -> Read<&'a Json> {
    value.get(name).map_or_else(|| problem(format!("{kind} without `{name}`")), Ok)
}

fn array<'a>(kind: &str, value: &'a Json) -> Read<&'a [Json]> {
    value.as_array().map_or_else(|| problem(format!("{kind} must hold an array")), |items| Ok(items.as_slice()))
}

/// A constant such as `g:T`, if the type is one.
fn constant(kind: &str, value: &Json) -> Option<Read<ArgumentKind>> {
    let kind = kind.strip_prefix("g:")?;
    names::members(kind)?;
    Some(super::constant(kind, value.as_str().unwrap_or_default()))
}

fn untyped_number(number: &Number) -> Read<Value> {
    match number.as_i64() {
        Some(i) => Ok(i32::try_from(i).map_or(Value::Int64(i), Value::Int32)),
        None if number.is_f64() => Ok(Value::Float64(number.as_f64().unwrap_or(f64::NAN))),
        None => literal::big_integer(&number.to_string()).or_else(problem),
    }
}

/// The value of a type that has a literal.
fn literal(kind: &str, value: &Json) -> Read<Value> {
    let read = match kind {
        "g:Int32" => integer(value).map(Value::Int32),
        "g:Int64" => integer(value).map(Value::Int64),
        "gx:Int16" => integer(value).map(Value::Int16),
        "gx:Byte" => integer(value).map(Value::Int8),
        "g:Double" => float(value).map(Value::Float64),
        "g:Float" => float(value).map(single),
        "gx:BigInteger" => return literal::big_integer(&number_text(value)).or_else(problem),
        "gx:BigDecimal" => return literal::decimal(&number_text(value)).or_else(problem),
        "gx:Char" => value.as_str().map(Value::string),
        "g:UUID" => value.as_str().and_then(|text| Uuid::parse_str(text).ok()).map(Value::Uuid),
        "g:Date" | "g:Timestamp" => {
            integer(value).map(DateTime::from_millis).filter(|d| d.timestamp().is_some()).map(Value::DateTime)
        }
        "gx:OffsetDateTime" | "gx:Instant" | "gx:LocalDateTime" | "gx:ZonedDateTime" => {
            value.as_str().and_then(literal::date_time).map(Value::DateTime)
        }
        "gx:LocalDate" => value.as_str().and_then(mangrove_graph::Date::parse).map(Value::Date),
        "gx:Duration" => value.as_str().and_then(literal::duration).map(Value::Duration),
        "gx:ByteBuffer" => value.as_str().and_then(bytes).map(|bytes| Value::Bytes(bytes.into())),
        _ => return problem(format!("values of type `{}` are not supported", kind.escape_debug())),
    };
    read.map_or_else(|| problem(format!("this is not a value of type {kind}")), Ok)
}

fn integer<I: TryFrom<i64>>(value: &Json) -> Option<I> {
    value.as_i64().and_then(|i| I::try_from(i).ok())
}

fn float(value: &Json) -> Option<f64> {
    match value {
        Json::Number(number) => number.as_f64(),
        Json::String(text) if ["NaN", "Infinity", "-Infinity"].contains(&text.as_str()) => text.parse().ok(),
        _ => None,
    }
}

fn number_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Bytes from a text with one character per byte.
fn bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}
