//! Graphs that are written as GraphAr directories and read in place are the same graphs.

use std::path::Path;

use mangrove_graph::{
    Cardinality, Catalog, Cell, ElementId, ElementKind, Elements, GraphView, GraphWrite, IdSpace, NewEdge, PropertyValue,
    Value, VertexId,
};
use mangrove_ingest::Quiet;
use mangrove_lake::{GraphArOptions, Lake, LakeError, LakeOptions, LakeView, ListOrder, export};
use mangrove_testkit::{Oracle, compare, graphs};

mod made;

use made::{edges, set, vertices};

/// Chunks so small that a few elements fill several.
fn small() -> GraphArOptions {
    GraphArOptions { vertex_chunk: 7, edge_chunk: 5, is_lossy: false, ..GraphArOptions::default() }
}

/// Indexes stay below the directory of the graph.
fn indexes_beside(at: &Path) -> LakeOptions {
    LakeOptions { cache: Some(at.join("indexes")), ..LakeOptions::default() }
}

fn written(graph: &Oracle, at: &Path, options: &GraphArOptions) -> LakeView {
    let report = export(graph, at, options, &mut Quiet).unwrap();
    let file = at.join(&report.graph_file);
    LakeView::new(Lake::open(file.to_str().unwrap(), &indexes_beside(at)).unwrap().into(), None)
}

fn assert_survives(graph: &Oracle, options: &GraphArOptions) {
    let home = tempfile::tempdir().unwrap();
    let view = written(graph, &home.path().join("out"), options);
    compare::assert_same_in_any_order(graph, &view);
    compare::assert_consistent(&view);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "nothing is left beside the export");
}

#[test]
fn well_known_graphs_survive() {
    assert_survives(&Oracle::modern(), &small());
    assert_survives(&Oracle::modern(), &GraphArOptions::default());
}

#[test]
fn every_type_of_value_survives() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let people = vertices(&mut graph, "person", 0..20);
    let values: [(&str, Value); 11] = [
        ("flag", true.into()),
        ("tiny", Value::Int8(-3)),
        ("short", Value::Int16(300)),
        ("int", Value::Int32(70_000)),
        ("long", Value::Int64(1 << 40)),
        ("float", Value::Float32(0.5)),
        ("double", Value::Float64(-1.25e300)),
        ("text", "ein Körper, \"quoted\"\nand broken".into()),
        ("day", mangrove_graph::Date::parse("1815-12-10").map(Value::Date).unwrap()),
        ("uuid", Value::Uuid("67e55044-10b1-426f-9247-bb680e5fe0c8".parse().unwrap())),
        ("vector", Value::Vector(vec![1.0, -2.5].into())),
    ];
    for (at, person) in people.iter().enumerate().filter(|(at, _)| at % 3 != 0) {
        values.iter().for_each(|(key, value)| set(&mut graph, ElementId::Vertex(*person), key, value.clone()));
        let instant = format!("2024-02-29T10:00:0{}.{}Z", at % 10, if at == 4 { "000001" } else { "5" });
        set(
            &mut graph,
            ElementId::Vertex(*person),
            "fine",
            Value::DateTime(mangrove_graph::DateTime::parse(&instant).unwrap()),
        );
        set(
            &mut graph,
            ElementId::Vertex(*person),
            "instant",
            Value::DateTime(mangrove_graph::DateTime::parse("2024-02-29T10:00:00.125Z").unwrap()),
        );
    }
    let ends = people.iter().zip(people.iter().rev()).map(|(a, b)| (*a, *b));
    for edge in edges(&mut graph, "knows", ends.collect::<Vec<_>>()) {
        values.iter().for_each(|(key, value)| set(&mut graph, ElementId::Edge(edge), key, value.clone()));
    }
    assert_survives(&graph, &small());
}

#[test]
fn several_values_survive() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let people = vertices(&mut graph, "person", 0..9);
    let label = people[0].label();
    for (name, cardinality) in [("nick", Cardinality::List), ("tag", Cardinality::Set)] {
        let key = graph.ensure_key(name).unwrap();
        graph.declare_property(ElementKind::Vertex, label, key, None, cardinality).unwrap();
        for (at, person) in people.iter().enumerate() {
            let value = |n: usize| PropertyValue { ordinal: n as u32, ..PropertyValue::plain(format!("{name} {n}").into()) };
            graph.set_cell(ElementId::Vertex(*person), key, Cell::from_entries((0..at % 4).map(value).collect())).unwrap();
        }
    }
    assert_survives(&graph, &small());
}

#[test]
fn further_labels_survive() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let people = vertices(&mut graph, "person", 0..30);
    let more = ["author", "editor", "person of interest"].map(|name| graph.ensure_label(ElementKind::Vertex, name).unwrap());
    for (at, person) in people.iter().enumerate() {
        let some: Vec<_> = more.iter().enumerate().filter(|(bit, _)| at >> bit & 1 == 1).map(|(_, label)| *label).collect();
        graph.set_further_labels(*person, &some).unwrap();
    }
    assert_survives(&graph, &small());
}

