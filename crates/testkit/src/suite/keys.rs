//! Keys of labels: the property that is the external id.

use std::collections::BTreeSet;

use mangrove_graph::{Comparison, Direction, GraphError, GraphView, IdSpace, LabelId, Predicate, Value, ValueType, record};

use super::*;

pub(super) const CASES: &[Case] = &[
    ("the key is the id", the_key_is_the_id),
    ("a key is found without a scan", a_key_is_found_without_a_scan),
    ("a key stays", a_key_stays),
    ("a property becomes the key", a_property_becomes_the_key),
    ("what is no id cannot become the key", what_is_no_id_cannot_become_the_key),
    ("an index of a key", an_index_of_a_key),
    ("generated ids are never taken", generated_ids_are_never_taken),
];

const THING: LabelId = LabelId(0);

fn keyed(graph: &mut dyn GraphWrite) -> (LabelId, KeyId) {
    let (thing, code) = (vertex_label(graph, "thing"), key(graph, "code"));
    graph.declare_key(thing, code).unwrap();
    (thing, code)
}

fn values(view: &dyn GraphView, vertex: VertexId) -> Vec<Value> {
    let code = view.schema().key("code").unwrap();
    view.cell(ElementId::Vertex(vertex), code).unwrap().values().cloned().collect()
}

fn the_key_is_the_id(make: Make<'_>) {
    for space in [IdSpace::Graph, IdSpace::Label] {
        let store = same_as_oracle(make, space, |graph| {
            let (thing, _) = keyed(graph);
            let mut made = Vec::new();
            graph.add_vertices(thing, &[Some("a".into()), Some(7.into()), None], &mut made).unwrap();
            assert_eq!(values(graph.as_view(), made[0]), ["a".into()], "at once");
        });
        let view = store.snapshot().unwrap();
        let all = crate::compare::scan_vertices(&*view, &Default::default(), 10);
        let generated = all.iter().map(|vertex| vertex.generated().to_value());
        let mut found: Vec<Vec<Value>> = all.iter().map(|vertex| values(&*view, *vertex)).collect();
        let made = found.iter().zip(generated).position(|(found, generated)| *found == [generated]);
        found.remove(made.expect("one vertex has the id that its place gives it"));
        found.sort_by_key(|values| values[0].value_type() == ValueType::Int64);
        assert_eq!(found, [["a".into()], [7i64.into()]]);
        let record = record::properties(&*view, ElementId::Vertex(all[1])).unwrap();
        assert_eq!(record.len(), 1, "it is a property like others");
        let property = view.schema().vertex_labels[0].properties.iter().next().unwrap().clone();
        assert!(property.types.contains(ValueType::Int64) && property.types.contains(ValueType::String));
    }
}

fn a_key_is_found_without_a_scan(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, _) = keyed(graph);
        let other = vertex_label(graph, "other");
        add_vertices(graph, thing, 0..300);
        add_vertices(graph, other, [1000]);
    });
    let view = store.snapshot().unwrap();
    let code = view.schema().key("code").unwrap();
    let search = |predicate: Predicate| {
        assert!(view.is_searchable(PropertyId::of_vertices(THING, code), &predicate));
        let found = view.search_all(PropertyId::of_vertices(THING, code), &predicate).unwrap().unwrap();
        numbers(&*view, &found.into_vertices())
    };
    assert_eq!(search(Predicate::eq(5i64)), [5]);
    assert_eq!(search(Predicate::eq(5.0)), [5], "numbers are equal by value");
    assert_eq!(search(Predicate::eq("5")), [0u64; 0], "text is no number");
    assert_eq!(search(Predicate::eq(1000i64)), [0u64; 0], "that is of another label");
    let several: Vec<Value> = vec![7i64.into(), Value::Int8(5), 7i64.into(), Value::Null, 1.5.into()];
    assert_eq!(search(Predicate::Within(several.into())), [5, 7]);
    let range = Predicate::Compare(Comparison::Gt, 5i64.into());
    assert!(
        !view.is_searchable(PropertyId::of_vertices(THING, code), &range)
            && view.search_all(PropertyId::of_vertices(THING, code), &range).unwrap().is_none()
    );
}

