//! Bytecode: the form in which language variants such as gremlinpython send a traversal. It comes as GraphSON 3 text ([`graphson`])
//! or as GraphBinary 1 bytes ([`graphbinary`]).
//!
//! Both readers build the tree that the same traversal as text would give, without spans. This module holds what they share: the
//! limits, and how instructions, constants, strategies and joined predicates become parts of the tree. A binding becomes its value.
//! A lambda is refused.

pub mod graphbinary;
pub mod graphson;
pub mod request;
mod scalar;

use mangrove_graph::Value;

use super::error::SyntaxError;
use super::lex::is_word;
use super::names;
use super::parse::{ARGUMENTS_MAX, DEPTH_MAX, JOINTS_MAX, STEPS_MAX};
use super::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, TraversalSyntax};
use crate::diagnostics::Span;

pub use graphbinary::{constant_code, read_graphbinary};
pub use graphson::{Outline, read_bytecode};
pub use request::{BadRequest, RequestSyntax, read_binary_request, read_json_request, read_parameters};
pub use scalar::read_plain;

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

    /// Sets the place, unless a deeper call has set it: the innermost place says most.
    fn within(mut self, place: impl FnOnce() -> String) -> Self {
        self.place.get_or_insert_with(place);
        self
    }
}

/// Counts what the limits of the text reader also bound. So the trees of all readers print and parse alike.
#[derive(Default)]
struct Usage {
    depth: usize,
    arguments: usize,
    joints: usize,
    steps: usize,
}

impl Usage {
    fn enter(&mut self) -> Read<()> {
        if self.depth == DEPTH_MAX {
            return problem(format!("arguments are nested too deep: the limit is {DEPTH_MAX}"));
        }
        self.arguments += 1;
        if self.arguments > ARGUMENTS_MAX {
            return problem(format!("more than {ARGUMENTS_MAX} values: send them in several requests"));
        }
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts one more step.
    fn step(&mut self) -> Read<()> {
        self.steps += 1;
        if self.steps > STEPS_MAX { problem(format!("more than {STEPS_MAX} steps in one query")) } else { Ok(()) }
    }

    /// Counts one more joined predicate.
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

fn check_step_name(name: &str) -> Read<()> {
    if is_word(name) { Ok(()) } else { problem(format!("`{}` is not the name of a step", name.escape_debug())) }
}

/// Appends the call that an instruction stands for. `tx` becomes two calls, because its argument is a call in the text. TinkerPop 3.7
/// calls `discard()` `none()`, and 3.8 has a `none()` that takes an argument.
fn push_call(name: &str, args: Vec<Argument>, calls: &mut Vec<Call>) {
    match (name, &args[..]) {
        ("tx", [Argument { kind: ArgumentKind::Value(Value::String(operation)), .. }]) if is_word(operation) => {
            calls.extend([call("tx", Vec::new()), call(operation, Vec::new())]);
        }
        ("none", []) => calls.push(call("discard", args)),
        _ => calls.push(call(name, args)),
    }
}

/// The traversal of these calls. There must be at least one.
fn traversal(calls: Vec<Call>, from_source: bool) -> Read<TraversalSyntax> {
    if calls.is_empty() {
        return problem("the bytecode has no step");
    }
    Ok(TraversalSyntax { from_source, calls, span: Span::default() })
}

/// An anonymous traversal. Language variants also write a value with a cardinality as one.
fn nested(traversal: TraversalSyntax) -> Read<ArgumentKind> {
    if traversal.calls.first().is_none_or(|call| call.name != "CardinalityValueTraversal") {
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

/// A reference to an element of the graph.
fn element(name: &str, args: Vec<Argument>) -> ArgumentKind {
    ArgumentKind::Applied { kind: "Element".into(), name: name.into(), args }
}

fn join(name: &str, left: PredicateSyntax, right: PredicateSyntax) -> PredicateSyntax {
    let (left, right) = (Box::new(left), Box::new(right));
    if name == "and" { PredicateSyntax::And(left, right) } else { PredicateSyntax::Or(left, right) }
}

fn unknown_predicate<T>(name: &str) -> Read<T> {
    problem(format!("unknown predicate `{}`", name.escape_debug()))
}

fn named_strategy(name: &str, options: Vec<(String, Argument)>) -> Read<ArgumentKind> {
    if is_word(name) {
        Ok(ArgumentKind::Strategy { name: name.into(), options })
    } else {
        problem(format!("`{}` is not the name of a strategy", name.escape_debug()))
    }
}

/// The strategy of a Java class, found by the last part of the class name.
fn strategy_of_class(class: &str, options: Vec<(String, Argument)>) -> Read<ArgumentKind> {
    named_strategy(class.rsplit(['.', '$']).next().unwrap_or(class), options)
}

/// A constant of a kind, if the kind has constants.
fn constant(kind: &str, name: &str) -> Read<ArgumentKind> {
    match names::constant(kind, name) {
        Some((kind, name)) => Ok(ArgumentKind::Constant { kind: kind.into(), name: name.into() }),
        None => problem(format!("{kind} has no `{}`", name.escape_debug())),
    }
}

fn lambda<T>() -> Read<T> {
    Err(Problem {
        message: "lambdas are not supported".into(),
        help: Some("write what the lambda does with Gremlin steps"),
        place: None,
    })
}

/// The language has one NaN and one infinity, and they are doubles.
fn single(value: f64) -> Value {
    let narrow = value as f32;
    if narrow.is_finite() { Value::Float32(narrow) } else { Value::Float64(value) }
}
