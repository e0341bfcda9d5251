//! Vertex programs on the nodes of a graph: what they give, what crosses between nodes, how they end, and how they go on without a node.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow_array::{Array, Float64Array, Int64Array, StringArray};
use mangrove::cluster::{Log, NodeConfig, Objects, Placement, RunningNode, make_graph, objects, shards_of_node};
use mangrove::graph::{ExternalId, GraphError, LabelId, Map};
use mangrove::ingest::Quiet;
use mangrove::{
    Analysis, AnalyzeError, AnalyzeOptions, Database, IdSpace, LoadOptions, Parameters, QueryOptions, Value,
    analytics::AnalyticsError,
};
use mangrove_cluster::log::MemoryLog;
use mangrove_testkit::graphs::Random;
use tempfile::TempDir;

const SHARDS: u16 = 8;

/// Nodes of this process, which are connected as others are.
struct Cluster {
    nodes: Vec<Option<RunningNode>>,
    replicas: u16,
    log: MemoryLog,
    store: Option<Arc<dyn Objects>>,
    placement: Placement,
    address: String,
    home: TempDir,
}

impl Cluster {
    fn start(count: u16, replicas: u16) -> Self {
        Self::with_store(count, replicas, None)
    }

    fn with_store(count: u16, replicas: u16, store: Option<Arc<dyn Objects>>) -> Self {
        let (home, log) = (tempfile::tempdir().unwrap(), MemoryLog::default());
        let shared: Arc<dyn Log> = Arc::new(log.clone());
        let placement = make_graph(&shared, "test", SHARDS, IdSpace::Graph).unwrap().placement;
        let nodes = (0..count).map(|_| None).collect();
        let mut new = Self { nodes, replicas, log, store, placement, address: String::new(), home };
        (0..count).for_each(|number| new.begin(number));
        let addresses: Vec<String> = new.nodes.iter().flatten().map(|node| node.address().to_string()).collect();
        new.address = format!("mangrove://{}/test", addresses.join(","));
        new
    }

