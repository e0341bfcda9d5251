//! The files of a lake, on this machine or in an object store.
//!
//! Opening a file reads its end, which is where Parquet keeps what it says about the rest. From then on, each read checks that the
//! file is still the one that was opened. Many reads are one call: a store far away answers them together.

mod bucket;
mod kept;
mod local;
mod profile;
mod remote;
mod store;

pub use self::bucket::Bucket;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use mangrove_graph::ReadContext;

use crate::error::{LakeError, Result};

/// A file as it was when it was opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenFile {
    /// Its path below the directory of the lake.
    pub path: Arc<str>,
    pub size: u64,
    version: Version,
    converted: Option<Converted>,
}

/// The bytes of a file in another format.
#[derive(Clone, PartialEq, Eq)]
struct Converted(Bytes);

impl std::fmt::Debug for Converted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl OpenFile {
    /// What tells it from another file, in words that are the same on every machine that reads it.
    pub fn described(&self) -> String {
        let version = match &self.version {
            Version::Local { modified_nanos, .. } => modified_nanos.to_string(),
            Version::Remote { tag: Some(tag), .. } => tag.clone(),
            Version::Remote { tag: None, modified } => modified.to_string(),
        };
        format!("{}\n{}\n{version}\n", self.path, self.size)
    }

    /// Whether it is the file of a list. Stores write tags in lists in other ways than in answers, and times more exactly.
    pub fn is_as_listed(&self, listed: &Self) -> bool {
        let bare = |tag: &str| tag.trim_start_matches("W/").trim_matches('"').to_owned();
        let has_size = self.converted.is_some() || self.size == listed.size;
        has_size
            && match (&self.version, &listed.version) {
                (Version::Remote { tag: Some(tag), .. }, Version::Remote { tag: Some(other), .. }) => {
                    bare(tag) == bare(other)
                }
                (Version::Remote { .. }, Version::Remote { .. }) => true,
                (version, other) => version == other,
            }
    }

    /// The same file in another format: these bytes are read in place of its own.
    pub fn converted(self, bytes: Bytes) -> Self {
        Self { size: bytes.len() as u64, converted: Some(Converted(bytes)), ..self }
    }
}

/// What changes when a file does.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Version {
    Local {
        modified_nanos: i128,
        of_system: [i64; 4],
    },
    /// An entity tag, if the store gives one, and the time of the last change in milliseconds.
    Remote {
        tag: Option<String>,
        modified: i64,
    },
}

/// A part of a file.
#[derive(Clone, Debug)]
pub struct Part<'f> {
    pub file: &'f OpenFile,
    pub range: Range<u64>,
}

/// The names of what a folder holds, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    pub files: Vec<String>,
    pub folders: Vec<String>,
}

/// What answers reads of files.
trait Source: Send + Sync {
    /// Opens files, and reads at most `bytes` of the end of each. `None` for those that do not exist.
    fn open(&self, paths: &[Arc<str>], bytes: u64, limits: Option<&ReadContext>) -> Result<Vec<Option<(OpenFile, Bytes)>>>;

    fn read(&self, parts: &[Part<'_>], limits: Option<&ReadContext>) -> Result<Vec<Bytes>>;

    /// What a folder holds; `None` if there is no such folder.
    fn list(&self, folder: &str) -> Result<Option<Listing>>;

    /// All files below a folder, as they are now, sorted by path.
    fn all_below(&self, folder: &str) -> Result<Vec<OpenFile>>;

    /// The bytes of all files.
    fn disk_bytes(&self) -> Result<u64>;

    /// Whether each call is a journey.
    fn is_far(&self) -> bool;
}

/// How addresses of object stores begin.
const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "abfs", "abfss", "http", "https"];

/// The files below one directory.
pub struct Files {
    source: Box<dyn Source>,
    /// Where they are, for messages.
    place: Arc<str>,
}

impl Files {
    /// The files below the directory that a path or an address (`s3://…`, `https://…`) names.
    pub fn new(place: &str) -> Result<Self> {
        let source: Box<dyn Source> = match place.split_once("://") {
            None => Box::new(local::Local::new(place)),
            Some(("file", path)) => Box::new(local::Local::new(path)),
            Some((scheme, _)) if SCHEMES.contains(&scheme) => Box::new(remote::Remote::new(place)?),
            Some(_) => {
                let known = SCHEMES.map(|scheme| format!("{scheme}://")).join(", ");
                return Err(LakeError::Unsupported(format!("{place}: addresses begin with {known} or file://")));
            }
        };
        Ok(Self { source, place: place.trim_end_matches('/').into() })
    }

