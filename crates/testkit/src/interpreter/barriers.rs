//! Steps that look at all traversers together: `fold`, `count`, `order`, `group`, `dedup`, `range` and the like.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use mangrove_graph::{Map, Tree, Value, compare};
use mangrove_query::plan::{By, GroupValue, Name, Pop, Scope, SortOrder, Step};

use super::numbers::{Reduced, apply};
use super::{Failure, Interpreter, Result, Traverser};

impl Interpreter<'_> {
    pub(super) fn barrier(&mut self, step: &Step, input: Vec<Traverser>) -> Result<Vec<Traverser>> {
        let reduced = match step {
            Step::Range { low, high, scope: Scope::Global } => {
                let length = high.map_or(usize::MAX, |high| high.saturating_sub(*low) as usize);
                return Ok(input.into_iter().skip(*low as usize).take(length).collect());
            }
            Step::Tail { count, scope: Scope::Global } => {
                let skipped = input.len().saturating_sub(*count as usize);
                return Ok(input.into_iter().skip(skipped).collect());
            }
            Step::Order { by, scope: Scope::Global, .. } => return self.order(by, input),
            Step::Barrier { .. } | Step::Identity => return Ok(input),
            Step::Fold { seed: None } => Some(Value::list(input.into_iter().map(|traverser| traverser.value).collect())),
            Step::Fold { seed: Some((seed, operator)) } => {
                Some(input.iter().try_fold(seed.clone(), |sum, traverser| apply(*operator, &sum, &traverser.value))?)
            }
            Step::Reduce { reduction, scope: Scope::Global } => {
                let mut reduced = Reduced::new(*reduction);
                input.iter().try_for_each(|traverser| reduced.add(&traverser.value))?;
                reduced.finish()?
            }
            Step::Group { key, value, side_effect: None } => {
                let groups = self.grouped(key.as_ref(), &input)?;
                Some(self.reduced_groups(value.as_ref(), &groups)?)
            }
            Step::GroupCount { key, side_effect: None } => {
                let groups = self.grouped(key.as_ref(), &input)?.into_iter();
                let counts = groups.map(|(key, members)| (key, Value::Int64(members.len() as i64)));
                Some(Value::map(Map::from_distinct(counts.collect())))
            }
            Step::Tree { by, side_effect: None } => {
                let mut tree = Tree::default();
                self.plant(&mut tree, by, &input)?;
                Some(Value::Tree(Arc::new(tree)))
            }
            Step::Fail(_) if !input.is_empty() => {
                return Err(Failure::Error(mangrove_query::QueryErrorKind::Fail, "fail()".into()));
            }
            _ if input.is_empty() => None,
            other => {
                let shown = format!("{other:?}");
                return Err(Failure::Uncovered(shown.split([' ', '(']).next().unwrap_or_default().into()));
            }
        };
        Ok(reduced.into_iter().map(|value| self.fresh(value)).collect())
    }

    fn order(&mut self, by: &[(By, SortOrder)], input: Vec<Traverser>) -> Result<Vec<Traverser>> {
        let mut keyed = Vec::with_capacity(input.len());
        for traverser in input {
            let mut keys = Vec::with_capacity(by.len());
            for (by, order) in by {
                keys.extend(self.by(by, &traverser)?.map(|key| (key, *order)));
            }
            if by.is_empty() {
                keys.push((traverser.value.clone(), SortOrder::Ascending));
            }
            if keys.len() == by.len().max(1) {
                keyed.push((keys, traverser));
            }
        }
        self.sorted(keyed)
    }

    /// Sorts by the first key in which two items differ. Elements are compared by their ids.
    pub(super) fn sorted<T>(&self, mut keyed: Vec<(Vec<(Value, SortOrder)>, T)>) -> Result<Vec<T>> {
        for (key, order) in keyed.iter_mut().flat_map(|(keys, _)| keys) {
            self.put_ids(key)?;
            if *order == SortOrder::Shuffle {
                return Err(Failure::Uncovered("order by shuffle".into()));
            }
        }
        keyed.sort_by(|(a, _), (b, _)| {
            let by_key = a.iter().zip(b).map(|((a, order), (b, _))| match order {
                SortOrder::Descending => compare::order(b, a),
                _ => compare::order(a, b),
            });
            by_key.into_iter().find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
        });
        Ok(keyed.into_iter().map(|(_, thing)| thing).collect())
    }

    /// Replaces elements by their ids, also those in paths and lists.
    fn put_ids(&self, key: &mut Value) -> Result<()> {
        match key {
            Value::Vertex(_) | Value::Edge(_) | Value::VertexProperty(_) => *key = self.id(key)?,
            Value::Path(path) => {
                Arc::make_mut(path).objects.iter_mut().try_for_each(|object| self.put_ids(object))?;
            }
            Value::List(items) => Arc::make_mut(items).iter_mut().try_for_each(|item| self.put_ids(item))?,
            _ => {}
        }
        Ok(())
    }

    /// Traversers by key, in order of first appearance.
    pub(super) fn grouped(&mut self, key: Option<&By>, input: &[Traverser]) -> Result<Vec<(Value, Vec<Traverser>)>> {
        let mut groups: Vec<(Value, Vec<Traverser>)> = Vec::new();
        for traverser in input {
            let key = match key {
                Some(by) => self.by(by, traverser)?,
                None => Some(traverser.value.clone()),
            };
            let Some(key) = key else { continue };
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, members)) => members.push(traverser.clone()),
                None => groups.push((key, vec![traverser.clone()])),
            }
        }
        Ok(groups)
    }

    /// For each group the list of its members, or the first result of a traversal over them. A group without a result has no entry.
    pub(super) fn reduced_groups(
        &mut self,
        value: Option<&GroupValue>,
        groups: &[(Value, Vec<Traverser>)],
    ) -> Result<Value> {
        let mut map = Map::new();
        for (key, members) in groups {
            let value = match value {
                None => Some(Value::list(members.iter().map(|member| member.value.clone()).collect())),
                Some(GroupValue::List(by)) => {
                    let mut list = Vec::new();
                    for member in members {
                        list.extend(self.by(by, member)?);
                    }
                    Some(Value::list(list))
                }
                Some(GroupValue::Reduce(child)) => {
                    self.chain(child, members.clone())?.into_iter().next().map(|found| found.value)
                }
            };
            value.into_iter().for_each(|value| map.insert(key.clone(), value));
        }
        Ok(Value::map(map))
    }

    /// Adds the paths of traversers to a tree. Omits objects for which a modulator gives nothing.
    pub(super) fn plant(&mut self, tree: &mut Tree, by: &[By], input: &[Traverser]) -> Result<()> {
        for traverser in input {
            let mut below = &mut *tree;
            for (at, stop) in traverser.path.iter().enumerate() {
                let Some(object) = self.by_turn(by, at, stop.object.clone())? else { continue };
                let known = below.0.iter().position(|(known, _)| *known == object);
                let place = known.unwrap_or(below.0.len());
                if known.is_none() {
                    below.0.push((object, Tree::default()));
                }
                below = &mut below.0[place].1;
            }
        }
        Ok(())
    }

    /// The first traverser of each value, of each modulated value, or of each combination of labelled values.
    pub(super) fn dedup(
        &mut self,
        labels: &[Name],
        by: &[By],
        input: Vec<Traverser>,
        seen: &mut HashSet<Value>,
    ) -> Result<Vec<Traverser>> {
        let mut out = Vec::new();
        for traverser in input {
            let key = if labels.is_empty() {
                match by.first() {
                    Some(by) => self.by(by, &traverser)?,
                    None => Some(traverser.value.clone()),
                }
            } else {
                self.labelled_together(labels, by, &traverser)?
            };
            if key.is_some_and(|key| seen.insert(key)) {
                out.push(traverser);
            }
        }
        Ok(out)
    }

    fn labelled_together(&mut self, labels: &[Name], by: &[By], traverser: &Traverser) -> Result<Option<Value>> {
        let mut parts = Vec::new();
        for label in labels {
            if let Some(value) = self.labelled(label, Pop::Last, traverser) {
                parts.extend(self.by_turn(by, 0, value)?);
            }
        }
        Ok((parts.len() == labels.len()).then(|| Value::list(parts)))
    }
}
