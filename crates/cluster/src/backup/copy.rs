//! Copies of shards and of the log, there and back.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mangrove_graph::{GraphError, Result};

use super::sums::{Summing, whole};
use super::{Backup, FORMAT, ObjectCopy, Objects, ShardCopy, backups, base_in, finish, place_of};
use crate::log::{Base, GraphRecord, Log, LogReader, PartAt, Record, Standing};

/// The object of the log.
const LOG: &str = "log";
const PAUSE: Duration = Duration::from_millis(100);
/// How long the log may say nothing new while it is copied.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many records are written to a new log before they are read back.
const AT_ONCE: usize = 256;
/// And no more bytes of them.
const AT_ONCE_BYTES: usize = 32 << 20;

/// Stores the files of a copy of a shard, which begins behind `base`.
pub fn copy_shard(
    objects: &dyn Objects,
    graph: &GraphRecord,
    (shard, next): (u16, u64),
    base: PartAt,
    directory: &Path,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<ShardCopy> {
    let own = format!("shard-{shard:04}-{:08x}", uuid::Uuid::new_v4().as_fields().0);
    let (place, mut files) = (format!("{}/{own}", place_of(&graph.name, base)), Vec::new());
    for path in files_of(directory).map_err(GraphError::storage)? {
        if is_cancelled() {
            return Err(GraphError::Cancelled);
        }
        let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let mut file = Summing::new(File::open(&path).map_err(GraphError::storage)?);
        objects.put(&format!("{place}/{name}"), &mut file)?;
        files.push(file.copied(name));
    }
    Ok(ShardCopy { shard, place: own, next, files })
}

/// All files under a directory.
fn files_of(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut left) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() { left.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Stores the log from a base to behind the copies of all shards, and says that the backup is complete. The log must have come so far.
pub fn copy_log(
    objects: &dyn Objects,
    graph: &GraphRecord,
    log: &dyn Log,
    base: PartAt,
    shards: Vec<ShardCopy>,
) -> Result<Backup> {
    let place = place_of(&graph.name, base);
    if let Some(shard) = missing(objects, &place, &shards)? {
        let (shard, place) = (shard.shard, objects.place());
        let what = format!("the copy of shard {shard} is not in {place}: all nodes need the same place with --store");
        return Err(GraphError::Invalid(what));
    }
    let end = shards.iter().map(|shard| shard.next).max().unwrap_or(0);
    let reader = log.reader(base.offset)?;
    let records = Records {
        reader,
        next: base.offset,
        end,
        standing: None,
        first: None,
        ready: Vec::new().into_iter(),
        bytes: Vec::new(),
        at: 0,
    };
    let mut records = Summing::new(records);
    objects.put(&format!("{place}/{LOG}"), &mut records)?;
    if records.from.first != Some(base.sum) {
        return Err(GraphError::Invalid("the log of a backup begins with its base".into()));
    }
    let log = records.copied(LOG.into());
    let Records { next, standing, .. } = records.from;
    let made = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let number = standing.map_or(0, |standing: Standing| standing.number);
    let backup = Backup { format: FORMAT, graph: graph.clone(), base, end: next, number, made, shards, log };
    finish(objects, &backup)?;
    Ok(backup)
}

/// A copy of which a file is not there, or is shorter or longer than it was.
fn missing<'c>(objects: &dyn Objects, place: &str, copies: &'c [ShardCopy]) -> Result<Option<&'c ShardCopy>> {
    for copy in copies {
        for file in &copy.files {
            if objects.size(&format!("{place}/{}/{}", copy.place, file.name))? != Some(file.bytes) {
                return Ok(Some(copy));
            }
        }
    }
    Ok(None)
}

/// Reads all objects of a backup, which must be as they were when they were stored.
///
/// # Errors
/// [`GraphError::Corrupt`] if one is not there, or has changed. [`GraphError::Cancelled`] if it should not go on.
pub fn must_be_whole(objects: &dyn Objects, backup: &Backup, is_cancelled: &dyn Fn() -> bool) -> Result<()> {
    let place = place_of(&backup.graph.name, backup.base);
    let read = |place: &str, copy: &ObjectCopy| match is_cancelled() {
        true => Err(GraphError::Cancelled),
        false => {
            whole(objects, place, copy, |object| io::copy(object, &mut io::sink()).map(drop).map_err(GraphError::storage))
        }
    };
    read(&place, &backup.log)?;
    for shard in &backup.shards {
        let place = format!("{place}/{}", shard.place);
        shard.files.iter().try_for_each(|file| read(&place, file))?;
    }
    Ok(())
}

