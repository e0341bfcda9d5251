//! Tests of loading CSV in its three header dialects, and of everything that can be wrong with it.

mod support;

use std::io::Write;

use mangrove_graph::{ElementId, IdSpace, Value};
use mangrove_ingest::{EdgeFiles, LoadOptions, MemoryLimits, NodeFiles};
use support::{Files, cell, labelled, labels, out_edges, try_load, value, values, vertex};

#[test]
fn neo4j_admin_files_load_whatever_their_order() {
    let files = Files::new(&[
        (
            "roles.csv",
            ":START_ID(Person),roles:string[],:END_ID(Movie),:TYPE\nkeanu,Neo;Thomas,tt1,ACTED_IN\nlana,,tt1,DIRECTED\n",
        ),
        (
            "people.csv",
            "personId:ID(Person),name,born:int,:LABEL\nkeanu,Keanu Reeves,1964,Person;Actor\nlana,\"Wachowski, Lana\",,Person\n",
        ),
        (
            "movies.csv",
            "movieId:ID(Movie)|title|tags:string[]|rating:float|skip:IGNORE|:LABEL\ntt1|The Matrix|sf;action|8.7|x|Movie\n",
        ),
    ]);
    let (graph, report) = files.load(&["roles.csv", "people.csv", "movies.csv"]);
    assert_eq!((report.vertices["Person"], report.vertices["Movie"], report.edge_count()), (2, 1, 2));
    assert_eq!(labels(&graph, "keanu"), ["Person", "Actor"]);
    assert_eq!(value(&graph, "lana", "name"), "Wachowski, Lana".into());
    assert_eq!(value(&graph, "keanu", "born"), Value::Int32(1964));
    assert_eq!(value(&graph, "keanu", "personId"), "keanu".into());
    assert!(cell(&graph, ElementId::Vertex(vertex(&graph, "lana")), "born").is_absent());
    assert_eq!(values(&graph, "tt1", "tags"), ["sf".into(), "action".into()]);
    assert_eq!(value(&graph, "tt1", "rating"), Value::Float32(8.7));
    assert!(cell(&graph, ElementId::Vertex(vertex(&graph, "tt1")), "skip").is_absent());
    let roles = Value::list(vec!["Neo".into(), "Thomas".into()]);
    assert_eq!(out_edges(&graph, vertex(&graph, "keanu"), "roles"), [("ACTED_IN".into(), "tt1".into(), Some(roles))]);
}

#[test]
fn neptune_files_load() {
    let files = Files::new(&[
        (
            "v.csv",
            "~id,~label,name:String,age:Int,interests:String[],lastUpdate:Date\nv1,person,marko,29,\"sailing;graphs;graphs\",\nv2,person;admin,vadas,27,,2024-02-29\n",
        ),
        ("e.csv", "~id,~from,~to,~label,weight:Double\ne1,v1,v2,knows,0.5\n"),
    ]);
    let (graph, _) = files.load(&["e.csv", "v.csv"]);
    assert_eq!(values(&graph, "v1", "interests"), ["sailing".into(), "graphs".into()]);
    assert_eq!(value(&graph, "v1", "age"), Value::Int32(29));
    assert_eq!(labels(&graph, "v2"), ["person", "admin"]);
    assert_eq!(value(&graph, "v2", "lastUpdate").to_string(), "2024-02-29");
    assert_eq!(out_edges(&graph, vertex(&graph, "v1"), "weight"), [("knows".into(), "v2".into(), Some(0.5.into()))]);
    let edge = mangrove_graph::record::find_edge(&graph, &"e1".into()).unwrap();
    assert_eq!(edge.map(|edge| edge.target), Some(vertex(&graph, "v2")));
}

