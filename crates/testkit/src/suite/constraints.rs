//! Unique and required properties: which writes fit, and that a refused write changes nothing.

use mangrove_graph::{BigInt, EdgeRef, Elements, GraphError, IdSpace, PropertyColumn, Value, column};

use super::*;

pub(super) const CASES: &[Case] = &[
    ("a unique property refuses what another has", a_unique_property_refuses_what_another_has),
    ("what repeats cannot become unique", what_repeats_cannot_become_unique),
    ("a unique property of sealed vertices", a_unique_property_of_sealed_vertices),
    ("a unique property of edges", a_unique_property_of_edges),
    ("a required property is there at the commit", a_required_property_is_there_at_the_commit),
    ("a required property stays", a_required_property_stays),
];

fn set(graph: &mut dyn GraphWrite, vertex: VertexId, key: KeyId, value: impl Into<Value>) -> Result<()> {
    graph.set_cell(ElementId::Vertex(vertex), key, Cell::One(value.into()))
}

fn set_all(graph: &mut dyn GraphWrite, vertices: &[VertexId], key: KeyId, values: &[i64]) -> Result<()> {
    let values: Vec<Value> = values.iter().map(|value| Value::Int64(*value)).collect();
    let array = column::array_of(&values.iter().map(Some).collect::<Vec<_>>()).expect("integers are an array");
    graph.set_properties(Elements::Vertices(vertices), key, &PropertyColumn::Typed(array))
}

fn is_refused(outcome: Result<()>) {
    assert!(matches!(outcome, Err(GraphError::NotUnique { .. })), "{outcome:?}");
}

fn a_unique_property_refuses_what_another_has(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, other, code) = (vertex_label(graph, "thing"), vertex_label(graph, "other"), key(graph, "code"));
        let v = add_vertices(graph, thing, 0..6);
        assert!(graph.declare_unique(PropertyId::of_vertices(thing, code)).unwrap());
        assert!(!graph.declare_unique(PropertyId::of_vertices(thing, code)).unwrap(), "it is so already");
        assert!(!graph.create_index(PropertyId::of_vertices(thing, code)).unwrap(), "there is one");
        for (vertex, value) in [(v[0], 1.into()), (v[1], 2.into()), (v[2], Value::string("x".repeat(2000)))] {
            set(graph, vertex, code, value).unwrap();
        }
        set(graph, v[0], code, 1i64).unwrap();
        is_refused(set(graph, v[3], code, 1.0));
        is_refused(set(graph, v[3], code, "x".repeat(2000)));
        set(graph, v[3], code, "x".repeat(2001)).unwrap();
        set(graph, v[4], code, Value::Null).unwrap();
        set(graph, v[5], code, Value::Null).unwrap();
        set(graph, v[4], code, BigInt::from(u64::MAX)).unwrap();
        set(graph, v[5], code, BigInt::from(u64::MAX) - 1).unwrap();
        is_refused(set(graph, v[0], code, BigInt::from(u64::MAX)));

        set_all(graph, &[v[0], v[1]], code, &[2, 1]).unwrap();
        is_refused(set_all(graph, &[v[2], v[3]], code, &[7, 7]));
        is_refused(set_all(graph, &[v[2], v[3]], code, &[8, 1]));
        set_all(graph, &[v[2], v[2], v[3]], code, &[9, 10, 9]).unwrap();
        graph.remove_vertices(&v[..1]).unwrap();
        set(graph, v[3], code, 2).unwrap();

        let unlike = add_vertices(graph, other, [100]);
        set(graph, unlike[0], code, 2).unwrap();
        assert!(graph.drop_index(PropertyId::of_vertices(thing, code)).unwrap());
        set(graph, v[1], code, 2).unwrap();
    });
}

fn what_repeats_cannot_become_unique(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, code) = (vertex_label(graph, "thing"), key(graph, "code"));
        let v = add_vertices(graph, thing, 0..4);
        set(graph, v[0], code, 7).unwrap();
        set(graph, v[1], code, 7.0).unwrap();
        assert!(graph.declare_unique(PropertyId::of_vertices(thing, code)).is_err());
        set(graph, v[1], code, Value::list(vec![7.into()])).unwrap();
        set(graph, v[2], code, Value::list(vec![7.into()])).unwrap();
        assert!(graph.declare_unique(PropertyId::of_vertices(thing, code)).is_err());
        set(graph, v[2], code, Value::list(vec![8.into()])).unwrap();
        assert!(graph.create_index(PropertyId::of_vertices(thing, code)).unwrap());
        assert!(graph.declare_unique(PropertyId::of_vertices(thing, code)).unwrap());
        is_refused(set(graph, v[3], code, Value::list(vec![8.into()])));
    });
}

