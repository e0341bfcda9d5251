//! Who reads, and which commit: the table of readers in LMDB's lock file, which LMDB keeps but does not show.
//!
//! ```text
//!   lock.mdb   magic 4 | format 4 | last transaction 8 | slots ever used 4 | locks | slots, 64 bytes each, up to the end
//!   slot       transaction 8 (all ones: none) | process 4 (0: free) | thread
//! ```
//! The same on every 64-bit system: where slots begin follows from the length of the file and how many there are.

use std::fs;
use std::path::Path;

use heed::{Env, WithoutTls};
use mangrove_graph::{GraphError, Result};

use crate::fault::{self, lmdb};

pub const LOCK: &str = "lock.mdb";
const SLOT: usize = 64;
const USED_AT: usize = 16;
const MAGIC: u32 = 0xBEEF_C0DE;

/// A snapshot that some process has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    pub process: u32,
    /// The commit it sees.
    pub commit: u64,
}

/// All snapshots that are open, of processes that live. O(snapshots).
pub fn all(env: &Env<WithoutTls>) -> Result<Vec<Reader>> {
    // Those of processes that were killed go. A database on a read-only file system has none.
    let _ = env.clear_stale_readers();
    let path = env.path().join(LOCK);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fault::io(&path)(error)),
    };
    let slots = env.info().maximum_number_of_readers as usize * SLOT;
    let word = |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
    let (Some(MAGIC), Some(used), Some(begin)) = (word(0), word(USED_AT), bytes.len().checked_sub(slots)) else {
        return Err(GraphError::corrupt(format!("{} is no lock file of LMDB's", path.display())));
    };
    let (slots, _) = bytes[begin..].as_chunks::<SLOT>();
    Ok(slots.iter().take(used as usize).filter_map(parse).collect())
}

fn parse(slot: &[u8; SLOT]) -> Option<Reader> {
    let (commit, rest) = slot.split_first_chunk()?;
    let (process, _) = rest.split_first_chunk()?;
    let reader = Reader { process: u32::from_le_bytes(*process), commit: u64::from_le_bytes(*commit) };
    (reader.process != 0 && reader.commit != u64::MAX).then_some(reader)
}

/// What a process was started with, where the system tells.
pub fn command(process: u32) -> Option<String> {
    let arguments = fs::read(Path::new("/proc").join(process.to_string()).join("cmdline")).ok()?;
    let words: Vec<_> = arguments.split(|byte| *byte == 0).filter(|word| !word.is_empty()).take(4).collect();
    let words: Vec<_> = words.into_iter().map(String::from_utf8_lossy).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The error where no snapshot can be taken any more, which names the processes that have the most.
pub fn none_left(env: &Env<WithoutTls>) -> GraphError {
    let mut holders: Vec<(u32, usize)> = Vec::new();
    for reader in all(env).unwrap_or_default() {
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
        "{limit} snapshots of the database are open, and there can be no more: {named}; finish or drop streams there, or end it"
    ))
}

/// Begins to read. If there are too many readers, those of processes that were killed are looked for first.
pub fn begin(env: &Env<WithoutTls>) -> Result<heed::RoTxn<'static, WithoutTls>> {
    let is_full = |error: &heed::Error| matches!(error, heed::Error::Mdb(heed::MdbError::ReadersFull));
    match env.clone().static_read_txn() {
        Err(error) if is_full(&error) => {}
        begun => return begun.map_err(lmdb),
    }
    env.clear_stale_readers().map_err(lmdb)?;
    env.clone().static_read_txn().map_err(|error| if is_full(&error) { none_left(env) } else { lmdb(error) })
}
