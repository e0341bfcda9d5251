//! Files in an object store: S3, Google Cloud Storage, Azure, or any HTTP server that answers ranges.
//!
//! Requests are made on a small runtime of their own, many at the same time. The calling thread waits for all of them together, and
//! stops waiting when its limits say so.

use std::future::Future;
use std::ops::Range;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mangrove_graph::ReadContext;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::store::store_of;
use super::{Listing, OpenFile, Part, Source, Version};
use crate::error::{LakeError, Result};

pub struct Remote {
    store: Arc<dyn ObjectStore>,
    root: Path,
    /// There until it is dropped.
    runtime: Option<Runtime>,
    /// The process that has the threads of the runtime.
    process: u32,
    free: Arc<Semaphore>,
    /// For messages.
    place: Arc<str>,
}

/// Ranges that lie closer together than this are read as one: a request costs more than these bytes.
const GAP: u64 = 256 << 10;
/// The most bytes of one request. Larger parts are read by several at once.
const REQUEST_BYTES: u64 = 8 << 20;
/// The most requests at the same time.
const REQUESTS_MAX: usize = 64;
/// How often a waiting thread looks at its limits.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

type Failure = (Arc<str>, Error);

impl Remote {
    pub fn new(place: &str) -> Result<Self> {
        let name: Arc<str> = place.into();
        let failed = |reason: String| LakeError::Store { file: name.clone(), reason };
        let (store, root) = store_of(place).map_err(failed)?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name("mangrove lake").enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let free = Arc::new(Semaphore::new(REQUESTS_MAX));
        Ok(Self { store, root, runtime: Some(runtime), process: std::process::id(), free, place: name })
    }

    /// The place of a file in the store. Names stay as they are: what is encoded in them is a part of the name.
    fn location(&self, path: &str) -> Result<Path> {
        let whole = format!("{}/{path}", self.root);
        let wrong = |error: object_store::path::Error| LakeError::Store {
            file: format!("{}/{path}", self.place.trim_end_matches('/')).into(),
            reason: error.to_string(),
        };
        Path::parse(whole.trim_start_matches('/')).map_err(wrong)
    }

    fn failed(&self, (path, error): Failure) -> LakeError {
        let file: Arc<str> = format!("{}/{path}", self.place.trim_end_matches('/')).into();
        match error {
            Error::NotFound { .. } => LakeError::Missing { file },
            Error::Precondition { .. } => LakeError::Changed { file },
            other => LakeError::Store { file, reason: causes(&other) },
        }
    }

    fn lost(&self, reason: &str) -> LakeError {
        LakeError::Store { file: self.place.clone(), reason: reason.into() }
    }

    /// Runs requests at the same time, and waits for all. The answers come in the order of the requests. The first error ends all.
    fn all<T: Send + 'static, F>(&self, requests: Vec<F>, limits: Option<&ReadContext>) -> Result<Vec<T>>
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let Some(runtime) = self.runtime.as_ref().filter(|_| std::process::id() == self.process) else {
            return Err(self.lost("it was opened by another process: open it here again"));
        };
        let answers: Vec<OnceLock<T>> = requests.iter().map(|_| OnceLock::new()).collect();
        let (sender, receiver) = mpsc::channel();
        let mut running = Running(Vec::with_capacity(requests.len()));
        for (at, request) in requests.into_iter().enumerate() {
            let (sender, free) = (sender.clone(), self.free.clone());
            let task = runtime.spawn(async move {
                // The semaphore is never closed.
                let _place = free.acquire_owned().await;
                // If nobody waits any more, the answer is not wanted.
                let _ = sender.send((at, request.await));
            });
            running.0.push(task.abort_handle());
        }
        drop(sender);
        let mut looked = Instant::now();
        loop {
            if looked.elapsed() >= BETWEEN_LOOKS {
                limits.map_or(Ok(()), ReadContext::check)?;
                looked = Instant::now();
            }
            match receiver.recv_timeout(BETWEEN_LOOKS) {
                Ok((at, Ok(answer))) => drop(answers[at].set(answer)),
                Ok((_, Err(failure))) => return Err(self.failed(failure)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let missing = || self.lost("a request gave no answer");
        answers.into_iter().map(|answer| answer.into_inner().ok_or_else(missing)).collect()
    }

    /// All objects below a place.
    fn listed(&self, place: Path) -> Result<Vec<ObjectMeta>> {
        use futures_util::TryStreamExt;
        let (store, path) = (self.store.clone(), Arc::from(place.as_ref()));
        let objects = async move { store.list(Some(&place)).try_collect::<Vec<_>>().await.map_err(|error| (path, error)) };
        Ok(self.all(vec![objects], None)?.pop().unwrap_or_default())
    }

    /// An object as a file below the directory of the lake.
    fn file(&self, object: ObjectMeta) -> OpenFile {
        let whole = object.location.as_ref();
        let path = whole.strip_prefix(self.root.as_ref()).map_or(whole, |below| below.trim_start_matches('/'));
        OpenFile { path: path.into(), size: object.size, version: version(&object), converted: None }
    }

    fn short(&self, part: &Part<'_>) -> LakeError {
        let file: Arc<str> = format!("{}/{}", self.place.trim_end_matches('/'), part.file.path).into();
        LakeError::Store { file, reason: "an answer has fewer bytes than asked for".into() }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        match std::process::id() == self.process {
            // A request that hangs must not keep the caller.
            true => runtime.shutdown_background(),
            // A forked child does not have the threads that this would wait for.
            false => std::mem::forget(runtime),
        }
    }
}

/// Requests that stop when nobody waits for them any more.
struct Running(Vec<AbortHandle>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

/// An error with its causes, which name the status and the address.
pub fn causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text += &format!(": {reason}");
        }
        cause = error.source();
    }
    if text.contains("Range request not supported") {
        text += ": use a server that answers requests for ranges, or copy the files";
    }
    if text.contains("PROPFIND") {
        return "the server does not list files: name them one by one, with `files: […]`".into();
    }
    if text.contains("169.254.169.254") || text.contains("metadata.google") {
        text += ". No credentials were found: set those of the store (AWS_ACCESS_KEY_ID …), or AWS_SKIP_SIGNATURE=true for public files";
    }
    text
}

