//! `shortestPath()`: all shortest paths from each vertex to those where paths may end.
//!
//! Vertices are settled in the order of their distance, those of one distance together (Dijkstra, 1959). So with edges that count one
//! each, every step of the search reads the edges of a whole level. O(edges reached + paths·length).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mangrove_graph::{Adjacency, Direction, EdgeRef, Hop, Path, Value, VertexId, Wants};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::words::type_error;
use crate::execute::run::chain::{Child, Input, Op, reduced};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;

/// The most paths in one batch.
const PATHS_MAX: usize = 1024;

pub struct ShortestPathOp {
    /// Which vertices paths end at.
    pub target: Option<Child>,
    pub direction: Direction,
    /// The edges of a vertex that paths follow, instead of those of a direction.
    pub edges: Option<Child>,
    /// The length of an edge, instead of 1.
    pub distance: Option<Child>,
    pub max_distance: f64,
    pub includes_edges: bool,
    pub waiting: Waiting,
}

/// The rows of a batch whose paths are not given yet.
#[derive(Default)]
pub struct Waiting {
    batch: Batch,
    row: usize,
    found: Option<Found>,
}

/// What a search from one vertex found.
struct Found {
    reached: HashMap<VertexId, Reached>,
    /// Where paths end, the last one first.
    targets: Vec<VertexId>,
    /// The ways to the present target that are not given yet, each from the target back.
    ways: Vec<Vec<(VertexId, Option<EdgeRef>)>>,
    held: Held,
}

#[derive(Default)]
struct Reached {
    distance: f64,
    is_settled: bool,
    /// The vertices before it on shortest paths, and the edges from there.
    before: Vec<(VertexId, EdgeRef)>,
}

impl Op for ShortestPathOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            let mut moves = Moves::default();
            while moves.rows.len() < PATHS_MAX
                && let Some((row, path)) = self.next_path(cx)?
            {
                moves.push(row, path);
            }
            if !moves.rows.is_empty() {
                return Ok(Some(moves.finish(&self.waiting.batch, cx.mode())));
            }
            let Some(batch) = input.pull(cx)? else { return Ok(None) };
            self.waiting = Waiting { batch, row: 0, found: None };
        }
    }

    fn reset(&mut self, _scopes: usize) {
        self.waiting = Waiting::default();
    }
}

