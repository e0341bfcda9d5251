//! From names and ids to an algorithm on a projected graph.

use std::time::{Duration, Instant};

use mangrove_analytics::divided::run_divided;
use mangrove_analytics::engine::Placement;
use mangrove_analytics::{
    About, Algorithm, AnalyticsError, Argument, Needs, OptionKind, Outcome, Projection, Reading, Selection, Stage, project,
    registry, watched,
};
use mangrove_graph::{ElementKind, GraphView, KeyId, LabelId, Numbering, ReadContext, Schema, Value, VertexId, record};
use mangrove_query::Parameters;
use mangrove_query::diagnostics::suggest;

use super::columns::{self, Ids};
use super::kept::Projections;
use super::{AnalyzeError, AnalyzeOptions, Result, filters};
use crate::backend::{GraphParts, InParts, Restarts};

/// More threads than this only wait for each other.
const THREADS_MAX: usize = 256;
/// What a vertex takes here, if its value comes from elsewhere: its id, its number, its value, and that in bytes.
const VALUE_BYTES: u64 = 32;
/// How often nodes keep the values of a vertex program, unless the user says.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);
/// The most partitions of one process.
const PARTITIONS_MAX: u32 = 1024;

/// An algorithm, its options and a graph, all known by their ids.
pub struct Question<'a> {
    of: Of<'a>,
    about: &'static About,
    arguments: Vec<(&'a str, Argument)>,
    /// Which part of a view.
    selection: Selection,
    placement: Option<Placement>,
    threads: usize,
    bytes_max: u64,
    /// The parts of the graph, if other processes have it. They get the options as they were given.
    parts: Option<&'a dyn GraphParts>,
    given: Given,
}

/// Options as they were given.
#[derive(Clone, Copy)]
struct Given {
    threads: usize,
    memory_bytes: Option<u64>,
    checkpoint_every: Option<Duration>,
}

/// What is analysed.
pub enum Of<'a> {
    /// A part of a graph.
    View(&'a dyn GraphView, Source<'a>),
    /// Arrays, whose vertices are numbers.
    Arrays(&'a Projection),
}

impl Of<'_> {
    /// The vertex with an id; `None` if there is none.
    fn find(&self, id: &Value) -> Result<Option<VertexId>> {
        match self {
            Of::View(view, _) => Ok(record::find_vertex(*view, id)?),
            Of::Arrays(graph) => {
                let number = id.as_i64().and_then(|number| u64::try_from(number).ok());
                Ok(number
                    .filter(|number| *number < graph.vertices() as u64)
                    .map(|number| VertexId::new(LabelId(0), 0, number)))
            }
        }
    }
}

/// Where projections are kept, and the version of the graph; `None` if it cannot be named.
pub type Source<'a> = Option<(&'a Projections, u64)>;

/// What came of it, with the vertices that the values belong to.
pub struct Answer {
    pub outcome: Outcome,
    pub numbering: Numbering,
    /// The ids of these vertices, if they were read before the algorithm ran.
    pub ids: Option<Ids>,
    /// What went wrong on the way, and was made good.
    pub warnings: Vec<String>,
    pub reading: Duration,
    pub running: Duration,
}

