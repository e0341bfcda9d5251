//! Steps of queries that run at the nodes of a graph.
//!
//! ```text
//!   client                                              node
//!     │ the name of the schema, the steps, elements ────▶ runs the steps over its own shards, at the client's point of the log
//!     │◀─────────────────────────────── what they gave ──┤
//!     │◀──────────────────────────── or: which schema? ──┤ and the client says it all again, with the schema
//! ```
//! If a query begins with ids, the client sends these, each to the node that has the home of the vertex. If it begins with a lookup by a value,
//! the client names the shards that may have it, each to a node that has the shard.
//!
//! A node reads the shards that it has, and nothing else: it asks no other node, so nodes cannot wait for each other in a circle. The
//! client keeps the point of the log meanwhile. If steps read anything more, the client runs them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use mangrove_cluster::Placement;
use mangrove_cluster::gateway::{CutNodes, HeldCut, Limits, Peer};
use mangrove_cluster::wire::{Call, Opaque, Reply, from_bytes, to_bytes};
use mangrove_graph::{EdgeRef, ExternalId, GraphError, IdSpace, ReadContext, Result, Schema, Value, VertexId};
use mangrove_query::{Fleet, MeshFleet, Ran, run_fragment};
use serde::{Deserialize, Serialize};

use super::kept::KeptCuts;
use super::mesh::CutMesh;
use super::rounds::crew::NodeNames;
use super::runner::{NamedSchema, drawn};
use super::unexpected;

/// A node knows so many schemas of its clients.
const SCHEMAS_MAX: usize = 32;

/// What a client asks.
#[derive(Serialize, Deserialize)]
struct Steps {
    /// The name of the schema of the whole graph, as the client reads it. The ids of labels and keys are the same in all shards.
    name: u128,
    schema: Option<Arc<Schema>>,
    message: Opaque,
}

/// What a node tells.
#[derive(Serialize, Deserialize)]
enum StepsTold {
    Gave(Opaque),
    Refused,
    /// It does not know that schema.
    Schema,
}

/// What a client remembers of a graph and its nodes from query to query.
#[derive(Default)]
pub struct Remembered {
    /// The schema that it has read last, with its name.
    schema: Mutex<Option<NamedSchema>>,
    names: Arc<NodeNames>,
    /// What others read shard by shard.
    pub kept: KeptCuts,
}

impl Remembered {
    fn named(&self, schema: &Arc<Schema>) -> NamedSchema {
        let mut last = self.schema.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(last) if Arc::ptr_eq(&last.schema, schema) => last.clone(),
            _ => last.insert(NamedSchema { name: drawn(), schema: schema.clone() }).clone(),
        }
    }
}

/// The nodes of a cut, for one query.
pub struct CutFleet {
    nodes: CutNodes,
    placement: Placement,
    schema: NamedSchema,
    mesh: Option<CutMesh>,
}

impl CutFleet {
    pub fn new(cut: &Arc<HeldCut>, placement: Placement, remembered: &Remembered) -> Self {
        let schema = remembered.named(&cut.seen.schema);
        let mesh = CutMesh::new(cut, &schema, &remembered.names);
        Self { nodes: CutNodes::new(cut.clone()), placement, schema, mesh }
    }

    /// What a node makes of a message.
    fn ask(&self, peer: &dyn Peer, message: &Opaque, has_others: bool, limits: &ReadContext) -> Result<Ran> {
        for schema in [None, Some(self.schema.schema.clone())] {
            let asked = Opaque(to_bytes(&Steps { name: self.schema.name, schema, message: message.clone() })?);
            let left = limits.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let call = Call::Fragment { left, number: self.nodes.cut().number, asked };
            let reply = match has_others {
                true => peer.call_or_give_up(&call, Some(limits))?,
                false => peer.call(&call, Some(limits))?,
            };
            match reply {
                Reply::Fragment(told) => match from_bytes(&told.0)? {
                    StepsTold::Gave(answer) => return Ok(Ran::Gave(answer.0)),
                    StepsTold::Refused => return Ok(Ran::Refused),
                    StepsTold::Schema => {}
                },
                Reply::NotRun => return Ok(Ran::Unable),
                _ => return Err(unexpected("a node")),
            }
        }
        Ok(Ran::Unable)
    }
}

impl fmt::Debug for CutFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CutFleet").field("number", &self.nodes.cut().number).finish_non_exhaustive()
    }
}

impl Fleet for CutFleet {
    fn node_of_vertex(&self, vertex: VertexId) -> u16 {
        self.nodes.node_of(vertex.shard())
    }

