//! Renaming labels, and dropping labels and properties.

use mangrove_graph::{EdgeRef, GraphError, IdSpace, PropertyId, Value};

use super::*;

pub(super) const CASES: &[Case] = &[
    ("a label gets another name", a_label_gets_another_name),
    ("what is in use is not dropped", what_is_in_use_is_not_dropped),
    ("what was dropped does not come back", what_was_dropped_does_not_come_back),
    ("an index keeps its key", an_index_keeps_its_key),
];

fn set(graph: &mut dyn GraphWrite, vertex: VertexId, key: KeyId, value: impl Into<Value>) {
    graph.set_cell(ElementId::Vertex(vertex), key, Cell::One(value.into())).unwrap();
}

fn a_label_gets_another_name(make: Make<'_>) {
    let store = same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, other, knows) = (vertex_label(graph, "thing"), vertex_label(graph, "other"), edge_label(graph, "knows"));
        let v = add_vertices(graph, thing, 0..3);
        add_edges(graph, knows, [(v[0], v[1])]);
        graph.rename_label(ElementKind::Vertex, thing, "object").unwrap();
        graph.rename_label(ElementKind::Vertex, thing, "object").unwrap();
        assert!(graph.rename_label(ElementKind::Vertex, other, "object").is_err());
        graph.rename_label(ElementKind::Vertex, other, "").unwrap();
        graph.rename_label(ElementKind::Edge, knows, "object").unwrap();
        assert_ne!(graph.ensure_label(ElementKind::Vertex, "thing").unwrap(), thing, "the name is free again");
    });
    let view = store.snapshot().unwrap();
    assert_eq!(view.schema().label(ElementKind::Vertex, "object"), Some(LabelId(0)));
    assert_eq!(view.schema().label(ElementKind::Edge, "knows"), None);
}

fn an_index_keeps_its_key(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, other, name) = (vertex_label(graph, "thing"), vertex_label(graph, "other"), key(graph, "name"));
        graph.create_index(PropertyId::of_vertices(thing, name)).unwrap();
        graph.drop_property(PropertyId::of_vertices(other, name)).unwrap();
        assert_eq!(key(graph, "name"), name, "it is the same key");
        let v = add_vertices(graph, thing, 0..1);
        set(graph, v[0], name, "x");
    });
}

fn is_refused(outcome: Result<()>) {
    assert!(matches!(outcome, Err(GraphError::InUse { .. })), "{outcome:?}");
}

fn what_is_in_use_is_not_dropped(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, red, knows) = (vertex_label(graph, "thing"), vertex_label(graph, "red"), edge_label(graph, "knows"));
        let (name, at, id) = (key(graph, "name"), key(graph, "at"), key(graph, "id"));
        graph.declare_key(thing, id).unwrap();
        graph.declare_time(knows, at).unwrap();
        let v = add_vertices(graph, thing, 0..2);
        graph.set_further_labels(v[0], &[red]).unwrap();
        let edges = add_edges(graph, knows, [(v[0], v[1])]);
        set(graph, v[1], name, "x");
        is_refused(graph.drop_label(ElementKind::Vertex, thing));
        is_refused(graph.drop_label(ElementKind::Vertex, red));
        is_refused(graph.drop_label(ElementKind::Edge, knows));
        is_refused(graph.drop_property(PropertyId::of_vertices(thing, name)));
        assert!(graph.drop_property(PropertyId::of_vertices(thing, id)).is_err(), "it is the key");
        assert!(graph.drop_property(PropertyId::of_edges(knows, at)).is_err(), "it is the time");
        graph.drop_property(PropertyId::of_edges(knows, name)).unwrap();
        graph.remove_edges(&[EdgeRef { id: edges[0], source: v[0], target: v[1] }]).unwrap();
        graph.drop_label(ElementKind::Edge, knows).unwrap();
        assert!(graph.drop_label(ElementKind::Edge, knows).is_err(), "it is gone");
        graph.set_further_labels(v[0], &[]).unwrap();
        graph.drop_label(ElementKind::Vertex, red).unwrap();
    });
}

fn what_was_dropped_does_not_come_back(make: Make<'_>) {
    let mut store = make(IdSpace::Graph);
    let (thing, name, v) = committed(&*store, |graph| {
        let (thing, gone, name, only) =
            (vertex_label(graph, "thing"), vertex_label(graph, "gone"), key(graph, "name"), key(graph, "only"));
        let v = add_vertices(graph, thing, 0..200);
        (0i64..).zip(&v).for_each(|(at, vertex)| set(graph, *vertex, name, at));
        graph.create_index(PropertyId::of_vertices(thing, name)).unwrap();
        let others = add_vertices(graph, gone, 1000..1100);
        others.iter().for_each(|vertex| set(graph, *vertex, only, 1i64));
        (thing, name, v)
    });
    store.condense(Condensing::Seal, &|| false).unwrap();
    let old = store.snapshot().unwrap().schema().label(ElementKind::Vertex, "gone").unwrap();
    committed(&*store, |graph| {
        v.iter().for_each(|vertex| graph.set_cell(ElementId::Vertex(*vertex), name, Cell::Absent).unwrap());
        graph.drop_property(PropertyId::of_vertices(thing, name)).unwrap();
        let all = crate::compare::scan_vertices(graph.as_view(), &mangrove_graph::Scan::default(), 1000);
        let others: Vec<VertexId> = all.into_iter().filter(|vertex| vertex.label() == old).collect();
        graph.remove_vertices(&others).unwrap();
        graph.drop_label(ElementKind::Vertex, old).unwrap();
    });
    for how in [Condensing::Seal, Condensing::Merge, Condensing::Compact] {
        let view = store.snapshot().unwrap();
        assert_eq!((view.schema().label(ElementKind::Vertex, "gone"), view.schema().key("only")), (None, None));
        assert!(view.schema().indexes.is_empty());
        drop(view);
        committed(&*store, |graph| {
            let (gone, name) = (vertex_label(graph, "gone"), key(graph, "name"));
            assert_ne!(gone, old);
            set(graph, v[3], name, "new");
            let others = add_vertices(graph, gone, [1000]);
            set(graph, others[0], name, "other");
            assert!(graph.cell(ElementId::Vertex(v[4]), name).unwrap().is_absent(), "an old value");
            graph.create_index(PropertyId::of_vertices(thing, name)).unwrap();
            graph.drop_index(PropertyId::of_vertices(thing, name)).unwrap();
            graph.remove_vertices(&others).unwrap();
            graph.drop_label(ElementKind::Vertex, gone).unwrap();
            graph.set_cell(ElementId::Vertex(v[3]), name, Cell::Absent).unwrap();
            graph.drop_property(PropertyId::of_vertices(thing, name)).unwrap();
        });
        store.condense(how, &|| false).unwrap();
        store.reopen().unwrap();
        assert_clean(&*store);
    }
    assert_eq!(store.snapshot().unwrap().statistics().unwrap().vertices.iter().sum::<u64>(), 200);
}
