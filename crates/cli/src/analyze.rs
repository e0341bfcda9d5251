//! `mangrove analyze`: runs an algorithm on the whole graph.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::output::{self, Format};
use super::{Failure, counted, interrupt, open_reading, open_writing, params, progress, query, say, warn};
use mangrove::analytics::registry::{ALGORITHMS, OptionAbout};
use mangrove::{Analysis, AnalyzeError, AnalyzeOptions};

/// The most rows of a table.
const ROWS_SHOWN: usize = 20;

/// Run an algorithm on the whole graph; without NAME, list the algorithms
#[derive(Args)]
pub struct Analyze {
    /// Directory of the database, or the file that names a graph in open files
    db: PathBuf,
    /// Name of the algorithm
    name: Option<String>,
    /// Set an option of the algorithm, for example source=ada or iterations=20
    #[arg(value_name = "OPTION=VALUE")]
    options: Vec<String>,
    /// Take vertices with these labels only
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    vertices: Option<Vec<String>>,
    /// Take edges with these labels only
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    edges: Option<Vec<String>>,
    /// Take vertices only that pass these tests of properties, for example "has('age', gt(30))"
    #[arg(long, value_name = "TESTS")]
    vertices_where: Option<String>,
    /// Take edges only that pass these tests of one property
    #[arg(long, value_name = "TESTS")]
    edges_where: Option<String>,
    /// Take this property of edges as their weight
    #[arg(long, value_name = "KEY")]
    weight: Option<String>,
    /// Follow edges both ways
    #[arg(long)]
    undirected: bool,
    /// Write the values to this property of the vertices, in one transaction, and print none
    #[arg(long, value_name = "KEY")]
    write: Option<String>,
    /// Use this many threads; default: one for each core
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    /// Run it as a vertex program over so many partitions, and count what crosses between them
    #[arg(long, value_name = "N")]
    partitions: Option<u32>,
    /// Refuse to begin if it needs more megabytes than this; default: what the machine has left
    #[arg(long, value_name = "MB")]
    memory: Option<u64>,
    /// Stop after this time, for example 500ms, 30s or 5m; default: no limit
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    timeout: Option<Duration>,
    /// Let the nodes of a graph keep what they have this often, in the place of their backups; default: 1m
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    checkpoint_every: Option<Duration>,
    /// Write the values in this format; a table shows the first 20
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

impl Analyze {
    pub fn run(self) -> Result<(), Failure> {
        let Some(name) = &self.name else { return output::print_text(&list()) };
        output::must_not_be_a_terminal(self.format)?;
        let database = if self.write.is_some() { open_writing(&self.db)? } else { open_reading(&self.db)? };
        let parameters = params::parse_options(&self.options).map_err(Failure::Usage)?;
        let options = AnalyzeOptions {
            vertices: self.vertices,
            vertices_where: self.vertices_where,
            edges_where: self.edges_where,
            edges: self.edges,
            weight: self.weight,
            directed: !self.undirected,
            write: self.write.clone(),
            threads: self.threads.map_or(0, Into::into),
            partitions: self.partitions,
            memory_bytes: self.memory.map(|megabytes| megabytes.saturating_mul(1 << 20)),
            timeout: self.timeout,
            checkpoint_every: self.checkpoint_every,
            cancel: interrupt::token(),
        };
        let bar = progress::Stages::new();
        let found = database.analyze(name, &parameters, &options, &mut |stage| bar.show(stage))?;
        drop(bar);
        warn(&found.warnings);
        let rows = found.values.num_rows();
        match &self.write {
            Some(key) => say(&wrote(key, &found)),
            None => output::print_values(&found.values, self.format, ROWS_SHOWN)?,
        }
        if self.write.is_none() && self.format == Format::Table && rows > ROWS_SHOWN {
            say(&format!("{ROWS_SHOWN} of {} rows; --format csv writes all", super::grouped(rows as u64)));
        }
        let told = found.summary.iter().filter(|(name, _)| !matches!(*name, "written" | "replaced"));
        let summary = told.map(|(name, value)| format!("{name} {value}"));
        say(&summary.collect::<Vec<_>>().join(", "));
        Ok(())
    }
}

/// What a write did.
fn wrote(key: &str, found: &Analysis) -> String {
    let count = |wanted| {
        let told = found.summary.iter().find(|(name, _)| *name == wanted);
        told.and_then(|(_, value)| value.as_i64()).unwrap_or_default() as u64
    };
    let vertices = counted(count("written"), "vertex", "vertices");
    match count("replaced") {
        0 => format!("wrote `{key}` of {vertices}"),
        replaced => format!("wrote `{key}` of {vertices}; {} had one before", counted(replaced, "vertex", "vertices")),
    }
}

/// The algorithms with their options.
fn list() -> String {
    let option = |option: &OptionAbout| {
        let default = option.default.map_or("needed".to_owned(), |default| format!("default: {default}"));
        format!("    {}=…  {} ({default})\n", option.name, option.what)
    };
    let algorithm = |about: &mangrove::analytics::About| {
        let weights = if about.takes_weights { ", --weight counts" } else { "" };
        format!("{:<12}{}{weights}\n", about.name, about.what) + &about.options.iter().map(option).collect::<String>()
    };
    ALGORITHMS.iter().map(algorithm).collect()
}

impl From<AnalyzeError> for Failure {
    fn from(error: AnalyzeError) -> Self {
        match error.is_cancelled() && interrupt::requested() {
            true => Failure::Interrupted("interrupted; nothing was written".into()),
            false if error.is_of_memory() => Failure::Request(format!("{error} with --memory")),
            false => Failure::Request(error.late().unwrap_or_else(|| error.to_string())),
        }
    }
}
