//! `by()` modulators. `None` means that a modulator gives nothing; the caller then skips the traverser.

use mangrove_graph::{Value, ValueType};
use mangrove_query::plan::{By, Column};

use super::elements::held;
use super::{Failure, Interpreter, Result, Traverser};

impl Interpreter<'_> {
    pub(super) fn by(&mut self, by: &By, traverser: &Traverser) -> Result<Option<Value>> {
        let value = &traverser.value;
        let found = match by {
            By::Identity => Some(value.clone()),
            By::Key(name) => match value {
                Value::Map(map) => Some(map.get_str(name).cloned().unwrap_or_default()),
                Value::Vertex(_) | Value::Edge(_) | Value::VertexProperty(_) => {
                    match &self.properties(value, std::slice::from_ref(name))?[..] {
                        [] => None,
                        [only] => Some(held(only)?),
                        _ => return Err(Failure::value(format!("by('{name}') met several values"))),
                    }
                }
                other => return Err(Failure::met("by(key)", other)),
            },
            By::Token(token) => match value {
                Value::Map(map) => Some(map.get(&Value::Token(*token)).cloned().unwrap_or_default()),
                value => Some(self.token(value, *token)?),
            },
            By::Column(which) => Some(column(value, *which)?),
            By::Child(child) => self.first(child, traverser)?,
        };
        let strategies = &self.source.strategies;
        let known = matches!(by, By::Key(name) if strategies.productive_keys.contains(name));
        Ok(if strategies.productive_by && !known { Some(found.unwrap_or_default()) } else { found })
    }

    /// Applies a modulator to a value that is not the traverser's own: an object of its path, a labelled value, an item of a list.
    pub(super) fn by_value(&mut self, by: &By, value: Value) -> Result<Option<Value>> {
        let beginning = Traverser { sack: None, ..self.fresh(value) };
        self.by(by, &beginning)
    }

    /// Applies modulator number `at`. Several modulators are used in turn.
    pub(super) fn by_turn(&mut self, by: &[By], at: usize, value: Value) -> Result<Option<Value>> {
        if by.is_empty() { Ok(Some(value)) } else { self.by_value(&by[at % by.len()], value) }
    }
}

/// The keys or the values of a map, an entry, or a path.
pub(super) fn column(value: &Value, column: Column) -> Result<Value> {
    Ok(match (value, column) {
        (Value::Map(map), Column::Keys) => Value::set(map.iter().map(|(key, _)| key.clone())),
        (Value::Map(map), Column::Values) => Value::list(map.iter().map(|(_, value)| value.clone()).collect()),
        (Value::Entry(entry), Column::Keys) => entry.0.clone(),
        (Value::Entry(entry), Column::Values) => entry.1.clone(),
        (Value::Path(path), Column::Keys) => {
            let sets = path.labels.iter().map(|labels| Value::set(labels.iter().cloned().map(Value::String)));
            Value::list(sets.collect())
        }
        (Value::Path(path), Column::Values) => Value::list(path.objects.clone()),
        (other, _) => return Err(Failure::met("a column", other)),
    })
}

/// The items of a collection, or the entries of a map; `None` for other values.
pub(super) fn items(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Map(map) => Some(map.iter().map(|entry| Value::Entry(entry.clone().into())).collect()),
        Value::Tree(tree) => {
            let entry = |(key, below): &(Value, mangrove_graph::Tree)| {
                Value::Entry((key.clone(), Value::Tree(below.clone().into())).into())
            };
            Some(tree.0.iter().map(entry).collect())
        }
        other if other.value_type() == ValueType::String => None,
        other => other.items(),
    }
}
