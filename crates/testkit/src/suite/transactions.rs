//! Transactions are all or nothing, and snapshots do not change.

use mangrove_graph::IdSpace;

use super::*;
use crate::samples;

pub(super) const CASES: &[Case] = &[
    ("an abort leaves no trace", an_abort_leaves_no_trace),
    ("a snapshot stays as it is", a_snapshot_stays_as_it_is),
    ("a transaction reads what it wrote", a_transaction_reads_what_it_wrote),
    ("many small commits add up", many_small_commits_add_up),
    ("positions in sources last with their changes", positions_in_sources_last_with_their_changes),
];

fn an_abort_leaves_no_trace(make: Make<'_>) {
    let mut store = make(IdSpace::Graph);
    let empty = Oracle::default();
    {
        let mut transaction = store.begin().unwrap();
        samples::write_crew(transaction.graph()).unwrap();
    }
    assert_same(&*store.snapshot().unwrap(), &empty);
    committed(&*store, |graph| samples::write_modern(graph).unwrap());
    {
        let mut transaction = store.begin().unwrap();
        let graph = transaction.graph();
        let everything = crate::compare::scan_vertices(graph.as_view(), &Default::default(), 100);
        graph.remove_vertices(&everything).unwrap();
        let (label, extra) = (vertex_label(graph, "extra"), key(graph, "extra"));
        let made = add_vertices(graph, label, 100..200);
        set_vertex(graph, made[0], extra, 1i64);
        graph.create_index(PropertyId::of_vertices(label, extra)).unwrap();
    }
    assert_same(&*store.snapshot().unwrap(), &Oracle::modern());
    store.reopen().unwrap();
    assert_same(&*store.snapshot().unwrap(), &Oracle::modern());
    let mut oracle = Oracle::modern();
    let extend = |graph: &mut dyn GraphWrite| {
        let label = vertex_label(graph, "person");
        graph.add_vertices(label, &[Some(49.into()), Some(50.into())], &mut Vec::new()).unwrap();
    };
    committed(&*store, extend);
    extend(&mut oracle);
    assert_same(&*store.snapshot().unwrap(), &oracle);
    assert_clean(&*store);
}

fn a_snapshot_stays_as_it_is(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    let before = store.snapshot().unwrap();
    committed(&*store, |graph| samples::write_modern(graph).unwrap());
    let between = store.snapshot().unwrap();
    let oracle = Oracle::modern();
    committed(&*store, |graph| {
        let all = crate::compare::scan_vertices(graph.as_view(), &Default::default(), 100);
        graph.remove_vertices(&all).unwrap();
        assert_same(&*between, &oracle);
    });
    assert_same(&*before, &Oracle::default());
    assert_same(&*between, &oracle);
    assert_eq!(store.snapshot().unwrap().statistics().unwrap().vertices, [0, 0]);
}

fn a_transaction_reads_what_it_wrote(make: Make<'_>) {
    let store = make(IdSpace::Graph);
    let mut transaction = store.begin().unwrap();
    samples::write_modern(transaction.graph()).unwrap();
    assert_same(transaction.graph().as_view(), &Oracle::modern());
    assert_same(&*store.snapshot().unwrap(), &Oracle::default());
    transaction.commit().unwrap();
    assert_same(&*store.snapshot().unwrap(), &Oracle::modern());
}

fn positions_in_sources_last_with_their_changes(make: Make<'_>) {
    let mut store = make(IdSpace::Graph);
    let said = |store: &dyn StoreUnderTest| store.snapshot().unwrap().sources().unwrap();
    let is = |said: Vec<(String, Vec<u8>)>, wanted: &[(&str, &str)]| {
        let wanted = wanted.iter().map(|(name, at)| ((*name).to_owned(), at.as_bytes().to_vec()));
        assert_eq!(said, wanted.collect::<Vec<_>>());
    };
    is(said(&*store), &[]);
    if let Some(mut bulk) = store.begin_bulk().unwrap() {
        bulk.graph().put_source("events", b"1").unwrap();
        samples::write_modern(bulk.graph()).unwrap();
        bulk.commit().unwrap();
    } else {
        committed(&*store, |graph| graph.put_source("events", b"1").unwrap());
    }
    is(said(&*store), &[("events", "1")]);
    let before = store.snapshot().unwrap();
    {
        let mut transaction = store.begin().unwrap();
        transaction.graph().put_source("events", b"2").unwrap();
        is(transaction.graph().as_view().sources().unwrap(), &[("events", "2")]);
    }
    is(said(&*store), &[("events", "1")]);
    committed(&*store, |graph| {
        let label = vertex_label(graph, "thing");
        add_vertices(graph, label, 100..110);
        graph.put_source("events", b"12").unwrap();
        graph.put_source("clicks", b"").unwrap();
    });
    is(before.sources().unwrap(), &[("events", "1")]);
    drop(before);
    for how in [Condensing::Seal, Condensing::Merge, Condensing::Compact] {
        store.condense(how, &|| false).unwrap();
        store.reopen().unwrap();
        is(said(&*store), &[("clicks", ""), ("events", "12")]);
    }
    assert_clean(&*store);
}

fn many_small_commits_add_up(make: Make<'_>) {
    let mut store = make(IdSpace::Graph);
    let mut oracle = Oracle::default();
    let step = |graph: &mut dyn GraphWrite, at: i64| {
        let (thing, knows, name) = (vertex_label(graph, "thing"), edge_label(graph, "knows"), key(graph, "name"));
        let made = add_vertices(graph, thing, [at])[0];
        set_vertex(graph, made, name, format!("number {at}"));
        let earlier = find(graph.as_view(), None, at / 2).unwrap();
        add_edges(graph, knows, [(made, earlier), (earlier, made)]);
    };
    for at in 0..100 {
        committed(&*store, |graph| step(graph, at));
        step(&mut oracle, at);
        if at % 40 == 20 {
            store.reopen().unwrap();
        }
    }
    assert_same(&*store.snapshot().unwrap(), &oracle);
    assert_clean(&*store);
}
