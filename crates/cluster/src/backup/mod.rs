//! Copies of a graph in an object store: of each shard, and of the log that brings all of them to one commit.
//!
//! ```text
//!   objects   where they are kept
//!   sums      objects with their checksums
//!   copy      makes a copy of a shard and of the log, and brings them back
//! ```
//! A backup begins with a *base* in the log: a record that says what all records before it say. Then each shard is copied, as it is at some place
//! behind the base, while it goes on. Last comes the log from the base to behind all copies. So a shard is restored by its copy and the log after
//! it, and the whole graph from the store alone. Once the next backup is there, the log before the base is of no use.

mod copy;
mod objects;
mod sums;

use std::io::Read;
use std::path::{Component, Path};
use std::time::{Duration, Instant};

use mangrove_graph::{GraphError, Result};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

pub use self::copy::{copy_log, copy_shard, is_there, must_be_whole, restore_log, restore_shard};
pub use self::objects::{Directory, Objects};
pub use self::sums::{get_bytes, put_bytes};

use crate::log::{Base, GraphRecord, Log, PartAt, Record};

/// How backups are written. Others are refused.
const FORMAT: u32 = 1;
/// What a backup consists of. It is written last.
const MANIFEST: &str = "manifest";
/// How long the log may take to show a record.
const PATIENCE: Duration = Duration::from_secs(30);
/// Nobody writes a longer one.
const MANIFEST_BYTES_MAX: u64 = 256 << 20;

/// A backup that is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Backup {
    format: u32,
    pub graph: GraphRecord,
    /// Where its log begins.
    pub base: PartAt,
    /// The offset after the last record of its log.
    pub end: u64,
    /// The commit to which it brings a graph.
    pub number: u64,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    pub shards: Vec<ShardCopy>,
    pub log: ObjectCopy,
}

/// A copy of a shard.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShardCopy {
    pub shard: u16,
    /// The beginning of the names of its objects: of two copies that one backup tried to make, one counts.
    place: String,
    /// The offset of the record that it applies next.
    pub next: u64,
    /// By their paths in the directory of the shard.
    pub files: Vec<ObjectCopy>,
}

/// A file as an object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ObjectCopy {
    pub name: String,
    pub bytes: u64,
    /// XXH3.
    pub sum: u64,
}

impl Backup {
    /// The bytes of its objects.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().flat_map(|shard| &shard.files).chain([&self.log]).map(|file| file.bytes).sum()
    }

    /// Whether no name leads out of its place.
    fn is_sound(&self) -> bool {
        let is_below = |name: &str| {
            let parts = Path::new(name).components();
            !name.is_empty() && parts.into_iter().all(|part| matches!(part, Component::Normal(_)))
        };
        let files = |copy: &ShardCopy| is_below(&copy.place) && copy.files.iter().all(|file| is_below(&file.name));
        is_below(&self.log.name) && self.shards.iter().all(files)
    }

    /// By this, users name it.
    pub fn name(&self) -> String {
        name_of(self.base)
    }
}

/// Backups are sorted by their names: the newest is the last.
fn name_of(base: PartAt) -> String {
    format!("{:020}-{:016x}", base.offset, base.sum)
}

/// The beginning of the names of the objects of a backup.
fn place_of(graph: &str, base: PartAt) -> String {
    format!("{graph}/{}", name_of(base))
}

/// Says that a backup is complete.
fn finish(objects: &dyn Objects, backup: &Backup) -> Result<()> {
    let mut text = serde_json::to_vec(backup).map_err(|error| GraphError::Invalid(error.to_string()))?;
    let sum = xxh3_64(&text);
    text.extend_from_slice(format!("\n{sum:016x}\n").as_bytes());
    objects.put(&format!("{}/{MANIFEST}", place_of(&backup.graph.name, backup.base)), &mut &text[..])
}

/// What is there under the name of a backup.
pub enum BackupFound {
    Whole(Backup),
    /// It was not finished, or is being made.
    Unfinished,
    /// Why it cannot be used.
    Damaged(String),
}

