//! Algorithms on the whole graph: names and ids in, a column of values out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, Field, Schema as ArrowSchema};
use mangrove_analytics::engine::Placement;
use mangrove_analytics::{
    About, AnalyticsError, Argument, NONE, OptionKind, Outcome, Projection, Reading, Selection, Stage, Values, registry,
    watched,
};
use mangrove_directory::{Patience, Writer};
use mangrove_graph::{
    Cell, ElementId, ElementKind, Elements, GraphError, GraphView, GraphWrite, KeyId, LabelId, Numbering, PropertyColumn,
    ReadContext, Schema, Value, VertexId, record,
};
use mangrove_query::diagnostics::suggest;
use mangrove_query::{CancelToken, Parameters};
use thiserror::Error;

use crate::backend::BackendView;
use crate::error::Bug;
use crate::{Database, arrow};

/// Vertices whose ids are read, or whose values are written, at a time.
const BATCH: u64 = 8192;

/// The most partitions of one process.
const PARTITIONS_MAX: u32 = 4096;

/// Which part of the graph to analyse, and how.
#[derive(Clone, Debug)]
pub struct AnalyzeOptions {
    /// Labels of vertices; `None` means all.
    pub vertices: Option<Vec<String>>,
    /// Labels of edges; `None` means all. Edges that end at other vertices are left out.
    pub edges: Option<Vec<String>>,
    /// The property of edges that is their weight. An edge without it weighs 1, as all do without a weight.
    pub weight: Option<String>,
    /// Whether edges lead one way only.
    pub directed: bool,
    /// The property of vertices to write the values to, in one transaction.
    pub write: Option<String>,
    /// 0 means one for each core.
    pub threads: usize,
    /// Run as a vertex program over so many partitions, as on many machines, and count what crosses between them.
    pub partitions: Option<u32>,
    /// The most memory that it may take; `None` for what the machine has left.
    pub memory_bytes: Option<u64>,
    pub timeout: Option<Duration>,
    pub cancel: CancelToken,
}

impl Default for AnalyzeOptions {
    fn default() -> Self {
        Self {
            vertices: None,
            edges: None,
            weight: None,
            directed: true,
            write: None,
            threads: 0,
            partitions: None,
            memory_bytes: None,
            timeout: None,
            cancel: CancelToken::default(),
        }
    }
}

/// What an algorithm found.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The columns `id` and `value`, one row for each vertex. A missing value says that there is none, such as a way to it.
    pub values: RecordBatch,
    /// What the algorithm says about the whole graph, in order.
    pub summary: Vec<(&'static str, Value)>,
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
    /// Runs an algorithm on the graph as it is now. [`registry::ALGORITHMS`] lists them with their options.
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
            let limits = ReadContext {
                deadline: options.timeout.map(|timeout| Instant::now() + timeout),
                timeout: options.timeout,
                cancel: options.cancel.clone(),
                ..ReadContext::default()
            };
            let view = self.backend().view(Some(limits.clone()))?;
            let analyzed = Analyzed::new(&*view, name, arguments, options)?.run(&limits, show)?;
            if let Some(key) = &options.write {
                self.write_values(&analyzed, key, &limits)?;
            }
            Ok(Analysis { values: analyzed.values, summary: analyzed.summary })
        })
    }

    /// Writes the values of vertices to a property.
    fn write_values(&self, analyzed: &Written, key: &str, limits: &ReadContext) -> Result<()> {
        let timeout = limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let patience = Patience { timeout, cancelled: &|| limits.cancel.is_cancelled() };
        let mut transaction = self.backend().begin(Writer::this_thread(), patience)?;
        let graph = transaction.graph();
        let key = graph.ensure_key(key)?;
        let (numbering, mut first) = (&analyzed.numbering, 0);
        while first < numbering.count() {
            limits.check()?;
            let end = numbering.count().min(first + BATCH);
            let values = analyzed.values.column(1).slice(first as usize, (end - first) as usize);
            write_batch(graph, &numbering.slice(first..end), key, values)?;
            first = end;
        }
        Ok(transaction.commit()?)
    }
}

