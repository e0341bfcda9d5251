//! Shortest ways between vertices, searched from both ends (Pohl: Bi-directional search, Machine Intelligence 6, 1971).
//!
//! ```text
//!   source ─▶ ─▶ ─▶ │ ◀─ ◀─ target
//!                 they meet
//! ```
//! Each end has a search of its own, which settles vertices in the order of their distance, those of one distance together (Dijkstra,
//! 1959). The one with fewer vertices waiting goes on. So neither meets most of a graph in which everything is near.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{Adjacency, Direction, EdgeRef, Hop, VertexId, Wants};

use crate::error::Result;
use crate::execute::ops::hop::Followed;
use crate::execute::run::context::Context;
use crate::execute::run::memory::Held;

/// Vertices whose edges are read between two checks for a stop.
pub const FRONT_MAX: usize = 4096;
/// Sums of the same lengths in another order differ by less than this, as a share of them.
const ROUNDING: f64 = 1e-9;

/// An edge that leads on from a vertex.
pub struct Lead {
    /// The position of the vertex among those that were asked for.
    pub row: u32,
    pub other: VertexId,
    /// Present if paths show edges.
    pub edge: Option<EdgeRef>,
    pub length: f64,
}

/// Reads the edges that paths follow.
pub trait Follow {
    /// The edges that lead on from some vertices or, with `back`, those that lead to them.
    fn follow(&mut self, cx: &mut Context<'_, '_>, front: &[VertexId], back: bool) -> Result<Vec<Lead>>;
}

/// The edges of a vertex along a direction.
pub struct HopEdges {
    pub direction: Direction,
    pub followed: Followed,
}

impl HopEdges {
    /// The edges of some vertices and their other ends; without the edges themselves unless they are wanted.
    pub fn read(
        &mut self,
        cx: &mut Context<'_, '_>,
        front: &[VertexId],
        back: bool,
        wants_edges: bool,
    ) -> Result<Adjacency> {
        let direction = if back { self.direction.reverse() } else { self.direction };
        let mut hop = Hop::along(direction, None, Wants { rows: true, neighbors: true, edges: wants_edges });
        self.followed.look_up(cx, &mut hop);
        let mut found = Adjacency::default();
        cx.view().neighbors(front, &hop, &mut found)?;
        Ok(found)
    }
}

impl Follow for HopEdges {
    fn follow(&mut self, cx: &mut Context<'_, '_>, front: &[VertexId], back: bool) -> Result<Vec<Lead>> {
        let Adjacency { rows, neighbors, .. } = self.read(cx, front, back, false)?;
        let lead = |(row, other)| Lead { row, other, edge: None, length: 1.0 };
        Ok(rows.into_iter().zip(neighbors).map(lead).collect())
    }
}

/// The vertices before one, and the edges from there.
pub type Before = Vec<(VertexId, Option<EdgeRef>)>;

#[derive(Default)]
pub struct Reached {
    pub distance: f64,
    is_settled: bool,
    /// Those before it on shortest ways.
    pub before: Before,
}

/// What a search has reached.
#[derive(Default)]
pub struct Dijkstra {
    pub reached: HashMap<VertexId, Reached>,
    /// Those that wait, by distance. The bits of numbers that are not negative sort as the numbers do.
    waiting: BTreeMap<u64, Vec<VertexId>>,
    waiting_count: usize,
    pub held: Held,
}

impl Dijkstra {
    pub fn new(from: &[VertexId]) -> Self {
        let reached = from.iter().map(|vertex| (*vertex, Reached::default())).collect();
        let waiting = BTreeMap::from([(0f64.to_bits(), from.to_vec())]);
        Self { reached, waiting, waiting_count: from.len(), held: Held::default() }
    }

    /// The least distance of those that wait.
    fn next_distance(&self) -> Option<f64> {
        self.waiting.first_key_value().map(|(distance, _)| f64::from_bits(*distance))
    }

    /// Settles the nearest of those that wait.
    pub fn settle(&mut self) -> Option<(f64, Vec<VertexId>)> {
        let (distance, mut front) = self.waiting.pop_first()?;
        self.waiting_count -= front.len();
        let distance = f64::from_bits(distance);
        // A vertex waits anew each time its distance shrinks. It is settled once.
        front.retain(|vertex| {
            let at = self.reached.entry(*vertex).or_default();
            at.distance == distance && !std::mem::replace(&mut at.is_settled, true)
        });
        Some((distance, front))
    }

    /// Notes a way to the other end of an edge, with its distance.
    pub fn note(&mut self, cx: &Context<'_, '_>, from: VertexId, lead: &Lead, distance: f64) -> Result<()> {
        self.held.add(cx, size_of::<Reached>() + size_of::<(VertexId, Option<EdgeRef>)>())?;
        let mut is_new = false;
        let at = self.reached.entry(lead.other).or_insert_with(|| {
            is_new = true;
            Reached::default()
        });
        if is_new || !at.is_settled && distance < at.distance {
            (at.distance, at.before) = (distance, vec![(from, lead.edge)]);
            self.waiting.entry(distance.to_bits()).or_default().push(lead.other);
            self.waiting_count += 1;
        } else if !at.is_settled && distance == at.distance {
            at.before.push((from, lead.edge));
        }
        Ok(())
    }
}

/// Whether a way may have a length. One beyond all numbers is none.
pub fn may_be(length: f64, most: f64) -> bool {
    length <= most && length.is_finite()
}

