//! A file of which some parts are in memory.

use std::io::Cursor;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

#[derive(Clone)]
pub struct Sparse {
    bytes: u64,
    /// Each part with its place in the file, sorted.
    parts: Vec<(u64, Bytes)>,
}

impl Sparse {
    pub fn new(bytes: u64, mut parts: Vec<(u64, Bytes)>) -> Self {
        parts.sort_by_key(|(start, _)| *start);
        Self { bytes, parts }
    }

    /// The rest of the part that holds a place.
    fn from(&self, start: u64) -> Result<Bytes> {
        let at = self.parts.partition_point(|(first, _)| *first <= start);
        let part = at.checked_sub(1).map(|at| &self.parts[at]);
        let rest = part.and_then(|(first, bytes)| bytes.get((start - first) as usize..).map(|rest| bytes.slice_ref(rest)));
        rest.ok_or_else(|| ParquetError::EOF(format!("byte {start} was not expected to be needed")))
    }
}

impl Length for Sparse {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Sparse {
    type T = Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Cursor<Bytes>> {
        self.from(start).map(Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let rest = self.from(start)?;
        if length > rest.len() {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are more than there are")));
        }
        Ok(rest.slice(..length))
    }
}
