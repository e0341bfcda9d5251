//! PageRank (Page, Brin, Motwani, Winograd: The PageRank citation ranking, 1999).
//!
//! The rank of a vertex is what reaches it: (1 − d)/V + d·Σ rank(u)·share(u → v), where a vertex gives each of its outgoing edges
//! the same share, or one by weight. Vertices without outgoing edges give all vertices the same, as LDBC Graphalytics defines it.
//! Ranks sum to 1. Personalised, they give it to the preferred vertices instead, which also replace 1/V there.
//!
//! O(E) for each iteration. Each vertex sums over its incoming edges, so there are no locks, and sums do not depend on threads.

use std::borrow::Cow;

use mangrove_graph::{Numbering, Value, VertexId};
use rayon::prelude::*;

use super::CHUNK;
use super::weights::given;
use crate::algorithm::{Algorithm, Divided, Outcome, Values};
use crate::engine::{Around, Reads, Step, Vertex, VertexProgram};
use crate::error::{AnalyticsError, Result};
use crate::project::{Adjacent, Needs, Projection};
use crate::run::Run;

pub struct PageRank {
    /// The share of a rank that follows edges, from 0 to 1.
    pub damping: f64,
    pub until: Until,
    /// Vertices that are preferred, with their weights; none means all the same.
    pub preferred: Vec<(VertexId, f64)>,
    /// The ranks to begin with, in proportion; none means all the same.
    pub started: Vec<(VertexId, f64)>,
    /// Where walks go on that are at a vertex without edges, in proportion; none means as preferred.
    pub dangling: Vec<(VertexId, f64)>,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    Iterations(u64),
    /// All ranks together change by less than this. It ends after so many iterations in any case.
    Tolerance(f64, u64),
}

impl Algorithm for PageRank {
    fn needs(&self) -> Needs {
        Needs { incoming: true, ..Needs::default() }
    }

    fn run(&self, graph: &Projection, run: &Run) -> Result<Outcome> {
        let (iterations_max, enough) = self.bounds()?;
        let edges = edges(graph);
        let mut ranks = Ranks::new(graph, &edges, self.damping, self.anew(graph)?, self.start(graph)?)?;
        run.begin("iterations", iterations_max);
        let (mut iterations, mut change) = (0, f64::INFINITY);
        while iterations < iterations_max && change >= enough {
            change = ranks.step();
            iterations += 1;
            run.advance(1)?;
        }
        Ok(Outcome { values: Values::Reals(ranks.current), summary: summary(iterations, enough, change) })
    }

    fn needs_divided(&self) -> Option<Needs> {
        Some(self.needs())
    }

    fn divided(&self, numbering: &Numbering) -> Result<Option<Divided>> {
        let (iterations_max, enough) = self.bounds()?;
        Ok(Some(Divided::PageRank {
            damping: self.damping,
            iterations_max,
            enough,
            preference: shares(numbering, &self.preferred, "preference")?,
            dangling: shares(numbering, &self.dangling, "dangling weight")?,
            start: shares(numbering, &self.started, "first rank")?,
        }))
    }
}

impl PageRank {
    /// The most iterations, and the change that is small enough to stop.
    fn bounds(&self) -> Result<(u64, f64)> {
        if !(0.0..=1.0).contains(&self.damping) {
            return Err(AnalyticsError::invalid(format!("damping is {}; it must be from 0 to 1", self.damping)));
        }
        if let Until::Tolerance(tolerance, _) = self.until
            && !(tolerance > 0.0 && tolerance.is_finite())
        {
            return Err(AnalyticsError::invalid(format!("tolerance is {tolerance}; it must be greater than 0")));
        }
        Ok(match self.until {
            // No change is less than nothing.
            Until::Iterations(count) => (count, 0.0),
            Until::Tolerance(tolerance, most) => (most, tolerance),
        })
    }

    /// Where walks begin anew.
    fn anew(&self, graph: &Projection) -> Result<Anew<Vec<f64>>> {
        Ok(Anew {
            preference: all_shares(graph, &self.preferred, "preference")?,
            dangling: all_shares(graph, &self.dangling, "dangling weight")?,
        })
    }

    /// The ranks to begin with; nothing if they are all the same.
    fn start(&self, graph: &Projection) -> Result<Vec<f64>> {
        all_shares(graph, &self.started, "first rank")
    }
}

/// `enough` is the change that is small enough to stop, and 0 without a tolerance.
pub fn summary(iterations: u64, enough: f64, change: f64) -> Vec<(&'static str, Value)> {
    let mut summary = vec![("iterations", Value::from(iterations as i64))];
    if enough > 0.0 {
        summary.push(("converged", Value::from(change < enough)));
    }
    summary
}

