//! The store through its public face: what survives, who may write, how large it grows, what it refuses.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, StringArray};
use mangrove_graph::{
    Adjacency, Cell, Comparison, Direction, EdgeId, EdgeRef, ElementId, ElementKind, Elements, Encoding, ExternalId, Filter,
    GraphError, GraphView, GraphWrite, Hop, KeyId, LabelId, Latest, NewEdge, Predicate, PropertyColumn, Scan, ScanCursor,
    TextTest, Value, VertexId, Wants,
};
use mangrove_hot::{Durability, Hot, HotOptions, HotSnapshot, HotTransaction, Patience, Writer};
use tempfile::TempDir;

fn new_store() -> (TempDir, Hot) {
    let dir = tempfile::tempdir().unwrap();
    let hot = open(dir.path());
    (dir, hot)
}

fn open(dir: &Path) -> Hot {
    Hot::open(dir, &HotOptions { durability: Durability::Relaxed, ..HotOptions::default() }).unwrap()
}

struct Names {
    person: LabelId,
    knows: LabelId,
    name: KeyId,
}

fn names(t: &mut HotTransaction) -> Names {
    Names {
        person: t.ensure_label(ElementKind::Vertex, "person").unwrap(),
        knows: t.ensure_label(ElementKind::Edge, "knows").unwrap(),
        name: t.ensure_key("name").unwrap(),
    }
}

fn people(t: &mut HotTransaction, label: LabelId, n: i64) -> Vec<VertexId> {
    let mut out = Vec::new();
    t.add_vertices(label, &(0..n).map(|id| Some(ExternalId::Int(id))).collect::<Vec<_>>(), &mut out).unwrap();
    out
}

fn edge(source: VertexId, target: VertexId) -> NewEdge {
    NewEdge { source, target, id: None, time: None }
}

fn hop(direction: Direction) -> Hop {
    let wants = Wants { neighbors: true, edges: true, rows: false };
    Hop::along(direction, None, wants)
}

fn followed(view: &dyn GraphView, from: VertexId, direction: Direction) -> Adjacency {
    let mut out = Adjacency::default();
    view.neighbors(&[from], &hop(direction), &mut out).unwrap();
    out
}

fn assert_clean(hot: &Hot) {
    let report = hot.check().unwrap();
    assert!(report.is_clean(), "{report}");
}

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
fn edges_with_a_time_stand_in_its_order_however_they_come() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name } = names(&mut t);
    t.declare_time(knows, name).unwrap();
    let ids = people(&mut t, person, 2);
    let mut expected = Vec::new();
    let mut time = 1i64;
    for batch in [1, 400, 3, 90, 1, 250] {
        let times: Vec<Option<i64>> = (0..batch)
            .map(|_| {
                time = time * 48_271 % 2_147_483_647;
                (time % 11 != 0).then_some(time % 200 - 100)
            })
            .collect();
        let new: Vec<NewEdge> =
            times.iter().map(|time| NewEdge { time: time.map(Value::Int64), ..edge(ids[0], ids[1]) }).collect();
        let mut edges = Vec::new();
        t.add_edges(knows, &new, &mut edges).unwrap();
        expected.extend(times.into_iter().zip(edges));
    }
    expected.sort();
    t.commit().unwrap();
    let order = |expected: &[(Option<i64>, EdgeId)]| expected.iter().map(|(_, id)| *id).collect::<Vec<_>>();
    for (vertex, direction) in [(ids[0], Direction::Out), (ids[1], Direction::In)] {
        let edges = followed(&hot.snapshot().unwrap(), vertex, direction).edges;
        assert_eq!(edges.iter().map(|e| e.id).collect::<Vec<_>>(), order(&expected));
    }
    assert_clean(&hot);
    let mut t = hot.begin().unwrap();
    let all = followed(&t, ids[0], Direction::Out).edges;
    t.remove_edges(&all.iter().copied().filter(|e| e.id.local() % 2 == 0).collect::<Vec<_>>()).unwrap();
    t.commit().unwrap();
    expected.retain(|(_, id)| id.local() % 2 != 0);
    let edges = followed(&hot.snapshot().unwrap(), ids[1], Direction::In).edges;
    assert_eq!(edges.iter().map(|e| e.id).collect::<Vec<_>>(), order(&expected));
    assert_clean(&hot);
    let mut t = hot.begin().unwrap();
    assert!(matches!(t.declare_time(knows, name), Err(GraphError::Invalid(_))), "there are edges already");
}