/// Sets the values of those vertices that are still there. A vertex without a value loses the one that it had.
fn write_batch(graph: &mut dyn GraphWrite, vertices: &[VertexId], key: KeyId, values: ArrayRef) -> Result<()> {
    let there = graph.contain(Elements::Vertices(vertices))?;
    let had = graph.have(Elements::Vertices(vertices), key)?;
    let rows = || there.iter().enumerate().filter(|(_, is_there)| **is_there).map(|(row, _)| row);
    for row in rows().filter(|row| values.is_null(*row) && had[*row]) {
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
    Ok(graph.set_properties(Elements::Vertices(&vertices), key, &PropertyColumn::Typed(values))?)
}

/// A question to a graph.
struct Analyzed<'a> {
    view: &'a dyn BackendView,
    about: &'static About,
    arguments: Vec<(&'a str, Argument)>,
    selection: Selection,
    placement: Option<Placement>,
    threads: usize,
    bytes_max: u64,
}

/// What came of it, with the vertices that the values belong to.
struct Written {
    values: RecordBatch,
    numbering: Numbering,
    summary: Vec<(&'static str, Value)>,
}

impl<'a> Analyzed<'a> {
    fn new(view: &'a dyn BackendView, name: &str, given: &'a Parameters, options: &AnalyzeOptions) -> Result<Self> {
        if options.partitions.is_some_and(|partitions| !(1..=PARTITIONS_MAX).contains(&partitions)) {
            return Err(AnalyzeError::Invalid(format!("`partitions` must be from 1 to {PARTITIONS_MAX}")));
        }
        let names = registry::ALGORITHMS.iter().map(|about| about.name);
        let about = registry::about(name).ok_or_else(|| unknown("algorithm", name, names))?;
        let schema = view.schema();
        let labels = |kind, names: &Option<Vec<String>>| match names {
            Some(names) => names.iter().map(|name| label(schema, kind, name)).collect::<Result<Vec<_>>>().map(Some),
            None => Ok(None),
        };
        if options.weight.is_some() && !about.takes_weights {
            return Err(AnalyzeError::Invalid(format!("{name} looks at no weights: leave `weight` out")));
        }
        if options.write.is_some() && !about.gives_values() {
            let reason = format!("{name} does not give one value for each vertex: leave `write` out");
            return Err(AnalyzeError::Invalid(reason));
        }
        let weight = options.weight.as_ref().map(|key| {
            let keys = schema.known_keys().map(|name| &**name);
            schema.key(key).ok_or_else(|| unknown("property key", key, keys))
        });
        let selection = Selection {
            vertices: labels(ElementKind::Vertex, &options.vertices)?,
            edges: labels(ElementKind::Edge, &options.edges)?,
            weight: weight.transpose()?,
            is_directed: options.directed,
            ..Selection::default()
        };
        let argument = |(option, value): (&'a String, &Value)| {
            let known = about.options.iter().find(|known| known.name == option);
            let known = known.ok_or_else(|| unknown("option", option, about.options.iter().map(|known| known.name)))?;
            Ok((option.as_str(), argument(view, known, value)?))
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            view,
            about,
            arguments: given.iter().map(argument).collect::<Result<_>>()?,
            selection,
            placement: options.partitions.map(Placement::Hashed),
            threads: if options.threads == 0 { cores } else { options.threads },
            bytes_max: options.memory_bytes.or_else(available_memory).unwrap_or(u64::MAX),
        })
    }

    fn run(&self, limits: &ReadContext, show: &mut dyn FnMut(Stage)) -> Result<Written> {
        let algorithm = registry::algorithm(self.about.name, &self.arguments)?;
        let shown = Mutex::new(Stage::default());
        let tell = |stage: Stage| *shown.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        let reading = Reading { threads: self.threads, bytes_max: self.bytes_max, show: &tell };
        let needs = if self.placement.is_some() { algorithm.needs_divided() } else { algorithm.needs() };
        let started = Instant::now();
        let projection = Projection::new(self.view, &self.selection, needs, &reading)?;
        let seconds = started.elapsed().as_secs_f64();
        tracing::info!(vertices = projection.vertices(), bytes = projection.bytes(), seconds, "projected");
        show(*shown.lock().unwrap_or_else(PoisonError::into_inner));
        let placement = self.placement;
        let outcome = watched(self.threads, limits, show, |run| match placement {
            None => algorithm.run(&projection, run).map(Some),
            Some(placement) => algorithm.run_divided(&projection, placement, run),
        })?;
        let outcome = outcome.ok_or_else(|| {
            AnalyzeError::Invalid(format!("{} is no vertex program: leave `partitions` out", self.about.name))
        })?;
        tracing::info!(algorithm = self.about.name, seconds = started.elapsed().as_secs_f64() - seconds, "analysed");
        let Outcome { values, summary } = outcome;
        let (id, ids) = ids(self.view, projection.numbering())?;
        let values = columns(values, id, ids)?;
        Ok(Written { values, numbering: projection.numbering().clone(), summary })
    }
}

fn label(schema: &Schema, kind: ElementKind, name: &str) -> Result<LabelId> {
    let what = if kind == ElementKind::Vertex { "vertex label" } else { "edge label" };
    let names = || schema.known_labels(kind).map(|(_, label)| &*label.name);
    let known = schema.label(kind, name).filter(|_| names().any(|known| known == name));
    known.ok_or_else(|| unknown(what, name, names()))
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> AnalyzeError {
    let known: Vec<&str> = known.collect();
    let hint = match suggest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there is none at all".into(),
        None => format!("there are {}", known.join(", ")),
    };
    AnalyzeError::Invalid(format!("there is no {what} `{name}`; {hint}"))
}

/// An option's value, in the form that it needs.
fn argument(view: &dyn GraphView, option: &registry::OptionAbout, value: &Value) -> Result<Argument> {
    let wrong = |expected: &str| AnalyzeError::Invalid(format!("`{}` is {value}; {expected}", option.name));
    Ok(match option.kind {
        OptionKind::Count => {
            let count = value.as_i64().and_then(|count| u64::try_from(count).ok());
            Argument::Count(count.ok_or_else(|| wrong("it must be a whole number, 0 or more"))?)
        }
        OptionKind::Real => Argument::Real(value.as_f64().ok_or_else(|| wrong("it must be a number"))?),
        OptionKind::Flag => match value {
            Value::Bool(flag) => Argument::Flag(*flag),
            _ => return Err(wrong("it must be true or false")),
        },
        OptionKind::Vertex => Argument::Vertex(vertex(view, option.name, value)?),
        OptionKind::VertexWeights => {
            let Value::Map(weights) = value else { return Err(wrong("it must be a map of ids to weights")) };
            let weight = |(id, weight): &(Value, Value)| {
                let weight = weight.as_f64().ok_or_else(|| wrong("the weights must be numbers"))?;
                Ok((vertex(view, option.name, id)?, weight))
            };
            Argument::VertexWeights(weights.iter().map(weight).collect::<Result<_>>()?)
        }
    })
}

fn vertex(view: &dyn GraphView, option: &str, id: &Value) -> Result<VertexId> {
    if let Some(vertex) = record::find_vertex(view, id)? {
        return Ok(vertex);
    }
    let other = match record::other_spelling(id) {
        Some(other) if record::find_vertex(view, &other)?.is_some() => {
            format!("; there is one with the {} {other}", if matches!(other, Value::String(_)) { "text" } else { "number" })
        }
        _ => String::new(),
    };
    Err(AnalyzeError::Invalid(format!("`{option}`: no vertex has the id {id}{other}")))
}

/// The ids of all vertices.
fn ids(view: &dyn GraphView, numbering: &Numbering) -> Result<(Field, ArrayRef)> {
    let mut columns = Vec::new();
    let mut first = 0;
    while first < numbering.count() {
        let end = numbering.count().min(first + BATCH);
        columns.push(record::ids(view, Elements::Vertices(&numbering.slice(first..end)))?);
        first = end;
    }
    arrow::column("id", &columns).map_err(invalid)
}

fn invalid(error: ArrowError) -> AnalyzeError {
    AnalyzeError::Graph(GraphError::Invalid(error.to_string()))
}

/// The values as columns. Those that name a vertex become its id.
fn columns(values: Values, id: Field, ids: ArrayRef) -> Result<RecordBatch> {
    let integers = |values: &mut dyn Iterator<Item = Option<i64>>| -> ArrayRef { Arc::new(values.collect::<Int64Array>()) };
    let reals = |values: Vec<f64>| -> ArrayRef {
        Arc::new(values.into_iter().map(|value| value.is_finite().then_some(value)).collect::<Float64Array>())
    };
    let id_of = |name: &str| id.clone().with_name(name);
    let value = |array: ArrayRef| (Field::new("value", array.data_type().clone(), true), array);
    let columns = match values {
        Values::Counts(values) => {
            let array = integers(&mut values.into_iter().map(|value| (value != NONE).then_some(i64::from(value))));
            vec![(id, ids), value(array)]
        }
        Values::Totals(values) => {
            vec![(id, ids), value(integers(&mut values.into_iter().map(|value| Some(value as i64))))]
        }
        Values::Reals(values) => vec![(id, ids), value(reals(values))],
        Values::Vertices(values) => {
            let named = (id_of("value"), named(&ids, values)?);
            vec![(id, ids), named]
        }
        Values::Pairs { vertices, others, values } => {
            let pair = [(id_of("id"), named(&ids, vertices)?), (id_of("other"), named(&ids, others)?)];
            pair.into_iter().chain([value(reals(values))]).collect()
        }
        Values::Walks { starts, vertices } => {
            let first: Vec<u32> = starts[..starts.len() - 1].iter().map(|start| vertices[*start]).collect();
            let lengths = starts.windows(2).map(|ends| ends[1] - ends[0]);
            let item = Arc::new(id_of("item"));
            let walks = ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), named(&ids, vertices)?, None);
            vec![(id_of("id"), named(&ids, first)?), value(Arc::new(walks.map_err(invalid)?))]
        }
    };
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).map_err(invalid)
}

/// The ids of vertices; none for no vertex.
fn named(ids: &ArrayRef, vertices: Vec<u32>) -> Result<ArrayRef> {
    let vertices: UInt32Array = vertices.into_iter().map(|vertex| (vertex != NONE).then_some(vertex)).collect();
    arrow_select::take::take(ids, &vertices, None).map_err(invalid)
}

/// What the machine can give without swapping; `None` if it does not say.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
