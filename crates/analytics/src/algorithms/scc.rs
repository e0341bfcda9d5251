//! Strongly connected components (Tarjan: Depth-first search and linear graph algorithms, SIAM J. Comput. 1, 1972).
//!
//! Two vertices are in one component if each can be reached from the other. The search keeps its path in memory of its own, so depth
//! does not matter. O(V + E).

use mangrove_graph::Value;

use crate::algorithm::{Algorithm, Outcome, Values};
use crate::error::Result;
use crate::project::{Adjacent, NONE, Needs, Projection};
use crate::run::Run;

/// How many vertices are left between looks at whether to stop.
const BETWEEN_LOOKS: u64 = 1 << 16;

/// The value of a vertex is the first vertex of its component.
pub struct Scc;

impl Algorithm for Scc {
    fn needs(&self) -> Needs {
        Needs { outgoing: true, ..Needs::default() }
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        run.begin("vertices", graph.vertices() as u64);
        let mut search = Search::new(graph.outgoing());
        for vertex in 0..graph.vertices() as u32 {
            search.from(vertex, run)?;
        }
        let summary = vec![("components", Value::from(search.components))];
        Ok(Outcome { values: Values::Vertices(search.component), summary })
    }
}

struct Search<'g> {
    outgoing: &'g Adjacent,
    /// When each vertex was entered, counted from 1; 0 for those that were not.
    entered: Vec<u32>,
    /// The earliest entered vertex of its component that is known so far.
    low: Vec<u32>,
    /// The vertices whose components are not complete, in the order in which they were entered.
    open: Vec<u32>,
    /// The vertices on the way from the first one, each with the number of its edges that were followed.
    path: Vec<(u32, u32)>,
    /// The first vertex of each complete component.
    component: Vec<u32>,
    components: i64,
    now: u32,
    left: u64,
    /// Edges followed, and vertices left.
    steps: u64,
}

impl<'g> Search<'g> {
    fn new(outgoing: &'g Adjacent) -> Self {
        let vertices = outgoing.vertices();
        Self {
            outgoing,
            entered: vec![0; vertices],
            low: vec![0; vertices],
            open: Vec::new(),
            path: Vec::new(),
            component: vec![NONE; vertices],
            components: 0,
            now: 0,
            left: 0,
            steps: 0,
        }
    }

    fn from(&mut self, first: u32, run: &Run) -> Result<()> {
        if self.entered[first as usize] == 0 {
            self.enter(first);
        }
        while let Some((vertex, followed)) = self.path.last_mut() {
            self.steps += 1;
            if self.steps.is_multiple_of(BETWEEN_LOOKS) {
                run.advance(0)?;
            }
            let vertex = *vertex;
            let Some(other) = self.outgoing.of(vertex as usize).get(*followed as usize).copied() else {
                self.leave(vertex, run)?;
                continue;
            };
            *followed += 1;
            if self.entered[other as usize] == 0 {
                self.enter(other);
            } else if self.component[other as usize] == NONE {
                self.low[vertex as usize] = self.low[vertex as usize].min(self.entered[other as usize]);
            }
        }
        Ok(())
    }

    fn enter(&mut self, vertex: u32) {
        self.now += 1;
        self.entered[vertex as usize] = self.now;
        self.low[vertex as usize] = self.now;
        self.open.push(vertex);
        self.path.push((vertex, 0));
    }

    fn leave(&mut self, vertex: u32, run: &Run) -> Result<()> {
        self.path.pop();
        let low = self.low[vertex as usize];
        if let Some((before, _)) = self.path.last() {
            self.low[*before as usize] = self.low[*before as usize].min(low);
        }
        if low == self.entered[vertex as usize] {
            self.complete(vertex);
        }
        self.left += 1;
        if self.left.is_multiple_of(BETWEEN_LOOKS) { run.advance(BETWEEN_LOOKS) } else { Ok(()) }
    }

    /// All open vertices from this one on are its component.
    fn complete(&mut self, vertex: u32) {
        let first = self.open.iter().rposition(|open| *open == vertex).unwrap_or(0);
        let named = self.open[first..].iter().copied().min().unwrap_or(vertex);
        self.open.drain(first..).for_each(|member| self.component[member as usize] = named);
        self.components += 1;
    }
}
