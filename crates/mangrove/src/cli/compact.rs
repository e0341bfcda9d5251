//! `mangrove compact`: all that is stored, compressed.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, open_writing, say};

/// Compress a database: everything stays as it can be queried, in less space
#[derive(Args)]
pub struct Compact {
    /// The database
    db: PathBuf,
}

impl Compact {
    pub fn run(self) -> Result<(), Failure> {
        let bytes = open_writing(&self.db)?.compact()?;
        say(&format!("compacted {} to {}", self.db.display(), indicatif::HumanBytes(bytes)));
        Ok(())
    }
}
