//! Which processes read, and which commits. LMDB keeps this table of readers in its lock file, but does not show it.
//!
//! ```text
//!   lock.mdb   magic 4 | format 4 | last transaction 8 | slots ever used 4 | locks | slots, 64 bytes each, up to the end
//!   slot       transaction 8 (all ones: none) | process 4 (0: free) | thread
//! ```
//! This is the same on every 64-bit system. The length of the file and the number of slots tell where the slots begin.
//!
//! LMDB knows a living process by its lock on this file. POSIX systems end such a lock when the process closes the file,
//! even if the process has it open a second time. So **nobody may open `lock.mdb` while LMDB has it open**: this module maps
//! and closes it before that.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use heed::{Env, WithoutTls};
use mangrove_graph::{GraphError, Result};
use memmap2::{MmapOptions, MmapRaw};

use crate::lmdb::spare::{ReadTxn, Spare};
use crate::system::fault::{self, lmdb};

/// How many characters of a command are shown.
const COMMAND_CHARS: usize = 80;
pub const LOCK: &str = "lock.mdb";
const SLOT: usize = 64;
const USED_AT: usize = 16;
const MAGIC: u32 = 0xBEEF_C0DE;
const COMMIT_NONE: u64 = u64::MAX;
/// The least that is mapped: the file is shorter if LMDB has still to make it.
const MAPPED_MIN: usize = 2 << 20;

/// A snapshot that some process has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSnapshot {
    pub process: u32,
    /// The commit it sees.
    pub commit: u64,
}

/// The readers of a store.
pub struct Readers {
    path: PathBuf,
    /// `None` where the file may not be read.
    map: Option<MmapRaw>,
    pub spare: Arc<Spare>,
}

impl Readers {
    /// Maps the table of a store, before LMDB opens the store.
    pub fn map(dir: &Path) -> Self {
        let path = dir.join(LOCK);
        let map = open(&path, true).or_else(|_| open(&path, false)).ok().and_then(|file| {
            let len = file.metadata().ok()?.len() as usize;
            MmapOptions::new().len(len.max(MAPPED_MIN)).map_raw_read_only(&file).ok()
        });
        Self { path, map, spare: Arc::default() }
    }

    /// All open snapshots of living processes. O(snapshots).
    ///
    /// # Errors
    /// [`GraphError::Storage`] if they cannot be known.
    pub fn all(&self, env: &Env<WithoutTls>) -> Result<Vec<OpenSnapshot>> {
        // This drops the readers of killed processes. A database on a read-only file system has none.
        let _ = env.clear_stale_readers();
        let unknown = |why: &str| GraphError::Storage { message: format!("{}: {why}", self.path.display()), source: None };
        let map = self.map.as_ref().ok_or_else(|| unknown("cannot tell which snapshots are open"))?;
        let len = fs::metadata(&self.path).map_err(fault::io(&self.path))?.len() as usize;
        let slots = env.info().maximum_number_of_readers as usize;
        let begin = len.checked_sub(slots * SLOT).filter(|begin| *begin > USED_AT && len <= map.len());
        let begin = begin.ok_or_else(|| unknown("it is not a lock file of LMDB"))?;
        let at = |offset: usize| map.as_ptr().wrapping_add(offset).cast_mut();
        // SAFETY: the offsets lie within the file, so within the map, and are multiples of 8. Other processes change these
        // words, so they are atomic here.
        let (word, long) = unsafe {
            (
                |offset| AtomicU32::from_ptr(at(offset).cast()).load(Ordering::Acquire),
                |offset| AtomicU64::from_ptr(at(offset).cast()).load(Ordering::Acquire),
            )
        };
        if word(0) != MAGIC || !begin.is_multiple_of(SLOT) {
            return Err(unknown("it is not a lock file of LMDB"));
        }
        let used = (word(USED_AT) as usize).min(slots);
        let readers = (0..used)
            .map(|slot| begin + slot * SLOT)
            .map(|slot| OpenSnapshot { commit: long(slot), process: word(slot + 8) });
        Ok(readers.filter(|reader| reader.process != 0 && reader.commit != COMMIT_NONE).collect())
    }

    /// Begins to read. If there are too many readers, it first drops those of killed processes.
    ///
    /// # Errors
    /// If there are still too many, the error names the processes that have the most.
    pub fn begin(&self, env: &Env<WithoutTls>) -> Result<ReadTxn> {
        let is_full = |error: &heed::Error| matches!(error, heed::Error::Mdb(heed::MdbError::ReadersFull));
        match ReadTxn::begin(env, &self.spare) {
            Err(error) if is_full(&error) => {}
            begun => return begun.map_err(lmdb),
        }
        env.clear_stale_readers().map_err(lmdb)?;
        ReadTxn::begin(env, &self.spare).map_err(|error| if is_full(&error) { self.none_left(env) } else { lmdb(error) })
    }

    fn none_left(&self, env: &Env<WithoutTls>) -> GraphError {
        let mut holders: Vec<(u32, usize)> = Vec::new();
        for reader in self.all(env).unwrap_or_default() {
            match holders.iter_mut().find(|(process, _)| *process == reader.process) {
                Some((_, n)) => *n += 1,
                None => holders.push((reader.process, 1)),
            }
        }
        holders.sort_unstable_by_key(|(_, n)| std::cmp::Reverse(*n));
        let named = holders.iter().take(3).map(|(process, n)| {
            let command = command(*process).map(|command| format!(" (`{command}`)")).unwrap_or_default();
            format!("process {process}{command} has {n}")
        });
        let named = named.collect::<Vec<_>>().join(", ");
        let limit = env.info().maximum_number_of_readers;
        GraphError::Invalid(format!(
            "all {limit} snapshots of the database are in use: {named}. Finish or close streams there, or end the process"
        ))
    }
}

/// Opens the lock file. A writer makes it if it is missing, as LMDB would.
fn open(path: &Path, is_writer: bool) -> std::io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true).write(is_writer).create(is_writer).truncate(false).open(path)
}

/// The command that a process was started with, where the system tells.
pub fn command(process: u32) -> Option<String> {
    let arguments = fs::read(Path::new("/proc").join(process.to_string()).join("cmdline")).ok()?;
    let words: Vec<_> = arguments.split(|byte| *byte == 0).filter(|word| !word.is_empty()).take(4).collect();
    let words: Vec<_> = words.into_iter().map(String::from_utf8_lossy).collect();
    let command = words.join(" ").replace(['\n', '\r'], " ");
    let shown = command.char_indices().nth(COMMAND_CHARS).map_or(&command[..], |(end, _)| &command[..end]);
    (!words.is_empty()).then(|| shown.to_owned())
}
