//! A graph on several nodes of this process: threads that follow a log in memory, and clients that read and write at the same time.

mod moves;
#[path = "../support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mangrove_cluster::backup::{Backup, ObjectCopy, Objects, restore_log, restore_shard};
use mangrove_cluster::gateway::{Gateway, Limits, Peer};
use mangrove_cluster::log::{
    Commit, CutPace, Log, MemoryLog, PartAt, Record, RequestId, Section, Standing, VERSION_NEWEST, VERSION_UNSAID,
};
use mangrove_cluster::node::{LocalPeer, Node, OwnTransactions, Session};
use mangrove_cluster::transaction::{ClusterTransaction, TurnPatience};
use mangrove_cluster::wire::{Call, Reply};
use mangrove_graph::{
    Adjacency, CancelToken, Catalog, Direction, ElementKind, ExternalId, GraphError, GraphView, GraphWrite, Hop, IdSpace,
    NewEdge, ReadContext, Result, Scan, ScanCursor, VertexId, Wants,
};
use mangrove_testkit::oracle::Oracle;
use mangrove_testkit::random;
use mangrove_testkit::suite::{StoreUnderTest, Transaction, suite};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use support::nodes::Nodes;

const PATIENCE: TurnPatience<'static> = TurnPatience { timeout: Some(Duration::from_secs(60)), cancelled: &|| false };

#[test]
fn nodes_pass_the_suite() {
    suite(|id_space| Box::new(Nodes::new(2, 3, id_space)));
}

#[test]
fn random_work_gives_what_one_store_gives() {
    random_work(6, || Nodes::new(3, 4, IdSpace::Graph));
}

#[test]
fn random_work_gives_what_one_store_gives_over_connections() {
    random_work(2, || Nodes::served(2, 3, IdSpace::Graph));
}

#[test]
fn random_work_gives_what_one_store_gives_over_replicas() {
    random_work(2, || Nodes::replicated(3, 4, 2, IdSpace::Graph));
}

