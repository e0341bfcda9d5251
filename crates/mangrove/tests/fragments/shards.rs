//! Queries that are read shard by shard: all shards together give what the query gives.

use std::thread::sleep;
use std::time::{Duration, Instant};

use mangrove::{Bookmark, Database, Parameters, QueryOptions, ShardAt, Shards};

use super::{Cluster, answers, bag, load, shown};

/// What is passed to the queries that have variables.
fn parameters(text: &str) -> Parameters {
    let low = text.contains("low").then(|| ("low".to_owned(), 20.into()));
    low.into_iter().collect()
}

fn split(db: &Database, text: &str) -> Shards {
    db.shards(text, &parameters(text), &QueryOptions::default()).unwrap_or_else(|error| panic!("{text}: {}", shown(error)))
}

fn apart(db: &Database, text: &str) -> (u16, Bookmark) {
    match split(db, text) {
        Shards::Apart { count, at } => (count, at),
        Shards::Whole { why } => panic!("{text}: {why}"),
    }
}

fn why(db: &Database, text: &str) -> String {
    match split(db, text) {
        Shards::Whole { why } => why,
        Shards::Apart { .. } => panic!("{text} can be split"),
    }
}

/// What a shard gives, as text.
fn of_shard(db: &Database, text: &str, shard: u16, at: Bookmark) -> Result<Vec<String>, String> {
    let on_shard = db.on_shard(ShardAt { shard, at });
    let mut stream = on_shard.query(text, &parameters(text), &QueryOptions::default()).map_err(shown)?;
    let results = stream.results().map_err(shown)?;
    Ok((0..results.len()).map(|row| mangrove::json::to_string(&results.get(row))).collect())
}

/// What the whole query gives, without order.
fn whole(db: &Database, text: &str) -> Vec<String> {
    let mut stream = db.query(text, &parameters(text), &QueryOptions::default()).expect(text);
    let results = stream.results().expect(text);
    sorted((0..results.len()).map(|row| mangrove::json::to_string(&results.get(row))).collect())
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_unstable();
    lines
}

const SPLIT: [&str; 23] = [
    "g.V().id()",
    "g.V().hasLabel('red')",
    "g.V().hasLabel('red', 'blue').values('n', 'text')",
    "g.V().has('red', 'n', gt(low)).values('text')",
    "g.V().has('n', lt(9)).id()",
    "g.V().hasLabel('green').out('road').has('n', lt(20)).values('text')",
    "g.V().out().out('path').id()",
    "g.V().barrier().both('road').id()",
    "g.E().id()",
    "g.E().hasLabel('road').has('weight', lt(low)).inV().id()",
    "g.E().has('weight', 3).outV().values('n')",
    "g.E().hasLabel('path').project('from', 'to').by(outV().id()).by(inV().id())",
    "g.V().where(outE().count().is(gt(5))).elementMap('n')",
    "g.V().where(out('road').has('n', within(3, 4, 5, 6))).id()",
    "g.V().as('a').out('road').as('b').select('a', 'b').by(id)",
    "g.V().union(out('road').id(), in('path').values('n'))",
    "g.V().repeat(out('road')).times(2).emit().id()",
    "g.V().repeat(out('path')).until(or(has('n', lt(low)), loops().is(3))).id()",
    "g.V().local(out().order().by('n').by(id).limit(1)).id()",
    "g.V().choose(has('n', gt(low)), out('road'), in('road')).id()",
    "g.V().coalesce(out('path'), identity()).path().by(id)",
    "g.withSack(1).V().out('road').sack(sum).by('n').sack()",
    "g.V().has('red', 'n', lt(low)).V().hasLabel('blue').id()",
];

#[test]
fn the_shards_of_a_query_make_the_whole() {
    for (nodes, shards) in [(1, 1), (2, 2), (2, 3)] {
        let cluster = Cluster::start(nodes, 1, shards);
        let db = cluster.connect();
        load(&db, u64::from(shards));
        for indexed in [false, true] {
            if indexed {
                assert!(db.create_index(None, "red", "n").unwrap());
            }
            for text in SPLIT {
                let (count, at) = apart(&db, text);
                assert_eq!(count, shards, "{text}");
                let each: Vec<Vec<String>> = (0..count).map(|shard| of_shard(&db, text, shard, at).expect(text)).collect();
                let expected = whole(&db, text);
                assert!(!expected.is_empty(), "{text}");
                assert_eq!(sorted(each.concat()), expected, "{text}, {shards} shards, with an index: {indexed}");
            }
            assert!((0..shards).all(|shard| {
                let (_, at) = apart(&db, "g.V().id()");
                !of_shard(&db, "g.V().id()", shard, at).unwrap().is_empty()
            }));
        }
    }
}

