//! The file and the process that an open store is bound to.
//!
//! A path is only a name. A directory may be deleted or replaced while a store in it is open. What is then written to the
//! old file is gone with the last handle. A process may be forked, and its child then has handles that belong to the parent.
//! LMDB forbids using them, and ending a transaction in the child would end the parent's.

use std::fs::Metadata;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use mangrove_graph::{GraphError, Result};

/// A file as the system knows it, whatever its name is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&std::fs::metadata(path)?))
    }

    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), number: metadata.ino() }
    }

    /// Other systems do not let an open file be deleted or replaced.
    #[cfg(not(unix))]
    pub fn of(_: &Metadata) -> Self {
        Self { device: 0, number: 0 }
    }
}

/// The process that opened something.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    id: u32,
    /// What `forks()` gives in that process.
    forks: u32,
}

impl Process {
    pub fn this() -> Self {
        // Asking the system for the id takes as long as the rest of a snapshot, so the id is kept until the next fork.
        static ID: [AtomicU32; 2] = [AtomicU32::new(u32::MAX), AtomicU32::new(0)];
        let forks = forks();
        if ID[0].load(Ordering::Acquire) != forks {
            ID[1].store(std::process::id(), Ordering::Relaxed);
            ID[0].store(forks, Ordering::Release);
        }
        Self { id: ID[1].load(Ordering::Relaxed), forks }
    }

    pub fn is_this(self) -> bool {
        self.forks == forks()
    }

    /// Fails in a child forked from it.
    pub fn must_be_this(self) -> Result<()> {
        if self.is_this() {
            return Ok(());
        }
        Err(GraphError::Invalid(format!(
            "this process was forked after process {} opened the database, so it cannot use that handle. Close the handle here, \
             then open the database in this process",
            self.id
        )))
    }
}

/// How many forks led to this process, counted from the first call on. Where they cannot be counted, the process id, which a
/// fork changes too.
#[cfg(unix)]
fn forks() -> u32 {
    static FORKS: AtomicU32 = AtomicU32::new(0);
    static IS_WATCHED: OnceLock<bool> = OnceLock::new();
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler only adds to an atomic counter, which a child may do in any state.
    let is_watched = IS_WATCHED.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(in_child)) } == 0);
    if *is_watched { FORKS.load(Ordering::Relaxed) } else { std::process::id() }
}

/// Other systems do not fork.
#[cfg(not(unix))]
fn forks() -> u32 {
    0
}

/// A value that only the process that made it may end. Dropped in a forked child, it is left alone.
pub struct Own<T> {
    process: Process,
    value: ManuallyDrop<T>,
}

impl<T> Own<T> {
    pub fn new(value: T) -> Self {
        Self { process: Process::this(), value: ManuallyDrop::new(value) }
    }

    /// The value, in the process that made it.
    pub fn take(mut self) -> Result<T> {
        self.process.must_be_this()?;
        // SAFETY: `self` is forgotten, so the value is moved out once.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        std::mem::forget(self);
        Ok(value)
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Own<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.process.is_this() {
            // SAFETY: dropped once, here, and never used again.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}