fn a_key_stays(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, code) = keyed(graph);
        let name = key(graph, "name");
        let v = add_vertices(graph, thing, 0..2);
        let element = ElementId::Vertex(v[0]);
        graph.set_cell(element, code, Cell::One(Value::Int8(0))).expect("that is its id");
        for cell in [Cell::Absent, Cell::One(1i64.into()), Cell::One("0".into())] {
            assert!(matches!(graph.set_cell(element, code, cell), Err(GraphError::Key { .. })));
        }
        let column = mangrove_graph::column::array_of(&[Some(&Value::Int64(0)), Some(&Value::Int64(0))]).unwrap();
        let column = mangrove_graph::PropertyColumn::Typed(column);
        let both = mangrove_graph::Elements::Vertices(&v);
        assert!(matches!(graph.set_properties(both, code, &column), Err(GraphError::Key { .. })));
        graph.set_properties(both, name, &column).unwrap();
        assert!(graph.declare_key(thing, name).is_err(), "there is one");
        graph.remove_vertices(&v[..1]).unwrap();
        add_vertices(graph, thing, [0]);
        graph.declare_property(ElementKind::Vertex, thing, code, Some(ValueType::Int64), Default::default()).unwrap();
        let text = graph.add_vertices(thing, &[Some("x".into())], &mut Vec::new());
        assert!(matches!(text, Err(GraphError::TypeMismatch { .. })));
    });
}

fn a_property_becomes_the_key(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, code) = (vertex_label(graph, "thing"), key(graph, "code"));
        let v = add_vertices(graph, thing, 0..200);
        for (at, vertex) in (0i32..).zip(&v).filter(|(at, _)| at % 3 != 0) {
            set_vertex(graph, *vertex, code, at);
        }
        graph.create_index(PropertyId::of_vertices(thing, code)).unwrap();
        graph.declare_key(thing, code).unwrap();
        graph.declare_key(thing, code).unwrap();
        assert_eq!(values(graph.as_view(), v[3]), [3i64.into()], "those that had none have their id");
        add_vertices(graph, thing, [500]);
    });
}

fn what_is_no_id_cannot_become_the_key(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, code, name) = (vertex_label(graph, "thing"), key(graph, "code"), key(graph, "name"));
        let v = add_vertices(graph, thing, 0..2);
        set_vertex(graph, v[1], code, 0i64);
        assert!(graph.declare_key(thing, code).is_err());
        graph.declare_property(ElementKind::Vertex, thing, name, Some(ValueType::String), Default::default()).unwrap();
        assert!(graph.declare_key(thing, name).is_err(), "the ids are numbers");
        set_vertex(graph, v[1], code, 1i64);
        graph.declare_key(thing, code).unwrap();
    });
}

fn an_index_of_a_key(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, code) = keyed(graph);
        let v = add_vertices(graph, thing, 0..20);
        graph.create_index(PropertyId::of_vertices(thing, code)).unwrap();
        add_vertices(graph, thing, 20..30);
        graph.remove_vertices(&v[5..7]).unwrap();
    });
    let view = store.snapshot().unwrap();
    let code = view.schema().key("code").unwrap();
    let range = Predicate::Compare(Comparison::Lt, 8i64.into());
    let found = view.search_all(PropertyId::of_vertices(THING, code), &range).unwrap().expect("the index answers a range");
    assert_eq!(numbers(&*view, &found.into_vertices()), [0, 1, 2, 3, 4, 7]);
}

fn generated_ids_are_never_taken(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let thing = vertex_label(graph, "thing");
        let mut made = Vec::new();
        let given = [Some("#0:1".into()), None, Some("#0:2.1".into()), None, Some("#0:5".into())];
        graph.add_vertices(thing, &given, &mut made).unwrap();
        graph.add_vertices(thing, &[None, Some("#0:7".into()), None, None], &mut made).unwrap();
        let joins = edge_label(graph, "joins");
        let new = |id| NewEdge { source: made[0], target: made[1], id, time: None };
        let own = graph.add_edges(joins, &[new(Some("#0:0".into()))], &mut Vec::new());
        assert!(matches!(own, Err(GraphError::GeneratedId { .. })), "it could not be told from the edge that has it");
        graph.add_edges(joins, &[new(None), new(Some(0.into()))], &mut Vec::new()).unwrap();
    });
    let view = store.snapshot().unwrap();
    let all = crate::compare::scan_vertices(&*view, &Default::default(), 10);
    let ids: BTreeSet<String> = all.iter().map(|vertex| view.external_id(*vertex).unwrap().to_string()).collect();
    assert_eq!(ids.len(), 9, "{ids:?}");
    assert!(["#0:1", "#0:2.1", "#0:5", "#0:7"].iter().all(|given| ids.contains(*given)), "{ids:?}");
    let source = find(&*view, None, "#0:1").unwrap();
    let edges = crate::compare::hop(&*view, &[source], Direction::Out, None).edges;
    let ids: Vec<Value> = edges.iter().map(|edge| record::edge_id(&*view, edge.id).unwrap()).collect();
    assert_eq!(ids, [edges[0].id.generated().to_value(), Value::Int64(0)]);
    for (edge, id) in edges.iter().zip(&ids) {
        assert_eq!(record::find_edge(&*view, id).unwrap(), Some(*edge));
    }
}
