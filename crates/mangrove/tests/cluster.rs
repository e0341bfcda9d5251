//! A graph on a node of this process, which follows a log in memory, through the public API.

use std::sync::Arc;

use arrow_schema::DataType;
use mangrove::cluster::{Log, NodeConfig, RunningNode, make_graph};
use mangrove::{Database, IdSpace, Parameters, QueryOptions};
use mangrove_cluster::log::MemoryLog;
use tempfile::TempDir;

const NAME: &str = "test";

/// A node with all shards of a graph.
struct Graph {
    node: RunningNode,
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
        Self { node: RunningNode::start(config).expect("a node"), _data: data }
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
