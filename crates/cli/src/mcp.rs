//! `mangrove mcp`: gives a database to an assistant.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mangrove_mcp::Allowed;

use super::query::duration;
use super::{Failure, open_reading, open_writing};

/// Give a database to an assistant, as tools of the Model Context Protocol over standard input and output
#[derive(Args)]
pub struct Mcp {
    /// Directory of the database, or the file that names a graph in open files
    db: PathBuf,
    /// Allow queries that change the graph
    #[arg(long)]
    write: bool,
    /// Stop a query after this time, for example 500ms, 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    timeout: Duration,
    /// Stop a query that needs more megabytes than this; default: an eighth of the machine's memory, at most 1024
    #[arg(long, value_name = "MB")]
    memory: Option<NonZeroUsize>,
}

impl Mcp {
    pub fn run(self) -> Result<(), Failure> {
        let database = if self.write { open_writing(&self.db)? } else { open_reading(&self.db)? };
        let allowed = Allowed::default();
        let allowed = Allowed {
            writes: self.write,
            timeout: self.timeout,
            memory_bytes_max: self.memory.map_or(allowed.memory_bytes_max, |mb| mb.get().saturating_mul(1 << 20)),
            ..allowed
        };
        mangrove_mcp::serve(database, allowed).map_err(|error| Failure::Request(error.to_string()))
    }
}
