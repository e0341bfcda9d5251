//! Reads arguments of calls as values, names, predicates and traversals.

use mangrove_graph::{Direction, Map, Predicate, TextTest, Token, Value, ValueType};

use crate::error::{QueryError, QueryErrorKind, Result};
use crate::gremlin::syntax::{Argument, ArgumentKind, Call, PredicateSyntax};
use crate::nesting;
use crate::options::Parameters;
use crate::plan::{
    By, Column, LabelPredicate, Name, Operand, Operator, Pop, RangeTest, Scope, SortOrder, Traversal, cardinality,
    cardinality_value, membership,
};

/// Resolves the calls of a traversal, with the given parameters.
pub(super) struct Resolver<'a> {
    pub parameters: &'a Parameters,
}

fn expected(what: &str, argument: &Argument) -> QueryError {
    QueryError::step(format!("expected {what}")).at(argument.span)
}

impl Resolver<'_> {
    /// The value of a variable.
    fn variable(&self, name: &str, argument: &Argument) -> Result<Value> {
        let value = self.parameters.get(name).cloned().ok_or_else(|| {
            let error = QueryError::new(QueryErrorKind::Parameter, format!("no value was given for the parameter `{name}`"));
            error.at(argument.span).help(match name.strip_prefix('$') {
                Some(plain) => format!("variables have no `$`: write {plain} in the query, and pass it as in {plain}=…"),
                None => format!("pass it with the query, as in {name}=…; if you mean a text, write quotes: \"{name}\""),
            })
        })?;
        nesting::check(&value).map_err(|error| error.at(argument.span))?;
        Ok(value)
    }

    pub fn value(&self, argument: &Argument) -> Result<Value> {
        Ok(match &argument.kind {
            ArgumentKind::Value(value) => value.clone(),
            ArgumentKind::List(items) => Value::list(items.iter().map(|i| self.value(i)).collect::<Result<_>>()?),
            ArgumentKind::Set(items) => Value::set(items.iter().map(|i| self.value(i)).collect::<Result<Vec<_>>>()?),
            ArgumentKind::Map(entries) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    map.insert(self.value(key)?, self.map_value(value)?);
                }
                Value::map(map)
            }
            ArgumentKind::Variable(name) => self.variable(name, argument)?,
            ArgumentKind::Constant { kind, name } => {
                Token::named(kind, name).map(Value::Token).ok_or_else(|| expected("a value", argument))?
            }
            ArgumentKind::Traversal(_) => {
                return Err(expected("a value, not a traversal", argument));
            }
            _ => return Err(expected("a value", argument)),
        })
    }

    /// A value in a map literal. `Cardinality.set("x")` stands for `"x"` with its cardinality.
    fn map_value(&self, argument: &Argument) -> Result<Value> {
        match &argument.kind {
            ArgumentKind::Applied { kind, name, args } if kind == "Cardinality" && args.len() == 1 => {
                let cardinality = cardinality(name).ok_or_else(|| expected("a cardinality", argument))?;
                Ok(cardinality_value(cardinality, self.value(&args[0])?))
            }
            _ => self.value(argument),
        }
    }

    pub fn name(&self, argument: &Argument) -> Result<Name> {
        match self.value(argument)? {
            Value::String(s) => Ok(s),
            _ => Err(expected("a string", argument)),
        }
    }

    /// A string or null.
    pub fn optional_name(&self, argument: &Argument) -> Result<Option<Name>> {
        match self.value(argument)? {
            Value::Null => Ok(None),
            Value::String(s) => Ok(Some(s)),
            _ => Err(expected("a string", argument)),
        }
    }

    /// The strings in the arguments, lists flattened, nulls skipped.
    pub fn names(&self, arguments: &[Argument]) -> Result<Vec<Name>> {
        let mut names = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match self.value(argument)? {
                Value::String(s) => names.push(s),
                Value::Null => {}
                Value::List(items) | Value::Set(items) if items.iter().all(|i| i.as_str().is_some()) => {
                    names.extend(items.iter().filter_map(|i| i.as_str()).map(Name::from));
                }
                _ => return Err(expected("a string", argument)),
            }
        }
        Ok(names)
    }

    pub fn integer(&self, argument: &Argument) -> Result<i64> {
        self.value(argument)?.as_i64().ok_or_else(|| expected("an integer", argument))
    }

    pub fn count(&self, argument: &Argument) -> Result<u64> {
        let n = self.integer(argument)?;
        u64::try_from(n).map_err(|_| expected("a number of at least 0", argument))
    }

    pub fn float(&self, argument: &Argument) -> Result<f64> {
        self.value(argument)?.as_f64().ok_or_else(|| expected("a number", argument))
    }

    pub fn boolean(&self, argument: &Argument) -> Result<bool> {
        self.value(argument)?.as_bool().ok_or_else(|| expected("true or false", argument))
    }

    pub fn child(&self, argument: &Argument) -> Result<Traversal> {
        match &argument.kind {
            ArgumentKind::Traversal(traversal) => self.anonymous(traversal),
            _ => Err(expected("a traversal, such as `__.out()`", argument)),
        }
    }

    pub fn children(&self, arguments: &[Argument]) -> Result<Vec<Traversal>> {
        arguments.iter().map(|a| self.child(a)).collect()
    }

    pub fn operand(&self, argument: &Argument) -> Result<Operand> {
        Ok(match &argument.kind {
            ArgumentKind::Traversal(traversal) => Operand::Child(self.anonymous(traversal)?),
            _ => Operand::Value(self.value(argument)?),
        })
    }

    /// A predicate. A plain value means equality with it.
    pub fn predicate(&self, argument: &Argument) -> Result<Predicate> {
        match &argument.kind {
            ArgumentKind::Predicate(syntax) => self.predicate_of(syntax),
            _ => Ok(Predicate::eq(self.value(argument)?)),
        }
    }

    fn predicate_of(&self, syntax: &PredicateSyntax) -> Result<Predicate> {
        Ok(match syntax {
            PredicateSyntax::And(a, b) => Predicate::And(vec![self.predicate_of(a)?, self.predicate_of(b)?]),
            PredicateSyntax::Or(a, b) => Predicate::Or(vec![self.predicate_of(a)?, self.predicate_of(b)?]),
            PredicateSyntax::Not(p) => Predicate::Not(Box::new(self.predicate_of(p)?)),
            PredicateSyntax::Test { name, args, span } => self.test(name, args).map_err(|e| e.at(*span))?,
        })
    }

    fn test(&self, name: &str, args: &[Argument]) -> Result<Predicate> {
        if name == "not" {
            return Ok(Predicate::Not(Box::new(self.predicate(one(name, args)?)?)));
        }
        if name == "typeOf" {
            return type_test(one(name, args)?, self);
        }
        let mut values = args.iter().map(|a| self.value(a)).collect::<Result<Vec<_>>>()?;
        if matches!(name, "within" | "without") {
            return Ok(membership(name == "within", values));
        }
        let arity = if matches!(name, "inside" | "outside" | "between") { 2 } else { 1 };
        if values.len() != arity {
            return Err(QueryError::step(format!("{name}() takes {arity} argument{}", if arity == 1 { "" } else { "s" })));
        }
        let second = if arity == 2 { values.pop() } else { None };
        let first = values.pop().unwrap_or_default();
        match second {
            Some(second) => {
                let test = RangeTest::from_name(name).filter(|test| test.operands() == 2);
                test.map(|test| Ok(test.with([first, second].into_iter())))
            }
            None => single_test(name, first),
        }
        .ok_or_else(|| QueryError::step(format!("unknown predicate `{name}`")))?
    }

    /// A predicate whose operands are labels of the path or side effects.
    pub fn label_predicate(&self, argument: &Argument) -> Result<LabelPredicate> {
        match &argument.kind {
            ArgumentKind::Predicate(syntax) => self.label_predicate_of(syntax),
            _ => Err(expected("a predicate, such as `P.eq('a')`", argument)),
        }
    }

    fn label_predicate_of(&self, syntax: &PredicateSyntax) -> Result<LabelPredicate> {
        Ok(match syntax {
            PredicateSyntax::And(a, b) => {
                LabelPredicate::And(vec![self.label_predicate_of(a)?, self.label_predicate_of(b)?])
            }
            PredicateSyntax::Or(a, b) => LabelPredicate::Or(vec![self.label_predicate_of(a)?, self.label_predicate_of(b)?]),
            PredicateSyntax::Not(p) => LabelPredicate::Not(Box::new(self.label_predicate_of(p)?)),
            PredicateSyntax::Test { name, args, .. } if matches!(name.as_str(), "within" | "without") => {
                LabelPredicate::Among(name == "within", self.names(args)?)
            }
            PredicateSyntax::Test { name, args, span } => {
                let test = RangeTest::from_name(name)
                    .ok_or_else(|| QueryError::step(format!("`{name}` cannot compare labelled values")).at(*span))?;
                LabelPredicate::Test(test, self.names(args)?)
            }
        })
    }

    /// The argument of `by()`, without its order.
    pub fn by(&self, argument: &Argument) -> Result<By> {
        Ok(match &argument.kind {
            ArgumentKind::Traversal(traversal) => By::Child(self.anonymous(traversal)?),
            ArgumentKind::Constant { kind, name } if kind == "T" => {
                By::Token(Token::named("T", name).ok_or_else(|| expected("T.id or T.label", argument))?)
            }
            ArgumentKind::Constant { kind, name } if kind == "Column" => {
                By::Column(if name == "keys" { Column::Keys } else { Column::Values })
            }
            _ => match self.value(argument)? {
                Value::String(key) => By::Key(key),
                Value::Token(token) => By::Token(token),
                _ => return Err(expected("a property key, a token, or a traversal", argument)),
            },
        })
    }
}