impl<'a> Question<'a> {
    pub fn new(of: Of<'a>, name: &str, given: &'a Parameters, options: &AnalyzeOptions) -> Result<Self> {
        if options.partitions.is_some_and(|partitions| !(1..=PARTITIONS_MAX).contains(&partitions)) {
            return Err(AnalyzeError::Invalid(format!("`partitions` must be from 1 to {PARTITIONS_MAX}")));
        }
        if options.threads > THREADS_MAX {
            return Err(AnalyzeError::Invalid(format!("`threads` is {}; at most {THREADS_MAX} can work", options.threads)));
        }
        if options.write.as_ref().is_some_and(String::is_empty) {
            return Err(AnalyzeError::Invalid("`write` is empty: name a property".into()));
        }
        let names = registry::ALGORITHMS.iter().map(|about| about.name);
        let about = registry::about(name).ok_or_else(|| unknown("algorithm", name, names))?;
        if options.weight.is_some() && !about.takes_weights {
            return Err(AnalyzeError::Invalid(format!("{name} looks at no weights: leave `weight` out")));
        }
        if options.write.is_some() && !about.gives_values() {
            let reason = format!("{name} does not give one value for each vertex: leave `write` out");
            return Err(AnalyzeError::Invalid(reason));
        }
        let argument = |(option, value): (&'a String, &Value)| {
            let known = about.options.iter().find(|known| known.name == option);
            let known = known.ok_or_else(|| unknown("option", option, about.options.iter().map(|known| known.name)))?;
            Ok((option.as_str(), argument(&of, known, value)?))
        };
        let arguments = given.iter().map(argument).collect::<Result<_>>()?;
        let selection = match &of {
            Of::View(view, _) => selection(*view, options)?,
            Of::Arrays(_) => Selection::default(),
        };
        Ok(Self {
            of,
            about,
            arguments,
            selection,
            placement: options.partitions.map(Placement::Hashed),
            threads: threads(options.threads),
            bytes_max: bytes_max(options.memory_bytes),
            parts: None,
            given: Given {
                threads: options.threads,
                memory_bytes: options.memory_bytes,
                checkpoint_every: options.checkpoint_every,
            },
        })
    }

    /// The same of a graph of which other processes may have parts. They run what is a vertex program.
    pub fn in_parts(self, parts: Option<&'a dyn GraphParts>) -> Self {
        Self { parts, ..self }
    }

    /// The projection of the graph, kept or read.
    fn projection(&self, needs: Needs, limits: &ReadContext, show: &mut dyn FnMut(Stage)) -> Result<Projection> {
        match self.of {
            Of::View(view, source) => {
                project(view, source, &self.selection, needs, (self.threads, self.bytes_max), limits, show)
            }
            Of::Arrays(graph) => Ok(graph.clone()),
        }
    }

    /// Fails if options of the algorithm are missing, or do not go together.
    pub fn check(&self) -> Result<()> {
        Ok(registry::algorithm(self.about.name, &self.arguments).map(drop)?)
    }

    /// Runs the algorithm.
    pub fn run(&self, limits: &ReadContext, show: &mut dyn FnMut(Stage)) -> Result<Answer> {
        let algorithm = registry::algorithm(self.about.name, &self.arguments)?;
        if let Some(answer) = self.run_in_parts(&*algorithm, limits, show)? {
            return Ok(answer);
        }
        let no_program =
            || AnalyzeError::Invalid(format!("{} is no vertex program: leave `partitions` out", self.about.name));
        let needs = match self.placement {
            Some(_) => algorithm.needs_divided().ok_or_else(no_program)?,
            None => algorithm.needs(),
        };
        let started = Instant::now();
        let projection = self.projection(needs, limits, show)?;
        let reading = started.elapsed();
        let (vertices, entries) = (projection.vertices() as u64, projection.entries());
        let own = match self.placement {
            None => algorithm.bytes(vertices, entries),
            Some(_) => 64 * vertices + 8 * entries,
        };
        let needed = projection.bytes().saturating_add(own);
        self.fits(needed)?;
        let placement = self.placement;
        let outcome = watched(self.threads, limits, show, |run| match placement {
            None => algorithm.run(&projection, run).map(Some),
            Some(placement) => run_divided(&*algorithm, &projection, placement, run),
        })?;
        let outcome = outcome.ok_or_else(no_program)?;
        let running = started.elapsed() - reading;
        tracing::info!(algorithm = self.about.name, seconds = running.as_secs_f64(), "analysed");
        let numbering = projection.numbering().clone();
        Ok(Answer { outcome, numbering, ids: None, warnings: Vec::new(), reading, running })
    }

    fn fits(&self, needed: u64) -> Result<()> {
        if needed > self.bytes_max {
            let (needed_mb, allowed_mb) = (needed.div_ceil(1 << 20), self.bytes_max >> 20);
            return Err(AnalyticsError::TooLittleMemory { needed_mb, allowed_mb }.into());
        }
        Ok(())
    }

