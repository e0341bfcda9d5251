//! Runs a program step by step.

use std::ops::Range;

use rayon::prelude::*;

use super::checkpoint::{Checkpoints, Point, Resumed, Unkept};
use super::partition::{Partition, divide};
use super::placement::Placement;
use super::program::{Around, Reads, Step, VertexProgram};
use super::transport::{Frame, Report, Transport};
use super::value::{VertexValue, read_all, write_all};
use crate::error::{AnalyticsError, Result};
use crate::project::Adjacent;
use crate::run::Run;

/// Vertices whose values a thread turns at a time.
const PART: usize = 4096;

/// What a program came to.
pub struct Ran<V> {
    /// The value of each vertex, by its number.
    pub values: Vec<V>,
    pub steps: u64,
    /// What vertices contributed after the last step.
    pub totals: [f64; 2],
    pub sent: Sent,
}

/// What a program came to in the partitions of a process.
pub struct PartsRan<V> {
    /// For each partition, the values of its vertices in their order.
    pub values: Vec<Vec<V>>,
    pub steps: u64,
    /// What vertices contributed after the last step, in all processes.
    pub totals: [f64; 2],
    /// By these partitions.
    pub sent: Sent,
}

/// What crossed between partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    pub values: u64,
    /// With what frames say about which values they hold; without the lists that are exchanged once before the first step.
    pub bytes: u64,
    pub frames: u64,
}

/// Runs a program over edges, which lead from those that are read to those that read. `out_degrees` has one entry for each vertex.
pub fn run<P: VertexProgram>(
    program: &P,
    edges: &Adjacent,
    out_degrees: &[f64],
    placement: Placement,
    transport: &dyn Transport,
    run: &Run,
) -> Result<Ran<P::Value>> {
    let partitions = divide(edges, out_degrees, placement, transport, run)?;
    let ran = run_parts(program, &partitions, edges.vertices(), transport, &Unkept, run)?;
    let PartsRan { values, steps, totals, sent } = ran;
    let mut all: Vec<Option<P::Value>> = vec![None; edges.vertices()];
    for (partition, values) in partitions.iter().zip(values) {
        for (number, value) in partition.numbers.iter().zip(values) {
            all[*number as usize] = Some(value);
        }
    }
    Ok(Ran { values: all.into_iter().flatten().collect(), steps, totals, sent })
}

/// Runs a program over the partitions of this process. In all processes together there are `vertices`. It begins with what `checkpoints`
/// gives, and offers it what there is after each step.
pub fn run_parts<P: VertexProgram>(
    program: &P,
    partitions: &[Partition<'_>],
    vertices: usize,
    transport: &dyn Transport,
    checkpoints: &dyn Checkpoints,
    run: &Run,
) -> Result<PartsRan<P::Value>> {
    let mut running = Running { program, vertices, sent: Sent::default(), transport };
    let mut states: Vec<State<'_, P::Value>> = partitions.iter().map(|partition| running.begin(partition)).collect();
    run.begin("steps", 0);
    let step = |number, report: Report| Step { number, vertices, changed: report.changed, totals: report.totals };
    let (number, report) = running.first(&mut states, checkpoints)?;
    let mut next = step(number, report);
    while !program.is_done(next) {
        let report = Report { changed: next.changed, totals: next.totals };
        states.iter().try_for_each(|state| state.offer(next.number, report, checkpoints))?;
        states.par_iter_mut().for_each(|state| running.compute(next, state));
        next = step(next.number + 1, running.publish(&mut states, false)?);
        run.advance(1)?;
    }
    let values = states.into_iter().map(|state| state.next).collect();
    Ok(PartsRan { values, steps: next.number, totals: next.totals, sent: running.sent })
}

/// A partition at work.
struct State<'p, V> {
    partition: &'p Partition<'p>,
    /// The value in each slot, as all read it.
    values: Vec<V>,
    /// What its own vertices have become in this step.
    next: Vec<V>,
    /// Whether the value in each slot has changed in the step before.
    is_updated: Vec<bool>,
}

