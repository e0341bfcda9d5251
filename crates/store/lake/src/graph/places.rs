//! Which edge is which: the place of an edge in the list that numbers the edges of its type.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{EdgeId, EdgeRef, LabelId, ReadContext, VertexId};

use super::topology::Run;
use super::{EdgeType, Lake, List};
use crate::error::{LakeError, Result};
use crate::info::Side;

/// All edges of a type sorted by an end, for types that have no such list in files. It takes 16 bytes for each edge.
pub struct Sorted {
    /// The vertices that have edges, ascending; `None` for all. Few of very many vertices may have edges.
    vertices: Option<Vec<u64>>,
    /// Where the edges of each of these vertices begin; at the end, the number of edges.
    starts: Vec<usize>,
    /// The other end of each edge.
    pub others: Vec<u64>,
    /// Its place in the list that numbers the edges.
    pub places: Vec<u64>,
}

/// Edges that are read at a time.
const AT_ONCE: u64 = 1 << 18;

impl Sorted {
    /// The edges of a vertex.
    pub fn run(&self, local: u64) -> std::ops::Range<usize> {
        match self.vertices.as_ref().map(|vertices| vertices.binary_search(&local)) {
            None => self.starts[local as usize]..self.starts[local as usize + 1],
            Some(Ok(at)) => self.starts[at]..self.starts[at + 1],
            Some(Err(_)) => 0..0,
        }
    }

    /// Sorts by the end `near`, which is below `vertices`. Edges with the same end stay in order. O(edges), or O(edges · log edges) if
    /// there are far more vertices.
    fn new(vertices: u64, near: &[u64], far: &[u64]) -> Self {
        if vertices <= 16 * near.len() as u64 {
            return Self::counted(None, vertices as usize, near.iter().map(|vertex| *vertex as usize), far);
        }
        let mut distinct = near.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let numbers: Vec<usize> = near.iter().map(|vertex| distinct.partition_point(|other| other < vertex)).collect();
        let count = distinct.len();
        Self::counted(Some(distinct), count, numbers.into_iter(), far)
    }

