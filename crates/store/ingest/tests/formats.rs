//! Tests of Parquet, JSON Lines, GraphML and GraphSON, of tables in memory, and of exporting and loading back.

mod support;

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int32Array, LargeStringArray, ListArray, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt64Array,
};
use arrow_schema::{Field, Schema};
use mangrove_graph::{
    Catalog, Cell, ElementId, ElementKind, ExternalId, GraphWrite, IdSpace, NewEdge, PropertyValue, Value,
};
use mangrove_ingest::{
    EdgeFiles, ExportError, ExportFormat, Fault, Ingest, IngestOptions, LoadError, LoadOptions, NodeFiles, Quiet, Table,
    TableInput, bytes, export, load,
};
use mangrove_testkit::far::SlowView;
use mangrove_testkit::{Oracle, compare, random, samples};
use proptest::prelude::*;
use support::{Files, cell, labels, out_edges, try_load, value, values, vertex};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns.iter().map(|(name, a)| Field::new(*name, a.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, a)| a).collect()).unwrap()
}

fn people() -> RecordBatch {
    let scores = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        None,
        Some(vec![]),
    ]);
    batch(vec![
        ("id", Arc::new(UInt64Array::from(vec![10, 20, 30]))),
        ("name", Arc::new(LargeStringArray::from(vec![Some("Ann"), Some("Bob"), None]))),
        ("height", Arc::new(Float32Array::from(vec![Some(1.5), None, Some(1.75)]))),
        ("seen", Arc::new(TimestampMillisecondArray::from(vec![Some(1500), None, Some(0)]))),
        ("scores", Arc::new(scores)),
    ])
}

fn check_people(graph: &Oracle) {
    assert_eq!(value(graph, 10, "id"), Value::Int64(10));
    assert_eq!(value(graph, 10, "name"), "Ann".into());
    assert_eq!(value(graph, 30, "height"), Value::Float32(1.75));
    assert_eq!(value(graph, 10, "seen").to_string(), "1970-01-01T00:00:01.5Z");
    assert_eq!(value(graph, 10, "scores"), Value::list(vec![Value::Int32(1), Value::Int32(2)]));
    assert!(cell(graph, ElementId::Vertex(vertex(graph, 30)), "name").is_absent());
}

#[test]
fn parquet_loads_column_by_column() {
    let files = Files::new(&[("knows.csv", "src,dst\n10,20\n10,30\n")]);
    let file = std::fs::File::create(files.path("people.parquet")).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, people().schema(), None).unwrap();
    writer.write(&people()).unwrap();
    writer.close().unwrap();
    let options = LoadOptions {
        nodes: vec![NodeFiles { label: "Person".into(), files: vec![files.path("people.parquet")] }],
        edges: vec![EdgeFiles { source: None, label: "knows".into(), target: None, files: vec![files.path("knows.csv")] }],
        ..LoadOptions::default()
    };
    let (graph, report) = try_load(&options, IdSpace::Graph).unwrap();
    assert_eq!((report.vertices["Person"], report.edges["knows"]), (3, 2));
    check_people(&graph);
}

#[test]
fn tables_in_memory_load_beside_files() {
    let files = Files::new(&[("people.csv", "id\n1\n2\n")]);
    let schema = people().schema();
    let ends: [ArrayRef; 2] = [Arc::new(Int32Array::from(vec![10, 1])), Arc::new(Float64Array::from(vec![20.0, 2.0]))];
    let [src, dst] = ends;
    let knows = batch(vec![("src", src), ("dst", dst), ("w", Arc::new(Float64Array::from(vec![0.5, 1.0])))]);
    let options = LoadOptions {
        tables: vec![
            TableInput::edges(None, "knows", None, Table::Arrow { schema: knows.schema(), batches: vec![knows] }),
            TableInput::vertices("Person", Table::Arrow { schema, batches: vec![people()] }),
        ],
        ..files.options(&["people.csv"])
    };
    let (graph, _) = try_load(&options, IdSpace::Graph).unwrap();
    check_people(&graph);
    assert_eq!(out_edges(&graph, vertex(&graph, 10), "w"), [("knows".into(), "20".into(), Some(0.5.into()))]);
    let bad = batch(vec![("id", Arc::new(StringArray::from(vec![Some("x"), None])) as ArrayRef)]);
    let bad = Table::Arrow { schema: bad.schema(), batches: vec![bad] };
    let options = LoadOptions { tables: vec![TableInput::vertices("T", bad)], ..LoadOptions::default() };
    let message = try_load(&options, IdSpace::Graph).unwrap_err().to_string();
    assert!(message.starts_with("T: row 2: no id (column `id` is empty)"), "{message}");
}

