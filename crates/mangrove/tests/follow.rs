//! A graph follows a topic: each record is there once, whatever happens.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mangrove::cluster::{Log, NodeConfig, RunningNode, make_graph};
use mangrove::graph::{GraphView, GraphWrite, ReadContext, Result};
use mangrove::ingest::{IngestOptions, Merging, Offsets, OnLost, Progress, Quiet, Status, Topic, TopicRecord};
use mangrove::{
    Backend, BackendTransaction, BackendView, BulkLoad, CheckReport, Database, FollowOptions, FollowReport, FollowedRows,
    GraphError, IdSpace, Layout, LayoutOptions, LoadError, OpenOptions, Parameters, Patience, QueryOptions, StoreStats,
    Value, Writer,
};
use mangrove_cluster::log::MemoryLog;
use mangrove_directory::Store;
use tempfile::TempDir;

/// The values of the records of a partition.
type Values = Vec<Option<Vec<u8>>>;

/// The records of each partition.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<Values>>>);

impl Records {
    /// Numbered edges, spread over partitions.
    fn edges(numbers: std::ops::Range<i64>, partitions: usize) -> Self {
        let new = Self::default();
        new.0.lock().unwrap().resize(partitions, Vec::new());
        numbers.for_each(|number| new.add(number as usize % partitions, &edge(number)));
        new
    }

    fn add(&self, partition: usize, text: &str) {
        self.0.lock().unwrap()[partition].push(Some(text.as_bytes().to_vec()));
    }

    fn topic(&self) -> MemoryTopic {
        MemoryTopic { records: self.clone(), next: Offsets::new(), meanwhile: None }
    }
}

fn edge(number: i64) -> String {
    format!(r#"{{"src": {}, "dst": "v{}", "n": {number}}}"#, number % 10, number % 7)
}

struct MemoryTopic {
    records: Records,
    next: Offsets,
    /// What somebody else does before the first records come.
    meanwhile: Option<Box<dyn FnOnce()>>,
}

impl Topic for MemoryTopic {
    fn name(&self) -> &str {
        "events"
    }

    fn cluster(&self) -> &str {
        "here"
    }

    fn start(&mut self, from: &Offsets, _: OnLost) -> Result<Offsets> {
        let partitions = self.records.0.lock().unwrap().len() as i32;
        let next = |partition| (partition, from.get(&partition).copied().unwrap_or(0));
        self.next = (0..partitions).map(next).collect();
        Ok(self.next.clone())
    }

    fn read(&mut self, _: Duration, out: &mut Vec<TopicRecord>) -> Result<bool> {
        self.meanwhile.take().into_iter().for_each(|act| act());
        let (records, mut any) = (self.records.0.lock().unwrap(), false);
        for (partition, next) in &mut self.next {
            for value in records[*partition as usize].iter().skip(*next as usize).take(3) {
                out.push(TopicRecord { partition: *partition, offset: *next, value: value.clone() });
                (*next, any) = (*next + 1, true);
            }
        }
        Ok(!any)
    }
}

fn edges() -> FollowOptions {
    let merge = Merging { create_missing: true, ..Merging::default() };
    FollowOptions {
        source: "events".into(),
        rows: FollowedRows::Edges {
            source: Some("person".into()),
            label: "follows".into(),
            target: Some("page".into()),
            from: "src".into(),
            to: "dst".into(),
        },
        batch_rows: 20,
        batch_wait: Duration::from_secs(1),
        until_end: true,
        skip: BTreeSet::new(),
        on_lost: OnLost::Fail,
        ingest: IngestOptions { merge, ..IngestOptions::default() },
    }
}

fn follow(database: &Database, records: &Records, options: &FollowOptions) -> Result<FollowReport, LoadError> {
    database.follow(&mut records.topic(), options, &mut Quiet)
}

fn values(database: &Database, query: &str) -> Vec<Value> {
    database.query(query, &Parameters::new(), &QueryOptions::default()).unwrap().values().unwrap()
}

/// The numbers of all edges, from both of their ends.
fn numbers(database: &Database) -> Vec<i64> {
    let sorted = |query| {
        let found = values(database, query);
        let mut found: Vec<i64> = found.iter().map(|value| value.as_i64().unwrap()).collect();
        found.sort_unstable();
        found
    };
    let (leaving, entering) = (sorted("g.V().outE('follows').values('n')"), sorted("g.V().inE('follows').values('n')"));
    assert_eq!(leaving, entering);
    assert!(database.check().unwrap().violations.is_empty());
    leaving
}

fn embedded() -> (TempDir, Database) {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path().join("db.mg")).unwrap();
    (directory, database)
}

