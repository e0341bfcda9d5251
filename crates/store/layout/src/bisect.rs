//! Recursive bisection (Dhulipala et al.: Compressing graphs and indexes with recursive graph bisection, KDD 2016).
//!
//! An order is cut into halves, and pairs of vertices change sides as long as that makes lists shorter when they are written as
//! differences. A list with l of its d members on the left, of L vertices there, takes about l·log₂(L/(l+1)) bits for them. Then each half
//! is cut again. At last each pair of halves is turned to where its links outside lead, which the paper leaves open.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use mangrove_analytics::{Adjacent, Result, Run};

use crate::greedy::Greedy;
use crate::measure::{measure, places};

/// Rounds of exchanges for each pair of halves, if the order is arbitrary so far.
pub const FROM_NOTHING: usize = 20;
/// The same if the order is good already.
const FROM_COMMUNITIES: usize = 3;
/// Ranges of this many vertices, or fewer, are not cut.
const LEAF: usize = 32;
/// Halves of this many vertices, or more, are worked on at the same time.
const AT_A_TIME: usize = 1 << 11;
/// The bytes of a record, for measuring.
const RECORD: u64 = 40;

/// Exchanges vertices of a good order, and keeps the outcome if lists become shorter. O(E·log V).
pub fn improve(links: &Adjacent, order: &mut Vec<u32>, run: &Run) -> Result<()> {
    let mut other = order.clone();
    halve(links, &mut other, FROM_COMMUNITIES, run)?;
    let bits = |order: &[u32]| measure(links, &places(order), RECORD, run).map(|measures| measures.bits);
    if bits(&other)? < bits(order)? {
        *order = other;
    }
    Ok(())
}

/// Orders vertices by halves, beginning with the order given. O(rounds · E·log V).
pub fn halve(links: &Adjacent, order: &mut [u32], rounds: usize, run: &Run) -> Result<()> {
    run.begin("vertices placed", order.len() as u64);
    let places: Vec<AtomicU32> = places(order).into_iter().map(AtomicU32::new).collect();
    let logs = (0..=links.vertices() + 1).map(|count| (count.max(1) as f32).log2()).collect();
    Bisection { links, rounds, places, logs, idle: Mutex::default(), run }.range(order, 0)
}

struct Bisection<'a> {
    links: &'a Adjacent,
    rounds: usize,
    /// The place of each vertex. A vertex never leaves its range, so others can tell on which side of theirs it is.
    places: Vec<AtomicU32>,
    /// Logarithms of small numbers.
    logs: Vec<f32>,
    /// Arrays that no thread uses now.
    idle: Mutex<Vec<Sides>>,
    run: &'a Run,
}

/// The lists that have members in a range, and on which side. Arrays are by vertex, whose list it is.
struct Sides {
    left: Vec<u32>,
    right: Vec<u32>,
    /// What it gains if a member goes to the right, or to the left.
    to_right: Vec<f32>,
    to_left: Vec<f32>,
    /// Those with members.
    lists: Vec<u32>,
    greedy: Greedy,
}

impl Sides {
    fn new(vertices: usize) -> Self {
        let (none, nothing) = (vec![0; vertices], vec![0.0; vertices]);
        Self {
            left: none.clone(),
            right: none,
            to_right: nothing.clone(),
            to_left: nothing,
            lists: Vec::new(),
            greedy: Greedy::new(vertices),
        }
    }
}

