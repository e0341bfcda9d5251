//! `mangrove export`: writes the graph to files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::progress::Bar;
use super::{Failure, counted, open_reading, say, warn};
use crate::ExportFormat;

/// Write the graph to files for other programs; `mangrove load DB DIR` loads them back
#[derive(Args)]
pub struct Export {
    /// Directory of the database
    db: PathBuf,
    /// Write the files to this directory; it must be empty or not exist yet
    dir: PathBuf,
    /// Write files in this format
    #[arg(long, value_enum, default_value = "csv")]
    format: FormatName,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatName {
    /// One file per label, with headers that `mangrove load` and neo4j-admin understand
    Csv,
    Graphml,
    /// One file per label, with typed columns
    Parquet,
    /// GraphSON 3, one vertex with its edges per line
    Graphson,
}

impl Export {
    pub fn run(self) -> Result<(), Failure> {
        let format = match self.format {
            FormatName::Csv => ExportFormat::Csv,
            FormatName::Graphml => ExportFormat::GraphMl,
            FormatName::Graphson => ExportFormat::GraphSon,
            FormatName::Parquet => ExportFormat::Parquet,
        };
        let report = open_reading(&self.db)?.export(&self.dir, format, &mut Bar::new(false))?;
        warn(&report.warnings);
        say(&format!(
            "wrote {} and {} to {}",
            counted(report.vertices, "vertex", "vertices"),
            counted(report.edges, "edge", "edges"),
            self.dir.display()
        ));
        Ok(())
    }
}
