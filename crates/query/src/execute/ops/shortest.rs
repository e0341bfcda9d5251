//! `shortestPath()`: all shortest paths from each vertex to those where paths may end.
//!
//! If the query names a few vertices where paths end, a search from both ends finds each. Otherwise one search from the source reaches all
//! ends, or all that there is. O(edges reached + paths·length).

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{Adjacency, EdgeRef, Path, Value, VertexId};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::{Batch, Moves};
use crate::execute::data::words::type_error;
use crate::execute::ops::ends::{Before, Corridor, Dijkstra, FRONT_MAX, Follow, HopEdges, Lead, Ways, may_be, ways};
use crate::execute::run::chain::{Child, Input, Op, reduced};
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;

/// The most paths in one batch.
const PATHS_MAX: usize = 1024;
/// To more ends than this, one search from the source costs less.
const ENDS_MAX: usize = 4;

pub struct ShortestPathOp {
    /// Which vertices paths end at.
    pub target: Option<Child>,
    /// Gives all these vertices.
    pub named: Option<Child>,
    pub followed: FollowedEdges,
    pub max_distance: f64,
    pub waiting: Waiting,
}

/// The edges that paths follow.
pub struct FollowedEdges {
    pub edges: EdgesOf,
    /// The length of an edge, instead of 1.
    pub distance: Option<Child>,
    /// Whether paths show edges.
    pub includes_edges: bool,
}

/// How the edges of a vertex are found.
pub enum EdgesOf {
    /// Those along a direction.
    Along(HopEdges),
    /// Those that a child gives. The other child gives the edges that lead to a vertex, if they can be told.
    Given { ahead: Child, back: Option<Child> },
}

/// The rows of a batch whose paths are not given yet.
#[derive(Default)]
pub struct Waiting {
    batch: Batch,
    /// All vertices where paths end, if the query names them.
    ends: Option<HashSet<VertexId>>,
    row: usize,
    /// How many searches from this row are done.
    searches: usize,
    found: Option<Found>,
}

/// What a search from one vertex found.
struct Found {
    before: HashMap<VertexId, Before>,
    /// Where paths end, the last one first.
    targets: Vec<VertexId>,
    /// The ways to the present target that are not given yet, each from the target back.
    ways: Vec<Before>,
    held: Held,
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
            self.waiting = Waiting { batch, ends: self.ends(cx)?, ..Waiting::default() };
        }
    }

    fn reset(&mut self, _scopes: usize) {
        self.waiting = Waiting::default();
    }
}

