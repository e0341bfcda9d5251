//! Parts of far files that were read before, kept on this machine up to a number of bytes.
//!
//! Each part is a file, named by a hash of what it is a part of, down to the version of that file. Processes share them: a file gets its
//! name when it is whole. Parts that were not used for longest go first.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use mangrove_graph::ReadContext;
use uuid::Uuid;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use super::{Listing, OpenFile, Part, Source};
use crate::error::Result;
use crate::place::{keep_private, make_private};

/// A part that takes more than this share of the room is not kept.
const SHARE: u64 = 8;
/// Parts that were used within this time are not marked as used again.
const BETWEEN_MARKS: Duration = Duration::from_secs(60);
const EXTENSION: &str = "mangrove-page";

/// Files of a source whose parts are kept.
pub struct Kept {
    source: Box<dyn Source>,
    room: Room,
    /// Where the files are, which tells equal paths apart.
    place: Arc<str>,
}

impl Kept {
    pub fn new(source: Box<dyn Source>, place: Arc<str>, directory: PathBuf, bytes_max: u64) -> Self {
        Self { source, room: Room { directory, bytes_max, since_look: AtomicU64::new(u64::MAX) }, place }
    }

    fn describe(&self, part: &Part<'_>) -> String {
        format!("{}\n{}\n{:?}\n{:?}", self.place, part.file.path, part.file.version, part.range)
    }
}

impl Source for Kept {
    fn open(&self, paths: &[Arc<str>], bytes: u64, limits: Option<&ReadContext>) -> Result<Vec<Option<(OpenFile, Bytes)>>> {
        self.source.open(paths, bytes, limits)
    }

