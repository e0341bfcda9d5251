//! Files of other formats as Parquet. Once converted, they are read by page like any other file.

mod csv;
mod json;
mod typed;

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;
use mangrove_graph::ReadContext;
use orc_rust::ArrowReaderBuilder;
use orc_rust::projection::ProjectionMask;
use orc_rust::schema::TimestampPrecision;
use parquet::arrow::ArrowWriter;

use crate::error::{LakeError, Result};
use crate::info::FileType;
use crate::pages::{caught, packed};
use csv::CsvBatches;
use json::JsonBatches;

/// The most bytes of a file that is converted, and of the result.
pub const BYTES_MAX: u64 = 1 << 30;
/// The most memory that all values of a file may take, one batch after the other.
const VALUES_BYTES_MAX: usize = 4 << 30;
/// Rows that are converted at a time.
const BATCH_ROWS: usize = 8192;
/// The same for ORC, whose values may each be as long as a dictionary's longest.
const ORC_BATCH_ROWS: usize = 512;

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
    let damaged = |error: ArrowError| {
        let reason = match error {
            ArrowError::ParseError(reason) | ArrowError::JsonError(reason) => reason,
            other => other.to_string(),
        };
        LakeError::damaged(name, format!("it cannot be read as {}: {}", form.file_type.title(), shortened(&reason)))
    };
    let batches = match form.file_type {
        FileType::Csv => CsvBatches::new(bytes, &form.columns).map(|batches| Box::new(batches) as Batches),
        FileType::Json => JsonBatches::new(bytes, &form.columns).map(|batches| Box::new(batches) as Batches),
        FileType::Orc => orc(bytes, &form.columns),
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
        let own: usize = batch.columns().iter().map(|column| column.get_array_memory_size()).sum();
        size += own;
        if let Some(limits) = limits {
            limits.check()?;
            limits.budget.fits(own + writer.memory_size() + writer.bytes_written())?;
        }
        if size > VALUES_BYTES_MAX {
            return Err(LakeError::damaged(name, format!("it unpacks to more than {} GB", VALUES_BYTES_MAX >> 30)));
        }
        writer.write(&batch).map_err(|error| damaged(error.into()))?;
    }
    let parquet = writer.into_inner().map_err(|error| damaged(error.into()))?;
    match parquet.len() as u64 <= BYTES_MAX {
        true => Ok(parquet),
        false => Err(LakeError::damaged(name, format!("it has more than {} GB as Parquet", BYTES_MAX >> 30))),
    }
}

/// The beginning of a message: some quote the file.
fn shortened(reason: &str) -> String {
    const CHARACTERS_MAX: usize = 200;
    match reason.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{} …", &reason[..end]),
        None => reason.to_owned(),
    }
}

/// The declared columns of an ORC file.
fn orc(bytes: Bytes, columns: &SchemaRef) -> Result<Batches, ArrowError> {
    let reader = ArrowReaderBuilder::try_new(bytes).map_err(|error| ArrowError::from_external_error(Box::new(error)))?;
    let names: Vec<&String> = columns.fields().iter().map(|column| column.name()).collect();
    let wanted = ProjectionMask::named_roots(reader.file_metadata().root_data_type(), &names);
    let reader = reader
        .with_projection(wanted)
        .with_batch_size(ORC_BATCH_ROWS)
        .with_timestamp_precision(TimestampPrecision::Microsecond);
    Ok(Box::new(reader.build()))
}

/// The bytes of a text without the mark that some programs put before it.
fn without_mark(bytes: Bytes) -> Bytes {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if bytes.starts_with(MARK) { bytes.slice(MARK.len()..) } else { bytes }
}
