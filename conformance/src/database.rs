//! The databases that scenarios run on, and running a query on one.

use std::rc::Rc;
use std::time::Duration;

use clap::ValueEnum;
use mangrove_directory::{Durability, OpenOptions, Store};
use mangrove_graph::{GraphError, GraphView, GraphWrite, Value};
use mangrove_ingest::Quiet;
use mangrove_lake::{GraphArOptions, Lake, LakeError, LakeOptions, LakeView};
use mangrove_query::plan::Plan;
use mangrove_query::{Graph, Parameters, Query, QueryOptions};
use mangrove_testkit::Oracle;
use mangrove_testkit::far::{FAILURES, FailingView, SlowView};
use tempfile::TempDir;

use crate::nodes::Nodes;
use crate::services::SERVICES;
use crate::shards::Shards;
use crate::wire::Wire;

/// A query that runs longer counts as failed.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// The store to run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum StoreKind {
    /// The test kit's graph in memory.
    Oracle,
    /// The durable store, in a temporary directory.
    Hot,
    /// The durable store behind a server, which answers over a WebSocket.
    Wire,
    /// The same, but queries go as bytecode.
    Bytecode,
    /// GraphAr files, for the graphs that scenarios only read, if the format can hold them. Others are in memory.
    Lake,
    /// Three shards, each a durable store in a temporary directory.
    Shards,
    /// The nodes at `--address`. They lose what they have.
    Nodes,
}

pub enum Database {
    Oracle(Box<Oracle>),
    Hot {
        store: Store,
        /// Removed with the database.
        _directory: TempDir,
    },
    Wire(Box<Wire>),
    Shards(Box<Shards>),
    Nodes(Rc<Nodes>),
    Lake {
        graph: Box<Oracle>,
        files: LakeView,
        /// Removed with the database.
        _directory: TempDir,
    },
}

impl Database {
    /// An empty one. Of nodes, the last one that was created counts.
    pub fn create(kind: StoreKind, nodes: Option<&Rc<Nodes>>) -> Result<Self, String> {
        match kind {
            StoreKind::Oracle | StoreKind::Lake => Ok(Database::Oracle(Box::default())),
            StoreKind::Shards => Ok(Database::Shards(Box::new(Shards::create()?))),
            StoreKind::Nodes => {
                let nodes = nodes.ok_or("nodes need an address")?;
                nodes.clear()?;
                Ok(Database::Nodes(nodes.clone()))
            }
            StoreKind::Hot | StoreKind::Wire | StoreKind::Bytecode => {
                let directory = tempfile::tempdir().map_err(|e| format!("no temporary directory: {e}"))?;
                let options = OpenOptions { durability: Durability::Relaxed, ..OpenOptions::default() };
                let store = Store::open(directory.path(), &options).map_err(|e| e.to_string())?;
                Ok(Database::Hot { store, _directory: directory })
            }
        }
    }

    /// The graph in files, as scenarios read it from now on. If the format cannot hold it, it stays where it is.
    pub fn into_files(self) -> Result<Self, String> {
        let Database::Oracle(graph) = self else { return Ok(self) };
        let directory = tempfile::tempdir().map_err(|e| format!("no temporary directory: {e}"))?;
        let at = directory.path().join("graph");
        // Small chunks: even these small graphs then have several.
        let options = GraphArOptions { vertex_chunk: 4, edge_chunk: 3, is_lossy: false, ..GraphArOptions::default() };
        let report = match mangrove_lake::export(&*graph, &at, &options, &mut Quiet) {
            Err(LakeError::Lossy(_)) => return Ok(Database::Oracle(graph)),
            report => report.map_err(|e| e.to_string())?,
        };
        let lake =
            Lake::open(&at.join(report.graph_file).to_string_lossy(), &LakeOptions::default()).map_err(|e| e.to_string())?;
        Ok(Database::Lake { graph, files: LakeView::new(lake.into(), None), _directory: directory })
    }

    /// The same graph, behind a server from now on.
    pub fn into_served(self, as_bytecode: bool) -> Result<Self, String> {
        let Database::Hot { store, _directory } = self else { return Ok(self) };
        drop(store);
        Ok(Database::Wire(Box::new(Wire::serve(_directory, as_bytecode)?)))
    }