/// Whether all objects of a backup are there. It reads none of them.
pub fn is_there(objects: &dyn Objects, backup: &Backup) -> Result<bool> {
    let place = place_of(&backup.graph.name, backup.base);
    let has_log = objects.size(&format!("{place}/{}", backup.log.name))? == Some(backup.log.bytes);
    Ok(has_log && missing(objects, &place, &backup.shards)?.is_none())
}

/// The records of a log as bytes: the length of each, and the record.
struct Records {
    reader: Box<dyn LogReader>,
    next: u64,
    end: u64,
    /// `None` before the first.
    standing: Option<Standing>,
    /// The checksum of the first.
    first: Option<u64>,
    ready: std::vec::IntoIter<(u64, Vec<u8>)>,
    /// Those of the record at hand, and how many of them were read.
    bytes: Vec<u8>,
    at: usize,
}

impl Records {
    /// Takes the next record before the end. Returns whether there is one.
    fn advance(&mut self) -> Result<bool> {
        let since = Instant::now();
        loop {
            if let Some((offset, record)) = self.ready.next() {
                if offset != self.next {
                    return Err(GraphError::corrupt(format!("the log has no record {}", self.next)));
                }
                self.first.get_or_insert_with(|| Record::sum_of(&record));
                self.standing.get_or_insert_default().take(&Record::from_bytes(&record)?);
                self.next = offset + 1;
                self.bytes = [&(record.len() as u32).to_le_bytes()[..], &record].concat();
                self.at = 0;
                return Ok(true);
            }
            if self.next >= self.end {
                return Ok(false);
            }
            let mut found = Vec::new();
            self.reader.read(PAUSE, &mut found)?;
            if found.is_empty() && since.elapsed() >= PATIENCE {
                return Err(GraphError::Unavailable("the log says nothing new".into()));
            }
            found.retain(|(offset, _)| *offset < self.end);
            self.ready = found.into_iter();
        }
    }
}

impl Read for Records {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() && !self.advance().map_err(io::Error::other)? {
            return Ok(0);
        }
        let read = (&self.bytes[self.at..]).read(into)?;
        self.at += read;
        Ok(read)
    }
}