#[test]
fn groups_and_lists_survive_in_any_arrangement() {
    let mut graph = made::large(IdSpace::Graph);
    let first = mangrove_testkit::compare::scan_vertices(&graph, &mangrove_graph::Scan::default(), 10)[0];
    made::set(&mut graph, ElementId::Vertex(first), "labels", "a name like that of a folder");
    let keys: Vec<String> = graph.schema().keys.iter().map(|key| key.to_string()).collect();
    let orders = ListOrder::NAMES.map(|name| ListOrder::from_name(name).unwrap());
    for (at, lists) in orders.iter().map(|one| vec![*one]).chain([orders.to_vec()]).enumerate() {
        let groups = keys.chunks(1 + at % 3).map(<[String]>::to_vec).collect();
        assert_survives(&graph, &GraphArOptions { groups, lists, ..small() });
    }
}

#[test]
fn parallel_edges_loops_and_lonely_vertices_survive() {
    let (mut graph, people) = made::tangled(IdSpace::Graph);
    graph.remove_vertices(&[people[10], people[0]]).unwrap();
    assert_survives(&graph, &small());
    assert_survives(&graph, &GraphArOptions::default());
}

#[test]
fn ids_survive_whatever_they_are() {
    for space in [IdSpace::Graph, IdSpace::Label] {
        let mut graph = Oracle::new(space);
        let a = graph.ensure_label(ElementKind::Vertex, "a").unwrap();
        let b = graph.ensure_label(ElementKind::Vertex, "b").unwrap();
        let c = graph.ensure_label(ElementKind::Vertex, "c").unwrap();
        let mut made = Vec::new();
        graph.add_vertices(a, &[Some("x".into()), Some("y".into())], &mut made).unwrap();
        graph.add_vertices(b, &[Some(1.into()), Some(2.into())], &mut made).unwrap();
        let uuid: uuid::Uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8".parse().unwrap();
        graph.add_vertices(c, &[Some(mangrove_graph::ExternalId::Uuid(uuid))], &mut made).unwrap();
        let knows = graph.ensure_label(ElementKind::Edge, "knows").unwrap();
        let ids = [Some("first".into()), None];
        let edge = |(at, id): (usize, &Option<mangrove_graph::ExternalId>)| NewEdge {
            source: made[at],
            target: made[at + 2],
            id: id.clone(),
            time: None,
        };
        let new: Vec<NewEdge> = ids.iter().enumerate().map(edge).collect();
        graph.add_edges(knows, &new, &mut Vec::new()).unwrap();
        assert_survives(&graph, &small());
    }
}

#[test]
fn the_key_of_a_label_is_its_primary_property() {
    let mut graph = Oracle::new(IdSpace::Label);
    let person = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let email = graph.ensure_key("email").unwrap();
    graph.declare_key(person, email).unwrap();
    let mut made = Vec::new();
    graph.add_vertices(person, &[Some("ada@x".into()), Some("bob@x".into())], &mut made).unwrap();
    let home = tempfile::tempdir().unwrap();
    let view = written(&graph, &home.path().join("out"), &small());
    compare::assert_same_content(&graph, &view);
    let text = std::fs::read_to_string(home.path().join("out/person.vertex.yml")).unwrap();
    assert!(text.contains("name: email") && text.contains("is_primary: true"), "{text}");
}

#[test]
fn a_larger_graph_survives() {
    assert_survives(
        &made::large(IdSpace::Graph),
        &GraphArOptions { vertex_chunk: 100, edge_chunk: 256, is_lossy: false, ..GraphArOptions::default() },
    );
}

/// Pages of a row group that one call misses are decoded in one pass.
#[test]
fn pages_that_are_read_together_keep_their_rows() {
    let mut graph = Oracle::new(IdSpace::Graph);
    for (n, person) in vertices(&mut graph, "person", 0..20_000).into_iter().enumerate() {
        set(&mut graph, ElementId::Vertex(person), "n", n as i64 * 7 % 20_011);
        set(&mut graph, ElementId::Vertex(person), "name", format!("p{n}"));
    }
    let home = tempfile::tempdir().unwrap();
    let view = written(&graph, &home.path().join("out"), &GraphArOptions::default());
    let rows = [19_999, 3, 9_000, 9_001, 14_000, 5_000];
    let people = rows.map(|row| VertexId::new(view.schema().label(ElementKind::Vertex, "person").unwrap(), 0, row));
    let keys = ["n", "name"].map(|name| view.schema().key(name).unwrap());
    let mut columns = Vec::new();
    view.columns(Elements::Vertices(&people), &keys, &mut columns).unwrap();
    for (at, row) in rows.into_iter().enumerate() {
        let n = columns[0].cell(at).values().next().cloned();
        let name = columns[1].cell(at).values().next().cloned();
        assert_eq!((n, name), (Some((row as i64 * 7 % 20_011).into()), Some(format!("p{row}").into())), "row {row}");
    }
}

