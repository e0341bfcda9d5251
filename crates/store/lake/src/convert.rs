//! Files of other formats as Parquet. Once converted, they are read by page like any other file.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_csv::reader::Format;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use bytes::Bytes;
use mangrove_graph::ReadContext;
use orc_rust::ArrowReaderBuilder;
use orc_rust::schema::TimestampPrecision;
use parquet::arrow::ArrowWriter;

use crate::error::{LakeError, Result};
use crate::info::FileType;
use crate::pages::{caught, packed};

/// The most bytes of a file that is converted, and of the result.
pub const BYTES_MAX: u64 = 1 << 30;
/// The most memory that all values of a file may take, one batch after the other.
const VALUES_BYTES_MAX: usize = 4 << 30;
/// Rows that are converted at a time.
const BATCH_ROWS: usize = 8192;

/// How files of a folder are written.
#[derive(Clone, PartialEq, Debug)]
pub struct FileForm {
    pub file_type: FileType,
    /// The columns that are read, with their types.
    pub columns: SchemaRef,
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// The bytes of a file as those of a Parquet file. `name` is for messages.
pub fn to_parquet(name: &Arc<str>, bytes: Bytes, form: &FileForm, limits: Option<&ReadContext>) -> Result<Vec<u8>> {
    caught(|| name.clone(), || converted(name, bytes, form, limits))
}

fn converted(name: &Arc<str>, bytes: Bytes, form: &FileForm, limits: Option<&ReadContext>) -> Result<Vec<u8>> {
    let damaged = |error: ArrowError| LakeError::damaged(name, format!("no {}: {error}", form.file_type.name()));
    let batches = match form.file_type {
        FileType::Csv => csv(bytes, &form.columns),
        FileType::Json => json(bytes, &form.columns),
        FileType::Orc => orc(bytes),
        FileType::Parquet => return Ok(bytes.into()),
    };
    let mut batches = batches.map_err(damaged)?.peekable();
    let schema = match batches.peek() {
        Some(Ok(batch)) => batch.schema(),
        _ => form.columns.clone(),
    };
    let options = packed(schema.fields().iter().map(|field| &**field));
    let mut writer =
        ArrowWriter::try_new_with_options(Vec::new(), schema, options).map_err(|error| damaged(error.into()))?;
    let mut size = 0;
    for batch in batches {
        let batch = batch.map_err(damaged)?;
        limits.map_or(Ok(()), ReadContext::check)?;
        size += batch.columns().iter().map(|column| column.get_array_memory_size()).sum::<usize>();
        if size > VALUES_BYTES_MAX || writer.bytes_written() as u64 > BYTES_MAX {
            return Err(LakeError::damaged(name, format!("it unpacks to more than {} GB", VALUES_BYTES_MAX >> 30)));
        }
        writer.write(&batch).map_err(|error| damaged(error.into()))?;
    }
    writer.into_inner().map_err(|error| damaged(error.into()))
}

/// The columns that a header names, in its order. An empty field is no value.
fn csv(bytes: Bytes, columns: &SchemaRef) -> Result<Batches, ArrowError> {
    let (header, _) = Format::default().with_header(true).infer_schema(Cursor::new(bytes.clone()), Some(0))?;
    if let Some(missing) = columns.fields().iter().find(|column| header.fields().find(column.name()).is_none()) {
        return Err(ArrowError::ParseError(format!("its first line names no column `{}`", missing.name())));
    }
    let declared = |field: &Arc<Field>| columns.fields().find(field.name()).map(|(_, declared)| declared.clone());
    let wanted = (0..header.fields().len()).filter(|at| declared(&header.fields()[*at]).is_some()).collect();
    let fields: Vec<Arc<Field>> =
        header.fields().iter().map(|field| declared(field).unwrap_or_else(|| field.clone())).collect();
    let reader = arrow_csv::ReaderBuilder::new(Arc::new(Schema::new(fields)))
        .with_header(true)
        .with_projection(wanted)
        .with_batch_size(BATCH_ROWS);
    Ok(Box::new(reader.build(Cursor::new(bytes))?))
}

/// An object for each row.
fn json(bytes: Bytes, columns: &SchemaRef) -> Result<Batches, ArrowError> {
    let reader = arrow_json::ReaderBuilder::new(columns.clone()).with_batch_size(BATCH_ROWS);
    Ok(Box::new(reader.build(Cursor::new(bytes))?))
}

fn orc(bytes: Bytes) -> Result<Batches, ArrowError> {
    let reader = ArrowReaderBuilder::try_new(bytes).map_err(|error| ArrowError::from_external_error(Box::new(error)))?;
    let reader = reader.with_batch_size(BATCH_ROWS).with_timestamp_precision(TimestampPrecision::Microsecond);
    Ok(Box::new(reader.build()))
}