struct Running<'a, P> {
    program: &'a P,
    vertices: usize,
    sent: Sent,
    transport: &'a dyn Transport,
}

impl<P: VertexProgram> Running<'_, P> {
    fn begin<'p>(&self, partition: &'p Partition<'p>) -> State<'p, P::Value> {
        let own = 0..partition.numbers.len();
        let init = |place: usize| self.program.init(partition.vertex(place), self.vertices);
        let next: Vec<P::Value> = own.into_par_iter().map(init).collect();
        let mut values = next.clone();
        // The slots of others hold anything until the first frames come, which bring all values.
        let any = next.first().cloned();
        if let Some(any) = any {
            values.resize(partition.slots(), any);
        }
        State { partition, values, next, is_updated: vec![true; partition.slots()] }
    }

    /// Publishes all values: those with which the program begins, or those from which it goes on. Gives how many steps have run, and what all
    /// partitions report after the last of them.
    fn first(&mut self, states: &mut [State<'_, P::Value>], checkpoints: &dyn Checkpoints) -> Result<(u64, Report)> {
        let mut resumed = None;
        for state in &mut *states {
            let Some(Resumed { steps, report, values }) = checkpoints.begin(state.partition.at)? else { continue };
            let wrong = || AnalyticsError::invalid("the values of a checkpoint are not those of a partition");
            state.restore(&values).ok_or_else(wrong)?;
            resumed = Some((steps, report));
        }
        let report = self.publish(states, true)?;
        Ok(resumed.unwrap_or((0, report)))
    }

    /// Computes the new values of a partition.
    fn compute(&self, step: Step, state: &mut State<'_, P::Value>) {
        let State { partition, values, next, is_updated } = state;
        let (mut rest, mut pieces) = (&mut next[..], Vec::with_capacity(partition.chunks.len()));
        for chunk in &partition.chunks {
            let (piece, others) = rest.split_at_mut(chunk.len());
            pieces.push((chunk.clone(), piece));
            rest = others;
        }
        let looks_at_updated = self.program.reads() == Reads::Updated;
        pieces.into_par_iter().for_each(|(chunk, next)| {
            for (vertex, next) in chunk.zip(next) {
                let slots = partition.reads.of(vertex);
                if looks_at_updated && step.number > 0 && !slots.iter().any(|slot| is_updated[*slot as usize]) {
                    continue;
                }
                let around = Around { slots, weights: partition.reads.weights_of(vertex), values };
                *next = self.program.compute(step, partition.vertex(vertex), &values[vertex], around);
            }
        });
    }

    /// Makes the new values those that all read: in each partition, and in those that read them.
    fn publish(&mut self, states: &mut [State<'_, P::Value>], is_first: bool) -> Result<Report> {
        let publish = |state: &mut State<'_, P::Value>| {
            let report = self.turn(state, is_first);
            (report, state.frames())
        };
        let done: Vec<(Report, (Vec<Frame>, u64))> = states.par_iter_mut().map(publish).collect();
        let (mut report, mut frames) = (Report::default(), Vec::new());
        for (of_one, (mut own, values)) in done {
            report = report.and(of_one);
            self.sent.values += values;
            self.sent.frames += own.len() as u64;
            self.sent.bytes += own.iter().map(|frame| frame.bytes.len() as u64).sum::<u64>();
            frames.append(&mut own);
        }
        let (received, report) = self.transport.exchange(frames, report)?;
        for frame in received {
            let wrong = || AnalyticsError::invalid("a frame of values does not fit what was subscribed to");
            let state = states.iter_mut().find(|state| state.partition.at == frame.to).ok_or_else(wrong)?;
            state.receive(&frame).ok_or_else(wrong)?;
        }
        Ok(report)
    }

    /// Replaces the old values of a partition by the new ones, and notes which have changed: at first, all.
    fn turn(&self, state: &mut State<'_, P::Value>, is_first: bool) -> Report {
        let (partition, own) = (state.partition, state.partition.numbers.len());
        let (is_updated, of_others) = state.is_updated.split_at_mut(own);
        of_others.fill(false);
        let old = state.values[..own].par_chunks_mut(PART);
        let parts = old.zip(state.next.par_chunks(PART)).zip(is_updated.par_chunks_mut(PART)).enumerate();
        let reports: Vec<Report> = parts
            .map(|(part, ((old, new), is_updated))| {
                let mut report = Report::default();
                for (at, ((old, new), is_updated)) in old.iter_mut().zip(new).zip(is_updated).enumerate() {
                    *is_updated = is_first || old != new;
                    let totals = self.program.contribute(partition.vertex(part * PART + at), old, new);
                    report = report.and(Report { changed: (*is_updated).into(), totals });
                    if *is_updated {
                        old.clone_from(new);
                    }
                }
                report
            })
            .collect();
        reports.into_iter().fold(Report::default(), Report::and)
    }
}

