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
        let database = open_reading(&self.db)?;
        let report = database.check()?;
        let (vertices, edges) = (counted(report.vertices, "vertex", "vertices"), counted(report.edges, "edge", "edges"));
        if report.violations.is_empty() && database.is_far() {
            return output::print_text(&format!("{vertices} and {edges}: everything agrees"));
        }
        if report.violations.is_empty() {
            return output::print_text(&format!(
                "{vertices}, {edges}, {} and {}: everything agrees",
                counted(report.properties, "property", "properties"),
                counted(report.index_entries, "index entry", "index entries"),
            ));
        }
        let found = report.violations.iter().map(|violation| format!("{violation}\n"));
        output::print_text(&found.collect::<String>())?;
        let found = counted(report.violations_total, "contradiction", "contradictions");
        let place = self.db.display();
        if database.is_far() {
            return Err(Failure::Request(format!(
                "the shards of {place} do not agree, or cannot be checked: {found} found"
            )));
        }
        Err(Failure::Request(match mangrove::is_description(&self.db) {
            true => format!("the files of {place} do not agree: {found} found"),
            false => {
                format!("{place} is damaged: {found} found; restore it from a backup, or export what can still be read")
            }
        }))
    }
}
