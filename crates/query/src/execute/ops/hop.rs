//! Moves along edges: `out`, `inE`, `inV`, …. Also counts edges without visiting them.

use mangrove_graph::{Adjacency, Direction, EdgeRef, ElementKind, Filter, Hop, Latest, Predicate, Value, VertexId, Wants};

use crate::error::{QueryError, Result};
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::data::known::Known;
use crate::execute::data::path;
use crate::execute::data::words::type_error;
use crate::execute::run::chain::{Input, MapBatch, Op};
use crate::execute::run::context::{Context, EdgeLabels};
use crate::plan::{EndOf, Name};

/// The target size of a batch of results. A single vertex with more edges exceeds it.
const BATCH_TARGET: usize = 16_384;
pub const FIRST_ROWS: usize = 64;
/// The most vertices whose edges are filtered between two checks for a stop.
const FILTERED_ROWS_MAX: usize = 4096;

/// The edges to follow, by names of the query.
pub struct Followed {
    labels: EdgeLabels,
    filter: Option<(Name, Predicate)>,
    latest: Option<(Name, u64)>,
}

impl Followed {
    pub fn new(labels: Vec<Name>, filter: Option<(Name, Predicate)>) -> Self {
        Self { labels: EdgeLabels::new(labels), filter, latest: None }
    }

    /// Follows, for each vertex, the `n` edges with the greatest values of a property, and perhaps more.
    pub fn latest(self, latest: Option<(Name, u64)>) -> Self {
        Self { latest, ..self }
    }

    /// Looks the names up in the schema, which may have grown since.
    pub fn look_up(&mut self, cx: &mut Context<'_, '_>, hop: &mut Hop) {
        hop.labels = self.labels.ids(cx);
        hop.latest = self.latest.as_ref().and_then(|(key, count)| {
            Some(Latest { key: cx.view().schema().key(key)?, count: usize::try_from(*count).ok()? })
        });
        let Some((key, predicate)) = self.filter.as_ref().filter(|_| hop.filter.is_none()) else { return };
        match cx.view().schema().key(key) {
            Some(key) => {
                let filter = Filter { key, predicate: predicate.clone() };
                cx.warn_of_types(ElementKind::Edge, hop.labels.as_deref(), key, &filter.predicate);
                hop.filter = Some(filter);
            }
            None => hop.labels = Some(Vec::new()), // no edge has it
        }
    }
}

/// How many rows to follow next, so that they give about one batch. `rows` gave `found` edges; `last` is what this function said before.
pub fn next_rows(rows: usize, found: usize, last: usize) -> usize {
    (rows * BATCH_TARGET / found.max(1)).clamp(1, 4 * last.max(16))
}

pub struct HopOp {
    hop: Hop,
    followed: Followed,
    to_edges: bool,
    /// Rows may be followed in storage order of their vertices.
    any_order: bool,
    pending: Option<Batch>,
    at: usize,
    /// Rows to follow next, chosen by the number of edges that earlier rows had.
    rows: usize,
    found: Adjacency,
}

impl HopOp {
    pub fn new(direction: Direction, followed: Followed, to_edges: bool, any_order: bool, limit: Option<u64>) -> Self {
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let wants = Wants { rows: true, neighbors: !to_edges, edges: to_edges };
        Self {
            hop: Hop { direction, labels: None, filter: None, limit, latest: None, wants },
            followed,
            to_edges,
            any_order,
            pending: None,
            at: 0,
            rows: FIRST_ROWS,
            found: Adjacency::default(),
        }
    }

