//! Further labels of vertices: for each label, which vertices of a chunk have it.
//!
//! Files hold a column of truth values for each label, as run lengths. Here a column is a list of intervals (VLDB'24, §5.1), so that
//! a condition is tested once for each interval and not for each vertex (§5.2). A column with very many intervals is kept as bits,
//! which take less memory then and are quicker to ask.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use hashbrown::HashMap;
use mangrove_graph::{LabelId, LabelTest, ReadContext, VertexId};

use super::{Lake, VertexFiles, VertexType};
use crate::error::{LakeError, Result};
use crate::pages::{self, RowGroup, Table, common, either, others};

/// The vertices of a chunk that have a label.
pub enum Flags {
    /// Where intervals begin and end, in turn: the first begins with a vertex that has the label.
    Intervals(Vec<u32>),
    Bits(BooleanBuffer),
}

/// The labels of the chunks that were read, by chunk and by the number of their column. At most one bit for each vertex and label.
pub type Chunks = Mutex<HashMap<(u64, usize), Arc<Flags>>>;

/// Chunks that a scan of far files reads with the one it needs.
const CHUNKS_AHEAD: u64 = 15;

/// What two sorted lists of runs make.
type OfRuns = fn(&[Range<u64>], &[Range<u64>]) -> Vec<Range<u64>>;

/// Fewer rows than this to an interval, on average, are kept as bits.
const ROWS_PER_INTERVAL: usize = 64;

impl Flags {
    pub fn of(bits: &BooleanBuffer) -> Self {
        let mut bounds = Vec::new();
        for (start, end) in bits.set_slices() {
            bounds.extend([start as u32, end as u32]);
            if bounds.len() / 2 * ROWS_PER_INTERVAL > bits.len() {
                return Flags::Bits(bits.clone());
            }
        }
        Flags::Intervals(bounds)
    }

    /// Whether a vertex has the label. O(log intervals), or O(1) for bits.
    pub fn has(&self, row: usize) -> bool {
        match self {
            Flags::Bits(bits) => bits.value(row),
            // Inside an interval, an odd number of bounds lies before.
            Flags::Intervals(bounds) => bounds.partition_point(|bound| *bound as usize <= row) % 2 == 1,
        }
    }

    /// The flags made of two, on intervals if both are intervals, else on bits.
    fn joined(
        &self,
        other: &Flags,
        rows: usize,
        of_runs: OfRuns,
        of_bits: fn(&BooleanBuffer, &BooleanBuffer) -> BooleanBuffer,
    ) -> Flags {
        match (self, other) {
            (Flags::Intervals(_), Flags::Intervals(_)) => Flags::of_runs(&of_runs(&self.runs(), &other.runs())),
            _ => Flags::Bits(of_bits(&self.bits(rows), &other.bits(rows))),
        }
    }

    /// The vertices that do not have the label.
    fn inverted(&self, rows: usize) -> Flags {
        match self {
            Flags::Intervals(_) => Flags::of_runs(&others(&self.runs(), rows as u64)),
            Flags::Bits(bits) => Flags::Bits(!bits),
        }
    }

    fn of_runs(runs: &[Range<u64>]) -> Flags {
        Flags::Intervals(runs.iter().flat_map(|run| [run.start as u32, run.end as u32]).collect())
    }

    fn bits(&self, rows: usize) -> BooleanBuffer {
        let bounds = match self {
            Flags::Intervals(bounds) => bounds,
            Flags::Bits(bits) => return bits.clone(),
        };
        let (mut bits, mut end) = (BooleanBufferBuilder::new(rows), 0);
        for pair in bounds.chunks_exact(2) {
            bits.append_n((pair[0] - end) as usize, false);
            bits.append_n((pair[1] - pair[0]) as usize, true);
            end = pair[1];
        }
        bits.append_n(rows - end as usize, false);
        bits.finish()
    }

    /// How many vertices have the label.
    pub fn count(&self) -> u64 {
        match self {
            Flags::Bits(bits) => bits.count_set_bits() as u64,
            Flags::Intervals(bounds) => bounds.chunks_exact(2).map(|pair| u64::from(pair[1] - pair[0])).sum(),
        }
    }

    /// The intervals of vertices that have the label.
    pub fn runs(&self) -> Vec<Range<u64>> {
        match self {
            Flags::Bits(bits) => bits.set_slices().map(|(start, end)| start as u64..end as u64).collect(),
            Flags::Intervals(bounds) => bounds.chunks_exact(2).map(|pair| u64::from(pair[0])..u64::from(pair[1])).collect(),
        }
    }
}