fn a_unique_property_of_sealed_vertices(make: Make<'_>) {
    let mut store = make(IdSpace::Graph);
    let (thing, code, v) = committed(&*store, |graph| {
        let (thing, code) = (vertex_label(graph, "thing"), key(graph, "code"));
        let v = add_vertices(graph, thing, 0..300);
        (0i64..).zip(&v).for_each(|(at, vertex)| set(graph, *vertex, code, at).unwrap());
        graph.declare_unique(PropertyId::of_vertices(thing, code)).unwrap();
        (thing, code, v)
    });
    for how in [Condensing::Seal, Condensing::Compact] {
        store.condense(how, &|| false).unwrap();
        store.reopen().unwrap();
        committed(&*store, |graph| {
            is_refused(set(graph, v[7], code, 8));
            set(graph, v[8], code, -8).unwrap();
            set(graph, v[7], code, 8).unwrap();
            is_refused(set(graph, v[9], code, 8));
            is_refused(set_all(graph, &v[20..22], code, &[5, 6]));
            set_all(graph, &v[5..9], code, &[8, 7, 6, 5]).unwrap();
            set_all(graph, &v[5..9], code, &[5, 6, 7, 8]).unwrap();
            assert!(!graph.declare_unique(PropertyId::of_vertices(thing, code)).unwrap());
        });
    }
    assert_clean(&*store);
}

fn a_unique_property_of_edges(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, code) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "code"));
        let v = add_vertices(graph, thing, 0..3);
        let edges = add_edges(graph, knows, [(v[0], v[1]), (v[1], v[2]), (v[2], v[0])]);
        let set = |graph: &mut dyn GraphWrite, at: usize, value: i64| {
            graph.set_cell(ElementId::Edge(edges[at]), code, Cell::One(value.into()))
        };
        set(graph, 0, 1).unwrap();
        set(graph, 1, 1).unwrap();
        assert!(graph.declare_unique(PropertyId::of_edges(knows, code)).is_err());
        set(graph, 1, 2).unwrap();
        assert!(graph.declare_unique(PropertyId::of_edges(knows, code)).unwrap());
        is_refused(set(graph, 2, 2));
        let ends =
            [(0, 1), (1, 2)].map(|(source, target)| EdgeRef { id: edges[source], source: v[source], target: v[target] });
        let swapped = column::array_of(&[Some(&Value::Int64(2)), Some(&Value::Int64(1))]).unwrap();
        graph.set_properties(Elements::Edges(&ends), code, &PropertyColumn::Typed(swapped)).unwrap();
        let same = column::array_of(&[Some(&Value::Int64(4)), Some(&Value::Int64(4))]).unwrap();
        is_refused(graph.set_properties(Elements::Edges(&ends), code, &PropertyColumn::Typed(same)));
        graph.remove_edges(&ends[..1]).unwrap();
        set(graph, 2, 2).unwrap();
    });
}

fn lacks(outcome: Result<()>) {
    assert!(matches!(outcome, Err(GraphError::Required { .. })), "{outcome:?}");
}

fn a_required_property_is_there_at_the_commit(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    let (thing, knows, name) = committed(&*store, |graph| {
        let names = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "name"));
        let v = add_vertices(graph, names.0, 0..3);
        lacks(graph.declare_required(ElementKind::Vertex, names.0, names.2, true));
        v.iter().for_each(|vertex| set(graph, *vertex, names.2, "it").unwrap());
        graph.declare_required(ElementKind::Vertex, names.0, names.2, true).unwrap();
        graph.declare_required(ElementKind::Edge, names.1, names.2, true).unwrap();
        names
    });
    for is_edge in [false, true] {
        for is_whole in [false, true] {
            let mut transaction = store.begin().unwrap();
            let graph = transaction.graph();
            let v = add_vertices(graph, thing, [10 + 2 * i64::from(is_edge), 11 + 2 * i64::from(is_edge)]);
            let edges = add_edges(graph, knows, [(v[0], v[1])]);
            if is_whole || is_edge {
                v.iter().for_each(|vertex| set(graph, *vertex, name, "new").unwrap());
            }
            if is_whole || !is_edge {
                graph.set_cell(ElementId::Edge(edges[0]), name, Cell::One("new".into())).unwrap();
            }
            match is_whole {
                true => transaction.commit().unwrap(),
                false => lacks(transaction.commit()),
            }
        }
    }
    let gone = committed(&*store, |graph| {
        let gone = add_vertices(graph, thing, [50]);
        graph.remove_vertices(&gone).unwrap();
        gone
    });
    let view = store.snapshot().unwrap();
    assert!(!view.contains(ElementId::Vertex(gone[0])).unwrap());
    assert_eq!(find(&*view, None, 11).map(|v| v.label()), Some(thing));
    assert_clean(&*store);
}

fn a_required_property_stays(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, name, code) = (vertex_label(graph, "thing"), key(graph, "name"), key(graph, "code"));
        graph.declare_required(ElementKind::Vertex, thing, name, true).unwrap();
        graph.declare_key(thing, code).unwrap();
        graph.declare_required(ElementKind::Vertex, thing, code, true).unwrap();
        let v = add_vertices(graph, thing, 0..2);
        v.iter().for_each(|vertex| set(graph, *vertex, name, "it").unwrap());
        lacks(graph.set_cell(ElementId::Vertex(v[0]), name, Cell::Absent));
        lacks(set(graph, v[0], name, Value::Null));
        let nulls = PropertyColumn::Cells(vec![Cell::One(Value::Null), Cell::One("other".into())]);
        lacks(graph.set_properties(Elements::Vertices(&v), name, &nulls));
        graph.declare_required(ElementKind::Vertex, thing, name, false).unwrap();
        set(graph, v[0], name, Value::Null).unwrap();
        lacks(graph.declare_required(ElementKind::Vertex, thing, name, true));
        graph.set_cell(ElementId::Vertex(v[0]), name, Cell::Absent).unwrap();
        graph.remove_vertices(&v[1..]).unwrap();
    });
}
