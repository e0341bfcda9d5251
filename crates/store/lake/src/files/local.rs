//! Files on this machine.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use mangrove_graph::ReadContext;

use super::{Listing, OpenFile, Part, Source, Version};
use crate::error::{LakeError, Result};

pub struct Local {
    root: PathBuf,
}

impl Local {
    /// The directory stays the same if the process goes to another one.
    pub fn new(root: &str) -> Self {
        Self { root: std::path::absolute(root).unwrap_or_else(|_| root.into()) }
    }

    fn failed(&self, path: &Arc<str>, source: io::Error) -> LakeError {
        let file = self.root.join(&**path).display().to_string().into();
        match source.kind() {
            ErrorKind::NotFound => LakeError::Changed { file },
            _ => LakeError::Read { file, source },
        }
    }

    fn open_one(&self, path: &Arc<str>, bytes: u64) -> Result<Option<(OpenFile, Bytes)>> {
        let opened = match File::open(self.root.join(&**path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| self.failed(path, error))?,
        };
        let metadata = opened.metadata().map_err(|error| self.failed(path, error))?;
        let file = OpenFile { path: path.clone(), size: metadata.len(), version: version(&metadata), converted: None };
        let start = file.size.saturating_sub(bytes);
        let end = read_at(&opened, start, file.size - start).map_err(|error| self.failed(path, error))?;
        Ok(Some((file, end)))
    }
}

impl Source for Local {
    fn open(&self, paths: &[Arc<str>], bytes: u64, limits: Option<&ReadContext>) -> Result<Vec<Option<(OpenFile, Bytes)>>> {
        let open = |path: &Arc<str>| {
            limits.map_or(Ok(()), ReadContext::check)?;
            self.open_one(path, bytes)
        };
        paths.iter().map(open).collect()
    }

    fn read(&self, parts: &[Part<'_>], limits: Option<&ReadContext>) -> Result<Vec<Bytes>> {
        let mut all = Vec::with_capacity(parts.len());
        let mut last: Option<(&str, File)> = None;
        for Part { file, range } in parts {
            limits.map_or(Ok(()), ReadContext::check)?;
            let failed = |error| self.failed(&file.path, error);
            if last.as_ref().is_none_or(|(path, _)| *path != &*file.path) {
                let opened = File::open(self.root.join(&*file.path)).map_err(failed)?;
                if version(&opened.metadata().map_err(failed)?) != file.version {
                    return Err(LakeError::Changed { file: self.root.join(&*file.path).display().to_string().into() });
                }
                last = Some((&file.path, opened));
            }
            let Some((_, opened)) = &last else { continue };
            all.push(read_at(opened, range.start, range.end - range.start).map_err(failed)?);
        }
        Ok(all)
    }

    fn list(&self, folder: &str) -> Result<Option<Listing>> {
        let path = self.root.join(folder);
        let failed = |source| LakeError::Read { file: path.display().to_string().into(), source };
        let entries = match std::fs::read_dir(&path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            entries => entries.map_err(failed)?,
        };
        let mut listing = Listing::default();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            // Names that are not text cannot be written in a mapping either.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_folder = std::fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_dir());
            if is_folder { listing.folders.push(name) } else { listing.files.push(name) }
        }
        listing.files.sort_unstable();
        listing.folders.sort_unstable();
        Ok(Some(listing))
    }

    fn all_below(&self, folder: &str) -> Result<Vec<OpenFile>> {
        let (mut files, mut folders) = (Vec::new(), vec![folder.trim_end_matches('/').to_owned()]);
        while let Some(folder) = folders.pop() {
            let Some(listing) = self.list(&folder)? else { continue };
            let path = |name: &String| if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            folders.extend(listing.folders.iter().map(path));
            let paths: Vec<Arc<str>> = listing.files.iter().map(|name| path(name).into()).collect();
            files.extend(self.open(&paths, 0, None)?.into_iter().flatten().map(|(file, _)| file));
        }
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn disk_bytes(&self) -> Result<u64> {
        let failed = |source| LakeError::Read { file: self.root.display().to_string().into(), source };
        bytes_below(&self.root).map_err(failed)
    }

    fn is_far(&self) -> bool {
        false
    }
}

fn bytes_below(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

fn version(metadata: &Metadata) -> Version {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified_nanos = modified.map_or(0, |since| since.as_nanos() as i128);
    Version::Local { modified_nanos, of_system: of_system(metadata) }
}

/// The device, the number of the file there, and when anything of it last changed: no program can set that time.
#[cfg(unix)]
fn of_system(metadata: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt;
    [metadata.dev() as i64, metadata.ino() as i64, metadata.ctime(), metadata.ctime_nsec()]
}

#[cfg(not(unix))]
fn of_system(_: &Metadata) -> [i64; 4] {
    [0; 4]
}

#[cfg(unix)]
fn read_at(file: &File, start: u64, bytes: u64) -> io::Result<Bytes> {
    let mut buffer = vec![0; bytes as usize];
    std::os::unix::fs::FileExt::read_exact_at(file, &mut buffer, start)?;
    Ok(buffer.into())
}

#[cfg(not(unix))]
fn read_at(mut file: &File, start: u64, bytes: u64) -> io::Result<Bytes> {
    use std::io::{Read, Seek, SeekFrom};
    let mut buffer = vec![0; bytes as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut buffer)?;
    Ok(buffer.into())
}