    /// Runs a vertex program where the parts of the graph are; `None` if it is to be run here.
    fn run_in_parts(
        &self,
        algorithm: &dyn Algorithm,
        limits: &ReadContext,
        show: &mut dyn FnMut(Stage),
    ) -> Result<Option<Answer>> {
        let (Some(parts), Of::View(view, _)) = (self.parts, &self.of) else { return Ok(None) };
        if self.placement.is_some() || algorithm.needs_divided().is_none() {
            return Ok(None);
        }
        let started = Instant::now();
        let numbering = self.selection.numbering(*view)?;
        let Some(divided) = algorithm.divided(&numbering)? else { return Ok(None) };
        self.fits(VALUE_BYTES * numbering.count())?;
        // Nodes do not keep the graph at this point for as long as a program may run.
        let ids = columns::ids(*view, &numbering)?;
        let id_order = if divided.reads_ids() { project::of_ids(*view, &numbering, limits)? } else { Vec::new() };
        let numbered = started.elapsed();
        let Given { threads, memory_bytes, checkpoint_every } = self.given;
        let work = InParts {
            divided: &divided,
            selection: &self.selection,
            numbering: &numbering,
            id_order: &id_order,
            threads,
            memory_bytes,
            checkpoint_every: checkpoint_every.unwrap_or(CHECKPOINT_EVERY),
        };
        let Some(ran) = parts.run(&work, limits, show)? else { return Ok(None) };
        let mut outcome = divided.outcome(ran.all, ran.ended, &id_order);
        let Restarts { count: restarts, resumed_at, warnings } = ran.restarts;
        if restarts > 0 {
            let count = |count: u64| Value::Int64(count as i64);
            outcome.summary.extend([("restarts", count(restarts)), ("resumed_at", count(resumed_at))]);
        }
        let reading = numbered + ran.reading;
        let running = started.elapsed().saturating_sub(reading);
        tracing::info!(algorithm = self.about.name, seconds = running.as_secs_f64(), "analysed on the nodes");
        Ok(Some(Answer { outcome, numbering, ids: Some(ids), warnings, reading, running }))
    }
}

/// How many threads work, if so many are asked for: 0 means one for each core.
pub fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads.min(THREADS_MAX),
    }
}

/// The most memory that work may take, if so much is allowed: `None` means what the machine has left.
pub fn bytes_max(allowed: Option<u64>) -> u64 {
    allowed.or_else(available_memory).unwrap_or(u64::MAX)
}

/// The part of the graph that the options choose, as arrays, and how many threads it is for.
pub fn chosen(
    view: &dyn GraphView,
    source: Source<'_>,
    options: &AnalyzeOptions,
    needs: Needs,
    limits: &ReadContext,
    show: &mut dyn FnMut(Stage),
) -> Result<(Projection, usize)> {
    let (threads, selection) = (threads(options.threads), selection(view, options)?);
    Ok((project(view, source, &selection, needs, (threads, bytes_max(options.memory_bytes)), limits, show)?, threads))
}

/// Reads the selected part of a graph on some threads, within a bound on memory. What is kept of it is not read again.
fn project(
    view: &dyn GraphView,
    source: Source<'_>,
    selection: &Selection,
    needs: Needs,
    (threads, bytes_max): (usize, u64),
    limits: &ReadContext,
    show: &mut dyn FnMut(Stage),
) -> Result<Projection> {
    let started = Instant::now();
    let reading = Reading { threads, bytes_max, limits, show };
    let projection = match source.and_then(|(kept, version)| kept.get(version, selection)) {
        Some(known) => known.extended(view, selection, needs, reading)?,
        None => Projection::new(view, selection, needs, reading)?,
    };
    if let Some((kept, version)) = source {
        kept.put(version, selection, &projection);
    }
    let (vertices, bytes, seconds) = (projection.vertices(), projection.bytes(), started.elapsed().as_secs_f64());
    tracing::info!(vertices, bytes, seconds, "projected");
    Ok(projection)
}

