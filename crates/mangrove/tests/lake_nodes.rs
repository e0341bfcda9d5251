//! A lake on nodes of this process, which are connected as others are. It gives what the lake itself gives, whichever nodes answer.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mangrove::cluster::{self, Chunk, GraphAddress, LakeNodeConfig, RunningLakeNode, Watching, owner};
use mangrove::ingest::Quiet;
use mangrove::{
    Database, GraphArOptions, LakeOptions, LoadOptions, OpenError, Parameters, QueryError, QueryOptions, StoreError,
};
use mangrove_testkit::graphs::Random;
use tempfile::TempDir;

const VERTICES: u64 = 120;
/// How long nodes may take to notice that another one is there.
const PATIENCE: Duration = Duration::from_secs(30);

/// A lake whose elements fill many chunks.
struct Files {
    file: PathBuf,
    home: TempDir,
}

impl Files {
    fn new(seed: u64) -> Self {
        let home = tempfile::tempdir().unwrap();
        let db = Database::open(home.path().join("db")).unwrap();
        load(&db, home.path(), seed);
        let options = GraphArOptions { vertex_chunk: 7, edge_chunk: 5, ..GraphArOptions::default() };
        let report = db.export_lake(home.path().join("air"), &options, &mut Quiet).unwrap();
        Self { file: home.path().join("air").join(report.graph_file), home }
    }

    fn options(&self) -> LakeOptions {
        LakeOptions { cache: Some(self.home.path().join("indexes")), ..LakeOptions::default() }
    }

    fn open(&self) -> Database {
        Database::open_lake_with(&self.file, &self.options()).unwrap()
    }

    fn node_at(&self, listen: &str, name: &str, join: &[&RunningLakeNode]) -> Result<RunningLakeNode, OpenError> {
        RunningLakeNode::start(LakeNodeConfig {
            graph: "air".into(),
            name: name.into(),
            place: self.file.clone(),
            options: self.options(),
            listen: listen.parse::<SocketAddr>().unwrap(),
            advertise: None,
            tls: None,
            join: join.iter().map(|node| node.address().to_string()).collect(),
        })
    }

    fn node(&self, name: &str, join: &[&RunningLakeNode]) -> RunningLakeNode {
        self.node_at("127.0.0.1:0", name, join).unwrap()
    }

    /// Three nodes. Only the first one is told to the others.
    fn three(&self) -> Vec<RunningLakeNode> {
        let first = self.node("node-0", &[]);
        let others = [self.node("node-1", &[&first]), self.node("node-2", &[&first])];
        std::iter::once(first).chain(others).collect()
    }
}

