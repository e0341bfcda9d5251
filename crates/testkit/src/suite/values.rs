//! Properties: every type of value, several values with properties of their own, columns, declarations.

use std::sync::Arc;

use mangrove_graph::{
    BigDecimal, BigInt, Cardinality, Date, DateTime, Duration, Elements, GraphError, IdSpace, Map, PropertyColumn,
    PropertyValue, Uuid, Value, ValueType, VertexId,
};

use super::*;

pub(super) const CASES: &[Case] = &[
    ("values of every type come back as they were", values_of_every_type_come_back_as_they_were),
    ("values are set, replaced and removed", values_are_set_replaced_and_removed),
    ("several values with properties of their own", several_values_with_properties_of_their_own),
    ("columns are set at once", columns_are_set_at_once),
    ("what cannot be stored is refused", what_cannot_be_stored_is_refused),
    ("a declaration is kept to", a_declaration_is_kept_to),
    ("a declaration fails on values that break it", a_declaration_fails_on_values_that_break_it),
];

/// At least one value of every type, with its bounds.
pub fn values_of_every_type() -> Vec<Value> {
    let mut values: Vec<Value> = vec![Value::Null, true.into(), false.into(), "".into(), "a\u{0}b".into(), "日本".into()];
    values.extend([i8::MIN, 0, i8::MAX].map(Value::Int8));
    values.extend([i16::MIN, i16::MAX].map(Value::Int16));
    values.extend([i32::MIN, i32::MAX].map(Value::Int32));
    values.extend([i64::MIN, -1, i64::MAX].map(Value::Int64));
    values.extend([0.0, -0.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE].map(Value::Float32));
    values.extend([0.1, -0.0, f64::NAN, f64::NEG_INFINITY, f64::MAX].map(Value::Float64));
    values.extend(["0", "-1", "123456789012345678901234567890"].map(|n| n.parse::<BigInt>().unwrap().into()));
    values.extend(["0", "-0.10", "1.50", "1E+40", "1e-40"].map(|n| n.parse::<BigDecimal>().unwrap().into()));
    values.extend([Value::string("x".repeat(100_000)), Value::Bytes(vec![0; 70_000].into()), Value::Bytes([].into())]);
    values.extend([Uuid::nil(), Uuid::max()].map(Value::Uuid));
    values.extend([i32::MIN, 0, 19_000].map(|days| Value::Date(Date(days))));
    for (seconds, nanos, offset_seconds) in [(0, 0, 0), (-1, 999_999_999, -3600), (1_700_000_000, 1, 7200)] {
        values.push(Value::DateTime(DateTime { seconds, nanos, offset_seconds }));
        values.push(Value::Duration(Duration { seconds, nanos }));
    }
    values.extend([Value::Vector([0.5, f32::NAN].into()), Value::Vector([].into())]);
    let inner = Value::list(vec![1i8.into(), Value::Null, "x".into(), Value::list(Vec::new())]);
    let map =
        Map::from_distinct(vec![(1i64.into(), inner.clone()), ("k".into(), Value::Null), (inner.clone(), true.into())]);
    values.extend([inner.clone(), Value::set([2i64.into(), 1i64.into(), inner]), Value::map(map), Value::map(Map::new())]);
    values
}

fn values_of_every_type_come_back_as_they_were(make: Make<'_>) {
    let types: std::collections::HashSet<ValueType> = values_of_every_type().iter().map(Value::value_type).collect();
    assert_eq!(types.len(), ValueType::ALL_STORABLE.len());
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, mixed) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "mixed"));
        let values = values_of_every_type();
        let v = add_vertices(graph, thing, 0..values.len() as i64);
        let e = add_edges(graph, knows, v.iter().map(|a| (*a, v[0])).collect::<Vec<_>>());
        for ((value, vertex), edge) in values.into_iter().zip(&v).zip(&e) {
            let own = key(graph, &format!("of type {}", value.value_type()));
            for key in [own, mixed] {
                graph.set_cell(ElementId::Vertex(*vertex), key, Cell::One(value.clone())).unwrap();
                graph.set_cell(ElementId::Edge(*edge), key, Cell::One(value.clone())).unwrap();
            }
        }
    });
}

