//! Tables in Parquet.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescPtr, TypePtr};

use crate::arrow_table::{plan_arrow, send_batch};
use crate::error::{LoadError, Place};
use crate::plan::{TableHints, TablePlan};
use crate::progress::Meter;
use crate::rows::{Event, Sink};
use crate::source::Source;

const BATCH_ROWS: usize = 32_768;

fn open(source: &Source) -> Result<ParquetRecordBatchReaderBuilder<File>, LoadError> {
    let file = File::open(&source.path).map_err(|e| source.failed(e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(source, &e))?;
    let is_nested =
        |column: &ColumnDescPtr| column.physical_type() == PhysicalType::INT96 && column.path().parts().len() > 1;
    if let Some(column) = builder.parquet_schema().columns().iter().find(|column| is_nested(column)) {
        let why = format!(
            "column `{}`: times of 96 bits within lists, structs and maps are not read: write them as INT64",
            column.path().string()
        );
        return Err(LoadError::format(Place::file(&source.name), why));
    }
    let Some(schema) = with_int96_in_micros(&builder) else { return Ok(builder) };
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    let file = File::open(&source.path).map_err(|e| source.failed(e))?;
    ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).map_err(|e| damaged(source, &e))
}

/// The schema with microseconds for times of 96 bits, as Hive, Impala and old versions of Spark write them; nothing if there are none.
/// In nanoseconds times reach from 1677 to 2262 alone, and wrap around beyond.
fn with_int96_in_micros(builder: &ParquetRecordBatchReaderBuilder<File>) -> Option<Schema> {
    let schema = builder.schema();
    let is_int96 = |t: &TypePtr| t.is_primitive() && t.get_physical_type() == PhysicalType::INT96;
    let written: Vec<bool> = builder.parquet_schema().root_schema().get_fields().iter().map(is_int96).collect();
    let field = |(field, is_int96): (&FieldRef, &bool)| match field.data_type() {
        DataType::Timestamp(_, zone) if *is_int96 => {
            let t = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            Arc::new(field.as_ref().clone().with_data_type(t))
        }
        _ => field.clone(),
    };
    let fields: Vec<FieldRef> = schema.fields().iter().zip(&written).map(field).collect();
    written.contains(&true).then(|| Schema::new_with_metadata(fields, schema.metadata().clone()))
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
    if with_int96_in_micros(&builder).is_some() {
        sink(Event::Warning(format!("{}: its INT96 times are read to the microsecond", source.name)))?;
    }
    let rows_total = builder.metadata().file_metadata().num_rows().max(1) as u64;
    let mut reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|e| damaged(source, &e))?;
    let mut row = 0;
    while let Some(batch) = next(&mut reader).map_err(|e| damaged(source, &e))? {
        send_batch(&batch, plan, &source.name, row + 1, sink)?;
        let rows = batch.num_rows() as u64;
        meter.add((u128::from(source.bytes) * u128::from(rows) / u128::from(rows_total)) as usize);
        row += rows;
    }
    Ok(())
}

/// The next batch. The decoder panics on some files that are damaged.
fn next(reader: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>, ParquetError> {
    let batch = catch_unwind(AssertUnwindSafe(|| reader.next().transpose()));
    let batch = batch.map_err(|_| ParquetError::General("its pages contradict one another".into()))?;
    batch.map_err(|error| ParquetError::ArrowError(error.to_string()))
}
