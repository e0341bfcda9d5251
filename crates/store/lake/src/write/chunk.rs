//! A Parquet file of an export.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use super::publish::{create, write_error};
use crate::error::{LakeError, Result};

/// Rows to a page, which is the least that a reader fetches.
const PAGE_ROWS: usize = 4096;
/// Rows to a row group.
const GROUP_ROWS: usize = 1 << 18;

pub struct ChunkFile {
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
    path: PathBuf,
}

impl ChunkFile {
    /// Integers, dates and times are packed by their differences: a page then needs no dictionary, which may be larger than the page.
    /// Truth values are run lengths.
    pub fn create(path: PathBuf, fields: Vec<Field>) -> Result<Self> {
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_data_page_row_count_limit(PAGE_ROWS);
        for field in &fields {
            let column = ColumnPath::from(field.name().clone());
            let encoding = match field.data_type() {
                DataType::Boolean => Encoding::RLE,
                DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Timestamp(..) => {
                    Encoding::DELTA_BINARY_PACKED
                }
                _ => continue,
            };
            properties =
                properties.set_column_dictionary_enabled(column.clone(), false).set_column_encoding(column, encoding);
        }
        let schema = Arc::new(Schema::new(fields));
        let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
        let file = create(&path).map_err(|source| write_error(&path, source))?;
        let writer =
            ArrowWriter::try_new_with_options(file, schema.clone(), options).map_err(|error| failed(&path, error))?;
        Ok(Self { writer, schema, path })
    }

    pub fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| failed(&self.path, error.into()))?;
        self.writer.write(&batch).map_err(|error| failed(&self.path, error))
    }

    /// Ends the file, and waits until it is on the disk.
    pub fn finish(self) -> Result<()> {
        let file = self.writer.into_inner().map_err(|error| failed(&self.path, error))?;
        file.sync_all().map_err(|source| write_error(&self.path, source))
    }
}

fn failed(path: &Path, error: ParquetError) -> LakeError {
    write_error(path, std::io::Error::other(error))
}
