//! Brief writers that wait for each other share a commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mangrove_graph::{
    Catalog, Cell, ElementId, ElementKind, ExternalId, GraphError, GraphView, GraphWrite, KeyId, LabelId, Result, Value,
};
use mangrove_hot::{Hot, HotOptions, HotTransaction, Patience, Writer};

use crate::*;

/// A store that waits for the disk: only such stores have groups.
fn durable(dir: &Path) -> Hot {
    Hot::open(dir, &HotOptions::default()).unwrap()
}

fn new_durable() -> (TempDir, Hot, LabelId) {
    let dir = tempfile::tempdir().unwrap();
    let hot = durable(dir.path());
    let mut t = hot.begin().unwrap();
    let person = t.ensure_label(ElementKind::Vertex, "person").unwrap();
    t.commit().unwrap();
    (dir, hot, person)
}

type Work = Box<dyn FnOnce(&Hot, HotTransaction) -> Result<()> + Send>;

fn brief() -> Writer {
    Writer { is_brief: true, ..Writer::this_thread() }
}

/// Begins a brief transaction, does a part of it, and waits until as many others wait. Then it commits, and so leads a group. Returns
/// what each of the others reported.
fn lead(hot: &Hot, first: impl FnOnce(&mut HotTransaction), others: Vec<(bool, Work)>) -> (Result<()>, Vec<Result<()>>) {
    let mut leading = hot.begin_for(brief(), Patience::ENDLESS).unwrap();
    first(&mut leading);
    let (waiting, count) = (AtomicUsize::new(0), others.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = others
            .into_iter()
            .map(|(is_brief, work)| {
                let waiting = &waiting;
                scope.spawn(move || {
                    // Whoever asks whether to go on counts as waiting.
                    let asked = AtomicUsize::new(0);
                    let cancelled = || {
                        waiting.fetch_add(usize::from(asked.fetch_add(1, Ordering::SeqCst) == 0), Ordering::SeqCst);
                        false
                    };
                    let writer = Writer { is_brief, ..Writer::this_thread() };
                    let begun = hot.begin_for(writer, Patience { timeout: None, cancelled: &cancelled })?;
                    work(hot, begun)
                })
            })
            .collect();
        while waiting.load(Ordering::SeqCst) < count {
            std::thread::sleep(Duration::from_millis(1));
        }
        let committed = leading.commit();
        (committed, threads.into_iter().map(|thread| thread.join().unwrap()).collect())
    })
}

fn add(t: &mut HotTransaction, label: LabelId, id: i64) -> Result<()> {
    t.add_vertices(label, &[Some(ExternalId::Int(id))], &mut Vec::new())
}

fn has(view: &dyn GraphView, id: i64) -> bool {
    let mut found = Vec::new();
    view.find_vertices(None, &[ExternalId::Int(id)], &mut found).unwrap();
    found[0].is_some()
}

fn adding(label: LabelId, id: i64) -> (bool, Work) {
    let work = move |hot: &Hot, mut t: HotTransaction| {
        assert!(has(&t, 0), "it sees what the leader has done");
        add(&mut t, label, id)?;
        t.commit()?;
        assert!(has(&hot.snapshot()?, 0) && has(&hot.snapshot()?, id), "its commit returns when it is committed");
        Ok(())
    };
    (true, Box::new(work))
}

#[test]
fn waiting_writers_share_a_commit() {
    // A thread that is woken late misses its group.
    let shared = (0..50).any(|_| {
        let (dir, hot, person) = new_durable();
        let mut t = hot.begin().unwrap();
        add(&mut t, person, -1).unwrap();
        t.commit().unwrap();
        // So many searches in vain make a filter of the keys. It must learn those of all members.
        (1000..1100).for_each(|id| assert!(!has(&hot.snapshot().unwrap(), id)));
        let shared = Arc::new(AtomicUsize::new(0));
        let adding = |id: i64| -> (bool, Work) {
            let (shared, (_, work)) = (shared.clone(), adding(person, id));
            let looking = move |hot: &Hot, t: HotTransaction| {
                shared.fetch_add(usize::from(!has(&hot.snapshot()?, 0)), Ordering::SeqCst);
                work(hot, t)
            };
            (true, Box::new(looking))
        };
        let (committed, outcomes) = lead(&hot, |t| add(t, person, 0).unwrap(), (1..=20).map(adding).collect());
        committed.unwrap();
        outcomes.into_iter().for_each(Result::unwrap);
        drop(hot);
        let hot = durable(dir.path());
        assert!((0..=20).all(|id| has(&hot.snapshot().unwrap(), id)));
        assert_clean(&hot);
        shared.load(Ordering::SeqCst) > 1
    });
    assert!(shared, "no writer ever worked in the transaction of another one");
}

