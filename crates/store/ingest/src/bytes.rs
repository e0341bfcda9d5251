//! Reads text of each format without a graph. Used by fuzzing, and to measure the readers alone.

use std::path::PathBuf;

use mangrove_graph::Schema;

use crate::batches::elements::Pass;
use crate::batches::rows::{Body, Event, IdType};
use crate::error::{BadRow, LoadError};
use crate::graphs::graphml;
use crate::graphs::graphson;
use crate::tables::csv_table::{DialectHints, plan_csv, read_csv};
use crate::tables::jsonl;
use crate::tables::plan::TableHints;
use crate::tables::table::TableInput;
use crate::text::source::Source;

/// The result of reading.
#[derive(Debug, Default)]
pub struct Reading {
    pub vertices: usize,
    pub edges: usize,
    pub properties: u64,
    pub bad: Vec<BadRow>,
}

impl Reading {
    fn event(&mut self, event: Event) -> Result<(), LoadError> {
        match event {
            Event::Rows(rows) => {
                match rows.body {
                    Body::Vertices { .. } => self.vertices += rows.count,
                    Body::Edges { .. } => self.edges += rows.count,
                }
                self.properties += rows.columns.iter().map(|c| c.values.present()).sum::<u64>();
            }
            Event::Reject(bad) => self.bad.push(*bad),
            Event::Warning(_) => {}
        }
        Ok(())
    }
}

fn source(name: &str, text: &[u8]) -> Source {
    Source { path: PathBuf::from(name), name: name.into(), bytes: text.len() as u64, encoding: None }
}

/// Reads a CSV table. Its header describes the columns.
pub fn csv(text: &[u8]) -> Result<Reading, LoadError> {
    let source = source("text.csv", text);
    let hints = TableHints { stem: "text".into(), ..TableHints::default() };
    let given = DialectHints::default();
    let table = plan_csv(&mut &text[..], given, &hints, &source)?;
    let mut reading = Reading::default();
    read_csv(text, &source, &table, &mut |event| reading.event(event))?;
    Ok(reading)
}

/// Reads a table in JSON Lines.
pub fn jsonl(text: &[u8]) -> Result<Reading, LoadError> {
    let source = source("text.jsonl", text);
    let hints = TableHints { stem: "text".into(), ..TableHints::default() };
    let plan = jsonl::plan(&mut &text[..], &hints, &source)?;
    let mut reading = Reading::default();
    jsonl::read(text, &source, &plan, &mut |event| reading.event(event))?;
    Ok(reading)
}

/// Reads a table in memory.
pub fn table(input: &TableInput) -> Result<Reading, LoadError> {
    let plan = input.plan(IdType::Auto, &Schema::default())?;
    let mut reading = Reading::default();
    input.send(&plan, &mut |event| reading.event(event))?;
    Ok(reading)
}

/// Reads GraphML.
pub fn graphml(text: &[u8]) -> Result<Reading, LoadError> {
    let source = source("text.graphml", text);
    let mut reading = Reading::default();
    for pass in [Pass::Vertices, Pass::Edges] {
        graphml::read(text, &source, pass, &mangrove_graph::Schema::default(), &mut |event| reading.event(event))?;
    }
    Ok(reading)
}

/// Reads GraphSON 3.
pub fn graphson(text: &[u8]) -> Result<Reading, LoadError> {
    let source = source("text.json", text);
    let mut reading = Reading::default();
    for pass in [Pass::Vertices, Pass::Edges] {
        graphson::read(text, &source, pass, &mut |event| reading.event(event))?;
    }
    Ok(reading)
}

/// Reads a mapping file's YAML.
pub fn mapping(text: &str) -> Result<(), LoadError> {
    crate::terms::mapping::parse(text, &"mapping.yaml".into(), std::path::Path::new(""), true).map(|_| ())
}
