//! Copies of a graph in an object store.

use std::cmp::Reverse;
use std::io::Read;
use std::sync::Arc;

use mangrove_cluster::backup::{Backup, BackupFound, Directory, Objects, found, restore_log};
use mangrove_cluster::gateway::Gateway;
use mangrove_cluster::log::Log;
use mangrove_cluster::transaction::{TurnPatience, base};
use mangrove_cluster::wire::{Call, Reply};
use mangrove_graph::{GraphError, Result};
use mangrove_lake::{Bucket, LakeError};
use mangrove_link::{GraphAddress, Ways};

use super::unexpected;

/// Where backups are kept: a directory, or an object store with an address like `s3://bucket/path`.
///
/// # Errors
/// If the address cannot be read.
pub fn objects(place: &str) -> Result<Arc<dyn Objects>> {
    let is_scheme = |scheme: &str| scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match place.split_once(':') {
        Some(("file", path)) if path.starts_with("//") => Ok(Arc::new(Directory::new(&path[2..]))),
        Some((scheme, rest)) if is_scheme(scheme) && !rest.starts_with("//") => Err(GraphError::Invalid(format!(
            "{place} is no place for backups: write {scheme}://bucket/path, or a directory"
        ))),
        Some((scheme, _)) if is_scheme(scheme) => {
            Ok(Arc::new(InBucket(Bucket::new(place).map_err(|error| GraphError::Invalid(error.to_string()))?)))
        }
        _ => Ok(Arc::new(Directory::new(place))),
    }
}

/// An object store.
struct InBucket(Bucket);

fn not_stored(error: LakeError) -> GraphError {
    GraphError::Unavailable(error.to_string())
}

impl Objects for InBucket {
    fn put(&self, name: &str, from: &mut dyn Read) -> Result<()> {
        self.0.put(name, from).map_err(not_stored)
    }

    fn get(&self, name: &str) -> Result<Option<Box<dyn Read + Send>>> {
        Ok(self.0.get(name).map_err(not_stored)?.map(|object| Box::new(object) as _))
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        self.0.size(name).map_err(not_stored)
    }

    fn list(&self, under: &str) -> Result<Vec<String>> {
        self.0.list(under).map_err(not_stored)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.0.remove(name).map_err(not_stored)
    }

    fn place(&self) -> String {
        self.0.place().to_owned()
    }
}

/// What a backup does next.
pub enum BackupStage {
    Shard(u16),
    Log,
    /// The last backup but one is read, and the log is cut before it.
    Cut,
}

/// Makes a backup of a graph: its nodes copy each shard and the log into their store. Then the log before the last backup but one is deleted, unless
/// `keeps_log`. Gives the backup, and where the log begins now if it was cut.
///
/// # Errors
/// If a shard has no node that answers, or if the nodes have no store, or cannot write there. Without its last part, a backup is none.
pub fn backup(address: &GraphAddress, keeps_log: bool, show: &mut dyn FnMut(BackupStage)) -> Result<(Backup, Option<u64>)> {
    let gateway = Ways::find(address, "backup")?.gateway();
    let base = base(&gateway, &TurnPatience { timeout: None, cancelled: &|| false })?;
    let mut copies = Vec::new();
    for shard in 0..gateway.placement().shards {
        show(BackupStage::Shard(shard));
        match ask_node_with(&gateway, shard, &Call::CopyShard { shard, base })? {
            Reply::ShardCopied(copy) => copies.push(copy),
            _ => return Err(unexpected("a node")),
        }
    }
    show(BackupStage::Log);
    let Reply::LogCopied(backup) = ask_node_with(&gateway, 0, &Call::CopyLog { base, shards: copies })? else {
        return Err(unexpected("a node"));
    };
    if keeps_log {
        return Ok((backup, None));
    }
    show(BackupStage::Cut);
    match ask_node_with(&gateway, 0, &Call::CutLog)? {
        Reply::LogCut(first) => Ok((backup, first)),
        _ => Err(unexpected("a node")),
    }
}

/// Asks a node that has a shard. If one cannot be reached, asks the next.
fn ask_node_with(gateway: &Gateway, shard: u16, call: &Call) -> Result<Reply> {
    let mut why = GraphError::Unavailable(format!("no node has shard {shard}"));
    for (node, shards) in gateway.peers().with_shards()? {
        if !shards.contains(&shard) {
            continue;
        }
        match node.call(call, None) {
            Err(error @ GraphError::Unavailable(_)) => why = error,
            reply => return reply,
        }
    }
    Err(why)
}

/// What a place has of the backups of a graph, the newest first, and what is damaged or was not finished last.
///
/// # Errors
/// If the place cannot be read.
pub fn list_backups(store: &dyn Objects, graph: &str) -> Result<Vec<(String, BackupFound)>> {
    let mut all = found(store, graph)?.collect::<Result<Vec<_>>>()?;
    // After a restore from an older backup, one that was made later may begin earlier in the log.
    all.sort_by_key(|(_, found)| match found {
        BackupFound::Whole(backup) => Reverse(Some(backup.made)),
        BackupFound::Unfinished | BackupFound::Damaged(_) => Reverse(None),
    });
    Ok(all)
}

/// The backup of a graph with this name, or the newest.
///
/// # Errors
/// If there is none, or if something there is damaged that may be the newest.
pub fn find_backup(store: &dyn Objects, graph: &str, name: Option<&str>) -> Result<Backup> {
    let all = list_backups(store, graph)?;
    let names = || {
        let names = all.iter().filter(|(_, found)| matches!(found, BackupFound::Whole(_))).map(|(name, _)| &**name);
        names.collect::<Vec<_>>().join(", ")
    };
    let wrong = |what: String| Err(GraphError::Invalid(what));
    let place = store.place();
    if let Some((name, BackupFound::Damaged(what))) = all.iter().find(|(known, found)| match name {
        Some(name) => known == name,
        None => matches!(found, BackupFound::Damaged(_)),
    }) {
        return wrong(format!(
            "the backup {name} in {place} cannot be used: {what}. Name another with --backup: {}",
            names()
        ));
    }
    let wanted = all.iter().filter(|(known, _)| name.is_none_or(|name| known == name));
    let found =
        wanted.filter_map(|(_, found)| if let BackupFound::Whole(backup) = found { Some(backup) } else { None }).next();
    match found {
        Some(backup) => Ok(backup.clone()),
        None if names().is_empty() => wrong(format!("{place} has no backup of a graph {graph} that is whole")),
        None => wrong(format!("{place} has no backup {} that is whole: it has {}", name.unwrap_or_default(), names())),
    }
}

/// Begins a new log with a backup: the graph goes on there, with the commits up to that of the backup. Calls `told` with how many records are there.
///
/// # Errors
/// If the log has records, if it cannot be written, or if the backup is damaged.
pub fn restore(store: &dyn Objects, backup: &Backup, log: &dyn Log, told: &mut dyn FnMut(u64)) -> Result<()> {
    restore_log(store, backup, log, told).map_err(|error| match error {
        GraphError::Corrupt(what) => GraphError::Invalid(format!(
            "the backup {} is damaged: {what}. Name another with --backup; `mangrove cluster backups` lists them",
            backup.name()
        )),
        error => error,
    })
}
