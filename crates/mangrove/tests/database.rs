//! The façade from the side of Rust programs.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema};
use mangrove::graph::{Direction, Hop, Wants};
use mangrove::ingest::{EdgeFiles, IngestOptions, NodeFiles, Phase, Progress, Quiet, Status, Table, TableInput};
use mangrove::{
    Database, GraphError, LoadError, LoadOptions, OpenError, OpenOptions, Parameters, Procedure, QueryError, QueryErrorKind,
    QueryOptions, ResultStream, StoreError, Value,
};

struct Graph {
    _directory: tempfile::TempDir,
    db: Database,
}

impl Graph {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("db.mg")).unwrap();
        Self { _directory: directory, db }
    }

    fn query(&self, text: &str) -> Result<ResultStream, QueryError> {
        self.db.query(text, &Parameters::new(), &QueryOptions::default())
    }

    fn count(&self) -> Value {
        self.query("g.V().count()").unwrap().values().unwrap().remove(0)
    }
}

#[test]
fn results_that_are_read_too_late_are_a_timeout() {
    let graph = Graph::new();
    graph.query("g.inject(1..1000).unfold().addV('a')").unwrap();
    let timeout = Duration::from_millis(500);
    let options = QueryOptions { timeout: Some(timeout), ..QueryOptions::default() };
    let mut results = graph.db.query("g.V()", &Parameters::new(), &options).unwrap();
    assert!(results.next_described().unwrap().unwrap().len() < 1000);
    std::thread::sleep(timeout);
    match results.next_described() {
        Err(QueryError::Query(error)) => assert_eq!(error.kind, QueryErrorKind::Timeout),
        other => panic!("{other:?}"),
    }
}