impl ShortestPathOp {
    /// The next path, and the row that it begins at.
    fn next_path(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<(usize, Value)>> {
        while self.waiting.row < self.waiting.batch.len() {
            cx.check()?;
            if self.waiting.found.is_none() {
                let Value::Vertex(source) = self.waiting.batch.value(self.waiting.row) else {
                    let value = self.waiting.batch.value(self.waiting.row);
                    return Err(type_error("shortestPath", "a vertex", &value));
                };
                self.waiting.found = Some(self.search(cx, source)?);
            }
            if let Some(found) = &mut self.waiting.found
                && let Some(path) = found.next_path(cx, self.includes_edges)?
            {
                return Ok(Some((self.waiting.row, path)));
            }
            (self.waiting.row, self.waiting.found) = (self.waiting.row + 1, None);
        }
        Ok(None)
    }

    fn search(&mut self, cx: &mut Context<'_, '_>, source: VertexId) -> Result<Found> {
        let (mut reached, mut held): (HashMap<VertexId, Reached>, Held) = Default::default();
        // Those that wait, by distance. The bits of numbers that are not negative sort as the numbers do.
        let mut waiting: BTreeMap<u64, Vec<VertexId>> = BTreeMap::new();
        reached.insert(source, Reached::default());
        waiting.insert(0f64.to_bits(), vec![source]);
        let mut order = Vec::new();
        while let Some((distance, mut front)) = waiting.pop_first() {
            cx.check()?;
            let distance = f64::from_bits(distance);
            // A vertex waits anew each time its distance shrinks. It is settled once.
            front.retain(|vertex| {
                let at = reached.entry(*vertex).or_default();
                at.distance == distance && !std::mem::replace(&mut at.is_settled, true)
            });
            order.extend(&front);
            for (row, edge, length) in self.edges_of(cx, &front)? {
                let from = front[row];
                let other = if edge.source == from { edge.target } else { edge.source };
                let new = distance + length;
                if new > self.max_distance {
                    continue;
                }
                held.add(cx, size_of::<Reached>() + size_of::<(VertexId, EdgeRef)>())?;
                let is_new = !reached.contains_key(&other);
                let at = reached.entry(other).or_default();
                if is_new || !at.is_settled && new < at.distance {
                    (at.distance, at.before) = (new, vec![(from, edge)]);
                    waiting.entry(new.to_bits()).or_default().push(other);
                } else if !at.is_settled && new == at.distance {
                    at.before.push((from, edge));
                }
            }
        }
        let targets = self.targets(cx, order)?;
        if !self.includes_edges {
            // Parallel edges are one way.
            for at in reached.values_mut() {
                at.before.sort_unstable();
                at.before.dedup_by_key(|(vertex, _)| *vertex);
            }
        }
        Ok(Found { reached, targets, ways: Vec::new(), held })
    }

    /// Where paths end, the last one first.
    fn targets(&mut self, cx: &mut Context<'_, '_>, order: Vec<VertexId>) -> Result<Vec<VertexId>> {
        let mut targets = match &mut self.target {
            None => order,
            Some(target) => {
                let batch = reduced(order.iter().map(|vertex| Value::Vertex(*vertex)).collect(), cx.mode(), None);
                let is_target = target.exists(cx, &batch)?;
                order.into_iter().zip(is_target).filter_map(|(vertex, is_target)| is_target.then_some(vertex)).collect()
            }
        };
        targets.reverse();
        Ok(targets)
    }

    /// The edges that lead on from some vertices, with the position of each vertex, and their lengths.
    fn edges_of(&mut self, cx: &mut Context<'_, '_>, front: &[VertexId]) -> Result<Vec<(usize, EdgeRef, f64)>> {
        let (rows, edges) = match &mut self.edges {
            None => {
                let wants = Wants { rows: true, neighbors: false, edges: true };
                let mut found = Adjacency::default();
                cx.view().neighbors(front, &Hop::along(self.direction, None, wants), &mut found)?;
                (found.rows.into_iter().map(|row| row as usize).collect(), found.edges)
            }
            Some(edges) => {
                let batch = reduced(front.iter().map(|vertex| Value::Vertex(*vertex)).collect(), cx.mode(), None);
                let found = edges.run_rows(cx, &batch)?;
                let (mut rows, mut all) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
                for at in 0..found.len() {
                    let Value::Edge(edge) = found.value(at) else {
                        return Err(type_error("shortestPath's edges", "an edge", &found.value(at)));
                    };
                    rows.push(found.scope(at));
                    all.push(edge);
                }
                (rows, all)
            }
        };
        let lengths = self.lengths(cx, &edges)?;
        Ok(rows.into_iter().zip(edges).zip(lengths).map(|((row, edge), length)| (row, edge, length)).collect())
    }

    fn lengths(&mut self, cx: &mut Context<'_, '_>, edges: &[EdgeRef]) -> Result<Vec<f64>> {
        let Some(distance) = self.distance.as_mut().filter(|_| !edges.is_empty()) else { return Ok(vec![1.0; edges.len()]) };
        let batch = reduced(edges.iter().map(|edge| Value::Edge(*edge)).collect(), cx.mode(), None);
        let length = |value: Option<Value>| match value.as_ref().and_then(Value::as_f64) {
            Some(length) if length >= 0.0 => Ok(length),
            _ => {
                let found = value.map_or_else(|| "nothing".to_owned(), |value| format!("`{value}`"));
                let message = format!("the distance of an edge must be a number of 0 or more, not {found}");
                Err(QueryError::value(message)
                    .help("leave out edges without a distance: with('~tinkerpop.shortestPath.edges', …)"))
            }
        };
        distance.first(cx, &batch)?.into_iter().map(length).collect()
    }
}

impl Found {
    fn next_path(&mut self, cx: &mut Context<'_, '_>, includes_edges: bool) -> Result<Option<Value>> {
        loop {
            let Some(mut way) = self.ways.pop() else {
                let Some(target) = self.targets.pop() else { return Ok(None) };
                self.ways.push(vec![(target, None)]);
                continue;
            };
            cx.check()?;
            let Some((vertex, _)) = way.last().copied() else { continue };
            let Some(at) = self.reached.get(&vertex).filter(|at| !at.before.is_empty()) else {
                way.reverse();
                return Ok(Some(path(way, includes_edges)));
            };
            // The edge of an entry leads from the vertex of the next one.
            for (before, edge) in at.before.iter().rev() {
                let mut longer = way.clone();
                self.held.add(cx, size_of_val(&longer[..]))?;
                if let Some(last) = longer.last_mut() {
                    last.1 = Some(*edge);
                }
                longer.push((*before, None));
                self.ways.push(longer);
            }
        }
    }
}

/// A path along a way, which begins at the source.
fn path(way: Vec<(VertexId, Option<EdgeRef>)>, includes_edges: bool) -> Value {
    let mut objects = Vec::with_capacity(way.len() * 2);
    for (vertex, edge) in way {
        objects.extend(edge.filter(|_| includes_edges).map(Value::Edge));
        objects.push(Value::Vertex(vertex));
    }
    let labels = vec![Vec::new(); objects.len()];
    Value::Path(Arc::new(Path { objects, labels }))
}
