//! Which edge is which: the place of an edge in the list that numbers the edges of its type.

use hashbrown::{HashMap, HashSet};
use mangrove_graph::{EdgeId, EdgeRef, LabelId, ReadContext, VertexId};

use super::topology::Run;
use super::{EdgeType, Lake, Layout, List, Lists};
use crate::error::{LakeError, Result};
use crate::info::Side;

impl Lake {
    /// The places of edges that a list sorted by target has found. `targets[i]` has the edges from `starts[i]` to `starts[i + 1]`, which
    /// come from `sources`. Of several edges with the same ends, the first one there is the first one here, and so on.
    pub(super) fn places(
        &self,
        (of, lists): (&EdgeType, &Lists),
        targets: &[u64],
        starts: &[usize],
        sources: &[u64],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<u64>> {
        let mut distinct = sources.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let first = &lists.first;
        let runs = first.runs(&self.tables, &distinct, limits)?;
        let ends = of.ends_of(&self.tables, (lists, first), &runs, Side::Target, limits)?;
        let wanted: HashSet<u64> = targets.iter().copied().collect();
        // The places of the edges between two vertices, in order.
        let mut between: HashMap<(u64, u64), Vec<u64>> = HashMap::new();
        let mut at = 0;
        for (source, run) in distinct.iter().zip(&runs) {
            for row in run.from..run.to {
                if wanted.contains(&ends[at]) {
                    between.entry((*source, ends[at])).or_default().push(first.starts[run.part as usize] + row);
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
                places.push(*place.ok_or_else(|| self.lists_differ(lists, *source, *target))?);
                *nth += 1;
            }
        }
        Ok(places)
    }

    fn lists_differ(&self, lists: &Lists, source: u64, target: u64) -> LakeError {
        let name = self.tables.files.name(lists.folder.as_str());
        let reason =
            format!("the list sorted by target has more edges from vertex {source} to {target} than the one by source");
        LakeError::damaged(&name, reason)
    }

    /// The edges at places of a type; `None` where there is none.
    pub(super) fn edges_at(
        &self,
        of: &EdgeType,
        places: &[u64],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Option<EdgeRef>>> {
        match &of.layout {
            Layout::Tables(tables) => self.edges_of_tables(of, tables, places.iter().copied(), limits),
            Layout::Lists(lists) => {
                let runs: Vec<Run> = places.iter().map(|place| lists.first.part_of(*place)).map(Run::of_one).collect();
                Ok(self.edges_in((of, lists), places, &runs, limits)?.into_iter().map(Some).collect())
            }
        }
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
            let within = |locals: &std::ops::Range<u64>| {
                let (start, end) = (locals.start.max(of.base), locals.end.min(of.base + of.places()));
                start.saturating_sub(of.base)..end.saturating_sub(of.base)
            };
            let wanted: Vec<_> = locals.iter().map(within).filter(|places| !places.is_empty()).collect();
            let places: Vec<u64> = wanted.iter().cloned().flatten().collect();
            if places.is_empty() {
                continue;
            }
            match &of.layout {
                Layout::Tables(tables) => {
                    let found = self.edges_of_tables(of, tables, places.into_iter(), limits)?;
                    all.extend(found.into_iter().flatten());
                }
                Layout::Lists(lists) => {
                    let runs: Vec<Run> = wanted.into_iter().flat_map(|places| lists.first.runs_of(places)).collect();
                    all.append(&mut self.edges_in((of, lists), &places, &runs, limits)?);
                }
            }
        }
        Ok(all)
    }

    fn edges_in(
        &self,
        (of, lists): (&EdgeType, &Lists),
        places: &[u64],
        runs: &[Run],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<EdgeRef>> {
        let sources = of.ends_of(&self.tables, (lists, &lists.first), runs, Side::Source, limits)?;
        let targets = of.ends_of(&self.tables, (lists, &lists.first), runs, Side::Target, limits)?;
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
    pub(super) fn runs_of(&self, places: std::ops::Range<u64>) -> Vec<Run> {
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
