//! Sealing, compacting and bulk loads while others work, and damaged segments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, StringArray};
use mangrove_graph::{
    Adjacency, Catalog, Cell, Direction, ElementId, ElementIds, ElementKind, Elements, Encoding, ExternalId, Filter,
    GraphError, GraphView, GraphWrite, KeyId, LabelId, Predicate, PropertyColumn, PropertyId, Scan, ScanCursor, TextTest,
    Value,
};
use mangrove_hot::{Durability, Hot, HotOptions, Patience, Writer};

use crate::*;

/// Writes go on while a thread seals and merges. Every reader sees the whole graph.
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

/// Commits made while everything is compacted over and over stay.
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

/// Loads that fail, and compactions of an empty store, leave each other's files alone.
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
            let scan = Scan { labels: Some(vec![person]), filters, ..Scan::default() };
            let mut found = Vec::new();
            view.scan_vertices(&scan, &mut ScanCursor::default(), PEOPLE, &mut found).unwrap();
            assert_eq!(found, wanted, "{part}");
            let searched = view.search_all(PropertyId::of_vertices(person, name), &predicate).unwrap();
            assert_eq!(searched.map(ElementIds::into_vertices), (encoding != Encoding::Auto).then_some(wanted), "{part}");
        }
        assert_clean(&hot);
    };
    seal();
    let whole = bytes();
    // Three rounds change a cell of almost every block: to something long, to another type, and to nothing.
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

/// All that a store has of 200 people, as text.
fn all_of(hot: &Hot) -> mangrove_graph::Result<String> {
    let view = hot.snapshot()?;
    let (person, name) = (LabelId(0), KeyId(0));
    let mut ids = Vec::new();
    view.scan_vertices(&Scan::default(), &mut ScanCursor::default(), 1000, &mut ids)?;
    let names = view.properties(Elements::Vertices(&ids), name)?;
    let mut out = Adjacency::default();
    view.neighbors(&ids, &hop(Direction::Out), &mut out)?;
    view.neighbors(&ids, &hop(Direction::In), &mut out)?;
    let found = view.search_all(PropertyId::of_vertices(person, name), &Predicate::eq("name 7"))?;
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
    t.create_index(PropertyId::of_vertices(person, name)).unwrap();
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
        // Make another file: the old one may still be mapped.
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
