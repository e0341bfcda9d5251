//! Edges sorted by an end, where no file has them so: an index is made, once.

use mangrove_graph::ReadContext;
use mangrove_ingest::{Phase, Progress, Status};

use super::lazy::Lazy;
use super::{EdgeType, Lake, Layout, Lists};
use crate::error::{LakeError, Result};
use crate::index::{Ends, ListsIndex};
use crate::info::Side;

/// Made when a hop first needs it.
pub type LazyLists = Lazy<ListsIndex>;

/// Edges that are read at a time.
const AT_ONCE: u64 = 1 << 18;
/// An index numbers rows with 32 bits.
const ROWS_MAX: u64 = u32::MAX as u64;

impl EdgeType {
    /// Fails if an index cannot number all rows.
    pub(super) fn fits_an_index(&self) -> Result<()> {
        match self.places() > ROWS_MAX || self.ends.iter().any(|rows| *rows > ROWS_MAX) {
            true => {
                let reason = format!("a type of edges with more than {ROWS_MAX} rows cannot be followed");
                Err(LakeError::Unsupported(reason))
            }
            false => Ok(()),
        }
    }
}

impl Lake {
    /// The edges of a type sorted by an end. The first call reads the ends of all its edges, unless an index is there.
    pub(super) fn sorted(
        &self,
        of: &EdgeType,
        side: Side,
        limits: Option<&ReadContext>,
    ) -> Result<std::sync::Arc<ListsIndex>> {
        of.sorted[side as usize].get(limits, || {
            let description = format!("{}\nlists by {side:?}", self.describe(of)?);
            if let Some(found) = self.indexes.open(&description) {
                return Ok(ListsIndex::new(found));
            }
            let ends = self.all_ends(of, limits)?;
            let [sources, targets] = &ends;
            let both = if side == Side::Source { (&sources[..], &targets[..]) } else { (&targets[..], &sources[..]) };
            let rows = of.vertices(side);
            tracing::info!(edges = sources.len(), side = ?side, "making an index of edges");
            Ok(ListsIndex::new(self.indexes.write(&description, |writer| ListsIndex::write(writer, rows, both, limits))?))
        })
    }

    /// Makes all indexes that hops would make. Returns how many types of edges have one.
    pub fn index_edges(&self, limits: Option<&ReadContext>, progress: &mut dyn Progress) -> Result<u64> {
        self.indexes.must_keep()?;
        let (mut types, mut rows) = (0, 0);
        for of in &self.edges {
            let sides: Vec<Side> =
                [Side::Source, Side::Target].into_iter().filter(|side| of.sorted_by(*side).is_none()).collect();
            types += u64::from(!sides.is_empty());
            if let Layout::Tables(tables) = &of.layout {
                self.ends_index(of, tables, limits)?;
            }
            for side in sides {
                progress.update(&Status { phase: Phase::Edges, rows, ..Status::default() });
                if progress.cancelled() {
                    return Err(LakeError::Cancelled);
                }
                self.sorted(of, side, limits)?;
            }
            rows += of.places();
        }
        progress.update(&Status { phase: Phase::Edges, rows, ..Status::default() });
        Ok(types)
    }

    /// The rows of both ends of all edges, by place.
    fn all_ends(&self, of: &EdgeType, limits: Option<&ReadContext>) -> Result<Ends> {
        if of.places() > ROWS_MAX || of.ends.iter().any(|rows| *rows > ROWS_MAX) {
            return Err(LakeError::Unsupported(format!(
                "a type of edges with more than {ROWS_MAX} rows cannot be followed"
            )));
        }
        match &of.layout {
            Layout::Tables(tables) => self.all_ends_of_tables(of, tables, limits),
            Layout::Lists(lists) => {
                let mut ends: Ends = Default::default();
                for first in (0..of.places()).step_by(AT_ONCE as usize) {
                    limits.map_or(Ok(()), ReadContext::check)?;
                    let runs = lists.first.runs_of(first..of.places().min(first + AT_ONCE));
                    for (all, side) in ends.iter_mut().zip([Side::Source, Side::Target]) {
                        let found = of.ends_of(&self.tables, (lists, &lists.first), &runs, side, limits)?;
                        all.extend(found.into_iter().map(|row| row as u32));
                    }
                }
                Ok(ends)
            }
        }
    }

    /// What an index of these edges is made from: files with their versions, and how they are read.
    fn describe(&self, of: &EdgeType) -> Result<String> {
        match &of.layout {
            Layout::Tables(tables) => self.describe_tables(of, tables),
            Layout::Lists(lists) => self.describe_list(of, lists),
        }
    }

    fn describe_list(&self, of: &EdgeType, lists: &Lists) -> Result<String> {
        let paths: Vec<_> = lists.first.files(lists.info.chunk_size).collect();
        Ok(format!(
            "edges of a list, 1\n{}\n{:?} {:?} {:?}\n{}",
            self.tables.files.full_place(),
            lists.first.order,
            of.ends,
            lists.first.starts,
            self.describe_files(&paths, None)?
        ))
    }
}
