//! The client's side of an analysis: it numbers the vertices, and brings their values.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mangrove_analytics::divided::{Collected, Ended};
use mangrove_analytics::engine::Sent;
use mangrove_analytics::{Result, Stage};
use mangrove_cluster::gateway::HeldCut;
use mangrove_cluster::wire::Opaque;
use mangrove_graph::{GraphError, Numbering, ReadContext};

use super::points::Points;
use crate::backend::{InParts, RanInParts, Restarts};
use crate::cluster::rounds::crew::{Crew, NodeNames, Shared};
use crate::cluster::rounds::words::{Asked, Checkpoint, Finished, Kept, NumberRun, PartPlan, ProgramPlan, Told, Work};

/// Vertices that are numbered, or whose values are brought, at a time.
const PAGE: u64 = 1 << 20;
/// How often the client shows how far the work is.
const BETWEEN_SHOWS: Duration = Duration::from_millis(50);

/// Runs a vertex program on the nodes that keep a cut; `None` if they run none. It goes on after the last checkpoint, if there is one.
///
/// # Errors
/// What a node says has failed. [`GraphError::Unavailable`] if one of them ends. [`GraphError::Corrupt`] if the checkpoint cannot be used.
pub fn attempt(
    cut: &HeldCut,
    work: &InParts<'_>,
    limits: &ReadContext,
    points: &mut Points,
    show: &mut dyn FnMut(Stage),
) -> Result<Option<RanInParts>> {
    let started = Instant::now();
    let shared = Shared::of(cut)?;
    let Some(names) = NodeNames::default().of(&shared.peers, limits, false)? else { return Ok(None) };
    let mut runs = vec![Vec::new(); shared.peers.len()];
    for run in numbered(work.numbering, limits)? {
        let owner = shared.owners.get(usize::from(run.shard)).ok_or_else(|| GraphError::corrupt("a vertex in no shard"))?;
        runs[*owner as usize].push(run);
    }
    let crew = Crew::new(&names, &shared.peers, limits, "analysis");
    show(Stage { name: "reading on the nodes", done: 0, of: 0 });
    let from = |at: usize| points.last().map(|last| of_part(last, &shared.owners, at));
    let plan = |at: usize| PartPlan {
        job: crew.job,
        number: cut.number,
        at: at as u32,
        names: names.clone(),
        owners: shared.owners.clone(),
        work: Work::Program(Box::new(program(work, &runs[at], from(at)))),
    };
    let told = crew.each(|at, member, limits| crew.ask(member, limits, &Asked::Begin(Box::new(plan(at)))))?;
    let reading = started.elapsed();
    let ended = steps(&crew, told, points, show)?;
    let all = Mutex::new(Collected::new(work.divided, work.numbering.count() as usize));
    crew.each(|at, _, limits| values(&crew, at, &runs[at], limits, &all))?;
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Some(RanInParts { all, ended, reading, restarts: Restarts::default() }))
}

/// What a part needs of a checkpoint.
fn of_part(checkpoint: &Checkpoint, owners: &[u32], at: usize) -> Checkpoint {
    let is_own = |shard: u16| owners.get(usize::from(shard)) == Some(&(at as u32));
    let shards = checkpoint.shards.iter().filter(|kept| is_own(kept.shard)).cloned().collect();
    Checkpoint { name: checkpoint.name.clone(), shards, ..*checkpoint }
}

/// The program of a part with these vertices.
fn program(work: &InParts<'_>, runs: &[NumberRun], from: Option<Checkpoint>) -> ProgramPlan {
    let places = runs.iter().flat_map(|run| run.numbers()).filter_map(|at| work.id_order.get(at as usize));
    ProgramPlan {
        vertices: work.numbering.count(),
        runs: runs.to_vec(),
        id_places: Opaque(places.flat_map(|place| place.to_le_bytes()).collect()),
        selection: work.selection.clone(),
        divided: work.divided.clone(),
        threads: work.threads as u64,
        memory_bytes: work.memory_bytes,
        from,
    }
}

/// Lets all parts take step after step, and shows how far they are. From time to time, they keep their values.
fn steps(crew: &Crew<'_>, told: Vec<Told>, points: &mut Points, show: &mut dyn FnMut(Stage)) -> Result<Ended> {
    let mut shown: Option<Instant> = None;
    let told = crew.rounds(told, &mut |round, kept| {
        if shown.is_none_or(|shown| shown.elapsed() >= BETWEEN_SHOWS) {
            show(Stage { name: "steps on the nodes", done: round, of: 0 });
            shown = Some(Instant::now());
        }
        if kept.iter().any(Option::is_some) {
            // All parts have kept their values after the same step.
            let kept: Option<Vec<Kept>> = kept.into_iter().collect();
            points.take(kept.ok_or_else(|| crew.out_of_step())?.into_iter());
            points.tidy(crew.members.iter().map(|member| &*member.peer));
        }
        Ok(points.due())
    })?;
    let finished = told.into_iter().map(|told| match told {
        Told::Done(finished) => Some(finished),
        _ => None,
    });
    finished.collect::<Option<Vec<_>>>().and_then(|parts| ended(&parts)).ok_or_else(|| crew.out_of_step())
}

/// The numbers of vertices by label and shard, in order.
fn numbered(numbering: &Numbering, limits: &ReadContext) -> Result<Vec<NumberRun>, GraphError> {
    let (mut runs, mut first): (Vec<NumberRun>, u64) = (Vec::new(), 0);
    while first < numbering.count() {
        limits.check()?;
        let end = numbering.count().min(first + PAGE);
        for (vertex, number) in numbering.slice(first..end).into_iter().zip(first as u32..) {
            let (label, shard) = (vertex.label().0, vertex.shard());
            match runs.last_mut() {
                Some(last) if (last.label, last.shard) == (label, shard) => last.count += 1,
                _ => runs.push(NumberRun { label, shard, first: number, count: 1 }),
            }
        }
        first = end;
    }
    Ok(runs)
}

/// Brings the values of a node.
fn values(crew: &Crew<'_>, at: usize, runs: &[NumberRun], limits: &ReadContext, all: &Mutex<Collected>) -> Result<()> {
    let numbers: Vec<u32> = runs.iter().flat_map(|run| run.numbers()).collect();
    for (page, numbers) in numbers.chunks(PAGE as usize).enumerate() {
        let asked = Asked::Values { job: crew.job, first: page as u64 * PAGE, count: numbers.len() as u64 };
        let Told::Values(bytes) = crew.ask(&crew.members[at], limits, &asked)? else { return Err(crew.out_of_step()) };
        all.lock().unwrap_or_else(PoisonError::into_inner).put_bytes(numbers, &bytes.0)?;
    }
    Ok(())
}

/// What all parts came to; `None` if they differ.
fn ended(parts: &[Finished]) -> Option<Ended> {
    let first = parts.first()?;
    let came_to = |part: &Finished| (part.steps, part.totals.map(f64::to_bits));
    if parts.iter().any(|part| came_to(part) != came_to(first)) {
        return None;
    }
    let sum = |of: fn(&Finished) -> u64| parts.iter().map(of).sum();
    let sent = Sent {
        values: sum(|part| part.values_sent),
        bytes: sum(|part| part.bytes_sent),
        frames: sum(|part| part.frames_sent),
    };
    Some(Ended { steps: first.steps, totals: first.totals, sent })
}
