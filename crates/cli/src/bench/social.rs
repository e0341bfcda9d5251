//! `mangrove bench tao|linkbench|graphsearch`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use comfy_table::{Cell, CellAlignment};
use serde_json::{Value as Json, json};

use super::super::progress::Bar;
use super::super::{Failure, counted, grouped, interrupt, open_writing, output, query, say};
use super::{BenchFormat, Place};
use mangrove::workloads::{Driven, OperationTimes, Running, SocialGraph, Workload, is_social, make, run};
use mangrove::{Database, ElementKind, GraphError, StoreError};

#[derive(Args)]
pub struct Social {
    /// Directory of a database that this command made before, or of a new one; default: a new one, removed at the end
    db: Option<PathBuf>,
    /// Make a graph of so many users, with 4.35 edges for each; a database that has a graph keeps it
    #[arg(long, value_name = "N", default_value = "100000", value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    users: u64,
    /// Let each edge that is made carry so many bytes
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
    /// Write the times in this format
    #[arg(long, value_enum, default_value = "table")]
    format: BenchFormat,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Social {
    pub fn run(self, workload: Workload, joined: bool) -> Result<(), Failure> {
        let place = Place::new(self.db.as_deref())?;
        let database = self.database(workload, &place)?;
        let running = Running {
            workload,
            operations: self.operations as usize,
            clients: self.clients.into(),
            seed: self.seed,
            joined,
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
    fn database(&self, workload: Workload, place: &Place) -> Result<Database, Failure> {
        if place.path().exists() {
            let database = open_writing(place.path())?;
            let schema = database.schema()?;
            if is_social(&schema, workload) {
                let counts = database.snapshot()?.statistics().map_err(StoreError::from)?;
                let users = counted(counts.vertices.iter().sum(), "user", "users");
                say(&format!("runs on {users} and their edges, which {} has already", place.path().display()));
                return Ok(database);
            }
            if schema.known_labels(ElementKind::Vertex).next().is_some() {
                return Err(super::not_ours(workload.name(), place.path()));
            }
        }
        let graph = SocialGraph { payload_bytes: self.payload as usize, seed: self.seed, ..SocialGraph::new(self.users) };
        let database = Database::open(place.path())?;
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
    let mut table = mangrove::show::drawing();
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
