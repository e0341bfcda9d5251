//! Nodes of several versions: a graph allows what all of them read, until somebody says that all were upgraded.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mangrove::cluster::{
    self, GraphAddress, GraphRecord, Log, Member, NodeConfig, Placement, RunningNode, copy_shard, drop_shard, make_graph,
};
use mangrove::graph::Result;
use mangrove::ingest::{IngestOptions, Offsets, OnLost, Quiet, Topic, TopicRecord};
use mangrove::{Database, FollowOptions, FollowedRows, IdSpace};
use mangrove_cluster::log::{MemoryLog, Record, VERSION_FIRST, VERSION_NEWEST, VERSION_UNSAID};
use tempfile::TempDir;

/// A node of a graph with two shards.
struct Started {
    node: RunningNode,
    _data: TempDir,
}

fn start(log: &Arc<dyn Log>, name: &str, shards: &[u16]) -> Started {
    let data = tempfile::tempdir().unwrap();
    let config = NodeConfig {
        name: name.into(),
        data: data.path().to_owned(),
        shards: shards.to_vec(),
        listen: "127.0.0.1:0".parse().unwrap(),
        advertise: None,
        tls: None,
        log: log.clone(),
        store: None,
        is_cancelled: &|| false,
    };
    Started { node: RunningNode::start(config).unwrap(), _data: data }
}

/// The log of a graph that says this of its records.
fn log_that_allows(version: Option<u8>) -> Arc<dyn Log> {
    let (log, placement) = (MemoryLog::default(), Placement { shards: 2, seed: 7, id_space: IdSpace::Graph });
    let graph = GraphRecord { id: 99, name: "test".into(), placement };
    let said = version.map(|version| Record::Allow { version });
    for record in [Record::Graph(graph)].into_iter().chain(said) {
        log.append(record.to_bytes().unwrap()).unwrap();
    }
    Arc::new(log)
}

fn address(of: &Started) -> GraphAddress {
    format!("mangrove://{}/test", of.node.address()).parse().unwrap()
}

/// The version that the graph allows, as its first node says.
fn allowed(of: &Started) -> u8 {
    let (_, nodes) = cluster::nodes(&address(of)).unwrap();
    let about = nodes[0].about.as_ref().expect("a node of this version");
    assert_eq!((about.software.as_str(), about.reads), (env!("CARGO_PKG_VERSION"), VERSION_NEWEST));
    about.allowed
}

/// A topic with one record.
struct One(u64);

impl Topic for One {
    fn name(&self) -> &str {
        "events"
    }

    fn cluster(&self) -> &str {
        "here"
    }

    fn start(&mut self, from: &Offsets, _: OnLost) -> Result<Offsets> {
        self.0 = from.get(&0).copied().unwrap_or(0);
        Ok(Offsets::from([(0, self.0)]))
    }

    fn read(&mut self, _: Duration, out: &mut Vec<TopicRecord>) -> Result<bool> {
        let value = Some(br#"{"id": 1}"#.to_vec());
        out.extend((self.0 == 0).then_some(TopicRecord { partition: 0, offset: 0, value }));
        self.0 = 1;
        Ok(true)
    }
}

/// What needs records of version 3: offsets of a source. Gives how many were taken, or why none.
fn follow(address: &GraphAddress) -> std::result::Result<u64, String> {
    let options = FollowOptions {
        source: "events".into(),
        rows: FollowedRows::Vertices { label: "p".into(), key: None },
        batch_rows: 10,
        batch_wait: Duration::from_secs(1),
        until_end: true,
        skip: BTreeSet::new(),
        on_lost: OnLost::Fail,
        ingest: IngestOptions::default(),
    };
    let database = Database::connect(&address.to_string()).unwrap();
    let report = database.follow(&mut One(0), &options, &mut Quiet).map_err(|error| error.to_string())?;
    Ok(report.records)
}

#[test]
fn a_new_graph_allows_all_that_its_nodes_read() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::default());
    make_graph(&log, "test", 2, IdSpace::Graph).unwrap();
    let node = start(&log, "node-0", &[0, 1]);
    assert_eq!(allowed(&node), VERSION_NEWEST);
    assert_eq!(follow(&address(&node)), Ok(1));
    assert_eq!(cluster::finalize(&address(&node)).unwrap(), VERSION_NEWEST, "there is nothing to do");
}

#[test]
fn a_graph_of_an_older_log_allows_what_it_always_did() {
    let log = log_that_allows(None);
    let node = start(&log, "node-0", &[0, 1]);
    assert_eq!(allowed(&node), VERSION_UNSAID);
    assert_eq!(follow(&address(&node)), Ok(1));
    assert_eq!(cluster::finalize(&address(&node)).unwrap(), VERSION_NEWEST);
    assert_eq!(allowed(&node), VERSION_NEWEST);
    drop(node);
    assert_eq!(allowed(&start(&log, "node-0", &[0, 1])), VERSION_NEWEST, "the log says so");
}

#[test]
fn what_older_nodes_cannot_read_waits_until_all_were_upgraded() {
    let log = log_that_allows(Some(VERSION_FIRST));
    let (one, other) = (start(&log, "node-0", &[0]), start(&log, "node-1", &[1]));
    let address = address(&one);
    assert_eq!((allowed(&one), allowed(&other)), (VERSION_FIRST, VERSION_FIRST));
    let refused = follow(&address).unwrap_err();
    assert!(refused.contains("needs records of version 3") && refused.contains("`mangrove cluster finalize`"), "{refused}");
    let mut show = |_, _| {};
    let mut watching = cluster::Watching { show: &mut show, is_cancelled: &|| false };
    copy_shard(&address, 0, "node-1", &mut watching).unwrap();
    let refused = drop_shard(&address, 0, "node-0").unwrap_err().to_string();
    assert!(refused.contains("needs records of version 2"), "{refused}");
    assert_eq!(cluster::finalize(&address).unwrap(), VERSION_NEWEST);
    assert_eq!(follow(&address), Ok(1));
    drop_shard(&address, 0, "node-0").unwrap();
}

#[test]
fn a_node_that_does_not_answer_may_be_an_older_one() {
    let log = log_that_allows(Some(VERSION_FIRST));
    let member = Member { name: "node-7".into(), process: 7, address: "127.0.0.1:1".into(), shards: vec![1] };
    log.append(Record::Member(member).to_bytes().unwrap()).unwrap();
    let node = start(&log, "node-0", &[0, 1]);
    let refused = cluster::finalize(&address(&node)).unwrap_err().to_string();
    assert!(refused.contains("node-7 does not say which Mangrove it is"), "{refused}");
    assert_eq!(allowed(&node), VERSION_FIRST);
    cluster::remove(&address(&node), "node-7").unwrap();
    assert_eq!(cluster::finalize(&address(&node)).unwrap(), VERSION_NEWEST);
}
