//! Writes queries as bytecode in GraphBinary 1, as drivers of language variants send them.
//! `mangrove_query::gremlin::read_graphbinary` reads them, and shows their form.

use mangrove::{Parameters, Value};
use mangrove_query::gremlin::constant_code;
use mangrove_query::gremlin::syntax::{Argument, ArgumentKind, Call, PredicateSyntax, TraversalSyntax};

use super::graphbinary::Writer;

const CLASS: u8 = 0x06;
const LIST: u8 = 0x09;
const MAP: u8 = 0x0a;
const SET: u8 = 0x0b;
const BINDING: u8 = 0x14;
const BYTECODE: u8 = 0x15;
const PREDICATE: u8 = 0x1e;
const STRATEGY: u8 = 0x29;

/// What configures the source of a traversal.
const OF_SOURCE: [&str; 7] =
    ["with", "withBulk", "withPath", "withSack", "withSideEffect", "withStrategies", "withoutStrategies"];

/// The bytecode of a query. Its variables are bound to the values of parameters.
///
/// # Errors
/// If a parameter is missing, or if bytecode has no form for something.
pub fn bytecode(query: &TraversalSyntax, parameters: &Parameters) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    Bytecode { out: Writer::new(&mut bytes), parameters }.traversal(query)?;
    Ok(bytes)
}

struct Bytecode<'o, 'p> {
    out: Writer<'o>,
    parameters: &'p Parameters,
}

type Written = Result<(), String>;

impl<'p> Bytecode<'_, 'p> {
    fn traversal(&mut self, TraversalSyntax { from_source, calls, .. }: &TraversalSyntax) -> Written {
        let is_of_source = |call: &Call| *from_source && OF_SOURCE.contains(&call.name.as_str());
        let steps = calls.iter().position(|call| !is_of_source(call)).unwrap_or(calls.len());
        let (source, steps) = calls.split_at(steps);
        self.out.kind(BYTECODE);
        self.calls(steps)?;
        self.calls(source)
    }

    fn calls(&mut self, calls: &[Call]) -> Written {
        self.out.count(calls.len());
        calls.iter().try_for_each(|call| {
            self.out.text(&call.name);
            self.out.count(call.args.len());
            call.args.iter().try_for_each(|argument| match &argument.kind {
                ArgumentKind::Strategy { name, .. } if call.name == "withoutStrategies" => {
                    self.out.kind(CLASS);
                    self.out.text(name);
                    Ok(())
                }
                kind => self.value(kind),
            })
        })
    }

    fn arguments(&mut self, arguments: &[Argument]) -> Written {
        self.out.count(arguments.len());
        arguments.iter().try_for_each(|argument| self.value(&argument.kind))
    }

    fn value(&mut self, kind: &ArgumentKind) -> Written {
        match kind {
            ArgumentKind::Value(value) => self.out.value(value),
            ArgumentKind::List(items) => {
                self.out.kind(LIST);
                self.arguments(items)?;
            }
            ArgumentKind::Set(items) => {
                self.out.kind(SET);
                self.arguments(items)?;
            }
            ArgumentKind::Map(entries) => {
                self.out.kind(MAP);
                self.out.count(entries.len());
                for (key, value) in entries {
                    self.value(&key.kind)?;
                    self.value(&value.kind)?;
                }
            }
            ArgumentKind::Traversal(traversal) => self.traversal(traversal)?,
            ArgumentKind::Predicate(predicate) => self.predicate(predicate)?,
            ArgumentKind::Constant { kind, name } => self.constant(kind, name)?,
            ArgumentKind::Applied { kind, name, args } if kind == "Cardinality" => {
                self.out.kind(BYTECODE);
                self.out.count(1);
                self.out.text("CardinalityValueTraversal");
                self.out.count(1 + args.len());
                self.constant(kind, name)?;
                args.iter().try_for_each(|argument| self.value(&argument.kind))?;
                self.out.count(0);
            }
            ArgumentKind::Applied { kind, name, .. } => return Err(format!("{kind}.{name}(…) is not written as bytecode")),
            ArgumentKind::Strategy { name, options } => {
                self.out.kind(STRATEGY);
                self.out.text(name);
                self.out.count(options.len());
                for (key, value) in options {
                    self.out.string(key);
                    self.value(&value.kind)?;
                }
            }
            ArgumentKind::Variable(name) => {
                let value = self.parameter(name)?;
                self.out.kind(BINDING);
                self.out.text(name);
                self.out.value(value);
            }
        }
        Ok(())
    }

    fn parameter(&self, name: &str) -> Result<&'p Value, String> {
        self.parameters.get(name).ok_or_else(|| format!("there is no parameter {name}"))
    }

    fn constant(&mut self, kind: &str, name: &str) -> Written {
        if let Some(value) = of_option(kind, name) {
            self.out.value(&value);
            return Ok(());
        }
        self.out.kind(constant_code(kind).ok_or_else(|| format!("bytecode has no constants of {kind}"))?);
        self.out.string(name);
        Ok(())
    }

    fn predicate(&mut self, predicate: &PredicateSyntax) -> Written {
        self.out.kind(PREDICATE);
        match predicate {
            PredicateSyntax::Test { name, args, .. } => {
                self.out.text(name);
                self.operands(name, args)
            }
            PredicateSyntax::And(left, right) => self.joined("and", &[left, right]),
            PredicateSyntax::Or(left, right) => self.joined("or", &[left, right]),
            PredicateSyntax::Not(predicate) => self.joined("not", &[predicate]),
        }
    }

    fn joined(&mut self, name: &str, predicates: &[&PredicateSyntax]) -> Written {
        self.out.text(name);
        self.out.count(predicates.len());
        predicates.iter().try_for_each(|predicate| self.predicate(predicate))
    }

    /// Drivers write the items of a list that is the only operand of `within` or `without`.
    fn operands(&mut self, name: &str, args: &[Argument]) -> Written {
        match args {
            [Argument { kind: ArgumentKind::List(items) | ArgumentKind::Set(items), .. }]
                if matches!(name, "within" | "without") =>
            {
                self.arguments(items)
            }
            [Argument { kind: ArgumentKind::Variable(variable), .. }] if matches!(name, "within" | "without") => {
                let items = match self.parameter(variable)? {
                    Value::List(items) => items.to_vec(),
                    Value::Set(items) => items.iter().cloned().collect(),
                    other => vec![other.clone()],
                };
                self.out.count(items.len());
                items.iter().for_each(|item| self.out.value(item));
                Ok(())
            }
            args => self.arguments(args),
        }
    }
}

/// What drivers send for the names and values of a step's options.
fn of_option(kind: &str, name: &str) -> Option<Value> {
    let step = match (kind, name) {
        ("WithOptions", "tokens") => "valueMap",
        ("WithOptions", "indexer") => "index",
        ("WithOptions", "none" | "list") => return Some(Value::Int32(0)),
        ("WithOptions", "ids" | "map") => return Some(Value::Int32(1)),
        ("WithOptions", "labels") => return Some(Value::Int32(2)),
        ("WithOptions", "keys") => return Some(Value::Int32(4)),
        ("WithOptions", "values") => return Some(Value::Int32(8)),
        ("WithOptions", "all") => return Some(Value::Int32(15)),
        ("ShortestPath", _) => "shortestPath",
        ("PageRank", _) => "pageRank",
        ("PeerPressure", _) => "peerPressure",
        ("ConnectedComponent", _) => "connectedComponent",
        _ => return None,
    };
    Some(format!("~tinkerpop.{step}.{name}").as_str().into())
}
