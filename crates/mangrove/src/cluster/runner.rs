//! What a node runs for clients: steps of queries, parts of what several nodes do in rounds, and small queries that write.
//!
//! The node that has the turn to write runs these queries. From a client, each of their steps would be a message.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mangrove_cluster::backup::Objects;
use mangrove_cluster::gateway::{Gateway, Peer};
use mangrove_cluster::log::RequestId;
use mangrove_cluster::node::{Node, OwnTransactions, Ran, Runner};
use mangrove_graph::{Catalog, GraphError, ReadContext, Result, Schema, Uuid, Value};
use mangrove_query::{Graph, Outlook, Parameters, Procedures, Query, QueryOptions};
use serde::{Deserialize, Serialize};

use super::analysis::Shelf;
use super::fragments::{Fragments, Schemas};
use super::jobs::Jobs;
use crate::describe::Described;
use crate::memory::Memory;
use crate::prepared::Prepared;
use crate::stream::Rows;
use crate::written::Written;

/// A query that takes longer is run by its client: meanwhile nobody else can write.
const LONGEST: Duration = Duration::from_secs(1);
/// So is one that needs more memory.
const BYTES_MAX: usize = 64 << 20;

/// A query of a client.
#[derive(Serialize, Deserialize)]
struct Asked {
    text: String,
    parameters: Vec<(String, Value)>,
    rules_off: Vec<String>,
    bytes_max: u64,
    /// The name of the schema that the client got last.
    known: Option<u128>,
}

/// A schema as a node names it. Two schemas that differ have different names, so a client that has one of that name does not get it again.
#[derive(Clone)]
pub struct NamedSchema {
    pub name: u128,
    pub schema: Arc<Schema>,
}

/// What a query gave.
#[derive(Serialize, Deserialize)]
pub struct Given {
    pub values: Vec<Value>,
    /// The same, with their elements read whole.
    pub whole: Vec<Described>,
    pub warnings: Vec<String>,
    /// What the plan says about the results, as bytes.
    outlook: Vec<u8>,
    /// The name of the schema that the graph has after the query.
    name: u128,
    /// That schema, unless the client has it.
    schema: Option<Arc<Schema>>,
}

/// A query as bytes, of a client that has the schema of this name; `None` if it is to be run where it was asked for.
pub fn asked(query: &Query, parameters: &Parameters, options: &QueryOptions, known: Option<u128>) -> Option<Vec<u8>> {
    if !query.is_brief() || query.text().is_empty() || options.is_profiled() {
        return None;
    }
    let asked = Asked {
        text: query.text().to_string(),
        parameters: parameters.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        rules_off: options.rules_off.clone(),
        bytes_max: options.memory_bytes_max as u64,
        known,
    };
    postcard::to_allocvec(&asked).ok() // values that nest too deep stay here
}

impl Given {
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        mangrove_graph::wire::reading(|| postcard::from_bytes(bytes)).map_err(|_| unread())
    }

    /// What the plan says about the results.
    pub fn outlook(&self, procedures: &Arc<Procedures>) -> Result<Outlook> {
        Outlook::from_bytes(&self.outlook, procedures.clone()).map_err(|_| unread())
    }

    /// The schema that the graph has after the query, of which the plan speaks. `known` is the one that the client had when it asked.
    pub fn schema(&mut self, known: Option<NamedSchema>) -> Result<NamedSchema> {
        let told = self.schema.take().map(|schema| NamedSchema { name: self.name, schema });
        told.or(known.filter(|known| known.name == self.name)).ok_or_else(unread)
    }
}

fn unread() -> GraphError {
    let message = "the changes of this query were stored, but what it gave cannot be read".into();
    GraphError::Storage { message, source: None }
}

/// Runs queries, steps of queries, and parts of jobs, at a node.
pub struct NodeRunner {
    transactions: OwnTransactions,
    prepared: Prepared,
    /// The last schema that was named.
    named: Mutex<NamedSchema>,
    jobs: Jobs,
    fragments: Fragments,
}

