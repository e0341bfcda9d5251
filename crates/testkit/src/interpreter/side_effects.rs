//! Side effects: `aggregate`, `group('x')`, `sideEffect`, `cap` and the values they keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use mangrove_graph::{Map, Subgraph, Tree, Value};
use mangrove_query::plan::{By, GroupValue, Name, Operator, Plan, Step, Traversal};

use super::numbers::apply;
use super::{Failure, Interpreter, Result, Traverser};

pub(super) struct SideEffect {
    pub value: Value,
    /// Combines the old value with an added one.
    merge: Option<Operator>,
}

/// The side effects that exist from the start: those of the source, and an empty one for each step that fills one.
pub(super) fn registered(plan: &Plan) -> BTreeMap<Name, SideEffect> {
    let seed = |(name, seed): &(Name, mangrove_query::plan::SideEffectSeed)| {
        (name.clone(), SideEffect { value: seed.value.clone(), merge: seed.merge })
    };
    let mut registered: BTreeMap<Name, SideEffect> = plan.source.side_effects.iter().map(seed).collect();
    register(&plan.traversal, &mut registered);
    registered
}

fn register(traversal: &Traversal, registered: &mut BTreeMap<Name, SideEffect>) {
    for node in &traversal.steps {
        let (name, value) = match &node.step {
            Step::Aggregate { name, .. } => (name, Value::BulkSet(Arc::default())),
            Step::Group { side_effect: Some(name), .. } | Step::GroupCount { side_effect: Some(name), .. } => {
                (name, Value::map(Map::new()))
            }
            Step::Tree { side_effect: Some(name), .. } => (name, Value::Tree(Arc::default())),
            Step::Subgraph(name) => (name, Value::Subgraph(Arc::default())),
            _ => continue,
        };
        registered.entry(name.clone()).or_insert(SideEffect { value, merge: None });
    }
    traversal.for_each_child(&mut |child| register(child, registered));
}

impl Interpreter<'_> {
    pub(super) fn side_effect(&mut self, step: &Step, input: &[Traverser]) -> Result<Option<Vec<Traverser>>> {
        match step {
            Step::SideEffect(child) => {
                for traverser in input {
                    self.child(child, traverser)?;
                }
            }
            Step::Aggregate { name, by, .. } => {
                for traverser in input {
                    let item = match by {
                        Some(by) => self.by(by, traverser)?,
                        None => Some(traverser.value.clone()),
                    };
                    item.map_or(Ok(()), |item| self.add(name, item))?;
                }
            }
            Step::Group { side_effect: Some(name), key, value } => {
                self.group_into(name, key.as_ref(), value.as_ref(), input)?;
            }
            Step::GroupCount { side_effect: Some(name), key } => {
                for (key, members) in self.grouped(key.as_ref(), input)? {
                    self.add_count(name, key, members.len() as i64);
                }
            }
            Step::Tree { side_effect: Some(name), by } => {
                let mut tree = match self.get(name)? {
                    Value::Tree(tree) => Tree::clone(&tree),
                    _ => Tree::default(),
                };
                self.plant(&mut tree, by, input)?;
                self.set(name, Value::Tree(Arc::new(tree)));
            }
            Step::Subgraph(name) => {
                for traverser in input {
                    self.add_edge(name, &traverser.value)?;
                }
            }
            Step::SackOp { operator, by } => return self.sack(*operator, by.as_ref(), input).map(Some),
            Step::Cap(names) => return self.cap(names).map(|value| Some(vec![self.fresh(value)])),
            _ => return Ok(None),
        }
        Ok(Some(input.to_vec()))
    }

    fn get(&self, name: &Name) -> Result<Value> {
        let effect = self.side_effects.get(name).map(|effect| effect.value.clone());
        effect.ok_or_else(|| Failure::value(format!("no side effect {name}")))
    }

    fn set(&mut self, name: &Name, value: Value) {
        if let Some(effect) = self.side_effects.get_mut(name) {
            effect.value = value;
        }
    }

    fn cap(&self, names: &[Name]) -> Result<Value> {
        if let [name] = names {
            return self.get(name);
        }
        let mut map = Map::new();
        for name in names {
            map.insert(Value::String(name.clone()), self.get(name)?);
        }
        Ok(Value::map(map))
    }

    fn add(&mut self, name: &Name, item: Value) -> Result<()> {
        let Some(effect) = self.side_effects.get_mut(name) else { return Ok(()) };
        effect.value = match (&effect.value, effect.merge) {
            (before, Some(operator)) => {
                let listed = operator == Operator::AddAll && item.items().is_none();
                apply(operator, before, &if listed { Value::list(vec![item]) } else { item })?
            }
            (Value::BulkSet(items), None) => Value::BulkSet(Arc::new([&items[..], &[(item, 1)]].concat())),
            (Value::List(items), None) => Value::list([&items[..], &[item]].concat()),
            (Value::Set(items), None) => Value::set([&items[..], &[item]].concat()),
            _ => item,
        };
        Ok(())
    }

    fn add_count(&mut self, name: &Name, key: Value, n: i64) {
        if let Some(SideEffect { value: Value::Map(counts), .. }) = self.side_effects.get_mut(name) {
            let counts = Arc::make_mut(counts);
            let before = counts.get(&key).and_then(Value::as_i64).unwrap_or(0);
            counts.insert(key, Value::Int64(before + n));
        }
    }

    /// Groups gather over the whole query. The reduction runs anew whenever they grow.
    fn group_into(&mut self, name: &Name, key: Option<&By>, value: Option<&GroupValue>, input: &[Traverser]) -> Result<()> {
        let mut groups = self.groups.remove(name).unwrap_or_default();
        for (key, mut members) in self.grouped(key, input)? {
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => known.append(&mut members),
                None => groups.push((key, members)),
            }
        }
        let map = self.reduced_groups(value, &groups)?;
        self.set(name, map);
        self.groups.insert(name.clone(), groups);
        Ok(())
    }

    fn add_edge(&mut self, name: &Name, value: &Value) -> Result<()> {
        let Value::Edge(edge) = value else { return Err(Failure::met("subgraph()", value)) };
        let mut graph = match self.get(name)? {
            Value::Subgraph(graph) => Subgraph::clone(&graph),
            _ => Subgraph::default(),
        };
        for end in [edge.source, edge.target] {
            if !graph.vertices.contains(&end) {
                graph.vertices.push(end);
            }
        }
        if !graph.edges.contains(edge) {
            graph.edges.push(*edge);
        }
        self.set(name, Value::Subgraph(Arc::new(graph)));
        Ok(())
    }

    /// `sack(operator)`. Skips a traverser without a value for it.
    fn sack(&mut self, operator: Operator, by: Option<&By>, input: &[Traverser]) -> Result<Vec<Traverser>> {
        let mut out = Vec::new();
        for traverser in input {
            let value = match by {
                Some(by) => self.by(by, traverser)?,
                None => Some(traverser.value.clone()),
            };
            let Some(value) = value else { continue };
            let before = traverser.sack.clone().unwrap_or_default();
            out.push(Traverser { sack: Some(apply(operator, &before, &value)?), ..traverser.clone() });
        }
        Ok(out)
    }
}
