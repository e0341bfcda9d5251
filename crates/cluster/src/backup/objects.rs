//! Where backups are kept: a directory, or whatever else keeps objects by name.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use mangrove_graph::{GraphError, Result};

/// Objects by their names, which have slashes between their parts.
pub trait Objects: Send + Sync {
    /// Stores an object. It is there whole and for good when this returns, or not at all.
    fn put(&self, name: &str, from: &mut dyn Read) -> Result<()>;

    fn get(&self, name: &str) -> Result<Option<Box<dyn Read + Send>>>;

    /// The bytes of an object; `None` if there is none.
    fn size(&self, name: &str) -> Result<Option<u64>>;

    /// The next part of all names that begin with these parts.
    fn list(&self, under: &str) -> Result<Vec<String>>;

    /// Deletes an object. One that is not there is none.
    fn remove(&self, name: &str) -> Result<()>;

    /// For messages.
    fn place(&self) -> String;
}

/// A directory that all nodes reach, such as one of a network.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn failed(&self, name: &str) -> impl Fn(io::Error) -> GraphError {
        let place = self.0.join(name);
        move |error| match error.kind() {
            io::ErrorKind::StorageFull => GraphError::DiskFull,
            _ => GraphError::Storage { message: format!("{}: {error}", place.display()), source: None },
        }
    }
}

impl Objects for Directory {
    fn put(&self, name: &str, from: &mut dyn Read) -> Result<()> {
        let (path, failed) = (self.0.join(name), self.failed(name));
        let directory = path.parent().unwrap_or(&self.0);
        fs::create_dir_all(directory).map_err(&failed)?;
        let unfinished = path.with_added_extension("unfinished");
        let mut write = || -> io::Result<()> {
            let mut file = File::create(&unfinished)?;
            io::copy(from, &mut file)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)?;
            sync_up(directory, &self.0)
        };
        write().map_err(failed).inspect_err(|_| drop(fs::remove_file(&unfinished))) // only the first error matters
    }

    fn get(&self, name: &str) -> Result<Option<Box<dyn Read + Send>>> {
        match File::open(self.0.join(name)) {
            Ok(file) => Ok(Some(Box::new(file))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failed(name)(error)),
        }
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        match fs::metadata(self.0.join(name)) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failed(name)(error)),
        }
    }

    fn list(&self, under: &str) -> Result<Vec<String>> {
        let entries = match fs::read_dir(self.0.join(under)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(self.failed(under))?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<io::Result<_>>().map_err(self.failed(under))
    }

    /// The directory of the object goes with its last one.
    fn remove(&self, name: &str) -> Result<()> {
        let path = self.0.join(name);
        match fs::remove_file(&path) {
            Err(error) if !is_missing(&error) => return Err(self.failed(name)(error)),
            _ => {}
        }
        if let Some(directory) = path.parent() {
            let _ = fs::remove_dir(directory); // unless there is more
        }
        Ok(())
    }

    fn place(&self) -> String {
        self.0.display().to_string()
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Makes the names of directories last, from one up to another.
fn sync_up(from: &Path, to: &Path) -> io::Result<()> {
    for directory in from.ancestors().take_while(|directory| directory.starts_with(to)) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
