//! Routed indexes of a graph on nodes, through the public API: they find what an index of one database finds, whatever was written how.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove::cluster::{
    GraphAddress, Log, NodeConfig, Objects, RunningNode, backup, make_graph, objects, restore, shards_of_node,
};
use mangrove::ingest::{IngestOptions, Quiet, Table, TableInput};
use mangrove::{Database, ElementKind, ExportFormat, IdSpace, LoadOptions, OpenError, Parameters, QueryOptions, Value};
use mangrove_cluster::log::MemoryLog;
use tempfile::TempDir;

const SHARDS: u16 = 5;
const NODES: u16 = 2;
const USERS: u64 = 400;
const CITIES: u64 = 150;

/// Nodes of this process.
struct Cluster {
    nodes: Vec<RunningNode>,
    log: MemoryLog,
    store: Option<Arc<dyn Objects>>,
    home: TempDir,
}

impl Cluster {
    fn new(store: Option<Arc<dyn Objects>>) -> Self {
        let log = MemoryLog::default();
        let shared: Arc<dyn Log> = Arc::new(log.clone());
        make_graph(&shared, "test", SHARDS, IdSpace::Graph).unwrap();
        Self::following(log, store)
    }

    fn following(log: MemoryLog, store: Option<Arc<dyn Objects>>) -> Self {
        let mut new = Self { nodes: Vec::new(), log, store, home: tempfile::tempdir().unwrap() };
        new.start();
        new
    }