#[test]
fn whole_columns_parts_of_them_and_single_cells_meet() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, name, .. } = names(&mut t);
    let number = t.ensure_key("number").unwrap();
    t.create_index(person, number).unwrap();
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
    let found = view.search(person, number, &Predicate::Compare(mangrove_graph::Comparison::Gte, 1197.into()));
    assert_eq!(found.unwrap().unwrap(), [ids[197], ids[198], ids[199]]);
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

/// Writes go on while a thread seals and merges, and nobody sees anything but the graph.
#[test]
fn what_was_written_is_sealed_in_the_background() {
    const BATCH: i64 = 400;
    let dir = tempfile::tempdir().unwrap();
    let options = HotOptions { durability: Durability::Relaxed, seal_bytes: 200_000, ..HotOptions::default() };
    let hot = Hot::open(dir.path(), &options).unwrap();
    let (mut batches, started) = (0, Instant::now());
    let sealed = |hot: &Hot| hot.stats().unwrap().parts.iter().any(|part| part.part == mangrove_hot::Part::Names);
    while batches < 60 || !sealed(&hot) {
        assert!(started.elapsed() < Duration::from_secs(100), "nothing was sealed: {:?}", hot.stats());
        let mut t = hot.begin().unwrap();
        let Names { person, knows, name } = names(&mut t);
        let mut made = Vec::new();
        let ids: Vec<_> = (batches * BATCH..(batches + 1) * BATCH).map(|id| Some(ExternalId::Int(id))).collect();
        t.add_vertices(person, &ids, &mut made).unwrap();
        let texts = made.iter().map(|vertex| Some(format!("the name of vertex {}", vertex.0)));
        let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
        t.set_properties(Elements::Vertices(&made), name, &PropertyColumn::Typed(texts)).unwrap();
        let mut first = Vec::new();
        t.find_vertices(None, &[ExternalId::Int(0)], &mut first).unwrap();
        let edges: Vec<_> = made.iter().map(|vertex| edge(first[0].unwrap(), *vertex)).collect();
        t.add_edges(knows, &edges, &mut Vec::new()).unwrap();
        t.set_cell(ElementId::Vertex(first[0].unwrap()), name, Cell::One(Value::from(batches))).unwrap();
        t.commit().unwrap();
        batches += 1;
        let view = hot.snapshot().unwrap();
        let all = (batches * BATCH) as u64;
        assert_eq!(view.statistics().unwrap().vertices, [all]);
        assert_eq!(view.cell(ElementId::Vertex(first[0].unwrap()), name).unwrap(), Cell::One(Value::from(batches - 1)));
        let mut degrees = Vec::new();
        view.degrees(&[first[0].unwrap()], &hop(Direction::Out), &mut degrees).unwrap();
        assert_eq!(degrees, [all]);
        assert_eq!(followed(&view, first[0].unwrap(), Direction::Out).neighbors.len() as u64, all);
    }
    assert_eq!(hot.stats().unwrap().sealing_error, None);
    drop(hot);
    let hot = open(dir.path());
    let report = hot.check().unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.vertices, report.edges), ((batches * BATCH) as u64, (batches * BATCH) as u64));
}

