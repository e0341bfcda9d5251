//! A graph in shards, for the suite and the drivers.

use std::path::Path;
use std::sync::Arc;

use mangrove_cluster::{ClusterChange, ClusterView, Placement};
use mangrove_graph::{ExternalId, GraphError, GraphView, GraphWrite, IdSpace, LabelId, Result};
use mangrove_hot::{Durability, Hot, HotOptions, HotTransaction, Patience, Sides, Writer};
use mangrove_testkit::oracle::{Homes, Oracle};
use mangrove_testkit::suite::{Condensing, StoreUnderTest, Transaction};
use tempfile::TempDir;

/// Shards, each a store of its own in this process.
pub struct Shards {
    /// Empty only between closing and opening again.
    pub stores: Vec<Hot>,
    pub placement: Placement,
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
    /// Empty ones in a temporary directory.
    ///
    /// # Panics
    /// If they cannot be opened.
    pub fn new(shards: u16, id_space: IdSpace) -> Self {
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
