//! `mangrove check`: looks for contradictions in a database.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, counted, open_reading, output};

/// Read the whole database and report contradictions in it
#[derive(Args)]
pub struct Check {
    /// Directory of the database
    db: PathBuf,
}

impl Check {
    pub fn run(self) -> Result<(), Failure> {
        let report = open_reading(&self.db)?.check()?;
        if report.violations.is_empty() {
            return output::print_text(&format!(
                "{}, {}, {} and {}: everything agrees",
                counted(report.vertices, "vertex", "vertices"),
                counted(report.edges, "edge", "edges"),
                counted(report.properties, "property", "properties"),
                counted(report.index_entries, "index entry", "index entries"),
            ));
        }
        let found = report.violations.iter().map(|violation| format!("{violation}\n"));
        output::print_text(&found.collect::<String>())?;
        let found = counted(report.violations_total, "contradiction", "contradictions");
        let place = self.db.display();
        Err(Failure::Request(match mangrove::is_description(&self.db) {
            true => format!("the files of {place} do not agree: {found} found"),
            false => {
                format!("{place} is damaged: {found} found; restore it from a backup, or export what can still be read")
            }
        }))
    }
}
