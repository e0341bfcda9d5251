//! The lock of the one process that writes.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use mangrove_graph::DateTime;
use mangrove_hot::{FileId, Process};

use crate::directory::LOCK;
use crate::error::OpenError;

/// The lock, shared by all handles of this process that may write. The last of them releases it.
#[derive(Debug)]
pub struct WriterLock {
    file: File,
    id: FileId,
    process: Process,
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // Closing the file would release the lock, unless forked children of this process have the file open too. A child only
        // closes it: unlocking there would end the parent's lock.
        if self.process.is_this() {
            let _ = self.file.unlock();
        }
    }
}

/// The locks that this process holds. Another handle of the same process may write too.
static HELD: Mutex<Vec<Weak<WriterLock>>> = Mutex::new(Vec::new());

impl WriterLock {
    /// Takes the lock of the database in `directory`.
    pub fn take(directory: &Path) -> Result<Arc<Self>, OpenError> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|lock| lock.strong_count() > 0);
        // Compare the file, not its name: someone may have deleted the directory and made it again.
        let id = FileId::at(&directory.join(LOCK)).ok();
        let is_it = |lock: &Arc<Self>| Some(lock.id) == id && lock.process.is_this();
        if let Some(lock) = held.iter().filter_map(Weak::upgrade).find(is_it) {
            return Ok(lock);
        }
        let lock = Arc::new(Self::take_file(directory)?);
        held.push(Arc::downgrade(&lock));
        Ok(lock)
    }

    fn take_file(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(LOCK);
        let mut open = File::options();
        let mut file =
            open.read(true).write(true).create(true).truncate(false).open(&path).map_err(OpenError::io("write", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Without the text, the message only says less.
                let _ = file.read_to_string(&mut text);
                return Err(OpenError::Locked { path: directory.into(), holder: Holder::parse(&text) });
            }
            Err(TryLockError::Error(error)) => return Err(OpenError::io("lock", &path)(error)),
        }
        let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", Holder::this().text()));
        written.map_err(OpenError::io("write", &path))?;
        let id = FileId::of(&file.metadata().map_err(OpenError::io("read", &path))?);
        Ok(Self { file, id, process: Process::this() })
    }
}

/// The process that writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    pub process_id: Option<u32>,
    /// When it opened the database, ISO 8601.
    pub since: String,
    pub command: String,
}

impl Holder {
    fn this() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let arguments: Vec<String> = std::env::args_os().take(4).map(|arg| arg.to_string_lossy().into_owned()).collect();
        Self {
            process_id: Some(std::process::id()),
            since: DateTime::from_millis(since.as_secs() as i64 * 1000).to_string(),
            command: arguments.join(" ").replace('\n', " "),
        }
    }

    fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.process_id.unwrap_or_default(), self.since, self.command)
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        Self {
            process_id: lines.next().and_then(|line| line.parse().ok()),
            since: lines.next().unwrap_or_default().into(),
            command: lines.next().unwrap_or_default().into(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process_id {
            Some(id) => write!(f, "process {id} (`{}`, since {})", self.command, self.since),
            None => f.write_str("another process"),
        }
    }
}
