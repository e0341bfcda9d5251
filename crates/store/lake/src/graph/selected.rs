//! Filters of rows: which rows of tables are elements.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::BooleanBufferBuilder;
use hashbrown::HashMap;
use mangrove_graph::{Predicate, ReadContext};

use super::columns::Column;
use super::labels::Flags;
use super::{Lake, VertexType};
use crate::error::Result;
use crate::pages::{self, Wanted, common};

/// Tests that all have to pass, and the rows of the files that were tested.
#[derive(Default)]
pub struct Filters {
    pub tests: Vec<(Column, Predicate)>,
    tested: Mutex<HashMap<Arc<str>, Arc<Flags>>>,
}

impl Filters {
    pub fn new(tests: Vec<(Column, Predicate)>) -> Self {
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
        let mut runs: Vec<std::ops::Range<u64>> = std::iter::once(0..table.rows()).collect();
        for (column, predicate) in &filters.tests {
            let may = self.rows_that_may(path.clone(), column, predicate, limits)?;
            let rows: Vec<u64> = common(&runs, &may).into_iter().flatten().collect();
            let at = self.place_of(&table, column)?;
            let wanted = Wanted { table: &table, column: at, rows: &rows };
            let mut found = pages::read(&self.tables.files, &self.tables.pages, &[wanted], limits)?;
            let Some(array) = found.pop() else { break };
            let values = column.values(self.as_declared(path, column, array)?);
            runs = runs_of(&rows, &values.passes(predicate));
        }
        let mut bits = BooleanBufferBuilder::new(table.rows() as usize);
        for run in &runs {
            bits.append_n((run.start as usize).saturating_sub(bits.len()), false);
            bits.append_n((run.end - run.start) as usize, true);
        }
        bits.append_n(table.rows() as usize - bits.len(), false);
        let flags = Arc::new(Flags::of(&bits.finish()));
        Ok(Some(tested().entry(path.clone()).or_insert(flags).clone()))
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
fn runs_of(rows: &[u64], keep: &[bool]) -> Vec<std::ops::Range<u64>> {
    let mut runs: Vec<std::ops::Range<u64>> = Vec::new();
    for row in rows.iter().zip(keep).filter(|(_, keep)| **keep).map(|(row, _)| *row) {
        match runs.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}