fn version(object: &ObjectMeta) -> Version {
    Version::Remote { tag: object.e_tag.clone(), modified: object.last_modified.timestamp_millis() }
}

/// A file as a listing shows it, by its path in the store.
/// Opens a file and reads its end, with one request if the store can count from the end.
async fn open(
    store: Arc<dyn ObjectStore>,
    location: Path,
    path: Arc<str>,
    bytes: u64,
) -> Result<Option<(OpenFile, Bytes)>, Failure> {
    let range = |range| GetOptions { range: Some(range), ..GetOptions::default() };
    let found = match store.get_opts(&location, range(GetRange::Suffix(bytes))).await {
        Err(Error::NotSupported { .. }) => {
            let size = match store.head(&location).await {
                Err(Error::NotFound { .. }) => return Ok(None),
                found => found.map_err(|error| (path.clone(), error))?.size,
            };
            store.get_opts(&location, range(GetRange::Bounded(size.saturating_sub(bytes)..size))).await
        }
        found => found,
    };
    let found = match found {
        Err(Error::NotFound { .. }) => return Ok(None),
        found => found.map_err(|error| (path.clone(), error))?,
    };
    let file = OpenFile { path: path.clone(), size: found.meta.size, version: version(&found.meta), converted: None };
    let end = found.bytes().await.map_err(|error| (path, error))?;
    Ok(Some((file, end)))
}

/// Reads a range of a file, if it is still the one that was opened.
async fn read(store: Arc<dyn ObjectStore>, location: Path, file: OpenFile, range: Range<u64>) -> Result<Bytes, Failure> {
    let failed = |error| (file.path.clone(), error);
    let Version::Remote { tag, modified } = &file.version else { return Ok(Bytes::new()) };
    // A weak tag is no condition that a store must accept. So it is compared here.
    let strong = tag.clone().filter(|tag| !tag.starts_with("W/"));
    let is_strong = strong.is_some();
    let options = GetOptions { range: Some(GetRange::Bounded(range)), if_match: strong, ..GetOptions::default() };
    let found = store.get_opts(&location, options).await.map_err(failed)?;
    let is_same = match tag {
        Some(_) if is_strong => true,
        Some(_) => found.meta.e_tag == *tag,
        None => found.meta.last_modified.timestamp_millis() == *modified,
    };
    if found.meta.size != file.size || !is_same {
        let source = "another size or time".into();
        return Err(failed(Error::Precondition { path: file.path.to_string(), source }));
    }
    found.bytes().await.map_err(failed)
}

impl Source for Remote {
    fn open(&self, paths: &[Arc<str>], bytes: u64, limits: Option<&ReadContext>) -> Result<Vec<Option<(OpenFile, Bytes)>>> {
        let request = |path: &Arc<str>| Ok(open(self.store.clone(), self.location(path)?, path.clone(), bytes));
        self.all(paths.iter().map(request).collect::<Result<_>>()?, limits)
    }

