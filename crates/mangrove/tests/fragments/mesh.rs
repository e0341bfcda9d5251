//! Traversers that go from node to node.

use super::*;

const MANY: u64 = 1_000;

/// Queries whose traversers go from node to node.
const GOING: [&str; 20] = [
    "g.V().out().out().dedup().count()",
    "g.V().out().out().count()",
    "g.V().out('road').in('path').out('road').count()",
    "g.V('v1').out().out().out().out().out().dedup().count()",
    "g.V('v1').repeat(both()).times(6).dedup().count()",
    "g.V('v1').repeat(both()).times(6).emit().dedup().count()",
    "g.V('v1', 'v1', 'v2').emit().repeat(out()).times(6).count()",
    "g.V('v2').repeat(both().dedup()).times(6).count()",
    "g.V().out().has('n', gt(10)).values('n').max()",
    "g.V().out().has('n', gt(10)).values('text').min()",
    "g.V().out().values('n').sum()",
    "g.V().in().values('n').mean()",
    "g.V().out().has('n', gt(10)).values('text').dedup().count()",
    "g.V().outE().has('weight', gt(5)).inV().out().dedup().count()",
    "g.V().bothE().dedup().count()",
    "g.V().inE().has('weight').outV().dedup().count()",
    "g.E().has('weight').inV().where(out('road')).dedup().count()",
    "g.V().hasLabel('red').out().out().has('n', gt(20)).out().count()",
    "g.V().outE().has('weight').values('weight').sum()",
    "g.V().out().out().valueMap('n').count()",
];

/// Queries that end in a map of which each node makes its part, or in a sorted list of which each node has its first.
const IN_PARTS: [&str; 18] = [
    "g.V().out().groupCount().by('n').unfold()",
    "g.V().out().out().groupCount().by('n').unfold()",
    "g.V().out().groupCount().by('text').order(local).by(keys)",
    "g.V().out().groupCount().unfold().select(keys).id()",
    "g.V().out().groupCount().by(label).unfold()",
    "g.V().out().out().groupCount().by(id).order(local).by(values, desc).by(keys).limit(local, 20)",
    "g.V().out().groupCount().by(out('road').count()).unfold()",
    "g.V().outE().groupCount().by('weight').unfold()",
    "g.V().out().group().by('text').by(count()).unfold()",
    "g.V().out().group().by('text').by(values('n').sum()).unfold()",
    "g.V().out().has('n', gt(10)).group().by('text').by(values('n').mean()).unfold()",
    "g.V().out().group().by(label).by(values('text').max()).unfold()",
    "g.V().repeat(both()).times(3).dedup().groupCount().by('text').unfold()",
    "g.V().out().out().order().by('n').by(id).limit(10).id()",
    "g.V().out().order().by('n', desc).by(id).limit(12).values('text')",
    "g.V().out().values('n').order().limit(30)",
    "g.V().out().values('text').order().by(desc).limit(30)",
    "g.V().out().out().dedup().order().by(out('road').count(), desc).by(id).limit(5).id()",
];

/// Queries of which nodes run nothing in this way: somebody sees the order, few traversers move, or steps ask for more than an element.
const COMING_BACK: [&str; 12] = [
    "g.V('v1').out().out().dedup().count()",
    "g.V().out().out().dedup().id()",
    "g.V().out().groupCount().by('n').unfold().limit(100).count()",
    "g.V().out().out().order().by('n').limit(10).values('n')",
    "g.V().as('a').out().out().where(neq('a')).count()",
    "g.V().out().simplePath().count()",
    "g.V().repeat(out()).until(or(has('n', gt(40)), loops().is(3))).count()",
    "g.withSack(0).V().out().out().sack(sum).by('n').count()",
    "g.V().out().limit(20).count()",
    "g.V().count()",
    "g.V('v1', 'v2').V().out().count()",
    "g.V().out().out().coalesce(values('n'), constant(0.5)).sum()",
];

/// Queries of which the nodes run some steps, or refuse them: vertices and edges together, and scans in a repeat.
const EITHER: [&str; 4] = [
    "g.V().out().out().inE('road').has('weight', gt(5)).values('weight').mean()",
    "g.E().emit().repeat(outV()).times(1).dedup().count()",
    "g.V().emit().repeat(bothE()).times(1).dedup().count()",
    "g.V('v1', 'v2').repeat(V()).times(1).out().count()",
];

