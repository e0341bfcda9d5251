//! Predicates over values, language-neutral.
//!
//! A test has three outcomes after TinkerPop's ternary logic: `Some(true)`, `Some(false)`, and `None` where the operands
//! cannot be compared; `None` survives negation, and a filter takes it as false.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use regex::Regex;

use crate::compare;
use crate::options::Options;
use crate::value::{Value, ValueType};

#[derive(Clone, Debug)]
pub enum Predicate {
    Compare(Comparison, Value),
    Within(Options),
    Without(Options),
    Text(TextTest, Arc<str>),
    Regex(Regex),
    /// The value is of one of these types.
    TypeOf(Arc<[ValueType]>),
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
    Not(Box<Predicate>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    Eq,
    Neq,
    Lt,
    Lte,
    Gt,
    Gte,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextTest {
    StartsWith,
    EndsWith,
    Contains,
}

impl Predicate {
    pub fn eq(value: impl Into<Value>) -> Self {
        Predicate::Compare(Comparison::Eq, value.into())
    }

    pub fn test(&self, value: &Value) -> Option<bool> {
        match self {
            Predicate::Compare(comparison, operand) => comparison.test(value, operand),
            Predicate::Within(options) => Some(options.hold(value)),
            Predicate::Without(options) => Some(!options.hold(value)),
            Predicate::Text(test, text) => value.as_str().map(|value| test.test(value, text)),
            Predicate::Regex(regex) => value.as_str().map(|value| regex.is_match(value)),
            Predicate::TypeOf(types) => Some(types.contains(&value.value_type())),
            Predicate::And(parts) => fold(parts, value, false),
            Predicate::Or(parts) => fold(parts, value, true),
            Predicate::Not(part) => part.test(value).map(|outcome| !outcome),
        }
    }

    pub fn matches(&self, value: &Value) -> bool {
        self.test(value) == Some(true)
    }

    /// The value this predicate asks for, if it asks for exactly one.
    pub fn as_equality(&self) -> Option<&Value> {
        match self {
            Predicate::Compare(Comparison::Eq, value) => Some(value),
            Predicate::Within(options) if options.len() == 1 => options.first(),
            _ => None,
        }
    }
}

/// A pattern to be searched for anywhere in a text; its compiled size is bounded.
pub fn regex(pattern: &str) -> Result<Regex, regex::Error> {
    regex::RegexBuilder::new(pattern).size_limit(1 << 20).build()
}

/// Conjunction (`decisive` false) or disjunction (`decisive` true); a decisive part settles it, else an error does.
fn fold(parts: &[Predicate], value: &Value, decisive: bool) -> Option<bool> {
    let mut outcome = Some(!decisive);
    for part in parts {
        match part.test(value) {
            Some(part) if part == decisive => return Some(decisive),
            Some(_) => {}
            None => outcome = None,
        }
    }
    outcome
}

impl Comparison {
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Eq => "=",
            Comparison::Neq => "≠",
            Comparison::Lt => "<",
            Comparison::Lte => "≤",
            Comparison::Gt => ">",
            Comparison::Gte => "≥",
        }
    }

    pub fn test(self, value: &Value, operand: &Value) -> Option<bool> {
        match self {
            Comparison::Eq => Some(compare::equals(value, operand)),
            Comparison::Neq => Some(!compare::equals(value, operand)),
            _ => match compare::compare(value, operand) {
                Some(ordering) => Some(self.accepts(ordering)),
                // NaN is a number, so the comparison is defined, and false.
                None if value.is_number() && operand.is_number() => Some(false),
                None => None,
            },
        }
    }

    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Eq => ordering.is_eq(),
            Comparison::Neq => ordering.is_ne(),
            Comparison::Lt => ordering.is_lt(),
            Comparison::Lte => ordering.is_le(),
            Comparison::Gt => ordering.is_gt(),
            Comparison::Gte => ordering.is_ge(),
        }
    }
}

impl TextTest {
    pub fn test(self, value: &str, text: &str) -> bool {
        match self {
            TextTest::StartsWith => value.starts_with(text),
            TextTest::EndsWith => value.ends_with(text),
            TextTest::Contains => value.contains(text),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |parts: &[Predicate], word: &str| {
            let parts: Vec<String> = parts.iter().map(|p| p.to_string()).collect();
            format!("({})", parts.join(word))
        };
        let listed = |values: &[Value]| {
            let shown: Vec<String> = values.iter().take(3).map(Value::to_string).collect();
            format!("[{}{}]", shown.join(", "), if values.len() > 3 { ", …" } else { "" })
        };
        match self {
            Predicate::Compare(comparison, value) => write!(f, "{} {value}", comparison.symbol()),
            Predicate::Within(values) => write!(f, "within {}", listed(values)),
            Predicate::Without(values) => write!(f, "without {}", listed(values)),
            Predicate::Text(TextTest::StartsWith, text) => write!(f, "starting with \"{text}\""),
            Predicate::Text(TextTest::EndsWith, text) => write!(f, "ending with \"{text}\""),
            Predicate::Text(TextTest::Contains, text) => write!(f, "containing \"{text}\""),
            Predicate::Regex(regex) => write!(f, "matching /{regex}/"),
            Predicate::TypeOf(types) => {
                let names: Vec<&str> = types.iter().map(|t| t.name()).collect();
                write!(f, "of type {}", names.join(" or "))
            }
            Predicate::And(parts) => f.write_str(&joined(parts, " and ")),
            Predicate::Or(parts) => f.write_str(&joined(parts, " or ")),
            Predicate::Not(part) => write!(f, "not ({part})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_comparison_is_neither_true_nor_false() {
        let older = Predicate::Compare(Comparison::Gt, Value::Int32(30));
        assert_eq!(older.test(&"marko".into()), None);
        assert_eq!(Predicate::Not(Box::new(older.clone())).test(&"marko".into()), None);
        let either = Predicate::Or(vec![older.clone(), Predicate::eq("marko")]);
        assert_eq!(either.test(&"marko".into()), Some(true));
        let both = Predicate::And(vec![older, Predicate::eq("marko")]);
        assert_eq!(both.test(&"marko".into()), None);
        assert_eq!(both.test(&"josh".into()), Some(false));
    }
}