/// Edges with a time stand in its order, wherever they are kept.
#[test]
fn edges_of_several_segments_are_in_the_order_of_their_times() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name: at } = names(&mut t);
    t.declare_time(knows, at).unwrap();
    let ids = people(&mut t, person, 40);
    t.commit().unwrap();
    let add = |times: &[i64]| {
        let mut t = hot.begin().unwrap();
        let edges: Vec<_> = times
            .iter()
            .map(|time| NewEdge { time: Some(Value::Int64(*time)), ..edge(ids[0], ids[*time as usize]) })
            .collect();
        t.add_edges(knows, &edges, &mut Vec::new()).unwrap();
        t.commit().unwrap();
    };
    let in_order = |n: usize| {
        let found = followed(&hot.snapshot().unwrap(), ids[0], Direction::Out).neighbors;
        let mut expected = found.clone();
        expected.sort();
        assert_eq!(found.len(), n);
        assert_eq!(found, expected);
        assert!(hot.check().unwrap().is_clean());
    };
    let (writer, patience) = (Writer::this_thread, Patience::ENDLESS);
    add(&[9, 3, 27]);
    hot.seal(writer(), patience).unwrap();
    add(&[30, 1, 12]);
    in_order(6);
    hot.seal(writer(), patience).unwrap();
    add(&[14, 2]);
    in_order(8);
    hot.seal(writer(), patience).unwrap();
    assert_eq!(hot.stats().unwrap().segments.len(), 3);
    in_order(8);
    assert!(hot.merge(writer(), patience).unwrap() > 0);
    in_order(8);
    add(&[5, 33]);
    hot.compact(writer(), patience).unwrap();
    in_order(10);
    assert_eq!(hot.stats().unwrap().segments.len(), 1);
}

/// Whatever is committed while everything is compacted over and over stays.
#[test]
fn nothing_committed_beside_compactions_is_lost() {
    const COMMITS: i64 = 400;
    let (_dir, hot) = new_store();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let mut turns = 0;
            while !done.load(Ordering::Relaxed) {
                hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
                hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
                turns += 1;
            }
            turns
        });
        for n in 0..COMMITS {
            let mut t = hot.begin().unwrap();
            let Names { person, knows, .. } = names(&mut t);
            let mut made = Vec::new();
            t.add_vertices(person, &[Some(ExternalId::Int(n))], &mut made).unwrap();
            t.add_edges(knows, &[edge(made[0], made[0])], &mut Vec::new()).unwrap();
            t.commit().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(work.join().unwrap() > 0);
    });
    let report = hot.check().unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.vertices, report.edges), (COMMITS as u64, COMMITS as u64));
}

/// Loads that fail, and compactions of a store with nothing in it, leave each other's files alone.
#[test]
fn failed_bulk_loads_beside_compactions_leave_a_store_that_opens() {
    let (dir, hot) = new_store();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| (0..60).for_each(|_| _ = hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap()));
        while !work.is_finished() {
            let t = hot.begin().unwrap();
            if !t.is_unused().unwrap() {
                break;
            }
            let mut bulk = t.into_bulk().unwrap();
            let person = bulk.graph().ensure_label(ElementKind::Vertex, "person").unwrap();
            people(bulk.graph(), person, 10);
            drop(bulk);
        }
    });
    assert_eq!(hot.snapshot().unwrap().statistics().unwrap().vertices, [] as [u64; 0]);
    drop(hot);
    assert!(open(dir.path()).check().unwrap().is_clean());
}

#[test]
fn who_has_a_transaction_open_is_refused_a_compaction_even_while_another_waits() {
    let (_dir, hot) = new_store();
    let t = hot.begin().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let cancelled = || stop.load(Ordering::Relaxed);
            hot.compact(Writer::this_thread(), Patience { timeout: None, cancelled: &cancelled })
        });
        for _ in 0..20 {
            let refused = hot.compact(Writer::this_thread(), Patience::ENDLESS);
            assert!(matches!(refused, Err(GraphError::OpenAlready)), "{refused:?}");
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        drop(t);
        let ended = other.join().unwrap();
        assert!(matches!(ended, Ok(_) | Err(GraphError::Busy { .. } | GraphError::Cancelled)), "{ended:?}");
    });
}

/// Seals everything; what was sealed stays in the tables, as after a crash.
fn seal_and_leave_rows(hot: &Hot, changed: VertexId, key: KeyId) {
    let named = || !hot.stats().unwrap().segments.is_empty();
    let writing = AtomicBool::new(false);
    let cancelled = || {
        // A commit in between, so that the tables are not emptied at once; and an end once the segment is named.
        if !writing.swap(true, Ordering::Relaxed) {
            let mut t = hot.begin().unwrap();
            t.set_cell(ElementId::Vertex(changed), key, Cell::One(7.into())).unwrap();
            t.commit().unwrap();
        }
        named()
    };
    hot.seal(Writer::this_thread(), Patience { timeout: None, cancelled: &cancelled }).unwrap();
    assert!(named() && hot.stats().unwrap().tables.iter().any(|table| table.name == "out" && table.entries > 0));
}