impl ShortestPathOp {
    /// All vertices where paths end, if the query names them.
    fn ends(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<HashSet<VertexId>>> {
        let Some(named) = &mut self.named else { return Ok(None) };
        let found = named.run(cx, reduced(vec![Value::Null], cx.mode(), None), 1)?;
        let vertex = |row| match found.value(row) {
            Value::Vertex(vertex) => Some(vertex),
            _ => None,
        };
        cx.fits(found.len().saturating_mul(size_of::<VertexId>()))?;
        Ok(Some((0..found.len()).filter_map(vertex).collect()))
    }

    /// The next path, and the row that it begins at.
    fn next_path(&mut self, cx: &mut Context<'_, '_>) -> Result<Option<(usize, Value)>> {
        while self.waiting.row < self.waiting.batch.len() {
            cx.check()?;
            if let Some(found) = &mut self.waiting.found
                && let Some(path) = found.next_path(cx, self.followed.includes_edges)?
            {
                return Ok(Some((self.waiting.row, path)));
            }
            let value = self.waiting.batch.value(self.waiting.row);
            let Value::Vertex(source) = value else { return Err(type_error("shortestPath", "a vertex", &value)) };
            self.waiting.found = self.next_search(cx, source)?;
            if self.waiting.found.is_none() {
                (self.waiting.row, self.waiting.searches) = (self.waiting.row + 1, 0);
            }
        }
        Ok(None)
    }

    /// Searches from a vertex: for each end that is named by itself, if they are few, otherwise for all together.
    fn next_search(&mut self, cx: &mut Context<'_, '_>, source: VertexId) -> Result<Option<Found>> {
        let search = self.waiting.searches;
        self.waiting.searches += 1;
        let ends = self.waiting.ends.take();
        let found = match &ends {
            Some(ends) if ends.len() <= ENDS_MAX && self.followed.go_back() => match ends.iter().nth(search) {
                Some(target) => self.between(cx, source, *target).map(Some),
                None => Ok(None),
            },
            _ if search > 0 => Ok(None),
            _ => self.search(cx, source, ends.as_ref(), None).map(Some),
        };
        self.waiting.ends = ends;
        found
    }

    /// Searches from both ends.
    fn between(&mut self, cx: &mut Context<'_, '_>, source: VertexId, target: VertexId) -> Result<Found> {
        if self.followed.distance.is_some() {
            return match Corridor::find(cx, source, target, &mut self.followed, self.max_distance)? {
                Some(corridor) => self.search(cx, source, Some(&HashSet::from([target])), Some(&corridor)),
                None => Ok(Found::nothing()),
            };
        }
        if source == target {
            return Ok(Found { targets: vec![target], ..Found::nothing() });
        }
        let found = ways(cx, &[source], &[target], &mut self.followed, self.max_distance)?;
        let Some(Ways { before, ends, held }) = found else { return Ok(Found::nothing()) };
        Ok(Found { targets: ends, held, ..Found::new(before, self.followed.includes_edges) })
    }

    /// Searches from the source alone, until all ends are settled, if they are known, and only where a corridor leads.
    fn search(
        &mut self,
        cx: &mut Context<'_, '_>,
        source: VertexId,
        ends: Option<&HashSet<VertexId>>,
        corridor: Option<&Corridor>,
    ) -> Result<Found> {
        let mut dijkstra = Dijkstra::new(&[source]);
        let (mut order, mut settled_ends) = (Vec::new(), 0);
        while ends.is_none_or(|ends| settled_ends < ends.len())
            && let Some((distance, front)) = dijkstra.settle()
        {
            order.extend(&front);
            settled_ends += ends.map_or(0, |ends| front.iter().filter(|vertex| ends.contains(*vertex)).count());
            for part in front.chunks(FRONT_MAX) {
                cx.check()?;
                for lead in self.followed.follow(cx, part, false)? {
                    let new = distance + lead.length;
                    let may_pass = corridor.is_none_or(|corridor| corridor.may_pass(lead.other, new));
                    if may_be(new, self.max_distance) && may_pass {
                        dijkstra.note(cx, part[lead.row as usize], &lead, new)?;
                    }
                }
            }
        }
        let mut targets = match (ends, &mut self.target) {
            (Some(ends), _) => order.into_iter().filter(|vertex| ends.contains(vertex)).collect(),
            (None, None) => order,
            (None, Some(target)) => {
                let batch = reduced(order.iter().map(|vertex| Value::Vertex(*vertex)).collect(), cx.mode(), None);
                let is_target = target.exists(cx, &batch)?;
                order.into_iter().zip(is_target).filter_map(|(vertex, is_target)| is_target.then_some(vertex)).collect()
            }
        };
        targets.reverse();
        let Dijkstra { reached, held, .. } = dijkstra;
        let before = reached.into_iter().map(|(vertex, at)| (vertex, at.before)).collect();
        Ok(Found { targets, held, ..Found::new(before, self.followed.includes_edges) })
    }
}

impl FollowedEdges {
    /// Whether it can tell which edges lead to a vertex.
    fn go_back(&self) -> bool {
        !matches!(self.edges, EdgesOf::Given { back: None, .. })
    }