#[test]
fn each_member_of_a_group_may_change_the_schema() {
    let (_dir, hot, _) = new_durable();
    let labels = |t: &mut HotTransaction, n: usize| -> (LabelId, KeyId) {
        let label = t.ensure_label(ElementKind::Vertex, &format!("label {n}")).unwrap();
        (label, t.ensure_key(&format!("key {n}")).unwrap())
    };
    let work = move |n: usize| -> (bool, Work) {
        let work = move |_: &Hot, mut t: HotTransaction| {
            let (label, key) = labels(&mut t, n);
            let mut made = Vec::new();
            t.add_vertices(label, &[None], &mut made)?;
            t.set_cell(ElementId::Vertex(made[0]), key, Cell::One(Value::Int64(n as i64)))?;
            t.commit()
        };
        (true, Box::new(work))
    };
    let (committed, outcomes) = lead(&hot, |t| assert_eq!(labels(t, 0).0.0, 1), (1..=9).map(work).collect());
    committed.unwrap();
    outcomes.into_iter().for_each(Result::unwrap);
    let mut t = hot.begin().unwrap();
    let known: Vec<(LabelId, KeyId)> = (0..10).map(|n| labels(&mut t, n)).collect();
    drop(t);
    let view = hot.snapshot().unwrap();
    assert_eq!(view.schema().vertex_labels.len(), 11);
    assert_eq!(known.len(), 10);
    let statistics = view.statistics().unwrap();
    assert!(known[1..].iter().all(|(label, _)| statistics.vertices[usize::from(label.0)] == 1));
    assert_clean(&hot);
}

#[test]
fn a_member_that_fails_undoes_its_own_work_alone() {
    let (_dir, hot, person) = new_durable();
    let fails = move |_: &Hot, mut t: HotTransaction| {
        add(&mut t, person, 100)?;
        add(&mut t, person, 0) // the leader's
    };
    let gives_up = move |_: &Hot, mut t: HotTransaction| {
        add(&mut t, person, 101)?;
        t.ensure_label(ElementKind::Vertex, "ghost")?;
        drop(t);
        Ok(())
    };
    let panics = move |_: &Hot, mut t: HotTransaction| {
        let outcome = catch_unwind(AssertUnwindSafe(move || {
            add(&mut t, person, 102).unwrap();
            panic!("halfway");
        }));
        outcome.unwrap_err();
        Ok(())
    };
    let mut others: Vec<(bool, Work)> = vec![(true, Box::new(fails)), (true, Box::new(gives_up)), (true, Box::new(panics))];
    others.extend((1..=3).map(|id| adding(person, id)));
    let (committed, outcomes) = lead(&hot, |t| add(t, person, 0).unwrap(), others);
    committed.unwrap();
    assert!(matches!(outcomes[0], Err(GraphError::DuplicateVertex { .. })), "{:?}", outcomes[0]);
    assert!(outcomes[1..].iter().all(Result::is_ok), "{outcomes:?}");
    let view = hot.snapshot().unwrap();
    assert!((0..=3).all(|id| has(&view, id)));
    assert!((100..=102).all(|id| !has(&view, id)));
    assert_eq!(view.schema().label(ElementKind::Vertex, "ghost"), None);
    assert_clean(&hot);
}

#[test]
fn writers_that_are_not_brief_have_a_commit_of_their_own() {
    let (_dir, hot, person) = new_durable();
    let alone = move |hot: &Hot, mut t: HotTransaction| {
        assert!(has(&hot.snapshot()?, 0), "the group is committed before it begins");
        add(&mut t, person, 50)?;
        t.commit()
    };
    let others = vec![(false, Box::new(alone) as Work), adding(person, 1), adding(person, 2)];
    let (committed, outcomes) = lead(&hot, |t| add(t, person, 0).unwrap(), others);
    committed.unwrap();
    outcomes.into_iter().for_each(Result::unwrap);
    assert!([0, 1, 2, 50].iter().all(|id| has(&hot.snapshot().unwrap(), *id)));
    assert_clean(&hot);
}