#[test]
fn windows_of_time_pass_over_what_was_left_of_sealed_edges() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name: at } = names(&mut t);
    t.declare_time(knows, at).unwrap();
    let ids = people(&mut t, person, 300);
    let since = |time: usize| NewEdge { time: Some(Value::Int64(time as i64)), ..edge(ids[0], ids[time]) };
    t.add_edges(knows, &(0..300).map(since).collect::<Vec<_>>(), &mut Vec::new()).unwrap();
    t.commit().unwrap();
    seal_and_leave_rows(&hot, ids[7], at);
    let mut t = hot.begin().unwrap();
    t.add_edges(knows, &[since(250), since(3)], &mut Vec::new()).unwrap();
    t.commit().unwrap();
    let bound = |comparison, time| Predicate::Compare(comparison, Value::Int64(time));
    let window = Predicate::And(vec![bound(Comparison::Gte, 249), bound(Comparison::Lt, 252)]);
    let filter = Some(Filter { key: at, predicate: window });
    let window = Hop { filter, ..hop(Direction::Out) };
    let finds = |expected: &[usize]| {
        let (snapshot, mut found, mut degrees) = (hot.snapshot().unwrap(), Adjacency::default(), Vec::new());
        snapshot.neighbors(&[ids[0], ids[1]], &window, &mut found).unwrap();
        snapshot.degrees(&[ids[0], ids[1]], &window, &mut degrees).unwrap();
        assert_eq!(found.neighbors, expected.iter().map(|at| ids[*at]).collect::<Vec<_>>());
        assert_eq!(degrees, [expected.len() as u64, 0]);
        assert_clean(&hot);
    };
    finds(&[249, 250, 250, 251]);
    let mut times: Vec<usize> = (0..300).chain([250, 3]).collect();
    times.sort_unstable();
    let all = followed(&hot.snapshot().unwrap(), ids[0], Direction::Out);
    assert_eq!(all.neighbors, times.iter().map(|at| ids[*at]).collect::<Vec<_>>());
    let places: Vec<u64> = all.edges.iter().filter(|edge| edge.target == ids[250]).map(|edge| edge.id.local()).collect();
    assert!(places.len() == 2 && places.is_sorted(), "of one time the older first: {places:?}");
    // Of what is all sealed the dead do not count, though the tables have no edges.
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    finds(&[249, 250, 250, 251]);
    let mut t = hot.begin().unwrap();
    let gone = followed(t.as_view(), ids[251], Direction::In).edges;
    t.remove_edges(&gone).unwrap();
    t.commit().unwrap();
    finds(&[249, 250, 250]);
}

#[test]
fn an_element_that_was_removed_after_it_was_sealed_has_nothing() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, name, .. } = names(&mut t);
    let ids = people(&mut t, person, 2);
    for id in &ids {
        t.set_cell(ElementId::Vertex(*id), name, Cell::One(7.into())).unwrap();
    }
    t.commit().unwrap();
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    let mut t = hot.begin().unwrap();
    t.remove_vertices(&ids[..1]).unwrap();
    t.commit().unwrap();
    let snapshot = hot.snapshot().unwrap();
    for (id, expected) in ids.iter().zip([Cell::Absent, Cell::One(7.into())]) {
        let (element, mut cells) = (ElementId::Vertex(*id), Vec::new());
        snapshot.cells(element, &[name, name], &mut cells).unwrap();
        assert_eq!(cells, [expected.clone(), expected.clone()]);
        assert_eq!(snapshot.cell(element, name).unwrap(), expected);
    }
}