/// Vertices of three labels, some with a further one, each with a number, most with a text; edges of two labels, most with a weight.
fn load(db: &Database, home: &Path, seed: u64) {
    let mut random = Random::new(seed);
    let (mut nodes, mut lists) = ("id:ID,:LABEL,n:int,text\n".to_owned(), ":START_ID,:END_ID,:TYPE,weight:int\n".to_owned());
    for id in 0..VERTICES {
        let text = if random.below(4) == 0 { String::new() } else { format!("t{}", random.below(9)) };
        let label = ["red", "green;big", "blue", "red;big"][random.below(4) as usize];
        writeln!(nodes, "v{id},{label},{},{text}", random.below(50)).unwrap();
    }
    for _ in 0..5 * VERTICES {
        let within = if random.below(3) == 0 { VERTICES / 10 } else { VERTICES };
        let weight = if random.below(5) == 0 { String::new() } else { random.below(20).to_string() };
        let label = ["road", "path"][random.below(2) as usize];
        writeln!(lists, "v{},v{},{label},{weight}", random.below(within), random.below(VERTICES)).unwrap();
    }
    let file = |name: &str, text: String| {
        let path = home.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = vec![file("nodes.csv", nodes), file("edges.csv", lists)];
    db.load(&LoadOptions { files, ..LoadOptions::default() }, &mut Quiet).unwrap();
}

fn address(nodes: &[&RunningLakeNode]) -> String {
    let addresses: Vec<String> = nodes.iter().map(|node| node.address().to_string()).collect();
    format!("mangrove://{}/air", addresses.join(","))
}

fn parsed(address: &str) -> GraphAddress {
    address.parse().unwrap()
}

fn shown(error: QueryError) -> String {
    match error {
        QueryError::Query(failure) => failure.render(),
        error => error.to_string(),
    }
}

/// What a query gives, in order, or its error, as text.
fn answers(db: &Database, text: &str, options: &QueryOptions) -> Result<Vec<String>, String> {
    let mut stream = db.query(text, &Parameters::new(), options).map_err(shown)?;
    let results = stream.results().map_err(shown)?;
    Ok((0..results.len()).map(|at| mangrove::json::to_string(&results.get(at))).collect())
}

fn stepwise() -> QueryOptions {
    QueryOptions { rules_off: vec!["fragments".into(), "mesh".into()], ..QueryOptions::default() }
}

/// Queries whose results come in the order in which the graph is read.
const IN_ORDER: [&str; 26] = [
    "g.V()",
    "g.E()",
    "g.V().elementMap()",
    "g.E().elementMap()",
    "g.V().hasLabel('red').values('n', 'text')",
    "g.V().hasLabel('big')",
    "g.V().hasLabel('big').values('text')",
    "g.V().not(hasLabel('big')).id()",
    "g.V().has('n', gt(40)).valueMap()",
    "g.V().has('n', 5).values('text')",
    "g.V().has('n', gt(1000)).id()",
    "g.E().has('weight', gt(15)).values('weight')",
    "g.E().hasLabel('road').outV().id()",
    "g.V('v1', 'v7', 'v99', 'nobody').values('n')",
    "g.V('v1').out().values('n')",
    "g.V('v1').bothE().elementMap()",
    "g.V().out('road').id()",
    "g.V().inE('path').has('weight', lt(9)).id()",
    "g.V().out().has('n', gt(30)).out('path').values('text')",
    "g.V().where(out('road').count().is(gt(2))).values('n')",
    "g.V().outE('road').has('weight', gt(5)).inV().id()",
    "g.V().project('n', 'roads').by('n').by(out('road').count())",
    "g.V().hasLabel('blue').limit(3).id()",
    "g.V().range(30, 40).id()",
    "g.V().order().by('n').by(id).values('n', 'text').limit(17)",
    "g.V().as('a').out('road').as('b').select('a', 'b').by(id)",
];

/// Queries with one result, or with results whose order is not defined.
const COUNTED: [&str; 16] = [
    "g.V().count()",
    "g.E().count()",
    "g.V().hasLabel('red').count()",
    "g.V().hasLabel('big').count()",
    "g.V().hasLabel('big', 'blue').count()",
    "g.V().has('n', gt(25)).count()",
    "g.E().has('weight', lt(9)).count()",
    "g.E().hasLabel('path').count()",
    "g.V().values('n').sum()",
    "g.V().out().out().count()",
    "g.V().group().by(label).by(count()).unfold()",
    "g.V().out().groupCount().by('n').unfold()",
    "g.V('v3').repeat(out()).times(3).dedup().id()",
    "g.V('v2').repeat(both()).times(2).has('n', gt(25)).where(out('path')).id()",
    "g.V().union(out('road').has('n', lt(10)).values('text'), has('n', gt(40)).where(outE()).id())",
    "g.V().out().has('n', gt(10)).values('text').dedup()",
];

fn assert_same(lake: &Database, on_nodes: &Database) {
    for text in IN_ORDER.iter().chain(&COUNTED) {
        let sorted = |mut lines: Vec<String>| {
            if COUNTED.contains(text) {
                lines.sort_unstable();
            }
            lines
        };
        let expected = answers(lake, text, &QueryOptions::default()).map(sorted);
        assert!(expected.is_ok(), "{text}: {expected:?}");
        assert_eq!(answers(on_nodes, text, &QueryOptions::default()).map(sorted), expected, "{text}");
        assert_eq!(answers(on_nodes, text, &stepwise()).map(sorted), expected, "{text}, step by step");
    }
}

#[test]
fn nodes_give_what_the_lake_gives() {
    let files = Files::new(1);
    let nodes = files.three();
    // The first one tells of the others.
    let (lake, on_nodes) = (files.open(), Database::connect(&address(&[&nodes[0]])).unwrap());
    assert_same(&lake, &on_nodes);
    assert_eq!(on_nodes.schema().unwrap(), lake.schema().unwrap());
    assert_eq!(on_nodes.stats().unwrap().file_bytes, lake.stats().unwrap().file_bytes);
    assert!(on_nodes.is_read_only());
    for rules_off in [vec![], stepwise().rules_off] {
        let options = QueryOptions { rules_off, ..QueryOptions::default() };
        let missing = "g.V('v1').values('n').math('_ / 0')";
        assert_eq!(answers(&on_nodes, missing, &options), answers(&lake, missing, &options));
    }
}

#[test]
fn nodes_run_steps_over_their_chunks() {
    let files = Files::new(2);
    let nodes = files.three();
    let on_nodes = Database::connect(&address(&[&nodes[0]])).unwrap();
    let text = "g.V().out('road').has('n', gt(30)).where(out('path')).values('text')";
    let profile = on_nodes.profile(text, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert!(profile.steps.iter().any(|step| step.messages.sent > 0), "{profile}");
}

fn chunks(node: &RunningLakeNode) -> BTreeSet<Chunk> {
    node.chunks_asked().into_iter().collect()
}

#[test]
fn each_chunk_is_read_at_the_node_with_the_greatest_weight() {
    let files = Files::new(3);
    let mut nodes = files.three();
    let on_nodes = Database::connect(&address(&[&nodes[0]])).unwrap();
    let names = ["node-0", "node-1", "node-2"];
    let all = ["g.V().values('n', 'text').count()", "g.E().values('weight').count()", "g.V().out().count()"];
    let read = || all.iter().for_each(|text| drop(answers(&on_nodes, text, &stepwise()).unwrap()));
    read();
    let first: Vec<_> = nodes.iter().map(chunks).collect();
    assert!(first.iter().map(BTreeSet::len).sum::<usize>() > 100);
    for (at, asked) in first.iter().enumerate() {
        assert!(!asked.is_empty(), "{} was asked for nothing", names[at]);
        assert!(asked.iter().all(|chunk| owner(names.into_iter(), chunk) == Some(at)), "{} was asked for others", names[at]);
    }
    // If one ends, its chunks go to those that come next, and no others move.
    drop(nodes.pop());
    read();
    for (at, node) in nodes.iter().enumerate() {
        let gained: Vec<Chunk> = chunks(node).difference(&first[at]).copied().collect();
        assert!(!gained.is_empty() && gained.iter().all(|chunk| first[2].contains(chunk)), "{}: {gained:?}", names[at]);
        assert!(gained.iter().all(|chunk| owner(names[..2].iter().copied(), chunk) == Some(at)));
    }
}

#[test]
fn answers_stay_the_same_while_nodes_end_and_come() {
    let files = Files::new(4);
    let mut nodes = files.three();
    let (lake, on_nodes) = (files.open(), Database::connect(&address(&[&nodes[0]])).unwrap());
    let text = "g.V().out().out().id()";
    let expected = answers(&lake, text, &QueryOptions::default()).unwrap();
    let mut stream = on_nodes.query(text, &Parameters::new(), &QueryOptions::default()).unwrap();
    let mut found = stream.next_described().unwrap().unwrap();
    drop(nodes.remove(1));
    while let Some(more) = stream.next_described().unwrap() {
        found.extend(more);
    }
    assert_eq!(found.iter().map(mangrove::json::to_string).collect::<Vec<_>>(), expected);
    assert_same(&lake, &on_nodes);

    let new = files.node("node-1", &[&nodes[1]]);
    let until = Instant::now() + PATIENCE;
    while new.chunks_asked().is_empty() {
        assert!(Instant::now() < until, "the new node is asked for nothing");
        assert_eq!(answers(&on_nodes, text, &stepwise()).unwrap(), expected);
        std::thread::sleep(Duration::from_millis(50));
    }
    // The client does not depend on the node that it has found first.
    drop(nodes);
    assert_same(&lake, &on_nodes);
    drop(new);
    let error = answers(&on_nodes, text, &QueryOptions::default()).unwrap_err();
    assert!(error.contains("no node of the lake"), "{error}");
}

#[test]
fn nodes_hear_of_each_other() {
    let files = Files::new(5);
    let nodes = files.three();
    let until = Instant::now() + PATIENCE;
    let names = |node: &RunningLakeNode| node.nodes().into_iter().map(|node| node.name).collect::<Vec<_>>();
    while !nodes.iter().all(|node| names(node) == ["node-0", "node-1", "node-2"]) {
        assert!(Instant::now() < until, "{:?}", nodes.iter().map(names).collect::<Vec<_>>());
        std::thread::sleep(Duration::from_millis(50));
    }
    let found = cluster::lake_nodes(&parsed(&address(&[&nodes[2]]))).unwrap().unwrap();
    let names: Vec<_> = found.iter().map(|found| (found.node.name.as_str(), found.hello.is_ok())).collect();
    assert_eq!(names, [("node-0", true), ("node-1", true), ("node-2", true)]);
}

/// The same lake in another directory. Its files are written anew.
fn copied(files: &Files) -> Files {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            let to = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy(&entry.path(), &to),
                false => std::fs::write(to, std::fs::read(entry.path()).unwrap()).unwrap(),
            }
        }
    }
    let home = tempfile::tempdir().unwrap();
    let (from, to) = (files.file.parent().unwrap(), home.path().join("air"));
    copy(from, &to);
    Files { file: to.join(files.file.file_name().unwrap()), home }
}

