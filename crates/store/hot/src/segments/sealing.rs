//! A segment being written. Threads of its own encode chunks and write them, while the next ones are read.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use mangrove_graph::{
    Cell, EdgeRef, ElementKind, Encoding, GraphError, LabelId, PropertyId, PropertyValue, Result, Value, ValueType,
};
use mangrove_segment::adjacency::{self, Entry};
use mangrove_segment::column::{self, LongValues};
use mangrove_segment::file::{Identity, PartKey, SegmentWriter};
use mangrove_segment::index::{self, Pair};
use mangrove_segment::keys::KeysOfChunk;
use mangrove_segment::names;

use crate::format::key::Column;
use crate::segments::segment::{
    Contents, Patched, column_key, contents_key, index_key, keys_key, lists_key, names_key, patched_key,
};
use crate::system::fault::corrupt;
use crate::system::lock::locked;

/// The largest chunk that threads take, in bytes. The caller encodes larger ones, so each thread holds at most this many
/// bytes. Cells that take more are written one after the other.
pub const BYTES_MAX: usize = if cfg!(test) { 1 << 17 } else { 64 << 20 };
/// With more threads, their chunks would cost more memory than the time saved is worth: reading them is a third of the work.
const THREADS_MAX: usize = 4;

/// How many threads encode chunks where somebody waits for the result.
pub fn threads() -> usize {
    match std::thread::available_parallelism() {
        Ok(cores) if cores.get() > 1 => cores.get().min(THREADS_MAX),
        _ => 0,
    }
}

/// A segment being written. Its file gets its name when it is whole.
pub struct Sealing {
    out: Arc<Mutex<Out>>,
    contents: Contents,
    encoders: Option<Encoders>,
}

/// The file, until writing fails.
type Out = Result<SegmentWriter, Option<GraphError>>;

/// The key of a chunk, and how to encode it. Returns how many bytes at its end are those of values.
type Job = (PartKey, Box<dyn FnOnce(&mut Vec<u8>) -> usize + Send>);

struct Encoders {
    jobs: SyncSender<Job>,
    threads: Vec<JoinHandle<()>>,
}

impl Sealing {
    /// Begins a file. Without threads of its own, the calling thread encodes chunks.
    pub fn create(path: &Path, identity: Identity, contents: Contents, threads: usize) -> Result<Self> {
        let out: Arc<Mutex<Out>> = Arc::new(Mutex::new(Ok(SegmentWriter::create(path, identity)?)));
        Ok(Self { encoders: Encoders::start(threads, &out), out, contents })
    }

    pub fn column(&mut self, column: Column, chunk: u64, cells: Vec<Cell>, encoding: Encoding) -> Result<()> {
        let bytes = size_of_val(&cells[..]) + cells.iter().map(bytes_of).sum::<usize>();
        self.put_values(column_key(column, chunk), bytes, move |out| column::encode(out, &cells, encoding))
    }