/// What there is under the names of backups of a graph, those that begin last in the log first.
pub fn found<'o>(
    objects: &'o dyn Objects,
    graph: &'o str,
) -> Result<impl Iterator<Item = Result<(String, BackupFound)>> + 'o> {
    let mut names = objects.list(graph)?;
    names.retain(|name| is_name(name));
    names.sort_unstable();
    Ok(names.into_iter().rev().map(move |name| match read(objects, graph, &name) {
        Ok(Some(backup)) => Ok((name, BackupFound::Whole(backup))),
        Ok(None) => Ok((name, BackupFound::Unfinished)),
        Err(GraphError::Corrupt(what)) => Ok((name, BackupFound::Damaged(what))),
        Err(error) => Err(error),
    }))
}

/// The complete backups of a graph, those that begin last in the log first. One that is damaged is passed over, with a warning.
pub fn backups<'o>(objects: &'o dyn Objects, graph: &'o str) -> Result<impl Iterator<Item = Result<Backup>> + 'o> {
    Ok(found(objects, graph)?.filter_map(|found| match found {
        Ok((_, BackupFound::Whole(backup))) => Some(Ok(backup)),
        Ok((_, BackupFound::Unfinished)) => None,
        Ok((name, BackupFound::Damaged(what))) => {
            tracing::warn!("the backup {name} is passed over: {what}");
            None
        }
        Err(error) => Some(Err(error)),
    }))
}

/// Whether this may be the name of a backup. People put other things there, too.
fn is_name(name: &str) -> bool {
    let is_hex = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.split_once('-').is_some_and(|(offset, sum)| offset.len() == 20 && offset.parse::<u64>().is_ok() && is_hex(sum))
}

/// `None` if it is not complete.
fn read(objects: &dyn Objects, graph: &str, name: &str) -> Result<Option<Backup>> {
    let Some(object) = objects.get(&format!("{graph}/{name}/{MANIFEST}"))? else { return Ok(None) };
    let (mut bytes, damaged) = (Vec::new(), || GraphError::corrupt("its manifest is damaged"));
    object.take(MANIFEST_BYTES_MAX).read_to_end(&mut bytes).map_err(GraphError::storage)?;
    let text = bytes.strip_suffix(b"\n").ok_or_else(damaged)?;
    let at = text.iter().rposition(|byte| *byte == b'\n').ok_or_else(damaged)?;
    let (text, sum) = (&text[..at], std::str::from_utf8(&text[at + 1..]).map_err(|_| damaged())?);
    if u64::from_str_radix(sum, 16) != Ok(xxh3_64(text)) {
        return Err(damaged());
    }
    let backup: Backup = serde_json::from_slice(text).map_err(|_| damaged())?;
    if !backup.is_sound() {
        return Err(GraphError::corrupt("it has names that lead elsewhere"));
    }
    match backup.format == FORMAT && backup.name() == name && backup.graph.name == graph {
        true => Ok(Some(backup)),
        false => Err(GraphError::corrupt("another version of this program has written it")),
    }
}

/// The base of a backup in a log; `None` if it is not there, as when the log began anew, from an older backup.
pub fn base_in(log: &dyn Log, backup: &Backup) -> Result<Option<Base>> {
    if backup.base.offset < log.first()? {
        return Ok(None);
    }
    let (mut reader, mut found) = (log.reader(backup.base.offset)?, Vec::new());
    let until = Instant::now() + PATIENCE;
    while found.is_empty() {
        if Instant::now() >= until {
            return Err(GraphError::Unavailable("the log cannot be read".into()));
        }
        match reader.read(Duration::from_millis(100), &mut found) {
            Ok(true) if found.is_empty() => return Ok(None),
            Ok(_) => {}
            Err(GraphError::Invalid(_)) => return Ok(None), // it is beyond the end
            Err(error) => return Err(error),
        }
    }
    let (offset, record) = &found[0];
    match Record::from_bytes(record)? {
        Record::Base(base) if (*offset, Record::sum_of(record)) == (backup.base.offset, backup.base.sum) => Ok(Some(base)),
        _ => Ok(None),
    }
}