/// The one argument of `name()`.
pub(super) fn one<'a>(name: &str, args: &'a [Argument]) -> Result<&'a Argument> {
    match args {
        [only] => Ok(only),
        _ => Err(QueryError::step(format!("{name}() takes one argument, not {}", args.len()))),
    }
}

/// The name of a constant argument, if it is one of this kind.
pub(super) fn constant<'a>(argument: &'a Argument, kind: &str) -> Option<&'a str> {
    match &argument.kind {
        ArgumentKind::Constant { kind: k, name } if k == kind => Some(name),
        _ => None,
    }
}

/// Splits a scope off the front of the arguments.
pub(super) fn scope(args: &[Argument]) -> (Option<Scope>, &[Argument]) {
    match args.split_first().and_then(|(first, rest)| Some((constant(first, "Scope")?, rest))) {
        Some(("local", rest)) => (Some(Scope::Local), rest),
        Some((_, rest)) => (Some(Scope::Global), rest),
        None => (None, args),
    }
}

/// Splits a pop off the front of the arguments.
pub(super) fn pop(args: &[Argument]) -> (Option<Pop>, &[Argument]) {
    let of = |name: &str| match name {
        "first" => Pop::First,
        "last" => Pop::Last,
        "all" => Pop::All,
        _ => Pop::Mixed,
    };
    match args.split_first().and_then(|(first, rest)| Some((constant(first, "Pop")?, rest))) {
        Some((name, rest)) => (Some(of(name)), rest),
        None => (None, args),
    }
}

