//! Runs the stages of a query over a part of the graph.

use std::cell::RefCell;
use std::sync::Arc;

use mangrove_analytics::AnalyticsError;
use mangrove_analytics::engine::{Frame, Report, Transport};
use mangrove_cluster::gateway::{CutGraph, CutStore, HeldCut, Limits, Peer};
use mangrove_cluster::{Placement, ShardView};

use mangrove_cluster::wire::Opaque;
use mangrove_graph::{EdgeRef, GraphError, GraphView, Schema, VertexId};
use mangrove_query::{MeshPart, Owners, run_stages};

use crate::cluster::rounds::between::Between;
use crate::cluster::rounds::words::{Gave, OwnPart};

/// The shards of a part, and the way to the others.
struct Part<'a> {
    own: &'a OwnPart,
    shards: Vec<ShardView<CutStore>>,
    graph: CutGraph,
    between: &'a Between<'a>,
    /// Why an exchange has failed.
    failed: RefCell<Option<AnalyticsError>>,
}

/// Runs the stages of a message over the shards of a part, which the client keeps. `own` is the way to the node itself.
///
/// # Errors
/// If the client is to run the steps in another way.
pub fn compute(
    placement: Placement,
    own: &Arc<dyn Peer>,
    schema: &Arc<Schema>,
    between: &Between<'_>,
    part: &OwnPart,
    message: &[u8],
) -> Result<Gave, AnalyticsError> {
    let (cut, reader) = (HeldCut::of_node(part.number, own, placement, schema.clone()), Limits::default());
    reader.set(Some(between.limits.clone()));
    let mine = (0..placement.shards).zip(&part.owners).filter(|(_, owner)| **owner == part.at);
    let shards: Option<Vec<_>> = mine.map(|(shard, _)| cut.shard(shard, placement, &reader)).collect();
    let shards = shards.filter(|_| part.owners.len() == usize::from(placement.shards));
    let shards = shards.ok_or_else(|| GraphError::Unavailable("the node has another graph".into()))?;
    let part = Part { own: part, shards, graph: cut.graph(placement, &reader), between, failed: RefCell::default() };
    between.exchange(Vec::new(), Report::default())?; // now all parts take frames
    let refused = || GraphError::Unavailable("a node does not run these steps to their end".into()).into();
    match run_stages(message, &part, &between.limits) {
        Some(answer) => {
            let (messages_sent, bytes_sent) = (between.messages(), between.bytes());
            Ok(Gave { answer: Opaque(answer), messages_sent, bytes_sent })
        }
        None => Err(part.failed.take().unwrap_or_else(refused)),
    }
}

impl Owners for Part<'_> {
    fn parts(&self) -> usize {
        self.own.parts
    }

    fn part_of_vertex(&self, vertex: VertexId) -> usize {
        self.own.part_of(vertex.shard())
    }

    fn part_of_edge(&self, edge: &EdgeRef) -> usize {
        self.own.part_of(edge.id.shard())
    }
}

impl MeshPart for Part<'_> {
    fn at(&self) -> usize {
        self.own.at as usize
    }

    fn scanned(&self) -> Vec<&dyn GraphView> {
        self.shards.iter().map(|shard| shard as &dyn GraphView).collect()
    }

    fn view(&self) -> &dyn GraphView {
        &self.graph
    }

    fn exchange(&self, frames: Vec<(usize, Vec<u8>)>, moved: u64) -> Option<(Vec<Vec<u8>>, u64)> {
        let frame = |(to, bytes): (usize, Vec<u8>)| Frame { from: self.own.at, to: to as u32, bytes };
        let report = Report { changed: moved, ..Report::default() };
        match self.between.exchange(frames.into_iter().map(frame).collect(), report) {
            Ok((came, sum)) => Some((came.into_iter().map(|frame| frame.bytes).collect(), sum.changed)),
            Err(error) => {
                *self.failed.borrow_mut() = Some(error);
                None
            }
        }
    }
}
