//! Whether the results of a query have the shape that its plan and the schema promise.

use mangrove_graph::{ElementId, GraphView, Token, Value, compare, record};
use mangrove_query::Shape;

/// Whether all results have the shape.
pub fn fit(view: &dyn GraphView, shape: &Shape, results: &[Value]) -> bool {
    match shape {
        Shape::Unknown => false,
        Shape::Values => true,
        Shape::Groups => matches!(results, [] | [Value::Map(_)]),
        _ => results.iter().filter(|value| !matches!(value, Value::Null)).all(|value| fits(view, shape, value)),
    }
}

fn fits(view: &dyn GraphView, shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Entries, Value::Entry(_) | Value::Property(_) | Value::VertexProperty(_)) => true,
        (Shape::Maps { keys, id_is_key }, Value::Map(map)) => {
            let same = match (map.get(&Token::Id.into()), map.get_str(Token::Id.name())) {
                (Some(own), Some(property)) => compare::equals(own, property),
                _ => true,
            };
            (same || !id_is_key) && map.iter().all(|(key, _)| keys.contains(key))
        }
        (Shape::Elements { edges, keys, id_is_key }, Value::Vertex(_) | Value::Edge(_)) => {
            let element = value.element_id().expect("an element");
            let is_expected = *edges || matches!(element, ElementId::Vertex(_));
            is_expected
                && (!id_is_key || id_is_own(view, element))
                && properties(view, element).iter().all(|name| keys.iter().any(|key| **key == *name))
        }
        _ => false,
    }
}

/// Whether the property `id` of a vertex, if it has one, equals its id.
fn id_is_own(view: &dyn GraphView, element: ElementId) -> bool {
    let ElementId::Vertex(vertex) = element else { return false };
    let Some(key) = view.schema().key(Token::Id.name()) else { return true };
    let (Ok(cell), Ok(own)) = (view.cell(element, key), record::vertex_id(view, vertex)) else { return true };
    cell.values().next().is_none_or(|value| compare::equals(value, &own))
}

fn properties(view: &dyn GraphView, element: ElementId) -> Vec<String> {
    let keys = (0..view.schema().keys.len() as u16).map(mangrove_graph::KeyId);
    let has = |key: &mangrove_graph::KeyId| view.cell(element, *key).is_ok_and(|cell| cell.values().next().is_some());
    keys.filter(has).map(|key| view.schema().key_name(key).to_string()).collect()
}