#[test]
fn what_needs_all_traversers_is_read_as_a_whole() {
    let cluster = Cluster::start(2, 1, 2);
    let db = cluster.connect();
    load(&db, 5);
    let (_, at) = apart(&db, "g.V()");
    for (text, because) in [
        ("g.V().count()", "looks at all traversers together"),
        ("g.V().order().by('n').id()", "looks at all traversers together"),
        ("g.V().out().limit(3)", "looks at all traversers together"),
        ("g.V().out().dedup()", "looks at all traversers together"),
        ("g.V().values('n').fold()", "looks at all traversers together"),
        ("g.V().values('n').sum()", "looks at all traversers together"),
        ("g.V().groupCount().by('n')", "looks at all traversers together"),
        ("g.V().union(out().limit(2), in())", "looks at all traversers together"),
        ("g.V().repeat(out().dedup()).times(2)", "looks at all traversers together"),
        ("g.V('v1').out()", "names by id"),
        ("g.inject(1, 2)", "does not begin with V() or E()"),
        ("g.V().aggregate('x').out()", "keep something for other steps"),
        ("g.V().coin(0.5)", "chance"),
        ("g.withSack(1, sum).V().out().sack()", "sacks are merged"),
        ("g.withBulk(false).V().out()", "withBulk(false)"),
        ("g.addV('red')", "may change the graph"),
    ] {
        let why = why(&db, text);
        assert!(why.contains(because), "{text}: {why}");
        let error = of_shard(&db, text, 0, at).expect_err(text);
        assert!(error.contains("as a whole"), "{text}: {error}");
    }
    assert!(db.shards("g.V().outt()", &Parameters::new(), &QueryOptions::default()).is_err());
}

#[test]
fn all_shards_are_read_at_one_commit_while_others_write() {
    let cluster = Cluster::start(2, 1, 3);
    let (db, other) = (cluster.connect(), cluster.connect());
    load(&db, 6);
    let text = "g.V().hasLabel('red').out('road').values('n')";
    let (before, (count, at)) = (whole(&db, text), apart(&db, text));
    let mut given = Vec::new();
    for shard in 0..count {
        let write = "g.addV('red').property(id, number).addE('road').to(__.V('v1'))";
        let new = Parameters::from([("number".to_owned(), i64::from(shard).into())]);
        other.query(write, &new, &QueryOptions::default()).unwrap();
        // Another connection finds the commit at the nodes.
        let reader = if shard % 2 == 0 { &db } else { &other };
        given.extend(of_shard(reader, text, shard, at).unwrap());
    }
    assert_eq!(sorted(given), before);
    assert_eq!(whole(&db, text).len(), before.len() + usize::from(count));
}

#[test]
fn a_shard_that_is_not_there_is_named() {
    let cluster = Cluster::start(1, 1, 2);
    let db = cluster.connect();
    load(&db, 7);
    let (_, at) = apart(&db, "g.V()");
    assert!(of_shard(&db, "g.V()", 2, at).unwrap_err().contains("no shard 2"));
    let foreign = Bookmark { graph: at.graph ^ 1, ..at };
    assert!(of_shard(&db, "g.V()", 0, foreign).unwrap_err().contains("another graph"));
    assert!(of_shard(&db, "g.V()", 0, Bookmark { number: at.number + 1000, ..at }).is_err());
    let home = tempfile::tempdir().unwrap();
    let embedded = Database::open(home.path().join("embedded")).unwrap();
    assert!(why(&embedded, "g.V()").contains("no graph on nodes"));
    assert!(of_shard(&embedded, "g.V()", 0, at).unwrap_err().contains("no graph on nodes"));
}

#[test]
fn a_commit_that_is_gone_says_so() {
    let cluster = Cluster::start(1, 1, 2);
    let db = cluster.connect();
    load(&db, 8);
    let (old, deadline) = (db.bookmark().unwrap(), Instant::now() + Duration::from_secs(60));
    loop {
        answers(&db, "g.addV('later').id()", &QueryOptions::default()).unwrap();
        match of_shard(&db, "g.V().id()", 0, old) {
            Err(error) if error.contains("is gone") => {
                assert!(error.contains("Split the query again"), "{error}");
                break;
            }
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
        sleep(Duration::from_millis(50));
    }
    assert!(!bag(&db, "g.V().id()", &QueryOptions::default()).unwrap().is_empty());
}

/// A process keeps 64 commits for others. The one that was read the longest time ago goes first.
#[test]
fn the_commits_that_were_read_last_are_kept() {
    let cluster = Cluster::start(1, 1, 2);
    let db = cluster.connect();
    load(&db, 9);
    let text = "g.V().id()";
    let next = || {
        answers(&db, "g.addV('later').id()", &QueryOptions::default()).unwrap();
        apart(&db, text).1
    };
    let (read, unread) = (next(), next());
    for _ in 0..64 {
        of_shard(&db, text, 0, read).unwrap();
        next();
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while !of_shard(&db, text, 0, unread).is_err_and(|error| error.contains("is gone")) {
        assert!(Instant::now() < deadline, "it is still kept");
        sleep(Duration::from_millis(50));
    }
    of_shard(&db, text, 0, read).unwrap();
}
