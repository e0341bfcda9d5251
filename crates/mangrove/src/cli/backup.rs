//! `mangrove backup`: a copy of a database in use.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, open_reading, say};

/// Copy a database, consistently and while others use it
#[derive(Args)]
pub struct Backup {
    /// The database
    db: PathBuf,
    /// Where the copy goes: a directory that is empty or not there yet
    dest: PathBuf,
}

impl Backup {
    pub fn run(self) -> Result<(), Failure> {
        open_reading(&self.db)?.backup(&self.dest)?;
        say(&format!("copied {} to {}", self.db.display(), self.dest.display()));
        Ok(())
    }
}
