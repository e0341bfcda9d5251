//! Filters of rows: which rows of tables are elements.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::Array;
use arrow_buffer::BooleanBufferBuilder;
use hashbrown::HashMap;
use mangrove_graph::ReadContext;
use mangrove_ingest::Test;

use super::columns::Column;
use super::labels::Flags;
use super::{Lake, VertexType};
use crate::error::Result;
use crate::pages::{self, Table, Wanted, common};

/// Rows that are tested at a time.
const WINDOW: u64 = 1 << 18;

/// Tests that all have to pass, and the rows of the files that were tested.
#[derive(Default)]
pub struct Filters {
    pub tests: Vec<(Column, Test)>,
    tested: Mutex<HashMap<Arc<str>, Arc<Flags>>>,
}

impl Filters {
    pub fn new(tests: Vec<(Column, Test)>) -> Self {
        Self { tests, ..Self::default() }
    }

    pub fn are_none(&self) -> bool {
        self.tests.is_empty()
    }
}

impl Lake {
    /// The rows of a file that pass; `None` if there is nothing to test. Reads the columns once, where their bounds do not tell.
    pub(super) fn selected(
        &self,
        filters: &Filters,
        path: &Arc<str>,
        limits: Option<&ReadContext>,
    ) -> Result<Option<Arc<Flags>>> {
        if filters.are_none() {
            return Ok(None);
        }
        // A panic leaves files that are whole.
        let tested = || filters.tested.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tested().get(path) {
            return Ok(Some(known.clone()));
        }
        let Some(table) = self.tables.at(std::slice::from_ref(path), limits)?.pop() else { return Ok(None) };
        let mut bits = BooleanBufferBuilder::new(table.rows() as usize);
        for start in (0..table.rows()).step_by(WINDOW as usize) {
            let window = start..table.rows().min(start + WINDOW);
            for run in self.selected_within(filters, path, &table, window.clone(), limits)? {
                bits.append_n((run.start as usize).saturating_sub(bits.len()), false);
                bits.append_n((run.end - run.start) as usize, true);
            }
            bits.append_n(window.end as usize - bits.len(), false);
        }
        let flags = Arc::new(Flags::of(&bits.finish()));
        Ok(Some(tested().entry(path.clone()).or_insert(flags).clone()))
    }

    /// The rows among some of a file that pass, as runs.
    fn selected_within(
        &self,
        filters: &Filters,
        path: &Arc<str>,
        table: &Table,
        window: Range<u64>,
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Range<u64>>> {
        let mut runs: Vec<Range<u64>> = std::iter::once(window).collect();
        for (column, test) in &filters.tests {
            let rows: Vec<u64> = match test {
                Test::Passes(predicate) => {
                    let may = self.rows_that_may(path.clone(), column, predicate, limits)?;
                    common(&runs, &may).into_iter().flatten().collect()
                }
                Test::IsNull | Test::IsNotNull => runs.iter().cloned().flatten().collect(),
            };
            let wanted = Wanted { table, column: self.place_of(table, column)?, rows: &rows };
            let Some(array) = pages::read(&self.tables.files, &self.tables.pages, &[wanted], limits)?.pop() else { break };
            let keep = match test {
                Test::Passes(predicate) => column.values(self.as_declared(path, column, array)?).passes(predicate),
                Test::IsNull => (0..array.len()).map(|row| array.is_null(row)).collect(),
                Test::IsNotNull => (0..array.len()).map(|row| array.is_valid(row)).collect(),
            };
            runs = runs_of(&rows, &keep);
        }
        Ok(runs)
    }

    /// The rows of a chunk of vertices that are vertices; `None` for all.
    pub(super) fn selected_vertices(
        &self,
        of: &VertexType,
        chunk: u64,
        limits: Option<&ReadContext>,
    ) -> Result<Option<Arc<Flags>>> {
        match of.filters.are_none() {
            true => Ok(None),
            false => self.selected(&of.filters, &of.file(0, chunk), limits),
        }
    }

    /// How many vertices a type has.
    pub(super) fn count_of(&self, of: &VertexType, limits: Option<&ReadContext>) -> Result<u64> {
        if of.filters.are_none() {
            return Ok(of.rows.count());
        }
        let mut count = 0;
        for chunk in 0..of.rows.chunks() {
            let flags = self.selected_vertices(of, chunk, limits)?;
            count += flags.map_or(of.rows_of(chunk), |flags| flags.count());
        }
        Ok(count)
    }
}

/// The rows that are kept, as runs.
fn runs_of(rows: &[u64], keep: &[bool]) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for row in rows.iter().zip(keep).filter(|(_, keep)| **keep).map(|(row, _)| *row) {
        match runs.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}
