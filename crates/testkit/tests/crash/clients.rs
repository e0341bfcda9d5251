//! Several clients of one process, which write brief transactions at the same time and so share syncs.
//!
//! Client *c* makes the transactions *(c, 1)*, *(c, 2)* and so on. Each adds a visit of the client and removes an older one, and
//! counts on the client's own vertex. Some give the graph a new property name, some are undone, and some fail halfway. What a
//! client leaves depends on the number of its transactions alone, whatever the order in which the clients took turns.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ChildStdout;

use mangrove_directory::{OpenError, OpenOptions, Patience, Store, Writer};
use mangrove_graph::{
    Cell, Direction, ElementId, ElementKind, ExternalId, GraphError, GraphView, GraphWrite, NewEdge, Result, Value, VertexId,
};
use mangrove_testkit::compare;
use mangrove_testkit::graphs::Random;

use crate::driver::{Beside, Tally, aim, end_reader, run_and_kill};

const CLIENTS: u64 = 6;
/// So many visits of a client are kept.
const KEPT: u64 = 5;

fn hub(client: u64) -> ExternalId {
    format!("client {client}").as_str().into()
}

fn visit(client: u64, n: u64) -> ExternalId {
    format!("visit {client} {n}").as_str().into()
}

/// A text of up to 5,000 bytes: some values get pages of their own.
fn note(client: u64, n: u64) -> Value {
    Value::from(format!("{client}.{n} ").repeat((n * 37 % 700) as usize))
}

fn set(graph: &mut dyn GraphWrite, vertex: VertexId, key: &str, value: Value) -> Result<()> {
    let key = graph.ensure_key(key)?;
    graph.set_cell(ElementId::Vertex(vertex), key, Cell::One(value))
}

/// Transaction `n` of a client.
fn transaction(graph: &mut dyn GraphWrite, client: u64, n: u64) -> Result<()> {
    let label = graph.ensure_label(ElementKind::Vertex, "client")?;
    let mut found = Vec::new();
    graph.find_vertices(None, &[hub(client), visit(client, n.saturating_sub(KEPT))], &mut found)?;
    let mut made = Vec::new();
    let me = match found[0] {
        Some(me) => me,
        None => {
            graph.add_vertices(label, &[Some(hub(client))], &mut made)?;
            made[0]
        }
    };
    graph.remove_vertices(found[1].as_slice())?;
    set(graph, me, "count", Value::Int64(n as i64))?;
    if n.is_multiple_of(40) {
        set(graph, me, &format!("extra {client} {n}"), Value::Int64(n as i64))?;
    }
    let (visits, makes) =
        (graph.ensure_label(ElementKind::Vertex, "visit")?, graph.ensure_label(ElementKind::Edge, "makes")?);
    made.clear();
    graph.add_vertices(visits, &[Some(visit(client, n))], &mut made)?;
    set(graph, made[0], "note", note(client, n))?;
    graph.add_edges(makes, &[NewEdge { source: me, target: made[0], id: None, time: None }], &mut Vec::new())
}

/// Opens for writing. Waits while another process has it open.
fn open_in_turn(dir: &Path) -> Result<Store, OpenError> {
    let seal_bytes = if std::process::id().is_multiple_of(2) { 150_000 } else { 0 };
    loop {
        match Store::open(dir, &OpenOptions { seal_bytes, ..OpenOptions::default() }) {
            Err(OpenError::Locked { .. }) => std::thread::sleep(std::time::Duration::from_millis(1)),
            result => return result,
        }
    }
}

/// Writes with all clients at once. Reports each commit on standard output.
pub fn write_for_ever(dir: &Path) {
    let store = open_in_turn(dir).expect("it opens");
    println!("opened");
    let counts = counts(&store.snapshot().expect("a snapshot"));
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (store, done) = (&store, counts.get(&client).copied().unwrap_or(0));
            scope.spawn(move || (done + 1..).try_for_each(|n| write(store, client, n)).expect("it writes"));
        }
    });
}

fn write(store: &Store, client: u64, n: u64) -> Result<()> {
    let begin = || store.begin_for(Writer { is_brief: true, ..Writer::this_thread() }, Patience::ENDLESS);
    if n.is_multiple_of(7) {
        let mut undone = begin()?;
        transaction(&mut undone, client, n)?;
        if n.is_multiple_of(2) {
            // An id that exists already.
            let failed = transaction(&mut undone, client, n);
            assert!(matches!(failed, Err(GraphError::DuplicateVertex { .. })), "{failed:?}");
        }
    }
    let mut writing = begin()?;
    transaction(&mut writing, client, n)?;
    writing.commit()?;
    println!("{client} {n}");
    Ok(())
}

/// How many transactions each client has made.
fn counts(view: &dyn GraphView) -> BTreeMap<u64, u64> {
    let Some(key) = view.schema().key("count") else { return BTreeMap::new() };
    let ids: Vec<ExternalId> = (0..CLIENTS).map(hub).collect();
    let mut found = Vec::new();
    view.find_vertices(None, &ids, &mut found).expect("clients");
    let count = |(client, vertex): (u64, &Option<VertexId>)| {
        let cell = view.cell(ElementId::Vertex((*vertex)?), key).expect("a cell");
        match cell {
            Cell::One(Value::Int64(n)) => Some((client, n as u64)),
            cell => panic!("client {client} has counted {cell:?}"),
        }
    };
    (0..).zip(&found).filter_map(count).collect()
}

