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

use super::store::store_of;
use crate::error::{LakeError, Result};

/// An object is written in parts of so many bytes, some of them at the same time. After so many parts, they are larger: S3 takes 10,000.
const PART_BYTES: usize = 8 << 20;
const LARGE_BYTES: usize = 64 << 20;
const SMALL_PARTS: usize = 1_000;
const PARTS_AT_ONCE: usize = 4;
/// One request reads so many bytes at most. It must take no longer than a request may.
const READ_BYTES: u64 = 16 << 20;
/// Characters of what a store said that a message has at most.
const SAID_MAX: usize = 200;

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
        let failed = |why: String| LakeError::Object { doing: "use", object: place.to_owned(), why };
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
        Path::parse(whole.trim_matches('/')).map_err(|error| self.failed("name", name, &error.into()))
    }

    /// The address of an object.
    fn address(&self, name: &str) -> String {
        format!("{}/{name}", self.place.trim_end_matches('/'))
    }

    fn failed(&self, doing: &'static str, name: &str, error: &Error) -> LakeError {
        LakeError::Object { doing, object: self.address(name), why: why(error) }
    }

    /// Stores an object. Others see it whole, or not at all.
    ///
    /// # Errors
    /// If `from` cannot be read, or the store does not take it.
    pub fn put(&self, name: &str, from: &mut dyn Read) -> Result<()> {
        let path = self.path(name)?;
        let unread =
            |error: io::Error| LakeError::Object { doing: "store", object: self.address(name), why: error.to_string() };
        let failed = |error: Error| self.failed("store", name, &error);
        let first = part(from, PART_BYTES).map_err(unread)?;
        let store = &self.within.store;
        if first.len() < PART_BYTES {
            return self.within.wait(store.put(&path, first.into())).map(drop).map_err(failed);
        }
        let mut upload = self.within.wait(store.put_multipart(&path)).map_err(failed)?;
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
        self.within.wait(upload.complete()).map(drop).map_err(failed)
    }

    /// Waits for one of the parts that are sent.
    fn one(&self, name: &str, running: &mut FuturesUnordered<UploadPart>) -> Result<()> {
        let sent = self.within.wait(async { running.next().await.unwrap_or(Ok(())) });
        sent.map_err(|error| self.failed("store", name, &error))
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
                address: self.address(name),
                path,
                bytes: found.size,
                tag: found.e_tag,
                next: 0,
                ready: Bytes::new(),
            })),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("read", name, &error)),
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
            Err(error) => Err(self.failed("read", name, &error)),
        }
    }

    /// The next part of all names that begin with these parts.
    ///
    /// # Errors
    /// If the store does not answer.
    pub fn list(&self, under: &str) -> Result<Vec<String>> {
        let path = self.path(under)?;
        let found = self.within.wait(self.within.store.list_with_delimiter(Some(&path)));
        let found = found.map_err(|error| self.failed("list", under, &error))?;
        let all = found.common_prefixes.into_iter().chain(found.objects.into_iter().map(|object| object.location));
        Ok(all.filter_map(|path| path.filename().map(str::to_owned)).collect())
    }

    /// Deletes an object. One that is not there is none.
    ///
    /// # Errors
    /// If the store does not answer, or does not allow it.
    pub fn remove(&self, name: &str) -> Result<()> {
        match self.within.wait(self.within.store.delete(&self.path(name)?)) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("delete", name, &error)),
        }
    }
}

/// Why a request has failed: what the store said, and what to do.
fn why(error: &Error) -> String {
    let (said, mut all, mut cause) = (said(error), error.to_string(), std::error::Error::source(error));
    while let Some(error) = cause {
        all += &error.to_string();
        cause = error.source();
    }
    let is_any_of = |marks: &[&str]| marks.iter().any(|mark| all.contains(mark));
    let is_refused = matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. });
    let advice = match error {
        // Without credentials, the machine is asked for some.
        _ if is_any_of(&["169.254.169.254", "metadata.google"]) => {
            "No credentials were found: set those of the store in the environment (AWS_ACCESS_KEY_ID …)"
        }
        _ if is_refused || is_any_of(&["403 Forbidden", "401 Unauthorized"]) => {
            "The credentials in the environment (AWS_ACCESS_KEY_ID …) do not allow it: look at their rights"
        }
        Error::NotFound { .. } => "Is there such a bucket or container? It must be made before",
        _ if is_any_of(&["NoSuchBucket", "404 Not Found"]) => "Is there such a bucket or container? It must be made before",
        Error::Precondition { .. } => "It has changed while it was read: who else writes there?",
        Error::InvalidPath { .. } => "Choose another name",
        _ => "Can this machine reach the store? Look at its address (AWS_ENDPOINT_URL, AWS_REGION …)",
    };
    format!("{said}. {advice}")
}

/// What the store said, or what failed on the way to it, in short.
fn said(error: &Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    let all = last.to_string();
    let tagged = |tag: &str| Some(all.split_once(&format!("<{tag}>"))?.1.split_once(&format!("</{tag}>"))?.0.to_owned());
    let said = match (tagged("Code"), tagged("Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => all.lines().next().unwrap_or_default().chars().take(SAID_MAX).collect(),
    };
    said.trim_end_matches(['.', ':', ' ']).to_owned()
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
    /// For messages.
    address: String,
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
            self.ready = self.range().map_err(|error| {
                io::Error::other(LakeError::Object { doing: "read", object: self.address.clone(), why: why(&error) })
            })?;
        }
        let read = self.ready.len().min(into.len());
        into[..read].copy_from_slice(&self.ready.split_to(read));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(error: &Error) -> String {
        let object = "s3://graphs/air/log".into();
        LakeError::Object { doing: "store", object, why: why(error) }.to_string()
    }

    #[test]
    fn what_a_store_says_becomes_a_sentence() {
        let body = r#"<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>"#;
        let source = format!("Server returned non-2xx status code: 403 Forbidden: {body}").into();
        assert_eq!(
            shown(&Error::Generic { store: "S3", source }),
            "cannot store s3://graphs/air/log: AccessDenied: Access Denied. The credentials in the environment \
             (AWS_ACCESS_KEY_ID …) do not allow it: look at their rights"
        );
        let path = || "air/log".to_owned();
        let source = "Server returned non-2xx status code: 404 Not Found: ".into();
        assert_eq!(
            shown(&Error::NotFound { path: path(), source }),
            "cannot store s3://graphs/air/log: Server returned non-2xx status code: 404 Not Found. Is there such a bucket or \
             container? It must be made before"
        );
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "Connection refused");
        assert_eq!(
            shown(&Error::Generic { store: "S3", source: refused.into() }),
            "cannot store s3://graphs/air/log: Connection refused. Can this machine reach the store? Look at its address \
             (AWS_ENDPOINT_URL, AWS_REGION …)"
        );
        let none = "Error performing PUT http://169.254.169.254/latest/api/token\nin 5s".into();
        let shown = shown(&Error::Unauthenticated { path: path(), source: none });
        assert!(shown.contains("latest/api/token. No credentials were found"), "{shown}");
    }
}
