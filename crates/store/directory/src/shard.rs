//! The store of a shard, for the node that has it.

use std::path::Path;

use mangrove_cluster::node::{CutView, ShardStore};
use mangrove_graph::{FollowerWrite, GraphError, ReadContext, Result, ShardRead};

use crate::directory::HOT;
use crate::{OpenOptions, Snapshot, Store};

/// LMDB's table of readers.
const READERS: &str = "lock.mdb";

struct AtCut(Snapshot);

impl CutView for AtCut {
    fn limit(&mut self, limits: Option<ReadContext>) {
        self.0.limit(limits);
    }

    fn store(&self) -> &dyn ShardRead {
        &self.0
    }
}

impl ShardStore for Store {
    fn view(&self) -> Result<Box<dyn CutView>> {
        Ok(Box::new(AtCut(self.snapshot()?)))
    }

    fn log_position(&self) -> Result<Option<Vec<u8>>> {
        self.snapshot()?.log_position()
    }

    fn change(&self, work: &mut dyn FnMut(&mut dyn FollowerWrite) -> Result<()>) -> Result<()> {
        let mut transaction = self.begin()?;
        work(&mut transaction)?;
        transaction.commit()
    }

    fn copy_to(&self, directory: &Path) -> Result<Option<Vec<u8>>> {
        self.backup(directory)?;
        let options = OpenOptions { read_only: true, shard: self.shard, ..OpenOptions::default() };
        let copy = Store::open(directory, &options).map_err(|error| GraphError::Invalid(error.to_string()))?;
        let position = copy.log_position()?;
        drop(copy);
        let _ = std::fs::remove_file(directory.join(HOT).join(READERS)); // it says who reads the copy: nobody
        Ok(position)
    }

    fn bytes(&self) -> Result<u64> {
        Ok(self.stats()?.disk_bytes())
    }

    fn check(&self) -> Result<Vec<String>> {
        Ok(Store::check(self)?.violations.iter().map(ToString::to_string).collect())
    }
}
