//! Side effects: named values that a query gathers beside its traversers.

use std::sync::Arc;

use hashbrown::HashMap;
use mangrove_graph::{Map, Members, Value, compare};

use crate::error::Result;
use crate::execute::data::branches::Branches;
use crate::execute::data::number;
use crate::nesting;
use crate::plan::{Name, Operator, SideEffectSeed};

#[derive(Default)]
pub struct SideEffects {
    values: HashMap<Name, SideEffect>,
}

#[derive(Default)]
struct SideEffect {
    value: Value,
    merge: Option<Operator>,
    /// The map of each `group()` step that gathers here. The operator combines the values of a key that two maps share.
    parts: Vec<(Value, Operator)>,
    /// The tree that `tree()` grows here. It replaces the value.
    branches: Option<Branches>,
    /// The items of a bulk set, once a step tests for membership.
    members: Option<Members>,
}

impl SideEffect {
    fn new(value: Value) -> Self {
        Self { value, ..Self::default() }
    }
}

impl SideEffects {
    pub fn new(seeds: &[(Name, SideEffectSeed)]) -> Self {
        let of = |(name, seed): &(Name, SideEffectSeed)| {
            (name.clone(), SideEffect { merge: seed.merge, ..SideEffect::new(seed.value.clone()) })
        };
        Self { values: seeds.iter().map(of).collect() }
    }

    pub fn get(&self, name: &str) -> Option<Value> {
        let effect = self.values.get(name)?;
        Some(effect.branches.as_ref().map_or_else(|| effect.value.clone(), |b| Value::Tree(b.tree().into())))
    }

    /// Whether each value is among those gathered under `name`. `None` if that is no bulk set, or if this cannot be decided
    /// quickly.
    pub fn hold(&mut self, name: &str, values: impl Iterator<Item = Value>) -> Option<Vec<bool>> {
        let effect = self.values.get_mut(name)?;
        let Value::BulkSet(items) = &effect.value else { return None };
        let members = effect.members.get_or_insert_with(|| items.iter().map(|(item, _)| item).collect());
        values.map(|value| members.hold(&value)).collect()
    }

    pub fn contains(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    pub fn set(&mut self, name: &Name, value: Value) {
        let effect = self.values.entry(name.clone()).or_default();
        (effect.value, effect.members) = (value, None);
    }

    /// The tree under `name`.
    pub fn branches(&mut self, name: &Name) -> &mut Branches {
        self.values.entry(name.clone()).or_default().branches.get_or_insert_default()
    }

    /// Takes out the value of `name` to change it in place. Call [`set`](Self::set) afterwards.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let effect = self.values.get_mut(name)?;
        effect.members = None;
        Some(std::mem::take(&mut effect.value))
    }

    /// Replaces the map that one step gathered under `name`. `part` is the number of the step; the first call sets it.
    pub fn set_part(&mut self, name: &Name, part: &mut Option<usize>, map: Value, combine: Operator) -> Result<()> {
        let effect = self.values.entry(name.clone()).or_default();
        let at = *part.get_or_insert(effect.parts.len());
        if at == effect.parts.len() {
            effect.parts.push((Value::Null, combine));
        }
        effect.parts[at].0 = map;
        let mut parts = effect.parts.iter();
        let first = parts.next().map(|(map, _)| map.clone()).unwrap_or_default();
        effect.value = parts.try_fold(first, |merged, (map, combine)| merge_maps(merged, map, *combine))?;
        Ok(())
    }

    /// Creates the side effect with the value `empty`, unless it exists.
    pub fn ensure(&mut self, name: Name, empty: Value) {
        self.values.entry(name).or_insert_with(|| SideEffect::new(empty));
    }

    /// Whether new items replace the old value.
    pub fn is_assigned(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|s| s.merge == Some(Operator::Assign))
    }

    /// Adds a map of counts to the counts under `name`.
    pub fn add_counts(&mut self, name: &Name, counts: Value) -> Result<()> {
        let effect = self.values.entry(name.clone()).or_default();
        effect.value = match std::mem::take(&mut effect.value) {
            before @ Value::Map(_) => merge_maps(before, &counts, Operator::Sum)?,
            _ => counts,
        };
        Ok(())
    }

    fn gathering(&mut self, name: &Name) -> &mut SideEffect {
        self.values.entry(name.clone()).or_insert_with(|| SideEffect::new(Value::BulkSet(Arc::new(Vec::new()))))
    }

    /// Whether items added under `name` go to a bulk set.
    pub fn is_bulk_set(&mut self, name: &Name) -> bool {
        let effect = self.gathering(name);
        effect.merge.is_none() && matches!(effect.value, Value::BulkSet(_))
    }

    /// Adds items to the bulk set under `name`.
    pub fn add_all(&mut self, name: &Name, all: impl Iterator<Item = (Value, u64)>) -> Result<()> {
        let effect = self.gathering(name);
        let Value::BulkSet(items) = &mut effect.value else { return Ok(()) };
        let items = Arc::make_mut(items);
        for (item, bulk) in all {
            nesting::check(&item)?;
            effect.members.iter_mut().for_each(|members| members.insert(&item));
            push_bulk(items, item, bulk);
        }
        Ok(())
    }

    /// Adds an item to the collection, or combines it by the operator of the side effect.
    pub fn add(&mut self, name: &Name, item: Value, bulk: u64) -> Result<()> {
        nesting::check(&item)?;
        let effect = self.gathering(name);
        if let Some(merge) = effect.merge {
            let item = match merge {
                Operator::AddAll if item.items().is_none() => Value::list(vec![item]),
                _ => item,
            };
            effect.members = None;
            effect.value = number::apply_times(merge, std::mem::take(&mut effect.value), item, bulk)?;
            return Ok(());
        }
        match &mut effect.value {
            Value::BulkSet(items) => {
                effect.members.iter_mut().for_each(|members| members.insert(&item));
                push_bulk(Arc::make_mut(items), item, bulk);
            }
            Value::List(items) => Arc::make_mut(items).extend(std::iter::repeat_n(item, bulk as usize)),
            Value::Set(items) => {
                if !items.iter().any(|known| compare::equals(known, &item)) {
                    Arc::make_mut(items).push(item);
                }
            }
            other => *other = item,
        }
        Ok(())
    }
}

fn push_bulk(items: &mut Vec<(Value, u64)>, item: Value, bulk: u64) {
    match items.last_mut() {
        Some((last, n)) if *last == item => *n = n.saturating_add(bulk),
        _ => items.push((item, bulk)),
    }
}

/// The entries of both maps. `combine` merges the values of a shared key.
fn merge_maps(a: Value, b: &Value, combine: Operator) -> Result<Value> {
    let (Value::Map(a), Value::Map(b)) = (&a, b) else { return Ok(a) };
    let mut entries: Vec<(Value, Value)> = a.iter().cloned().collect();
    let places: HashMap<&Value, usize> = a.iter().enumerate().map(|(at, (key, _))| (key, at)).collect();
    for (key, value) in b.iter() {
        match places.get(key) {
            Some(at) => entries[*at].1 = number::apply(combine, std::mem::take(&mut entries[*at].1), value.clone())?,
            None => entries.push((key.clone(), value.clone())),
        }
    }
    Ok(Value::map(Map::from_distinct(entries)))
}
