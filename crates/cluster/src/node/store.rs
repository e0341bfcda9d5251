//! What a process needs of the store of a shard.

use std::path::Path;

use mangrove_graph::{FollowerWrite, ReadContext, Result, ShardRead};

/// A store at one cut.
pub trait CutView: Send {
    /// Sets the limits of who reads it. All calls honour them from now on; `None` for no limits.
    fn limit(&mut self, limits: Option<ReadContext>);

    fn store(&self) -> &dyn ShardRead;
}

/// A store that follows the log. Nobody else writes to it.
pub trait ShardStore: Send + Sync {
    /// The store as it is now.
    fn view(&self) -> Result<Box<dyn CutView>>;

    /// How far it has applied the log; `None` at first.
    fn log_position(&self) -> Result<Option<Vec<u8>>>;

    /// Makes changes in one transaction.
    fn change(&self, work: &mut dyn FnMut(&mut dyn FollowerWrite) -> Result<()>) -> Result<()>;

    /// Writes a copy into a new directory. Gives how far the copy has applied the log.
    fn copy_to(&self, directory: &Path) -> Result<Option<Vec<u8>>>;

    /// The bytes of its files.
    fn bytes(&self) -> Result<u64>;

    /// What is wrong with it. O(size of the store).
    fn check(&self) -> Result<Vec<String>>;
}

/// Where a node has the stores of its shards.
pub trait ShardStores: Send + Sync {
    /// Opens the store of a shard. If there is none, makes one: from a backup, or empty if the log has all.
    fn open(&self, shard: u16) -> Result<Box<dyn ShardStore>>;

    /// Deletes the store of a shard, which is closed. It may not be there.
    fn delete(&self, shard: u16) -> Result<()>;
}
