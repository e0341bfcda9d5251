//! Property indexes: their answers, and that every write keeps them up to date.

use mangrove_graph::{
    Comparison, EdgeRef, Elements, GraphView, IdSpace, LabelId, Predicate, PropertyColumn, PropertyValue, Value,
};

use super::*;

pub(super) const CASES: &[Case] = &[
    ("an index answers equality and ranges", an_index_answers_equality_and_ranges),
    ("an index follows every write", an_index_follows_every_write),
    ("an index takes values of every type", an_index_takes_values_of_every_type),
    ("long texts that begin alike", long_texts_that_begin_alike),
    ("an index is made once and dropped", an_index_is_made_once_and_dropped),
    ("an index of edges follows every write", an_index_of_edges_follows_every_write),
    ("an index of edges is sealed with them", an_index_of_edges_is_sealed_with_them),
    ("an index of the times of edges", an_index_of_the_times_of_edges),
];

fn set_edge(graph: &mut dyn GraphWrite, edge: EdgeId, key: KeyId, value: impl Into<Value>) {
    graph.set_cell(ElementId::Edge(edge), key, Cell::One(value.into())).unwrap();
}

/// The edges with a value: the numbers of their ends.
fn edges_with(view: &dyn GraphView, key: &str, value: impl Into<Value>) -> Vec<[u64; 2]> {
    let key = view.schema().key(key).unwrap();
    let found = view
        .search_all(PropertyId::of_edges(LabelId(0), key), &Predicate::eq(value))
        .unwrap()
        .expect("the index answers this");
    let ends = |edge: &EdgeRef| [edge.source, edge.target].map(|end| numbers(view, &[end])[0]);
    let mut ends: Vec<[u64; 2]> = found.into_edges().iter().map(ends).collect();
    ends.sort_unstable();
    ends
}

fn an_index_of_edges_follows_every_write(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, since) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "since"));
        let v = add_vertices(graph, thing, 0..4);
        v.iter().for_each(|vertex| set_vertex(graph, *vertex, since, 2i64));
        let edges = add_edges(graph, knows, [(v[0], v[1]), (v[1], v[2]), (v[2], v[3]), (v[3], v[0]), (v[0], v[2])]);
        edges[..3].iter().for_each(|edge| set_edge(graph, *edge, since, 2i64));
        // The numbers of label and key are the same for vertices and edges.
        assert!(graph.create_index(PropertyId::of_vertices(thing, since)).unwrap());
        assert!(graph.create_index(PropertyId::of_edges(knows, since)).unwrap());
        set_edge(graph, edges[1], since, 3i64);
        let column = mangrove_graph::column::array_of(&[Some(&Value::Int64(3)), Some(&Value::Int64(4))]).unwrap();
        let ends =
            [EdgeRef { id: edges[3], source: v[3], target: v[0] }, EdgeRef { id: edges[4], source: v[0], target: v[2] }];
        graph.set_properties(Elements::Edges(&ends), since, &PropertyColumn::Typed(column)).unwrap();
        graph.set_cell(ElementId::Edge(edges[2]), since, Cell::Absent).unwrap();
        graph.remove_edges(&ends[1..]).unwrap();
    });
    let view = store.snapshot().unwrap();
    assert_eq!(edges_with(&*view, "since", 2i64), [[0, 1]]);
    assert_eq!(edges_with(&*view, "since", 3i64), [[1, 2], [3, 0]]);
    assert_eq!(edges_with(&*view, "since", 4i64), [[0u64; 2]; 0]);
    let since = view.schema().key("since").unwrap();
    let vertices = view.search_all(PropertyId::of_vertices(LabelId(0), since), &Predicate::eq(2i64)).unwrap().unwrap();
    assert_eq!(vertices.len(), 4, "each index has its own elements");
    assert_clean(&*store);
}