/// What a frame holds.
const ALL: u8 = 0;
const SOME: u8 = 1;

impl<V: VertexValue> State<'_, V> {
    /// Offers what the partition has after a step.
    fn offer(&self, steps: u64, report: Report, checkpoints: &dyn Checkpoints) -> Result<()> {
        let bytes = |places: &[Range<usize>]| {
            let mut bytes = Vec::new();
            write_all(places.iter().flat_map(|places| &self.next[places.clone()]), &mut bytes);
            bytes
        };
        checkpoints.has_come(&Point { partition: self.partition.at, steps, report, bytes: &bytes })
    }

    /// Takes the values that the partition had. `None` if they do not fit.
    fn restore(&mut self, kept: &[(Vec<Range<usize>>, Vec<u8>)]) -> Option<()> {
        let mut restored = 0;
        for (places, bytes) in kept {
            let count = places.iter().map(Range::len).sum();
            let values: Vec<V> = read_all(bytes, count)?;
            for (place, value) in places.iter().cloned().flatten().zip(values) {
                *self.next.get_mut(place)? = value;
            }
            restored += count;
        }
        (restored == self.next.len()).then_some(())
    }

    /// The frames to other partitions, and how many values they carry.
    fn frames(&self) -> (Vec<Frame>, u64) {
        let (mut frames, mut sent) = (Vec::new(), 0);
        for (to, list) in self.partition.publishes.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            let updated = || list.iter().filter(|place| self.is_updated[**place as usize]);
            let count = updated().count();
            if count == 0 {
                continue;
            }
            let mut bytes = vec![if count == list.len() { ALL } else { SOME }];
            if count < list.len() {
                let mut marks = vec![0u8; list.len().div_ceil(8)];
                let marked = list.iter().enumerate().filter(|(_, place)| self.is_updated[**place as usize]);
                marked.for_each(|(at, _)| marks[at / 8] |= 1 << (at % 8));
                bytes.append(&mut marks);
            }
            write_all(updated().map(|place| &self.values[*place as usize]), &mut bytes);
            sent += count as u64;
            frames.push(Frame { from: self.partition.at, to: to as u32, bytes });
        }
        (frames, sent)
    }

    /// Takes the values of a frame. `None` if it does not fit.
    fn receive(&mut self, frame: &Frame) -> Option<()> {
        let slots = self.partition.remote.get(frame.from as usize)?.clone();
        let (kind, rest) = frame.bytes.split_first()?;
        let (at, rest): (Vec<usize>, &[u8]) = match *kind {
            ALL => (slots.collect(), rest),
            SOME => {
                let (marks, rest) = rest.split_at_checked(slots.len().div_ceil(8))?;
                let marked = slots.enumerate().filter(|(at, _)| marks[at / 8] >> (at % 8) & 1 == 1);
                (marked.map(|(_, slot)| slot).collect(), rest)
            }
            _ => return None,
        };
        let values: Vec<V> = read_all(rest, at.len())?;
        for (slot, value) in at.into_iter().zip(values) {
            self.values[slot] = value;
            self.is_updated[slot] = true;
        }
        Some(())
    }
}
