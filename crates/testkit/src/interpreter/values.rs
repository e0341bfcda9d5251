//! Steps that replace the traverser's value by one or several values.

use mangrove_graph::{Map, Token, Value};
use mangrove_query::plan::{Pop, Scope, SortOrder, Step};

use super::by::{column, items};
use super::elements::held;
use super::numbers::Reduced;
use super::{Interpreter, Result, Traverser};

impl Interpreter<'_> {
    pub(super) fn values(&mut self, step: &Step, input: &[Traverser]) -> Result<Option<Vec<Traverser>>> {
        let mut out = Vec::new();
        for traverser in input {
            match self.values_of(step, traverser)? {
                Some(values) => out.extend(values.into_iter().map(|value| traverser.moved(value))),
                None => return Ok(None),
            }
        }
        Ok((!input.is_empty()).then_some(out))
    }

    fn values_of(&mut self, step: &Step, traverser: &Traverser) -> Result<Option<Vec<Value>>> {
        let value = &traverser.value;
        if let Some(one) = self.value_of(step, traverser)? {
            return Ok(Some(vec![one]));
        }
        Ok(Some(match step {
            Step::Values(keys) => self.properties(value, keys)?.iter().map(held).collect::<Result<_>>()?,
            Step::Properties(keys) => self.properties(value, keys)?,
            Step::Format { template, by } => self.filled(template, by, traverser)?.map(Value::string).into_iter().collect(),
            Step::Map(child) => self.first(child, traverser)?.into_iter().collect(),
            Step::FlatMap(child) => self.child(child, traverser)?.into_iter().map(|found| found.value).collect(),
            Step::Coalesce(children) => {
                let mut found = Vec::new();
                for child in children {
                    if found.is_empty() {
                        found = self.child(child, traverser)?;
                    }
                }
                found.into_iter().map(|found| found.value).collect()
            }
            Step::Select { pop, labels, by } => {
                self.select(pop.unwrap_or(Pop::Last), labels, by, traverser)?.into_iter().collect()
            }
            Step::SelectChild { pop, child, by } => match self.first(child, traverser)? {
                Some(key) => self.select_key(pop.unwrap_or(Pop::Last), key, by, traverser)?.into_iter().collect(),
                None => Vec::new(),
            },
            Step::Path { by, from, to } => {
                let path = self.path(traverser, by, from.as_ref(), to.as_ref())?;
                path.into_iter().map(Value::from).collect()
            }
            Step::Sack => traverser.sack.iter().cloned().collect(),
            Step::Math { expression, by } => self.math(expression, by, traverser)?.into_iter().map(Value::Float64).collect(),
            Step::Unfold => items(value).unwrap_or_else(|| vec![value.clone()]),
            Step::Reduce { reduction, scope: Scope::Local } => {
                let mut reduced = Reduced::new(*reduction);
                items(value).unwrap_or_else(|| vec![value.clone()]).iter().try_for_each(|item| reduced.add(item))?;
                reduced.finish()?.into_iter().collect()
            }
            _ => return Ok(None),
        }))
    }

    /// Steps that give exactly one value.
    fn value_of(&mut self, step: &Step, traverser: &Traverser) -> Result<Option<Value>> {
        let value = &traverser.value;
        Ok(Some(match step {
            Step::Id => self.id(value)?,
            Step::Label => self.label_of(value)?,
            Step::Key => self.token(value, Token::Key)?,
            Step::ValueOf => self.token(value, Token::Value)?,
            Step::PropertyMap { of, keys, tokens, by, visible: None } => {
                self.property_map((*of, *tokens), keys, by, value)?
            }
            Step::ElementMap { keys, visible: None } => self.element_map(keys, value)?,
            Step::Element => self.owner(traverser)?,
            Step::Constant(constant) => constant.clone(),
            Step::SelectColumn(which) => column(value, *which)?,
            Step::Project { keys, by } => self.project(keys, by, traverser)?,
            Step::Loops(name) => self.loops(name.as_ref(), traverser)?,
            Step::Index { as_map } => index(value, *as_map),
            Step::Dedup { scope: Scope::Local, .. } => dedup_local(value),
            Step::Range { low, high, scope: Scope::Local } => cut(value, |items| {
                let high = high.map_or(items.len(), |high| items.len().min(high as usize));
                items[(*low as usize).min(high)..high].to_vec()
            }),
            Step::Tail { count, scope: Scope::Local } => {
                cut(value, |items| items[items.len().saturating_sub(*count as usize)..].to_vec())
            }
            Step::Order { by, scope: Scope::Local, .. } => {
                let mut keyed = Vec::new();
                for item in items(value).unwrap_or_default() {
                    let mut keys = Vec::new();
                    for (by, order) in by.iter() {
                        keys.extend(self.by_value(by, item.clone())?.map(|key| (key, *order)));
                    }
                    if by.is_empty() {
                        keys.push((item.clone(), SortOrder::Ascending));
                    }
                    if keys.len() == by.len().max(1) {
                        keyed.push((keys, item));
                    }
                }
                let sorted = self.sorted(keyed)?;
                match value {
                    Value::Map(_) => as_map(sorted),
                    _ if items(value).is_some() => Value::list(sorted),
                    other => other.clone(),
                }
            }
            step => return self.function(step, traverser),
        }))
    }
}

fn as_map(entries: Vec<Value>) -> Value {
    let entries = entries.into_iter().filter_map(|entry| match entry {
        Value::Entry(entry) => Some((*entry).clone()),
        _ => None,
    });
    Value::map(Map::from_distinct(entries.collect()))
}

/// A part of a collection, of the same kind as the whole.
fn cut(value: &Value, part: impl Fn(&[Value]) -> Vec<Value>) -> Value {
    match (value, items(value)) {
        (Value::Map(_), Some(entries)) => as_map(part(&entries)),
        (Value::Set(_), Some(items)) => Value::set(part(&items)),
        (_, Some(items)) => Value::list(part(&items)),
        (other, None) => other.clone(),
    }
}

fn dedup_local(value: &Value) -> Value {
    match (value, items(value)) {
        (Value::Map(_), _) | (_, None) => value.clone(),
        (_, Some(items)) => Value::set(items),
    }
}

/// Items with their positions, as pairs or as a map.
fn index(value: &Value, as_map: bool) -> Value {
    let items = items(value).unwrap_or_else(|| vec![value.clone()]);
    let numbered = items.into_iter().zip(0..).map(|(item, at): (Value, i32)| (item, Value::Int32(at)));
    match as_map {
        true => Value::map(Map::from_distinct(numbered.map(|(item, at)| (at, item)).collect())),
        false => Value::list(numbered.map(|(item, at)| Value::list(vec![item, at])).collect()),
    }
}