    /// A chunk of cells that are too long to be in memory together. `write` puts one after the other. If all are plain values of one type,
    /// that is `value_type`. `sample` are some of them.
    pub fn long_column(
        &mut self,
        column: Column,
        chunk: u64,
        value_type: Option<ValueType>,
        encoding: Encoding,
        sample: &[Cell],
        write: impl FnOnce(&mut LongValues<'_>) -> Result<()>,
    ) -> Result<()> {
        match &mut *locked(&self.out) {
            Err(error) => Err(failed(error)),
            Ok(file) => {
                let mut values = LongValues::begin(file, value_type, encoding, sample);
                write(&mut values)?;
                values.finish(column_key(column, chunk))
            }
        }
    }

    /// A chunk of the column of the ends of edges; of their sources, if the outgoing lists of this segment have the targets.
    pub fn ends(&mut self, column: Column, chunk: u64, edges: Vec<Option<EdgeRef>>, are_listed: bool) -> Result<()> {
        let bytes = size_of_val(&edges[..]);
        let encode = if are_listed { column::encode_sources } else { column::encode_ends };
        self.put(column_key(column, chunk), bytes, move |out| encode(out, &edges))
    }

    /// Notes which cells of a chunk replace those of older segments: blocks in order, each with the slots of such cells, of
    /// which it has some.
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

    /// Adds names of a kind, all those of some chunks: hashes and the raw ids of elements. The first `bits` bits of a hash
    /// say its chunk.
    pub fn names(&mut self, kind: ElementKind, bits: u32, mut names: Vec<(u64, u64)>) -> Result<()> {
        self.contents.set_name_bits(kind, bits);
        names.sort_unstable();
        for chunk in names.chunk_by(|a, b| names::chunk_of(a.0, bits) == names::chunk_of(b.0, bits)) {
            let (number, chunk) = (names::chunk_of(chunk[0].0, bits), chunk.to_vec());
            self.put(names_key(kind, number), size_of_val(&chunk[..]), move |out| names::encode(out, &chunk))?;
        }
        Ok(())
    }

    /// A chunk of an index: pairs of values and places, in order, all before those of the next chunk.
    pub fn index(&mut self, of: PropertyId, chunk: u64, pairs: Vec<Pair>) -> Result<()> {
        self.put(index_key(of, chunk), size_of_val(&pairs[..]), move |out| index::encode(out, &pairs))
    }

    /// Encodes and writes a part, in a thread if it is small enough. It takes `bytes` bytes of memory until it is encoded.
    fn put(&mut self, key: PartKey, bytes: usize, encode: impl FnOnce(&mut Vec<u8>) + Send + 'static) -> Result<()> {
        self.put_values(key, bytes, |out| {
            encode(out);
            0
        })
    }

    /// The same for a part with values at its end. `encode` returns how many bytes they take.
    fn put_values(
        &mut self,
        key: PartKey,
        bytes: usize,
        encode: impl FnOnce(&mut Vec<u8>) -> usize + Send + 'static,
    ) -> Result<()> {
        if self.encoders.as_ref().is_some_and(Encoders::has_ended) {
            self.end();
        }
        match &self.encoders {
            Some(encoders) if bytes <= BYTES_MAX => {
                // This fails only if all threads have just panicked. The next call reports that.
                let _ = encoders.jobs.send((key, Box::new(encode)));
            }
            _ => write(&self.out, key, encode),
        }
        match &mut *locked(&self.out) {
            Err(error) => Err(failed(error)),
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

    /// Waits for the threads, and passes on a panic of one.
    fn end(&mut self) {
        if let Some(panic) = self.encoders.take().and_then(Encoders::end) {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Why the file cannot be written.
fn failed(error: &mut Option<GraphError>) -> GraphError {
    error.take().unwrap_or_else(|| corrupt("a segment that could not be written"))
}

/// About how much memory a cell takes, apart from its own size.
pub fn bytes_of(cell: &Cell) -> usize {
    let of_value = |value: &Value| value.memory_bytes(usize::MAX) - size_of::<Value>();
    match cell {
        Cell::Absent => 0,
        Cell::One(value) => of_value(value),
        Cell::Many(values) => values.iter().map(|entry| size_of::<PropertyValue>() + of_value(&entry.value)).sum(),
    }
}

impl Drop for Sealing {
    /// From here on, its file may be removed.
    fn drop(&mut self) {
        let _ = self.encoders.take().and_then(Encoders::end);
    }
}

impl Encoders {
    /// Starts up to `threads` threads; `None` if none could start.
    fn start(threads: usize, out: &Arc<Mutex<Out>>) -> Option<Self> {
        // There is no room for waiting jobs. So memory holds one chunk for each thread, and one more.
        let (jobs, waiting) = sync_channel(0);
        let waiting = Arc::new(Mutex::new(waiting));
        let start = |_| {
            let (waiting, out) = (waiting.clone(), out.clone());
            Builder::new().name("mangrove encoding".into()).spawn(move || encode_all(&waiting, &out)).ok()
        };
        let threads: Vec<_> = (0..threads).filter_map(start).collect();
        (!threads.is_empty()).then_some(Self { jobs, threads })
    }

    /// Whether a thread has ended. Only a panic ends one early.
    fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits until all is written. Returns the panic of a thread, if one panicked.
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

fn write(out: &Mutex<Out>, key: PartKey, encode: impl FnOnce(&mut Vec<u8>) -> usize) {
    let mut bytes = Vec::new();
    let values = encode(&mut bytes);
    let mut out = locked(out);
    if let Ok(writer) = &mut *out
        && let Err(error) = writer.put_values(key, &bytes, values)
    {
        *out = Err(Some(error));
    }
}

#[cfg(test)]
mod tests {
    use mangrove_segment::column::Chunk;

    use super::*;
    use crate::segments::segment::{Segment, path};

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
