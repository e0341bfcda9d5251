//! Following edges.

use mangrove_graph::{Adjacency, Direction, Hop, LabelId, Result, VertexId};

use super::Reader;
use crate::adjacency::{self, AdjacencyBlock};
use crate::key::{KeyBytes, label_prefix, vertex_prefix};
use crate::walk::{Pair, Walk};

/// From a vertex to one whose id is at most so much greater, blocks are stepped over rather than searched for.
const NEAR: u64 = 8;

impl<'t> Reader<'t> {
    pub fn neighbors(&self, from: &[VertexId], hop: &Hop, out: &mut Adjacency) -> Result<()> {
        let mut sides = self.sides(hop);
        for (row, vertex) in from.iter().enumerate() {
            let mut room = hop.limit.unwrap_or(usize::MAX);
            for side in &mut sides {
                let outgoing = side.outgoing;
                side.each_block(*vertex, |(key, value)| {
                    if room == 0 {
                        return Ok(false);
                    }
                    let block = AdjacencyBlock::parse(key, value)?;
                    let n = block.len().min(room);
                    room -= n;
                    if hop.wants.rows {
                        out.rows.resize(out.rows.len() + n, row as u32);
                    }
                    if hop.wants.neighbors {
                        block.neighbors(n, &mut out.neighbors);
                    }
                    if hop.wants.edges {
                        block.edges(n, outgoing, &mut out.edges);
                    }
                    Ok(room > 0)
                })?;
            }
        }
        Ok(())
    }

    pub fn degrees(&self, from: &[VertexId], hop: &Hop, out: &mut Vec<u64>) -> Result<()> {
        let mut sides = self.sides(hop);
        for vertex in from {
            let mut degree = 0;
            for side in &mut sides {
                side.each_block(*vertex, |(_, value)| {
                    degree += adjacency::len(value)? as u64;
                    Ok(true)
                })?;
            }
            out.push(degree);
        }
        Ok(())
    }

    fn sides(&self, hop: &Hop) -> Vec<Side<'t>> {
        let labels = hop.labels.as_ref().map(|labels| {
            let mut labels = labels.clone();
            labels.sort_unstable();
            labels.dedup();
            labels
        });
        let side = |outgoing| {
            let table = if outgoing { self.tables.out } else { self.tables.incoming };
            Side { outgoing, walk: self.walk(table), labels: labels.clone(), last: VertexId(u64::MAX) }
        };
        match hop.direction {
            Direction::Out => vec![side(true)],
            Direction::In => vec![side(false)],
            Direction::Both => vec![side(true), side(false)],
        }
    }
}

/// The edges of one direction.
struct Side<'t> {
    outgoing: bool,
    walk: Walk<'t>,
    /// Sorted; `None` for all.
    labels: Option<Vec<LabelId>>,
    last: VertexId,
}

impl<'t> Side<'t> {
    /// Calls `f` with the blocks of a vertex until it returns false.
    fn each_block(&mut self, vertex: VertexId, mut f: impl FnMut(Pair<'t>) -> Result<bool>) -> Result<()> {
        let near = vertex.0.checked_sub(self.last.0).is_some_and(|gap| gap <= NEAR);
        let steps = if near { NEAR as usize } else { 0 };
        self.last = vertex;
        match &self.labels {
            None => each_with_prefix(&mut self.walk, vertex_prefix(vertex), steps, &mut f).map(|_| ()),
            Some(labels) => {
                for label in labels {
                    if !each_with_prefix(&mut self.walk, label_prefix(vertex, *label), steps, &mut f)? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Returns false if `f` did.
fn each_with_prefix<'t>(
    walk: &mut Walk<'t>,
    prefix: KeyBytes,
    steps: usize,
    f: &mut impl FnMut(Pair<'t>) -> Result<bool>,
) -> Result<bool> {
    let mut at = walk.seek(prefix, steps)?;
    while let Some((key, value)) = at.filter(|(key, _)| key.starts_with(&prefix)) {
        if !f((key, value))? {
            return Ok(false);
        }
        walk.step()?;
        at = walk.current();
    }
    Ok(true)
}
