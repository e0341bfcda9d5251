//! Reads a part of the graph, and runs the program over it.

use std::sync::Arc;

use mangrove_analytics::divided::{Ended, run_part};
use mangrove_analytics::engine::{PartOf, Report, Transport};
use mangrove_analytics::project::{PartLists, Places};
use mangrove_analytics::{AnalyticsError, Reading, Values, watched};
use mangrove_cluster::gateway::{Gateway, Limits, Peer};
use mangrove_graph::{GraphError, GraphView, VertexId};

use super::checkpoints::{PartCheckpoints, Shelf};
use crate::analyze::{bytes_max, threads};
use crate::cluster::rounds::between::Between;
use crate::cluster::rounds::words::{Finished, NumberRun, OwnPart, ProgramPlan};

/// Computes a part of an analysis. `own` is the way to the node itself, and `shelf` has its checkpoints.
///
/// # Errors
/// If the node does not have what the client has read, and what fails meanwhile.
pub fn compute(
    gateway: &Gateway,
    own: &Arc<dyn Peer>,
    shelf: &Shelf,
    between: &Between<'_>,
    part: OwnPart,
    program: ProgramPlan,
) -> Result<(Values, Finished), AnalyticsError> {
    let OwnPart { number, at, parts, owners } = part;
    let ProgramPlan { vertices, runs, id_places, selection, divided, threads: wanted, memory_bytes, from } = program;
    let (threads, bytes_max, limits) = (threads(wanted as usize), bytes_max(memory_bytes), &between.limits);
    let (cut, reader) = (gateway.cut_at(number, own, limits)?, Limits::default());
    reader.set(Some(limits.clone()));
    let placement = gateway.placement();
    let own = (0..placement.shards).zip(&owners).filter(|(_, owner)| **owner == at).map(|(shard, _)| shard);
    let shards: Option<Vec<_>> = own.map(|shard| cut.shard(shard, placement, &reader)).collect();
    let shards = shards.filter(|_| owners.len() == usize::from(placement.shards)).ok_or_else(another_graph)?;
    let places = Places::read(shards.iter().map(|shard| shard as &dyn GraphView), &selection)?;
    let numbers = numbers(&places, &runs)?;
    let (id_places, rest) = id_places.0.as_chunks::<4>();
    let id_places: Vec<u32> = id_places.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    if !rest.is_empty() || divided.reads_ids() && id_places.len() != numbers.len() {
        return Err(another_graph().into());
    }
    let graph = cut.graph(placement, &reader);
    let is_here = |vertex: VertexId| owners.get(usize::from(vertex.shard())) == Some(&at);
    let reading = Reading { threads, bytes_max, limits, show: &mut |_| () };
    let listed = divided.listed(selection.is_directed, parts);
    let lists = PartLists::read(&graph, places, &selection, listed, (&is_here, vertices), reading)?;
    drop((graph, shards, cut)); // nothing else is read
    between.exchange(Vec::new(), Report::default())?; // now all parts take frames
    let out_degrees = divided.out_degrees(selection.is_directed);
    let part = PartOf { at, parts, owners: &owners, numbers, out_degrees };
    let checkpoints = PartCheckpoints::new(shelf, between, from, &runs);
    let (values, Ended { steps, totals, sent }) = watched(threads, limits, &mut |_| (), |run| {
        run_part(&divided, lists, part, (vertices as usize, &id_places), (between, &checkpoints), run)
    })?;
    let (values_sent, frames_sent, bytes_sent) = (sent.values, sent.frames, between.bytes());
    Ok((values, Finished { steps, totals, values_sent, frames_sent, bytes_sent }))
}

/// The numbers of the vertices of a part, in their order.
fn numbers(places: &Places, runs: &[NumberRun]) -> Result<Vec<u32>, GraphError> {
    let found = places.runs().iter().map(|run| (run.label.0, run.shard, run.places.len()));
    let told = runs.iter().map(|run| (run.label, run.shard, run.count as usize));
    match found.eq(told) {
        true => Ok(runs.iter().flat_map(|run| run.numbers()).collect()),
        false => Err(another_graph()),
    }
}

fn another_graph() -> GraphError {
    GraphError::Unavailable("the shards here do not have the vertices that the client has read at this number".into())
}
