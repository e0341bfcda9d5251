//! The entry points of the fuzz targets. Tests of the test kit run the same ones on stable Rust.
//!
//! For any bytes, a reader returns a result or an error. It must not panic, and its recursion, time and memory must stay bounded.

#![allow(dead_code, reason = "each target calls one of these")]

use std::path::Path;
use std::time::Duration;

use mangrove_cluster::log::{Follower, Position, Record, Standing};
use mangrove_cluster::section::version_of;
use mangrove_cluster::wire::{Call, Reply, from_bytes, to_bytes};
use mangrove_ingest::{Format, LoadOptions, OnError};
use mangrove_query::execute::batch_again;
use mangrove_query::paths::{PathOptions, PathQuery};
use mangrove_query::plan::Plan;
use mangrove_query::{Execution, Graph, Parameters, Query, QueryOptions, gremlin};
use mangrove_testkit::{Oracle, compare};

/// Parses text to a tree, prints it canonically, and parses that to the same tree.
pub fn gremlin_parse(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let statements = gremlin::statements(text).unwrap_or_default();
    assert!(statements.iter().all(|statement| gremlin::parse(statement).is_ok()));
    let Ok(tree) = gremlin::parse(text) else { return };
    assert_prints_back(&gremlin::print(&tree));
}

pub fn gremlin_bytecode(data: &[u8]) {
    let Ok(json) = std::str::from_utf8(data) else { return };
    let Ok(tree) = gremlin::read_bytecode(json) else { return };
    let _ = gremlin::print(&tree);
}

pub fn gremlin_graphbinary(data: &[u8]) {
    let Ok(tree) = gremlin::read_graphbinary(data) else { return };
    let _ = gremlin::print(&tree);
}

/// Requests of drivers to a server, in both forms.
pub fn requests(data: &[u8]) {
    let _ = gremlin::read_binary_request(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = gremlin::read_json_request(text);
    }
}

fn assert_prints_back(printed: &str) {
    match gremlin::parse(printed) {
        Ok(again) => assert_eq!(gremlin::print(&again), printed),
        Err(error) => panic!("what was printed cannot be read: {printed}\n{error:?}"),
    }
}

/// Plans a query and runs it on a small graph, for at most a twentieth of a second.
pub fn gremlin_run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(query) = Query::parse(text) else { return };
    run(|graph, options| query.execute(graph, &Parameters::new(), options));
}

/// Reads a plan, writes it again, and runs it.
pub fn plan_bytes(data: &[u8]) {
    let Ok(plan) = Plan::from_bytes(data) else { return };
    let again = plan.to_bytes().and_then(|bytes| Plan::from_bytes(&bytes)).expect("its own bytes");
    assert_eq!(format!("{plan:?}"), format!("{again:?}"));
    run(|graph, options| Query::execute_plan(plan, graph, options));
}

/// Reads a record of the log of a graph in shards, as it is and with a beginning and a sum that are right, and writes it again.
pub fn log_records(data: &[u8]) {
    let mut whole = [b"MGLG\x01", data].concat();
    whole.extend_from_slice(&xxhash_rust::xxh3::xxh3_64(&whole).to_le_bytes());
    for bytes in [data, &whole] {
        let Ok(record) = Record::from_bytes(bytes) else { continue };
        let again = record.to_bytes().and_then(|bytes| Record::from_bytes(&bytes)).expect("its own bytes");
        assert_eq!(record, again);
        let (mut standing, mut follower) = (Standing::default(), Follower::new(0, Position::default()));
        standing.take(&record);
        let _ = follower.read(0, 0, &record);
    }
    let _ = Position::from_bytes(data);
}

/// Reads what nodes say to each other, and writes it again: the same bytes from then on. Reads a section of the log.
pub fn node_messages(data: &[u8]) {
    if let Ok(call) = from_bytes::<Call>(data) {
        let bytes = to_bytes(&call).expect("a call that was read");
        let again: Call = from_bytes(&bytes).expect("its own bytes");
        assert_eq!(to_bytes(&again).expect("the same call"), bytes);
    }
    if let Ok(reply) = from_bytes::<Reply>(data) {
        let bytes = to_bytes(&reply).expect("a reply that was read");
        let again: Reply = from_bytes(&bytes).expect("its own bytes");
        assert_eq!(to_bytes(&again).expect("the same reply"), bytes);
    }
    let _ = version_of(data);
}

/// Reads a batch of traversers, and writes it again: the same bytes from then on.
pub fn batch_bytes(data: &[u8]) {
    let Some(again) = batch_again(data) else { return };
    assert_eq!(batch_again(&again), Some(again.clone()));
}

/// Runs a regular path query on a small graph, for at most a twentieth of a second.
pub fn paths(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(query) = PathQuery::parse(text) else { return };
    let options =
        QueryOptions { timeout: Some(Duration::from_millis(50)), memory_bytes_max: 16 << 20, ..QueryOptions::default() };
    let parameters = Parameters::from([("id".to_owned(), 1.into())]);
    for reads_all in [false, true] {
        let options = PathOptions { limits: options.read_context(), reads_all, ..PathOptions::default() };
        let _ = query.run(&Oracle::modern(), &parameters, &options);
    }
}

fn run(execute: impl FnOnce(&mut Graph<'_>, &QueryOptions) -> mangrove_query::Result<Execution>) {
    let mut graph = Oracle::modern();
    let options =
        QueryOptions { timeout: Some(Duration::from_millis(50)), memory_bytes_max: 16 << 20, ..QueryOptions::default() };
    let graph = &mut Graph::Write(&mut graph);
    if let Ok(mut execution) = execute(graph, &options) {
        while let Ok(Some(_)) = execution.next(graph) {}
    }
}

pub fn csv(data: &[u8]) {
    load(data, Format::Csv, "people.csv");
}

pub fn graphson(data: &[u8]) {
    load(data, Format::GraphSon, "graph.json");
}

pub fn graphml(data: &[u8]) {
    load(data, Format::GraphMl, "graph.graphml");
}

/// Loads the bytes as a file into an empty graph: once with the defaults, once skipping bad rows.
fn load(data: &[u8], format: Format, name: &str) {
    let home = tempfile::tempdir_in(memory()).expect("a temporary directory");
    let file = home.path().join(name);
    std::fs::write(&file, data).expect("the file is written");
    for on_error in [OnError::Fail, OnError::Skip { rejects: home.path().join("rejects") }] {
        let mut graph = Oracle::default();
        let options = LoadOptions { format, files: vec![file.clone()], on_error, ..LoadOptions::default() };
        if mangrove_ingest::load(&mut graph, &options, &mut mangrove_ingest::Quiet).is_ok() {
            compare::assert_consistent(&graph);
        }
    }
}

/// A directory whose files take no disk.
fn memory() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory } else { Path::new("/tmp") }
}