pub(super) fn sort_order(argument: &Argument) -> Option<SortOrder> {
    constant(argument, "Order").map(|name| match name {
        "desc" => SortOrder::Descending,
        "shuffle" => SortOrder::Shuffle,
        _ => SortOrder::Ascending,
    })
}

pub(super) fn operator(argument: &Argument) -> Option<Operator> {
    Some(match constant(argument, "Operator")? {
        "sum" => Operator::Sum,
        "minus" => Operator::Minus,
        "mult" => Operator::Mult,
        "div" => Operator::Div,
        "min" => Operator::Min,
        "max" => Operator::Max,
        "assign" => Operator::Assign,
        "and" => Operator::And,
        "or" => Operator::Or,
        "addAll" => Operator::AddAll,
        "sumLong" => Operator::SumLong,
        _ => return None,
    })
}

pub(super) fn direction(name: &str) -> Option<Direction> {
    Some(match name {
        "OUT" | "from" => Direction::Out,
        "IN" | "to" => Direction::In,
        "BOTH" => Direction::Both,
        _ => return None,
    })
}

fn single_test(name: &str, value: Value) -> Option<Result<Predicate>> {
    match RangeTest::from_name(name).filter(|test| test.operands() == 1) {
        Some(test) => Some(Ok(test.with([value].into_iter()))),
        None => text_test(name, value),
    }
}

