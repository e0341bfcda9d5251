//! The engine on graphs in memory: what TinkerPop's scenarios do not cover.

mod answers;
mod computed;
mod ends;
mod gathered;
mod limits;
mod messages;
mod order;
mod plans;
mod rules;
mod writes;

use std::collections::HashMap;

use mangrove_graph::{ElementKind, GraphWrite, IdSpace, NewEdge, Value, VertexId};
use mangrove_query::{Graph, Parameters, Query, QueryError, QueryOptions};
use mangrove_testkit::{Oracle, graphs};

fn run_with(graph: &Oracle, text: &str, parameters: &Parameters, options: &QueryOptions) -> Result<Vec<Value>, QueryError> {
    let mut graph = Graph::Read(graph);
    Query::parse(text)?.execute(&mut graph, parameters, options)?.collect(&mut graph)
}

fn run(graph: &Oracle, text: &str) -> Vec<Value> {
    run_with(graph, text, &Parameters::new(), &QueryOptions::default()).unwrap_or_else(|e| panic!("{text}: {}", e.render()))
}

fn error(graph: &Oracle, text: &str, options: &QueryOptions) -> QueryError {
    run_with(graph, text, &Parameters::new(), options).expect_err(text)
}

fn one(graph: &Oracle, text: &str) -> Value {
    let mut all = run(graph, text);
    assert_eq!(all.len(), 1, "{text}: {all:?}");
    all.remove(0)
}

/// A graph with hubs: 512 vertices of one label, 4096 edges.
fn hubs() -> Oracle {
    let mut graph = Oracle::new(IdSpace::Graph);
    let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
    let mut vertices: Vec<VertexId> = Vec::new();
    graph.add_vertices(person, &(0..512).map(|id| Some(id.into())).collect::<Vec<_>>(), &mut vertices).unwrap();
    let edges: Vec<NewEdge> = graphs::rmat(9, 4096, 7)
        .into_iter()
        .map(|(s, t)| NewEdge { source: vertices[s as usize], target: vertices[t as usize], id: None, time: None })
        .collect();
    graph.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    graph
}

/// Results as a multiset.
fn bag(values: Vec<Value>) -> HashMap<String, usize> {
    let mut bag = HashMap::new();
    for value in values {
        *bag.entry(value.to_string()).or_default() += 1;
    }
    bag
}
