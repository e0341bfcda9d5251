//! What survives, which thread may write, what readers see, how large a store grows, and what it refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, StringArray};
use mangrove_graph::{
    Catalog, Cell, Direction, EdgeRef, ElementId, ElementKind, Elements, ExternalId, GraphError, GraphView, GraphWrite,
    NewEdge, Predicate, PropertyColumn, PropertyId, Scan, ScanCursor, Value, VertexId,
};
use mangrove_hot::{Hot, HotOptions, HotSnapshot};

use crate::*;

#[test]
fn what_is_committed_survives_and_what_is_not_leaves_no_trace() {
    let (dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name } = names(&mut t);
    let ids = people(&mut t, person, 3);
    t.set_cell(ElementId::Vertex(ids[0]), name, Cell::One("marko".into())).unwrap();
    t.add_edges(knows, &[edge(ids[0], ids[1])], &mut Vec::new()).unwrap();
    t.commit().unwrap();

    let mut t = hot.begin().unwrap();
    t.ensure_label(ElementKind::Vertex, "ghost").unwrap();
    t.remove_vertices(&ids[..1]).unwrap();
    assert!(!t.contains(ElementId::Vertex(ids[0])).unwrap(), "a transaction sees its own writes");
    drop(t);

    drop(hot);
    let hot = open(dir.path());
    let view = hot.snapshot().unwrap();
    assert_eq!(view.schema().label(ElementKind::Vertex, "ghost"), None);
    assert_eq!(view.cell(ElementId::Vertex(ids[0]), name).unwrap(), Cell::One("marko".into()));
    assert_eq!(followed(&view, ids[1], Direction::In).neighbors, [ids[0]]);
    let mut out = Vec::new();
    let mut t = hot.begin().unwrap();
    t.remove_vertices(&ids[2..]).unwrap();
    t.add_vertices(person, &[Some(ExternalId::Int(2))], &mut out).unwrap();
    assert!(out[0] > ids[2], "ids are not used again");
    t.commit().unwrap();
    assert_clean(&hot);
}

#[test]
fn a_supernode_fills_many_blocks_and_empties_again() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, .. } = names(&mut t);
    let ids = people(&mut t, person, 700);
    let mut edges = Vec::new();
    for batch in [1, 127, 1, 300, 571] {
        let new: Vec<NewEdge> = (0..batch).map(|at| edge(ids[0], ids[(at * 7) % 700])).collect();
        t.add_edges(knows, &new, &mut edges).unwrap();
    }
    t.commit().unwrap();
    let view = hot.snapshot().unwrap();
    let out = followed(&view, ids[0], Direction::Out);
    assert_eq!(out.edges.iter().map(|e| e.id).collect::<Vec<_>>(), edges, "in the order of their age");
    assert_eq!(out.edges.iter().map(|e| e.target).collect::<Vec<_>>(), out.neighbors);
    let mut degrees = Vec::new();
    view.degrees(&ids[..1], &hop(Direction::Out), &mut degrees).unwrap();
    assert_eq!(degrees, [1000]);
    assert_clean(&hot);

    let mut t = hot.begin().unwrap();
    let (gone, kept): (Vec<EdgeRef>, Vec<EdgeRef>) = out.edges.iter().partition(|e| e.id.local() % 3 != 0);
    t.remove_edges(&gone).unwrap();
    t.commit().unwrap();
    assert_eq!(followed(&hot.snapshot().unwrap(), ids[0], Direction::Out).edges, kept);
    assert_clean(&hot);

    let mut t = hot.begin().unwrap();
    t.remove_vertices(&ids[..1]).unwrap();
    t.commit().unwrap();
    let stats = hot.stats().unwrap();
    let entries = |name| stats.tables.iter().find(|table| table.name == name).unwrap().entries;
    assert_eq!([entries("out"), entries("in")], [0, 0]);
    assert_clean(&hot);
}

