//! What a node does for backups.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mangrove_graph::{GraphError, Result};

use super::Node;
use crate::backup::{Backup, Objects, ShardCopy, backups, base_in, copy_log, copy_shard, is_there, must_be_whole};
use crate::log::PartAt;

/// Where a node keeps backups.
pub struct Keeping {
    pub objects: Arc<dyn Objects>,
    /// A directory for a copy of a shard, until its files are stored.
    pub scratch: PathBuf,
}

impl Node {
    fn keeping(&self) -> Result<&Keeping> {
        let missing = || GraphError::Invalid(format!("{} keeps no backups: start it with --store", self.name));
        self.keeping.as_ref().ok_or_else(missing)
    }

    /// Stores a copy of a shard, once it has applied the log beyond a base.
    pub(super) fn copy_shard(&self, shard: u16, base: PartAt, is_cancelled: &dyn Fn() -> bool) -> Result<ShardCopy> {
        let Keeping { objects, scratch } = self.keeping()?;
        let directory = scratch.join(format!("copy-of-shard-{shard:04}"));
        let _alone = self.copying.lock().unwrap_or_else(std::sync::PoisonError::into_inner); // one copy at a time takes space
        let _ = fs::remove_dir_all(&directory); // of a process that was killed
        let copy = || {
            let is_cancelled = || is_cancelled() || self.tail.is_stopped();
            let position = self.hosts.get_for_new(shard)?.copy_to(&directory, base.offset, &is_cancelled)?;
            copy_shard(&**objects, &self.graph, (shard, position.next), base, &directory, &is_cancelled)
        };
        let copied = copy();
        let _ = fs::remove_dir_all(&directory); // the next copy would remove it, too
        copied
    }

    /// Stores the log, with which the backup is complete.
    pub(super) fn copy_log(&self, base: PartAt, shards: Vec<ShardCopy>) -> Result<Backup> {
        let all = 0..self.graph.placement.shards;
        if !shards.iter().map(|copy| copy.shard).eq(all) || shards.iter().any(|copy| copy.next <= base.offset) {
            return Err(GraphError::Invalid("a backup has each shard once, in order, as it is behind its base".into()));
        }
        let (read, _) = self.tail.read_to();
        if shards.iter().any(|copy| copy.next > read) {
            return Err(GraphError::Unavailable(format!("{} has not read the log so far", self.name)));
        }
        copy_log(&*self.keeping()?.objects, &self.graph, &*self.log, base, shards)
    }

    /// Deletes the log before the last backup but one of those that belong to it. Gives where it begins now.
    ///
    /// The newest backup was written just now. The one before it may be old, and without the log before it, all depends on it: so it is read first, and
    /// counts only if it is whole.
    pub(super) fn cut_log(&self, is_cancelled: &dyn Fn() -> bool) -> Result<Option<u64>> {
        let (objects, mut has_newest) = (&*self.keeping()?.objects, false);
        let is_cancelled = || is_cancelled() || self.tail.is_stopped();
        for backup in backups(objects, &self.graph.name)? {
            let backup = backup?;
            let base = if backup.graph == self.graph { base_in(&*self.log, &backup)? } else { None };
            let Some(base) = base else { continue };
            if !has_newest {
                has_newest = is_there(objects, &backup)?;
                if !has_newest {
                    tracing::warn!("the backup {} has lost some of its objects", backup.name());
                }
                continue;
            }
            if base.shift != self.log.shift() {
                return Ok(None); // it was written to the log before this one, and so no log can begin with it
            }
            match must_be_whole(objects, &backup, &is_cancelled) {
                Ok(()) => {
                    self.log.cut(backup.base.offset)?;
                    return Ok(Some(backup.base.offset));
                }
                Err(GraphError::Corrupt(what)) => {
                    tracing::warn!("the log is not cut at the backup {}, which is damaged: {what}", backup.name());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
