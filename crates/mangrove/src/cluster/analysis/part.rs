//! Reads a part of the graph, and runs the program over it.

use std::sync::Arc;

use mangrove_analytics::divided::{Ended, run_part};
use mangrove_analytics::engine::{PartOf, Report, Transport};
use mangrove_analytics::project::{PartLists, Places};
use mangrove_analytics::{AnalyticsError, Reading, Values, watched};
use mangrove_cluster::gateway::{Gateway, Limits, Peer};
use mangrove_graph::{GraphError, GraphView, ReadContext, VertexId};

use super::between::{Between, PartWay};
use super::checkpoints::{PartCheckpoints, Shelf};
use super::job::Job;
use super::words::{Failure, Finished, NumberRun, PartPlan};
use crate::analyze::{bytes_max, threads};

/// The node that computes a part.
#[derive(Clone)]
pub struct Place {
    pub gateway: Arc<Gateway>,
    /// The way to the node itself.
    pub own: Arc<dyn Peer>,
    pub shelf: Shelf,
}

/// Computes a part until it ends, or fails.
pub fn compute(place: &Place, job: &Job, plan: PartPlan, limits: &ReadContext) {
    let ran = std::panic::AssertUnwindSafe(|| run(place, job, plan, limits));
    match std::panic::catch_unwind(ran) {
        Ok(Ok((values, finished))) => job.done(values, finished),
        Ok(Err(error)) => job.end(error.into()),
        Err(_) => job.end(Failure::Panicked("the node's output says where".into())),
    }
}

fn run(place: &Place, job: &Job, plan: PartPlan, limits: &ReadContext) -> Result<(Values, Finished), AnalyticsError> {
    let PartPlan { at, names, owners, vertices, runs, id_places, selection, divided, from, .. } = plan;
    let (threads, bytes_max) = (threads(plan.threads as usize), bytes_max(plan.memory_bytes));
    let (cut, reader) = (place.gateway.cut_at(plan.number, &place.own, limits)?, Limits::default());
    reader.set(Some(limits.clone()));
    let placement = place.gateway.placement();
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
    let listed = divided.listed(selection.is_directed, names.len());
    let lists = PartLists::read(&graph, places, &selection, listed, (&is_here, vertices), reading)?;
    drop((graph, shards, cut)); // nothing else is read
    let between = Between::new(job, ways(place, &names, at)?, limits.clone());
    between.exchange(Vec::new(), Report::default())?; // now all parts take frames
    let out_degrees = divided.out_degrees(selection.is_directed);
    let part = PartOf { at, parts: names.len(), owners: &owners, numbers, out_degrees };
    let checkpoints = PartCheckpoints::new(&place.shelf, &between, from, &runs, limits);
    let (values, Ended { steps, totals, sent }) = watched(threads, limits, &mut |_| (), |run| {
        run_part(&divided, lists, part, (vertices as usize, &id_places), (&between, &checkpoints), run)
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

/// The ways to the nodes of these names, which have the parts.
fn ways(place: &Place, names: &[String], at: u32) -> Result<Vec<PartWay>, GraphError> {
    if names.len() == 1 {
        return Ok(vec![None]);
    }
    let mut all = place.gateway.peers().all()?;
    let way = |(part, name): (usize, &String)| {
        if part == at as usize {
            return Ok(None);
        }
        let found = all.iter().position(|(known, _)| known == name);
        let found = found.ok_or_else(|| GraphError::Unavailable(format!("{name} is not there")))?;
        Ok(Some((name.clone(), all.swap_remove(found).1?)))
    };
    names.iter().enumerate().map(way).collect()
}