#[test]
fn whole_columns_parts_of_them_and_single_cells_meet() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, name, .. } = names(&mut t);
    let number = t.ensure_key("number").unwrap();
    t.create_index(PropertyId::of_vertices(person, number)).unwrap();
    let ids = people(&mut t, person, 300);
    let numbers = |range: std::ops::Range<i64>| -> PropertyColumn {
        PropertyColumn::Typed(Arc::new(range.map(|i| (i % 5 != 0).then_some(i)).collect::<Int64Array>()) as ArrayRef)
    };
    t.set_properties(Elements::Vertices(&ids[100..290]), number, &numbers(100..290)).unwrap();
    t.set_properties(Elements::Vertices(&ids[..200]), number, &numbers(1000..1200)).unwrap();
    t.set_cell(ElementId::Vertex(ids[150]), number, Cell::One("text".into())).unwrap();
    let odd: Vec<VertexId> = ids.iter().copied().rev().filter(|id| id.local() % 2 != 0).collect();
    let texts =
        StringArray::from_iter_values(odd.iter().map(|id| format!("{}", id.local()).repeat(1 + id.local() as usize)));
    t.set_properties(Elements::Vertices(&odd), name, &PropertyColumn::Typed(Arc::new(texts))).unwrap();
    t.commit().unwrap();

    let view = hot.snapshot().unwrap();
    let expected = |at: usize| match at {
        150 => Cell::One("text".into()),
        0..200 if !at.is_multiple_of(5) => Cell::One((1000 + at as i64).into()),
        100..290 if !at.is_multiple_of(5) => Cell::One((at as i64).into()),
        _ => Cell::Absent,
    };
    let column = view.properties(Elements::Vertices(&ids), number).unwrap();
    let texts = view.properties(Elements::Vertices(&ids), name).unwrap();
    assert!(matches!(texts, PropertyColumn::Typed(_)), "texts near and far are one column");
    for (at, id) in ids.iter().enumerate() {
        assert_eq!((column.cell(at), view.cell(ElementId::Vertex(*id), number).unwrap()), (expected(at), expected(at)));
        let text = if at % 2 == 0 { Cell::Absent } else { Cell::One(Value::string(at.to_string().repeat(1 + at))) };
        assert_eq!(texts.cell(at), text);
    }
    let found = view.search_all(
        PropertyId::of_vertices(person, number),
        &Predicate::Compare(mangrove_graph::Comparison::Gte, 1197.into()),
    );
    assert_eq!(found.unwrap().unwrap().into_vertices(), [ids[197], ids[198], ids[199]]);
    assert_clean(&hot);
}

#[test]
fn far_cells_come_and_go_with_their_blocks() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, name, .. } = names(&mut t);
    let ids = people(&mut t, person, 4);
    let long = |end: &str| Value::string("long ".repeat(100) + end);
    let mut expected = [Value::Null, Value::Null, Value::Null, Value::Null];
    let steps = [
        (0, long("a")),
        (1, "short".into()),
        (2, long("b")),
        (0, 7.into()),
        (0, long("c")),
        (2, "b".into()),
        (1, long("d")),
    ];
    for (at, value) in steps {
        t.set_cell(ElementId::Vertex(ids[at]), name, Cell::One(value.clone())).unwrap();
        expected[at] = value;
        for (id, value) in ids.iter().zip(&expected).filter(|(_, value)| !value.is_null()) {
            assert_eq!(t.cell(ElementId::Vertex(*id), name).unwrap(), Cell::One(value.clone()));
        }
    }
    t.remove_vertices(&ids[..1]).unwrap();
    assert_eq!(t.cell(ElementId::Vertex(ids[1]), name).unwrap(), Cell::One(long("d")));
    t.commit().unwrap();
    assert_clean(&hot);
    let mut t = hot.begin().unwrap();
    t.remove_vertices(&ids).unwrap();
    t.commit().unwrap();
    let stats = hot.stats().unwrap();
    assert_eq!(stats.tables.iter().find(|table| table.name == "columns").unwrap().entries, 0);
}

