//! Algorithms on the whole graph: names and ids in, columns of values out.
//!
//! ```text
//!   question    names and ids become an algorithm on a projected graph, which runs
//!   arrays      a graph whose edges a program gives
//!   columns     its outcome becomes columns of ids and values
//!   filters     tests of properties, which choose vertices and edges
//!   kept        projections of the last commit
//!   projected   a graph as arrays, for programs of the user's own
//!   procedures  the algorithms for queries: `call('mangrove.pagerank')`
//! ```

mod arrays;
mod columns;
mod filters;
mod kept;
mod procedures;
mod projected;
mod question;

use std::time::{Duration, Instant};

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use mangrove_analytics::{AnalyticsError, Stage};
use mangrove_directory::{Patience, Writer};
use mangrove_graph::{
    Cell, ElementId, Elements, GraphError, GraphWrite, KeyId, Numbering, PropertyColumn, ReadContext, Value, VertexId,
};
use mangrove_query::{CancelToken, Parameters};
use thiserror::Error;

use crate::Database;
use crate::backend::{AGAIN_MAX, BackendView, read_view};
use crate::error::Bug;
pub use arrays::Arrays;
pub use kept::Projections;
pub use procedures::all as procedures;
pub use projected::Projected;
use question::{Answer, Of, Question, Source};
pub use question::{bytes_max, threads};

/// Vertices whose ids are read, or whose values are written, at a time.
const BATCH: u64 = 8192;

/// Which part of the graph to analyse, and how.
#[derive(Clone, Debug)]
pub struct AnalyzeOptions {
    /// Labels of vertices; `None` means all.
    pub vertices: Option<Vec<String>>,
    /// Labels of edges; `None` means all. Edges that end at other vertices are left out.
    pub edges: Option<Vec<String>>,
    /// Only vertices that pass these tests of properties, such as `has('age', gt(30))`.
    pub vertices_where: Option<String>,
    /// Only edges that pass these tests of one property.
    pub edges_where: Option<String>,
    /// The property of edges that is their weight. An edge without it weighs 1, as all do without a weight.
    pub weight: Option<String>,
    /// Whether edges lead one way only.
    pub directed: bool,
    /// The property of vertices to write the values to, in one transaction.
    pub write: Option<String>,
    /// 0 means one for each core. On a graph on many nodes, each node has so many.
    pub threads: usize,
    /// Run as a vertex program over so many partitions of this process, as on many machines, and count what crosses between them. Without it, a
    /// vertex program runs on the nodes if the graph is there.
    pub partitions: Option<u32>,
    /// The most memory that it may take; `None` for what the machine has left. On a graph on many nodes, each node may take as much.
    pub memory_bytes: Option<u64>,
    pub timeout: Option<Duration>,
    /// On a graph on many nodes, how often these keep the values of a vertex program in their store, if they have one. If a node ends, the
    /// program goes on from there. `None` means every minute.
    pub checkpoint_every: Option<Duration>,
    pub cancel: CancelToken,
}

impl Default for AnalyzeOptions {
    fn default() -> Self {
        Self {
            vertices: None,
            edges: None,
            vertices_where: None,
            edges_where: None,
            weight: None,
            directed: true,
            write: None,
            threads: 0,
            partitions: None,
            memory_bytes: None,
            timeout: None,
            checkpoint_every: None,
            cancel: CancelToken::default(),
        }
    }
}

impl AnalyzeOptions {
    fn limits(&self) -> ReadContext {
        ReadContext {
            // A timeout beyond the range of the clock never comes.
            deadline: self.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            timeout: self.timeout,
            cancel: self.cancel.clone(),
            ..ReadContext::default()
        }
    }
}

/// What an algorithm found.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The columns `id` and `value`, one row for each vertex. A missing value says that there is none, such as a way to it.
    pub values: RecordBatch,
    /// The ids themselves, if they have several types. The column holds their text then.
    pub mixed_ids: Option<Vec<Value>>,
    /// The values themselves, if they are such ids.
    pub named: Option<Vec<Value>>,
    /// What the algorithm says about the whole graph, in order.
    pub summary: Vec<(&'static str, Value)>,
    /// What went wrong on the way, and was made good: nodes that have ended, and checkpoints that were not made.
    pub warnings: Vec<String>,
    /// How long it took to read the graph into arrays.
    pub reading: Duration,
    /// How long the algorithm took after that.
    pub running: Duration,
}

