//! `mangrove lake`: what concerns graphs in open files.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::progress::Bar;
use super::{Failure, counted, say};
use mangrove::Database;

/// Propose a mapping of Parquet tables, or make the indexes of edges of a graph in open files
#[derive(Args)]
pub struct Lake {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a mapping for the Parquet files of a folder to standard output: `mangrove lake map DIR > map.yml`
    Map {
        /// A folder on this machine, or an address such as s3://bucket/path
        dir: PathBuf,
    },
    /// Make the indexes that the first queries that follow edges would make
    Index {
        /// The mapping, or NAME.graph.yml
        file: PathBuf,
    },
}

impl Lake {
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Map { dir } => {
                let text = mangrove::propose_mapping(&dir.to_string_lossy()).map_err(|e| Failure::Request(e.to_string()))?;
                super::output::print_text(&text)
            }
            Command::Index { file } => {
                let lake = Database::open_lake(&file)?;
                let types = match lake.index_edges(&mut Bar::new(false)) {
                    Err(_) if super::interrupt::requested() => {
                        return Err(Failure::Interrupted("interrupted; the indexes that were made stay".into()));
                    }
                    made => made?,
                };
                let types = counted(types, "type of edges has an index", "types of edges have indexes");
                say(&format!("{types} now; the others need none"));
                Ok(())
            }
        }
    }
}
