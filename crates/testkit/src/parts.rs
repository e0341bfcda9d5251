//! Parts of a graph in one process, among which the traversers of a query go.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use mangrove_graph::{EdgeRef, GraphView, ReadContext, VertexId};
use mangrove_query::{MeshPart, MeshRan, Owners, run_stages, stages_budget};

/// How many parts there are.
pub const PARTS: usize = 3;

/// The part of a vertex, and of the edges that leave it.
pub fn part_of(vertex: VertexId) -> usize {
    (vertex.local() % PARTS as u64) as usize
}

/// Runs the messages of a [`MeshFleet`](mangrove_query::MeshFleet), one for each part, on threads that exchange bytes. Each gets a view of the
/// whole graph. `None` if one of them does not come to its end.
pub fn run_parts<V: Send>(
    views: Vec<V>,
    as_view: fn(&V) -> &dyn GraphView,
    messages: Vec<Vec<u8>>,
    limits: &ReadContext,
) -> Option<MeshRan> {
    assert_eq!((views.len(), messages.len()), (PARTS, PARTS));
    let (between, limits) = (Between::default(), &limits.for_another_thread());
    let asked: usize = messages.iter().map(Vec::len).sum();
    let answers: Option<Vec<Vec<u8>>> = std::thread::scope(|scope| {
        let run = |(at, (view, message)): (usize, (V, Vec<u8>))| {
            let between = &between;
            scope.spawn(move || {
                let _leaving = Leaving(between);
                let part = Part { at, view: as_view(&view), between };
                run_stages(&message, &part, &ReadContext { budget: stages_budget(&message), ..limits.clone() })
            })
        };
        let running: Vec<_> = views.into_iter().zip(messages).enumerate().map(run).collect();
        // All have ended before one of them is missed.
        let ended: Vec<_> = running.into_iter().map(|thread| thread.join()).collect();
        ended.into_iter().map(|answer| answer.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let answers = answers?;
    let state = between.state();
    let bytes = asked + answers.iter().map(Vec::len).sum::<usize>();
    Some(MeshRan { answers, messages: PARTS as u64 + state.frames, bytes: bytes as u64 + state.bytes })
}

struct Part<'a> {
    at: usize,
    view: &'a dyn GraphView,
    between: &'a Between,
}

impl Owners for Part<'_> {
    fn parts(&self) -> usize {
        PARTS
    }

    fn part_of_vertex(&self, vertex: VertexId) -> usize {
        part_of(vertex)
    }

    fn part_of_edge(&self, edge: &EdgeRef) -> usize {
        part_of(edge.source)
    }
}

impl MeshPart for Part<'_> {
    fn at(&self) -> usize {
        self.at
    }

    fn scanned(&self) -> Vec<&dyn GraphView> {
        vec![self.view]
    }

    fn view(&self) -> &dyn GraphView {
        self.view
    }

    fn exchange(&self, frames: Vec<(usize, Vec<u8>)>, moved: u64) -> Option<(Vec<Vec<u8>>, u64)> {
        let mut state = self.between.state();
        let round = state.round;
        for (to, bytes) in frames {
            state.frames += 1;
            state.bytes += bytes.len() as u64;
            state.coming[to].push(bytes);
        }
        state.moved += moved;
        state.arrived += 1;
        if state.arrived == PARTS {
            state.came = std::mem::take(&mut state.coming);
            state.all_moved = std::mem::take(&mut state.moved);
            state.arrived = 0;
            state.round += 1;
            self.between.changed.notify_all();
        }
        while state.round == round {
            if state.has_left {
                return None;
            }
            state = self.between.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (at, moved) = (self.at, state.all_moved);
        Some((std::mem::take(&mut state.came[at]), moved))
    }
}

/// What goes from part to part.
#[derive(Default)]
struct Between {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    round: u64,
    /// How many parts have come to the end of the round, and what they have sent, by receiver.
    arrived: usize,
    coming: [Vec<Vec<u8>>; PARTS],
    moved: u64,
    /// Those of the round before.
    came: [Vec<Vec<u8>>; PARTS],
    all_moved: u64,
    /// A part has ended, so no further round does.
    has_left: bool,
    frames: u64,
    bytes: u64,
}

impl Between {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells others that a part has ended, however that came.
struct Leaving<'a>(&'a Between);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.state().has_left = true;
        self.0.changed.notify_all();
    }
}
