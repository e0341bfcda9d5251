//! Takes vertices and edges in batches, and commits each batch by itself.

use mangrove_ingest::{Commit, Ingest, IngestOptions, LoadError as IngestError, LoadReport, TableInput};

use crate::Database;
use crate::error::LoadError;

/// Takes rows of vertices and edges, and commits them batch by batch. This is the fast way to write many from a program.
///
/// A batch is committed whole or not at all. If one fails, its rows are lost; those of earlier batches stay. Rows that were not
/// [`flush`](Self::flush)ed before the drop are lost too.
pub struct Ingestion {
    database: Database,
    ingest: Ingest,
}

impl Ingestion {
    pub(crate) fn new(database: Database, options: IngestOptions) -> Self {
        Self { database, ingest: Ingest::new(options) }
    }

    /// Adds rows. Commits if enough have gathered.
    pub fn add(&mut self, rows: TableInput) -> Result<(), LoadError> {
        let schema = self.database.read_schema()?;
        committing(&self.database, |commit| self.ingest.add(rows, &schema, commit))
    }

    /// Commits the rows gathered so far.
    pub fn flush(&mut self) -> Result<(), LoadError> {
        committing(&self.database, |commit| self.ingest.flush(commit))
    }

    /// Ends the ingestion: commits the rows gathered so far, and returns the report of everything committed. If edges should be
    /// ordered by a column that none of them had, it fails without committing these rows; earlier batches stay.
    /// [`flush`](Self::flush) does not check that, because more edges may follow.
    pub fn finish(self) -> Result<LoadReport, LoadError> {
        let report = committing(&self.database, |commit| self.ingest.finish(commit))?;
        self.database.settle();
        Ok(report)
    }

    /// The report of everything committed so far.
    pub fn report(&self) -> &LoadReport {
        self.ingest.report()
    }
}

fn committing<T>(database: &Database, work: impl FnOnce(&mut Commit<'_>) -> Result<T, IngestError>) -> Result<T, LoadError> {
    database.guarded(&|| "ingesting".into(), || {
        Ok(work(&mut |batch| {
            let mut transaction = database.begin()?;
            batch(transaction.graph())?;
            Ok(transaction.commit()?)
        })?)
    })
}
