//! Samples of graphs on which an order is tried.

use mangrove_analytics::watched;
use mangrove_graph::{ElementKind, GraphError, GraphWrite, NewEdge, ReadContext, VertexId};
use mangrove_layout::{Layout, Sample, Ties, order};
use mangrove_testkit::Oracle;

fn graph(vertices: usize, edges: impl Iterator<Item = (usize, usize)>) -> Oracle {
    let mut graph = Oracle::default();
    let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
    let mut ids: Vec<VertexId> = Vec::new();
    graph.add_vertices(person, &vec![None; vertices], &mut ids).unwrap();
    let edge = |(source, target): (usize, usize)| NewEdge { source: ids[source], target: ids[target], id: None, time: None };
    let edges: Vec<NewEdge> = edges.map(edge).collect();
    graph.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    graph
}

#[test]
fn a_hub_does_not_make_a_sample_large() {
    let star = graph(10_001, (1..=10_000).map(|leaf| (leaf, 0)));
    let sample = Sample::draw(&star, 3_200, 1, &mut |_| Ok(())).unwrap();
    // The hub stays at the rim. Reading it would use up the sample for the first leaf.
    assert_eq!(sample.vertices(), 4, "a leaf in each ball");
}

#[test]
fn a_sample_tells_that_scattered_groups_can_be_put_together() {
    // Vertex n is of group n % 50; groups of 40 are all linked within, and each to the next by one edge.
    let within = (0..2_000).flat_map(|one| (one % 50..one).step_by(50).map(move |other| (one, other)));
    let scattered = graph(2_000, within.chain((0..49).map(|group| (group, group + 1))));
    let sample = Sample::draw(&scattered, 20_000, 1, &mut |_| Ok(())).unwrap();
    let compare = |run: &_| sample.compare(|links| order(links, Layout::Community, Ties::Uniform, run), 400, run);
    let (before, after) = watched(2, &ReadContext::default(), &mut |_| (), compare).unwrap();
    assert!(after.blocks_per_list() < 0.6 * before.blocks_per_list(), "{before:?} {after:?}");
    assert!(after.bits < before.bits);
}

#[test]
fn it_stops_when_it_is_told_to() {
    let star = graph(1_001, (1..=1_000).map(|leaf| (leaf, leaf - 1)));
    let stopped = Sample::draw(&star, 500, 1, &mut |_| Err(GraphError::Stopped.into()));
    assert!(stopped.is_err());
}
