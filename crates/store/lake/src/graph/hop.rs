//! Hops: from a batch of vertices to their neighbours.

use mangrove_graph::{Adjacency, Direction, EdgeId, EdgeRef, Elements, Hop, ReadContext, VertexId};

use super::columns::What;
use super::{EdgeType, Lake};
use crate::error::Result;
use crate::info::Side;

/// The edges of a batch of vertices, of one type and from one side.
struct Followed<'l> {
    of: &'l EdgeType,
    side: Side,
    /// The rows of the batch that edges of the type may start from, ascending.
    rows: Vec<u32>,
    /// Where the edges of each row begin; at the end, the number of edges.
    starts: Vec<usize>,
    /// The other end of each edge, by its index in its type.
    others: Vec<u64>,
    /// The place of each edge in the list that numbers them; empty if nobody asks for edges.
    places: Vec<u64>,
}

impl Lake {
    /// Follows a hop from every vertex. O(pages that hold the edges + edges).
    pub(super) fn neighbors(
        &self,
        from: &[VertexId],
        hop: &Hop,
        out: &mut Adjacency,
        limits: Option<&ReadContext>,
    ) -> Result<()> {
        let with_edges = hop.wants.edges || hop.filter.is_some();
        let mut all = Vec::new();
        for (of, side) in self.followed(hop) {
            let most = hop.limit.filter(|_| hop.filter.is_none());
            let mut found = self.follow(of, side, from, (with_edges, most), limits)?;
            if hop.filter.is_some() {
                found = self.passing(found, from, hop, limits)?;
            }
            all.push((found, 0));
        }
        for row in 0..from.len() as u32 {
            let mut left = hop.limit.unwrap_or(usize::MAX);
            for (found, at) in &mut all {
                if found.rows.get(*at) == Some(&row) {
                    let edges = found.starts[*at]..found.starts[*at + 1];
                    let edges = edges.start..edges.end.min(edges.start.saturating_add(left));
                    left -= edges.len();
                    *at += 1;
                    found.put(row, from[row as usize], edges, hop, out);
                }
            }
        }
        Ok(())
    }

    /// The number of edges that a hop follows from each vertex.
    pub(super) fn degrees(
        &self,
        from: &[VertexId],
        hop: &Hop,
        out: &mut Vec<u64>,
        limits: Option<&ReadContext>,
    ) -> Result<()> {
        let mut degrees = vec![0; from.len()];
        for (of, side) in self.followed(hop) {
            if hop.filter.is_some() {
                let found = self.passing(self.follow(of, side, from, (true, None), limits)?, from, hop, limits)?;
                for (row, edges) in found.rows.iter().zip(found.starts.windows(2)) {
                    degrees[*row as usize] += (edges[1] - edges[0]) as u64;
                }
                continue;
            }
            let (rows, locals) = starting(from, of, side);
            for (row, count) in rows.iter().zip(self.counts_of(of, side, &locals, limits)?) {
                degrees[*row as usize] += count;
            }
        }
        out.append(&mut degrees);
        Ok(())
    }

