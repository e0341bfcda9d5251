//! `mangrove bench`: runs the published workloads of social graphs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use comfy_table::{Cell, CellAlignment};
use serde_json::{Value as Json, json};

use super::progress::Bar;
use super::{Failure, counted, grouped, interrupt, open_writing, output, query, say};
use crate::workloads::{Driven, OperationTimes, Running, SocialGraph, Workload, is_social, make, run};
use crate::{Database, GraphError, StoreError};

/// Run a published workload of social graphs, and show how long each of its operations takes
#[derive(Args)]
pub struct Bench {
    /// Which one: tao (Facebook's graph store, 0.2% writes), linkbench (31% writes) or graphsearch (five queries)
    #[arg(value_enum)]
    workload: WorkloadName,
    /// Directory of a database that this command made before, or of a new one; default: a new one, removed at the end
    db: Option<PathBuf>,
    /// Make a graph of so many users, with 4.35 edges for each
    #[arg(long, value_name = "N", default_value = "100000", value_parser = clap::value_parser!(u64).range(10..=100_000_000))]
    users: u64,
    /// Let each edge carry so many bytes
    #[arg(long, value_name = "N", default_value = "128", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    payload: u32,
    /// Run so many operations, by all clients together
    #[arg(long, value_name = "N", default_value = "50000", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    operations: u32,
    /// Let so many threads run operations at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=256))]
    clients: u16,
    /// Draw the graph and the operations from this seed
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// For graphsearch: answer GS2 and GS3 by joining two lookups
    #[arg(long)]
    join: bool,
    /// Write the times in this format
    #[arg(long, value_enum, default_value = "table")]
    format: BenchFormat,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum WorkloadName {
    Tao,
    Linkbench,
    Graphsearch,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BenchFormat {
    Table,
    Json,
}

impl Bench {
    pub fn run(self) -> Result<(), Failure> {
        let workload = match self.workload {
            WorkloadName::Tao => Workload::Tao,
            WorkloadName::Linkbench => Workload::LinkBench,
            WorkloadName::Graphsearch => Workload::GraphSearch,
        };
        if self.join && workload != Workload::GraphSearch {
            return Err(Failure::Usage("--join is for graphsearch".into()));
        }
        let temporary = match &self.db {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(|error| Failure::Request(error.to_string()))?),
        };
        let place = self.db.clone().or_else(|| temporary.as_ref().map(|directory| directory.path().join("bench.mg")));
        let database = self.database(workload, &place.unwrap_or_default())?;
        let running = Running {
            workload,
            operations: self.operations as usize,
            clients: self.clients.into(),
            seed: self.seed,
            joined: self.join,
            payload_bytes: self.payload as usize,
            cancel: interrupt::token(),
        };
        let driven = run(&database, &running).map_err(|error| match error {
            StoreError::Graph(GraphError::Cancelled) if interrupt::requested() => {
                Failure::Interrupted("interrupted; operations that had run by then are stored".into())
            }
            error => error.into(),
        })?;
        match self.format {
            BenchFormat::Json => {
                let graph = database.stats()?;
                output::print_text(&as_json(&running, &driven, graph.disk_bytes()).to_string())?;
            }
            BenchFormat::Table => output::print_text(&table(&driven))?,
        }
        let rate = driven.operations as f64 / driven.wall.as_secs_f64().max(1e-9);
        let cpu = driven.cpu.as_secs_f64() * 1e6 / driven.operations.max(1) as f64;
        say(&format!(
            "{} by {} in {}: {} operations a second, {cpu:.1} µs of CPU time each",
            counted(driven.operations, "operation", "operations"),
            counted(self.clients.into(), "client", "clients"),
            query::elapsed(driven.wall),
            grouped(rate as u64),
        ));
        Ok(())
    }

    /// The graph of the workload, which is made first if there is none.
    fn database(&self, workload: Workload, place: &Path) -> Result<Database, Failure> {
        if place.exists() {
            let database = open_writing(place)?;
            let schema = database.schema()?;
            if is_social(&schema, workload) {
                return Ok(database);
            }
            if schema.known_labels(crate::ElementKind::Vertex).next().is_some() {
                let name = workload.name();
                let hint = "name a new directory, or one that this command has made for the same workload";
                return Err(Failure::Request(format!("{}: not a graph for {name}; {hint}", place.display())));
            }
        }
        let graph = SocialGraph { payload_bytes: self.payload as usize, seed: self.seed, ..SocialGraph::new(self.users) };
        let database = Database::open(place)?;
        let started = std::time::Instant::now();
        make(&database, workload, &graph, &mut Bar::new(self.quiet))?;
        let disk = indicatif::HumanBytes(database.stats()?.disk_bytes());
        say(&format!(
            "made {} and {} in {}: {disk} on disk",
            counted(graph.users, "user", "users"),
            counted(graph.edges, "edge", "edges"),
            query::elapsed(started.elapsed()),
        ));
        Ok(database)
    }
}

fn table(driven: &Driven) -> String {
    let mut table = crate::show::drawing();
    table.set_header(["operation", "runs", "mean µs", "median µs", "95% µs", "99% µs", "answers"]);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    for of in &driven.times {
        let OperationTimes { name, count, answers, mean_us, median_us, p95_us, p99_us, .. } = of;
        let times = [mean_us, median_us, p95_us, p99_us].map(|micros| right(format!("{micros:.1}")));
        let row = [Cell::new(name), right(grouped(*count))].into_iter().chain(times);
        table.add_row(row.chain([right(grouped(*answers))]));
    }
    format!("{table}\n")
}

fn as_json(running: &Running, driven: &Driven, disk_bytes: u64) -> Json {
    let seconds = Duration::as_secs_f64;
    json!({
        "workload": running.workload.name(),
        "clients": running.clients,
        "seed": running.seed,
        "joined": running.joined,
        "operations": driven.operations,
        "seconds": seconds(&driven.wall),
        "cpuSeconds": seconds(&driven.cpu),
        "operationsPerSecond": driven.operations as f64 / seconds(&driven.wall).max(1e-9),
        "diskBytes": disk_bytes,
        "times": driven.times.iter().map(|of| json!({
            "operation": of.name,
            "write": of.is_write,
            "count": of.count,
            "answers": of.answers,
            "meanUs": of.mean_us,
            "medianUs": of.median_us,
            "p95Us": of.p95_us,
            "p99Us": of.p99_us,
        })).collect::<Vec<_>>(),
    })
}
