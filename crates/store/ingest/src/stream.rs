//! Batched ingest by programs. Rows gather, and each full batch is committed, vertices first.
//!
//! ```text
//! add_vertices, add_edges --> waiting --100k rows--> commit( vertices, then edges, ends resolved in bulk )
//! ```

use std::sync::Arc;

use mangrove_graph::{ElementKind, GraphWrite, Schema};

use crate::batches::rows::IdType;
use crate::error::LoadError;
use crate::tables::table::TableInput;
use crate::terms::merge::Merging;
use crate::terms::options::LoadOptions;
use crate::terms::report::LoadReport;
use crate::writing::write::{NamedColumn, Writer};

/// Work to do within one transaction.
pub type Work<'w> = dyn FnMut(&mut dyn GraphWrite) -> Result<(), LoadError> + 'w;

/// Begins a transaction, does the work and commits. Rolls back if the work or the commit fails.
pub type Commit<'c> = dyn FnMut(&mut Work<'_>) -> Result<(), LoadError> + 'c;

#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// Rows to gather before a commit.
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
/// A batch commits whole or not at all. If a batch fails, its rows are lost; earlier batches stay stored.
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

    /// Takes rows of vertices or edges. Commits if enough rows have gathered. `schema` is the graph's.
    pub fn add(&mut self, input: TableInput, schema: &Schema, commit: &mut Commit<'_>) -> Result<(), LoadError> {
        let plan = input.plan(self.options.id_type, schema)?; // errors in its columns show at once
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

    /// Commits the remaining rows and ends the ingest. Fails if there were edges but none with the column for their times.
    pub fn finish(mut self, commit: &mut Commit<'_>) -> Result<LoadReport, LoadError> {
        if let Some(name) = &self.options.edge_time {
            self.times.check(name, "give their time")?;
        }
        self.flush(commit)?;
        Ok(self.report)
    }

    /// Commits the gathered rows.
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

    /// The report of everything committed so far.
    pub fn report(&self) -> &LoadReport {
        &self.report
    }
}
