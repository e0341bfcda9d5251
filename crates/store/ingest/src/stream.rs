//! Batched programmatic ingest: rows gather, and every so many are committed together, vertices first.
//!
//! ```text
//! add_vertices, add_edges --> waiting --100k rows--> commit( vertices, then edges, ends resolved in bulk )
//! ```

use std::sync::Arc;

use mangrove_graph::{ElementKind, GraphWrite, Schema};

use crate::error::LoadError;
use crate::merge::Merging;
use crate::options::LoadOptions;
use crate::report::LoadReport;
use crate::rows::IdType;
use crate::table::TableInput;
use crate::write::{NamedColumn, Writer};

/// What is done within one transaction.
pub type Work<'w> = dyn FnMut(&mut dyn GraphWrite) -> Result<(), LoadError> + 'w;

/// Begins a transaction, does the work in it, and commits; rolls back if the work or the commit fails.
pub type Commit<'c> = dyn FnMut(&mut Work<'_>) -> Result<(), LoadError> + 'c;

#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// Rows that gather before they are committed.
    pub batch_rows: usize,
    /// The column of edges whose value orders a vertex's edges.
    pub edge_time: Option<Arc<str>>,
    pub id_type: IdType,
    pub merge: Merging,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self { batch_rows: 100_000, edge_time: None, id_type: IdType::Auto, merge: Merging::default() }
    }
}

/// Gathers rows and commits them batch by batch.
///
/// A batch is committed whole or not at all; when one fails, its rows are gone, those of earlier ones are stored.
#[derive(Default)]
pub struct Ingest {
    options: IngestOptions,
    vertices: Vec<TableInput>,
    edges: Vec<TableInput>,
    waiting: usize,
    times: NamedColumn,
    report: LoadReport,
}

impl Ingest {
    pub fn new(options: IngestOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Takes rows of vertices or edges; commits if enough have gathered.
    /// The schema is that of the graph.
    pub fn add(&mut self, input: TableInput, schema: &Schema, commit: &mut Commit<'_>) -> Result<(), LoadError> {
        let plan = input.plan(self.options.id_type, schema)?; // what is wrong with its columns shows at once
        plan.warnings.iter().for_each(|warning| self.report.warn(warning.clone()));
        if let (ElementKind::Edge, Some(name), 1..) = (input.kind, &self.options.edge_time, input.len()) {
            self.times.saw(name, plan.columns.iter().flatten().map(|column| &column.name));
        }
        self.waiting += input.len();
        match input.kind {
            ElementKind::Vertex => self.vertices.push(input),
            ElementKind::Edge => self.edges.push(input),
        }
        if self.waiting >= self.options.batch_rows { self.flush(commit) } else { Ok(()) }
    }

    /// Ends it: commits what has gathered, unless there were edges, but none with the column their times were to come from.
    pub fn finish(mut self, commit: &mut Commit<'_>) -> Result<LoadReport, LoadError> {
        if let Some(name) = &self.options.edge_time {
            self.times.check(name, "give their time")?;
        }
        self.flush(commit)?;
        Ok(self.report)
    }

    /// Commits what has gathered.
    pub fn flush(&mut self, commit: &mut Commit<'_>) -> Result<(), LoadError> {
        let (vertices, edges) = (std::mem::take(&mut self.vertices), std::mem::take(&mut self.edges));
        if std::mem::take(&mut self.waiting) == 0 {
            return Ok(());
        }
        let mut done = LoadReport::default();
        commit(&mut |graph| {
            done = self.write(graph, &vertices, &edges)?;
            Ok(())
        })?;
        self.report.add(done);
        Ok(())
    }

    fn write(
        &self,
        graph: &mut dyn GraphWrite,
        vertices: &[TableInput],
        edges: &[TableInput],
    ) -> Result<LoadReport, LoadError> {
        let mut writer =
            Writer::collecting(graph, &LoadOptions { merge: self.options.merge.clone(), ..LoadOptions::default() })?;
        writer.begin(self.options.edge_time.as_deref(), false);
        for inputs in [vertices, edges] {
            for input in inputs {
                let plan = input.plan(self.options.id_type, writer.schema())?;
                input.send(&plan, &mut |event| writer.event(event))?;
            }
            writer.finish_pass()?;
        }
        writer.finish()
    }

    /// What was committed so far.
    pub fn report(&self) -> &LoadReport {
        &self.report
    }
}
