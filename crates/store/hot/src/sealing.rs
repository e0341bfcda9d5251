//! A segment being written: threads of its own encode chunks and write them, while the next ones are read.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use mangrove_graph::{Cell, EdgeRef, ElementKind, Encoding, GraphError, LabelId, PropertyId, Result, Value};
use mangrove_segment::adjacency::{self, Entry};
use mangrove_segment::file::{Identity, PartKey, SegmentWriter};
use mangrove_segment::index::{self, Pair};
use mangrove_segment::keys::KeysOfChunk;
use mangrove_segment::{column, names};

use crate::fault::corrupt;
use crate::key::Column;
use crate::segment::{Contents, Patched, column_key, contents_key, index_key, keys_key, lists_key, names_key, patched_key};
use crate::store::locked;

/// Bytes of a chunk that threads take; a larger one is encoded by itself, so that they hold so many each at most.
const BYTES_MAX: usize = 64 << 20;
/// With more threads their chunks would take more memory than they save time: reading them is a third of the work.
const THREADS_MAX: usize = 4;

/// As many threads as encode chunks where somebody waits for it.
pub fn threads() -> usize {
    match std::thread::available_parallelism() {
        Ok(cores) if cores.get() > 1 => cores.get().min(THREADS_MAX),
        _ => 0,
    }
}

/// A segment being written. Its file has its name when it is whole.
pub struct Sealing {
    out: Arc<Mutex<Out>>,
    contents: Contents,
    encoders: Option<Encoders>,
}

/// The file, until writing fails.
type Out = Result<SegmentWriter, Option<GraphError>>;

/// How to encode a chunk, which is then written under this key.
type Job = (PartKey, Box<dyn FnOnce(&mut Vec<u8>) + Send>);

struct Encoders {
    jobs: SyncSender<Job>,
    threads: Vec<JoinHandle<()>>,
}

impl Sealing {
    /// Begins a file; with no threads of its own, chunks are encoded by the calling one.
    pub fn create(path: &Path, identity: Identity, contents: Contents, threads: usize) -> Result<Self> {
        let out: Arc<Mutex<Out>> = Arc::new(Mutex::new(Ok(SegmentWriter::create(path, identity)?)));
        Ok(Self { encoders: Encoders::start(threads, &out), out, contents })
    }

    pub fn column(&mut self, column: Column, chunk: u64, cells: Vec<Cell>, encoding: Encoding) -> Result<()> {
        let bytes = cells.iter().map(bytes_of).sum();
        self.put(column_key(column, chunk), bytes, move |out| column::encode(out, &cells, encoding))
    }

    /// A chunk of the column of the ends of edges.
    pub fn ends(&mut self, column: Column, chunk: u64, edges: Vec<Option<EdgeRef>>) -> Result<()> {
        let bytes = size_of_val(&edges[..]);
        self.put(column_key(column, chunk), bytes, move |out| column::encode_ends(out, &edges))
    }

    /// Notes which cells of a chunk, that older segments have too, are said anew: the slots of blocks, in order, each of which has some.
    pub fn patched(&mut self, column: Column, chunk: u64, said: Vec<(usize, u128)>) -> Result<()> {
        self.put(patched_key(column, chunk), size_of_val(&said[..]), move |out| Patched::encode(out, &said))
    }

    /// The keys of a chunk of a wide label.
    pub fn keys(&mut self, kind: ElementKind, label: LabelId, chunk: u64, keys: KeysOfChunk) -> Result<()> {
        self.put(keys_key(kind, label, chunk), keys.bytes(), move |out| keys.encode(out))
    }

    pub fn lists(
        &mut self,
        outgoing: bool,
        vertices: LabelId,
        edges: LabelId,
        chunk: u64,
        ends: Vec<u32>,
        entries: Vec<Entry>,
    ) -> Result<()> {
        let (key, bytes) = (lists_key(outgoing, vertices, edges, chunk), size_of_val(&entries[..]));
        self.put(key, bytes, move |out| adjacency::encode(out, &ends, &entries))
    }

    /// Adds names of a kind, all those of some chunks: their hashes, of which so many bits say the chunk, and whose they are.
    pub fn names(&mut self, kind: ElementKind, bits: u32, mut names: Vec<(u64, u64)>) -> Result<()> {
        self.contents.set_name_bits(kind, bits);
        names.sort_unstable();
        for chunk in names.chunk_by(|a, b| names::chunk_of(a.0, bits) == names::chunk_of(b.0, bits)) {
            let (number, chunk) = (names::chunk_of(chunk[0].0, bits), chunk.to_vec());
            self.put(names_key(kind, number), size_of_val(&chunk[..]), move |out| names::encode(out, &chunk))?;
        }
        Ok(())
    }

    /// A chunk of an index: pairs of values and places, in order, all before those of the next.
    pub fn index(&mut self, of: PropertyId, chunk: u64, pairs: Vec<Pair>) -> Result<()> {
        self.put(index_key(of, chunk), size_of_val(&pairs[..]), move |out| index::encode(out, &pairs))
    }