    /// Starts a node. The one before may still hold its files for a moment.
    fn begin(&mut self, number: u16) {
        let until = Instant::now() + Duration::from_secs(30);
        let start = || {
            RunningNode::start(NodeConfig {
                name: format!("node-{number}"),
                data: self.home.path().join(number.to_string()),
                shards: shards_of_node(number, self.nodes.len() as u16, self.replicas, SHARDS).unwrap(),
                listen: "127.0.0.1:0".parse().unwrap(),
                advertise: None,
                tls: None,
                log: Arc::new(self.log.clone()),
                store: self.store.clone(),
                is_cancelled: &|| false,
            })
        };
        let started = loop {
            match start() {
                Err(error) if Instant::now() >= until => panic!("node-{number} does not start: {error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
                Ok(node) => break node,
            }
        };
        self.nodes[usize::from(number)] = Some(started);
    }

    /// Ends a node.
    fn end(&mut self, number: u16) {
        drop(self.nodes[usize::from(number)].take());
    }

    fn connect(&self) -> Database {
        Database::connect(&self.address).unwrap()
    }

    /// The node of the vertex with an id, if each shard is on one node.
    fn node_of(&self, id: u64) -> u16 {
        self.placement.home(LabelId(0), &ExternalId::from(&name(id)[..])) % self.nodes.len() as u16
    }
}

fn name(id: u64) -> String {
    format!("v{id}")
}

/// An edge: its ends, and its weight if it has one.
type Edge = (u64, u64, Option<f64>);

/// Edges between so many vertices. A few vertices have most of them. Some are loops, and some lead where others do.
fn random_edges(vertices: u64, edges: u64, seed: u64) -> Vec<Edge> {
    let mut random = Random::new(seed);
    let mut end = || {
        let within = if random.below(3) == 0 { vertices / 20 } else { vertices };
        random.below(within)
    };
    let ends: Vec<(u64, u64)> = (0..edges).map(|_| (end(), end())).collect();
    let weight = |at: usize| (!at.is_multiple_of(5)).then(|| 0.25 * (1 + at % 37) as f64);
    ends.into_iter().enumerate().map(|(at, (source, target))| (source, target, weight(at))).collect()
}

/// Loads vertices of three labels and edges of two. Then removes some vertices, so that local ids are missing.
fn load(db: &Database, vertices: u64, edges: &[Edge], removed: impl Fn(u64) -> bool) {
    let home = tempfile::tempdir().unwrap();
    let (mut nodes, mut lists) = ("id:ID,:LABEL,n:int\n".to_owned(), ":START_ID,:END_ID,:TYPE,weight:double\n".to_owned());
    for id in 0..vertices {
        writeln!(nodes, "{},{},{}", name(id), ["red", "green", "blue"][(id % 7).min(2) as usize], id % 100).unwrap();
    }
    for (at, (source, target, weight)) in edges.iter().enumerate() {
        let weight = weight.map(|weight| weight.to_string()).unwrap_or_default();
        writeln!(lists, "{},{},{},{weight}", name(*source), name(*target), ["road", "path"][at % 2]).unwrap();
    }
    let file = |name: &str, text: String| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = vec![file("nodes.csv", nodes), file("edges.csv", lists)];
    db.load(&LoadOptions { files, ..LoadOptions::default() }, &mut Quiet).unwrap();
    let gone: Vec<Value> = (0..vertices).filter(|id| removed(*id)).map(|id| Value::from(name(id))).collect();
    if !gone.is_empty() {
        let parameters = Parameters::from([("gone".to_owned(), Value::list(gone))]);
        db.query("g.V(gone).drop()", &parameters, &QueryOptions::default()).unwrap();
    }
}

fn analyze(db: &Database, asked: &Asked, partitions: Option<u32>) -> Result<Analysis, AnalyzeError> {
    let options = AnalyzeOptions { partitions, ..asked.options.clone() };
    db.analyze(asked.name, &asked.arguments, &options, &mut |_| ())
}

/// A question.
struct Asked {
    name: &'static str,
    arguments: Parameters,
    options: AnalyzeOptions,
}

fn asked<const N: usize>(name: &'static str, arguments: [(&str, Value); N], options: &AnalyzeOptions) -> Asked {
    let arguments = arguments.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Asked { name, arguments, options: options.clone() }
}

/// Each program, over all of the graph and over parts of it.
fn questions(directed: bool) -> Vec<Asked> {
    let all = AnalyzeOptions { directed, ..AnalyzeOptions::default() };
    let weighted = AnalyzeOptions { weight: Some("weight".into()), ..all.clone() };
    let part = AnalyzeOptions {
        vertices: Some(vec!["red".into(), "blue".into()]),
        edges: Some(vec!["road".into()]),
        vertices_where: Some("has('n', lt(90))".into()),
        ..weighted.clone()
    };
    let short = AnalyzeOptions { edges_where: Some("has('weight', lt(6.0))".into()), ..all.clone() };
    let source = || ("source", Value::from(name(0)));
    let preferred = vec![(Value::from(name(0)), Value::from(2.0)), (Value::from(name(2)), Value::from(1.0))];
    let preferred = Value::map(Map::from_distinct(preferred));
    vec![
        asked("wcc", [], &all),
        asked("wcc", [], &AnalyzeOptions { weight: None, ..part.clone() }),
        asked("cdlp", [("iterations", 4.into())], &all),
        asked("cdlp", [("iterations", 3.into())], &short),
        asked("triangles", [], &all),
        asked("triangles", [], &short),
        asked("bfs", [source()], &all),
        asked("bfs", [source()], &short),
        asked("sssp", [source()], &weighted),
        asked("sssp", [source()], &part),
        asked("pagerank", [("iterations", 12.into())], &all),
        asked("pagerank", [("iterations", 12.into())], &weighted),
        asked("pagerank", [("personalization", preferred), ("tolerance", 1e-5.into())], &part),
    ]
}

/// The value of each vertex as text, and as a number if it is one.
fn values(found: &Analysis) -> BTreeMap<String, (String, Option<f64>)> {
    let ids = found.values.column(0).as_any().downcast_ref::<StringArray>().unwrap();
    let column = found.values.column(1);
    let value = |row: usize| {
        if column.is_null(row) {
            return ("none".to_owned(), None);
        }
        if let Some(reals) = column.as_any().downcast_ref::<Float64Array>() {
            return ("real".to_owned(), Some(reals.value(row)));
        }
        match column.as_any().downcast_ref::<Int64Array>() {
            Some(integers) => (integers.value(row).to_string(), None),
            None => (column.as_any().downcast_ref::<StringArray>().unwrap().value(row).to_owned(), None),
        }
    };
    (0..ids.len()).map(|row| (ids.value(row).to_owned(), value(row))).collect()
}

/// Reals may differ in their last digits.
fn assert_same(found: &Analysis, expected: &Analysis, what: &str) {
    let (found, expected) = (values(found), values(expected));
    assert_eq!(found.len(), expected.len(), "{what}");
    for (id, right) in &expected {
        let of = &found[id];
        let is_same = match (of.1, right.1) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1e-3),
            _ => of == right,
        };
        assert!(is_same, "{what}: {id} has {of:?}, not {right:?}");
    }
}

