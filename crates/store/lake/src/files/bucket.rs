//! Whole objects of an object store, by their names.

use std::future::Future;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, WriteMultipart};
use tokio::runtime::Runtime;

use super::remote::causes;
use super::store::store_of;
use crate::error::{LakeError, Result};

/// An object is written in parts of so many bytes, so many of them at the same time.
const PART_BYTES: usize = 8 << 20;
const PARTS_AT_ONCE: usize = 4;

/// A place in an object store: S3, Google Cloud Storage or Azure.
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    root: Path,
    runtime: Arc<Runtime>,
    place: Arc<str>,
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
        Ok(Self { store, root, runtime: Arc::new(runtime.map_err(|error| failed(error.to_string()))?), place: name })
    }

    /// Its address.
    pub fn place(&self) -> &str {
        &self.place
    }

    fn path(&self, name: &str) -> Result<Path> {
        let whole = format!("{}/{name}", self.root);
        Path::parse(whole.trim_matches('/')).map_err(|error| self.failed(name, &error.into()))
    }

    fn failed(&self, name: &str, error: &Error) -> LakeError {
        let file = format!("{}/{name}", self.place.trim_end_matches('/')).into();
        LakeError::Store { file, reason: causes(error) }
    }

    /// Runs a request to its end.
    fn wait<T>(&self, name: &str, request: impl Future<Output = Result<T, Error>>) -> Result<T> {
        self.runtime.block_on(request).map_err(|error| self.failed(name, &error))
    }

    /// Stores an object. Others see it whole, or not at all.
    ///
    /// # Errors
    /// If `from` cannot be read, or the store does not take it.
    pub fn put(&self, name: &str, from: &mut dyn Read) -> Result<()> {
        let (path, unread) =
            (self.path(name)?, |error: io::Error| LakeError::Store { file: name.into(), reason: error.to_string() });
        let first = part(from).map_err(unread)?;
        if first.len() < PART_BYTES {
            return self.wait(name, self.store.put(&path, first.into())).map(drop);
        }
        let mut upload = WriteMultipart::new_with_chunk_size(self.wait(name, self.store.put_multipart(&path))?, PART_BYTES);
        let mut next = first;
        while !next.is_empty() {
            self.wait(name, async {
                upload.wait_for_capacity(PARTS_AT_ONCE).await?;
                upload.put(next);
                Ok(())
            })?;
            next = match part(from) {
                Ok(next) => next,
                Err(error) => {
                    let _ = self.runtime.block_on(upload.abort()); // only the first error matters
                    return Err(unread(error));
                }
            };
        }
        self.wait(name, upload.finish()).map(drop)
    }

    /// Reads an object from its beginning; `None` if there is none.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn get(&self, name: &str) -> Result<Option<impl Read + Send + use<>>> {
        match self.runtime.block_on(self.store.get(&self.path(name)?)) {
            Ok(found) => Ok(Some(Object { found: found.into_stream(), ready: Bytes::new(), runtime: self.runtime.clone() })),
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
        let found = self.wait(under, self.store.list_with_delimiter(Some(&path)))?;
        let all = found.common_prefixes.into_iter().chain(found.objects.into_iter().map(|object| object.location));
        Ok(all.filter_map(|path| path.filename().map(str::to_owned)).collect())
    }
}

/// The next part of what is read. It is shorter only at the end.
fn part(from: &mut dyn Read) -> io::Result<Bytes> {
    let mut part = Vec::with_capacity(PART_BYTES);
    from.take(PART_BYTES as u64).read_to_end(&mut part)?;
    Ok(part.into())
}

/// An object while it is read.
struct Object {
    found: Stream,
    ready: Bytes,
    runtime: Arc<Runtime>,
}

type Stream = futures_util::stream::BoxStream<'static, Result<Bytes, Error>>;

impl Read for Object {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() {
            match self.runtime.block_on(futures_util::StreamExt::next(&mut self.found)) {
                Some(next) => self.ready = next.map_err(io::Error::other)?,
                None => return Ok(0),
            }
        }
        let read = self.ready.len().min(into.len());
        into[..read].copy_from_slice(&self.ready.split_to(read));
        Ok(read)
    }
}