impl Lake {
    /// The further labels of each vertex, sorted.
    pub(super) fn further_labels(&self, vertices: &[VertexId], limits: Option<&ReadContext>) -> Result<Vec<Vec<LabelId>>> {
        let mut all = Vec::with_capacity(vertices.len());
        let mut last: Option<(LabelId, u64, Vec<Arc<Flags>>)> = None;
        for vertex in vertices {
            let (label, local) = (vertex.label(), vertex.local());
            let Some(of) = self.vertex_type(label).filter(|of| !of.labels.is_empty() && local < of.rows.count()) else {
                all.push(Vec::new());
                continue;
            };
            let chunk = of.rows.chunk_of(local);
            let flags = match &last {
                Some((of, at, flags)) if (*of, *at) == (label, chunk) => flags,
                _ => &last.insert((label, chunk, self.flags(of, chunk, 0..of.labels.len(), 0, limits)?)).2,
            };
            let row = (local - of.rows.locals(chunk).start) as usize;
            let mut labels: Vec<LabelId> =
                of.labels.iter().zip(flags.iter()).filter(|(_, flags)| flags.has(row)).map(|(label, _)| *label).collect();
            labels.sort_unstable();
            // A file may repeat a label, or name the type itself.
            labels.dedup();
            labels.retain(|further| *further != label);
            all.push(labels);
        }
        Ok(all)
    }

    /// The vertices of a chunk that pass tests of their further labels. O(intervals) for each label that is tested, or O(vertices / 64)
    /// where there are very many.
    pub(super) fn labelled(
        &self,
        of: &VertexType,
        chunk: u64,
        tests: &[LabelTest],
        limits: Option<&ReadContext>,
    ) -> Result<Flags> {
        let rows = of.rows_of(chunk) as usize;
        let ahead = if self.is_far() { CHUNKS_AHEAD } else { 0 };
        let columns_of =
            |test: &LabelTest| (0..of.labels.len()).filter(|at| test.labels.contains(&of.labels[*at])).collect();
        let columns: Vec<Vec<usize>> = tests.iter().map(columns_of).collect();
        let mut flags = self.flags(of, chunk, columns.iter().flatten().copied(), ahead, limits)?.into_iter();
        let mut passing = Flags::Intervals(vec![0, rows as u32]);
        for (test, columns) in tests.iter().zip(&columns) {
            let none = Flags::Intervals(Vec::new());
            let own = flags.by_ref().take(columns.len());
            let some = own.fold(none, |some, flags| some.joined(&flags, rows, either, |a, b| a | b));
            let passes = if test.is_negated { some.inverted(rows) } else { some };
            passing = passing.joined(&passes, rows, common, |a, b| a & b);
        }
        Ok(passing)
    }

    /// How many vertices of a type pass tests of their further labels.
    pub(super) fn count_labelled(&self, of: &VertexType, tests: &[LabelTest], limits: Option<&ReadContext>) -> Result<u64> {
        let count = |chunk| {
            limits.map_or(Ok(()), ReadContext::check)?;
            Ok(self.labelled(of, chunk, tests, limits)?.count())
        };
        (0..of.rows.chunks()).map(count).sum()
    }

