//! Reads GraphSON 3 bytecode, the form in which language variants such as gremlinpython send a traversal.
//!
//! ```json
//! {"@type": "g:Bytecode", "@value": {
//!    "source": [["withStrategies", {"@type": "g:ReadOnlyStrategy", "@value": {…}}]],
//!    "step":   [["V"], ["has", "age", {"@type": "g:P", "@value": {"predicate": "gt", "value": …}}]]}}
//! ```
//!
//! It becomes the tree the same traversal written as text would give, without spans. Forms follow what gremlinpython 3.7 and
//! 3.8 write: enums in camel case, `gx:ByteBuffer` as one character a byte, an operand pair as a bare array, strategies with
//! their options or with `fqcn` and `conf`. Untyped JSON (what a tuple becomes there) is read by its looks. Bindings give
//! their values; lambdas are refused.

use mangrove_graph::{DateTime, Uuid, Value};
use serde_json::{Map, Number, Value as Json};

use super::error::SyntaxError;
use super::lex::is_word;
use super::literal;
use super::names;
use super::parse::{DEPTH_MAX, JOINTS_MAX, STEPS_MAX};
use super::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, Span, Traversal};

/// Bytes of bytecode, which is several times as long as the same text.
pub const BYTECODE_BYTES_MAX: usize = 32 << 20;
/// Arrays and objects within one another.
const JSON_DEPTH_MAX: usize = 512;

/// Reads one traversal.
pub fn read_bytecode(json: &str) -> Result<Traversal, SyntaxError> {
    parse_json(json).and_then(|json| Reader::default().query(&json)).map_err(Problem::into_error)
}

fn parse_json(text: &str) -> Read<Json> {
    if text.len() > BYTECODE_BYTES_MAX {
        return problem(format!("bytecode of {} bytes is too long: the limit is {BYTECODE_BYTES_MAX}", text.len()));
    }
    if nesting(text) > JSON_DEPTH_MAX {
        return problem(format!("bytecode is nested too deep: the limit is {JSON_DEPTH_MAX}"));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // Depth is bounded above, further than serde_json's own limit.
    deserializer.disable_recursion_limit();
    let mut documents = deserializer.into_iter::<Json>();
    match (documents.next(), documents.next()) {
        (Some(Ok(json)), None) => Ok(json),
        (Some(Err(error)), _) | (_, Some(Err(error))) => problem(format!("bytecode is not JSON: {error}")),
        (None, _) => problem("the bytecode is empty"),
        (_, Some(Ok(_))) => problem("bytecode is one JSON document"),
    }
}

/// The most brackets open at once. Brackets in strings count as none.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => _ = bytes.next(),
            _ => {}
        }
    }
}

/// What is wrong, and in which argument.
struct Problem {
    message: String,
    help: Option<&'static str>,
    place: Option<String>,
}

type Read<T> = Result<T, Problem>;

fn problem<T>(message: impl Into<String>) -> Read<T> {
    Err(Problem { message: message.into(), help: None, place: None })
}

impl Problem {
    fn into_error(self) -> SyntaxError {
        let message = match self.place {
            Some(place) => format!("{place}: {}", self.message),
            None => self.message,
        };
        SyntaxError { help: self.help.map(String::from), ..SyntaxError::new(message, Span::default()) }
    }

    /// The innermost place is the telling one.
    fn within(mut self, place: impl FnOnce() -> String) -> Self {
        self.place.get_or_insert_with(place);
        self
    }
}

/// Counts what the text reader's limits bound too, so that the trees of both print and parse alike.
#[derive(Default)]
struct Reader {
    depth: usize,
    joints: usize,
    steps: usize,
}

impl Reader {
    fn query(&mut self, json: &Json) -> Read<Traversal> {
        let body = match typed(json) {
            Some(("g:Bytecode", body)) => body,
            Some((kind, _)) => return problem(format!("expected g:Bytecode, found {kind}")),
            None => json,
        };
        let mut traversal = self.traversal(body)?;
        traversal.from_source = true;
        Ok(traversal)
    }

    fn traversal(&mut self, body: &Json) -> Read<Traversal> {
        let Json::Object(body) = body else { return problem("bytecode is an object with `source` and `step`") };
        let mut calls = Vec::new();
        for part in ["source", "step"] {
            match body.get(part) {
                None | Some(Json::Null) => {}
                Some(Json::Array(instructions)) => {
                    for instruction in instructions {
                        self.instruction(instruction, &mut calls)?;
                    }
                }
                Some(_) => return problem(format!("`{part}` of bytecode is an array of instructions")),
            }
        }
        if calls.is_empty() {
            return problem("the bytecode has no step");
        }
        let from_source =
            body.get("source").is_some_and(|source| source.as_array().is_some_and(|source| !source.is_empty()));
        Ok(Traversal { from_source, calls, span: Span::default() })
    }