    /// `near` gives the number of the vertex of each edge, below `count`.
    fn counted(
        vertices: Option<Vec<u64>>,
        count: usize,
        near: impl ExactSizeIterator<Item = usize> + Clone,
        far: &[u64],
    ) -> Self {
        let mut starts = vec![0usize; count + 1];
        near.clone().for_each(|vertex| starts[vertex + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut next = starts.clone();
        let (mut others, mut places) = (vec![0; far.len()], vec![0; far.len()]);
        for (place, (near, far)) in near.zip(far).enumerate() {
            let at = &mut next[near];
            (others[*at], places[*at]) = (*far, place as u64);
            *at += 1;
        }
        Self { vertices, starts, others, places }
    }
}

impl Lake {
    /// The edges of a type sorted by an end. The first call reads the whole list.
    pub(super) fn sorted(&self, of: &EdgeType, side: Side, limits: Option<&ReadContext>) -> Result<Arc<Sorted>> {
        let kept = &of.sorted[side as usize];
        if let Some(known) = kept.get() {
            return Ok(known.clone());
        }
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for first in (0..of.count()).step_by(AT_ONCE as usize) {
            limits.map_or(Ok(()), ReadContext::check)?;
            let runs = of.first.runs_of(first..of.count().min(first + AT_ONCE));
            near.append(&mut of.ends(&self.tables, &of.first, &runs, side, limits)?);
            far.append(&mut of.ends(&self.tables, &of.first, &runs, side.other(), limits)?);
        }
        Ok(kept.get_or_init(|| Arc::new(Sorted::new(of.vertices(side), &near, &far))).clone())
    }

    /// The places of edges that a list sorted by target has found. `targets[i]` has the edges from `starts[i]` to `starts[i + 1]`, which
    /// come from `sources`. Of several edges with the same ends, the first one there is the first one here, and so on.
    pub(super) fn places(
        &self,
        of: &EdgeType,
        targets: &[u64],
        starts: &[usize],
        sources: &[u64],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<u64>> {
        let mut distinct = sources.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let runs = of.first.runs(&self.tables, &distinct, limits)?;
        let ends = of.ends(&self.tables, &of.first, &runs, Side::Target, limits)?;
        let wanted: HashSet<u64> = targets.iter().copied().collect();
        // The places of the edges between two vertices, in order.
        let mut between: HashMap<(u64, u64), Vec<u64>> = HashMap::new();
        let mut at = 0;
        for (source, run) in distinct.iter().zip(&runs) {
            for row in run.from..run.to {
                if wanted.contains(&ends[at]) {
                    between.entry((*source, ends[at])).or_default().push(of.first.starts[run.part as usize] + row);
                }
                at += 1;
            }
        }
        let mut places = Vec::with_capacity(sources.len());
        for (target, run) in targets.iter().zip(starts.windows(2)) {
            let mut seen: HashMap<u64, usize> = HashMap::new();
            for source in &sources[run[0]..run[1]] {
                let nth = seen.entry(*source).or_default();
                let place = between.get(&(*source, *target)).and_then(|places| places.get(*nth));
                places.push(*place.ok_or_else(|| self.lists_differ(of, *source, *target))?);
                *nth += 1;
            }
        }
        Ok(places)
    }

    fn lists_differ(&self, of: &EdgeType, source: u64, target: u64) -> LakeError {
        let name = self.tables.files.name(of.folder.as_str());
        let reason =
            format!("the list sorted by target has more edges from vertex {source} to {target} than the one by source");
        LakeError::damaged(&name, reason)
    }

    /// The edges at places of a type.
    pub(super) fn edges_at(&self, of: &EdgeType, places: &[u64], limits: Option<&ReadContext>) -> Result<Vec<EdgeRef>> {
        let runs: Vec<Run> = places.iter().map(|place| of.first.part_of(*place)).map(Run::of_one).collect();
        self.edges_in(of, places, &runs, limits)
    }

    /// The edges of a label in some runs of local ids, which are sorted.
    pub(super) fn edges_between(
        &self,
        label: LabelId,
        locals: &[std::ops::Range<u64>],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<EdgeRef>> {
        let mut all = Vec::new();
        for of in self.edges.iter().filter(|of| of.label == label) {
            let (mut places, mut runs) = (Vec::new(), Vec::new());
            for locals in locals {
                let (start, end) = (locals.start.max(of.base), locals.end.min(of.base + of.count()));
                if start < end {
                    places.extend(start - of.base..end - of.base);
                    runs.append(&mut of.first.runs_of(start - of.base..end - of.base));
                }
            }
            if !places.is_empty() {
                all.append(&mut self.edges_in(of, &places, &runs, limits)?);
            }
        }
        Ok(all)
    }

    fn edges_in(&self, of: &EdgeType, places: &[u64], runs: &[Run], limits: Option<&ReadContext>) -> Result<Vec<EdgeRef>> {
        let sources = of.ends(&self.tables, &of.first, runs, Side::Source, limits)?;
        let targets = of.ends(&self.tables, &of.first, runs, Side::Target, limits)?;
        let edge = |((place, source), target): ((&u64, u64), u64)| EdgeRef {
            id: EdgeId::new(of.label, 0, of.base + place),
            source: VertexId::new(of.source, 0, source),
            target: VertexId::new(of.target, 0, target),
        };
        Ok(places.iter().zip(sources).zip(targets).map(edge).collect())
    }
}

impl List {
    /// The runs that hold the edges from one place to another.
    fn runs_of(&self, places: std::ops::Range<u64>) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut at = places.start;
        while at < places.end {
            let (part, from) = self.part_of(at);
            let end = self.starts[part as usize + 1].min(places.end);
            runs.push(Run { part, from, to: from + (end - at) });
            at = end;
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_sorted_by_an_end_and_keep_their_order() {
        for vertices in [4, 1 << 40] {
            let sorted = Sorted::new(vertices, &[2, 0, 2, 3, 2], &[9, 8, 7, 6, 5]);
            assert_eq!(sorted.vertices.is_some(), vertices > 4);
            let of = |vertex| (&sorted.others[sorted.run(vertex)], &sorted.places[sorted.run(vertex)]);
            assert_eq!(of(0), (&[8][..], &[1][..]));
            assert_eq!(of(1), (&[][..], &[][..]));
            assert_eq!(of(2), (&[9, 7, 5][..], &[0, 2, 4][..]));
            assert_eq!(of(3), (&[6][..], &[3][..]));
        }
    }
}
