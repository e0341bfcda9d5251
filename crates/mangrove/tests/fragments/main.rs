//! Steps of queries at the nodes of a graph: they give what one process gives, and end as it does.

mod homes;
mod lookups;
mod mesh;
mod shards;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove::cluster::{Log, NodeConfig, RunningNode, make_graph, shards_of_node};
use mangrove::ingest::Quiet;
use mangrove::{CancelToken, Database, IdSpace, LoadOptions, Parameters, QueryError, QueryErrorKind, QueryOptions};
use mangrove_cluster::log::MemoryLog;
use mangrove_testkit::graphs::Random;
use tempfile::TempDir;

/// Nodes of this process, which are connected as others are.
struct Cluster {
    nodes: Vec<RunningNode>,
    address: String,
    _home: TempDir,
}

impl Cluster {
    fn start(count: u16, replicas: u16, shards: u16) -> Self {
        let (home, log) = (tempfile::tempdir().unwrap(), MemoryLog::default());
        let shared: Arc<dyn Log> = Arc::new(log.clone());
        make_graph(&shared, "test", shards, IdSpace::Graph).unwrap();
        let node = |number: u16| {
            let config = NodeConfig {
                name: format!("node-{number}"),
                data: home.path().join(number.to_string()),
                shards: shards_of_node(number, count, replicas, shards).unwrap(),
                listen: "127.0.0.1:0".parse().unwrap(),
                advertise: None,
                tls: None,
                log: Arc::new(log.clone()),
                store: None,
                is_cancelled: &|| false,
            };
            RunningNode::start(config).unwrap()
        };
        let nodes: Vec<RunningNode> = (0..count).map(node).collect();
        let addresses: Vec<String> = nodes.iter().map(|node| node.address().to_string()).collect();
        Self { nodes, address: format!("mangrove://{}/test", addresses.join(",")), _home: home }
    }

    fn connect(&self) -> Database {
        Database::connect(&self.address).unwrap()
    }
}

const VERTICES: u64 = 120;

/// Vertices of three labels, each with a number, most with a text; edges of two labels, most with a weight. Some edges are loops, and some
/// lead where others do. Then some vertices go.
fn load(db: &Database, seed: u64) {
    load_many(db, seed, VERTICES);
}

fn load_many(db: &Database, seed: u64, vertices: u64) {
    let (home, mut random) = (tempfile::tempdir().unwrap(), Random::new(seed));
    let (mut nodes, mut lists) = ("id:ID,:LABEL,n:int,text\n".to_owned(), ":START_ID,:END_ID,:TYPE,weight:int\n".to_owned());
    for id in 0..vertices {
        let text = if random.below(4) == 0 { String::new() } else { format!("t{}", random.below(9)) };
        let label = ["red", "green", "blue"][random.below(3) as usize];
        writeln!(nodes, "v{id},{label},{},{text}", random.below(50)).unwrap();
    }
    for _ in 0..5 * vertices {
        let within = if random.below(3) == 0 { vertices / 10 } else { vertices };
        let weight = if random.below(5) == 0 { String::new() } else { random.below(20).to_string() };
        let label = ["road", "path"][random.below(2) as usize];
        writeln!(lists, "v{},v{},{label},{weight}", random.below(within), random.below(vertices)).unwrap();
    }
    let file = |name: &str, text: String| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = vec![file("nodes.csv", nodes), file("edges.csv", lists)];
    db.load(&LoadOptions { files, ..LoadOptions::default() }, &mut Quiet).unwrap();
    let remove = "g.V('v7', 'v19', 'v33').drop()";
    db.query(remove, &Parameters::new(), &QueryOptions::default()).unwrap();
}

fn off() -> QueryOptions {
    QueryOptions { rules_off: vec!["fragments".into()], ..QueryOptions::default() }
}

fn shown(error: QueryError) -> String {
    match error {
        QueryError::Query(failure) => failure.render(),
        error => error.to_string(),
    }
}

/// What a query gives, or its error, as text.
fn answers(db: &Database, text: &str, options: &QueryOptions) -> Result<Vec<String>, String> {
    let mut stream = db.query(text, &Parameters::new(), options).map_err(shown)?;
    let results = stream.results().map_err(shown)?;
    Ok((0..results.len()).map(|at| mangrove::json::to_string(&results.get(at))).collect())
}