    /// Follows the edges of the next rows of `batch`.
    fn follow(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Batch> {
        let end = (self.at + self.rows).min(batch.len());
        let start = self.at;
        self.at = end;
        self.found.clear();
        match batch.vertices() {
            Some(ids) => cx.view().neighbors(&ids[start..end], &self.hop, &mut self.found)?,
            None => {
                let ids = vertices_of(batch, start..end, "a step along edges")?;
                cx.view().neighbors(&ids, &self.hop, &mut self.found)?;
            }
        }
        self.adapt(end - start);
        let rows: &mut Vec<u32> = &mut self.found.rows;
        if start > 0 {
            rows.iter_mut().for_each(|row| *row += start as u32);
        }
        let items = if self.to_edges {
            Items::Edges(std::mem::take(&mut self.found.edges))
        } else {
            Items::Vertices(std::mem::take(&mut self.found.neighbors))
        };
        Ok(batch.moved(rows, items, cx.mode()))
    }

    fn adapt(&mut self, rows: usize) {
        // Where a filter drops edges, the number of edges looked at is unknown.
        let most = if self.hop.filter.is_some() || self.hop.latest.is_some() { FILTERED_ROWS_MAX } else { 1 << 20 };
        self.rows = next_rows(rows, self.found.rows.len(), self.rows).min(most);
    }
}

impl Op for HopOp {
    fn next(&mut self, cx: &mut Context<'_, '_>, input: &mut dyn Input) -> Result<Option<Batch>> {
        loop {
            let batch = match self.pending.take() {
                Some(batch) => batch,
                None => match input.pull(cx)? {
                    Some(mut batch) => {
                        batch.known = Known::default();
                        let batch = if self.any_order { as_stored(batch) } else { batch };
                        self.at = 0;
                        self.rows = self.rows.max(cx.view().distance().rows_min);
                        self.followed.look_up(cx, &mut self.hop);
                        batch
                    }
                    None => return Ok(None),
                },
            };
            cx.check()?;
            let out = self.follow(cx, &batch)?;
            if self.at < batch.len() {
                self.pending = Some(batch);
            }
            if !out.is_empty() {
                return Ok(Some(out));
            }
        }
    }

    fn reset(&mut self, _: usize) {
        self.pending = None;
        self.rows = FIRST_ROWS;
    }
}

/// Batches of at least this size are worth sorting: vertices close together share pages.
const SORTED_ROWS_MIN: usize = 256;
/// Sorting traversers that carry more than their vertex takes longer. It pays if the vertices spread over more places than a cache
/// holds.
const SPREAD_MIN: u64 = 1 << 20;

/// The batch with its vertices in storage order.
pub fn as_stored(mut batch: Batch) -> Batch {
    let Items::Vertices(ids) = &mut batch.items else { return batch };
    if ids.len() < SORTED_ROWS_MIN || ids.is_sorted() {
        return batch;
    }
    let has_state = !batch.known.is_empty()
        || batch.bulk.is_some()
        || batch.scope.is_some()
        || batch.paths.is_some()
        || batch.sacks.is_some();
    if !has_state && batch.slots.is_empty() {
        ids.sort_unstable();
        return batch;
    }
    let span = span(ids);
    if span.1 - span.0 < SPREAD_MIN {
        return batch;
    }
    let rows = rows_as_stored(ids, span);
    batch.gather(&rows)
}

/// The least and the greatest id.
fn span(ids: &[VertexId]) -> (u64, u64) {
    ids.iter().fold((u64::MAX, 0), |(first, last), id| (first.min(id.0), last.max(id.0)))
}

/// The rows of vertices in storage order.
fn rows_as_stored(ids: &[VertexId], (first, last): (u64, u64)) -> Vec<u32> {
    // A row takes the low bits of one integer, if the ids leave room for it: those sort faster than pairs.
    let row_bits = u64::BITS - (ids.len() as u64).leading_zeros();
    if last - first < 1 << (u64::BITS - row_bits) {
        let mut order: Vec<u64> = ids.iter().zip(0..).map(|(id, row)| (id.0 - first) << row_bits | row).collect();
        order.sort_unstable();
        return order.into_iter().map(|key| (key & ((1 << row_bits) - 1)) as u32).collect();
    }
    let mut order: Vec<(VertexId, u32)> = ids.iter().copied().zip(0..).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, row)| row).collect()
}

/// The vertices in a range of rows.
pub fn vertices_of(batch: &Batch, rows: std::ops::Range<usize>, what: &str) -> Result<Vec<VertexId>> {
    rows.map(|row| match batch.value(row) {
        Value::Vertex(id) => Ok(id),
        other => Err(type_error(what, "vertices", &other)),
    })
    .collect()
}

