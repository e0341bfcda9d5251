//! Follows a topic: takes its records as they come, each once.
//!
//! ```text
//!   topic ── records ──▶ gather: a batch of rows ──▶ one transaction: the rows, and the offsets behind them
//! ```
//! The offsets are in the graph, and change in the transaction of the rows. So whenever a process ends, the next one goes on with the first
//! record that the graph does not have. Each transaction compares the offsets that it finds with those that its process knows. If they are
//! others, somebody else follows the same source, and nothing is stored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mangrove_directory::{Patience, Writer};
use mangrove_graph::{ElementKind, GraphError, GraphView, Schema};
use mangrove_ingest::{
    BadRow, Ingest, IngestOptions, JsonRows, LoadError as IngestError, LoadReport, Offsets, OnLost, Phase, Progress, Spot,
    Status, TableInput, Topic, TopicRecord, Work,
};
use serde::{Deserialize, Serialize};

use crate::Database;
use crate::backend::Backend;
use crate::error::{LoadError, StoreError};

/// Records that come while a batch gathers are looked for so often.
const PAUSE: Duration = Duration::from_millis(100);
/// The bytes of records in a batch, about.
const BATCH_BYTES: usize = 32 << 20;
/// How long a batch is tried again if nodes cannot be reached.
const TRYING: Duration = Duration::from_secs(120);

/// What to follow, and how.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// The name under which the graph keeps the offsets.
    pub source: String,
    pub rows: FollowedRows,
    /// Records of a transaction, at most.
    pub batch_rows: usize,
    /// A transaction begins so long after the first of its records has come, at the latest.
    pub batch_wait: Duration,
    /// Whether to end once the topic was read to where it ended at the start.
    pub until_end: bool,
    /// Records to leave out, by partition and offset.
    pub skip: BTreeSet<(i32, u64)>,
    pub on_lost: OnLost,
    pub ingest: IngestOptions,
}

/// What each record is.
#[derive(Clone, Debug)]
pub enum FollowedRows {
    /// A vertex of a label. Its id is under `key`; if that is not said, under the key of the label, or under `id`.
    Vertices { label: String, key: Option<String> },
    /// An edge of a label, with the labels of its ends where they are known.
    Edges {
        source: Option<String>,
        label: String,
        target: Option<String>,
        /// Where the ids of its ends are.
        from: String,
        to: String,
    },
}

/// What was taken from a topic.
#[derive(Clone, Debug, Default)]
pub struct FollowReport {
    pub records: u64,
    /// How many of them were left out, as the options say.
    pub skipped: u64,
    pub batches: u64,
    pub loaded: LoadReport,
    /// The offsets that the graph has now.
    pub offsets: Offsets,
}

/// How far a graph has read a source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourcePosition {
    pub topic: String,
    /// Whose topic it is; empty if nobody said.
    pub cluster: String,
    /// The next record of each partition.
    pub offsets: Offsets,
}

impl SourcePosition {
    fn to_bytes(&self) -> Result<Vec<u8>, GraphError> {
        serde_json::to_vec(self).map_err(GraphError::storage)
    }

    fn from_bytes(source: &str, bytes: &[u8]) -> Result<Self, GraphError> {
        serde_json::from_slice(bytes).map_err(|_| {
            GraphError::Invalid(format!("the offsets of the source {source} were written by another version of Mangrove"))
        })
    }

    /// Fails if these are the offsets of another topic.
    fn must_be_of(&self, source: &str, topic: &dyn Topic) -> Result<(), GraphError> {
        let is_other = |ours: &str, theirs: &str| !ours.is_empty() && !theirs.is_empty() && ours != theirs;
        if self.topic == topic.name() && !is_other(&self.cluster, topic.cluster()) {
            return Ok(());
        }
        Err(GraphError::Invalid(format!(
            "the source {source} of this graph is the topic {} of the brokers {}, and not the topic {} of the brokers {}: name this one with \
             --source",
            self.topic,
            self.cluster,
            topic.name(),
            topic.cluster()
        )))
    }
}