/// The same without order.
fn bag(db: &Database, text: &str, options: &QueryOptions) -> Result<Vec<String>, String> {
    answers(db, text, options).map(|mut lines| {
        lines.sort_unstable();
        lines
    })
}

/// Runs a test over graphs on nodes of several shapes, each beside a database of this process with the same data: both, what the shape is in
/// words, and the number of shards.
fn beside_one_process(seed: u64, load: impl Fn(&Database, u64), test: impl Fn(&Database, &Database, &str, u16)) {
    for (count, replicas, shards, seed) in
        [(1, 1, 1, seed), (1, 1, 8, seed + 1), (2, 1, 3, seed + 2), (3, 1, 8, seed + 3), (3, 2, 6, seed + 4)]
    {
        let home = tempfile::tempdir().unwrap();
        let alone = Database::open(home.path().join("db")).unwrap();
        let cluster = Cluster::start(count, replicas, shards);
        let db = cluster.connect();
        load(&alone, seed);
        load(&db, seed);
        test(&db, &alone, &format!(" on {count} nodes with {shards} shards"), shards);
    }
}

/// How many messages nodes have run for a query.
fn sent(db: &Database, text: &str, options: &QueryOptions) -> u64 {
    let profile = db.profile(text, &Parameters::new(), options).unwrap_or_else(|error| panic!("{text}: {error}"));
    profile.steps.iter().map(|step| step.messages.sent).sum()
}

/// Queries of which nodes run some steps.
const SHIPPED: [&str; 35] = [
    "g.V('v1').out().has('n', gt(10)).values('text')",
    "g.V('v1').in().has('n', lt(40)).values('n', 'text')",
    "g.V().hasLabel('red').where(out('road')).values('text')",
    "g.V().where(out('road').count().is(gt(2))).values('n')",
    "g.V().and(out('road'), in('path')).id()",
    "g.V().or(out('road').count().is(gt(6)), has('n', 3)).id()",
    "g.V().not(out('path')).values('text')",
    "g.V().outE('road').has('weight', gt(5)).inV().id()",
    "g.V().outE().has('weight').values('weight')",
    "g.V().outE('path').has('weight', lt(9)).outV().values('n')",
    "g.V().out().has('text').where(inE('road')).values('text')",
    "g.V().out('road').has('n', gt(20)).out('path').has('n', lt(20)).id()",
    "g.V().project('n', 'roads').by('n').by(out('road').count())",
    "g.V().out().project('id', 'n').by(id).by('n')",
    "g.V().has('text').project('in', 'out').by(inE().count()).by(outE().count())",
    "g.V().as('a').out('road').has('n', gt(30)).values('text').as('b').select('a', 'b').by(id).by()",
    "g.V().as('a').out('road').as('b').has('n', gt(30)).where(out()).as('c').select('a', 'b', 'c').by('n')",
    "g.V().out('road').has('n', gt(30)).out('path').path().by(id)",
    "g.V().out().has('n', gt(40)).values('text').path().by(id).by(id).by()",
    "g.V().as('x').out().as('x').has('n', gt(30)).as('y').out('road').as('x').select(all, 'x').count(local)",
    "g.V('v2').repeat(out('road').has('n', gt(5)).where(out('path'))).times(2).id()",
    "g.V('v2').repeat(both()).times(2).has('n', gt(25)).where(out('path')).groupCount().by('text').unfold()",
    "g.V().union(out('road').has('n', lt(10)).values('text'), has('n', gt(40)).where(outE()).id())",
    "g.V().order().by('n').by(id).where(out('road')).values('n', 'text').limit(17)",
    "g.V().out().has('n', gt(10)).values('text').dedup().order()",
    "g.V().out().has('n', gt(10)).values('n').sum()",
    "g.V().out().has('n', gt(10)).values('n').max()",
    "g.V().out().has('n', gt(10)).where(out()).count()",
    "g.withSack(0).V().out().sack(sum).by('n').has('n', gt(35)).where(out('road')).sack()",
    "g.V().out().has('n', gt(25)).where(out('path')).group().by('text').by(count()).unfold()",
    "g.V().out('road').has('n', gt(5)).values('text').aggregate('t').cap('t').unfold().dedup()",
    "g.V().hasLabel('blue').out().hasLabel('red').has('n', gt(9)).map(values('n').math('_ * 2'))",
    "g.V('v1').values('n')",
    "g.V('v1').out().id()",
    "g.V('v1').out().out().dedup().id()",
];

