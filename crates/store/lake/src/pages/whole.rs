//! Whole columns of a row group, which pass the cache by.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_buffer::BooleanBuffer;
use arrow_select::concat::concat;
use mangrove_graph::ReadContext;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use super::caught::caught;
use super::sparse::Sparse;
use super::truth::truth_values;
use super::{BATCH_ROWS, PAGE_BYTES_MAX, Table};
use crate::error::{LakeError, Result};
use crate::files::{Files, Part};

/// Some columns of a row group.
#[derive(Clone, Copy)]
pub struct RowGroup<'t> {
    pub table: &'t Table,
    pub group: usize,
    pub columns: &'t [usize],
}

/// The values of some columns in a row group: one array for each column.
pub fn row_group(
    files: &Files,
    table: &Table,
    group: usize,
    columns: &[usize],
    limits: Option<&ReadContext>,
) -> Result<Vec<ArrayRef>> {
    let of = RowGroup { table, group, columns };
    let bytes = fetch(files, &[of], limits)?.pop().unwrap_or_else(|| Sparse::new(0, Vec::new()));
    caught(|| files.name(&table.file.path), || decode(files, table, group, columns, bytes))
}

/// The truth values of some columns in several row groups, whose bytes are read together. `None` for a column that holds other values;
/// a missing value is false.
pub fn truth_of_row_groups(
    files: &Files,
    wanted: &[RowGroup<'_>],
    limits: Option<&ReadContext>,
) -> Result<Vec<Vec<Option<BooleanBuffer>>>> {
    let mut all = Vec::with_capacity(wanted.len());
    for (of, bytes) in wanted.iter().zip(fetch(files, wanted, limits)?) {
        limits.map_or(Ok(()), ReadContext::check)?;
        let (name, bytes) = (|| files.name(&of.table.file.path), Arc::new(bytes));
        let column = |column: &usize| {
            let damaged = |error: ParquetError| LakeError::damaged(&name(), error.to_string());
            if let Some(bits) = truth_values(of.table, of.group, *column, &bytes).map_err(damaged)? {
                return Ok(Some(bits));
            }
            let array = decode(files, of.table, of.group, &[*column], (*bytes).clone())?.pop();
            Ok(array.as_ref().and_then(bits_of))
        };
        all.push(caught(name, || of.columns.iter().map(column).collect::<Result<Vec<_>>>())?);
    }
    Ok(all)
}

/// Truth values as bits, where a missing one is false; `None` if the values are others.
fn bits_of(array: &ArrayRef) -> Option<BooleanBuffer> {
    let array = array.as_boolean_opt()?;
    Some(match array.nulls() {
        Some(nulls) => array.values() & nulls.inner(),
        None => array.values().clone(),
    })
}

/// The bytes of row groups, read together.
fn fetch(files: &Files, wanted: &[RowGroup<'_>], limits: Option<&ReadContext>) -> Result<Vec<Sparse>> {
    let ranges: Vec<Vec<Range<u64>>> = wanted.iter().map(RowGroup::ranges).collect();
    let mut parts = Vec::new();
    for (of, ranges) in wanted.iter().zip(&ranges) {
        parts.extend(ranges.iter().map(|range| Part { file: &of.table.file, range: range.clone() }));
    }
    let mut found = files.read(&parts, limits)?.into_iter();
    let sparse = |(of, ranges): (&RowGroup<'_>, Vec<Range<u64>>)| {
        let starts = ranges.iter().map(|range| range.start);
        Sparse::new(of.table.file.size, starts.zip(found.by_ref()).collect())
    };
    Ok(wanted.iter().zip(ranges).map(sparse).collect())
}

impl RowGroup<'_> {
    /// The bytes of the columns.
    fn ranges(&self) -> Vec<Range<u64>> {
        let metadata = self.table.metadata.metadata().row_group(self.group);
        let schema = self.table.metadata.parquet_schema();
        let leaves = (0..schema.num_columns()).filter(|leaf| self.columns.contains(&schema.get_column_root_idx(*leaf)));
        let range = |(start, bytes): (u64, u64)| start..start.saturating_add(bytes);
        leaves.map(|leaf| range(metadata.column(leaf).byte_range())).collect()
    }
}

fn decode(files: &Files, table: &Table, group: usize, columns: &[usize], bytes: Sparse) -> Result<Vec<ArrayRef>> {
    let damaged = |reason: String| LakeError::damaged(&files.name(&table.file.path), reason);
    let rows = table.rows_of(group);
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, table.metadata.clone())
        .with_row_groups(vec![group])
        .with_projection(ProjectionMask::roots(table.metadata.parquet_schema(), columns.iter().copied()))
        .with_batch_size(BATCH_ROWS)
        .build();
    // The reader gives the columns in the order of the file.
    let mut in_order = columns.to_vec();
    in_order.sort_unstable();
    in_order.dedup();
    let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); in_order.len()];
    let (mut found, mut size) = (0, 0);
    for batch in reader.map_err(|error| damaged(error.to_string()))? {
        let batch = batch.map_err(|error| damaged(error.to_string()))?;
        (found, size) = (found + batch.num_rows() as u64, size + batch.get_array_memory_size());
        if size > PAGE_BYTES_MAX {
            let reason = format!("columns of a row group unpack to more than {} MB", PAGE_BYTES_MAX >> 20);
            return Err(damaged(reason));
        }
        parts.iter_mut().zip(batch.columns()).for_each(|(parts, column)| parts.push(column.clone()));
    }
    if found != rows.end - rows.start {
        return Err(damaged(format!("a row group has {found} rows, not {}", rows.end - rows.start)));
    }
    let whole = |column: &usize| {
        let of = &parts[in_order.partition_point(|other| other < column)];
        match &of[..] {
            [] => Ok(new_empty_array(table.schema().field(*column).data_type())),
            [only] => Ok(only.clone()),
            several => {
                let several: Vec<&dyn Array> = several.iter().map(|part| &**part).collect();
                concat(&several).map_err(|error| damaged(error.to_string()))
            }
        }
    };
    columns.iter().map(whole).collect()
}