fn an_index_of_edges_is_sealed_with_them(make: Make<'_>) {
    let mut store = make(IdSpace::Graph);
    let (since, v, edges) = committed(&*store, |graph| {
        let (thing, knows, since) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "since"));
        let v = add_vertices(graph, thing, 0..300);
        let edges = add_edges(graph, knows, (0..299).map(|at| (v[at], v[at + 1])));
        (0i64..).zip(&edges).for_each(|(at, edge)| set_edge(graph, *edge, since, at % 100));
        graph.create_index(PropertyId::of_edges(knows, since)).unwrap();
        (since, v, edges)
    });
    for (round, how) in [Condensing::Seal, Condensing::Merge, Condensing::Compact].into_iter().enumerate() {
        store.condense(how, &|| false).unwrap();
        store.reopen().unwrap();
        let moved = edges[200 + round];
        committed(&*store, |graph| {
            set_edge(graph, moved, since, 7i64);
            let at = 7 + 100 * round;
            graph.remove_edges(&[EdgeRef { id: edges[at], source: v[at], target: v[at + 1] }]).unwrap();
        });
        let found: Vec<u64> = edges_with(&*store.snapshot().unwrap(), "since", 7i64).iter().map(|edge| edge[0]).collect();
        let old = (0..3).map(|at| 7 + 100 * at).filter(|at| *at > 7 + 100 * round as u64);
        let new = (0..=round as u64).map(|at| 200 + at);
        let mut expected: Vec<u64> = old.chain(new).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "after {how:?}");
    }
    assert_clean(&*store);
}

fn an_index_of_the_times_of_edges(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, at) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "at"));
        graph.declare_time(knows, at).unwrap();
        graph.create_index(PropertyId::of_edges(knows, at)).unwrap();
        let v = add_vertices(graph, thing, 0..2);
        let new = |time: i64| NewEdge { source: v[0], target: v[1], id: None, time: Some(Value::Int64(time)) };
        graph.add_edges(knows, &[new(5), new(9), new(5)], &mut Vec::new()).unwrap();
    });
    assert_eq!(edges_with(&*store.snapshot().unwrap(), "at", 5i64), [[0, 1], [0, 1]]);
}

fn search(view: &dyn GraphView, predicate: Predicate) -> Vec<u64> {
    let key = view.schema().key("age").unwrap();
    let found =
        view.search_all(PropertyId::of_vertices(LabelId(0), key), &predicate).unwrap().expect("the index answers this");
    numbers(view, &found.into_vertices())
}

fn an_index_answers_equality_and_ranges(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, other, age) = (vertex_label(graph, "thing"), vertex_label(graph, "other"), key(graph, "age"));
        let ages = [Value::Int32(30), Value::Int64(30), Value::Float64(30.0), Value::Int8(-5), "30".into(), Value::Null];
        let v = add_vertices(graph, thing, 0..ages.len() as i64);
        v.iter().zip(ages).for_each(|(vertex, value)| set_vertex(graph, *vertex, age, value));
        let unlike = add_vertices(graph, other, [100])[0];
        set_vertex(graph, unlike, age, 30i32);
        assert!(graph.create_index(PropertyId::of_vertices(thing, age)).unwrap());
    });
    let view = store.snapshot().unwrap();
    let compare = |comparison, value: Value| search(&*view, Predicate::Compare(comparison, value));
    for thirty in [Value::Int8(30), Value::Int16(30), Value::Int64(30), Value::Float32(30.0)] {
        assert_eq!(compare(Comparison::Eq, thirty), [0, 1, 2], "numbers match by value, whatever their type");
    }
    assert_eq!(compare(Comparison::Eq, "30".into()), [4]);
    assert_eq!(compare(Comparison::Lt, 30i64.into()), [3]);
    assert_eq!(compare(Comparison::Gte, (-5i64).into()), [0, 1, 2, 3]);
    assert_eq!(compare(Comparison::Gt, 30.5f64.into()), [0u64; 0]);
    assert_eq!(compare(Comparison::Lte, "3".into()), [0u64; 0]);
    assert_eq!(compare(Comparison::Gt, "3".into()), [4]);
}

fn an_index_follows_every_write(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, age) = (vertex_label(graph, "thing"), key(graph, "age"));
        graph.create_index(PropertyId::of_vertices(thing, age)).unwrap();
        let v = add_vertices(graph, thing, 0..8);
        (0i64..).zip(&v).for_each(|(at, vertex)| set_vertex(graph, *vertex, age, at));
        set_vertex(graph, v[0], age, 50i64);
        graph.set_cell(ElementId::Vertex(v[1]), age, Cell::Absent).unwrap();
        graph.remove_vertices(&v[2..3]).unwrap();
        let entry = |ordinal, value: i64| PropertyValue { ordinal, value: value.into(), meta: Vec::new() };
        graph.set_cell(ElementId::Vertex(v[3]), age, Cell::Many(vec![entry(0, 60), entry(1, 61), entry(2, 60)])).unwrap();
        graph.set_cell(ElementId::Vertex(v[4]), age, Cell::Many(vec![entry(0, 60), entry(1, 62)])).unwrap();
        graph.set_cell(ElementId::Vertex(v[4]), age, Cell::Many(vec![entry(1, 62)])).unwrap();
        let column = mangrove_graph::column::array_of(&[Some(&Value::Int64(70)), None]).unwrap();
        let column = mangrove_graph::PropertyColumn::Typed(column);
        graph.set_properties(mangrove_graph::Elements::Vertices(&v[5..7]), age, &column).unwrap();
    });
    let view = store.snapshot().unwrap();
    let equal = |value: i64| search(&*view, Predicate::eq(value));
    assert_eq!((equal(0), equal(1), equal(2), equal(4), equal(5)), (vec![], vec![], vec![], vec![], vec![]));
    assert_eq!((equal(50), equal(60), equal(62), equal(70), equal(6)), (vec![0], vec![3], vec![4], vec![5], vec![6]));
    assert_eq!(search(&*view, Predicate::Compare(Comparison::Gte, 60i64.into())), [3, 4, 5], "each vertex once");
}

