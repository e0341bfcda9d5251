//! Whole columns of a row group, which pass the cache by.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_select::concat::concat;
use mangrove_graph::ReadContext;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::caught::caught;
use super::sparse::Sparse;
use super::{BATCH_ROWS, PAGE_BYTES_MAX, Table};
use crate::error::{LakeError, Result};
use crate::files::{Files, Part};

/// The values of some columns in a row group: one array for each column.
pub fn row_group(
    files: &Files,
    table: &Table,
    group: usize,
    columns: &[usize],
    limits: Option<&ReadContext>,
) -> Result<Vec<ArrayRef>> {
    let metadata = table.metadata.metadata().row_group(group);
    let schema = table.metadata.parquet_schema();
    let leaves = (0..schema.num_columns()).filter(|leaf| columns.contains(&schema.get_column_root_idx(*leaf)));
    let ranges: Vec<Range<u64>> = leaves
        .map(|leaf| metadata.column(leaf).byte_range())
        .map(|(start, bytes)| start..start.saturating_add(bytes))
        .collect();
    let parts: Vec<Part<'_>> = ranges.iter().map(|range| Part { file: &table.file, range: range.clone() }).collect();
    let found = files.read(&parts, limits)?;
    let bytes = Sparse::new(table.file.size, ranges.iter().map(|range| range.start).zip(found).collect());
    let name = || files.name(&table.file.path);
    caught(name, || decode(files, table, group, columns, bytes))
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
