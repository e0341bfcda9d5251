//! Transactions are all or nothing, and snapshots do not change.

use mangrove_graph::IdSpace;

use super::*;
use crate::samples;

pub(super) const CASES: &[Case] = &[
    ("an abort leaves no trace", an_abort_leaves_no_trace),
    ("a snapshot stays as it is", a_snapshot_stays_as_it_is),
    ("a transaction reads what it wrote", a_transaction_reads_what_it_wrote),
    ("many small commits add up", many_small_commits_add_up),
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