/// Of very many edges few are read, wherever they are: in the tables, sealed, both, after others that were removed.
#[test]
fn the_latest_edges_are_read_from_the_end() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name: at } = names(&mut t);
    t.declare_time(knows, at).unwrap();
    let ids = people(&mut t, person, 2);
    let since = |time: i64| NewEdge { time: Some(Value::Int64(time)), ..edge(ids[0], ids[1]) };
    t.add_edges(knows, &(0..2000).map(since).collect::<Vec<_>>(), &mut Vec::new()).unwrap();
    t.commit().unwrap();
    let latest_of = |count: usize, at_most: usize| {
        let (snapshot, mut found) = (hot.snapshot().unwrap(), Adjacency::default());
        let latest = Some(Latest { key: at, count });
        snapshot.neighbors(&ids[..1], &Hop { latest, ..hop(Direction::Out) }, &mut found).unwrap();
        assert!((count..=at_most).contains(&found.edges.len()), "{} for the latest {count}", found.edges.len());
        let all = followed(&snapshot, ids[0], Direction::Out).edges;
        assert_eq!(found.edges, all[all.len() - found.edges.len()..]);
    };
    latest_of(3, 3);
    latest_of(300, 300);
    let add = |times: &[i64]| {
        let mut t = hot.begin().unwrap();
        t.add_edges(knows, &times.iter().map(|time| since(*time)).collect::<Vec<_>>(), &mut Vec::new()).unwrap();
        t.commit().unwrap();
    };
    seal_and_leave_rows(&hot, ids[1], at);
    latest_of(3, 3);
    add(&[5, 1998, 3000]);
    latest_of(3, 5);
    hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    latest_of(3, 5);
    add(&[3001, 3002, 3003]);
    latest_of(3, 3);
    latest_of(5, 10);
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    let mut t = hot.begin().unwrap();
    let all = followed(t.as_view(), ids[0], Direction::Out).edges;
    t.remove_edges(&all[all.len() - 20..]).unwrap();
    t.commit().unwrap();
    latest_of(3, 28);
    assert_clean(&hot);
}

/// Edges that were sealed, are not yet out of the tables, and are removed are in nobody's way.
#[test]
fn a_time_can_be_declared_over_what_was_left_of_sealed_edges() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name: at } = names(&mut t);
    let ids = people(&mut t, person, 300);
    let edges: Vec<_> = ids.iter().map(|id| edge(ids[0], *id)).chain(ids.iter().map(|id| edge(*id, ids[1]))).collect();
    t.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    t.commit().unwrap();
    seal_and_leave_rows(&hot, ids[7], at);
    let mut t = hot.begin().unwrap();
    let all = followed(t.as_view(), ids[0], Direction::Both)
        .edges
        .into_iter()
        .chain(followed(t.as_view(), ids[1], Direction::In).edges);
    t.remove_edges(&all.collect::<Vec<_>>()).unwrap();
    t.declare_time(knows, at).unwrap();
    let mut made = Vec::new();
    let timed = |time| NewEdge { time: Some(Value::Int64(time)), ..edge(ids[0], ids[time as usize]) };
    t.add_edges(knows, &[timed(9), timed(4), timed(6)], &mut made).unwrap();
    t.commit().unwrap();
    let order = || followed(&hot.snapshot().unwrap(), ids[0], Direction::Out).neighbors;
    assert_eq!(order(), [ids[4], ids[6], ids[9]]);
    let mut t = hot.begin().unwrap();
    t.remove_edges(&[EdgeRef { id: made[2], source: ids[0], target: ids[6] }]).unwrap();
    t.commit().unwrap();
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    assert_eq!(order(), [ids[4], ids[9]]);
    let report = hot.check().unwrap();
    assert!(report.is_clean(), "{report}");
}

/// The vertices a label's index has for a value.
fn with_value(hot: &Hot, label: LabelId, key: KeyId, value: i64) -> Vec<u64> {
    let equal = Predicate::Compare(mangrove_graph::Comparison::Eq, value.into());
    let found = hot.snapshot().unwrap().search(label, key, &equal).unwrap().expect("there is an index");
    found.into_iter().map(|vertex| vertex.local()).collect()
}