    /// Which vertices of a chunk have each of some labels, which are named by the number of their column. Reads each once, and those of
    /// `ahead` further chunks with it.
    fn flags(
        &self,
        of: &VertexType,
        chunk: u64,
        columns: impl IntoIterator<Item = usize> + Clone,
        ahead: u64,
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Arc<Flags>>> {
        // A panic leaves columns that are whole.
        let kept = || of.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<usize> = {
            let kept = kept();
            columns.clone().into_iter().filter(|column| !kept.contains_key(&(chunk, *column))).collect()
        };
        if !missing.is_empty() {
            let chunks = chunk..of.rows.chunks().min(chunk + 1 + ahead);
            let read = self.read_flags(of, chunks.clone(), &missing, limits)?;
            let mut kept = kept();
            for (chunk, of_chunk) in chunks.zip(read) {
                for (column, flags) in missing.iter().zip(of_chunk) {
                    kept.entry((chunk, *column)).or_insert_with(|| Arc::new(flags));
                }
            }
        }
        let kept = kept();
        Ok(columns.into_iter().filter_map(|column| kept.get(&(chunk, column)).cloned()).collect())
    }

    /// The columns of some labels in each of some chunks, which are read together.
    fn read_flags(
        &self,
        of: &VertexType,
        chunks: Range<u64>,
        labels: &[usize],
        limits: Option<&ReadContext>,
    ) -> Result<Vec<Vec<Flags>>> {
        let paths: Vec<Arc<str>> = chunks.clone().filter_map(|chunk| of.labels_file(chunk)).collect();
        let tables = self.tables.at(&paths, limits)?;
        let mut places = Vec::with_capacity(tables.len());
        for (table, chunk) in tables.iter().zip(chunks) {
            table.must_have(&self.tables.files, of.rows_of(chunk))?;
            places.push(self.places_of(of, table, labels)?);
        }
        let groups = |(table, columns): (&'_ Arc<Table>, &'_ Vec<usize>)| {
            (0..table.row_groups()).map(|group| (table.clone(), group, columns.clone())).collect::<Vec<_>>()
        };
        let groups: Vec<_> = tables.iter().zip(&places).flat_map(groups).collect();
        let wanted: Vec<RowGroup<'_>> =
            groups.iter().map(|(table, group, columns)| RowGroup { table, group: *group, columns }).collect();
        let mut found = pages::truth_of_row_groups(&self.tables.files, &wanted, limits)?.into_iter();
        tables.iter().map(|table| self.flags_of(table, labels.len(), found.by_ref().take(table.row_groups()))).collect()
    }

    /// The columns of some labels in a file: all by name, or all by place. The C++ library finds them by their order; so do we, if a
    /// name is missing.
    fn places_of(&self, of: &VertexType, table: &Table, labels: &[usize]) -> Result<Vec<usize>> {
        let VertexFiles::GraphAr { info, .. } = &of.files else { return Ok(Vec::new()) };
        let are_named = info.labels.iter().all(|label| table.column(label).is_some());
        let place = |at: &usize| {
            let label = &info.labels[*at];
            let place = table.column(label).filter(|_| are_named).map_or(*at, |(place, _)| place);
            let name = || self.tables.files.name(table.path());
            let missing = || LakeError::damaged(&name(), format!("it has no column `{label}`"));
            (place < table.columns()).then_some(place).ok_or_else(missing)
        };
        labels.iter().map(place).collect()
    }

    /// The flags of some labels in a file, from the columns of its row groups.
    fn flags_of(
        &self,
        table: &Table,
        labels: usize,
        groups: impl Iterator<Item = Vec<Option<BooleanBuffer>>>,
    ) -> Result<Vec<Flags>> {
        let name = || self.tables.files.name(table.path());
        let wrong = || LakeError::damaged(&name(), "a label holds other things than truth values");
        let mut parts: Vec<Vec<BooleanBuffer>> = vec![Vec::new(); labels];
        for columns in groups {
            for (parts, column) in parts.iter_mut().zip(columns) {
                parts.push(column.ok_or_else(wrong)?);
            }
        }
        Ok(parts.iter().map(|parts| Flags::of(&joined(parts, table.rows() as usize))).collect())
    }
}

/// Bits one after the other.
fn joined(parts: &[BooleanBuffer], rows: usize) -> BooleanBuffer {
    if let [only] = parts {
        return only.clone();
    }
    let mut all = BooleanBufferBuilder::new(rows);
    parts.iter().for_each(|part| all.append_buffer(part));
    all.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_and_bits_say_the_same() {
        let clustered: Vec<bool> = (0..1000).map(|row| (200..420).contains(&row) || row >= 900).collect();
        let scattered: Vec<bool> = (0..1000).map(|row| row * 7 % 3 == 0).collect();
        for (values, is_intervals) in
            [(clustered, true), (scattered, false), (vec![false; 9], true), (vec![true; 640], true)]
        {
            let flags = Flags::of(&values.iter().copied().collect());
            assert_eq!(matches!(flags, Flags::Intervals(_)), is_intervals);
            assert!(values.iter().enumerate().all(|(row, value)| flags.has(row) == *value));
            let rows = values.len();
            let inverted = flags.inverted(rows);
            assert!((0..rows).all(|row| inverted.has(row) != flags.has(row)));
            let both = flags.joined(&Flags::of(&!&inverted.bits(rows)), rows, common, |a, b| a & b);
            assert_eq!(both.count(), flags.count());
            assert_eq!(flags.joined(&inverted, rows, either, |a, b| a | b).count(), rows as u64);
            let from_runs: Vec<u64> = flags.runs().into_iter().flatten().collect();
            let expected: Vec<u64> = (0..).zip(&values).filter(|(_, value)| **value).map(|(row, _)| row).collect();
            assert_eq!(from_runs, expected);
        }
    }
}