/// An error from analysing a graph.
#[derive(Debug, Error)]
pub enum AnalyzeError {
    #[error(transparent)]
    Analytics(#[from] AnalyticsError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A name or an option that makes no sense.
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Bug(#[from] Bug),
}

impl AnalyzeError {
    fn graph(&self) -> Option<&GraphError> {
        match self {
            AnalyzeError::Graph(error) | AnalyzeError::Analytics(AnalyticsError::Graph(error)) => Some(error),
            _ => None,
        }
    }

    /// What it says if its time was up.
    pub fn late(&self) -> Option<String> {
        let Some(GraphError::Late(Some(time))) = self.graph() else { return None };
        Some(format!("it took longer than {} s, and was stopped; nothing was written", time.as_secs_f64()))
    }

    /// Whether it was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.graph(), Some(GraphError::Stopped | GraphError::Busy { timed_out: false, .. }))
    }

    /// Whether its time was up.
    pub fn is_late(&self) -> bool {
        matches!(self.graph(), Some(GraphError::Late(_) | GraphError::Busy { timed_out: true, .. }))
    }

    /// Whether it was refused for want of memory.
    pub fn is_of_memory(&self) -> bool {
        matches!(self, AnalyzeError::Analytics(AnalyticsError::TooLittleMemory { .. }))
    }
}

type Result<T, E = AnalyzeError> = std::result::Result<T, E>;

impl Database {
    /// Runs an algorithm on the graph as it is now. [`ALGORITHMS`](mangrove_analytics::registry::ALGORITHMS) lists them with their options.
    ///
    /// The values belong to the vertices of a snapshot. With [`AnalyzeOptions::write`], they are written afterwards, in one
    /// transaction: vertices that were removed meanwhile are passed over, and new ones get none.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("people.mg");
    /// use mangrove::{AnalyzeOptions, Database, Parameters, QueryOptions, Value};
    ///
    /// let db = Database::open(&path)?;
    /// let add = "g.addV('person').as('a').addV('person').as('b').addE('knows').from('a').to('b')";
    /// db.query(add, &Parameters::new(), &QueryOptions::default())?;
    /// let found = db.analyze("wcc", &Parameters::new(), &AnalyzeOptions::default(), &mut |_| ())?;
    /// assert_eq!(found.summary, [("components", Value::Int64(1))]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a name is unknown, an option is missing or wrong, memory does not suffice, or the graph cannot be written.
    pub fn analyze(
        &self,
        name: &str,
        arguments: &Parameters,
        options: &AnalyzeOptions,
        show: &mut dyn FnMut(Stage),
    ) -> Result<Analysis> {
        self.guarded(&|| format!("analysing: {name}"), || {
            if options.write.is_some() && self.is_read_only() {
                return Err(GraphError::ReadOnly.into());
            }
            let limits = options.limits();
            let (mut warnings, mut before) = (Vec::new(), None);
            let ((answer, ids), _view) = read_view(self.backend(), Some(&limits), |view| {
                let number = view.version();
                if let Some(before) = before.replace(number) {
                    warnings.push(begun_again(before, number));
                }
                let question = Question::new(Of::View(view, self.source(view)), name, arguments, options)?;
                let mut answer = question.in_parts(view.parts()).run(&limits, show)?;
                let ids = answer.ids.take().map_or_else(|| columns::ids(view, &answer.numbering), Ok)?;
                Ok::<_, AnalyzeError>((answer, ids))
            })?;
            let Answer { outcome, numbering, warnings: of_program, reading, running, .. } = answer;
            warnings.extend(of_program);
            let named = columns::named_values(&ids, &outcome.values);
            let values = columns::columns(outcome.values, ids.field, ids.array)?;
            let mut summary = outcome.summary;
            if let Some(key) = &options.write {
                let column = named.as_deref().map_or(Column::Array(values.column(1)), Column::Values);
                let done = self.write_values(column, &numbering, key, &limits)?;
                summary.push(("written", Value::from(done.written as i64)));
                if done.replaced > 0 {
                    summary.push(("replaced", Value::from(done.replaced as i64)));
                }
            }
            Ok(Analysis { values, mixed_ids: ids.mixed, named, summary, warnings, reading, running })
        })
    }

    /// Fails as [`analyze`](Self::analyze) would for a name, or for an option that is missing or of the wrong kind, but runs nothing.
    /// Whether the value of an option makes sense, the algorithm finds out.
    ///
    /// # Errors
    /// If a name is unknown, or an option is missing or of the wrong kind.
    pub fn check_analysis(&self, name: &str, arguments: &Parameters, options: &AnalyzeOptions) -> Result<()> {
        self.guarded(&|| format!("checking an analysis: {name}"), || {
            let view = self.backend().view(Some(options.limits()))?;
            Question::new(Of::View(&*view, None), name, arguments, options)?.check()
        })
    }

    /// Where projections of a view are kept.
    fn source(&self, view: &dyn BackendView) -> Source<'_> {
        Some((self.projections(), view.version()?))
    }