#[test]
fn a_graph_without_anything_survives() {
    let home = tempfile::tempdir().unwrap();
    let mut graph = Oracle::new(IdSpace::Graph);
    graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let view = written(&graph, &home.path().join("out"), &small());
    compare::assert_same_content(&graph, &view);
}

#[test]
fn what_the_format_cannot_hold_is_said_before_anything_is_written() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let people = vertices(&mut graph, "person", 0..3);
    set(&mut graph, ElementId::Vertex(people[0]), "mixed", 1);
    set(&mut graph, ElementId::Vertex(people[1]), "mixed", "one");
    set(&mut graph, ElementId::Vertex(people[2]), "big", Value::from(num_bigint::BigInt::from(1u128 << 100)));
    let home = tempfile::tempdir().unwrap();
    let at = home.path().join("out");
    let Err(LakeError::Lossy(losses)) = export(&graph, &at, &small(), &mut Quiet) else { panic!("it holds everything") };
    assert_eq!(losses.len(), 2, "{losses:?}");
    assert!(
        losses[0].contains("`mixed`") && losses[0].contains("int32, string") || losses[1].contains("`mixed`"),
        "{losses:?}"
    );
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    let report = export(&graph, &at, &GraphArOptions { is_lossy: true, ..small() }, &mut Quiet).unwrap();
    assert_eq!(report.losses, losses);
    assert!(matches!(export(&graph, &at, &small(), &mut Quiet), Err(LakeError::Lossy(_))));
    let taken = export(&Oracle::modern(), &at, &small(), &mut Quiet).unwrap_err();
    assert!(matches!(taken, LakeError::NotEmpty(_)), "{taken}");
}

#[test]
fn a_label_that_lost_its_vertices_takes_no_edges_along() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let people = vertices(&mut graph, "person", 0..3);
    let authors = vertices(&mut graph, "author", 10..12);
    edges(&mut graph, "knows", [(people[0], people[1]), (authors[0], people[0])]);
    let author = graph.ensure_label(ElementKind::Vertex, "author").unwrap();
    graph.set_further_labels(people[2], &[author]).unwrap();
    graph.remove_vertices(&authors).unwrap();
    assert_survives(&graph, &small());
    assert_survives(&Oracle::new(IdSpace::Graph), &small());
}

#[test]
fn names_of_any_kind_survive() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let long = "wichtige Körper ".repeat(20);
    let people = vertices(&mut graph, &long, 0..5);
    let others = vertices(&mut graph, "人/..%20", 10..15);
    edges(&mut graph, &long, people.iter().zip(&others).map(|(a, b)| (*a, *b)).collect::<Vec<_>>());
    edges(&mut graph, "a: \"b\"", [(people[0], people[1])]);
    set(&mut graph, ElementId::Vertex(people[0]), "ein Schlüssel: [x]", "y");
    assert_survives(&graph, &small());
}

/// Other writers leave lists out, or do not sort them.
#[test]
fn lists_that_are_missing_or_unsorted_are_sorted_when_they_are_needed() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let people = vertices(&mut graph, "person", 0..64);
    let ends: Vec<_> = graphs::rmat(6, 300, 3).into_iter().map(|(s, t)| (people[s as usize], people[t as usize])).collect();
    for (n, edge) in edges(&mut graph, "knows", ends).into_iter().enumerate() {
        set(&mut graph, ElementId::Edge(edge), "n", n as i64);
    }
    let by = |side: &str, sorted: bool, folder: &str| {
        format!("  - ordered: {sorted}\n    aligned_by: {side}\n    prefix: {folder}/\n    file_type: parquet\n")
    };
    let (source, target) = ("ordered_by_source", "ordered_by_dest");
    for lists in [
        by("src", true, source),
        by("dst", true, target),
        by("src", false, source),
        by("dst", false, target),
        by("dst", true, target) + &by("src", false, source),
    ] {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().join("out");
        export(&graph, &at, &small(), &mut Quiet).unwrap();
        let file = at.join("person_knows_person.edge.yml");
        let text = std::fs::read_to_string(&file).unwrap();
        let (before, rest) = text.split_once("adj_lists:\n").unwrap();
        let (_, after) = rest.split_once("property_groups:").unwrap();
        std::fs::write(&file, format!("{before}adj_lists:\n{lists}property_groups:{after}")).unwrap();
        let lake = Lake::open(at.join("out.graph.yml").to_str().unwrap(), &indexes_beside(&at)).unwrap();
        assert_eq!(lake.check(), Vec::<String>::new(), "{lists}");
        compare::assert_same_in_any_order(&graph, &LakeView::new(lake.into(), None));
    }
}