impl Database {
    /// Takes the records of a topic, until it is cancelled or the end is reached. Each is a JSON object, and a row. They are stored batch by
    /// batch, each batch with the offsets behind it in one transaction. Cancelled, it ends well: records that were not stored come again.
    ///
    /// # Errors
    /// If a record is no row, or cannot be stored. Then nothing of its batch was stored. [`GraphError::Invalid`] if another process follows the
    /// same source, or if the topic cannot be the one that was read before, or has lost records.
    pub fn follow(
        &self,
        topic: &mut dyn Topic,
        options: &FollowOptions,
        progress: &mut dyn Progress,
    ) -> Result<FollowReport, LoadError> {
        if self.is_read_only() {
            return Err(GraphError::ReadOnly.into());
        }
        let doing = format!("following the topic {}", topic.name());
        self.guarded(&|| doing.clone(), || {
            let begun = Following::begin(self, topic, options, &|| progress.cancelled());
            let mut following = match begun {
                Err(LoadError::Load(IngestError::Cancelled)) => return Ok(FollowReport::default()),
                begun => begun?,
            };
            following.run(topic, progress)?;
            self.settle();
            let Following { ingest, report, position, .. } = following;
            Ok(FollowReport { loaded: ingest.report().clone(), offsets: position.offsets, ..report })
        })
    }

    /// How far the graph has read each source that it follows, by name.
    pub fn sources(&self) -> Result<BTreeMap<String, SourcePosition>, StoreError> {
        self.guarded(&|| "reading the offsets of sources".into(), || {
            let found = self.snapshot()?.sources()?;
            let read = |(name, bytes): (String, Vec<u8>)| {
                let position = SourcePosition::from_bytes(&name, &bytes)?;
                Ok::<_, StoreError>((name, position))
            };
            found.into_iter().map(read).collect()
        })
    }
}

/// Where a source is taken up.
struct Noted {
    position: Option<Vec<u8>>,
    schema: Arc<Schema>,
}

impl Noted {
    /// Reads it in the turn of a writer. Otherwise, the last batch of a process that has just ended could be missing: it may be on its way into
    /// the log, or to the shards.
    fn of(backend: &dyn Backend, source: &str, cancelled: &dyn Fn() -> bool) -> Result<Self, IngestError> {
        patiently(source, cancelled, &mut || {
            let transaction = backend.begin(Writer::this_thread(), Patience { timeout: None, cancelled })?;
            let view = transaction.view();
            let found = Self { position: noted(view, source)?, schema: view.schema().clone() };
            transaction.commit()?; // then what it has read is there for good
            Ok(found)
        })
    }
}

/// What is noted of a source.
fn noted(view: &dyn GraphView, source: &str) -> Result<Option<Vec<u8>>, GraphError> {
    Ok(view.sources()?.into_iter().find(|(name, _)| name == source).map(|(_, position)| position))
}

struct Following<'a> {
    database: &'a Database,
    options: &'a FollowOptions,
    /// Those of the options, with their key.
    rows: FollowedRows,
    schema: Arc<Schema>,
    ingest: Ingest,
    position: SourcePosition,
    /// What the graph has noted.
    stored: Option<Vec<u8>>,
    /// Records that have come and are in no batch yet.
    waiting: VecDeque<TopicRecord>,
    report: FollowReport,
}

impl<'a> Following<'a> {
    fn begin(
        database: &'a Database,
        topic: &mut dyn Topic,
        options: &'a FollowOptions,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, LoadError> {
        let source = &options.source;
        let Noted { position: stored, schema } = Noted::of(database.backend(), source, cancelled)?;
        let mut position = match &stored {
            Some(bytes) => SourcePosition::from_bytes(source, bytes)?,
            None => SourcePosition { topic: topic.name().into(), cluster: topic.cluster().into(), offsets: Offsets::new() },
        };
        position.must_be_of(source, topic)?;
        position.offsets = topic.start(&position.offsets, options.on_lost)?;
        // The rows of a batch are counted here.
        let ingest = Ingest::new(IngestOptions { batch_rows: usize::MAX, ..options.ingest.clone() });
        let rows = options.rows.keyed(&schema);
        let (waiting, report) = (VecDeque::new(), FollowReport::default());
        Ok(Self { database, options, rows, schema, ingest, position, stored, waiting, report })
    }

    fn run(&mut self, topic: &mut dyn Topic, progress: &mut dyn Progress) -> Result<(), LoadError> {
        loop {
            let (batch, is_at_end) = self.gather(topic, progress)?;
            if progress.cancelled() {
                return Ok(());
            }
            if batch.records > 0 {
                match self.store(batch, topic.name(), &|| progress.cancelled()) {
                    Err(IngestError::Cancelled) => return Ok(()),
                    stored => stored?,
                }
                progress.update(&Status { phase: self.rows.phase(), rows: self.report.records, ..Status::default() });
            }
            if is_at_end && self.options.until_end {
                return Ok(());
            }
        }
    }