    fn read(&self, parts: &[Part<'_>], limits: Option<&ReadContext>) -> Result<Vec<Bytes>> {
        let requests = requests(parts);
        let request = |(file, range): &(&OpenFile, Range<u64>)| {
            Ok(read(self.store.clone(), self.location(&file.path)?, (*file).clone(), range.clone()))
        };
        let answers = self.all(requests.iter().map(request).collect::<Result<_>>()?, limits)?;
        let cut = |part: &Part<'_>| cut(part, &requests, &answers);
        parts.iter().map(|part| cut(part).ok_or_else(|| self.short(part))).collect()
    }

    fn list(&self, folder: &str) -> Result<Option<Listing>> {
        let location = self.location(folder)?;
        let (store, path): (_, Arc<str>) = (self.store.clone(), folder.into());
        let list = async move { store.list_with_delimiter(Some(&location)).await.map_err(|error| (path, error)) };
        let found = self.all(vec![list], None)?.pop();
        let name = |path: &Path| path.filename().map(str::to_owned);
        let mut listing = Listing::default();
        if let Some(found) = found {
            listing
                .files
                .extend(found.objects.iter().filter(|object| object.size > 0).filter_map(|object| name(&object.location)));
            listing.folders.extend(found.common_prefixes.iter().filter_map(name));
        }
        listing.files.sort_unstable();
        listing.folders.sort_unstable();
        // A store has no folders without files.
        Ok(Some(listing).filter(|listing| *listing != Listing::default()))
    }

    fn all_below(&self, folder: &str) -> Result<Vec<OpenFile>> {
        let objects = self.listed(self.location(folder.trim_end_matches('/'))?)?;
        let mut files: Vec<OpenFile> = objects.into_iter().map(|object| self.file(object)).collect();
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.listed(self.root.clone())?.into_iter().map(|object| object.size).sum())
    }

    fn is_far(&self) -> bool {
        true
    }
}

/// The ranges to ask for, so that they hold all parts: near parts together, large ones in pieces.
fn requests<'f>(parts: &[Part<'f>]) -> Vec<(&'f OpenFile, Range<u64>)> {
    let mut sorted: Vec<(&OpenFile, Range<u64>)> = parts.iter().map(|part| (part.file, part.range.clone())).collect();
    sorted.sort_by(|(a, x), (b, y)| (&a.path, x.start).cmp(&(&b.path, y.start)));
    let mut joined: Vec<(&OpenFile, Range<u64>)> = Vec::new();
    for (file, range) in sorted {
        match joined.last_mut() {
            Some((last, so_far)) if last.path == file.path && range.start <= so_far.end + GAP => {
                so_far.end = so_far.end.max(range.end);
            }
            _ => joined.push((file, range)),
        }
    }
    let pieces = |(file, range): (&'f OpenFile, Range<u64>)| {
        let starts = (range.start..range.end).step_by(REQUEST_BYTES as usize);
        starts.map(move |start| (file, start..range.end.min(start + REQUEST_BYTES)))
    };
    joined.into_iter().flat_map(pieces).collect()
}

/// A part, from the answers to sorted requests. `None` if an answer is too short.
fn cut(part: &Part<'_>, requests: &[(&OpenFile, Range<u64>)], answers: &[Bytes]) -> Option<Bytes> {
    let Range { start, end } = part.range;
    let holds = |(file, range): &(&OpenFile, Range<u64>)| (&file.path, range.end) > (&part.file.path, start);
    let first = requests.partition_point(|request| !holds(request));
    let whole = &requests.get(first)?.1;
    if end <= whole.end {
        let bytes = answers.get(first)?;
        let (from, to) = ((start - whole.start) as usize, (end - whole.start) as usize);
        return (to <= bytes.len()).then(|| bytes.slice(from..to));
    }
    let mut joined = Vec::with_capacity((end - start) as usize);
    for ((_, range), bytes) in requests[first..].iter().zip(&answers[first..]) {
        if joined.len() as u64 == end - start {
            break;
        }
        let from = (start + joined.len() as u64 - range.start) as usize;
        let to = (end.min(range.end) - range.start) as usize;
        joined.extend_from_slice(bytes.get(from..to)?);
    }
    (joined.len() as u64 == end - start).then(|| joined.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> OpenFile {
        let version = Version::Remote { tag: None, modified: 0 };
        OpenFile { path: path.into(), size: 1 << 30, version, converted: None }
    }

    /// The byte at a place of a file.
    fn byte(path: &str, at: u64) -> u8 {
        (at % 251) as u8 ^ path.as_bytes()[0]
    }

    #[test]
    fn parts_are_cut_from_joined_and_split_requests() {
        let (a, b) = (file("a"), file("b"));
        let ranges = [(&b, 5..9), (&a, 0..10), (&a, 4..20), (&a, 10 << 20..11 << 20), (&b, 0..20 << 20), (&a, 7..7)];
        let parts: Vec<Part<'_>> = ranges.into_iter().map(|(file, range)| Part { file, range }).collect();
        let requests = requests(&parts);
        assert_eq!(requests.len(), 2 + 3, "near parts of a together; the large one of b in three");
        let answer =
            |(file, range): &(&OpenFile, Range<u64>)| -> Bytes { range.clone().map(|at| byte(&file.path, at)).collect() };
        let answers: Vec<Bytes> = requests.iter().map(answer).collect();
        for part in &parts {
            let expected: Bytes = part.range.clone().map(|at| byte(&part.file.path, at)).collect();
            assert!(cut(part, &requests, &answers).as_ref() == Some(&expected), "{part:?}");
        }
        let short: Vec<Bytes> = answers.iter().map(|bytes| bytes.slice(..bytes.len() / 2)).collect();
        assert_eq!(cut(&parts[2], &requests, &short), None);
    }
}