    /// Has a part encoded that takes so many bytes until it is.
    fn put(&mut self, key: PartKey, bytes: usize, encode: impl FnOnce(&mut Vec<u8>) + Send + 'static) -> Result<()> {
        if self.encoders.as_ref().is_some_and(Encoders::has_ended) {
            self.end();
        }
        match &self.encoders {
            Some(encoders) if bytes <= BYTES_MAX => {
                // Nobody takes it only if all have just panicked, which is told with the next.
                let _ = encoders.jobs.send((key, Box::new(encode)));
            }
            _ => write(&self.out, key, encode),
        }
        match &mut *locked(&self.out) {
            Err(error) => Err(error.take().unwrap_or_else(|| corrupt("a segment that could not be written"))),
            Ok(_) => Ok(()),
        }
    }

    /// Makes the file whole and durable.
    pub fn finish(mut self) -> Result<()> {
        self.end();
        let gone = || Err(Some(corrupt("a segment that was finished before")));
        let out = std::mem::replace(&mut *locked(&self.out), gone());
        let mut writer = out.map_err(|error| error.unwrap_or_else(|| corrupt("a segment that could not be written")))?;
        writer.put(contents_key(), &self.contents.bytes())?;
        writer.finish()
    }

    /// Waits for the threads; a panic of one goes on here.
    fn end(&mut self) {
        if let Some(panic) = self.encoders.take().and_then(Encoders::end) {
            std::panic::resume_unwind(panic);
        }
    }
}

/// About what a cell takes in memory.
fn bytes_of(cell: &Cell) -> usize {
    let of_value = |value: &Value| match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    cell.values().map(|value| size_of::<Cell>() + of_value(value)).sum()
}

impl Drop for Sealing {
    /// Its file may be removed from here on.
    fn drop(&mut self) {
        let _ = self.encoders.take().and_then(Encoders::end);
    }
}

impl Encoders {
    /// Starts threads, as far as there can be some.
    fn start(threads: usize, out: &Arc<Mutex<Out>>) -> Option<Self> {
        // Without room for jobs that wait: so many chunks are in memory as there are threads, and one.
        let (jobs, waiting) = sync_channel(0);
        let waiting = Arc::new(Mutex::new(waiting));
        let start = |_| {
            let (waiting, out) = (waiting.clone(), out.clone());
            Builder::new().name("mangrove encoding".into()).spawn(move || encode_all(&waiting, &out)).ok()
        };
        let threads: Vec<_> = (0..threads).filter_map(start).collect();
        (!threads.is_empty()).then_some(Self { jobs, threads })
    }

    /// Whether a thread has, which is by a panic.
    fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits until all is written. Gives what a thread panicked with.
    fn end(self) -> Option<Box<dyn std::any::Any + Send>> {
        drop(self.jobs);
        let outcomes: Vec<_> = self.threads.into_iter().map(JoinHandle::join).collect();
        outcomes.into_iter().find_map(|outcome| outcome.err())
    }
}

fn encode_all(waiting: &Mutex<Receiver<Job>>, out: &Mutex<Out>) {
    loop {
        let job = locked(waiting).recv();
        let Ok((key, encode)) = job else { return };
        write(out, key, encode);
    }
}

fn write(out: &Mutex<Out>, key: PartKey, encode: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    let mut out = locked(out);
    if let Ok(writer) = &mut *out
        && let Err(error) = writer.put(key, &bytes)
    {
        *out = Err(Some(error));
    }
}

#[cfg(test)]
mod tests {
    use mangrove_segment::column::Chunk;

    use super::*;
    use crate::segment::{Segment, path};

    const LABEL: LabelId = LabelId(0);

    fn cells(chunk: u64) -> Vec<Cell> {
        (0..1000).map(|at| Cell::One(Value::Int64(at * 7 + chunk as i64))).collect()
    }

    #[test]
    fn however_many_threads_encode_the_same_chunks_are_written() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let column = Column::property(ElementKind::Vertex, LABEL, mangrove_graph::KeyId(1));
        for threads in 0..4 {
            let number = threads as u64 + 1;
            let mut sealing =
                Sealing::create(&path(directory.path(), number), Identity::default(), Contents::default(), threads)
                    .expect("a file");
            for chunk in 0..20 {
                sealing.column(column, chunk, cells(chunk), Encoding::Auto).expect("a chunk");
            }
            sealing.finish().expect("a segment");
            let segment = Segment::found(directory.path(), number).expect("a segment");
            for chunk in 0..20 {
                let found: &Chunk = segment.chunk(column, chunk).expect("a chunk").expect("a chunk");
                assert_eq!((0..1000).map(|at| found.cell(at).expect("a cell")).collect::<Vec<_>>(), cells(chunk));
            }
        }
    }

    #[test]
    fn a_panic_of_a_thread_is_that_of_who_waits() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut sealing =
            Sealing::create(&path(directory.path(), 1), Identity::default(), Contents::default(), 2).expect("a file");
        let _ = sealing.put(contents_key(), 0, |_| panic!("as chunks do that cannot be encoded"));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sealing.finish()));
        let panic = outcome.expect_err("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as chunks do that cannot be encoded"));
        assert!(!path(directory.path(), 1).exists());
    }
}
