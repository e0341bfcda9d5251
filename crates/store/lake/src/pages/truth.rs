//! Truth values of a column, straight from run lengths to runs of bits (VLDB'24, §5.1).
//!
//! Parquet stores them as runs of one value, and as eight values to a byte between these. Both are bits already. The parquet crate would
//! make a byte of each value first.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::serialized_reader::SerializedPageReader;

use super::Table;
use super::sparse::Sparse;

/// The values of a column in a row group; `None` if it has nulls, or is written in another way.
pub fn truth_values(table: &Table, group: usize, column: usize, bytes: &Arc<Sparse>) -> Result<Option<BooleanBuffer>> {
    let rows = table.rows_of(group);
    let rows = (rows.end - rows.start) as usize;
    let column = table.metadata.metadata().row_group(group).column(table.leaf(column));
    if column.column_type() != parquet::basic::Type::BOOLEAN || column.column_descr().max_rep_level() > 0 {
        return Ok(None);
    }
    let may_lack = column.column_descr().max_def_level() > 0;
    let mut pages = SerializedPageReader::new(bytes.clone(), column, rows, None)?;
    let mut bits = BooleanBufferBuilder::new(rows);
    while let Some(page) = pages.get_next_page()? {
        let (values, count, encoding) = match &page {
            Page::DataPage { buf, num_values, encoding, .. } if !may_lack => (&buf[..], *num_values, *encoding),
            Page::DataPageV2 { buf, num_values, encoding, num_nulls: 0, def_levels_byte_len, .. } => {
                let values = buf.get(*def_levels_byte_len as usize..).ok_or_else(short)?;
                (values, *num_values, *encoding)
            }
            _ => return Ok(None),
        };
        let count = count as usize;
        if count > rows - bits.len() {
            return Err(ParquetError::General("it has more values than rows".into()));
        }
        match encoding {
            Encoding::PLAIN if values.len() >= count.div_ceil(8) => bits.append_packed_range(0..count, values),
            // Before the runs stands how many bytes they have.
            Encoding::RLE => append_runs(&mut bits, values.get(4..).ok_or_else(short)?, count)?,
            Encoding::PLAIN => return Err(short()),
            _ => return Ok(None),
        }
    }
    Ok((bits.len() == rows).then(|| bits.finish()))
}

/// Appends runs of one value, and of eight values to a byte.
fn append_runs(bits: &mut BooleanBufferBuilder, mut values: &[u8], count: usize) -> Result<()> {
    let end = bits.len() + count;
    while bits.len() < end {
        let left = end - bits.len();
        let header = header(&mut values)?;
        let length = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        if header & 1 == 0 {
            let (value, rest) = values.split_first().ok_or_else(short)?;
            bits.append_n(length.min(left), value & 1 == 1);
            values = rest;
            // A run of nothing would never end.
            if length == 0 {
                return Err(ParquetError::General("a run has no values".into()));
            }
        } else {
            // The last run may be filled up with bits that are no values.
            let wanted = length.saturating_mul(8).min(left);
            let bytes = values.get(..wanted.div_ceil(8)).filter(|bytes| !bytes.is_empty()).ok_or_else(short)?;
            bits.append_packed_range(0..wanted, bytes);
            values = &values[length.min(values.len())..];
        }
    }
    Ok(())
}

/// A number of seven bits to a byte, the lowest first.
fn header(values: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = values.split_first().ok_or_else(short)?;
        *values = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(ParquetError::General("a run is longer than can be".into()))
}

fn short() -> ParquetError {
    ParquetError::EOF("a page ends within its values".into())
}

#[cfg(test)]
mod tests {
    use arrow_array::{BooleanArray, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::{WriterProperties, WriterVersion};

    use super::super::{ArrowTypes, RowGroup, truth_of_row_groups};
    use super::*;
    use crate::files::Files;

    /// Values that change now and then: runs of every length, and places where they change at once.
    fn values(nullable: bool) -> BooleanArray {
        let value = |at: usize| match at % 4001 {
            0..1500 => (at / 97).is_multiple_of(2),
            1500..3000 => at.is_multiple_of(3),
            _ => at % 4001 > 3700,
        };
        (0..20_000).map(|at| (!nullable || at % 7 > 0).then(|| value(at))).collect()
    }

    #[test]
    fn the_parquet_crate_reads_the_same_values() {
        let home = tempfile::tempdir().unwrap();
        let forms = [(false, Encoding::RLE), (false, Encoding::PLAIN), (true, Encoding::RLE)];
        let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
        for (version, nullable, encoding) in
            versions.iter().flat_map(|version| forms.map(|(nullable, encoding)| (*version, nullable, encoding)))
        {
            let (values, path) = (values(nullable), home.path().join("file"));
            let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Boolean, nullable)]));
            let properties = WriterProperties::builder()
                .set_writer_version(version)
                .set_encoding(encoding)
                .set_dictionary_enabled(false)
                .set_max_row_group_row_count(Some(7000))
                .set_data_page_row_count_limit(1000)
                .set_write_batch_size(500)
                .build();
            let mut writer =
                ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), schema.clone(), Some(properties)).unwrap();
            writer.write(&RecordBatch::try_new(schema, vec![Arc::new(values.clone())]).unwrap()).unwrap();
            writer.close().unwrap();
            let files = Files::new(home.path().to_str().unwrap()).unwrap();
            let opened = Table::open_all(&files, &["file".into()], ArrowTypes::Ignored, None, || 0).unwrap().pop();
            let table = opened.flatten().unwrap();
            let wanted: Vec<RowGroup<'_>> =
                (0..table.row_groups()).map(|group| RowGroup { table: &table, group, columns: &[0] }).collect();
            let found = truth_of_row_groups(&files, &wanted, None).unwrap();
            let found: Vec<bool> =
                found.into_iter().flatten().flat_map(|bits| bits.unwrap().iter().collect::<Vec<_>>()).collect();
            let expected: Vec<bool> = values.iter().map(|value| value == Some(true)).collect();
            assert_eq!(found, expected, "{version:?} {nullable} {encoding}");
        }
    }

    fn read(values: &[u8], count: usize) -> Result<Vec<bool>> {
        let mut bits = BooleanBufferBuilder::new(count);
        append_runs(&mut bits, values, count)?;
        Ok(bits.finish().iter().collect())
    }

    #[test]
    fn runs_become_bits() {
        // Ten times true, then 0b01100101 of which five count.
        let values = [20, 1, 3, 0b0110_0101];
        let expected = [[true; 10].as_slice(), &[true, false, true, false, false]].concat();
        assert_eq!(read(&values, 15).unwrap(), expected);
        // 300 takes two bytes of a header.
        assert_eq!(read(&[0xd8, 0x04, 0], 300).unwrap(), [false; 300]);
    }

    #[test]
    fn damaged_runs_are_errors() {
        for (values, count) in
            [(&[][..], 1), (&[20], 3), (&[0, 1], 3), (&[1], 3), (&[5, 1], 16), (&[0x80; 12], 3), (&[2, 1], 3)]
        {
            assert!(read(values, count).is_err(), "{values:?}");
        }
    }
}
