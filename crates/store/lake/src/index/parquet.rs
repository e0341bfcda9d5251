//! A file of another format as Parquet.

use bytes::Bytes;
use mangrove_segment::file::{SegmentFile, SegmentWriter};

use super::Part;
use crate::error::Result;

/// A converted file, mapped into memory.
pub struct ConvertedFile {
    file: SegmentFile,
}

impl ConvertedFile {
    /// Reads an index. `None` if it is not whole.
    pub fn parse(file: SegmentFile) -> Option<Self> {
        file.get(Part::Parquet.key(0)).ok()??;
        Some(Self { file })
    }

    pub fn write(writer: &mut SegmentWriter, parquet: &[u8]) -> Result<()> {
        Ok(writer.put(Part::Parquet.key(0), parquet)?)
    }

    /// The bytes of the Parquet file. They stay mapped until the last part of them is dropped.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for ConvertedFile {
    fn as_ref(&self) -> &[u8] {
        self.file.get(Part::Parquet.key(0)).ok().flatten().unwrap_or_default()
    }
}