/// Components by their vertices: which one of them names a component depends on where vertices are.
fn groups(found: &Analysis) -> BTreeSet<BTreeSet<String>> {
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (id, (value, _)) in values(found) {
        groups.entry(value).or_default().insert(id);
    }
    groups.into_values().collect()
}

fn number(found: &Analysis, key: &str) -> i64 {
    let value = found.summary.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_i64());
    value.flatten().unwrap_or_else(|| panic!("{key} is missing in {:?}", found.summary))
}

/// What the summary says of the graph, and not of how it was found.
fn said(found: &Analysis) -> Vec<(&'static str, Value)> {
    let is_kept = |name: &str| !["steps", "values_sent", "bytes_sent"].contains(&name);
    found.summary.iter().filter(|(name, _)| is_kept(name)).cloned().collect()
}

fn embedded(home: &Path, vertices: u64, edges: &[Edge], removed: impl Fn(u64) -> bool) -> Database {
    let db = Database::open(home.join("db")).unwrap();
    load(&db, vertices, edges, removed);
    db
}

#[test]
fn nodes_give_what_one_process_gives() {
    let (vertices, edges, home) = (300, random_edges(300, 1_500, 5), tempfile::tempdir().unwrap());
    let removed = |id: u64| id % 11 == 3;
    let alone = embedded(home.path(), vertices, &edges, removed);
    for (count, replicas) in [(1, 1), (2, 1), (3, 2), (8, 1)] {
        let cluster = Cluster::start(count, replicas);
        let db = cluster.connect();
        load(&db, vertices, &edges, removed);
        for directed in [true, false] {
            for asked in questions(directed) {
                let what = format!("{} on {count} nodes, directed: {directed}, {:?}", asked.name, asked.options.edges);
                let found = analyze(&db, &asked, None).unwrap_or_else(|error| panic!("{what}: {error}"));
                // As vertex programs in the client's process: the very same numbers of vertices, and so the same components.
                let here = analyze(&db, &asked, Some(count.into())).unwrap();
                assert_same(&found, &here, &what);
                assert_eq!((said(&found), number(&found, "steps")), (said(&here), number(&here, "steps")), "{what}");
                let expected = analyze(&alone, &asked, None).unwrap();
                assert_eq!(said(&found), said(&expected), "{what}");
                match asked.name {
                    "wcc" => assert_eq!(groups(&found), groups(&expected), "{what}"),
                    _ => assert_same(&found, &expected, &what),
                }
                let crossed = (number(&found, "values_sent") > 0, number(&found, "bytes_sent") > 0);
                assert_eq!(crossed, (count > 1, count > 1), "{what}");
            }
        }
    }
}

/// The sets of the readers of each vertex on other nodes, counted without the engine: LFGraph's equations 2.6 and 2.7.
fn least(cluster: &Cluster, edges: &[Edge], directed: bool) -> i64 {
    let mut read = BTreeSet::new();
    for (source, target, _) in edges {
        let (from, to) = (cluster.node_of(*source), cluster.node_of(*target));
        if from != to {
            read.insert((*source, to));
            if !directed {
                read.insert((*target, from));
            }
        }
    }
    read.len() as i64
}