/// A node with all shards of a graph, which follows a log in memory.
struct Nodes {
    node: RunningNode,
    _data: TempDir,
}

impl Nodes {
    fn new() -> Self {
        let log: Arc<dyn Log> = Arc::new(MemoryLog::default());
        make_graph(&log, "test", 3, IdSpace::Graph).unwrap();
        let data = tempfile::tempdir().unwrap();
        let config = NodeConfig {
            name: "node-0".into(),
            data: data.path().to_owned(),
            shards: (0..3).collect(),
            listen: "127.0.0.1:0".parse().unwrap(),
            advertise: None,
            tls: None,
            log,
            store: None,
            is_cancelled: &|| false,
        };
        Self { node: RunningNode::start(config).unwrap(), _data: data }
    }

    fn connect(&self) -> Database {
        Database::connect(&format!("mangrove://{}/test", self.node.address())).unwrap()
    }
}

fn goes_on_where_it_was(database: &Database) {
    let records = Records::edges(0..100, 3);
    let report = follow(database, &records, &edges()).unwrap();
    assert_eq!((report.records, report.loaded.edge_count(), report.batches), (100, 100, 5));
    assert_eq!(report.offsets, Offsets::from([(0, 34), (1, 33), (2, 33)]));
    assert_eq!(numbers(database), (0..100).collect::<Vec<_>>());
    assert_eq!(follow(database, &records, &edges()).unwrap().records, 0, "there is nothing new");
    for number in 100..150 {
        records.add(1, &edge(number));
    }
    assert_eq!(follow(database, &records, &edges()).unwrap().records, 50);
    assert_eq!(numbers(database), (0..150).collect::<Vec<_>>());
    let sources = database.sources().unwrap();
    assert_eq!(sources["events"].offsets, Offsets::from([(0, 34), (1, 83), (2, 33)]));
    let other = FollowOptions { source: "again".into(), ..edges() };
    assert_eq!(follow(database, &records, &other).unwrap().records, 150, "sources do not mix");
    assert_eq!(database.sources().unwrap().len(), 2);
}

#[test]
fn an_embedded_database_goes_on_where_it_was() {
    let (directory, database) = embedded();
    goes_on_where_it_was(&database);
    let copy = directory.path().join("copy.mg");
    database.backup(&copy).unwrap();
    database.compact().unwrap();
    let sources = database.sources().unwrap();
    drop(database);
    for path in [directory.path().join("db.mg"), copy] {
        assert_eq!(Database::open(path).unwrap().sources().unwrap(), sources);
    }
}

#[test]
fn a_graph_on_nodes_goes_on_where_it_was() {
    let nodes = Nodes::new();
    goes_on_where_it_was(&nodes.connect());
    assert_eq!(nodes.connect().sources().unwrap().len(), 2);
}

/// A copy in another order has the offsets, too.
#[test]
fn a_copy_goes_on_where_the_original_was() {
    let (directory, database) = embedded();
    let records = Records::edges(0..100, 2);
    follow(&database, &records, &edges()).unwrap();
    let copy = directory.path().join("copy.mg");
    let options = LayoutOptions { layout: Layout::Community, ..LayoutOptions::default() };
    database.relayout(&copy, &options, &mut Quiet).unwrap();
    let copy = Database::open(&copy).unwrap();
    assert_eq!(copy.sources().unwrap(), database.sources().unwrap());
    assert_eq!(follow(&copy, &records, &edges()).unwrap().records, 0);
}

