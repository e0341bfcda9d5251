//! Queries that begin with ids: the nodes that have these vertices look them up, and run the steps behind.

use super::*;

/// Queries of which nodes look up the ids. Some vertices are not there.
const BY_ID: [&str; 14] = [
    "g.V('v1').values('n')",
    "g.V('v5', 'v2', 'v44', 'v1', 'v2').values('n', 'text')",
    "g.V('v1', 'nobody', 'v2', 'v7', 'nowhere').values('n')",
    "g.V('nobody').out().values('n')",
    "g.V('v1', 'v2', 'v3').out().id()",
    "g.V('v1').out('road').count()",
    "g.V('v4').both().values('n')",
    "g.V('v6', 'v7', 'v8').hasLabel('red', 'green', 'blue').has('n', gte(0)).id()",
    "g.V('v2').outE('road').has('weight', gt(3)).inV().id()",
    "g.V('v1', 'v3').project('n', 'roads').by('n').by(out('road').count())",
    "g.V('v1', 'v9').out().has('n', gt(5)).out('road').dedup().id()",
    "g.V('v6').out().as('b').values('n').as('c').select('b', 'c').by(id).by()",
    "g.withSack(1).V('v1', 'v2').out().sack(sum).by('n').sack()",
    "g.V().hasId('v8', 'v9').inE().count()",
];

pub(super) fn homes_off() -> QueryOptions {
    QueryOptions { rules_off: vec!["homes".into()], ..QueryOptions::default() }
}

/// What a query gives, and its warnings.
pub(super) fn told(db: &Database, text: &str, options: &QueryOptions) -> (Vec<String>, Vec<String>) {
    let mut stream = db.query(text, &Parameters::new(), options).unwrap_or_else(|error| panic!("{text}: {error}"));
    let results = stream.results().unwrap_or_else(|error| panic!("{text}: {error}"));
    let shown = (0..results.len()).map(|at| mangrove::json::to_string(&results.get(at))).collect();
    (shown, stream.warnings().to_vec())
}

#[test]
fn queries_by_id_give_what_one_process_gives() {
    beside_one_process(41, load, |db, alone, shape, _| {
        for text in BY_ID {
            let what = format!("{text}{shape}");
            let there = told(db, text, &QueryOptions::default());
            assert_eq!(there, told(db, text, &homes_off()), "{what}");
            assert_eq!(there.1, told(alone, text, &QueryOptions::default()).1, "{what}");
            assert_eq!(bag(db, text, &QueryOptions::default()), bag(alone, text, &QueryOptions::default()), "{what}");
            assert!(sent(db, text, &QueryOptions::default()) > 0, "{what}");
        }
        let warned = told(db, BY_ID[2], &QueryOptions::default()).1;
        assert!(warned.iter().any(|warning| warning.contains("nobody") && warning.contains("2 other ids")), "{warned:?}");
        let one = "g.V('v1').values('n')";
        assert_eq!((sent(db, one, &QueryOptions::default()), sent(db, one, &homes_off())), (1, 0));
    });
}

#[test]
fn explain_says_that_nodes_look_ids_up() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load(&db, 46);
    let is_there = |text: &str, options: &QueryOptions| {
        db.explain(text, &Parameters::new(), options).unwrap().to_string().contains("on the nodes")
    };
    assert!(is_there("g.V('v1').out()", &QueryOptions::default()));
    assert!(!is_there("g.V('v1').out()", &homes_off()) && !is_there("g.V('v1').out()", &off()));
    assert!(!is_there("g.V('v1').out().path()", &QueryOptions::default()));
}

#[test]
fn ids_may_be_parameters_and_generated() {
    let cluster = Cluster::start(3, 1, 8);
    let db = cluster.connect();
    load(&db, 47);
    for number in 0..12 {
        let write = format!("g.addV('new').property('k', {number}).id()");
        let id = db.query(&*write, &Parameters::new(), &QueryOptions::default()).unwrap().values().unwrap().remove(0);
        let parameters = Parameters::from([("x".to_owned(), id)]);
        for options in [QueryOptions::default(), homes_off()] {
            let values = db.query("g.V(x).values('k')", &parameters, &options).unwrap().values().unwrap();
            assert_eq!(values.iter().map(ToString::to_string).collect::<Vec<_>>(), [number.to_string()]);
        }
    }
    let parameters = Parameters::from([("x".to_owned(), "v1".to_owned().into())]);
    let read = |text: &str, parameters: &Parameters| {
        db.query(text, parameters, &QueryOptions::default()).unwrap().values().unwrap()
    };
    assert_eq!(read("g.V(x).values('n')", &parameters), read("g.V('v1').values('n')", &Parameters::new()));
}

#[test]
fn another_node_looks_ids_up_when_one_ends() {
    go_on_without_a_node(&BY_ID, &|db| load(db, 48), &homes_off());
}

#[test]
fn many_threads_may_ask_by_id_at_the_same_time() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    load(&db, 49);
    let expected = BY_ID.map(|text| answers(&db, text, &homes_off()).unwrap());
    std::thread::scope(|scope| {
        for first in 0..8 {
            let (db, expected) = (&db, &expected);
            scope.spawn(move || {
                for at in (0..50).map(|round| (first + round) % BY_ID.len()) {
                    assert_eq!(answers(db, BY_ID[at], &QueryOptions::default()).unwrap(), expected[at], "{}", BY_ID[at]);
                }
            });
        }
    });
}