    fn lengths(&mut self, cx: &mut Context<'_, '_>, edges: &[EdgeRef]) -> Result<Option<Vec<f64>>> {
        let Some(distance) = self.distance.as_mut().filter(|_| !edges.is_empty()) else { return Ok(None) };
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
        distance.first(cx, &batch)?.into_iter().map(length).collect::<Result<_>>().map(Some)
    }
}

impl Follow for FollowedEdges {
    fn follow(&mut self, cx: &mut Context<'_, '_>, front: &[VertexId], back: bool) -> Result<Vec<Lead>> {
        let found = match &mut self.edges {
            EdgesOf::Given { back: Some(edges), .. } if back => given_edges(cx, edges, front)?,
            EdgesOf::Given { ahead, .. } => given_edges(cx, ahead, front)?,
            EdgesOf::Along(hop) => hop.read(cx, front, back, self.includes_edges || self.distance.is_some())?,
        };
        let lengths = self.lengths(cx, &found.edges)?;
        let lead = |(at, (row, other)): (usize, (&u32, &VertexId))| Lead {
            row: *row,
            other: *other,
            edge: found.edges.get(at).copied().filter(|_| self.includes_edges),
            length: lengths.as_ref().map_or(1.0, |lengths| lengths[at]),
        };
        Ok(found.rows.iter().zip(&found.neighbors).enumerate().map(lead).collect())
    }
}

/// The edges that a child traversal gives for some vertices.
fn given_edges(cx: &mut Context<'_, '_>, edges: &mut Child, front: &[VertexId]) -> Result<Adjacency> {
    let batch = reduced(front.iter().map(|vertex| Value::Vertex(*vertex)).collect(), cx.mode(), None);
    let given = edges.run_rows(cx, &batch)?;
    let mut found = Adjacency::default();
    for at in 0..given.len() {
        let Value::Edge(edge) = given.value(at) else {
            return Err(type_error("shortestPath's edges", "an edge", &given.value(at)));
        };
        let row = given.scope(at);
        found.rows.push(row as u32);
        found.neighbors.push(if edge.source == front[row] { edge.target } else { edge.source });
        found.edges.push(edge);
    }
    Ok(found)
}

impl Found {
    fn nothing() -> Self {
        Self { before: HashMap::new(), targets: Vec::new(), ways: Vec::new(), held: Held::default() }
    }

    fn new(mut before: HashMap<VertexId, Before>, includes_edges: bool) -> Self {
        if !includes_edges {
            // Parallel edges are one way.
            for before in before.values_mut() {
                before.sort_unstable();
                before.dedup();
            }
        }
        Self { before, ..Self::nothing() }
    }

    fn next_path(&mut self, cx: &mut Context<'_, '_>, includes_edges: bool) -> Result<Option<Value>> {
        loop {
            let Some(mut way) = self.ways.pop() else {
                let Some(target) = self.targets.pop() else { return Ok(None) };
                self.ways.push(vec![(target, None)]);
                continue;
            };
            cx.check()?;
            let Some((vertex, _)) = way.last().copied() else { continue };
            let Some(before) = self.before.get(&vertex).filter(|before| !before.is_empty()) else {
                way.reverse();
                return Ok(Some(path(way, includes_edges)));
            };
            // The edge of an entry leads from the vertex of the next one.
            for (before, edge) in before.iter().rev() {
                let mut longer = way.clone();
                self.held.add(cx, size_of_val(&longer[..]))?;
                if let Some(last) = longer.last_mut() {
                    last.1 = *edge;
                }
                longer.push((*before, None));
                self.ways.push(longer);
            }
        }
    }
}

/// A path along a way, which begins at the source.
fn path(way: Before, includes_edges: bool) -> Value {
    let mut objects = Vec::with_capacity(way.len() * 2);
    for (vertex, edge) in way {
        objects.extend(edge.filter(|_| includes_edges).map(Value::Edge));
        objects.push(Value::Vertex(vertex));
    }
    let labels = vec![Vec::new(); objects.len()];
    Value::Path(Arc::new(Path { objects, labels }))
}