#[test]
fn rows_written_one_by_one_take_little_more_room_than_at_once() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, name, .. } = names(&mut t);
    for n in 0..5_000 {
        let mut out = Vec::new();
        t.add_vertices(person, &[Some(ExternalId::Int(n))], &mut out).unwrap();
        t.set_cell(ElementId::Vertex(out[0]), name, Cell::One(Value::string(format!("{n:064}")))).unwrap();
    }
    t.commit().unwrap();
    let bytes = hot.stats().unwrap().file_bytes;
    assert!(bytes < 4_000_000, "5,000 names of 64 bytes take {bytes} bytes");
}

#[test]
fn one_thread_writes_at_a_time_and_none_waits_for_itself() {
    let (_dir, hot) = new_store();
    let first = hot.begin().unwrap();
    assert!(matches!(hot.begin(), Err(GraphError::OpenAlready)), "the same thread would wait for ever");
    let began = Arc::new(AtomicBool::new(false));
    let other = std::thread::spawn({
        let (hot, began) = (hot.clone(), began.clone());
        move || {
            let t = hot.begin().unwrap();
            began.store(true, Ordering::SeqCst);
            t.commit().unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(50));
    assert!(!began.load(Ordering::SeqCst), "the second writer waits");
    first.abort();
    other.join().unwrap();
    assert!(began.load(Ordering::SeqCst));
}

#[test]
fn readers_in_threads_each_see_one_state() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, .. } = names(&mut t);
    let ids = people(&mut t, person, 2);
    t.commit().unwrap();
    let done = AtomicBool::new(false);
    let wait = Instant::now();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let mut seen = 0;
                while !done.load(Ordering::SeqCst) {
                    let view: HotSnapshot = hot.snapshot().unwrap();
                    let degree = |vertex, direction| followed(&view, vertex, direction).edges.len();
                    let n = degree(ids[0], Direction::Out);
                    assert_eq!(degree(ids[1], Direction::In), n, "both sides of each edge");
                    assert_eq!(n % 3, 0, "all of a transaction or nothing");
                    assert!(n >= seen);
                    seen = n;
                }
            });
        }
        for _ in 0..200 {
            let mut t = hot.begin().unwrap();
            t.add_edges(knows, &[0; 3].map(|_| edge(ids[0], ids[1])), &mut Vec::new()).unwrap();
            t.commit().unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(wait.elapsed() < Duration::from_secs(60));
    assert_clean(&hot);
}

#[test]
fn a_call_that_is_refused_changes_nothing() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name } = names(&mut t);
    let ids = people(&mut t, person, 3);
    let (mut out, mut edges) = (Vec::new(), Vec::new());
    let twice = [Some(ExternalId::Int(77)), None, Some(ExternalId::Int(2))];
    assert!(matches!(t.add_vertices(person, &twice, &mut out), Err(GraphError::DuplicateVertex { .. })));
    let ghost = VertexId::new(person, 0, 99);
    let dangling = [edge(ids[0], ids[1]), edge(ids[1], ghost)];
    assert!(matches!(t.add_edges(knows, &dangling, &mut edges), Err(GraphError::NoSuchElement { .. })));
    t.declare_property(ElementKind::Vertex, person, name, Some(mangrove_graph::ValueType::String), Default::default())
        .unwrap();
    let numbers = PropertyColumn::Typed(Arc::new(Int64Array::from_iter_values(0..3)) as ArrayRef);
    assert!(matches!(t.set_properties(Elements::Vertices(&ids), name, &numbers), Err(GraphError::TypeMismatch { .. })));
    let vertex = Cell::One(Value::Vertex(ids[0]));
    assert!(matches!(t.set_cell(ElementId::Vertex(ids[0]), name, vertex), Err(GraphError::NotStorable { .. })));
    assert!(out.is_empty() && edges.is_empty());
    t.commit().expect("what was refused before does not spoil the transaction");
    let view = hot.snapshot().unwrap();
    assert_eq!(view.statistics().unwrap().vertices, [3]);
    assert_eq!(view.statistics().unwrap().edges, [0]);
    assert_clean(&hot);
}