impl NodeRunner {
    /// `own` is the way to the node itself that its gateway knows. Analyses keep checkpoints in `objects`.
    pub fn new(
        name: String,
        node: Arc<Node>,
        gateway: Arc<Gateway>,
        own: Arc<dyn Peer>,
        objects: Option<Arc<dyn Objects>>,
    ) -> Self {
        let schemas = Arc::new(Schemas::default());
        let fragments = Fragments::new(own.clone(), gateway.placement(), schemas.clone());
        let shelf = Shelf { objects, graph: node.graph().name.clone() };
        let jobs = Jobs::new(name, gateway.clone(), own, shelf, schemas);
        let named = Mutex::new(NamedSchema { name: drawn(), schema: Arc::default() });
        Self { transactions: OwnTransactions::new(node, gateway), prepared: Prepared::default(), named, jobs, fragments }
    }

    /// The schema with its name: that of the last one, if it is the same.
    fn named(&self, schema: &Arc<Schema>) -> NamedSchema {
        let mut last = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&last.schema, schema) {
            let name = if last.schema == *schema { last.name } else { drawn() };
            *last = NamedSchema { name, schema: schema.clone() };
        }
        last.clone()
    }

    /// The rows of a query in a transaction; `None` if its client must run it, for example because it fails: the client knows how to say so.
    fn rows(&self, query: &Query, asked: Asked, graph: &mut Graph<'_>, limits: &ReadContext) -> Option<Rows> {
        let options = QueryOptions {
            timeout: Some(limits.deadline.map_or(LONGEST, |deadline| deadline.saturating_duration_since(Instant::now()))),
            cancel: limits.cancel.clone(),
            memory_bytes_max: BYTES_MAX.min(usize::try_from(asked.bytes_max).unwrap_or(BYTES_MAX)),
            rules_off: asked.rules_off,
            trace: limits.trace,
            ..QueryOptions::default()
        };
        let execution = query.execute(graph, &asked.parameters.into_iter().collect(), &options).ok()?;
        Rows::collect(execution, graph, Memory::new(&options)).ok()
    }
}

impl Runner for NodeRunner {
    fn run(&self, query: &[u8], request: RequestId, who: &str, limits: ReadContext) -> Option<Ran> {
        let asked = mangrove_graph::wire::reading(|| postcard::from_bytes::<Asked>(query)).ok()?;
        let query = self.prepared.read(&Written::Text(asked.text.as_str().into())).ok()?;
        if !query.is_brief() {
            return None;
        }
        let mut transaction = self.transactions.begin(who, limits.clone()).ok()?;
        let (latest, known) = (Instant::now() + LONGEST, asked.known);
        let limits = ReadContext { deadline: Some(limits.deadline.map_or(latest, |own| own.min(latest))), ..limits };
        transaction.limit(limits.clone());
        let rows = self.rows(&query, asked, &mut Graph::Write(transaction.graph()), &limits)?;
        let schema = self.named(transaction.graph().schema());
        let given = given(rows, schema, known).filter(|_| transaction.is_small())?;
        let outcome = transaction.submit(request).ok()?;
        Some(Ran { given, outcome })
    }

    fn rounds(&self, asked: &[u8], session: u64, limits: ReadContext) -> Option<Result<Vec<u8>>> {
        Some(self.jobs.answer(asked, session, limits))
    }

    fn fragment(&self, number: u64, asked: &[u8], limits: &ReadContext) -> Option<Result<Vec<u8>>> {
        Some(self.fragments.answer(number, asked, limits))
    }

    fn fragment_alone(&self, number: u64, asked: &[u8], limits: &ReadContext) -> Option<Vec<u8>> {
        self.fragments.answer_alone(number, asked, limits).ok().flatten()
    }

    fn parts_running(&self) -> usize {
        self.jobs.running()
    }

    fn has_gone(&self, session: u64) {
        self.jobs.has_gone(session);
    }
}

fn given(rows: Rows, NamedSchema { name, schema }: NamedSchema, known: Option<u128>) -> Option<Vec<u8>> {
    let Rows { values, whole, warnings, outlook } = rows;
    let whole = whole?.iter().map(std::borrow::Cow::into_owned).collect();
    let schema = (known != Some(name)).then_some(schema);
    postcard::to_allocvec(&Given { values, whole, warnings, outlook: outlook.to_bytes().ok()?, name, schema }).ok()
}

/// A name that nothing else has.
pub fn drawn() -> u128 {
    Uuid::new_v4().as_u128()
}