    /// Starts the nodes. Those before them may still hold their files for a moment.
    fn start(&mut self) {
        let until = Instant::now() + Duration::from_secs(30);
        while self.nodes.len() < usize::from(NODES) {
            match self.started(self.nodes.len() as u16) {
                Ok(node) => self.nodes.push(node),
                Err(error) if Instant::now() >= until => panic!("a node does not start: {error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn started(&self, number: u16) -> Result<RunningNode, OpenError> {
        RunningNode::start(NodeConfig {
            name: format!("node-{number}"),
            data: self.home.path().join(number.to_string()),
            shards: shards_of_node(number, NODES, 1, SHARDS).unwrap(),
            listen: "127.0.0.1:0".parse().unwrap(),
            advertise: None,
            tls: None,
            log: Arc::new(self.log.clone()),
            store: self.store.clone(),
            is_cancelled: &|| false,
        })
    }

    fn address(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(|node| node.address().to_string()).collect();
        format!("mangrove://{}/test", addresses.join(","))
    }

    fn connect(&self) -> Database {
        Database::connect(&self.address()).unwrap()
    }
}

/// Loads files, each with its name and text.
fn load_files(db: &Database, files: &[(&str, &str)]) {
    let home = tempfile::tempdir().unwrap();
    let file = |(name, text): &(&str, &str)| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = files.iter().map(file).collect();
    db.load(&LoadOptions { files, ..LoadOptions::default() }, &mut Quiet).unwrap();
}

/// Users with a city and an age, who follow each other since some year.
fn load(db: &Database) {
    let (mut users, mut follows) =
        ("id:ID,:LABEL,city,age:int\n".to_owned(), ":START_ID,:END_ID,:TYPE,since:int\n".to_owned());
    for id in 0..USERS {
        writeln!(users, "u{id},user,c{},{}", id % CITIES, id % 60).unwrap();
        writeln!(follows, "u{id},u{},follows,{}", id * 7 % USERS, 1900 + id % 90).unwrap();
    }
    load_files(db, &[("users.csv", &users), ("follows.csv", &follows)]);
}

fn run(db: &Database, text: &str) -> Vec<Value> {
    let mut results = db.query(text, &Parameters::new(), &QueryOptions::default()).unwrap();
    results.values().unwrap()
}

fn bag(db: &Database, text: &str) -> Vec<String> {
    let mut all: Vec<String> = run(db, text).iter().map(Value::to_string).collect();
    all.sort_unstable();
    all
}

fn access(db: &Database, text: &str) -> String {
    let explained = db.explain(text, &Parameters::new(), &QueryOptions::default()).unwrap();
    explained.steps[0].access.clone().unwrap_or_default()
}

/// Lookups of all values that were ever there, and of some that never were.
fn lookups() -> Vec<String> {
    let city = |name: String| format!("g.V().has('user', 'city', {name}).id()");
    let mut all: Vec<String> = (0..CITIES + 3).map(|number| city(format!("'c{number}'"))).collect();
    all.extend(
        ["'moved'", "'new'", "within('c1', 'moved', 'nowhere')", "within()", "gt('c7')"].map(|test| city(test.into())),
    );
    all.extend((1900..1995).map(|year| format!("g.E().has('follows', 'since', {year}).outV().id()")));
    all.push("g.E().has('follows', 'since', 1907.0).outV().id()".into());
    all
}

/// Both give the same, the checks find nothing, and lookups ask the directory.
fn assert_same(db: &Database, alone: &Database) {
    for text in lookups() {
        assert_eq!(bag(db, &text), bag(alone, &text), "{text}");
    }
    let found = db.check().unwrap();
    assert!(found.is_clean(), "{:?}", found.violations);
    assert_eq!(access(db, "g.V().has('user', 'city', 'c1')"), "index on user.city, asks the directory");
}

fn both(db: &Database, alone: &Database, text: &str) {
    for database in [db, alone] {
        run(database, text);
    }
}

fn index_both(db: &Database, alone: &Database) {
    for database in [db, alone] {
        assert!(database.create_routed_index(None, "user", "city", false).unwrap());
        assert!(!database.create_routed_index(None, "user", "city", false).unwrap(), "it is there");
        assert!(database.create_routed_index(Some(ElementKind::Edge), "follows", "since", false).unwrap());
        let indexes = &database.schema().unwrap().indexes;
        assert!(indexes.len() == 2 && indexes.iter().all(|index| index.routed && !index.unique), "{indexes:?}");
    }
}

fn alone() -> (TempDir, Database) {
    let home = tempfile::tempdir().unwrap();
    let db = Database::open(home.path().join("alone")).unwrap();
    (home, db)
}

#[test]
fn explain_says_who_is_asked() {
    let (cluster, (_home, alone)) = (Cluster::new(None), alone());
    let db = cluster.connect();
    load(&db);
    load(&alone);
    index_both(&db, &alone);
    for database in [&db, &alone] {
        database.create_index(None, "user", "age").unwrap();
    }
    for (test, asked) in [
        ("'city', 'c1'", "user.city, asks the directory"),
        ("'city', within('c1', 'c2')", "user.city, asks the directory"),
        ("'city', gt('c1')", "user.city, asks every shard"),
        ("'age', 7", "user.age, asks every shard"),
    ] {
        let (text, property) = (format!("g.V().has('user', {test})"), asked.split(',').next().unwrap());
        assert_eq!(access(&db, &text), format!("index on {asked}"));
        assert_eq!(access(&alone, &text), format!("index on {property}"), "there is one store");
    }
    assert_eq!(access(&db, "g.E().has('follows', 'since', 1907)"), "index on follows.since, asks the directory");
    db.drop_index(None, "user", "city").unwrap();
    db.create_index(None, "user", "city").unwrap();
    assert_eq!(access(&db, "g.V().has('user', 'city', 'c1')"), "index on user.city, asks every shard");
}

#[test]
fn every_way_to_write_keeps_the_directory() {
    let (mut cluster, (_home, alone)) = (Cluster::new(None), alone());
    let db = cluster.connect();
    load(&db);
    load(&alone);
    index_both(&db, &alone); // of what is there already
    assert_same(&db, &alone);
    both(&db, &alone, "g.V('u3', 'u4', 'u5').property('city', 'moved')");
    both(&db, &alone, "g.V('u6', 'u7').drop()");
    both(&db, &alone, "g.V('u8').properties('city').drop()");
    both(
        &db,
        &alone,
        "g.addV('user').property(T.id, 'x').property('city', 'new').addE('follows').to(__.V('u1')).property('since', 1993)",
    );
    both(&db, &alone, "g.V('u9').outE('follows').property('since', 1994)");
    for database in [&db, &alone] {
        let rows = |ids: std::ops::Range<i64>| Table::Rows {
            names: vec!["id".into(), "city".into()],
            values: ids.flat_map(|id| [Value::from(format!("i{id}")), Value::from(format!("c{id}"))]).collect(),
        };
        let mut ingestion = database.ingest(IngestOptions { batch_rows: 20, ..IngestOptions::default() }).unwrap();
        ingestion.add(TableInput::vertices("user", rows(100..170))).unwrap();
        ingestion.finish().unwrap();
        load_files(database, &[("more.csv", "id:ID,:LABEL,city\nl1,user,c1\nl2,user,new\nl3,user,c149\n")]);
    }
    assert_same(&db, &alone);
    // The index goes, values change, and it comes back.
    for database in [&db, &alone] {
        assert!(database.drop_index(None, "user", "city").unwrap());
        run(database, "g.V('u20', 'u21').property('city', 'moved')");
        assert!(database.create_routed_index(None, "user", "city", false).unwrap());
    }
    assert_same(&db, &alone);
    drop(db);
    cluster.nodes.clear();
    cluster.start();
    assert_same(&cluster.connect(), &alone);
}

#[test]
fn a_unique_index_may_be_routed() {
    let cluster = Cluster::new(None);
    let db = cluster.connect();
    run(
        &db,
        "g.addV('user').property(T.id, 'a').property('mail', 'a@x').addV('user').property(T.id, 'b').property('mail', 'b@x')",
    );
    assert!(db.create_routed_index(None, "user", "mail", true).unwrap());
    let again = "g.addV('user').property(T.id, 'c').property('mail', 'a@x')";
    let refused = db.query(again, &Parameters::new(), &QueryOptions::default()).and_then(|mut results| results.values());
    assert!(refused.unwrap_err().to_string().contains("is unique"));
    run(&db, "g.V('a').property('mail', 'c@x')");
    run(&db, again);
    assert_eq!(run(&db, "g.V().has('user', 'mail', 'a@x').id()"), [Value::from("c")]);
    assert!(db.check().unwrap().is_clean());
}

#[test]
fn a_restored_graph_has_its_directory() {
    let place = tempfile::tempdir().unwrap();
    let store = objects(place.path().to_str().unwrap()).unwrap();
    let (cluster, (_home, alone)) = (Cluster::new(Some(store.clone())), alone());
    let db = cluster.connect();
    load(&db);
    load(&alone);
    index_both(&db, &alone);
    both(&db, &alone, "g.V('u3').property('city', 'moved')");
    let address: GraphAddress = cluster.address().parse().unwrap();
    let (made, _) = backup(&address, true, &mut |_| {}).unwrap();
    drop(db);
    drop(cluster);
    let log = MemoryLog::default();
    restore(&*store, &made, &log, &mut |_| {}).unwrap();
    let again = Cluster::following(log, Some(store));
    let db = again.connect();
    assert_same(&db, &alone);
    both(&db, &alone, "g.V('u4').property('city', 'new')");
    assert_same(&db, &alone);
}

#[test]
fn copies_and_exports_keep_what_was_declared() {
    let (home, alone) = alone();
    load(&alone);
    assert!(alone.create_routed_index(None, "user", "city", false).unwrap());
    let routed = |database: &Database| -> BTreeSet<String> {
        let schema = database.schema().unwrap();
        let routed = schema.indexes.iter().filter(|index| index.routed).map(|index| schema.property_name(index.of));
        routed.collect()
    };
    let out = home.path().join("out");
    alone.export(&out, ExportFormat::Csv, &mut Quiet).unwrap();
    drop(alone);
    let reopened = Database::open(home.path().join("alone")).unwrap();
    assert_eq!(routed(&reopened), BTreeSet::from(["user.city".to_owned()]));
    let cluster = Cluster::new(None);
    let db = cluster.connect();
    db.load(&LoadOptions { files: vec![out], ..LoadOptions::default() }, &mut Quiet).unwrap();
    assert_eq!(routed(&db), routed(&reopened));
    assert_eq!(bag(&db, "g.V().has('user', 'city', 'c1').id()"), bag(&reopened, "g.V().has('user', 'city', 'c1').id()"));
    assert_eq!(access(&db, "g.V().has('user', 'city', 'c1')"), "index on user.city, asks the directory");
    assert!(db.check().unwrap().is_clean());
}