#[test]
fn json_lines_load_and_bad_ones_have_a_place() {
    let text = "{\"id\": 1, \"name\": \"Ann\", \"n\": 1, \"tags\": [\"a\", 2], \"at\": {\"x\": null}}\n\n{\"id\": 2, \"n\": 2.5, \"late\": true}\n";
    let files = Files::new(&[
        ("people.jsonl", text),
        ("knows.jsonl", "{\"src\": 1, \"dst\": 2, \"w\": 0.5}\n{\"src\": 2}\n"),
        ("bad.jsonl", "{\"id\": 1}\n{\"id\": 2,, }\n[]\n{\"name\": 3}\n{\"id\": 1.5}\n{\"id\": 3}\n"),
    ]);
    let (graph, report) =
        try_load(&files.skipping(files.options(&["people.jsonl", "knows.jsonl"])), IdSpace::Graph).unwrap();
    assert_eq!((report.vertices["people"], report.edges["knows"], report.rejects), (2, 1, 1));
    assert_eq!(value(&graph, 1, "tags"), Value::list(vec!["a".into(), Value::Int64(2)]));
    assert_eq!((value(&graph, 1, "n"), value(&graph, 2, "n")), (1.0.into(), 2.5.into()));
    assert_eq!(value(&graph, 2, "late"), true.into());

    let (_, report) = try_load(&files.skipping(files.options(&["bad.jsonl"])), IdSpace::Graph).unwrap();
    assert_eq!((report.vertex_count(), report.rejects), (2, 4));
    assert_eq!(report.rejects_file, Some(files.path("rejects-2.csv")), "those of the first load stay as they are");
    let rejects = files.rejects_in("rejects-2.csv");
    assert_eq!(rejects.len(), 4);
    for (reject, start) in rejects.iter().zip(["bad.jsonl,2,10,", "bad.jsonl,3,1,", "bad.jsonl,4,1,", "bad.jsonl,5,1,1.5,"])
    {
        assert!(reject.starts_with(start), "{reject}");
    }
}

const GRAPHML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="labelV" for="node" attr.name="labelV" attr.type="string"/>
  <key id="name" for="node" attr.name="name" attr.type="string"/>
  <key id="d1" for="node" attr.name="age" attr.type="int"><default>7</default></key>
  <key id="labelE" for="edge" attr.name="labelE" attr.type="string"/>
  <key id="w" for="edge" attr.name="weight" attr.type="double"/>
  <graph id="G" edgedefault="directed">
    <edge id="7" source="1" target="2"><data key="labelE">knows</data><data key="w">0.5</data></edge>
    <node id="1"><data key="labelV">person</data><data key="name">A &amp; B &#233;<![CDATA[<x>]]></data><data key="d1">29</data></node>
    <node id="2"><data key="name">v</data></node>
  </graph>
</graphml>
"#;

#[test]
fn graphml_loads_with_types_and_defaults() {
    let files = Files::new(&[("g.graphml", GRAPHML)]);
    let (graph, _) = files.load(&["g.graphml"]);
    assert_eq!(value(&graph, 1, "name"), "A & B é<x>".into());
    assert_eq!((value(&graph, 1, "age"), value(&graph, 2, "age")), (Value::Int32(29), Value::Int32(7)));
    assert_eq!((labels(&graph, 1), labels(&graph, 2)), (vec!["person".to_owned()], vec!["vertex".to_owned()]));
    assert_eq!(out_edges(&graph, vertex(&graph, 1), "weight"), [("knows".into(), "2".into(), Some(0.5.into()))]);
}