/// What is written while a segment is made stays in the tables, and in the index, when the rest is removed from them.
#[test]
fn indexes_keep_what_is_written_while_they_are_sealed() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, .. } = names(&mut t);
    let number = t.ensure_key("number").unwrap();
    t.create_index(person, number).unwrap();
    let ids = people(&mut t, person, 300);
    t.set_cell(ElementId::Vertex(ids[1]), number, Cell::One(1.into())).unwrap();
    t.set_cell(ElementId::Vertex(ids[2]), number, Cell::One(1.into())).unwrap();
    t.commit().unwrap();
    let done = std::cell::Cell::new(false);
    let write = || {
        if !done.replace(true) {
            let mut t = hot.begin().unwrap();
            t.set_cell(ElementId::Vertex(ids[2]), number, Cell::One(2.into())).unwrap();
            t.set_cell(ElementId::Vertex(ids[3]), number, Cell::One(1.into())).unwrap();
            t.commit().unwrap();
        }
        false
    };
    hot.seal(Writer::this_thread(), Patience { timeout: None, cancelled: &write }).unwrap();
    assert!(done.get());
    for _ in 0..2 {
        assert_eq!(with_value(&hot, person, number, 1), [1, 3]);
        assert_eq!(with_value(&hot, person, number, 2), [2]);
        assert_clean(&hot);
        hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    }
}

#[test]
fn indexes_of_what_is_sealed_are_in_the_segments() {
    const PEOPLE: u64 = 70_000; // more pairs than a chunk has
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, .. } = names(&mut t);
    let number = t.ensure_key("number").unwrap();
    let ids = people(&mut t, person, PEOPLE as i64);
    let numbers: ArrayRef = Arc::new((0..PEOPLE as i64).map(|i| Some(i % 1000)).collect::<Int64Array>());
    t.set_properties(Elements::Vertices(&ids), number, &PropertyColumn::Typed(numbers)).unwrap();
    t.create_index(person, number).unwrap();
    t.commit().unwrap();
    let in_table = || hot.stats().unwrap().tables.iter().find(|table| table.name == "index").unwrap().entries;
    let work = |what: &dyn Fn(Writer, Patience<'static>)| {
        what(Writer::this_thread(), Patience::ENDLESS);
        assert_clean(&hot);
    };
    let compact = || work(&|writer, patience| assert!(hot.compact(writer, patience).unwrap() > 0));
    assert_eq!(in_table(), PEOPLE);
    compact();
    assert_eq!(in_table(), 0);
    assert_eq!(hot.check().unwrap().index_entries, PEOPLE);
    for value in [0, 5, 499, 936, 999] {
        assert_eq!(with_value(&hot, person, number, value), (value as u64..PEOPLE).step_by(1000).collect::<Vec<_>>());
    }
    // What is changed is in the table, and takes the place of what was sealed.
    let mut t = hot.begin().unwrap();
    t.set_cell(ElementId::Vertex(ids[5]), number, Cell::One(77_777.into())).unwrap();
    t.set_cell(ElementId::Vertex(ids[6]), number, Cell::Absent).unwrap();
    t.remove_vertices(&[ids[1005]]).unwrap();
    t.commit().unwrap();
    let is_right = || {
        assert_eq!(with_value(&hot, person, number, 5), (2005..PEOPLE).step_by(1000).collect::<Vec<_>>());
        assert_eq!(with_value(&hot, person, number, 6), (1006..PEOPLE).step_by(1000).collect::<Vec<_>>());
        assert_eq!(with_value(&hot, person, number, 7), (7..PEOPLE).step_by(1000).collect::<Vec<_>>());
        assert_eq!(with_value(&hot, person, number, 77_777), [5]);
    };
    assert_eq!(in_table(), 1);
    is_right();
    work(&|writer, patience| hot.seal(writer, patience).unwrap());
    assert_eq!(in_table(), 0);
    is_right();
    compact();
    assert_eq!(hot.check().unwrap().index_entries, PEOPLE - 2);
    is_right();
    // An index that is made anew knows nothing of what segments have of its past.
    let mut t = hot.begin().unwrap();
    t.drop_index(person, number).unwrap();
    t.set_cell(ElementId::Vertex(ids[7]), number, Cell::One(5.into())).unwrap();
    t.commit().unwrap();
    let mut t = hot.begin().unwrap();
    t.create_index(person, number).unwrap();
    t.commit().unwrap();
    assert_eq!(with_value(&hot, person, number, 5)[..2], [7, 2005]);
    assert_eq!(in_table(), PEOPLE - 2);
    work(&|writer, patience| hot.seal(writer, patience).unwrap());
    assert_eq!(in_table(), 0);
    assert_eq!(with_value(&hot, person, number, 5)[..2], [7, 2005]);
}