fn mesh_off() -> QueryOptions {
    QueryOptions { rules_off: vec!["mesh".into()], ..QueryOptions::default() }
}

/// Whether the explanation says that traversers go from node to node.
fn goes(db: &Database, text: &str, options: &QueryOptions) -> bool {
    let explained = db.explain(text, &Parameters::new(), options).unwrap_or_else(|error| panic!("{text}: {error}"));
    explained.to_string().contains("from node to node")
}

#[test]
fn traversers_that_go_from_node_to_node_give_what_one_process_gives() {
    beside_one_process(
        21,
        |db, seed| load_many(db, seed, MANY),
        |db, alone, shape, _| {
            for text in GOING {
                let what = format!("{text}{shape}");
                let expected = answers(alone, text, &QueryOptions::default());
                assert!(expected.is_ok(), "{what}: {expected:?}");
                assert_eq!(answers(db, text, &QueryOptions::default()), expected, "{what}");
                assert_eq!(answers(db, text, &mesh_off()), expected, "{what}");
                assert!(goes(db, text, &QueryOptions::default()) && !goes(db, text, &mesh_off()), "{what}");
                let without_fragments = sent(db, text, &off());
                assert!(without_fragments > 0, "{what}: the nodes did not come to the end");
                assert!(!goes(alone, text, &QueryOptions::default()), "{what}");
            }
            for text in IN_PARTS {
                let what = format!("{text}{shape}");
                let expected = bag(alone, text, &QueryOptions::default());
                assert!(expected.as_ref().is_ok_and(|lines| !lines.is_empty()), "{what}: {expected:?}");
                assert_eq!(bag(db, text, &QueryOptions::default()), expected, "{what}");
                assert_eq!(bag(db, text, &mesh_off()), expected, "{what}");
                let explained = db.explain(text, &Parameters::new(), &QueryOptions::default()).unwrap().to_string();
                assert!(explained.contains("in parts at the nodes"), "{what}: {explained}");
                assert!(sent(db, text, &off()) > 0, "{what}: the nodes did not come to the end");
            }
            for text in COMING_BACK {
                let what = format!("{text}{shape}");
                assert!(!goes(db, text, &QueryOptions::default()), "{what}");
                assert_eq!(bag(db, text, &QueryOptions::default()), bag(alone, text, &QueryOptions::default()), "{what}");
            }
            for text in EITHER {
                let what = format!("{text}{shape}");
                assert_eq!(
                    answers(db, text, &QueryOptions::default()),
                    answers(alone, text, &QueryOptions::default()),
                    "{what}"
                );
            }
        },
    );
}

#[test]
fn few_messages_and_bytes_go_from_node_to_node() {
    let cluster = Cluster::start(3, 1, 6);
    let db = cluster.connect();
    load_many(&db, 26, MANY);
    let text = "g.V().out().out().dedup().count()";
    sent(&db, text, &off()); // now the nodes know the schema
    let profile = db.profile(text, &Parameters::new(), &off()).unwrap();
    let messages = profile.steps.iter().map(|step| step.messages).find(|messages| messages.sent > 0).unwrap();
    let (hops, nodes, edges) = (2, 3, 5 * MANY);
    // The last ones are those of the client: a node begins, and hears that all have.
    assert!(messages.sent <= hops * nodes * nodes + 3 * nodes, "{messages:?}");
    assert!(messages.bytes <= 10 * edges, "{messages:?}");
}

#[test]
fn traversers_see_what_was_written_before() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load_many(&db, 27, MANY);
    let parameters = Parameters::new();
    for number in 1..=5 {
        // The label is new, and so is the schema.
        let write = format!("g.V().hasLabel('red').addE('l{number}').to(__.V('v1'))");
        db.query(&*write, &parameters, &QueryOptions::default()).unwrap();
        let read = format!("g.V().out().out('l{number}').dedup().count()");
        assert_eq!(answers(&db, &read, &QueryOptions::default()).unwrap(), ["1"]);
        assert!(sent(&db, &read, &off()) > 0);
    }
}