#[test]
fn graphml_that_cannot_be_loaded_has_a_place() {
    for (from, to, told) in [
        (">29<", ">old<", "g.graphml:10:5: `old` – not an int32 (column `age`)"),
        ("target=\"2\"", "target=\"3\"", "g.graphml:9:5: `3` – there is no vertex with this id"),
        ("<node id=\"2\">", "<node id=\"2\"><graph/>", "g.graphml:11:18: graphs within nodes are not supported"),
        ("<edge id", "<hyperedge/><edge id", "g.graphml:9:5: hyperedges are not supported"),
        ("  </graph>", "  </node>", "g.graphml:12:"),
        ("</graphml>", "", "g.graphml:14:1: the file ends within <graphml>"),
        ("attr.type=\"int\"", "attr.type=\"integr\"", "g.graphml:5:3: key `d1`: `integr` is not a type"),
        ("key=\"d1\"", "key=\"d2\"", "g.graphml:10:5: `d2` – a key that is not declared"),
    ] {
        assert!(GRAPHML.contains(from));
        let files = Files::new(&[("g.graphml", &GRAPHML.replace(from, to))]);
        let message = files.message(try_load(&files.options(&["g.graphml"]), IdSpace::Graph).unwrap_err());
        assert!(message.starts_with(told), "{told}: {message}");
    }
}

#[test]
fn graphson_loads_in_each_of_its_shapes() {
    let lines = r#"{"id":{"@type":"g:Int32","@value":1},"label":"person","outE":{"knows":[{"id":{"@type":"g:Int32","@value":7},"inV":{"@type":"g:Int32","@value":2},"properties":{"weight":{"@type":"g:Double","@value":0.5}}}]},"properties":{"name":[{"id":{"@type":"g:Int64","@value":0},"value":"marko","properties":{"acl":"public"}},{"value":"mark"}]}}
{"id":{"@type":"g:Int32","@value":2},"label":"person","inE":{"knows":[{"id":{"@type":"g:Int32","@value":7},"outV":{"@type":"g:Int32","@value":1}}]},"properties":{"name":[{"value":"vadas"}]}}
"#;
    let wrapped = format!("{{\"vertices\": [{}]}}", lines.trim().replace('\n', ",\n"));
    let document = r#"{"@type":"tinker:graph","@value":{"vertices":[
        {"@type":"g:Vertex","@value":{"id":{"@type":"g:Int32","@value":1},"label":"person","properties":{"name":[{"@type":"g:VertexProperty","@value":{"id":0,"value":"marko","label":"name","properties":{"acl":"public"}}},{"@type":"g:VertexProperty","@value":{"id":1,"value":"mark"}}]}}},
        {"@type":"g:Vertex","@value":{"id":{"@type":"g:Int32","@value":2},"label":"person"}}],
      "edges":[{"@type":"g:Edge","@value":{"id":{"@type":"g:Int32","@value":7},"label":"knows","inVLabel":"person","outVLabel":"person","inV":{"@type":"g:Int32","@value":2},"outV":{"@type":"g:Int32","@value":1},"properties":{"weight":{"@type":"g:Property","@value":{"key":"weight","value":{"@type":"g:Double","@value":0.5}}}}}}]}}"#;
    let pretty = lines
        .replace("{\"id\":{\"@type\":\"g:Int32\",\"@value\":2}", "{\n  \"id\": 2\n ")
        .replace(",\"label\"", ",\n \"label\"");
    for text in [lines, &wrapped, document, &pretty] {
        let files = Files::new(&[("g.json", text)]);
        let (graph, report) = files.load(&["g.json"]);
        assert_eq!((report.vertex_count(), report.edge_count()), (2, 1), "{text}");
        assert_eq!(values(&graph, 1, "name"), ["marko".into(), "mark".into()]);
        let entries = cell(&graph, ElementId::Vertex(vertex(&graph, 1)), "name").into_entries();
        let acl = graph.schema().key("acl").unwrap();
        assert_eq!(entries[0].meta, [(acl, "public".into())]);
        assert_eq!(out_edges(&graph, vertex(&graph, 1), "weight"), [("knows".into(), "2".into(), Some(0.5.into()))]);
    }
}

