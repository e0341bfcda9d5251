//! The results of a stream as Arrow record batches of one schema. So you can write any number of rows to a file, or hand them to
//! another library, with memory for one batch.
//!
//! The first batch decides the columns. Its integers become Int64 and its floats Float64, so that later values fit. If the first
//! rows have no value in a column, the schema of the graph gives its type, provided that the property has only one.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::arrow;
use crate::error::QueryError;
use crate::results::Results;
use crate::streams::Stream;

/// The batches of a stream, read on demand. Each has at most a given number of rows.
pub struct Batches {
    stream: Stream,
    rows: usize,
    schema: SchemaRef,
    /// A batch that was read and not returned yet.
    ready: Option<RecordBatch>,
    /// Rows returned so far.
    given: usize,
}

impl Batches {
    /// Reads the first batch.
    ///
    /// # Errors
    /// Those of the query.
    pub fn new(stream: Stream, rows: usize) -> Result<Self, QueryError> {
        let none = stream.no_results();
        let results = stream.next_results(rows)?.unwrap_or(none);
        let first = batch_of(&results)?;
        let known = |name: &str| results.property_type(name);
        let fields: Vec<Field> = first.schema().fields().iter().map(|field| widened(field, &known)).collect();
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { stream, rows, schema, ready: Some(first), given: 0 })
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let batch = match self.ready.take() {
            Some(ready) => ready,
            None => match self.stream.next_results(self.rows).map_err(external)? {
                Some(results) => batch_of(&results).map_err(external)?,
                None => return Ok(None),
            },
        };
        let rows = batch.num_rows().min(self.rows);
        let given = self.fitted(&batch.slice(0, rows))?;
        self.ready = (rows < batch.num_rows()).then(|| batch.slice(rows, batch.num_rows() - rows));
        self.given += rows;
        Ok(Some(given))
    }

    /// The batch, cast to the columns of the first batch.
    fn fitted(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let known = batch.schema();
        if let Some(new) = known.fields().iter().find(|field| self.schema.field_with_name(field.name()).is_err()) {
            return Err(self.unfit(new.name(), "is missing in the rows before"));
        }
        let column = |field: &Arc<Field>| -> Result<ArrayRef, ArrowError> {
            let Some(array) = batch.column_by_name(field.name()) else {
                return Ok(new_null_array(field.data_type(), batch.num_rows()));
            };
            let options = CastOptions { safe: false, ..CastOptions::default() };
            let is_wider = fits(array.data_type(), field.data_type());
            let cast = is_wider.then(|| cast_with_options(array, field.data_type(), &options).ok()).flatten();
            cast.ok_or_else(|| {
                let what = format!("is {} here, but {} in the rows before", array.data_type(), field.data_type());
                self.unfit(field.name(), &what)
            })
        };
        let columns = self.schema.fields().iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
    }

    fn unfit(&self, column: &str, what: &str) -> ArrowError {
        ArrowError::SchemaError(format!(
            "after row {}, the column `{column}` {what}, and all batches must have one schema. Name the columns with project(), or \
             take larger batches",
            self.given
        ))
    }
}

/// Whether every value of one type is also a value of the other.
fn fits(from: &DataType, to: &DataType) -> bool {
    use DataType::{Binary, Float32, Float64, Int8, Int16, Int32, Int64, LargeBinary, LargeUtf8, Null, Utf8};
    from == to
        || matches!(
            (from, to),
            (Utf8, LargeUtf8)
                | (Binary, LargeBinary)
                | (Null, _)
                | (Int8 | Int16 | Int32, Int64)
                | (Float32 | Int8 | Int16 | Int32, Float64)
        )
}

/// The field with a wider type, which later values are more likely to fit.
fn widened(field: &Field, known: &dyn Fn(&str) -> Option<DataType>) -> Field {
    let wide = match field.data_type() {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::Float32 => DataType::Float64,
        DataType::Null => known(field.name()).unwrap_or(DataType::Null),
        other => other.clone(),
    };
    field.clone().with_data_type(wide)
}

fn batch_of(results: &Results) -> Result<RecordBatch, QueryError> {
    arrow::record_batch(results).map_err(|error| mangrove_graph::GraphError::Invalid(error.to_string()).into())
}

fn external(error: QueryError) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