/// The edges of a batch.
pub fn edges_of(batch: &Batch, what: &str) -> Result<Vec<EdgeRef>> {
    (0..batch.len())
        .map(|row| match batch.value(row) {
            Value::Edge(edge) => Ok(edge),
            other => Err(type_error(what, "edges", &other)),
        })
        .collect()
}

/// `outV`, `inV`, `bothV`, `otherV`.
pub struct EndOp(pub EndOf);

impl MapBatch for EndOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let edges = match batch.edges() {
            Some(edges) => edges.to_vec(),
            None => edges_of(&batch, "a step to the end of an edge")?,
        };
        let mode = cx.mode();
        let ends = match self.0 {
            EndOf::Out => edges.iter().map(|e| e.source).collect(),
            EndOf::In => edges.iter().map(|e| e.target).collect(),
            EndOf::Other => edges.iter().enumerate().map(|(row, e)| other_end(&batch, row, e)).collect::<Result<_>>()?,
            EndOf::Both => {
                let rows: Vec<u32> = (0..edges.len() as u32).flat_map(|row| [row, row]).collect();
                let ends = edges.iter().flat_map(|e| [e.source, e.target]).collect();
                return Ok(batch.moved(&rows, Items::Vertices(ends), mode));
            }
        };
        Ok(batch.moved_in_place(Items::Vertices(ends), mode))
    }
}

/// The end of the edge that is not the last vertex of the path.
fn other_end(batch: &Batch, row: usize, edge: &EdgeRef) -> Result<VertexId> {
    let before = path::iter(batch.path(row)).skip(1).find_map(|node| match node.object {
        Value::Vertex(id) => Some(id),
        _ => None,
    });
    match before {
        Some(vertex) => Ok(if vertex == edge.source { edge.target } else { edge.source }),
        None => Err(QueryError::value(
            "otherV() gives the end of an edge that the traverser did not come from, but it has visited no \
                                   vertex before",
        )
        .help("outV(), inV() and bothV() give the ends of any edge")),
    }
}

/// A hop whose results are only counted. Each vertex gets its number of edges as bulk. The block headers have that number, so no
/// edge is read.
pub struct DegreeOp {
    hop: Hop,
    followed: Followed,
}

impl DegreeOp {
    pub fn new(direction: Direction, followed: Followed) -> Self {
        Self { hop: Hop::along(direction, None, Wants::default()), followed }
    }
}

impl MapBatch for DegreeOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, mut batch: Batch) -> Result<Batch> {
        self.followed.look_up(cx, &mut self.hop);
        let ids = vertices_of(&batch, 0..batch.len(), "a step along edges")?;
        let mut degrees = Vec::with_capacity(ids.len());
        for ids in ids.chunks(if self.hop.filter.is_some() { FILTERED_ROWS_MAX } else { usize::MAX }) {
            cx.check()?;
            cx.view().degrees(ids, &self.hop, &mut degrees)?;
        }
        if let Some(bulk) = &batch.bulk {
            degrees.iter_mut().zip(bulk).for_each(|(degree, bulk)| *degree = degree.saturating_mul(*bulk));
        }
        let keep: Vec<bool> = degrees.iter().map(|n| *n > 0).collect();
        batch.bulk = Some(degrees);
        Ok(batch.filter(&keep))
    }
}

#[cfg(test)]
mod tests {
    use mangrove_graph::LabelId;

    use super::*;

    #[test]
    fn rows_of_near_and_far_vertices_come_in_storage_order() {
        let near = |row: u64| VertexId::new(LabelId(3), 0, 1_000_000 + row * row * 31 % 97);
        let far = |row: u64| VertexId::new(LabelId((row * 7 % 5) as u16), 0, row * row * 31 % 97);
        for of in [&near as &dyn Fn(u64) -> VertexId, &far] {
            let ids: Vec<VertexId> = (0..500).map(of).collect();
            let mut expected: Vec<u32> = (0..500).collect();
            expected.sort_by_key(|row| ids[*row as usize]);
            assert_eq!(rows_as_stored(&ids, span(&ids)), expected);
        }
    }
}