fn an_index_takes_values_of_every_type(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, age) = (vertex_label(graph, "thing"), key(graph, "age"));
        let values = super::values::values_of_every_type();
        let v = add_vertices(graph, thing, 0..2 * values.len() as i64);
        for (at, value) in values.iter().enumerate() {
            set_vertex(graph, v[at], age, value.clone());
        }
        graph.create_index(PropertyId::of_vertices(thing, age)).unwrap();
        for (at, value) in values.iter().enumerate() {
            set_vertex(graph, v[values.len() + at], age, value.clone());
        }
        for value in values {
            let found =
                graph.as_view().search_all(PropertyId::of_vertices(thing, age), &Predicate::eq(value.clone())).unwrap();
            let scanned = mangrove_graph::Scan {
                labels: None,
                filters: vec![mangrove_graph::Filter { key: age, predicate: Predicate::eq(value.clone()) }],
                ..Default::default()
            };
            let scanned = crate::compare::scan_vertices(graph.as_view(), &scanned, 10);
            assert!(
                found.is_none() || found == Some(mangrove_graph::ElementIds::Vertices(scanned)),
                "search for {}",
                &format!("{value:?}")[..40.min(value.to_string().len())]
            );
        }
    });
}

fn long_texts_that_begin_alike(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, age) = (vertex_label(graph, "thing"), key(graph, "age"));
        graph.create_index(PropertyId::of_vertices(thing, age)).unwrap();
        let v = add_vertices(graph, thing, 0..6);
        for (vertex, end) in v.iter().zip(["", "a", "b", "ab", "\u{0}", "a\u{0}"]) {
            set_vertex(graph, *vertex, age, format!("{}{end}", "same ".repeat(500)));
        }
        graph.set_cell(ElementId::Vertex(v[3]), age, Cell::Absent).unwrap();
    });
    let view = store.snapshot().unwrap();
    let text = |end: &str| Value::from(format!("{}{end}", "same ".repeat(500)));
    assert_eq!(search(&*view, Predicate::eq(text("a"))), [1]);
    assert_eq!(search(&*view, Predicate::Compare(Comparison::Gt, text("a"))), [2, 5]);
    assert_eq!(search(&*view, Predicate::Compare(Comparison::Lte, text("a"))), [0, 1, 4]);
}

fn an_index_is_made_once_and_dropped(make: Make<'_>) {
    let mut store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, age, name) = (vertex_label(graph, "thing"), key(graph, "age"), key(graph, "name"));
        let v = add_vertices(graph, thing, 0..3);
        v.iter().for_each(|vertex| set_vertex(graph, *vertex, age, 1i64));
        assert!(graph.create_index(PropertyId::of_vertices(thing, name)).unwrap());
        assert!(graph.create_index(PropertyId::of_vertices(thing, age)).unwrap());
        assert!(!graph.create_index(PropertyId::of_vertices(thing, age)).unwrap());
        assert!(graph.drop_index(PropertyId::of_vertices(thing, age)).unwrap());
        assert!(!graph.drop_index(PropertyId::of_vertices(thing, age)).unwrap());
        assert!(graph.as_view().search_all(PropertyId::of_vertices(thing, age), &Predicate::eq(1i64)).unwrap().is_none());
        v.iter().for_each(|vertex| set_vertex(graph, *vertex, age, 2i64));
        assert!(
            graph.create_index(PropertyId::of_vertices(thing, age)).unwrap(),
            "an index built anew knows nothing of the old one"
        );
    });
    assert_eq!(search(&*store.snapshot().unwrap(), Predicate::eq(1i64)), [0u64; 0]);
    store.reopen().unwrap();
    assert_eq!(search(&*store.snapshot().unwrap(), Predicate::eq(2i64)), [0, 1, 2]);
}
