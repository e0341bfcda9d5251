//! Predicates over values, language-neutral.
//!
//! [`Comparison::test`] has three outcomes, after TinkerPop's ternary logic: `Some(true)`, `Some(false)`, and `None` if the
//! operands cannot be compared. [`Predicate::matches`] has two. It treats `None` as false, so [`Predicate::Not`] turns it into
//! true.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::choices::Choices;
use crate::compare;
use crate::id::ExternalId;
use crate::value::{Value, ValueType};
use crate::wire;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Predicate {
    Compare(Comparison, Value),
    Within(#[serde(with = "wire::choices")] Choices),
    Without(#[serde(with = "wire::choices")] Choices),
    Text(TextTest, Arc<str>),
    Regex(#[serde(with = "wire::regex")] Regex),
    /// The value is of one of these types.
    TypeOf(Arc<[ValueType]>),
    And(#[serde(with = "wire::deeper")] Vec<Predicate>),
    Or(#[serde(with = "wire::deeper")] Vec<Predicate>),
    Not(#[serde(with = "wire::deeper")] Box<Predicate>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Comparison {
    Eq,
    Neq,
    Lt,
    Lte,
    Gt,
    Gte,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum TextTest {
    StartsWith,
    EndsWith,
    Contains,
}

impl Predicate {
    pub fn eq(value: impl Into<Value>) -> Self {
        Predicate::Compare(Comparison::Eq, value.into())
    }

    /// Whether the value matches. A value that cannot be compared does not match the predicate, but does match its negation.
    pub fn matches(&self, value: &Value) -> bool {
        match self {
            Predicate::Compare(comparison, operand) => comparison.test(value, operand) == Some(true),
            Predicate::Within(options) => options.hold(value),
            Predicate::Without(options) => !options.hold(value),
            Predicate::Text(test, text) => value.as_str().is_some_and(|value| test.test(value, text)),
            Predicate::Regex(regex) => value.as_str().is_some_and(|value| regex.is_match(value)),
            Predicate::TypeOf(types) => types.contains(&value.value_type()),
            Predicate::And(parts) => parts.iter().all(|part| part.matches(value)),
            Predicate::Or(parts) => parts.iter().any(|part| part.matches(value)),
            Predicate::Not(part) => !part.matches(value),
        }
    }

    /// The values that match, if the predicate lists them: those of an equality or of `within`.
    pub fn listed(&self) -> Option<&[Value]> {
        match self {
            Predicate::Compare(Comparison::Eq, value) => Some(std::slice::from_ref(value)),
            Predicate::Within(options) => Some(options),
            _ => None,
        }
    }

    /// Whether an index ordered by value leads to all matches. This holds for equality, ranges and prefixes of text, whatever values the
    /// index has.
    pub fn is_answered_by_index(&self) -> bool {
        self.index_ranges().is_some()
    }

    /// In how many ranges of an index the matches are; `None` if the index does not tell.
    fn index_ranges(&self) -> Option<usize> {
        let is_nan = |value: &Value| value.as_f64().is_some_and(f64::is_nan); // it matches nothing
        match self {
            Predicate::Compare(Comparison::Eq, operand) => Some(usize::from(!is_nan(operand))),
            Predicate::Compare(Comparison::Neq, _) => None,
            Predicate::Compare(_, operand) => is_ordered(operand.value_type()).then(|| usize::from(!is_nan(operand))),
            Predicate::Within(options) => Some(options.iter().filter(|option| !is_nan(option)).count()),
            Predicate::Text(test, _) => (*test == TextTest::StartsWith).then_some(1),
            // Single ranges are intersected. Of more, each would be.
            Predicate::And(parts) => parts.iter().filter_map(Self::index_ranges).min().filter(|fewest| *fewest <= 1),
            Predicate::Or(parts) => parts.iter().map(Self::index_ranges).sum(),
            Predicate::Without(_) | Predicate::Regex(_) | Predicate::TypeOf(_) | Predicate::Not(_) => None,
        }
    }

    /// The external ids that match, if the predicate lists them. Ids are texts, UUIDs and integers. A double without a fraction
    /// matches the equal integer, as it does elsewhere.
    pub fn external_ids(&self) -> Option<Vec<ExternalId>> {
        let values = self.listed()?;
        let mut ids = Vec::with_capacity(values.len());
        for value in values {
            match ExternalId::from_value(value) {
                Some(id) => ids.push(id),
                None if value.is_number() => ids.extend(whole(value)?.map(ExternalId::Int)),
                None => {}
            }
        }
        Some(ids)
    }
}

/// Whether an index keeps values of this type in their order. It keeps all others in one place.
fn is_ordered(value_type: ValueType) -> bool {
    use ValueType::*;
    value_type.is_number() || matches!(value_type, Null | Bool | String | Bytes | Uuid | Date | DateTime | Duration)
}

/// The integer that a double equals; `Some(None)` for a fraction. `None` if several integers may equal it, or if it is no double.
fn whole(value: &Value) -> Option<Option<i64>> {
    const EXACT_MAX: f64 = (1u64 << 53) as f64;
    let double = match value {
        Value::Float32(float) => f64::from(*float),
        Value::Float64(double) => *double,
        _ => return None,
    };
    match double {
        _ if double.fract() != 0.0 || double.is_nan() => Some(None),
        _ if double.abs() <= EXACT_MAX => Some(Some(double as i64)),
        _ => None,
    }
}

/// Compiles a pattern that may match anywhere in a text. Its compiled size is bounded.
pub fn regex(pattern: &str) -> Result<Regex, regex::Error> {
    regex::RegexBuilder::new(pattern).size_limit(1 << 20).build()
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
                // NaN is a number, so the comparison is defined and false.
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
    fn what_cannot_be_compared_does_not_match_and_its_negation_does() {
        let older = Predicate::Compare(Comparison::Gt, Value::Int32(30));
        let younger = Predicate::Not(Box::new(older.clone()));
        assert!(!older.matches(&"marko".into()) && younger.matches(&"marko".into()));
        assert!(Predicate::Or(vec![older.clone(), Predicate::eq("marko")]).matches(&"marko".into()));
        assert!(!Predicate::And(vec![older, Predicate::eq("marko")]).matches(&"marko".into()));
        assert!(Predicate::And(vec![younger, Predicate::eq("marko")]).matches(&"marko".into()));
    }
}