    /// Reads a consistent view.
    pub fn read<T>(&self, read: impl FnOnce(&dyn GraphView) -> Result<T, String>) -> Result<T, String> {
        match self {
            // As if it were far away: the engine then reads in large batches.
            Database::Oracle(graph) => read(&SlowView::new(&**graph, Duration::ZERO)),
            Database::Hot { store, .. } => read(&store.snapshot().map_err(|e| e.to_string())?),
            Database::Wire(wire) => wire.read(read),
            Database::Shards(shards) => shards.read(read),
            Database::Nodes(nodes) => nodes.read(read),
            Database::Lake { files, .. } => read(files),
        }
    }

    /// Changes the graph in one transaction. Without `keep`, or on an error, it discards the changes.
    pub fn write<T>(
        &mut self,
        keep: bool,
        write: impl FnOnce(&mut dyn GraphWrite) -> Result<T, String>,
    ) -> Result<T, String> {
        match self {
            Database::Oracle(graph) | Database::Lake { graph, .. } => {
                let mut changed = graph.clone();
                let result = write(&mut *changed)?;
                if keep {
                    *graph = changed;
                }
                Ok(result)
            }
            Database::Shards(shards) => shards.write(keep, write),
            Database::Nodes(nodes) => nodes.write(keep, write),
            Database::Wire(_) => Err("a graph behind a server is changed by queries only".into()),
            Database::Hot { store, .. } => {
                let mut transaction = store.begin().map_err(|e| e.to_string())?;
                let result = write(&mut transaction)?;
                if keep {
                    transaction.commit().map_err(|e| e.to_string())?;
                }
                Ok(result)
            }
        }
    }

    /// Commits what `fill` writes.
    pub fn fill(&mut self, fill: impl FnOnce(&mut dyn GraphWrite) -> Result<(), GraphError>) -> Result<(), String> {
        self.write(true, |graph| fill(graph).map_err(|e| e.to_string()))
    }

    /// All results of a query. With `keep` the changes are committed. An error is the engine's message.
    pub fn query(&mut self, text: &str, parameters: &Parameters, keep: bool) -> Result<Vec<Value>, String> {
        let query = Query::parse(text).map_err(|e| e.to_string())?;
        if let Database::Wire(wire) = self {
            return wire.query(text, parameters, keep || !query.writes());
        }
        if let Database::Nodes(nodes) = self {
            return nodes.query(text, parameters, keep || !query.writes());
        }
        if query.writes() {
            return self.write(keep, |graph| results(&query, Graph::Write(graph), parameters));
        }
        if let Database::Oracle(graph) = self {
            notices_failures(&query, graph, parameters)?;
        }
        self.read(|graph| results(&query, Graph::Read(graph), parameters))
    }
}

/// Fails if the query gives results although a call to the graph has failed: its first, its last, or one between.
fn notices_failures(query: &Query, graph: &Oracle, parameters: &Parameters) -> Result<(), String> {
    let slow = SlowView::new(graph, Duration::ZERO);
    if results(query, Graph::Read(&slow), parameters).is_err() {
        return Ok(());
    }
    let calls = slow.take_calls();
    for (at, failure) in [0, calls / 2, calls.saturating_sub(1)].into_iter().zip(FAILURES) {
        let failing = FailingView::new(graph, at, failure);
        let outcome = results(query, Graph::Read(&failing), parameters);
        if failing.has_failed() && outcome.is_ok() {
            return Err(format!("call {at} of {calls} failed, and the query gave results"));
        }
    }
    Ok(())
}

fn results(query: &Query, mut graph: Graph<'_>, parameters: &Parameters) -> Result<Vec<Value>, String> {
    let options = QueryOptions { timeout: Some(TIMEOUT), procedures: SERVICES.clone(), ..QueryOptions::default() };
    // The plan goes through its bytes, as if another process ran it.
    let plan = query.plan(graph.view(), parameters, &options).map_err(|e| e.to_string())?;
    let plan = Plan::from_bytes(&plan.to_bytes().map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
    let mut execution = Query::execute_plan(plan, &mut graph, &options).map_err(|e| e.to_string())?;
    let mut results = Vec::new();
    while let Some(batch) = execution.next(&mut graph).map_err(|e| e.to_string())? {
        results.extend(batch);
    }
    Ok(results)
}
