//! What a traverser remembers: labelled objects and its path.

use mangrove_graph::{Map, Path, Value};
use mangrove_query::plan::{By, Name, Pop};

use super::{Failure, Interpreter, Result, Stop, Traverser};

impl Interpreter<'_> {
    /// The value of `name`: an entry of the traverser's map, a side effect, or an object of its path.
    pub(super) fn labelled(&self, name: &Name, pop: Pop, traverser: &Traverser) -> Option<Value> {
        if let Value::Map(map) = &traverser.value
            && let Some(value) = map.get_str(name)
        {
            return Some(value.clone());
        }
        if let Some(effect) = self.side_effects.get(name) {
            return Some(effect.value.clone());
        }
        let named: Vec<Value> =
            traverser.path.iter().filter(|stop| stop.labels.contains(name)).map(|stop| stop.object.clone()).collect();
        match (pop, named.len()) {
            (_, 0) => None,
            (Pop::First, _) | (Pop::Mixed, 1) => named.into_iter().next(),
            (Pop::Last, _) => named.into_iter().next_back(),
            (Pop::All | Pop::Mixed, _) => Some(Value::list(named)),
        }
    }

    /// `select('a')` gives a value, `select('a','b')` a map of values. `None` if one of them is missing.
    pub(super) fn select(&mut self, pop: Pop, labels: &[Name], by: &[By], traverser: &Traverser) -> Result<Option<Value>> {
        if let [label] = labels {
            let Some(value) = self.labelled(label, pop, traverser) else { return Ok(None) };
            return self.by_turn(by, 0, value);
        }
        let mut map = Map::new();
        for (at, label) in labels.iter().enumerate() {
            let Some(value) = self.labelled(label, pop, traverser) else { return Ok(None) };
            let Some(value) = self.by_turn(by, at, value)? else { return Ok(None) };
            map.insert(Value::String(label.clone()), value);
        }
        Ok(Some(Value::map(map)))
    }

    /// `select(traversal)`: the entry of a map under the child's key, otherwise the object with that label.
    pub(super) fn select_key(&mut self, pop: Pop, key: Value, by: &[By], traverser: &Traverser) -> Result<Option<Value>> {
        let entry = match &traverser.value {
            Value::Map(map) => map.get(&key).cloned(),
            _ => None,
        };
        let found = match (&entry, &key) {
            (None, Value::String(name)) => self.labelled(name, pop, traverser),
            _ => entry,
        };
        match found {
            Some(value) => self.by_turn(by, 0, value),
            None => Ok(None),
        }
    }

    /// `project`: omits a key whose modulator gives nothing.
    pub(super) fn project(&mut self, keys: &[Name], by: &[By], traverser: &Traverser) -> Result<Value> {
        let mut map = Map::new();
        for (at, key) in keys.iter().enumerate() {
            let value = match by.get(at % by.len().max(1)) {
                Some(by) => self.by(by, traverser)?,
                None => Some(traverser.value.clone()),
            };
            value.into_iter().for_each(|value| map.insert(Value::String(key.clone()), value));
        }
        Ok(Value::map(map))
    }

    /// The path from the last object labelled `from` to the last one labelled `to`, with its objects modulated in turn.
    pub(super) fn path(
        &mut self,
        traverser: &Traverser,
        by: &[By],
        from: Option<&Name>,
        to: Option<&Name>,
    ) -> Result<Option<Path>> {
        let last = |name: &Name| traverser.path.iter().rposition(|stop| stop.labels.contains(name));
        let end = to.and_then(last).map_or(traverser.path.len(), |at| at + 1);
        let start = from.and_then(last).unwrap_or(0).min(end);
        let mut path = Path::default();
        for (at, Stop { object, labels }) in traverser.path[start..end].iter().enumerate() {
            match self.by_turn(by, at, object.clone())? {
                Some(object) => path.objects.push(object),
                None => return Ok(None),
            }
            path.labels.push(labels.clone());
        }
        Ok(Some(path))
    }

    /// The number of rounds a traverser has done in the repeat of that name, or in the innermost one.
    pub(super) fn loops(&self, name: Option<&Name>, traverser: &Traverser) -> Result<Value> {
        let found = match name {
            None => traverser.loops.last(),
            Some(_) => traverser.loops.iter().rev().find(|(known, _)| known.as_ref() == name),
        };
        match (found, name) {
            (Some((_, times)), _) => Ok(Value::Int32(*times as i32)),
            (None, None) => Ok(Value::Int32(0)),
            (None, Some(name)) => Err(Failure::value(format!("no repeat is called {name}"))),
        }
    }
}
