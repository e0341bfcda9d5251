//! `mangrove bench paths`: regular path queries drawn from a schema.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use comfy_table::{Cell, CellAlignment};
use serde_json::{Value as Json, json};

use super::super::progress::Bar;
use super::super::{Failure, counted, grouped, interrupt, open_writing, output, query, say};
use super::BenchFormat;
use mangrove::workloads::{DrawnQuery, PathShape, PathTime, QueryWriter, SOCIAL, make_typed, run_paths};
use mangrove::{Database, ElementKind, QueryOptions};

/// Regular path queries, drawn from the schema of a social network as gMark draws them
#[derive(Args)]
pub struct BenchPaths {
    /// Directory of a database that this command made before with the same --vertices, or of a new one; default: a new one, removed at the end
    db: Option<PathBuf>,
    /// Make a graph of so many vertices
    #[arg(long, value_name = "N", default_value = "100000", value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    vertices: u64,
    /// Draw so many queries: linear, branched and recursive ones in equal parts
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    queries: u16,
    /// Draw the graph and the queries from this seed
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Stop a query after this time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = query::duration)]
    timeout: Duration,
    /// Write the times in this format
    #[arg(long, value_enum, default_value = "table")]
    format: BenchFormat,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl BenchPaths {
    pub fn run(self) -> Result<(), Failure> {
        let place = super::Place::new(self.db.as_deref())?;
        let database = self.database(&place)?;
        let mut writer = QueryWriter::new(&SOCIAL, self.vertices, self.seed);
        let shapes = PathShape::ALL.iter().cycle().take(self.queries.into());
        let queries: Vec<DrawnQuery> = shapes.map(|shape| writer.draw(*shape)).collect();
        let options = QueryOptions { timeout: Some(self.timeout), cancel: interrupt::token(), ..QueryOptions::default() };
        let times = run_paths(&database, queries, &options)?;
        match self.format {
            BenchFormat::Json => output::print_text(&(as_json(&times).to_string() + "\n"))?,
            BenchFormat::Table => output::print_text(&table(&times))?,
        }
        let wall: Duration = times.iter().map(|of| of.wall).sum();
        let late = times.iter().filter(|of| of.rows.is_none()).count();
        let late = if late == 0 { String::new() } else { format!("; {late} took too long or too much memory") };
        say(&format!("{} in {}{late}", counted(times.len() as u64, "query", "queries"), query::elapsed(wall)));
        Ok(())
    }

    fn database(&self, place: &super::Place) -> Result<Database, Failure> {
        if place.path().exists() {
            let database = open_writing(place.path())?;
            let schema = database.schema()?;
            let labels = schema.known_labels(ElementKind::Edge).count();
            if SOCIAL.edges.iter().all(|of| schema.label(ElementKind::Edge, of.label).is_some()) && labels > 0 {
                return Ok(database);
            }
            if schema.known_labels(ElementKind::Vertex).next().is_some() {
                return Err(super::not_ours("paths", place.path()));
            }
        }
        let database = Database::open(place.path())?;
        let started = std::time::Instant::now();
        make_typed(&database, &SOCIAL, self.vertices, self.seed, &mut Bar::new(self.quiet))?;
        let vertices = counted(self.vertices, "vertex", "vertices");
        say(&format!("made a graph of {vertices} in {}", query::elapsed(started.elapsed())));
        Ok(database)
    }
}

fn table(times: &[PathTime]) -> String {
    let mut table = mangrove::show::drawing();
    table.set_header(["shape", "ms", "rows", "query"]);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    for PathTime { query, rows, wall } in times {
        let rows = rows.map_or("stopped".to_owned(), grouped);
        let millis = format!("{:.1}", wall.as_secs_f64() * 1e3);
        table.add_row([Cell::new(query.shape.name()), right(millis), right(rows), Cell::new(query.text())]);
    }
    format!("{table}\n")
}

fn as_json(times: &[PathTime]) -> Json {
    let edge = |(label, is_inverse): &(&str, bool)| json!([label, is_inverse]);
    let path = |path: &mangrove::workloads::DrawnPath| {
        let choices: Vec<Vec<Json>> = path.choices.iter().map(|choice| choice.iter().map(edge).collect()).collect();
        json!({"source": path.source, "target": path.target, "choices": choices, "repeated": path.is_repeated})
    };
    let query = |PathTime { query, rows, wall }: &PathTime| {
        json!({
            "shape": query.shape.name(),
            "query": query.text(),
            "start": query.start,
            "paths": query.paths.iter().map(path).collect::<Vec<_>>(),
            "last": query.last,
            "rows": rows,
            "seconds": wall.as_secs_f64(),
        })
    };
    Json::Array(times.iter().map(query).collect())
}
