//! Steps that sort their input or keep a part of it: the first, the last and some of many.

use mangrove_graph::{Cell, ElementKind, Elements, GraphWrite, IdSpace, PropertyColumn, Value};
use mangrove_query::{Parameters, QueryOptions};
use mangrove_testkit::Oracle;

use crate::*;

#[test]
fn the_first_of_an_order_are_those_of_the_whole_order() {
    let graph = hubs();
    // Many ties by the first modulator. For some vertices the second gives nothing.
    let order = "g.V().order().by(out().count(), desc).by(in().has('x').count()).by(id)";
    let partial = "g.V().order().by(out().count()).by(out().id().min()).by(id)";
    for text in [order, partial] {
        let whole = run(&graph, text);
        for n in [0, 1, 7, 100] {
            assert_eq!(run(&graph, &format!("{text}.limit({n})")), whole[..n.min(whole.len())], "{text} {n}");
        }
        assert_eq!(run(&graph, &format!("{text}.range(3, 9)")), whole[3..9]);
    }
}

#[test]
fn the_last_and_some_of_many() {
    let graph = hubs();
    let all = run(&graph, "g.V().out().out().limit(5000).id()");
    assert_eq!(all.len(), 5000);
    for n in [0usize, 1, 1500, 4999, 5000] {
        assert_eq!(run(&graph, &format!("g.V().out().out().limit(5000).tail({n}).id()")), all[5000 - n..], "{n}");
        assert_eq!(run(&graph, &format!("g.V().out().out().limit(5000).sample({n})")).len(), n);
    }
    assert_eq!(run(&graph, &format!("g.V().out().out().limit(5000).tail({}).id()", i64::MAX)), all);
    // By weight: an item without weight is never drawn, however many are wanted.
    let light = "g.inject(0, 0, 3, 0, 5).sample(4).by().fold()";
    let drawn = one(&graph, light).items().unwrap();
    assert_eq!(drawn.iter().filter_map(Value::as_i64).collect::<Vec<_>>(), [3, 5]);
    let heavier =
        run(&graph, "g.inject(1, 1000).repeat(identity()).times(1).map(union(identity(), constant(1)).sample(1).by())");
    assert_eq!(heavier.len(), 2);
}

#[test]
fn many_rows_are_sorted_as_few_are() {
    let graph = hubs();
    let of = |text: &str| run(&graph, text).iter().filter_map(Value::as_i64).collect::<Vec<_>>();
    let mut ids = of("g.V().out().out().out().limit(50000).id()");
    assert_eq!(ids.len(), 50_000);
    let ordered = of("g.V().out().out().out().limit(50000).id().order()");
    let first = of("g.V().out().out().out().limit(50000).id().order().by(desc).limit(7)");
    ids.sort_unstable();
    assert_eq!(ordered, ids);
    assert_eq!(first, ids.iter().rev().take(7).copied().collect::<Vec<_>>());
}

/// Far more rows than a sort looks at between two checks for a stop, with many ties.
#[test]
fn the_first_of_very_many_are_those_of_a_whole_sort() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let label = graph.ensure_label(ElementKind::Vertex, "thing").unwrap();
    let (key, other) = (graph.ensure_key("n").unwrap(), graph.ensure_key("tie").unwrap());
    let mut things = Vec::new();
    graph.add_vertices(label, &vec![None; 60_000], &mut things).unwrap();
    let scattered = |at: i64| (at * 7919) % 60_000;
    let cells = |of: fn(i64) -> Value| (0..60_000).map(|at| Cell::One(of(scattered(at)))).collect();
    let whole = PropertyColumn::Cells(cells(|n| Value::Int64(n / 40 - 700)));
    graph.set_properties(Elements::Vertices(&things), key, &whole).unwrap();
    let ties = PropertyColumn::Cells(cells(|n| Value::Float64((n % 7) as f64)));
    graph.set_properties(Elements::Vertices(&things), other, &ties).unwrap();
    for by in [".by('n')", ".by('n', desc)", ".by('tie').by('n', desc)", ".by('tie', desc).by('n')"] {
        for limit in [1, 20, 41, 9_000, 20_000, 59_999] {
            let text = format!("g.V().order(){by}.limit({limit}).id()");
            let all = QueryOptions { rules_off: vec!["top".into()], ..QueryOptions::default() };
            let expected = run_with(&graph, &text, &Parameters::new(), &all).unwrap();
            assert_eq!(run(&graph, &text), expected, "{text}");
        }
    }
}
