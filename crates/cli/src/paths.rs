//! `mangrove paths`: runs one regular path query and writes its results to stdout.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::output::{self, Format};
use super::{Failure, counted, interrupt, open_reading, params, query, say, warn};
use mangrove::QueryOptions;

/// Find vertices that are joined by paths whose edge labels match a regular expression
#[derive(Args)]
pub struct Paths {
    /// Directory of the database, or the file that names a graph in open files
    db: PathBuf,
    /// Run this regular path query, for example "?x knows+/likes ?y" or "'ada' (knows|^follows)* ?y"
    paths: String,
    /// Write results in this format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Only count the rows
    #[arg(long)]
    count: bool,
    /// Set a parameter of the query, written there as $NAME
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Stop the query after this time, for example 500ms, 30s or 5m; default: no limit
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    timeout: Option<Duration>,
    /// Stop the query if it needs more megabytes than this; default: half of the machine's memory, at most 4096
    #[arg(long, value_name = "MB")]
    memory: Option<std::num::NonZeroUsize>,
}

impl Paths {
    pub fn run(self) -> Result<(), Failure> {
        output::must_not_be_a_terminal(self.format)?;
        let parameters = params::parse(&self.params).map_err(Failure::Usage)?;
        let database = open_reading(&self.db)?;
        let defaults = QueryOptions::default();
        let memory_bytes_max = self.memory.map_or(defaults.memory_bytes_max, |mb| mb.get().saturating_mul(1 << 20));
        let options = QueryOptions { timeout: self.timeout, cancel: interrupt::token(), memory_bytes_max, ..defaults };
        let started = Instant::now();
        if self.count {
            let (rows, warnings) = database.count_paths(&self.paths, &parameters, &options)?;
            warn(&warnings);
            return output::print_text(&format!("{rows}\n"));
        }
        let (results, warnings) = database.paths(&self.paths, &parameters, &options)?;
        let rows = output::print_whole(&results, self.format)?;
        warn(&warnings);
        if self.format == Format::Table && std::io::stderr().is_terminal() {
            say(&format!("{} in {}", counted(rows, "row", "rows"), query::elapsed(started.elapsed())));
        }
        Ok(())
    }
}
