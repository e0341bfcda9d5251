//! Where the shards of a node are on its disk, and with what the node was started.
//!
//! ```text
//!   DATA/node.json    the graph, the name of the node, and the shards with which it was started last
//!   DATA/shard-0003   the store of shard 3
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mangrove_cluster::backup::{Objects, restore_shard};
use mangrove_cluster::log::{GraphRecord, Log, Position};
use mangrove_cluster::node::{ShardStore, ShardStores};
use mangrove_directory::{Durability, OpenOptions, ShardOf, Store};
use mangrove_graph::{GraphError, Result};
use serde::{Deserialize, Serialize};

use crate::error::OpenError;

const FILE: &str = "node.json";
const SHARD: &str = "shard-";

/// With what a node was started.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedWith {
    pub graph: u64,
    pub name: String,
    pub shards: Vec<u16>,
}

impl StartedWith {
    /// Whether the node of a directory was started with just this before.
    pub fn is_as_before(&self, data: &Path) -> bool {
        let before = fs::read(data.join(FILE)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        before.as_ref() == Some(self)
    }

    pub fn keep(&self, data: &Path) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(self).map_err(GraphError::storage)?;
        let (file, new) = (data.join(FILE), data.join(format!("{FILE}.new")));
        fs::create_dir_all(data).and_then(|()| fs::write(&new, bytes)).map_err(GraphError::storage)?;
        fs::rename(new, file).map_err(GraphError::storage)
    }
}

/// The stores of the shards of a node.
pub struct Stores {
    pub data: PathBuf,
    pub graph: GraphRecord,
    pub log: Arc<dyn Log>,
    /// Where backups are.
    pub backups: Option<Arc<dyn Objects>>,
}

impl ShardStores for Stores {
    fn open(&self, shard: u16) -> Result<Box<dyn ShardStore>> {
        self.opened(shard).map_err(|error| match error {
            OpenError::Cluster(error) => error,
            error => GraphError::Storage { message: error.to_string(), source: None },
        })
    }

    fn delete(&self, shard: u16) -> Result<()> {
        let directory = self.directory(shard);
        if directory.exists() { fs::remove_dir_all(directory).map_err(GraphError::storage) } else { Ok(()) }
    }
}

impl Stores {
    fn directory(&self, shard: u16) -> PathBuf {
        self.data.join(format!("{SHARD}{shard:04}"))
    }

    /// The shards that are on the disk.
    pub fn on_disk(&self) -> Vec<u16> {
        (0..self.graph.placement.shards).filter(|shard| self.directory(*shard).exists()).collect()
    }

    /// Opens a shard. If it is not there, or has missed what the log has no more, it comes from a backup first.
    pub fn opened(&self, number: u16) -> Result<Box<dyn ShardStore>, OpenError> {
        let shards = self.graph.placement.shards;
        if number >= shards {
            let error = format!("there is no shard {number}: the graph has {shards}");
            return Err(OpenError::Cluster(GraphError::Invalid(error)));
        }
        let (directory, first) = (self.directory(number), self.log.first().map_err(OpenError::Cluster)?);
        if directory.exists() {
            let store = self.store(number, &directory)?;
            let position = ShardStore::log_position(&store).map_err(OpenError::Cluster)?;
            let position = position.map_or(Ok(Position::default()), |bytes| Position::from_bytes(&bytes));
            // It reads the record before its position again. A log that began anew has another one at its beginning.
            let least = first + u64::from(self.log.shift() > 0);
            if first == 0 || position.map_err(OpenError::Cluster)?.next > least {
                return Ok(Box::new(store));
            }
        }
        let restored = match &self.backups {
            Some(backups) => self.restore(&**backups, number, &directory).map_err(OpenError::Cluster)?,
            None => false,
        };
        if !restored && first > 0 {
            let what = match &self.backups {
                Some(backups) => format!("{} has no backup of it that is whole", backups.place()),
                None => "say with --store where its backups are".to_owned(),
            };
            let error =
                format!("the log begins at record {first}, and shard {number} has nothing of what was before: {what}");
            return Err(OpenError::Cluster(GraphError::Invalid(error)));
        }
        Ok(Box::new(self.store(number, &directory)?))
    }

    fn store(&self, number: u16, directory: &Path) -> Result<Store, OpenError> {
        let shard = ShardOf { graph: self.graph.id, number, shards: self.graph.placement.shards };
        let options = OpenOptions {
            durability: Durability::Replayed,
            id_space: Some(self.graph.placement.id_space),
            shard: Some(shard),
            ..OpenOptions::default()
        };
        Ok(Store::open(directory, &options)?)
    }

    /// Brings a shard back from the newest backup, in place of what there is. Returns whether there is a backup.
    fn restore(&self, backups: &dyn Objects, number: u16, directory: &Path) -> Result<bool> {
        fs::create_dir_all(&self.data).map_err(GraphError::storage)?;
        let (restored, old) = (directory.with_extension("restored"), directory.with_extension("old"));
        for left in [&restored, &old] {
            if left.exists() {
                fs::remove_dir_all(left).map_err(GraphError::storage)?; // of a process that was killed
            }
        }
        let Some(backup) = restore_shard(backups, &self.graph, &*self.log, number, &restored)? else { return Ok(false) };
        if directory.exists() {
            fs::rename(directory, &old).map_err(GraphError::storage)?;
        }
        fs::rename(&restored, directory).map_err(GraphError::storage)?;
        if old.exists() {
            fs::remove_dir_all(&old).map_err(GraphError::storage)?;
        }
        tracing::warn!("shard {number} comes from the backup {backup}");
        Ok(true)
    }
}