#[test]
fn graphson_that_cannot_be_loaded_has_a_place() {
    let files = Files::new(&[(
        "g.json",
        "{\"id\":1,\"label\":\"v\",\"outE\":{\"e\":[{\"id\":1,\"inV\":9}]}}\n{\"id\":2,\"label\":\"v\"\n{\"label\":\"v\"}\n{\"id\":[1],\"label\":\"v\"}\n{\"id\":5,\"label\":\"v\",\"properties\":{\"n\":[{\"value\":{\"@type\":\"g:Int32\",\"@value\":\"x\"}}]}}\n",
    )]);
    let (_, report) = try_load(&files.skipping(files.options(&["g.json"])), IdSpace::Graph).unwrap();
    assert_eq!((report.vertex_count(), report.edge_count()), (1, 0));
    let rejects = files.rejects();
    let starts = ["g.json,2,20,,", "g.json,3,1,,no `id`", "g.json,4,1,[1],", "g.json,5,1,x,not a g:Int32", "g.json,1,1,9,"];
    assert_eq!(rejects.len(), starts.len(), "{rejects:?}");
    for (reject, start) in rejects.iter().zip(starts) {
        assert!(reject.starts_with(start), "{reject}");
    }
}

// ---- streams of rows

fn rows(names: &[&str], values: Vec<Value>) -> Table {
    Table::Rows { names: names.iter().map(|name| Arc::from(*name)).collect(), values }
}

#[test]
fn ingest_commits_batch_by_batch() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let mut commits = 0;
    let mut ingest = Ingest::new(IngestOptions { batch_rows: 100, ..IngestOptions::default() });
    let mut commit = |work: &mut mangrove_ingest::Work<'_>| {
        commits += 1;
        work(&mut graph)
    };
    let knows = rows(&["src", "dst", "w"], (0..50).flat_map(|i| [Value::Int64(i), "b".into(), 0.5.into()]).collect());
    ingest.add(TableInput::edges(None, "knows", None, knows), &mangrove_graph::Schema::default(), &mut commit).unwrap();
    let people =
        rows(&["id", "n"], (0..50).flat_map(|i| [Value::Int64(i), if i == 3 { Value::Null } else { i.into() }]).collect());
    ingest
        .add(
            TableInput::vertices("person", rows(&["id"], vec!["b".into()])),
            &mangrove_graph::Schema::default(),
            &mut commit,
        )
        .unwrap();
    ingest.add(TableInput::vertices("person", people), &mangrove_graph::Schema::default(), &mut commit).unwrap();
    ingest.flush(&mut commit).unwrap();
    assert_eq!((ingest.report().vertex_count(), ingest.report().edge_count()), (51, 50));
    assert_eq!(commits, 1);
    assert_eq!(out_edges(&graph, vertex(&graph, 7), "w"), [("knows".into(), "b".into(), Some(0.5.into()))]);
    assert!(cell(&graph, ElementId::Vertex(vertex(&graph, 3)), "n").is_absent());
}

#[test]
fn ingest_names_the_first_few_rows_it_cannot_store() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let mut commit = |work: &mut mangrove_ingest::Work<'_>| work(&mut graph);
    let mut ingest = Ingest::new(IngestOptions::default());
    let knows = rows(&["src", "dst"], (0..10).flat_map(|i| [Value::Int64(i), Value::Int64(99)]).collect());
    ingest.add(TableInput::edges(None, "knows", None, knows), &mangrove_graph::Schema::default(), &mut commit).unwrap();
    ingest
        .add(
            TableInput::vertices("p", rows(&["id"], vec![Value::Int64(0)])),
            &mangrove_graph::Schema::default(),
            &mut commit,
        )
        .unwrap();
    let error = ingest.flush(&mut commit).unwrap_err();
    let LoadError::BadRows { count, first } = &error else { panic!("{error}") };
    assert_eq!((*count, first.len()), (10, 5));
    assert!(matches!(first[0].fault, Fault::NoSuchEnd { end: "target", .. }));
    assert!(
        error.to_string().contains("knows: row 2: `1` – there is no vertex with this id, the source of the edge"),
        "{error}"
    );
    let ragged = TableInput::vertices("p", rows(&["id", "n"], vec![1.into()]));
    assert!(
        ingest
            .add(ragged, &mangrove_graph::Schema::default(), &mut commit)
            .unwrap_err()
            .to_string()
            .contains("do not make rows")
    );
}

// ---- out and back in

