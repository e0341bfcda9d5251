//! Tables in Parquet.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::{ColumnDescPtr, TypePtr};

use crate::batches::rows::{Event, Sink};
use crate::error::{LoadError, Location};
use crate::progress::Meter;
use crate::tables::arrow_table::{plan_arrow, send_batch};
use crate::tables::plan::{TableHints, TablePlan};
use crate::text::source::Source;

const BATCH_ROWS: usize = 32_768;
const BATCH_BYTES: i64 = 64 << 20;

fn open(source: &Source) -> Result<ParquetRecordBatchReaderBuilder<File>, LoadError> {
    let file = File::open(&source.path).map_err(|e| source.failed(e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(source, &e))?;
    let is_nested =
        |column: &ColumnDescPtr| column.physical_type() == PhysicalType::INT96 && column.path().parts().len() > 1;
    if let Some(column) = builder.parquet_schema().columns().iter().find(|column| is_nested(column)) {
        let why = format!(
            "column `{}`: INT96 times within lists, structs and maps are not supported: write them as INT64",
            column.path().string()
        );
        return Err(LoadError::format(Location::file(&source.name), why));
    }
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema_to_read(&builder)));
    let file = File::open(&source.path).map_err(|e| source.failed(e))?;
    ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).map_err(|e| damaged(source, &e))
}

/// The schema for reading a file.
///
/// * Texts and bytes are views. So a value that the file holds once takes memory once, however many rows have it. [`send_batch`]
///   expands them piece by piece.
/// * 96-bit times, as written by Hive, Impala and old versions of Spark, become microseconds. In nanoseconds, times would reach
///   only from 1677 to 2262, and wrap around beyond.
fn schema_to_read(builder: &ParquetRecordBatchReaderBuilder<File>) -> Schema {
    let schema = builder.schema();
    let field = |(field, written): (&FieldRef, &TypePtr)| {
        let read = match field.data_type() {
            DataType::Timestamp(_, zone) if is_int96(written) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
            other => other.clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(read))
    };
    let written = builder.parquet_schema().root_schema().get_fields();
    let fields: Vec<FieldRef> = schema.fields().iter().zip(written).map(field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn is_int96(t: &TypePtr) -> bool {
    t.is_primitive() && t.get_physical_type() == PhysicalType::INT96
}

fn damaged(source: &Source, error: &ParquetError) -> LoadError {
    LoadError::format(Location::file(&source.name), format!("cannot be read as Parquet: {error}"))
}

/// Plans the table of a file.
pub fn plan(source: &Source, hints: &TableHints) -> Result<TablePlan, LoadError> {
    plan_arrow(open(source)?.schema(), hints, &source.name)
}

/// Reads the rows of a file.
pub(crate) fn read(source: &Source, plan: &TablePlan, meter: &Arc<Meter>, sink: &mut Sink<'_>) -> Result<(), LoadError> {
    let builder = open(source)?;
    if builder.parquet_schema().root_schema().get_fields().iter().any(is_int96) {
        sink(Event::Warning(format!("{}: its INT96 times are read to the microsecond", source.name)))?;
    }
    let rows_total = builder.metadata().file_metadata().num_rows().max(1) as u64;
    let rows = rows_of_batch(builder.metadata());
    let mut reader = builder.with_batch_size(rows).build().map_err(|e| damaged(source, &e))?;
    let mut row = 0;
    while let Some(batch) = next(&mut reader).map_err(|e| damaged(source, &e))? {
        send_batch(&batch, plan, &source.name, row + 1, sink)?;
        let rows = batch.num_rows() as u64;
        meter.add((u128::from(source.bytes) * u128::from(rows) / u128::from(rows_total)) as usize);
        row += rows;
    }
    Ok(())
}

/// How many rows a batch takes, so that it has about [`BATCH_BYTES`] in the file if rows are about equally long.
fn rows_of_batch(file: &ParquetMetaData) -> usize {
    let bytes_of_row = |group: &RowGroupMetaData| group.total_byte_size() / group.num_rows().max(1);
    let bytes = file.row_groups().iter().map(bytes_of_row).max().unwrap_or(0).max(1);
    (BATCH_BYTES / bytes).clamp(1, BATCH_ROWS as i64) as usize
}

/// The next batch. Catches panics: the decoder panics on some damaged files.
fn next(reader: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>, ParquetError> {
    let batch = catch_unwind(AssertUnwindSafe(|| reader.next().transpose()));
    let batch = batch.map_err(|_| ParquetError::General("its pages contradict one another".into()))?;
    batch.map_err(|error| ParquetError::ArrowError(error.to_string()))
}