#[test]
fn each_value_crosses_once_to_each_node_that_reads_it() {
    let (vertices, edges) = (2_000, random_edges(2_000, 12_000, 9));
    for count in [2, 3, 8] {
        let cluster = Cluster::start(count, 1);
        let db = cluster.connect();
        load(&db, vertices, &edges, |_| false);
        for directed in [true, false] {
            let options = AnalyzeOptions { directed, ..AnalyzeOptions::default() };
            let least = least(&cluster, &edges, directed);
            let found = analyze(&db, &asked("pagerank", [("iterations", 0.into())], &options), None).unwrap();
            assert_eq!(number(&found, "values_sent"), least, "{count} nodes, directed: {directed}");
            // Values of eight bytes, and what the messages that carry them say beside them.
            let (bytes, frames) = (number(&found, "bytes_sent"), i64::from(count) * (i64::from(count) - 1));
            assert!(bytes >= 8 * least && bytes <= 8 * least + 32 * frames, "{bytes} bytes for {least} values");
            if count < 8 {
                assert!(bytes * 100 <= 808 * least, "more than 1% beside the values: {bytes} bytes for {least} values");
            }
            // In a search, a value changes once: it crosses at the beginning, and when it changes.
            let found = analyze(&db, &asked("bfs", [("source", name(1).into())], &options), None).unwrap();
            assert!(number(&found, "values_sent") <= 2 * least);
        }
    }
}

#[test]
fn values_are_written_in_one_transaction_of_the_client() {
    let edges = random_edges(100, 400, 3);
    let cluster = Cluster::start(2, 1);
    let db = cluster.connect();
    load(&db, 100, &edges, |_| false);
    let options = AnalyzeOptions { write: Some("depth".into()), ..AnalyzeOptions::default() };
    let found = analyze(&db, &asked("bfs", [("source", name(1).into())], &options), None).unwrap();
    let count = |text: &str| {
        let mut found = db.query(text, &Parameters::new(), &QueryOptions::default()).unwrap();
        mangrove::json::to_string(&found.results().unwrap().get(0))
    };
    assert_eq!(count("g.V().has('depth').count()"), number(&found, "written").to_string());
    assert_eq!(number(&found, "written"), number(&found, "reached"));
}

/// A program that goes on for long.
fn endless() -> Asked {
    asked("pagerank", [("iterations", 1_000_000_000.into())], &AnalyzeOptions::default())
}

fn small() -> (Cluster, Database) {
    let cluster = Cluster::start(3, 1);
    let db = cluster.connect();
    load(&db, 200, &random_edges(200, 1_000, 7), |_| false);
    (cluster, db)
}

/// Runs an analysis, and calls `disturb` once while its steps run.
fn disturbed(db: &Database, asked: &Asked, disturb: &mut dyn FnMut()) -> Result<Analysis, AnalyzeError> {
    let mut is_disturbed = false;
    let found = db.analyze(asked.name, &asked.arguments, &asked.options, &mut |stage| {
        if stage.name == "steps on the nodes" && stage.done > 50 && !is_disturbed {
            is_disturbed = true;
            disturb();
        }
    });
    assert!(is_disturbed, "{} ended too soon", asked.name);
    found
}

/// Three nodes of a graph in which all programs of [`long`] take many steps: one vertex after the other.
fn long_chain(replicas: u16, store: Option<Arc<dyn Objects>>) -> (Cluster, Database) {
    const VERTICES: u64 = 2_000;
    let cluster = Cluster::with_store(3, replicas, store);
    let db = cluster.connect();
    let edges: Vec<Edge> = (1..VERTICES).map(|id| (id - 1, id, Some(1.0 + (id % 3) as f64))).collect();
    load(&db, VERTICES, &edges, |_| false);
    (cluster, db)
}

/// Programs of many steps, which keep their values after each step.
fn long() -> [Asked; 3] {
    let options = AnalyzeOptions { checkpoint_every: Some(Duration::ZERO), ..AnalyzeOptions::default() };
    let weighted = AnalyzeOptions { weight: Some("weight".into()), ..options.clone() };
    [
        asked("pagerank", [("iterations", 1_000.into())], &options),
        asked("wcc", [], &options),
        asked("sssp", [("source", name(0).into())], &weighted),
    ]
}

