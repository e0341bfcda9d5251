//! Vertices, their ids and labels, and scans over them.

use mangrove_graph::{
    Comparison, Elements, ExternalId, Filter, GraphError, GraphView, IdSpace, LabelId, LabelTest, Predicate, Scan,
    ScanCursor, Uuid, VertexId,
};

use super::*;
use crate::compare::scan_vertices;

pub(super) const CASES: &[Case] = &[
    ("an empty store is an empty graph", an_empty_store_is_an_empty_graph),
    ("the sample graphs read back", the_sample_graphs_read_back),
    ("ids of every type name vertices", ids_of_every_type_name_vertices),
    ("ids are dense and never reused", ids_are_dense_and_never_reused),
    ("a duplicate id adds nothing", a_duplicate_id_adds_nothing),
    ("made ids avoid those in use", made_ids_avoid_those_in_use),
    ("an id space of labels", an_id_space_of_labels),
    ("further labels", further_labels),
    ("many vertices in one batch", many_vertices_in_one_batch),
    ("scans stop and go on", scans_stop_and_go_on),
    ("filters all have to hold", filters_all_have_to_hold),
    ("a missing vertex is told", a_missing_vertex_is_told),
    ("labels and keys of any name", labels_and_keys_of_any_name),
];

fn an_empty_store_is_an_empty_graph(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |_| {});
    assert_eq!(find(&*store.snapshot().unwrap(), None, 1), None);
    same_as_oracle(make, IdSpace::Label, |_| {});
}

fn the_sample_graphs_read_back(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| crate::samples::write_modern(graph).unwrap());
    same_as_oracle(make, IdSpace::Graph, |graph| crate::samples::write_crew(graph).unwrap());
}

fn ids_of_every_type_name_vertices(make: Make<'_>) {
    let long = "x".repeat(3000);
    let ids = [
        ExternalId::Int(i64::MIN),
        ExternalId::Int(-1),
        ExternalId::Int(i64::MAX),
        ExternalId::Uuid(Uuid::from_u128(0)),
        ExternalId::Uuid(Uuid::from_u128(u128::MAX)),
        "".into(),
        "7".into(),
        ExternalId::Int(7),
        "straße\u{0}日本".into(),
        long.as_str().into(),
        format!("{long}y").as_str().into(),
    ];
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let label = vertex_label(graph, "thing");
        let mut made = Vec::new();
        graph.add_vertices(label, &ids.clone().map(Some), &mut made).unwrap();
    });
    let view = store.snapshot().unwrap();
    for id in ids {
        let vertex = find(&*view, None, id.clone()).unwrap();
        assert_eq!(view.external_id(vertex).unwrap(), id);
    }
}

fn ids_are_dense_and_never_reused(make: Make<'_>) {
    let mut store = make(IdSpace::Graph);
    let (label, first) = committed(&*store, |graph| {
        let label = vertex_label(graph, "thing");
        (label, add_vertices(graph, label, 0..3))
    });
    let mut oracle = store.oracle(IdSpace::Graph);
    let same = vertex_label(&mut oracle, "thing");
    assert_eq!(first, add_vertices(&mut oracle, same, 0..3));
    committed(&*store, |graph| graph.remove_vertices(&first[1..]).unwrap());
    store.reopen().unwrap();
    let again = committed(&*store, |graph| add_vertices(graph, label, [2, 9]));
    // A compacted store begins a new block.
    assert!(again.iter().all(|id| !first.contains(id)), "{again:?}");
    assert!(again[0].shard() != again[1].shard() || again[1].local() == again[0].local() + 1, "{again:?}");
    let view = store.snapshot().unwrap();
    assert_eq!(find(&*view, None, 2), Some(again[0]), "the external id of a removed vertex is free again");
    assert_eq!(find(&*view, None, 1), None);
}

fn a_duplicate_id_adds_nothing(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (a, b) = (vertex_label(graph, "a"), vertex_label(graph, "b"));
        add_vertices(graph, a, [1]);
        for ids in [[5, 1], [6, 6]] {
            let mut made = Vec::new();
            let error = graph.add_vertices(b, &ids.map(|id| Some(ExternalId::Int(id))), &mut made).unwrap_err();
            assert!(matches!(error, GraphError::DuplicateVertex { id: ExternalId::Int(1 | 6), .. }), "{error}");
            assert!(made.is_empty());
        }
        assert_eq!(find(graph.as_view(), None, 5), None);
        assert_eq!(find(graph.as_view(), None, 6), None);
        add_vertices(graph, b, [5, 6]);
    });
}