#[test]
fn ids_longer_than_a_key_are_told_apart() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, .. } = names(&mut t);
    let long = |end: &str| ExternalId::from(&*("http://example.org/".repeat(60) + end));
    let mut out = Vec::new();
    t.add_vertices(person, &[Some(long("a")), Some(long("b"))], &mut out).unwrap();
    let named = NewEdge { id: Some(long("e")), ..edge(out[0], out[1]) };
    let mut edges = Vec::new();
    t.add_edges(knows, &[named], &mut edges).unwrap();
    t.commit().unwrap();
    let view = hot.snapshot().unwrap();
    let mut found = Vec::new();
    view.find_vertices(None, &[long("b"), long("c"), long("a")], &mut found).unwrap();
    assert_eq!(found, [Some(out[1]), None, Some(out[0])]);
    assert_eq!(view.external_id(out[1]).unwrap(), long("b"));
    let mut found = Vec::new();
    view.find_edges(&[long("e"), ExternalId::Int(edges[0].0 as i64)], &mut found).unwrap();
    assert_eq!(found.iter().map(|e| e.map(|e| e.id)).collect::<Vec<_>>(), [Some(edges[0]), None]);
    assert_clean(&hot);
}

#[test]
fn scans_go_page_by_page_over_gaps() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, .. } = names(&mut t);
    let ids = people(&mut t, person, 1000);
    t.remove_vertices(&ids[100..800]).unwrap();
    t.commit().unwrap();
    let view = hot.snapshot().unwrap();
    let (mut out, mut cursor) = (Vec::new(), ScanCursor::default());
    while !cursor.done {
        view.scan_vertices(&Scan::default(), &mut cursor, 37, &mut out).unwrap();
        assert!(out.len() <= 300);
    }
    assert_eq!(out, [&ids[..100], &ids[800..]].concat());
}

#[test]
fn a_copy_is_the_last_committed_state() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, .. } = names(&mut t);
    people(&mut t, person, 10);
    t.commit().unwrap();
    let mut t = hot.begin().unwrap();
    t.add_vertices(person, &[None], &mut Vec::new()).unwrap();
    let home = tempfile::tempdir().unwrap();
    hot.copy_to(home.path()).unwrap();
    assert!(hot.copy_to(home.path()).is_err(), "nothing is overwritten");
    t.commit().unwrap();
    let copy = Hot::open(home.path(), &HotOptions { read_only: true, ..HotOptions::default() }).unwrap();
    assert_eq!(copy.snapshot().unwrap().statistics().unwrap().vertices, [10]);
    assert!(matches!(copy.begin(), Err(GraphError::ReadOnly)));
    assert_clean(&copy);
}

#[test]
fn pages_that_were_never_written_do_not_make_a_store_look_cut_short() {
    let (dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, name, .. } = names(&mut t);
    people(&mut t, person, 10);
    t.commit().unwrap();
    for round in 0..40 {
        let mut t = hot.begin().unwrap();
        let mut out = Vec::new();
        t.add_vertices(person, &[const { None }; 50], &mut out).unwrap();
        for id in &out {
            let text = "x".repeat(5_000 * (1 + round));
            t.set_cell(ElementId::Vertex(*id), name, Cell::One(Value::string(text))).unwrap();
        }
        t.remove_vertices(&out[round % 7..]).unwrap();
        t.commit().unwrap();
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(dir.path().join("data.mdb"), copy.path().join("data.mdb")).unwrap();
        assert_clean(&open(copy.path()));
    }
    drop(hot);
    let file = std::fs::File::options().write(true).open(dir.path().join("data.mdb")).unwrap();
    file.set_len(16_384).unwrap();
    for read_only in [true, false, false, true] {
        let opened = Hot::open(dir.path(), &HotOptions { read_only, ..HotOptions::default() });
        assert!(matches!(opened, Err(GraphError::Corrupt(_))), "a file that was cut short is refused");
    }
}
