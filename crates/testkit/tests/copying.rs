//! Copies of graphs with their vertices in another order, after random work.

mod support;

use mangrove_directory::Writer;
use mangrove_graph::{GraphView, IdSpace, Numbering, Scan};
use mangrove_ingest::{CopyTerms, Quiet, copy};
use mangrove_testkit::compare::assert_same_in_any_order;
use mangrove_testkit::graphs::Random;
use mangrove_testkit::random;
use mangrove_testkit::suite::StoreUnderTest;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use support::StoreInDir;

/// The vertices of a view in an arbitrary order.
fn shuffled(view: &dyn GraphView, seed: u64) -> Numbering {
    let numbering = Numbering::new(view, &Scan::default()).unwrap();
    let (mut order, mut random): (Vec<u32>, _) = ((0..numbering.count() as u32).collect(), Random::new(seed));
    (1..order.len()).rev().for_each(|at| order.swap(at, random.below(at as u64 + 1) as usize));
    numbering.ordered(&order)
}

fn terms(order: &Numbering) -> CopyTerms<'_> {
    CopyTerms { order, sorts_edges: true, has_ids: &|_| true, time: &|_| None }
}

fn copied(id_space: IdSpace, ops: &[random::Op]) {
    let mut from = StoreInDir::temporary(id_space);
    random::run(&mut from, id_space, ops);
    let to = StoreInDir::temporary(id_space);
    let view = from.snapshot().unwrap();
    let order = shuffled(&*view, ops.len() as u64);
    let mut bulk =
        to.store().begin_for(Writer::this_thread(), mangrove_directory::Patience::ENDLESS).unwrap().into_bulk().unwrap();
    let report = copy(&*view, &terms(&order), bulk.graph(), &mut Quiet).unwrap();
    assert_eq!(report.vertex_count(), order.count());
    // And once more, within the load.
    bulk.rewrite("shuffled", &mut |view, graph| {
        let again = shuffled(view, 1 + ops.len() as u64);
        copy(view, &terms(&again), graph, &mut Quiet).unwrap();
        Ok(())
    })
    .unwrap();
    bulk.commit(&|| false).unwrap();
    assert_eq!(to.check().unwrap(), Vec::<String>::new());
    assert_same_in_any_order(&*view, &*to.snapshot().unwrap());
    assert_eq!(to.store().stats().unwrap().layout.as_deref(), Some("shuffled"));
    assert_eq!(from.store().stats().unwrap().layout, None);
}

#[test]
fn a_copy_in_another_order_is_the_same_graph() {
    for (id_space, cases) in [(IdSpace::Graph, 25), (IdSpace::Label, 10)] {
        let config = Config { cases, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..Config::default() };
        let outcome = TestRunner::new(config).run(&random::work(50), |ops| {
            copied(id_space, &ops);
            Ok(())
        });
        if let Err(failure) = outcome {
            panic!("{failure}");
        }
    }
}