    /// The next batch, and whether the topic was read to its end.
    fn gather(&mut self, topic: &mut dyn Topic, progress: &dyn Progress) -> Result<(Batch, bool), IngestError> {
        let mut batch = Batch::new(&self.rows, self.position.offsets.clone());
        let (mut since, mut is_at_end, mut come) = (None, false, Vec::new());
        loop {
            while let Some(record) = self.waiting.front() {
                if !batch.has_room(self.options.batch_rows) {
                    return Ok((batch, false));
                }
                match batch.take(record, &self.options.skip) {
                    Ok(true) => drop(self.waiting.pop_front()),
                    Ok(false) => return Ok((batch, false)),
                    // What comes before a bad record is stored first.
                    Err(_) if batch.records > 0 => return Ok((batch, false)),
                    Err(reason) => return Err(bad(topic.name(), (record.partition, record.offset), reason)),
                }
                since.get_or_insert_with(Instant::now);
            }
            if !batch.has_room(self.options.batch_rows) {
                return Ok((batch, false));
            }
            let left = since.map_or(PAUSE, |since: Instant| self.options.batch_wait.saturating_sub(since.elapsed()));
            if progress.cancelled() || is_at_end && self.options.until_end || left.is_zero() {
                return Ok((batch, is_at_end));
            }
            is_at_end = topic.read(left.min(PAUSE), &mut come)?;
            self.waiting.extend(come.drain(..));
        }
    }

    /// Stores a batch, with the offsets behind it.
    fn store(&mut self, batch: Batch, topic: &str, cancelled: &dyn Fn() -> bool) -> Result<(), IngestError> {
        let Batch { rows, places, offsets, records, skipped, .. } = batch;
        let position = SourcePosition { offsets, ..self.position.clone() };
        let after = position.to_bytes()?;
        let (backend, source) = (self.database.backend(), &*self.options.source);
        let storing = Storing { backend, source, before: self.stored.as_deref(), after: &after, cancelled };
        if rows.is_empty() {
            storing.run(&mut |_| Ok(()))?;
        } else {
            let never: &mut mangrove_ingest::Commit<'_> = &mut |_| Ok(()); // there is room for all
            self.ingest.add(self.rows.table(rows), &self.schema, never).map_err(|error| found(error, topic, &places))?;
            self.ingest.flush(&mut |work| storing.run(work)).map_err(|error| found(error, topic, &places))?;
        }
        (self.position, self.stored) = (position, Some(after));
        self.report.records += records;
        self.report.skipped += skipped;
        self.report.batches += 1;
        Ok(())
    }
}

impl FollowedRows {
    /// The same, and under which key vertices have their ids.
    fn keyed(&self, schema: &Schema) -> Self {
        let FollowedRows::Vertices { label, key: None } = self else { return self.clone() };
        let known = schema.label(ElementKind::Vertex, label);
        let known = known.and_then(|label| schema.label_schema(ElementKind::Vertex, label)?.key);
        let key = known.map_or_else(|| "id".to_owned(), |key| schema.key_name(key).to_string());
        FollowedRows::Vertices { label: label.clone(), key: Some(key) }
    }

    /// The columns that each row needs.
    fn columns(&self) -> Vec<&str> {
        match self {
            FollowedRows::Vertices { key, .. } => key.iter().map(String::as_str).collect(),
            FollowedRows::Edges { from, to, .. } => vec![from, to],
        }
    }

    fn table(&self, records: JsonRows) -> TableInput {
        let table = records.into_table();
        match self {
            FollowedRows::Vertices { label, key } => TableInput::vertices(label, table).keyed(key.clone()),
            FollowedRows::Edges { source, label, target, from, to } => {
                TableInput::edges(source.as_deref(), label, target.as_deref(), table).between(from, to)
            }
        }
    }

    fn phase(&self) -> Phase {
        match self {
            FollowedRows::Vertices { .. } => Phase::Vertices,
            FollowedRows::Edges { .. } => Phase::Edges,
        }
    }
}

/// Records of one transaction.
struct Batch {
    rows: JsonRows,
    /// The partition and the offset of each row.
    places: Vec<(i32, u64)>,
    /// The offsets behind the records.
    offsets: Offsets,
    records: u64,
    skipped: u64,
    bytes: usize,
}