#[test]
fn nodes_with_other_files_do_not_count() {
    let files = Files::new(6);
    let (other, copy) = (Files::new(7), copied(&files));
    let first = files.node("node-0", &[]);
    for others in [&other, &copy] {
        let refused = others.node_at("127.0.0.1:0", "node-1", &[&first]).err().map(|error| error.to_string());
        assert!(refused.as_ref().is_some_and(|error| error.contains("has other files of the lake")), "{refused:?}");
        let same_name = others.node_at("127.0.0.1:0", "node-0", &[&first]).err().map(|error| error.to_string());
        assert!(same_name.as_ref().is_some_and(|error| error.contains("is called node-0, too")), "{same_name:?}");
        // One that has not met the first, because nobody has said where that is.
        let stranger = others.node("node-1", &[]);
        let both = address(&[&first, &stranger]);
        assert_same(&files.open(), &Database::connect(&both).unwrap());
        assert!(chunks(&stranger).is_empty());
        let found = cluster::lake_nodes(&parsed(&both)).unwrap().unwrap();
        let wrong = found.iter().filter_map(|found| found.hello.as_ref().err()).map(ToString::to_string).collect::<Vec<_>>();
        assert!(wrong.len() == 1 && wrong[0].contains("has other files of the lake"), "{wrong:?}");
    }
}

