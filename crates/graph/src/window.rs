//! Turns a predicate on the times of edges into ranges of their time order.

use std::ops::RangeInclusive;

use crate::predicate::{Comparison, Predicate};
use crate::schema::TypeSet;
use crate::value::{Value, ValueType};

/// Ranges of times, as [`Value::as_time`] gives them. No value with a time outside `may` matches; every value with a time in `must`
/// does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    pub may: RangeInclusive<i64>,
    pub must: RangeInclusive<i64>,
}

/// Value types that compare among themselves as their times do.
#[derive(Clone, Copy)]
enum Family {
    /// No two integers have the same time.
    Integers,
    /// Dates and date-times. They may be finer than a microsecond, so two of them may have the same time.
    Instants,
}

const INTEGERS: [ValueType; 4] = [ValueType::Int8, ValueType::Int16, ValueType::Int32, ValueType::Int64];
const INSTANTS: [ValueType; 2] = [ValueType::Date, ValueType::DateTime];

impl Window {
    /// `None` if values of these types do not compare as their times do.
    pub fn of(predicate: &Predicate, types: TypeSet) -> Option<Self> {
        let family = match (all_are(types, &INTEGERS), all_are(types, &INSTANTS)) {
            (true, _) => Family::Integers,
            (_, true) => Family::Instants,
            _ => return None,
        };
        Some(Self::within(predicate, family))
    }

    /// The window of a predicate that matches every time.
    pub fn whole() -> Self {
        Self { may: i64::MIN..=i64::MAX, must: i64::MIN..=i64::MAX }
    }

    /// The part of the window from `time` on.
    pub fn since(&self, time: i64) -> Self {
        let since = |times: &RangeInclusive<i64>| time.max(*times.start())..=*times.end();
        Self { may: since(&self.may), must: since(&self.must) }
    }

    /// Whether values of these types sort by time, so that a greater value never has an earlier time. Dates mixed with date-times
    /// do not: each type sorts separately.
    pub fn keeps_order(types: TypeSet) -> bool {
        all_are(types, &INTEGERS) || all_are(types, &[ValueType::Date]) || all_are(types, &[ValueType::DateTime])
    }

    /// The window of a predicate that restricts no times.
    pub fn unknown() -> Self {
        Self { may: i64::MIN..=i64::MAX, must: empty() }
    }

    fn within(predicate: &Predicate, family: Family) -> Self {
        match predicate {
            Predicate::Compare(comparison, operand) => family.compared(*comparison, operand),
            Predicate::Within(options) => {
                let any = options.iter().map(|option| family.compared(Comparison::Eq, option));
                any.reduce(Self::or).unwrap_or(Self { may: empty(), must: empty() })
            }
            Predicate::And(parts) => {
                let whole = Self { may: i64::MIN..=i64::MAX, must: family.sure() };
                parts.iter().map(|part| Self::within(part, family)).fold(whole, Self::and)
            }
            Predicate::Or(parts) => {
                let any = parts.iter().map(|part| Self::within(part, family));
                any.reduce(Self::or).unwrap_or(Self { may: empty(), must: empty() })
            }
            _ => Self::unknown(),
        }
    }

    fn and(self, other: Self) -> Self {
        Self { may: common(&self.may, &other.may), must: common(&self.must, &other.must) }
    }

    fn or(self, other: Self) -> Self {
        let may = match (self.may.is_empty(), other.may.is_empty()) {
            (true, _) => other.may,
            (_, true) => self.may,
            _ => *self.may.start().min(other.may.start())..=*self.may.end().max(other.may.end()),
        };
        Self { may, must: if self.must.is_empty() { other.must } else { self.must } }
    }
}

fn all_are(types: TypeSet, family: &[ValueType]) -> bool {
    types.iter().all(|t| family.contains(&t))
}

impl Family {
    /// The times that determine the value of their edge. The lowest time does not: edges without a time have it. At both ends are
    /// also instants too far from 1970.
    fn sure(self) -> RangeInclusive<i64> {
        match self {
            Family::Integers => i64::MIN + 1..=i64::MAX,
            Family::Instants => i64::MIN + 1..=i64::MAX - 1,
        }
    }

    fn compared(self, comparison: Comparison, operand: &Value) -> Window {
        let types: &[ValueType] = match self {
            Family::Integers => &INTEGERS,
            Family::Instants => &INSTANTS,
        };
        let Some(time) = operand.as_time().filter(|_| types.contains(&operand.value_type())) else {
            return Window::unknown();
        };
        let (before, after) = (time.checked_sub(1), time.checked_add(1));
        let to = |last: Option<i64>| last.map_or(empty(), |last| i64::MIN..=last);
        let from = |first: Option<i64>| first.map_or(empty(), |first| first..=i64::MAX);
        let (may, must) = match (self, comparison) {
            (_, Comparison::Neq) => return Window::unknown(),
            (Family::Integers, Comparison::Eq) => (time..=time, time..=time),
            (Family::Integers, Comparison::Lt) => (to(before), to(before)),
            (Family::Integers, Comparison::Lte) => (to(Some(time)), to(Some(time))),
            (Family::Integers, Comparison::Gt) => (from(after), from(after)),
            (Family::Integers, Comparison::Gte) => (from(Some(time)), from(Some(time))),
            (Family::Instants, Comparison::Eq) => (time..=time, empty()),
            (Family::Instants, Comparison::Lt | Comparison::Lte) => (to(Some(time)), to(before)),
            (Family::Instants, Comparison::Gt | Comparison::Gte) => (from(Some(time)), from(after)),
        };
        Window { may, must: common(&must, &self.sure()) }
    }
}