/// The shares of vertices in the sum of some weights, in the order of numbers; nothing if there are none.
fn shares(numbering: &Numbering, weights: &[(VertexId, f64)], what: &str) -> Result<Vec<(u32, f64)>> {
    let mut shares = given(numbering, weights, what)?;
    let sum: f64 = shares.iter().map(|(_, weight)| weight).sum();
    if !weights.is_empty() && sum <= 0.0 {
        return Err(AnalyticsError::invalid(format!("all {what}s are 0")));
    }
    shares.iter_mut().for_each(|(_, share)| *share /= sum);
    Ok(shares)
}

/// The same for all vertices.
fn all_shares(graph: &Projection, weights: &[(VertexId, f64)], what: &str) -> Result<Vec<f64>> {
    if weights.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = vec![0.0; graph.vertices()];
    for (number, share) in shares(graph.numbering(), weights, what)? {
        all[number as usize] = share;
    }
    Ok(all)
}

/// Something that each vertex has a share of.
pub trait Shared: Sync {
    /// Whether all have the same.
    fn is_even(&self) -> bool;

    fn of(&self, vertex: usize) -> f64;
}

impl Shared for Vec<f64> {
    fn is_even(&self) -> bool {
        self.is_empty()
    }

    fn of(&self, vertex: usize) -> f64 {
        self[vertex]
    }
}

/// The shares of those that have one, in the order of numbers.
impl Shared for &[(u32, f64)] {
    fn is_even(&self) -> bool {
        self.is_empty()
    }

    fn of(&self, vertex: usize) -> f64 {
        let place = self.binary_search_by_key(&(vertex as u32), |(number, _)| *number);
        place.map_or(0.0, |place| self[place].1)
    }
}

/// The share of each vertex in the walks that begin anew; even if all have the same.
pub struct Anew<S> {
    pub preference: S,
    /// Of those that cannot go on; even if it is as `preference`.
    pub dangling: S,
}

impl<S: Shared> Anew<S> {
    /// What each vertex gets, if `kept` is on vertices without edges.
    fn step(&self, damping: f64, kept: f64, vertices: usize) -> impl Fn(usize) -> f64 + Sync {
        let (begun, kept) = (1.0 - damping, damping * kept);
        let [to_each, begun_each] = [begun + kept, begun].map(|amount| amount / vertices as f64);
        let (preference, dangling) = (&self.preference, &self.dangling);
        move |vertex| match (preference.is_even(), dangling.is_even()) {
            (true, true) => to_each,
            (false, true) => (begun + kept) * preference.of(vertex),
            (true, false) => begun_each + kept * dangling.of(vertex),
            (false, false) => begun * preference.of(vertex) + kept * dangling.of(vertex),
        }
    }
}

/// The edges that ranks follow. A loop of an undirected graph is one way back, as NetworkX has it.
pub fn edges(graph: &Projection) -> Cow<'_, Adjacent> {
    if graph.is_directed() { Cow::Borrowed(graph.incoming()) } else { graph.incoming().with_loops_once() }
}

/// By what a rank is divided before it follows an edge: the number of outgoing edges, or the sum of their weights.
pub fn divisors(graph: &Projection, edges: &Adjacent) -> Result<Vec<f64>> {
    check_weights(edges)?;
    let sums = graph.out_degrees_in(edges);
    check_sums(&sums)?;
    Ok(sums)
}

/// Fails if ranks cannot follow some edge.
pub fn check_weights(edges: &Adjacent) -> Result<()> {
    match edges.weights().iter().any(|weight| *weight < 0.0 || weight.is_infinite()) {
        true => Err(AnalyticsError::invalid("PageRank needs weights that are finite and not negative")),
        false => Ok(()),
    }
}

/// Fails if ranks cannot be divided by some sum of weights.
pub fn check_sums(sums: &[f64]) -> Result<()> {
    let is_odd = |sum: &f64| *sum != 0.0 && !(sum.is_normal() && (1.0 / sum).is_finite());
    match sums.iter().any(is_odd) {
        true => Err(AnalyticsError::invalid("the weights of a vertex's edges are too great or too small to be added up")),
        false => Ok(()),
    }
}

struct Ranks<'g> {
    incoming: &'g Adjacent,
    damping: f64,
    anew: Anew<Vec<f64>>,
    chunks: Vec<std::ops::Range<usize>>,
    divisors: Vec<f64>,
    current: Vec<f64>,
    /// What each vertex gives along each edge, for each unit of weight.
    given: Vec<f64>,
}

impl<'g> Ranks<'g> {
    fn new(graph: &Projection, incoming: &'g Adjacent, damping: f64, anew: Anew<Vec<f64>>, start: Vec<f64>) -> Result<Self> {
        let vertices = graph.vertices();
        let divisors = divisors(graph, incoming)?;
        let current = match start.is_empty() {
            true => vec![1.0 / vertices.max(1) as f64; vertices],
            false => start,
        };
        let chunks = incoming.chunks(CHUNK);
        Ok(Self { incoming, damping, anew, chunks, divisors, current, given: vec![0.0; vertices] })
    }

