//! Whether an order would pay, found on a part of a graph.
//!
//! The part is a ball around each of a few vertices that are drawn by chance: their neighbours, the neighbours of these, and so on
//! (snowball sampling). Communities stay whole in it, which they would not if vertices or edges were drawn one by one. Vertices with very many
//! neighbours stay at the rim.

use std::collections::VecDeque;

use hashbrown::HashMap;
use mangrove_analytics::algorithms::Random;
use mangrove_analytics::{Adjacent, Result, Run};
use mangrove_graph::{Adjacency, Direction, ElementId, GraphView, Hop, LabelId, VertexId, Wants};

use crate::measure::{Measures, measure, places};

/// Balls in a sample.
const BALLS: u64 = 4;
/// Vertices whose neighbours are read at a time.
const AT_ONCE: usize = 16;
/// A vertex with more than this part of all entries is not read.
const HUB: u64 = 32;
/// A vertex with a place that is drawn may be gone.
const TRIES: usize = 64;

/// A part of a graph: some vertices with all their neighbours.
pub struct Sample {
    /// By rank: the vertices in the order of their ids.
    links: Adjacent,
    /// The vertices whose neighbours are all in the sample.
    whole: Vec<u32>,
}

impl Sample {
    /// Reads a sample with about this many entries of lists. O(entries). Calls `go_on` now and then.
    ///
    /// # Errors
    /// Those of reading, and of `go_on`.
    pub fn draw(view: &dyn GraphView, entries: u64, seed: u64, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<Self> {
        let mut drawn = Drawn { view, lists: Vec::new(), known: HashMap::new(), waiting: VecDeque::new(), entries: 0 };
        let (counts, mut random) = (view.statistics()?.vertices.clone(), Random::new(seed));
        for ball in 1..=BALLS {
            let Some(center) = drawn.center(&counts, &mut random)? else { break };
            drawn.waiting.clear();
            drawn.reach(center);
            drawn.grow(entries * ball / BALLS, entries / HUB, go_on)?;
        }
        Ok(drawn.sample())
    }

    /// The vertices whose neighbours are all in it.
    pub fn vertices(&self) -> usize {
        self.whole.len()
    }

    /// What the order as it is, and one that `order` finds, are worth for these vertices.
    ///
    /// # Errors
    /// Those of `order`, and if the run is to stop.
    pub fn compare(
        &self,
        order: impl FnOnce(Adjacent) -> Result<Vec<u32>>,
        record_bytes: u64,
        run: &Run,
    ) -> Result<(Measures, Measures)> {
        let now: Vec<u32> = (0..self.links.vertices() as u32).collect();
        let then = places(&order(self.links.clone())?);
        let mut lists = Adjacent::empty();
        let mut whole = self.whole.iter().peekable();
        for vertex in 0..self.links.vertices() {
            let is_whole = whole.next_if(|next| **next as usize == vertex).is_some();
            let list = if is_whole { self.links.of(vertex) } else { &[] };
            lists.push(list.iter().map(|other| (*other, 1.0)), false);
        }
        Ok((measure(&lists, &now, record_bytes, run)?, measure(&lists, &then, record_bytes, run)?))
    }
}

/// What was read so far. Vertices have numbers in the order in which they were met.
struct Drawn<'v> {
    view: &'v dyn GraphView,
    /// Each vertex, and its neighbours once they were read.
    lists: Vec<(VertexId, Option<Vec<u32>>)>,
    known: HashMap<VertexId, u32>,
    waiting: VecDeque<u32>,
    entries: u64,
}

impl Drawn<'_> {
    /// A vertex that was not met yet.
    fn center(&self, counts: &[u64], random: &mut Random) -> Result<Option<VertexId>> {
        let all: u64 = counts.iter().sum();
        for _ in 0..if all > 0 { TRIES } else { 0 } {
            let mut place = random.below(all);
            for (label, count) in counts.iter().enumerate() {
                if place < *count {
                    let vertex = VertexId::new(LabelId(label as u16), 0, place);
                    if !self.known.contains_key(&vertex) && self.view.contains(ElementId::Vertex(vertex))? {
                        return Ok(Some(vertex));
                    }
                    break;
                }
                place -= count;
            }
        }
        Ok(None)
    }

    /// The number of a vertex, which waits to be read if it is new.
    fn reach(&mut self, vertex: VertexId) -> u32 {
        let next = self.lists.len() as u32;
        let number = *self.known.entry(vertex).or_insert(next);
        if number == next {
            self.lists.push((vertex, None));
            self.waiting.push_back(number);
        }
        number
    }

    /// Reads the neighbours of those that wait and have at most `hub` of them, until there are so many entries.
    fn grow(&mut self, entries: u64, hub: u64, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let hop = Hop::along(Direction::Both, None, Wants { rows: true, neighbors: true, edges: false });
        while self.entries < entries && !self.waiting.is_empty() {
            go_on(self.entries)?;
            let mut some: Vec<u32> = self.waiting.drain(..self.waiting.len().min(AT_ONCE)).collect();
            let of = |some: &[u32]| some.iter().map(|number| self.lists[*number as usize].0).collect::<Vec<VertexId>>();
            let mut degrees = Vec::with_capacity(some.len());
            self.view.degrees(&of(&some), &hop, &mut degrees)?;
            let mut degrees = degrees.into_iter();
            some.retain(|_| degrees.next().is_some_and(|degree| degree <= hub));
            let vertices = of(&some);
            let mut found = Adjacency::default();
            self.view.neighbors(&vertices, &hop, &mut found)?;
            let mut lists = vec![Vec::new(); some.len()];
            for (row, neighbor) in found.rows.iter().zip(&found.neighbors) {
                let (row, number) = (*row as usize, self.reach(*neighbor));
                if number != some[row] {
                    lists[row].push(number);
                }
            }
            for (number, mut list) in some.into_iter().zip(lists) {
                list.sort_unstable();
                list.dedup();
                self.entries += list.len() as u64;
                self.lists[number as usize].1 = Some(list);
            }
        }
        Ok(())
    }

    fn sample(self) -> Sample {
        let mut by_id: Vec<u32> = (0..self.lists.len() as u32).collect();
        by_id.sort_unstable_by_key(|number| self.lists[*number as usize].0);
        let ranks = places(&by_id);
        // Those at the rim have links to those within.
        let mut rim: Vec<Vec<u32>> = vec![Vec::new(); self.lists.len()];
        for (number, (_, list)) in (0..).zip(&self.lists) {
            for other in list.iter().flatten().filter(|other| self.lists[**other as usize].1.is_none()) {
                rim[*other as usize].push(number);
            }
        }
        let (mut links, mut whole) = (Adjacent::empty(), Vec::new());
        for (rank, number) in (0..).zip(&by_id) {
            let list = self.lists[*number as usize].1.as_ref();
            whole.extend(list.map(|_| rank));
            let list = list.unwrap_or(&rim[*number as usize]);
            let mut around: Vec<u32> = list.iter().map(|other| ranks[*other as usize]).collect();
            around.sort_unstable();
            links.push(around.into_iter().map(|other| (other, 1.0)), false);
        }
        Sample { links, whole }
    }
}
