//! The directory of indexes.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mangrove_segment::file::{Identity, SegmentFile, SegmentWriter};
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

use super::Part;
use mangrove_graph::GraphError;

use crate::error::{LakeError, Result};
use crate::place::{keep_private, make_private, usual_place};

/// The most bytes that stay, unless somebody says otherwise.
const BYTES_MAX: u64 = 10_000_000_000;
const EXTENSION: &str = "mangrove-index";
/// What a file is called until it is whole.
const UNFINISHED: &str = "unfinished";
/// A file that nobody has finished for so long is left over from a process that was killed.
const UNFINISHED_MAX: Duration = Duration::from_secs(24 * 3600);

/// Indexes by what they describe. Those used last stay.
#[derive(Clone)]
pub struct IndexCache {
    /// `None` if there is no place for it; then indexes live as long as they are used.
    root: Option<PathBuf>,
    bytes_max: u64,
}

impl IndexCache {
    pub fn new(root: Option<PathBuf>, bytes_max: Option<u64>) -> Self {
        Self { root: root.or_else(usual_place), bytes_max: bytes_max.unwrap_or(BYTES_MAX) }
    }

    fn path(&self, description: &str) -> Option<PathBuf> {
        let root = self.root.as_ref()?;
        Some(root.join(format!("{:032x}.{EXTENSION}", xxh3_128(description.as_bytes()))))
    }

    /// The index that was made from what a description says. One that is damaged counts as missing, so it is made anew.
    pub fn open(&self, description: &str) -> Option<SegmentFile> {
        let path = self.path(description)?;
        let found = path.exists().then(|| SegmentFile::open(&path).ok()).flatten()?;
        let is_it = found.get(Part::Description.key(0)).ok()? == Some(description.as_bytes()) && found.verify().is_ok();
        if is_it {
            // How long ago it was used decides what goes first. If that cannot be noted, it goes sooner.
            let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(found).filter(|_| is_it)
    }

    /// Makes an index. If the directory cannot be written, the index lives until it is dropped.
    pub fn write(&self, description: &str, fill: impl Fn(&mut SegmentWriter) -> Result<()>) -> Result<SegmentFile> {
        if let Some(path) = self.path(description)
            && let Some(root) = self.root.as_ref().filter(|root| make_private(root).is_ok())
        {
            match write_here(root, &path, description, &fill) {
                Ok(file) => {
                    self.make_room(root, &path);
                    return Ok(file);
                }
                Err(error @ (LakeError::Cancelled | LakeError::Graph(GraphError::Stopped | GraphError::Late(_)))) => {
                    return Err(error);
                }
                Err(error) => tracing::warn!("{}: no index can be kept there: {error}", root.display()),
            }
        }
        let place = tempfile::tempdir().map_err(failed(&std::env::temp_dir()))?;
        let path = place.path().join(format!("one.{EXTENSION}"));
        write_file(&path, description, fill)?;
        // The file stays readable while it is mapped.
        Ok(SegmentFile::open(&path)?)
    }

    /// Fails if an index would be lost when the process ends.
    pub fn must_keep(&self) -> Result<()> {
        let hint = "name a directory that can be written: MANGROVE_CACHE=DIR, or open_lake(…, cache=DIR)";
        let Some(root) = &self.root else {
            return Err(LakeError::Unsupported(format!("there is no directory for indexes: {hint}")));
        };
        let writable = make_private(root).and_then(|()| tempfile::tempfile_in(root));
        match writable {
            Ok(_) => Ok(()),
            Err(error) => Err(LakeError::Unsupported(format!("{}: {error}; {hint}", root.display()))),
        }
    }

    /// Removes the indexes that were not used for longest, until the others fit.
    fn make_room(&self, root: &Path, newest: &Path) {
        let mut found = files(root);
        let mut bytes: u64 = found.iter().map(|(_, metadata)| metadata.len()).sum();
        found.sort_by_key(|(_, metadata)| metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH));
        for (path, metadata) in found.iter().filter(|(path, _)| path != newest) {
            let age = metadata.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
            let is_index = path.extension().is_some_and(|extension| extension == EXTENSION);
            let goes = if is_index { bytes > self.bytes_max } else { age > UNFINISHED_MAX };
            if goes && std::fs::remove_file(path).is_ok() {
                bytes -= metadata.len();
            }
        }
    }
}