    /// The types of edges that a hop follows, each from the sides that it starts from, outgoing edges first.
    fn followed<'l>(&'l self, hop: &Hop) -> Vec<(&'l EdgeType, Side)> {
        let sides: &[Side] = match hop.direction {
            Direction::Out => &[Side::Source],
            Direction::In => &[Side::Target],
            Direction::Both => &[Side::Source, Side::Target],
        };
        let is_wanted = |of: &&EdgeType| hop.labels.as_ref().is_none_or(|labels| labels.contains(&of.label));
        sides.iter().flat_map(|side| self.edges.iter().filter(is_wanted).map(|of| (of, *side))).collect()
    }

    fn counts_of(&self, of: &EdgeType, side: Side, locals: &[u64], limits: Option<&ReadContext>) -> Result<Vec<u64>> {
        match of.sorted_by(side) {
            Some((_, list)) => Ok(list.runs(&self.tables, locals, limits)?.iter().map(|run| run.to - run.from).collect()),
            None if locals.is_empty() => Ok(Vec::new()),
            None => {
                let sorted = self.sorted(of, side, limits)?;
                let count = |local: &u64| Ok(sorted.list(*local)?.map_or(0, |(_, list)| list.len() as u64));
                locals.iter().map(count).collect()
            }
        }
    }

    /// The edges of vertices, at most `most` of each. `with_edges` says whether their places are wanted, too.
    fn follow<'l>(
        &'l self,
        of: &'l EdgeType,
        side: Side,
        from: &[VertexId],
        (with_edges, most): (bool, Option<usize>),
        limits: Option<&ReadContext>,
    ) -> Result<Followed<'l>> {
        let (rows, locals) = starting(from, of, side);
        let mut starts = Vec::with_capacity(rows.len() + 1);
        starts.push(0);
        let (mut others, mut places) = (Vec::new(), Vec::new());
        match of.sorted_by(side) {
            Some((lists, list)) if !rows.is_empty() => {
                let mut runs = list.runs(&self.tables, &locals, limits)?;
                if let Some(most) = most {
                    runs.iter_mut().for_each(|run| run.to = run.to.min(run.from.saturating_add(most as u64)));
                }
                others = of.ends_of(&self.tables, (lists, list), &runs, side.other(), limits)?;
                starts.extend(runs.iter().scan(0, |end, run| {
                    *end += (run.to - run.from) as usize;
                    Some(*end)
                }));
                if with_edges && list.is_numbering {
                    places = runs
                        .iter()
                        .flat_map(|run| (run.from..run.to).map(|row| list.starts[run.part as usize] + row))
                        .collect();
                } else if with_edges {
                    places = self.places((of, lists), &locals, &starts, &others, limits)?;
                }
            }
            None if !rows.is_empty() => {
                let sorted = self.sorted(of, side, limits)?;
                for local in &locals {
                    if let Some((lists, list)) = sorted.list(*local)? {
                        let list = list.start..list.end.min(list.start.saturating_add(most.unwrap_or(usize::MAX)));
                        lists.each_neighbor(list.clone(), |neighbor| others.push(neighbor.local()));
                        if with_edges {
                            lists.each_edge(list, |place| places.push(place));
                        }
                    }
                    starts.push(others.len());
                }
            }
            _ => {}
        }
        Ok(Followed { of, side, rows, starts, others, places })
    }

    /// Leaves out the edges that do not pass the filter of the hop.
    fn passing<'l>(
        &self,
        found: Followed<'l>,
        from: &[VertexId],
        hop: &Hop,
        limits: Option<&ReadContext>,
    ) -> Result<Followed<'l>> {
        let Some(filter) = &hop.filter else { return Ok(found) };
        let mut edges = Vec::with_capacity(found.others.len());
        for (row, run) in found.rows.iter().zip(found.starts.windows(2)) {
            edges.extend((run[0]..run[1]).map(|at| found.edge(from[*row as usize], at)));
        }
        let columns = self.columns(Elements::Edges(&edges), &[What::Key(filter.key)], limits)?;
        let keep = columns.first().map(|column| column.passes(&filter.predicate)).unwrap_or_default();
        let mut starts = vec![0];
        starts.extend(found.starts.windows(2).scan(0, |end, run| {
            *end += keep[run[0]..run[1]].iter().filter(|keep| **keep).count();
            Some(*end)
        }));
        let kept = |all: Vec<u64>| all.into_iter().zip(&keep).filter(|(_, keep)| **keep).map(|(one, _)| one).collect();
        Ok(Followed { starts, others: kept(found.others), places: kept(found.places), ..found })
    }
}

impl Followed<'_> {
    fn neighbor(&self, at: usize) -> VertexId {
        VertexId::new(self.of.end(self.side.other()), 0, self.others[at])
    }

    fn edge(&self, from: VertexId, at: usize) -> EdgeRef {
        let id = EdgeId::new(self.of.label, 0, self.of.base + self.places[at]);
        match self.side {
            Side::Source => EdgeRef { id, source: from, target: self.neighbor(at) },
            Side::Target => EdgeRef { id, source: self.neighbor(at), target: from },
        }
    }

    fn put(&self, row: u32, from: VertexId, edges: std::ops::Range<usize>, hop: &Hop, out: &mut Adjacency) {
        if hop.wants.rows {
            out.rows.extend(std::iter::repeat_n(row, edges.len()));
        }
        if hop.wants.neighbors {
            out.neighbors.extend(edges.clone().map(|at| self.neighbor(at)));
        }
        if hop.wants.edges {
            out.edges.extend(edges.map(|at| self.edge(from, at)));
        }
    }
}

/// The rows whose vertices may be at a side of the edges, and the index of each vertex in its type.
fn starting(from: &[VertexId], of: &EdgeType, side: Side) -> (Vec<u32>, Vec<u64>) {
    let is_there =
        |vertex: &VertexId| vertex.label() == of.end(side) && vertex.shard() == 0 && vertex.local() < of.vertices(side);
    (0..).zip(from).filter(|(_, vertex)| is_there(vertex)).map(|(row, vertex)| (row, vertex.local())).unzip()
}
