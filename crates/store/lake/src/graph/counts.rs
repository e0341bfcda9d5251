//! The small files that say how many vertices or edges there are.

use std::sync::Arc;

use crate::error::{LakeError, Result};
use crate::files::Files;

/// The numbers in files, 8 bytes each with the least first. `None` for files that do not exist. Reads them together.
pub fn read(files: &Files, paths: &[Arc<str>]) -> Result<Vec<Option<u64>>> {
    let opened = files.open(paths, 8, None)?;
    let number = |found: Option<(crate::files::OpenFile, bytes::Bytes)>| {
        let Some((file, bytes)) = found else { return Ok(None) };
        let wrong = || LakeError::damaged(&files.name(&file.path), format!("it has {} bytes; a count has 8", file.size));
        let bytes: [u8; 8] = bytes[..].try_into().ok().filter(|_| file.size == 8).ok_or_else(wrong)?;
        let count = i64::from_le_bytes(bytes);
        let negative = || LakeError::damaged(&files.name(&file.path), format!("{count} is no count"));
        u64::try_from(count).map(Some).map_err(|_| negative())
    };
    opened.into_iter().map(number).collect()
}