fn made_ids_avoid_those_in_use(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let label = vertex_label(graph, "thing");
        add_vertices(graph, label, [0, 2]);
        let mut made = Vec::new();
        let ids = [None, Some(ExternalId::Int(3)), None, Some("x".into()), None];
        graph.add_vertices(label, &ids, &mut made).unwrap();
        let view = graph.as_view();
        let names: Vec<_> = made.iter().map(|vertex| view.external_id(*vertex).unwrap()).collect();
        let generated = [0, 2, 4].map(|at| VertexId::from_generated(&names[at]));
        assert_eq!(generated, [0, 2, 4].map(|at: usize| Some(made[at])), "{names:?}");
        assert_eq!((&names[1], &names[3]), (&ExternalId::Int(3), &ExternalId::from("x")));
        for (vertex, name) in made.iter().zip(&names) {
            assert_eq!(find(view, None, name.clone()), Some(*vertex));
        }
    });
}

fn an_id_space_of_labels(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Label, |graph| {
        let (a, b) = (vertex_label(graph, "a"), vertex_label(graph, "b"));
        add_vertices(graph, a, [1, 2]);
        add_vertices(graph, b, [1, 3]);
        let error = graph.add_vertices(b, &[Some(ExternalId::Int(3))], &mut Vec::new()).unwrap_err();
        assert!(matches!(&error, GraphError::DuplicateVertex { label: Some(label), .. } if label == "b"), "{error}");
        graph.add_vertices(a, &[Some(70.into())], &mut Vec::new()).unwrap();
        graph.add_vertices(b, &[Some(70.into())], &mut Vec::new()).unwrap();
    });
    let view = store.snapshot().unwrap();
    let (a, b) = (LabelId(0), LabelId(1));
    let names = [find(&*view, Some(a), 1), find(&*view, Some(b), 1)].map(|found| found.unwrap().label());
    assert_eq!(names, [a, b]);
    assert_eq!((find(&*view, Some(a), 3), find(&*view, Some(b), 2), find(&*view, None, 1)), (None, None, None));
}

fn further_labels(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let [person, admin, bot] = ["person", "admin", "bot"].map(|name| vertex_label(graph, name));
        let people = add_vertices(graph, person, 0..4);
        add_vertices(graph, bot, [10]);
        graph.set_further_labels(people[1], &[admin, bot]).unwrap();
        graph.set_further_labels(people[2], &[admin]).unwrap();
        graph.set_further_labels(people[2], &[]).unwrap();
        graph.set_further_labels(people[3], &[bot, person, bot]).unwrap();
    });
    let view = store.snapshot().unwrap();
    let of = |labels: &[u16]| {
        let scan = Scan { labels: Some(labels.iter().map(|id| LabelId(*id)).collect()), ..Scan::default() };
        let found = scan_vertices(&*view, &scan, 2);
        assert!(found.is_sorted());
        numbers(&*view, &found).iter().map(u64::to_string).collect::<String>()
    };
    assert_eq!((of(&[1]), of(&[2]), of(&[2, 1]), of(&[0, 2])), ("1".into(), "1310".into(), "1310".into(), "012310".into()));
    assert_eq!(of(&[]), "");
    let tested = |labels: Option<u16>, also: &[(&[u16], bool)]| {
        let ids = |ids: &[u16]| ids.iter().map(|id| LabelId(*id)).collect();
        let test = |(labels, is_negated): &(&[u16], bool)| LabelTest { labels: ids(labels), is_negated: *is_negated };
        let scan =
            Scan { labels: labels.map(|id| vec![LabelId(id)]), also: also.iter().map(test).collect(), ..Scan::default() };
        let found = scan_vertices(&*view, &scan, 2);
        let (mut cursor, mut count) = (ScanCursor::default(), 0);
        while !cursor.done {
            count += view.count(ElementKind::Vertex, &scan, &mut cursor).unwrap();
        }
        assert_eq!(count, found.len() as u64);
        assert!(found.is_sorted());
        numbers(&*view, &found).iter().map(u64::to_string).collect::<String>()
    };
    assert_eq!(tested(Some(1), &[(&[2], false)]), "1");
    assert_eq!(tested(Some(2), &[(&[0], false)]), "13");
    assert_eq!(tested(Some(2), &[(&[0], true)]), "10");
    assert_eq!(tested(Some(0), &[(&[1, 2], true)]), "02");
    assert_eq!(tested(None, &[(&[1], true), (&[2], false)]), "310");
    assert_eq!(tested(None, &[(&[], false)]), "");
    assert_eq!(tested(None, &[(&[], true)]), "012310");
}