    /// Writes the values of vertices to a property.
    fn write_values(
        &self,
        values: Column<'_>,
        numbering: &Numbering,
        key: &str,
        limits: &ReadContext,
    ) -> Result<ValuesWritten> {
        if numbering.count() == 0 {
            return Ok(ValuesWritten::default());
        }
        let mut left = AGAIN_MAX;
        loop {
            let timeout = limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let patience = Patience { timeout, cancelled: &|| limits.cancel.is_cancelled() };
            let mut transaction = self.backend().begin(Writer::this_thread(), patience)?;
            match write_all(transaction.graph(), values, numbering, key, limits) {
                Ok(done) => match transaction.commit() {
                    Err(GraphError::TakenOver) if left > 0 => {}
                    outcome => return Ok(outcome.map(|()| done)?),
                },
                Err(_) if left > 0 && transaction.is_lost() => {}
                Err(error) => return Err(error),
            }
            left -= 1; // nothing of it was stored
        }
    }
}

/// Writes the values of all vertices in a transaction.
fn write_all(
    graph: &mut dyn GraphWrite,
    values: Column<'_>,
    numbering: &Numbering,
    key: &str,
    limits: &ReadContext,
) -> Result<ValuesWritten> {
    let (key, mut done, mut first) = (graph.ensure_key(key)?, ValuesWritten::default(), 0);
    while first < numbering.count() {
        limits.check()?;
        let end = numbering.count().min(first + BATCH);
        let (vertices, rows) = (numbering.slice(first..end), first as usize..end as usize);
        match values {
            Column::Array(values) => write_batch(graph, &vertices, key, values.slice(rows.start, rows.len()), &mut done)?,
            Column::Values(values) => write_cells(graph, &vertices, key, &values[rows], &mut done)?,
        }
        first = end;
    }
    Ok(done)
}

/// The nodes that had the graph at one commit have ended, and an analysis reads another.
fn begun_again(before: Option<u64>, now: Option<u64>) -> String {
    let commit = |number: Option<u64>| number.map_or("a commit".to_owned(), |number| format!("commit {number}"));
    let (before, now) = (commit(before), commit(now));
    format!("no node has the graph at {before} any more; the analysis began again from the first step, at {now}")
}

/// What a write of values did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ValuesWritten {
    /// Vertices that got a value.
    pub written: u64,
    /// Those that had another before, or the same, or lost it.
    pub replaced: u64,
}

/// Values to write.
#[derive(Clone, Copy)]
enum Column<'a> {
    Array(&'a ArrayRef),
    /// Of several types.
    Values(&'a [Value]),
}

/// As [`write_batch`], for values of several types.
fn write_cells(
    graph: &mut dyn GraphWrite,
    vertices: &[VertexId],
    key: KeyId,
    values: &[Value],
    done: &mut ValuesWritten,
) -> Result<()> {
    let there = graph.contain(Elements::Vertices(vertices))?;
    let had = graph.have(Elements::Vertices(vertices), key)?;
    for row in (0..vertices.len()).filter(|row| there[*row]) {
        let (vertex, value) = (&vertices[row], &values[row]);
        let cell = if value.is_null() { Cell::Absent } else { Cell::One(value.clone()) };
        done.written += u64::from(!cell.is_absent());
        done.replaced += u64::from(had[row]);
        graph.set_cell(ElementId::Vertex(*vertex), key, cell)?;
    }
    Ok(())
}

/// Sets the values of those vertices that are still there. A vertex without a value loses the one that it had.
fn write_batch(
    graph: &mut dyn GraphWrite,
    vertices: &[VertexId],
    key: KeyId,
    values: ArrayRef,
    done: &mut ValuesWritten,
) -> Result<()> {
    let there = graph.contain(Elements::Vertices(vertices))?;
    let had = graph.have(Elements::Vertices(vertices), key)?;
    let nulls = values.logical_nulls();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let rows = || there.iter().enumerate().filter(|(_, is_there)| **is_there).map(|(row, _)| row);
    done.written += rows().filter(|row| !is_null(*row)).count() as u64;
    done.replaced += rows().filter(|row| had[*row]).count() as u64;
    for row in rows().filter(|row| is_null(*row) && had[*row]) {
        graph.set_cell(ElementId::Vertex(vertices[row]), key, Cell::Absent)?;
    }
    let (vertices, values) = match there.iter().all(|is_there| *is_there) {
        true => (vertices.to_vec(), values),
        false => {
            let kept = UInt32Array::from_iter_values(rows().map(|row| row as u32));
            let values = arrow_select::take::take(&values, &kept, None);
            (rows().map(|row| vertices[row]).collect(), values.map_err(|error| GraphError::Invalid(error.to_string()))?)
        }
    };
    if values.logical_null_count() == values.len() {
        return Ok(());
    }
    Ok(graph.set_properties(Elements::Vertices(&vertices), key, &PropertyColumn::Typed(values))?)
}