#[test]
fn plain_files_load_by_label_with_types_inferred() {
    let files = Files::new(&[
        ("p1.csv", "id,name,score,joined,active,zip\n1,Ann,1,2024-01-01,true,02134\n2,Bob,,,false,10001\n"),
        ("p2.csv", "id,name,score,joined,active,zip\n3,Cy,2.5,2024-01-02T10:00:00Z,true,90210\n"),
        ("knows.csv", "weight;dst;src\n0.5;2;1\n1;3;1\n"),
    ]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"from,to\n2,1\n").unwrap();
    files.write("likes.csv.gz", &gz.finish().unwrap());
    let options = LoadOptions {
        nodes: vec![NodeFiles::parse(&format!("Person={}", files.path("p*.csv").display())).unwrap()],
        edges: vec![
            EdgeFiles::parse(&format!("Person:knows:Person={}", files.path("knows.csv").display())).unwrap(),
            EdgeFiles::parse(&format!("likes={}", files.path("likes.csv.gz").display())).unwrap(),
        ],
        ..LoadOptions::default()
    };
    let (graph, report) = try_load(&options, IdSpace::Graph).unwrap();
    assert_eq!((report.vertex_count(), report.edge_count()), (3, 3));
    assert_eq!(value(&graph, 1, "id"), Value::Int64(1));
    assert_eq!((value(&graph, 1, "active"), value(&graph, 1, "zip")), (true.into(), "02134".into()));
    // Two files of a label agree on a type, and the report says so.
    assert_eq!((value(&graph, 1, "score"), value(&graph, 3, "score")), (1.0.into(), 2.5.into()));
    assert_eq!(value(&graph, 1, "joined").to_string(), "2024-01-01T00:00:00Z");
    assert_eq!(value(&graph, 3, "zip"), "90210".into());
    assert!(
        report.warnings.iter().any(|w| w.contains("`score` of Person") && w.contains("double")),
        "{:?}",
        report.warnings
    );
    let from_ann = out_edges(&graph, vertex(&graph, 1), "weight");
    assert_eq!(from_ann, [("knows".into(), "2".into(), Some(0.5.into())), ("knows".into(), "3".into(), Some(1.0.into()))]);
}

#[test]
fn files_without_a_label_are_named_after_themselves_or_their_label_column() {
    let files = Files::new(&[("city.csv", "id,label\n1,Town\n2,\n"), ("road.csv", "src,dst,km\n1,2,7\n")]);
    let (graph, report) = files.load(&["road.csv", "city.csv"]);
    assert_eq!((labels(&graph, 1), labels(&graph, 2)), (vec!["Town".to_owned()], vec!["city".to_owned()]));
    assert_eq!(report.edges["road"], 1);
}

#[test]
fn a_type_that_shows_late_is_given_to_the_whole_column() {
    let mut text = String::from("id,code,n\n");
    (0..50_000).for_each(|i| text += &format!("{i},{},{i}\n", i * 2));
    text += "50000,x12,0.5\n";
    let files = Files::new(&[("things.csv", &text)]);
    let (graph, report) = files.load(&["things.csv"]);
    assert_eq!((value(&graph, 7, "code"), value(&graph, 50_000, "code")), ("14".into(), "x12".into()));
    assert_eq!((value(&graph, 7, "n"), value(&graph, 50_000, "n")), (7.0.into(), 0.5.into()));
    assert_eq!(report.warnings.len(), 3, "{:?}", report.warnings);
    assert!(report.warnings[0].contains("things.csv:50002:7: `x12` makes `code` a column of text"), "{:?}", report.warnings);
}

#[test]
fn edges_are_ordered_by_their_time_whatever_the_runs() {
    let mut text = String::from("src,dst,at\n");
    (0..1000).for_each(|i| text += &format!("{},{},{}\n", i % 7, i % 11, (i * 7919) % 1000));
    let nodes = (0..11).fold("id\n".to_owned(), |text, i| text + &format!("{i}\n"));
    let files = Files::new(&[("n.csv", &nodes), ("e.csv", &text)]);
    for run_edges_max in [10_000, 64] {
        // Keep few ids in memory, so that the others are looked up in the graph.
        let memory = MemoryLimits { run_edges_max, run_bytes_max: 1 << 30, ids_max: 3, ..MemoryLimits::default() };
        let options = LoadOptions { edge_time: Some("at".into()), memory, ..files.options(&["e.csv", "n.csv"]) };
        let (graph, report) = try_load(&options, IdSpace::Graph).unwrap();
        assert_eq!(report.edge_count(), 1000);
        for from in 0..7 {
            let times: Vec<i64> = out_edges(&graph, vertex(&graph, from), "at")
                .into_iter()
                .map(|(_, _, at)| at.and_then(|at| at.as_i64()).unwrap())
                .collect();
            assert!(times.len() > 100 && times.is_sorted(), "{times:?}");
        }
    }
}

