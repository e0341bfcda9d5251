//! Edges: order, parallel edges, loops, hubs, and what removing a vertex removes.

use mangrove_graph::{
    Date, DateTime, Direction, EdgeRef, Elements, ExternalId, GraphError, IdSpace, LabelId, PropertyColumn, Value, column,
};

use super::*;
use crate::compare::hop;

pub(super) const CASES: &[Case] = &[
    ("parallel edges and loops", parallel_edges_and_loops),
    ("edges come by time, then by age", edges_come_by_time_then_by_age),
    ("time belongs to labels that declare it", time_belongs_to_labels_that_declare_it),
    ("the time of an edge is its place and stays", the_time_of_an_edge_is_its_place_and_stays),
    ("a hub grows and shrinks", a_hub_grows_and_shrinks),
    ("edges come in small and large batches", edges_come_in_small_and_large_batches),
    ("edge ids of the user's own", edge_ids_of_the_users_own),
    ("a duplicate edge id adds nothing", a_duplicate_edge_id_adds_nothing),
    ("a vertex goes with its edges", a_vertex_goes_with_its_edges),
    ("rows of a hop may repeat", rows_of_a_hop_may_repeat),
];

fn parallel_edges_and_loops(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, likes) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), edge_label(graph, "likes"));
        let weight = key(graph, "weight");
        let v = add_vertices(graph, thing, 0..3);
        add_edges(graph, likes, [(v[0], v[1]), (v[0], v[0])]);
        let made = add_edges(graph, knows, [(v[0], v[1]), (v[0], v[1]), (v[0], v[0]), (v[1], v[0])]);
        for (at, edge) in made.iter().enumerate() {
            graph.set_cell(ElementId::Edge(*edge), weight, Cell::One((at as f64).into())).unwrap();
        }
        let second = EdgeRef { id: made[1], source: v[0], target: v[1] };
        graph.remove_edges(&[second, second]).unwrap();
    });
    let view = store.snapshot().unwrap();
    let first = find(&*view, None, 0).unwrap();
    let both = hop(&*view, &[first], Direction::Both, Some(vec![LabelId(0)]));
    assert_eq!(both.edges.len(), 4, "a loop is met on its way out and on its way in: {both:?}");
}

fn edges_come_by_time_then_by_age(make: Make<'_>) {
    let times = [5i64, -3, 5, i64::MAX, 0, 5, i64::MIN, 0];
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, saw, at) = (vertex_label(graph, "thing"), edge_label(graph, "saw"), key(graph, "at"));
        graph.declare_time(saw, at).unwrap();
        let v = add_vertices(graph, thing, 0..9);
        for (number, time) in times.iter().enumerate() {
            let edge = NewEdge { source: v[0], target: v[number + 1], id: None, time: Some(Value::Int64(*time)) };
            graph.add_edges(saw, &[edge], &mut Vec::new()).unwrap();
        }
        let batch: Vec<_> = (0..1000)
            .map(|i| NewEdge { source: v[i % 3], target: v[8], id: None, time: Some(Value::Int64((i as i64 * 37) % 501)) })
            .collect();
        graph.add_edges(saw, &batch, &mut Vec::new()).unwrap();
    });
    let view = store.snapshot().unwrap();
    let first = find(&*view, None, 0).unwrap();
    let time = view.schema().key("at").unwrap();
    let seen = hop(&*view, &[first], Direction::Out, None).edges;
    let order: Vec<_> = seen
        .iter()
        .map(|edge| match view.cell(ElementId::Edge(edge.id), time).unwrap() {
            Cell::One(Value::Int64(time)) => (time, edge.id),
            other => panic!("the time of an edge reads as its property, not {other:?}"),
        })
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!((order[0].0, order[order.len() - 1].0), (i64::MIN, i64::MAX));
}

fn time_belongs_to_labels_that_declare_it(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    let mut transaction = store.begin().unwrap();
    let graph = transaction.graph();
    let (thing, knows, at) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "at"));
    let v = add_vertices(graph, thing, 0..2);
    let timed = NewEdge { source: v[0], target: v[1], id: None, time: Some(Value::Int64(3)) };
    let error = graph.add_edges(knows, &[timed], &mut Vec::new()).unwrap_err();
    assert!(matches!(error, GraphError::Invalid(_)), "{error}");
    add_edges(graph, knows, [(v[0], v[1])]);
    let error = graph.declare_time(knows, at).unwrap_err();
    assert!(matches!(error, GraphError::Invalid(_)), "only while there are no edges: {error}");
}

