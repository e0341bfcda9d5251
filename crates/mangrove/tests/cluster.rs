//! A graph on a node of this process, which follows a log in memory, through the public API.

use std::sync::Arc;

use arrow_schema::DataType;
use mangrove::cluster::{CallKind, CallsSeen, Log, NodeConfig, NodeWatch, RunningNode, make_graph};
use mangrove::{Database, IdSpace, Parameters, QueryOptions};
use mangrove_cluster::log::MemoryLog;
use tempfile::TempDir;

const NAME: &str = "test";

/// A node with all shards of a graph.
struct Graph {
    node: RunningNode,
    watch: NodeWatch,
    _data: TempDir,
}

impl Graph {
    fn new(shards: u16) -> Self {
        let log: Arc<dyn Log> = Arc::new(MemoryLog::default());
        make_graph(&log, NAME, shards, IdSpace::Graph).expect("a graph");
        let data = tempfile::tempdir().expect("a directory");
        let config = NodeConfig {
            name: "node-0".into(),
            data: data.path().to_owned(),
            shards: (0..shards).collect(),
            listen: "127.0.0.1:0".parse().expect("an address"),
            advertise: None,
            tls: None,
            log,
            store: None,
            is_cancelled: &|| false,
        };
        let mut watch = None;
        let node = RunningNode::start_watched(config, |node| watch = Some(node)).expect("a node");
        Self { node, watch: watch.expect("something to watch"), _data: data }
    }

    fn connect(&self) -> Database {
        Database::connect(&format!("mangrove://{}/{NAME}", self.node.address())).expect("a graph")
    }
}

/// The names and types of the columns of a result.
fn columns(database: &Database, query: &str) -> Vec<(String, DataType)> {
    let mut stream = database.query(query, &Parameters::default(), &QueryOptions::default()).expect("a query");
    let batch = stream.to_arrow().expect("columns");
    batch.schema().fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
}

fn names(columns: &[(String, DataType)]) -> Vec<&str> {
    columns.iter().map(|(name, _)| name.as_str()).collect()
}

/// A query that adds labels and properties has the columns of the graph that it leaves, when it runs first and when it runs again. An embedded
/// database gives the same.
#[test]
fn a_write_has_the_same_columns_whenever_it_runs() {
    const ONE_OF_TWO: &str = "g.addV('thing').property('size', 1).addV('thing').property('colour', 'red')";
    let graph = Graph::new(2);
    let (directory, clients) = (tempfile::tempdir().expect("a directory"), [graph.connect(), graph.connect()]);
    let embedded = Database::open(directory.path().join("embedded")).expect("a database");
    for (query, wanted) in [
        (ONE_OF_TWO, &["size", "colour"][..]), // the vertex that it gives has no size
        ("g.addV('thing').property('weight', 2.5)", &["size", "colour", "weight"]),
        ("g.addV('other').property('far', true).addV('thing')", &["size", "colour", "weight"]),
    ] {
        let expected = columns(&embedded, query);
        assert!(wanted.iter().all(|name| names(&expected).contains(name)), "{query}: {expected:?}");
        let first = columns(&clients[0], query);
        assert_eq!(names(&first), names(&expected), "{query}");
        for client in [0, 1, 0, 1] {
            assert_eq!(columns(&clients[client], query), first, "{query}");
        }
    }
}

/// The calls of a kind among those that a node has answered.
fn answered(watch: &NodeWatch, kind: CallKind) -> CallsSeen {
    let seen = watch.seen().expect("a node that runs");
    seen.answered.into_iter().find(|calls| calls.kind == kind).expect("each kind")
}

#[test]
fn a_node_counts_its_work_as_long_as_it_runs() {
    let (graph, none) = (Graph::new(2), Parameters::default());
    let watch = graph.watch.clone();
    let before = watch.seen().expect("a node that runs");
    assert!(before.answers && watch.answers());
    assert_eq!((before.graph.as_str(), before.name.as_str(), before.status.shards.len()), (NAME, "node-0", 2));
    let client = graph.connect();
    let counted = |query: &str| {
        let found = client.query(query, &none, &QueryOptions::default()).expect("a query");
        found.inspect(|value| assert!(value.is_ok())).count()
    };
    for _ in 0..3 {
        assert_eq!(counted("g.addV('thing')"), 1);
    }
    assert_eq!(counted("g.V().hasLabel('thing')"), 3);
    let after = watch.seen().expect("a node that runs");
    assert!(after.status.is_writer && after.status.number > before.status.number);
    assert!(after.writes.made >= 3 && after.writes.commits >= 1, "{:?}", after.writes);
    assert!(after.log.records_written >= 1 && after.log.bytes_written > before.log.bytes_written, "{:?}", after.log);
    assert!(after.log.records_read > before.log.records_read && after.log.records_held > 0, "{:?}", after.log);
    let held = answered(&watch, CallKind::Hold);
    assert!(held.calls >= 1 && held.call_bytes > 0 && held.replies == held.calls && held.reply_bytes > 0, "{held:?}");
    assert_eq!((held.failed, held.running), (0, 0));
    drop(graph);
    assert!(!watch.answers());
}