fn round_trip(graph: &Oracle, format: ExportFormat, space: IdSpace) -> Oracle {
    let dir = tempfile::tempdir().unwrap();
    let made = export(graph, &dir.path().join("out"), format, &mut Quiet).unwrap();
    let counts = graph.statistics().unwrap();
    assert_eq!((made.vertices, made.edges), (counts.vertices.iter().sum(), counts.edges.iter().sum()));
    let mut back = Oracle::new(space);
    let timed = graph.schema().edge_labels.iter().any(|label| label.time.is_some());
    let edge_time = timed.then(|| "at".to_owned());
    let options = LoadOptions { files: vec![dir.path().join("out")], edge_time, ..LoadOptions::default() };
    if !made.files.is_empty() {
        load(&mut back, &options, &mut Quiet).unwrap();
    }
    back
}

#[test]
fn known_graphs_come_back_from_every_format() {
    for format in [ExportFormat::Csv, ExportFormat::Parquet, ExportFormat::GraphSon, ExportFormat::GraphMl] {
        compare::assert_same_content(&Oracle::modern(), &round_trip(&Oracle::modern(), format, IdSpace::Graph));
    }
    for format in [ExportFormat::Csv, ExportFormat::Parquet, ExportFormat::GraphSon] {
        compare::assert_same_content(&Oracle::crew(), &round_trip(&Oracle::crew(), format, IdSpace::Graph));
    }
    let dir = tempfile::tempdir().unwrap();
    let refused = export(&Oracle::crew(), &dir.path().join("out"), ExportFormat::GraphMl, &mut Quiet).unwrap_err();
    assert!(matches!(refused, ExportError::Unwritable { .. }), "{refused}");
    assert!(!dir.path().join("out").exists(), "nothing is left of it");
    std::fs::write(dir.path().join("mine.txt"), "").unwrap();
    assert!(matches!(export(&Oracle::modern(), dir.path(), ExportFormat::Csv, &mut Quiet), Err(ExportError::NotEmpty(_))));
}

/// A graph that is far away is asked for whole pages: a thousand vertices and edges take a few calls, and give the same files.
#[test]
fn an_export_asks_for_whole_pages() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let (person, knows) = (
        graph.ensure_label(ElementKind::Vertex, "person").unwrap(),
        graph.ensure_label(ElementKind::Edge, "knows").unwrap(),
    );
    let ids: Vec<_> = (0..1000).map(|id| Some(ExternalId::Int(id))).collect();
    let mut vertices = Vec::new();
    graph.add_vertices(person, &ids, &mut vertices).unwrap();
    let edge = |at: usize| NewEdge { source: vertices[at], target: vertices[at * 7 % 1000], id: None, time: None };
    let edges: Vec<_> = (0..1000).map(edge).collect();
    graph.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    for format in [ExportFormat::Csv, ExportFormat::Parquet, ExportFormat::GraphSon, ExportFormat::GraphMl] {
        let (dir, far) = (tempfile::tempdir().unwrap(), SlowView::new(&graph, Duration::ZERO));
        let [near, from_far] = ["near", "far"].map(|name| dir.path().join(name));
        export(&graph, &near, format, &mut Quiet).unwrap();
        export(&far, &from_far, format, &mut Quiet).unwrap();
        let calls = far.take_calls();
        assert!(calls <= 30, "{format:?} takes {calls} calls");
        for file in std::fs::read_dir(&near).unwrap().map(|entry| entry.unwrap().file_name()) {
            let [near, far] = [&near, &from_far].map(|directory| std::fs::read(directory.join(&file)).unwrap());
            assert_eq!(near, far, "{format:?} {file:?}");
        }
    }
}

#[test]
fn ids_unique_within_labels_come_back_from_csv() {
    let mut graph = Oracle::new(IdSpace::Label);
    let (a, b) =
        (graph.ensure_label(ElementKind::Vertex, "A").unwrap(), graph.ensure_label(ElementKind::Vertex, "B").unwrap());
    let e = graph.ensure_label(ElementKind::Edge, "e").unwrap();
    let mut made = Vec::new();
    for label in [a, b] {
        graph.add_vertices(label, &[Some(1.into()), Some("x, \"y".into())], &mut made).unwrap();
    }
    let edge = |source: usize, target: usize| NewEdge { source: made[source], target: made[target], id: None, time: None };
    graph.add_edges(e, &[edge(0, 1), edge(2, 0), edge(3, 0)], &mut Vec::new()).unwrap();
    compare::assert_same_content(&graph, &round_trip(&graph, ExportFormat::Csv, IdSpace::Label));
}