#[test]
fn a_changed_cell_brings_no_others_along() {
    for encoding in [Encoding::Auto, Encoding::Searchable { sampling_log2: 5 }] {
        change_some_cells(encoding);
    }
}

fn change_some_cells(encoding: Encoding) {
    const PEOPLE: usize = 4000;
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, name, .. } = names(&mut t);
    t.set_encoding(ElementKind::Vertex, person, name, encoding).unwrap();
    let ids = people(&mut t, person, PEOPLE as i64);
    let mut expected: Vec<Cell> =
        (0..PEOPLE).map(|at| Cell::One(format!("{at:x} of {}", at * at * 7919).repeat(9).into())).collect();
    let texts: ArrayRef = Arc::new(
        expected.iter().map(|cell| cell.values().next().and_then(Value::as_str).map(str::to_owned)).collect::<StringArray>(),
    );
    t.set_properties(Elements::Vertices(&ids), name, &PropertyColumn::Typed(texts)).unwrap();
    t.commit().unwrap();
    let bytes = || hot.snapshot().unwrap().statistics().map(|_| hot.stats().unwrap().segment_bytes()).unwrap();
    let seal = || hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    let is_right = |expected: &[Cell]| {
        let view = hot.snapshot().unwrap();
        let column = view.properties(Elements::Vertices(&ids), name).unwrap();
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(column.cell(at), expected[at], "{at}");
            assert_eq!(view.cell(ElementId::Vertex(*id), name).unwrap(), expected[at], "{at}");
        }
        for part in ["1c of", "far", "96"] {
            let predicate = Predicate::Text(TextTest::Contains, part.into());
            let has_part = |at: &usize| expected[*at].values().any(|value| predicate.matches(value));
            let wanted: Vec<_> = (0..PEOPLE).filter(has_part).map(|at| ids[at]).collect();
            let filters = vec![Filter { key: name, predicate: predicate.clone() }];
            let scan = Scan { labels: Some(vec![person]), filters };
            let mut found = Vec::new();
            view.scan_vertices(&scan, &mut ScanCursor::default(), PEOPLE, &mut found).unwrap();
            assert_eq!(found, wanted, "{part}");
            let searched = view.search(person, name, &predicate).unwrap();
            assert_eq!(searched, (encoding != Encoding::Auto).then_some(wanted), "{part}");
        }
        assert_clean(&hot);
    };
    seal();
    let whole = bytes();
    // A cell of every block three times over: as it was, changed to something long, to another type, and to nothing.
    for round in 0..3 {
        let mut t = hot.begin().unwrap();
        for at in (round..PEOPLE).step_by(150) {
            let cell =
                [Cell::One("far ".repeat(100).into()), Cell::One((at as i64).into()), Cell::Absent][round % 3].clone();
            t.set_cell(ElementId::Vertex(ids[at]), name, cell.clone()).unwrap();
            expected[at] = cell;
        }
        t.commit().unwrap();
        is_right(&expected);
        seal();
        is_right(&expected);
    }
    assert!(bytes() < whole + whole / 4, "{} after {whole}", bytes());
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    is_right(&expected);
}

