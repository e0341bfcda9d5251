//! Compares the store with the oracle, in tables, in a segment, and in both: the conformance suite, and random work.
//!
//! Runs the same cases every time. `MANGROVE_CASES` sets their number and `MANGROVE_SEED` selects others.

mod support;

use mangrove_graph::IdSpace;
use mangrove_testkit::random;
use mangrove_testkit::suite::suite;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use support::StoreInDir;

const CASES: u64 = 80;

#[test]
fn the_store_passes_the_suite() {
    suite(|id_space| Box::new(StoreInDir::temporary(id_space)));
}

#[test]
fn the_store_passes_the_suite_where_all_is_sealed() {
    suite(|id_space| Box::new(StoreInDir::compacting(id_space)));
}

#[test]
fn random_work_in_an_id_space_of_the_graph() {
    run_random_work(IdSpace::Graph, 60, CASES);
}

#[test]
fn random_work_in_an_id_space_of_labels() {
    run_random_work(IdSpace::Label, 40, CASES / 4);
}

fn run_random_work(id_space: IdSpace, length: usize, cases: u64) {
    let config = Config {
        cases: support::number_from_env("MANGROVE_CASES").unwrap_or(cases) as u32,
        rng_seed: RngSeed::Fixed(support::number_from_env("MANGROVE_SEED").unwrap_or(7)),
        failure_persistence: None,
        max_shrink_iters: 3000,
        ..Config::default()
    };
    let work = random::work(length);
    let outcome = TestRunner::new(config).run(&work, |ops| {
        random::run(&mut StoreInDir::temporary(id_space), id_space, &ops);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
