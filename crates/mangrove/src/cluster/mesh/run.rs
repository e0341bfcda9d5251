//! The client's side of a query whose traversers go from node to node.

use std::sync::Arc;

use mangrove_analytics::Result;
use mangrove_cluster::gateway::HeldCut;
use mangrove_cluster::wire::Opaque;
use mangrove_graph::{EdgeRef, ReadContext, VertexId};
use mangrove_query::{MeshFleet, MeshRan, Owners};

use crate::cluster::rounds::crew::{Crew, Member, NodeNames, Shared};
use crate::cluster::rounds::words::{Asked, PartPlan, StagesPlan, Told, Work};
use crate::cluster::runner::NamedSchema;

/// The nodes of a cut, each with the shards that are its part.
pub struct CutMesh {
    cut: Arc<HeldCut>,
    shared: Shared,
    schema: NamedSchema,
    names: Arc<NodeNames>,
}

impl CutMesh {
    /// `None` if some shard is at no node.
    pub fn new(cut: &Arc<HeldCut>, schema: &NamedSchema, names: &Arc<NodeNames>) -> Option<Self> {
        let shared = Shared::of(cut).ok()?;
        Some(Self { cut: cut.clone(), shared, schema: schema.clone(), names: names.clone() })
    }

    fn part_of(&self, shard: u16) -> usize {
        self.shared.owners.get(usize::from(shard)).map_or(usize::MAX, |part| *part as usize)
    }

    /// Lets all nodes run their parts; `None` if some do no such work.
    fn ran(&self, parts: &[Vec<u8>], limits: &ReadContext) -> Result<Option<MeshRan>> {
        let Some(names) = self.names.of(&self.shared.peers, limits, true)? else { return Ok(None) };
        let mut crew = Crew::new(&names, &self.shared.peers, limits, "query").gives_up();
        let begun = crew.each(|at, member, limits| self.begun(&crew, &names, (at, member), &parts[at], limits))?;
        let told = crew.rounds(begun, &mut |_, _| Ok(None))?;
        let gave = told.into_iter().map(|told| match told {
            Told::Gave(gave) => Some(gave),
            _ => None,
        });
        let gave = gave.collect::<Option<Vec<_>>>().ok_or_else(|| crew.out_of_step())?;
        crew.has_ended();
        let (mut messages, mut bytes) = crew.sent();
        for part in &gave {
            messages += part.messages_sent;
            bytes += part.bytes_sent;
        }
        Ok(Some(MeshRan { answers: gave.into_iter().map(|part| part.answer.0).collect(), messages, bytes }))
    }

    /// Begins a part. The node learns the schema if it does not know the name.
    fn begun(
        &self,
        crew: &Crew<'_>,
        names: &[String],
        (at, member): (usize, &Member),
        message: &[u8],
        limits: &ReadContext,
    ) -> Result<Told> {
        let mut told = Told::Schema;
        for schema in [None, Some(self.schema.schema.clone())] {
            let stages = StagesPlan { name: self.schema.name, schema, message: Opaque(message.to_vec()) };
            let plan = PartPlan {
                job: crew.job,
                number: self.cut.number,
                at: at as u32,
                names: names.to_vec(),
                owners: self.shared.owners.clone(),
                work: Work::Stages(stages),
            };
            told = crew.ask(member, limits, &Asked::Begin(Box::new(plan)))?;
            if !matches!(told, Told::Schema) {
                break;
            }
        }
        Ok(told)
    }
}

impl Owners for CutMesh {
    fn parts(&self) -> usize {
        self.shared.peers.len()
    }

    fn part_of_vertex(&self, vertex: VertexId) -> usize {
        self.part_of(vertex.shard())
    }

    fn part_of_edge(&self, edge: &EdgeRef) -> usize {
        self.part_of(edge.id.shard())
    }
}

impl MeshFleet for CutMesh {
    fn run_all(&self, messages: Vec<Vec<u8>>, limits: &ReadContext) -> Option<MeshRan> {
        let has_all = messages.len() == self.shared.peers.len();
        let ran = if has_all { self.ran(&messages, limits) } else { Ok(None) };
        ran.unwrap_or_else(|why| {
            tracing::debug!(%why, "traversers do not go from node to node");
            self.names.forget(); // another node may be there
            None
        })
    }
}
