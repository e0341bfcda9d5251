//! The small files that say how many vertices or edges there are.

use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashMap;

use crate::error::{LakeError, Result};
use crate::files::{Files, OpenFile};

/// The numbers that were read, by the path of their file.
#[derive(Default)]
pub struct Counts(HashMap<Arc<str>, u64>);

impl Counts {
    /// Reads the numbers in files: 8 bytes each, the least first. Reads all files together.
    pub fn fetch(&mut self, files: &Files, paths: &[Arc<str>]) -> Result<()> {
        for (path, found) in paths.iter().zip(files.open(paths, 8, None)?) {
            if let Some(found) = found {
                self.0.insert(path.clone(), number(files, found)?);
            }
        }
        Ok(())
    }

    /// The number in a file; `None` if there is no such file.
    pub fn get(&self, path: &str) -> Option<u64> {
        self.0.get(path).copied()
    }
}

fn number(files: &Files, (file, bytes): (OpenFile, Bytes)) -> Result<u64> {
    let name = || files.name(&file.path);
    let wrong = || LakeError::damaged(&name(), format!("it has {} bytes; a count has 8", file.size));
    let bytes: [u8; 8] = bytes[..].try_into().ok().filter(|_| file.size == 8).ok_or_else(wrong)?;
    let count = i64::from_le_bytes(bytes);
    u64::try_from(count).map_err(|_| LakeError::damaged(&name(), format!("{count} is no count")))
}
