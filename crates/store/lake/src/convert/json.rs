//! JSON: an object for each row.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_json::reader::Reader;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bytes::Bytes;

use super::typed::typed;
use super::{BATCH_ROWS, without_mark};

/// How deep values may nest. The reader calls itself for each level.
const DEPTH_MAX: usize = 64;

/// Rows of some columns of a file. Numbers are read as texts first, so that none loses its fraction.
pub struct JsonBatches {
    reader: Reader<Cursor<Bytes>>,
    schema: SchemaRef,
    rows: usize,
}

impl JsonBatches {
    pub fn new(bytes: Bytes, columns: &SchemaRef) -> Result<Self, ArrowError> {
        let bytes = without_mark(bytes);
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(ArrowError::ParseError("it is a list; write its objects one to a line".into()));
        }
        if depth(&bytes) > DEPTH_MAX {
            return Err(ArrowError::ParseError(format!("its values nest deeper than {DEPTH_MAX}")));
        }
        let text = |field: &Arc<Field>| match field.data_type() {
            DataType::List(_) => {
                let texts = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)));
                Field::new(field.name(), texts, true)
            }
            _ => Field::new(field.name(), DataType::Utf8, true),
        };
        let texts = Schema::new(columns.fields().iter().map(text).collect::<Vec<_>>());
        let reader = arrow_json::ReaderBuilder::new(Arc::new(texts)).with_coerce_primitive(true).with_batch_size(BATCH_ROWS);
        Ok(Self { reader: reader.build(Cursor::new(bytes))?, schema: columns.clone(), rows: 0 })
    }

    fn typed(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let first = self.rows + 1;
        self.rows += batch.num_rows();
        let column = |(texts, field): (&Arc<dyn arrow_array::Array>, &Arc<Field>)| match texts.as_string_opt::<i32>() {
            Some(texts) => typed(texts, field, |row| format!("object {}", first + row)),
            None => cast_with_options(texts, field.data_type(), &CastOptions { safe: false, ..CastOptions::default() }),
        };
        let columns = batch.columns().iter().zip(self.schema.fields()).map(column);
        RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_, _>>()?)
    }
}

impl Iterator for JsonBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.and_then(|batch| self.typed(&batch)))
    }
}

/// How deep lists and objects nest. O(bytes).
fn depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_unless_they_are_text() {
        for (text, deep) in [("{\"a\": [1, {}]}", 3), ("{\"[[[\\\"[[\": 1}", 1), ("", 0), ("}}{", 1)] {
            assert_eq!(depth(text.as_bytes()), deep, "{text}");
        }
    }
}