impl Bisection<'_> {
    /// Orders a range of vertices, the first of which is at place `first`.
    fn range(&self, order: &mut [u32], first: usize) -> Result<()> {
        let taken = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sides = taken.unwrap_or_else(|| Sides::new(self.links.vertices()));
        if order.len() < 2 * AT_A_TIME {
            let done = self.alone(order, first, &mut sides);
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(sides);
            return done;
        }
        let middle = self.cut(order, first, &mut sides)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(sides);
        let (left, right) = order.split_at_mut(middle);
        let (left, right) = rayon::join(|| self.range(left, first), || self.range(right, first + middle));
        left.and(right)
    }

    /// The same, on one thread.
    fn alone(&self, order: &mut [u32], first: usize, sides: &mut Sides) -> Result<()> {
        if order.len() <= LEAF {
            self.run.advance(order.len() as u64)?;
            order.copy_from_slice(&sides.greedy.order(self.links, order));
            if self.pull(order, first, order.len() / 2) {
                order.reverse();
            }
            self.put(order, first);
            return Ok(());
        }
        let middle = self.cut(order, first, sides)?;
        let (left, right) = order.split_at_mut(middle);
        self.alone(left, first, sides)?;
        self.alone(right, first + middle, sides)
    }

    /// Cuts a range into halves, and returns where.
    fn cut(&self, order: &mut [u32], first: usize, sides: &mut Sides) -> Result<usize> {
        let middle = order.len() / 2;
        self.count(order, middle, sides);
        for _ in 0..self.rounds {
            self.run.advance(0)?;
            if !self.exchange(order, middle, sides) {
                break;
            }
        }
        for list in sides.lists.drain(..) {
            (sides.left[list as usize], sides.right[list as usize]) = (0, 0);
        }
        let is_turned = self.pull(order, first, middle);
        if is_turned {
            order.rotate_left(middle);
        }
        self.put(order, first);
        Ok(if is_turned { order.len() - middle } else { middle })
    }

    /// The lists that a vertex is in: those of its neighbours, and, as these should be near, its own.
    fn lists(&self, vertex: u32) -> impl Iterator<Item = usize> {
        self.links.of(vertex as usize).iter().map(|list| *list as usize).chain([vertex as usize])
    }

    /// Counts the members of all lists on both sides.
    fn count(&self, order: &[u32], middle: usize, sides: &mut Sides) {
        for (vertex, at) in order.iter().zip(0..) {
            for list in self.lists(*vertex) {
                if sides.left[list] + sides.right[list] == 0 {
                    sides.lists.push(list as u32);
                }
                let side = if at < middle { &mut sides.left } else { &mut sides.right };
                side[list] += 1;
            }
        }
    }

    /// Lets pairs of vertices change sides as long as both together gain. Returns whether any did.
    fn exchange(&self, order: &mut [u32], middle: usize, sides: &mut Sides) -> bool {
        self.gains(order.len(), middle, sides);
        let gain = |vertex: &u32, of: &[f32]| self.lists(*vertex).map(|list| of[list]).sum::<f32>();
        let (left, right) = order.split_at(middle);
        let mut gains: Vec<f32> = left.iter().map(|vertex| gain(vertex, &sides.to_right)).collect();
        gains.extend(right.iter().map(|vertex| gain(vertex, &sides.to_left)));
        let most = |gains: &[f32]| gains.iter().copied().fold(f32::MIN, f32::max);
        let (most_left, most_right) = (most(&gains[..middle]), most(&gains[middle..]));
        // Those that gain with some partner, the greatest gains first.
        let candidates = |range: std::ops::Range<usize>, others: f32| {
            let mut found: Vec<usize> = range.filter(|at| gains[*at] + others > 0.0).collect();
            found.sort_by(|a, b| gains[*b].total_cmp(&gains[*a]));
            found
        };
        let pairs = candidates(0..middle, most_right).into_iter().zip(candidates(middle..order.len(), most_left));
        let mut has_changed = false;
        for (a, b) in pairs.take_while(|(a, b)| gains[*a] + gains[*b] > 0.0) {
            for list in self.lists(order[a]) {
                sides.left[list] -= 1;
                sides.right[list] += 1;
            }
            for list in self.lists(order[b]) {
                sides.right[list] -= 1;
                sides.left[list] += 1;
            }
            order.swap(a, b);
            has_changed = true;
        }
        has_changed
    }

    /// What each list gains if a member changes sides, of so many vertices.
    fn gains(&self, vertices: usize, middle: usize, sides: &mut Sides) {
        let (all_left, all_right) = (self.logs[middle], self.logs[vertices - middle]);
        let bits = |left: u32, right: u32| {
            let of = |members: u32, all: f32| members as f32 * (all - self.logs[members as usize + 1]);
            of(left, all_left) + of(right, all_right)
        };
        for list in sides.lists.iter().map(|list| *list as usize) {
            let (left, right) = (sides.left[list], sides.right[list]);
            let now = bits(left, right);
            sides.to_right[list] = if left > 0 { now - bits(left - 1, right + 1) } else { 0.0 };
            sides.to_left[list] = if right > 0 { now - bits(left + 1, right - 1) } else { 0.0 };
        }
    }

    /// Whether the links that leave a range pull its left part more to the right than its right part.
    fn pull(&self, order: &[u32], first: usize, middle: usize) -> bool {
        let (start, end) = (first as u32, (first + order.len()) as u32);
        let of = |part: &[u32]| {
            let neighbors = part.iter().flat_map(|vertex| self.links.of(*vertex as usize));
            let places = neighbors.map(|other| self.places[*other as usize].load(Ordering::Relaxed));
            places.map(|place| i64::from(place >= end) - i64::from(place < start)).sum::<i64>()
        };
        let (left, right) = order.split_at(middle);
        of(left) > of(right)
    }

    fn put(&self, order: &[u32], first: usize) {
        order
            .iter()
            .zip(first as u32..)
            .for_each(|(vertex, place)| self.places[*vertex as usize].store(place, Ordering::Relaxed));
    }
}