/// The searches from both ends.
struct Both<'e> {
    ahead: Dijkstra,
    back: Dijkstra,
    edges: &'e mut dyn Follow,
    /// The greatest length.
    most: f64,
    /// The length of the shortest way that is known.
    best: f64,
}

impl<'e> Both<'e> {
    fn new(from: &[VertexId], to: &[VertexId], edges: &'e mut dyn Follow, most: f64) -> Self {
        Self { ahead: Dijkstra::new(from), back: Dijkstra::new(to), edges, most, best: f64::INFINITY }
    }

    /// The least distances of those that wait at both ends; `None` if nothing waits at one.
    fn next(&self) -> Option<(f64, f64)> {
        Some((self.ahead.next_distance()?, self.back.next_distance()?))
    }

    /// Goes on from the end with fewer vertices waiting.
    fn go_on(&mut self, cx: &mut Context<'_, '_>) -> Result<()> {
        let is_back = self.back.waiting_count < self.ahead.waiting_count;
        let (own, other) = if is_back { (&mut self.back, &self.ahead) } else { (&mut self.ahead, &self.back) };
        let Some((distance, front)) = own.settle() else { return Ok(()) };
        for part in front.chunks(FRONT_MAX) {
            cx.check()?;
            for lead in self.edges.follow(cx, part, is_back)? {
                let new = distance + lead.length;
                if !may_be(new, self.most) {
                    continue;
                }
                own.note(cx, part[lead.row as usize], &lead, new)?;
                if let Some(met) = other.reached.get(&lead.other) {
                    self.best = self.best.min(new + met.distance);
                }
            }
        }
        Ok(())
    }
}

/// The vertices before each on the shortest ways, back to the source.
pub struct Ways {
    pub before: HashMap<VertexId, Before>,
    /// The targets that they lead to.
    pub ends: Vec<VertexId>,
    /// For what the searches have held; most of it is gone.
    pub held: Held,
}

/// The shortest ways from some sources to the nearest of some targets, if all edges have length 1. `None` if there is no way that is short
/// enough. No source may be a target.
pub fn ways(
    cx: &mut Context<'_, '_>,
    from: &[VertexId],
    to: &[VertexId],
    edges: &mut dyn Follow,
    most: f64,
) -> Result<Option<Ways>> {
    let mut both = Both::new(from, to, edges, most);
    let ahead_at = loop {
        match both.next() {
            // All ways of this length pass the vertices that wait ahead.
            Some((ahead, back)) if ahead + back >= both.best => break ahead,
            Some((ahead, back)) if ahead + back + 1.0 <= most => both.go_on(cx)?,
            _ => return Ok(None),
        }
    };
    let Both { mut ahead, back, best, .. } = both;
    let meets = |vertex: &VertexId| back.reached.get(vertex).is_some_and(|met| met.distance == best - ahead_at);
    let middle: Vec<VertexId> =
        ahead.waiting.remove(&ahead_at.to_bits()).unwrap_or_default().into_iter().filter(meets).collect();
    let mut ways = Ways { before: HashMap::new(), ends: Vec::new(), held: std::mem::take(&mut ahead.held) };
    let mut behind = middle.clone();
    while let Some(vertex) = behind.pop() {
        if let Some(at) = ahead.reached.get_mut(&vertex).filter(|at| !at.before.is_empty()) {
            behind.extend(at.before.iter().map(|(before, _)| *before));
            ways.before.insert(vertex, std::mem::take(&mut at.before));
        }
    }
    let mut beyond = middle;
    let mut seen: HashSet<VertexId> = beyond.iter().copied().collect();
    while let Some(vertex) = beyond.pop() {
        let after = back.reached.get(&vertex).map(|at| &at.before[..]).unwrap_or_default();
        if after.is_empty() {
            ways.ends.push(vertex);
        }
        for (next, edge) in after {
            ways.before.entry(*next).or_default().push((vertex, *edge));
            if seen.insert(*next) {
                beyond.push(*next);
            }
        }
    }
    Ok(Some(ways))
}

/// Where the shortest ways between two vertices can be.
pub struct Corridor {
    back: HashMap<VertexId, Reached>,
    _held: Held,
    /// The least distance to the target of all that the search from there has not settled.
    beyond: f64,
    /// No shortest way is longer.
    most: f64,
}

impl Corridor {
    /// Finds where the shortest ways are, whatever the lengths of edges. `None` if there is no way that is short enough.
    pub fn find(
        cx: &mut Context<'_, '_>,
        from: VertexId,
        to: VertexId,
        edges: &mut dyn Follow,
        most: f64,
    ) -> Result<Option<Self>> {
        // Whether a way is short enough, its own sum decides, which is taken from the source.
        let most = most * (1.0 + ROUNDING);
        let mut both = Both::new(&[from], &[to], edges, most);
        if from == to {
            both.best = 0.0;
        }
        while let Some((ahead, back)) = both.next()
            && ahead + back <= most.min(both.best * (1.0 + ROUNDING))
        {
            both.go_on(cx)?;
        }
        let (beyond, most) = (both.back.next_distance().unwrap_or(f64::INFINITY), both.best * (1.0 + ROUNDING));
        let Dijkstra { reached: back, held, .. } = both.back;
        Ok(both.best.is_finite().then_some(Self { back, _held: held, beyond, most }))
    }

    /// Whether a shortest way may pass a vertex at this distance from the source.
    pub fn may_pass(&self, vertex: VertexId, distance: f64) -> bool {
        let rest = self.back.get(&vertex).filter(|at| at.is_settled).map_or(self.beyond, |at| at.distance);
        distance + rest <= self.most
    }
}
