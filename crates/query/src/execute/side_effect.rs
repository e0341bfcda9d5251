//! Side effects: named values that a query gathers beside its traversers. Covers `aggregate`, `cap`, `subgraph`, and the state of
//! `group('x')` and the like.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{EdgeRef, Map, Members, Subgraph, Value, VertexId, compare};

use super::barrier::gather_all;
use super::batch::Batch;
use super::by::ByOp;
use super::chain::{Input, MapBatch, Op};
use super::context::Context;
use super::memory::{Held, value_bytes};
use super::reduce::per_scope;
use super::tree::Branches;
use super::{number, type_error};
use crate::error::{QueryError, QueryErrorKind, Result};
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
    fn is_assigned(&self, name: &str) -> bool {
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

    /// Adds an item to the collection, or combines it by the operator of the side effect.
    fn add(&mut self, name: &Name, item: Value, bulk: u64) -> Result<()> {
        nesting::check(&item)?;
        let effect =
            self.values.entry(name.clone()).or_insert_with(|| SideEffect::new(Value::BulkSet(Arc::new(Vec::new()))));
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
                let items = Arc::make_mut(items);
                match items.last_mut() {
                    Some((last, n)) if *last == item => *n = n.saturating_add(bulk),
                    _ => items.push((item, bulk)),
                }
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

/// `aggregate('x')`: gathers everything first (a barrier), or with `local` as traversers pass.
pub struct AggregateOp {
    name: Name,
    by: Option<ByOp>,
    eager: bool,
    done: bool,
}

impl AggregateOp {
    pub fn new(name: Name, by: Option<ByOp>, eager: bool) -> Self {
        Self { name, by, eager, done: false }
    }

    fn add(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<()> {
        let values = match &mut self.by {
            Some(by) => by.eval(cx, batch)?,
            None => (0..batch.len()).map(|row| Some(batch.value(row))).collect(),
        };
        let mut bytes = 0;
        if self.eager && cx.shared.side_effects.is_assigned(&self.name) {
            // In a child, the items of each traverser replace those of the one before it. So only the last scope counts.
            let last = batch.scope(batch.len().saturating_sub(1));
            let rows = values.into_iter().enumerate().filter(|(row, _)| batch.scope(*row) == last);
            let all = rows.filter_map(|(row, value)| Some((value?, batch.bulk(row))));
            cx.shared.side_effects.set(&self.name, Value::BulkSet(Arc::new(all.collect())));
            return Ok(());
        }
        for (row, value) in values.into_iter().enumerate() {
            if let Some(value) = value {
                if !matches!(cx.shared.side_effects.get(&self.name), Some(Value::BulkSet(_))) {
                    cx.keep_items(batch.bulk(row))?;
                }
                bytes += value_bytes(&value);
                cx.shared.side_effects.add(&self.name, value, batch.bulk(row))?;
            }
        }
        cx.keep(bytes)
    }
}

impl Op for AggregateOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if !self.eager {
            let Some(batch) = input.pull(cx)? else { return Ok(None) };
            self.add(cx, &batch)?;
            return Ok(Some(batch));
        }
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let mut held = Held::default();
        let all = gather_all(cx, input, &mut held)?;
        self.add(cx, &all)?;
        Ok(Some(all).filter(|b| !b.is_empty()))
    }

    fn reset(&mut self, _: usize) {
        self.done = false;
    }
}

/// `cap('x')`: runs everything before it, then gives the side effect.
pub struct CapOp {
    names: Vec<Name>,
    scopes: usize,
    done: bool,
}

impl CapOp {
    pub fn new(names: Vec<Name>) -> Self {
        Self { names, scopes: 1, done: false }
    }

    fn value(&self, cx: &Context<'_, '_>) -> Result<Value> {
        let get = |name: &Name| {
            cx.shared
                .side_effects
                .get(name)
                .ok_or_else(|| QueryError::value(format!("the side effect `{name}` does not exist")))
        };
        if let [name] = &self.names[..] {
            return get(name);
        }
        let entries = self.names.iter().map(|name| Ok((Value::String(name.clone()), get(name)?)));
        Ok(Value::map(mangrove_graph::Map::from_distinct(entries.collect::<Result<_>>()?)))
    }
}

impl Op for CapOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        while input.pull(cx)?.is_some() {}
        let value = self.value(cx)?;
        Ok(per_scope(vec![Some(value); self.scopes], cx))
    }

    fn reset(&mut self, scopes: usize) {
        self.scopes = scopes.max(1);
        self.done = false;
    }
}

/// `subgraph('x')`: gathers edges and their ends.
pub struct SubgraphOp {
    name: Name,
    vertices: HashSet<VertexId>,
    edges: HashSet<EdgeRef>,
}

impl SubgraphOp {
    pub fn new(name: Name) -> Self {
        Self { name, vertices: HashSet::new(), edges: HashSet::new() }
    }

    /// Takes out the graph gathered so far under this name, to extend it in place.
    fn take_graph(&mut self, cx: &mut Context<'_, '_>) -> Arc<Subgraph> {
        let graph = match cx.shared.side_effects.take(&self.name) {
            Some(Value::Subgraph(graph)) => graph,
            _ => Arc::default(),
        };
        if (graph.vertices.len(), graph.edges.len()) != (self.vertices.len(), self.edges.len()) {
            self.vertices = graph.vertices.iter().copied().collect();
            self.edges = graph.edges.iter().copied().collect();
        }
        graph
    }

    fn add(&mut self, graph: &mut Subgraph, value: Value) -> Result<()> {
        let Value::Edge(edge) = value else { return Err(type_error("subgraph()", "edges", &value)) };
        for end in [edge.source, edge.target] {
            if self.vertices.insert(end) {
                graph.vertices.push(end);
            }
        }
        if self.edges.insert(edge) {
            graph.edges.push(edge);
        }
        Ok(())
    }
}

impl Op for SubgraphOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        let Some(batch) = input.pull(cx)? else {
            if !cx.shared.side_effects.contains(&self.name) {
                cx.shared.side_effects.set(&self.name, Value::Subgraph(Arc::new(Subgraph::default())));
            }
            return Ok(None);
        };
        let mut shared = self.take_graph(cx);
        // This copies only if a traverser still holds the earlier graph.
        let graph = Arc::make_mut(&mut shared);
        let before = graph.vertices.len() + graph.edges.len();
        let added = (0..batch.len()).try_for_each(|row| self.add(graph, batch.value(row)));
        let grown = graph.vertices.len() + graph.edges.len() - before;
        cx.shared.side_effects.set(&self.name, Value::Subgraph(shared));
        added?;
        cx.keep(grown * 2 * size_of::<EdgeRef>())?;
        Ok(Some(batch))
    }
}

/// `sideEffect(traversal)`: runs the traversal only for its effects.
pub struct SideEffectOp(pub super::chain::Child);

impl MapBatch for SideEffectOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        self.0.run_rows(cx, &batch)?;
        Ok(batch)
    }
}

/// `fail()`.
pub struct FailOp(pub Option<Name>);

impl MapBatch for FailOp {
    fn map(&mut self, _: &mut Context<'_, '_>, _: Batch) -> Result<Batch> {
        let message = self.0.as_deref().unwrap_or("fail() step triggered");
        Err(QueryError::new(QueryErrorKind::Fail, message))
    }
}
