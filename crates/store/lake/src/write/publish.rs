//! A directory that gets its name once it is complete.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{LakeError, Result};

/// A directory beside its destination. If it is not published, it goes away.
pub struct Unpublished {
    directory: TempDir,
    destination: PathBuf,
}

impl Unpublished {
    /// # Errors
    /// If there is something at the destination, other than an empty directory.
    pub fn new(destination: &Path) -> Result<Self> {
        if destination.to_string_lossy().contains("://") {
            let hint = "an export goes to a directory on this machine; copy that to the store afterwards";
            return Err(LakeError::Unsupported(format!("{}: {hint}", destination.display())));
        }
        let destination = std::path::absolute(destination).map_err(|source| write_error(destination, source))?;
        let taken = || LakeError::Unsupported(format!("{}: there is a file or a link of that name", destination.display()));
        match fs::symlink_metadata(&destination) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(write_error(&destination, error)),
            Ok(found) if !found.is_dir() => return Err(taken()),
            Ok(_) => {
                let entries = fs::read_dir(&destination).map_err(|source| write_error(&destination, source))?;
                if entries.take(1).count() > 0 {
                    return Err(LakeError::NotEmpty(destination));
                }
            }
        }
        let (Some(parent), Some(name)) = (destination.parent(), destination.file_name()) else { return Err(taken()) };
        let prefix = format!(".{}.", name.to_string_lossy());
        let make = || {
            fs::create_dir_all(parent)?;
            tempfile::Builder::new().prefix(&prefix).suffix(".part").tempdir_in(parent)
        };
        let directory = make().map_err(|source| write_error(&destination, source))?;
        Ok(Self { directory, destination })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Gives the directory its name. All its files are on the disk then. Of several exports to one place, the first one stays.
    pub fn publish(self) -> Result<()> {
        let failed = |source| write_error(&self.destination, source);
        sync_directories(self.path()).map_err(failed)?;
        make_readable(self.path()).map_err(failed)?;
        // Elsewhere than on Unix, a directory takes the place of none, not even of an empty one.
        #[cfg(not(unix))]
        let _ = fs::remove_dir(&self.destination);
        fs::rename(self.path(), &self.destination).map_err(failed)?;
        // There is nothing left to remove.
        let _ = self.directory.keep();
        self.destination.parent().map_or(Ok(()), sync_directory).map_err(failed)
    }
}

/// A temporary directory is for its owner alone; an export is for others, as any new directory is.
#[cfg(unix)]
fn make_readable(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_readable(_: &Path) -> io::Result<()> {
    Ok(())
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
