//! Steps that compute a property of all vertices, which the rest of the query reads.

use mangrove_query::{QueryErrorKind, QueryOptions};

use mangrove_graph::{ElementKind, GraphWrite, NewEdge};

use super::{Oracle, error, one, run};

const RANKED: &str = "g.V().pageRank().with(PageRank.propertyName, 'rank')";

fn texts(graph: &Oracle, text: &str) -> Vec<String> {
    run(graph, text).iter().map(ToString::to_string).collect()
}

#[test]
fn every_step_sees_what_was_computed() {
    let graph = &Oracle::modern();
    let above = "where(values('rank').is(gt(0.17))).values('name').order()";
    assert_eq!(texts(graph, &format!("{RANKED}.{above}")), ["lop", "ripple"]);
    for steps in [
        "has('rank', gt(0.17)).values('name').order()",
        "limit(1).V().has('rank', gt(0.17)).values('name').order()",
        "limit(1).V().hasLabel('software').has('rank', gt(0.17)).values('name').order()",
        "has('rank', gt(0.17)).valueMap('name', 'rank').select('name').unfold().order()",
        "elementMap('name', 'rank').where(select('rank').is(gt(0.17))).select('name').order()",
        "order().by('rank', desc).limit(2).values('name')",
    ] {
        let found = texts(graph, &format!("{RANKED}.{steps}"));
        assert_eq!(found, ["lop", "ripple"], "{steps}");
    }
    assert_eq!(one(graph, &format!("{RANKED}.limit(1).V().has('rank', gt(0.17)).count()")).to_string(), "2");
    assert_eq!(
        one(graph, &format!("{RANKED}.has('name', 'lop').valueMap().select(keys)")).to_string(),
        "{name, lang, rank}"
    );
    assert_eq!(one(graph, &format!("{RANKED}.limit(1).E().has('rank').count()")).to_string(), "0");
    assert_eq!(one(graph, &format!("{RANKED}.outE().has('rank', gt(0)).count()")).to_string(), "0");
    assert_eq!(one(graph, &format!("{RANKED}.has('rank', gt(1)).count()")).to_string(), "0");
}

#[test]
fn what_is_computed_goes_with_the_query() {
    let graph = &Oracle::modern();
    assert_eq!(run(graph, &format!("{RANKED}.values('rank')")).len(), 6);
    assert_eq!(run(graph, "g.V().values('rank')").len(), 0);
}

/// The ranks begin with the traversers, and keep their sum. `V()` alone begins with 1 in all.
#[test]
fn ranks_begin_where_the_traversers_are() {
    let graph = &Oracle::modern();
    let sum = |text: &str| one(graph, text).as_f64().unwrap();
    assert!((sum(&format!("{RANKED}.values('rank').sum()")) - 1.0).abs() < 1e-12);
    let twice = "g.V().hasLabel('person').out('created').pageRank().with(PageRank.propertyName, 'rank').limit(1).V()";
    assert!((sum(&format!("{twice}.values('rank').sum()")) - 4.0).abs() < 1e-12);
    let first = "g.V().out('created').pageRank().with(PageRank.times, 0).with(PageRank.propertyName, 'rank').dedup()";
    assert_eq!(texts(graph, &format!("{first}.order().by('name').values('rank')")), ["3.0", "1.0"]);
}

#[test]
fn the_edges_may_be_chosen() {
    let graph = &Oracle::modern();
    let rank_of = |edges: &str, name: &str| {
        let text = format!("{RANKED}.with(PageRank.edges, {edges}).has('name', '{name}').values('rank')");
        one(graph, &text).as_f64().unwrap()
    };
    // Only those that edges lead to have more than the others.
    assert!(rank_of("outE('knows')", "vadas") > rank_of("outE('knows')", "lop"));
    assert!(rank_of("inE('knows')", "marko") > rank_of("inE('knows')", "vadas"));
    assert_eq!(
        rank_of("outE('knows').has('weight', gt(0.9))", "vadas"),
        rank_of("outE('knows').has('weight', gt(0.9))", "lop")
    );
    assert!(rank_of("outE().has('weight', gt(0.9))", "josh") > rank_of("outE().has('weight', gt(0.9))", "vadas"));
    let none = "with(ConnectedComponent.edges, bothE('knows').has('nothing', 1)).with(ConnectedComponent.propertyName, 'c')";
    assert_eq!(one(graph, &format!("g.V().connectedComponent().{none}.values('c').dedup().count()")).to_string(), "6");
}