#[test]
fn ids_of_a_label_each_need_the_space_for_it() {
    let files = Files::new(&[
        ("p.csv", "id:ID(Person),name,:LABEL\n1,Ann,Person\n2,Bob,Person\n"),
        ("c.csv", "id:ID(City),name,:LABEL\n1,Basel,City\n"),
        ("e.csv", ":START_ID(Person),:END_ID(City),:TYPE\n1,1,LIVES_IN\n2,1,LIVES_IN\n"),
        ("plain.csv", "src,dst\n1,1\n"),
    ]);
    let message = files.message(try_load(&files.options(&["p.csv", "c.csv", "e.csv"]), IdSpace::Graph).unwrap_err());
    assert!(message.starts_with("c.csv:2:1: `1` – a vertex labelled Person already has this id"), "{message}");
    assert!(message.contains("--id-space label"), "{message}");
    let (graph, _) = try_load(&files.options(&["p.csv", "c.csv", "e.csv"]), IdSpace::Label).unwrap();
    let ann = labelled(&graph, Some("Person"), 1.into()).unwrap();
    assert_eq!(out_edges(&graph, ann, "").len(), 1);
    let ambiguous = try_load(&files.options(&["p.csv", "c.csv", "plain.csv"]), IdSpace::Label).unwrap_err();
    assert!(files.message(ambiguous).contains("plain.csv:2:1: `1` – the edge's source could have the label Person or City"));
}

/// (files, the message for each bad row, what loads of the rest)
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str], (u64, u64));

const CASES: &[Case] = &[
    (
        "a number that is none",
        &[("v.csv", "id:ID,age:int\na,1\nb,young\nc,2147483648\nd,4\n")],
        &["v.csv:3:3: `young` – not an int32 (column `age`)", "v.csv:4:3: `2147483648` – not an int32 (column `age`)"],
        (2, 0),
    ),
    (
        "wrong numbers of fields",
        &[("v.csv", "id,name\n1,Ann\n2\n3,Cy,x\n4,Di\n")],
        &["v.csv:3:2: 1 fields, but the header has 2", "v.csv:4:6: 3 fields, but the header has 2"],
        (2, 0),
    ),
    (
        "broken quotes",
        &[("v.csv", "id,name\n1,A\"nn\n2,\"Bob\"x\n3,Cy\n4,\"Di\n5,Ed\n")],
        &[
            "v.csv:2:4: a quote inside an unquoted field",
            "v.csv:3:8: text after the closing quote",
            "v.csv:5:3: the quote opened here is never closed",
        ],
        (1, 0),
    ),
    (
        "an id that is missing, or there twice",
        &[("v.csv", "id,name\n1,Ann\n,Bob\n1,Cy\n"), ("w.csv", "id\n2\n1\n")],
        &[
            "v.csv:3:1: `` – no id (column `id` is empty)",
            "v.csv:4:1: `1` – a vertex labelled v with this id exists already",
            "w.csv:3:1: `1` – a vertex labelled v already has this id",
        ],
        (2, 0),
    ),
    (
        "edges without an end",
        &[("v.csv", "id\n1\n2\n"), ("e.csv", "src,\"weight, kg\",dst\n1,\"7\n\",2\n1,,9\nx,,1\n2,,1\n")],
        &[
            "e.csv:4:4: `9` – there is no vertex with this id, the target of the edge",
            "e.csv:5:1: `x` – there is no vertex with this id, the source of the edge",
        ],
        (2, 2),
    ),
    (
        "edges whose id is taken",
        &[("v.csv", "~id\n1\n"), ("e.csv", "~id,~from,~to\na,1,1\na,1,1\n,1,1\n")],
        &["e.csv:3:1: `a` – an edge with this id exists already"],
        (1, 2),
    ),
    (
        "an array with a bad item",
        &[("v.csv", "id:ID,n:int[]\na,1;2\nb,1;x\n")],
        &["v.csv:3:3: `1;x` – not an int32[] (column `n`)"],
        (1, 0),
    ),
];

#[test]
fn every_bad_row_has_a_place_a_value_and_a_reason() {
    for (what, contents, told, (vertices, edges)) in CASES {
        let files = Files::new(contents);
        let names: Vec<&str> = contents.iter().map(|(name, _)| *name).collect();
        let failed = files.message(try_load(&files.options(&names), IdSpace::Graph).unwrap_err());
        assert!(failed.starts_with(told[0]), "{what}: {failed}");
        assert!(failed.contains("--on-error skip"), "{what}: {failed}");

        let (_, report) = try_load(&files.skipping(files.options(&names)), IdSpace::Graph).unwrap();
        assert_eq!((report.vertex_count(), report.edge_count()), (*vertices, *edges), "{what}");
        assert_eq!(report.rejects, told.len() as u64, "{what}");
        let rejects = files.read("rejects.csv");
        assert_eq!(report.rejects_file, Some(files.path("rejects.csv")));
        for place in told.iter().map(|told| told.split(": ").next().unwrap()) {
            let (file, line, column) = (place.split(':').next(), place.split(':').nth(1), place.split(':').nth(2));
            let start = format!("{},{},{},", file.unwrap(), line.unwrap(), column.unwrap());
            assert!(rejects.contains(&start), "{what}: {start} in {rejects}");
        }
    }
}

