//! How Parquet files are written, so that few bytes are read of them.

use arrow_schema::{DataType, Field};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

/// Rows to a page, which is the least that a reader fetches.
const PAGE_ROWS: usize = 4096;
/// Rows to a row group.
const GROUP_ROWS: usize = 1 << 18;

/// Integers, dates and times are packed by their differences: a page then needs no dictionary, which may be larger than the page.
/// Truth values are run lengths.
pub fn packed<'f>(fields: impl IntoIterator<Item = &'f Field>) -> ArrowWriterOptions {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS);
    for field in fields {
        let column = ColumnPath::from(field.name().clone());
        let encoding = match field.data_type() {
            DataType::Boolean => Encoding::RLE,
            DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Timestamp(..) => Encoding::DELTA_BINARY_PACKED,
            _ => continue,
        };
        properties = properties.set_column_dictionary_enabled(column.clone(), false).set_column_encoding(column, encoding);
    }
    ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true)
}