fn values_are_set_replaced_and_removed(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows) = (vertex_label(graph, "thing"), edge_label(graph, "knows"));
        let (name, age) = (key(graph, "name"), key(graph, "age"));
        let v = add_vertices(graph, thing, 0..4);
        let e = add_edges(graph, knows, [(v[0], v[1])])[0];
        for element in [ElementId::Vertex(v[0]), ElementId::Edge(e)] {
            graph.set_cell(element, name, Cell::One("one".into())).unwrap();
            graph.set_cell(element, name, Cell::One("much longer than it was before".into())).unwrap();
            graph.set_cell(element, age, Cell::One(1i64.into())).unwrap();
            graph.set_cell(element, age, Cell::Absent).unwrap();
            graph.set_cell(element, age, Cell::Absent).unwrap();
        }
        set_vertex(graph, v[1], age, 3i64);
        set_vertex(graph, v[1], age, "three");
        set_vertex(graph, v[2], age, Value::Null);
    });
}

fn several_values_with_properties_of_their_own(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let thing = vertex_label(graph, "thing");
        let [name, since, by] = ["name", "since", "by"].map(|name| key(graph, name));
        let v = add_vertices(graph, thing, 0..4);
        let entry = |ordinal: u32, value: Value, meta: Vec<(KeyId, Value)>| PropertyValue { ordinal, value, meta };
        let many = vec![
            entry(0, "a".into(), vec![(since, 2009.into()), (by, Value::Null)]),
            entry(4, "b".into(), Vec::new()),
            entry(9, Value::Null, vec![(by, Value::list(vec![1.into()]))]),
        ];
        graph.set_cell(ElementId::Vertex(v[0]), name, Cell::Many(many.clone())).unwrap();
        graph.set_cell(ElementId::Vertex(v[1]), name, Cell::Many(many.clone())).unwrap();
        graph.set_cell(ElementId::Vertex(v[1]), name, Cell::Many(many[1..2].to_vec())).unwrap();
        graph.set_cell(ElementId::Vertex(v[2]), name, Cell::Many(many)).unwrap();
        graph.set_cell(ElementId::Vertex(v[2]), name, Cell::Many(Vec::new())).unwrap();
        graph.set_cell(ElementId::Vertex(v[3]), name, Cell::Many(vec![entry(0, "plain".into(), Vec::new())])).unwrap();
        assert_eq!(graph.as_view().cell(ElementId::Vertex(v[2]), name).unwrap(), Cell::Absent);
        assert_eq!(graph.as_view().cell(ElementId::Vertex(v[3]), name).unwrap(), Cell::One("plain".into()));
    });
}

fn columns_are_set_at_once(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows) = (vertex_label(graph, "thing"), edge_label(graph, "knows"));
        let [age, name] = ["age", "name"].map(|name| key(graph, name));
        let v = add_vertices(graph, thing, 0..1000);
        let ids = add_edges(graph, knows, v.iter().map(|a| (*a, v[0])).collect::<Vec<_>>());
        let e: Vec<_> =
            ids.iter().zip(&v).map(|(id, a)| mangrove_graph::EdgeRef { id: *id, source: *a, target: v[0] }).collect();
        set_vertex(graph, v[5], age, "older");
        let values: Vec<Value> = (0..1000i64).map(|i| Value::Int64(i * i)).collect();
        let present: Vec<Option<&Value>> = values.iter().enumerate().map(|(i, v)| (i % 5 > 0).then_some(v)).collect();
        let column = PropertyColumn::Typed(mangrove_graph::column::array_of(&present).unwrap());
        graph.set_properties(Elements::Vertices(&v), age, &column).unwrap();
        graph.set_properties(Elements::Edges(&e), age, &column).unwrap();
        let cell = |i: usize| match i % 4 {
            0 => Cell::Absent,
            1 => Cell::One(Value::Null),
            2 => Cell::One((i as i64).into()),
            _ => Cell::One(format!("name {i}").into()),
        };
        let cells = PropertyColumn::Cells((0..1000).map(cell).collect());
        graph.set_properties(Elements::Edges(&e), name, &cells).unwrap();
        graph.set_properties(Elements::Vertices(&v), name, &cells).unwrap();
        graph.set_properties(Elements::Vertices(&v), name, &PropertyColumn::Absent(1000)).unwrap();
        assert_eq!(graph.as_view().cell(ElementId::Vertex(v[5]), age).unwrap(), Cell::One("older".into()));
    });
}