/// What an analysis says of how it began again.
fn restarts(found: &Analysis) -> (i64, i64) {
    (number(found, "restarts"), number(found, "resumed_at"))
}

/// Objects in memory.
#[derive(Default)]
struct InMemory(Mutex<BTreeMap<String, Vec<u8>>>);

impl InMemory {
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Changes a bit of each object.
    fn damage(&self) {
        self.0.lock().unwrap().values_mut().for_each(|bytes| bytes[0] ^= 1);
    }
}

impl Objects for InMemory {
    fn put(&self, name: &str, from: &mut dyn Read) -> Result<(), GraphError> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(GraphError::storage)?;
        self.0.lock().unwrap().insert(name.to_owned(), bytes);
        Ok(())
    }

    fn get(&self, name: &str) -> Result<Option<Box<dyn Read + Send>>, GraphError> {
        Ok(self.0.lock().unwrap().get(name).map(|bytes| Box::new(Cursor::new(bytes.clone())) as _))
    }

    fn size(&self, name: &str) -> Result<Option<u64>, GraphError> {
        Ok(self.0.lock().unwrap().get(name).map(|bytes| bytes.len() as u64))
    }

    fn list(&self, under: &str) -> Result<Vec<String>, GraphError> {
        let all = self.0.lock().unwrap();
        let below = all.keys().filter_map(|name| name.strip_prefix(under)?.strip_prefix('/'));
        let next: BTreeSet<&str> = below.filter_map(|name| name.split('/').next()).collect();
        Ok(next.into_iter().map(str::to_owned).collect())
    }

    fn remove(&self, name: &str) -> Result<(), GraphError> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }

    fn place(&self) -> String {
        "memory".into()
    }
}

/// Nodes delete checkpoints after they have said so.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn works(db: &Database) {
    let found = analyze(db, &asked("wcc", [], &AnalyzeOptions::default()), None).unwrap();
    assert!(number(&found, "components") > 0 && number(&found, "steps") > 0);
}

#[test]
fn who_cancels_or_is_late_waits_no_longer() {
    let (_cluster, db) = small();
    let asked = endless();
    let cancel = asked.options.cancel.clone();
    let stopped = db.analyze(asked.name, &asked.arguments, &asked.options, &mut |stage| {
        if stage.name.starts_with("steps") && stage.done > 3 {
            cancel.cancel();
        }
    });
    assert!(stopped.as_ref().is_err_and(AnalyzeError::is_cancelled), "{:?}", stopped.map(|found| found.summary));
    works(&db);
    let options = AnalyzeOptions { timeout: Some(Duration::from_millis(500)), ..AnalyzeOptions::default() };
    let late = db.analyze(asked.name, &asked.arguments, &options, &mut |_| ());
    assert!(late.as_ref().is_err_and(AnalyzeError::is_late), "{:?}", late.map(|found| found.summary));
    works(&db);
}

#[test]
fn an_analysis_ends_if_a_node_does_not_come_back() {
    let (mut cluster, db) = small();
    match disturbed(&db, &endless(), &mut || cluster.end(2)) {
        Err(AnalyzeError::Analytics(AnalyticsError::Graph(GraphError::Unavailable(what)))) => {
            assert!(what.contains("may be run again"), "{what}");
        }
        other => panic!("{:?}", other.map(|found| found.summary)),
    }
}

#[test]
fn errors_are_those_of_one_process() {
    let (_cluster, db) = small();
    let error = |asked: &Asked| analyze(&db, asked, None).map(|found| found.summary).unwrap_err();
    let little = AnalyzeOptions { memory_bytes: Some(10_000), ..AnalyzeOptions::default() };
    assert!(error(&asked("pagerank", [], &little)).is_of_memory());
    let options = AnalyzeOptions { vertices: Some(vec!["blue".into()]), ..AnalyzeOptions::default() };
    let missing = error(&asked("bfs", [("source", name(0).into())], &options)).to_string();
    assert!(missing.contains("the source is not among the chosen vertices"), "{missing}");
    db.query("g.E().limit(1).property('weight', -1.0)", &Parameters::new(), &QueryOptions::default()).unwrap();
    let weighted = AnalyzeOptions { weight: Some("weight".into()), ..AnalyzeOptions::default() };
    let negative = error(&asked("sssp", [("source", name(1).into())], &weighted)).to_string();
    assert!(negative.contains("shortest paths need 0 or more"), "{negative}");
    assert!(error(&asked("pagerank", [], &weighted)).to_string().contains("not negative"));
    works(&db);
}

