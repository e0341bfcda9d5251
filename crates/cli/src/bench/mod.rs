//! `mangrove bench`: runs published workloads on graphs that it makes, and measures a server.

mod paths;
mod requests;
mod social;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::Failure;
use mangrove::workloads::Workload;

/// Run a published workload on a graph that is made for it, and show how long each of its operations takes; or measure a server
#[derive(Args)]
pub struct Bench {
    #[command(subcommand)]
    workload: Which,
}

#[derive(Subcommand)]
enum Which {
    /// Facebook's graph store TAO: 0.2% of the operations are writes
    Tao(social::Social),
    /// Its benchmark LinkBench: 31% of the operations are writes
    Linkbench(social::Social),
    /// Facebook's graph search: five queries in equal parts
    Graphsearch {
        #[command(flatten)]
        social: social::Social,
        /// Answer GS2 and GS3 by joining two lookups
        #[arg(long)]
        join: bool,
    },
    Paths(paths::BenchPaths),
    Requests(requests::BenchRequests),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BenchFormat {
    Table,
    Json,
}

impl Bench {
    pub fn run(self) -> Result<(), Failure> {
        match self.workload {
            Which::Tao(social) => social.run(Workload::Tao, false),
            Which::Linkbench(social) => social.run(Workload::LinkBench, false),
            Which::Graphsearch { social, join } => social.run(Workload::GraphSearch, join),
            Which::Paths(paths) => paths.run(),
            Which::Requests(requests) => requests.run(),
        }
    }
}

/// Where the graph is: a directory that stays, or one that is removed at the end.
struct Place {
    path: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Place {
    fn new(named: Option<&Path>) -> Result<Self, Failure> {
        if let Some(path) = named {
            return Ok(Self { path: path.to_owned(), _temporary: None });
        }
        let temporary = tempfile::tempdir().map_err(|error| Failure::Request(error.to_string()))?;
        Ok(Self { path: temporary.path().join("bench.mg"), _temporary: Some(temporary) })
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// The database holds another graph.
fn not_ours(workload: &str, place: &Path) -> Failure {
    let hint = "name a new directory, or one that this command has made for the same workload";
    Failure::Request(format!("{}: not a graph for {workload}; {hint}", place.display()))
}