#[test]
fn vertices_are_followed_by_their_key() {
    let (_directory, database) = embedded();
    let records = Records::edges(0..0, 1);
    records.add(0, r#"{"mail": "ada@x", "born": 1815}"#);
    records.add(0, r#"{"mail": "bob@x", "tags": ["a", "b"]}"#);
    let rows = FollowedRows::Vertices { label: "user".into(), key: Some("mail".into()) };
    assert_eq!(follow(&database, &records, &FollowOptions { rows, ..edges() }).unwrap().loaded.vertex_count(), 2);
    records.add(0, r#"{"mail": "cy@x"}"#);
    let by_the_key_of_the_label = FollowedRows::Vertices { label: "user".into(), key: None };
    follow(&database, &records, &FollowOptions { rows: by_the_key_of_the_label, ..edges() }).unwrap();
    assert_eq!(values(&database, "g.V('ada@x').values('born')"), [Value::Int64(1815)]);
    assert_eq!(values(&database, "g.V('cy@x').count()"), [Value::Int64(1)]);
}

#[test]
fn a_bad_record_is_refused_with_its_place_and_may_be_left_out() {
    for (wrong, why) in [
        (Some("{\"src\": 1"), "not JSON"),
        (Some("[1, 2]"), "expected a JSON object, not an array"),
        (Some(r#"{"dst": "v1"}"#), "no id (column `src` is empty)"),
        (None, "it has no value"),
    ] {
        let (_directory, database) = embedded();
        let records = Records::edges(0..30, 1);
        records.0.lock().unwrap()[0].push(wrong.map(|text| text.as_bytes().to_vec()));
        (31..40).for_each(|number| records.add(0, &edge(number)));
        let refused = follow(&database, &records, &edges()).unwrap_err().to_string();
        assert!(refused.contains("events, partition 0, offset 30: ") && refused.contains(why), "{refused}");
        assert!(refused.contains("add --skip 0:30"), "{refused}");
        let stored = numbers(&database);
        assert!(stored.len() >= 20 && stored == (0..stored.len() as i64).collect::<Vec<_>>(), "{stored:?}");
        let told = database.sources().unwrap()["events"].offsets[&0];
        assert_eq!(told, stored.len() as u64);
        let without = FollowOptions { skip: BTreeSet::from([(0, 30)]), ..edges() };
        assert_eq!(follow(&database, &records, &without).unwrap().skipped, 1);
        assert_eq!(numbers(&database), (0..40).filter(|number| *number != 30).collect::<Vec<_>>());
    }
}

#[test]
fn an_edge_without_its_end_is_a_bad_record() {
    let (_directory, database) = embedded();
    let records = Records::edges(0..3, 1);
    let strict = FollowOptions { ingest: IngestOptions::default(), ..edges() };
    let refused = follow(&database, &records, &strict).unwrap_err().to_string();
    assert!(refused.contains("events, partition 0, offset ") && refused.contains("there is no vertex"), "{refused}");
    assert!(database.sources().unwrap().is_empty() && numbers(&database).is_empty());
}

/// Whoever finds other offsets than it knows stores nothing.
fn two_at_once_double_nothing(database: &Database, other: Database) {
    let records = Records::edges(0..100, 2);
    let (mut topic, again) = (records.topic(), records.clone());
    topic.meanwhile = Some(Box::new(move || drop(follow(&other, &again, &edges()).unwrap())));
    let refused = database.follow(&mut topic, &edges(), &mut Quiet).unwrap_err().to_string();
    assert!(refused.contains("another one follows it, too"), "{refused}");
    assert_eq!(numbers(database), (0..100).collect::<Vec<_>>());
}

#[test]
fn two_at_once_double_nothing_in_a_database() {
    let (_directory, database) = embedded();
    two_at_once_double_nothing(&database, database.clone());
}

#[test]
fn two_at_once_double_nothing_on_nodes() {
    let nodes = Nodes::new();
    two_at_once_double_nothing(&nodes.connect(), nodes.connect());
}

#[test]
fn a_source_is_one_topic() {
    struct Elsewhere(MemoryTopic);
    impl Topic for Elsewhere {
        fn name(&self) -> &str {
            self.0.name()
        }

        fn cluster(&self) -> &str {
            "elsewhere"
        }

        fn start(&mut self, from: &Offsets, on_lost: OnLost) -> Result<Offsets> {
            self.0.start(from, on_lost)
        }

        fn read(&mut self, patience: Duration, out: &mut Vec<TopicRecord>) -> Result<bool> {
            self.0.read(patience, out)
        }
    }
    let (_directory, database) = embedded();
    let records = Records::edges(0..10, 1);
    follow(&database, &records, &edges()).unwrap();
    let refused = database.follow(&mut Elsewhere(records.topic()), &edges(), &mut Quiet).unwrap_err().to_string();
    assert!(refused.contains("not the topic events of the brokers elsewhere") && refused.contains("--source"), "{refused}");
    assert_eq!(numbers(&database).len(), 10);
}

/// Cancels after some batches.
struct Few {
    left: usize,
}

impl Progress for Few {
    fn update(&mut self, _: &Status) {
        self.left -= 1;
    }

    fn cancelled(&self) -> bool {
        self.left == 0
    }
}

#[test]
fn who_is_cancelled_ends_well_and_goes_on_later() {
    let (_directory, database) = embedded();
    let records = Records::edges(0..100, 2);
    let forever = FollowOptions { until_end: false, ..edges() };
    let report = database.follow(&mut records.topic(), &forever, &mut Few { left: 2 }).unwrap();
    assert_eq!((report.batches, report.records), (2, 40));
    assert_eq!(numbers(&database).len(), 40);
    let report = database.follow(&mut records.topic(), &forever, &mut Few { left: 3 }).unwrap();
    assert_eq!(report.records, 60);
    assert_eq!(numbers(&database), (0..100).collect::<Vec<_>>());
}

/// What becomes of a commit.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Made,
    /// It was made, and nobody says so.
    MadeUnsaid,
    /// It was not made, and nobody says so.
    LostUnsaid,
    TakenOver,
}

/// An embedded store whose commits have fates, one after the other, again and again.
struct Fateful {
    store: Store,
    /// What its views show. It may be older, and only who writes sees the store as it is.
    shown: Store,
    fates: Arc<Mutex<std::iter::Cycle<std::vec::IntoIter<Fate>>>>,
}

impl Backend for Fateful {
    fn view(&self, limits: Option<ReadContext>) -> Result<Box<dyn BackendView>> {
        Backend::view(&self.shown, limits)
    }

    fn begin(&self, writer: Writer, patience: Patience<'_>) -> Result<Box<dyn BackendTransaction>> {
        let (inner, fates) = (Backend::begin(&self.store, writer, patience)?, self.fates.clone());
        Ok(Box::new(FatefulTransaction { inner, fates, has_written: false }))
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn check(&self) -> Result<CheckReport> {
        Backend::check(&self.store)
    }

    fn stats(&self) -> Result<StoreStats> {
        Backend::stats(&self.store)
    }

    fn backup(&self, destination: &Path) -> Result<()> {
        Backend::backup(&self.store, destination)
    }

    fn compact(&self, writer: Writer, patience: Patience<'_>) -> Result<u64> {
        Backend::compact(&self.store, writer, patience)
    }
}

struct FatefulTransaction {
    inner: Box<dyn BackendTransaction>,
    fates: Arc<Mutex<std::iter::Cycle<std::vec::IntoIter<Fate>>>>,
    /// Of one that has written nothing, it is known what became of it.
    has_written: bool,
}

impl BackendTransaction for FatefulTransaction {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        self.has_written = true;
        self.inner.graph()
    }

    fn view(&self) -> &dyn GraphView {
        self.inner.view()
    }

    fn limit(&mut self, limits: Option<ReadContext>) {
        self.inner.limit(limits);
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let unsaid = || Err(GraphError::OutcomeUnknown("nobody says".into()));
        let fate = self.has_written.then(|| self.fates.lock().unwrap().next().unwrap());
        match fate.unwrap_or(Fate::Made) {
            Fate::Made => self.inner.commit(),
            Fate::MadeUnsaid => self.inner.commit().and_then(|()| unsaid()),
            Fate::LostUnsaid => unsaid(),
            Fate::TakenOver => Err(GraphError::TakenOver),
        }
    }

    fn is_waited_for(&self) -> bool {
        self.inner.is_waited_for()
    }

    fn is_unused(&self) -> Result<bool> {
        self.inner.is_unused()
    }

    fn into_bulk(self: Box<Self>) -> Result<Box<dyn BulkLoad>> {
        self.inner.into_bulk()
    }
}

#[test]
fn a_commit_of_which_nobody_knows_is_made_once() {
    use Fate::{LostUnsaid, Made, MadeUnsaid, TakenOver};
    for fates in [
        vec![Made, MadeUnsaid],
        vec![MadeUnsaid],
        vec![LostUnsaid, Made],
        vec![TakenOver, LostUnsaid, MadeUnsaid],
        vec![MadeUnsaid, Made, LostUnsaid, TakenOver, Made],
    ] {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("db.mg"), &OpenOptions::default()).unwrap();
        let fates = Arc::new(Mutex::new(fates.into_iter().cycle()));
        let database = Database::over(Fateful { shown: store.clone(), store, fates }, directory.path());
        let report = follow(&database, &Records::edges(0..100, 2), &edges()).unwrap();
        assert_eq!((report.records, report.loaded.edge_count()), (100, 100));
        assert_eq!(numbers(&database), (0..100).collect::<Vec<_>>());
    }
}

/// A process that ends has written its last batch just before the next one begins.
#[test]
fn who_begins_knows_what_was_stored_just_before() {
    let directory = tempfile::tempdir().unwrap();
    let [store, before] =
        ["now", "before"].map(|name| Store::open(directory.path().join(name), &OpenOptions::default()).unwrap());
    let records = Records::edges(0..50, 2);
    let over = |store: &Store, shown: &Store| {
        let fates = Arc::new(Mutex::new(vec![Fate::Made].into_iter().cycle()));
        Database::over(Fateful { store: store.clone(), shown: shown.clone(), fates }, directory.path())
    };
    let now = over(&store, &store);
    assert_eq!(follow(&now, &records, &edges()).unwrap().records, 50);
    let stale = over(&store, &before);
    (50..80).for_each(|number| records.add(0, &edge(number)));
    assert_eq!(follow(&stale, &records, &edges()).unwrap().records, 30);
    assert_eq!(numbers(&now), (0..80).collect::<Vec<_>>());
}
