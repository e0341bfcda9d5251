//! The texts of values. Elements in them show the ids that users see.

use std::collections::HashMap;

use mangrove_graph::{EdgeRef, ElementId, Map, Path, Tree, Value, record};

use crate::error::Result;
use crate::execute::data::items::Items;
use crate::execute::reads::read;
use crate::execute::run::context::Context;
use crate::plan::Name;

/// The ids of the elements in some values, read at once.
#[derive(Default)]
pub struct Texts {
    ids: HashMap<ElementId, Value>,
    labels: HashMap<ElementId, Name>,
}

impl Texts {
    pub fn of_items(cx: &Context<'_, '_>, items: &Items) -> Result<Self> {
        match items {
            Items::Values(values) => Self::of(cx, values.iter()),
            Items::Column(_) => Ok(Self::default()),
            items => Self::of(cx, items.clone().into_values().iter()),
        }
    }

    pub fn of<'v>(cx: &Context<'_, '_>, values: impl Iterator<Item = &'v Value>) -> Result<Self> {
        let mut elements = Vec::new();
        values.for_each(|value| find(value, &mut elements));
        let mut texts = Self::default();
        for (value, id) in elements.iter().zip(read::ids(cx, &Items::from_values(elements.clone()))?) {
            let Some(element) = value.element_id() else { continue };
            texts.ids.insert(element, id);
            if let Value::Edge(_) = value {
                texts.labels.insert(element, record::label(cx.view(), element));
            }
        }
        Ok(texts)
    }

    /// The text of one of the values.
    pub fn text(&self, value: &Value) -> String {
        match value {
            Value::Vertex(id) => format!("v[{}]", self.id(ElementId::Vertex(*id))),
            Value::Edge(edge) => self.edge(edge),
            other => self.told(other).unwrap_or_else(|| other.clone()).to_string(),
        }
    }

    fn edge(&self, edge: &EdgeRef) -> String {
        let element = ElementId::Edge(edge.id);
        let end = |vertex| self.id(ElementId::Vertex(vertex));
        let label = self.labels.get(&element).cloned().unwrap_or_default();
        format!("e[{}][{}-{label}->{}]", self.id(element), end(edge.source), end(edge.target))
    }

    fn id(&self, element: ElementId) -> Value {
        self.ids.get(&element).cloned().unwrap_or_default()
    }

    /// The value with the elements within it replaced by text; `None` if it has no elements.
    fn told(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::Vertex(_) | Value::Edge(_) => Value::string(self.text(value)),
            Value::List(items) => Value::list(self.all(items)?),
            Value::Set(items) => Value::Set(self.all(items)?.into()),
            Value::BulkSet(_) => Value::list(self.all(&value.items().unwrap_or_default())?),
            Value::Path(path) => Value::Path(Path { objects: self.all(&path.objects)?, labels: Vec::new() }.into()),
            Value::Map(map) => Value::map(Map::from_distinct(self.pairs(&map.iter().cloned().collect::<Vec<_>>())?)),
            Value::Entry(entry) => Value::Entry(self.pairs(std::slice::from_ref(entry))?.pop()?.into()),
            Value::Tree(tree) => Value::Tree(self.tree(tree).into()),
            _ => return None,
        })
    }

    fn all(&self, items: &[Value]) -> Option<Vec<Value>> {
        let mut told_items = None;
        for (at, item) in items.iter().enumerate() {
            if let Some(item) = self.told(item) {
                told_items.get_or_insert_with(|| items.to_vec())[at] = item;
            }
        }
        told_items
    }

    fn pairs(&self, pairs: &[(Value, Value)]) -> Option<Vec<(Value, Value)>> {
        let (keys, values): (Vec<Value>, Vec<Value>) = pairs.iter().cloned().unzip();
        let (told_keys, told_values) = (self.all(&keys), self.all(&values));
        let any = told_keys.is_some() || told_values.is_some();
        any.then(|| told_keys.unwrap_or(keys).into_iter().zip(told_values.unwrap_or(values)).collect())
    }

    fn tree(&self, tree: &Tree) -> Tree {
        let branch = |(place, below): &(Value, Tree)| (self.told(place).unwrap_or_else(|| place.clone()), self.tree(below));
        Tree(tree.0.iter().map(branch).collect())
    }
}

/// Collects the elements in a value, and the ends of its edges.
fn find(value: &Value, out: &mut Vec<Value>) {
    match value {
        Value::Vertex(_) => out.push(value.clone()),
        Value::Edge(edge) => out.extend([value.clone(), Value::Vertex(edge.source), Value::Vertex(edge.target)]),
        Value::List(items) | Value::Set(items) => items.iter().for_each(|item| find(item, out)),
        Value::BulkSet(items) => items.iter().for_each(|(item, _)| find(item, out)),
        Value::Path(path) => path.objects.iter().for_each(|object| find(object, out)),
        Value::Map(map) => map.iter().for_each(|(key, value)| [key, value].into_iter().for_each(|part| find(part, out))),
        Value::Entry(entry) => [&entry.0, &entry.1].into_iter().for_each(|part| find(part, out)),
        Value::Tree(tree) => find_in_tree(tree, out),
        _ => {}
    }
}

fn find_in_tree(tree: &Tree, out: &mut Vec<Value>) {
    for (place, below) in &tree.0 {
        find(place, out);
        find_in_tree(below, out);
    }
}