/// Files of the lake whose paths end so, anywhere below its directory.
fn files_below(directory: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files_below(&entry.path(), end)),
            false if entry.path().to_string_lossy().ends_with(end) => found.push(entry.path()),
            false => {}
        }
    }
    found
}

#[test]
fn a_node_with_another_description_of_a_type_does_not_start() {
    for kind in [".vertex.yml", ".edge.yml"] {
        let files = Files::new(12);
        let first = files.node("node-0", &[]);
        drop(files.node("node-1", &[&first]));
        let described = files_below(files.file.parent().unwrap(), kind).pop().unwrap();
        let text = std::fs::read_to_string(&described).unwrap();
        std::fs::write(&described, text + "\n# another description\n").unwrap();
        let refused = files.node_at("127.0.0.1:0", "node-1", &[&first]).err().map(|error| error.to_string());
        assert!(refused.as_ref().is_some_and(|error| error.contains("has other files of the lake")), "{refused:?}");
    }
}

#[test]
fn a_file_that_changes_before_it_is_opened_is_noticed() {
    let files = Files::new(13);
    let node = files.node("node-0", &[]);
    let on_nodes = Database::connect(&address(&[&node])).unwrap();
    for file in files_below(&files.file.parent().unwrap().join("vertex"), "") {
        std::fs::write(&file, std::fs::read(&file).unwrap()).unwrap();
    }
    let error = answers(&on_nodes, "g.V().values('n')", &stepwise()).unwrap_err();
    assert!(error.contains("has changed since the graph was opened"), "{error}");
}