    /// The same files. Parts of them are kept in a directory, up to a number of bytes, if they are far away.
    pub fn keeping(self, directory: PathBuf, bytes_max: u64) -> Self {
        if !self.is_far() || bytes_max == 0 {
            return self;
        }
        let source = Box::new(kept::Kept::new(self.source, self.place.clone(), directory, bytes_max));
        Self { source, ..self }
    }

    /// The name of a file in messages.
    pub fn name(&self, path: &str) -> Arc<str> {
        format!("{}/{path}", self.place).into()
    }

    /// Opens files, and reads at most `bytes` of the end of each. `None` for those that do not exist.
    pub fn open(
        &self,
        paths: &[Arc<str>],
        bytes: u64,
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Option<(OpenFile, Bytes)>>> {
        self.source.open(paths, bytes, limits)
    }

    /// All files below a folder, as they are now, sorted by path. Stores that do not list files fail.
    pub fn all_below(&self, folder: &str) -> Result<Vec<OpenFile>> {
        self.source.all_below(folder)
    }

    /// Whether they come from a web server, which need not list them.
    pub fn may_be_unlisted(&self) -> bool {
        ["http://", "https://"].iter().any(|scheme| self.place.starts_with(scheme))
    }

    /// Whether each call is a journey.
    pub fn is_far(&self) -> bool {
        self.source.is_far()
    }

    /// What a folder holds; `None` if there is no such folder.
    pub fn list(&self, folder: &str) -> Result<Option<Listing>> {
        self.source.list(folder)
    }

    /// The files of a folder of these, or of another place that an absolute path or an address names.
    ///
    /// # Errors
    /// If these files are in a store, and the other place is none of it: whoever wrote a mapping there must not choose what is read
    /// here.
    pub fn at(&self, place: &str) -> Result<Self> {
        let is_elsewhere = place.starts_with('/') || place.contains("://");
        if !self.place.contains("://") {
            return if is_elsewhere { Self::new(place) } else { Self::new(&format!("{}/{place}", self.place)) };
        }
        let host = |address: &str| address.split('/').take(3).collect::<Vec<_>>().join("/");
        let leads_out = place.split('/').any(|part| part == "..");
        if leads_out || is_elsewhere && host(place) != host(&self.place) {
            let hint = "keep the mapping on this machine, or in that store";
            return Err(LakeError::Unsupported(format!("{}: its mapping leads to {place}; {hint}", self.place)));
        }
        if is_elsewhere { Self::new(place) } else { Self::new(&format!("{}/{place}", self.place)) }
    }

    /// The place in full, which is the same from everywhere.
    pub fn full_place(&self) -> String {
        match self.place.contains("://") {
            true => self.place.to_string(),
            false => {
                std::path::absolute(&*self.place).map_or_else(|_| self.place.to_string(), |path| path.display().to_string())
            }
        }
    }

    /// The bytes of all files below the directory.
    pub fn disk_bytes(&self) -> Result<u64> {
        self.source.disk_bytes()
    }

    /// Reads parts of files, near ones together.
    pub fn read(&self, parts: &[Part<'_>], limits: Option<&ReadContext>) -> Result<Vec<Bytes>> {
        if parts.iter().all(|part| part.file.converted.is_none()) {
            return self.source.read(parts, limits);
        }
        let (held, others): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.file.converted.is_some());
        debug_assert!(held.iter().all(|part| part.range.end <= part.file.size));
        let mut read = self.source.read(&others.into_iter().cloned().collect::<Vec<_>>(), limits)?.into_iter();
        let bytes = |part: &Part<'_>| match &part.file.converted {
            Some(Converted(bytes)) => Some(bytes.slice(part.range.start as usize..part.range.end as usize)),
            None => read.next(),
        };
        Ok(parts.iter().filter_map(bytes).collect())
    }

    /// The text of a file of at most `bytes_max` bytes.
    pub fn text(&self, path: &str, bytes_max: u64) -> Result<String> {
        Ok(self.texts(&[path], bytes_max)?.pop().unwrap_or_default())
    }

    /// The same for several files, which are read together.
    pub fn texts(&self, paths: &[&str], bytes_max: u64) -> Result<Vec<String>> {
        let opened = self.open(&paths.iter().map(|path| Arc::from(*path)).collect::<Vec<_>>(), bytes_max, None)?;
        let text = |(path, opened): (&&str, Option<(OpenFile, Bytes)>)| {
            let name = self.name(path);
            let Some((file, bytes)) = opened else { return Err(LakeError::Missing { file: name }) };
            if file.size > bytes_max {
                return Err(LakeError::damaged(
                    &name,
                    format!("it has {} bytes; at most {bytes_max} are expected", file.size),
                ));
            }
            String::from_utf8(bytes.into()).map_err(|_| LakeError::damaged(&name, "it is not UTF-8"))
        };
        paths.iter().zip(opened).map(text).collect()
    }
}