fn the_time_of_an_edge_is_its_place_and_stays(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    let (v, edges) = committed(&*store, |graph| {
        let (thing, saw, at) = (vertex_label(graph, "thing"), edge_label(graph, "saw"), key(graph, "at"));
        graph.declare_time(saw, at).unwrap();
        let v = add_vertices(graph, thing, 0..2);
        let times = [Some(Value::Int32(7)), None, Some(Value::DateTime(DateTime::from_micros(7)))];
        let new = times.map(|time| NewEdge { source: v[0], target: v[1], id: None, time });
        let mut made = Vec::new();
        graph.add_edges(saw, &new, &mut made).unwrap();
        let refused = NewEdge { time: Some(Value::from("then")), ..new[0].clone() };
        assert!(matches!(graph.add_edges(saw, &[refused], &mut Vec::new()), Err(GraphError::Invalid(_))));
        (v, made)
    });
    let mut transaction = store.begin().unwrap();
    let graph = transaction.graph();
    let at = key(graph, "at");
    for (edge, cell, stays) in [
        (0, Cell::One(Value::Int64(8)), false),
        (0, Cell::Absent, false),
        (0, Cell::One(Value::from("then")), false),
        (1, Cell::One(Value::Int64(7)), false),
        (2, Cell::One(Value::Date(Date(0))), false),
        (1, Cell::One(Value::from("then")), false),
        // The same time, and no time.
        (0, Cell::One(Value::Int64(7)), true),
        (1, Cell::Absent, true),
        (2, Cell::One(Value::DateTime(DateTime { nanos: 7_999, ..DateTime::from_micros(7) })), true),
    ] {
        let (element, refs) = (ElementId::Edge(edges[edge]), [EdgeRef { id: edges[edge], source: v[0], target: v[1] }]);
        let before = graph.cell(element, at).unwrap();
        let outcome = graph.set_cell(element, at, cell.clone());
        assert_eq!(outcome.is_ok(), stays, "{cell:?} for {before:?}: {outcome:?}");
        assert_eq!(graph.cell(element, at).unwrap(), if stays { cell.clone() } else { before });
        // An absent cell in a batch leaves its element unchanged.
        if let Some(value) = cell.values().next() {
            let columns = [
                Some(PropertyColumn::Cells(vec![cell.clone()])),
                column::array_of(&[Some(value)]).map(PropertyColumn::Typed),
            ];
            for column in columns.iter().flatten() {
                assert_eq!(graph.set_properties(Elements::Edges(&refs), at, column).is_ok(), stays, "{column:?}");
            }
        }
    }
}

fn a_hub_grows_and_shrinks(make: Make<'_>) {
    let mut store = make(IdSpace::Graph);
    let mut oracle = store.oracle(IdSpace::Graph);
    let grow = |graph: &mut dyn GraphWrite, round: u64| {
        let (thing, knows) = (vertex_label(graph, "thing"), edge_label(graph, "knows"));
        let hub = match find(graph.as_view(), None, 0) {
            Some(hub) => hub,
            None => add_vertices(graph, thing, 0..2001)[0],
        };
        let ids: Vec<ExternalId> = (0..700).map(|i| ExternalId::Int(1 + (i * 7 + round as i64) % 2000)).collect();
        let mut spokes = Vec::new();
        graph.as_view().find_vertices(None, &ids, &mut spokes).unwrap();
        let spokes: Vec<VertexId> = spokes.into_iter().flatten().collect();
        let edge = |i: usize| if i as u64 % 5 == round { (spokes[i], hub) } else { (hub, spokes[i]) };
        add_edges(graph, knows, (0..700).map(edge));
        add_edges(graph, knows, [(hub, hub), (spokes[round as usize], hub)]);
        let edges = hop(graph.as_view(), &[hub], Direction::Both, None).edges;
        let some: Vec<EdgeRef> = edges.into_iter().enumerate().filter(|(at, _)| at % 7 == 3).map(|(_, edge)| edge).collect();
        graph.remove_edges(&some).unwrap();
    };
    for round in 0..5 {
        committed(&*store, |graph| grow(graph, round));
        grow(&mut oracle, round);
        if round % 2 == 0 {
            store.reopen().unwrap();
        }
        assert_same(&*store.snapshot().unwrap(), &oracle);
    }
    let shrink = |graph: &mut dyn GraphWrite| {
        let hub = find(graph.as_view(), None, 0).unwrap();
        let edges = hop(graph.as_view(), &[hub], Direction::Out, None).edges;
        graph.remove_edges(&edges[10..]).unwrap();
    };
    committed(&*store, shrink);
    shrink(&mut oracle);
    assert_same(&*store.snapshot().unwrap(), &oracle);
    assert_clean(&*store);
}