#[test]
fn peers_agree_on_clusters() {
    let graph = &Oracle::modern();
    let clusters = "g.V().peerPressure().with(PeerPressure.propertyName, 'c')";
    assert_eq!(
        one(graph, &format!("{clusters}.group().by('c').by(count()).order(local).by(keys)")).to_string(),
        "{1=5, 6=1}"
    );
    assert_eq!(one(graph, &format!("{clusters}.with(PeerPressure.times, 0).values('c').dedup().count()")).to_string(), "6");
}

/// As TinkerPop does, ties are decided by the texts of ids.
#[test]
fn ties_between_clusters_are_decided_by_text() {
    let mut graph = Oracle::new(mangrove_graph::IdSpace::Graph);
    let (label, knows) =
        (graph.ensure_label(ElementKind::Vertex, "v").unwrap(), graph.ensure_label(ElementKind::Edge, "e").unwrap());
    let mut vertices = Vec::new();
    graph.add_vertices(label, &[Some(9.into()), Some(10.into()), Some(20.into()), Some("9".into())], &mut vertices).unwrap();
    let edge = |source: usize| NewEdge { source: vertices[source], target: vertices[2], id: None, time: None };
    graph.add_edges(knows, &[edge(0), edge(1)], &mut Vec::new()).unwrap();
    let all = "g.V().peerPressure().with(PeerPressure.propertyName, 'c').with(PeerPressure.times, 1).hasId(20).values('c')";
    assert_eq!(texts(&graph, all), ["10"]);
    // The number 9 and the text 9 are in different components.
    let parts = "g.V().connectedComponent().with(ConnectedComponent.propertyName, 'c').values('c').dedup().order()";
    assert_eq!(texts(&graph, parts), ["10", "9"]);
}

#[test]
fn a_component_is_named_by_its_first_id_as_text() {
    let graph = &Oracle::modern();
    let components = "g.V().connectedComponent().with(ConnectedComponent.propertyName, 'c')";
    let knows = format!("{components}.with(ConnectedComponent.edges, bothE('knows'))");
    assert_eq!(one(graph, &format!("{components}.values('c').dedup()")).to_string(), "1");
    assert_eq!(texts(graph, &format!("{knows}.values('c').dedup().order()")), ["1", "3", "5", "6"]);
}

#[test]
fn what_a_step_cannot_compute_is_refused() {
    let graph = &Oracle::modern();
    for (text, says) in [
        ("g.V().where(pageRank())", "pageRank() looks at the whole graph, so it cannot stand inside another step"),
        ("g.V().pageRank().and().out()", "pageRank() looks at the whole graph, so it cannot stand inside another step"),
        ("g.V().pageRank().property('x', 1)", "so the query cannot change it"),
        (
            "g.withStrategies(new SubgraphStrategy(vertices: hasLabel('person'))).V().connectedComponent()",
            "connectedComponent() looks at the whole graph, not at what a strategy lets through",
        ),
        ("g.V().pageRank().with(PageRank.propertyName, 'name')", "the graph has the property `name` already"),
        ("g.V().pageRank().pageRank()", "another step has the property"),
        ("g.V().pageRank().with(PageRank.edges, out())", "follows outE(…), inE(…) or bothE(…)"),
        ("g.V().pageRank().with(PageRank.edges, outE().limit(1))", "follows outE(…), inE(…) or bothE(…)"),
        ("g.V().pageRank().with(PageRank.edges, outE().hasId(7))", "follows outE(…), inE(…) or bothE(…)"),
        ("g.V().connectedComponent().with(ConnectedComponent.edges, outE())", "follows its edges in both directions"),
        ("g.V().pageRank().with('depth', 3)", "pageRank() has the options edges, propertyName and times"),
        ("g.V().connectedComponent().with(PageRank.times, 3)", "has the options edges and propertyName"),
        ("g.V().pageRank(1.5)", "needs a share from 0 to 1, not 1.5"),
        ("g.V().pageRank().with(PageRank.propertyName, '')", "a property has a name"),
        ("g.E().pageRank()", "pageRank works on a vertex"),
    ] {
        let refused = error(graph, text, &QueryOptions::default());
        assert!(refused.message.contains(says), "{text}: {}", refused.message);
        assert!(refused.span.is_some(), "{text}");
    }
    let little = QueryOptions { memory_bytes_max: 64, ..QueryOptions::default() };
    assert_eq!(error(graph, "g.V().pageRank()", &little).kind, QueryErrorKind::Memory);
}
