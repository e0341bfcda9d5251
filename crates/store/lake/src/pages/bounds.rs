//! Which rows may pass a test, by the least and greatest value of each page or row group.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{Array, ArrayRef};
use mangrove_graph::{Comparison, Predicate, Value};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;

use super::Table;

/// The bounds of the values in some runs of rows.
pub struct Bounds {
    /// Counted from the first row of the file.
    rows: Vec<Range<u64>>,
    mins: ArrayRef,
    maxes: ArrayRef,
}

impl Table {
    /// The bounds of a column by page, or else by row group; `None` if the file does not have them. O(pages).
    pub fn bounds(&self, column: usize) -> Option<Bounds> {
        // Bounds that cannot be read rule nothing out. The pages themselves are read with more care.
        catch_unwind(AssertUnwindSafe(|| self.read_bounds(column))).ok().flatten()
    }

    fn read_bounds(&self, column: usize) -> Option<Bounds> {
        let metadata = self.metadata.metadata();
        let name = self.metadata.schema().fields().get(column)?.name();
        let converter = StatisticsConverter::try_new(name, self.metadata.schema(), self.metadata.parquet_schema()).ok()?;
        let (leaf, groups) = (self.leaf(column), metadata.num_row_groups());
        let indexes: Vec<usize> = (0..groups).collect();
        let has_pages = indexes.iter().all(|group| !self.pages(*group, leaf).is_empty());
        if let (Some(bounds), Some(offsets), true) = (metadata.column_index(), metadata.offset_index(), has_pages) {
            let mins = converter.data_page_mins(bounds, offsets, &indexes).ok()?;
            let maxes = converter.data_page_maxes(bounds, offsets, &indexes).ok()?;
            let rows = indexes.iter().flat_map(|group| self.page_rows(*group, leaf)).collect();
            return Some(Bounds { rows, mins, maxes });
        }
        let mins = converter.row_group_mins(metadata.row_groups()).ok()?;
        let maxes = converter.row_group_maxes(metadata.row_groups()).ok()?;
        Some(Bounds { rows: self.starts.windows(2).map(|pair| pair[0]..pair[1]).collect(), mins, maxes })
    }

    /// The least and the greatest value of a column, as arrays of one value; `None` if the file does not say.
    pub fn extremes(&self, column: usize) -> Option<(ArrayRef, ArrayRef)> {
        let Bounds { mins, maxes, .. } = self.bounds(column)?;
        let all: Vec<usize> = (0..mins.len()).filter(|at| mins.is_valid(*at) && maxes.is_valid(*at)).collect();
        let value = |array: &ArrayRef, at: usize| mangrove_graph::column::value_at(array, at);
        let by = |array: &ArrayRef, than: Comparison| {
            all.iter()
                .copied()
                .reduce(|a, b| if than.test(&value(array, b), &value(array, a)) == Some(true) { b } else { a })
        };
        Some((mins.slice(by(&mins, Comparison::Lt)?, 1), maxes.slice(by(&maxes, Comparison::Gt)?, 1)))
    }

    /// The rows of each page of a column of a row group.
    fn page_rows(&self, group: usize, leaf: usize) -> impl Iterator<Item = Range<u64>> {
        let (first, end, pages) = (self.starts[group], self.starts[group + 1], self.pages(group, leaf));
        let start = move |at: usize| pages.get(at).map_or(end, |page| first + page.first_row_index as u64);
        (0..pages.len()).map(move |at| start(at)..start(at + 1))
    }
}

impl Bounds {
    /// The rows that may hold a value that passes. `convert` gives bounds the form of values in the graph; without one, all rows may.
    pub fn may_pass(&self, predicate: &Predicate, convert: impl Fn(&ArrayRef) -> Option<ArrayRef>) -> Vec<Range<u64>> {
        let (Some(mins), Some(maxes)) = (convert(&self.mins), convert(&self.maxes)) else { return self.rows.clone() };
        if mins.len() != self.rows.len() || maxes.len() != self.rows.len() {
            return self.rows.clone();
        }
        let value = |array: &ArrayRef, at: usize| mangrove_graph::column::value_at(array, at);
        // A missing bound tells nothing.
        let may =
            |at: usize| mins.is_null(at) || maxes.is_null(at) || may_match(predicate, &value(&mins, at), &value(&maxes, at));
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (_, rows) in self.rows.iter().enumerate().filter(|(at, rows)| !rows.is_empty() && may(*at)) {
            match runs.last_mut() {
                Some(last) if last.end == rows.start => last.end = rows.end,
                _ => runs.push(rows.clone()),
            }
        }
        runs
    }
}

