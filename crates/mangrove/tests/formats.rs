//! Databases of older versions can be read and changed.

use std::fs;
use std::path::Path;

use mangrove::{Database, Parameters, QueryOptions, Value};

/// Tables of format 3 over segments of format 2. It was made in these steps:
/// - 300 people, each with a name (one of 50, indexed), a text (searchable), a year of birth and an edge; then compacted.
/// - Ten people got another name and lost their year, one was removed, one was added with an edge; then sealed.
/// - Another name, another text and a removal, which are still in the tables, each in a block of 128.
const TABLES_3: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats/tables-3.mg");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() { copy(&path, &to.join(name)) } else { fs::copy(path, to.join(name)).map(drop).unwrap() }
    }
}

fn one(db: &Database, text: &str) -> Value {
    db.query(text, &Parameters::new(), &QueryOptions::default()).unwrap().values().unwrap().remove(0)
}

#[test]
fn tables_of_format_3_over_segments_of_format_2() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.mg");
    copy(Path::new(TABLES_3), &path);
    let expected = [
        ("g.V().count()", 299),
        ("g.E().count()", 297),
        ("g.V().has('person', 'name', 'changed once').count()", 10),
        ("g.V().has('person', 'name', 'changed twice').id()", 31),
        ("g.V().has('person', 'name', 'person 0').count()", 4),
        ("g.V().has('person', 'name', startingWith('person')).count()", 287),
        ("g.V().values('born').sum()", 562_712),
        ("g.V().has('text', containing('text 12 ')).count()", 1),
        ("g.V().values('text').count()", 298),
        ("g.V(1).outE('knows').values('since').sum()", 1004),
        ("g.V().has('text', 'short now').id()", 30),
    ];
    let is_as_expected = |db: &Database| {
        for (text, value) in expected {
            assert_eq!(one(db, text), Value::Int64(value), "{text}");
        }
        assert_eq!(db.check().unwrap().violations, []);
    };
    let db = Database::open(&path).unwrap();
    is_as_expected(&db);
    // Changes of cells over blocks of the old form, and back.
    for (name, has_it, text) in [("another", 1, "changed again"), ("person 33", 6, "short now")] {
        one(&db, &format!("g.V(33).property('name', '{name}').count()"));
        one(&db, &format!("g.V(30).property('text', '{text}').count()"));
        assert_eq!(one(&db, &format!("g.V().has('person', 'name', '{name}').count()")), Value::Int64(has_it));
        assert_eq!(one(&db, &format!("g.V().has('text', '{text}').id()")), Value::Int64(30));
    }
    is_as_expected(&db);
    assert!(db.compact().unwrap() > 0);
    is_as_expected(&db);
    let stats = db.stats().unwrap();
    assert_eq!((stats.segments.len(), stats.tables.iter().find(|table| table.name == "index").unwrap().entries), (1, 0));
}

/// Tables of format 4. It was made in these steps:
/// - Person 0 knows others since 0, 10, … 390, and one without a time that later got 345. It likes ten, four of which got 300 so.
/// - Then compacted.
/// - Times were not yet fixed when an edge is made. So 30 became 395 and a new edge's 5 became 77, each in its old position. One
///   edge came with 400, one came without a time and then got 346, and 200 was removed.
const TIMES_4: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats/times-4.mg");

#[test]
fn times_that_were_changed_while_edges_stayed_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.mg");
    copy(Path::new(TIMES_4), &path);
    let expected = [
        ("gte(390)", "[395, 390, 400]"),
        ("between(20, 50)", "[20, 40]"),
        ("lt(20)", "[0, 10]"),
        ("inside(70, 80)", "[77]"),
        ("within(30, 395, 200)", "[395]"),
        ("between(340, 350)", "[345, 346, 340]"),
        ("5", "[]"),
    ];
    let is_as_expected = |db: &Database| {
        for (predicate, times) in &expected {
            let edges = format!("g.V(0).outE('knows').has('since', {predicate})");
            assert_eq!(one(db, &format!("{edges}.values('since').fold()")).to_string(), *times, "{edges}");
            assert_eq!(one(db, &format!("{edges}.count()")), one(db, &format!("{edges}.fold().count(local)")), "{edges}");
        }
        assert_eq!(one(db, "g.V(0).outE('likes').has('since', gte(300)).count()"), Value::Int64(4));
        assert_eq!(db.check().unwrap().violations, []);
    };
    let db = Database::open(&path).unwrap();
    is_as_expected(&db);
    for changed in [395, 77, 345, 346] {
        let edge = format!("g.V(0).outE('knows').has('since', {changed})");
        let refused = format!("{edge}.property('since', 1)");
        let refused =
            db.query(&refused, &Parameters::new(), &QueryOptions::default()).and_then(|mut results| results.values());
        assert!(refused.unwrap_err().to_string().contains("`since` is the time"));
        one(&db, &format!("{edge}.property('since', {changed}).count()"));
    }
    one(&db, "g.V(0).addE('knows').to(__.V(1)).property('since', 35).count()");
    one(&db, "g.V(0).outE('knows').has('since', 35).sideEffect(drop()).count()");
    is_as_expected(&db);
    db.compact().unwrap();
    is_as_expected(&db);
    // Newer edges are found among the older ones, and each kind is removed from where it stands.
    one(&db, "g.V(0).addE('knows').to(__.V(1)).property('since', 35).count()");
    assert_eq!(one(&db, "g.V(0).outE('knows').has('since', between(30, 50)).values('since').sum()"), Value::Int64(75));
    db.compact().unwrap();
    one(&db, "g.V(0).outE('knows').has('since', within(395, 77, 345, 346, 35)).sideEffect(drop()).count()");
    assert_eq!(one(&db, "g.V(0).outE('knows').has('since', gt(380)).values('since').sum()"), Value::Int64(790));
    assert_eq!(db.check().unwrap().violations, []);
}
