//! The results of a query, read on demand.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use mangrove_graph::{GraphError, GraphView, Value};
use mangrove_query::{Execution, Graph, Items, Outlook, Pace, bytes_target};

use crate::backend::{AGAIN_MAX, Backend, BackendView, ViewLater};
use crate::describe::{self, Described};
use crate::error::QueryError;
use crate::memory::Memory;
use crate::results::Results;
use crate::slow::Watch;
use crate::{arrow, guard};

/// Elements of the first part of a stream that are read whole together.
const FIRST_ELEMENTS: usize = 128;
const ELEMENTS_MAX: usize = 8192;

/// The results of a query, over one snapshot of the graph.
///
/// A query that only reads runs as far as you take its results. A query that writes has run and is durable when you get the stream.
/// Dropping the stream stops the query and releases the snapshot.
pub struct ResultStream {
    /// `None` once all results are in `ready`.
    execution: Option<Execution>,
    ready: VecDeque<Value>,
    /// Results that came together with others and are not read whole yet.
    rest: Items,
    /// The most elements to read whole together.
    pace: Pace,
    /// The results of a write, with their elements read whole. `None` once some of them were taken.
    whole: Option<Results>,
    warnings: Vec<String>,
    snapshot: Taken,
    outlook: Outlook,
    memory: Memory,
    reports: Arc<Path>,
    watch: Option<Watch>,
    /// As long as nobody has got a result of a query whose snapshot may be lost.
    again: Option<Again>,
}

/// A query that has begun, and what it reads.
pub(crate) type Begun = (Execution, Box<dyn BackendView>);

/// Begins a query again, at a newer snapshot.
pub(crate) struct Again {
    begin: Box<dyn FnMut() -> Result<Begun, QueryError> + Send>,
    left: usize,
}

impl Again {
    pub fn new(begin: impl FnMut() -> Result<Begun, QueryError> + Send + 'static) -> Self {
        Self { begin: Box::new(begin), left: AGAIN_MAX }
    }
}

/// The snapshot of a stream. After a write it may be taken when it is needed, which it mostly is not: the results of a write are whole.
struct Taken {
    /// An error if no snapshot was available after the commit of a write, for want of a reader slot.
    view: OnceLock<Result<Box<dyn BackendView>, String>>,
    later: Option<ViewLater>,
}

impl Taken {
    fn now(view: Result<Box<dyn BackendView>, GraphError>) -> Self {
        Self { view: OnceLock::from(view.map_err(|error| error.to_string())), later: None }
    }

    fn get(&self) -> Result<&dyn BackendView, &str> {
        let take = || match &self.later {
            Some(later) => later().map_err(|error| error.to_string()),
            None => Err("it has no snapshot".into()),
        };
        self.view.get_or_init(take).as_ref().map(|view| &**view).map_err(String::as_str)
    }

    /// The view, if it was taken.
    fn known(&self) -> Option<&dyn BackendView> {
        self.view.get()?.as_ref().ok().map(|view| &**view)
    }
}

impl ResultStream {
    pub(crate) fn running(
        (execution, snapshot): Begun,
        again: Option<Again>,
        memory: Memory,
        reports: Arc<Path>,
        watch: Option<Watch>,
    ) -> Self {
        let outlook = execution.outlook().clone();
        Self { execution: Some(execution), watch, again, ..Self::empty(Taken::now(Ok(snapshot)), outlook, memory, reports) }
    }

    /// The results of a query that has written. Further elements are read from a snapshot that was taken, if one was available, or that is taken
    /// when they are.
    pub(crate) fn finished(rows: Rows, backend: &dyn Backend, memory: Memory, reports: Arc<Path>) -> Self {
        let snapshot = match backend.view_later() {
            Some(later) => Taken { view: OnceLock::new(), later: Some(later) },
            None => Taken::now(backend.view(None)),
        };
        let Rows { values, whole, warnings, outlook } = rows;
        Self { ready: values.into(), whole, warnings, ..Self::empty(snapshot, outlook, memory, reports) }
    }

    fn empty(snapshot: Taken, outlook: Outlook, memory: Memory, reports: Arc<Path>) -> Self {
        Self {
            execution: None,
            ready: VecDeque::new(),
            rest: Items::default(),
            pace: Pace::new(FIRST_ELEMENTS, ELEMENTS_MAX),
            whole: None,
            warnings: Vec::new(),
            snapshot,
            outlook,
            memory,
            reports,
            watch: None,
            again: None,
        }
    }

