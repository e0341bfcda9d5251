//! The edges of vertices: those of the store that were not removed, and new ones.

use std::ops::{Deref, Range};

use hashbrown::HashMap;
use mangrove_graph::{
    Adjacency, Direction, EdgeId, EdgeRef, ElementId, ElementKind, Elements, GraphView, Hop, LabelId, PropertyId, Result,
    ShardRead, Value, VertexId, Wants,
};

use super::Overlay;
use super::delta::{Lists, Place};
use crate::names::comes_in;
use crate::split::Split;

/// Vertices whose edges are as in the store, and others.
const AS_BELOW: u16 = 0;
const CHANGED: u16 = 1;

const ALL: Wants = Wants { rows: true, neighbors: true, edges: true };

impl<V: Deref<Target: ShardRead>> Overlay<V> {
    /// Which vertices have edges that are not as in the store, if any have.
    fn changed(&self, from: &[VertexId], hop: &Hop, lists: &Lists) -> Option<Split> {
        if self.delta.is_empty() {
            return None;
        }
        let filtered = |key| {
            let of = |label| PropertyId { kind: ElementKind::Edge, label, key };
            (0..self.schema.edge_labels.len() as u16).any(|label| self.delta.cells.contains_key(&of(LabelId(label))))
        };
        let all = hop.filter.as_ref().is_some_and(|filter| filtered(filter.key));
        let is_changed = |vertex: &VertexId| {
            all || lists.has(*vertex)
                || self.delta.thinned.contains(vertex)
                || self.delta.place(ElementId::Vertex(*vertex)) != Place::Below
        };
        let owners: Vec<u16> = from.iter().map(|vertex| if is_changed(vertex) { CHANGED } else { AS_BELOW }).collect();
        owners.contains(&CHANGED).then(|| Split::new(owners.into_iter(), 2))
    }

    pub(super) fn follow(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        let lists = self.lists();
        let Some(split) = self.changed(from, hop, &lists) else { return self.below.neighbors(from, hop, out) };
        if split.only() == Some(CHANGED) {
            return self.follow_changed(from, hop, &lists, out);
        }
        let hop_with_rows = Hop { wants: Wants { rows: true, ..hop.wants }, ..hop.clone() };
        let mut found = Vec::with_capacity(split.parts.len());
        for (part, rows) in &split.parts {
            let some: Vec<VertexId> = rows.iter().map(|row| from[*row as usize]).collect();
            let mut answer = Adjacency::default();
            match *part {
                AS_BELOW => self.below.neighbors(&some, &hop_with_rows, &mut answer)?,
                _ => self.follow_changed(&some, &hop_with_rows, &lists, &mut answer)?,
            }
            found.push(answer);
        }
        split.joined_hops(from.len(), hop.wants, &found, out);
        Ok(())
    }

    pub(super) fn count_edges(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        let lists = self.lists();
        let Some(split) = self.changed(from, hop, &lists) else { return self.below.degrees(from, hop, out) };
        let mut counts = Vec::with_capacity(split.parts.len());
        for (part, rows) in &split.parts {
            let some: Vec<VertexId> = rows.iter().map(|row| from[*row as usize]).collect();
            let mut degrees = Vec::with_capacity(some.len());
            if *part == AS_BELOW {
                self.below.degrees(&some, hop, &mut degrees)?;
            } else {
                let (hop, mut found) = (Hop { limit: None, latest: None, wants: ALL, ..hop.clone() }, Adjacency::default());
                self.follow_changed(&some, &hop, &lists, &mut found)?;
                degrees.resize(some.len(), 0);
                found.rows.iter().for_each(|row| degrees[*row as usize] += 1);
            }
            counts.push(degrees);
        }
        out.append(&mut split.joined(counts));
        Ok(())
    }

    /// The edges of vertices whose edges are not as in the store.
    fn follow_changed(&self, from: &[VertexId], hop: &Hop, lists: &Lists, out: &mut Adjacency) -> Result<()> {
        let directions: &[Direction] = match hop.direction {
            Direction::Both => &[Direction::Out, Direction::In],
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
        };
        let mut sides = Vec::with_capacity(directions.len());
        for direction in directions {
            sides.push((*direction, self.edges_below(from, &Hop { direction: *direction, ..hop.clone() })?));
        }
        let mut all = Adjacency::default();
        for (row, vertex) in from.iter().enumerate() {
            if self.delta.place(ElementId::Vertex(*vertex)) == Place::Nowhere {
                continue;
            }
            for (direction, (below, ranges)) in &sides {
                let edges = self.merged_edges(*vertex, *direction, hop, lists, &below.edges[ranges[row].clone()])?;
                all.rows.extend(edges.iter().map(|_| row as u32));
                all.neighbors
                    .extend(edges.iter().map(|edge| if *direction == Direction::Out { edge.target } else { edge.source }));
                all.edges.extend(edges);
            }
        }
        self.keep(all, hop, out)
    }