/// Queries that read step by step.
const STEPWISE: [&str; 29] = [
    "g.V().count()",
    "g.E().count()",
    "g.V('v1').valueMap('n')",
    "g.V().hasLabel('red').id()",
    "g.V().has('n', gt(40)).id()",
    "g.V().has('n', 5).values('text')",
    "g.V().where(out().has('n', 3)).id()",
    "g.V().where(inE('road').has('weight', gt(15))).id()",
    "g.V().out().groupCount().by('n').unfold()",
    "g.V().group().by(label).by(count()).unfold()",
    "g.V().out('road').order().by('n').by(id).limit(10).id()",
    "g.V().as('a').out('road').where(neq('a')).id()",
    "g.V().as('a').out().as('b').select('a', 'b').by(id)",
    "g.V().out().path().by(id)",
    "g.V().out().simplePath().count()",
    "g.V('v3').repeat(out()).times(3).dedup().id()",
    "g.V('v3').emit().repeat(out('road')).times(2).values('n')",
    "g.V('v3').repeat(out('road')).until(or(has('n', gt(40)), loops().is(4))).dedup().id()",
    "g.V().local(out('road').order().by('n').by(id).limit(1)).id()",
    "g.V().coalesce(out('road'), out('path')).id()",
    "g.V().optional(out('road')).id()",
    "g.V().choose(has('n', gt(20)), out('road'), in('road')).id()",
    "g.V().match(__.as('a').out('road').as('b'), __.as('b').out('path').as('c')).select('a', 'c').by(id)",
    "g.E().has('weight', gt(10)).values('weight')",
    "g.E().hasLabel('road').outV().id()",
    "g.V().bothE('road').otherV().id()",
    "g.V().values('n').mean()",
    "g.V().fold().count(local)",
    "g.V().tail(3).count()",
];

#[test]
fn nodes_give_what_one_process_gives() {
    beside_one_process(1, load, |db, alone, shape, _| {
        for text in SHIPPED.iter().chain(&STEPWISE) {
            let what = format!("{text}{shape}");
            let stepwise = answers(db, text, &off());
            assert!(stepwise.is_ok(), "{what}: {stepwise:?}");
            assert_eq!(answers(db, text, &QueryOptions::default()), stepwise, "{what}");
            assert_eq!(bag(db, text, &off()), bag(alone, text, &off()), "{what}");
        }
        for text in SHIPPED {
            assert!(sent(db, text, &QueryOptions::default()) > 0, "{text} sends nothing");
            assert_eq!(sent(db, text, &off()), 0, "{text}");
            assert_eq!(sent(alone, text, &QueryOptions::default()), 0, "{text}");
        }
        for text in STEPWISE {
            assert_eq!(sent(db, text, &QueryOptions::default()), 0, "{text} is not worth a message");
        }
    });
}

#[test]
fn nodes_with_several_shards_get_one_message_for_all() {
    let cluster = Cluster::start(2, 1, 8);
    let db = cluster.connect();
    load(&db, 6);
    let text = "g.V('v1', 'v2', 'v3', 'v4', 'v5', 'v6').where(out()).values('n')";
    let messages = sent(&db, text, &QueryOptions::default());
    assert!((1..=2).contains(&messages), "{messages} messages");
    let profile = db.profile(text, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert!(profile.to_string().contains("to nodes"), "{profile}");
    let explained = db.explain(text, &Parameters::new(), &QueryOptions::default()).unwrap();
    assert!(explained.to_string().contains("on the nodes"), "{explained}");
    let explained = db.explain(text, &Parameters::new(), &off()).unwrap();
    assert!(!explained.to_string().contains("on the nodes"), "{explained}");
}

#[test]
fn a_query_sees_what_was_written_before_it() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load(&db, 7);
    for number in 0..20 {
        let write = format!("g.addV('new').property('k{number}', {number}).as('a').V('v1').addE('to').to('a')");
        db.query(&*write, &Parameters::new(), &QueryOptions::default()).unwrap();
        // The key is new, and so is the schema.
        let read = format!("g.V('v1').out('to').has('k{number}', gte(0)).where(__.in('to')).values('k{number}')");
        assert_eq!(answers(&db, &read, &QueryOptions::default()).unwrap(), [number.to_string()]);
        assert!(sent(&db, &read, &QueryOptions::default()) > 0);
    }
}