/// Writes an index under a name of its own first: other processes may write the same one at the same time.
fn write_here(
    root: &Path,
    path: &Path,
    description: &str,
    fill: impl Fn(&mut SegmentWriter) -> Result<()>,
) -> Result<SegmentFile> {
    let own = root.join(format!("{}.{UNFINISHED}-index", Uuid::new_v4().simple()));
    let written = write_file(&own, description, fill).and_then(|()| {
        // It is mapped before it has its name: from then on, another process may remove it to make room.
        let file = SegmentFile::open(&own)?;
        std::fs::rename(&own, path).map_err(failed(path))?;
        Ok(file)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&own);
        let _ = std::fs::remove_file(own.with_extension(UNFINISHED));
    }
    written
}

/// The files of the cache, with what the system knows of them. Others may lie in the directory, too: ours have names of 32 digits.
fn files(root: &Path) -> Vec<(PathBuf, Metadata)> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('.'));
        name.is_some_and(|(digits, extension)| {
            digits.len() == 32
                && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
                && (extension == EXTENSION || extension.starts_with(UNFINISHED))
        })
    };
    let entries = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(ours);
    entries.filter_map(|path| std::fs::metadata(&path).ok().map(|metadata| (path, metadata))).collect()
}

fn write_file(path: &Path, description: &str, fill: impl Fn(&mut SegmentWriter) -> Result<()>) -> Result<()> {
    let mut writer = SegmentWriter::create(path, Identity::default())?;
    let unfinished = path.with_extension(UNFINISHED);
    keep_private(&unfinished).map_err(failed(&unfinished))?;
    writer.put(Part::Description.key(0), description.as_bytes())?;
    fill(&mut writer)?;
    // Checksums find what a crash of the machine leaves, and such an index is made anew. So nothing waits for the disk.
    Ok(writer.finish_unsynced()?)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> LakeError {
    let path = path.to_owned();
    move |source| LakeError::Write { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(cache: &IndexCache, description: &str, bytes: usize) -> SegmentFile {
        cache.write(description, |writer| Ok(writer.put(Part::Count.key(0), &vec![7; bytes])?)).unwrap()
    }

    #[test]
    fn an_index_is_found_by_what_it_describes() {
        let place = tempfile::tempdir().unwrap();
        let cache = IndexCache::new(Some(place.path().join("made/here")), None);
        assert!(cache.open("a").is_none());
        write(&cache, "a", 10);
        let found = cache.open("a").unwrap();
        assert_eq!(found.get(Part::Count.key(0)).unwrap(), Some(&[7; 10][..]));
        assert!(cache.open("b").is_none());
        let path = cache.path("a").unwrap();
        std::fs::copy(&path, cache.path("b").unwrap()).unwrap();
        assert!(cache.open("b").is_none(), "its description differs");
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.windows(10).position(|window| window == [7; 10]).unwrap();
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(cache.open("a").is_none(), "it is damaged");
        write(&cache, "a", 20);
        assert!(cache.open("a").is_some());
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let place = tempfile::tempdir().unwrap();
        let cache = IndexCache::new(Some(place.path().to_owned()), Some(40_000));
        for description in ["a", "b", "c"] {
            write(&cache, description, 10_000);
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(cache.open("a").is_some(), "a is used again");
        std::thread::sleep(Duration::from_millis(20));
        let held = cache.open("b").unwrap();
        cache.open("c").unwrap();
        std::thread::sleep(Duration::from_millis(20));
        cache.open("a").unwrap();
        for other in ["theirs.mangrove-index", "theirs.unfinished", "x.index"] {
            std::fs::write(place.path().join(other), vec![1; 100_000]).unwrap();
        }
        write(&cache, "d", 15_000);
        assert!(cache.open("b").is_none() && cache.open("a").is_some() && cache.open("d").is_some());
        assert!(place.path().join("theirs.mangrove-index").exists(), "it is not ours");
        assert_eq!(held.get(Part::Count.key(0)).unwrap().map(<[u8]>::len), Some(10_000), "who reads it may go on");
    }

    #[test]
    fn without_a_directory_an_index_lives_as_long_as_it_is_used() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "no directory").unwrap();
        let cache = IndexCache::new(Some(file), None);
        let index = write(&cache, "a", 10);
        assert!(index.get(Part::Count.key(0)).unwrap().is_some() && cache.open("a").is_none());
    }
}
