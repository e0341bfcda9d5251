//! `mangrove export`: writes the graph to files.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::progress::Bar;
use super::relayout::Order;
use super::{Failure, counted, open_reading, say, warn};
use mangrove::{ExportError, ExportFormat, GraphArOptions, LakeError, Layout, ListOrder};

/// Write the graph to files for other programs; `mangrove load DB DIR` loads them back (of graphar: DIR/NAME.graph.yml)
#[derive(Args)]
pub struct Export {
    /// Directory of the database
    db: PathBuf,
    /// Write the files to this directory; it must be empty or not exist yet
    dir: PathBuf,
    /// Write files in this format
    #[arg(long, value_enum, default_value = "csv")]
    format: FormatName,
    /// For graphar: write what the format cannot hold as near as it can, and leave out the rest
    #[arg(long)]
    lossy: bool,
    /// For graphar: this many vertices to a file; default: 262144
    #[arg(long, value_name = "N")]
    vertex_chunk: Option<NonZeroU64>,
    /// For graphar: this many edges to a file; default: 4194304
    #[arg(long, value_name = "N")]
    edge_chunk: Option<NonZeroU64>,
    /// For graphar: properties that get files of their own, separated by commas; may be repeated
    #[arg(long, value_name = "KEY,…")]
    group: Vec<String>,
    /// For graphar: the lists of edges to write; default: ordered_by_source,ordered_by_dest
    #[arg(long, value_name = "LIST,…", value_delimiter = ',', value_parser = list_order)]
    lists: Vec<ListOrder>,
    #[command(flatten)]
    order: Order,
}

fn list_order(name: &str) -> Result<ListOrder, String> {
    ListOrder::from_name(name).ok_or_else(|| format!("expected {}", ListOrder::NAMES.join(", ")))
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
    /// Apache GraphAr: Parquet files that other systems read, and `mangrove query DIR/NAME.graph.yml` in place
    Graphar,
}

impl Export {
    pub fn run(self) -> Result<(), Failure> {
        let format = match self.format {
            FormatName::Csv => ExportFormat::Csv,
            FormatName::Graphml => ExportFormat::GraphMl,
            FormatName::Graphson => ExportFormat::GraphSon,
            FormatName::Parquet => ExportFormat::Parquet,
            FormatName::Graphar => return self.run_lake(),
        };
        let has_chunks = self.vertex_chunk.is_some() || self.edge_chunk.is_some();
        if self.lossy || has_chunks || !self.group.is_empty() || !self.lists.is_empty() {
            let only = "--lossy, --vertex-chunk, --edge-chunk, --group and --lists are for --format graphar";
            return Err(Failure::Usage(only.into()));
        }
        let layout = self.order.options(Layout::None)?;
        let report = open_reading(&self.db)?.export_in_order(&self.dir, format, &layout, &mut Bar::new(false))?;
        warn(&report.warnings);
        say(&format!(
            "wrote {} and {} to {}",
            counted(report.vertices, "vertex", "vertices"),
            counted(report.edges, "edge", "edges"),
            self.dir.display()
        ));
        Ok(())
    }

    fn run_lake(self) -> Result<(), Failure> {
        let layout = self.order.options(Layout::None)?;
        let defaults = GraphArOptions::default();
        let options = GraphArOptions {
            vertex_chunk: self.vertex_chunk.map_or(defaults.vertex_chunk, NonZeroU64::get),
            edge_chunk: self.edge_chunk.map_or(defaults.edge_chunk, NonZeroU64::get),
            groups: self.group.iter().map(|keys| keys.split(',').map(str::to_owned).collect()).collect(),
            lists: if self.lists.is_empty() { defaults.lists } else { self.lists },
            is_lossy: self.lossy,
        };
        let report = match open_reading(&self.db)?.export_lake_in_order(&self.dir, &options, &layout, &mut Bar::new(false)) {
            Err(ExportError::Lake(lossy @ LakeError::Lossy(_))) => {
                let hint = "Export csv, parquet or graphson, or allow the loss with --lossy";
                return Err(Failure::Request(format!("{lossy}\n{hint}")));
            }
            report => report?,
        };
        warn(&report.losses);
        let (vertices, edges) = (counted(report.vertices, "vertex", "vertices"), counted(report.edges, "edge", "edges"));
        say(&format!("wrote {vertices} and {edges} to {}", self.dir.join(report.graph_file).display()));
        Ok(())
    }
}
