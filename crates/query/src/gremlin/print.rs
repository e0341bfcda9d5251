//! Writes a syntax tree as gremlin-lang text.
//!
//! The text is canonical, so a traversal has one text however it was written. Constants and predicates carry their kind, numbers
//! the suffix of their type. Strings have single quotes, anonymous traversals begin with `__`. Reading the text gives the same
//! tree.
//!
//! The language has no literal for days and for references to elements. They are written `Date('…')` and `Element.Vertex(id,
//! label)`, which the reader knows. Values that exist only while a query runs (a path, a vertex) print as they do in messages.

use std::fmt::{self, Write};

use base64::prelude::{BASE64_STANDARD as BASE64, Engine};
use mangrove_graph::{BigDecimal, Value};

use super::names;
use super::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, TraversalSyntax};

/// The canonical text of a traversal.
pub fn print(traversal: &TraversalSyntax) -> String {
    let mut out = String::new();
    write_traversal(&mut out, traversal).expect("writing to a string cannot fail");
    out
}

impl fmt::Display for TraversalSyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_traversal(f, self)
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_argument(f, self)
    }
}

fn write_traversal(out: &mut impl Write, traversal: &TraversalSyntax) -> fmt::Result {
    out.write_str(if traversal.from_source { "g" } else { "__" })?;
    traversal.calls.iter().try_for_each(|call| write_call(out, call))
}

fn write_call(out: &mut impl Write, call: &Call) -> fmt::Result {
    write!(out, ".{}", call.name)?;
    write_arguments(out, &call.args)
}

fn write_arguments(out: &mut impl Write, args: &[Argument]) -> fmt::Result {
    separated(out, '(', args, write_argument, ')')
}

fn separated<W: Write, T>(
    out: &mut W,
    open: char,
    items: impl IntoIterator<Item = T>,
    mut item: impl FnMut(&mut W, T) -> fmt::Result,
    close: char,
) -> fmt::Result {
    out.write_char(open)?;
    for (i, next) in items.into_iter().enumerate() {
        if i > 0 {
            out.write_char(',')?;
        }
        item(out, next)?;
    }
    out.write_char(close)
}

fn write_argument(out: &mut impl Write, argument: &Argument) -> fmt::Result {
    match &argument.kind {
        ArgumentKind::Value(value) => write_value(out, value),
        ArgumentKind::List(items) => separated(out, '[', items, write_argument, ']'),
        ArgumentKind::Set(items) => separated(out, '{', items, write_argument, '}'),
        ArgumentKind::Map(entries) if entries.is_empty() => out.write_str("[:]"),
        ArgumentKind::Map(entries) => separated(out, '[', entries, write_entry, ']'),
        ArgumentKind::Traversal(traversal) => write_traversal(out, traversal),
        ArgumentKind::Predicate(predicate) => write_predicate(out, predicate),
        ArgumentKind::Constant { kind, name } => write!(out, "{kind}.{name}"),
        ArgumentKind::Applied { kind, name, args } => {
            write!(out, "{kind}.{name}")?;
            write_arguments(out, args)
        }
        ArgumentKind::Strategy { name, options } => {
            write!(out, "new {name}")?;
            separated(out, '(', options, write_option, ')')
        }
        ArgumentKind::Variable(name) => out.write_str(name),
    }
}

fn write_entry(out: &mut impl Write, (key, value): &(Argument, Argument)) -> fmt::Result {
    match &key.kind {
        ArgumentKind::Value(Value::String(_)) => write_argument(out, key)?,
        _ => {
            out.write_char('(')?;
            write_argument(out, key)?;
            out.write_char(')')?;
        }
    }
    out.write_char(':')?;
    write_argument(out, value)
}

fn write_option(out: &mut impl Write, (name, value): &(String, Argument)) -> fmt::Result {
    write_string(out, name)?;
    out.write_char(':')?;
    write_argument(out, value)
}

fn write_predicate(out: &mut impl Write, predicate: &PredicateSyntax) -> fmt::Result {
    match predicate {
        PredicateSyntax::Test { name, args, .. } => {
            let kind = if names::TEXT_PREDICATES.contains(&name.as_str()) { "TextP" } else { "P" };
            write!(out, "{kind}.{name}")?;
            write_arguments(out, args)
        }
        PredicateSyntax::And(a, b) => write_joined(out, a, "and", b),
        PredicateSyntax::Or(a, b) => write_joined(out, a, "or", b),
        PredicateSyntax::Not(a) => {
            write_predicate(out, a)?;
            out.write_str(".negate()")
        }
    }
}

fn write_joined(out: &mut impl Write, a: &PredicateSyntax, name: &str, b: &PredicateSyntax) -> fmt::Result {
    write_predicate(out, a)?;
    write!(out, ".{name}(")?;
    write_predicate(out, b)?;
    out.write_char(')')
}

fn write_value(out: &mut impl Write, value: &Value) -> fmt::Result {
    match value {
        Value::Int8(i) => write!(out, "{i}b"),
        Value::Int16(i) => write!(out, "{i}s"),
        Value::Int64(i) => write!(out, "{i}l"),
        Value::BigInt(i) => write!(out, "{i}n"),
        Value::Float32(f) if f.is_finite() => write!(out, "{f:?}f"),
        Value::Float32(f) => write_value(out, &Value::Float64(f64::from(*f))),
        Value::Float64(f) if f.is_finite() => write!(out, "{f:?}"),
        Value::Decimal(d) => write!(out, "{}m", decimal_text(d)),
        Value::String(text) => write_string(out, text),
        Value::Bytes(bytes) => write!(out, "Binary('{}')", BASE64.encode(bytes)),
        Value::Uuid(id) => write!(out, "UUID('{id}')"),
        Value::Date(date) => write!(out, "Date('{date}')"),
        Value::DateTime(time) => write!(out, "datetime('{time}')"),
        Value::Duration(duration) => write!(out, "Duration({},{})", integer_text(duration.seconds), duration.nanos),
        Value::Vector(items) => separated(out, '[', items.iter(), |out, f| write_value(out, &Value::Float32(*f)), ']'),
        Value::List(items) => separated(out, '[', items.iter(), write_value, ']'),
        Value::Set(items) => separated(out, '{', items.iter(), write_value, '}'),
        Value::Map(map) if map.is_empty() => out.write_str("[:]"),
        Value::Map(map) => separated(out, '[', map.iter(), write_value_entry, ']'),
        Value::Token(token) => write!(out, "{token_kind}.{}", token.name(), token_kind = token_kind(*token)),
        other => write!(out, "{other}"),
    }
}

fn token_kind(token: mangrove_graph::Token) -> &'static str {
    if matches!(token, mangrove_graph::Token::Direction(_)) { "Direction" } else { "T" }
}

fn write_value_entry(out: &mut impl Write, (key, value): &(Value, Value)) -> fmt::Result {
    out.write_char('(')?;
    write_value(out, key)?;
    out.write_str("):")?;
    write_value(out, value)
}

/// An integer with the suffix its size needs.
fn integer_text(i: i64) -> String {
    if i32::try_from(i).is_ok() { i.to_string() } else { format!("{i}l") }
}

/// All digits if they are few. An exponent replaces many zeros.
fn decimal_text(decimal: &BigDecimal) -> String {
    let places = decimal.as_bigint_and_exponent().1;
    if (0..=30).contains(&places) { decimal.to_plain_string() } else { decimal.to_scientific_notation() }
}

fn write_string(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('\'')?;
    for c in text.chars() {
        match c {
            '\'' => out.write_str("\\'")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if c.is_control() => write!(out, "\\u{:04x}", c as u32)?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('\'')
}
