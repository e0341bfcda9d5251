//! `ElementIdStrategy`: queries use one of the properties as the id of an element.

use mangrove_graph::{Map, Predicate, Token, Value};

use super::rewrite;
use crate::plan::*;

pub(super) fn apply(traversal: &mut Traversal, key: &Name) {
    rewrite(traversal, &|node, out| id_step(key, node, out));
}

fn id_step(key: &Name, mut node: StepNode, out: &mut Vec<StepNode>) {
    let property = || HasKey::Property(key.clone());
    match &mut node.step {
        Step::Scan { ids, .. } if ids.as_ref().is_some_and(|ids| !ids.iter().all(|id| id.element_id().is_some())) => {
            let wanted = ids.take().unwrap_or_default();
            let has = Step::Has(vec![Has { key: property(), predicate: Predicate::Within(wanted.into()) }]);
            return super::push_filtered(node, [has], out);
        }
        Step::Has(tests) => tests.iter_mut().filter(|t| matches!(t.key, HasKey::Id)).for_each(|t| t.key = property()),
        Step::HasChild { key: of, .. } if matches!(of, HasKey::Id) => *of = property(),
        Step::Id => node.step = Step::Values(vec![key.clone()]),
        Step::AddVertex { properties, .. } | Step::AddEdge { properties, .. } => {
            properties.iter_mut().for_each(|property| id_property(key, property));
        }
        Step::SetProperty(property) => id_property(key, property),
        Step::Merge(merge) => {
            for slot in [&mut merge.search, &mut merge.on_create] {
                if let Some(Operand::Value(Value::Map(map))) = slot {
                    *slot = Some(Operand::Value(id_entry(key, map)));
                }
            }
        }
        _ => {}
    }
    out.push(node);
}

fn id_property(key: &Name, property: &mut SetProperty) {
    if let PropertyName::Id = property.key {
        property.key = PropertyName::Key(key.clone());
    }
}

/// The map with the property's key instead of `T.id`.
fn id_entry(key: &Name, map: &Map) -> Value {
    let entries = map.iter().map(|(of, value)| match of {
        Value::Token(Token::Id) => (Value::String(key.clone()), value.clone()),
        _ => (of.clone(), value.clone()),
    });
    Value::map(Map::from_distinct(entries.collect()))
}