    fn instruction(&mut self, instruction: &Json, calls: &mut Vec<Call>) -> Read<()> {
        let parts = instruction.as_array().map(Vec::as_slice).unwrap_or_default();
        let Some((Json::String(name), args)) = parts.split_first() else {
            return problem("an instruction of bytecode is an array of a name and arguments");
        };
        if !is_word(name) {
            return problem(format!("`{}` is not the name of a step", name.escape_debug()));
        }
        if let ("tx", [Json::String(operation)]) = (name.as_str(), args)
            && is_word(operation)
        {
            calls.extend([call("tx", Vec::new()), call(operation, Vec::new())]);
            return Ok(());
        }
        let args = args.iter().enumerate().map(|(i, arg)| {
            self.argument(arg).map_err(|problem| problem.within(|| format!("argument {} of {name}()", i + 1)))
        });
        let args = args.collect::<Read<_>>()?;
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return problem(format!("more than {STEPS_MAX} steps in one query"));
        }
        calls.push(call(name, args));
        Ok(())
    }

    fn argument(&mut self, json: &Json) -> Read<Argument> {
        if self.depth == DEPTH_MAX {
            return problem(format!("arguments are nested too deep: the limit is {DEPTH_MAX}"));
        }
        self.depth += 1;
        let kind = self.kind(json);
        self.depth -= 1;
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
            "g:Bytecode" => self.nested(value),
            "g:P" | "g:TextP" => self.predicate(value).map(ArgumentKind::Predicate),
            "g:List" => self.arguments(array(kind, value)?).map(ArgumentKind::List),
            "g:Set" => self.arguments(array(kind, value)?).map(ArgumentKind::Set),
            "g:Map" => self.map(array(kind, value)?),
            "g:Binding" => self.argument(field(kind, value, "value")?).map(|argument| argument.kind),
            "g:Vertex" | "g:Edge" => self.element(kind, value, &["id", "label"]),
            "g:VertexProperty" => self.element(kind, value, &["id", "label", "value"]),
            "g:Property" => self.element(kind, value, &["key", "value"]),
            "g:Class" => strategy_class(value),
            "g:Lambda" => Err(Problem {
                message: "lambdas are not supported".into(),
                help: Some("write what the lambda does with Gremlin steps"),
                place: None,
            }),
            _ if kind.ends_with("Strategy") => self.strategy(kind, value),
            _ => match constant(kind, value) {
                Some(constant) => constant,
                None => literal(kind, value).map(ArgumentKind::Value),
            },
        }
    }

    /// An anonymous traversal; or a value with a cardinality, which gremlinpython writes as one.
    fn nested(&mut self, body: &Json) -> Read<ArgumentKind> {
        let traversal = self.traversal(body)?;
        if traversal.calls[0].name != "CardinalityValueTraversal" {
            return Ok(ArgumentKind::Traversal(traversal));
        }
        let args = traversal.calls.into_iter().next().map(|call| call.args).unwrap_or_default();
        match <[Argument; 2]>::try_from(args) {
            Ok([Argument { kind: ArgumentKind::Constant { kind, name }, .. }, value]) if kind == "Cardinality" => {
                Ok(ArgumentKind::Applied { kind, name, args: vec![value] })
            }
            _ => problem("CardinalityValueTraversal takes a cardinality and a value"),
        }
    }

    fn map(&mut self, flat: &[Json]) -> Read<ArgumentKind> {
        let (pairs, rest) = flat.as_chunks::<2>();
        if !rest.is_empty() {
            return problem("g:Map holds keys and values in turn");
        }
        let entries = pairs.iter().map(|[key, value]| Ok((self.argument(key)?, self.argument(value)?)));
        entries.collect::<Read<_>>().map(ArgumentKind::Map)
    }

    fn element(&mut self, kind: &str, value: &Json, fields: &[&str]) -> Read<ArgumentKind> {
        let args = fields.iter().map(|name| self.argument(field(kind, value, name)?)).collect::<Read<_>>()?;
        Ok(ArgumentKind::Applied { kind: "Element".into(), name: kind["g:".len()..].into(), args })
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
        named_strategy(name, options)
    }

    fn predicate(&mut self, value: &Json) -> Read<PredicateSyntax> {
        let name = field("g:P", value, "predicate")?;
        let name = name.as_str().unwrap_or_default();
        let operand = value.get("value").unwrap_or(&Json::Null);
        match name {
            "and" | "or" => self.connective(name, operand),
            "not" => {
                self.joint()?;
                self.operand(operand).map(|operand| PredicateSyntax::Not(Box::new(operand)))
            }
            _ if names::is_predicate(name) => {
                let args = match operand {
                    _ if !["inside", "outside", "between"].contains(&name) => vec![self.argument(operand)?],
                    operand => self.arguments(array("g:List", typed(operand).map_or(operand, |(_, items)| items))?)?,
                };
                Ok(PredicateSyntax::Test { name: name.into(), args, span: Span::default() })
            }
            _ => problem(format!("unknown predicate `{}`", name.escape_debug())),
        }
    }

    /// Predicates joined, from the left.
    fn connective(&mut self, name: &str, operands: &Json) -> Read<PredicateSyntax> {
        let operands = array("g:List", typed(operands).map_or(operands, |(_, items)| items))?;
        let Some((first, rest)) = operands.split_first() else { return problem(format!("`{name}` joins predicates")) };
        let mut joined = self.operand(first)?;
        for operand in rest {
            self.joint()?;
            self.depth += 1;
            let other =
                if self.depth > DEPTH_MAX { problem("predicates are nested too deep") } else { self.operand(operand) };
            self.depth -= 1;
            let sides = (Box::new(joined), Box::new(other?));
            joined =
                if name == "and" { PredicateSyntax::And(sides.0, sides.1) } else { PredicateSyntax::Or(sides.0, sides.1) };
        }
        Ok(joined)
    }

    fn operand(&mut self, json: &Json) -> Read<PredicateSyntax> {
        match typed(json) {
            Some(("g:P" | "g:TextP", value)) => self.predicate(value),
            _ => problem("`and`, `or` and `not` take predicates"),
        }
    }

    fn joint(&mut self) -> Read<()> {
        self.joints += 1;
        if self.joints > JOINTS_MAX { problem(format!("more than {JOINTS_MAX} predicates are joined")) } else { Ok(()) }
    }
}