fn edges_come_in_small_and_large_batches(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, likes) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), edge_label(graph, "likes"));
        let v = add_vertices(graph, thing, 0..256);
        let mut state = 1u64;
        let mut random_vertex = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bits = (state >> 33) as usize;
            v[(bits % v.len()) & (bits / v.len())] // low numbers are met far more often
        };
        let mut pairs = |n: usize| (0..n).map(|_| (random_vertex(), random_vertex())).collect::<Vec<_>>();
        add_edges(graph, knows, pairs(4000));
        for pair in pairs(50) {
            add_edges(graph, knows, [pair]);
        }
        add_edges(graph, likes, pairs(3000));
        add_edges(graph, knows, pairs(3000));
        graph.remove_vertices(&v[..3]).unwrap();
        let left: Vec<_> = v[3..].to_vec();
        add_edges(graph, likes, left.iter().flat_map(|a| left.iter().take(3).map(|b| (*a, *b))).collect::<Vec<_>>());
    });
}

fn edge_ids_of_the_users_own(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows) = (vertex_label(graph, "thing"), edge_label(graph, "knows"));
        let v = add_vertices(graph, thing, 0..2);
        let ids = [Some(ExternalId::Int(900)), None, Some("e".into()), Some(ExternalId::Uuid(Default::default()))];
        let edges = ids.map(|id| NewEdge { source: v[0], target: v[1], id, time: None });
        let mut made = Vec::new();
        graph.add_edges(knows, &edges, &mut made).unwrap();
        graph.remove_edges(&[EdgeRef { id: made[2], source: v[0], target: v[1] }]).unwrap();
    });
    let view = store.snapshot().unwrap();
    let mut found = Vec::new();
    view.find_edges(&[900.into(), "e".into(), ExternalId::Uuid(Default::default()), 901.into()], &mut found).unwrap();
    let there: Vec<EdgeRef> = crate::compare::scan_edges(&*view, &mangrove_graph::Scan::default(), 10);
    assert_eq!(found, [Some(there[0]), None, Some(there[2]), None]);
}

fn a_duplicate_edge_id_adds_nothing(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, likes) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), edge_label(graph, "likes"));
        let v = add_vertices(graph, thing, 0..2);
        let named = |id: &str| NewEdge { source: v[0], target: v[1], id: Some(id.into()), time: None };
        graph.add_edges(knows, &[named("e")], &mut Vec::new()).unwrap();
        for batch in [[named("f"), named("e")], [named("g"), named("g")]] {
            let error = graph.add_edges(likes, &batch, &mut Vec::new()).unwrap_err();
            assert!(matches!(error, GraphError::DuplicateEdge { .. }), "{error}");
        }
        graph.add_edges(likes, &[named("f"), named("g")], &mut Vec::new()).unwrap();
    });
}

fn a_vertex_goes_with_its_edges(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, weight) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "weight"));
        let v = add_vertices(graph, thing, 0..20);
        let all = v.iter().flat_map(|a| v.iter().map(|b| (*a, *b))).collect::<Vec<_>>();
        for (at, edge) in (0i64..).zip(add_edges(graph, knows, all)) {
            graph.set_cell(ElementId::Edge(edge), weight, Cell::One(at.into())).unwrap();
        }
        graph.remove_vertices(&v[5..15]).unwrap();
    });
    assert_eq!(store.snapshot().unwrap().statistics().unwrap().edges, [100]);
}

fn rows_of_a_hop_may_repeat(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    let v = committed(&*store, |graph| {
        let (thing, knows) = (vertex_label(graph, "thing"), edge_label(graph, "knows"));
        let v = add_vertices(graph, thing, 0..4);
        add_edges(graph, knows, [(v[0], v[1]), (v[0], v[2]), (v[3], v[0])]);
        v
    });
    let view = store.snapshot().unwrap();
    let reached = hop(&*view, &[v[3], v[0], v[1], v[0]], Direction::Out, None);
    assert_eq!(reached.rows, [0, 1, 1, 3, 3]);
    assert_eq!(reached.neighbors, [v[0], v[1], v[2], v[1], v[2]]);
}