#[test]
fn rejects_are_csv_with_the_raw_row() {
    let files = Files::new(&[("v.csv", "id:ID,age:int,note\n1,1,\n2,old,\"a, \"\"b\"\"\"\n")]);
    try_load(&files.skipping(files.options(&["v.csv"])), IdSpace::Graph).unwrap();
    let expected = r#"v.csv,3,3,old,not an int32 (column `age`),"2,old,""a, """"b""""""""#;
    assert_eq!(files.rejects(), [expected]);
}

#[test]
fn text_that_is_not_utf8_has_a_place() {
    let files = Files::new(&[]);
    files.write("v.csv", b"id,name\n1,Ann\n2,B\xffb\n3,Cy\n");
    let message = files.message(try_load(&files.options(&["v.csv"]), IdSpace::Graph).unwrap_err());
    assert!(message.starts_with("v.csv:3:3: `B\u{fffd}b` – not UTF-8"), "{message}");
    let (_, report) = try_load(&files.skipping(files.options(&["v.csv"])), IdSpace::Graph).unwrap();
    assert_eq!((report.vertex_count(), report.rejects), (2, 1));
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_says_so() {
    let files = Files::new(&[("v.csv", "id,name\n1,Ann\n2,\"Bob\n3,Cy\n")]);
    let (_, report) = try_load(&files.skipping(files.options(&["v.csv"])), IdSpace::Graph).unwrap();
    assert_eq!((report.vertex_count(), report.rejects), (1, 1));
    assert!(report.warnings[0].contains("v.csv:3:3: the rest of the file could not be read"), "{:?}", report.warnings);
}

#[test]
fn what_is_wrong_with_a_whole_file_is_told_before_anything_loads() {
    for (text, told) in [
        ("", "v.csv: the file is empty"),
        ("1,2\n3,4\n", "v.csv:1:1: the first line must name the columns"),
        ("id:ID,age:integr\n", "v.csv:1:1: column `age:integr`: `integr` is not a type"),
        ("a\"b,c\n", "v.csv:1:2: a quote inside an unquoted field"),
        ("id,a,a\n", "v.csv:1:1: two columns give the property `a`"),
        ("id\r1\r2\r", "v.csv:1:1: lines end in a bare carriage return"),
    ] {
        let files = Files::new(&[("v.csv", text)]);
        let message = files.message(try_load(&files.options(&["v.csv"]), IdSpace::Graph).unwrap_err());
        assert!(message.starts_with(told), "{message}");
    }
    let nothing = try_load(&LoadOptions::default(), IdSpace::Graph).unwrap_err().to_string();
    assert!(nothing.contains("nothing to load"), "{nothing}");
}

#[test]
fn ends_of_the_wrong_label_are_told() {
    let files = Files::new(&[("p.csv", "id\n1\n"), ("c.csv", "id\n2\n"), ("e.csv", "src,dst\n1,1\n")]);
    let edges = EdgeFiles::parse(&format!("p:in:c={}", files.path("e.csv").display())).unwrap();
    let options = LoadOptions { edges: vec![edges], ..files.options(&["p.csv", "c.csv"]) };
    let message = files.message(try_load(&options, IdSpace::Graph).unwrap_err());
    assert!(message.starts_with("e.csv:2:3: `1` – the edge's target is a vertex labelled p, not c"), "{message}");
}

#[test]
fn a_second_load_finds_the_vertices_of_the_first() {
    let files = Files::new(&[("a.csv", "id\n1\n2\n"), ("b.csv", "id\n3\n2\n"), ("e.csv", "src,dst\n1,3\n")]);
    let (mut graph, _) = files.load(&["a.csv"]);
    let options = files.skipping(files.options(&["b.csv", "e.csv"]));
    let report = mangrove_ingest::load(&mut graph, &options, &mut mangrove_ingest::Quiet).unwrap();
    assert_eq!((report.vertex_count(), report.edge_count(), report.rejects), (1, 1, 1));
    assert!(files.rejects()[0].starts_with("b.csv,3,1,2,"), "{:?}", files.rejects());
}

#[test]
fn a_mapping_says_what_headers_do_not() {
    let files = Files::new(&[
        ("airports.txt", "code|name|elev|junk|seen\nZRH|Zurich|1416|x|2024-01-01;2024-02-01\nGVA|Geneva|1411|y|\n"),
        ("routes.txt", "a|b|miles|when\nZRH|GVA|143|7\n"),
        (
            "map.yaml",
            "nodes:\n  - file: airports.txt\n    label: airport\n    id: code\n    properties:\n      elev: {name: elevation, type: double}\n      junk: ignore\n      seen: {type: 'date[]', cardinality: set}\nedges:\n  - files: [routes.txt]\n    label: route\n    source: a\n    target: b\n    source_label: airport\n    time: when\n    delimiter: '|'\n",
        ),
        ("list.txt", "# src dst\n# it's \"SNAP\"\nGVA ZRH\n"),
        ("list.yaml", "edges:\n- {file: list.txt, label: back, columns: [a, b], comment: '#', delimiter: ' '}\n"),
        ("bad.yaml", "nodes:\n  - file: airports.txt\n    lable: x\n"),
    ]);
    let options = LoadOptions { mapping: Some(files.path("map.yaml")), ..LoadOptions::default() };
    let (graph, _) = try_load(&options, IdSpace::Graph).unwrap();
    assert_eq!(value(&graph, "ZRH", "elevation"), Value::Float64(1416.0));
    assert_eq!(values(&graph, "ZRH", "seen").len(), 2);
    assert!(cell(&graph, ElementId::Vertex(vertex(&graph, "ZRH")), "junk").is_absent());
    let expected = ("route".to_owned(), "GVA".to_owned(), Some(Value::Int64(7)));
    assert_eq!(out_edges(&graph, vertex(&graph, "ZRH"), "when"), [expected]);
    let mut graph = graph;
    let list = LoadOptions { mapping: Some(files.path("list.yaml")), ..LoadOptions::default() };
    mangrove_ingest::load(&mut graph, &list, &mut mangrove_ingest::Quiet).unwrap();
    assert_eq!(out_edges(&graph, vertex(&graph, "GVA"), "when"), [("back".into(), "ZRH".into(), None)]);
    let bad = LoadOptions { mapping: Some(files.path("bad.yaml")), ..LoadOptions::default() };
    let message = files.message(try_load(&bad, IdSpace::Graph).unwrap_err());
    assert!(message.starts_with("bad.yaml:3:") && message.contains("did you mean `label`?"), "{message}");
}

#[test]
fn a_load_can_be_cancelled_and_tells_how_far_it_is() {
    struct Stop(Vec<mangrove_ingest::Status>);
    impl mangrove_ingest::Progress for Stop {
        fn update(&mut self, status: &mangrove_ingest::Status) {
            self.0.push(*status);
        }
        fn cancelled(&self) -> bool {
            self.0.last().is_some_and(|status| status.rows > 40_000)
        }
    }
    let text = (0..200_000).fold("id\n".to_owned(), |text, i| text + &format!("{i}\n"));
    let files = Files::new(&[("v.csv", &text)]);
    let mut stop = Stop(Vec::new());
    let mut graph = mangrove_testkit::Oracle::new(IdSpace::Graph);
    let outcome = mangrove_ingest::load(&mut graph, &files.options(&["v.csv"]), &mut stop);
    assert!(matches!(outcome, Err(mangrove_ingest::LoadError::Cancelled)));
    let last = stop.0.last().unwrap();
    assert!(last.rows < 200_000 && last.bytes_total == text.len() as u64 && last.bytes_done > 0);
}

#[test]
fn a_time_that_no_edges_have_is_told_and_nothing_loaded() {
    let files = Files::new(&[("n.csv", "id\n1\n2\n"), ("e.csv", "src,dst,since\n1,2,7\n")]);
    let options = LoadOptions { edge_time: Some("sinc".into()), ..files.options(&["n.csv", "e.csv"]) };
    let error = files.message(try_load(&options, IdSpace::Graph).unwrap_err());
    assert!(error.contains("`sinc`") && error.contains("since"), "{error}");
}