/// Whether a value between two bounds may match. If it cannot be told, it may.
fn may_match(predicate: &Predicate, min: &Value, max: &Value) -> bool {
    let is = |comparison: Comparison, a: &Value, b: &Value| comparison.test(a, b) == Some(true);
    let may_be = |value: &Value| !is(Comparison::Lt, value, min) && !is(Comparison::Gt, value, max);
    match predicate {
        Predicate::Compare(Comparison::Eq, value) => may_be(value),
        Predicate::Compare(Comparison::Lt, value) => !is(Comparison::Gte, min, value),
        Predicate::Compare(Comparison::Lte, value) => !is(Comparison::Gt, min, value),
        Predicate::Compare(Comparison::Gt, value) => !is(Comparison::Lte, max, value),
        Predicate::Compare(Comparison::Gte, value) => !is(Comparison::Lt, max, value),
        Predicate::Within(values) => values.iter().any(may_be),
        Predicate::And(parts) => parts.iter().all(|part| may_match(part, min, max)),
        Predicate::Or(parts) => parts.iter().any(|part| may_match(part, min, max)),
        _ => true,
    }
}

/// The rows that two sorted lists of runs have in common.
pub fn common(a: &[Range<u64>], b: &[Range<u64>]) -> Vec<Range<u64>> {
    let (mut at, mut other, mut runs) = (0, 0, Vec::new());
    while let (Some(one), Some(two)) = (a.get(at), b.get(other)) {
        let both = one.start.max(two.start)..one.end.min(two.end);
        if !both.is_empty() {
            runs.push(both);
        }
        if one.end <= two.end { at += 1 } else { other += 1 }
    }
    runs
}

/// The rows of one or both of two sorted lists of runs.
pub fn either(a: &[Range<u64>], b: &[Range<u64>]) -> Vec<Range<u64>> {
    let (mut at, mut other) = (0, 0);
    let mut runs: Vec<Range<u64>> = Vec::with_capacity(a.len() + b.len());
    loop {
        let next = match (a.get(at), b.get(other)) {
            (Some(one), Some(two)) if one.start > two.start => {
                other += 1;
                two
            }
            (Some(one), _) => {
                at += 1;
                one
            }
            (None, Some(two)) => {
                other += 1;
                two
            }
            (None, None) => return runs,
        };
        match runs.last_mut() {
            Some(last) if last.end >= next.start => last.end = last.end.max(next.end),
            _ => runs.push(next.clone()),
        }
    }
}

/// The rows below a number that no run of a sorted list holds.
pub fn others(runs: &[Range<u64>], rows: u64) -> Vec<Range<u64>> {
    let starts = std::iter::once(0).chain(runs.iter().map(|run| run.end));
    let ends = runs.iter().map(|run| run.start).chain([rows]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|run| !run.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_rule_out_only_what_cannot_match() {
        let (min, max) = (Value::Int64(10), Value::Int64(20));
        let may = |predicate: &Predicate| may_match(predicate, &min, &max);
        use Comparison::{Eq, Gt, Gte, Lt, Lte, Neq};
        for value in [5i64, 9, 10, 11, 15, 19, 20, 21, 30] {
            for comparison in [Eq, Neq, Lt, Lte, Gt, Gte] {
                let predicate = Predicate::Compare(comparison, Value::Int64(value));
                let any = (10i64..=20).any(|n| predicate.matches(&Value::Int64(n)));
                assert!(may(&predicate) || !any, "{predicate:?}");
                if comparison != Neq {
                    assert_eq!(may(&predicate), any, "{predicate:?}");
                }
                assert!(may(&Predicate::Not(Box::new(predicate))), "a negation is not told");
            }
        }
        assert!(may(&Predicate::Within(vec![Value::Int64(1), Value::Int64(12)].into())));
        assert!(!may(&Predicate::Within(vec![Value::Int64(1), Value::Int64(42)].into())));
        assert!(may(&Predicate::eq("text")), "what cannot be compared is left to the values");
    }

    #[test]
    fn runs_have_their_common_rows() {
        let runs = |all: &[(u64, u64)]| all.iter().map(|(a, b)| *a..*b).collect::<Vec<_>>();
        let a = runs(&[(0, 10), (20, 30), (40, 50)]);
        assert_eq!(common(&a, &runs(&[(5, 25), (29, 45)])), runs(&[(5, 10), (20, 25), (29, 30), (40, 45)]));
        assert_eq!(common(&a, &[]), []);
        assert_eq!(either(&a, &runs(&[(5, 25), (29, 35), (60, 61)])), runs(&[(0, 35), (40, 50), (60, 61)]));
        assert_eq!((either(&a, &[]), either(&[], &a)), (a.clone(), a));
    }
}
