//! Transactions: several changes that are kept together or not at all.

use std::sync::Arc;

use mangrove_graph::GraphView;
use mangrove_ingest::{LoadOptions, LoadReport, Progress};
use mangrove_query::{Explanation, Graph, Parameters, Query};

use crate::QueryOptions;
use crate::backend::BackendTransaction;
use crate::describe;
use crate::error::{LoadError, QueryError, StoreError};
use crate::guard;
use crate::memory::Memory;
use crate::open::DatabaseState;
use crate::results::Results;
use crate::slow::{SlowLog, Watch};
use crate::stream::Rows;
use crate::written::Written;

/// A transaction. Only it sees its changes, until [`commit`](Self::commit) makes them durable and visible to all. Dropping it
/// leaves no trace.
///
/// It belongs to the thread that began it, and other writers wait for its end. If one of its queries or loads fails midway, the
/// whole transaction is rolled back at once, because the changes of that operation cannot be separated from the rest. Errors found
/// before any change (in reading the query, for example) leave it as it was.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("people.mg");
/// # use mangrove::{Database, Parameters, QueryOptions};
/// # let (none, options) = (Parameters::new(), QueryOptions::default());
/// let db = Database::open(&path)?;
/// let mut tx = db.transaction()?;
/// tx.query("g.addV('person').property('name', 'Ada')", &none, &options)?;
/// assert_eq!(tx.query("g.V()", &none, &options)?.values.len(), 1);
/// tx.rollback();
/// assert_eq!(db.query("g.V()", &none, &options)?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Transaction {
    /// `None` once rolled back.
    inner: Option<Box<dyn BackendTransaction>>,
    shared: Arc<DatabaseState>,
    slow: Option<Arc<SlowLog>>,
}

impl Transaction {
    pub(crate) fn new(inner: Box<dyn BackendTransaction>, shared: Arc<DatabaseState>, slow: Option<Arc<SlowLog>>) -> Self {
        Self { inner: Some(inner), shared, slow }
    }

    /// Runs a query, as text or bytecode, to its end; it sees what the transaction changed before.
    pub fn query<'q>(
        &mut self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Rows, QueryError> {
        let written = query.into();
        let reading = || format!("reading {written}");
        let query =
            guard::run(&self.shared.reports, &reading, || Ok::<_, QueryError>(self.shared.prepared.read(&written)?))?;
        let mut watch = Watch::new(&self.slow, query.text());
        let outcome = self.run(&query, parameters, options);
        if let (Some(watch), Ok(rows)) = (&mut watch, &outcome) {
            watch.all_given(rows.values.len() as u64);
        }
        outcome
    }

    fn run(&mut self, query: &Query, parameters: &Parameters, options: &QueryOptions) -> Result<Rows, QueryError> {
        let options = &self.shared.procedures.options(options);
        self.inner.as_mut().ok_or(QueryError::Aborted)?.limit(Some(options.read_context()));
        let outcome = self.run_within(query, parameters, options);
        self.inner.iter_mut().for_each(|inner| inner.limit(None));
        outcome
    }

    /// Runs a query within the limits of the transaction.
    fn run_within(&mut self, query: &Query, parameters: &Parameters, options: &QueryOptions) -> Result<Rows, QueryError> {
        let inner = self.inner.as_mut().ok_or(QueryError::Aborted)?;
        let doing = || format!("running {} in a transaction", query.text());
        if !query.writes() {
            return guard::run(&self.shared.reports, &doing, || {
                let graph = &mut Graph::Read(inner.view());
                Rows::collect(query.execute(graph, parameters, options)?, graph, Memory::new(options))
            });
        }
        let graph = &mut Graph::Write(inner.graph());
        let execution =
            guard::run(&self.shared.reports, &doing, || Ok::<_, QueryError>(query.execute(graph, parameters, options)?))?;
        let outcome = guard::run(&self.shared.reports, &doing, || Rows::collect(execution, graph, Memory::new(options)));
        self.abort_on_error(outcome)
    }

    /// The plan of a query, as [`Database::explain`](crate::Database::explain), for the graph as the transaction sees it.
    ///
    /// # Errors
    /// Those of reading and planning the query. The transaction goes on.
    pub fn explain<'q>(
        &self,
        query: impl Into<Written<'q>>,
        parameters: &Parameters,
        options: &QueryOptions,
    ) -> Result<Explanation, QueryError> {
        let inner = self.inner.as_ref().ok_or(QueryError::Aborted)?;
        let written = query.into();
        guard::run(&self.shared.reports, &|| format!("explaining {written} in a transaction"), || {
            let query = self.shared.prepared.read(&written)?;
            Ok::<_, QueryError>(query.explain(inner.view(), parameters, options)?)
        })
    }

    /// Loads files and tables as part of the transaction.
    pub fn load(&mut self, options: &LoadOptions, progress: &mut dyn Progress) -> Result<LoadReport, LoadError> {
        let inner = self.inner.as_mut().ok_or(LoadError::Aborted)?;
        let load = || {
            crate::declare::before_load(options)?;
            let report = mangrove_ingest::load(inner.graph(), options, progress)?;
            crate::declare::after_load(inner.graph(), options, &|| progress.cancelled())?;
            Ok(report)
        };
        let outcome = guard::run(&self.shared.reports, &|| "loading in a transaction".into(), load);
        self.abort_on_error(outcome)
    }

    fn abort_on_error<T, E>(&mut self, outcome: Result<T, E>) -> Result<T, E> {
        if outcome.is_err() {
            self.inner = None;
        }
        outcome
    }

    /// The graph as the transaction sees it.
    pub fn view(&self) -> Result<&dyn GraphView, StoreError> {
        Ok(self.inner.as_ref().ok_or(StoreError::Aborted)?.view())
    }

    /// Reads the elements of results whole. The memory limit in `options`, those of the query, applies.
    pub fn results(&self, rows: &Rows, options: &QueryOptions) -> Result<Results, QueryError> {
        let inner = self.inner.as_ref().ok_or(QueryError::Aborted)?;
        if let Some(whole) = &rows.whole {
            return Ok(whole.clone());
        }
        let mut memory = Memory::new(options);
        let mut results = Results::expecting(Some((rows.outlook.clone(), inner.view().schema().clone())));
        guard::run(&self.shared.reports, &|| "reading the elements of a result".into(), || {
            results.add_rows(describe::describe_all(inner.view(), &rows.values, &mut memory)?);
            Ok::<_, QueryError>(())
        })?;
        Ok(results)
    }

    /// Makes all changes durable and visible to others.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let inner = self.inner.take().ok_or(StoreError::Aborted)?;
        guard::run(&self.shared.reports, &|| "committing a transaction".into(), || Ok(inner.commit()?))
    }

    /// Rolls back and leaves no trace. Dropping the transaction does the same.
    pub fn rollback(self) {}
}
