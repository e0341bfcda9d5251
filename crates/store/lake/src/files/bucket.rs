//! Whole objects of an object store, by their names.

use std::future::Future;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, UploadPart};
use tokio::runtime::Runtime;

use super::remote::causes;
use super::store::store_of;
use crate::error::{LakeError, Result};

/// An object is written in parts of so many bytes, some of them at the same time. After so many parts, they are larger: S3 takes 10,000.
const PART_BYTES: usize = 8 << 20;
const LARGE_BYTES: usize = 64 << 20;
const SMALL_PARTS: usize = 1_000;
const PARTS_AT_ONCE: usize = 4;
/// One request reads so many bytes at most. It must take no longer than a request may.
const READ_BYTES: u64 = 16 << 20;

/// A place in an object store: S3, Google Cloud Storage or Azure.
pub struct Bucket {
    place: Arc<str>,
    within: Arc<Within>,
}

/// The store, and what waits for it.
struct Within {
    store: Arc<dyn ObjectStore>,
    root: Path,
    /// There until it is dropped.
    runtime: Option<Runtime>,
}

impl Within {
    /// Runs a request to its end.
    fn wait<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(request),
            None => {
                Err(Error::NotImplemented { operation: "a request".into(), implementer: "a store that was closed".into() })
            }
        }
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        // This thread may be one of another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Bucket {
    /// # Errors
    /// If the address cannot be read, or names no store that is known.
    pub fn new(place: &str) -> Result<Self> {
        let name: Arc<str> = place.into();
        let failed = |reason: String| LakeError::Store { file: name.clone(), reason };
        let (store, root) = store_of(place).map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("mangrove objects")
            .enable_all()
            .build();
        let runtime = Some(runtime.map_err(|error| failed(error.to_string()))?);
        Ok(Self { place: name, within: Arc::new(Within { store, root, runtime }) })
    }

    /// Its address.
    pub fn place(&self) -> &str {
        &self.place
    }

    fn path(&self, name: &str) -> Result<Path> {
        let whole = format!("{}/{name}", self.within.root);
        Path::parse(whole.trim_matches('/')).map_err(|error| self.failed(name, &error.into()))
    }

    fn failed(&self, name: &str, error: &Error) -> LakeError {
        let file = format!("{}/{name}", self.place.trim_end_matches('/')).into();
        LakeError::Store { file, reason: causes(error) }
    }

    /// Stores an object. Others see it whole, or not at all.
    ///
    /// # Errors
    /// If `from` cannot be read, or the store does not take it.
    pub fn put(&self, name: &str, from: &mut dyn Read) -> Result<()> {
        let path = self.path(name)?;
        let unread = |error: io::Error| LakeError::Store { file: name.into(), reason: error.to_string() };
        let first = part(from, PART_BYTES).map_err(unread)?;
        let store = &self.within.store;
        if first.len() < PART_BYTES {
            return self.within.wait(store.put(&path, first.into())).map(drop).map_err(|error| self.failed(name, &error));
        }
        let mut upload = self.within.wait(store.put_multipart(&path)).map_err(|error| self.failed(name, &error))?;
        let mut send = || -> Result<()> {
            let (mut running, mut next, mut parts) = (FuturesUnordered::<UploadPart>::new(), first.clone(), 0);
            while !next.is_empty() {
                running.push(upload.put_part(next.into()));
                parts += 1;
                if running.len() >= PARTS_AT_ONCE {
                    self.one(name, &mut running)?;
                }
                next = part(from, if parts < SMALL_PARTS { PART_BYTES } else { LARGE_BYTES }).map_err(unread)?;
            }
            while !running.is_empty() {
                self.one(name, &mut running)?;
            }
            Ok(())
        };
        if let Err(error) = send() {
            let _ = self.within.wait(upload.abort()); // only the first error matters
            return Err(error);
        }
        self.within.wait(upload.complete()).map(drop).map_err(|error| self.failed(name, &error))
    }

    /// Waits for one of the parts that are sent.
    fn one(&self, name: &str, running: &mut FuturesUnordered<UploadPart>) -> Result<()> {
        let sent = self.within.wait(async { running.next().await.unwrap_or(Ok(())) });
        sent.map_err(|error| self.failed(name, &error))
    }

    /// Reads an object from its beginning; `None` if there is none.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn get(&self, name: &str) -> Result<Option<impl Read + Send + use<>>> {
        let path = self.path(name)?;
        match self.within.wait(self.within.store.head(&path)) {
            Ok(found) => Ok(Some(Object {
                within: self.within.clone(),
                path,
                bytes: found.size,
                tag: found.e_tag,
                next: 0,
                ready: Bytes::new(),
            })),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(name, &error)),
        }
    }

    /// The bytes of an object; `None` if there is none.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn size(&self, name: &str) -> Result<Option<u64>> {
        match self.within.wait(self.within.store.head(&self.path(name)?)) {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(name, &error)),
        }
    }

    /// The next part of all names that begin with these parts.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn list(&self, under: &str) -> Result<Vec<String>> {
        let path = self.path(under)?;
        let found = self.within.wait(self.within.store.list_with_delimiter(Some(&path)));
        let found = found.map_err(|error| self.failed(under, &error))?;
        let all = found.common_prefixes.into_iter().chain(found.objects.into_iter().map(|object| object.location));
        Ok(all.filter_map(|path| path.filename().map(str::to_owned)).collect())
    }
}

/// The next part of what is read. It is shorter only at the end.
fn part(from: &mut dyn Read, bytes: usize) -> io::Result<Bytes> {
    let mut part = Vec::with_capacity(bytes);
    from.take(bytes as u64).read_to_end(&mut part)?;
    Ok(part.into())
}

/// An object while it is read, range by range.
struct Object {
    within: Arc<Within>,
    path: Path,
    bytes: u64,
    tag: Option<String>,
    next: u64,
    ready: Bytes,
}

impl Object {
    /// Reads the next range, of the same version.
    fn range(&mut self) -> Result<Bytes, Error> {
        let end = self.bytes.min(self.next + READ_BYTES);
        let range = Some(GetRange::Bounded(self.next..end));
        let options = GetOptions { range, if_match: self.tag.clone(), ..GetOptions::default() };
        let store = &self.within.store;
        self.next = end;
        self.within.wait(async { store.get_opts(&self.path, options).await?.bytes().await })
    }
}

impl Read for Object {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() && self.next < self.bytes {
            self.ready = self.range().map_err(io::Error::other)?;
        }
        let read = self.ready.len().min(into.len());
        into[..read].copy_from_slice(&self.ready.split_to(read));
        Ok(read)
    }
}