fn text_test(name: &str, value: Value) -> Option<Result<Predicate>> {
    let (negated, test) = match name {
        "startingWith" => (false, Some(TextTest::StartsWith)),
        "notStartingWith" => (true, Some(TextTest::StartsWith)),
        "endingWith" => (false, Some(TextTest::EndsWith)),
        "notEndingWith" => (true, Some(TextTest::EndsWith)),
        "containing" => (false, Some(TextTest::Contains)),
        "notContaining" => (true, Some(TextTest::Contains)),
        "regex" => (false, None),
        "notRegex" => (true, None),
        _ => return None,
    };
    let Value::String(text) = value else {
        return Some(Err(QueryError::step(format!("{name}() takes a string"))));
    };
    let predicate = match test {
        Some(test) => Predicate::Text(test, text),
        None => match mangrove_graph::predicate::regex(&text) {
            Ok(regex) => Predicate::Regex(regex),
            Err(e) => return Some(Err(QueryError::step(format!("bad regular expression: {e}")))),
        },
    };
    Some(Ok(if negated { Predicate::Not(Box::new(predicate)) } else { predicate }))
}

fn type_test(argument: &Argument, resolver: &Resolver<'_>) -> Result<Predicate> {
    let name = match &argument.kind {
        ArgumentKind::Constant { name, .. } => name.to_string(),
        _ => resolver.name(argument)?.to_string(),
    };
    types_named(&name)
        .map(|types| Predicate::TypeOf(types.into()))
        .ok_or_else(|| QueryError::step(format!("{name} is not a registered type")).at(argument.span))
}

/// The value types a `GType` name covers.
fn types_named(name: &str) -> Option<Vec<ValueType>> {
    use ValueType::*;
    Some(match name.rsplit('.').next().unwrap_or(name).to_ascii_uppercase().as_str() {
        "BIGDECIMAL" | "DECIMAL" => vec![Decimal],
        "BIGINT" | "BIGINTEGER" => vec![BigInt],
        "BINARY" => vec![Bytes],
        "BOOLEAN" => vec![Bool],
        "BYTE" => vec![Int8],
        "SHORT" => vec![Int16],
        "INT" | "INTEGER" => vec![Int32],
        "LONG" => vec![Int64],
        "FLOAT" => vec![Float32],
        "DOUBLE" => vec![Float64],
        "NUMBER" => vec![Int8, Int16, Int32, Int64, Float32, Float64, BigInt, Decimal],
        "STRING" => vec![String],
        "CHAR" => vec![],
        "UUID" => vec![Uuid],
        "DATETIME" | "OFFSETDATETIME" => vec![DateTime],
        "DATE" => vec![Date],
        "DURATION" => vec![Duration],
        "LIST" => vec![List],
        "SET" => vec![Set, BulkSet],
        "MAP" => vec![Map],
        "NULL" => vec![Null],
        "VERTEX" => vec![Vertex],
        "EDGE" => vec![Edge],
        "VPROPERTY" | "VERTEXPROPERTY" => vec![VertexProperty],
        "PROPERTY" => vec![Property, VertexProperty],
        "PATH" => vec![Path],
        "TREE" => vec![Tree],
        "GRAPH" => vec![Subgraph],
        _ => return None,
    })
}

/// The error for wrong arguments of a call.
pub(super) fn arity(call: &Call, what: &str) -> QueryError {
    QueryError::step(format!("{}() takes {what}, not {} arguments", call.name, call.args.len())).at(call.span)
}