#[test]
fn nodes_with_other_files_end_too() {
    let (files, other) = (Files::new(14), Files::new(15));
    let nodes = [files.node("node-0", &[]), other.node("node-1", &[])];
    let at = parsed(&address(&[&nodes[0], &nodes[1]]));
    let ending = std::thread::spawn(move || cluster::stop(&at));
    let until = Instant::now() + PATIENCE;
    while !nodes.iter().all(RunningLakeNode::is_asked_to_stop) {
        assert!(Instant::now() < until, "not all nodes were told to end");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(nodes);
    assert_eq!(ending.join().unwrap().unwrap(), ["node-0", "node-1"]);
}

#[test]
fn a_new_state_of_the_files_is_seen_after_a_refresh() {
    let (old, new) = (Files::new(8), Files::new(9));
    let node = old.node("node-0", &[]);
    let at = node.address().to_string();
    let on_nodes = Database::connect(&address(&[&node])).unwrap();
    assert_same(&old.open(), &on_nodes);
    drop(node);
    let until = Instant::now() + PATIENCE;
    let _node = loop {
        // The one before it may still listen for a moment.
        match new.node_at(&at, "node-0", &[]) {
            Ok(node) => break node,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    loop {
        // The first errors may tell of the connection that has ended.
        let error = answers(&on_nodes, "g.V().values('n')", &QueryOptions::default()).unwrap_err();
        if error.contains("has other files of the lake") {
            break;
        }
        assert!(Instant::now() < until, "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
    on_nodes.refresh().unwrap();
    assert_same(&new.open(), &on_nodes);
}

#[test]
fn what_a_lake_cannot_do_is_refused_with_a_reason() {
    let files = Files::new(10);
    let node = files.node("node-0", &[]);
    let (at, lake) = (address(&[&node]), files.open());
    let on_nodes = Database::connect(&at).unwrap();
    let write = "g.addV('red').property('n', 1)";
    let refused = answers(&on_nodes, write, &QueryOptions::default()).unwrap_err();
    assert_eq!(refused, answers(&lake, write, &QueryOptions::default()).unwrap_err());
    let said = |outcome: Result<(), StoreError>| outcome.err().map(|error| error.to_string()).unwrap_or_default();
    let checked = said(on_nodes.check().map(drop));
    assert!(checked.contains("`mangrove check`"), "{checked}");
    let copied = said(on_nodes.backup(files.home.path().join("copy")));
    assert!(copied.contains("copy their directory"), "{copied}");
    let address = parsed(&at);
    let mut watching = Watching { show: &mut |_, _| {}, is_cancelled: &|| false };
    let moved = cluster::move_shard(&address, 0, None, "node-1", &mut watching).unwrap_err().to_string();
    assert!(moved.contains("air is a lake: its nodes keep no shards and no log"), "{moved}");
    let removed = cluster::remove(&address, "node-0").unwrap_err().to_string();
    assert!(removed.contains("air is a lake"), "{removed}");
    let elsewhere = address.to_string().replace("/air", "/rail");
    let other = Database::connect(&elsewhere).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(other.contains("has the graph air, not rail"), "{other}");
    assert!(!node.is_asked_to_stop());
    assert!(cluster::lake_nodes(&address).unwrap().is_some());
}

#[test]
fn nodes_end_when_they_are_told_to() {
    let files = Files::new(11);
    let nodes = files.three();
    let at = parsed(&address(&[&nodes[0]]));
    let ending = std::thread::spawn(move || cluster::stop(&at));
    let until = Instant::now() + PATIENCE;
    while !nodes.iter().all(RunningLakeNode::is_asked_to_stop) {
        assert!(Instant::now() < until, "not all nodes were told to end");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(nodes);
    assert_eq!(ending.join().unwrap().unwrap(), ["node-0", "node-1", "node-2"]);
}