impl Batch {
    fn new(rows: &FollowedRows, offsets: Offsets) -> Self {
        Self { rows: JsonRows::new(&rows.columns()), places: Vec::new(), offsets, records: 0, skipped: 0, bytes: 0 }
    }

    fn has_room(&self, rows_max: usize) -> bool {
        self.records < rows_max.max(1) as u64 && self.bytes < BATCH_BYTES
    }

    /// Takes a record. Returns false if there is no room for it. Fails, and says why, if it is no row.
    fn take(&mut self, record: &TopicRecord, skip: &BTreeSet<(i32, u64)>) -> Result<bool, String> {
        let TopicRecord { partition, offset, value } = record;
        if self.offsets.get(partition).is_some_and(|next| offset < next) {
            return Ok(true); // it was read already
        }
        if skip.contains(&(*partition, *offset)) {
            self.skipped += 1;
        } else {
            let value = value.as_deref().ok_or("it has no value, and a row is a JSON object")?;
            if !self.rows.add(value).map_err(|fault| fault.to_string())? {
                return Ok(false);
            }
            self.places.push((*partition, *offset));
            self.bytes += value.len();
        }
        self.records += 1;
        self.offsets.insert(*partition, offset + 1);
        Ok(true)
    }
}

fn bad(topic: &str, (partition, offset): (i32, u64), reason: String) -> IngestError {
    IngestError::BadRecord { topic: topic.to_owned(), partition, offset, reason }
}

/// An error of rows as one of their records.
fn found(error: IngestError, topic: &str, places: &[(i32, u64)]) -> IngestError {
    let IngestError::BadRows { first, .. } = &error else { return error };
    let place = |bad: &BadRow| match bad.place.spot {
        Spot::Row(row) => places.get(row.checked_sub(1)? as usize).copied(),
        _ => None,
    };
    let Some((row, place)) = first.iter().find_map(|row| Some((row, place(row)?))) else { return error };
    let value = row.value.as_ref().map(|value| format!("`{value}` – ")).unwrap_or_default();
    bad(topic, place, format!("{value}{}", row.fault))
}

/// Stores what one batch does.
struct Storing<'a> {
    backend: &'a dyn Backend,
    source: &'a str,
    before: Option<&'a [u8]>,
    after: &'a [u8],
    cancelled: &'a dyn Fn() -> bool,
}

impl Storing<'_> {
    /// Does the work, once. If nobody says whether it was done, the offsets do.
    fn run(&self, work: &mut Work<'_>) -> Result<(), IngestError> {
        let mut was_tried = false;
        patiently(self.source, self.cancelled, &mut || self.in_one_transaction(work, &mut was_tried))
    }

    fn in_one_transaction(&self, work: &mut Work<'_>, was_tried: &mut bool) -> Result<(), IngestError> {
        let patience = Patience { timeout: None, cancelled: self.cancelled };
        let mut transaction = self.backend.begin(Writer::this_thread(), patience)?;
        let found = noted(transaction.view(), self.source)?;
        if *was_tried && found.as_deref() == Some(self.after) {
            return Ok(());
        }
        if found.as_deref() != self.before {
            return Err(IngestError::Graph(GraphError::Invalid(format!(
                "the offsets of the source {} in the graph are not those up to which this process has read: another one follows it, too. \
                 Nothing of this batch was stored. Let one process follow a source",
                self.source
            ))));
        }
        work(transaction.graph())?;
        transaction.graph().put_source(self.source, self.after)?;
        *was_tried = true;
        Ok(transaction.commit()?)
    }
}

/// Tries something again while nodes cannot be reached.
fn patiently<T>(
    source: &str,
    cancelled: &dyn Fn() -> bool,
    work: &mut dyn FnMut() -> Result<T, IngestError>,
) -> Result<T, IngestError> {
    let until = Instant::now() + TRYING;
    loop {
        match work() {
            Err(IngestError::Graph(GraphError::Busy { .. } | GraphError::Cancelled)) if cancelled() => {
                return Err(IngestError::Cancelled);
            }
            Err(error) if is_passing(&error) && Instant::now() < until && !cancelled() => {
                tracing::warn!(%error, source, "a transaction is tried again");
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

/// Whether another try may do better, and tells what became of this one.
fn is_passing(error: &IngestError) -> bool {
    use GraphError::{OutcomeUnknown, TakenOver, Unavailable};
    matches!(error, IngestError::Graph(Unavailable(_) | TakenOver | OutcomeUnknown(_)))
}
