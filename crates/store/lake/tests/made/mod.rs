//! Elements of graphs that tests make.

use mangrove_graph::{Cell, EdgeId, ElementId, ElementKind, GraphWrite, NewEdge, Value, VertexId};
use mangrove_testkit::Oracle;

/// Vertices of a label with integers as ids.
pub fn vertices(graph: &mut Oracle, label: &str, ids: std::ops::Range<i64>) -> Vec<VertexId> {
    let label = graph.ensure_label(ElementKind::Vertex, label).unwrap();
    let mut all = Vec::new();
    graph.add_vertices(label, &ids.map(|id| Some(id.into())).collect::<Vec<_>>(), &mut all).unwrap();
    all
}

pub fn edges(graph: &mut Oracle, label: &str, ends: impl IntoIterator<Item = (VertexId, VertexId)>) -> Vec<EdgeId> {
    let label = graph.ensure_label(ElementKind::Edge, label).unwrap();
    let edge = |(source, target)| NewEdge { source, target, id: None, time: None };
    let mut all = Vec::new();
    graph.add_edges(label, &ends.into_iter().map(edge).collect::<Vec<_>>(), &mut all).unwrap();
    all
}

pub fn set(graph: &mut Oracle, element: ElementId, key: &str, value: impl Into<Value>) {
    let key = graph.ensure_key(key).unwrap();
    graph.set_cell(element, key, Cell::One(value.into())).unwrap();
}