#[test]
fn analyses_run_side_by_side() {
    let (cluster, db) = small();
    let ask = |name: &'static str| asked(name, [], &AnalyzeOptions::default());
    let expected = ["wcc", "triangles", "pagerank", "cdlp"].map(|name| (name, analyze(&db, &ask(name), Some(2)).unwrap()));
    std::thread::scope(|scope| {
        for (name, expected) in &expected {
            let db = cluster.connect();
            scope.spawn(move || (0..5).for_each(|_| assert_same(&analyze(&db, &ask(name), None).unwrap(), expected, name)));
        }
    });
}

/// Others write meanwhile. An analysis reads one point of the log on all nodes.
#[test]
fn an_analysis_sees_one_point_of_the_log() {
    let (cluster, db) = small();
    let writer = cluster.connect();
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            for number in 0..40 {
                let text = format!("g.addV('red').property(T.id, 'w{number}').as('a').V('v1').addE('road').to('a')");
                writer.query(&text, &Parameters::new(), &QueryOptions::default()).unwrap();
            }
        });
        while !writing.is_finished() {
            let found = analyze(&db, &asked("bfs", [("source", name(1).into())], &AnalyzeOptions::default()), None).unwrap();
            let all = values(&found);
            assert!(all.iter().all(|(id, (depth, _))| !id.starts_with('w') || depth == "1"), "a vertex without its edge");
        }
    });
}

#[test]
fn an_analysis_goes_on_without_a_node() {
    for asked in long() {
        let (mut cluster, db) = long_chain(2, None);
        let expected = analyze(&db, &asked, None).unwrap();
        let found = disturbed(&db, &asked, &mut || cluster.end(1)).unwrap_or_else(|error| panic!("{}: {error}", asked.name));
        assert_same(&found, &expected, asked.name);
        assert_eq!(number(&found, "steps"), number(&expected, "steps"));
        let (restarts, resumed_at) = restarts(&found);
        assert!(restarts > 0 && resumed_at == 0, "without a store there are no checkpoints: {restarts}, {resumed_at}");
        assert!(found.warnings[0].contains("began again from the first step"), "{:?}", found.warnings);
    }
}

#[test]
fn an_analysis_waits_for_a_node_that_starts_again() {
    for asked in long() {
        let (mut cluster, db) = long_chain(1, None);
        let expected = analyze(&db, &asked, None).unwrap();
        let found = disturbed(&db, &asked, &mut || {
            cluster.end(2);
            cluster.begin(2);
        });
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", asked.name));
        assert_same(&found, &expected, asked.name);
        assert!(!found.warnings.is_empty(), "it has noticed");
    }
}

#[test]
fn an_analysis_goes_on_after_its_last_checkpoint() {
    for asked in long() {
        let store = Arc::new(InMemory::default());
        let (mut cluster, db) = long_chain(2, Some(store.clone()));
        let expected = analyze(&db, &asked, None).unwrap();
        wait_until("an analysis leaves checkpoints", || store.count() == 0);
        let mut seen = 0;
        let found = disturbed(&db, &asked, &mut || {
            seen = store.count();
            cluster.end(1);
        });
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", asked.name));
        assert!(seen > 0, "no values were kept");
        assert_same(&found, &expected, asked.name);
        let (steps, (restarts, resumed_at)) = (number(&found, "steps"), restarts(&found));
        assert_eq!(steps, number(&expected, "steps"));
        assert!(restarts > 0 && resumed_at > 0 && resumed_at < steps, "{restarts}, {resumed_at}");
        assert!(found.warnings[0].contains("from a checkpoint"), "{:?}", found.warnings);
        wait_until("an analysis that began again leaves checkpoints", || store.count() == 0);
    }
}