    /// One iteration. Returns by how much the ranks changed, all together.
    fn step(&mut self) -> f64 {
        let kept = self.give();
        let renewed = self.anew.step(self.damping, kept, self.current.len());
        let (incoming, given, damping) = (self.incoming, &self.given, self.damping);
        let chunks = split(&mut self.current, &self.chunks);
        let changes: Vec<f64> = chunks
            .into_par_iter()
            .map(|(range, ranks)| {
                let mut change = 0.0;
                for (vertex, rank) in range.zip(ranks) {
                    let new = renewed(vertex) + damping * received(incoming, given, vertex);
                    change += (new - *rank).abs();
                    *rank = new;
                }
                change
            })
            .collect();
        changes.iter().sum()
    }

    /// Computes what each vertex gives. Returns the ranks of those that have no edge to give along.
    fn give(&mut self) -> f64 {
        let (current, divisors) = (&self.current, &self.divisors);
        let chunks = split(&mut self.given, &self.chunks);
        let kept: Vec<f64> = chunks
            .into_par_iter()
            .map(|(range, given)| {
                let mut kept = 0.0;
                for (vertex, given) in range.zip(given) {
                    let (rank, divisor) = (current[vertex], divisors[vertex]);
                    *given = if divisor > 0.0 { rank / divisor } else { 0.0 };
                    kept += if divisor > 0.0 { 0.0 } else { rank };
                }
                kept
            })
            .collect();
        kept.iter().sum()
    }
}

/// What reaches a vertex along its edges.
#[inline]
fn received(incoming: &Adjacent, given: &[f64], vertex: usize) -> f64 {
    let weights = incoming.weights_of(vertex);
    let others = incoming.of(vertex);
    match weights.is_empty() {
        true => sum(others, |other| given[*other as usize]),
        false => others.iter().zip(weights).map(|(other, weight)| given[*other as usize] * weight).sum(),
    }
}

/// Four sums at a time: an addition need not wait for the one before. Their order depends on nothing but the list.
#[inline]
fn sum(others: &[u32], value: impl Fn(&u32) -> f64) -> f64 {
    let (fours, rest) = others.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        sums.iter_mut().zip(four).for_each(|(sum, other)| *sum += value(other));
    }
    let rest: f64 = rest.iter().map(value).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// The parts of a slice that belong to ranges which follow each other.
fn split<'a, T>(mut all: &'a mut [T], ranges: &[std::ops::Range<usize>]) -> Vec<(std::ops::Range<usize>, &'a mut [T])> {
    let part = |range: &std::ops::Range<usize>| {
        let (part, rest) = std::mem::take(&mut all).split_at_mut(range.len());
        all = rest;
        (range.clone(), part)
    };
    ranges.iter().map(part).collect()
}

/// The same as a vertex program. The value of a vertex is what it gives along each edge, or its rank if it has none.
pub struct RankProgram<'a> {
    pub damping: f64,
    pub anew: Anew<&'a [(u32, f64)]>,
    /// The ranks to begin with; nothing if all are the same.
    pub start: &'a [(u32, f64)],
    pub iterations_max: u64,
    pub enough: f64,
}

/// The rank of a vertex whose value this is.
pub fn rank(given: f64, out_degree: f64) -> f64 {
    if out_degree > 0.0 { given * out_degree } else { given }
}

fn share(rank: f64, out_degree: f64) -> f64 {
    if out_degree > 0.0 { rank / out_degree } else { rank }
}

impl VertexProgram for RankProgram<'_> {
    type Value = f64;

    fn init(&self, vertex: Vertex, vertices: usize) -> f64 {
        let rank = if self.start.is_even() { 1.0 / vertices as f64 } else { self.start.of(vertex.number as usize) };
        share(rank, vertex.out_degree)
    }

    fn compute(&self, step: Step, vertex: Vertex, _own: &f64, around: Around<'_, f64>) -> f64 {
        let received: f64 = around.weighted().map(|(given, weight)| given * weight).sum();
        let renewed = self.anew.step(self.damping, step.totals[0], step.vertices);
        share(renewed(vertex.number as usize) + self.damping * received, vertex.out_degree)
    }

    /// The ranks of those that have no edge to give along, and by how much ranks have changed.
    fn contribute(&self, vertex: Vertex, old: &f64, new: &f64) -> [f64; 2] {
        let (old, new) = (rank(*old, vertex.out_degree), rank(*new, vertex.out_degree));
        [if vertex.out_degree > 0.0 { 0.0 } else { new }, (new - old).abs()]
    }

    fn reads(&self) -> Reads {
        Reads::All
    }

    fn is_done(&self, step: Step) -> bool {
        step.number >= self.iterations_max || step.number > 0 && step.totals[1] < self.enough
    }
}