    fn read(&self, parts: &[Part<'_>], limits: Option<&ReadContext>) -> Result<Vec<Bytes>> {
        let names: Vec<u128> = parts.iter().map(|part| xxh3_128(self.describe(part).as_bytes())).collect();
        let mut found = Vec::with_capacity(parts.len());
        for (part, name) in parts.iter().zip(&names) {
            limits.map_or(Ok(()), ReadContext::check)?;
            found.push(self.room.get(*name, part.range.end - part.range.start));
        }
        let is_missing = |at: &usize| found[*at].is_none();
        let missing: Vec<usize> = (0..parts.len()).filter(is_missing).collect();
        let wanted: Vec<Part<'_>> = missing.iter().map(|at| parts[*at].clone()).collect();
        for (at, bytes) in missing.into_iter().zip(self.source.read(&wanted, limits)?) {
            self.room.put(names[at], &bytes);
            found[at] = Some(bytes);
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn list(&self, folder: &str) -> Result<Option<Listing>> {
        self.source.list(folder)
    }

    fn all_below(&self, folder: &str) -> Result<Vec<OpenFile>> {
        self.source.all_below(folder)
    }

    fn disk_bytes(&self) -> Result<u64> {
        self.source.disk_bytes()
    }

    fn is_far(&self) -> bool {
        self.source.is_far()
    }
}

/// A directory of parts with a bound.
struct Room {
    directory: PathBuf,
    bytes_max: u64,
    /// Bytes that were written since the directory was last looked through.
    since_look: AtomicU64,
}

impl Room {
    fn path(&self, name: u128) -> PathBuf {
        let digits = format!("{name:032x}");
        self.directory.join(&digits[..2]).join(format!("{digits}.{EXTENSION}"))
    }

    /// A part, if it is there and undamaged.
    fn get(&self, name: u128, bytes: u64) -> Option<Bytes> {
        let path = self.path(name);
        let mut file = File::open(&path).ok()?;
        let metadata = file.metadata().ok().filter(|metadata| metadata.len() == bytes + 8)?;
        let mut all = Vec::with_capacity(metadata.len() as usize);
        file.read_to_end(&mut all).ok()?;
        let sum = all.split_off(all.len().checked_sub(8)?);
        if all.len() as u64 != bytes || sum != checksum(name, &all).to_le_bytes() {
            return None;
        }
        let age = metadata.modified().ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > BETWEEN_MARKS) {
            // If it cannot be noted that it was used, it goes sooner.
            let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(all.into())
    }

    /// Keeps a part, if there is room and the directory can be written.
    fn put(&self, name: u128, bytes: &Bytes) {
        if bytes.len() as u64 > self.bytes_max / SHARE {
            return;
        }
        if let Err(error) = self.write(name, bytes) {
            tracing::debug!("{}: a page cannot be kept there: {error}", self.directory.display());
            return;
        }
        // The first time, nobody knows what is there.
        let before = self.since_look.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if before > self.bytes_max / SHARE {
            self.since_look.store(0, Ordering::Relaxed);
            self.make_room();
        }
    }

    fn write(&self, name: u128, bytes: &Bytes) -> io::Result<()> {
        let path = self.path(name);
        let Some(folder) = path.parent() else { return Ok(()) };
        make_private(folder)?;
        let own = folder.join(format!("{}.unfinished", Uuid::new_v4().simple()));
        let written = (|| {
            let mut file = File::create(&own)?;
            keep_private(&own)?;
            file.write_all(bytes)?;
            file.write_all(&checksum(name, bytes).to_le_bytes())?;
            std::fs::rename(&own, &path)
        })();
        if written.is_err() {
            let _ = std::fs::remove_file(&own);
        }
        written
    }

    /// Removes the parts that were not used for longest, until the others take less than the bound.
    fn make_room(&self) {
        let mut all = parts_below(&self.directory);
        let mut bytes: u64 = all.iter().map(|(_, metadata)| metadata.len()).sum();
        all.sort_by_key(|(_, metadata)| metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH));
        // As much again as is written until the next look.
        let most = self.bytes_max - self.bytes_max / SHARE;
        for (path, metadata) in all {
            if bytes <= most {
                return;
            }
            if std::fs::remove_file(path).is_ok() {
                bytes -= metadata.len();
            }
        }
    }
}

fn checksum(name: u128, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, name as u64)
}

/// The files of parts, and those that were never finished.
fn parts_below(directory: &Path) -> Vec<(PathBuf, Metadata)> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| path.extension().is_some_and(|end| end == EXTENSION || end == "unfinished");
    let files = entries(directory).flat_map(|folder| entries(&folder).filter(is_ours).collect::<Vec<_>>());
    files.filter_map(|path| std::fs::metadata(&path).ok().map(|metadata| (path, metadata))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(directory: &Path, bytes_max: u64) -> Room {
        Room { directory: directory.to_owned(), bytes_max, since_look: AtomicU64::new(u64::MAX) }
    }

    #[test]
    fn a_part_is_found_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        let room = room(&home.path().join("pages"), 1 << 20);
        let bytes = Bytes::from(vec![7; 100]);
        room.put(1, &bytes);
        assert_eq!(room.get(1, 100), Some(bytes.clone()));
        assert_eq!((room.get(2, 100), room.get(1, 99)), (None, None));
        std::fs::copy(room.path(1), room.directory.join("00").join(format!("{:032x}.{EXTENSION}", 3))).unwrap();
        assert_eq!(room.get(3, 100), None, "it is another part");
        let mut damaged = std::fs::read(room.path(1)).unwrap();
        damaged[50] ^= 1;
        std::fs::write(room.path(1), damaged).unwrap();
        assert_eq!(room.get(1, 100), None);
    }

    #[test]
    fn parts_stay_within_the_bound() {
        let home = tempfile::tempdir().unwrap();
        let room = room(&home.path().join("pages"), 10_000);
        let sum = || parts_below(&room.directory).iter().map(|(_, metadata)| metadata.len()).sum::<u64>();
        for name in 0..200 {
            room.put(name, &Bytes::from(vec![name as u8; 300]));
            assert!(sum() <= 10_000 + 400, "{}", sum());
        }
        assert!(sum() > 7_000 && room.get(199, 300).is_some() && room.get(0, 300).is_none());
        room.put(300, &Bytes::from(vec![0; 2_000]));
        assert_eq!(room.get(300, 2_000), None, "it would push out too much else");
    }
}