fn many_vertices_in_one_batch(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let label = vertex_label(graph, "thing");
        let name = key(graph, "name");
        let made = add_vertices(graph, label, (0..5000).map(|i| i * 7919 % 5000));
        let names: Vec<_> = (0..made.len()).map(|at| Cell::One(format!("name {}", at % 1000).into())).collect();
        graph.set_properties(Elements::Vertices(&made), name, &mangrove_graph::PropertyColumn::Cells(names)).unwrap();
        graph.remove_vertices(&made[1000..1500]).unwrap();
    });
    assert_eq!(store.snapshot().unwrap().statistics().unwrap().vertices, [4500]);
}

fn scans_stop_and_go_on(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    committed(&*store, |graph| {
        for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
            let label = vertex_label(graph, name);
            let made = add_vertices(graph, label, (0..100).map(|i| at as i64 * 100 + i));
            graph.remove_vertices(&made[..at * 50]).unwrap();
        }
    });
    let view = store.snapshot().unwrap();
    let (mut cursor, mut out, mut calls) = (ScanCursor::default(), Vec::new(), 0);
    let scan = Scan { labels: Some(vec![LabelId(2), LabelId(0)]), ..Scan::default() };
    while !cursor.done {
        view.scan_vertices(&scan, &mut cursor, 10, &mut out).unwrap();
        calls += 1;
    }
    assert_eq!(out.len(), 100);
    assert!(out.is_sorted());
    assert!(calls >= 5, "a page is about as long as asked for: {calls} calls");
}

fn filters_all_have_to_hold(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    let (age, name) = committed(&*store, |graph| {
        let label = vertex_label(graph, "person");
        let (age, name) = (key(graph, "age"), key(graph, "name"));
        for (at, vertex) in add_vertices(graph, label, 0..30).into_iter().enumerate() {
            set_vertex(graph, vertex, age, at as i64);
            if at % 3 > 0 {
                set_vertex(graph, vertex, name, if at % 3 == 1 { "one" } else { "two" });
            }
        }
        (age, name)
    });
    let view = store.snapshot().unwrap();
    let above = Filter { key: age, predicate: Predicate::Compare(Comparison::Gte, 20.into()) };
    let named = Filter { key: name, predicate: Predicate::eq("one") };
    let scan = Scan { labels: None, filters: vec![above, named], ..Scan::default() };
    let found = scan_vertices(&*view, &scan, 4);
    assert!(found.is_sorted());
    let mut found: Vec<ExternalId> = found.iter().map(|vertex| view.external_id(*vertex).unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, [22, 25, 28].map(ExternalId::Int));
}

fn a_missing_vertex_is_told(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    let mut transaction = store.begin().unwrap();
    let graph = transaction.graph();
    let (label, name) = (vertex_label(graph, "thing"), key(graph, "name"));
    let there = add_vertices(graph, label, [1])[0];
    let gone = VertexId::new(label, 0, 77);
    let knows = edge_label(graph, "knows");
    let errors = [
        graph.set_cell(ElementId::Vertex(gone), name, Cell::One("x".into())).unwrap_err(),
        graph.set_further_labels(gone, &[label]).unwrap_err(),
        graph
            .add_edges(knows, &[NewEdge { source: there, target: gone, id: None, time: None }], &mut Vec::new())
            .unwrap_err(),
        graph.as_view().external_id(gone).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, GraphError::NoSuchElement { kind: "vertex", .. }), "{error}");
    }
    let view: &dyn GraphView = graph.as_view();
    assert!(!view.contains(ElementId::Vertex(gone)).unwrap());
    assert_eq!(view.cell(ElementId::Vertex(gone), name).unwrap(), Cell::Absent);
    graph.remove_vertices(&[gone, there, there]).unwrap();
}

fn labels_and_keys_of_any_name(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let names = ["", " ", "a", "A", "a.b:c/d", "\u{0}", "日本", &"long ".repeat(10_000)];
        for (at, name) in names.into_iter().enumerate() {
            let (label, knows, own) = (vertex_label(graph, name), edge_label(graph, name), key(graph, name));
            assert_eq!((label, knows, own.0), (LabelId(at as u16), LabelId(at as u16), at as u16));
            assert_eq!(vertex_label(graph, name), label, "the same name is the same label");
            let vertex = add_vertices(graph, label, [at as i64])[0];
            add_edges(graph, knows, [(vertex, vertex)]);
            set_vertex(graph, vertex, own, name);
        }
    });
}