#[test]
fn errors_and_warnings_are_those_of_the_query_step_by_step() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load_many(&db, 28, MANY);
    let failing = "g.V().out().values('text').sum()";
    assert!(goes(&db, failing, &QueryOptions::default()));
    let error = answers(&db, failing, &QueryOptions::default()).unwrap_err();
    assert_eq!(error, answers(&db, failing, &mesh_off()).unwrap_err());
    let warnings = |options: &QueryOptions| {
        let text = "g.V().out().has('m', 1).count()";
        let mut stream = db.query(text, &Parameters::new(), options).unwrap();
        stream.values().unwrap();
        stream.warnings().to_vec()
    };
    assert_eq!(warnings(&QueryOptions::default()), warnings(&mesh_off()));
    assert!(!warnings(&mesh_off()).is_empty());
}

#[test]
fn a_node_that_ends_changes_no_result() {
    let mut cluster = Cluster::start(3, 2, 6);
    let db = cluster.connect();
    load_many(&db, 29, MANY);
    let ask = |options: &QueryOptions| GOING.map(|text| answers(&db, text, options));
    let expected = ask(&mesh_off());
    assert!(expected.iter().all(Result::is_ok), "{expected:?}");
    assert_eq!(ask(&QueryOptions::default()), expected);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            for _ in 0..3 {
                for (given, expected) in ask(&QueryOptions::default()).iter().zip(&expected) {
                    assert!(given == expected || given.is_err(), "{given:?} instead of {expected:?}");
                }
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        drop(cluster.nodes.remove(1));
        asking.join().unwrap();
    });
    for _ in 0..3 {
        assert_eq!(ask(&QueryOptions::default()), expected);
    }
}

#[test]
fn who_stops_leaves_nothing_at_the_nodes() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load_many(&db, 30, MANY);
    let text = "g.V().repeat(both()).times(12).dedup().count()";
    assert!(goes(&db, text, &QueryOptions::default()));
    let expected = answers(&db, text, &mesh_off()).unwrap();
    let counted = |values: Vec<mangrove::Value>| values.iter().map(ToString::to_string).collect::<Vec<_>>();
    let run = |options: &QueryOptions| db.query(text, &Parameters::new(), options).and_then(|mut stream| stream.values());
    let mut late = 0;
    // More than the jobs that a node takes at a time.
    for number in 0..100u64 {
        let timeout = Duration::from_micros(100 + 400 * number);
        match run(&QueryOptions { timeout: Some(timeout), ..QueryOptions::default() }) {
            Ok(values) => assert_eq!(counted(values), expected),
            Err(QueryError::Query(failure)) => {
                assert_eq!(failure.kind, QueryErrorKind::Timeout);
                late += 1;
            }
            Err(_) => late += 1, // before the query began
        }
    }
    assert!(late > 0, "nothing takes so little time");
    for number in 0..100u64 {
        let cancel = CancelToken::default();
        let options = QueryOptions { cancel: cancel.clone(), ..QueryOptions::default() };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_micros(400 * number));
                cancel.cancel();
            });
            match run(&options) {
                Ok(values) => assert_eq!(counted(values), expected),
                Err(QueryError::Query(failure)) => assert_eq!(failure.kind, QueryErrorKind::Cancelled),
                Err(_) => {} // before the query began
            }
        });
    }
    assert_eq!(answers(&db, text, &QueryOptions::default()).unwrap(), expected);
    assert!(sent(&db, GOING[0], &off()) > 0, "the nodes take new jobs");
}

#[test]
fn with_little_memory_results_and_errors_are_the_same() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load_many(&db, 31, MANY);
    for bytes in [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 26] {
        let all = "g.V().out().groupCount().by(id).order(local).by(keys)";
        for text in [GOING[0], GOING[4], GOING[7], GOING[12], GOING[19], IN_PARTS[5], IN_PARTS[13], all] {
            let little = QueryOptions { memory_bytes_max: bytes, ..QueryOptions::default() };
            let without = QueryOptions { rules_off: vec!["mesh".into()], ..little.clone() };
            let stepwise = answers(&db, text, &without);
            let given = answers(&db, text, &little);
            // The nodes together may hold more than the client alone, but never give anything else.
            assert!(
                given == stepwise || stepwise.is_err() && given.is_ok(),
                "{text} in {bytes} bytes: {given:?}, {stepwise:?}"
            );
            if given.is_ok() {
                assert_eq!(given, answers(&db, text, &mesh_off()), "{text} in {bytes} bytes");
            }
        }
    }
}