#[test]
fn warnings_and_errors_are_those_of_one_process() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load(&db, 8);
    let failing = "g.V().out().has('text').project('a', 'b').by(values('text').math('_ + 1')).by(out().count())";
    let error = answers(&db, failing, &QueryOptions::default()).unwrap_err();
    assert_eq!(error, answers(&db, failing, &off()).unwrap_err());
    let warnings = |options: &QueryOptions| {
        let text = "g.V('v1', 'v2', 'v3').has('n', gte(0)).out().has('m', 1).has('n', 'x').values('n')";
        let mut stream = db.query(text, &Parameters::new(), options).unwrap();
        stream.values().unwrap();
        stream.warnings().to_vec()
    };
    assert_eq!(warnings(&QueryOptions::default()), warnings(&off()));
    assert!(!warnings(&off()).is_empty());
}

/// Asks before and after the end of a node whose shards others have. The answers must be those of `stepwise` options, and nodes run steps of
/// the first query.
fn go_on_without_a_node(queries: &[&str], load: &dyn Fn(&Database), stepwise: &QueryOptions) {
    let mut cluster = Cluster::start(3, 2, 6);
    let db = cluster.connect();
    load(&db);
    let ask = |options: &QueryOptions| -> Vec<Vec<String>> {
        queries.iter().map(|text| answers(&db, text, options).unwrap()).collect()
    };
    let expected = ask(stepwise);
    assert_eq!(ask(&QueryOptions::default()), expected);
    drop(cluster.nodes.remove(1));
    for _ in 0..3 {
        assert_eq!(ask(&QueryOptions::default()), expected);
    }
    assert!(sent(&db, queries[0], &QueryOptions::default()) > 0, "others have its shards");
}

#[test]
fn queries_go_on_when_a_node_ends() {
    go_on_without_a_node(&SHIPPED, &|db| load(db, 9), &off());
}

/// Rounds that go on for long, each with steps that nodes run.
const ENDLESS: &str =
    "g.V().repeat(both().barrier().where(outE()).where(inE().count().is(gte(0)))).times(100000000).count()";

fn kind(outcome: Result<Vec<mangrove::Value>, QueryError>) -> QueryErrorKind {
    match outcome {
        Err(QueryError::Query(failure)) => failure.kind,
        other => panic!("{other:?}"),
    }
}

/// Runs a query that does not end, until it is late, and until it is cancelled.
fn stops(db: &Database, endless: &str) {
    let run = |options: &QueryOptions| {
        let began = Instant::now();
        let outcome = db.query(endless, &Parameters::new(), options).and_then(|mut stream| stream.values());
        assert!(began.elapsed() < Duration::from_secs(20));
        kind(outcome)
    };
    let late = QueryOptions { timeout: Some(Duration::from_millis(400)), ..QueryOptions::default() };
    assert_eq!(run(&late), QueryErrorKind::Timeout);
    let cancel = CancelToken::default();
    let stopped = QueryOptions { cancel: cancel.clone(), ..QueryOptions::default() };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            cancel.cancel();
        });
        assert_eq!(run(&stopped), QueryErrorKind::Cancelled);
    });
    assert!(answers(db, SHIPPED[0], &QueryOptions::default()).is_ok());
}

#[test]
fn who_cancels_or_is_late_waits_no_longer() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load(&db, 10);
    stops(&db, ENDLESS);
    stops(&db, &ENDLESS.replace("g.V()", "g.V('v1', 'v2').out()"));
}

#[test]
fn what_is_too_large_for_a_message_is_read_step_by_step() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load(&db, 11);
    let long = "x".repeat(20_000);
    let parameters = Parameters::from([("long".to_owned(), long.into())]);
    db.query("g.V().property('long', long)", &parameters, &QueryOptions::default()).unwrap();
    let text = "g.V().out().has('n', gte(0)).values('long').count()";
    // An eighth of this is less than what the steps give.
    let little = QueryOptions { memory_bytes_max: 40 << 20, ..QueryOptions::default() };
    let without = QueryOptions { rules_off: vec!["fragments".into()], ..little.clone() };
    assert_eq!(answers(&db, text, &little), answers(&db, text, &without));
    assert!(sent(&db, text, &little) > 0);
}
