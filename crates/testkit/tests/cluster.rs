//! A graph in shards, as one store: the suite of the stores and random work, beside the oracle. Every shard is a store of its own in this
//! process. Reads and writes go to the shards that own what they ask for.
//!
//! Runs the same cases every time. `MANGROVE_CASES` sets their number and `MANGROVE_SEED` selects others.

mod support;

use std::path::Path;
use std::sync::Arc;

use mangrove_cluster::{ClusterChange, ClusterView, Placement};
use mangrove_graph::{ElementKind, ExternalId, GraphError, GraphView, GraphWrite, IdSpace, LabelId, Result};
use mangrove_hot::{Durability, Hot, HotOptions, HotTransaction, Patience, Sides, Writer};
use mangrove_testkit::oracle::{Homes, Oracle};
use mangrove_testkit::random;
use mangrove_testkit::suite::{Condensing, StoreUnderTest, Transaction, suite};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tempfile::TempDir;

const SHARDS: [u16; 4] = [1, 2, 3, 8];
const CASES: u64 = 12;

struct Shards {
    /// Empty only between closing and opening again.
    stores: Vec<Hot>,
    placement: Placement,
    home: TempDir,
}

fn open(home: &Path, placement: Placement) -> Result<Vec<Hot>> {
    let Placement { shards, id_space, .. } = placement;
    let options = HotOptions {
        durability: Durability::Relaxed,
        id_space,
        sides: Sides::Apart,
        seal_bytes: 0,
        ..HotOptions::default()
    };
    (0..shards).map(|number| Hot::open(&home.join(number.to_string()), &options)).collect()
}

impl Shards {
    fn new(shards: u16, id_space: IdSpace) -> Self {
        let (home, placement) =
            (tempfile::tempdir().expect("a temporary directory"), Placement { shards, seed: 7, id_space });
        Self { stores: open(home.path(), placement).expect("new stores"), placement, home }
    }
}

impl StoreUnderTest for Shards {
    fn snapshot(&self) -> Result<Box<dyn GraphView + '_>> {
        let stores = self.stores.iter().map(|store| store.snapshot().map(Box::new)).collect::<Result<_>>()?;
        Ok(Box::new(ClusterView::over_stores(stores, self.placement)))
    }

    fn begin(&self) -> Result<Box<dyn Transaction + '_>> {
        let stores = self.stores.iter().map(Hot::begin).collect::<Result<_>>()?;
        Ok(Box::new(Writing(ClusterChange::new(stores, self.placement))))
    }

    fn reopen(&mut self) -> Result<()> {
        self.stores.clear();
        self.stores = open(self.home.path(), self.placement)?;
        Ok(())
    }

    fn condense(&self, how: Condensing, meanwhile: &dyn Fn() -> bool) -> Result<()> {
        // Others write only when all shards are done, because each gives new ids behind what it has sealed.
        for store in &self.stores {
            let (writer, patience) = (Writer::this_thread(), Patience::ENDLESS);
            match how {
                Condensing::Seal => store.seal(writer, patience)?,
                Condensing::Merge => store.merge(writer, patience).map(|_| ())?,
                Condensing::Compact => store.compact(writer, patience).map(|_| ())?,
            }
        }
        if meanwhile() { Err(GraphError::Cancelled) } else { Ok(()) }
    }

    fn oracle(&self, id_space: IdSpace) -> Oracle {
        let placement = self.placement;
        let home = Arc::new(move |label: LabelId, id: &ExternalId| placement.home(label, id));
        Oracle::in_shards(id_space, Homes { shards: placement.shards, home })
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for store in &self.stores {
            all.extend(store.check()?.violations.iter().map(|violation| violation.to_string()));
        }
        Ok(all)
    }
}

struct Writing(ClusterChange<HotTransaction>);

impl Transaction for Writing {
    fn graph(&mut self) -> &mut dyn GraphWrite {
        &mut self.0
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let stores: Vec<HotTransaction> = self.0.into_stores()?;
        stores.into_iter().try_for_each(HotTransaction::commit)
    }
}

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