fn what_cannot_be_stored_is_refused(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows, name) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "name"));
        let v = add_vertices(graph, thing, 0..2);
        let e = add_edges(graph, knows, [(v[0], v[1])])[0];
        let nested = Value::List(Arc::new(vec![Value::Vertex(VertexId(0))]));
        let error = graph.set_cell(ElementId::Vertex(v[0]), name, Cell::One(nested)).unwrap_err();
        assert!(matches!(error, GraphError::NotStorable { .. }), "{error}");
        let two = [(0, "a"), (1, "b")].map(|(ordinal, v)| PropertyValue { ordinal, value: v.into(), meta: Vec::new() });
        let error = graph.set_cell(ElementId::Edge(e), name, Cell::Many(two.into())).unwrap_err();
        assert!(matches!(error, GraphError::Invalid(_)), "{error}");
    });
}

fn a_declaration_is_kept_to(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, knows) = (vertex_label(graph, "thing"), edge_label(graph, "knows"));
        let [age, names, tags] = ["age", "names", "tags"].map(|name| key(graph, name));
        graph.declare_property(ElementKind::Vertex, thing, age, Some(ValueType::Int32), Cardinality::Single).unwrap();
        graph.declare_property(ElementKind::Edge, knows, age, Some(ValueType::String), Cardinality::Single).unwrap();
        graph.declare_property(ElementKind::Vertex, thing, names, Some(ValueType::String), Cardinality::List).unwrap();
        graph.declare_property(ElementKind::Vertex, thing, tags, None, Cardinality::Set).unwrap();
        let v = add_vertices(graph, thing, 0..3);
        set_vertex(graph, v[0], age, 7i32);
        set_vertex(graph, v[1], age, Value::Null);
        for wrong in [Value::Int64(7), "seven".into(), Value::Float64(7.0)] {
            let error = graph.set_cell(ElementId::Vertex(v[0]), age, Cell::One(wrong.clone())).unwrap_err();
            assert!(matches!(error, GraphError::TypeMismatch { .. }), "{wrong}: {error}");
            let cells = PropertyColumn::Cells(vec![Cell::One(wrong)]);
            let error = graph.set_properties(Elements::Vertices(&v[..1]), age, &cells).unwrap_err();
            assert!(matches!(error, GraphError::TypeMismatch { .. }), "{error}");
        }
        let two = |a: &str, b: &str| {
            let entries = [(0, a), (1, b)].map(|(ordinal, v)| PropertyValue { ordinal, value: v.into(), meta: Vec::new() });
            Cell::Many(entries.into())
        };
        graph.set_cell(ElementId::Vertex(v[0]), names, two("a", "a")).unwrap();
        graph.set_cell(ElementId::Vertex(v[0]), tags, two("a", "b")).unwrap();
        assert!(graph.set_cell(ElementId::Vertex(v[2]), age, two("a", "b")).is_err());
    });
}

fn a_declaration_fails_on_values_that_break_it(make: Make<'_>) {
    same_as_oracle(make, IdSpace::Graph, |graph| {
        let (thing, name) = (vertex_label(graph, "thing"), key(graph, "name"));
        let v = add_vertices(graph, thing, 0..3);
        set_vertex(graph, v[0], name, "text");
        set_vertex(graph, v[1], name, 5i64);
        let declare = |graph: &mut dyn GraphWrite| {
            graph.declare_property(ElementKind::Vertex, thing, name, Some(ValueType::String), Cardinality::Single)
        };
        let error = declare(graph).unwrap_err();
        assert!(matches!(error, GraphError::TypeMismatch { .. }), "{error}");
        graph.set_cell(ElementId::Vertex(v[1]), name, Cell::Absent).unwrap();
        declare(graph).unwrap();
        assert!(graph.set_cell(ElementId::Vertex(v[1]), name, Cell::One(5i64.into())).is_err());
    });
}
