//! A directory that gets its name once it is complete.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{LakeError, Result};

/// A directory beside its destination. If it is not published, it goes away.
pub struct Unpublished {
    path: PathBuf,
    destination: PathBuf,
}

impl Unpublished {
    /// # Errors
    /// If there is something at the destination, other than an empty directory.
    pub fn new(destination: &Path) -> Result<Self> {
        let not_empty = || LakeError::NotEmpty(destination.to_owned());
        match fs::read_dir(destination).map(|mut entries| entries.next().is_some()) {
            Ok(true) => return Err(not_empty()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(not_empty()),
            _ => {}
        }
        let name = destination.file_name().ok_or_else(not_empty)?.to_string_lossy().into_owned();
        let path = destination.with_file_name(format!(".{name}.{}.part", std::process::id()));
        // What an earlier process with this number left behind.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|source| write_error(&path, source))?;
        Ok(Self { path, destination: destination.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the directory its name. All its files are on the disk then.
    pub fn publish(self) -> Result<()> {
        let failed = |source| write_error(&self.destination, source);
        sync_directories(&self.path).map_err(failed)?;
        match fs::remove_dir(&self.destination) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(LakeError::NotEmpty(self.destination.clone())),
            _ => {}
        }
        fs::rename(&self.path, &self.destination).map_err(failed)?;
        if let Some(parent) = self.destination.parent() {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            sync_directory(parent).map_err(failed)?;
        }
        Ok(())
    }
}

impl Drop for Unpublished {
    fn drop(&mut self) {
        // After publishing there is nothing at the path.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Writes a small file whole, and waits until it is on the disk.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut file = create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|source| write_error(path, source))
}

/// A new file, with the directories that it is in.
pub fn create(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    File::create_new(path)
}

pub fn write_error(path: &Path, source: io::Error) -> LakeError {
    LakeError::Write { path: path.to_owned(), source }
}

fn sync_directories(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_directories(&entry.path())?;
        }
    }
    sync_directory(directory)
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
