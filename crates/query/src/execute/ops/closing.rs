//! `where(out('l').where(eq('a')))`: whether an edge closes a circle, back to what `as('a')` named.
//!
//! The edges of a batch are followed at once, and each neighbour is compared with the vertex of its row. Nothing that the traversers
//! carry is copied for that.

use mangrove_graph::{Adjacency, Comparison, Direction, Hop, Wants};

use crate::error::Result;
use crate::execute::data::batch::Batch;
use crate::execute::data::items::Items;
use crate::execute::ops::filter::WhereOp;
use crate::execute::ops::hop::{FIRST_ROWS, next_rows};
use crate::execute::run::chain::MapBatch;
use crate::execute::run::context::{Context, EdgeLabels};
use crate::execute::run::scope::scope_items;
use crate::plan::{LabelPredicate, Name, RangeTest, Step, StepNode, Traversal};

pub struct ClosingOp {
    /// For traversers that are no vertices, and for names that are no vertices.
    general: WhereOp,
    direction: Direction,
    labels: EdgeLabels,
    name: Name,
    /// The comparison is `eq`, not `neq`.
    equal: bool,
    /// Rows to follow next, chosen by the number of edges that earlier rows had.
    rows: usize,
}

impl ClosingOp {
    /// The operator of a `where()` that has this form. Otherwise it gives back the general one.
    pub fn of(child: &Traversal, general: WhereOp) -> std::result::Result<Self, WhereOp> {
        let [StepNode { step: hop, labels: a, .. }, StepNode { step: test, labels: b, .. }] = &child.steps[..] else {
            return Err(general);
        };
        let Step::Hop { direction, labels, to_edges: false, filter: None, limit: None, latest: None, .. } = hop else {
            return Err(general);
        };
        let (Step::WhereLabels { start: None, predicate, by }, true) = (test, a.is_empty() && b.is_empty()) else {
            return Err(general);
        };
        match predicate {
            LabelPredicate::Test(RangeTest::Compare(comparison @ (Comparison::Eq | Comparison::Neq)), names)
                if by.is_empty() && names.len() == 1 =>
            {
                let (labels, equal) = (EdgeLabels::new(labels.clone()), *comparison == Comparison::Eq);
                Ok(Self { general, direction: *direction, labels, name: names[0].clone(), equal, rows: FIRST_ROWS })
            }
            _ => Err(general),
        }
    }

    /// Which rows have such an edge; `None` if they must be asked in the general way.
    fn closed(&mut self, cx: &mut Context<'_, '_>, batch: &Batch) -> Result<Option<Vec<bool>>> {
        let (Some(from), Some(Items::Vertices(named))) = (batch.vertices(), scope_items(cx, batch, &self.name)) else {
            return Ok(None);
        };
        let wants = Wants { rows: true, neighbors: true, edges: false };
        let hop = Hop::along(self.direction, self.labels.ids(cx), wants);
        self.rows = self.rows.max(cx.view().distance().rows_min);
        let (mut closed, mut found, mut start) = (vec![false; from.len()], Adjacency::default(), 0);
        while start < from.len() {
            cx.check()?;
            let end = from.len().min(start + self.rows);
            found.clear();
            cx.view().neighbors(&from[start..end], &hop, &mut found)?;
            for (row, neighbor) in found.rows.iter().zip(&found.neighbors) {
                let row = start + *row as usize;
                closed[row] |= (*neighbor == named[row]) == self.equal;
            }
            self.rows = next_rows(end - start, found.rows.len(), self.rows);
            start = end;
        }
        Ok(Some(closed))
    }
}

impl MapBatch for ClosingOp {
    fn map(&mut self, cx: &mut Context<'_, '_>, batch: Batch) -> Result<Batch> {
        let Some(mut keep) = self.closed(cx, &batch)? else { return self.general.map(cx, batch) };
        keep.iter_mut().for_each(|keep| *keep ^= self.general.negated);
        Ok(batch.filter(&keep))
    }
}
