//! A graph in three shards, in this process.

use mangrove_cluster::{ClusterChange, ClusterView, Placement};
use mangrove_graph::{GraphView, GraphWrite, IdSpace};
use mangrove_hot::{Durability, Hot, HotOptions, HotTransaction, Sides};
use tempfile::TempDir;

const SHARDS: u16 = 3;

pub struct Shards {
    stores: Vec<Hot>,
    placement: Placement,
    /// Removed with the database.
    _directory: TempDir,
}

impl Shards {
    pub fn create() -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|e| format!("no temporary directory: {e}"))?;
        let options = HotOptions { durability: Durability::Relaxed, sides: Sides::Apart, ..HotOptions::default() };
        let open = |number: u16| Hot::open(&directory.path().join(number.to_string()), &options).map_err(|e| e.to_string());
        let stores = (0..SHARDS).map(open).collect::<Result<_, _>>()?;
        let placement = Placement { shards: SHARDS, seed: 0, id_space: IdSpace::Graph };
        Ok(Self { stores, placement, _directory: directory })
    }

    pub fn read<T>(&self, read: impl FnOnce(&dyn GraphView) -> Result<T, String>) -> Result<T, String> {
        let snapshots = self.stores.iter().map(|store| store.snapshot().map(Box::new).map_err(|e| e.to_string()));
        read(&ClusterView::over_stores(snapshots.collect::<Result<_, _>>()?, self.placement))
    }

    /// Changes the graph in one transaction of every shard. Without `keep`, or on an error, it discards the changes.
    pub fn write<T>(
        &mut self,
        keep: bool,
        write: impl FnOnce(&mut dyn GraphWrite) -> Result<T, String>,
    ) -> Result<T, String> {
        let begun = self.stores.iter().map(|store| store.begin().map_err(|e| e.to_string()));
        let mut change = ClusterChange::new(begun.collect::<Result<_, _>>()?, self.placement);
        let result = write(&mut change)?;
        if keep {
            let stores: Vec<HotTransaction> = change.into_stores().map_err(|e| e.to_string())?;
            stores.into_iter().try_for_each(HotTransaction::commit).map_err(|e| e.to_string())?;
        }
        Ok(result)
    }
}