#[test]
fn slow_queries_are_told_once_with_what_they_gave() {
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (list, none) = (told.clone(), Parameters::new());
    let tell =
        move |slow: &mangrove::SlowQuery| list.lock().unwrap().push((slow.text.to_string(), slow.results, slow.is_complete));
    let db = Database::open(":memory:").unwrap().with_slow_log(std::time::Duration::ZERO, tell);
    let options = QueryOptions::default();
    db.query("g.addV('a')", &none, &options).unwrap();
    assert_eq!(db.query("g.inject(1, 2)", &none, &options).unwrap().values().unwrap().len(), 2);
    drop(db.query("g.inject(1, 2)", &none, &options).unwrap());
    let mut transaction = db.transaction().unwrap();
    transaction.query("g.V().count()", &none, &options).unwrap();
    transaction.rollback();
    let told = std::mem::take(&mut *told.lock().unwrap());
    let row = |text: &str, results, is_complete| (text.to_owned(), results, is_complete);
    let wanted = [
        row("g.addV('a')", 1, true),
        row("g.inject(1, 2)", 2, true),
        row("g.inject(1, 2)", 0, false),
        row("g.V().count()", 1, true),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn a_transaction_is_kept_whole_or_not_at_all() {
    let graph = Graph::new();
    let (none, options) = (Parameters::new(), QueryOptions::default());
    let mut kept = graph.db.transaction().unwrap();
    kept.query("g.addV('person').property(T.id, 'ada')", &none, &options).unwrap();
    let wrong = kept.query("g.V().owt()", &none, &options);
    assert!(matches!(wrong, Err(QueryError::Query(_))), "a query that cannot be read changes nothing");
    kept.query("g.addV('person').property(T.id, 'bob')", &none, &options).unwrap();
    assert_eq!(graph.count(), Value::Int64(0), "others do not see it yet");
    kept.commit().unwrap();
    assert_eq!(graph.count(), Value::Int64(2));

    let mut failed = graph.db.transaction().unwrap();
    failed.query("g.addV('person').property(T.id, 'cy')", &none, &options).unwrap();
    failed.query("g.addV('person').property(T.id, 'ada')", &none, &options).unwrap_err();
    assert!(matches!(failed.query("g.V()", &none, &options), Err(QueryError::Aborted)));
    assert!(matches!(failed.commit(), Err(StoreError::Aborted)));
    assert_eq!(graph.count(), Value::Int64(2));
    drop(graph.db.transaction().unwrap());
}

#[test]
fn queries_call_what_the_program_registers() {
    let graph = Graph::new();
    graph.query("g.addV('person').property('name', 'Ada').addE('knows').to(__.addV('person'))").unwrap();
    let degree = Procedure::new(|call| {
        let Some(Value::Vertex(vertex)) = call.input else { return Err("degree() is of a vertex".into()) };
        let hop = Hop::along(Direction::Out, None, Wants::default());
        let mut degrees = Vec::new();
        call.graph.degrees(&[*vertex], &hop, &mut degrees)?;
        Ok(Box::new(degrees.into_iter().map(|n| Ok(Value::Int64(n as i64)))))
    });
    graph.db.register_procedure("degree", degree.describe("how many edges go out")).unwrap();
    let other_handle = graph.db.clone();
    let degrees = other_handle.query("g.V().call('degree').order()", &Parameters::new(), &QueryOptions::default());
    assert_eq!(degrees.unwrap().values().unwrap(), [0, 1].map(Value::Int64));

    let failed = graph.query("g.call('degree')").unwrap().values().unwrap_err();
    assert!(failed.to_string().contains("the procedure `degree` failed: degree() is of a vertex"), "{failed}");
    let Err(unknown) = graph.query("g.V().where(call('degre'))") else { panic!("there is no such procedure") };
    assert!(unknown.render().contains("did you mean `degree`?"), "{}", unknown.render());
    assert!(graph.db.register_procedure("mangrove.mine", Procedure::new(|_| Err("never".into()))).is_err());
    assert!(graph.db.unregister_procedure("degree"));
    assert!(graph.query("g.V().call('degree')").is_err());
}

#[test]
fn results_are_of_one_moment() {
    let graph = Graph::new();
    graph.query("g.inject(1,2,3).addV('n')").unwrap();
    let mut before = graph.query("g.V()").unwrap();
    graph.query("g.V().drop()").unwrap();
    assert_eq!(graph.count(), Value::Int64(0));
    assert_eq!(before.results().unwrap().len(), 3);
}

#[test]
fn handles_on_one_directory_share_it_and_each_keeps_its_rights() {
    let graph = Graph::new();
    let path = graph.db.path().to_owned();
    let reader = Database::open_with(&path, &OpenOptions { read_only: true, ..OpenOptions::default() }).unwrap();
    graph.query("g.addV('n')").unwrap();
    let refused = reader.query("g.addV('n')", &Parameters::new(), &QueryOptions::default());
    assert!(matches!(refused, Err(QueryError::Graph(GraphError::ReadOnly))));
    assert_eq!(Graph { _directory: tempfile::tempdir().unwrap(), db: reader.clone() }.count(), Value::Int64(1));
    drop((graph.db, reader));
    let _reader = Database::open_with(&path, &OpenOptions { read_only: true, ..OpenOptions::default() }).unwrap();
    assert!(matches!(Database::open(&path), Err(OpenError::Store(_))), "a read-only store cannot be written through");
}

#[test]
fn an_index_on_a_misspelt_name_says_what_was_meant() {
    let graph = Graph::new();
    graph.query("g.addV('airport').property('code', 'AUS')").unwrap();
    assert!(graph.db.create_index(None, "airport", "code").unwrap());
    assert!(!graph.db.create_index(None, "airport", "code").unwrap());
    let message = graph.db.create_index(None, "arport", "code").unwrap_err().to_string();
    assert!(message.contains("airport"), "{message}");
    assert!(graph.db.drop_index(None, "airport", "code").unwrap());
}

#[test]
fn batches_are_committed_as_they_come() {
    let graph = Graph::new();
    let mut ingestion = graph.db.ingest(IngestOptions { batch_rows: 3, ..IngestOptions::default() }).unwrap();
    let rows = |ids: std::ops::Range<i64>| Table::Rows { names: vec!["id".into()], values: ids.map(Value::from).collect() };
    ingestion.add(TableInput::vertices("n", rows(0..2))).unwrap();
    assert_eq!(graph.count(), Value::Int64(0));
    ingestion.add(TableInput::vertices("n", rows(2..4))).unwrap();
    assert_eq!(graph.count(), Value::Int64(4));
    ingestion.add(TableInput::vertices("n", rows(1..2))).unwrap();
    ingestion.flush().unwrap_err();
    ingestion.add(TableInput::vertices("n", rows(4..5))).unwrap();
    ingestion.flush().unwrap();
    assert_eq!((graph.count(), ingestion.report().vertex_count()), (Value::Int64(5), 5));
}

#[test]
fn numbers_that_would_take_all_memory_are_refused_and_large_ones_are_written_short() {
    let graph = Graph::new();
    let values = |text: &str| graph.query(text).and_then(|mut results| results.values());
    for query in [
        "g.inject('1e999999999').asNumber()",
        "g.inject(1e9000m).as('a').math('a * a * a')",
        "g.withSack(1e9000m, mult).inject(1e9000m).sack(mult).by(identity()).sack()",
        "g.withSack(1e9000m).inject(1e9000m).sack(mult).sack()",
    ] {
        match values(query) {
            Ok(values) => assert!(values.iter().all(|value| value.to_string().len() < 100), "{query}: {values:?}"),
            Err(error) => assert!(error.to_string().len() < 400, "{query}: {error}"),
        }
    }
    let error = values("g.withSack(1e9000m).inject(1e9000m).sack(mult).sack()").unwrap_err().to_string();
    assert!(error.contains("exponent"), "{error}");
    assert_eq!(values("g.inject(12e9000m)").unwrap()[0].to_string(), "12E9000");
    let text = graph.query("g.inject(12e9000m)").unwrap().to_arrow().unwrap();
    assert_eq!(text.num_rows(), 1);
    let large = mangrove::graph::BigDecimal::new(1.into(), -1_000_000_000);
    let stored = graph.db.query(
        "g.addV('n').property('x', x)",
        &Parameters::from([("x".to_owned(), large.into())]),
        &QueryOptions::default(),
    );
    assert!(stored.is_err(), "what could not be read again is not stored");
}

/// An array with a wrong type, as a foreign producer may hand over. Reading it panics.
#[derive(Debug)]
struct Mislabelled(Int64Array);

// SAFETY: all methods keep to the contract except `as_any`, and no unsafe code relies on `as_any` here.
unsafe impl Array for Mislabelled {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn to_data(&self) -> ArrayData {
        self.0.to_data()
    }
    fn into_data(self) -> ArrayData {
        self.0.into_data()
    }
    fn data_type(&self) -> &DataType {
        self.0.data_type()
    }
    fn slice(&self, offset: usize, length: usize) -> ArrayRef {
        Arc::new(Self(self.0.slice(offset, length)))
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    fn offset(&self) -> usize {
        self.0.offset()
    }
    fn nulls(&self) -> Option<&NullBuffer> {
        self.0.nulls()
    }
    fn get_buffer_memory_size(&self) -> usize {
        self.0.get_buffer_memory_size()
    }
    fn get_array_memory_size(&self) -> usize {
        self.0.get_array_memory_size()
    }
}

#[test]
fn a_panic_on_the_thread_that_reads_is_a_bug_with_its_place() {
    let graph = Graph::new();
    let field = Field::new("id", DataType::Int64, true);
    let schema = Arc::new(Schema::new(vec![field]));
    let column: ArrayRef = Arc::new(Mislabelled(Int64Array::from(vec![1, 2])));
    let batches = vec![RecordBatch::try_new(schema.clone(), vec![column]).unwrap()];
    let table = TableInput::vertices("n", Table::Arrow { schema, batches });
    let options = LoadOptions { tables: vec![table], ..LoadOptions::default() };
    let error = graph.db.load(&options, &mut Quiet).unwrap_err();
    let LoadError::Bug(bug) = error else { panic!("{error}") };
    assert!(bug.place.contains(".rs:"), "{}", bug.place);
    assert!(bug.message != "panic", "the message of the panic itself");
    let report = std::fs::read_to_string(bug.report.expect("the directory can be written to")).unwrap();
    assert!(report.contains(&bug.message) && report.contains("loading files"), "{report}");
    assert_eq!(graph.count(), Value::Int64(0));
    graph.query("g.addV('n')").unwrap();
}

/// People who know each other, in two files, and the options that load them.
fn people(directory: &Path) -> LoadOptions {
    let (people, knows) = (directory.join("person.csv"), directory.join("knows.csv"));
    let named = |i: u32| {
        format!("p{i},name {},{}.5,{}\n", i % 40, i, if i.is_multiple_of(7) { String::new() } else { i.to_string() })
    };
    std::fs::write(&people, "id,name,score,age\n".to_owned() + &(0..500).map(named).collect::<String>()).unwrap();
    let edge = |i: u32| format!("p{},p{},{}\n", i * 7 % 500, i * 13 % 500, 1000 - i);
    std::fs::write(&knows, "src,dst,since\n".to_owned() + &(0..900).map(edge).collect::<String>()).unwrap();
    let nodes = vec![NodeFiles { label: "person".into(), files: vec![people] }];
    let label = Some(Arc::from("person"));
    let edges = vec![EdgeFiles { source: label.clone(), label: "knows".into(), target: label, files: vec![knows] }];
    LoadOptions { nodes, edges, edge_time: Some("since".into()), ..LoadOptions::default() }
}

#[test]
fn what_is_loaded_in_bulk_is_compressed_and_answers_as_the_tables_do() {
    let files = tempfile::tempdir().unwrap();
    let graphs = [Some(false), Some(true)].map(|compact| {
        let graph = Graph::new();
        graph.query("g.addV('person').property('name', 'gone')").unwrap();
        graph.query("g.V().drop()").unwrap();
        assert!(graph.db.create_index(None, "person", "name").unwrap());
        let report = graph.db.load(&LoadOptions { compact, ..people(files.path()) }, &mut Quiet).unwrap();
        assert_eq!((report.vertex_count(), report.edge_count()), (500, 900));
        graph
    });
    let [tables, bulk] = &graphs;
    let bytes = |graph: &Graph| graph.db.stats().unwrap().segment_bytes();
    assert!(bytes(tables) == 0 && bytes(bulk) > 0);
    for graph in &graphs {
        graph.query("g.addV('person').property(id, 'new').addE('knows').to(__.V('p7')).property('since', 5)").unwrap();
        graph.query("g.V('p3').property('name', 'name 9')").unwrap();
        assert_eq!(graph.db.check().unwrap().violations.len(), 0);
    }
    for text in [
        "g.V().order().by(id).elementMap()",
        "g.V().order().by(id).local(outE().values('since').fold())",
        "g.V().order().by(id).local(__.in().id().fold())",
        "g.V().has('person', 'name', 'name 9').id().order()",
        "g.V().has('score', gt(250)).count()",
    ] {
        let [found, expected] = [bulk, tables].map(|graph| graph.query(text).unwrap().values().unwrap());
        assert_eq!(found, expected, "{text}");
    }
    let index = bulk.db.explain("g.V().has('person', 'name', 'x')", &Parameters::new(), &QueryOptions::default()).unwrap();
    assert_eq!(index.steps[0].access.as_deref(), Some("index on person.name"));
    let more = LoadOptions { nodes: Vec::new(), compact: Some(true), ..people(files.path()) };
    assert_eq!(bulk.db.load(&more, &mut Quiet).unwrap().edge_count(), 900, "into what is there");
    assert_eq!(bulk.query("g.E().count()").unwrap().values().unwrap(), [Value::Int64(1801)]);
}

/// Searchable text gives the same answers as other text, before and after it is compressed and changed.
#[test]
fn parts_of_searchable_text_are_found() {
    let files = tempfile::tempdir().unwrap();
    let searchable = vec!["person.name".to_owned(), "all".to_owned()];
    let graphs = [Vec::new(), searchable].map(|searchable| {
        let graph = Graph::new();
        let options = LoadOptions { compact: Some(true), searchable, ..people(files.path()) };
        graph.db.load(&options, &mut Quiet).unwrap();
        graph
    });
    let [plain, found] = &graphs;
    let form = |graph: &Graph| {
        let parts = graph.db.stats().unwrap().parts;
        let of_name = |part: &&mangrove::PartStats| {
            matches!(part.part, mangrove::Part::Property(_)) && part.form == Some("searchable")
        };
        parts.iter().filter(of_name).count()
    };
    assert_eq!((form(plain), form(found)), (0, 1), "names; ids are kept as ids are");
    let explained = |graph: &Graph| {
        let text = "g.V().has('person', 'name', containing('me 1'))";
        graph.db.explain(text, &Parameters::new(), &QueryOptions::default()).unwrap().steps[0].access.clone()
    };
    assert_eq!(explained(found).as_deref(), Some("index on person.name"));
    assert_ne!(explained(plain), explained(found));
    let same = || {
        for test in [
            "containing('me 1')",
            "startingWith('name 3')",
            "endingWith(' 7')",
            "eq('name 9')",
            "eq('other')",
            "within('name 1', 'x')",
            "containing('zz')",
            "containing('1').and(neq('name 1'))",
            "startingWith('other').or(endingWith('39'))",
            "gt('name 37')",
            "regex('me .$')",
            "containing('')",
        ] {
            for text in
                [format!("g.V().has('person', 'name', {test}).id().order()"), format!("g.V().has('name', {test}).count()")]
            {
                let [found, expected] = [found, plain].map(|graph| graph.query(&text).unwrap().values().unwrap());
                assert_eq!(found, expected, "{text}");
            }
        }
    };
    same();
    for graph in &graphs {
        graph.query("g.V('p3').property('name', 'other 17')").unwrap();
        graph.query("g.V('p8').drop()").unwrap();
        graph.query("g.V('p9').properties('name').drop()").unwrap();
        graph.query("g.addV('person').property('name', 'name 12')").unwrap();
    }
    same();
    found.db.compact().unwrap();
    same();
    assert_eq!(found.db.check().unwrap().violations.len(), 0);
    let unknown = found.db.set_encoding("person", "nmae", mangrove::Encoding::Plain).unwrap_err().to_string();
    assert!(unknown.contains("name"), "{unknown}");
    assert!(found.db.set_encoding("persn", "name", mangrove::Encoding::Plain).unwrap_err().to_string().contains("person"));
    let number = found.db.set_encoding("person", "age", mangrove::Encoding::Symbols).unwrap_err().to_string();
    assert!(number.contains("person.age holds int64") && number.contains("symbols is for text"), "{number}");
    let (fresh, searchable) = (Graph::new(), vec!["person.nome".to_owned()]);
    for compact in [Some(true), Some(false)] {
        let wrong = LoadOptions { searchable: searchable.clone(), compact, ..people(files.path()) };
        assert!(fresh.db.load(&wrong, &mut Quiet).unwrap_err().to_string().contains("person.nome"));
        assert_eq!(fresh.count(), Value::Int64(0), "nothing was loaded");
    }
}

/// An index made with a load is compressed with the rest. It gives the same answers as one made later.
#[test]
fn indexes_can_be_made_with_a_load() {
    let files = tempfile::tempdir().unwrap();
    let graphs = [Some(true), Some(false)].map(|compact| {
        let graph = Graph::new();
        let options = LoadOptions { compact, indexes: vec!["person.name".to_owned()], ..people(files.path()) };
        graph.db.load(&options, &mut Quiet).unwrap();
        graph
    });
    for (graph, is_sealed) in graphs.iter().zip([true, false]) {
        let stats = graph.db.stats().unwrap();
        let in_tables = stats.tables.iter().find(|table| table.name == "index").unwrap().entries;
        let in_segment = stats.parts.iter().filter(|part| matches!(part.part, mangrove::Part::Index(_))).count();
        assert_eq!((in_tables == 0, in_segment), (is_sealed, usize::from(is_sealed)));
        let name = graph.query("g.V().hasLabel('person').values('name').limit(1)").unwrap().values().unwrap().remove(0);
        let parameters = Parameters::from([("name".to_owned(), name)]);
        let text = "g.V().has('person', 'name', name).values('name')";
        let access = graph.db.explain(text, &parameters, &QueryOptions::default()).unwrap().steps[0].access.clone();
        assert!(access.as_deref().unwrap_or_default().contains("index"), "{access:?}");
        assert_eq!(graph.db.check().unwrap().violations.len(), 0);
        assert!(!graph.db.create_index(None, "person", "name").unwrap(), "there is one");
    }
    let fresh = Graph::new();
    for (wrong, reason) in
        [("person", "LABEL.KEY"), ("persn.name", "person"), ("person.nmae", "name"), ("person.since", "property")]
    {
        let options = LoadOptions { indexes: vec![wrong.to_owned()], ..people(files.path()) };
        let error = fresh.db.load(&options, &mut Quiet).unwrap_err().to_string();
        assert!(error.contains(wrong) && error.contains(reason), "{error}");
        assert_eq!(fresh.count(), Value::Int64(0), "nothing was loaded");
    }
}

/// Of several indexes, the one with the fewest candidates answers, whatever the order of the filters.
#[test]
fn the_narrowest_index_is_asked() {
    let graph = Graph::new();
    graph.query("g.inject(0).repeat(addV('thing').constant(0)).times(50)").unwrap();
    graph.query("g.V().property('all', true)").unwrap();
    graph.query("g.V().limit(1).property('one', 'x')").unwrap();
    graph.db.create_index(None, "thing", "all").unwrap();
    graph.db.create_index(None, "thing", "one").unwrap();
    for sealed in [false, true] {
        if sealed {
            graph.db.compact().unwrap();
        }
        for filters in ["has('all', true).has('one', 'x')", "has('one', 'x').has('all', true)"] {
            let text = format!("g.V().hasLabel('thing').{filters}.count()");
            let explained = graph.db.explain(&text, &Parameters::new(), &QueryOptions::default()).unwrap();
            assert_eq!(explained.steps[0].access.as_deref(), Some("index on thing.one"), "{text}");
            assert_eq!(graph.query(&text).unwrap().values().unwrap(), [Value::Int64(1)]);
        }
    }
}

#[test]
fn a_bulk_load_that_fails_or_is_stopped_leaves_nothing() {
    struct Stopping(u32);
    impl Progress for Stopping {
        fn update(&mut self, status: &Status) {
            self.0 += u32::from(status.phase == Phase::Compacting);
        }
        fn cancelled(&self) -> bool {
            self.0 > 0
        }
    }
    let files = tempfile::tempdir().unwrap();
    let graph = Graph::new();
    let options = LoadOptions { compact: Some(true), ..people(files.path()) };
    assert!(matches!(graph.db.load(&options, &mut Stopping(0)), Err(LoadError::Graph(GraphError::Cancelled))));
    std::fs::write(files.path().join("knows.csv"), "src,dst,since\np1,p2,1\np1,nobody,1\n").unwrap();
    assert!(graph.db.load(&options, &mut Quiet).unwrap_err().to_string().contains("knows.csv:3"));
    let hot = graph._directory.path().join("db.mg/hot");
    let mut names: Vec<_> = std::fs::read_dir(hot).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["data.mdb", "lock.mdb"]);
    assert_eq!(graph.count(), Value::Int64(0));
    graph.db.load(&LoadOptions { compact: Some(true), ..people(files.path()) }, &mut Quiet).unwrap();
    assert_eq!(graph.count(), Value::Int64(500));
}

#[test]
fn results_count_against_the_memory_of_their_query() {
    let graph = Graph::new();
    graph.query("g.addV('n').as('a').addV('n').as('b').addE('e').from('a').to('b').addE('e').from('b').to('a')").unwrap();
    let options = QueryOptions { memory_bytes_max: 16 << 20, ..QueryOptions::default() };
    let run = |text: &str| graph.db.query(text, &Parameters::new(), &options);
    let everywhere = "g.V().repeat(both()).times(40)";
    let refused = |error: QueryError| {
        let QueryError::Query(failure) = &error else { panic!("{error}") };
        assert_eq!(failure.kind, QueryErrorKind::Memory, "{error}");
    };
    refused(run(everywhere).unwrap().values().unwrap_err());
    refused(run(everywhere).unwrap().results().unwrap_err());
    refused(run(everywhere).unwrap().to_arrow().unwrap_err());
    refused(run("g.V().repeat(both()).times(40).property('seen', true)").err().expect("what writes runs to its end"));
    let mut tx = graph.db.transaction().unwrap();
    refused(tx.query(everywhere, &Parameters::new(), &options).unwrap_err());
    drop(tx);
    // Taken one by one, results take no memory.
    assert_eq!(run(everywhere).unwrap().take(2_000_000).filter(Result::is_ok).count(), 2_000_000);
    assert_eq!(graph.count(), Value::Int64(2));
    assert_eq!(run("g.V().has('seen', true).count()").unwrap().values().unwrap(), [Value::Int64(0)]);
}

#[test]
fn a_write_that_others_wait_for_in_vain_runs_again_alone() {
    let graph = Graph::new();
    let many = "g.inject(1).repeat(identity()).emit().times(20000).addV('thing').property('n', 1).count()";
    graph.query(many).unwrap().values().unwrap();
    let (writers, rounds) = (6, 30);
    let ends = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let graph = &graph;
                scope.spawn(move || {
                    for round in 0..rounds {
                        // It looks brief, but changes each of 20,000 things.
                        let text = match (writer, round % 10) {
                            (0, 0) => "g.V().has('thing', 'n', 1).property('seen', true).count()".to_owned(),
                            _ => format!("g.addV('visit').property(T.id, '{writer}.{round}')"),
                        };
                        graph.query(&text).unwrap().values().unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).count()
    });
    assert_eq!(ends, writers);
    let count = |text: &str| graph.query(text).unwrap().values().unwrap();
    assert_eq!(count("g.V().has('seen', true).count()"), [Value::Int64(20_000)]);
    assert_eq!(count("g.V().hasLabel('visit').count()"), [Value::Int64((writers * rounds - 3) as i64)]);
    assert!(graph.db.check().unwrap().violations.is_empty());
}

#[test]
fn a_write_may_return_many_elements_that_it_has_removed() {
    let graph = Graph::new();
    for n in 0..20 {
        graph
            .query(&format!("g.addV('person').property(T.id, {n}).property('age', {n}).as('v').addE('self').to('v')"))
            .unwrap();
    }
    let shown = |text: &str| -> Vec<String> {
        graph.query(text).unwrap().results().unwrap().iter().map(|row| mangrove::json::to_string(&row)).collect()
    };
    let edges = shown("g.E().as('e').outV().sideEffect(drop()).select('e')");
    assert_eq!(edges.len(), 20);
    for n in 0..20 {
        graph.query(&format!("g.addV('person').property(T.id, {n}).property('age', {n})")).unwrap();
    }
    let vertices = shown("g.V().hasLabel('person').sideEffect(drop())");
    assert_eq!(vertices.len(), 20);
    assert!(vertices.iter().all(|vertex| vertex.contains("\"id\":null")), "{vertices:?}");
    assert_eq!(graph.count(), Value::Int64(0));
}

#[test]
fn the_results_of_a_write_are_as_it_left_them() {
    let graph = Graph::new();
    let mut written = graph.query("g.addV('person').property(T.id, 'ada').property('age', 1)").unwrap();
    graph.query("g.V('ada').drop()").unwrap();
    let shown = mangrove::json::to_string(&written.results().unwrap().iter().next().unwrap());
    assert!(shown.contains("\"id\":\"ada\"") && shown.contains("\"age\":1"), "{shown}");

    // What is taken one by one is not given again.
    let mut written = graph.query("g.inject(1, 2, 3).sideEffect(addV('x'))").unwrap();
    assert_eq!(written.next().unwrap().unwrap(), Value::Int32(1));
    assert_eq!(written.results().unwrap().len(), 2);
    assert_eq!(written.results().unwrap().len(), 0);
}

#[test]
fn writers_need_no_place_among_readers() {
    let graph = Graph::new();
    graph.query("g.addV('person').property(T.id, 'ada')").unwrap();
    let mut readers = Vec::new();
    let full = loop {
        match graph.query("g.V()") {
            Ok(reader) => readers.push(reader),
            Err(error) => break error.to_string(),
        }
    };
    let holder = format!("process {}", std::process::id());
    assert!(
        full.contains("snapshots of the database are in use") && full.contains(&holder) && readers.len() > 4000,
        "{full}"
    );

    let made = graph.query("g.addV('person').property(T.id, 'bob').values('nothing')").unwrap().values().unwrap();
    assert!(made.is_empty());
    let made = graph.query("g.addV('person').property(T.id, 'cy').id()").unwrap().values().unwrap();
    assert_eq!(made, [Value::from("cy")]);
    // The results of a write are read before its commit.
    let mut written = graph.query("g.addV('person').property(T.id, 'di')").unwrap();
    assert_eq!(written.results().unwrap().len(), 1);
    let unread = written.describe(&[Value::Int64(1)]).unwrap_err().to_string();
    assert!(unread.contains("its changes are kept") && unread.contains("snapshots of the database are in use"), "{unread}");
    graph.db.transaction().unwrap().commit().unwrap();
    drop(readers);
    assert_eq!(graph.count(), Value::Int64(4));
}