    fn node_of_edge(&self, edge: &EdgeRef) -> u16 {
        self.nodes.node_of(edge.id.shard())
    }

    fn node_of_id(&self, id: &Value) -> Option<u16> {
        // Where ids belong to labels, their text says the label in several ways.
        let id = ExternalId::from_value(id).filter(|_| self.placement.id_space == IdSpace::Graph)?;
        let mut nodes = self.placement.homes(None, &id).map(|shard| self.nodes.node_of(shard));
        let first = nodes.next()?;
        nodes.all(|other| other == first).then_some(first)
    }

    fn node_of_shard(&self, shard: u16) -> Option<u16> {
        Some(self.nodes.node_of(shard))
    }

    fn run(&self, messages: Vec<(u16, Vec<u8>)>, limits: &ReadContext) -> Vec<Ran> {
        let messages = messages.into_iter().map(|(node, bytes)| (node, Opaque(bytes))).collect();
        let told = self.nodes.each(messages, |peer, message, has_others| self.ask(peer, message, has_others, limits));
        let ran = |told: Result<Ran>| match told {
            Ok(ran) => ran,
            // Reading step by step, the query asks wherever the shards still are.
            Err(GraphError::Unavailable(why)) => {
                tracing::debug!(%why, "no node runs the steps of a query");
                Ran::Unable
            }
            Err(_) => Ran::Refused,
        };
        told.into_iter().map(ran).collect()
    }

    fn mesh(&self) -> Option<&dyn MeshFleet> {
        self.mesh.as_ref().map(|mesh| mesh as &dyn MeshFleet)
    }
}

/// The schemas that clients have told a node, the latest last.
#[derive(Default)]
pub struct Schemas(Mutex<Vec<NamedSchema>>);

impl Schemas {
    /// The schema of a name, if it is told now or was told before.
    pub fn get(&self, name: u128, told: Option<Arc<Schema>>) -> Option<Arc<Schema>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.iter().find(|known| known.name == name) {
            return Some(same.schema.clone());
        }
        let schema = told?;
        if known.len() >= SCHEMAS_MAX {
            known.remove(0);
        }
        known.push(NamedSchema { name, schema: schema.clone() });
        Some(schema)
    }
}

/// Runs steps for clients, at a node.
pub struct Fragments {
    /// The way to the node itself.
    own: Arc<dyn Peer>,
    placement: Placement,
    schemas: Arc<Schemas>,
}

impl Fragments {
    pub fn new(own: Arc<dyn Peer>, placement: Placement, schemas: Arc<Schemas>) -> Self {
        Self { own, placement, schemas }
    }

    /// Answers a client that keeps this point of the log.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn answer(&self, number: u64, asked: &[u8], limits: &ReadContext) -> Result<Vec<u8>> {
        let run = |message: &[u8], cut: &Arc<HeldCut>, reader: &Limits| {
            run_fragment(message, &cut.graph(self.placement, reader), limits)
        };
        to_bytes(&self.told(number, asked, limits, run)?)
    }

    /// The same on this thread alone, which waits for no other; `None` if the steps do not come to their end.
    ///
    /// # Errors
    /// If the bytes cannot be read.
    pub fn answer_alone(&self, number: u64, asked: &[u8], limits: &ReadContext) -> Result<Option<Vec<u8>>> {
        let run = |message: &[u8], cut: &Arc<HeldCut>, reader: &Limits| {
            run_fragment(message, &cut.graph_in_turn(self.placement, reader), limits)
        };
        match self.told(number, asked, limits, run)? {
            StepsTold::Refused => Ok(None),
            told => to_bytes(&told).map(Some),
        }
    }

    /// What becomes of steps that `run` runs over the shards of this node.
    fn told(
        &self,
        number: u64,
        asked: &[u8],
        limits: &ReadContext,
        run: impl FnOnce(&[u8], &Arc<HeldCut>, &Limits) -> Option<Vec<u8>>,
    ) -> Result<StepsTold> {
        let Steps { name, schema, message } = from_bytes(asked)?;
        let Some(schema) = self.schemas.get(name, schema) else { return Ok(StepsTold::Schema) };
        let (cut, reader) = (HeldCut::of_node(number, &self.own, self.placement, schema), Limits::default());
        reader.set(Some(limits.clone()));
        let given = run(&message.0, &cut, &reader);
        Ok(given.map_or(StepsTold::Refused, |answer| StepsTold::Gave(Opaque(answer))))
    }
}
