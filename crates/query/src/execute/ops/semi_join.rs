//! Answers `where(out('l').has('k', x))` from its end.
//!
//! ```text
//!   forwards:   each vertex ──▶ its neighbours ──▶ has x?
//!   backwards:  vertices with x ──▶ their neighbours: the set of all vertices that pass
//! ```
//! Forwards costs a hop for each row. Backwards costs the search for `x` and a hop for each vertex found, once. So the operator goes
//! forwards until it has seen so many rows that the search is cheap beside them. If the set turns out large, it gives up and goes
//! forwards for good. That is a semi-join that chooses its side while it runs.

use mangrove_graph::{Adjacency, Direction, ElementKind, Hop, LabelId, Value, Wants};

use crate::access;
use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::ops::filter::WhereOp;
use crate::execute::ops::set::VertexSet;
use crate::execute::run::chain::{Child, MapBatch, Once};
use crate::execute::run::context::{Context, EdgeLabels, Key};
use crate::execute::run::memory::Held;
use crate::plan::{Step, Traversal};

/// Going forwards with a row costs as much as looking at so many elements in a scan.
const SCANNED_PER_ROW: u64 = 16;
/// Fewer rows go forwards, whatever the search costs.
const ROWS_MIN: u64 = 64;
/// The most vertices that lead to the end, for each row seen so far.
const FOUND_PER_ROW: u64 = 8;
/// Vertices whose edges are followed backwards together.
const ENDS_AT_ONCE: usize = 256;

pub struct SemiJoinOp {
    forwards: WhereOp,
    ends: Child,
    /// What the ends are found by, to tell what that costs.
    keys: Vec<(Key, mangrove_graph::Predicate)>,
    labels: EdgeLabels,
    /// From the ends to the rows.
    back: Direction,
    /// Rows seen so far.
    rows: u64,
    passing: Passing,
    held: Held,
}

enum Passing {
    Unknown,
    Vertices(VertexSet),
    /// Too many to hold.
    Many,
}

impl SemiJoinOp {
    /// `child` begins with the hop of the forward way, and `ends` with the search of the other. Without these there is only one way.
    pub fn of(child: &Traversal, ends: (&Traversal, Child), forwards: WhereOp) -> std::result::Result<Self, WhereOp> {
        let hop = child.steps.first().map(|node| &node.step);
        let scan = ends.0.steps.first().map(|node| &node.step);
        let (Some(Step::Hop { direction, labels, .. }), Some(Step::Scan { filters, ids, .. })) = (hop, scan) else {
            return Err(forwards);
        };
        let by_id = ids.is_some();
        let keys = filters.iter().map(|(name, predicate)| (Key::new(name.clone()), predicate.clone()));
        Ok(Self {
            forwards,
            ends: ends.1,
            keys: if by_id { Vec::new() } else { keys.collect() },
            labels: EdgeLabels::new(labels.clone()),
            back: direction.reverse(),
            rows: 0,
            passing: Passing::Unknown,
            held: Held::default(),
        })
    }

    /// The elements that the search for the ends looks at, about.
    fn search_cost(&mut self, cx: &mut Context<'_, '_>) -> Result<u64> {
        let mut filters = Vec::with_capacity(self.keys.len());
        for (key, predicate) in &mut self.keys {
            let Some(id) = key.id(cx) else { return Ok(0) };
            filters.push((id, &*predicate));
        }
        let Some((first, _)) = filters.first() else { return Ok(0) };
        let view = cx.view();
        let labels: Vec<LabelId> = (0..view.schema().vertex_labels.len() as u16).map(LabelId).collect();
        if access::narrowest(view, ElementKind::Vertex, &labels, &filters)?.is_some() {
            return Ok(0);
        }
        let with_key: Vec<LabelId> = access::with_key(view, ElementKind::Vertex, &labels, *first).collect();
        Ok(access::stored_count(&*view.statistics()?, ElementKind::Vertex, Some(&with_key)))
    }

    /// All vertices that pass; too many if they are more than `found_max`.
    fn find(&mut self, cx: &mut Context<'_, '_>, found_max: u64) -> Result<Passing> {
        let (mut set, mut found, mut count) = (VertexSet::default(), Adjacency::default(), 0);
        let hop = Hop::along(self.back, self.labels.ids(cx), Wants { neighbors: true, ..Wants::default() });
        self.ends.begin(1);
        let mut start = Once::new(Batch::new(Items::Values(vec![Value::Null])));
        while let Some(ends) = self.ends.pull(cx, &mut start)? {
            let Some(ends) = ends.vertices() else { return Ok(Passing::Many) };
            for ends in ends.chunks(ENDS_AT_ONCE) {
                cx.check()?;
                let mut degrees = Vec::with_capacity(ends.len());
                cx.view().degrees(ends, &hop, &mut degrees)?;
                count += degrees.iter().sum::<u64>();
                if count > found_max {
                    return Ok(Passing::Many);
                }
                found.clear();
                cx.view().neighbors(ends, &hop, &mut found)?;
                found.neighbors.iter().for_each(|vertex| _ = set.insert(*vertex));
            }
        }
        self.held.clear();
        self.held.add(cx, set.bytes())?;
        Ok(Passing::Vertices(set))
    }

    /// Whether the set is there to answer with. Makes it once that pays.
    fn is_known(&mut self, cx: &mut Context<'_, '_>) -> Result<bool> {
        if let Passing::Unknown = self.passing
            && self.rows >= ROWS_MIN
            && self.rows >= self.search_cost(cx)? / SCANNED_PER_ROW
        {
            self.passing = self.find(cx, self.rows.saturating_mul(FOUND_PER_ROW))?;
        }
        Ok(matches!(self.passing, Passing::Vertices(_)))
    }
}

impl MapBatch for SemiJoinOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        self.rows = self.rows.saturating_add(batch.len() as u64);
        let vertices = batch.vertices().is_some();
        // A query that writes may change what passes.
        let is_known = vertices && !cx.writes() && self.is_known(cx)?;
        let (Passing::Vertices(set), Some(vertices), true) = (&self.passing, batch.vertices(), is_known) else {
            return self.forwards.map(cx, batch);
        };
        let keep: Vec<bool> = vertices.iter().map(|vertex| set.contains(*vertex) != self.forwards.negated).collect();
        Ok(batch.filter(&keep))
    }
}
