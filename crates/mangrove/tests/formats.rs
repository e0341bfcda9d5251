//! Databases that older versions wrote are read, and changed.

use std::fs;
use std::path::Path;

use mangrove::{Database, Parameters, QueryOptions, Value};

/// Written with tables of format 3 over segments of format 2: 300 people with a name (of 50, indexed), a text (searchable) and a year of birth, an
/// edge each; all compacted. Then ten got another name and lost their year, one was removed, and one was added with an edge, and sealed; then
/// another name, another text and a removal, which are in the tables: each a block of 128.
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