/// Each number of the log is read while it is the last one, and again when others came after it. Nodes with the same shard take turns.
#[test]
fn every_number_gives_what_one_store_gave_then() {
    let outcome = TestRunner::new(config(3)).run(&random::work(40), |ops| {
        let nodes = Numbered { nodes: Nodes::replicated(3, 4, 2, IdSpace::Graph), read: RefCell::default() };
        random::run_looking_back(&nodes, IdSpace::Graph, &ops);
        let read = nodes.read.borrow();
        let missed: Vec<u64> = (1..=nodes.nodes.gateway.newest()).filter(|number| !read.contains(number)).collect();
        assert!(missed.is_empty(), "{missed:?} were not read");
        assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// Nodes, and the numbers of the log at which they were read.
struct Numbered {
    nodes: Nodes,
    read: RefCell<BTreeSet<u64>>,
}

impl StoreUnderTest for Numbered {
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
        let gateway = &self.nodes.gateway;
        let cut = gateway.cut(None)?;
        self.read.borrow_mut().insert(cut.number);
        Ok(Box::new(cut.graph(gateway.placement(), &Limits::default())))
    }

    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        self.nodes.begin()
    }

    fn reopen(&mut self) -> Result<()> {
        self.nodes.reopen()
    }

    fn check(&self) -> Result<Vec<String>> {
        self.nodes.check()
    }

    fn oracle(&self, id_space: IdSpace) -> Oracle {
        self.nodes.oracle(id_space)
    }
}

fn random_work(cases: u64, make: impl Fn() -> Nodes) {
    let outcome = TestRunner::new(config(cases)).run(&random::work(50), |ops| {
        random::run(&mut make(), IdSpace::Graph, &ops);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

fn config(cases: u64) -> Config {
    Config {
        cases: support::number_from_env("MANGROVE_CASES").unwrap_or(cases) as u32,
        rng_seed: RngSeed::Fixed(support::number_from_env("MANGROVE_SEED").unwrap_or(7)),
        failure_persistence: None,
        max_shrink_iters: 100,
        ..Config::default()
    }
}

/// Adds a vertex of its own and an edge to the first vertex.
fn add_one(gateway: &Arc<Gateway>, number: i64) -> Result<u64> {
    let mut transaction = ClusterTransaction::begin(gateway, &PATIENCE, &Limits::default())?;
    add_to(transaction.graph(), number)?;
    Ok(transaction.commit()?.expect("there was something to commit"))
}

fn add_to(graph: &mut dyn GraphWrite, number: i64) -> Result<()> {
    let (person, knows) =
        (graph.ensure_label(ElementKind::Vertex, "person")?, graph.ensure_label(ElementKind::Edge, "knows")?);
    let mut hub = Vec::new();
    graph.find_vertices(None, &[ExternalId::Int(0)], &mut hub)?;
    let hub = match hub[0] {
        Some(hub) => hub,
        None => {
            let mut made = Vec::new();
            graph.add_vertices(person, &[Some(ExternalId::Int(0))], &mut made)?;
            made[0]
        }
    };
    let mut made = Vec::new();
    graph.add_vertices(person, &[Some(ExternalId::Int(number))], &mut made)?;
    let edges = [(made[0], hub), (hub, made[0])].map(|(source, target)| NewEdge { source, target, id: None, time: None });
    graph.add_edges(knows, &edges, &mut Vec::new())
}

/// The numbers of the vertices that are there. Each must have both edges with both halves.
fn numbers(gateway: &Gateway) -> Result<BTreeSet<i64>> {
    let graph = gateway.cut(None)?.graph(gateway.placement(), &Limits::default());
    let Some(person) = graph.schema().label(ElementKind::Vertex, "person") else { return Ok(BTreeSet::new()) };
    let (mut all, mut cursor) = (Vec::new(), ScanCursor::default());
    while !cursor.done {
        graph.scan_vertices(&Scan::of(person), &mut cursor, 1000, &mut all)?;
    }
    let ids = graph.external_ids(mangrove_graph::Elements::Vertices(&all))?;
    let numbers: BTreeSet<i64> = (0..all.len()).filter_map(|row| ids.cell(row).values().next()?.as_i64()).collect();
    for direction in [Direction::Out, Direction::In] {
        let mut degrees = Vec::new();
        graph.degrees(&all, &Hop::along(direction, None, Wants::default()), &mut degrees)?;
        let of_others = degrees.iter().filter(|degree| **degree == 1).count();
        let hub = degrees.iter().copied().max().unwrap_or(0);
        assert!(all.is_empty() || hub as usize == all.len() - 1, "{hub} edges of {} vertices", all.len());
        assert!(all.len() < 3 || of_others == all.len() - 1, "{of_others} vertices with one edge of {}", all.len());
    }
    let mut neighbors = Adjacency::default();
    graph.neighbors(
        &all,
        &Hop::along(Direction::Both, None, Wants { neighbors: true, ..Wants::default() }),
        &mut neighbors,
    )?;
    assert_eq!(neighbors.neighbors.len(), all.len().saturating_sub(1) * 4);
    Ok(numbers)
}

/// Clients write at the same time and see all that was acknowledged. Readers see whole transactions only. What was acknowledged is there
/// after all nodes have started again.
#[test]
fn clients_write_and_read_side_by_side() {
    side_by_side(Nodes::new(2, 4, IdSpace::Graph));
}

#[test]
fn clients_write_and_read_side_by_side_over_connections() {
    side_by_side(Nodes::served(2, 4, IdSpace::Graph));
}

/// Says that the end has come when it is dropped.
pub(crate) struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn side_by_side(mut nodes: Nodes) {
    add_one(&nodes.gateway, -1).expect("the first");
    let stopped = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        // If something fails, all stop.
        let _ending = Ending(&stopped);
        let reading: Vec<_> = (0..2)
            .map(|_| {
                let (gateway, stopped) = (nodes.client(), &stopped);
                scope.spawn(move || {
                    let (mut last, mut reads) = (BTreeSet::new(), 0);
                    while !stopped.load(Ordering::Relaxed) {
                        match numbers(&gateway) {
                            Ok(now) => {
                                assert!(now.is_superset(&last), "something was there and is not");
                                (last, reads) = (now, reads + 1);
                            }
                            Err(GraphError::Unavailable(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                    reads
                })
            })
            .collect();
        let writing: Vec<_> = (0..4)
            .map(|writer: i64| {
                let gateway = nodes.client();
                scope.spawn(move || {
                    let mut commits = BTreeSet::new();
                    for number in 1..=25 {
                        let number = writer * 1000 + number;
                        commits.insert(add_one(&gateway, number).expect("a commit"));
                        assert!(numbers(&gateway).expect("a cut").contains(&number), "{number} was acknowledged");
                    }
                    commits.len()
                })
            })
            .collect();
        let written: usize = writing.into_iter().map(|writer| writer.join().expect("a writer")).sum();
        stopped.store(true, Ordering::Relaxed);
        assert!(reading.into_iter().all(|reader| reader.join().expect("a reader") > 0));
        written
    });
    assert!(written > 0);
    for _ in 0..2 {
        assert_eq!(numbers(&nodes.gateway).expect("a cut").len(), 102);
        assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
        nodes.reopen().expect("it opens again");
    }
}

/// A shard is behind by more than the time for which others keep what nobody reads, and stays so. Reads and writes find a cut that all have.
#[test]
fn a_shard_that_stays_behind_stops_nobody() {
    let behind = Duration::from_millis(CutPace::default().free * 3 / 2);
    let nodes = Nodes::with_a_slow_shard(2, 4, IdSpace::Graph, behind);
    add_one(&nodes.gateway, -1).expect("the first");
    assert_eq!(numbers(&nodes.gateway).expect("a cut").len(), 2);
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ending = Ending(&stopped);
        scope.spawn(|| {
            let writer = nodes.client();
            (1..).take_while(|_| !stopped.load(Ordering::Relaxed)).for_each(|number| {
                add_one(&writer, number).expect("a commit");
                std::thread::sleep(Duration::from_millis(100));
            });
        });
        for _ in 0..2 {
            std::thread::sleep(behind);
            assert!(!numbers(&nodes.client()).expect("a cut").is_empty());
        }
    });
    numbers(&nodes.gateway).expect("a cut");
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}

/// A transaction that does not fit into one record is written in parts. They do nothing until its commit names them.
#[test]
fn a_large_transaction_is_made_whole_or_not_at_all() {
    const VERTICES: usize = 60_000;
    let mut nodes = Nodes::new(2, 4, IdSpace::Graph);
    add_one(&nodes.gateway, 1).expect("a commit");
    let mut transaction = ClusterTransaction::begin(&nodes.gateway, &PATIENCE, &Limits::default()).expect("a turn");
    add_chain(transaction.graph(), VERTICES);
    for section in transaction.graph().take_sections().expect("sections") {
        let part = Record::Part { id: 7, shard: section.shard, changes: section.changes, version: section.version };
        nodes.log.append(part.to_bytes().expect("bytes")).expect("a log");
    }
    drop(transaction);
    assert_eq!(counts(&nodes.gateway), (2, 2), "a part without a commit does nothing");

    let before = records(&nodes.log).len();
    let mut transaction = ClusterTransaction::begin(&nodes.gateway, &PATIENCE, &Limits::default()).expect("a turn");
    add_chain(transaction.graph(), VERTICES);
    transaction.commit().expect("a commit");
    add_one(&nodes.gateway, 2).expect("the next one sees it");
    let is_part = |record: &&Vec<u8>| matches!(Record::from_bytes(record), Ok(Record::Part { .. }));
    assert!(records(&nodes.log)[before..].iter().filter(is_part).count() >= 4);
    for _ in 0..2 {
        assert_eq!(counts(&nodes.gateway), (VERTICES as u64 + 3, VERTICES as u64 + 3));
        assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
        nodes.restart_from_nothing();
    }
}

/// Adds vertices with long ids, and an edge from each to the next.
fn add_chain(graph: &mut impl GraphWrite, vertices: usize) {
    let person = graph.ensure_label(ElementKind::Vertex, "person").expect("a label");
    let ids: Vec<_> = (0..vertices).map(|at| Some(ExternalId::from(format!("{at:0>300}").as_str()))).collect();
    let mut made = Vec::new();
    ids.chunks(1_000).for_each(|some| graph.add_vertices(person, some, &mut made).expect("vertices"));
    let knows = graph.ensure_label(ElementKind::Edge, "knows").expect("a label");
    let edges = made.windows(2).map(|ends| NewEdge { source: ends[0], target: ends[1], id: None, time: None });
    graph.add_edges(knows, &edges.collect::<Vec<_>>(), &mut Vec::new()).expect("edges");
}

/// A commit names parts that were logged in its own turn, and no others.
#[test]
fn a_commit_with_parts_of_others_is_refused() {
    let nodes = Nodes::new(1, 2, IdSpace::Graph);
    add_one(&nodes.gateway, 1).expect("a commit");
    let peer = LocalPeer(Session::new(nodes.nodes[0].clone(), "a stranger".into()));
    let said = [
        Call::Begin { turn: 1, patience: Duration::from_secs(60) },
        Call::Since { turn: 1, number: 1, own: 1 },
        Call::Part { turn: 1, section: Section::new(0, Vec::new()) },
    ];
    let said = said.map(|call| peer.call(&call, None).expect("a reply"));
    let [Reply::Turn, Reply::Since(_), Reply::Part(part)] = said else { panic!("{said:?}") };
    let commit = |shard, part| {
        let section = Section { earlier: vec![part], ..Section::new(shard, Vec::new()) };
        peer.call(&Call::Commit { turn: 1, request: RequestId(1), sections: vec![section] }, None)
    };
    for (shard, part) in [(1, part), (0, PartAt { offset: part.offset - 1, ..part }), (0, PartAt { sum: 0, ..part })] {
        let refused = commit(shard, part).expect_err("it is no part of this turn").to_string();
        assert!(refused.contains("a commit that no shard could read"), "{refused}");
    }
    assert!(matches!(commit(0, part), Ok(Reply::Committed(2))));
    assert_eq!(counts(&nodes.gateway), (2, 2));
}

/// A client that goes gives back its turn, and what it did is gone.
#[test]
fn a_transaction_that_is_dropped_leaves_nothing() {
    let nodes = Nodes::new(1, 2, IdSpace::Graph);
    let (one, other) = (nodes.client(), nodes.client());
    let mut transaction = ClusterTransaction::begin(&one, &PATIENCE, &Limits::default()).expect("a turn");
    transaction.graph().ensure_label(ElementKind::Vertex, "person").expect("a label");
    let short = TurnPatience { timeout: Some(Duration::from_millis(50)), cancelled: &|| false };
    let busy = ClusterTransaction::begin(&other, &short, &Limits::default()).err().expect("it is not its turn");
    assert!(matches!(&busy, GraphError::Busy { holder, timed_out: true, .. } if holder == "a client"), "{busy}");
    drop(transaction);
    let transaction = ClusterTransaction::begin(&other, &PATIENCE, &Limits::default()).expect("a turn");
    assert_eq!(transaction.view().schema().vertex_labels.len(), 0);
    assert_eq!(transaction.commit().expect("nothing to do"), None);
}

/// A reader goes on at its number, and others begin, when one of the nodes with a shard has ended. So do writers.
#[test]
fn a_graph_with_replicas_outlives_any_node() {
    let mut nodes = Nodes::replicated(3, 6, 2, IdSpace::Graph);
    let next_of = |at: usize, count: i64| 100 * (at as i64 + 1) + count;
    for number in 1..=10 {
        add_one(&nodes.gateway, number).expect("a commit");
    }
    for at in 0..3 {
        let writer = nodes.client();
        add_one(&writer, next_of(at, 0)).expect("a commit");
        let before = numbers(&writer).expect("a cut");
        let mut cut = writer.cut(None).expect("a cut");
        while cut.shards.iter().any(|shard| shard.peers.len() < 2) {
            cut = writer.cut_from(0, Duration::ZERO, None).expect("a cut"); // a node that has just started is behind
        }
        let graph = cut.graph(writer.placement(), &Limits::default());
        add_one(&writer, next_of(at, 1)).expect("a commit");
        nodes.stop(at);
        let person = graph.schema().label(ElementKind::Vertex, "person").expect("a label");
        let (mut counted, mut cursor) = (0, ScanCursor::default());
        while !cursor.done {
            counted += graph.count(ElementKind::Vertex, &Scan::of(person), &mut cursor).expect("another node");
        }
        assert_eq!(counted as usize, before.len());
        add_one(&writer, next_of(at, 2)).expect("a commit");
        let now = numbers(&writer).expect("a cut");
        assert!(now.contains(&next_of(at, 1)) && now.len() == before.len() + 2, "{now:?}");
        nodes.start(at);
    }
    nodes.gateway = nodes.client(); // all nodes have new addresses
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}

fn records(log: &MemoryLog) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    log.reader(0).and_then(|mut reader| reader.read(Duration::ZERO, &mut records)).expect("a log");
    records.into_iter().map(|(_, record)| record).collect()
}

fn log_of(records: &[Vec<u8>]) -> MemoryLog {
    let log = MemoryLog::default();
    records.iter().for_each(|record| log.append(record.clone()).expect("a log"));
    log
}

/// Shards that have applied what the log has no longer say so. Nobody reads them or builds on them.
#[test]
fn a_log_that_lost_its_end_is_noticed() {
    let mut nodes = Nodes::new(2, 4, IdSpace::Graph);
    for number in 1..=20 {
        add_one(&nodes.gateway, number).expect("a commit");
    }
    numbers(&nodes.gateway).expect("a cut");
    let whole = records(&nodes.log);
    nodes.restart_with(log_of(&whole[..whole.len() / 2]));
    let why = numbers(&nodes.gateway).expect_err("the shards are ahead of the log").to_string();
    assert!(why.contains("the log ends before record") || why.contains("has applied another record"), "{why}");
    let why = add_one(&nodes.gateway, 21).expect_err("the shards are ahead of the log").to_string();
    assert!(why.contains("the log ends before record") || why.contains("has applied another record"), "{why}");
    nodes.restart_with(log_of(&whole));
    assert_eq!(numbers(&nodes.gateway).expect("the log is whole").len(), 21);
    add_one(&nodes.gateway, 21).expect("a commit");
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}

/// A commit that lacks what it does to one of two shards leaves half an edge, and the check finds it.
#[test]
fn half_an_edge_is_found() {
    for left_out in 0..2 {
        let mut nodes = Nodes::new(2, 4, IdSpace::Graph);
        (1..=9).for_each(|number| assert!(add_one(&nodes.gateway, number).is_ok()));
        assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
        let mut transaction = ClusterTransaction::begin(&nodes.gateway, &PATIENCE, &Limits::default()).expect("a turn");
        let graph = transaction.graph();
        let mut found = Vec::new();
        graph.find_vertices(None, &(0..10).map(ExternalId::Int).collect::<Vec<_>>(), &mut found).expect("a graph");
        let found: Vec<VertexId> = found.into_iter().flatten().collect();
        let (source, target) =
            (found[0], *found.iter().find(|other| other.shard() != found[0].shard()).expect("two shards"));
        let knows = graph.schema().label(ElementKind::Edge, "knows").expect("a label");
        graph.add_edges(knows, &[NewEdge { source, target, id: None, time: None }], &mut Vec::new()).expect("an edge");
        let mut sections = graph.take_sections().expect("sections");
        drop(transaction);
        assert_eq!(sections.len(), 2);
        let is_source = sections.remove(left_out).shard == source.shard();
        nodes.restart_with(with_commit(&records(&nodes.log), sections));
        assert_eq!(counts(&nodes.gateway).1, if is_source { 18 } else { 19 }, "edges at their sources");
        let wrong = nodes.check().expect("a check");
        assert!(matches!(&wrong[..], [what] if what.contains("edges to shard")), "{wrong:?}");
    }
}

/// A log with one commit more, of a writer of its own.
fn with_commit(records: &[Vec<u8>], sections: Vec<Section>) -> MemoryLog {
    let (log, standing) = (log_of(records), standing_after(records));
    let (term, writer, number) = (standing.term + 1, u64::MAX, standing.number + 1);
    let commit = Commit { term, writer, is_cut: true, number, requests: Vec::new(), sections };
    for record in [Record::Open { term, writer }, Record::Commit(commit), Record::Close { term, writer }] {
        log.append(record.to_bytes().expect("bytes")).expect("a log");
    }
    log
}

fn standing_after(records: &[Vec<u8>]) -> Standing {
    let mut standing = Standing::default();
    for record in records {
        standing.take(&Record::from_bytes(record).expect("a record"));
    }
    standing
}

/// A shard makes a cut that the writer does not make if somebody waits for it, also if others wait for a number that never comes.
#[test]
fn a_number_that_never_comes_keeps_nobody_waiting() {
    let mut nodes = Nodes::new(1, 2, IdSpace::Graph);
    (1..=5).for_each(|number| assert!(add_one(&nodes.gateway, number).is_ok()));
    let before = records(&nodes.log);
    let (log, standing) = (log_of(&before), standing_after(&before));
    let (term, writer, number) = (standing.term + 1, u64::MAX, standing.number + 1);
    let commit = Commit { term, writer, is_cut: false, number, requests: Vec::new(), sections: Vec::new() };
    for record in [Record::Open { term, writer }, Record::Commit(commit)] {
        log.append(record.to_bytes().expect("bytes")).expect("a log");
    }
    nodes.restart_with(log);
    let session = nodes.session(0);
    let reached = |from| match session.call(&Call::Applied { shards: vec![0], from, behind: None }, None) {
        Ok(Reply::Applied(reached)) => reached[0].as_ref().map(|reached| reached.number).expect("a shard that is there"),
        other => panic!("{other:?}"),
    };
    reached(u64::MAX);
    assert_eq!(reached(number), number);
}

/// Which records a graph allows stays when the log is cut, and when it begins again with a backup.
#[test]
fn what_the_log_allows_outlives_its_beginning() {
    let mut nodes = Nodes::new(1, 2, IdSpace::Graph);
    let allowed = |nodes: &Nodes| match nodes.session(0).call(&Call::About, None) {
        Ok(Reply::About(about)) => about.allowed,
        other => panic!("{other:?}"),
    };
    assert_eq!(allowed(&nodes), VERSION_UNSAID);
    let too_new = nodes.session(0).call(&Call::Allow { version: VERSION_NEWEST + 1 }, None).expect_err("a version of later");
    assert!(too_new.to_string().contains("reads records of the log up to version"), "{too_new}");
    nodes.session(0).call(&Call::Allow { version: VERSION_NEWEST }, None).expect("a record");
    let [_, (made, cut)] = [1, 2].map(|number| {
        add_one(&nodes.gateway, number).expect("a commit");
        nodes.back_up()
    });
    assert!(cut.is_some() && nodes.log.first().expect("a log") > 0);
    nodes.restart_from_nothing();
    assert_eq!(allowed(&nodes), VERSION_NEWEST);
    let log = MemoryLog::default();
    restore_log(&nodes.vault(), &made, &log, &mut |_| {}).expect("a log");
    nodes.log = log;
    nodes.restart_from_nothing();
    assert_eq!(allowed(&nodes), VERSION_NEWEST);
    assert_eq!(numbers(&nodes.gateway).expect("a graph"), BTreeSet::from([0, 1, 2]));
}

/// How many vertices and edges there are.
fn counts(gateway: &Gateway) -> (u64, u64) {
    let graph = gateway.cut(None).expect("a cut").graph(gateway.placement(), &Limits::default());
    let count = |kind| {
        let (mut count, mut cursor) = (0, ScanCursor::default());
        while !cursor.done {
            count += graph.count(kind, &Scan::default(), &mut cursor).expect("a count");
        }
        count
    };
    (count(ElementKind::Vertex), count(ElementKind::Edge))
}

/// A graph comes back from its backups and the log, which begins later after each of them, and from a backup alone.
#[test]
fn a_graph_comes_back_from_its_backups() {
    let mut nodes = Nodes::replicated(2, 4, 2, IdSpace::Graph);
    let mut next = 1..;
    let mut write = |nodes: &Nodes| {
        let number = next.next().expect("a number");
        add_one(&nodes.gateway, number).expect("a commit");
        number
    };
    let mut known: BTreeSet<i64> = (0..10).map(|_| write(&nodes)).collect();
    known.insert(0);
    assert_eq!(nodes.back_up().1, None, "one backup is not enough to cut the log");
    let mut begins = 0;
    for round in 0..4 {
        known.extend((0..10).map(|_| write(&nodes)));
        let (made, cut) = nodes.back_up();
        if round == 2 {
            assert_eq!(cut, None, "the backup before this one was made with another log");
        } else {
            let first = cut.expect("the log is cut");
            assert!(first > begins && first < made.base.offset, "{begins} {first} {made:?}");
            begins = first;
        }
        let at_backup = known.clone();
        known.extend((0..10).map(|_| write(&nodes)));
        nodes.restart_from_nothing();
        assert_eq!(numbers(&nodes.gateway).expect("a graph"), known, "from a backup and the log");
        assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
        known.insert(write(&nodes));
        if round == 1 {
            // The log is lost.
            let log = MemoryLog::default();
            restore_log(&nodes.vault(), &made, &log, &mut |_| {}).expect("a log");
            assert!(restore_log(&nodes.vault(), &made, &log, &mut |_| {}).is_err(), "the log has records");
            nodes.log = log.clone();
            nodes.restart_from_nothing();
            assert_eq!(numbers(&nodes.gateway).expect("a graph"), at_backup, "from a backup alone");
            known = at_backup;
            known.insert(write(&nodes));
        }
    }
    nodes.reopen().expect("the same stores");
    assert_eq!(numbers(&nodes.gateway).expect("a graph"), known);
}

/// The name of an object of a copy of shard 0.
fn object_name(vault: &dyn Objects, backup: &Backup, copy: &ObjectCopy) -> String {
    let places = vault.list(&format!("test/{}", backup.name())).expect("names");
    let place = places.iter().find(|place| place.starts_with("shard-0000")).expect("a copy");
    format!("test/{}/{place}/{}", backup.name(), copy.name)
}

/// Changes one byte of the largest file of shard 0.
fn flip_a_byte(vault: &dyn Objects, backup: &Backup) {
    let largest = backup.shards[0].files.iter().max_by_key(|copy| copy.bytes).expect("files");
    let (name, mut bytes) = (object_name(vault, backup, largest), Vec::new());
    let mut object = vault.get(&name).expect("an object").expect("an object");
    std::io::Read::read_to_end(&mut object, &mut bytes).expect("bytes");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    vault.put(&name, &mut &bytes[..]).expect("an object");
}

/// A backup with a byte that has changed is not used: the one before it is.
#[test]
fn a_damaged_backup_is_not_used() {
    let mut nodes = Nodes::new(1, 2, IdSpace::Graph);
    let mut known = BTreeSet::from([0]);
    let mut made = Vec::new();
    for number in 1..=3 {
        add_one(&nodes.gateway, number).expect("a commit");
        known.insert(number);
        made.push(nodes.back_up().0);
    }
    let [_, second, third] = &made[..] else { panic!("three backups") };
    flip_a_byte(&nodes.vault(), third);
    nodes.restart_from_nothing();
    assert_eq!(numbers(&nodes.gateway).expect("a graph"), known, "from the second and the log");
    let into = tempfile::tempdir().expect("a directory").path().join("shard");
    let name = object_name(&nodes.vault(), second, &second.shards[0].files[0]);
    nodes.vault().put(&name, &mut &b"something else"[..]).expect("an object");
    let graph = third.graph.clone();
    let restored = restore_shard(&nodes.vault(), &graph, &nodes.log, 0, &into).expect("backups");
    assert_eq!((restored, into.exists()), (None, false), "the first is before the log");
}

/// The log is cut only before a backup that was read and is whole. Until then, it keeps what an older one needs.
#[test]
fn the_log_is_not_cut_at_a_damaged_backup() {
    let mut nodes = Nodes::new(1, 2, IdSpace::Graph);
    let mut known = BTreeSet::from([0]);
    let mut next = |nodes: &Nodes| {
        let number = known.len() as i64;
        add_one(&nodes.gateway, number).expect("a commit");
        known.insert(number);
        (nodes.back_up(), known.clone())
    };
    let ((first, _), _) = next(&nodes);
    let ((second, cut), _) = next(&nodes);
    assert_eq!(cut, Some(first.base.offset));
    flip_a_byte(&nodes.vault(), &second);
    let ((third, cut), at_third) = next(&nodes);
    assert_eq!(cut, Some(first.base.offset), "the second is damaged");
    assert_eq!(nodes.log.first().expect("a log"), first.base.offset);
    // If the third is damaged, too, the first and the log give everything.
    flip_a_byte(&nodes.vault(), &third);
    nodes.restart_from_nothing();
    assert_eq!(numbers(&nodes.gateway).expect("a graph"), at_third);
    flip_a_byte(&nodes.vault(), &third); // as it was
    let ((_, cut), _) = next(&nodes);
    assert_eq!(cut, Some(third.base.offset));
    assert_eq!(nodes.log.first().expect("a log"), third.base.offset);
}

/// The writer's own transactions, which build on each other in memory, and those of clients go side by side. One that is dropped leaves nothing to the
/// next one.
#[test]
fn the_writer_writes_beside_its_clients() {
    const EACH: i64 = 60;
    let nodes = Nodes::new(2, 4, IdSpace::Graph);
    add_one(&nodes.gateway, 1_000_000).expect("a commit");
    let limits = || ReadContext { deadline: Some(Instant::now() + Duration::from_secs(60)), ..ReadContext::default() };
    let is_writer = |node: &Arc<Node>| node.status().expect("a status").is_writer;
    let writer = nodes.nodes.iter().find(|node| is_writer(node)).expect("a writer").clone();
    let own = OwnTransactions::new(writer, nodes.client());
    let last = AtomicU64::new(0);
    let add_own = |number: i64| {
        let mut dropped = own.begin("dropped", limits()).expect("the turn");
        add_to(dropped.graph(), -number).expect("changes");
        drop(dropped);
        let mut transaction = own.begin("own", limits()).expect("the turn");
        add_to(transaction.graph(), number).expect("changes");
        let request = RequestId(number as u128);
        let outcome = transaction.submit(request).expect("changes").expect("an outcome").recv();
        last.fetch_max(outcome.expect("an outcome").expect("a commit"), Ordering::Relaxed);
    };
    let (add_own, nodes_ref, last_ref) = (&add_own, &nodes, &last);
    std::thread::scope(|scope| {
        for thread in 0..3 {
            scope.spawn(move || (1..=EACH).for_each(|count| add_own(1_000 * thread + count)));
        }
        let client = nodes_ref.client();
        scope.spawn(move || {
            for count in 1..=EACH {
                last_ref.fetch_max(add_one(&client, 10_000 + count).expect("a commit"), Ordering::Relaxed);
            }
        });
        let reader = nodes_ref.client();
        scope.spawn(move || (0..20).for_each(|_| drop(numbers(&reader).expect("whole transactions"))));
    });
    let all = (0..3).map(|thread| 1_000 * thread).chain([10_000]).flat_map(|first| first + 1..=first + EACH);
    let known: BTreeSet<i64> = all.chain([0, 1_000_000]).collect();
    let client = nodes.client();
    client.wait_for(last.load(Ordering::Relaxed), &limits()).expect("the last commit");
    assert_eq!(numbers(&client).expect("a graph"), known);
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}

/// A transaction that was looked for before it was submitted is never made, and nothing builds on it.
#[test]
fn what_was_given_up_is_not_built_on() {
    let nodes = Nodes::new(1, 2, IdSpace::Graph);
    add_one(&nodes.gateway, 1).expect("a commit");
    let limits = || ReadContext { deadline: Some(Instant::now() + Duration::from_secs(60)), ..ReadContext::default() };
    let own = OwnTransactions::new(nodes.nodes[0].clone(), nodes.client());
    let (given_up, session) = (RequestId(7), Session::new(nodes.nodes[0].clone(), "a client".into()));
    let mut transaction = own.begin("first", limits()).expect("the turn");
    add_to(transaction.graph(), 2).expect("changes");
    let looked = session.serve(Call::WasMade(given_up), CancelToken::default()).expect("a reply");
    assert!(matches!(looked, Reply::Made(None)), "{looked:?}");
    std::thread::scope(|scope| {
        // Somebody waits, so what was done is kept for the next one.
        let next = scope.spawn(|| {
            let mut transaction = own.begin("second", limits()).expect("the turn");
            add_to(transaction.graph(), 3).expect("changes");
            transaction.submit(RequestId(8)).expect("changes").expect("an outcome").recv().expect("an outcome")
        });
        std::thread::sleep(Duration::from_millis(50));
        let outcome = transaction.submit(given_up).expect("changes").expect("an outcome").recv().expect("an outcome");
        assert!(outcome.is_err());
        let number = next.join().expect("a thread").expect("a commit");
        let client = nodes.client();
        client.wait_for(number, &limits()).expect("the commit");
        assert_eq!(numbers(&client).expect("a graph"), BTreeSet::from([0, 1, 3]));
    });
    assert_eq!(nodes.check().expect("a check"), Vec::<String>::new());
}

/// Who changes nothing, but has seen what is not in the log yet, hears of a commit after that.
#[test]
fn what_has_seen_a_commit_comes_after_it() {
    let nodes = Nodes::new(1, 2, IdSpace::Graph);
    let own = OwnTransactions::new(nodes.nodes[0].clone(), nodes.client());
    add_one(&nodes.gateway, 1).expect("a commit");
    let limits = || ReadContext { deadline: Some(Instant::now() + Duration::from_secs(60)), ..ReadContext::default() };
    let unchanged = own.begin("nothing", limits()).expect("the turn").submit(RequestId(1)).expect("no changes");
    assert!(unchanged.is_none(), "nothing was on its way");
    let mut transaction = own.begin("first", limits()).expect("the turn");
    add_to(transaction.graph(), 2).expect("changes");
    let first = transaction.submit(RequestId(2)).expect("changes").expect("an outcome");
    let second = own.begin("second", limits()).expect("the turn").submit(RequestId(3)).expect("no changes");
    let first = first.recv().expect("an outcome").expect("a commit");
    // The log may have been quick.
    if let Some(second) = second {
        assert!(second.recv().expect("an outcome").expect("a commit") >= first);
    }
}

/// The same for a client with a transaction of its own. If what it has seen is lost, it hears so.
#[test]
fn a_client_that_has_seen_a_commit_comes_after_it() {
    let nodes = Nodes::new(1, 2, IdSpace::Graph);
    add_one(&nodes.gateway, 1).expect("a commit");
    let limits = || ReadContext { deadline: Some(Instant::now() + Duration::from_secs(60)), ..ReadContext::default() };
    let own = OwnTransactions::new(nodes.nodes[0].clone(), nodes.client());
    let loses_commits = |loses: bool| nodes.loses_commits.store(loses, Ordering::Relaxed);
    for (number, is_lost) in [(2, false), (3, true)] {
        let client = nodes.client();
        loses_commits(true);
        let mut transaction = own.begin("first", limits()).expect("the turn");
        add_to(transaction.graph(), number).expect("changes");
        let first = transaction.submit(RequestId(number as u128)).expect("changes").expect("an outcome");
        let (begun, has_begun) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let begun = begun; // it ends with this thread, whatever fails
                let transaction = ClusterTransaction::begin(&client, &PATIENCE, &Limits::default())?;
                let mut found = Vec::new();
                transaction.view().find_vertices(None, &[ExternalId::Int(number)], &mut found)?;
                assert!(found[0].is_some(), "it sees what is not in the log yet");
                begun.send(()).expect("somebody waits");
                transaction.commit()
            });
            let has_begun = has_begun.recv().is_ok();
            std::thread::sleep(Duration::from_millis(100));
            assert!(has_begun && !reading.is_finished(), "what it has seen is not in the log");
            if is_lost {
                let other = Record::Open { term: 1_000, writer: u64::MAX };
                nodes.log.append(other.to_bytes().expect("bytes")).expect("a log");
            }
            loses_commits(false);
            let (first, read) = (first.recv().expect("an outcome"), reading.join().expect("a thread"));
            match is_lost {
                false => {
                    assert_eq!(read.expect("it was committed"), None);
                    assert!(client.newest() >= first.expect("a commit"));
                    assert!(numbers(&client).expect("a graph").contains(&number));
                }
                true => {
                    assert!(first.is_err());
                    let why = read.expect_err("what it has seen is lost").to_string();
                    assert!(why.contains("another node has become the writer"), "{why}");
                }
            }
        });
    }
}
