//! `mangrove compact`: all that is stored, compressed.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, open_writing, say};

/// Move all that is stored into one compressed segment, to be queried and changed as before. The tables' file keeps its size, and
/// the room in it is used again
#[derive(Args)]
pub struct Compact {
    /// The database
    db: PathBuf,
}

impl Compact {
    pub fn run(self) -> Result<(), Failure> {
        let bytes = open_writing(&self.db)?.compact()?;
        say(&format!("{} is in a segment of {}", self.db.display(), indicatif::HumanBytes(bytes)));
        Ok(())
    }
}
