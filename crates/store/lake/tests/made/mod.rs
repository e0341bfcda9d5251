//! Graphs that tests make. Each test uses some of it.
#![allow(dead_code)]

use mangrove_graph::{Cell, EdgeId, ElementId, ElementKind, GraphWrite, IdSpace, NewEdge, Value, VertexId};
use mangrove_testkit::{Oracle, graphs};

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

/// A graph with parallel edges, loops, vertices without edges, and edges of one label between several labels; and its people.
pub fn tangled(space: IdSpace) -> (Oracle, Vec<VertexId>) {
    let mut graph = Oracle::new(space);
    let people = vertices(&mut graph, "person", 0..40);
    let places = vertices(&mut graph, "place", 100..103);
    let several = [(3, 5), (3, 5), (3, 4), (5, 3), (3, 5), (7, 7), (7, 7), (20, 0), (0, 20), (39, 38), (39, 38)];
    for (n, edge) in edges(&mut graph, "knows", several.map(|(a, b)| (people[a], people[b]))).into_iter().enumerate() {
        set(&mut graph, ElementId::Edge(edge), "n", n as i64);
    }
    edges(&mut graph, "knows", [(places[0], people[0]), (people[0], places[1]), (places[2], places[2])]);
    edges(&mut graph, "lives in", people.iter().map(|person| (*person, places[1])).collect::<Vec<_>>());
    (graph, people)
}

/// A graph whose edges fill several chunks.
pub fn large(space: IdSpace) -> Oracle {
    let mut graph = Oracle::new(space);
    let people = vertices(&mut graph, "person", 0..512);
    let ends: Vec<_> = graphs::rmat(9, 4096, 7).into_iter().map(|(s, t)| (people[s as usize], people[t as usize])).collect();
    for (n, edge) in edges(&mut graph, "knows", ends).into_iter().enumerate() {
        set(&mut graph, ElementId::Edge(edge), "weight", n as f64 / 4.0);
    }
    graph
}
