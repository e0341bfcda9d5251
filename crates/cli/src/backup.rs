//! `mangrove backup`: copies a database that is in use.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, open_reading, say};

/// Copy a database while others use it; the copy is consistent
#[derive(Args)]
pub struct Backup {
    /// Directory of the database
    db: PathBuf,
    /// Write the copy to this directory; it must be empty or not exist yet
    dest: PathBuf,
}

impl Backup {
    pub fn run(self) -> Result<(), Failure> {
        open_reading(&self.db)?.backup(&self.dest)?;
        say(&format!("copied {} to {}", self.db.display(), self.dest.display()));
        Ok(())
    }
}