fn argument(kind: ArgumentKind) -> Argument {
    Argument { kind, span: Span::default() }
}

fn call(name: &str, args: Vec<Argument>) -> Call {
    Call { name: name.into(), args, name_span: Span::default(), span: Span::default() }
}

/// The type and value of typed JSON; a value left out is null.
fn typed(json: &Json) -> Option<(&str, &Json)> {
    let kind = json.get("@type")?.as_str()?;
    Some((kind, json.get("@value").unwrap_or(&Json::Null)))
}

fn field<'a>(kind: &str, value: &'a Json, name: &str) -> Read<&'a Json> {
    value.get(name).map_or_else(|| problem(format!("{kind} without `{name}`")), Ok)
}

fn array<'a>(kind: &str, value: &'a Json) -> Read<&'a [Json]> {
    value.as_array().map_or_else(|| problem(format!("{kind} holds an array")), |items| Ok(items.as_slice()))
}

fn named_strategy(name: &str, options: Vec<(String, Argument)>) -> Read<ArgumentKind> {
    if is_word(name) {
        Ok(ArgumentKind::Strategy { name: name.into(), options })
    } else {
        problem(format!("`{}` is not the name of a strategy", name.escape_debug()))
    }
}

/// A strategy by the Java class that has its name.
fn strategy_class(value: &Json) -> Read<ArgumentKind> {
    let class = value.as_str().unwrap_or_default();
    named_strategy(class.rsplit(['.', '$']).next().unwrap_or(class), Vec::new())
}

/// `g:T` and its like, if that is what the type is.
fn constant(kind: &str, value: &Json) -> Option<Read<ArgumentKind>> {
    let kind = kind.strip_prefix("g:")?;
    names::members(kind)?;
    let name = value.as_str().unwrap_or_default();
    Some(match names::constant(kind, name) {
        Some((kind, name)) => Ok(ArgumentKind::Constant { kind: kind.into(), name: name.into() }),
        None => problem(format!("{kind} has no `{}`", name.escape_debug())),
    })
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

/// The language has one NaN and one infinity, doubles.
fn single(value: f64) -> Value {
    let narrow = value as f32;
    if narrow.is_finite() { Value::Float32(narrow) } else { Value::Float64(value) }
}

fn number_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// One byte a character.
fn bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}