/// What a store has of 200 people, as text.
fn all_of(hot: &Hot) -> mangrove_graph::Result<String> {
    let view = hot.snapshot()?;
    let (person, name) = (LabelId(0), KeyId(0));
    let mut ids = Vec::new();
    view.scan_vertices(&Scan::default(), &mut ScanCursor::default(), 1000, &mut ids)?;
    let names = view.properties(Elements::Vertices(&ids), name)?;
    let mut out = Adjacency::default();
    view.neighbors(&ids, &hop(Direction::Out), &mut out)?;
    view.neighbors(&ids, &hop(Direction::In), &mut out)?;
    let found = view.search(person, name, &Predicate::eq("name 7"))?;
    let mut named = Vec::new();
    let wanted: Vec<_> = (0..200).map(ExternalId::Int).collect();
    view.find_vertices(None, &wanted, &mut named)?;
    let cells: Vec<_> = (0..names.len()).map(|at| names.cell(at)).collect();
    Ok(format!("{ids:?} {cells:?} {:?} {:?} {found:?} {named:?}", out.neighbors, out.edges))
}

#[test]
fn a_damaged_segment_is_never_read_as_data() {
    const STEP: usize = 41;
    let (dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name } = names(&mut t);
    let ids = people(&mut t, person, 200);
    let texts: ArrayRef = Arc::new((0..200).map(|at| Some(format!("name {}", at % 50))).collect::<StringArray>());
    t.set_properties(Elements::Vertices(&ids), name, &PropertyColumn::Typed(texts)).unwrap();
    t.create_index(person, name).unwrap();
    let edges: Vec<_> = (0..200).map(|at| edge(ids[at], ids[at * 7 % 200])).collect();
    t.add_edges(knows, &edges, &mut Vec::new()).unwrap();
    t.commit().unwrap();
    hot.compact(Writer::this_thread(), Patience::ENDLESS).unwrap();
    let whole = all_of(&hot).unwrap();
    drop(hot);
    let segment = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.into_iter().find(|path| path.extension().is_some_and(|of| of == "seg")).unwrap();
    let bytes = std::fs::read(&segment).unwrap();
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(STEP) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        // Another file: the old one may be mapped still.
        std::fs::remove_file(&segment).unwrap();
        std::fs::write(&segment, damaged).unwrap();
        let opened = Hot::open(dir.path(), &HotOptions { read_only: true, ..HotOptions::default() });
        let read = opened.and_then(|hot| {
            assert!(!hot.check().is_ok_and(|report| report.is_clean()), "a check says nothing of byte {at}");
            drop(hot);
            all_of(&Hot::open(dir.path(), &HotOptions { read_only: true, ..HotOptions::default() })?)
        });
        match read {
            Ok(read) => assert_eq!(read, whole, "byte {at}"), // it is of a part that was not asked for
            Err(error) => {
                assert!(matches!(error, GraphError::Corrupt(_)), "byte {at}: {error}");
                assert!(error.to_string().contains(".seg"), "byte {at}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused * STEP > bytes.len() / 2, "{refused}");
}

#[test]
fn edges_of_several_segments_are_in_order_of_time_whoever_is_dead() {
    let (_dir, hot) = new_store();
    let mut t = hot.begin().unwrap();
    let Names { person, knows, name } = names(&mut t);
    t.declare_time(knows, name).unwrap();
    let ids = people(&mut t, person, 2);
    t.commit().unwrap();
    let mut made = Vec::new();
    for times in [[5, 6], [1, 2], [3, 7]] {
        let mut t = hot.begin().unwrap();
        let edges: Vec<_> =
            times.iter().map(|at| NewEdge { time: Some(Value::Int64(*at)), ..edge(ids[0], ids[1]) }).collect();
        t.add_edges(knows, &edges, &mut made).unwrap();
        t.commit().unwrap();
        hot.seal(Writer::this_thread(), Patience::ENDLESS).unwrap();
    }
    let places = |hot: &Hot| {
        let edges = followed(&hot.snapshot().unwrap(), ids[0], Direction::Out).edges;
        edges.into_iter().map(|edge| made.iter().position(|id| *id == edge.id).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(places(&hot), [2, 3, 4, 0, 1, 5]);
    for (gone, rest) in [(1, vec![2, 3, 4, 0, 5]), (3, vec![2, 4, 0, 5]), (5, vec![2, 4, 0])] {
        let mut t = hot.begin().unwrap();
        t.remove_edges(&[EdgeRef { id: made[gone], source: ids[0], target: ids[1] }]).unwrap();
        t.commit().unwrap();
        assert_eq!(places(&hot), rest);
        assert_clean(&hot);
    }
}