#[test]
fn the_time_of_edges_comes_back_from_csv() {
    let mut graph = Oracle::new(IdSpace::Graph);
    let label = graph.ensure_label(ElementKind::Vertex, "v").unwrap();
    let paid = graph.ensure_label(ElementKind::Edge, "paid").unwrap();
    let at = graph.ensure_key("at").unwrap();
    graph.declare_time(paid, at).unwrap();
    let mut v = Vec::new();
    graph.add_vertices(label, &[Some(1.into()), Some(2.into())], &mut v).unwrap();
    let edge = |time| NewEdge { source: v[0], target: v[1], id: None, time: Some(Value::Int64(time)) };
    graph.add_edges(paid, &[edge(30), edge(10), edge(20)], &mut Vec::new()).unwrap();
    let back = round_trip(&graph, ExportFormat::Csv, IdSpace::Graph);
    compare::assert_same_content(&graph, &back);
    let paid = back.schema().label(ElementKind::Edge, "paid").unwrap();
    assert!(back.schema().label_schema(ElementKind::Edge, paid).unwrap().time.is_some());
}

/// A graph of random ids and values. Some cells have several values with properties.
fn random_graph() -> impl Strategy<Value = Oracle> {
    let vertex = (
        0..3usize,
        random::external_id().prop_filter("CSV has no type for each id", |id| !matches!(id, ExternalId::Uuid(_))),
        prop::collection::vec((0..4usize, cell_strategy()), 0..4),
        any::<bool>(),
    );
    let edge = (
        0..2usize,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        prop::option::of((0..3usize, random::value())),
    );
    (prop::collection::vec(vertex, 1..12), prop::collection::vec(edge, 0..20)).prop_map(|(vertices, edges)| {
        let mut graph = Oracle::new(IdSpace::Graph);
        let mut made = Vec::new();
        for (label, id, cells, further) in vertices {
            let label = graph.ensure_label(ElementKind::Vertex, ["person", "place", "a, \"b\""][label]).unwrap();
            if graph.add_vertices(label, &[Some(id)], &mut made).is_err() {
                continue;
            }
            let vertex = *made.last().unwrap();
            for (key, values) in cells {
                let key = graph.ensure_key(["name", "x:y", "tags", "1, 2"][key]).unwrap();
                let cell = values_cell(&mut graph, values);
                graph.set_cell(ElementId::Vertex(vertex), key, cell).unwrap();
            }
            if further {
                let also = graph.ensure_label(ElementKind::Vertex, "also").unwrap();
                graph.set_further_labels(vertex, &[also]).unwrap();
            }
        }
        // Without times, the edges of a vertex are in load order, which is by source.
        let at = graph.ensure_key("at").unwrap();
        for (n, (label, source, target, property)) in edges.into_iter().enumerate() {
            let label = graph.ensure_label(ElementKind::Edge, ["knows", "at; from"][label]).unwrap();
            let _ = graph.declare_time(label, at); // fails for all but the first
            let id = Some(ExternalId::Int(1000 + n as i64));
            let new =
                NewEdge { source: *source.get(&made), target: *target.get(&made), id, time: Some(Value::Int64(n as i64)) };
            let mut ids = Vec::new();
            graph.add_edges(label, &[new], &mut ids).unwrap();
            if let Some((key, value)) = property {
                let key = graph.ensure_key(["w", "name", "k\"ey"][key]).unwrap();
                graph.set_cell(ElementId::Edge(ids[0]), key, Cell::One(value)).unwrap();
            }
        }
        graph
    })
}

fn cell_strategy() -> impl Strategy<Value = Vec<(Value, Option<Value>)>> {
    prop::collection::vec((random::value(), prop::option::weighted(0.2, random::value())), 1..3)
}

fn values_cell(graph: &mut Oracle, values: Vec<(Value, Option<Value>)>) -> Cell {
    let since = graph.ensure_key("since").unwrap();
    let entries = values.into_iter().zip(0..).map(|((value, meta), ordinal)| PropertyValue {
        ordinal,
        value,
        meta: meta.map(|value| (since, value)).into_iter().collect(),
    });
    Cell::from_entries(entries.collect())
}