/// Brings a shard back into a directory that is not there, from the newest backup that is whole and belongs to the log. Gives the name of the
/// backup; `None` if there is none.
///
/// # Errors
/// If the backups or the log cannot be read, or the directory not be written.
pub fn restore_shard(
    objects: &dyn Objects,
    graph: &GraphRecord,
    log: &dyn Log,
    shard: u16,
    directory: &Path,
) -> Result<Option<String>> {
    let unfinished = directory.with_extension("unfinished");
    for backup in backups(objects, &graph.name)? {
        let backup = backup?;
        let Some(copy) = backup.shards.iter().find(|copy| copy.shard == shard) else { continue };
        if backup.graph != *graph || base_in(log, &backup)?.is_none() {
            continue;
        }
        let _ = fs::remove_dir_all(&unfinished); // of a process that was killed
        let place = format!("{}/{}", place_of(&graph.name, backup.base), copy.place);
        match copy.files.iter().try_for_each(|file| bring(objects, &place, file, &unfinished)) {
            Ok(()) => {
                let placed = fs::rename(&unfinished, directory).and_then(|()| match directory.parent() {
                    Some(parent) => File::open(parent)?.sync_all(),
                    None => Ok(()),
                });
                placed.map_err(GraphError::storage)?;
                return Ok(Some(backup.name()));
            }
            Err(GraphError::Corrupt(what)) => {
                tracing::error!(shard, "the backup {} in {} is damaged: {what}", backup.name(), objects.place());
                let _ = fs::remove_dir_all(&unfinished); // the next one replaces it
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Brings an object back as a file.
fn bring(objects: &dyn Objects, place: &str, copy: &ObjectCopy, directory: &Path) -> Result<()> {
    let path = directory.join(&copy.name);
    let write = |object: &mut dyn Read| -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        let mut file = File::create(&path)?;
        io::copy(object, &mut file)?;
        file.sync_all()
    };
    whole(objects, place, copy, |object| write(object).map_err(GraphError::storage))
}

/// Begins a new log with what a backup has: its graph goes on there, with the commits up to that of the backup. Calls `told` with how many of its
/// records are there.
///
/// # Errors
/// If the log has records, if it cannot be written, or if the backup is damaged.
pub fn restore_log(objects: &dyn Objects, backup: &Backup, log: &dyn Log, told: &mut dyn FnMut(u64)) -> Result<()> {
    let place = place_of(&backup.graph.name, backup.base);
    // First without writing: a log that was begun with half a backup is of no use.
    must_be_whole(objects, backup, &|| false)?;
    let mut written = Written { reader: log.reader(0)?, next: 0 };
    if log.first()? > 0 || !written.is_empty()? {
        return Err(GraphError::Invalid("the log has records already: restore into a new one".into()));
    }
    whole(objects, &place, &backup.log, |object| {
        let (mut object, mut batch, mut bytes) = (BufReader::new(object), Vec::new(), 0);
        while let Some(record) = next_record(&mut object)? {
            if written.next == 0 && batch.is_empty() {
                batch.push(begun(&record, backup)?);
            }
            bytes += record.len();
            batch.push(record);
            if batch.len() >= AT_ONCE || bytes >= AT_ONCE_BYTES {
                written.append(log, std::mem::take(&mut batch))?;
                bytes = 0;
                told(written.next);
            }
        }
        written.append(log, batch)?;
        told(written.next);
        Ok(())
    })
}

/// The first record of a new log: it says what the first of the backup says, and how far the offsets are apart.
fn begun(first: &[u8], backup: &Backup) -> Result<Vec<u8>> {
    match Record::from_bytes(first)? {
        Record::Base(base) => {
            let shift = backup.base.offset.saturating_sub(1);
            let id = uuid::Uuid::new_v4().as_u128();
            Record::Base(Base { id, members: Vec::new(), shift, ..base }).to_bytes()
        }
        _ => Err(GraphError::corrupt("the log of the backup does not begin with a base")),
    }
}

fn next_record(from: &mut impl Read) -> Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read(&mut length[..1]).map_err(GraphError::storage)? {
        0 => return Ok(None),
        _ => from.read_exact(&mut length[1..]).map_err(GraphError::storage)?,
    }
    let length = u32::from_le_bytes(length);
    let mut record = Vec::new();
    from.take(length.into()).read_to_end(&mut record).map_err(GraphError::storage)?;
    match record.len() == length as usize {
        true => Ok(Some(record)),
        false => Err(GraphError::corrupt("the log of the backup ends within a record")),
    }
}

/// What was written to a log and read back.
struct Written {
    reader: Box<dyn LogReader>,
    next: u64,
}

impl Written {
    fn is_empty(&mut self) -> Result<bool> {
        let (mut found, until) = (Vec::new(), Instant::now() + PATIENCE);
        while Instant::now() < until {
            if self.reader.read(PAUSE, &mut found)? || !found.is_empty() {
                return Ok(found.is_empty());
            }
        }
        Err(GraphError::Unavailable("the log cannot be read".into()))
    }

    /// Appends records, and waits until they are there.
    fn append(&mut self, log: &dyn Log, records: Vec<Vec<u8>>) -> Result<()> {
        let sums: Vec<u64> = records.iter().map(|record| Record::sum_of(record)).collect();
        records.into_iter().try_for_each(|record| log.append(record))?;
        let (mut found, mut read, mut since) = (Vec::new(), 0, Instant::now());
        while read < sums.len() {
            self.reader.read(PAUSE, &mut found)?;
            if since.elapsed() >= PATIENCE {
                return Err(GraphError::Unavailable("the log does not take the records: restore into a new one".into()));
            }
            for (offset, record) in found.drain(..) {
                if offset != self.next || sums.get(read) != Some(&Record::sum_of(&record)) {
                    return Err(GraphError::Invalid("others write to this log: restore into a new one".into()));
                }
                (self.next, read, since) = (offset + 1, read + 1, Instant::now());
            }
        }
        Ok(())
    }
}