    /// What the store lists of each vertex in one direction.
    fn edges_below(&self, from: &[VertexId], hop: &Hop) -> Result<(Adjacency, Vec<Range<usize>>)> {
        let is_below = |vertex: &VertexId| self.delta.place(ElementId::Vertex(*vertex)) == Place::Below;
        let rows: Vec<usize> = (0..from.len()).filter(|row| is_below(&from[*row])).collect();
        let some: Vec<VertexId> = rows.iter().map(|row| from[*row]).collect();
        let (hop, mut found) =
            (Hop { filter: None, limit: None, latest: None, wants: ALL, ..hop.clone() }, Adjacency::default());
        if !some.is_empty() {
            self.below.neighbors(&some, &hop, &mut found)?;
        }
        let (mut ranges, mut at) = (vec![0..0; from.len()], 0);
        for (number, row) in rows.into_iter().enumerate() {
            let start = at;
            while found.rows.get(at).is_some_and(|of| *of as usize == number) {
                at += 1;
            }
            ranges[row] = start..at;
        }
        Ok((found, ranges))
    }

    /// The edges of a vertex in one direction, in the order of labels, times and ages.
    fn merged_edges(
        &self,
        vertex: VertexId,
        direction: Direction,
        hop: &Hop,
        lists: &Lists,
        below: &[EdgeRef],
    ) -> Result<Vec<EdgeRef>> {
        let is_there = |edge: &&EdgeRef| !self.delta.gone.contains(&ElementId::Edge(edge.id));
        let mut edges: Vec<(LabelId, i64, EdgeRef)> =
            below.iter().filter(is_there).map(|edge| (edge.id.label(), i64::MIN, *edge)).collect();
        let (mut times, before) = (HashMap::new(), edges.len());
        for (label, list) in lists.of(vertex) {
            let is_asked = hop.labels.as_ref().is_none_or(|labels| labels.contains(&label));
            if !is_asked || comes_in(label) != (direction == Direction::In) {
                continue;
            }
            let new = |(time, local): &(i64, u64)| {
                let edge = self.delta.new_edge(EdgeId::new(label, 0, *local))?;
                Some((label, *time, edge))
            };
            edges.extend(list.iter().filter_map(new));
            if let Some(key) = self.schema.time_of(label) {
                times.insert(label, key);
            }
        }
        for (label, key) in times {
            let of_label: Vec<usize> = (0..before).filter(|at| edges[*at].0 == label).collect();
            let refs: Vec<EdgeRef> = of_label.iter().map(|at| edges[*at].2).collect();
            let column = self.properties(Elements::Edges(&refs), key)?;
            for (row, at) in of_label.into_iter().enumerate() {
                edges[at].1 = column.cell(row).values().next().and_then(Value::as_time).unwrap_or(i64::MIN);
            }
        }
        edges.sort_by_key(|(label, time, _)| (*label, *time)); // stable: those of the store are older
        Ok(edges.into_iter().map(|(.., edge)| edge).collect())
    }

    /// Appends the edges that pass the filter of a hop, and of each vertex as many as its limit.
    fn keep(&self, all: Adjacency, hop: &Hop, out: &mut Adjacency) -> Result<()> {
        let pass = match &hop.filter {
            Some(filter) => self.pass(Elements::Edges(&all.edges), filter.key, &filter.predicate)?,
            None => vec![true; all.edges.len()],
        };
        let (mut last, mut kept) = (None, 0);
        for at in (0..all.edges.len()).filter(|at| pass[*at]) {
            let row = all.rows[at];
            if last.replace(row) != Some(row) {
                kept = 0;
            }
            if hop.limit.is_some_and(|limit| kept >= limit) {
                continue;
            }
            kept += 1;
            if hop.wants.rows {
                out.rows.push(row);
            }
            if hop.wants.neighbors {
                out.neighbors.push(all.neighbors[at]);
            }
            if hop.wants.edges {
                out.edges.push(all.edges[at]);
            }
        }
        Ok(())
    }
}