/// The part of the graph that the options name.
fn selection(view: &dyn GraphView, options: &AnalyzeOptions) -> Result<Selection> {
    let schema = view.schema();
    let labels = |kind, names: &Option<Vec<String>>| match names {
        Some(names) => names.iter().map(|name| label(schema, kind, name)).collect::<Result<Vec<_>>>().map(Some),
        None => Ok(None),
    };
    let weight = options.weight.as_ref().map(|key| {
        let keys = schema.known_keys().map(|name| &**name);
        schema.key(key).ok_or_else(|| unknown("property key", key, keys))
    });
    let (vertices, edges, weight) =
        (labels(ElementKind::Vertex, &options.vertices)?, labels(ElementKind::Edge, &options.edges)?, weight.transpose()?);
    if let (Some(key), Some(name)) = (weight, &options.weight) {
        must_be_on_edges(schema, edges.as_deref(), key, name)?;
    }
    let filters = filters::of_vertices(view, options.vertices_where.as_deref())?;
    let edge_filter = filters::of_edges(view, options.edges_where.as_deref())?;
    Ok(Selection { vertices, filters, edges, edge_filter, weight, is_directed: options.directed })
}

/// No edge would have a weight.
fn must_be_on_edges(schema: &Schema, edges: Option<&[LabelId]>, key: KeyId, name: &str) -> Result<()> {
    let is_chosen = |label: LabelId| edges.is_none_or(|edges| edges.contains(&label));
    let mut chosen = schema.known_labels(ElementKind::Edge).filter(|(label, _)| is_chosen(*label));
    match chosen.any(|(_, label)| label.property(key).is_some()) {
        true => Ok(()),
        false => Err(AnalyzeError::Invalid(format!("none of the chosen edges has the property `{name}` as its weight"))),
    }
}

fn label(schema: &Schema, kind: ElementKind, name: &str) -> Result<LabelId> {
    let what = if kind == ElementKind::Vertex { "vertex label" } else { "edge label" };
    let names = || schema.known_labels(kind).map(|(_, label)| &*label.name);
    let known = schema.label(kind, name).filter(|_| names().any(|known| known == name));
    known.ok_or_else(|| unknown(what, name, names()))
}

pub fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> AnalyzeError {
    let known: Vec<&str> = known.collect();
    let hint = match suggest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there is none at all".into(),
        None => format!("there are {}", known.join(", ")),
    };
    AnalyzeError::Invalid(format!("there is no {what} `{name}`; {hint}"))
}

/// An option's value, in the form that it needs.
fn argument(of: &Of<'_>, option: &registry::OptionAbout, value: &Value) -> Result<Argument> {
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
        OptionKind::Vertex => Argument::Vertex(vertex(of, option.name, value)?),
        OptionKind::VertexWeights => {
            let Value::Map(weights) = value else { return Err(wrong("it must be a map of ids to weights")) };
            let weight = |(id, weight): &(Value, Value)| {
                let weight = weight.as_f64().ok_or_else(|| wrong("the weights must be numbers"))?;
                // Names in JSON are always text.
                let number = record::other_spelling(id).filter(|other| !matches!(other, Value::String(_)));
                let by_number = number.as_ref().map(|number| of.find(number)).transpose()?.flatten();
                match (of.find(id)?, by_number) {
                    (None, Some(vertex)) => Ok((vertex, weight)),
                    _ => Ok((vertex(of, option.name, id)?, weight)),
                }
            };
            Argument::VertexWeights(weights.iter().map(weight).collect::<Result<_>>()?)
        }
    })
}

fn vertex(of: &Of<'_>, option: &str, id: &Value) -> Result<VertexId> {
    if let Some(vertex) = of.find(id)? {
        return Ok(vertex);
    }
    let other = match record::other_spelling(id) {
        Some(other) if of.find(&other)?.is_some() => {
            format!("; there is one with the {} {other}", if matches!(other, Value::String(_)) { "text" } else { "number" })
        }
        _ => String::new(),
    };
    let id = if let Value::String(text) = id { format!("{text:?}") } else { id.to_string() };
    Err(AnalyzeError::Invalid(format!("`{option}`: no vertex has the id {id}{other}")))
}

/// What the machine can give without swapping; `None` if it does not say.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