fn empty() -> RangeInclusive<i64> {
    RangeInclusive::new(1, 0)
}

fn common(a: &RangeInclusive<i64>, b: &RangeInclusive<i64>) -> RangeInclusive<i64> {
    *a.start().max(b.start())..=*a.end().min(b.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::Choices;
    use crate::time::{Date, DateTime};

    const TIMES: [i64; 9] = [i64::MIN, i64::MIN + 1, -2_000_001, -1, 0, 1, 86_400_000_000, i64::MAX - 1, i64::MAX];

    fn instants() -> Vec<Value> {
        let exact = TIMES.iter().map(|time| Value::DateTime(DateTime::from_micros(*time)));
        let finer = TIMES.iter().map(|time| {
            let exact = DateTime::from_micros(*time);
            Value::DateTime(DateTime { nanos: exact.nanos / 1000 * 1000 + 7, offset_seconds: 3600, ..exact })
        });
        let far =
            [i64::MIN, i64::MAX].map(|seconds| Value::DateTime(DateTime { seconds, nanos: 999_999_999, offset_seconds: 0 }));
        exact.chain(finer).chain(far).chain([i32::MIN, -1, 0, 1, i32::MAX].map(|days| Value::Date(Date(days)))).collect()
    }

    fn predicates(operands: &[Value]) -> Vec<Predicate> {
        use Comparison::*;
        let compare = |comparison, operand: &Value| Predicate::Compare(comparison, operand.clone());
        let plain = operands.iter().flat_map(|operand| [Eq, Neq, Lt, Lte, Gt, Gte].map(|c| compare(c, operand)));
        let mut all: Vec<Predicate> = plain.collect();
        for pair in operands.windows(2) {
            all.push(Predicate::And(vec![compare(Gte, &pair[0]), compare(Lt, &pair[1])]));
            all.push(Predicate::Or(vec![compare(Lt, &pair[0]), compare(Gt, &pair[1])]));
            all.push(Predicate::Or(vec![
                compare(Eq, &pair[1]),
                Predicate::And(vec![compare(Gt, &pair[1]), compare(Lt, &pair[0])]),
            ]));
            all.push(Predicate::Within(Choices::from(pair.to_vec())));
            all.push(Predicate::Without(Choices::from(pair.to_vec())));
        }
        all.extend([Predicate::And(Vec::new()), Predicate::Or(Vec::new()), Predicate::Within(Choices::from(Vec::new()))]);
        let negated: Vec<Predicate> = all.iter().map(|part| Predicate::Not(Box::new(part.clone()))).collect();
        all.extend(negated);
        all
    }

    /// Tests every predicate on every value, with operands of both families and of neither.
    #[test]
    fn what_a_window_says_is_so_of_every_value() {
        let integers: Vec<Value> =
            TIMES.iter().map(|time| Value::Int64(*time)).chain([Value::Int8(-1), Value::Int32(7)]).collect();
        let others = [Value::Float64(0.5), Value::Float64(f64::NAN), Value::from("1"), Value::Null];
        let operands: Vec<Value> = integers.iter().cloned().chain(instants()).chain(others).collect();
        for (values, family) in [(integers, Family::Integers), (instants(), Family::Instants)] {
            for predicate in predicates(&operands) {
                let window = Window::within(&predicate, family);
                for value in &values {
                    let time = value.as_time().expect("a time");
                    let matches = predicate.matches(value);
                    assert!(
                        !matches || window.may.contains(&time),
                        "{predicate} matches {value}, which {window:?} is beyond"
                    );
                    assert!(
                        matches || !window.must.contains(&time),
                        "{predicate} does not match {value}, which {window:?} has"
                    );
                }
            }
        }
    }

    #[test]
    fn the_part_since_a_time_is_of_both_ranges() {
        let window = Window { may: -5..=9, must: 0..=7 };
        assert_eq!(window.since(-9), window);
        assert_eq!(window.since(3), Window { may: 3..=9, must: 3..=7 });
        assert_eq!(Window::whole().since(3), Window { may: 3..=i64::MAX, must: 3..=i64::MAX });
        let unknown = Window::unknown().since(-3);
        assert!(unknown.must.is_empty() && unknown.may == (-3..=i64::MAX));
    }

    #[test]
    fn values_are_in_the_order_of_their_times_only_within_a_family() {
        use ValueType::*;
        for (types, expected) in [
            (&[Int8, Int64][..], true),
            (&[Date], true),
            (&[DateTime], true),
            (&[Date, DateTime], false),
            (&[Int64, Date], false),
            (&[Int64, Null], false),
            (&[Float64], false),
        ] {
            let mut all = TypeSet::default();
            types.iter().for_each(|t| all.insert(*t));
            assert_eq!(Window::keeps_order(all), expected, "{types:?}");
        }
    }

    #[test]
    fn comparisons_of_integers_leave_nothing_to_be_looked_at() {
        let between = Predicate::And(vec![
            Predicate::Compare(Comparison::Gte, Value::Int64(3)),
            Predicate::Compare(Comparison::Lt, Value::Int32(9)),
        ]);
        let mut types = TypeSet::default();
        types.insert(ValueType::Int64);
        assert_eq!(Window::of(&between, types), Some(Window { may: 3..=8, must: 3..=8 }));
        let from = Predicate::Compare(Comparison::Gte, Value::Int64(3));
        assert_eq!(Window::of(&from, types), Some(Window { may: 3..=i64::MAX, must: 3..=i64::MAX }));
        types.insert(ValueType::DateTime);
        assert_eq!(Window::of(&between, types), None);
    }
}
