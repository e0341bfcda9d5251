//! Tables in Parquet.

use std::fs::File;
use std::sync::Arc;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use crate::arrow_table::{plan_arrow, send_batch};
use crate::error::{LoadError, Place};
use crate::plan::{TableHints, TablePlan};
use crate::progress::Meter;
use crate::rows::Sink;
use crate::source::Source;

const BATCH_ROWS: usize = 32_768;

fn open(source: &Source) -> Result<ParquetRecordBatchReaderBuilder<File>, LoadError> {
    let file = File::open(&source.path).map_err(|e| source.failed(e))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(source, &e))
}

fn damaged(source: &Source, error: &ParquetError) -> LoadError {
    LoadError::format(Place::file(&source.name), format!("cannot be read as Parquet: {error}"))
}

/// Plans the table of a file.
pub fn plan(source: &Source, hints: &TableHints) -> Result<TablePlan, LoadError> {
    plan_arrow(open(source)?.schema(), hints, &source.name)
}

/// Reads the rows of a file.
pub(crate) fn read(source: &Source, plan: &TablePlan, meter: &Arc<Meter>, sink: &mut Sink<'_>) -> Result<(), LoadError> {
    let builder = open(source)?;
    let rows_total = builder.metadata().file_metadata().num_rows().max(1) as u64;
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|e| damaged(source, &e))?;
    let mut row = 0;
    for batch in reader {
        let batch = batch.map_err(|e| damaged(source, &ParquetError::ArrowError(e.to_string())))?;
        send_batch(&batch, plan, &source.name, row + 1, sink)?;
        let rows = batch.num_rows() as u64;
        meter.add((u128::from(source.bytes) * u128::from(rows) / u128::from(rows_total)) as usize);
        row += rows;
    }
    Ok(())
}