    /// What `take` gives. If the snapshot is lost before anybody has got a result, the query begins again.
    fn give<T>(&mut self, mut take: impl FnMut(&mut Self) -> Result<T, QueryError>) -> Result<T, QueryError> {
        loop {
            let given = take(self);
            match self.again.take() {
                Some(mut again) if given.is_err() && again.left > 0 && self.is_lost() => {
                    self.rest = Items::default();
                    self.ready.clear();
                    let (execution, view) =
                        guard::run(&self.reports, &|| "beginning a query again".into(), &mut again.begin)?;
                    (self.execution, self.snapshot) = (Some(execution), Taken::now(Ok(view)));
                    self.again = Some(Again { left: again.left - 1, ..again });
                }
                _ => return given,
            }
        }
    }

    fn is_lost(&self) -> bool {
        self.snapshot.known().is_some_and(BackendView::is_lost)
    }

    /// The next results, a few hundred to a few thousand; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Value>>, QueryError> {
        self.give(Self::next_values)
    }

    fn next_values(&mut self) -> Result<Option<Vec<Value>>, QueryError> {
        Ok(self.next_items()?.map(Items::into_values))
    }

    fn next_items(&mut self) -> Result<Option<Items>, QueryError> {
        self.whole = None;
        if !self.rest.is_empty() {
            return Ok(Some(std::mem::take(&mut self.rest)));
        }
        if !self.ready.is_empty() {
            return Ok(Some(Items::Values(std::mem::take(&mut self.ready).into())));
        }
        let Some(execution) = &mut self.execution else { return Ok(None) };
        let Ok(snapshot) = self.snapshot.get() else { return Ok(None) };
        self.watch.iter_mut().for_each(Watch::resume);
        let batch = guard::run(&self.reports, &|| "running a query".into(), || {
            execution.next_items(&mut Graph::Read(snapshot)).map_err(QueryError::from)
        });
        if let Some(watch) = &mut self.watch {
            watch.pause();
            match &batch {
                Ok(Some(items)) => watch.gave(items.len()),
                Ok(None) => watch.completed(),
                Err(_) => {}
            }
        }
        if !matches!(batch, Ok(Some(_))) {
            self.warnings = execution.warnings().to_vec();
            self.execution = None;
            if batch.is_ok() || self.again.is_none() {
                self.watch = None;
            }
            // The limits were those of the query. Its results may be read later.
            if let Some(Ok(snapshot)) = self.snapshot.view.get_mut() {
                snapshot.limit(None);
            }
        }
        batch
    }

    /// The next results, few enough to be read whole together. Columns of values are whole already.
    fn next_part(&mut self) -> Result<Option<Items>, QueryError> {
        let Some(items) = self.next_items()? else { return Ok(None) };
        let at_once = match self.snapshot.get() {
            Ok(snapshot) => self.pace.rows().max(snapshot.distance().rows_min),
            Err(_) => self.pace.rows(),
        };
        if items.len() <= at_once || matches!(items, Items::Column(_) | Items::Maps(_)) {
            return Ok(Some(items));
        }
        self.rest = items.slice(at_once..items.len());
        Ok(Some(items.slice(0..at_once)))
    }

    /// The target bytes of results that are read whole together.
    fn part_bytes(&self) -> usize {
        bytes_target(self.memory.max())
    }

    /// Warnings for the author of the query, for example about labels and keys that no element has. Complete at the end of the
    /// stream.
    pub fn warnings(&self) -> &[String] {
        self.execution.as_ref().map_or(&self.warnings[..], |execution| execution.warnings())
    }

    /// The next results with their elements read whole; `None` at the end.
    ///
    /// # Errors
    /// Those of the query. Also if the results take more memory than it may use.
    pub fn next_described(&mut self) -> Result<Option<Vec<Described>>, QueryError> {
        self.give(Self::described_part)
    }

    fn described_part(&mut self) -> Result<Option<Vec<Described>>, QueryError> {
        if let Some(whole) = self.whole.take() {
            self.ready.clear();
            return Ok(Some(whole.iter().map(Cow::into_owned).collect()).filter(|rows: &Vec<_>| !rows.is_empty()));
        }
        let Some(values) = self.next_part()?.map(Items::into_values) else { return Ok(None) };
        let mut memory = self.memory.clone();
        let described = self.described(&values, &mut memory)?;
        self.pace.took(described.len(), [(memory.held(), self.part_bytes())]);
        Ok(Some(described))
    }

    /// Reads the elements of some results whole.
    pub fn describe(&self, values: &[Value]) -> Result<Vec<Described>, QueryError> {
        self.described(values, &mut self.memory.clone())
    }

    fn described(&self, values: &[Value], memory: &mut Memory) -> Result<Vec<Described>, QueryError> {
        guard::run(&self.reports, &|| "reading the elements of a result".into(), || {
            describe::describe_all(self.readable()?, values, memory)
        })
    }

    /// The snapshot to read elements from.
    fn readable(&self) -> Result<&dyn GraphView, GraphError> {
        let unread = |why: &str| {
            GraphError::Invalid(format!("the query has run and its changes are kept, but its results cannot be read: {why}"))
        };
        self.snapshot.get().map(|snapshot| snapshot as &dyn GraphView).map_err(unread)
    }

    /// All remaining results.
    ///
    /// # Errors
    /// Those of the query. Also if the results take more memory than it may use.
    pub fn values(&mut self) -> Result<Vec<Value>, QueryError> {
        self.give(|stream| {
            let (mut values, mut memory) = (Vec::new(), stream.memory.clone());
            while let Some(batch) = stream.next_values()? {
                memory.hold_values(&batch)?;
                values.extend(batch);
            }
            Ok(values)
        })
    }

    /// All remaining results, with their elements read whole.
    ///
    /// # Errors
    /// As [`values`](Self::values).
    pub fn results(&mut self) -> Result<Results, QueryError> {
        self.some_results(usize::MAX)
    }

    /// The next results, with their elements read whole; empty at the end. At least `rows` of them, or fewer if these are large.
    /// `usize::MAX` stands for all.
    pub(crate) fn some_results(&mut self, rows: usize) -> Result<Results, QueryError> {
        self.give(|stream| stream.collected(rows))
    }

    fn collected(&mut self, rows: usize) -> Result<Results, QueryError> {
        if rows > 0
            && let Some(whole) = self.whole.take()
        {
            self.ready.clear();
            return Ok(whole);
        }
        let schema = self.snapshot.known().map(|snapshot| snapshot.schema().clone());
        let mut results = Results::expecting(schema.map(|schema| (self.outlook.clone(), schema)));
        let mut memory = self.memory.clone();
        let is_enough = |results: &Results, held: usize, part: usize| {
            results.len() >= rows || (rows < usize::MAX && !results.is_empty() && held >= part)
        };
        while !is_enough(&results, memory.held(), self.part_bytes()) {
            let Some(items) = self.next_part()? else { break };
            let (count, before) = (items.len(), memory.held());
            guard::run(&self.reports, &|| "reading the elements of a result".into(), || {
                results.add(self.readable()?, items, &mut memory)
            })?;
            self.pace.took(count, [(memory.held() - before, self.part_bytes())]);
        }
        Ok(results)
    }

    /// All remaining results as one record batch, in the layout of [`arrow`].
    ///
    /// # Errors
    /// As [`values`](Self::values).
    pub fn to_arrow(&mut self) -> Result<RecordBatch, QueryError> {
        let results = self.results()?;
        guard::run(&self.reports, &|| "making a record batch of a result".into(), || {
            arrow::record_batch(&results).map_err(|e| GraphError::Invalid(e.to_string()).into())
        })
    }
}

