//! Filters: whether each traverser passes.

use mangrove_graph::{Comparison, ElementKind, Predicate, Value};
use mangrove_query::plan::{By, Has, HasKey, LabelPredicate, Name, Pop, Quantifier, Step, Traversal};

use super::elements::{held, key};
use super::{Interpreter, Result, Traverser};

impl Interpreter<'_> {
    pub(super) fn filter(&mut self, step: &Step, input: &[Traverser]) -> Result<Option<Vec<bool>>> {
        let mut kept = Vec::with_capacity(input.len());
        for traverser in input {
            match self.passes(step, traverser)? {
                Some(passes) => kept.push(passes),
                None => return Ok(None),
            }
        }
        // Without a traverser, nothing shows whether the step is a filter.
        Ok((!input.is_empty()).then_some(kept))
    }

    fn passes(&mut self, step: &Step, traverser: &Traverser) -> Result<Option<bool>> {
        let value = &traverser.value;
        Ok(Some(match step {
            Step::Has(tests) => self.has_all(tests, value)?,
            Step::HasProperty { key, present } => self.properties(value, std::slice::from_ref(key))?.is_empty() != *present,
            Step::HasChild { key, child } => self.has_child(key, child, traverser)?,
            Step::HasKeyOf(predicate) => predicate.matches(&key(value)?),
            Step::HasValueOf(predicate) => predicate.matches(&held(value)?),
            Step::Is(predicate) => predicate.matches(value),
            Step::Where { child, negated } => self.exists(child, traverser)? != *negated,
            Step::And(children) => !self.any_that(false, children, traverser)?,
            Step::Or(children) => self.any_that(true, children, traverser)?,
            Step::WhereLabels { start, predicate, by } => self.where_labels(start.as_ref(), predicate, by, traverser)?,
            Step::ListFilter { quantifier, predicate } => list_passes(*quantifier, predicate, value),
            Step::Discard => false,
            Step::PathFilter { simple, by, from, to } => match self.path(traverser, by, from.as_ref(), to.as_ref())? {
                Some(path) => {
                    let objects = &path.objects;
                    let repeats = (0..objects.len()).any(|at| objects[..at].contains(&objects[at]));
                    repeats != *simple
                }
                None => false,
            },
            _ => return Ok(None),
        }))
    }

    /// Whether some child gives something (or nothing, if `gives` is false). Later children do not run.
    fn any_that(&mut self, gives: bool, children: &[Traversal], traverser: &Traverser) -> Result<bool> {
        for child in children {
            if self.exists(child, traverser)? == gives {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_all(&self, tests: &[Has], value: &Value) -> Result<bool> {
        for Has { key, predicate } in tests {
            let candidates = match key {
                HasKey::Id => vec![self.id(value)?],
                HasKey::Label => self.labels_of(value)?,
                HasKey::Property(name) => self.held_under(name, value)?,
            };
            let predicate = match key {
                HasKey::Id => &self.ids_in(predicate, value)?,
                _ => predicate,
            };
            if !candidates.iter().any(|candidate| predicate.matches(candidate)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn held_under(&self, name: &Name, owner: &Value) -> Result<Vec<Value>> {
        self.properties(owner, std::slice::from_ref(name))?.iter().map(held).collect()
    }

    /// Turns a test on elements into a test on their ids, where `tested` is the tested value. Elements in the predicate become
    /// their ids. Text becomes the id of the element that it names. Such an id may be an integer that the text spells.
    fn ids_in(&self, predicate: &Predicate, tested: &Value) -> Result<Predicate> {
        let id = |value: &Value| match value {
            Value::Vertex(_) | Value::Edge(_) | Value::VertexProperty(_) => self.id(value),
            other => Ok(other.clone()),
        };
        let named = |value: &Value| {
            let element = match (value, tested) {
                (Value::String(_), Value::Vertex(_)) => self.named(ElementKind::Vertex, value)?,
                (Value::String(_), Value::Edge(_)) => self.named(ElementKind::Edge, value)?,
                _ => None,
            };
            id(element.as_ref().unwrap_or(value))
        };
        let ids = |values: &[Value], of: &dyn Fn(&Value) -> Result<Value>| values.iter().map(of).collect::<Result<Vec<_>>>();
        Ok(match predicate {
            Predicate::Compare(Comparison::Eq, value) => Predicate::eq(named(value)?),
            Predicate::Compare(comparison, value) => Predicate::Compare(*comparison, id(value)?),
            Predicate::Within(values) => Predicate::Within(ids(values, &named)?.into()),
            Predicate::Without(values) => Predicate::Without(ids(values, &id)?.into()),
            other => other.clone(),
        })
    }

    /// Runs the child on each value under the key, with the traverser's past.
    fn has_child(&mut self, key: &HasKey, child: &Traversal, traverser: &Traverser) -> Result<bool> {
        let values = match key {
            HasKey::Id => vec![self.id(&traverser.value)?],
            HasKey::Label => vec![self.label_of(&traverser.value)?],
            HasKey::Property(name) => self.held_under(name, &traverser.value)?,
        };
        for value in values {
            if self.exists(child, &Traverser { value, ..traverser.clone() })? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first modulator applies to the start, the next ones in turn to what it is compared with. A missing value does not pass.
    fn where_labels(
        &mut self,
        start: Option<&Name>,
        predicate: &LabelPredicate,
        by: &[By],
        traverser: &Traverser,
    ) -> Result<bool> {
        let left = match start {
            Some(label) => self.labelled(label, Pop::Last, traverser),
            None => Some(traverser.value.clone()),
        };
        let Some(left) = left else { return Ok(false) };
        let Some(left) = self.by_turn(by, 0, left)? else { return Ok(false) };
        let mut turn = 1;
        Ok(match self.bound(predicate, by, traverser, &mut turn)? {
            Some(predicate) => predicate.matches(&left),
            None => false,
        })
    }

    /// The predicate with the values of its labels.
    fn bound(
        &mut self,
        predicate: &LabelPredicate,
        by: &[By],
        traverser: &Traverser,
        turn: &mut usize,
    ) -> Result<Option<Predicate>> {
        Ok(match predicate {
            LabelPredicate::And(parts) => self.bound_all(parts, by, traverser, turn)?.map(Predicate::And),
            LabelPredicate::Or(parts) => self.bound_all(parts, by, traverser, turn)?.map(Predicate::Or),
            LabelPredicate::Not(part) => self.bound(part, by, traverser, turn)?.map(|part| Predicate::Not(Box::new(part))),
            LabelPredicate::Test(_, labels) | LabelPredicate::Among(_, labels) => {
                let mut values = Vec::new();
                for label in labels {
                    let Some(value) = self.labelled(label, Pop::Last, traverser) else { return Ok(None) };
                    let Some(value) = self.operand_by(by, *turn, value)? else { return Ok(None) };
                    *turn += 1;
                    values.push(value);
                }
                Some(match predicate {
                    LabelPredicate::Test(test, _) => test.with(values.into_iter()),
                    among => {
                        let options = match &values[..] {
                            [only] => only.items().unwrap_or_else(|| vec![only.clone()]),
                            _ => values,
                        };
                        let within = Predicate::Within(options.into());
                        if matches!(among, LabelPredicate::Among(true, _)) {
                            within
                        } else {
                            Predicate::Not(Box::new(within))
                        }
                    }
                })
            }
        })
    }

    fn bound_all(
        &mut self,
        parts: &[LabelPredicate],
        by: &[By],
        traverser: &Traverser,
        turn: &mut usize,
    ) -> Result<Option<Vec<Predicate>>> {
        let mut bound = Vec::new();
        for part in parts {
            match self.bound(part, by, traverser, turn)? {
                Some(part) => bound.push(part),
                None => return Ok(None),
            }
        }
        Ok(Some(bound))
    }

    /// For a collection, applies the modulator to its items.
    fn operand_by(&mut self, by: &[By], turn: usize, value: Value) -> Result<Option<Value>> {
        match value.items() {
            Some(items) if !by.is_empty() => {
                let mut modulated = Vec::new();
                for item in items {
                    modulated.extend(self.by_turn(by, turn, item)?);
                }
                Ok(Some(Value::list(modulated)))
            }
            _ => self.by_turn(by, turn, value),
        }
    }
}

fn list_passes(quantifier: Quantifier, predicate: &Predicate, value: &Value) -> bool {
    let Some(items) = value.items() else { return false };
    let matching = items.iter().filter(|item| predicate.matches(item)).count();
    match quantifier {
        Quantifier::All => matching == items.len(),
        Quantifier::Any => matching > 0,
        Quantifier::None => matching == 0,
    }
}
