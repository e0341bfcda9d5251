//! A graph in shards, as one store: the suite of the stores and random work, beside the oracle. Every shard is a store of its own in this
//! process. Reads and writes go to the shards that own what they ask for.
//!
//! Runs the same cases every time. `MANGROVE_CASES` sets their number and `MANGROVE_SEED` selects others.

mod support;

use mangrove_graph::{ElementKind, ExternalId, GraphError, IdSpace};
use mangrove_testkit::random;
use mangrove_testkit::suite::{StoreUnderTest, suite};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use support::shards::Shards;

const SHARDS: [u16; 4] = [1, 2, 3, 8];
const CASES: u64 = 12;

#[test]
fn shards_pass_the_suite() {
    for shards in SHARDS {
        println!("{shards} shards");
        suite(|id_space| Box::new(Shards::new(shards, id_space)));
    }
}

#[test]
fn random_work_gives_what_one_store_gives() {
    for shards in SHARDS {
        for (id_space, cases) in [(IdSpace::Graph, CASES), (IdSpace::Label, CASES / 4)] {
            let config = Config {
                cases: support::number_from_env("MANGROVE_CASES").unwrap_or(cases) as u32,
                rng_seed: RngSeed::Fixed(support::number_from_env("MANGROVE_SEED").unwrap_or(7)),
                failure_persistence: None,
                max_shrink_iters: 500,
                ..Config::default()
            };
            let outcome = TestRunner::new(config).run(&random::work(50), |ops| {
                random::run(&mut Shards::new(shards, id_space), id_space, &ops);
                Ok(())
            });
            if let Err(failure) = outcome {
                panic!("{shards} shards: {failure}");
            }
        }
    }
}

#[test]
fn a_shard_keeps_to_its_own() {
    let shards = Shards::new(3, IdSpace::Graph);
    let mut writing = shards.begin().unwrap();
    let graph = writing.graph();
    let label = graph.ensure_label(ElementKind::Vertex, "person").unwrap();
    let mut ids = Vec::new();
    graph.add_vertices(label, &(0..30).map(|id| Some(ExternalId::Int(id))).collect::<Vec<_>>(), &mut ids).unwrap();
    assert!((0..3).all(|shard| ids.iter().any(|id| id.shard() == shard)), "{ids:?}");
    let taken = graph.add_vertices(label, &[Some(7.into())], &mut ids).unwrap_err();
    assert!(matches!(taken, GraphError::DuplicateVertex { .. }));
    writing.commit().unwrap();
    let counts: Vec<u64> = shards.stores.iter().map(|store| store.check().unwrap().vertices).collect();
    assert_eq!(counts.iter().sum::<u64>(), 30);
    assert!(counts.iter().all(|count| (1..30).contains(count)), "{counts:?}");
}