#[test]
fn a_damaged_checkpoint_is_not_used() {
    for asked in long() {
        let store = Arc::new(InMemory::default());
        let (mut cluster, db) = long_chain(2, Some(store.clone()));
        let expected = analyze(&db, &asked, None).unwrap();
        let found = disturbed(&db, &asked, &mut || {
            cluster.end(1);
            store.damage();
        });
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", asked.name));
        assert_same(&found, &expected, asked.name);
        let (restarts, resumed_at) = restarts(&found);
        assert!(restarts > 1 && resumed_at == 0, "{restarts}, {resumed_at}");
        let refused = |warning: &String| {
            warning.contains("the last checkpoint cannot be used") && warning.contains("began again from the first step")
        };
        assert!(found.warnings.iter().any(refused), "{:?}", found.warnings);
    }
}

#[test]
fn an_analysis_begins_at_a_newer_commit_if_the_old_one_is_gone() {
    let store = Arc::new(InMemory::default());
    let (mut cluster, db) = long_chain(1, Some(store.clone()));
    let (asked, writer) = (&long()[2], cluster.connect());
    let found = disturbed(&db, asked, &mut || {
        for number in 0..100 {
            let text = format!("g.addV('red').property(T.id, 'w{number}').as('a').V('v0').addE('road').to('a')");
            writer.query(&text, &Parameters::new(), &QueryOptions::default()).unwrap();
        }
        cluster.end(2);
        cluster.begin(2);
        // All its shards have changed, and nobody keeps them there as they were: after a second, they are gone.
        std::thread::sleep(Duration::from_secs(3));
    });
    let found = found.unwrap();
    assert_eq!(values(&found)["w99"].1, Some(1.0), "an edge without a weight weighs 1");
    assert_same(&found, &analyze(&db, asked, None).unwrap(), "after a write");
    let is_said = |warning: &String| warning.contains("the analysis began again from the first step, at commit");
    assert!(found.warnings.iter().any(is_said), "{:?}", found.warnings);
    wait_until("checkpoints at the old commit are left", || store.count() == 0);
}

#[test]
fn checkpoints_in_a_directory_go_and_backups_stay() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("store");
    let store = objects(place.to_str().unwrap()).unwrap();
    let backup = "test/00000000000000000008-5f71854127f1aa87/log";
    store.put(backup, &mut &b"of another time"[..]).unwrap();
    let cluster = Cluster::with_store(3, 2, Some(store.clone()));
    let db = cluster.connect();
    load(&db, 200, &random_edges(200, 1_000, 7), |_| false);
    let options = AnalyzeOptions { checkpoint_every: Some(Duration::ZERO), ..AnalyzeOptions::default() };
    let asked = asked("pagerank", [("iterations", 6.into())], &options);
    let found = analyze(&db, &asked, None).unwrap();
    assert_same(&found, &analyze(&db, &asked, Some(3)).unwrap(), "pagerank");
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    assert!(place.join("test/analyses").exists(), "no values were kept");
    wait_until("checkpoints are left", || store.list("test/analyses").unwrap().is_empty());
    assert_eq!(store.size(backup).unwrap(), Some(15));
}

#[test]
fn checkpoints_that_cannot_be_written_are_left_out() {
    let home = tempfile::tempdir().unwrap();
    let cluster = Cluster::with_store(2, 1, Some(objects(home.path().to_str().unwrap()).unwrap()));
    let db = cluster.connect();
    std::fs::write(home.path().join("test"), "a file where a directory should be").unwrap();
    load(&db, 200, &random_edges(200, 1_000, 7), |_| false);
    let options = AnalyzeOptions { checkpoint_every: Some(Duration::ZERO), ..AnalyzeOptions::default() };
    let asked = asked("pagerank", [("iterations", 6.into())], &options);
    let found = analyze(&db, &asked, None).unwrap();
    assert_same(&found, &analyze(&db, &asked, Some(2)).unwrap(), "pagerank");
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].contains("a checkpoint of the analysis was not made"), "{:?}", found.warnings);
}
