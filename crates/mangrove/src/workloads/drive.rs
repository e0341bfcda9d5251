//! Runs the operations of a workload, by several clients at once, and times them.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::mix::Population;
use super::operation::{Name, Operation};
use super::workload::Workload;
use crate::error::StoreError;
use crate::{CancelToken, Database, GraphError};

/// How to run a workload.
#[derive(Clone, Debug)]
pub struct Running {
    pub workload: Workload,
    /// Operations of all clients together.
    pub operations: usize,
    pub clients: usize,
    pub seed: u64,
    /// Whether GS2 and GS3 join two lookups.
    pub joined: bool,
    /// The bytes that new edges carry.
    pub payload_bytes: usize,
    pub cancel: CancelToken,
}

/// The times of the operations of one name, in microseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct OperationTimes {
    pub name: &'static str,
    pub is_write: bool,
    pub count: u64,
    /// What the operations found or changed, all together.
    pub answers: u64,
    pub mean_us: f64,
    pub median_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
}

/// What a run took.
#[derive(Clone, PartialEq, Debug)]
pub struct Driven {
    pub operations: u64,
    pub wall: Duration,
    /// The CPU time of the whole process meanwhile.
    pub cpu: Duration,
    /// In the order of the shares.
    pub times: Vec<OperationTimes>,
}

/// Runs a workload on a graph that [`make`](super::make) made.
///
/// # Errors
/// If an operation fails, or the run is cancelled.
pub fn run(database: &Database, running: &Running) -> Result<Driven, StoreError> {
    let shares = running.workload.shares(running.joined);
    let view = database.snapshot()?;
    let population = Population::read(&*view, running.workload, running.payload_bytes)?;
    let mut streams = Vec::with_capacity(running.clients);
    let clients = running.clients.clamp(1, running.operations.max(1));
    for client in 0..clients {
        let count = running.operations / clients;
        streams.push(population.stream(&shares, count, running.seed, client)?);
    }
    drop(population);
    drop(view);
    let mut warm = streams.iter().flatten().filter(|operation| !operation.name.is_write());
    warm.by_ref().take(200).try_for_each(|operation| operation.run(database).map(drop))?;
    let (begin, mut failed) = (Barrier::new(streams.len() + 1), None);
    let mut times: BTreeMap<usize, (u64, Vec<u64>)> = BTreeMap::new();
    let (mut wall, mut cpu) = (Duration::ZERO, Duration::ZERO);
    thread::scope(|scope| {
        let clients: Vec<_> = streams
            .iter()
            .map(|stream| scope.spawn(|| client(database, stream, &shares, &begin, &running.cancel)))
            .collect();
        begin.wait();
        let (started, before) = (Instant::now(), cpu_time());
        for client in clients {
            match client.join() {
                Ok(Ok(found)) => found.into_iter().for_each(|(at, (answers, mut took))| {
                    let all = times.entry(at).or_default();
                    all.0 += answers;
                    all.1.append(&mut took);
                }),
                Ok(Err(error)) => failed = Some(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (wall, cpu) = (started.elapsed(), cpu_time().saturating_sub(before));
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let times: Vec<OperationTimes> =
        times.into_iter().map(|(at, (answers, took))| summary(shares[at].0, answers, took)).collect();
    Ok(Driven { operations: times.iter().map(|of| of.count).sum(), wall, cpu, times })
}

/// For each place in the shares, the answers and the nanoseconds of each operation.
type Times = BTreeMap<usize, (u64, Vec<u64>)>;

fn client(
    database: &Database,
    stream: &[Operation],
    shares: &[(Name, f64)],
    begin: &Barrier,
    cancel: &CancelToken,
) -> Result<Times, StoreError> {
    let mut times = Times::new();
    begin.wait();
    for operation in stream {
        if cancel.is_cancelled() {
            return Err(GraphError::Cancelled.into());
        }
        let at = shares.iter().position(|(name, _)| *name == operation.name).unwrap_or_default();
        let started = Instant::now();
        let answers = operation.run(database)?;
        let took = started.elapsed().as_nanos();
        let of = times.entry(at).or_default();
        of.0 += answers;
        of.1.push(took as u64);
    }
    Ok(times)
}

fn summary(name: Name, answers: u64, mut took: Vec<u64>) -> OperationTimes {
    took.sort_unstable();
    let micros = |nanos: f64| nanos / 1000.0;
    let at = |share: f64| {
        let place = ((took.len() as f64 * share) as usize).min(took.len().saturating_sub(1));
        micros(took.get(place).copied().unwrap_or(0) as f64)
    };
    let sum: f64 = took.iter().map(|nanos| *nanos as f64).sum();
    OperationTimes {
        name: name.text(),
        is_write: name.is_write(),
        count: took.len() as u64,
        answers,
        mean_us: micros(sum / took.len().max(1) as f64),
        median_us: at(0.5),
        p95_us: at(0.95),
        p99_us: at(0.99),
    }
}

/// The CPU time that this process has taken so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
