//! Graphs in plain tables, which a mapping describes and which are queried in place, are the same graphs.

use std::path::Path;
use std::sync::Arc;

use mangrove_graph::{DateTime, ElementId, ElementKind, GraphWrite, IdSpace, NewEdge, Value};
use mangrove_ingest::{ExportFormat, Quiet};
use mangrove_lake::{GraphArOptions, Lake, LakeOptions, LakeView};
use mangrove_testkit::{Oracle, compare};

mod made;

use made::{edges, set, vertices};

fn options(home: &Path) -> LakeOptions {
    LakeOptions { cache: Some(home.join("indexes")), ..LakeOptions::default() }
}

fn open(mapping: &Path, home: &Path) -> Result<Arc<Lake>, String> {
    Lake::open(mapping.to_str().unwrap(), &options(home)).map(Arc::new).map_err(|error| error.to_string())
}

/// The graph as the Parquet export writes it: a table for each label, and a mapping.
fn exported(graph: &Oracle, home: &Path) -> Arc<Lake> {
    let at = home.join("out");
    mangrove_ingest::export(graph, &at, ExportFormat::Parquet, &mut Quiet).unwrap();
    open(&at.join("mangrove.yaml"), home).unwrap()
}

fn assert_survives(graph: &Oracle) {
    let home = tempfile::tempdir().unwrap();
    let lake = exported(graph, home.path());
    assert_eq!(lake.check(), Vec::<String>::new());
    for _ in 0..2 {
        let view = LakeView::new(lake.clone(), None);
        compare::assert_same_in_any_order(graph, &view);
        compare::assert_consistent(&view);
    }
    let again = open(&home.path().join("out/mangrove.yaml"), home.path()).unwrap();
    compare::assert_same_in_any_order(graph, &LakeView::new(again, None));
}

#[test]
fn well_known_graphs_survive() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path().join("modern");
    let report = mangrove_lake::export(&Oracle::modern(), &at, &GraphArOptions::default(), &mut Quiet).unwrap();
    let lake = open(&at.join(report.graph_file), home.path()).unwrap();
    let mut graph = Oracle::new(IdSpace::Label);
    mangrove_lake::load(&lake, &mut graph, &mut Quiet).unwrap();
    assert_survives(&graph);
}

#[test]
fn every_type_of_value_survives() {
    let mut graph = Oracle::new(IdSpace::Label);
    let people = vertices(&mut graph, "person", 0..20);
    let instant = |text: &str| Value::DateTime(DateTime::parse(text).unwrap());
    let values: [(&str, Value); 16] = [
        ("flag", true.into()),
        ("tiny", Value::Int8(-3)),
        ("short", Value::Int16(300)),
        ("int", Value::Int32(70_000)),
        ("long", Value::Int64(1 << 40)),
        ("float", Value::Float32(0.5)),
        ("double", Value::Float64(-1.25e300)),
        ("text", "ein Körper, \"quoted\"\nand broken".into()),
        ("bytes", Value::Bytes([0, 255, 7].as_slice().into())),
        ("day", mangrove_graph::Date::parse("1815-12-10").map(Value::Date).unwrap()),
        ("instant", instant("2024-02-29T10:00:00.000125Z")),
        ("span", Value::Duration(mangrove_graph::Duration::from_micros(1_500_000))),
        ("uuid", Value::Uuid("67e55044-10b1-426f-9247-bb680e5fe0c8".parse().unwrap())),
        ("vector", Value::Vector(vec![1.0, -2.5].into())),
        ("list", Value::list(vec![1.into(), 2.into()])),
        ("price", Value::from("12.50".parse::<bigdecimal::BigDecimal>().unwrap())),
    ];
    for person in people.iter().enumerate().filter(|(at, _)| at % 3 != 0).map(|(_, person)| *person) {
        values.iter().for_each(|(key, value)| set(&mut graph, ElementId::Vertex(person), key, value.clone()));
    }
    let ends: Vec<_> = people.iter().zip(people.iter().rev()).map(|(a, b)| (*a, *b)).collect();
    for edge in edges(&mut graph, "knows", ends) {
        values.iter().for_each(|(key, value)| set(&mut graph, ElementId::Edge(edge), key, value.clone()));
    }
    assert_survives(&graph);
}

#[test]
fn parallel_edges_loops_and_lonely_vertices_survive() {
    assert_survives(&made::tangled(IdSpace::Label).0);
}

#[test]
fn ids_survive_whatever_they_are() {
    let mut graph = Oracle::new(IdSpace::Label);
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.ensure_label(ElementKind::Vertex, name).unwrap());
    let mut made = Vec::new();
    graph.add_vertices(a, &[Some("x".into()), Some("y".into())], &mut made).unwrap();
    graph.add_vertices(b, &[Some(1.into()), Some(i64::MIN.into()), Some(i64::MAX.into())], &mut made).unwrap();
    let uuid = uuid::Uuid::from_u128(7 << 90);
    graph.add_vertices(c, &[Some(mangrove_graph::ExternalId::Uuid(uuid))], &mut made).unwrap();
    let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
    let edge = |source: usize, target: usize, id: i64| NewEdge {
        source: made[source],
        target: made[target],
        id: Some(id.into()),
        time: None,
    };
    graph.add_edges(knows, &[edge(0, 2, 50), edge(1, 3, 51), edge(5, 5, 52), edge(4, 0, 53)], &mut Vec::new()).unwrap();
    assert_survives(&graph);
}

#[test]
fn a_larger_graph_survives() {
    assert_survives(&made::large(IdSpace::Label));
}
