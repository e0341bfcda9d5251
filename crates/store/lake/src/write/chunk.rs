//! A Parquet file of an export.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;

use super::publish::{create, write_error};
use crate::error::{LakeError, Result};
use crate::pages::packed;

pub struct ChunkFile {
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
    path: PathBuf,
}

impl ChunkFile {
    pub fn create(path: PathBuf, fields: Vec<Field>) -> Result<Self> {
        let options = packed(&fields);
        let schema = Arc::new(Schema::new(fields));
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