fn has_vector(value: &Value) -> bool {
    match value {
        Value::Vector(_) => true,
        Value::List(items) | Value::Set(items) => items.iter().any(has_vector),
        Value::Map(map) => map.iter().any(|(k, v)| has_vector(k) || has_vector(v)),
        _ => false,
    }
}

/// Whether some value holds a vector, for which GraphSON has no type.
fn holds_vectors(graph: &Oracle) -> bool {
    let elements = compare::scan_vertices(graph, &Default::default(), 100).into_iter().map(ElementId::Vertex);
    let edges = compare::scan_edges(graph, &Default::default(), 100).into_iter().map(|edge| ElementId::Edge(edge.id));
    elements.chain(edges).any(|element| {
        let records = mangrove_graph::record::properties(graph, element).unwrap();
        let entries = records.iter().flat_map(|record| &record.values);
        entries.clone().any(|entry| has_vector(&entry.value) || entry.meta.iter().any(|(_, v)| has_vector(v)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A graph exported as CSV, Parquet or GraphSON loads back the same.
    #[test]
    fn random_graphs_come_back(graph in random_graph()) {
        let dir = tempfile::tempdir().unwrap();
        // The exporter refuses ids that tables could not tell apart, instead of changing them. Vectors within other values have no
        // text form.
        if !holds_vectors(&graph) {
            for (name, format) in [("csv", ExportFormat::Csv), ("parquet", ExportFormat::Parquet)] {
                if export(&graph, &dir.path().join(name), format, &mut Quiet).is_ok() {
                    compare::assert_same_content(&graph, &round_trip(&graph, format, IdSpace::Graph));
                }
            }
            compare::assert_same_content(&graph, &round_trip(&graph, ExportFormat::GraphSon, IdSpace::Graph));
        }
    }

    /// No input makes a reader panic.
    #[test]
    fn readers_survive_any_bytes(text in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (bytes::csv(&text), bytes::jsonl(&text), bytes::graphml(&text), bytes::graphson(&text));
        let _ = bytes::mapping(&String::from_utf8_lossy(&text));
    }

    /// Nor do pieces of real files, cut and joined at random.
    #[test]
    fn readers_survive_mangled_files(pieces in prop::collection::vec((0..4usize, any::<prop::sample::Index>(), 0..60usize), 0..12)) {
        let sources = [
            GRAPHML,
            "id:ID(P),name:string,t:int[],:LABEL\n1,\"a\"\"b\",1;2,X;Y\n:START_ID,:END_ID\n",
            r#"{"vertices":[{"id":{"@type":"g:Int64","@value":1},"label":"v","outE":{"e":[{"id":2,"inV":1}]},"properties":{"n":[{"value":"\u00e9"}]}}],"edges":[]}"#,
            "nodes:\n  - {file: x, label: 'L', properties: {a: {type: int}}}\n",
        ];
        let text: String = pieces.iter().map(|(source, at, len)| {
            let characters: Vec<char> = sources[*source].chars().collect();
            let start = at.index(characters.len());
            characters[start..(start + len).min(characters.len())].iter().collect::<String>()
        }).collect();
        let _ = (bytes::csv(text.as_bytes()), bytes::jsonl(text.as_bytes()), bytes::graphml(text.as_bytes()));
        let _ = (bytes::graphson(text.as_bytes()), bytes::mapping(&text));
    }
}

#[test]
fn an_external_id_is_what_it_was() {
    let mut graph = Oracle::new(IdSpace::Graph);
    samples::vertex(&mut graph, "v", 1, Vec::new()).unwrap();
    let label = graph.ensure_label(ElementKind::Vertex, "v").unwrap();
    graph.add_vertices(label, &[Some(ExternalId::from("1"))], &mut Vec::new()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let refused = export(&graph, &dir.path().join("out"), ExportFormat::Csv, &mut Quiet).unwrap_err().to_string();
    assert!(refused.contains("could not tell them apart"), "{refused}");
    compare::assert_same_content(&graph, &round_trip(&graph, ExportFormat::GraphSon, IdSpace::Graph));
}