/// Checks that the graph holds what so many transactions of each client leave, no more and no less.
fn assert_whole(view: &dyn GraphView, counts: &BTreeMap<u64, u64>) {
    let Some(note_key) = view.schema().key("note") else { return assert!(counts.is_empty()) };
    let mut expected = 0;
    for (client, n) in counts {
        let kept: Vec<u64> = (n.saturating_sub(KEPT - 1).max(1)..=*n).collect();
        let ids: Vec<ExternalId> = kept.iter().map(|n| visit(*client, *n)).chain([hub(*client)]).collect();
        let mut found = Vec::new();
        view.find_vertices(None, &ids, &mut found).expect("visits");
        let found: Vec<VertexId> = found.into_iter().map(|vertex| vertex.expect("what a client has made")).collect();
        let (me, visits) = found.split_last().expect("the client");
        let out = compare::hop(view, &[*me], Direction::Out, None);
        let mut ends = out.neighbors;
        ends.sort_unstable();
        let mut sorted = visits.to_vec();
        sorted.sort_unstable();
        assert_eq!(ends, sorted, "the visits of client {client}");
        for (vertex, n) in visits.iter().zip(&kept) {
            let cell = view.cell(ElementId::Vertex(*vertex), note_key).expect("a cell");
            assert_eq!(cell, Cell::One(note(*client, *n)), "the note of visit {n} of client {client}");
        }
        for n in (40..=*n).step_by(40) {
            let key = view.schema().key(&format!("extra {client} {n}")).expect("a property name");
            assert_eq!(view.cell(ElementId::Vertex(*me), key).expect("a cell"), Cell::One(Value::Int64(n as i64)));
        }
        expected += found.len() as u64;
    }
    let counted: u64 = view.statistics().expect("statistics").vertices.iter().sum();
    assert_eq!(counted, expected, "the number of vertices");
}

/// Takes snapshot after snapshot. Each must be whole, and must not be older than the one before.
pub fn read_for_ever(dir: &Path) {
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    loop {
        let store = match Store::open(dir, &OpenOptions { read_only: true, ..OpenOptions::default() }) {
            Ok(store) => store,
            Err(OpenError::NotFound { .. }) => continue,
            Err(error) if error.to_string().contains("too short") => continue,
            Err(error) => panic!("a reader cannot open: {error}"),
        };
        for _ in 0..20 {
            let view = store.snapshot().expect("a snapshot");
            let found = counts(&view);
            assert_whole(&view, &found);
            assert!(seen.iter().all(|(client, n)| found.get(client) >= Some(n)), "a reader saw {seen:?} and then {found:?}");
            seen = found;
            println!("{}", seen.values().sum::<u64>());
        }
    }
}

/// What the clients reported: the last transaction of each, and how many there were.
#[derive(Default)]
struct Said {
    last: BTreeMap<u64, u64>,
    count: u64,
}

fn listen(pipe: ChildStdout) -> Said {
    let mut said = Said::default();
    let number = |text: &str| text.parse().expect("a number");
    for line in BufReader::new(pipe).lines() {
        if let Some((client, n)) = line.expect("the pipe is read").split_once(' ') {
            said.last.insert(number(client), number(n));
            said.count += 1;
        }
    }
    said
}

/// Kills the clients' process again and again, beside a reader, and looks at what is left.
pub fn run(kills: u64, random: &mut Random, tally: &mut Tally) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let dir = home.path().join("db");
    let failures = tally.failures();
    let reader = Beside::start("visitor", &dir);
    for at in 0..kills {
        let aim = aim(random, at);
        let (said, failed) = run_and_kill(&["clients"], &home, &dir, &aim, listen);
        tally.kills += 1;
        tally.wrong += u64::from(failed);
        *tally.during.entry("among clients".into()).or_default() += 1;
        let seen = reader.seen();
        let looked = catch_unwind(AssertUnwindSafe(|| look(&dir, &said, seen, tally)));
        tally.lost += u64::from(looked.is_err()); // it cannot even be opened
        if tally.failures() > failures {
            println!("crash: kill {} of the run, {} of its store: {aim:?}, clients at {:?}", tally.kills, at + 1, said.last);
            break;
        }
    }
    end_reader(reader, tally);
}

fn look(dir: &Path, said: &Said, seen: u64, tally: &mut Tally) {
    let store = open_in_turn(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let view = store.snapshot().expect("a snapshot");
    let found = counts(&view);
    tally.lost += seen.saturating_sub(found.values().sum());
    for (client, n) in &said.last {
        let found = found.get(client).copied().unwrap_or(0);
        tally.lost += n.saturating_sub(found);
        tally.half_applied += u64::from(found > n + 1);
        tally.unsaid += found.saturating_sub(*n);
    }
    tally.acknowledged += said.count;
    let whole = catch_unwind(AssertUnwindSafe(|| assert_whole(&view, &found)));
    tally.half_applied += u64::from(whole.is_err());
    let faults = store.check().expect("check").violations;
    faults.iter().for_each(|fault| eprintln!("crash: check found {fault}"));
    tally.wrong += u64::from(!faults.is_empty());
}
