//! Searches from both ends give what searches from the source alone give.

use mangrove_graph::{ElementId, Value};

use super::*;

/// Results with the rule, and without it.
fn both(graph: &Oracle, text: &str) -> [Vec<String>; 2] {
    let off = QueryOptions { rules_off: vec!["both-ends".into()], ..QueryOptions::default() };
    [QueryOptions::default(), off].map(|options| {
        let found = run_with(graph, text, &Parameters::new(), &options);
        found.unwrap_or_else(|e| panic!("{text}: {}", e.render())).iter().map(ToString::to_string).collect()
    })
}

/// A graph of 40 vertices, most of them open, with parallel edges, loops and lengths, in parts that no edge joins.
fn sparse(seed: u64) -> Oracle {
    let mut graph = Oracle::new(IdSpace::Graph);
    let label = graph.ensure_label(ElementKind::Vertex, "v").unwrap();
    let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
    let length = graph.ensure_key("length").unwrap();
    let mut vertices: Vec<VertexId> = Vec::new();
    graph.add_vertices(label, &(0..40).map(|id| Some(id.into())).collect::<Vec<_>>(), &mut vertices).unwrap();
    let open = graph.ensure_key("open").unwrap();
    for vertex in vertices.iter().filter(|vertex| vertex.local() % 4 != 2) {
        graph.set_cell(ElementId::Vertex(*vertex), open, mangrove_graph::Cell::One(true.into())).unwrap();
    }
    for (at, (source, target)) in graphs::rmat(5, 70, seed).into_iter().enumerate() {
        let edge = NewEdge { source: vertices[source as usize], target: vertices[target as usize], id: None, time: None };
        let mut added = Vec::new();
        graph.add_edges(knows, &[edge], &mut added).unwrap();
        let of = Value::Float64([0.1, 0.2, 0.3, 1.0][at % 4]);
        graph.set_cell(ElementId::Edge(added[0]), length, mangrove_graph::Cell::One(of)).unwrap();
    }
    graph
}

#[test]
fn a_repeat_finds_the_same_way_from_both_ends() {
    let mut found = 0;
    for seed in 0..6 {
        let graph = sparse(seed);
        for target in 0..34 {
            for (body, after) in [
                ("out().dedup()", ".path()"),
                ("both().simplePath()", ".limit(1).path()"),
                ("in('knows').dedup()", ".limit(1).id()"),
                ("both('knows').barrier().dedup()", ".path().limit(1).count(local)"),
                ("both().dedup()", ".as('end').out().select('end').id().dedup()"),
            ] {
                // Without dedup(), the rounds would visit all simple paths to a vertex that is out of reach.
                if body.contains("simple")
                    && run(&graph, &format!("g.V(0).repeat(both().dedup()).until(hasId({target}))")).is_empty()
                {
                    continue;
                }
                for until in [format!("hasId({target})"), format!("hasId({target}, {})", (target * 7 + 3) % 40)] {
                    for text in [
                        format!("g.V(0).repeat({body}).until({until}){after}"),
                        format!("g.V(0).until({until}).repeat({body}){after}"),
                    ] {
                        let [with, without] = both(&graph, &text);
                        assert_eq!(with, without, "seed {seed}: {text}");
                        found += with.len();
                    }
                }
            }
        }
    }
    assert!(found > 500, "{found}");
}

#[test]
fn shortest_paths_are_the_same_from_both_ends() {
    let mut found = 0;
    for seed in 0..6 {
        let graph = sparse(seed);
        for target in 0..34 {
            for options in [
                "",
                ".with(ShortestPath.includeEdges)",
                ".with(ShortestPath.edges, Direction.OUT)",
                ".with(ShortestPath.edges, __.inE().has('length', lt(1.0)))",
                ".with(ShortestPath.maxDistance, 2)",
                ".with(ShortestPath.maxDistance, 2.5)",
                ".with(ShortestPath.edges, __.bothE().where(__.otherV().has('open')))",
                ".with(ShortestPath.edges, __.bothE().where(__.inV().hasId(gt(3))))",
                ".with(ShortestPath.distance, 'length')",
                ".with(ShortestPath.distance, 'length').with(ShortestPath.edges, __.outE('knows')).with(ShortestPath.includeEdges)",
                ".with(ShortestPath.distance, 'length').with(ShortestPath.maxDistance, 0.45)",
            ] {
                let of = format!("hasId({target}, {})", (target * 5 + 2) % 34);
                for to in [format!("hasId({target})"), of] {
                    let text = format!("g.V(0, 3).shortestPath().with(ShortestPath.target, {to}){options}");
                    let [mut with, mut without] = both(&graph, &text);
                    with.sort_unstable();
                    without.sort_unstable();
                    assert_eq!(with, without, "seed {seed}: {text}");
                    found += with.len();
                }
            }
        }
    }
    assert!(found > 5_000, "{found}");
}

