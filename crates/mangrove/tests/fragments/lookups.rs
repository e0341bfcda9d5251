//! Queries that begin with a value that an index finds: the nodes search their shards, and run the first steps.

use mangrove::ElementKind;

use super::homes::{homes_off, told};
use super::*;

/// The graph with indexes of its numbers, texts and weights, and with things that have a code each.
fn load_indexed(db: &Database, seed: u64) {
    load(db, seed);
    for code in 0..12 {
        let write = format!(
            "g.addV('thing').property(T.id, 'thing{code}').property('code', {code}).property('n', {}).as('a').V('v{code}').addE('to').to('a')",
            code % 3
        );
        db.query(&*write, &Parameters::new(), &QueryOptions::default()).unwrap();
    }
    assert!(db.create_index(None, "red", "n").unwrap());
    assert!(db.create_routed_index(None, "green", "text", false).unwrap());
    assert!(db.create_unique_index(None, "thing", "code").unwrap());
    assert!(db.create_index(Some(ElementKind::Edge), "road", "weight").unwrap());
}

/// Queries of which nodes do the lookup.
const BY_VALUE: [&str; 18] = [
    "g.V().has('red', 'n', within(7, 8, 9, 10)).values('text')",
    "g.V().has('red', 'n', 7)",
    "g.V().has('red', 'n', within(3, 9, 21, 1000)).values('n', 'text')",
    "g.V().has('red', 'n', within(1, 2, 3, 4)).out().id()",
    "g.V().has('red', 'n', within(1, 2, 3, 4)).out('road').has('n', gt(10)).values('text')",
    "g.V().has('red', 'n', within(5, 6, 7, 8, 9)).has('text', 't3').values('n')",
    "g.V().has('red', 'n', within(11, 12, 13)).where(out('road')).project('n', 'roads').by('n').by(out('road').count())",
    "g.V().has('red', 'n', within(7, 8)).valueMap('n', 'text')",
    "g.V().has('red', 'n', 1000).values('text')",
    "g.V().has('red', 'n', 'seven').values('text')",
    "g.V().has('green', 'text', within('t3', 't4', 't5', 't6')).in('road').id()",
    "g.V().has('thing', 'code', 5).values('n').limit(1)",
    "g.V().has('thing', 'code', within(1, 5, 99)).in('to').values('n')",
    "g.E().has('road', 'weight', 7).outV().values('n')",
    "g.E().has('road', 'weight', within(3, 7)).values('weight')",
    "g.withSack(1).V().has('red', 'n', within(7, 8, 9)).out().sack(sum).by('n').sack()",
    "g.V().has('red', 'n', within(7, 8)).out().order().by('n').by(id).limit(3).id()",
    "g.V().has('red', 'n', within(7, 8, 9)).union(out('road').id(), values('text'))",
];

/// Queries that search as they did.
const AS_BEFORE: [&str; 6] = [
    "g.V().has('red', 'n', within(1, 2, 3, 4)).limit(2).id()",
    "g.V().has('red', 'n', gt(40)).id()",
    "g.V().has('n', 7).id()",
    "g.V().has('red', 'n', within(1, 2, 3)).out().path().by(id)",
    "g.V().has('red', 'n', within(1, 2, 3)).as('a').out('road').as('b').select('a', 'b').by('n')",
    "g.V().has('green', 'text', 'nowhere').id()",
];

#[test]
fn lookups_by_a_value_give_what_one_process_gives() {
    beside_one_process(61, load_indexed, |db, alone, shape, shards| {
        for text in BY_VALUE.iter().chain(&AS_BEFORE) {
            let what = format!("{text}{shape}");
            let there = told(db, text, &QueryOptions::default());
            assert_eq!(there, told(db, text, &homes_off()), "{what}");
            assert_eq!(there.1, told(alone, text, &QueryOptions::default()).1, "{what}");
            // Of one process, others come first.
            if !text.contains("limit(2)") && !text.contains("valueMap") {
                let far = bag(db, text, &QueryOptions::default());
                assert_eq!(far, bag(alone, text, &QueryOptions::default()), "{what}");
            }
        }
        for text in BY_VALUE.iter().filter(|_| shards > 1) {
            assert!(sent(db, text, &QueryOptions::default()) > 0, "{text} sends nothing");
        }
        // One shard has no directory.
        for text in AS_BEFORE.iter().filter(|text| shards > 1 || !text.contains("nowhere")) {
            assert_eq!(sent(db, text, &QueryOptions::default()), 0, "{text}");
        }
    });
}

#[test]
fn a_node_gets_one_message_for_all_its_shards() {
    let cluster = Cluster::start(2, 1, 8);
    let db = cluster.connect();
    load_indexed(&db, 66);
    for text in
        ["g.V().has('red', 'n', 7)", "g.V().has('red', 'n', 7).values('text')", "g.V().has('thing', 'code', 5).values('n')"]
    {
        assert_eq!(sent(&db, text, &QueryOptions::default()), 2, "{text}");
        assert_eq!(sent(&db, text, &homes_off()), 0, "{text}");
    }
    let is_there = |text: &str, options: &QueryOptions| {
        db.explain(text, &Parameters::new(), options).unwrap().to_string().contains("on the nodes")
    };
    assert!(is_there(BY_VALUE[0], &QueryOptions::default()));
    assert!(!is_there(BY_VALUE[0], &homes_off()) && !is_there(BY_VALUE[0], &off()));
    assert!(!is_there(AS_BEFORE[0], &QueryOptions::default()));
}

/// Nodes refuse to look up more than a few thousand elements. Then the query searches itself.
#[test]
fn a_value_of_many_elements_is_searched_by_the_query() {
    let cluster = Cluster::start(2, 1, 4);
    let db = cluster.connect();
    let home = tempfile::tempdir().unwrap();
    let mut rows = "id:ID,:LABEL,same:int\n".to_owned();
    (0..12_000).for_each(|id| writeln!(rows, "m{id},many,1").unwrap());
    let file = home.path().join("many.csv");
    std::fs::write(&file, rows).unwrap();
    db.load(&LoadOptions { files: vec![file], ..LoadOptions::default() }, &mut Quiet).unwrap();
    assert!(db.create_index(None, "many", "same").unwrap());
    let text = "g.V().has('many', 'same', 1).id()";
    let found = answers(&db, text, &QueryOptions::default()).unwrap();
    assert_eq!(found.len(), 12_000);
    assert_eq!(found, answers(&db, text, &homes_off()).unwrap());
}

#[test]
fn another_node_searches_when_one_ends() {
    go_on_without_a_node(&BY_VALUE, &|db| load_indexed(db, 67), &homes_off());
}