impl Iterator for ResultStream {
    type Item = Result<Value, QueryError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.whole = None;
        while self.ready.is_empty() {
            match self.next_batch() {
                Ok(Some(batch)) => self.ready = batch.into(),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

/// Results of a write that are whole in memory together.
const RESULTS_AT_ONCE: usize = 1024;

/// The results of a query that ran to its end.
#[derive(Clone, Debug)]
pub struct Rows {
    pub values: Vec<Value>,
    /// The same with their elements read whole, if the query has written.
    pub(crate) whole: Option<Results>,
    pub warnings: Vec<String>,
    pub(crate) outlook: Outlook,
}

impl Rows {
    /// Runs an execution to its end. It also reads the results of a write whole, once: after the commit, memory could run out for
    /// them, and others may have changed them.
    pub(crate) fn collect(mut execution: Execution, graph: &mut Graph<'_>, mut memory: Memory) -> Result<Self, QueryError> {
        let (mut values, memory_of_whole) = (Vec::new(), memory.clone());
        while let Some(batch) = execution.next(graph)? {
            memory.hold_values(&batch)?;
            values.extend(batch);
        }
        let outlook = execution.outlook().clone();
        let whole = match graph {
            Graph::Write(_) => Some(Self::read_whole(graph.view(), &outlook, &values, memory_of_whole)?),
            Graph::Read(_) => None,
        };
        Ok(Self { values, whole, warnings: execution.warnings().to_vec(), outlook })
    }

    fn read_whole(
        view: &dyn GraphView,
        outlook: &Outlook,
        values: &[Value],
        mut memory: Memory,
    ) -> Result<Results, QueryError> {
        let mut results = Results::expecting(Some((outlook.clone(), view.schema().clone())));
        for part in values.chunks(RESULTS_AT_ONCE) {
            // Some of them may be elements that the query has removed. Only rows can show these.
            results.add(view, Items::Values(part.to_vec()), &mut memory)?;
        }
        Ok(results)
    }
}
