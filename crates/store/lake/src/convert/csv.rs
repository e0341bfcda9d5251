//! CSV with a header. An empty field is no value, a quoted one is an empty text.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::builder::StringBuilder;
use arrow_schema::{ArrowError, Field, SchemaRef};
use bytes::Bytes;
use mangrove_ingest::csv::{CsvReader, Dialect, Quoting, Record, Step};

use super::typed::typed;
use super::{BATCH_ROWS, without_mark};

/// Rows of some columns of a file.
pub struct CsvBatches {
    reader: CsvReader<Cursor<Bytes>>,
    schema: SchemaRef,
    /// The place of each column in a row.
    places: Vec<usize>,
    /// Fields to a row.
    width: usize,
    has_failed: bool,
}

impl CsvBatches {
    /// Reads the header, which may name the columns in any order, and others.
    pub fn new(bytes: Bytes, columns: &SchemaRef) -> Result<Self, ArrowError> {
        let mut reader = CsvReader::new(Cursor::new(without_mark(bytes)), Dialect::default()).keeping_blank_lines();
        let names: Vec<String> = match next(&mut reader)? {
            Some(header) => (0..header.fields.len())
                .map(|at| text(&header, at).map(Option::unwrap_or_default))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        let place = |column: &Arc<Field>| {
            let (known, wanted) = (names.join(", "), column.name());
            let missing = || {
                ArrowError::ParseError(format!(
                    "its first line must name the columns, among them `{wanted}`; it is: {known}"
                ))
            };
            names.iter().position(|name| name == column.name()).ok_or_else(missing)
        };
        let places = columns.fields().iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { reader, schema: columns.clone(), places, width: names.len(), has_failed: false })
    }

    /// The next rows; none at the end.
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut columns: Vec<StringBuilder> = self.places.iter().map(|_| StringBuilder::new()).collect();
        let mut lines = Vec::new();
        while lines.len() < BATCH_ROWS
            && let Some(record) = next(&mut self.reader)?
        {
            // In a file of one column, a blank line is a row without a value.
            if record.text.is_empty() && self.width > 1 {
                continue;
            }
            if record.fields.len() != self.width {
                let (line, found, wanted) = (record.line, record.fields.len(), self.width);
                return Err(ArrowError::ParseError(format!("line {line}: it has {found} fields, the header {wanted}")));
            }
            for (column, place) in columns.iter_mut().zip(&self.places) {
                column.append_option(text(&record, *place)?);
            }
            lines.push(record.line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let place = |row: usize| format!("line {}", lines[row]);
        let typed =
            columns.iter_mut().zip(self.schema.fields()).map(|(column, field)| typed(&column.finish(), field, place));
        RecordBatch::try_new(self.schema.clone(), typed.collect::<Result<_, _>>()?).map(Some)
    }
}

impl Iterator for CsvBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let batch = self.read();
        self.has_failed = batch.is_err();
        batch.transpose()
    }
}

/// The next row.
fn next<'r>(reader: &'r mut CsvReader<Cursor<Bytes>>) -> Result<Option<Record<'r>>, ArrowError> {
    match reader.step()? {
        Step::Record(record) => Ok(Some(record)),
        Step::Broken(broken) => Err(ArrowError::ParseError(format!("line {}: {}", broken.line, broken.fault))),
        Step::End => Ok(None),
    }
}

/// The text of a field; `None` if it is empty and has no quotes.
fn text(record: &Record<'_>, at: usize) -> Result<Option<String>, ArrowError> {
    let Some(field) = record.fields.get(at) else { return Ok(None) };
    if field.quoting == Quoting::Bare && field.start == field.end {
        return Ok(None);
    }
    let content = field.content(record.text, Dialect::default().quote).into_owned();
    let wrong = |_| ArrowError::ParseError(format!("line {}: it is not UTF-8", record.line));
    String::from_utf8(content).map(Some).map_err(wrong)
}
