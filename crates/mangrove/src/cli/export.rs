//! `mangrove export`: the graph as files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::progress::Bar;
use super::{Failure, counted, open_reading, say};
use crate::ExportFormat;

/// Write the graph to files other programs read, and `mangrove load DB DIR` loads back
#[derive(Args)]
pub struct Export {
    /// The database
    db: PathBuf,
    /// Where the files go
    dir: PathBuf,
    /// What files
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A file a label, with headers `mangrove load` and neo4j-admin understand
    Csv,
    Graphml,
    /// A file a label, with typed columns
    Parquet,
    /// GraphSON 3, a vertex with its edges a line
    Graphson,
}

impl Export {
    pub fn run(self) -> Result<(), Failure> {
        let format = match self.format {
            Format::Csv => ExportFormat::Csv,
            Format::Graphml => ExportFormat::GraphMl,
            Format::Graphson => ExportFormat::GraphSon,
            Format::Parquet => ExportFormat::Parquet,
        };
        let report = open_reading(&self.db)?.export(&self.dir, format, &mut Bar::new(false))?;
        report.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
        say(&format!(
            "wrote {} and {} to {}",
            counted(report.vertices, "vertex", "vertices"),
            counted(report.edges, "edge", "edges"),
            self.dir.display()
        ));
        Ok(())
    }
}