/// The two ends of an edge are found without looking at the rest of the graph.
#[test]
fn what_is_near_takes_little_memory() {
    let graph = hubs();
    let pair = run(&graph, "g.V().filter(bothE().count().is(lt(8))).both().limit(1).path().by(id).unfold()");
    let [from, to] = &pair[..] else { panic!("{pair:?}") };
    let text = format!("g.V({from}).shortestPath().with(ShortestPath.target, hasId({to})).count()");
    let little = |rules_off: &[&str]| QueryOptions {
        memory_bytes_max: 32 << 10,
        rules_off: rules_off.iter().map(|rule| (*rule).to_owned()).collect(),
        ..QueryOptions::default()
    };
    assert_eq!(run_with(&graph, &text, &Parameters::new(), &little(&[])).unwrap(), [Value::Int64(1)]);
    assert!(run_with(&graph, &text, &Parameters::new(), &little(&["both-ends"])).is_err());
}

#[test]
fn the_repeat_itself_runs_where_both_ends_would_not_do() {
    let graph = sparse(1);
    for text in [
        // From several vertices, each is visited once in all.
        "g.V(0, 1, 2, 3).repeat(out().dedup()).until(hasId(9)).path()",
        // A way back to where it began.
        "g.V(0).repeat(out()).until(hasId(0)).limit(1).path()",
        "g.V(0).repeat(both().simplePath()).until(hasId(0, 2)).limit(1).path()",
        "g.V(3).repeat(both()).until(hasId(3)).limit(1).count()",
        "g.V(0).until(hasId(0, 2)).repeat(both()).limit(1).path()",
        "g.V(0).repeat(both().dedup()).until(hasId(0)).path()",
        "g.V(0).until(hasId(0)).repeat(both().dedup()).path()",
        // A path must not meet what it has visited before.
        "g.V(0).both().repeat(both().simplePath()).until(hasId(2)).limit(1).path()",
        "g.V(0).as('a').repeat(both().dedup().as('b')).until(hasId(2)).select('b').id()",
        "g.V(0).repeat(both().dedup()).until(hasId(99))",
        "g.V(99).repeat(both().dedup()).until(hasId(2))",
        "g.V(0).repeat(both().dedup()).until(hasId(2)).emit().count()",
        "g.V(0).repeat(both().dedup()).until(hasId(1, 2, 3, 4)).count()",
        "g.V(0).repeat(both().dedup()).until(has('name', 'x')).count()",
        "g.V(0).repeat(both().dedup()).until(hasId(2)).path().limit(1)",
        "g.V(0).repeat(outE().inV().dedup()).until(hasId(2)).id()",
        "g.V(0).repeat(outE().has('length', lt(1.0)).inV().dedup()).until(hasId(2)).id()",
        "g.V(0).where(repeat(both().dedup()).until(hasId(2))).id()",
    ] {
        let [with, without] = both(&graph, text);
        assert_eq!(with, without, "{text}");
    }
}

/// Rounding must not decide whether a path is short enough, nor may lengths beyond all numbers make one.
#[test]
fn lengths_are_added_up_from_the_source() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let (label, knows) =
        (graph.ensure_label(ElementKind::Vertex, "v").unwrap(), graph.ensure_label(ElementKind::Edge, "knows").unwrap());
    let length = graph.ensure_key("length").unwrap();
    let mut vertices: Vec<VertexId> = Vec::new();
    graph.add_vertices(label, &(0..20).map(|id| Some(id.into())).collect::<Vec<_>>(), &mut vertices).unwrap();
    let mut add = |source: usize, target: usize, of: f64| {
        let edge = NewEdge { source: vertices[source], target: vertices[target], id: None, time: None };
        let mut added = Vec::new();
        graph.add_edges(knows, &[edge], &mut added).unwrap();
        graph.set_cell(ElementId::Edge(added[0]), length, mangrove_graph::Cell::One(of.into())).unwrap();
    };
    [(0, 1, 0.3), (1, 2, 0.0), (2, 3, 0.2), (3, 4, 0.1)].into_iter().for_each(|(a, b, of)| add(a, b, of));
    (5..11).for_each(|leaf| add(0, leaf, 0.55));
    [(11, 12, f64::INFINITY), (13, 14, 1e308), (14, 15, 1e308)].into_iter().for_each(|(a, b, of)| add(a, b, of));
    for (from, to, most, paths) in
        [(0, 4, 0.6, 1), (0, 4, 0.59, 0), (11, 12, 1e9, 0), (13, 15, f64::MAX, 0), (13, 14, 1e308, 1)]
    {
        let text = format!(
            "g.V({from}).shortestPath().with(ShortestPath.edges, Direction.OUT).with(ShortestPath.distance, 'length')
             .with(ShortestPath.maxDistance, {most:?}).with(ShortestPath.target, hasId({to}))"
        );
        assert_eq!(both(&graph, &text).map(|found| found.len()), [paths; 2], "{text}");
    }
}

#[test]
fn a_search_without_end_ends() {
    let graph = sparse(1);
    // No vertex 38 has an edge. The rounds alone would go on for ever.
    assert_eq!(run(&graph, "g.V(0).repeat(both()).until(hasId(38)).limit(1)"), []);
}
